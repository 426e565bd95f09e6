"""Products of warpgroups in flight: what they read, and the sums of each thread."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from xdsl_tvm.interpreters.data.memory import Memory
    from xdsl_tvm.interpreters.gpu.grid_memory import GridMemory

Array: TypeAlias = np.ndarray[Any, Any]

_WARP: Final = 32
_WARPS: Final = 4


@dataclass(eq=False)
class WarpgroupProduct:
    """A product that a warpgroup began, which reads shared memory."""

    grid: GridMemory = field(repr=False)
    stamp: int
    first: int
    """The first thread of the warpgroup."""
    waited: dict[int, int] = field(default_factory=dict[int, int])
    """By warp, when it waited."""

    @property
    def what(self) -> str:
        """What it is, for messages."""
        return "product"

    @property
    def state(self) -> str:
        """What is missing, for messages."""
        return "its warpgroup has not waited for it"

    def is_seen_by(self, thread: int) -> bool:
        """Whether all warps have waited for it, and a thread knows that."""
        grid = self.grid
        for warp in range(self.first // _WARP, self.first // _WARP + _WARPS):
            done = self.waited.get(warp)
            if done is None:
                return False
            if warp == thread // _WARP or done < grid.epoch:
                continue
            lanes = range(warp * _WARP, (warp + 1) * _WARP)
            if not any(grid.knows(thread, lane, done) for lane in lanes):
                return False
        return True


@dataclass(eq=False)
class Sums:
    """The sums of a thread, of the latest product that adds to them."""

    product: WarpgroupProduct
    memory: Memory
    start: int
    values: Array


@dataclass(eq=False)
class IssuedProducts:
    """The products of one thread that are in flight."""

    open: list[WarpgroupProduct] = field(default_factory=list[WarpgroupProduct])
    groups: list[list[WarpgroupProduct]] = field(
        default_factory=list["list[WarpgroupProduct]"]
    )
    pending: dict[tuple[int, int], Sums] = field(
        default_factory=dict[tuple[int, int], Sums]
    )
    """By memory and first byte."""
    is_fenced: bool = False
    """Whether registers may be read by a product."""

    def commit(self) -> None:
        """Close the group of the products begun so far; it may be empty."""
        self.groups.append(self.open)
        self.open = []
