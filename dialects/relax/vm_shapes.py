"""Codes that the virtual machine's functions of shapes are called with.

They come in pairs of a code and a number, one pair per extent. A slot is an element of
the heap of shapes, a tensor of i64 that a function allocates.
"""

from __future__ import annotations

from enum import IntEnum


class MatchCode(IntEnum):
    """What `vm.builtin.match_shape` does with an extent."""

    EQUALS_NUMBER = 0
    """It must be the number."""
    STORE = 1
    """It is stored in the slot."""
    SKIP = 2
    """Nothing."""
    EQUALS_SLOT = 3
    """It must be what is in the slot."""


class ShapeCode(IntEnum):
    """What `vm.builtin.make_shape` takes for an extent."""

    NUMBER = 0
    """The number."""
    SLOT = 1
    """What is in the slot."""
