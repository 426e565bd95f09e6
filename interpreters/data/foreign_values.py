"""Numbers as implementations of other dialects have them in xDSL's interpreter.

Before xDSL 0.75 they are numbers of Python, from then on attributes of their type.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, cast

import numpy as np
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr, i1
from xdsl.ir import Attribute

from xdsl_tvm.dialects.tir.types import is_integer_type

_INDEX: Final = IndexType()
_INDEX_BITS: Final = 64


def to_foreign(value: Any, type_: Attribute) -> Any:
    """A value of ours for an implementation of another dialect; numbers alone change."""
    if not _is_number(value) or (attribute_of := _attribute_of()) is None:
        return value
    if isinstance(type_, AnyFloat):
        return attribute_of(float(value), type_, _INDEX_BITS)
    if type_ == _INDEX or is_integer_type(type_):
        return attribute_of(int(value), type_, _INDEX_BITS)
    return value


def from_foreign(value: Any) -> Any:
    """A value of another dialect's implementation as one of ours."""
    if isinstance(value, FloatAttr):
        return value.value.data
    if not isinstance(value, IntegerAttr):
        return value
    number = cast("IntegerAttr[Any]", value)
    # True is -1 in one bit with a sign.
    return bool(number.value.data) if number.type == i1 else number.value.data


@cache
def _attribute_of() -> Callable[[Any, Attribute, int], Attribute] | None:
    """What makes the attribute of a number; None before xDSL 0.75."""
    # Late: the package imports the implementations of all dialects.
    from xdsl.interpreters import builtin

    return getattr(builtin, "scalar_attr", None)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number | np.bool_)
