"""Copies to and from the matrix fragments of a warp, tile by tile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, SSAValue

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, Value, substitute
from xdsl_tvm.analysis.tir.flat_index import leaf
from xdsl_tvm.analysis.tir.side_effect import own_effect
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import CallEffect
from xdsl_tvm.passes.tir._auto_copy.cache import allocate_cache
from xdsl_tvm.passes.tir._auto_copy.nest import (
    Loop,
    Nest,
    NestBuilder,
    analyzer_of,
    refuse,
    scope_of,
)
from xdsl_tvm.passes.tir._auto_copy.threads import (
    WARP,
    Binding,
    Surroundings,
    influence_on,
)
from xdsl_tvm.passes.tir.rewriting.copied_element import is_expression

WMMA_TILE = 16
"""Rows and columns of a fragment of WMMA."""
MMA_TILE = 8
"""Rows and columns of what the lanes of a warp store at once of a product of PTX."""
_MOST_COLUMNS = WMMA_TILE * WMMA_TILE
_STAGE_SCOPE = "shared.dyn"
_RELAXED = ("threadIdx.y", "threadIdx.z")
_ACCUMULATORS = (tir.StorageRank.WMMA_ACCUMULATOR, tir.StorageRank.MMA_MATRIX_C)
_DTYPES = {
    tir.StorageRank.WMMA_MATRIX_A: ("f16", "bf16", "i8", "ui8"),
    tir.StorageRank.WMMA_MATRIX_B: ("f16", "bf16", "i8", "ui8"),
    tir.StorageRank.WMMA_ACCUMULATOR: ("f16", "f32", "i32"),
}
"""The elements of fragments of 16 by 16."""


def tiled(nest: Nest, size: int) -> Nest:
    """The nest with its two innermost loops split by `size`, the tile innermost.

    Raises PassFailedException where the extents are no multiples of the size.
    """
    if len(nest.loops) < 2 or any(loop.extent % size for loop in nest.loops[-2:]):
        refuse(
            nest.block,
            f"a copy of fragments goes by tiles of {size} by {size}, and its two "
            "innermost loops are no multiples of that",
            "pad them, or remove auto_copy",
        )
    *outer, rows, columns = nest.loops
    values: dict[Expr, Expr] = {}
    split: list[tuple[Loop, Loop]] = []
    for loop in (rows, columns):
        tile = Loop(loop.extent // size, loop.dtype, f"{loop.name}_0")
        element = Loop(size, loop.dtype, f"{loop.name}_1")
        values[loop.leaf] = smart.add(smart.mul(tile.leaf, size), element.leaf)
        split.append((tile, element))
    (i0, i1), (j0, j1) = split
    return nest.changed([*outer, i0, j0, i1, j1], values)


# ---- tiles of buffers ----


@dataclass(frozen=True)
class Tile:
    """A tile of a buffer: where it starts, and whether its rows are the inner loop's."""

    buffer: SSAValue
    mins: tuple[Expr, ...]
    transposed: bool


def tile_of(nest: Nest, buffer: SSAValue, indices: Sequence[Expr]) -> Tile:
    """The tile that the two innermost loops access.

    Raises PassFailedException where they do not run along the last two dimensions.
    """
    if buffer.owner in nest.ops:
        refuse(
            nest.block,
            f"{_named(buffer)} is declared in the loops of a copy",
            "declare it before them, or remove auto_copy",
        )
    rows, columns = nest.loops[-2:]
    zeros: dict[Expr, Expr] = {
        loop.leaf: smart.const(0, loop.dtype) for loop in (rows, columns)
    }
    analyzer = analyzer_of(nest.loops)
    mins = [analyzer.simplify(substitute(index, zeros)) for index in indices]
    steps = [
        analyzer.simplify(smart.sub(index, low))
        for index, low in zip(indices, mins, strict=True)
    ]
    leaves = [rows.leaf, columns.leaf]
    flat = all(smart.literal(step) == 0 for step in steps[:-2])
    if not flat or steps[-2:] not in (leaves, leaves[::-1]):
        refuse(
            nest.block,
            "a copy of fragments must run along the last two dimensions of "
            f"{_named(buffer)} with its two innermost loops",
            "order the loops so, or remove auto_copy",
        )
    return Tile(buffer, tuple(mins), steps[-2:] != leaves)


def _named(buffer: SSAValue) -> str:
    name = tir.buffer_definition(buffer).buffer_name
    return f"the buffer in {scope_of(buffer)}" if name is None else f'"{name.data}"'


def check_fragment(nest: Nest, tile: Tile) -> None:
    """Refuse a tile that is no fragment of its own.

    The number of a fragment is `offset // 256 + offset % 256 // 16`, with the offset of
    its first element, which tells fragments apart up to 256 columns.
    """
    definition = tir.buffer_definition(tile.buffer)
    shape = definition.shape
    dtype = str(definition.type.element_type)
    known = _DTYPES[scope_of(tile.buffer).rank]
    if dtype not in known:
        refuse(
            nest.block,
            f"there are no fragments of {dtype} in {scope_of(tile.buffer)}",
            f"use one of {', '.join(known)}",
        )
    whole = all(isinstance(size, int) and size % WMMA_TILE == 0 for size in shape[-2:])
    columns = shape[-1]
    if (
        not whole
        or not isinstance(columns, int)
        or columns > _MOST_COLUMNS
        or definition.layout_strides
        or definition.elem_offset is not None
    ):
        refuse(
            nest.block,
            f"{_named(tile.buffer)} does not consist of fragments of 16 by 16, at most "
            "16 in a row",
            "give its last dimensions multiples of 16, up to 256 columns, and no strides",
        )
    analyzer = analyzer_of(nest.loops)
    for low in tile.mins[-2:]:
        rest = smart.floormod(low, WMMA_TILE)
        if not analyzer.can_prove_equal(rest, smart.const(0, rest.dtype)):
            refuse(
                nest.block,
                f"cannot show that {low}, where a tile of {_named(tile.buffer)} starts, "
                "is a multiple of 16",
                "start at a multiple of 16",
            )


# ---- blocks that move a tile ----


@dataclass(frozen=True)
class _Window:
    """A block that moves one tile, and the views of the tile on both sides."""

    body: NestBuilder
    source: tir.MatchRegionOp
    target: tir.MatchRegionOp


def _window(
    place: NestBuilder, name: str, source: Tile, target: Tile, size: int
) -> _Window:
    """Make the block that moves a tile, with views of both sides in it."""
    regions = [_region(place, tile, size) for tile in (source, target)]
    block = tir.BlockOp(name)
    place.builder.insert(block)
    body = place.inside(block.body.block)
    body.builder.insert(tir.ReadsOp([regions[0]]))
    body.builder.insert(tir.WritesOp([regions[1]]))
    views = [
        _view(body, label, region, size)
        for label, region in zip(("src", "tgt"), regions, strict=True)
    ]
    return _Window(body, *views)


def _region(place: NestBuilder, tile: Tile, size: int) -> tir.BufferRegion:
    extents = (1,) * (len(tile.mins) - 2) + (size, size)
    return tir.BufferRegion(tile.buffer, tuple(map(place.value, tile.mins)), extents)


def _view(
    body: NestBuilder, label: str, region: tir.BufferRegion, size: int
) -> tir.MatchRegionOp:
    """A view of a tile; that of shared memory has the strides of the buffer."""
    kind = cast(tir.BufferType, region.buffer.type)
    scope = scope_of(region.buffer)
    offset = tir.ShapeVarOp(f"{label}_elem_offset")
    body.builder.insert(offset)
    strides: list[int | SSAValue] = []
    if scope.rank is tir.StorageRank.SHARED:
        for name in ("s1", "s0"):
            stride = tir.ShapeVarOp(name)
            body.builder.insert(stride)
            strides.append(stride.result)
    alignment = tir.buffer_definition(region.buffer).alignment
    match = tir.MatchRegionOp(
        region.buffer,
        region.mins,
        region.extents,
        tir.BufferType([size, size], kind.element_type, kind.scope.data),
        name=label,
        strides=strides,
        elem_offset=offset.result,
        offset_factor=size,
        data_alignment=min(alignment, 64),
    )
    body.builder.insert(match)
    return match


def _pointer(body: NestBuilder, match: tir.MatchRegionOp) -> SSAValue:
    return body.builder.insert(tir.DataOp(match.buffer)).result


def _move_fragment(
    window: _Window,
    callee: str,
    fragment: tir.MatchRegionOp,
    memory: tir.MatchRegionOp,
    layout: str,
) -> None:
    """Call a builtin that loads or stores the fragment."""
    body = window.body
    assert fragment.elem_offset is not None
    assert memory.elem_offset is not None
    offset = leaf(fragment.elem_offset)
    index = smart.add(
        smart.floordiv(offset, WMMA_TILE * WMMA_TILE),
        smart.floordiv(smart.floormod(offset, WMMA_TILE * WMMA_TILE), WMMA_TILE),
    )
    stride, _ = memory.strides
    mode = tir.AccessMode.READ if memory is window.source else tir.AccessMode.WRITE
    access = tir.AccessPtrOp(
        _pointer(body, memory),
        memory.elem_offset,
        body.value(smart.mul(leaf(stride), WMMA_TILE)),
        mode,
        memory.type.pointer_type,
    )
    pointer = _pointer(body, fragment)
    size = body.constant(WMMA_TILE)
    number = body.value(index)
    body.builder.insert(access)
    order = body.builder.insert(tir.StringOp(layout))
    operands = [pointer, size, size, size, number, access.result, stride, order.result]
    body.builder.insert(tir.CallOp.of(callee, operands))


def emit_wmma_load(nest: Nest, place: NestBuilder) -> SSAValue:
    """Copy from shared memory to fragments of WMMA, and give the shared buffer."""
    nest = tiled(nest, WMMA_TILE)
    source = tile_of(nest, *_plain_load(nest, tir.StorageRank.SHARED))
    target = tile_of(nest, nest.store.buffer, nest.indices)
    check_fragment(nest, target)
    inner = place.loops(nest.loops[:-2])
    window = _window(inner, "wmma_load", source, target, WMMA_TILE)
    # What a product takes as its right factor is stored by columns.
    by_columns = scope_of(target.buffer).rank is tir.StorageRank.WMMA_MATRIX_B
    by_columns ^= source.transposed != target.transposed
    layout = "col_major" if by_columns else "row_major"
    _move_fragment(window, "tvm_load_matrix_sync", window.target, window.source, layout)
    return source.buffer


def emit_wmma_store(nest: Nest, place: NestBuilder) -> None:
    """Copy from fragments of WMMA to shared memory."""
    nest = tiled(nest, WMMA_TILE)
    source = tile_of(nest, *_plain_load(nest, tir.StorageRank.WMMA_ACCUMULATOR))
    target = tile_of(nest, nest.store.buffer, nest.indices)
    check_fragment(nest, source)
    _store_fragment(place.loops(nest.loops[:-2]), source, target)


def _store_fragment(place: NestBuilder, source: Tile, target: Tile) -> None:
    window = _window(place, "wmma_store", source, target, WMMA_TILE)
    turned = source.transposed != target.transposed
    layout = "col_major" if turned else "row_major"
    _move_fragment(window, "tvm_store_matrix_sync", window.source, window.target, layout)


def _plain_load(nest: Nest, rank: tir.StorageRank) -> tuple[SSAValue, tuple[Expr, ...]]:
    """What the copy loads and where, if it stores it as it is."""
    load = nest.store.value.owner
    if (
        not isinstance(load, tir.LoadOp)
        or load.predicate is not None
        or scope_of(load.buffer).rank is not rank
    ):
        refuse(
            nest.block,
            "fragments are copied as they are, without arithmetic or conversion",
            "compute in a block of its own, or remove auto_copy",
        )
    return load.buffer, tuple(map(nest.tree, load.indices))


def _store_registers(place: NestBuilder, source: Tile, target: Tile) -> None:
    """Let each lane store two neighbours of a tile of 8 by 8."""
    window = _window(place, "mma_store", source, target, MMA_TILE)
    body = window.body
    launch = tir.LaunchThreadOp("threadIdx.x", body.constant(WARP))
    body.builder.insert(launch)
    inside = body.inside(launch.body.block)
    lane: Expr = Value(launch.thread_var)
    pair = Loop(2, i32, "vec", tir.ForKind.VECTORIZED)
    inside = inside.loops([pair])
    row = smart.floordiv(lane, 4)
    column = smart.add(smart.mul(smart.floormod(lane, 4), 2), pair.leaf)
    value = inside.load(window.source.buffer, (row, column))
    places = [row, column]
    if source.transposed != target.transposed:
        places.reverse()
    indices = [inside.value(tree) for tree in places]
    inside.builder.insert(tir.StoreOp(value, window.target.buffer, indices))


# ---- from accumulators to global memory, through shared memory ----


@dataclass(frozen=True)
class _Team:
    """A thread axis around a copy whose threads hold fragments of their own."""

    loop: Loop
    bindings: tuple[Binding, ...]

    @property
    def number(self) -> Expr:
        """The number of the thread that runs, from 0."""
        first = self.bindings[0]
        variable: Expr = Value(first.body.block.args[0])
        if isinstance(first, tir.ForOp):
            variable = smart.sub(variable, leaf(first.min))
        return smart.cast(self.loop.dtype, variable)

    def values(self) -> dict[SSAValue, Expr]:
        """The variables that bind the axis, in terms of the loop over all of them."""
        found: dict[SSAValue, Expr] = {}
        for op in self.bindings:
            variable = op.body.block.args[0]
            tree = smart.cast(variable.type, self.loop.leaf)
            start = leaf(op.min) if isinstance(op, tir.ForOp) else None
            found[variable] = tree if start is None else smart.add(tree, start)
        return found


@dataclass(frozen=True)
class Staged:
    """The second step of a copy from accumulators: its nest, the loads of accumulators
    in it, and what it loads instead, indexed by the variables of its loops."""

    nest: Nest
    loads: tuple[tir.LoadOp, ...]
    cache: tir.AllocBufferOp
    places: tuple[SSAValue, ...]

    def emit(self, nest: Nest, place: NestBuilder) -> None:
        """Make the second step, of which `nest` is the nest in other loops."""
        place = place.loops(nest.loops).guarded(nest.guard)
        indices = [nest.values[variable] for variable in self.places]
        cached = place.load(self.cache.buffer, indices)
        given: dict[SSAValue, SSAValue] = {load.result: cached for load in self.loads}
        value = place.computed(nest, nest.store.value, given)
        place.store(nest, nest.store.buffer, nest.indices, value)


def stage_accumulators(nest: Nest, place: NestBuilder, around: Surroundings) -> Staged:
    """Make the first step of a copy from accumulators, and say what the second is.

    All of it is in the loops up to that over the rows of tiles, at the end of which
    `place` is. The warps of a block fill a cache together, with a dimension for each
    axis of threads that they differ on.
    """
    loads = _accumulators(nest)
    of_wmma = scope_of(loads[0].buffer).rank is tir.StorageRank.WMMA_ACCUMULATOR
    j0, i1, j1 = nest.loops[-3:]
    teams = _teams(around)
    indices = tuple(map(nest.tree, loads[0].indices))
    source = tile_of(nest, loads[0].buffer, indices)
    if of_wmma:
        check_fragment(nest, source)
    shape = [team.loop.extent for team in teams] + [j0.extent, i1.extent, j1.extent]
    cache = allocate_cache(nest, loads[0].buffer, _STAGE_SCOPE, shape)
    zero = smart.const(0, i32)
    corner = (*(team.number for team in teams), j0.leaf, zero, zero)
    target = Tile(cache.buffer, corner, transposed=False)
    inner = place.loops([j0])
    if of_wmma:
        _store_fragment(inner, source, target)
    else:
        _store_registers(inner, source, target)
    copies = [loop.copied("_cache") for loop in (j0, i1, j1)]
    second = _second_step(nest, copies, teams)
    return Staged(second, loads, cache, tuple(loop.variable for loop in second.loops))


def _second_step(nest: Nest, copies: Sequence[Loop], teams: Sequence[_Team]) -> Nest:
    """What stores to global memory, for all threads of the axes."""
    leaves: dict[Expr, Expr] = {
        old.leaf: new.leaf for old, new in zip(nest.loops[-3:], copies, strict=True)
    }
    of_threads = {old: new for team in teams for old, new in team.values().items()}
    by_leaf: dict[Expr, Expr] = {Value(old): new for old, new in of_threads.items()}
    loops = [*(team.loop for team in teams), *copies]
    changed = nest.changed(loops, leaves).changed(loops, by_leaf)
    own = {loop.variable: loop.leaf for loop in loops}
    again = _recomputed(nest, set(of_threads))
    second = replace(changed, values={**changed.values, **of_threads, **own}, ops=again)
    _check_not_private(second)
    trees = (*second.indices, *second.values.values())
    if any(map(second.varies_inside, trees)):
        refuse(
            nest.block,
            "where it stores each thread computes in a way of its own",
            "compute it from loop variables by arithmetic, or remove auto_copy",
        )
    return second


def _teams(around: Surroundings) -> list[_Team]:
    """The axes around a copy on which accumulators differ, from the outermost on."""
    influence = influence_on(around.conditions())
    found: list[_Team] = []
    for tag in around.tags():
        if tag not in _RELAXED:
            continue
        bindings = around.bindings(tag)
        extent = tir.constant_value(bindings[0].extent)
        if extent is None:
            refuse(
                around.block,
                f"accumulators of each {tag} are staged, and its extent is not constant",
                "give it a constant extent",
            )
        variables = {op.body.block.args[0] for op in bindings}
        if influence.is_private or not variables.isdisjoint(influence.roots):
            refuse(
                around.block,
                "accumulators are staged by all threads together, and only some of "
                f"{tag} come here",
                "move the condition into the copy, or remove auto_copy",
            )
        name = bindings[0].body.block.args[0].name_hint or "t"
        found.append(_Team(Loop(int(extent), i32, f"{name}_cache"), tuple(bindings)))
    return found


def _accumulators(nest: Nest) -> tuple[tir.LoadOp, ...]:
    """The loads of accumulators, all of one element."""
    loads: list[tir.LoadOp] = []
    for op in nest.ops:
        for inner in op.walk():
            if not isinstance(inner, tir.LoadOp):
                continue
            if scope_of(inner.buffer).rank not in _ACCUMULATORS:
                continue
            if inner is not op or inner.predicate is not None:
                refuse(
                    nest.block,
                    "an accumulator is loaded under a condition",
                    "load it before that",
                )
            loads.append(inner)
    places = {(op.buffer, tuple(map(nest.tree, op.indices))) for op in loads}
    if len(places) != 1:
        refuse(
            nest.block,
            f"a copy must load one element of one accumulator, and loads {len(places)}",
            "split it, or remove auto_copy",
        )
    return tuple(loads)


def _recomputed(nest: Nest, changed: set[SSAValue]) -> tuple[Operation, ...]:
    """The ops to compute for other threads: those of the nest, and what is before it
    that depends on the values that change."""
    outside: dict[Operation, bool] = {}
    inside = set(nest.ops)
    order: list[Operation] = []
    stack: list[tuple[SSAValue, bool]] = [
        (value, False)
        for op in (*nest.ops, nest.store)
        for inner in all_ops(op)
        for value in inner.operands
    ]
    while stack:
        value, done = stack.pop()
        op = value.owner
        if isinstance(op, Block) or op in inside:
            continue
        if done:
            if op not in outside:
                outside[op] = any(_varies(v, changed, outside) for v in _used_by(op))
                order.append(op)
        elif op not in outside:
            stack.append((value, True))
            stack += [(operand, False) for operand in _used_by(op)]
    again = [op for op in order if outside[op]]
    for op in again:
        _check_recomputed(nest, op)
    return (*again, *nest.ops)


def _used_by(op: Operation) -> list[SSAValue]:
    return [value for inner in all_ops(op) for value in inner.operands]


def _varies(
    value: SSAValue, changed: set[SSAValue], known: dict[Operation, bool]
) -> bool:
    owner = value.owner
    return value in changed or (isinstance(owner, Operation) and known.get(owner, False))


def _check_recomputed(nest: Nest, op: Operation) -> None:
    pure = all(own_effect(inner) <= CallEffect.PURE for inner in all_ops(op))
    is_view = isinstance(op, tir.BufferDefinition)
    if is_view or not is_expression(op) or not (pure or nest.block.is_ancestor(op)):
        refuse(
            nest.block,
            f"{op.name} before it gives each thread a value of its own, which other "
            "threads cannot compute",
            "move it into the copy, or remove auto_copy",
        )


def _check_not_private(nest: Nest) -> None:
    """Refuse loads of memory that other threads cannot see, but for accumulators."""
    loads = [
        inner for op in nest.ops for inner in all_ops(op) if isinstance(inner, tir.LoadOp)
    ]
    for load in loads:
        scope = scope_of(load.buffer)
        if not (scope.is_shared_by_threads or scope.rank in _ACCUMULATORS):
            refuse(
                nest.block,
                f"other threads store the sum, and cannot see {scope} memory",
                "read it from shared or global memory, or remove auto_copy",
            )
