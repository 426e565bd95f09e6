"""Products of matrices, and attention."""

from __future__ import annotations

import numpy as np

from xdsl_tvm import relax
from xdsl_tvm.frontend.onnx.node import Node, converts
from xdsl_tvm.frontend.onnx.values import Known, Value, as_expr
from xdsl_tvm.relax import op


@converts("MatMul")
def _matmul(node: Node) -> Value:
    return op.matmul(node.expr(0), node.expr(1))


@converts("Gemm")
def _gemm(node: Node) -> Value:
    a, b = (
        _transposed(node.value(index)) if node.int_of(name, 0) else node.expr(index)
        for index, name in enumerate(("transA", "transB"))
    )
    alpha, beta = node.float_of("alpha", 1.0), node.float_of("beta", 1.0)
    result = op.matmul(a, b)
    if alpha != 1.0:
        result = op.multiply(result, _number(node, alpha))
    if (c := node.optional(2)) is None or beta == 0.0:
        return result
    return op.add(result, c if beta == 1.0 else op.multiply(c, _number(node, beta)))


def _transposed(value: Value) -> relax.Expr:
    """A matrix transposed, a weight once and for all, however large it is."""
    if isinstance(value, Known) and not value.is_symbolic and value.array.ndim == 2:
        return relax.const(np.ascontiguousarray(value.array.T))
    return op.permute_dims(as_expr(value), [1, 0])


def _number(node: Node, number: float) -> relax.Expr:
    if "float" not in node.dtype() and number != int(number):
        raise node.error(f"alpha and beta must be integers for {node.dtype()}")
    return node.scalar(number)


@converts("Einsum")
def _einsum(node: Node) -> Value:
    return op.einsum(node.exprs(), node.str_of("equation").replace(" ", ""))


@converts("Trilu")
def _trilu(node: Node) -> Value:
    k = node.integer(1) if node.has(1) else 0
    return (op.triu if node.int_of("upper", 1) else op.tril)(node.expr(), k)
