"""Sums, means, extreme elements and statistics."""

from __future__ import annotations

from xdsl_tvm.dialects.relax.symbolic import product
from xdsl_tvm.frontend.torch.node import (
    Converter,
    Node,
    Results,
    Value,
    cast_to,
    converts,
)
from xdsl_tvm.relax import const, op
from xdsl_tvm.relax.expr import Expr, call

_REDUCTIONS = {
    "amax": ("amax.default", "max"),
    "amin": ("amin.default", "min"),
    "max": ("max.default", "max"),
    "mean": ("mean.dim", "mean"),
    "mean_all": ("mean.default", "mean"),
    "min": ("min.default", "min"),
    "prod": ("prod.dim_int", "prod"),
    "prod_all": ("prod.default", "prod"),
    "sum": ("sum.dim_IntList", "sum"),
    "sum_all": ("sum.default", "sum"),
}


def reduced_axes(node: Node, rank: int) -> list[int]:
    """The axes of the argument `dim`, all of them where it names none."""
    if isinstance(node.arguments.get("dim"), int):
        axes = [node.axis("dim", rank)]
    else:
        axes = node.axes("dim", rank)
    return (axes or list(range(rank))) if rank else []


def _reduction(name: str) -> Converter:
    def convert(node: Node) -> Value:
        x = node.expr()
        axes = reduced_axes(node, len(x.shape))
        keep = node.flag("keepdim")
        if node.dtype == "bool":
            return _truth(x, axes, keep, every=name in ("min", "prod"))
        x = cast_to(x, node.dtype)
        return call(name, x, axes, keep) if axes else x

    return convert


for _target, _name in _REDUCTIONS.values():
    converts(_target)(_reduction(_name))


def _truth(x: Expr, axes: list[int], keep: bool, *, every: bool) -> Expr:
    """Whether one element is true, or `every` one; a count of those that decide."""
    x = cast_to(x, "bool")
    if not axes:
        return x
    chosen = op.logical_not(x) if every else x
    found = op.max(op.astype(chosen, "int8"), axes, keep)
    decided = cast_to(found, "bool")
    return op.logical_not(decided) if every else decided


@converts("any", "any.dim", "any.dims", "all", "all.dim", "all.dims")
def _any(node: Node) -> Value:
    x = node.expr()
    if 0 in (dim.value for dim in x.shape):
        return op.full(node.dims, node.constant("all" in node.target, "bool"), "bool")
    axes = reduced_axes(node, len(x.shape))
    return _truth(x, axes, node.flag("keepdim"), every="all" in node.target)


@converts("argmax", "argmin")
def _arg_extremum(node: Node) -> Value:
    x = node.expr()
    function = op.argmax if "argmax" in node.target else op.argmin
    if not x.shape:
        return op.zeros([], "int64")
    if node.has("dim"):
        found = function(x, node.axis("dim", len(x.shape)), node.flag("keepdim"))
    else:
        found = function(op.flatten(x), 0, False)
        if node.dims:
            found = op.reshape(found, node.dims)
    return op.astype(found, "int64")


@converts("max.dim", "min.dim")
def _extremum(node: Node) -> Results:
    x = node.expr()
    is_max = "max" in node.target
    if not x.shape:
        return [x, op.zeros([], "int64")]
    axis, keep = node.axis("dim", len(x.shape)), node.flag("keepdim")
    if x.dtype == "bool":
        values = _truth(x, [axis], keep, every=not is_max)
        x = op.astype(x, "int8")
    else:
        values = (op.max if is_max else op.min)(x, [axis], keep)
    indices = (op.argmax if is_max else op.argmin)(x, axis, keep)
    return [values, op.astype(indices, "int64")]


@converts("var.dim", "var.correction", "var_mean.correction", "std.correction")
def _variance(node: Node) -> Results:
    x = node.emit(node.expr())
    rank = len(x.shape)
    axes, keep = reduced_axes(node, rank), node.flag("keepdim")
    correction = 1.0
    if "unbiased" in node.arguments:
        correction = float(node.flag("unbiased"))
    elif node.has("correction"):
        correction = node.number("correction")
    if not axes:
        x, axes = op.reshape(x, [1]), [0]
        keep = False
    mean = node.emit(op.mean(x, axes, True))
    centred = node.emit(op.subtract(x, mean))
    squares = op.sum(op.multiply(centred, centred), axes, keep)
    count = product(x.shape[axis] for axis in axes)
    number = node.constant(count, x.dtype)
    if count.value is None:
        number = op.subtract(number, node.constant(correction, x.dtype))
    else:
        number = node.constant(max(count.value - correction, 0.0), x.dtype)
    variance = op.divide(squares, number)
    if "std" in node.target:
        return op.sqrt(variance)
    if "var_mean" not in node.target:
        return variance
    return [variance, op.reshape(mean, variance.shape)]


@converts("cumsum", "cumprod")
def _cumulative(node: Node) -> Value:
    x = cast_to(node.expr(), node.dtype)
    if not x.shape:
        return x
    name = "cumsum" if "cumsum" in node.target else "cumprod"
    return call(name, x, node.axis("dim", len(x.shape)), node.dtype)


@converts("_cdist_forward")
def _cdist(node: Node) -> Value:
    """Distances between rows: norms of all differences."""
    p = node.number("p")
    first, second = node.expr("x1"), node.expr("x2")
    lhs = op.expand_dims(first, [len(first.shape) - 1])
    rhs = op.expand_dims(second, [len(second.shape) - 2])
    return _norm(node, op.subtract(lhs, rhs), p)


@converts("_pdist_forward")
def _pdist(node: Node) -> Value:
    """Distances between different rows, each pair once."""
    x = node.expr()
    rows, _ = node.sizes(x)
    node.places(rows * rows)
    places = node.places(rows)
    lower, upper = (places[:, None] < places[None, :]).nonzero()
    first, second = (op.take(x, const(each), 0) for each in (lower, upper))
    return _norm(node, op.subtract(first, second), node.number("p"))


def _norm(node: Node, difference: Expr, p: float) -> Expr:
    """The p-norm along the last axis."""
    size = op.abs(difference)
    if p == 0:
        return op.sum(cast_to(cast_to(size, "bool"), node.dtype), [-1])
    if p == float("inf"):
        return op.max(size, [-1])
    if p == 1:
        return op.sum(size, [-1])
    if p == 2:
        return op.sqrt(op.sum(op.square(size), [-1]))
    powers = op.sum(op.power(size, node.constant(p, node.dtype)), [-1])
    return op.power(powers, node.constant(1 / p, node.dtype))
