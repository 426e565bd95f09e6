"""Constants that are kept out of the text of a module."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Datum:
    """A constant that the text declares only: its symbol, its bytes, their alignment."""

    name: str
    data: bytes
    alignment: int
