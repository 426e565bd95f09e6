"""Statements without effect are removed."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.transforms.dead_code_elimination import is_trivially_dead
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer, ProofStrength
from xdsl_tvm.analysis.arith.extension import Extension
from xdsl_tvm.analysis.arith.rewrite_simplify import RewriteLimitError
from xdsl_tvm.analysis.tir.control_flow import ControlFlow
from xdsl_tvm.analysis.tir.scoped_facts import FactsWalker
from xdsl_tvm.analysis.tir.side_effect import op_does_nothing
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.tir.annotations import integer_of
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.pass_config import RemoveNoOpConfig
from xdsl_tvm.passes.tir._redundant_stores import NeedlessStores
from xdsl_tvm.passes.tir.rewriting.statements import describe, replace_by_body

_SKIP = "pragma_debug_skip_region"
_WAIT = "async_wait_queue_scope"
_INFLIGHT = "async_wait_inflight_count"
DATAFLOW_EXTENSIONS = (
    Extension.TRANSITIVELY_PROVE_INEQUALITIES
    | Extension.CONVERT_BOOLEAN_TO_AND_OF_ORS
    | Extension.APPLY_CONSTRAINTS_TO_BOOLEAN_BRANCHES
)
"""What proofs about the dataflow may use beyond the ordinary."""


@dataclass(frozen=True)
class RemoveNoOp(RemoveNoOpConfig, CompilerPass):
    """Summary: Removes statements without effect.

    TVM name: tir.RemoveNoOp (v0.20)
    Input form: any
    Output form: the same
    Options: those of the `PassContext` key `tir.RemoveNoOp`, which gives the values of
        those that are unset
        `use_dataflow_analysis` (false): what memory holds is followed through the
        program; so stores go that are overwritten before a read, or that write what is
        there already
        `max_simplification_steps` (0): more rewrites than this in the proofs for one
        function are an error; 0 is no limit
    Rewrites: before

            tir.for %i = %c0 to %c16 {
              %x = tir.load %A[%i] : f32
              tir.store %x, %A[%i] : f32
            }
            tir.if %p {
            } else {
              tir.store %y, %A[%c0] : f32
            }

        after

            %0 = tir.not %p : i1
            tir.if %0 {
              tir.store %y, %A[%c0] : f32
            }

        What goes: evaluations, since what has an effect is an op of its own; lets,
        allocations and views that nothing uses; ops without an effect that nothing uses;
        loops, launches of threads, branches, scopes and attributes with nothing left
        inside; loops that never run by the ranges of the variables around them; stores
        of what was read from the same element, with no write to that memory between. An
        `if` on a constant becomes its branch. A wait for less than no copies becomes its
        body. `pragma_debug_skip_region` goes with all that is in it. Time is linear in
        the size of the module, times the depth of its loops with the dataflow.
    Leaves alone: `tir.while`, `tir.assert`, blocks with what they declare,
        `tir.allocate_const`, buffers that are parameters, calls that update state;
        memory that is written and never read; volatile memory
    Errors: more rewrites than `max_simplification_steps`
    Attributes: read: `pragma_debug_skip_region`, `async_wait_queue_scope`,
        `async_wait_inflight_count` and `volatile_scope`, as `tir.attr`; created: none;
        removed: those of what goes
    Differs from TVM: an allocation that is unused goes whatever is after it. Waits,
        commits and imports stay where their body is empty, since they do something.
        Variables of threads and blocks count for loops that never run. A store of a
        float goes only if its value is the one that is there, not by `value - load == 0`;
        stores to volatile memory stay; a store does not go by a load with another
        predicate. Dataflow questions are exact about loops, aliases and calls where
        TVM's are not.
    """

    name = "tir-remove-no-op"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        options = self.resolved_options(RemoveNoOpConfig)
        for func in op.body.block.ops:
            if any(inner.dialect_name() == "tir" for inner in all_ops(func)):
                _remove(func, options)


def _remove(root: Operation, options: RemoveNoOpConfig) -> None:
    analyzer, flow = Analyzer(), None
    for block in _blocks(root):
        _take_branches(block)
    if options.use_dataflow_analysis:
        analyzer, flow = Analyzer(DATAFLOW_EXTENSIONS), ControlFlow(root)
    analyzer.set_maximum_rewrites(options.max_simplification_steps or None)
    _Statements(root, analyzer, flow).remove()
    sweep(root)


def _blocks(op: Operation) -> list[Block]:
    return [block for region in op.regions for block in region.blocks]


# ---- branches on constants ----


_is_branch = of_classes(tir.IfOp)


def _take_branches(block: Block) -> None:
    """Replace branches on constants, outer ones first, so that no op moves twice."""
    op = block.first_op
    while op is not None:
        if _is_branch(op) and tir.constant_value(op.condition) is not None:
            op = _taken(op, block)
            continue
        if op.regions:
            for inner in _blocks(op):
                _take_branches(inner)
        op = op.next_op


def _taken(branch: tir.IfOp, block: Block) -> Operation | None:
    """Put the branch that is taken in its place; the op that comes next."""
    before = branch.prev_op
    holds = tir.constant_value(branch.condition)
    region = branch.then_region if holds else branch.else_region
    if region is None:
        Rewriter.erase_op(branch)
    else:
        replace_by_body(branch, region.block)
    return block.first_op if before is None else before.next_op


# ---- statements that need a proof ----


class _Statements:
    """One walk over the statements of a function, removing what is proven redundant."""

    def __init__(
        self, root: Operation, analyzer: Analyzer, flow: ControlFlow | None
    ) -> None:
        self._root = root
        self._analyzer = analyzer
        self._flow = flow
        self._walker = FactsWalker(analyzer, self._visit)
        self._stores = NeedlessStores(root, self._walker, flow)
        self._waits: list[tir.AttrOp] = []

    def remove(self) -> None:
        self._walker.walk(self._root)
        for wait in self._waits:
            replace_by_body(wait, wait.body.block)

    def _visit(self, op: Operation) -> None:
        try:
            self._try(op)
        except RewriteLimitError as error:
            raise PassFailedException(
                f"{describe(op)}: {error}; raise max_simplification_steps, 0 is no limit"
            ) from None

    def _try(self, op: Operation) -> None:
        if not _is_tried(op):
            return
        match op:
            case tir.LetOp() if op.value.type == op.result.type:
                self._walker.trees[op.result] = self._walker.tree(op.value)
            case tir.ForOp() if never_runs(op, self._walker):
                Rewriter.erase_op(op)
            case tir.AttrOp() if op.key.data == _SKIP:
                Rewriter.erase_op(op)
            case tir.AttrOp() if op.key.data == _WAIT:
                self._visit_wait(op)
            case tir.StoreOp() if self._is_needless(op):
                if self._flow is not None:
                    self._flow.forget(op)
                Rewriter.erase_op(op)
            case _:
                pass

    def _visit_wait(self, op: tir.AttrOp) -> None:
        """Note a wait that waits for nothing, with the count that is next within."""
        count = op.body.block.first_op
        while count is not None and _is_plain(count):
            count = count.next_op
        if not isinstance(count, tir.AttrOp) or count.key.data != _INFLIGHT:
            return
        number = count.value_item
        if isinstance(number, SSAValue):
            none = self._analyzer.can_prove(smart.lt(self._walker.tree(number), 0))
        else:
            none = (integer_of(number) or 0) < 0
        if none:
            self._waits += (op, count)

    def _is_needless(self, store: tir.StoreOp) -> bool:
        stores = self._stores
        return not stores.is_volatile(store) and (
            stores.is_overwritten(store)
            or stores.is_there(store)
            or stores.is_read_from_there(store)
        )


def never_runs(loop: tir.ForOp, walker: FactsWalker) -> bool:
    """Whether a loop certainly has no iteration, by what the walker knows."""
    extent = walker.tree(loop.extent)
    number = smart.literal(extent)
    if number is not None:
        return number <= 0
    never = smart.le(extent, 0)
    return walker.analyzer.can_prove(never, ProofStrength.SYMBOLIC_BOUND)


# ---- what is left without an effect ----


def sweep(root: Operation) -> None:
    """Remove what has no effect from the regions of an op, users before what they use."""
    for block in reversed(_blocks(root)):
        op = block.last_op
        while op is not None:
            before = op.prev_op
            sweep(op)
            _sweep_one(op)
            op = before


def _sweep_one(op: Operation) -> None:
    if not _may_be_empty(op):
        if _is_plain(op) and is_trivially_dead(op):
            Rewriter.erase_op(op)
        return
    match op:
        case tir.EvaluateOp():
            Rewriter.erase_op(op)
        case tir.IfOp():
            _sweep_branch(op)
        case tir.ForOp() | tir.LaunchThreadOp() | tir.ScopeOp() if _is_empty(op.body):
            Rewriter.erase_op(op)
        case tir.AttrOp() if _is_empty(op.body) and op_does_nothing(op):
            Rewriter.erase_op(op)
        case tir.LetOp() | tir.AllocateOp() | tir.DeclBufferOp() | tir.BufferRealizeOp():
            if all(result.first_use is None for result in op.results):
                Rewriter.erase_op(op)
        case _ if _is_plain(op) and is_trivially_dead(op):
            Rewriter.erase_op(op)
        case _:
            pass


_may_be_empty = of_classes(
    tir.AllocateOp,
    tir.AttrOp,
    tir.BufferRealizeOp,
    tir.DeclBufferOp,
    tir.EvaluateOp,
    tir.ForOp,
    tir.IfOp,
    tir.LaunchThreadOp,
    tir.LetOp,
    tir.ScopeOp,
)
_is_tried = of_classes(tir.AttrOp, tir.ForOp, tir.LetOp, tir.StoreOp)


def _is_plain(op: Operation) -> bool:
    """Whether an op gives values, or holds no other ops."""
    return bool(op.results) or not op.regions


def _is_empty(region: Region) -> bool:
    return region.block.is_empty


def _sweep_branch(branch: tir.IfOp) -> None:
    otherwise = branch.else_region
    if otherwise is not None and _is_empty(otherwise):
        branch.detach_region(otherwise)
        otherwise = None
    if not _is_empty(branch.then_region):
        return
    if otherwise is None:
        Rewriter.erase_op(branch)
        return
    condition = tir.NotOp(branch.condition)
    condition.location = branch.location
    Rewriter.insert_op(condition, InsertPoint.before(branch))
    inverted = tir.IfOp(condition, branch.detach_region(otherwise))
    inverted.location = branch.location
    inverted.attributes.update(branch.attributes)
    Rewriter.replace_op(branch, inverted, [])
