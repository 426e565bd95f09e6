"""Tests for instances of classes, answered once for each class of objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from xdsl.dialects.builtin import UnregisteredOp

if TYPE_CHECKING:
    from typing_extensions import TypeIs

_T = TypeVar("_T")


class DerivedClasses(dict[type, bool]):
    """Whether a class is one of some classes, or derives from one of them.

    What is found out is kept by class, but for operations that no dialect has: a parser
    makes classes for those, which are to end with the module.
    """

    def __init__(self, classes: tuple[type, ...]) -> None:
        super().__init__()
        self._wanted = frozenset(classes)

    def __missing__(self, kind: type) -> bool:
        found = not self._wanted.isdisjoint(kind.__mro__)
        if UnregisteredOp not in kind.__mro__:
            self[kind] = found
        return found


def of_classes(*classes: type[_T]) -> Callable[[object], TypeIs[_T]]:
    """`isinstance` with the classes, for questions that are asked of every operation.

    Classes of xDSL are abstract base classes. To say that an object is none of them takes
    `isinstance` a fifth of a microsecond for each; here one look-up answers for all. The
    first time it goes through all classes that derive from them; here it does not, so
    classes that are only registered as theirs do not count.
    """
    known = DerivedClasses(classes)

    def test(item: object) -> TypeIs[_T]:
        return known[type(item)]

    return test
