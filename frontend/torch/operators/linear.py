"""Products of matrices, and attention."""

from __future__ import annotations

import math

from xdsl_tvm import relax
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.frontend.torch.node import Node, Value, converts
from xdsl_tvm.frontend.torch.operators.layout import broadcast
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr


@converts("mm", "bmm", "mv", "dot", "vdot")
def _product(node: Node) -> Value:
    names = [name for name in node.arguments if name != "self"]
    return op.matmul(node.expr(), node.expr(names[0]))


@converts("matmul")
def _matmul(node: Node) -> Value:
    return op.matmul(node.expr(), node.expr("other"))


@converts("linear")
def _linear(node: Node) -> Value:
    weight, bias = node.expr("weight"), node.optional("bias")
    if len(weight.shape) == 2:
        weight = op.permute_dims(weight, [1, 0])
    product = op.matmul(node.expr("input"), weight)
    return product if bias is None else op.add(product, bias)


@converts("addmm", "addmv", "baddbmm", "addbmm")
def _add_product(node: Node) -> Value:
    """beta * self + alpha * the product of the two others."""
    names = [name for name in node.arguments if name not in ("self", "beta", "alpha")]
    first, second = (node.expr(name) for name in names)
    product = op.matmul(first, second)
    if "addbmm" in node.target and "baddbmm" not in node.target:
        product = op.sum(product, [0])
    product = _times(node, product, "alpha")
    # Without its factor the first operand does not count, even where it is NaN.
    if node.scalar("beta") == 0:
        return product
    return op.add(_times(node, node.expr(), "beta"), product)


def _times(node: Node, x: Expr, name: str) -> Expr:
    factor = node.number(name)
    return x if factor == 1 else op.multiply(x, node.constant(factor, node.dtype))


@converts("einsum")
def _einsum(node: Node) -> Value:
    subscripts = node.text("equation").replace(" ", "")
    return op.einsum(node.exprs("tensors"), subscripts)


# ---- attention ----


@converts("scaled_dot_product_attention")
def _attention(node: Node) -> Value:
    if node.number("dropout_p") != 0:
        raise node.error("dropout is random; export module.eval()")
    query, key, value = (node.expr(name) for name in ("query", "key", "value"))
    rank = len(query.shape)
    if node.flag("enable_gqa"):
        key, value = (_repeated(node, each, query) for each in (key, value))
    scale = node.number("scale") if node.has("scale") else None
    mask = node.optional("attn_mask")
    is_causal = node.flag("is_causal")
    if rank == 4 and mask is None and _agree(query, key, value):
        # `relax.nn.attention` has the heads after the sequence.
        parts = [op.permute_dims(each, [0, 2, 1, 3]) for each in (query, key, value)]
        causal = "TopLeft" if is_causal else None
        mixed = op.nn.attention(*parts, scale=scale, causal_mask=causal)
        return op.permute_dims(mixed, [0, 2, 1, 3])
    if scale is None:
        width = query.shape[-1].value
        if width is None:
            raise node.error("the width of a head must be a known number")
        scale = 1 / math.sqrt(width) if width else 1.0
    axes = [*range(rank - 2), rank - 1, rank - 2]
    scores = op.matmul(query, op.permute_dims(key, axes))
    scores = op.multiply(scores, node.constant(scale, node.dtype))
    lowest = node.constant(float("-inf"), node.dtype)
    if is_causal:
        rows, columns = query.shape[-2], key.shape[-2]
        allowed = op.tril(op.ones([rows, columns], "int8"), 0)
        is_open = op.not_equal(allowed, relax.const(0, "int8"))
        scores = op.where(is_open, scores, lowest)
    if mask is None:
        return op.matmul(op.nn.softmax(scores, -1), value)
    if mask.dtype != "bool":
        shares = op.nn.softmax(op.add(scores, op.astype(mask, node.dtype)), -1)
        return op.matmul(shares, value)
    # A query that may look at nothing gets zeros.
    scores = node.emit(op.where(mask, scores, lowest))
    is_empty = op.equal(op.max(scores, [-1], True), lowest)
    shares = op.nn.softmax(scores, -1)
    shares = op.where(is_empty, node.constant(0, node.dtype), shares)
    return op.matmul(shares, value)


def _agree(query: Expr, *others: Expr) -> bool:
    """Whether batches and heads are the same, and no broadcasting is needed."""
    return all(each.shape[:2] == query.shape[:2] for each in others)


def _repeated(node: Node, x: Expr, query: Expr) -> Expr:
    """Keys or values with each head as often as queries share it."""
    heads, wanted = x.shape[-3].value, query.shape[-3].value
    if heads is None or wanted is None:
        raise node.error("the numbers of heads must be known numbers")
    if heads == wanted:
        return x
    shape, rank = list(x.shape), len(x.shape)
    spread = op.expand_dims(x, [rank - 2])
    wide = [*shape[:-2], Dim.constant(wanted // heads), *shape[-2:]]
    return op.reshape(
        broadcast(spread, wide), [*shape[:-3], Dim.constant(wanted), *shape[-2:]]
    )
