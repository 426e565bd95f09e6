"""Tensor operators as stages of a `TensorProgram` (spec relax-ops.md, column Lg).

Each function appends the stages of one operator and returns its result. Shapes are those
of the result where the type inference of the operator has already found them. Element
types are those of the operands, unless a function says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import Float16Type, f32
from xdsl.ir import Attribute

from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    MAX,
    SUM,
    Dim,
    Expr,
    Operand,
    Reducer,
    Tensor,
    TensorProgram,
)


def broadcast_indices(
    program: TensorProgram, tensor: Operand, indices: Sequence[Expr]
) -> tuple[Expr, ...]:
    """The element of `tensor` that numpy's broadcasting reads at `indices`."""
    rank = len(tensor.shape)
    own = list(indices[len(indices) - rank :])
    return tuple(
        program.extent(0) if dim == 1 else index
        for dim, index in zip(tensor.shape, own, strict=True)
    )


def elementwise(
    program: TensorProgram, name: str, x: Tensor, function: Callable[[Expr], Expr]
) -> Tensor:
    """`function` of each element."""
    return program.compute(name, x.shape, x.dtype, lambda *indices: function(x[indices]))


def binary(
    program: TensorProgram,
    name: str,
    lhs: Operand,
    rhs: Operand,
    shape: Sequence[Dim],
    function: Callable[[Expr, Expr], Expr],
) -> Tensor:
    """`function` of the elements that broadcasting pairs; `shape` is the result's."""

    def element(*indices: Expr) -> Expr:
        return function(
            lhs[broadcast_indices(program, lhs, indices)],
            rhs[broadcast_indices(program, rhs, indices)],
        )

    return program.compute(name, shape, lhs.dtype, element)


def relu(program: TensorProgram, x: Tensor) -> Tensor:
    """`max(x, 0)`."""
    return elementwise(program, "relu", x, lambda value: value.maximum(0))


def gelu(program: TensorProgram, x: Tensor) -> Tensor:
    """`x * (0.5 + 0.5 * erf(x * sqrt(1/2)))`, erf in `f32` for `f16`."""

    def element(value: Expr) -> Expr:
        scaled = _wide(value * math.sqrt(0.5)).call("erf").cast(value.dtype)
        return value * (scaled * 0.5 + 0.5)

    return elementwise(program, "gelu", x, element)


def _wide(value: Expr) -> Expr:
    """A half-precision value in single precision, any other as it is."""
    return value.cast(accumulator_type(value.dtype))


def accumulator_type(dtype: Attribute) -> Attribute:
    """What sums over `dtype` are held in: `f32` for `f16`, else `dtype`."""
    return f32 if isinstance(dtype, Float16Type) else dtype


def matmul(
    program: TensorProgram,
    lhs: Tensor,
    rhs: Tensor,
    shape: Sequence[Dim],
    dtype: Attribute,
) -> Tensor:
    """The matrix product, batched over leading dimensions, computed in `dtype`.

    A vector on the left is a row, on the right a column, and the result lacks the
    dimension it would have had.
    """
    lhs_vector, rhs_vector = len(lhs.shape) == 1, len(rhs.shape) == 1
    rank = len(shape)
    batch = rank - (not lhs_vector) - (not rhs_vector)

    def element(spatial: list[Expr], reduction: list[Expr]) -> Expr:
        row = [] if lhs_vector else [spatial[batch]]
        column = [] if rhs_vector else [spatial[-1]]
        batches = spatial[:batch]
        left = _batched(program, lhs, batches, [*row, reduction[0]])
        right = _batched(program, rhs, batches, [reduction[0], *column])
        return lhs[left].cast(dtype) * rhs[right].cast(dtype)

    return program.reduce("matmul", shape, [lhs.shape[-1]], dtype, SUM, element)


def _batched(
    program: TensorProgram, tensor: Tensor, batches: list[Expr], inner: list[Expr]
) -> tuple[Expr, ...]:
    own = len(tensor.shape) - len(inner)
    batch = [
        program.extent(0) if dim == 1 else index
        for dim, index in zip(
            tensor.shape[:own], batches[len(batches) - own :], strict=True
        )
    ]
    return (*batch, *inner)


def permute_dims(program: TensorProgram, x: Tensor, axes: Sequence[int]) -> Tensor:
    """Result dimension `i` is dimension `axes[i]` of `x`."""
    position = {axis: i for i, axis in enumerate(axes)}

    def element(*indices: Expr) -> Expr:
        return x[tuple(indices[position[axis]] for axis in range(len(axes)))]

    shape = [x.shape[axis] for axis in axes]
    return program.compute("transpose", shape, x.dtype, element)


def reshape(program: TensorProgram, x: Tensor, shape: Sequence[Dim]) -> Tensor:
    """The elements of `x` in row-major order, in another shape."""

    def element(*indices: Expr) -> Expr:
        flat = program.extent(0)
        for dim, index in zip(shape, indices, strict=True):
            flat = flat * program.extent(dim) + index
        return x[_unflatten(program, flat, x.shape)]

    return program.compute("reshape", shape, x.dtype, element)


def _unflatten(
    program: TensorProgram, flat: Expr, shape: Sequence[Dim]
) -> tuple[Expr, ...]:
    indices: list[Expr] = []
    for dim in reversed(shape[1:]):
        extent = program.extent(dim)
        indices.append(flat % extent)
        flat = flat // extent
    return (*([flat] if shape else []), *reversed(indices))


def reduction(
    program: TensorProgram,
    name: str,
    x: Tensor,
    axes: Sequence[int],
    keepdims: bool,
    reducer: Reducer,
    *,
    function: Callable[[Expr], Expr] = lambda value: value,
    dtype: Attribute | None = None,
) -> Tensor:
    """`reducer` over the dimensions `axes`, applied to `function` of each element.

    With `keepdims` the reduced dimensions stay, with extent 1.
    """
    kept = [axis for axis in range(len(x.shape)) if keepdims or axis not in axes]
    shape: list[Dim] = [1 if axis in axes else x.shape[axis] for axis in kept]

    def element(spatial: list[Expr], inner: list[Expr]) -> Expr:
        index = dict(zip(kept, spatial, strict=True))
        index |= dict(zip(axes, inner, strict=True))
        value = x[tuple(index[axis] for axis in range(len(x.shape)))]
        return function(value.cast(dtype or x.dtype))

    over = [x.shape[axis] for axis in axes]
    return program.reduce(name, shape, over, dtype or x.dtype, reducer, element)


def count(program: TensorProgram, x: Tensor, axes: Sequence[int], like: Expr) -> Expr:
    """The number of elements over `axes`, in the dtype of `like`."""
    static = math.prod(dim for axis in axes if isinstance(dim := x.shape[axis], int))
    symbolic = [dim for axis in axes if isinstance(dim := x.shape[axis], Expr)]
    if not symbolic:
        return program.constant(static, like.dtype)
    total = program.extent(static)
    for dim in symbolic:
        total = total * dim
    return total.cast(like.dtype)


def mean(
    program: TensorProgram, x: Tensor, axes: Sequence[int], keepdims: bool
) -> Tensor:
    """The sum over `axes` divided by the number of elements."""
    total = reduction(program, "sum", x, axes, keepdims, SUM)
    return elementwise(
        program, "mean", total, lambda value: value / count(program, x, axes, value)
    )


def softmax(program: TensorProgram, x: Tensor, axis: int) -> Tensor:
    """`exp(x - max) / sum(exp(x - max))` along `axis`, in four stages."""

    highest = reduction(program, "softmax_max", x, [axis], True, MAX)
    exponential = program.compute(
        "softmax_exp",
        x.shape,
        x.dtype,
        lambda *i: (x[i] - _along(program, highest, i, axis)).call("exp"),
    )
    total = reduction(program, "softmax_sum", exponential, [axis], True, SUM)
    return program.compute(
        "softmax",
        x.shape,
        x.dtype,
        lambda *i: exponential[i] / _along(program, total, i, axis),
    )


def _along(
    program: TensorProgram, tensor: Tensor, indices: Sequence[Expr], axis: int
) -> Expr:
    """The element of a tensor whose dimension `axis` was reduced to 1."""
    own = [program.extent(0) if i == axis else index for i, index in enumerate(indices)]
    return tensor[tuple(own)]


def layer_norm(
    program: TensorProgram,
    x: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    axes: Sequence[int],
    epsilon: float,
) -> Tensor:
    """`(x - mean) * rsqrt(variance + epsilon) * gamma + beta` over `axes`.

    Mean and variance are held in `f32` for `f16`. The variance is the mean of squared
    deviations, not the difference of two means, which loses all digits where the mean is
    large against the deviation.
    """
    wide = accumulator_type(x.dtype)
    rest = [axis for axis in range(len(x.shape)) if axis not in axes]

    def moment(name: str, total: Tensor) -> Tensor:
        return elementwise(
            program, name, total, lambda value: value / count(program, x, axes, value)
        )

    def outer(indices: Sequence[Expr]) -> tuple[Expr, ...]:
        return tuple(indices[axis] for axis in rest)

    center = moment("mean", reduction(program, "sum", x, axes, False, SUM, dtype=wide))
    deviation = program.compute(
        "deviation", x.shape, wide, lambda *i: x[i].cast(wide) - center[outer(i)]
    )
    variance = moment(
        "variance",
        reduction(
            program, "squares", deviation, axes, False, SUM, function=lambda v: v * v
        ),
    )

    def element(*indices: Expr) -> Expr:
        scale = (variance[outer(indices)] + epsilon).call("rsqrt")
        value = (deviation[indices] * scale).cast(x.dtype)
        own = tuple(indices[axis] for axis in axes)
        if gamma is not None:
            value = value * gamma[own]
        return value if beta is None else value + beta[own]

    return program.compute("layer_norm", x.shape, x.dtype, element)
