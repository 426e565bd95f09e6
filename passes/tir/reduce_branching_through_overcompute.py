"""Branches are removed where both cases compute the same in the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, Region
from xdsl.rewriter import Rewriter

from xdsl_tvm.analysis.all_ops import all_ops
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
from xdsl_tvm.passes.tir.remove_no_op import DATAFLOW_EXTENSIONS, never_runs, sweep
from xdsl_tvm.passes.tir.rewriting.statements import (
    can_speculate,
    erase_if_unused,
    replace_by_body,
)

_MAX_ROUNDS = 8
"""The dataflow is computed anew after changes, at most this often."""


@dataclass(frozen=True)
class ReduceBranchingThroughOvercompute(
    ReduceBranchingThroughOvercomputeConfig, CompilerPass
):
    """Summary: Removes branches where one case may be taken always.

    TVM name: tir.ReduceBranchingThroughOvercompute (v0.20)
    Input form: any
    Output form: the same
    Options: those of the `PassContext` key `tir.ReduceBranchingThroughOvercompute`, which
        gives the values of those that are unset
        `use_dataflow_analysis` (false): what memory holds is followed through the
        program; so a case may be taken whose stores write what is there already, or are
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

        Both cases of a branch may be equal, but for statements without effect in one of
        them, where the condition says that the other one is taken: evaluations, loops
        without iterations, stores of what was read from the same element with no write
        between. The case with these statements is taken always; the other one, if these
        may not be executed always and have no effect in their own case either. With the
        dataflow, one case may do nothing, and the other one reads, then stores: it is
        taken always if where it was not taken none of its stores matters. The dataflow is
        computed anew after changes, at most 8 times. Time is linear in the size of the
        module, times the depth of its loops and branches.
    Leaves alone: branches on the way to calls, loops or other branches, unless both cases
        are equal; those whose loads, stores or divisions may fail where they were not
        executed; with the dataflow, those in blocks, which declare what they write, and
        those in threads, parallel or vectorized iterations, which would race; volatile
        memory; without the dataflow, branches without an else branch
    Errors: none
    Attributes: read: `volatile_scope`, as `tir.attr`; created: none; removed: none
    Differs from TVM: it is proven that what is executed additionally is within buffers
        and cannot fail, and a store is executed additionally only where what is around it
        runs in one order and is no block: elsewhere, writing back what was read could
        undo the write of another thread. No change counts on what another one has
        changed: from one dataflow, either stores of what is there already are added, or
        stores that are overwritten.
    """

    name = "tir-reduce-branching-through-overcompute"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        options = self.resolved_options(ReduceBranchingThroughOvercomputeConfig)
        for func in op.body.block.ops:
            if not any(isinstance(inner, tir.IfOp) for inner in all_ops(func)):
                continue
            _EqualBranches(func).merge()
            rounds = _MAX_ROUNDS if options.use_dataflow_analysis else 0
            for _ in range(rounds):
                if not _Branches(func).reduce():
                    break


class _EqualBranches:
    """One walk over a function that merges branches of equal cases, inner ones first.

    A case is kept if it is the other one apart from what has no effect where the other
    one is taken: stores of what was read from there, loops without iterations, dead code.
    If that may not be executed additionally, and has no effect where it is executed
    already, the case without it is kept.
    """

    def __init__(self, func: Operation) -> None:
        self._func = func
        self._walker = _OnceWalker(Analyzer(), self._visit)
        self._stores = NeedlessStores(func, self._walker, None)

    def merge(self) -> None:
        self._walker.walk(self._func)

    def _visit(self, op: Operation) -> None:
        match op:
            case tir.LetOp():
                _look_through(op, self._walker)
            case tir.IfOp():
                self._walker.walk_once(op)
                self._try(op)
            case _:
                pass

    def _try(self, branch: tir.IfOp) -> None:
        first, second = branch.then_region, branch.else_region
        if second is None:
            return
        condition = self._walker.tree(branch.condition)
        cases = ((second, first, condition), (first, second, negated(condition)))
        for kept, other, holds in cases:
            # Where the other one was taken, the kept one does the same.
            if self._is_equal(kept, other, holds, executed=True):
                _take(branch, kept)
                return
        for other, kept, holds in cases:
            # Where the other one was taken, it does the same as the kept one.
            if self._is_equal(other, kept, negated(holds), executed=False):
                _take(branch, kept)
                return

    def _is_equal(
        self, case: Region, other: Region, holds: Expr, *, executed: bool
    ) -> bool:
        """Whether a case is the other one, apart from what has no effect where `holds`.

        With `executed`, that must also be fit to be executed there.
        """
        with self._walker.analyzer.constraint(holds):
            found = _WithoutEffect(case, self._stores, self._walker)
            return found.leaves(other) and (not executed or found.may_be_executed())


class _OnceWalker(FactsWalker):
    """A walker whose visits may walk the regions of an op themselves, before."""

    def __init__(self, analyzer: Analyzer, visit: Callable[[Operation], None]) -> None:
        super().__init__(analyzer, visit)
        self._walked: Operation | None = None

    def walk_once(self, root: Operation) -> None:
        """Visit the ops in the regions of an op now, and not after its visit."""
        super().walk(root)
        self._walked = root

    def walk(self, root: Operation) -> None:
        if root is not self._walked:
            super().walk(root)


class _WithoutEffect:
    """The ops of a case that have no effect by what a walker knows."""

    def __init__(self, case: Region, stores: NeedlessStores, walker: FactsWalker) -> None:
        self._case = case
        self._stores = stores
        self._analyzer = walker.analyzer
        self._needless: dict[Operation, None] = {}
        self._erased: set[Operation] = set()
        self._inner = FactsWalker(self._analyzer, self._find)
        self._inner.trees = walker.trees
        self._inner.walk_region(case)

    def _find(self, op: Operation) -> None:
        match op:
            case tir.LetOp():
                _look_through(op, self._inner)
            case tir.ForOp() if never_runs(op, self._inner):
                self._needless[op] = None
            case tir.StoreOp() if not self._stores.is_volatile(op):
                if self._stores.is_read_from_there(op):
                    self._needless[op] = None
            case _:
                pass

    def leaves(self, other: Region) -> bool:
        """Whether the case without these is another one."""
        copy = tir.ScopeOp(self._case.clone())
        copies = dict(zip(self._case.walk(), copy.body.walk(), strict=True))
        for op in reversed(self._needless):
            Rewriter.erase_op(copies[op], safe_erase=False)
        sweep(copy)
        equal = structural_equal(other, copy.body)
        if equal:
            left = set(copy.walk())
            self._erased = {op for op in copies if copies[op] not in left}
        # The copy uses values of the function.
        copy.drop_all_references()
        return equal

    def may_be_executed(self) -> bool:
        """Whether what the other one does not have cannot fail, race or be seen."""
        fit = True
        never: set[Operation] = set()

        def check(op: Operation) -> None:
            nonlocal fit
            if op.parent_op() in never:
                never.add(op)
            elif fit and op in self._erased:
                if isinstance(op, tir.ForOp) and op in self._needless:
                    never.add(op)
                else:
                    fit = self._is_fit(op)

        FactsWalker(self._analyzer, check).walk_region(self._case)
        return fit

    def _is_fit(self, op: Operation) -> bool:
        match op:
            case tir.StoreOp():
                return _is_in_order(op) and is_in_bounds(op, self._inner)
            case tir.LoadOp():
                return is_in_bounds(op, self._inner)
            case tir.EvaluateOp() | tir.LetOp() | tir.IfOp() | tir.ForOp():
                return True
            case _:
                return not op.regions and can_speculate(op)


def _take(branch: tir.IfOp, region: Region) -> None:
    condition = branch.condition
    replace_by_body(branch, region.block)
    erase_if_unused((condition,))


def _look_through(let: tir.LetOp, walker: FactsWalker) -> None:
    """Let the walker take the result of a binding for its value."""
    if let.value.type == let.result.type:
        walker.trees[let.result] = walker.tree(let.value)


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
            _look_through(op, self._walker)
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
        are after the loads, that makes no difference for what is asked.
        """
        stores: list[tir.StoreOp] = []
        for op in region.block.ops:
            match op:
                case tir.StoreOp() if is_in_bounds(op, self._walker):
                    stores.append(op)
                case tir.LoadOp() if not stores and is_in_bounds(op, self._walker):
                    pass
                case tir.LetOp():
                    _look_through(op, self._walker)
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
