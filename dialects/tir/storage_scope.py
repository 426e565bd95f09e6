"""Storage scopes and thread axes by name (docs/spec/tir-ir.md §7.4).

A scope is the name of a rank and a tag after it: `shared.dyn` has the rank `shared` and
the tag `.dyn`. A thread axis is a rank and a dimension: `threadIdx.y` is dimension 1 of
the threads of a block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import IntEnum
from functools import cache
from typing import Final


class StorageRank(IntEnum):
    """Who shares the memory of a scope, with TVM's numbers."""

    GLOBAL = 0
    """Main memory of the device or the host."""
    SHARED = 1
    """Shared by the threads of a block."""
    WARP = 2
    """Shared by a warp, spread over the registers of its threads."""
    LOCAL = 3
    """Of one thread."""
    WMMA_MATRIX_A = 4
    WMMA_MATRIX_B = 5
    WMMA_ACCUMULATOR = 6
    TEXTURE = 7
    """A texture handle of OpenCL."""
    AMX_TMM = 8
    """A tile register of Intel AMX."""
    MMA_MATRIX_A = 9
    """A fragment of PTX `mma` in registers, as are the next two."""
    MMA_MATRIX_B = 10
    MMA_MATRIX_C = 11
    METAL_SIMDGROUP = 12
    """A `simdgroup_float8x8` of Metal."""


RANK_NAMES: Final[dict[str, StorageRank]] = {
    "global": StorageRank.GLOBAL,
    "shared": StorageRank.SHARED,
    "warp": StorageRank.WARP,
    "local": StorageRank.LOCAL,
    "wmma.matrix_a": StorageRank.WMMA_MATRIX_A,
    "wmma.matrix_b": StorageRank.WMMA_MATRIX_B,
    "wmma.accumulator": StorageRank.WMMA_ACCUMULATOR,
    "texture": StorageRank.TEXTURE,
    "amx.tmm": StorageRank.AMX_TMM,
    "m16n8k8.matrixA": StorageRank.MMA_MATRIX_A,
    "m16n8k8.matrixB": StorageRank.MMA_MATRIX_B,
    "m16n8k8.matrixC": StorageRank.MMA_MATRIX_C,
    "metal.simdgroup": StorageRank.METAL_SIMDGROUP,
}
"""The names of the ranks; a scope is one of them, and perhaps a tag."""

DYNAMIC_TAG: Final = ".dyn"
"""The tag of shared memory whose size is given at the launch."""

KNOWN_SCOPES: Final = (
    *RANK_NAMES,
    "global.vtcm",
    "global.texture",
    "global.texture-weight",
    "global.texture-nhwc",
    "global.ddr",
    "global.workspace",
    "shared.dyn",
    "shared.barrier",
)
"""Scopes that mean something to a pass or a target; other tags are the user's."""

_SHARED_BY_THREADS = (StorageRank.GLOBAL, StorageRank.SHARED, StorageRank.WARP)


@dataclass(frozen=True)
class StorageScope:
    """A storage scope: its rank, and the tag after it with its dot, often empty."""

    rank: StorageRank
    tag: str = ""

    @staticmethod
    def parse(name: str) -> StorageScope:
        """The scope of a name; the empty name is `global`.

        Raises ValueError for a name that starts with no rank, or whose tag does not start
        with a dot.
        """
        return _parse_scope(name)

    def __str__(self) -> str:
        return _NAME_OF_RANK[self.rank] + self.tag

    @property
    def is_dynamic_shared(self) -> bool:
        """Whether it is `shared.dyn`."""
        return self.rank is StorageRank.SHARED and self.tag == DYNAMIC_TAG

    @property
    def is_shared_by_threads(self) -> bool:
        """Whether what one thread writes another may read."""
        return self.rank in _SHARED_BY_THREADS

    @property
    def is_texture(self) -> bool:
        """Whether it is an OpenCL image: the rank, or a tag of global memory."""
        return self.rank is StorageRank.TEXTURE or (
            self.rank is StorageRank.GLOBAL and self.tag.startswith(".texture")
        )


_NAME_OF_RANK = {rank: name for name, rank in RANK_NAMES.items()}


@cache
def _parse_scope(name: str) -> StorageScope:
    if not name:
        return StorageScope(StorageRank.GLOBAL)
    for prefix, rank in RANK_NAMES.items():
        tag = name.removeprefix(prefix)
        if tag != name and (not tag or (tag[0] == "." and len(tag) > 1)):
            return StorageScope(rank, tag)
    raise ValueError(
        f"unknown storage scope '{name}'{did_you_mean(name, KNOWN_SCOPES)}; a scope is "
        f"one of {', '.join(RANK_NAMES)}, and perhaps a dot and a tag"
    )


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """` (did you mean 'x'?)`, or nothing where no known name is close."""
    folded = {each.lower(): each for each in reversed(known)}
    close = get_close_matches(name.lower(), folded, n=1)
    return f" (did you mean '{folded[close[0]]}'?)" if close else ""


class ThreadRank(IntEnum):
    """What the index of a thread axis counts."""

    BLOCK = 0
    """Blocks of the grid."""
    THREAD = 1
    """Threads of a block, virtual ones included."""


VIRTUAL_THREAD_TAGS: Final = ("vthread", "vthread.x", "vthread.y", "vthread.z")
"""The thread tags that TVM launches as `virtual_thread`."""


@dataclass(frozen=True)
class ThreadAxis:
    """A thread axis: its rank, and its dimension, 0, 1 or 2 for x, y and z.

    Virtual axes have the dimension -1, whatever letter their tag ends in.
    """

    tag: str
    rank: ThreadRank
    dim: int

    @staticmethod
    def parse(tag: str) -> ThreadAxis:
        """The axis of a thread tag.

        Raises ValueError for a tag that names none.
        """
        axis = AXES.get(tag)
        if axis is None:
            raise ValueError(
                f"unknown thread axis '{tag}'{did_you_mean(tag, tuple(AXES))}; use one "
                f"of {', '.join(AXES)}"
            )
        return axis

    @property
    def is_virtual(self) -> bool:
        """Whether its threads run one after the other, in one hardware thread."""
        return self.dim < 0

    @property
    def is_block(self) -> bool:
        """Whether it counts the blocks of the grid."""
        return self.rank is ThreadRank.BLOCK

    @property
    def is_thread(self) -> bool:
        """Whether it counts the hardware threads of a block."""
        return self.rank is ThreadRank.THREAD and not self.is_virtual


AXES: Final[dict[str, ThreadAxis]] = {
    **{
        f"{name}.{letter}": ThreadAxis(f"{name}.{letter}", rank, dim)
        for name, rank in (
            ("blockIdx", ThreadRank.BLOCK),
            ("threadIdx", ThreadRank.THREAD),
        )
        for dim, letter in enumerate("xyz")
    },
    **{
        tag: ThreadAxis(tag, ThreadRank.THREAD, -1)
        for tag in (*VIRTUAL_THREAD_TAGS, "cthread")
    },
}
"""All thread axes by tag."""

BLOCK_TAGS: Final = tuple(axis.tag for axis in AXES.values() if axis.is_block)
THREAD_TAGS: Final = tuple(axis.tag for axis in AXES.values() if axis.is_thread)
