"""Rules of operators that read at given places (docs/spec/relax-ops.md §6, §8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.indexing import first_index
from xdsl_tvm.dialects.relax.symbolic import Dim as SymbolicDim
from xdsl_tvm.dialects.relax.types import PrimType, ShapeType, TensorInfo, TupleType
from xdsl_tvm.passes.relax.legalize.registry import (
    Bindings,
    NoStagesError,
    RuleContext,
    rewrite,
    rule,
)
from xdsl_tvm.passes.relax.legalize.signature import known_shape
from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    Dim,
    Expr,
    Scalar,
    Tensor,
    TensorProgram,
)


@rule(relax.TakeOp)
def take(op: relax.TakeOp, site: RuleContext) -> Tensor:
    """The slices along `axis` that the indices number; they must be in bounds."""
    program, x, places = site.program, site.tensor(0), site.operand(1)
    axis = 0 if op.axis is None else op.axis.value.data % len(x.shape)
    count = len(places.shape)

    def element(*indices: Expr) -> Expr:
        if isinstance(places, Scalar):
            place = places.of(i64)
        else:
            place = places[indices[axis : axis + count]].cast(i64)
        return x[(*indices[:axis], place, *indices[axis + count :])]

    return program.compute("T_take", site.shape, x.dtype, element)


# ---- slices ----


@rule(relax.StridedSliceOp)
def strided_slice(op: relax.StridedSliceOp, site: RuleContext) -> Tensor:
    """Every so many elements from an index on, along some axes."""
    program, x = site.program, site.tensor(0)
    slices = _slices(op, site)

    def element(*indices: Expr) -> Expr:
        places = list(indices)
        for axis, (start, step) in slices.items():
            if step != 1:
                places[axis] = places[axis] * program.extent(step)
            if start != 0:
                places[axis] = places[axis] + program.extent(start)
        return x[tuple(places)]

    return program.compute("T_strided_slice", site.shape, x.dtype, element)


def _slices(op: relax.StridedSliceOp, site: RuleContext) -> dict[int, tuple[Dim, Dim]]:
    """First index and stride by axis."""
    extents = known_shape(op.data.type)
    axes, begins = _values(op.axes), _values(op.begin)
    steps = [SymbolicDim.constant(1)] * len(axes)
    if op.strides is not None:
        steps = _values(op.strides)
    result: dict[int, tuple[Dim, Dim]] = {}
    for axis, begin, step in zip(axes, begins, steps, strict=True):
        assert axis.value is not None, "verified"
        place = axis.value % len(extents)
        if op.assume_inbound is None:
            begin = first_index(extents[place], begin, step)
        result[place] = (site.dim(begin), site.dim(step))
    return result


def _values(value: SSAValue) -> list[SymbolicDim]:
    """The numbers of a tuple of scalars; NoStagesError where one is not known."""
    fields = value.type.fields.data if isinstance(value.type, TupleType) else ()
    dims = [field.dim if isinstance(field, PrimType) else None for field in fields]
    known = [dim for dim in dims if dim is not None]
    if len(known) != len(dims) or not isinstance(value.type, TupleType):
        raise NoStagesError
    return known


@rewrite(relax.DynamicStridedSliceOp)
def dynamic_strided_slice(
    op: relax.DynamicStridedSliceOp, bindings: Bindings
) -> SSAValue | None:
    """A function computes the shape of the slice, another one copies it.

    Between them the shape becomes new symbolic dimensions, so that what follows can be
    legalized as well.
    """
    info = TensorInfo.of(op.data.type)
    if info is None or info.shape is None or info.dtype is None:
        return None
    if not info.shape:
        return op.data
    rank = len(info.shape)
    bounds = list(op.operands[1:])
    lengths = bindings.call_te(
        "shape_func",
        [op.data, *bounds],
        TensorInfo((SymbolicDim.constant(rank),), i64).type,
        _slice_shape,
        shape_only=(0,),
    )
    shape = bindings.emit(relax.TensorToShapeOp(lengths))
    names = [bindings.symbol("s") for _ in range(rank)]
    dims = [SymbolicDim.symbol(name) for name in names]
    bindings.emit(relax.MatchCastOp(shape, ShapeType.of(dims), names))
    return bindings.call_te(
        "dynamic_strided_slice",
        [op.data, op.begin, op.strides],
        info.with_dims(dims).type,
        _copied_slice,
    )


def _slice_shape(site: RuleContext) -> Tensor:
    """How many elements a slice has along each axis."""
    program, extents = site.program, site.dims(0)
    begin, end, strides = (site.tensor(position) for position in (1, 2, 3))

    def element(axis: Expr) -> Expr:
        extent = program.extent(extents[-1])
        for number in reversed(range(len(extents) - 1)):
            extent = program.select(
                axis.equals(number), program.extent(extents[number]), extent
            )
        step = strides[axis]
        first = _clipped(begin[axis], extent, step)
        last = _clipped(end[axis], extent, step)
        distance = program.select(step < 0, first - last, last - first)
        size = program.select(step < 0, program.constant(0, i64) - step, step)
        return ((distance + size - 1) // size).maximum(0)

    return program.compute("T_shape_func", site.shape, i64, element)


def _clipped(index: Expr, extent: Expr, step: Expr) -> Expr:
    """An index counted from the front, as far as a slice with this stride can go."""
    program = index.program
    zero, minus_one = program.constant(0, i64), program.constant(-1, i64)
    low = program.select(step < 0, minus_one, zero)
    high = program.select(step < 0, extent - 1, extent)
    front = program.select(index < 0, index + extent, index)
    return front.maximum(low).minimum(high)


def _copied_slice(site: RuleContext) -> Tensor:
    program, x = site.program, site.tensor(0)
    begin, strides = site.tensor(1), site.tensor(2)

    def element(*indices: Expr) -> Expr:
        places: list[Expr] = []
        for axis, index in enumerate(indices):
            extent, at = program.extent(x.shape[axis]), program.extent(axis)
            first = _clipped(begin[at], extent, strides[at])
            places.append(first + index * strides[at])
        return x[tuple(places)]

    return program.compute("T_strided_slice", site.shape, x.dtype, element)


# ---- gathers and scatters ----


def _from_front(index: Expr, extent: Dim) -> Expr:
    """An index that may count from the end, in `i64`."""
    wide, program = index.cast(i64), index.program
    if tir.is_uint(index.dtype):
        return wide
    return program.select(wide < 0, wide + program.extent(extent), wide)


@rule(relax.GatherElementsOp)
def gather_elements(op: relax.GatherElementsOp, site: RuleContext) -> Tensor:
    """The element at each index, which replaces the position on `axis`."""
    x, places = site.tensor(0), site.tensor(1)
    axis = op.axis.value.data % len(x.shape)

    def element(*indices: Expr) -> Expr:
        place = _from_front(places[indices], x.shape[axis])
        return x[(*indices[:axis], place, *indices[axis + 1 :])]

    return site.program.compute("T_gather", site.shape, x.dtype, element)


@rule(relax.GatherNDOp)
def gather_nd(op: relax.GatherNDOp, site: RuleContext) -> Tensor:
    """The element, or slice, at the position along the last axis of the indices."""
    program, x, places = site.program, site.tensor(0), site.tensor(1)
    batch, lead = op.batch_dims.value.data, len(places.shape) - 1

    def element(*indices: Expr) -> Expr:
        position = _position(program, places, indices[:lead], x.shape[batch:])
        return x[(*indices[:batch], *position, *indices[lead:])]

    return program.compute("T_gather_nd", site.shape, x.dtype, element)


def _position(
    program: TensorProgram,
    places: Tensor,
    at: Sequence[Expr],
    extents: Sequence[Dim],
) -> tuple[Expr, ...]:
    """The indices along the last axis of `places`."""
    count = places.shape[-1]
    assert isinstance(count, int), "verified"
    return tuple(
        _from_front(places[(*at, program.extent(number))], extents[number])
        for number in range(count)
    )


_COMBINE: Mapping[str, Callable[[Expr, Expr], Expr]] = {
    "update": lambda _, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "min": lambda old, new: old.minimum(new),
    "max": lambda old, new: old.maximum(new),
    "mean": lambda old, new: (old + new) / 2,
}


@rule(relax.ScatterElementsOp, relax.ScatterNDOp)
def scatter(op: relax.ScatterElementsOp | relax.ScatterNDOp, site: RuleContext) -> Tensor:
    """The data, then the updates put in one after the other."""
    program, x = site.program, site.tensor(0)
    places, updates = site.tensor(1), site.tensor(2)
    combine = _COMBINE[op.reduction.data]

    def target(point: list[Expr]) -> tuple[Expr, ...]:
        if isinstance(op, relax.ScatterNDOp):
            lead = len(places.shape) - 1
            position = _position(program, places, point[:lead], x.shape)
            return (*position, *point[lead:])
        axis = op.axis.value.data % len(x.shape)
        place = _from_front(places[tuple(point)], x.shape[axis])
        return (*point[:axis], place, *point[axis + 1 :])

    def body(_: list[Expr], outputs: list[Tensor]) -> None:
        (out,) = outputs
        for_each(program, x.shape, lambda point: program.store(x[point], out, point))

        def put(point: tuple[Expr, ...]) -> None:
            at = target(list(point))
            program.store(combine(out[at], updates[point]), out, at)

        for_each(program, updates.shape, put)

    (out,) = program.sequential(
        "scatter",
        (),
        [("out_buf", x.shape, x.dtype)],
        lambda _: [everything(each) for each in (x, places, updates)],
        lambda _, outputs: [everything(outputs[0])],
        body,
    )
    return out


def everything(tensor: Tensor) -> tuple[Tensor, list[Expr | None]]:
    """All elements of a tensor."""
    return tensor, [None] * len(tensor.shape)


def for_each(
    program: TensorProgram,
    shape: Sequence[Dim],
    body: Callable[[tuple[Expr, ...]], None],
    point: tuple[Expr, ...] = (),
) -> None:
    """Statements at each point of a shape, in row-major order."""
    if len(point) == len(shape):
        body(point)
        return
    extent = program.extent(shape[len(point)])
    with program.loop(f"i{len(point)}", program.extent(0), extent) as index:
        for_each(program, shape, body, (*point, index))


@rule(relax.OneHotOp)
def one_hot(op: relax.OneHotOp, site: RuleContext) -> Tensor:
    """`on` where the position on the new axis is the index, else `off`."""
    program, places = site.program, site.tensor(0)
    on, off = site.scalar(1), site.scalar(2)
    axis = op.axis.value.data % len(site.shape)

    def element(*indices: Expr) -> Expr:
        place = places[(*indices[:axis], *indices[axis + 1 :])].cast(i64)
        dtype = site.dtype
        return program.select(place.equals(indices[axis]), on.of(dtype), off.of(dtype))

    return program.compute("T_one_hot", site.shape, site.dtype, element)
