"""What a dialect consists of: the definitions of its modules, found by walking them."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from xdsl.ir import Attribute, Operation


def operations_of(*modules: ModuleType) -> list[type[Operation]]:
    """The operations that the modules define, in the order of definition.

    Bases of operations have no `name` and are left out.
    """
    return [cls for cls in _named_classes(modules) if issubclass(cls, Operation)]


def attributes_of(*modules: ModuleType) -> list[type[Attribute]]:
    """The attributes and types that the modules define, in the order of definition.

    Bases of attributes have no `name` and are left out.
    """
    return [cls for cls in _named_classes(modules) if issubclass(cls, Attribute)]


def _named_classes(modules: tuple[ModuleType, ...]) -> Iterator[type]:
    """The classes with a `name` of their own, imported ones excluded."""
    for module in modules:
        for definition in vars(module).values():
            if (
                isinstance(definition, type)
                and definition.__module__ == module.__name__
                and "name" in vars(definition)
            ):
                yield definition
