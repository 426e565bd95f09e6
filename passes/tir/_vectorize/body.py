"""The body of a vectorized loop, rewritten in place: lanes instead of iterations."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Generator, Iterable, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops, ops_in
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr, Ramp, Value, emit, view
from xdsl_tvm.analysis.tir.memory_order import Facts
from xdsl_tvm.analysis.tir.side_effect import op_does_nothing
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.accesses import accessed_type
from xdsl_tvm.passes.tir._vectorize.independence import values_in
from xdsl_tvm.passes.tir._vectorize.lanes import (
    NeedsScalars,
    Width,
    broadcast,
    common_width,
    scalar_lanes,
    widened,
)
from xdsl_tvm.passes.tir.rewriting.statements import (
    can_speculate,
    describe,
    erase_if_unused,
    insert_body_before,
)

_UI32 = tir.parse_dtype("uint32")
_MOST_COPIES = 4
"""Copies of expressions for scalar loops, per op of the loop; beyond, all is serial."""


class NeedsSerialLoop(Exception):
    """The loop cannot be vectorized without changing what it does."""


class _CannotPredicate(Exception):
    """A branch has more than accesses that a lane mask can guard."""


@dataclass
class _Scope:
    """A block that is being rewritten."""

    cursor: Operation
    """New ops go before it; what was made in the block so far is there."""
    known: MutableMapping[Expr, SSAValue]


@dataclass
class _Mask:
    """What holds for the lanes of a predicated branch."""

    base: Expr
    predicate: SSAValue


class BodyVectorizer:
    """Rewrites the body of one loop for `width` lanes.

    `rewrite` leaves the loop with a body that runs once and that does not use the loop
    variable. It raises NeedsSerialLoop where the loop has to stay as it was; the loop is
    then half rewritten, and the caller has a copy. `trees` are views of values outside.
    """

    def __init__(
        self,
        loop: tir.ForOp,
        width: Width,
        trees: MutableMapping[SSAValue, Expr],
        *,
        predicates: bool,
    ) -> None:
        self._loop = loop
        self._width = width
        self._predicates = predicates
        self._outside = trees
        self._analyzer = Analyzer()
        variable = loop.loop_var
        one = smart.const(1, variable.type)
        ramp = Ramp(width.vector(variable.type), view(loop.min, trees), one)
        self._lanes: dict[SSAValue, Expr] = {variable: ramp}
        """What values become, as trees over new values."""
        self._scalars: set[SSAValue] = set()
        """Values that only scalar loops compute."""
        self._varying = _varying_ops(loop)
        self._scopes: dict[Block, _Scope] = {}
        self._root: dict[Expr, SSAValue] = {self._outside[loop.min]: loop.min}
        self._replaced: list[Operation] = []
        self._made: list[tuple[Operation, bool]] = []
        """New ops in their order, and whether what they replace had uses."""
        self._mask: _Mask | None = None
        self._facts: Facts | None = None
        self._copies_left = _MOST_COPIES * sum(1 for _ in all_ops(loop))

    def rewrite(self) -> None:
        """Do it; see the class."""
        self._visit_block(self._loop.body.block)
        needed = {value for op in self._replaced for value in _used_values([op])}
        gone = values_in(self._replaced)
        for op in reversed(self._replaced):
            Rewriter.erase_op(op)
        for op, was_used in reversed(self._made):
            if any(result.first_use is not None for result in op.results):
                continue
            if isinstance(op, tir.LetOp) and was_used:
                operands = tuple(op.operands)
                Rewriter.erase_op(op)
                erase_if_unused(operands)
            elif was_used:
                erase_if_unused(op.results)
        erase_if_unused(value for value in needed if value not in gone)

    # ---- blocks ----

    def _visit_block(self, block: Block) -> None:
        ops = ops_in(block)
        if not ops:
            return
        outer = self._innermost if self._scopes else None
        scope = self._scopes[block] = _Scope(ops[0], self._nested_table(outer))
        for op in ops:
            scope.cursor = op
            if op in self._varying:
                self._visit(op)
        del self._scopes[block]

    def _nested_table(self, outer: _Scope | None) -> MutableMapping[Expr, SSAValue]:
        """The table of values for a block inside of `outer`."""
        above = self._root if outer is None else outer.known
        return ChainMap[Expr, SSAValue]({}, cast("dict[Expr, SSAValue]", above))

    def _visit(self, op: Operation) -> None:
        try:
            is_gone = self._vectorize(op)
        except NeedsScalars:
            if op.results and not _is_statement(op):
                self._scalars.update(op.results)
            elif self._mask is not None:
                raise _CannotPredicate from None
            else:
                self._scalarize(op)
            is_gone = True
        if is_gone:
            self._replaced.append(op)

    def _vectorize(self, op: Operation) -> bool:
        """Rewrite an op that depends on the lane; whether another is in its place."""
        match op:
            case tir.LoadOp():
                self._load(op)
            case tir.StoreOp():
                self._store(op)
            case tir.LetOp():
                self._let(op)
            case tir.EvaluateOp(value=SSAValue() as value):
                self._make(op, tir.EvaluateOp(self._emitted(value)))
            case tir.IfThenElseOp():
                self._choice(op)
            case tir.IfOp():
                return self._if(op)
            case tir.ForOp() | tir.ScopeOp() | tir.AttrOp():
                if any(self._is_varying(operand) for operand in op.operands):
                    raise NeedsScalars
                self._visit_block(op.body.block)
                return False
            case tir.ShuffleOp():
                self._shuffle(op)
            case tir.CallOp() if op.callee.data == "call_llvm_pure_intrin":
                self._llvm_call(op)
            case tir.CallOp() if op.callee.data == "texture2d_load":
                self._texture_load(op)
            case tir.CallOp() if op.callee.data == "texture2d_store":
                self._texture_store(op)
            case _:
                self._expression(op)
        return True

    # ---- values ----

    def _is_varying(self, value: SSAValue) -> bool:
        return value in self._lanes or value in self._scalars

    def _tree(self, value: SSAValue) -> Expr:
        """What a value becomes; itself, if all iterations have it.

        Raises NeedsScalars where no vector holds it.
        """
        if value in self._scalars:
            raise NeedsScalars
        tree = self._lanes.get(value)
        if tree is None:
            tree = view(value, self._outside)
            self._known_for(value).setdefault(tree, value)
        return tree

    def _known_for(self, value: SSAValue) -> MutableMapping[Expr, SSAValue]:
        block = value.owner if isinstance(value.owner, Block) else value.owner.parent
        scope = None if block is None else self._scopes.get(block)
        return self._root if scope is None else scope.known

    def _emitted(self, value: SSAValue, width: Width | None = None) -> SSAValue:
        """A value with the lanes of `value`, or broadcast to `width`."""
        tree = self._tree(value)
        if value in self._lanes:
            # Where it was computed, so that all uses share it.
            block = value.owner if isinstance(value.owner, Block) else value.owner.parent
            emitted = self._emit(tree, self._scopes.get(cast(Block, block)))
        else:
            emitted = value
        if width is None or Width.of(emitted.type) == width:
            return emitted
        return self._emit(broadcast(tree, width), self._innermost)

    @property
    def _innermost(self) -> _Scope:
        return next(reversed(self._scopes.values()))

    def _emit(self, tree: Expr, scope: _Scope | None) -> SSAValue:
        scope = scope or self._innermost
        return emit(tree, Builder(InsertPoint.before(scope.cursor)), scope.known)

    def _make(self, old: Operation, new: Operation) -> None:
        """Insert an op that stands for `old`."""
        new.location = old.location
        new.attributes |= old.attributes
        self._insert(new, any(result.first_use is not None for result in old.results))
        for before, after in zip(old.results, new.results, strict=True):
            after.name_hint = before.name_hint
            self._lanes[before] = Value(after)

    def _insert(self, new: Operation, was_used: bool = True) -> None:
        Rewriter.insert_op(new, InsertPoint.before(self._innermost.cursor))
        self._made.append((new, was_used))

    def _expression(self, op: Operation) -> None:
        if len(op.results) != 1 or op.regions:
            raise NeedsScalars
        leaves = {operand: Value(operand) for operand in op.operands}
        node = view(op.results[0], cast("dict[SSAValue, Expr]", dict(leaves)))
        if isinstance(node, Value):
            raise NeedsScalars
        operands = [self._tree(operand) for operand in op.operands]
        try:
            self._lanes[op.results[0]] = widened(node, operands, self._analyzer)
        except PassFailedException as error:
            raise PassFailedException(f"{describe(op)}: {error}") from None

    def _let(self, op: tir.LetOp) -> None:
        if op.result.type != op.value.type:
            raise NeedsScalars
        value = self._emitted(op.value)
        self._make(op, tir.LetOp(value, name=op.var_name, kind=op.kind.data))

    # ---- accesses ----

    def _load(self, op: tir.LoadOp) -> None:
        indices = self._indices(op)
        dtype = accessed_type(op, cast(tir.BufferType, op.buffer.type), indices)
        predicate = self._predicate(op, Width.of(dtype))
        self._make(op, tir.LoadOp(op.buffer, indices, predicate, dtype))

    def _indices(self, op: tir.LoadOp | tir.StoreOp) -> list[SSAValue]:
        if not op.indices or any(map(self._is_varying, op.indices[:-1])):
            raise NeedsScalars
        if self._is_varying(op.buffer):
            raise NeedsScalars
        *_, last = op.indices
        element = cast(tir.BufferType, op.buffer.type).element_type
        if tir.is_scalable(element) and self._is_varying(last):
            raise PassFailedException(
                f"{describe(op)} accesses elements of the scalable type {element} from a "
                "vectorized loop; make the loop serial"
            )
        return [*op.indices[:-1], self._emitted(last)]

    def _store(self, op: tir.StoreOp) -> None:
        indices = self._indices(op)
        if not self._is_varying(op.indices[-1]):
            # All lanes write the same place, one after the other.
            raise NeedsScalars
        dtype = accessed_type(op, cast(tir.BufferType, op.buffer.type), indices)
        width = Width.of(dtype)
        value = self._emitted(op.value, width)
        predicate = self._predicate(op, width)
        self._make(op, tir.StoreOp(value, op.buffer, indices, predicate))

    def _predicate(self, op: tir.LoadOp | tir.StoreOp, width: Width) -> SSAValue | None:
        if self._mask is not None:
            index = self._tree(op.indices[0])
            if not isinstance(index, Ramp) or index.base is not self._mask.base:
                raise _CannotPredicate
            if not smart.literal(index.stride) == 1 or width != self._width:
                raise _CannotPredicate
            return self._mask.predicate
        return None if op.predicate is None else self._emitted(op.predicate, width)

    # ---- calls ----

    def _llvm_call(self, op: tir.CallOp) -> None:
        """Widen the operands after the name, and the number that selects an overload."""
        first = 1
        if len(op.args) > 2 and op.args[1].type == _UI32:
            first += tir.constant_value(op.args[1]) is not None
        trees = [self._tree(arg) for arg in op.args[first:]]
        width = common_width(trees)
        assert op.result is not None
        if tir.is_vector(op.result.type):
            raise NeedsScalars
        args = [self._emitted(arg, width) for arg in op.args[first:]]
        dtype = width.vector(op.result.type)
        self._make(op, tir.CallOp(op.callee, [*op.args[:first], *args], dtype))

    def _texture_load(self, op: tir.CallOp) -> None:
        *place, channel = op.args
        if any(map(self._is_varying, place)) or op.result is None:
            raise NeedsScalars
        dtype = tir.with_lanes(op.result.type, 4)
        self._make(op, tir.CallOp(op.callee, [*place, self._emitted(channel)], dtype))

    def _texture_store(self, op: tir.CallOp) -> None:
        *place, value = op.args
        if any(map(self._is_varying, place)):
            raise NeedsScalars
        emitted = self._emitted(value)
        dtype = None if op.result is None else emitted.type
        self._make(op, tir.CallOp(op.callee, [*place, emitted], dtype))

    def _shuffle(self, op: tir.ShuffleOp) -> None:
        """All lanes of a vector, picked one by one, are the vector."""
        if len(op.vectors) != 1 or len(op.indices) != 1:
            raise NeedsScalars
        (vector,), (index,) = op.vectors, op.indices
        tree = self._tree(index)
        matches = (
            isinstance(tree, Ramp)
            and smart.literal(tree.base) == 0
            and smart.literal(tree.stride) == 1
            and Width.of(vector.type) == Width.of(tree.dtype)
        )
        if not matches or self._is_varying(vector):
            raise NeedsScalars
        self._lanes[op.result] = self._tree(vector)

    # ---- choices ----

    @contextmanager
    def _undone_on_failure(self, clone: Operation) -> Generator[None]:
        """Take `clone` and what was made since back if it cannot be vectorized."""
        lengths = len(self._replaced), len(self._made)
        scopes = dict(self._scopes)
        try:
            yield
        except (NeedsScalars, _CannotPredicate):
            self._scopes = scopes
            del self._replaced[lengths[0] :]
            self._made[lengths[1] :] = [
                item
                for item in self._made[lengths[1] :]
                if not clone.is_ancestor(item[0])
            ]
            Rewriter.erase_op(clone)
            raise

    def _cloned(self, op: Operation) -> Operation:
        clone = op.clone()
        for old, new in zip(op.walk(), clone.walk(), strict=True):
            if old in self._varying:
                self._varying.add(new)
        Rewriter.insert_op(clone, InsertPoint.before(self._innermost.cursor))
        return clone

    def _choice(self, op: tir.IfThenElseOp) -> None:
        if self._is_varying(op.condition):
            raise NeedsScalars
        clone = cast(tir.IfThenElseOp, self._cloned(op))
        with self._undone_on_failure(clone):
            yields = [cast(tir.YieldOp, r.block.last_op) for r in clone.regions]
            for region in clone.regions:
                self._varying.discard(cast(Operation, region.block.last_op))
                self._visit_block(region.block)
            width = common_width([self._branch_tree(last) for last in yields])
            for last in yields:
                self._yield(last, width)
        regions = [clone.detach_region(region) for region in tuple(clone.regions)]
        dtype = width.vector(op.result.type)
        choice = tir.IfThenElseOp(op.condition, dtype, *regions)
        Rewriter.erase_op(clone)
        self._make(op, choice)

    def _branch_tree(self, last: tir.YieldOp) -> Expr:
        return self._tree(last.value)

    def _yield(self, last: tir.YieldOp, width: Width) -> None:
        block = last.parent
        assert block is not None
        self._scopes[block] = _Scope(last, self._nested_table(self._innermost))
        value = self._emitted(last.value, width)
        del self._scopes[block]
        Rewriter.replace_op(last, tir.YieldOp(value))

    def _if(self, op: tir.IfOp) -> bool:
        if not self._is_varying(op.condition):
            for region in op.regions:
                self._visit_block(region.block)
            return False
        if self._mask is not None:
            raise _CannotPredicate
        if op.else_region is not None or not self._predicates:
            raise NeedsScalars
        try:
            self._predicated(op)
        except _CannotPredicate:
            raise NeedsScalars from None
        return True

    def _predicated(self, op: tir.IfOp) -> None:
        """Guard the accesses of a branch by a mask in place of the condition."""
        lanes = scalar_lanes(self._tree(op.condition))
        if lanes is None or not all(map(_can_run_unguarded, op.then_region.block.ops)):
            raise _CannotPredicate
        if not any(isinstance(o, _ACCESSES) for o in op.then_region.block.ops):
            raise _CannotPredicate
        clone = cast(tir.IfOp, self._cloned(op))
        with self._undone_on_failure(clone):
            scope = self._innermost
            outer = scope.cursor
            scope.cursor = clone
            base, limit = lanes
            args = [self._emit(part, scope) for part in (base, limit)]
            mask = tir.CallOp("get_active_lane_mask", args, self._width.vector(i1))
            self._insert(mask)
            self._mask = _Mask(base, mask.results[0])
            try:
                body = clone.then_region.block
                for inner in body.ops:
                    if isinstance(inner, _ACCESSES) and inner not in self._varying:
                        raise _CannotPredicate
                self._visit_block(body)
            finally:
                self._mask = None
                scope.cursor = outer
        insert_body_before(clone, clone.then_region.block, followed=True)
        Rewriter.erase_op(clone)

    # ---- scalar loops ----

    def _scalarize(self, op: Operation) -> None:
        """Run a statement lane by lane, with all that it needs of the lane."""
        loop = self._loop
        needed = self._needed_by(op)
        self._copies_left -= len(needed)
        if self._copies_left < 0:
            raise NeedsSerialLoop
        variable = loop.loop_var
        name = variable.name_hint if loop.loop_name is None else loop.loop_name.data
        from_zero = tir.is_constant(loop.min, 0)
        first = loop.min
        if not from_zero:
            zero = tir.ConstOp.of(0, variable.type)
            self._insert(zero)
            first = zero.result
        scalar = tir.ForOp(first, loop.extent, name=f"{name or 'v'}.s")
        scalar.location = op.location
        scalar.loop_var.name_hint = variable.name_hint
        block = scalar.body.block
        index: SSAValue = scalar.loop_var
        if not from_zero:
            shifted = tir.AddOp(loop.min, index)
            block.add_op(shifted)
            index = shifted.result
        values: dict[SSAValue, SSAValue] = {variable: index}
        for each in (*needed, op):
            block.add_op(each.clone(values))
        self._insert(scalar)

    def _needed_by(self, statement: Operation) -> list[Operation]:
        """The ops before a statement that it needs anew for each lane, in order."""
        found: set[Operation] = set()
        pending = [statement]
        while pending:
            for value in _used_values([pending.pop()]):
                owner = value.owner
                if not self._is_varying(value) or isinstance(owner, Block):
                    continue
                if owner not in found:
                    found.add(owner)
                    pending.append(owner)
        if not found:
            return []
        facts = self._facts_of_loop()
        for op in found:
            self._require_movable(op, statement, facts)
        return sorted(found, key=lambda op: facts.ops[op].start)

    def _facts_of_loop(self) -> Facts:
        if self._facts is None:
            self._facts = Facts([self._loop])
        return self._facts

    def _require_movable(self, op: Operation, to: Operation, facts: Facts) -> None:
        """Raise NeedsSerialLoop unless `op` gives the same at `to`."""
        if op not in facts.ops or to not in facts.ops:
            raise NeedsSerialLoop
        place: Operation = to
        while place.parent is not op.parent:
            outer = place.parent_op()
            if outer is None or outer is self._loop:
                raise NeedsSerialLoop
            if isinstance(outer, tir.ForOp) and not can_speculate(op):
                raise NeedsSerialLoop
            place = outer
        if facts.is_written_between(op, to):
            raise NeedsSerialLoop


_ACCESSES = (tir.LoadOp, tir.StoreOp)


def _can_run_unguarded(op: Operation) -> bool:
    """Whether an op of a predicated branch may run in lanes that are masked out."""
    if isinstance(op, _ACCESSES):
        return len(op.indices) == 1 and op.predicate is None
    if isinstance(op, tir.LetOp):
        return True
    return not op.regions and bool(op.results) and can_speculate(op)


def _is_statement(op: Operation) -> bool:
    """Whether an op is there for its effect: nothing uses its results."""
    is_used = any(result.first_use is not None for result in op.results)
    return not is_used and not op_does_nothing(op)


def _used_values(ops: Iterable[Operation]) -> list[SSAValue]:
    """The values that ops and what is inside of them use."""
    return [value for op in ops for inner in all_ops(op) for value in inner.operands]


def _varying_ops(loop: tir.ForOp) -> set[Operation]:
    """The ops in the loop that depend on its variable, or hold ops that do."""
    values: set[SSAValue] = {loop.loop_var}
    found: set[Operation] = set()
    for op in all_ops(loop.body):
        if op in found or not any(operand in values for operand in op.operands):
            continue
        each: Operation | None = op
        while each is not None and each is not loop and each not in found:
            found.add(each)
            values.update(each.results)
            each = each.parent_op()
        for region in op.regions:
            for block in region.blocks:
                values.update(block.args)
    return found
