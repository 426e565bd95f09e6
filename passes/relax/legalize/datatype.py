"""Rules of conversions, quantization and marks (docs/spec/relax-ops.md §5, §12)."""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    TensorType,
    f16,
    f32,
    i32,
)
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.dtypes import (
    finite_range,
    integer_range,
    largest_finite,
    numpy_dtype,
)
from xdsl_tvm.passes.relax.legalize.registry import (
    Bindings,
    NoStagesError,
    RuleContext,
    rewrite,
    rule,
)
from xdsl_tvm.passes.relax.legalize.signature import constant_number
from xdsl_tvm.passes.relax.legalize.tensor_expression import Expr, Tensor


@rule(relax.AstypeOp, function="cast")
def astype(op: relax.AstypeOp, site: RuleContext) -> Tensor:
    """Each element converted as `tir.cast` does."""
    x = site.tensor(0)
    return site.program.compute(
        "compute", x.shape, op.dtype, lambda *indices: x[indices].cast(op.dtype)
    )


@rewrite(relax.AstypeOp)
def constant_astype(op: relax.AstypeOp, bindings: Bindings) -> SSAValue | None:
    """A constant of rank 0 is converted now, if its value fits."""
    number = constant_number(op.data)
    folded = None if number is None else _converted(number, op.dtype)
    return None if folded is None else bindings.emit(relax.ConstantOp(folded))


def _converted(number: float, dtype: Attribute) -> DenseIntOrFPElementsAttr | None:
    """The number as one of `dtype`; None where it is out of range, or may be."""
    if tir.is_integer_type(dtype):
        whole = _whole(number, dtype)
        if whole is None:
            return None
        return DenseIntOrFPElementsAttr.from_list(TensorType(dtype, []), [whole])
    if not isinstance(dtype, Float16Type | Float32Type | Float64Type):
        return None
    if isinstance(number, int) and abs(number) > 2**53:
        return None
    with np.errstate(over="ignore"):
        found = float(numpy_dtype(dtype).type(number))
    if not math.isfinite(found):
        return None
    return DenseIntOrFPElementsAttr.from_list(TensorType(dtype, []), [found])


def _whole(number: float, dtype: Attribute) -> int | None:
    if tir.is_bool(dtype):
        return int(number != 0)
    if not math.isfinite(number):
        return None
    low, high = integer_range(dtype)
    return int(number) if low <= int(number) <= high else None


@rewrite(relax.NoGradOp, relax.StartCheckpointOp, relax.EndCheckpointOp)
def identity(op: relax.OperatorOp, bindings: Bindings) -> SSAValue | None:
    """Marks for gradients are the tensor itself."""
    (data,) = op.operands
    return data


# ---- quantization ----


def _parameter(values: Tensor, axis: int, indices: tuple[Expr, ...]) -> Expr:
    """A scale or a zero point: one number, or one for each index of `axis`."""
    if not values.shape:
        return values[()]
    if values.shape == (1,):
        return values[values.program.extent(0)]
    return values[indices[axis]]


@rule(relax.QuantizeOp)
def quantize(op: relax.QuantizeOp, site: RuleContext) -> Tensor:
    """`round(x / scale) + zero_point` in `f32`, clipped to the range of the result.

    Floats of 8 bits are not rounded to whole numbers.
    """
    x, scale, zero = (site.tensor(position) for position in range(3))
    axis, dtype = op.axis.value.data % len(x.shape), op.out_dtype
    if not tir.is_integer_type(dtype) and not tir.is_float8(dtype):
        raise NoStagesError
    low, high = finite_range(dtype)

    def element(*indices: Expr) -> Expr:
        found = x[indices].cast(f32) / _parameter(scale, axis, indices).cast(f32)
        if tir.is_integer_type(dtype):
            found = found.call("nearbyint")
        found = found + _parameter(zero, axis, indices).cast(f32)
        return found.minimum(float(high)).maximum(float(low)).cast(dtype)

    return site.program.compute("quantized", x.shape, dtype, element)


@rule(relax.DequantizeOp)
def dequantize(op: relax.DequantizeOp, site: RuleContext) -> Tensor:
    """`(x - zero_point) * scale`, in `f32`; a result of `f16` is clipped to its range.

    The difference of whole numbers is one in `i32`, as far as that holds it.
    """
    x, scale, zero = (site.tensor(position) for position in range(3))
    axis, dtype = op.axis.value.data % len(x.shape), op.out_dtype
    exact = all(tir.is_integer_type(each.dtype) for each in (x, zero))
    kind = i32 if exact and x.dtype != i32 else f32

    def element(*indices: Expr) -> Expr:
        point = _parameter(zero, axis, indices).cast(kind)
        found = (x[indices].cast(kind) - point).cast(f32)
        found = found * _parameter(scale, axis, indices).cast(f32)
        if dtype == f16:
            found = found.minimum(largest_finite(f16)).maximum(-largest_finite(f16))
        return found.cast(dtype)

    return site.program.compute("dequantized", x.shape, dtype, element)
