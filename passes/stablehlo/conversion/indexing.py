"""Slices taken and put at positions, by the numbers of elements in order.

Element `[i, j]` of a tensor of shape `[m, n]` has the number `i * n + j`. So any gather
is one `relax.take` of a vector, and any scatter a `relax.scatter_elements` into one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.stablehlo import elementwise as scalar
from xdsl_tvm.dialects.stablehlo import indexing as hlo
from xdsl_tvm.dialects.stablehlo.assembly import element_of, ints_of, shape_of
from xdsl_tvm.dialects.stablehlo.control import ReturnOp
from xdsl_tvm.dialects.stablehlo.reductions import combiner
from xdsl_tvm.passes.stablehlo.conversion.emitter import Emitter
from xdsl_tvm.passes.stablehlo.conversion.rules import converts


def _components(
    emitter: Emitter, indices: SSAValue, vector: int, dtype: Attribute
) -> tuple[list[SSAValue], list[int]]:
    """The components of the indices, each of the shape of batches, and that shape."""
    shape = list(shape_of(indices))
    if vector == len(shape):
        return [emitter.cast(indices, dtype)], shape
    batch = [*shape[:vector], *shape[vector + 1 :]]
    parts = [
        emitter.slice_axis(indices, vector, number, number + 1)
        for number in range(shape[vector])
    ]
    return [emitter.cast(emitter.reshape(part, batch), dtype) for part in parts], batch


def _positions(
    emitter: Emitter,
    dims: Sequence[int],
    window: Sequence[int],
    components: dict[int, SSAValue],
    batches: dict[int, int],
    batch: Sequence[int],
    kept: Sequence[int],
    dtype: Attribute,
) -> dict[int, SSAValue]:
    """The position along each dimension of the operand, which broadcasts to the result.

    `dims` are the dimensions of the result that count within slices, of extents `window`
    and along the dimensions `kept` of the operand. `components` and `batches` say what
    is added: parts of the indices, and the numbers of dimensions of `batch`.
    """
    rank = len(dims) + len(batch)
    places = [dim for dim in range(rank) if dim not in dims]
    found: dict[int, SSAValue] = {}
    for dim, extent, axis in zip(dims, window, kept, strict=True):
        numbers = emitter.count_up(extent, dtype)
        found[axis] = emitter.along(numbers, rank, dim)
    added = dict(components)
    for axis, dim in batches.items():
        numbers = emitter.count_up(batch[dim], dtype)
        added[axis] = emitter.along(numbers, len(batch), dim)
    for axis, value in added.items():
        shape = [1] * rank
        for place, extent in zip(places, shape_of(value), strict=True):
            shape[place] = extent
        value = emitter.reshape(value, shape)
        before = found.get(axis)
        found[axis] = value if before is None else emitter.op(relax.AddOp(before, value))
    return found


def _numbers(
    emitter: Emitter,
    positions: dict[int, SSAValue],
    shape: Sequence[int],
    result: Sequence[int],
    dtype: Attribute,
) -> SSAValue:
    """The numbers of the elements at positions; dimensions without one are at 0."""
    total = emitter.constant(0, dtype)
    for axis, value in sorted(positions.items()):
        stride = math.prod(shape[axis + 1 :])
        if stride != 1:
            step = emitter.constant(stride, dtype)
            value = emitter.op(relax.MultiplyOp(value, step))
        total = emitter.op(relax.AddOp(total, value))
    return emitter.broadcast(total, result)


def _index_dtype(shape: Sequence[int]) -> Attribute:
    return i64 if math.prod(shape) >= 1 << 31 else i32


def _start_dtype(dtype: Attribute) -> Attribute:
    """What starts are moved into the tensor in: their own dtype if it has all numbers."""
    return dtype if dtype in (i32, i64) else i64


@converts(hlo.GatherOp)
def _gather(emitter: Emitter, op: hlo.GatherOp, operands: Sequence[SSAValue]) -> SSAValue:
    value, indices = operands
    numbers, sizes = op.dimension_numbers, ints_of(op.slice_sizes)
    shape, result = shape_of(value), shape_of(op.result)
    if 0 in result:
        return emitter.full(0, element_of(value), result)
    index_map = numbers.dims("start_index_map")
    dropped = numbers.dims("collapsed_slice_dims")
    batch_dims = numbers.dims("operand_batching_dims")
    dims = numbers.dims("offset_dims")
    wide = _start_dtype(element_of(indices))
    parts, batch = _components(emitter, indices, numbers.index, wide)
    components: dict[int, SSAValue] = {}
    dtype = _index_dtype(shape)
    for axis, part in zip(index_map, parts, strict=True):
        most = emitter.constant(shape[axis] - sizes[axis], wide)
        above = emitter.op(relax.MaximumOp(part, emitter.constant(0, wide)))
        components[axis] = emitter.cast(emitter.op(relax.MinimumOp(above, most)), dtype)
    kept = [axis for axis in range(len(shape)) if axis not in (*dropped, *batch_dims)]
    if tuple(index_map) == tuple(dropped) and len(index_map) == 1 and not batch_dims:
        (axis,) = index_map
        if all(sizes[dim] == shape[dim] for dim in kept):
            return _rows(emitter, value, components[axis], axis, dims, len(result))
    batches = _batch_dimensions(
        batch_dims, numbers.dims("start_indices_batching_dims"), numbers.index
    )
    positions = _positions(
        emitter,
        dims,
        [sizes[axis] for axis in kept],
        components,
        batches,
        batch,
        kept,
        dtype,
    )
    places = _numbers(emitter, positions, shape, result, dtype)
    flat = emitter.reshape(value, [math.prod(shape)])
    return emitter.op(relax.TakeOp(flat, places, 0))


def _batch_dimensions(
    operand: Sequence[int], indices: Sequence[int], vector: int
) -> dict[int, int]:
    """The dimension of batches that numbers each batching dimension of the operand."""
    pairs = zip(operand, indices, strict=True)
    return {axis: dim - (dim > vector) for axis, dim in pairs}


def _rows(
    emitter: Emitter,
    value: SSAValue,
    indices: SSAValue,
    axis: int,
    dims: Sequence[int],
    rank: int,
) -> SSAValue:
    """Slices along one dimension, with the dimensions of batches moved to their place."""
    taken = emitter.op(relax.TakeOp(value, indices, axis))
    count = len(shape_of(indices))
    within = [dim for dim in range(rank) if not axis <= dim < axis + count]
    order: list[int] = [0] * rank
    sources = iter(range(axis, axis + count))
    slices = iter(within)
    for dim in range(rank):
        order[dim] = next(slices) if dim in dims else next(sources)
    return emitter.transpose(taken, order)


@converts(hlo.ScatterOp)
def _scatter(
    emitter: Emitter, op: hlo.ScatterOp, operands: Sequence[SSAValue]
) -> SSAValue:
    """Updates put into a vector, those that are beyond into an element after its end."""
    if len(op.inputs) != 1:
        raise VerifyException("updates of several tensors are not converted")
    value, indices, updates = operands
    reduction = _reduction(op)
    numbers = op.scatter_dimension_numbers
    shape, result = shape_of(value), shape_of(updates)
    if 0 in result or 0 in shape:
        return value
    index_map = numbers.dims("scatter_dims_to_operand_dims")
    dropped = numbers.dims("inserted_window_dims")
    batch_dims = numbers.dims("input_batching_dims")
    dims = numbers.dims("update_window_dims")
    parts, batch = _components(emitter, indices, numbers.index, i64)
    kept = [axis for axis in range(len(shape)) if axis not in (*dropped, *batch_dims)]
    batches = _batch_dimensions(
        batch_dims, numbers.dims("scatter_indices_batching_dims"), numbers.index
    )
    positions = _positions(
        emitter,
        dims,
        [result[dim] for dim in dims],
        dict(zip(index_map, parts, strict=True)),
        batches,
        batch,
        kept,
        i64,
    )
    size = math.prod(shape)
    places = _numbers(emitter, positions, shape, result, i64)
    zero, end = emitter.constant(0, i64), emitter.constant(size, i64)
    inside: SSAValue | None = None
    for axis in index_map:
        position = positions[axis]
        limit = emitter.constant(shape[axis], i64)
        is_in = emitter.op(
            relax.LogicalAndOp(
                emitter.op(relax.GreaterEqualOp(position, zero)),
                emitter.op(relax.LessOp(position, limit)),
            )
        )
        inside = (
            is_in if inside is None else emitter.op(relax.LogicalAndOp(inside, is_in))
        )
    if inside is not None:
        places = emitter.op(relax.WhereOp(inside, places, end))
    flat = emitter.reshape(value, [size])
    spare = emitter.full(0, element_of(value), [1])
    flat = emitter.concat([flat, spare], 0)
    count = [math.prod(result)]
    places = emitter.reshape(emitter.broadcast(places, result), count)
    updates = emitter.reshape(updates, count)
    done = emitter.op(relax.ScatterElementsOp(flat, places, updates, 0, reduction))
    return emitter.reshape(emitter.slice_axis(done, 0, 0, size), shape)


_REDUCTIONS: dict[type[scalar.BinaryOp], str] = {
    scalar.AddOp: "add",
    scalar.MultiplyOp: "mul",
    scalar.MaximumOp: "max",
    scalar.MinimumOp: "min",
}


def _reduction(op: hlo.ScatterOp) -> str:
    block = op.update_computation.block
    last = block.last_op
    is_end = block.first_op is last and isinstance(last, ReturnOp)
    if last is not None and is_end and tuple(last.operands) == (block.args[1],):
        return "update"
    kind = combiner(op.update_computation)
    if kind not in _REDUCTIONS:
        raise VerifyException(
            "its body is not converted; it must return the update, or be one of add, "
            "multiply, maximum, minimum"
        )
    return _REDUCTIONS[kind]
