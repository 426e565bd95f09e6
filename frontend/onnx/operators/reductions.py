"""Reductions, and indices of extreme elements."""

from __future__ import annotations

from xdsl_tvm.frontend.onnx.folding import axes_of
from xdsl_tvm.frontend.onnx.node import Node, converts
from xdsl_tvm.frontend.onnx.values import Value
from xdsl_tvm.relax import const, op
from xdsl_tvm.relax.expr import Expr, call

_PLAIN = {
    "ReduceMax": "max",
    "ReduceMean": "mean",
    "ReduceMin": "min",
    "ReduceProd": "prod",
    "ReduceSum": "sum",
}


def _axes(node: Node) -> list[int] | None:
    """The axes; None where the node reduces nothing."""
    axes = axes_of(node)
    if axes:
        return [node.axis(axis) for axis in axes]
    if node.int_of("noop_with_empty_axes", 0):
        return None
    return list(range(node.rank()))


def _reduced(node: Node, name: str, x: Expr, axes: list[int]) -> Expr:
    keep = bool(node.int_of("keepdims", 1))
    if not axes:
        return x
    if x.dtype == "bool":
        # Of truth values the least is "all", and the largest is "any", of none too.
        is_all = name == "min"
        chosen = op.logical_not(x) if is_all else x
        count = op.sum(op.astype(chosen, "int32"), axes, keep)
        zero = const(0, "int32")
        return op.equal(count, zero) if is_all else op.greater(count, zero)
    return call(name, x, axes, keep)


@converts(*_PLAIN)
def _reduce(node: Node) -> Value:
    axes = _axes(node)
    if axes is None:
        return node.expr()
    return _reduced(node, _PLAIN[node.op_type], node.expr(), axes)


@converts("ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum")
def _reduce_mapped(node: Node) -> Value:
    x, axes = node.expr(), _axes(node)
    kind = node.op_type
    if kind == "ReduceL1":
        x = op.abs(x)
    elif kind != "ReduceLogSum":
        x = op.multiply(x, x)
    total = x if axes is None else _reduced(node, "sum", x, axes)
    if kind == "ReduceL2":
        return op.sqrt(total)
    return op.log(total) if kind == "ReduceLogSum" else total


@converts("ReduceLogSumExp")
def _reduce_log_sum_exp(node: Node) -> Value:
    x, axes = node.expr(), _axes(node)
    if axes is None or not axes:
        return x
    largest = node.emit(op.max(x, axes, True))
    # An infinite maximum would be subtracted from itself.
    finite = op.where(op.isfinite(largest), largest, node.scalar(0))
    shift = node.emit(finite)
    total = op.log(op.sum(op.exp(op.subtract(x, shift)), axes, True))
    result = op.add(total, shift)
    return result if node.int_of("keepdims", 1) else op.squeeze(result, axes)


@converts("ArgMax", "ArgMin")
def _arg_extremum(node: Node) -> Value:
    axis = node.axis(node.int_of("axis", 0))
    keep = bool(node.int_of("keepdims", 1))
    function = op.argmax if node.op_type == "ArgMax" else op.argmin
    x = node.expr()
    if not node.int_of("select_last_index", 0):
        return op.astype(function(x, axis, keep), "int64")
    last = op.astype(function(op.flip(x, axis), axis, keep), "int64")
    from_end = node.sizes()[axis] - 1
    return op.subtract(_int64(from_end), last)


def _int64(value: int) -> Expr:
    return const(value, "int64")
