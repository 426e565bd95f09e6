"""Elements put where indices say."""

from __future__ import annotations

import numpy as np

from xdsl_tvm.frontend.torch.node import Node, Value, cast_to, converts
from xdsl_tvm.frontend.torch.operators.indexing import from_front
from xdsl_tvm.relax import const, op
from xdsl_tvm.relax.expr import Expr

_REDUCTIONS = {
    "add": "add",
    "amax": "max",
    "amin": "min",
    "mean": "add",
    "multiply": "mul",
    "prod": "mul",
    "sum": "add",
}
"""Reductions of torch by those of Relax."""


def _scattered(node: Node, x: Expr, source: Expr, reduction: str) -> Expr:
    index = node.expr("index")
    if not x.shape:
        x, source = op.reshape(x, [1]), op.reshape(source, [1])
        index = op.reshape(index, [1])
        return op.reshape(op.scatter_elements(x, index, source, 0, reduction), [])
    axis = node.axis("dim", len(x.shape))
    # torch reads as much of the source as there are indices.
    pairs = zip(source.shape, index.shape, strict=True)
    axes = [each for each, (size, wanted) in enumerate(pairs) if size != wanted]
    if axes:
        ends = [index.shape[each] for each in axes]
        source = op.strided_slice(source, axes, [0] * len(axes), ends)
    return op.scatter_elements(x, index, source, axis, reduction)


@converts("scatter.src", "scatter_add", "scatter.reduce")
def _scatter(node: Node) -> Value:
    kind = "update"
    if "scatter_add" in node.target:
        kind = "add"
    elif node.has("reduce"):
        kind = _reduction(node)
    source = cast_to(node.expr("src"), node.dtype)
    return _scattered(node, node.expr(), source, kind)


@converts("scatter.value", "scatter.value_reduce")
def _scatter_value(node: Node) -> Value:
    index = node.expr("index")
    value = node.operand("value", node.dtype)
    source = op.full(list(index.shape), value, node.dtype) if index.shape else value
    kind = _reduction(node) if node.has("reduce") else "update"
    return _scattered(node, node.expr(), source, kind)


def _reduction(node: Node) -> str:
    kind = node.text("reduce")
    if kind not in _REDUCTIONS:
        raise node.error(f"reduce must be one of {', '.join(_REDUCTIONS)}, not {kind}")
    return _REDUCTIONS[kind]


@converts("scatter_reduce.two")
def _scatter_reduce(node: Node) -> Value:
    x, source = node.emit(node.expr()), node.expr("src")
    kind, reduction = node.text("reduce"), _reduction(node)
    data = x
    includes = node.flag("include_self")
    if not includes:
        # Elements that are reduced begin as what changes none.
        first = op.full(list(source.shape), _neutral(node, kind), node.dtype)
        data = node.emit(_scattered(node, x, first, "update"))
    result = _scattered(node, data, source, reduction)
    if kind != "mean":
        return result
    # The mean is the sum divided by how many there are.
    ones = op.ones(list(source.shape), node.dtype)
    begin = op.ones(list(x.shape), node.dtype)
    if not includes:
        begin = _scattered(
            node, begin, op.zeros(list(source.shape), node.dtype), "update"
        )
    count = _scattered(node, begin, ones, "add")
    divide = op.divide if "float" in node.dtype else op.floor_divide
    return divide(result, count)


def _neutral(node: Node, kind: str) -> Expr:
    """What a reduction leaves other elements as they are with."""
    if kind in ("sum", "mean"):
        return node.constant(0, node.dtype)
    if kind == "prod":
        return node.constant(1, node.dtype)
    if "float" in node.dtype:
        return node.constant(float("-inf" if kind == "amax" else "inf"), node.dtype)
    limits = np.iinfo(node.dtype)
    return node.constant(int(limits.min if kind == "amax" else limits.max), node.dtype)


@converts("masked_scatter")
def _masked_scatter(node: Node) -> Value:
    """The source's elements one after the other where the mask is true."""
    x, source = node.expr(), node.expr("source")
    mask = op.broadcast_to(node.expr("mask"), node.dims)
    mask = node.emit(mask)
    counts = op.cumsum(op.astype(op.flatten(mask), "int64"), 0)
    last = op.maximum(op.subtract(counts, const(1, "int64")), const(0, "int64"))
    if not all(dim.value for dim in source.shape):
        raise node.error("the source must have elements")
    chosen = op.take(op.flatten(source), last, 0)
    return op.where(mask, op.reshape(chosen, node.dims), x)


@converts("index_add")
def _index_add(node: Node) -> Value:
    """Slices added where indices say, along one axis."""
    x, source = node.expr(), node.expr("source")
    rank = len(x.shape)
    axis = node.axis("dim", rank)
    alpha = node.number("alpha")
    if alpha != 1:
        source = op.multiply(source, node.constant(alpha, node.dtype))
    index = from_front(node, node.expr("index"), x.shape[axis])
    shape = [1] * rank
    wide = op.reshape(index, [*shape[:axis], source.shape[axis], *shape[axis + 1 :]])
    spread = op.broadcast_to(wide, list(source.shape))
    return op.scatter_elements(x, spread, source, axis, "add")
