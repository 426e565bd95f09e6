"""Tensors that are made of numbers."""

from __future__ import annotations

from xdsl_tvm import relax
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.frontend.torch.node import Node, Value, cast_to, converts
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr


def _filled(node: Node, value: Expr) -> Expr:
    return op.full(node.dims, value, node.dtype) if node.dims else value


@converts("full", "full_like", "new_full")
def _full(node: Node) -> Value:
    return _filled(node, node.operand("fill_value", node.dtype))


@converts("fill.Scalar", "fill.Tensor")
def _fill(node: Node) -> Value:
    return _filled(node, node.operand("value", node.dtype))


@converts("ones", "ones_like", "new_ones")
def _ones(node: Node) -> Value:
    return op.ones(node.dims, node.dtype)


@converts(
    "empty.memory_format",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
    "new_zeros",
    "zeros",
    "zeros_like",
)
def _zeros(node: Node) -> Value:
    """Zeros, of which a tensor of any elements is one."""
    return op.zeros(node.dims, node.dtype)


@converts("scalar_tensor")
def _scalar_tensor(node: Node) -> Value:
    return node.operand("s", node.dtype)


@converts("arange.start_step", "arange.start", "arange.default")
def _arange(node: Node) -> Value:
    start: Dim | float = node.scalar("start") if node.has("start") else 0
    step: Dim | float = node.scalar("step") if node.has("step") else 1
    numbers = (start, node.scalar("end"), step)
    if all(isinstance(each, Dim | int) for each in numbers):
        scalars = [relax.PrimValue(each, "int64") for each in numbers]
        return cast_to(op.arange(*scalars, "int64"), node.dtype)
    count = node.dims[0].value
    if count is None:
        raise node.error("the length of a range of floats must be a known number")
    first, width = node.constant(start, "float64"), node.constant(step, "float64")
    places = op.astype(op.arange(count, dtype="int64"), "float64")
    return cast_to(op.add(first, op.multiply(places, width)), node.dtype)


@converts("eye", "eye.m")
def _eye(node: Node) -> Value:
    rows, columns = node.dims
    return op.eye(rows, columns, 0, node.dtype)


@converts("tril", "triu")
def _triangle(node: Node) -> Value:
    x = node.expr()
    function = op.tril if "tril" in node.target else op.triu
    if x.dtype != "bool":
        return function(x, node.integer("diagonal"))
    return cast_to(function(op.astype(x, "int8"), node.integer("diagonal")), "bool")
