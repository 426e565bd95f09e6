"""What the operations do that are no operators: leaves, control flow, calls, memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.calls import AnyCallTIROp
from xdsl_tvm.dialects.relax.cuda_graph import cuda_graph_call
from xdsl_tvm.dialects.relax.packed import PackedCallOp
from xdsl_tvm.dialects.relax.runtime import AnyInvokeClosureOp
from xdsl_tvm.dialects.tir.intrinsics import format_message
from xdsl_tvm.interpreters.data.numbers import number
from xdsl_tvm.interpreters.errors import (
    AssertionFailedError,
    OutOfBoundsError,
    SimulationError,
    TypeCheckError,
    unsupported,
)
from xdsl_tvm.interpreters.relax.numbers import dtype_of
from xdsl_tvm.interpreters.relax.values import (
    Array,
    ShapeValue,
    Symbols,
    TypeMismatchError,
    argument,
    bind,
    constant_array,
    known_shape,
    storage_of,
)

if TYPE_CHECKING:
    from xdsl_tvm.interpreters.relax import Frame, InterpretedRelax


def check(
    types: Sequence[Attribute],
    values: Sequence[Any],
    symbols: Symbols,
    defined: Sequence[str],
    names: Sequence[str],
) -> None:
    """`bind`, for a program that runs. Raises TypeCheckError."""
    try:
        bind(types, values, symbols, defined, names)
    except TypeMismatchError as error:
        raise TypeCheckError(str(error)) from None


@dataclass
class _Storage:
    """Raw memory, and the bytes of it that tensors have been made on."""

    bytes: Array
    tensors: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])


@dataclass(frozen=True)
class Killed:
    """What is left of a value after its last use."""

    by: Operation
    overwritten: bool = False
    """Whether a call has written it, so that only its end may follow."""


@dataclass(frozen=True)
class _Closure:
    """A function of the module with its last arguments given."""

    owner: InterpretedRelax
    callee: str
    captured: tuple[Any, ...]

    def __call__(self, *arguments: Any) -> Any:
        return self.owner.call(self.callee, [*arguments, *self.captured])


@dataclass(frozen=True)
class _Lambda:
    """A function literal and the values that it captures."""

    owner: InterpretedRelax
    op: relax.LambdaOp
    captured: dict[SSAValue, Any]

    def __call__(self, *arguments: Any) -> Any:
        frame = self.owner.new_frame()
        frame.values.update(self.captured)
        if (own := self.op.own_value) is not None:
            frame.values[own] = self
        name = self.op.result.name_hint or self.op.name
        return self.owner.run_body(self.op, arguments, frame, name)


def _constant(frame: Frame, op: relax.ConstantOp) -> tuple[Any, ...]:
    if op.value.name != "dense":
        raise unsupported(op, "the value is in a resource", "write it as dense<…>")
    return (constant_array(op.value),)


def _shape(frame: Frame, op: relax.ShapeOp) -> tuple[Any, ...]:
    dims = op.values.known
    assert dims is not None, "verified"
    return (ShapeValue(dim.evaluate(frame.symbols) for dim in dims),)


def _prim_value(frame: Frame, op: relax.PrimValueOp) -> tuple[Any, ...]:
    type_ = op.result.type
    assert isinstance(type_, relax.PrimType), "verified"
    if isinstance(op.value, FloatAttr):
        value: Any = op.value.value.data
    else:
        value = op.value.data.evaluate(frame.symbols)
    return (number(type_.dtype).convert(value),)


def _tuple(frame: Frame, op: relax.TupleOp) -> tuple[Any, ...]:
    return (frame.read(op),)


def _get_item(frame: Frame, op: relax.GetItemOp) -> tuple[Any, ...]:
    (fields,) = frame.read(op)
    return (fields[op.index.value.data],)


def _alias(frame: Frame, op: Operation) -> tuple[Any, ...]:
    return frame.read(op)


def _match_cast(frame: Frame, op: relax.MatchCastOp) -> tuple[Any, ...]:
    (value,) = frame.read(op)
    name = op.value.name_hint or "the value"
    check([op.result.type], [value], frame.symbols, op.defined_symbols, [name])
    return (value,)


def _dataflow(frame: Frame, op: relax.DataflowOp) -> tuple[Any, ...]:
    return frame.run_block(op.body.block)


def _if(frame: Frame, op: relax.IfOp) -> tuple[Any, ...]:
    (condition,) = frame.read(op)
    frame.owner.expect_written((condition,))
    outer = dict(frame.symbols)
    region = op.true_region if bool(condition) else op.false_region
    results = frame.run_block(region.block)
    frame.symbols = outer
    return results


class RunAgainError(Exception):
    """Raised where a function ends by calling itself on values."""

    def __init__(self, values: Sequence[Any]) -> None:
        super().__init__()
        self.values = values


def _call(frame: Frame, op: relax.CallOp) -> tuple[Any, ...]:
    values = frame.read(op)
    if op is frame.tail:
        raise RunAgainError(values)
    result = frame.owner.call(op.callee.root_reference.data, values)
    return () if op.result is None else (result,)


def _call_tir(frame: Frame, op: AnyCallTIROp) -> tuple[Any, ...]:
    arguments = frame.read(op)
    places = op.output_arguments
    inputs = [value for k, value in enumerate(arguments) if k not in places]
    frame.owner.expect_written(inputs)
    outputs = tuple(
        arguments[place] if place >= 0 else _new_tensor(frame, info)
        for place, info in zip(places, op.outputs, strict=True)
    )
    new = [array for place, array in zip(places, outputs, strict=True) if place < 0]
    dims = () if op.tir_vars is None else op.tir_vars.known or ()
    scalars = [dim.evaluate(frame.symbols) for dim in dims]
    name = op.callee.root_reference.data
    frame.owner.call(name, [*arguments, *new, *scalars])
    _overwrite(frame, op, places)
    return (outputs,) if isinstance(op.result.type, relax.TupleType) else outputs


def _overwrite(frame: Frame, op: Operation, places: Sequence[int]) -> None:
    """Operands that a call has written must not be used any more."""
    for place in places:
        if place >= 0:
            frame.values[op.operands[place]] = Killed(op, overwritten=True)


def _packed_result(op: PackedCallOp, found: Any) -> tuple[Any, ...]:
    if op.result is None:
        return ()
    if found is None and op.result.type == relax.VOID:
        return ((),)
    return (argument(op.result.type, found, f"the result of {op.callee.data}"),)


def _call_packed(frame: Frame, op: PackedCallOp) -> tuple[Any, ...]:
    return _packed_result(op, frame.owner.call_external(op.callee.data, frame.read(op)))


def _call_with_context(frame: Frame, op: relax.CallBuiltinWithCtxOp) -> tuple[Any, ...]:
    graph = cuda_graph_call(op)
    if graph is not None:
        frame.read(op)
        fields, *shape = [frame.values[each] for each in graph.arguments] or [()]
        name = graph.callee.root_reference.data
        result = frame.owner.call(name, [*fields, *shape])
        return () if op.result is None else (result,)
    values = (frame.owner, *frame.read(op))
    return _packed_result(op, frame.owner.call_external(op.callee.data, values))


def _call_inplace_packed(frame: Frame, op: relax.CallInplacePackedOp) -> tuple[Any, ...]:
    found = frame.owner.call_external(op.callee.data, frame.read(op))
    _overwrite(frame, op, op.inplace_indices.get_values())
    return _packed_result(op, found)


def _call_dps_packed(frame: Frame, op: relax.CallDPSPackedOp) -> tuple[Any, ...]:
    arguments = frame.read(op)
    frame.owner.expect_written(arguments)
    assert op.result is not None, "verified"
    type_ = op.result.type
    types = type_.fields.data if isinstance(type_, relax.TupleType) else (type_,)
    infos = [relax.TensorInfo.of(one) for one in types]
    outputs = tuple(_new_tensor(frame, info) for info in infos if info is not None)
    frame.owner.call_external(op.callee.data, [*arguments, *outputs])
    return (outputs,) if isinstance(type_, relax.TupleType) else outputs


def _make_closure(frame: Frame, op: relax.MakeClosureOp) -> tuple[Any, ...]:
    name = op.callee.root_reference.data
    return (_Closure(frame.owner, name, frame.read(op)),)


def _lambda(frame: Frame, op: relax.LambdaOp) -> tuple[Any, ...]:
    captured = {
        value: frame.values[value]
        for inner in op.body.walk()
        for value in inner.operands
        if value in frame.values
    }
    return (_Lambda(frame.owner, op, captured),)


def _global_ref(frame: Frame, op: relax.GlobalRefOp) -> tuple[Any, ...]:
    return (_Closure(frame.owner, op.callee.root_reference.data, ()),)


def _invoke_closure(
    frame: Frame, op: AnyInvokeClosureOp | relax.CallIndirectOp
) -> tuple[Any, ...]:
    closure, *arguments = frame.read(op)
    if not callable(closure):
        raise TypeCheckError(f"a {type(closure).__name__} is no closure")
    found = closure(*arguments)
    # A function of Python that returns nothing gives None.
    is_nothing = found is None and op.result.type == relax.VOID
    return ((),) if is_nothing else (found,)


def _null_value(frame: Frame, op: relax.NullValueOp) -> tuple[Any, ...]:
    return (None,)


def _shape_of(frame: Frame, op: relax.ShapeOfOp) -> tuple[Any, ...]:
    (value,) = frame.read(op)
    return (ShapeValue(value.shape),)


def _print(frame: Frame, op: relax.PrintOp) -> tuple[Any, ...]:
    values = frame.read(op)
    frame.owner.expect_written(values)
    frame.owner.call_external("relax.run.print", [format_message(op.format.data, values)])
    return ()


def _assert(frame: Frame, op: relax.AssertOp) -> tuple[Any, ...]:
    condition, *values = frame.read(op)
    frame.owner.expect_written((condition, *values))
    if not bool(condition):
        said = format_message(op.format.data, values)
        raise AssertionFailedError(f"the assertion does not hold: {said}")
    return ()


def _new_tensor(frame: Frame, info: relax.TensorInfo) -> Array:
    assert info.dtype is not None, "verified"
    return frame.owner.allocate(known_shape(info, frame.symbols), info.dtype)


def _alloc_tensor(frame: Frame, op: relax.AllocTensorOp) -> tuple[Any, ...]:
    info = relax.TensorInfo.of(op.result.type)
    assert info is not None, "verified"
    return (_new_tensor(frame, info),)


def _storage(size: int) -> _Storage:
    if size < 0:
        raise SimulationError(f"a storage of {size} bytes cannot be made")
    return _Storage(np.full(size, 0xFF, np.uint8))


def _alloc_storage(frame: Frame, op: relax.AllocStorageOp) -> tuple[Any, ...]:
    return (_storage(op.size.data.evaluate(frame.symbols)),)


def _vm_alloc_storage(frame: Frame, op: relax.VMAllocStorageOp) -> tuple[Any, ...]:
    (size,) = frame.read(op)
    return (_storage(size[0]),)


def _tensor_on(
    frame: Frame, storage: Any, offset: int, shape: tuple[int, ...], dtype: Attribute
) -> Array:
    if not isinstance(storage, _Storage):
        raise TypeCheckError(f"a {type(storage).__name__} is no storage")
    array = _view_bytes(storage.bytes, offset, shape, dtype, "storage")
    span = (offset, offset + array.nbytes)
    if not any(low < span[1] and span[0] < high for low, high in storage.tensors):
        frame.owner.track(array)
    storage.tensors.append(span)
    return array


def _view_bytes(
    memory: Array, offset: int, shape: tuple[int, ...], dtype: Attribute, what: str
) -> Array:
    """The bytes from `offset` on, seen as a tensor."""
    element = storage_of(dtype)
    end = offset + int(np.prod(shape, dtype=np.int64)) * element.itemsize
    if offset < 0 or end > memory.size:
        raise OutOfBoundsError(
            f"the tensor reaches from byte {offset} to {end} of a {what} of "
            f"{memory.size} bytes"
        )
    return memory[offset:end].view(element).reshape(shape)


def _alloc_from_storage(
    frame: Frame, op: relax.AllocTensorFromStorageOp
) -> tuple[Any, ...]:
    (storage,) = frame.read(op)
    info = relax.TensorInfo.of(op.result.type)
    assert info is not None, "verified"
    assert info.dtype is not None, "verified"
    offset = op.offset.data.evaluate(frame.symbols)
    shape = known_shape(info, frame.symbols)
    return (_tensor_on(frame, storage, offset, shape, info.dtype),)


def _vm_alloc_tensor(frame: Frame, op: relax.VMAllocTensorOp) -> tuple[Any, ...]:
    storage, offset, shape = frame.read(op)
    return (_tensor_on(frame, storage, offset, shape, op.dtype),)


def _kill(frame: Frame, op: Operation) -> tuple[Any, ...]:
    found = frame.values[op.operands[0]]
    if not isinstance(found, Killed) or not found.overwritten:
        frame.read(op)
    frame.values[op.operands[0]] = Killed(op)
    return ()


def _view(frame: Frame, op: relax.ViewOp) -> tuple[Any, ...]:
    data, *rest = frame.read(op)
    shape = rest.pop(0) if op.shape is not None else data.shape
    offset = rest.pop(0) if op.relative_byte_offset is not None else 0
    dtype = op.dtype or dtype_of(op.data, data)
    # What is written through one of the two is written for both.
    frame.owner.mark_written((data,))
    memory = data.reshape(-1).view(np.uint8)
    return (_view_bytes(memory, offset, shape, dtype, "tensor"),)


def _call_tir_dyn(frame: Frame, op: relax.VMCallTIRDynOp) -> tuple[Any, ...]:
    *tensors, dims = frame.read(op)
    frame.owner.call(op.callee.root_reference.data, [*tensors, *dims])
    return ()


STEPS: dict[type[Operation], Callable[[Frame, Any], tuple[Any, ...]]] = {
    relax.AliasOp: _alias,
    relax.AllocStorageOp: _alloc_storage,
    relax.AllocTensorFromStorageOp: _alloc_from_storage,
    relax.AllocTensorOp: _alloc_tensor,
    relax.AssertOp: _assert,
    relax.CallBuiltinWithCtxOp: _call_with_context,
    relax.CallDPSPackedOp: _call_dps_packed,
    relax.CallInplacePackedOp: _call_inplace_packed,
    relax.CallIndirectOp: _invoke_closure,
    relax.CallOp: _call,
    relax.CallPackedOp: _call_packed,
    relax.CallPurePackedOp: _call_packed,
    relax.CallTIRInplaceOp: _call_tir,
    relax.CallTIROp: _call_tir,
    relax.CallTIRWithGradOp: _call_tir,
    relax.ConstantOp: _constant,
    relax.DataflowOp: _dataflow,
    relax.EnsureZeroOffsetOp: _alias,
    relax.GetItemOp: _get_item,
    relax.GlobalRefOp: _global_ref,
    relax.IfOp: _if,
    relax.InvokeClosureOp: _invoke_closure,
    relax.InvokePureClosureOp: _invoke_closure,
    relax.KillStorageOp: _kill,
    relax.KillTensorOp: _kill,
    relax.LambdaOp: _lambda,
    relax.MakeClosureOp: _make_closure,
    relax.MatchCastOp: _match_cast,
    relax.NullValueOp: _null_value,
    relax.PrimValueOp: _prim_value,
    relax.PrintOp: _print,
    relax.ShapeOfOp: _shape_of,
    relax.ShapeOp: _shape,
    relax.TupleOp: _tuple,
    relax.VMAllocStorageOp: _vm_alloc_storage,
    relax.VMAllocTensorOp: _vm_alloc_tensor,
    relax.VMCallTIRDynOp: _call_tir_dyn,
    relax.VMKillObjectOp: _kill,
    relax.ViewOp: _view,
}
"""From each class of operations what it does in a frame: its results."""
