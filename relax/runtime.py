"""What `relax.op` has besides operators and calls: memory, effects, compounds.

Names, parameters and defaults are TVM's (docs/spec/relax-ops.md §13, §14). All raise
VerifyException for arguments that do not fit.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.signatures import dtype_of
from xdsl_tvm.dialects.relax.symbolic import Dim, DimLike
from xdsl_tvm.relax.expr import Expr, PrimValue, ShapeExpr, call, const
from xdsl_tvm.relax.reading import Operands
from xdsl_tvm.relax.struct_info import TensorStructInfo
from xdsl_tvm.relax.vocabulary import (
    DeviceIndex,
    DtypeLike,
    Scalar,
    Shape,
    Value,
    Values,
    call_named,
)

# ---- what is made of operators ----


@call_named("linear")
def linear(
    operands: Operands,
    data: Value,
    weight: Value,
    bias: Value | None = None,
    out_dtype: DtypeLike | None = None,
) -> Expr:
    """`data` times the transposed weight, plus the bias."""
    product = call("matmul", data, call("permute_dims", weight), out_dtype)
    return product if bias is None else call("add", product, bias)


@call_named("masked_fill")
def masked_fill(operands: Operands, x: Expr, mask: Value, value: float) -> Expr:
    """The elements of `x`, `value` where the mask holds."""
    number = const(value, x.dtype)
    return call("where", mask, call("full_like", x, number), x)


# ---- effects ----


@call_named("print")
def print(operands: Operands, *values: Value, format: str = "") -> Expr:
    """Print values; the empty format prints them one after the other. Impure."""
    given = [operands.of(value) for value in values]
    return operands.expr(relax.PrintOp(format, given))


@call_named("assert_op")
def assert_op(
    operands: Operands,
    condition: Value,
    format_args: Values | None = None,
    format: str = "",
) -> Expr:
    """Stop the program with a message unless the condition holds. Impure."""
    args = format_args if isinstance(format_args, list | tuple) else [format_args]
    values = [operands.of(arg) for arg in args if arg is not None]
    return operands.expr(relax.AssertOp(operands.of(condition), format, values))


# ---- memory ----


@call_named("builtin.alloc_tensor")
def alloc_tensor(
    operands: Operands,
    shape: Shape,
    dtype: DtypeLike,
    runtime_device_index: DeviceIndex = 0,
    storage_scope: str = "global",
) -> Expr:
    """A new tensor."""
    name = "builtin.alloc_tensor"
    type_ = _tensor(name, shape, dtype)
    op = relax.AllocTensorOp(type_, _number(name, runtime_device_index), storage_scope)
    return operands.expr(op)


@call_named("memory.alloc_storage")
def memory_alloc_storage(
    operands: Operands,
    size: Shape,
    virtual_device_index: DeviceIndex,
    storage_scope: str,
    dtype: DtypeLike,
) -> Expr:
    """New raw memory of as many bytes as the one element of `size`."""
    name = "memory.alloc_storage"
    dims = _dims(name, size)
    if len(dims) != 1:
        raise VerifyException(f"relax.{name}: the size is a shape of one number of bytes")
    device = _number(name, virtual_device_index)
    op = relax.AllocStorageOp(dims[0], _element(name, dtype), device, storage_scope)
    return operands.expr(op)


@call_named("memory.alloc_tensor")
def memory_alloc_tensor(
    operands: Operands, storage: Value, offset: Scalar, shape: Shape, dtype: DtypeLike
) -> Expr:
    """A tensor on memory that exists, `offset` bytes from its start."""
    name = "memory.alloc_tensor"
    type_ = _tensor(name, shape, dtype)
    start, memory = _dim(name, offset), operands.of(storage)
    return operands.expr(relax.AllocTensorFromStorageOp(memory, type_, start))


@call_named("vm.alloc_storage")
def vm_alloc_storage(
    operands: Operands,
    shape: Shape,
    runtime_device_index: DeviceIndex,
    dtype: DtypeLike,
    storage_scope: str = "global",
) -> Expr:
    """New raw memory; its size is a shape that may be computed at run time."""
    name = "vm.alloc_storage"
    size, device = _shape(operands, shape), _number(name, runtime_device_index)
    element = _element(name, dtype)
    return operands.expr(relax.VMAllocStorageOp(size, element, device, storage_scope))


@call_named("vm.alloc_tensor")
def vm_alloc_tensor(
    operands: Operands, storage: Value, offset: Scalar, shape: Shape, dtype: DtypeLike
) -> Expr:
    """A tensor on memory that exists; its shape may be computed at run time."""
    start = offset if isinstance(offset, Expr) else PrimValue(offset)
    values = operands.of(storage), operands.of(start), _shape(operands, shape)
    element = _element("vm.alloc_tensor", dtype)
    return operands.expr(relax.VMAllocTensorOp(*values, element))


@call_named("memory.kill_storage")
def kill_storage(operands: Operands, storage: Value) -> Expr:
    """The storage is not named any more. Impure."""
    return operands.expr(relax.KillStorageOp(operands.of(storage)))


@call_named("memory.kill_tensor")
def kill_tensor(operands: Operands, tensor: Value) -> Expr:
    """The tensor is not named any more. Impure."""
    return operands.expr(relax.KillTensorOp(operands.of(tensor)))


@call_named("vm.kill_object")
def kill_object(operands: Operands, obj: Value) -> Expr:
    """The value is not named any more. Impure."""
    return operands.expr(relax.VMKillObjectOp(operands.of(obj)))


# ---- pieces ----


def _shape(operands: Operands, shape: Shape) -> SSAValue:
    return operands.of(shape if isinstance(shape, Expr) else ShapeExpr(shape))


def _dims(name: str, shape: Shape) -> Sequence[DimLike]:
    if not isinstance(shape, Expr):
        return shape
    info = shape.struct_info
    if not isinstance(info, relax.ShapeType) or info.known is None:
        raise VerifyException(f"relax.{name}: {info} is no shape of known dimensions")
    return info.known


def _tensor(name: str, shape: Shape, dtype: DtypeLike) -> Attribute:
    return TensorStructInfo(_dims(name, shape), _element(name, dtype))


def _dim(name: str, number: Scalar) -> DimLike:
    if not isinstance(number, Expr):
        return number
    info = number.struct_info
    if not isinstance(info, relax.PrimType) or info.dim is None:
        raise VerifyException(f"relax.{name}: {info} is no integer of known value")
    return info.dim


def _number(name: str, index: DeviceIndex) -> int:
    value = Dim.of(_dim(name, index)).value
    if value is None:
        raise VerifyException(
            f"relax.{name}: the number of a device is constant, not {index}"
        )
    return value


def _element(name: str, dtype: DtypeLike) -> Attribute:
    found = dtype_of(dtype)
    if found is None:
        raise VerifyException(f"relax.{name} needs a known dtype")
    return found
