"""Rules of operators that make tensors (docs/spec/relax-ops.md §4)."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerType,
    TensorType,
    f64,
    i64,
)
from xdsl.ir import SSAValue

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.dtypes import integer_range
from xdsl_tvm.passes.relax.legalize.registry import Bindings, RuleContext, rewrite, rule
from xdsl_tvm.passes.relax.legalize.tensor_expression import Expr, Scalar, Tensor

LARGEST_CONSTANT = 65536
"""As many elements may a range have that becomes a constant."""


def _filled(site: RuleContext, value: Expr | float) -> Tensor:
    """A tensor of equal elements."""
    program, dtype = site.program, site.dtype

    def element(*_: Expr) -> Expr:
        if isinstance(value, Expr):
            return value.cast(dtype)
        return program.constant(value, dtype)

    return program.compute("T_full", site.shape, dtype, element)


@rule(relax.FullOp, relax.FullLikeOp, function="full", shape_only=(0,), immediates=(1,))
def full(op: relax.FullOp | relax.FullLikeOp, site: RuleContext) -> Tensor:
    """The fill value, converted to the dtype of the result, everywhere."""
    fill = site.operand(1)

    def element(*_: Expr) -> Expr:
        if isinstance(fill, Scalar):
            return fill.of(site.dtype)
        return fill[()].cast(site.dtype)

    return site.program.compute("T_full", site.shape, site.dtype, element)


@rule(relax.OnesOp, relax.OnesLikeOp, function="ones", shape_only=(0,))
def ones(op: relax.OnesOp | relax.OnesLikeOp, site: RuleContext) -> Tensor:
    """1 everywhere."""
    return _filled(site, 1)


@rule(relax.ZerosOp, relax.ZerosLikeOp, function="zeros", shape_only=(0,))
def zeros(op: relax.ZerosOp | relax.ZerosLikeOp, site: RuleContext) -> Tensor:
    """0 everywhere."""
    return _filled(site, 0)


@rule(relax.EyeOp)
def eye(op: relax.EyeOp, site: RuleContext) -> Tensor:
    """1 on a diagonal of a matrix."""
    return _diagonal(site, site.scalar(2))


@rule(relax.EyeLikeOp, function="eye", shape_only=(0,))
def eye_like(op: relax.EyeLikeOp, site: RuleContext) -> Tensor:
    """1 on a diagonal of a matrix."""
    return _diagonal(site, site.scalar(1))


def _diagonal(site: RuleContext, k: Scalar) -> Tensor:
    program, dtype = site.program, site.dtype

    def element(row: Expr, column: Expr) -> Expr:
        is_on = (column - row).equals(k.of(i64))
        one, zero = program.constant(1, dtype), program.constant(0, dtype)
        return program.select(is_on, one, zero)

    return program.compute("T_eye", site.shape, dtype, element)


@rule(relax.TrilOp, relax.TriuOp)
def triangle(op: relax.TrilOp | relax.TriuOp, site: RuleContext) -> Tensor:
    """The elements on one side of a diagonal of the last two dimensions, else 0."""
    program, x, k = site.program, site.tensor(0), site.scalar(1)

    def element(*indices: Expr) -> Expr:
        distance, diagonal = indices[-1] - indices[-2], k.of(i64)
        is_lower = isinstance(op, relax.TrilOp)
        is_inside = distance <= diagonal if is_lower else distance >= diagonal
        return program.select(is_inside, x[indices], program.constant(0, x.dtype))

    return program.compute("trilu", site.shape, x.dtype, element)


@rule(relax.ArangeOp)
def arange(op: relax.ArangeOp, site: RuleContext) -> Tensor:
    """`start + i * step`: in `i64` for whole numbers, otherwise in `f64`."""
    start, step = site.scalar(0), site.scalar(2)
    bounds = [site.scalar(position).dtype for position in range(3)]
    kind = i64 if all(isinstance(each, IntegerType) for each in bounds) else f64

    def element(index: Expr) -> Expr:
        return (start.of(kind) + index.cast(kind) * step.of(kind)).cast(op.dtype)

    return site.program.compute("T_arange", site.shape, op.dtype, element)


@rewrite(relax.ArangeOp)
def constant_arange(op: relax.ArangeOp, bindings: Bindings) -> SSAValue | None:
    """A range of whole numbers that are all known becomes a constant, if it is small."""
    numbers = [_whole(value) for value in op.operands]
    known = [number for number in numbers if number is not None]
    if len(known) != len(numbers) or not tir.is_integer_type(op.dtype):
        return None
    elements = range(*known)
    low, high = integer_range(op.dtype)
    if len(elements) > LARGEST_CONSTANT:
        return None
    if elements and not low <= min(elements) <= max(elements) <= high:
        return None
    type_ = TensorType(op.dtype, [len(elements)])
    value = DenseIntOrFPElementsAttr.from_list(type_, list(elements))
    return bindings.emit(relax.ConstantOp(value))


def _whole(value: SSAValue) -> int | None:
    type_ = value.type
    if not isinstance(type_, relax.PrimType) or type_.dim is None:
        return None
    return type_.dim.value
