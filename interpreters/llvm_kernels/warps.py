"""What threads do once they have met: barriers, shuffles, votes, reductions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.ir import Operation

from xdsl_tvm.dialects import nvvm
from xdsl_tvm.interpreters.llvm_kernels.layouts import (
    Array,
    Mask,
    Value,
    scalar,
    undefined,
)
from xdsl_tvm.interpreters.llvm_kernels.rules import (
    SYNC_INTRINSICS,
    Sync,
    TeamState,
    sync,
)

WARP = 32


def _only_meet(team: TeamState, mask: Mask, *operands: Value) -> None:
    """Threads that have met go on."""


@sync(nvvm.Barrier0Op)
def _barrier(op: Operation) -> Sync:
    return Sync(op, "block", _only_meet)


SYNC_INTRINSICS["llvm.nvvm.barrier0"] = _barrier
SYNC_INTRINSICS["llvm.nvvm.barrier.cta.sync.aligned.all"] = _barrier


@sync(nvvm.SyncWarpOp)
def _warp_barrier(op: Operation) -> Sync:
    return Sync(op, "lanes", _sync_lanes)


SYNC_INTRINSICS["llvm.nvvm.bar.warp.sync"] = _warp_barrier


def _sync_lanes(team: TeamState, mask: Mask, *operands: Value) -> None:
    threads = np.arange(team.count) if mask is None else np.flatnonzero(mask)
    team.spaces.clock.warp_sync(threads)


# ---- exchange ----


def source_lanes(
    kind: str, lane: Array, offset: Array, clamp: Array
) -> tuple[Array, Array]:
    """The lanes that a shuffle reads, and whether they are in the segment (PTX ISA)."""
    by, last, segment = offset & 31, clamp & 31, clamp >> 8 & 31
    high = (lane & segment) | (last & ~segment)
    low = lane & segment
    match kind:
        case "up":
            source = lane - by
            inside = source >= high
        case "down":
            source = lane + by
            inside = source <= high
        case "bfly":
            source = lane ^ by
            inside = source <= high
        case _:
            source = low | (by & ~segment)
            inside = source <= high
    return np.where(inside, source, lane), inside


@sync(nvvm.ShflOp)
def _shuffle(op: nvvm.ShflOp) -> Sync:
    kind = op.kind.data
    fill = undefined(op.val.type)
    with_flag = op.return_value_and_is_valid is not None

    def shuffle(
        team: TeamState, mask: Mask, _: Array, value: Array, offset: Array, clamp: Array
    ) -> Value:
        lanes, inside = source_lanes(kind, team.lane, offset, clamp)
        threads = team.warp_start + lanes
        exists = threads < team.count
        threads = np.where(exists, threads, 0)
        exists &= team.warp_start[threads] == team.warp_start
        if mask is not None:
            exists &= mask[threads]
        value = np.broadcast_to(value, (team.count,))
        found = np.where(exists, value[threads], fill)
        return (found, inside) if with_flag else found

    return Sync(op, "lanes", shuffle)


def _by_warp(team: TeamState, mask: Mask, groups: Array) -> Array:
    """A number for the threads of a group: those of one warp with the same lane mask."""
    keys = team.warp_start.astype(np.int64) << 32 | groups
    if mask is not None:
        keys = np.where(mask, keys, -1)
    return np.unique(keys, return_inverse=True)[1].reshape(-1)


def _groups(team: TeamState, mask: Array) -> Array:
    return np.broadcast_to(mask.view(np.uint32).astype(np.int64), (team.count,))


@sync(nvvm.VoteSyncOp)
def _vote(op: nvvm.VoteSyncOp) -> Sync:
    kind = op.kind.data

    def vote(team: TeamState, mask: Mask, members: Array, holds: Array) -> Value:
        group = _by_warp(team, mask, _groups(team, members))
        holds = np.broadcast_to(holds, (team.count,))
        count = np.bincount(group)
        if kind == "ballot":
            bits = np.where(holds, np.int64(1) << team.lane, 0)
            found = np.bincount(group, bits.astype(np.float64))[group].astype(np.int64)
            return found.astype(np.uint32).view(np.int32)
        yes = np.bincount(group, holds.astype(np.float64))
        match kind:
            case "any":
                found = yes > 0
            case "all":
                found = yes == count
            case _:
                found = (yes == 0) | (yes == count)
        return found[group]

    return Sync(op, "lanes", vote)


_REDUCTIONS: dict[str, Callable[[Array], Value]] = {
    "add": np.sum,
    "and": np.bitwise_and.reduce,
    "max": np.max,
    "min": np.min,
    "or": np.bitwise_or.reduce,
    "umax": np.max,
    "umin": np.min,
    "xor": np.bitwise_xor.reduce,
}


@sync(nvvm.ReduxOp)
def _redux(op: nvvm.ReduxOp) -> Sync:
    kind = op.kind.data
    reduce = _REDUCTIONS[kind]
    storage = scalar(op.val.type).storage

    def redux(team: TeamState, mask: Mask, value: Array, members: Array) -> Value:
        group = _by_warp(team, mask, _groups(team, members))
        value = np.broadcast_to(value, (team.count,))
        if kind.startswith("u"):
            value = value.view(np.uint32)
        found = np.zeros(team.count, np.int64)
        for each in range(int(group.max()) + 1):
            here = group == each
            found[here] = np.int64(reduce(value[here]))
        return found.astype(storage)

    return Sync(op, "lanes", redux, mask=1)
