"""Rules of operators that move elements (docs/spec/relax-ops.md §8)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.symbolic import Dim as SymbolicDim
from xdsl_tvm.dialects.relax.symbolic import (
    maximum,
    minimum,
    product,
    provably_equal,
)
from xdsl_tvm.passes.relax.legalize.extents import minus, plus, times
from xdsl_tvm.passes.relax.legalize.registry import (
    Bindings,
    NoStagesError,
    RuleContext,
    rewrite,
    rule,
)
from xdsl_tvm.passes.relax.legalize.signature import known_shape
from xdsl_tvm.passes.relax.legalize.stages import (
    broadcast_indices,
    normal_axes,
    unflatten,
)
from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    SUM,
    Dim,
    Expr,
    Tensor,
    TensorProgram,
)


@rule(relax.PermuteDimsOp, function="transpose")
def permute_dims(op: relax.PermuteDimsOp, site: RuleContext) -> Tensor:
    """Result dimension `i` is dimension `axes[i]` of the operand."""
    rank, x = len(site.shape), site.tensor(0)
    axes = list(reversed(range(rank))) if op.axes is None else normal_axes(op.axes, rank)
    position = {axis: i for i, axis in enumerate(axes)}

    def element(*indices: Expr) -> Expr:
        return x[tuple(indices[position[axis]] for axis in range(rank))]

    return site.program.compute("T_transpose", site.shape, x.dtype, element)


@rule(relax.BroadcastToOp)
def broadcast_to(op: relax.BroadcastToOp, site: RuleContext) -> Tensor:
    """The elements, repeated along dimensions of extent 1, and new ones."""
    program, x = site.program, site.tensor(0)
    old, new = known_shape(op.data.type), known_shape(op.infer_result_type())
    for source, target in zip(old, new[len(new) - len(old) :], strict=True):
        if source.value != 1 and not provably_equal(source, target):
            raise NoStagesError
    return program.compute(
        "T_broadcast_to",
        site.shape,
        x.dtype,
        lambda *indices: x[broadcast_indices(program, x, indices, site.shape)],
    )


# ---- other dimensions, same elements ----


@rule(relax.ReshapeOp, relax.FlattenOp, function="reshape")
def reshape(op: relax.ReshapeOp | relax.FlattenOp, site: RuleContext) -> Tensor:
    """The elements in row-major order, in another shape.

    Dimensions that are kept, split or merged are treated apart from others, so that as
    few indices as possible are computed by divisions.
    """
    program, x, shape = site.program, site.tensor(0), site.shape
    old, new = known_shape(op.data.type), known_shape(op.infer_result_type())
    groups = _groups(old, new)

    def element(*indices: Expr) -> Expr:
        places: list[Expr] = []
        for sources, targets in groups:
            flat = _flat(program, indices[targets], shape[targets])
            places += unflatten(program, flat, x.shape[sources])
        return x[tuple(places)]

    return program.compute("T_reshape", shape, x.dtype, element)


def _groups(
    old: Sequence[SymbolicDim], new: Sequence[SymbolicDim]
) -> list[tuple[slice, slice]]:
    """Pairs of runs of dimensions with the same number of elements, as short as can be.

    Raises NoStagesError where the numbers of elements are not provably equal.
    """
    groups: list[tuple[slice, slice]] = []
    first, second = 0, 0
    while first < len(old) or second < len(new):
        found = _first_group(old[first:], new[second:])
        if found is None:
            if not provably_equal(product(old), product(new)):
                raise NoStagesError
            return [(slice(len(old)), slice(len(new)))]
        groups.append((slice(first, first + found[0]), slice(second, second + found[1])))
        first, second = first + found[0], second + found[1]
    return groups


def _first_group(
    old: Sequence[SymbolicDim], new: Sequence[SymbolicDim]
) -> tuple[int, int] | None:
    """The shortest beginnings with equal products, at least one dimension in all."""
    for total in range(1, len(old) + len(new) + 1):
        for count in range(max(0, total - len(new)), min(total, len(old)) + 1):
            if provably_equal(product(old[:count]), product(new[: total - count])):
                return count, total - count
    return None


def _flat(program: TensorProgram, indices: Sequence[Expr], shape: Sequence[Dim]) -> Expr:
    """The number of the element in row-major order."""
    if not indices:
        return program.extent(0)
    flat = indices[0]
    for dim, index in zip(shape[1:], indices[1:], strict=True):
        flat = flat * program.extent(dim) + index
    return flat


@rule(relax.ExpandDimsOp)
def expand_dims(op: relax.ExpandDimsOp, site: RuleContext) -> Tensor:
    """The elements under new dimensions of extent 1."""
    x, rank = site.tensor(0), len(site.shape)
    new = normal_axes(op.axis, rank)

    def element(*indices: Expr) -> Expr:
        return x[tuple(index for i, index in enumerate(indices) if i not in new)]

    return site.program.compute("expand_dims", site.shape, x.dtype, element)


@rule(relax.SqueezeOp)
def squeeze(op: relax.SqueezeOp, site: RuleContext) -> Tensor:
    """The elements without dimensions of extent 1."""
    program, x = site.program, site.tensor(0)
    rank = len(x.shape)
    if op.axis is None:
        gone = [axis for axis in range(rank) if x.shape[axis] == 1]
    else:
        gone = normal_axes(op.axis, rank)

    def element(*indices: Expr) -> Expr:
        rest = iter(indices)
        return x[
            tuple(program.extent(0) if i in gone else next(rest) for i in range(rank))
        ]

    return program.compute("T_squeeze", site.shape, x.dtype, element)


# ---- parts ----


_LONGEST_CHAIN = 32
"""Tensors that are told apart one by one, as TVM does; more are by halves, since a chain
of cases is as deep as it is long."""

MAX_CONCATENATED = 4096
"""Tensors of one kernel: each is a parameter and a case, and compiling takes some 30 ms
for each of them."""


@rule(relax.ConcatOp, function="concatenate")
def concat(op: relax.ConcatOp, site: RuleContext) -> Tensor:
    """The elements of the tensor in whose part of `axis` the index is."""
    program, tensors = site.program, site.tensors(0)
    if len(tensors) > MAX_CONCATENATED:
        raise PassFailedException(
            f"relax.concat: {len(tensors)} tensors are more than the {MAX_CONCATENATED} "
            "that one kernel concatenates; concatenate parts of them, and then those"
        )
    axis = 0 if op.axis is None else op.axis.value.data % len(site.shape)
    starts: list[Dim] = [0]
    for tensor in tensors[:-1]:
        starts.append(plus(program, starts[-1], tensor.shape[axis]))

    def element(*indices: Expr) -> Expr:
        places: list[tuple[Expr, ...]] = []
        for start in starts:
            own = indices[axis] if start == 0 else indices[axis] - program.extent(start)
            places.append((*indices[:axis], own, *indices[axis + 1 :]))

        def choose(first: int, last: int) -> Expr:
            if first == last:
                return tensors[last][places[last]]
            is_chain = len(tensors) <= _LONGEST_CHAIN
            middle = last if is_chain else (first + last + 1) // 2
            # The index counts from the tensor's start: it is negative in those before.
            return program.if_then_else(
                places[middle][axis] >= 0,
                lambda: choose(middle, last),
                lambda: choose(first, middle - 1),
            )

        return choose(0, len(tensors) - 1)

    return program.compute("T_concat", site.shape, site.dtype, element)


@rule(relax.SplitOp)
def split(op: relax.SplitOp, site: RuleContext) -> list[Tensor]:
    """A copy of each part of the tensor."""
    program, x = site.program, site.tensor(0)
    axis = op.axis.value.data % len(x.shape)
    starts = _starts(op, site, axis)

    def part(number: int, start: Dim) -> Tensor:
        def element(*indices: Expr) -> Expr:
            own = indices[axis] if start == 0 else indices[axis] + program.extent(start)
            return x[(*indices[:axis], own, *indices[axis + 1 :])]

        shape = site.results[number].shape
        name = "T_split" if number == 0 else f"T_split_{number}"
        return program.compute(name, shape, x.dtype, element)

    return [part(number, start) for number, start in enumerate(starts)]


def _starts(op: relax.SplitOp, site: RuleContext, axis: int) -> list[Dim]:
    """Where each part begins."""
    if op.indices is not None:
        extent = known_shape(op.data.type)[axis]
        indices: tuple[int, ...] = tuple(op.indices.get_values())
        cuts = [minimum(maximum(index, 0), extent) for index in indices]
        return [0, *map(site.dim, cuts)]
    length = site.results[0].shape[axis]
    return [times(site.program, length, part) for part in range(len(site.results))]


@rewrite(relax.SplitOp)
def whole(op: relax.SplitOp, bindings: Bindings) -> SSAValue | None:
    """The only part is the tensor itself."""
    is_tuple = isinstance(op.infer_result_type(), relax.TupleType)
    return None if is_tuple else op.data


# ---- repetition ----


@rule(relax.RepeatOp)
def repeat(op: relax.RepeatOp, site: RuleContext) -> Tensor:
    """Every element several times in a row, along an axis or of all."""
    program, x, count = site.program, site.tensor(0), op.repeats.value.data
    axis = 0 if op.axis is None else op.axis.value.data % len(x.shape)

    def element(*indices: Expr) -> Expr:
        source = indices[axis] if count == 1 else indices[axis] // program.extent(count)
        if op.axis is None:
            return x[unflatten(program, source, x.shape)]
        return x[(*indices[:axis], source, *indices[axis + 1 :])]

    return program.compute("T_repeat", site.shape, x.dtype, element)


@rule(relax.TileOp)
def tile(op: relax.TileOp, site: RuleContext) -> Tensor:
    """The whole tensor several times along each dimension."""
    program, x = site.program, site.tensor(0)
    counts: tuple[int, ...] = tuple(op.repeats.get_values())
    rank = len(x.shape)
    times_ = ((1,) * (rank - len(counts)) + counts)[-rank:] if rank else ()

    def element(*indices: Expr) -> Expr:
        own = indices[len(indices) - rank :]
        return x[
            tuple(
                index if count == 1 else index % program.extent(dim)
                for index, count, dim in zip(own, times_, x.shape, strict=True)
            )
        ]

    return program.compute("T_tile", site.shape, x.dtype, element)


@rule(relax.FlipOp)
def flip(op: relax.FlipOp, site: RuleContext) -> Tensor:
    """The elements in reverse order along an axis."""
    program, x = site.program, site.tensor(0)
    axis = op.axis.value.data % len(x.shape)
    last = minus(program, x.shape[axis], 1)

    def element(*indices: Expr) -> Expr:
        own = program.extent(last) - indices[axis]
        return x[(*indices[:axis], own, *indices[axis + 1 :])]

    return program.compute("T_reverse_sequence", site.shape, x.dtype, element)


@rule(
    relax.CollapseSumLikeOp,
    relax.CollapseSumToOp,
    function="collapse_sum",
    shape_only=(1,),
)
def collapse_sum(
    op: relax.CollapseSumLikeOp | relax.CollapseSumToOp, site: RuleContext
) -> Tensor:
    """The data, summed along what a broadcast of the result would have repeated."""
    program, x, shape = site.program, site.tensor(0), site.shape
    lead = len(x.shape) - len(shape)
    summed = [
        axis
        for axis, dim in enumerate(x.shape)
        if axis < lead or (shape[axis - lead] == 1 and dim != 1)
    ]

    def element(spatial: list[Expr], reduction: list[Expr]) -> Expr:
        inner = dict(zip(summed, reduction, strict=True))
        return x[
            tuple(
                inner[axis] if axis in inner else spatial[axis - lead]
                for axis in range(len(x.shape))
            )
        ]

    if not summed:
        return program.compute("copy", shape, x.dtype, lambda *indices: x[indices])
    over = [x.shape[axis] for axis in summed]
    return program.reduce("T_collapse_sum", shape, over, x.dtype, SUM, element)
