"""Guarded loads from memory that a kernel only reads become `ptx_ldg32`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import (
    Float32Type,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    UnitAttr,
    f32,
    i1,
    i32,
)
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.analysis.tir.memory_order import Memory, memory_of
from xdsl_tvm.analysis.tir.side_effect import own_effect
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.rewriting.statements import can_speculate, erase_if_unused

_LDG: Final = "ptx_ldg32"
_WRITES_ITS_FIRST: Final = (
    _LDG,
    "ptx_cp_async",
    "ptx_cp_async_bulk",
    "ptx_cp_async_bulk_tensor",
)
"""Builtins that write at their first operand, and read at other pointers."""


@dataclass(frozen=True)
class InjectPTXLDG32(CompilerPass):
    """Summary: Turns guarded loads of read-only memory into `ptx_ldg32`.

    TVM name: tir.InjectPTXLDG32 (v0.20)
    Input form: flat and vector code of a device
    Output form: the same
    Options: `enable_inject_ptx_intrin`: whether anything is done; the name is TVM's
    Rewrites: before

            %p = tir.allocate [8] : !tir.ptr<f32, "local">
            …
            %x = tir.if_then_else %g -> f32 {
              %y = tir.load %A[%i] : f32
              tir.yield %y : f32
            } else {
              tir.yield %zero : f32
            }
            tir.store %x, %D[%j] : f32

        after

            %predicate = tir.allocate [1] : !tir.ptr<i1, "local">
            %addr = tir.allocate [2] : !tir.ptr<i32, "local">
            %p = tir.allocate [8] : !tir.ptr<f32, "local">
            …
            tir.store %i, %addr[%c0] : i32
            tir.store %j, %addr[%c1] : i32
            tir.store %g, %predicate[%c0] : i1
            %k = tir.load %addr[%c1] : i32
            tir.store %zero, %D[%k] : f32
            tir.call "ptx_ldg32"(%D.data, %predicate[%c0], &%A[%addr[%c0]], %addr[%c1])

        The load is of f32 from `global` memory that nothing in the launch writes,
        parameters counting as different memory, and the store is in threads, to `local`
        memory. Where the load is in the else branch, the guard is negated. The builtin
        writes 0.0 where the guard does not hold; so a fallback other than 0.0 is stored
        after the call, under the negated guard. The two buffers are allocated before the
        first `tir.allocate` after which none follows in its block, whether or not there
        is a store to rewrite; where that is not around a rewritten store, or not in its
        launch of threads, another two are at the start of its outermost launch. Time is
        linear in the size of the function.
    Leaves alone: functions without `tir.allocate` and without a store to rewrite; values
        that are no `tir.if_then_else`, or load in neither branch; vectors; other dtypes,
        scopes and index types; accesses with a predicate or several indices; destinations
        with strides or an offset; a guarded index that cannot be computed where the guard
        does not hold; a fallback that reads memory which the launch writes
    Errors: none
    Attributes: read: none; created: none; removed: none
    Differs from TVM: the guard is negated for a load in the else branch, a fallback other
        than 0.0 is kept and stays lazy, and dtype, scopes, writes and the scope of the
        two buffers are checked, which TVM does not. i32 is left alone, since the
        instruction is that of f32. The index of the destination has to be `i32`.
    """

    name = "tir-inject-ptx-ldg32"

    enable_inject_ptx_intrin: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.enable_inject_ptx_intrin:
            return
        for func in [each for each in op.walk() if isinstance(each, tir.FuncOp)]:
            _rewrite(func)


class _Match(NamedTuple):
    """A store of a guarded load."""

    store: tir.StoreOp
    choice: tir.IfThenElseOp
    load: tir.LoadOp
    negated: bool
    """Whether the load is in the else branch."""
    launch: tir.LaunchThreadOp
    """The outermost launch of threads around the store."""

    @property
    def taken(self) -> Block:
        """The branch of the load."""
        choice = self.choice
        return (choice.false_region if self.negated else choice.true_region).block

    @property
    def other(self) -> Block:
        """The branch of the fallback."""
        choice = self.choice
        return (choice.true_region if self.negated else choice.false_region).block


class _Pair(NamedTuple):
    """The buffers of the operands."""

    predicate: SSAValue
    addr: SSAValue


def _rewrite(func: tir.FuncOp) -> None:
    ops = list(func.walk())
    launches: dict[Operation, tir.LaunchThreadOp | None] = {}
    written: dict[tir.LaunchThreadOp, set[Memory]] = {}
    stores: list[tir.StoreOp] = []
    for op in ops:
        launch = launches[op] = _launch_around(op, launches)
        if launch is not None:
            written.setdefault(launch, set()).update(_written(op))
            if isinstance(op, tir.StoreOp):
                stores.append(op)
    found: list[_Match] = []
    for store in stores:
        launch = launches[store]
        assert launch is not None, "these are in a launch"
        match = _match(store, launch, written[launch])
        if match is not None:
            found.append(match)
    allocations = [op for op in ops if isinstance(op, tir.AllocateOp)]
    order = {op: number for number, op in enumerate(ops)}
    innermost = _innermost(allocations, order)
    common = None if innermost is None else _allocate(InsertPoint.before(innermost))
    own: dict[Operation, _Pair] = {}
    for match in found:
        pair = common
        if (
            pair is None
            or innermost is None
            or not _is_of_thread(innermost, launches[innermost], match.launch)
            or not _holds(innermost, match.store, order)
        ):
            if match.launch not in own:
                start = InsertPoint.at_start(match.launch.body.block)
                own[match.launch] = _allocate(start)
            pair = own[match.launch]
        _replace(match, pair)


def _launch_around(
    op: Operation, launches: dict[Operation, tir.LaunchThreadOp | None]
) -> tir.LaunchThreadOp | None:
    """The outermost launch of hardware threads that an op is in."""
    parent = op.parent_op()
    if parent is None or parent not in launches:
        return None
    if launches[parent] is not None:
        return launches[parent]
    if isinstance(parent, tir.LaunchThreadOp) and parent.virtual is None:
        return parent
    return None


def _is_of_thread(
    allocation: tir.AllocateOp,
    around: tir.LaunchThreadOp | None,
    launch: tir.LaunchThreadOp,
) -> bool:
    """Whether memory of one thread may be where an allocation is."""
    return around is launch or allocation.result.type.scope.data == "local"


def _written(op: Operation) -> Iterator[Memory]:
    """The memory that an op itself may write; None among it where that may be any."""
    if isinstance(op, tir.StoreOp):
        yield memory_of(op.buffer, distinct_parameters=True)
    elif own_effect(op) > tir.CallEffect.READ_STATE:
        name = op.callee.data if isinstance(op, tir.CallOp) else None
        reached = op.operands[:1] if name in _WRITES_ITS_FIRST else op.operands
        for value in reached:
            if tir.is_handle(value.type) or isinstance(value.type, tir.BufferType):
                yield memory_of(value, distinct_parameters=True)


def _is_read_only(value: SSAValue, written: set[Memory]) -> bool:
    memory = memory_of(value, distinct_parameters=True)
    return not (memory is None or memory in written or None in written)


# ---- what is rewritten ----


def _match(
    store: tir.StoreOp, launch: tir.LaunchThreadOp, written: set[Memory]
) -> _Match | None:
    choice = store.value.owner
    if not isinstance(choice, tir.IfThenElseOp):
        return None
    if not isinstance(choice.result.type, Float32Type) or not _is_target(store):
        return None
    for negated in (False, True):
        region = choice.false_region if negated else choice.true_region
        load = _yielded(region.block).owner
        if isinstance(load, tir.LoadOp):
            match = _Match(store, choice, load, negated, launch)
            return match if _is_sound(match, written) else None
    return None


def _yielded(block: Block) -> SSAValue:
    last = block.last_op
    assert isinstance(last, tir.YieldOp), "a branch of a choice ends in a tir.yield"
    return last.values[0]


def _is_target(store: tir.StoreOp) -> bool:
    """Whether elements of the buffer are registers, counted from its pointer."""
    buffer = tir.buffer_definition(store.buffer)
    offset = buffer.elem_offset
    return (
        _is_simple(store)
        and buffer.type.scope.data == "local"
        and buffer.layout_strides in ((), (1,))
        and (offset is None or tir.is_constant(offset, 0))
    )


def _is_simple(access: tir.LoadOp | tir.StoreOp) -> bool:
    """Whether one element is accessed, at one index of 32 bits."""
    buffer = access.buffer.type
    assert isinstance(buffer, tir.BufferType)
    return (
        access.predicate is None
        and len(access.indices) == 1
        and access.indices[0].type == i32
        and isinstance(buffer.element_type, Float32Type)
    )


def _is_sound(match: _Match, written: set[Memory]) -> bool:
    load = match.load
    source = load.buffer.type
    assert isinstance(source, tir.BufferType)
    if source.scope.data != "global" or not _is_simple(load):
        return False
    if not _is_read_only(load.buffer, written):
        return False
    if not all(can_speculate(op) for op in _index_ops(match)):
        return False
    return all(_may_be_later(op, written) for op in match.other.walk())


def _index_ops(match: _Match) -> list[Operation]:
    """What the branch of the load holds besides it."""
    return [
        op
        for op in match.taken.ops
        if op is not match.load and not isinstance(op, tir.YieldOp)
    ]


def _may_be_later(op: Operation, written: set[Memory]) -> bool:
    """Whether an op of the fallback computes the same at the store."""
    if isinstance(op, tir.LoadOp):
        return _is_read_only(op.buffer, written)
    return own_effect(op) is tir.CallEffect.PURE


def _is_zero(value: SSAValue) -> bool:
    """Whether it is 0.0, what the builtin writes; -0.0 has other bits."""
    number = tir.constant_value(value)
    return number is not None and number == 0 and math.copysign(1, number) > 0


# ---- buffers ----


def _innermost(
    allocations: Sequence[tir.AllocateOp], order: dict[Operation, int]
) -> tir.AllocateOp | None:
    """The first allocation, in the order of the text, that no other one follows in the
    rest of its block and in what is nested there."""
    for op, following in pairwise(allocations):
        if not _holds(op, following, order):
            return op
    return allocations[-1] if allocations else None


def _holds(
    allocation: tir.AllocateOp, op: Operation, order: dict[Operation, int]
) -> bool:
    """Whether an op is after an allocation in its block, or nested there."""
    block = op.parent
    while block is not None and block is not allocation.parent:
        block = block.parent_block()
    return block is not None and order[allocation] < order[op]


def _allocate(at: InsertPoint) -> _Pair:
    builder = Builder(at)
    buffers: list[SSAValue] = []
    for name, size, dtype in (("predicate", 1, i1), ("addr", 2, i32)):
        memory = builder.insert(
            tir.AllocateOp(tir.PtrType(dtype, "local"), [size], name=name)
        )
        kind = tir.BufferType([size], dtype, "local")
        buffer = builder.insert(tir.DeclBufferOp(memory, kind, name=name))
        buffer.properties["implicit"] = UnitAttr()
        memory.result.name_hint = buffer.buffer.name_hint = name
        buffers.append(buffer.buffer)
    predicate, addr = buffers
    return _Pair(predicate, addr)


# ---- calls ----


def _replace(match: _Match, pair: _Pair) -> None:
    store, load = match.store, match.load
    first = store.prev_op
    builder = Builder(InsertPoint.before(store))

    values: dict[SSAValue, SSAValue] = {}
    if load.parent is match.taken:
        for op in _index_ops(match):
            builder.insert(op.clone(values))
    index = values.get(load.indices[0], load.indices[0])
    guard = match.choice.condition
    if match.negated:
        guard = builder.insert(tir.NotOp(guard)).results[0]
    zero, one = (
        builder.insert(tir.ConstOp(IntegerAttr(number, i32))).result for number in (0, 1)
    )
    builder.insert(tir.StoreOp(index, pair.addr, [zero]))
    builder.insert(tir.StoreOp(store.indices[0], pair.addr, [one]))
    builder.insert(tir.StoreOp(guard, pair.predicate, [zero]))
    fallback = _yielded(match.other)
    keeps = not _is_zero(fallback)
    if not keeps:
        place = builder.insert(tir.LoadOp(pair.addr, [one]))
        nothing = builder.insert(tir.ConstOp(FloatAttr(0.0, f32)))
        builder.insert(tir.StoreOp(nothing, store.buffer, [place]))
    pointer = _pointer(match, builder)
    wanted = builder.insert(tir.LoadOp(pair.predicate, [zero]))
    at = builder.insert(tir.LoadOp(pair.addr, [zero]))
    address = builder.insert(tir.AddressOfOp(load.buffer, [at]))
    place = builder.insert(tir.LoadOp(pair.addr, [one]))
    builder.insert(
        tir.CallOp(_LDG, [pointer, wanted, address, place], match.choice.result.type)
    )
    if keeps:
        _keep_fallback(match, pair, zero, one, builder)
    added = store.prev_op
    while added is not None and added is not first:
        added.location = store.location
        added = added.prev_op
    unused = (store.value, *store.indices)
    Rewriter.erase_op(store)
    erase_if_unused(unused)


def _pointer(match: _Match, builder: Builder) -> SSAValue:
    """The pointer of the destination, in its elements.

    Local memory that is allocated around the launch is named through its buffer, which is
    that of the thread.
    """
    buffer = match.store.buffer
    definition = tir.buffer_definition(buffer)
    if (
        isinstance(definition, tir.DeclBufferOp)
        and definition.data.type == definition.type.pointer_type
        and match.launch.is_ancestor(definition.data.owner)
    ):
        return definition.data
    return builder.insert(tir.DataOp(buffer)).results[0]


def _keep_fallback(
    match: _Match, pair: _Pair, zero: SSAValue, one: SSAValue, builder: Builder
) -> None:
    """Store the fallback where the guard does not hold, after the call has written."""
    wanted = builder.insert(tir.LoadOp(pair.predicate, [zero]))
    unwanted = builder.insert(tir.NotOp(wanted))
    block = Block()
    inside = Builder(InsertPoint.at_end(block))
    values: dict[SSAValue, SSAValue] = {}
    for op in match.other.ops:
        if not isinstance(op, tir.YieldOp):
            inside.insert(op.clone(values))
    fallback = _yielded(match.other)
    place = inside.insert(tir.LoadOp(pair.addr, [one]))
    inside.insert(
        tir.StoreOp(values.get(fallback, fallback), match.store.buffer, [place])
    )
    builder.insert(tir.IfOp(unwanted, Region(block)))
