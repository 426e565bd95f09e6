"""Memory effects of the `tir` ops, stated so that stock xDSL passes are right about them.

A *marker* is an op that must be neither merged with an equal one nor dropped, though it
touches no memory that a load or store could see: a symbolic extent, an allocation, a
binding. An allocation effect that names no value says exactly that to xDSL's `cse` and
`dce` (docs/spec/tvmscript.md §15.3).
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from xdsl.ir import Operation
from xdsl.traits import (
    EffectInstance,
    MemoryAllocEffect,
    MemoryEffect,
    MemoryEffectKind,
)


class MarkerEffect(MemoryAllocEffect):
    """Neither merged nor dropped, and no barrier for loads and stores."""


_READ = EffectInstance(MemoryEffectKind.READ)
_WRITE = EffectInstance(MemoryEffectKind.WRITE)
_ALLOC = EffectInstance(MemoryEffectKind.ALLOC)

PURE: AbstractSet[EffectInstance] = frozenset()
READ: AbstractSet[EffectInstance] = frozenset((_READ,))
UPDATE: AbstractSet[EffectInstance] = frozenset((_READ, _WRITE))
MARKER: AbstractSet[EffectInstance] = frozenset((_ALLOC,))


class UpdateEffect(MemoryEffect):
    """Reads and writes memory that is not named: never moved, merged or dropped."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return UPDATE
