"""Gradients of operators of neural networks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import AnyFloat, FloatAttr
from xdsl.ir import SSAValue

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.dense import dense_of, numpy_dtype
from xdsl_tvm.passes.relax._gradient.builder import (
    Adjoint,
    GradientBuilder,
    rule,
    unsupported,
)


@rule(relax.SoftmaxOp)
def softmax(b: GradientBuilder, op: relax.SoftmaxOp, g: SSAValue) -> Sequence[Adjoint]:
    weighted = b.multiply(g, op.result)
    total = b.insert(relax.SumOp(weighted, [op.axis.value.data], True))
    return [b.multiply(b.subtract(g, total), op.result)]


@rule(relax.LogSoftmaxOp)
def log_softmax(
    b: GradientBuilder, op: relax.LogSoftmaxOp, g: SSAValue
) -> Sequence[Adjoint]:
    total = b.insert(relax.SumOp(g, [op.axis.value.data], True))
    return [b.subtract(g, b.multiply(total, b.insert(relax.ExpOp(op.result))))]


@rule(relax.CrossEntropyWithLogitsOp)
def cross_entropy_with_logits(
    b: GradientBuilder, op: relax.CrossEntropyWithLogitsOp, g: SSAValue
) -> Sequence[Adjoint]:
    scaled = b.negative(g)
    if b.rank(op.predictions) > 1:
        count = float(b.extent(op.predictions, 0, op))
        scaled = b.divide(scaled, b.number(count, g))
    return [b.multiply(scaled, op.labels), b.multiply(scaled, op.predictions)]


@rule(relax.NLLLossOp)
def nll_loss(b: GradientBuilder, op: relax.NLLLossOp, g: SSAValue) -> Sequence[Adjoint]:
    """By the predictions, and by the weights where there are some."""
    rank = b.rank(op.predictions)
    axis = 0 if rank == 1 else 1
    others = [each for each in range(rank) if each != axis]
    dtype = b.dtype(op.predictions)
    if not isinstance(dtype, AnyFloat):
        unsupported(op, f"predictions must hold floats, not {dtype}")
    depth = b.extent(op.predictions, axis, op)
    one, zero = (
        b.insert(relax.PrimValueOp(FloatAttr(each, dtype))) for each in (1.0, 0.0)
    )
    hits = b.insert(relax.OneHotOp(op.targets, one, zero, depth, axis))
    ignored, integers = op.ignore_index.value.data, numpy_dtype(b.dtype(op.targets))
    if np.iinfo(integers).min <= ignored <= np.iinfo(integers).max:
        number = dense_of(np.asarray(ignored, integers))
        counts = relax.NotEqualOp(op.targets, b.insert(relax.ConstantOp(number)))
        mask = b.insert(relax.AstypeOp(b.insert(counts), dtype))
        hits = b.multiply(hits, b.insert(relax.ExpandDimsOp(mask, [axis])))
    chosen = hits
    if op.weights is not None:
        weights = b.reshape(op.weights, [depth, *[1] * len(others[axis:])])
        chosen = b.multiply(hits, weights)
    reduction = op.reduction.data
    if reduction == "none":
        g = b.insert(relax.ExpandDimsOp(g, [axis]))
    elif reduction == "mean":
        g = b.divide(g, b.insert(relax.SumOp(chosen)))
    found: list[Adjoint] = [b.negative(b.multiply(chosen, g)), None]
    if op.weights is not None:
        shares = b.negative(b.multiply(hits, op.predictions))
        if reduction == "mean":
            shares = b.subtract(shares, b.multiply(hits, op.result))
        shares = b.multiply(shares, g)
        found.append(b.insert(relax.SumOp(shares, others)) if others else shares)
    return found
