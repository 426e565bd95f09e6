"""Properties of operations: from the values of Python and back."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    f64,
    i64,
)
from xdsl.irdl import prop_def


def flag(value: bool) -> UnitAttr | None:
    """The property that is there if `value`."""
    return UnitAttr() if value else None


def integer(value: int | None) -> IntegerAttr | None:
    """The property of a number, none for None."""
    return None if value is None else IntegerAttr(value, i64)


def number_of(value: IntegerAttr | None) -> int | None:
    """The number of a property, None where it is not there."""
    return None if value is None else value.value.data


def integers(values: int | Sequence[int] | None) -> DenseArrayBase | None:
    """The property of several numbers, none for None; one number is a list of one."""
    if values is None:
        return None
    return DenseArrayBase.from_list(i64, [values] if isinstance(values, int) else values)


def ints_prop() -> DenseArrayBase[IntegerType]:
    """A property of several i64 numbers."""
    return prop_def(DenseArrayBase.constr(i64))


def values_of(numbers: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    """The numbers of a property."""
    return tuple(numbers.get_values())


def number(value: int) -> IntegerAttr:
    """A property of one number."""
    return IntegerAttr(value, i64)


def real(value: float) -> FloatAttr:
    """A property of one number with a point."""
    return FloatAttr(value, f64)


def text(value: str | None) -> StringAttr | None:
    """A property of a string, none for None."""
    return None if value is None else StringAttr(value)
