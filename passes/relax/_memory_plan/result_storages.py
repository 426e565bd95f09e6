"""Tensors in the memory of results, before these are computed.

The memory of results, which callers own, is ranges of offsets before those of an arena,
where results have their places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.tir.types import bytes_of_lane
from xdsl_tvm.passes.relax._memory_plan.live_ranges import Result, Step
from xdsl_tvm.passes.relax._memory_plan.packing import Block, Range, arena_size, pack
from xdsl_tvm.passes.relax._memory_plan.sizes import allocated_info, tensor_bytes
from xdsl_tvm.passes.relax._memory_plan.storage_pool import Storage
from xdsl_tvm.passes.relax._memory_plan.tokens import kind_of, shared_kind

_MOST_RESULTS = 8
"""Most results whose memory tensors may be in, the largest ones: each of them is a range
that is tried for each tensor."""


@dataclass(frozen=True)
class _ResultMemory:
    """Memory of a result, at its place before the arena."""

    alloc: relax.AllocTensorOp
    block: Block


def on_results(
    storages: Sequence[Storage],
    steps: Sequence[Step],
    blocks: Mapping[relax.AllocTensorOp, Block],
    alignment: int,
) -> list[Storage]:
    """A plan in which tensors are in the memory of results, where storages of constant
    size get smaller by that. `blocks` are the bytes and live ranges of the tensors."""
    results = _results(steps)
    found = list[Storage]()
    for storage in storages:
        shared = _shared(storage, blocks, results, alignment)
        found += shared or [storage]
        taken = {alloc for each in shared or () for alloc, _ in each.tensors}
        results = [result for result in results if result.alloc not in taken]
    return found


def _results(steps: Sequence[Step]) -> list[_ResultMemory]:
    """The memory of results of constant size, from its allocation on."""
    found = list[_ResultMemory]()
    for time, step in enumerate(steps):
        if isinstance(step, Result):
            # The exact size and no bound of it: callers allocate what the result needs.
            size = tensor_bytes(allocated_info(step.token.alloc))
            if size is not None and size.value:
                block = Block(time, len(steps), size.value, 1)
                found.append(_ResultMemory(step.token.alloc, block))
    found.sort(key=lambda result: -result.block.size)
    return found[:_MOST_RESULTS]


def _shared(
    storage: Storage,
    blocks: Mapping[relax.AllocTensorOp, Block],
    results: Sequence[_ResultMemory],
    alignment: int,
) -> list[Storage] | None:
    """Storages of results with some tensors of a storage on them, and a smaller one for
    the rest; None if it would not be smaller."""
    tensors = [alloc for alloc, _ in storage.tensors]
    scope, _, device = storage.kind
    # The memory of a caller is aligned for elements of the result.
    element = max(map(_element_bytes, tensors))
    usable = [
        result
        for result in results
        if (result.alloc.storage_scope, result.alloc.device_index) == (scope, device)
        and _element_bytes(result.alloc) >= element
    ]
    if storage.size.value is None or not usable:
        return None
    ranges = list[Range]()
    for result in usable:
        result.block.place = ranges[-1][1] if ranges else 0
        end = result.block.place + result.block.size
        ranges.append((end, -(-end // alignment) * alignment))
    chosen = [*(result.block for result in usable), *map(blocks.__getitem__, tensors)]
    offsets = pack(chosen, ranges)
    first = ranges[-1][1]
    if offsets is None or arena_size(offsets) - first >= storage.size.value:
        return None
    number = relax.Dim.constant
    placed = [(alloc, offsets[blocks[alloc]]) for alloc in tensors]
    found = list[Storage]()

    def add(size: int, on_it: list[tuple[relax.AllocTensorOp, relax.Dim]]) -> None:
        kind = shared_kind(scope, device, [alloc for alloc, _ in on_it])
        found.append(Storage(kind, number(size), on_it))

    for result, (end, _) in zip(usable, ranges, strict=True):
        low = end - result.block.size
        on_it = [(alloc, number(at - low)) for alloc, at in placed if low <= at < end]
        if on_it:
            add(result.block.size, [*on_it, (result.alloc, number(0))])
    rest = [(alloc, number(at - first)) for alloc, at in placed if at >= first]
    if rest:
        add(arena_size(offsets) - first, rest)
    return found


def _element_bytes(alloc: relax.AllocTensorOp) -> int:
    return bytes_of_lane(kind_of(alloc)[1])
