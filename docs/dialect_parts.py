"""What the pages of the dialects have in common."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, cast

from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, TypeAttribute
from xdsl.irdl import IRDLOperation
from xdsl.traits import HasParent, OpTrait


def documentation(owner: type) -> str:
    """The docstring of a class, whose first paragraph is one line.

    Raises ValueError where there is none.
    """
    text = inspect.getdoc(owner) if "__doc__" in vars(owner) else None
    if not text:
        raise ValueError(f"{owner.__name__} needs a docstring")
    return text


def prose_and_example(op: type[IRDLOperation]) -> tuple[str, str]:
    """The two parts of an operation's docstring. ValueError where there is no example."""
    prose, begin, example = documentation(op).partition("```mlir\n")
    if not begin:
        raise ValueError(f"{op.name}: the docstring needs an example")
    return prose, f"{begin}{example}"


def links(ops: Iterable[type[IRDLOperation]]) -> str:
    """Links to operations on the same page."""
    return ", ".join(f"[`{op.name}`](#{op.name.replace('.', '')})" for op in ops)


def attribute_section(owner: type[Attribute]) -> str:
    """The section of a type or an attribute."""
    sigil, kind = (
        ("!", "Type") if issubclass(owner, TypeAttribute) else ("#", "Attribute")
    )
    text = f"\n### {kind} `{sigil}{owner.name}`\n\n{documentation(owner)}\n"
    if issubclass(owner, EnumAttribute):
        text += f"\nValues: {values(cast('type[EnumAttribute[Any]]', owner))}.\n"
    return text


def values(owner: type[EnumAttribute[Any]]) -> str:
    """The values of an enumeration."""
    return ", ".join(f"`{value}`" for value in cast(type[Enum], owner.enum_type))


def effects(op: type[IRDLOperation], words: Mapping[type[OpTrait], str]) -> str:
    """What the traits of an operation mean for a user, in the order of `words`.

    The first class there that fits a trait counts. Raises ValueError if none does.
    """
    found = [_trait(trait, words) for trait in op.traits.traits]
    order = list(words.values())
    return " ".join(sorted(filter(None, found), key=order.index))


def _trait(trait: OpTrait, words: Mapping[type[OpTrait], str]) -> str:
    for known, text in words.items():
        if isinstance(trait, known):
            return text
    raise ValueError(f"docs: no words for the trait {trait}")


def parents(op: type[IRDLOperation]) -> list[str]:
    """The names of the operations of which one must be around."""
    return [
        parent.name
        for trait in op.traits.traits
        if isinstance(trait, HasParent)
        for parent in trait.op_types
    ]
