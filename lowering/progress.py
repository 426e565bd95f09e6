"""What is told of the steps of a compilation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[str, int, int], None]
"""Told of each step: its name, its number from 0, and how many there are."""
