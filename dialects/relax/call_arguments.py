"""Arguments of operators' Python functions, where an operator accepts more than one form.

`OperatorOp.complete_arguments` of a class brings them to the form of its constructor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from xdsl.ir import Operation, SSAValue

Insert: TypeAlias = Callable[[Operation], SSAValue]
"""Inserts an operation and returns its only result."""


@dataclass(frozen=True)
class Device:
    """A device of the runtime: the number of its DLPack type, and which one of them.

    It may stand for both numbers of `hint_on_device`, as TVM's `Device` does.
    """

    dev_type: int
    dev_id: int = 0


def as_value(value: object) -> SSAValue | None:
    """The argument if it is a value of the program, None otherwise."""
    return cast("SSAValue", value) if isinstance(value, SSAValue) else None


def as_list(value: object) -> list[object] | None:
    """The elements of a sequence that is no string, None for anything else."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(cast("Sequence[object]", value))
    return None
