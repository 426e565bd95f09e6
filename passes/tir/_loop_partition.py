"""How `LoopPartition` finds the parts of loops and makes them.

For a loop over `[low, end)` and an interval `[a, z]` in which some of the conditions of
its body are constant, the parts are `[low, b)`, `[b, p)` and `[p, end)` with

    b = min(max(a, low), end)        p = max(min(z + 1, end), b)

so that they are disjoint, in order, and together the range, whatever the numbers are; if
the range is empty, so are the parts. All of `[b, p)` is inside of the interval.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.builder import Builder
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer, Range
from xdsl_tvm.analysis.arith.deduce_bound import deduce_bound
from xdsl_tvm.analysis.arith.expr import (
    Call,
    Cmp,
    Const,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    Mod,
    Value,
    emit,
    leaf_values,
    postorder,
    view,
)
from xdsl_tvm.analysis.arith.facts import negated
from xdsl_tvm.analysis.arith.int_set import (
    EVERYTHING,
    NOTHING,
    IntSet,
    from_range,
    intersection,
)
from xdsl_tvm.analysis.arith.linear_equation import mentions
from xdsl_tvm.analysis.tir.thread_divergence import is_collective, may_diverge
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.dialects.tir.annotations import is_true
from xdsl_tvm.dialects.tir.types import is_index_type
from xdsl_tvm.passes.infra.pass_config import LoopPartitionConfig
from xdsl_tvm.passes.tir.rewriting.limits import MAX_COPIED_OPS
from xdsl_tvm.passes.tir.rewriting.statements import (
    PARTITION_HINT,
    erase_if_unused,
    replace_by_body,
    replace_value_uses,
)

_UNROLLED = tir.ForKindAttr(tir.ForKind.UNROLLED)
_DIVISIONS = (Div, FloorDiv, FloorMod, Mod)
_ROUNDS = 32
"""How often parts of a loop are split further, at most."""

_Loop = tir.ForOp | tir.LaunchThreadOp
_Sets = dict[Expr, IntSet]


def is_hinted(op: Operation) -> bool:
    """Whether it is a loop or a launch that is to be partitioned on all comparisons."""
    if not isinstance(op, _Loop) or op.annotations is None:
        return False
    return is_true(op.annotations.data.get(PARTITION_HINT))


def _variable(loop: _Loop) -> BlockArgument:
    return loop.body.block.args[0]


def _is_threads(loop: _Loop) -> bool:
    """Whether the variable is that of threads, which there are at the same time."""
    axis = loop.axis if isinstance(loop, tir.LaunchThreadOp) else loop.thread_axis
    return axis is not None and not axis.is_block


def _range_of(loop: _Loop) -> Range:
    extent = view(loop.extent)
    if isinstance(loop, tir.ForOp):
        return Range(view(loop.min), extent)
    return Range(smart.const(0, extent.dtype), extent)


class _Record(NamedTuple):
    """For the variable in the interval, the condition is `truth`."""

    condition: SSAValue
    truth: bool
    interval: IntSet


class _Choice(NamedTuple):
    """The conditions that are `truth` in an interval."""

    truth: bool
    interval: IntSet
    conditions: Sequence[SSAValue]


# ---- conditions ----


class _Finder:
    """Collects what the conditions in a loop say of its variable."""

    def __init__(
        self, loop: _Loop, analyzer: Analyzer, hint: _Sets, relax: _Sets
    ) -> None:
        self.records: list[_Record] = []
        self._loop = loop
        self._variable = Value(_variable(loop))
        self._all = is_hinted(loop)
        self._analyzer = analyzer
        self._hint, self._relax = dict(hint), dict(relax)
        self._outer: set[Expr] = {*hint, *relax, self._variable}
        self._trees: dict[SSAValue, Expr] = {}
        self._ignored = _ignored_in(loop) if self._all else set[SSAValue]()
        self._seen: set[SSAValue] = set()

    def find(self) -> list[_Record]:
        """The records, in the order of the text."""
        self._walk(self._loop.body.block)
        return self.records

    def _walk(self, block: Block) -> None:
        for op in block.ops:
            match op:
                case tir.LetOp():
                    if op.result.type == op.value.type:
                        self._trees[op.result] = view(op.value, self._trees)
                case tir.CallOp() if op.callee.data == "likely":
                    self._add(op.args[0])
                case tir.CmpOp() if self._all and op.result not in self._ignored:
                    self._add(op.result)
                case tir.ForOp() | tir.LaunchThreadOp():
                    self._enter(op)
                case _:
                    for region in op.regions:
                        for inner in region.blocks:
                            self._walk(inner)

    def _enter(self, loop: _Loop) -> None:
        """Look into a loop whose range is the same for all values of variables."""
        found, variable = _range_of(loop), Value(_variable(loop))
        if isinstance(loop, tir.ForOp) and (
            mentions(found.min, *self._outer) or mentions(found.extent, *self._outer)
        ):
            return
        self._hint[variable] = self._relax[variable] = from_range(found)
        self._outer.add(variable)
        self._walk(loop.body.block)
        self._outer.remove(variable)
        del self._hint[variable], self._relax[variable]

    def _add(self, condition: SSAValue) -> None:
        if condition in self._seen:
            return
        self._seen.add(condition)
        tree = view(condition, self._trees)
        while isinstance(tree, Call) and tree.name == "likely":
            (tree,) = tree.operands
        if not isinstance(tree, Cmp) or tree.dtype != i1:
            return
        if not mentions(tree, self._variable):
            return
        for truth in (True, False):
            interval = self._interval(tree if truth else negated(tree))
            if not interval.is_nothing and not interval.is_everything:
                self.records.append(_Record(condition, truth, interval))

    def _interval(self, tree: Expr) -> IntSet:
        found = self._deduce(tree)
        is_equation = isinstance(tree, Cmp) and tree.predicate is CmpPredicate.EQ
        if found.is_nothing and is_equation:
            ends = [smart.ge(*tree.operands), smart.le(*tree.operands)]
            found = intersection(map(self._deduce, ends), self._analyzer)
        return found if self._is_usable(found) else NOTHING

    def _deduce(self, tree: Expr) -> IntSet:
        return deduce_bound(self._variable, tree, self._hint, self._relax, self._analyzer)

    def _is_usable(self, found: IntSet) -> bool:
        """Whether the ends can be computed before the loop, and may part it."""
        ends = [end for end in (found.min, found.max) if end is not None]
        values = leaf_values(*ends)
        return (
            all(map(_never_fails, ends))
            and self._is_known_outside(values)
            and not may_diverge(self._loop, values)
        )

    def _is_known_outside(self, values: Iterable[SSAValue]) -> bool:
        for value in values:
            owner = value.owner
            if isinstance(owner, Block):
                owner = owner.parent_op()
            if owner is None or self._loop.is_ancestor(owner):
                return False
        return True


def _never_fails(tree: Expr) -> bool:
    return all(
        bool(smart.literal(node.rhs))
        for node in postorder(tree)
        if isinstance(node, _DIVISIONS)
    )


def _ignored_in(loop: _Loop) -> set[SSAValue]:
    """The values that arguments of `ignore_loop_partition` are made of."""
    found: set[SSAValue] = set()
    pending: list[SSAValue] = []
    for op in loop.walk():
        if isinstance(op, tir.CallOp) and op.callee.data == "ignore_loop_partition":
            pending += op.args
    while pending:
        value = pending.pop()
        if value in found or isinstance(value.owner, Block):
            continue
        found.add(value)
        pending += value.owner.operands
    return found


# ---- partitions ----


@dataclass
class Partitioner:
    """Partitions the loops of a function, outer ones first."""

    options: LoopPartitionConfig
    _analyzer: Analyzer = field(default_factory=Analyzer)
    _hint: _Sets = field(default_factory=dict[Expr, IntSet])
    _relax: _Sets = field(default_factory=dict[Expr, IntSet])
    _parts: dict[tir.ForOp, None] = field(default_factory=dict[tir.ForOp, None])
    _copied: int = 0
    """Ops of the copies so far."""

    def run(self, func: tir.FuncOp) -> None:
        """Partition, in place; marks and hints stay."""
        self._visit_regions(func)
        for part in self._parts:
            self._finish(part)

    def _visit_regions(self, op: Operation) -> None:
        for region in op.regions:
            for block in region.blocks:
                for inner in list(block.ops):
                    self._visit(inner)

    def _visit(self, op: Operation) -> None:
        match op:
            case tir.ForOp():
                self._visit_loop(op, _ROUNDS)
            case tir.LaunchThreadOp():
                self._visit_launch(op)
            case _:
                self._visit_regions(op)

    @contextmanager
    def _inside(self, loop: _Loop) -> Generator[None]:
        """The body of a loop that is not split, or not any more."""
        found, variable = _range_of(loop), Value(_variable(loop))
        if not is_index_type(variable.dtype):
            yield
            return
        known = from_range(found)
        sets = [self._hint, self._relax] if _is_threads(loop) else [self._hint]
        with self._analyzer.assumed(()):
            self._analyzer.bind(variable, found)
            for each in sets:
                each[variable] = known
            yield
            for each in sets:
                del each[variable]

    def _is_candidate(self, loop: _Loop) -> bool:
        if not is_index_type(_variable(loop).type):
            return False
        inner = list(loop.walk())
        if any(isinstance(op, tir.BlockOp) for op in inner):
            return False
        if isinstance(loop, tir.LaunchThreadOp):
            if not loop.axis.is_block and any(map(is_collective, inner)):
                return False
        elif loop.kind.data is tir.ForKind.THREAD_BINDING:
            return False
        if is_hinted(loop):
            return True
        if isinstance(loop, tir.LaunchThreadOp) and not loop.axis.is_block:
            return False
        if any(isinstance(op, tir.ThreadAllreduceOp) for op in inner):
            return False
        found = _range_of(loop)
        is_constant = isinstance(found.min, Const) and isinstance(found.extent, Const)
        return self.options.partition_const_loop or not is_constant

    # ---- choice ----

    def _choose(
        self, records: Sequence[_Record], whole: IntSet, *, hinted: bool
    ) -> _Choice | None:
        for truth in (True, False):
            there = [
                record
                for record in records
                if record.truth == truth and self._may_meet(record.interval, whole)
            ]
            if not there:
                continue
            intervals = [record.interval for record in there]
            interval = intersection(intervals, self._analyzer)
            if interval.is_nothing and hinted:
                interval, there = self._greedy(there)
            if not interval.is_nothing:
                return _Choice(truth, interval, [each.condition for each in there])
        return None

    def _may_meet(self, interval: IntSet, whole: IntSet) -> bool:
        return not intersection([interval, whole], self._analyzer).is_nothing

    def _greedy(self, records: Sequence[_Record]) -> tuple[IntSet, list[_Record]]:
        """The first conditions, as many as hold together."""
        found, taken = EVERYTHING, list[_Record]()
        for record in records:
            smaller = intersection([found, record.interval], self._analyzer)
            if smaller.is_nothing:
                break
            found = smaller
            taken.append(record)
        return found, taken

    # ---- loops ----

    def _visit_loop(self, loop: tir.ForOp, rounds: int) -> None:
        if rounds > 0 and self._is_candidate(loop) and self._split(loop, rounds):
            return
        with self._inside(loop):
            self._visit_regions(loop)

    def _split(self, loop: tir.ForOp, rounds: int) -> bool:
        """Split a loop and go on with the parts; false if it stays as it is."""
        records = _Finder(loop, self._analyzer, self._hint, self._relax).find()
        if not records:
            return False
        found = _range_of(loop)
        end = self._analyzer.simplify(smart.add(found.min, found.extent))
        whole = IntSet(found.min, smart.sub(end, 1))
        choice = self._choose(records, whole, hinted=is_hinted(loop))
        if choice is not None and self._may_copy(loop, 2):
            return self._split_at(loop, choice, found.min, end, rounds)
        if self._is_unrolled(loop, records, whole):
            loop.kind, loop.annotations = _UNROLLED, None
        return False

    def _may_copy(self, loop: _Loop, copies: int) -> bool:
        """Whether copies of a loop stay within the limit; then they are counted."""
        ops = copies * sum(1 for _ in all_ops(loop))
        if self._copied + ops > MAX_COPIED_OPS:
            return False
        self._copied += ops
        return True

    def _is_unrolled(
        self, loop: tir.ForOp, records: Sequence[_Record], whole: IntSet
    ) -> bool:
        wanted = self.options.unroll_loop_with_partition_hint_no_interval
        if not wanted or not is_hinted(loop) or whole.min is None or whole.max is None:
            return False
        if all(
            record.interval.point is not None
            and not self._is_certainly_in(record.interval.point, whole)
            for record in records
        ):
            return False
        return self._analyzer.can_prove(smart.gt(smart.sub(whole.max, whole.min), 0))

    def _is_certainly_in(self, point: Expr, whole: IntSet) -> bool:
        assert whole.min is not None, "a range has ends"
        assert whole.max is not None, "a range has ends"
        inside = smart.conjunction(smart.ge(point, whole.min), smart.le(point, whole.max))
        return self._analyzer.can_prove(inside)

    def _split_at(
        self, loop: tir.ForOp, choice: _Choice, low: Expr, end: Expr, rounds: int
    ) -> bool:
        prove = self._analyzer.can_prove
        interval = choice.interval
        first, last = low, end
        if interval.min is not None:
            first = self._lesser(self._greater(interval.min, low), end)
        if interval.max is not None:
            last = self._greater(self._lesser(smart.add(interval.max, 1), end), first)
        if prove(smart.ge(first, last)):
            return False
        has_pre = not prove(smart.le(first, low))
        has_post = not prove(smart.ge(last, end))
        block = loop.parent
        assert block is not None
        old = (loop.min, loop.extent)
        builder = Builder(InsertPoint.before(loop))
        known: dict[Expr, SSAValue] = {view(value): value for value in old}
        middle = loop
        parts = [(middle, first, last)]
        if has_pre:
            parts.insert(0, (loop.clone(), low, first))
        if has_post:
            parts.append((loop.clone(), last, end))
        for part, start, stop in parts:
            length = self._analyzer.simplify(smart.sub(stop, start))
            part.operands = (emit(start, builder, known), emit(length, builder, known))
            self._parts[part] = None
            if part is not middle:
                block.insert_op_before(part, middle)
        if has_post:
            post = parts[-1][0]
            post.detach()
            block.insert_op_after(post, middle)
        erase_if_unused(old)
        _set(choice.conditions, truth=choice.truth)
        for part, start, stop in parts:
            if part is middle or prove(smart.gt(stop, start)):
                self._visit_loop(part, rounds - 1)
        return True

    def _greater(self, a: Expr, b: Expr) -> Expr:
        if self._analyzer.can_prove(smart.ge(a, b)):
            return a
        if self._analyzer.can_prove(smart.ge(b, a)):
            return b
        return self._analyzer.simplify(smart.maximum(a, b))

    def _lesser(self, a: Expr, b: Expr) -> Expr:
        if self._analyzer.can_prove(smart.le(a, b)):
            return a
        if self._analyzer.can_prove(smart.le(b, a)):
            return b
        return self._analyzer.simplify(smart.minimum(a, b))

    def _finish(self, part: tir.ForOp) -> None:
        """Let a part start at 0, or put its only iteration in its place."""
        body, variable, start = part.body.block, part.loop_var, part.min
        extent = part.extent
        others = set(() if part.annotations is None else part.annotations.data) - {
            PARTITION_HINT
        }
        runs_once = tir.is_constant(extent, 1)
        if runs_once and not others and not self.options.no_unroll_loop_with_extent_one:
            variable.replace_all_uses_with(start)
            body.erase_arg(variable)
            replace_by_body(part, body)
            erase_if_unused((start, extent))
        elif not tir.is_constant(start, 0):
            block = part.parent
            assert block is not None
            zero = tir.ConstOp.of(0, start.type)
            block.insert_op_before(zero, part)
            part.operands = (zero.result, extent)
            if variable.first_use is not None:
                shifted = tir.AddOp(start, start)
                replace_value_uses(variable, shifted.result)
                shifted.operands = (variable, start)
                Builder(InsertPoint.at_start(body)).insert(shifted)
            else:
                erase_if_unused((start,))

    # ---- launches ----

    def _visit_launch(self, launch: tir.LaunchThreadOp) -> None:
        if self._is_candidate(launch):
            self._guard(launch)
        with self._inside(launch):
            self._visit_regions(launch)

    def _guard(self, launch: tir.LaunchThreadOp) -> None:
        """Make the body of a launch one version for the threads of an interval, and one
        for the others."""
        records = _Finder(launch, self._analyzer, self._hint, self._relax).find()
        found = _range_of(launch)
        whole = from_range(found)
        choice = self._choose(records, whole, hinted=is_hinted(launch))
        if choice is None:
            return
        inner = _innermost(launch)
        conditions = [
            value
            for value in choice.conditions
            if isinstance(value.owner, Operation) and inner.is_ancestor(value.owner)
        ]
        if not conditions or not self._may_copy(inner, 1):
            return
        guard = self._guard_of(Value(launch.thread_var), choice.interval, whole)
        _set_where(guard, inner, conditions, truth=choice.truth)

    def _guard_of(self, variable: Expr, interval: IntSet, whole: IntSet) -> Expr:
        assert whole.min is not None, "a range has ends"
        assert whole.max is not None, "a range has ends"
        guard = smart.const(1, i1)
        low, high = interval.min, interval.max
        if low is not None and not self._analyzer.can_prove(smart.le(low, whole.min)):
            guard = smart.conjunction(guard, smart.ge(variable, low))
        if high is not None and not self._analyzer.can_prove(smart.ge(high, whole.max)):
            guard = smart.conjunction(guard, smart.le(variable, high))
        return guard


def _innermost(launch: tir.LaunchThreadOp) -> tir.LaunchThreadOp:
    """The innermost launch, where all are inside of each other; else the launch."""
    inner = launch
    for op in launch.walk():
        if isinstance(op, tir.LaunchThreadOp) and op is not launch:
            if not inner.is_ancestor(op):
                return launch
            inner = op
    return inner


def _set(conditions: Iterable[SSAValue], *, truth: bool) -> None:
    """Replace conditions, which are results of ops, by a constant."""
    for condition in conditions:
        owner = condition.owner
        assert isinstance(owner, Operation), "it depends on a variable"
        constant = Builder(InsertPoint.before(owner)).insert(tir.ConstOp.of(truth, i1))
        condition.replace_all_uses_with(constant.result)
        erase_if_unused((condition,))


def _set_where(
    guard: Expr, launch: tir.LaunchThreadOp, conditions: list[SSAValue], *, truth: bool
) -> None:
    """Give a launch a version of its body in which the conditions are set."""
    if isinstance(guard, Const) and guard.value:
        _set(conditions, truth=truth)
        return
    copy = launch.body.clone()
    other, body = copy.block, launch.body.block
    other.args[0].replace_all_uses_with(launch.thread_var)
    other.erase_arg(other.args[0])
    main = Block()
    for op in list(body.ops):
        op.detach()
        main.add_op(op)
    builder = Builder(InsertPoint.at_end(body))
    value = emit(guard, builder)
    builder.insert(tir.IfOp(value, Region(main), copy))
    _set(conditions, truth=truth)
