"""Stores to memory of a known size are guarded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import And, Cast, Cmp, Expr, Ramp, leaf_values, view
from xdsl_tvm.analysis.tir.function_target import functions_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode
from xdsl_tvm.passes.tir.rewriting.statements import describe, may_write

_KEY: Final = "buffer_bound"
_TUPLE: Final = "tvm_tuple"
_MESSAGE: Final = "OUT OF THE BOUNDS"
_UI64: Final = IntegerType(64, Signedness.UNSIGNED)


@dataclass(frozen=True)
class InstrumentBoundCheckers(CompilerPass):
    """Summary: Guards stores, and the loads in them, by checks of their indices.

    TVM name: tir.InstrumentBoundCheckers (v0.20)
    Input form: `flat`
    Output form: the same
    Options: none
    Rewrites: stores to, and stores of what is loaded from, memory whose extents a
        `tir.attr "buffer_bound"` anywhere in the function gives. Before

            %b = tir.call "tvm_tuple"(%n) : (i32) -> !tir.handle
            tir.attr "buffer_bound" (%p) = %b {
              %P = tir.decl_buffer "P" %p : !tir.buffer<16xf32>
              %x = tir.load %Q[%j] : f32
              tir.store %x, %P[%i] : f32
            }

        after, where `%c` is 0 <= i and i < n, in 64 bits

              tir.if %c {
                %x = tir.load %Q[%j] : f32
                tir.store %x, %P[%i] : f32
              } else {
                tir.assert %c, "OUT OF THE BOUNDS"
                tir.evaluate %c1 : i32
              }

        The condition has a pair of comparisons for each dimension of each access: of the
        loads in the order of the text, then of the store; equal ones are not merged. Of
        memory that is allocated in the function, the bounds are the extents of the
        allocation, in elements of the buffer. A vector of neighbours, a ramp, is in
        bounds if its first and its last lane are. Time is linear in the size of the
        functions.
    Leaves alone: functions without the attribute; loads that no store uses; accesses
        under a predicate, with indices of scalable vectors, and within or after a lazy
        choice (`tir.if_then_else`) in the expression of a store
    Errors: an access with another number of indices than the memory has bounds
    Attributes: read: none; created: none; removed: none
    Differs from TVM: a load that cannot be moved under the check, since it is in the
        condition itself, is used elsewhere, or is before another effect, has an assertion
        of its own before it; TVM loads in the condition what it has not checked. The last
        lane of a ramp is checked; TVM checks the one after it, and refuses a vector that
        just fits. The lanes of allocated vectors count once, not for each dimension.
        tir-insert-bound-checks, which `bound_checks` of `xdsl_tvm.compile` takes, checks
        all accesses without the attribute, which no pass creates.
    """

    name = "tir-instrument-bound-checkers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions_of(op):
            bounds = _bounds_of(func)
            if bounds:
                for store in [s for s in func.walk() if isinstance(s, tir.StoreOp)]:
                    _Guard(store, bounds).run()


@dataclass(frozen=True)
class _Bounds:
    """The extents of memory, in elements of a size."""

    extents: Sequence[Expr]
    size: int | None = None
    """Bytes of an element; None for those of the buffer that is accessed."""

    def of(self, buffer: tir.BufferType) -> list[Expr]:
        """The extents in elements of a buffer."""
        found = list(self.extents)
        if self.size is None or not found:
            return found
        size = _bytes_of(buffer.element_type)
        many, one = smart.const(self.size, _UI64), smart.const(size, _UI64)
        if self.size % size == 0:
            found[-1] = smart.mul(smart.const(self.size // size, _UI64), found[-1])
        else:
            found[-1] = smart.floordiv(smart.mul(many, found[-1]), one)
        return found


Bounds = Mapping[SSAValue, _Bounds]
"""The bounds of memory by its pointer, or by the buffer that a parameter matches."""


def _bytes_of(dtype: Attribute) -> int:
    return tir.lanes_of(dtype) * tir.bytes_of_lane(dtype)


def _bounds_of(func: tir.FuncOp) -> dict[SSAValue, _Bounds]:
    found: dict[SSAValue, _Bounds] = {}
    for op in func.walk():
        if not isinstance(op, tir.AttrOp) or op.key.data != _KEY:
            continue
        value = op.value
        if op.node is None or value is None or not isinstance(value.owner, tir.CallOp):
            continue
        if value.owner.callee.data == _TUPLE:
            extents = [view(extent) for extent in value.owner.args]
            found[_memory_of(op.node)] = _Bounds(extents)
    for memory in found:
        owner = memory.owner
        if isinstance(owner, tir.AllocateOp):
            element = owner.result.type.element_type
            found[memory] = _Bounds(
                [
                    smart.const(extent, _UI64)
                    if isinstance(extent, int)
                    else smart.cast(_UI64, view(extent))
                    for extent in owner.shape
                ],
                _bytes_of(element),
            )
    return found


def _memory_of(pointer: SSAValue) -> SSAValue:
    """The variable of a pointer, or the buffer whose pointer it is."""
    owner = pointer.owner
    while isinstance(owner, tir.DataOp):
        definition = tir.buffer_definition(owner.buffer)
        if not isinstance(definition, tir.DeclBufferOp):
            return owner.buffer
        pointer, owner = definition.data, definition.data.owner
    return pointer


class _Guard:
    """The check of a store."""

    def __init__(self, store: tir.StoreOp, bounds: Bounds) -> None:
        self._store = store
        self._bounds = bounds
        self._analyzer = Analyzer()
        self._seen = set[Operation]()
        self._is_unsafe = False
        self._conditions: list[tuple[Operation, Expr]] = []

    def run(self) -> None:
        """Put the store under its check, if anything is to be checked."""
        store = self._store
        self._visit(store.value)
        for index in store.indices:
            self._visit(index)
        self._add(store)
        if not self._conditions:
            return
        condition = self._all_of([tree for _, tree in self._conditions])
        inside = self._movable(condition)
        for load, tree in self._conditions:
            if load is not store and load not in inside:
                code = LoopCode(InsertPoint.before(load))
                code.insert(tir.AssertOp(code.value(tree), _MESSAGE))
        self._put_under(condition, inside)

    # ---- what is checked ----

    def _visit(self, value: SSAValue) -> None:
        """Add the loads of an expression, in the order of the text."""
        pending = [value]
        while pending:
            op = pending.pop().owner
            if isinstance(op, Block) or op in self._seen:
                continue
            self._seen.add(op)
            match op:
                case tir.LoadOp():
                    self._add(op)
                    pending += reversed(op.indices)
                case tir.IfThenElseOp():
                    self._is_unsafe = True
                case tir.LetOp(kind=tir.LetKindAttr(data=tir.LetKind.STMT)):
                    pass
                case _:
                    pending += reversed(op.operands)

    def _add(self, access: tir.LoadOp | tir.StoreOp) -> None:
        if self._is_unsafe or access.predicate is not None:
            return
        definition = tir.buffer_definition(access.buffer)
        memory = access.buffer
        if isinstance(definition, tir.DeclBufferOp):
            memory = _memory_of(definition.data)
        bounds = self._bounds.get(memory)
        if bounds is None:
            return
        extents = bounds.of(definition.type)
        if len(extents) != len(access.indices):
            raise PassFailedException(
                f"{describe(access)}: has {len(access.indices)} indices, and the memory "
                f'has {len(extents)} bounds; give as many to tir.attr "{_KEY}" as the '
                "flat buffer has dimensions"
            )
        pairs: list[Expr] = []
        for index, extent in zip(access.indices, extents, strict=True):
            ends = _ends_of(view(index))
            if ends is None:
                return
            pairs.append(self._pair(*ends, extent))
        if pairs:
            self._conditions.append((access, self._all_of(pairs)))

    def _pair(self, low: Expr, high: Expr, extent: Expr) -> Expr:
        """0 <= low and high < extent, in 64 bits; the casts stay, as in TVM's text."""
        low, high, extent = (
            Cast(i64, self._analyzer.simplify(each)) for each in (low, high, extent)
        )
        not_negative = Cmp(tir.CmpPredicate.GE, low, smart.const(0, i64))
        return And(not_negative, Cmp(tir.CmpPredicate.LT, high, extent))

    def _all_of(self, conditions: Sequence[Expr]) -> Expr:
        return reduce(And, conditions)

    # ---- the guard ----

    def _movable(self, condition: Expr) -> set[Operation]:
        """What only the store uses, and can run under the condition."""
        needed = {value.owner for value in leaf_values(condition)}
        inside: set[Operation] = {self._store}
        op = self._store.prev_op
        while op is not None and _is_expression(op):
            is_used = any(result.first_use is not None for result in op.results)
            if (
                is_used
                and op not in needed
                and not isinstance(op, tir.LetOp | tir.ConstOp | tir.BufferDefinition)
                and all(use.operation in inside for r in op.results for use in r.uses)
            ):
                inside.update(op.walk())
            op = op.prev_op
        return inside

    def _put_under(self, condition: Expr, inside: set[Operation]) -> None:
        store = self._store
        moved: list[Operation] = [store]
        before = store.prev_op
        while before is not None and _is_expression(before):
            if before in inside:
                moved.append(before)
            before = before.prev_op
        code = LoopCode(InsertPoint.before(store))
        value = code.value(condition)
        then, otherwise = Block(), Block()
        guard = tir.IfOp(value, Region(then), Region(otherwise))
        guard.location = store.location
        code.insert(guard)
        for op in reversed(moved):
            op.detach()
            then.add_op(op)
        code = LoopCode(InsertPoint.at_end(otherwise))
        code.insert(tir.AssertOp(value, _MESSAGE))
        code.insert(tir.EvaluateOp(code.value(smart.const(1, i32))))


def _is_expression(op: Operation) -> bool:
    """Whether an op, with what it holds, writes nothing, and is no statement."""
    if op.regions and not isinstance(op, tir.IfThenElseOp):
        return False
    return not any(may_write(inner) for inner in all_ops(op))


def _ends_of(index: Expr) -> tuple[Expr, Expr] | None:
    """The least and the greatest of the lanes of an index; None for unknown lanes."""
    if not isinstance(index, Ramp):
        return (index, index) if tir.is_scalar(index.dtype) else None
    if tir.is_scalable(index.dtype):
        return None
    base, stride = index.operands
    steps = smart.const(tir.lanes_of(index.dtype) - 1, base.dtype)
    last = smart.add(base, smart.mul(steps, stride))
    step = smart.literal(stride)
    if step is None:
        return smart.minimum(base, last), smart.maximum(base, last)
    return (base, last) if step >= 0 else (last, base)
