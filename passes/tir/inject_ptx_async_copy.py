"""Copies from global to shared memory become asynchronous instructions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeGuard

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import (
    Add,
    Broadcast,
    Expr,
    Ramp,
    emit,
)
from xdsl_tvm.analysis.derivation import derivation
from xdsl_tvm.analysis.tir.flat_index import flat_indices
from xdsl_tvm.analysis.tir.memory_order import Facts
from xdsl_tvm.analysis.tir.scoped_facts import FactsWalker
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.rewriting.statements import (
    can_speculate,
    erase_if_unused,
    is_computed_inside,
    replace_by_body,
)

_SCOPE: Final = "async_scope"
_SIZES: Final = (4, 8, 16)
"""The bytes that one `cp.async` copies."""


@dataclass(frozen=True)
class InjectPTXAsyncCopy(CompilerPass):
    """Summary: Turns asynchronous copies to shared memory into `ptx_cp_async`.

    TVM name: tir.InjectPTXAsyncCopy (v0.20)
    Input form: flat and vector code of a device, after ThreadSync
    Output form: the same, without `tir.attr "async_scope"`
    Options: none
    Rewrites: before

            tir.attr "async_scope" (%c0) = 1 : i32 {
              %v = tir.ramp %base, %c1 : vector<4xi32>
              %x = tir.load %A[%v] : vector<4xf32>
              %w = tir.ramp %place, %c1 : vector<4xi32>
              tir.store %x, %S[%w] : vector<4xf32>
            }

        after

            %s = tir.data %S : !tir.ptr<f32, "shared">
            %a = tir.data %A : !tir.ptr<f32>
            %c16 = tir.const 16 : i32
            %0 = tir.call "ptx_cp_async"(%s, %place, %a, %base, %c16)
                : (!tir.ptr<f32, "shared">, i32, !tir.ptr<f32>, i32, i32) -> f32

        A copy of 4, 8 or 16 bytes is rewritten whose source is in `global` and whose
        destination in `shared` or `shared.dyn`. The value is a load, or
        `tir.if_then_else %p` of a load and 0 or 0.0, whose condition becomes a last
        operand. Each offset counts the elements of the pointer before it: that of the
        memory for a declared buffer. So a view on merged bytes has its offset multiplied
        by the bytes of its elements. Time is linear in the size of the function.
    Leaves alone: functions without `async_scope`. In one, a store stays as it is, and
        becomes synchronous, if it has another size, scope or value; if it or the load has
        a predicate; if the lanes of an index are not neighbours; if an address is not
        known to be a multiple of the size; if memory that the load reads may be written
        between load and store; if the load is not in the block of the store; if the
        offset of a guarded load cannot be computed where the guard does not hold. Waits
        and commits stay. A value with other uses stays, too.
    Errors: none
    Attributes: read: none; created: none; removed: `async_scope`
    Differs from TVM: strides of ramps, alignment, predicates of accesses and the order of
        loads and writes are checked. Elements of memory may be vectors, as StorageRewrite
        makes them. A buffer of several dimensions is flattened, and an element offset
        counts. The integer 0 is a zero, and -0.0 is none. A scope in a scope is no error.
    """

    name = "tir-inject-ptx-async-copy"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in [each for each in op.walk() if isinstance(each, tir.FuncOp)]:
            scopes = [each for each in all_ops(func) if _is_async(each)]
            if not scopes:
                continue
            _rewrite(func)
            for scope in scopes:
                operands = tuple(scope.operands)
                replace_by_body(scope, scope.body.block)
                erase_if_unused(operands)


def _is_async(op: Operation) -> TypeGuard[tir.AttrOp]:
    return isinstance(op, tir.AttrOp) and op.key.data == _SCOPE


class _Offset(NamedTuple):
    """An offset from the start of a buffer's memory, in elements of the buffer."""

    tree: Expr
    known: dict[Expr, SSAValue]


class _Copy(NamedTuple):
    """A store that copies, and what its call takes."""

    store: tir.StoreOp
    load: tir.LoadOp
    condition: SSAValue | None
    size: int
    target: _Offset
    source: _Offset


def _rewrite(func: tir.FuncOp) -> None:
    """Rewrite the copies in the asynchronous scopes of a function."""
    facts = Facts([func])
    found: list[_Copy] = []
    depths: dict[Operation, bool] = {}

    def is_inside(op: Operation) -> bool:
        parent = op.parent_op()
        return parent is not None and (_is_async(parent) or depths.get(parent, False))

    def visit(op: Operation) -> None:
        if op.regions:
            depths[op] = is_inside(op)
        elif isinstance(op, tir.StoreOp) and is_inside(op):
            copy = _copy_of(op, walker, facts)
            if copy is not None:
                found.append(copy)

    walker = FactsWalker(Analyzer(), visit)
    walker.walk(func)
    for copy in found:
        _replace(copy)


# ---- what is a copy ----


def _copy_of(store: tir.StoreOp, walker: FactsWalker, facts: Facts) -> _Copy | None:
    size = _size_of(store)
    scope = store.buffer.type
    assert isinstance(scope, tir.BufferType)
    if size is None or scope.scope.data not in ("shared", "shared.dyn"):
        return None
    found = _loaded(store.value)
    if found is None:
        return None
    load, condition = found
    read = store.value.owner
    assert isinstance(read, Operation)
    source = load.buffer.type
    assert isinstance(source, tir.BufferType)
    if source.scope.data != "global" or load.predicate or store.predicate:
        return None
    if read.parent is not store.parent or read not in facts.ops:
        return None
    if facts.ops[read].start > facts.ops[store].start:
        return None
    if isinstance(read, tir.IfThenElseOp) and not facts.is_choice(read):
        return None
    if facts.is_written_between(read, store):
        return None
    offsets: list[_Offset] = []
    for access in (store, load):
        offset = _offset_of(access, size, walker)
        if offset is None:
            return None
        offsets.append(offset)
    return _Copy(store, load, condition, size, *offsets)


def _size_of(store: tir.StoreOp) -> int | None:
    """The bytes of what is stored, None for what one instruction cannot copy."""
    dtype = store.value.type
    if tir.is_scalable(dtype) or tir.is_custom(tir.element_of(dtype)):
        return None
    if tir.is_handle(dtype) or (tir.bits_of_lane(dtype) % 8 and not tir.is_bool(dtype)):
        return None
    size = tir.bytes_of(dtype)
    return size if size in _SIZES else None


def _loaded(value: SSAValue) -> tuple[tir.LoadOp, SSAValue | None] | None:
    """The load of a copied value, and the condition under which it is one."""
    match value.owner:
        case tir.LoadOp() as load:
            return load, None
        case tir.IfThenElseOp() as choice:
            load = _yielded(choice.true_region.block.last_op)
            other = _yielded(choice.false_region.block.last_op)
            if not isinstance(load, tir.LoadOp) or not _is_zero(other):
                return None
            if load.parent is not choice.true_region.block:
                return None
            branch = choice.true_region.block
            rest = [op for op in branch.ops if not isinstance(op, tir.YieldOp)]
            if not all(op is load or can_speculate(op) for op in rest):
                return None
            return load, choice.condition
        case _:
            return None


def _yielded(last: Operation | None) -> object:
    """The op whose value a branch of a choice yields."""
    return last.values[0].owner if isinstance(last, tir.YieldOp) else None


def _is_zero(op: object) -> bool:
    """Whether it is 0 or 0.0, or a vector of it; -0.0 has other bits."""
    if isinstance(op, tir.BroadcastOp):
        op = op.value.owner
    if not isinstance(op, tir.ConstOp):
        return False
    return op.literal == 0 and math.copysign(1, op.literal) > 0


def _offset_of(
    access: tir.LoadOp | tir.StoreOp, size: int, walker: FactsWalker
) -> _Offset | None:
    """Where an access begins; None for one that is no aligned row of neighbours."""
    buffer = tir.buffer_definition(access.buffer)
    known: dict[Expr, SSAValue] = {}
    trees = [_viewed(index, walker, known) for index in access.indices]
    flat = flat_indices(buffer, trees)
    if len(flat) != 1:
        return None
    start = _start_of(flat[0])
    if start is None or not tir.is_index_type(start.dtype):
        return None
    if buffer.elem_offset is not None and not tir.is_constant(buffer.elem_offset, 0):
        if buffer.elem_offset.type != start.dtype:
            return None
        start = smart.add(start, _viewed(buffer.elem_offset, walker, known))
    if not _is_aligned(buffer, start, size, walker.analyzer):
        return None
    choice = access.parent_op()
    if isinstance(choice, tir.IfThenElseOp) and isinstance(access, tir.LoadOp):
        # The offset is computed outside of the choice.
        if is_computed_inside(start, choice):
            return None
        known = {
            tree: value
            for tree, value in known.items()
            if not choice.is_ancestor(value.owner)
        }
    return _Offset(start, known)


def _viewed(value: SSAValue, walker: FactsWalker, known: dict[Expr, SSAValue]) -> Expr:
    """The tree of an index; `known` receives the values that offsets are made of."""
    pending = [value]
    while pending:
        one = pending.pop()
        known.setdefault(walker.tree(one), one)
        match one.owner:
            case tir.RampOp() as ramp:
                pending.append(ramp.base)
            case tir.BroadcastOp() as broadcast:
                pending.append(broadcast.value)
            case tir.AddOp() as total if tir.is_vector(one.type):
                pending += (total.lhs, total.rhs)
            case _:
                pass
    return walker.tree(value)


def _start_of(index: Expr) -> Expr | None:
    """The first lane of an index whose lanes are neighbours, None for another one."""
    match index:
        case Ramp():
            return index.base if smart.literal(index.stride) == 1 else None
        case Add(lhs=lhs, rhs=Broadcast() as rhs):
            start = _start_of(lhs)
            return None if start is None else smart.add(start, rhs.operands[0])
        case Add(lhs=Broadcast() as lhs, rhs=rhs):
            start = _start_of(rhs)
            return None if start is None else smart.add(lhs.operands[0], start)
        case _:
            return None if tir.is_vector(index.dtype) else index


def _is_aligned(
    buffer: tir.BufferDefinition, start: Expr, size: int, analyzer: Analyzer
) -> bool:
    """Whether the address of an element is certainly a multiple of `size` bytes."""
    element = tir.bytes_of(buffer.type.element_type)
    if tir.bytes_of_lane(buffer.type.element_type) >= size:
        return True
    if _alignment_of_memory(buffer) % size:
        return False
    found = analyzer.modular_set(start)
    return found.coeff * element % size == 0 and found.base * element % size == 0


def _alignment_of_memory(buffer: tir.BufferDefinition) -> int:
    """A power of two that divides the address of the first element of the memory.

    Memory that is allocated, and that of parameters, is aligned as its buffers declare.
    """
    found = buffer.alignment
    for value in derivation(buffer.buffer):
        match value.owner:
            case tir.BufferDefinition() as definition:
                found = math.gcd(found, definition.alignment)
            case tir.AccessPtrOp() | tir.AddressOfOp():
                return tir.bytes_of_lane(buffer.type.element_type)
            case _:
                pass
    return found


# ---- calls ----


def _replace(copy: _Copy) -> None:
    """Put a call in the place of the store, and erase what is not used any more."""
    store, load = copy.store, copy.load
    builder = Builder(InsertPoint.before(store))
    first = store.prev_op
    target = _pointer_and_offset(store.buffer, copy.target, builder)
    source = _pointer_and_offset(load.buffer, copy.source, builder)
    size = builder.insert(tir.ConstOp(IntegerAttr(copy.size, i32)))
    operands: list[SSAValue] = [*target, *source, size.result]
    if copy.condition is not None:
        operands.append(copy.condition)
    buffer = store.buffer.type
    assert isinstance(buffer, tir.BufferType)
    builder.insert(tir.CallOp("ptx_cp_async", operands, buffer.element_type))
    added = store.prev_op
    while added is not None and added is not first:
        added.location = store.location
        added = added.prev_op
    unused = (store.value, *store.indices, *load.indices)
    Rewriter.erase_op(store)
    erase_if_unused(unused)


def _pointer_and_offset(
    value: SSAValue, offset: _Offset, builder: Builder
) -> tuple[SSAValue, SSAValue]:
    """The memory of a buffer, and an offset in elements of the pointer."""
    buffer = tir.buffer_definition(value)
    factor = 1
    pointer: SSAValue | None = None
    if isinstance(buffer, tir.DeclBufferOp):
        element = tir.bytes_of(buffer.type.element_type)
        factor, rest = _bytes_in(buffer.data, element)
        pointer = None if rest else buffer.data
    if pointer is None:
        factor = 1
        pointer = builder.insert(tir.DataOp(value)).results[0]
    tree = offset.tree if factor == 1 else smart.mul(offset.tree, factor)
    return pointer, emit(tree, builder, dict(offset.known))


def _bytes_in(pointer: SSAValue, size: int) -> tuple[int, int]:
    """How many elements of a pointer some bytes are, and what is left over."""
    assert isinstance(pointer.type, tir.PtrType)
    element = pointer.type.element_type
    if tir.is_handle(element) or tir.is_scalable(element):
        return 0, 1
    return divmod(size, tir.bytes_of(element))
