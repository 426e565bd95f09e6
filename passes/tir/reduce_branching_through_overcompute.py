"""Branches are removed where both ways compute the same in the end."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, Region

from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.analysis.arith.facts import negated
from xdsl_tvm.analysis.structural_equal import structural_equal
from xdsl_tvm.analysis.tir.control_flow import ControlFlow
from xdsl_tvm.analysis.tir.scoped_facts import FactsWalker
from xdsl_tvm.analysis.tir.side_effect import does_nothing
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import ForKind
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.pass_config import ReduceBranchingThroughOvercomputeConfig
from xdsl_tvm.passes.tir._loops.in_bounds import is_in_bounds
from xdsl_tvm.passes.tir._redundant_stores import NeedlessStores
from xdsl_tvm.passes.tir.remove_no_op import DATAFLOW_EXTENSIONS, sweep
from xdsl_tvm.passes.tir.rewriting.statements import (
    can_speculate,
    erase_if_unused,
    replace_by_body,
)

_MAX_ROUNDS = 8
"""The dataflow is computed anew after changes, at most this often."""


@dataclass(frozen=True)
class ReduceBranchingThroughOvercompute(CompilerPass):
    """Summary: Removes branches where one way may be taken always.

    TVM name: tir.ReduceBranchingThroughOvercompute (v0.20)
    Input form: any
    Output form: the same
    Options: those of the `PassContext` key `tir.ReduceBranchingThroughOvercompute`, which
        gives the values of those that are unset
        `use_dataflow_analysis` (false): what memory holds is followed through the
        program; so a way may be taken whose stores write what is there already, or are
        overwritten before a read
    Rewrites: before

            tir.for %i = %c0 to %c16 {
              %p = tir.cmp lt %i, %c14 : i32
              tir.if %p {
                tir.store %c1, %A[%i] : i32
              }
            }
            tir.for %j = %c14 to %c14 + %c2 {
              tir.store %c2, %A[%j] : i32
            }

        after, in the first loop

              tir.store %c1, %A[%i] : i32

        Both ways of a branch may be equal. Or one does nothing, and the other reads, then
        stores: it is taken always if where it was not taken none of its stores matters.
        The dataflow is computed anew after changes, at most 8 times; else time is linear
        in the size of the module, times the depth of its loops and branches.
    Leaves alone: branches on the way to calls, loops or other branches, unless both ways
        are equal; those whose loads, stores or divisions may fail where they were not
        executed; those in blocks, which declare what they write, and those that threads,
        parallel or vectorized iterations meet, which would race; volatile memory
    Errors: none
    Attributes: read: `volatile_scope`, as `tir.attr`; created: none; removed: none
    Differs from TVM: it is proven that what is executed additionally is within buffers
        and cannot fail. No change counts on what another one has changed: from one
        dataflow, either stores of what is there already are added, or stores that are
        overwritten. Without the dataflow both ways must be equal, apart from statements
        without effect in the one that is kept.
    """

    name = "tir-reduce-branching-through-overcompute"
    config_key = "tir.ReduceBranchingThroughOvercompute"

    use_dataflow_analysis: bool | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        options = self.resolved_options(ReduceBranchingThroughOvercomputeConfig)
        for func in op.body.block.ops:
            if not any(isinstance(inner, tir.IfOp) for inner in func.walk()):
                continue
            _merge_equal_ways(func)
            rounds = _MAX_ROUNDS if options.use_dataflow_analysis else 0
            for _ in range(rounds):
                if not _Branches(func).reduce():
                    break


def _merge_equal_ways(func: Operation) -> None:
    """Replace branches whose two ways are equal, inner ones first."""
    branches = [op for op in func.walk() if isinstance(op, tir.IfOp)]
    for branch in reversed(branches):
        first, second = branch.then_region, branch.else_region
        if second is None:
            continue
        for kept, other in ((second, first), (first, second)):
            if _is_equal_to_cleaned(other, kept):
                _take(branch, kept)
                break


def _is_equal_to_cleaned(region: Region, other: Region) -> bool:
    """Whether a region is what another is without statements that have no effect."""
    copy = tir.ScopeOp(other.clone())
    sweep(copy)
    equal = structural_equal(region, copy.body)
    # The copy uses values of the function.
    copy.drop_all_references()
    return equal


def _take(branch: tir.IfOp, region: Region) -> None:
    condition = branch.condition
    replace_by_body(branch, region.block)
    erase_if_unused((condition,))


class _Branches:
    """One walk over a function with the dataflow, making branches unconditional.

    A store may be executed additionally for one of two reasons: it writes what is there
    already, or what it writes is overwritten. The second changes memory that nobody has
    read so far, and with the first there are new reads; so one walk keeps to one reason.
    """

    def __init__(self, func: Operation) -> None:
        self._func = func
        self._walker = FactsWalker(Analyzer(DATAFLOW_EXTENSIONS), self._visit)
        self._stores = NeedlessStores(func, self._walker, ControlFlow(func))
        self._overwriting: bool | None = None
        self._changed = False

    def reduce(self) -> bool:
        """Whether a branch has been removed."""
        self._walker.walk(self._func)
        return self._changed

    def _visit(self, op: Operation) -> None:
        if isinstance(op, tir.LetOp):
            self._look_through(op)
        if not isinstance(op, tir.IfOp) or not _is_in_order(op):
            return
        condition = self._walker.tree(op.condition)
        first, second = op.then_region, op.else_region
        if _does_nothing(second):
            region, holds = first, negated(condition)
        elif _does_nothing(first):
            region, holds = second, condition
        else:
            return
        if region is not None and self._may_take(region, holds):
            self._changed = True
            _take(op, region)

    def _look_through(self, let: tir.LetOp) -> None:
        if let.value.type == let.result.type:
            self._walker.trees[let.result] = self._walker.tree(let.value)

    def _may_take(self, region: Region, condition: Expr) -> bool:
        """Whether a way may be taken where the condition holds, and it is not."""
        with self._walker.analyzer.constraint(condition):
            stores = self._stores_of(region)
            if not stores or any(map(self._stores.is_volatile, stores)):
                return False
            for overwriting in (True, False):
                if self._overwriting in (None, overwriting) and all(
                    self._is_needless(store, stores[0], overwriting) for store in stores
                ):
                    self._overwriting = overwriting
                    return True
        return False

    def _is_needless(
        self, store: tir.StoreOp, first: tir.StoreOp, overwriting: bool
    ) -> bool:
        if overwriting:
            return self._stores.is_overwritten(store)
        # What memory holds at later stores has been found out where the way is taken.
        return self._stores.is_read_from_there(store) or (
            store is first and self._stores.is_there(store)
        )

    def _stores_of(self, region: Region) -> list[tir.StoreOp]:
        """The stores of a way that reads, then stores, and cannot fail; else none.

        What memory holds was found out assuming that the way is taken. Since all stores
        are behind the loads, that makes no difference for what is asked.
        """
        stores: list[tir.StoreOp] = []
        for op in region.block.ops:
            match op:
                case tir.StoreOp() if is_in_bounds(op, self._walker):
                    stores.append(op)
                case tir.LoadOp() if not stores and is_in_bounds(op, self._walker):
                    pass
                case tir.LetOp():
                    self._look_through(op)
                case tir.EvaluateOp():
                    pass
                case tir.LoadOp() | tir.StoreOp():
                    return []
                case _ if op.regions or not can_speculate(op):
                    return []
                case _:
                    pass
        return stores


def _does_nothing(region: Region | None) -> bool:
    return region is None or does_nothing(region)


def _is_in_order(op: Operation) -> bool:
    """Whether what is around an op runs it in one order, and declares nothing of it."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, tir.FuncOp):
        is_loop = isinstance(parent, tir.ForOp) and parent.kind.data in _IN_ORDER
        if not (is_loop or isinstance(parent, _TRANSPARENT)):
            return False
        parent = parent.parent_op()
    return parent is not None


_IN_ORDER = (ForKind.SERIAL, ForKind.UNROLLED)
_TRANSPARENT = (tir.IfOp, tir.ScopeOp, tir.WhileOp)
