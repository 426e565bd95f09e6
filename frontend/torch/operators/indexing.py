"""Elements chosen by indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl_tvm import relax
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.frontend.torch.node import Node, Value, cast_to, converts
from xdsl_tvm.frontend.torch.operators.layout import broadcast, reshaped, transposed
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr


def from_front(node: Node, indices: Expr, extent: Dim) -> Expr:
    """Indices where negative ones, that count from the end, count from the front."""
    indices = node.emit(op.astype(indices, "int64"))
    is_negative = op.less(indices, relax.const(0, "int64"))
    size = node.constant(extent, "int64")
    return op.where(is_negative, op.add(indices, size), indices)


@converts("embedding")
def _embedding(node: Node) -> Value:
    return op.take(node.expr("weight"), node.expr("indices"), 0)


@converts("index_select")
def _index_select(node: Node) -> Value:
    x = node.expr()
    if not x.shape:
        return reshaped(x, node.dims)
    indices = node.expr("index")
    if not indices.shape:
        indices = op.reshape(indices, [1])
    return op.take(x, indices, node.axis("dim", len(x.shape)))


@converts("gather")
def _gather(node: Node) -> Value:
    x, indices = node.expr(), node.expr("index")
    if not x.shape:
        return reshaped(x, node.dims)
    axis = node.axis("dim", len(x.shape))
    return op.gather_elements(cut_to(x, indices, axis), indices, axis)


def cut_to(x: Expr, indices: Expr, axis: int) -> Expr:
    """The tensor, along the other axes as long as the indices are."""
    axes = [
        each
        for each, (size, wanted) in enumerate(zip(x.shape, indices.shape, strict=True))
        if each != axis and size != wanted
    ]
    if not axes:
        return x
    ends = [indices.shape[each] for each in axes]
    return op.strided_slice(x, axes, [0] * len(axes), ends, [1] * len(axes), True)


@converts("take")
def _take(node: Node) -> Value:
    x, indices = op.flatten(node.expr()), node.expr("index")
    return op.take(x, from_front(node, indices, x.shape[0]), 0)


@converts("nonzero")
def _nonzero(node: Node) -> Value:
    x = node.expr()
    found = op.nonzero(x if x.shape else op.reshape(x, [1]))
    if not x.shape:
        found = op.strided_slice(found, [0], [0], [0])
    return node.declared(op.permute_dims(found, [1, 0]), node.dims)


@converts("_local_scalar_dense", "item")
def _item(node: Node) -> Value:
    """An integer that sizes are made of: it is read when the program runs."""
    result = node.source.result
    name = result.symbol_name if isinstance(result, Dim) else None
    x = node.expr()
    if name is None or "int" not in x.dtype:
        raise node.error(f"an element of {x.dtype} as a number is not converted")
    return node.defined(op.reshape(op.astype(x, "int64"), [1]), name)


# ---- several indices ----


@dataclass(frozen=True)
class Positions:
    """Positions in a tensor by indices of some of its axes."""

    order: list[int]
    """The axes of the tensor, those with indices first."""
    indices: Expr
    """Integers of shape `[*shape, axes with indices]`."""
    shape: list[Dim]
    """The common shape of the indices."""
    at: int
    """The axis of what is chosen where the axes of the indices are."""

    @property
    def indices_count(self) -> int:
        """The number of axes with indices."""
        count = self.indices.shape[-1].value
        assert count is not None
        return count


def positions(
    node: Node, x: Expr, indices: Sequence[object], masked: Sequence[Dim]
) -> Positions:
    """The positions of the argument `indices`: integers, masks and None.

    `masked` are the dimensions of what is chosen, among which the number of a mask's
    elements is.
    """
    chosen: dict[int, Expr] = {}
    axis = 0
    for each in indices:
        if not isinstance(each, Expr):
            axis += 1
        elif each.dtype in ("bool", "uint8"):
            for part in _places_of(node, cast_to(each, "bool"), masked, len(chosen)):
                chosen[axis] = part
                axis += 1
        else:
            chosen[axis] = from_front(node, each, x.shape[axis])
            axis += 1
    if not chosen:
        raise node.error("it has no indices")
    shape = _common([part.shape for part in chosen.values()])
    parts = [
        op.expand_dims(broadcast(part, shape), [len(shape)]) for part in chosen.values()
    ]
    axes = list(chosen)
    others = [each for each in range(len(x.shape)) if each not in chosen]
    is_together = axes == list(range(axes[0], axes[0] + len(axes)))
    return Positions(
        [*axes, *others],
        parts[0] if len(parts) == 1 else op.concat(parts, len(shape)),
        shape,
        axes[0] if is_together else 0,
    )


def _places_of(node: Node, mask: Expr, masked: Sequence[Dim], before: int) -> list[Expr]:
    """Where a mask is true, by axes; torch names their number in what is chosen."""
    if before:
        raise node.error("a mask next to other indices is not converted")
    unbacked = [dim for dim in masked if (dim.symbol_name or "").startswith("u")]
    if len(unbacked) != 1 or not mask.shape:
        raise node.error("how many elements of the mask are true has no name")
    rank = len(mask.shape)
    found = node.declared(op.nonzero(mask), [rank, unbacked[0]])
    return [op.take(found, relax.const(axis, "int64"), 0) for axis in range(rank)]


def _common(shapes: Sequence[Sequence[Dim]]) -> list[Dim]:
    rank = max(map(len, shapes))
    result = [Dim.constant(1)] * rank
    for shape in shapes:
        for axis, dim in enumerate(shape, rank - len(shape)):
            if dim.value != 1:
                result[axis] = dim
    return result


@converts("index.Tensor", "_unsafe_index.Tensor")
def _index(node: Node) -> Value:
    x, given = node.expr(), node.items("indices")
    rank = len(x.shape)
    found = [axis for axis, each in enumerate(given) if isinstance(each, Expr)]
    if len(found) == 1:
        indices = given[found[0]]
        assert isinstance(indices, Expr)
        if indices.dtype not in ("bool", "uint8"):
            axis = found[0]
            return op.take(x, from_front(node, indices, x.shape[axis]), axis)
    where = positions(node, x, given, node.dims)
    result = op.gather_nd(transposed(x, where.order), where.indices)
    count, after = len(where.shape), rank - where.indices_count
    order = list(range(count, count + where.at))
    order += range(count)
    order += range(count + where.at, count + after)
    return transposed(result, order)


@converts("index_put", "_unsafe_index_put")
def _index_put(node: Node) -> Value:
    x = node.expr()
    given, values = node.items("indices"), cast_to(node.expr("values"), node.dtype)
    add = node.flag("accumulate")
    masks = [each for each in given if isinstance(each, Expr)]
    if len(masks) == 1 and masks[0].dtype == "bool" and isinstance(given[0], Expr):
        spread = len(x.shape) - len(masks[0].shape)
        if all(dim.value == 1 for dim in values.shape):
            mask = op.reshape(masks[0], [*masks[0].shape, *[1] * spread])
            value = op.reshape(values, [])
            return op.where(mask, op.add(x, value) if add else value, x)
    where = positions(node, x, given, values.shape)
    order, count = where.order, len(where.shape)
    moved = transposed(x, order)
    rest = list(moved.shape[where.indices_count :])
    # The values are broadcast to what would be chosen, and moved as the data is.
    chosen = [*rest[: where.at], *where.shape, *rest[where.at :]]
    back = list(range(where.at, where.at + count))
    back += range(where.at)
    back += range(where.at + count, len(chosen))
    updates = transposed(broadcast(values, chosen), back)
    result = op.scatter_nd(moved, where.indices, updates, "add" if add else "update")
    return transposed(result, [order.index(axis) for axis in range(len(order))])
