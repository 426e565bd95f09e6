"""Elements chosen by indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl_tvm import relax
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.frontend.torch.node import Node, Results, Value, cast_to, converts
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


@converts("_embedding_bag", "_embedding_bag_forward_only")
def _embedding_bag(node: Node) -> Results:
    """Sums, means or greatest elements of the rows of each bag."""
    if any(map(node.is_used, (1, 2, 3))):
        raise node.error("only its first result is converted")
    weight, indices = node.expr("weight"), node.emit(node.expr("indices"))
    offsets = op.astype(node.expr("offsets"), "int64")
    count, bags = indices.shape[0], node.dims[0]
    if (length := count.value) is None:
        raise node.error("the number of indices must be a known number")
    rows = op.take(weight, indices, 0)
    if (factors := node.optional("per_sample_weights")) is not None:
        rows = op.multiply(rows, op.expand_dims(factors, [1]))
    # The bag of a row is the last one that begins before it.
    places = relax.const(node.places(length)[:, None])
    begun = op.less_equal(op.expand_dims(offsets, [0]), places)
    if node.flag("include_last_offset"):
        begun = op.strided_slice(begun, [1], [0], [bags])
    bag = op.sum(op.astype(begun, "int64"), [1], True)
    bag = op.subtract(bag, relax.const(1, "int64"))
    padding = node.integer("padding_idx")
    counted = op.not_equal(indices, node.constant(padding, indices.dtype))
    counted = op.expand_dims(counted, [1])
    mode, zero = node.integer("mode"), node.constant(0, node.dtype)
    lowest = node.constant(float("-inf"), node.dtype)
    rows = node.emit(op.where(counted, rows, lowest if mode == 2 else zero))
    bag = node.emit(bag)
    if mode == 2:
        begin = op.full(node.dims, lowest, node.dtype)
        found = node.emit(op.scatter_nd(begin, bag, rows, "max"))
        return [op.where(op.equal(found, lowest), zero, found), None, None, None]
    zeros = op.zeros(node.dims, node.dtype)
    total = op.scatter_nd(zeros, bag, rows, "add")
    if mode == 0:
        return [total, None, None, None]
    ones = broadcast(op.astype(counted, node.dtype), rows.shape)
    number = op.scatter_nd(zeros, bag, ones, "add")
    one = node.constant(1, node.dtype)
    return [op.divide(total, op.maximum(number, one)), None, None, None]


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
    return op.strided_slice(x, axes, [0] * len(axes), ends)


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


def _masked(x: Expr, indices: Sequence[object], values: Expr) -> tuple[Expr, Expr] | None:
    """A mask of the first axes and what is put there, which is the same everywhere."""
    masks = [each for each in indices if isinstance(each, Expr)]
    if len(masks) != 1 or masks[0].dtype != "bool" or indices[0] is not masks[0]:
        return None
    shape = list(masks[0].shape)
    rest = len(x.shape) - len(shape)
    common = len(values.shape) - rest
    if any(dim.value != 1 for dim in values.shape[: max(common, 0)]):
        return None
    value = reshaped(values, values.shape[max(common, 0) :])
    return reshaped(masks[0], [*shape, *[Dim.constant(1)] * rest]), value


@converts("index_put", "_unsafe_index_put")
def _index_put(node: Node) -> Value:
    x = node.expr()
    given, values = node.items("indices"), cast_to(node.expr("values"), node.dtype)
    add = node.flag("accumulate")
    if (chosen := _masked(x, given, values)) is not None:
        mask, value = chosen
        return op.where(mask, op.add(x, value) if add else value, x)
    where = positions(node, x, given, values.shape)
    order, count = where.order, len(where.shape)
    moved = transposed(x, order)
    rest = list(moved.shape[where.indices_count :])
    # The values are broadcast to what would be chosen, and moved as the data is.
    wide = [*rest[: where.at], *where.shape, *rest[where.at :]]
    back = list(range(where.at, where.at + count))
    back += range(where.at)
    back += range(where.at + count, len(wide))
    updates = transposed(broadcast(values, wide), back)
    result = op.scatter_nd(moved, where.indices, updates, "add" if add else "update")
    return transposed(result, [order.index(axis) for axis in range(len(order))])
