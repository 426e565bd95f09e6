"""TVM's `tvm.runtime.convert`."""

from __future__ import annotations

from typing import Any, cast


def convert(value: Any) -> Any:
    """A value of Python as functions here take it: a list as a tuple, others as they are.

    TVM makes objects of numbers, texts and functions, which are those of Python here.
    """
    if isinstance(value, list | tuple):
        return tuple(map(convert, cast("list[Any] | tuple[Any, ...]", value)))
    return value
