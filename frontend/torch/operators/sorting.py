"""Sorted elements and the greatest ones."""

from __future__ import annotations

from xdsl_tvm.frontend.torch.node import Node, Results, Value, converts
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr


def _orderable(x: Expr) -> Expr:
    return op.astype(x, "int8") if x.dtype == "bool" else x


@converts("sort", "sort.stable")
def _sort(node: Node) -> Results:
    x = node.expr()
    if not x.shape:
        return [x, op.zeros([], "int64")]
    axis = node.axis("dim", len(x.shape))
    order = op.argsort(_orderable(x), axis, node.flag("descending"), "int64")
    order = node.emit(order)
    return [op.gather_elements(x, order, axis), order]


@converts("argsort", "argsort.stable")
def _argsort(node: Node) -> Value:
    x = node.expr()
    if not x.shape:
        return op.zeros([], "int64")
    axis = node.axis("dim", len(x.shape))
    return op.argsort(_orderable(x), axis, node.flag("descending"), "int64")


@converts("topk")
def _topk(node: Node) -> Results:
    x = node.expr()
    if not x.shape:
        return [x, op.zeros([], "int64")]
    k, axis = node.integer("k"), node.axis("dim", len(x.shape))
    if not k:
        return [op.zeros(node.dims, each.dtype) for each in node.metas]
    largest = node.flag("largest")
    both = node.emit(op.topk(x, k, axis, "both", largest=largest, dtype="int64"))
    return [both[0], both[1]]
