"""Lowered Relax functions whose tensors are in the memory of a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, TypeAlias, cast

from xdsl.dialects import arith, cf, func, gpu, memref
from xdsl.dialects.builtin import (
    DenseArrayBase,
    FunctionType,
    IntegerAttr,
    MemRefType,
    UnrealizedConversionCastOp,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects.located_builder import LocatedBuilder
from xdsl_tvm.dialects.quick_operation import create
from xdsl_tvm.lowering.relax.conversion.packed_call import CALL_PACKED
from xdsl_tvm.lowering.tir.conversion.types import (
    GLOBAL_SPACE,
    AnyMemRef,
    compact_strides,
    memref_of,
)

_Access: TypeAlias = memref.LoadOp | memref.StoreOp
_PASSED_OVER: Final = (
    memref.CastOp,
    memref.ReinterpretCastOp,
    memref.DimOp,
    cf.AssertOp,
    UnrealizedConversionCastOp,
)
"""What is between accesses that one copy serves, besides arithmetic: it accesses no
memory, and does no harm where the copy fails."""


def place_on_gpu(function: func.FuncOp) -> None:
    """Let all memory of a function be that of the GPU.

    The host reads and writes elements in memory of its own, from and to which they are
    copied. What calls of Python functions are described by stays on the host.
    """
    ops = all_ops(function)
    on_host = set(_of_packed_calls(ops))
    accesses = _accesses(ops, on_host)
    for op in ops:
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    Rewriter.replace_value_with_new_type(argument, _placed(argument.type))
        for result in op.results:
            if result in on_host:
                continue
            Rewriter.replace_value_with_new_type(result, _placed(result.type))
        if op is not function:
            _convert(op)
    for each in accesses:
        _copy_elements(function, each)
    type_ = function.function_type
    function.properties["function_type"] = FunctionType.from_lists(
        [_placed(each) for each in type_.inputs],
        [_placed(each) for each in type_.outputs],
    )


def _of_packed_calls(ops: Sequence[Operation]) -> Iterator[SSAValue]:
    """The text and the cells of calls of Python functions."""
    for op in ops:
        if isinstance(op, func.CallOp) and op.callee.string_value() == CALL_PACKED:
            for operand in op.arguments:
                address = operand.owner
                assert isinstance(address, UnrealizedConversionCastOp), "of a memref"
                yield address.inputs[0]


def _accesses(
    ops: Sequence[Operation], on_host: AbstractSet[SSAValue]
) -> list[list[_Access]]:
    """The reads and writes of elements, in runs that one copy serves: of one memory, all
    reads or all writes, with nothing between them that accesses memory otherwise."""
    found: list[list[_Access]] = []
    reads: dict[SSAValue, list[_Access]] = {}
    writes: list[_Access] = []
    block = None
    for op in ops:
        if op.parent is not block:
            block, reads, writes = op.parent, {}, []
        if isinstance(op, memref.LoadOp | memref.StoreOp) and op.memref in on_host:
            continue
        if isinstance(op, memref.LoadOp):
            writes = []
            if op.memref not in reads:
                reads[op.memref] = []
                found.append(reads[op.memref])
            reads[op.memref].append(op)
        elif isinstance(op, memref.StoreOp):
            reads = {}
            is_next = _position(op) == len(writes)
            if not (writes and writes[0].memref is op.memref and is_next):
                writes = []
                found.append(writes)
            writes.append(op)
        elif not isinstance(op, _PASSED_OVER) and not op.name.startswith("arith."):
            reads, writes = {}, []
    return found


def _copy_elements(function: func.FuncOp, run: Sequence[_Access]) -> None:
    """Let a run of accesses be of memory of the host, with one copy before or after."""
    first, last = run[0], run[-1]
    positions = [_position(op) for op in run]
    is_read = isinstance(first, memref.LoadOp)
    assert is_read or positions[0] == 0, "a copy back is of all that it covers"
    shape = (max(positions) + 1,)
    type_ = cast(AnyMemRef, first.memref.type)
    at = LocatedBuilder(function.body.blocks[0].first_op, function)
    on_host = at.insert(memref.AllocaOp.get(type_.element_type, shape=shape))
    at.start(first)
    on_gpu = first.memref
    placed = memref_of(shape, type_.element_type, GLOBAL_SPACE)
    if on_gpu.type != placed:
        strides = compact_strides(shape)
        assert strides is not None, "static"
        view = memref.ReinterpretCastOp(on_gpu, [], [], [], [0], shape, strides, placed)
        on_gpu = at.insert(view)
    if is_read:
        at.insert_op(memref.CopyOp(on_gpu, on_host))
    for op, position in zip(run, positions, strict=True):
        at.start(op)
        index = at.insert(arith.ConstantOp(IntegerAttr.from_index_int_value(position)))
        if isinstance(op, memref.LoadOp):
            value = at.emit(memref.LoadOp, [on_host, index], op.res.type)
            Rewriter.replace_op(op, [], [value])
            continue
        store = create(memref.StoreOp, operands=[op.value, on_host, index])
        at.insert_op(store)
        if op is last:
            at.insert_op(memref.CopyOp(on_host, on_gpu))
        Rewriter.erase_op(op)


def _position(op: _Access) -> int:
    """Which element is accessed: the host knows of which number it needs."""
    if not op.indices:
        return 0
    (index,) = op.indices
    made = index.owner
    assert isinstance(made, arith.ConstantOp), "a number of the converter"
    assert isinstance(made.value, IntegerAttr), "an index"
    return made.value.value.data


def _placed(dtype: Attribute) -> Attribute:
    if not isinstance(dtype, MemRefType):
        return dtype
    found = cast(AnyMemRef, dtype)
    return memref_of(found.get_shape(), found.element_type, GLOBAL_SPACE)


def _convert(op: Operation) -> None:
    match op:
        case memref.AllocOp():
            sizes = list(op.dynamic_sizes)
            segments = DenseArrayBase.from_list(i32, [0, len(sizes), 0])
            new = create(
                gpu.AllocOp,
                operands=sizes,
                result_types=[op.memref.type],
                properties={"operandSegmentSizes": segments},
            )
            new.result.name_hint = op.memref.name_hint
            Rewriter.replace_op(op, new)
        case memref.DeallocOp():
            Rewriter.replace_op(op, gpu.DeallocOp(op.memref), [])
        case memref.CopyOp():
            Rewriter.replace_op(op, gpu.MemcpyOp(op.source, op.destination), [])
        case _:
            return
