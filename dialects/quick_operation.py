"""Operations that are made without a search for groups of operands.

xDSL compares what a new operation is made of with its definition, group by group. Passes
make operations by the thousand, and verification compares them in any case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import TypeAlias

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, IRDLOperation

from xdsl_tvm.dialects.by_class import of_classes

Group: TypeAlias = SSAValue | Operation | Sequence[SSAValue | Operation] | None
"""An operand, those of a variadic group, or an optional operand that is not there."""


class QuickOperation(IRDLOperation):
    """The base of operations that passes make often; none has optional results.

    `__init__` accepts what that of `IRDLOperation` does, in fewer forms: one type for
    each result, and regions as such.
    """

    def __init__(
        self,
        *,
        operands: Sequence[Group] = (),
        result_types: Sequence[Attribute] = (),
        properties: Mapping[str, Attribute | None] | None = None,
        regions: Sequence[Region] = (),
    ) -> None:
        values: list[SSAValue] = []
        sizes: list[int] = []
        for group in operands:
            before = len(values)
            if _is_operand(group):
                values.append(SSAValue.get(group))
            elif group is not None:
                values += map(SSAValue.get, group)
            sizes.append(len(values) - before)
        given = properties or {}
        kept = {name: value for name, value in given.items() if value is not None}
        if _has_segments(type(self)):
            kept[AttrSizedOperandSegments.attribute_name] = segments(*sizes)
        Operation.__init__(
            self,
            operands=values,
            result_types=result_types,
            properties=kept,
            regions=regions,
        )


_is_operand = of_classes(SSAValue, Operation)


@cache
def _has_segments(kind: type[IRDLOperation]) -> bool:
    """Whether operations of a class say how many operands each group has."""
    options = kind.get_irdl_definition().options
    return any(isinstance(option, AttrSizedOperandSegments) for option in options)


@lru_cache(maxsize=1024)
def segments(*sizes: int) -> DenseArrayBase:
    """How many operands each group of operands has."""
    return DenseArrayBase.from_list(i32, sizes)
