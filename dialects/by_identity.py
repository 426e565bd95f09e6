"""Functions of attributes whose results are kept by the identity of the attribute."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from xdsl.ir import Attribute

_T = TypeVar("_T")

_MOST = 4096
"""Attributes whose results a function keeps, and which live as long."""


def by_identity(function: Callable[[Attribute], _T]) -> Callable[[Attribute], _T]:
    """`function`, which depends on nothing else, called once for each attribute object.

    Programs have few types and ask much of them, and hashing a type, as `functools.cache`
    does, takes longer than most questions. An attribute whose result is kept is kept too,
    so that no other one has its identity.
    """
    # One entry holds both: between two of them, another thread could clear the table.
    known: dict[int, tuple[_T, Attribute]] = {}

    @wraps(function)
    def kept(attribute: Attribute) -> _T:
        try:
            return known[id(attribute)][0]
        except KeyError:
            pass
        found = function(attribute)
        if len(known) >= _MOST:
            known.clear()
        known[id(attribute)] = found, attribute
        return found

    return kept
