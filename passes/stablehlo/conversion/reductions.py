"""Reductions over dimensions and windows, and sorting."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType, i1, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.dtypes import is_float
from xdsl_tvm.dialects.stablehlo import chlo
from xdsl_tvm.dialects.stablehlo import elementwise as scalar
from xdsl_tvm.dialects.stablehlo import reductions as hlo
from xdsl_tvm.dialects.stablehlo.assembly import element_of, ints_of, shape_of
from xdsl_tvm.passes.stablehlo.conversion.bodies import arg_extreme, sort_order, two_keys
from xdsl_tvm.passes.stablehlo.conversion.elementwise import combined
from xdsl_tvm.passes.stablehlo.conversion.emitter import Emitter, Number, extreme
from xdsl_tvm.passes.stablehlo.conversion.rules import converts

_REDUCTIONS: dict[type[scalar.BinaryOp], type[relax.ReductionOp]] = {
    scalar.AddOp: relax.SumOp,
    scalar.MultiplyOp: relax.ProdOp,
    scalar.MaximumOp: relax.MaxOp,
    scalar.MinimumOp: relax.MinOp,
}
_OF_BOOLS: dict[type[scalar.BinaryOp], type[scalar.BinaryOp]] = {
    scalar.AddOp: scalar.MaximumOp,
    scalar.OrOp: scalar.MaximumOp,
    scalar.AndOp: scalar.MinimumOp,
    scalar.MultiplyOp: scalar.MinimumOp,
}


def _combiner(op: hlo.ReduceOp | hlo.ReduceWindowOp) -> type[scalar.BinaryOp]:
    """The operation that the body is; of bools, as one of their numbers."""
    kind = hlo.combiner(op.body) if len(op.inputs) == 1 else None
    if kind is not None and element_of(op.inputs[0]) == i1:
        kind = _OF_BOOLS.get(kind, kind)
    if kind not in _REDUCTIONS:
        raise VerifyException(
            "its body is not converted; it must be one of add, multiply, maximum, "
            "minimum, of bools and, or, or keep the greatest or least element with its "
            "index"
        )
    return kind


def _identity(kind: type[scalar.BinaryOp], dtype: Attribute) -> Number:
    """The number that changes nothing."""
    if kind is scalar.AddOp:
        return 0
    if kind is scalar.MultiplyOp:
        return 1
    return extreme(dtype, kind is scalar.MinimumOp)


@converts(hlo.ReduceOp)
def _reduce(
    emitter: Emitter, op: hlo.ReduceOp, operands: Sequence[SSAValue]
) -> SSAValue | Sequence[SSAValue]:
    if len(op.inputs) == 2:
        return _arg_reduced(emitter, op, operands)
    value, init = operands
    kind, dtype = _combiner(op), element_of(value)
    dims, shape = ints_of(op.dimensions), shape_of(op.results[0])
    if not dims:
        found = value
    elif any(shape_of(value)[dim] == 0 for dim in dims):
        return emitter.broadcast(init, shape)
    elif dtype == i1:
        # Relax has no reductions of bools.
        whole = emitter.cast(value, IntegerType(8))
        reduced = emitter.op(_REDUCTIONS[kind](whole, dims))
        zero = emitter.constant(0, IntegerType(8))
        found = emitter.op(relax.NotEqualOp(reduced, zero))
    else:
        found = emitter.op(_REDUCTIONS[kind](value, dims))
    if emitter.known.get(init) == _identity(kind, dtype):
        return found
    return combined(emitter, kind, found, init)


def _arg_reduced(
    emitter: Emitter, op: hlo.ReduceOp, operands: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    """The greatest or least elements with their index along a dimension."""
    values, indices, init, first = operands
    dims = ints_of(op.dimensions)
    greatest = arg_extreme(op.body)
    iota = op.inputs[1].owner
    if greatest is None or len(dims) != 1 or not isinstance(iota, scalar.IotaOp):
        raise VerifyException(
            "two tensors are reduced where one is stablehlo.iota, and the body keeps "
            "the greatest or least element with its index; other bodies are not "
            "converted"
        )
    (dim,) = dims
    dtype = element_of(values)
    if (
        iota.iota_dimension.value.data != dim
        or shape_of(values)[dim] == 0
        or emitter.known.get(init) != extreme(dtype, not greatest)
        or emitter.known.get(first) != 0
    ):
        raise VerifyException(
            "the index must count along the reduced dimension, and the first values "
            "must be the lowest and 0"
        )
    kind = relax.ArgmaxOp if greatest else relax.ArgminOp
    best = relax.MaxOp if greatest else relax.MinOp
    where = emitter.cast(emitter.op(kind(values, dim)), element_of(indices))
    return emitter.op(best(values, [dim])), where


@converts(hlo.ReduceWindowOp)
def _reduce_window(
    emitter: Emitter, op: hlo.ReduceWindowOp, operands: Sequence[SSAValue]
) -> SSAValue:
    if len(op.inputs) != 1:
        raise VerifyException("windows of several tensors are not converted")
    value, init = operands
    kind, dtype = _combiner(op), element_of(value)
    identity = _identity(kind, dtype)
    if dtype == i1 or emitter.known.get(init) != identity:
        raise VerifyException(
            "the first value must be known, and one that changes nothing, such as 0 of "
            "sums"
        )
    if 0 in shape_of(op.results[0]):
        return emitter.broadcast(init, shape_of(op.results[0]))
    names = ("window_dimensions", "window_strides", "window_dilations")
    sizes, strides, dilations = (op.window(name) for name in names)
    between = [each - 1 for each in op.window("base_dilations")]
    pads = op.paddings
    if not any(between):
        found = _pooled(emitter, kind, value, sizes, strides, dilations, pads)
        found = found or _scanned(emitter, op, kind, value)
        if found is not None:
            return found
    value = emitter.padded(value, init, pads, between)
    for axis, (size, stride, dilation) in enumerate(
        zip(sizes, strides, dilations, strict=True)
    ):
        value = _slid(emitter, kind, value, axis, size, dilation)
        extent = shape_of(value)[axis]
        value = emitter.slice_axis(value, axis, 0, extent, stride)
    return value


def _slid(
    emitter: Emitter,
    kind: type[scalar.BinaryOp],
    value: SSAValue,
    axis: int,
    size: int,
    dilation: int,
) -> SSAValue:
    """Windows along one dimension, each made of halves: log2(size) steps."""
    extent = shape_of(value)[axis]
    whole = extent - (size - 1) * dilation
    result: SSAValue | None = None
    done, power, width = 0, value, 1
    while True:
        if size & width:
            # Windows of `width` that begin after the `done` elements taken already.
            part = emitter.slice_axis(
                power, axis, done * dilation, done * dilation + whole
            )
            result = part if result is None else combined(emitter, kind, result, part)
            done += width
        if done == size:
            assert result is not None
            return result
        length = shape_of(power)[axis] - width * dilation
        left = emitter.slice_axis(power, axis, 0, length)
        right = emitter.slice_axis(
            power, axis, width * dilation, width * dilation + length
        )
        power, width = combined(emitter, kind, left, right), width * 2


def _pooled(
    emitter: Emitter,
    kind: type[scalar.BinaryOp],
    value: SSAValue,
    sizes: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[tuple[int, int]],
) -> SSAValue | None:
    """A pool of Relax, of the layouts NCHW and NHWC and their like; None for others."""
    rank = len(sizes) - 2
    if kind is not scalar.MaximumOp or not is_float(element_of(value)):
        return None
    if not 1 <= rank <= 3 or any(min(pair) < 0 for pair in pads):
        return None
    plain = [
        sizes[dim] == strides[dim] == dilations[dim] == 1 and pads[dim] == (0, 0)
        for dim in range(rank + 2)
    ]
    letters = "DHW"[3 - rank :]
    if plain[0] and plain[1]:
        dims, layout = range(2, rank + 2), f"NC{letters}"
    elif plain[0] and plain[-1]:
        dims, layout = range(1, rank + 1), f"N{letters}C"
    else:
        return None
    pool = (relax.MaxPool1DOp, relax.MaxPool2DOp, relax.MaxPool3DOp)[rank - 1]
    around = [pads[dim][side] for side in (0, 1) for dim in dims]
    lists = [[each[dim] for dim in dims] for each in (sizes, strides, dilations)]
    return emitter.op(pool(value, lists[0], lists[1], around, lists[2], layout=layout))


def _scanned(
    emitter: Emitter,
    op: hlo.ReduceWindowOp,
    kind: type[scalar.BinaryOp],
    value: SSAValue,
) -> SSAValue | None:
    """Sums or products of all elements so far, which windows of a whole dimension are."""
    scans = {scalar.AddOp: relax.CumsumOp, scalar.MultiplyOp: relax.CumprodOp}
    shape, sizes = shape_of(value), op.window("window_dimensions")
    wide = [dim for dim, size in enumerate(sizes) if size > 1]
    if kind not in scans or len(wide) != 1:
        return None
    (axis,) = wide
    ones = (*op.window("window_strides"), *op.window("window_dilations"))
    pads = op.paddings
    if any(each != 1 for each in ones) or sizes[axis] != shape[axis]:
        return None
    if any(pad != (0, 0) for dim, pad in enumerate(pads) if dim != axis):
        return None
    if pads[axis] not in ((shape[axis] - 1, 0), (0, shape[axis] - 1)):
        return None
    is_reversed = pads[axis][0] == 0
    if is_reversed:
        value = emitter.op(relax.FlipOp(value, axis))
    value = emitter.op(scans[kind](value, axis))
    return emitter.op(relax.FlipOp(value, axis)) if is_reversed else value


_MOST_OFFSETS = 128
"""The most elements of a window whose selected one is found."""


@converts(hlo.SelectAndScatterOp)
def _select_and_scatter(
    emitter: Emitter, op: hlo.SelectAndScatterOp, operands: Sequence[SSAValue]
) -> SSAValue:
    """The position of the first greatest element of each window, as a number of it.

    Each position then adds the elements of the source whose window has selected it.
    """
    value, source, init = operands
    sizes, strides = op.window("window_dimensions"), op.window("window_strides")
    pads, dtype, shape = op.paddings, element_of(value), shape_of(source)
    is_first = sort_order(op.select, dtype, or_equal=True)
    if is_first is None or hlo.combiner(op.scatter) is not scalar.AddOp:
        raise VerifyException(
            "its bodies are not converted; the first must compare by GE or LE, the "
            "second be add"
        )
    if emitter.known.get(init) != 0 or math.prod(sizes) > _MOST_OFFSETS:
        raise VerifyException(
            f"the first value must be 0, and windows have {_MOST_OFFSETS} elements at "
            "most"
        )
    if any(min(pair) < 0 for pair in pads) or 0 in shape:
        raise VerifyException("negative padding and empty tensors are not converted")
    zero = emitter.constant(0, dtype)
    padded = emitter.padded(value, zero, pads)
    is_inside: SSAValue | None = None
    if any(map(any, pads)):
        ones = emitter.full(1, i32, shape_of(value))
        is_inside = emitter.padded(ones, emitter.constant(0, i32), pads)
    offsets = list(itertools.product(*map(range, sizes)))

    def at(tensor: SSAValue, offset: Sequence[int]) -> SSAValue:
        bounds = [
            (start, start + (count - 1) * stride + 1, stride)
            for start, count, stride in zip(offset, shape, strides, strict=True)
        ]
        return emitter.slice(tensor, bounds)

    none = emitter.constant(0, i32)
    chosen = emitter.full(-1, i32, shape)
    best = at(padded, offsets[0])
    for number, offset in enumerate(offsets):
        here = at(padded, offset)
        kind = relax.GreaterEqualOp if is_first else relax.LessEqualOp
        stays = emitter.op(kind(best, here))
        is_new = emitter.op(
            relax.LogicalOrOp(
                emitter.op(relax.LessOp(chosen, none)),
                emitter.op(relax.LogicalNotOp(stays)),
            )
        )
        if is_inside is not None:
            counts = emitter.op(relax.GreaterOp(at(is_inside, offset), none))
            is_new = emitter.op(relax.LogicalAndOp(is_new, counts))
        best = emitter.op(relax.WhereOp(is_new, here, best))
        chosen = emitter.op(relax.WhereOp(is_new, emitter.constant(number, i32), chosen))
    total: SSAValue | None = None
    for number, offset in enumerate(offsets):
        is_here = emitter.op(relax.EqualOp(chosen, emitter.constant(number, i32)))
        part = emitter.op(relax.WhereOp(is_here, source, zero))
        around = [
            (start - low, extent + low - start - (count - 1) * stride - 1)
            for start, (low, _), extent, count, stride in zip(
                offset, pads, shape_of(value), shape, strides, strict=True
            )
        ]
        # Cutting the padding off may leave out elements, and elements between.
        part = emitter.padded(part, zero, around, [stride - 1 for stride in strides])
        total = part if total is None else emitter.op(relax.AddOp(total, part))
    assert total is not None
    return total


@converts(hlo.SortOp)
def _sort(
    emitter: Emitter, op: hlo.SortOp, operands: Sequence[SSAValue]
) -> SSAValue | Sequence[SSAValue]:
    dtypes = [element_of(each) for each in op.inputs]
    axis, count = op.axis, 1
    descending = sort_order(op.comparator, dtypes[0])
    if descending is None:
        descending, count = two_keys(op.comparator, dtypes), 2
    if descending is None:
        raise VerifyException(
            "its comparison is not converted; it must be of the elements of the first "
            "tensor, or of the first two, by less or greater than"
        )
    if 0 in shape_of(operands[0]):
        return operands
    if len(operands) == 1 and dtypes[0] != i1:
        return emitter.op(relax.SortOp(operands[0], axis, descending))
    order: SSAValue | None = None
    # Sorts keep the order of equal elements, so the last key is first.
    for key in reversed(operands[:count]):
        if element_of(key) == i1:
            key = emitter.cast(key, IntegerType(8))
        if order is None:
            order = emitter.op(relax.ArgsortOp(key, axis, descending, i32))
            continue
        key = emitter.op(relax.GatherElementsOp(key, order, axis))
        places = emitter.op(relax.ArgsortOp(key, axis, descending, i32))
        order = emitter.op(relax.GatherElementsOp(order, places, axis))
    assert order is not None
    return [emitter.op(relax.GatherElementsOp(each, order, axis)) for each in operands]


@converts(chlo.TopKOp)
def _top_k(
    emitter: Emitter, op: chlo.TopKOp, operands: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    k = op.k.value.data
    if k < 1:
        raise VerifyException("k must be at least 1")
    best = emitter.op(relax.TopkOp(operands[0], k, -1, "both", True, i32))
    return [emitter.op(relax.GetItemOp(best, index)) for index in (0, 1)]
