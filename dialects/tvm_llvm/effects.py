"""Effects on memory."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from xdsl.ir import Operation
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind

__all__ = ["ReadWriteEffect"]

READ = frozenset({EffectInstance(MemoryEffectKind.READ)})

WRITE = frozenset({EffectInstance(MemoryEffectKind.WRITE)})

READ_WRITE = READ | WRITE


class ReadWriteEffect(MemoryEffect):
    """Reads and writes memory, or orders the accesses around it."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return READ_WRITE
