"""Gradients of element-wise operators."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.relax._gradient.builder import (
    Adjoint,
    GradientBuilder,
    is_differentiable,
    rule,
)


@rule(relax.AddOp)
def add(b: GradientBuilder, op: relax.AddOp, g: SSAValue) -> Sequence[Adjoint]:
    return [b.reduced(g, op.lhs), b.reduced(g, op.rhs)]


@rule(relax.SubtractOp)
def subtract(b: GradientBuilder, op: relax.SubtractOp, g: SSAValue) -> Sequence[Adjoint]:
    return [b.reduced(g, op.lhs), b.reduced(b.negative(g), op.rhs)]


@rule(relax.MultiplyOp)
def multiply(b: GradientBuilder, op: relax.MultiplyOp, g: SSAValue) -> Sequence[Adjoint]:
    lhs, rhs = b.multiply(g, op.rhs), b.multiply(g, op.lhs)
    return [b.reduced(lhs, op.lhs), b.reduced(rhs, op.rhs)]


@rule(relax.DivideOp)
def divide(b: GradientBuilder, op: relax.DivideOp, g: SSAValue) -> Sequence[Adjoint]:
    lhs = b.divide(g, op.rhs)
    rhs = b.negative(b.divide(b.multiply(g, op.result), op.rhs))
    return [b.reduced(lhs, op.lhs), b.reduced(rhs, op.rhs)]


@rule(relax.PowerOp)
def power(b: GradientBuilder, op: relax.PowerOp, g: SSAValue) -> Sequence[Adjoint]:
    found: list[Adjoint] = [None, None]
    if is_differentiable(op.lhs.type):
        less = b.subtract(op.rhs, b.number(1.0, g))
        slope = b.multiply(op.rhs, b.insert(relax.PowerOp(op.lhs, less)))
        found[0] = b.reduced(b.multiply(g, slope), op.lhs)
    if is_differentiable(op.rhs.type) and is_differentiable(op.lhs.type):
        slope = b.multiply(op.result, b.insert(relax.LogOp(op.lhs)))
        found[1] = b.reduced(b.multiply(g, slope), op.rhs)
    return found


@rule(relax.MaximumOp)
def maximum(b: GradientBuilder, op: relax.MaximumOp, g: SSAValue) -> Sequence[Adjoint]:
    zero = b.number(0.0, g)
    lhs = b.where_less(op.lhs, op.rhs, zero, g)
    rhs = b.where_less(op.lhs, op.rhs, g, zero)
    return [b.reduced(lhs, op.lhs), b.reduced(rhs, op.rhs)]


@rule(relax.MinimumOp)
def minimum(b: GradientBuilder, op: relax.MinimumOp, g: SSAValue) -> Sequence[Adjoint]:
    zero = b.number(0.0, g)
    lhs = b.where_less(op.rhs, op.lhs, zero, g)
    rhs = b.where_less(op.rhs, op.lhs, g, zero)
    return [b.reduced(lhs, op.lhs), b.reduced(rhs, op.rhs)]


@rule(relax.AbsOp)
def abs_(b: GradientBuilder, op: relax.AbsOp, g: SSAValue) -> Sequence[Adjoint]:
    return [b.where_less(op.data, b.number(0.0, g), b.negative(g), g)]


@rule(relax.CosOp)
def cos(b: GradientBuilder, op: relax.CosOp, g: SSAValue) -> Sequence[Adjoint]:
    return [b.negative(b.multiply(g, b.insert(relax.SinOp(op.data))))]


@rule(relax.SinOp)
def sin(b: GradientBuilder, op: relax.SinOp, g: SSAValue) -> Sequence[Adjoint]:
    return [b.multiply(g, b.insert(relax.CosOp(op.data)))]


@rule(relax.ExpOp)
def exp(b: GradientBuilder, op: relax.ExpOp, g: SSAValue) -> Sequence[Adjoint]:
    return [b.multiply(g, op.result)]


@rule(relax.LogOp)
def log(b: GradientBuilder, op: relax.LogOp, g: SSAValue) -> Sequence[Adjoint]:
    return [b.divide(g, op.data)]


@rule(relax.NegativeOp)
def negative(b: GradientBuilder, op: relax.NegativeOp, g: SSAValue) -> Sequence[Adjoint]:
    return [b.negative(g)]


@rule(relax.SigmoidOp)
def sigmoid(b: GradientBuilder, op: relax.SigmoidOp, g: SSAValue) -> Sequence[Adjoint]:
    rest = b.subtract(b.number(1.0, g), op.result)
    return [b.multiply(g, b.multiply(op.result, rest))]


@rule(relax.SqrtOp)
def sqrt(b: GradientBuilder, op: relax.SqrtOp, g: SSAValue) -> Sequence[Adjoint]:
    return [b.divide(b.multiply(g, b.number(0.5, g)), op.result)]


@rule(relax.TanhOp)
def tanh(b: GradientBuilder, op: relax.TanhOp, g: SSAValue) -> Sequence[Adjoint]:
    square = b.multiply(op.result, op.result)
    return [b.multiply(g, b.subtract(b.number(1.0, g), square))]


@rule(relax.ReluOp)
def relu(b: GradientBuilder, op: relax.ReluOp, g: SSAValue) -> Sequence[Adjoint]:
    zero = b.number(0.0, g)
    return [b.where_less(op.data, zero, zero, g)]


@rule(relax.SiluOp)
def silu(b: GradientBuilder, op: relax.SiluOp, g: SSAValue) -> Sequence[Adjoint]:
    gate = b.insert(relax.SigmoidOp(op.data))
    rest = b.multiply(op.result, b.subtract(b.number(1.0, g), gate))
    return [b.multiply(g, b.add(gate, rest))]


@rule(relax.AstypeOp)
def astype(b: GradientBuilder, op: relax.AstypeOp, g: SSAValue) -> Sequence[Adjoint]:
    if not is_differentiable(op.data.type):
        return [None]
    return [b.insert(relax.AstypeOp(g, b.dtype(op.data)))]


@rule(relax.WhereOp)
def where(b: GradientBuilder, op: relax.WhereOp, g: SSAValue) -> Sequence[Adjoint]:
    zero = b.number(0.0, g)
    yes = b.insert(relax.WhereOp(op.condition, g, zero))
    no = b.insert(relax.WhereOp(op.condition, zero, g))
    return [None, b.reduced(yes, op.x1), b.reduced(no, op.x2)]
