"""Plans with all tensors of a scope and device at offsets in one storage, the arena."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from math import gcd, lcm
from typing import TypeAlias

from xdsl.ir import Attribute

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.symbolic import bounds, ceildiv
from xdsl_tvm.dialects.tir.types import bytes_of_lane
from xdsl_tvm.passes.relax._memory_plan.live_ranges import (
    Begin,
    End,
    Leave,
    Step,
    Token,
)
from xdsl_tvm.passes.relax._memory_plan.packing import Block, arena_size, pack
from xdsl_tvm.passes.relax._memory_plan.result_storages import on_results
from xdsl_tvm.passes.relax._memory_plan.storage_pool import Storage
from xdsl_tvm.passes.relax._memory_plan.tokens import kind_of, shared_kind

Place: TypeAlias = tuple[Attribute, Attribute, relax.Dim, bool]
"""Scope, device and unit, and whether sizes are multiples of the alignment in units."""


def arena_plan(
    steps: Sequence[Step],
    sizes: Mapping[Token, relax.Dim],
    storages: Sequence[Storage],
    alignment: int,
    *,
    share_results: bool = False,
) -> list[Storage]:
    """The plan `storages`, with arenas in the place of storages.

    For each scope, device and unit there is an arena if that is not larger than those
    storages are together. Sizes are counted in units, which are bytes where they are
    known, and else what they are multiples of, such as `n + 1` bytes; units whose symbols
    a branch defines are left alone. Offsets are multiples of `alignment` and of the size
    of an element, in units. With `share_results`, tensors are in the memory of results of
    constant size as well, which become storages, where an arena gets smaller by that.
    """
    places = _places(_visible(steps, storages))
    blocks = _blocks(steps, sizes, alignment)
    replaced = dict[Storage, Storage | None]()
    for (scope, device, unit, _), given in places.items():
        arena = _arena((scope, device), unit, given, blocks)
        _replace(replaced, given, arena)
    plan = _replaced(storages, replaced)
    return on_results(plan, steps, blocks, alignment) if share_results else plan


def one_arena_plan(
    steps: Sequence[Step],
    sizes: Mapping[Token, relax.Dim],
    storages: Sequence[Storage],
    alignment: int,
    symbols: AbstractSet[str],
) -> list[Storage]:
    """The plan `storages`, with one storage for each scope and device.

    Arenas, as those of `arena_plan`, and storages whose sizes are numbers, or use nothing
    but `symbols`, are one after the other in it. All offsets are multiples of `alignment`
    bytes for any values of symbols: units are rounded up where they are no multiples, and
    those that need no rounding are an arena apart from those that do. Sizes of storages
    are compared as rounded up.
    """
    dtypes = {kind_of(token.alloc)[1] for token in sizes}
    alignment = lcm(alignment, *map(bytes_of_lane, dtypes))
    places = _places(_visible(steps, storages), alignment)
    blocks = _blocks(steps, sizes, alignment)
    replaced = dict[Storage, Storage | None]()
    for (scope, device, unit, _), given in places.items():
        rounded = unit
        if unit is not _BYTE:
            chosen = [blocks[alloc] for storage in given for alloc, _ in storage.tensors]
            common = gcd(alignment, *(block.size for block in chosen))
            for block in chosen:
                block.alignment = common
            rounded = _rounded(unit, alignment // common)
        arena = _arena((scope, device), rounded, given, blocks, alignment)
        _replace(replaced, given, arena)
    plan = _replaced(storages, replaced)
    groups = dict[tuple[Attribute, Attribute], list[Storage]]()
    for storage in plan:
        size = storage.size
        if _has_no_negative_terms(size) and symbols >= set(size.symbols()):
            scope, _, device = storage.kind
            groups.setdefault((scope, device), []).append(storage)
    replaced.clear()
    for group in groups.values():
        _replace(replaced, group, _joined(group, alignment))
    return _replaced(plan, replaced)


def _visible(steps: Sequence[Step], storages: Sequence[Storage]) -> list[Storage]:
    """The storages whose sizes use no symbol that a branch defines."""
    hidden = {name for step in steps if isinstance(step, Leave) for name in step.symbols}
    return [each for each in storages if hidden.isdisjoint(each.size.symbols())]


def _places(
    storages: Iterable[Storage], alignment: int | None = None
) -> dict[Place, list[Storage]]:
    """Storages that an arena may replace; with `alignment`, multiples of it apart."""
    places = dict[Place, list[Storage]]()
    for storage in storages:
        scope, _, device = storage.kind
        unit, number = _in_units(storage.size)
        is_aligned = (
            alignment is not None and unit is not _BYTE and number % alignment == 0
        )
        places.setdefault((scope, device, unit, is_aligned), []).append(storage)
    return places


def _replace(
    replaced: dict[Storage, Storage | None],
    given: Sequence[Storage],
    arena: Storage | None,
) -> None:
    """Note that an arena is in the place of storages; None leaves them."""
    if arena is not None:
        replaced.update(dict.fromkeys(given))
        replaced[given[0]] = arena


def _replaced(
    storages: Sequence[Storage], replaced: Mapping[Storage, Storage | None]
) -> list[Storage]:
    kept = (replaced.get(storage, storage) for storage in storages)
    return [storage for storage in kept if storage is not None]


def _joined(storages: Sequence[Storage], alignment: int) -> Storage:
    tensors = [alloc for storage in storages for alloc, _ in storage.tensors]
    scope, _, device = storages[0].kind
    joined = Storage(shared_kind(scope, device, tensors), relax.Dim.constant(0))
    start = joined.size
    for storage in storages:
        joined.size = start + storage.size
        joined.tensors += [(alloc, start + offset) for alloc, offset in storage.tensors]
        start += _rounded(storage.size, alignment)
    return joined


def _has_no_negative_terms(size: relax.Dim) -> bool:
    """Whether each term is at least 0, so that the size is a part of any sum with it."""
    return all(bounds(relax.Dim({each: c})).min >= 0 for each, c in size.terms)


def _rounded(size: relax.Dim, alignment: int) -> relax.Dim:
    """The least multiple of `alignment` that is no smaller."""
    if not any(c % alignment for _, c in size.terms):
        return size
    return ceildiv(size, alignment) * alignment


_BYTE = relax.Dim.constant(1)


def _in_units(size: relax.Dim) -> tuple[relax.Dim, int]:
    """A size as the greatest integer that divides it, times the unit that is left."""
    if size.value is not None:
        return _BYTE, size.value
    number = gcd(*(coefficient for _, coefficient in size.terms))
    unit = relax.Dim({monomial: c // number for monomial, c in size.terms})
    return unit, number


def _blocks(
    steps: Iterable[Step], sizes: Mapping[Token, relax.Dim], alignment: int
) -> dict[relax.AllocTensorOp, Block]:
    """What the tensors need; one without uses lives where it is made."""
    blocks = dict[relax.AllocTensorOp, Block]()
    for time, step in enumerate(steps):
        match step:
            case Begin(token, _):
                element = bytes_of_lane(kind_of(token.alloc)[1])
                _, size = _in_units(sizes[token])
                blocks[token.alloc] = Block(time, time, size, lcm(alignment, element))
            case End(token) if token.alloc in blocks:
                blocks[token.alloc].end = time
            case _:
                pass
    return blocks


def _arena(
    place: tuple[Attribute, Attribute],
    unit: relax.Dim,
    storages: Sequence[Storage],
    blocks: Mapping[relax.AllocTensorOp, Block],
    rounding: int = 1,
) -> Storage | None:
    """The arena for the tensors of some storages, None if it would be larger.

    It is on a scope and device; in bytes, storages count as multiples of `rounding`.
    """
    scope, device = place
    rounding = rounding if unit is _BYTE else 1
    tensors = [alloc for storage in storages for alloc, _ in storage.tensors]
    chosen = [blocks[alloc] for alloc in tensors]
    offsets = pack(chosen)
    if offsets is None:
        return None
    size = arena_size(offsets)
    taken = (_in_units(storage.size)[1] for storage in storages)
    if size > sum(-(-each // rounding) * rounding for each in taken):
        return None
    arena = Storage(shared_kind(scope, device, tensors), unit * size)
    # In the order of allocation, so that the first is where the arena is needed first.
    ordered = sorted(tensors, key=lambda alloc: blocks[alloc].start)
    arena.tensors += [(alloc, unit * offsets[blocks[alloc]]) for alloc in ordered]
    return arena
