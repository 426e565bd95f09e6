"""Rules of operators of neural networks (spec relax-ops.md §11)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.relax.legalize.reductions import count, reduction
from xdsl_tvm.passes.relax.legalize.registry import Site, rule
from xdsl_tvm.passes.relax.legalize.stages import (
    accumulator_type,
    elementwise,
    normal_axes,
)
from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    MAX,
    SUM,
    Expr,
    Tensor,
    TensorProgram,
)


@rule(relax.SoftmaxOp)
def softmax(op: relax.SoftmaxOp, site: Site) -> Tensor:
    """`exp(x - max) / sum(exp(x - max))` along `axis`, in four stages."""
    program, x = site.program, site.tensor(0)
    axis = op.axis.value.data % len(x.shape)
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


@rule(relax.LayerNormOp)
def layer_norm(op: relax.LayerNormOp, site: Site) -> Tensor:
    """`(x - mean) * rsqrt(variance + epsilon) * gamma + beta` over `axes`.

    Mean and variance are held in `f32` for `f16`. The variance is the mean of squared
    deviations, not the difference of two means, which loses all digits where the mean is
    large against the deviation.
    """
    program, x = site.program, site.tensor(0)
    gamma = None if op.no_scale is not None else site.tensor(1)
    beta = None if op.no_center is not None else site.tensor(2)
    axes, epsilon = normal_axes(op.axes, len(x.shape)), op.epsilon.value.data
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
