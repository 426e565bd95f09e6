"""Operators with many attributes: their rule reads the operation, not parameters."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    f64,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import prop_def
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects.relax.operators import OperatorOp
from xdsl_tvm.dialects.relax.types import OBJECT


class RuleOp(OperatorOp, ABC):
    """An operator whose `infer_result_type` is all of the rule."""

    def _make(
        self,
        operands: Sequence[SSAValue | Operation | None],
        properties: Mapping[str, Attribute | None],
        result_type: Attribute | None,
    ) -> None:
        """Initialise; without `result_type` the result is what the rule says.

        Raises VerifyException where operands and attributes do not fit together.
        """
        super().__init__(
            operands=operands,
            result_types=[OBJECT if result_type is None else result_type],
            properties=properties,
        )
        if result_type is None:
            inferred = self.infer_result_type()
            Rewriter.replace_value_with_new_type(self.result, inferred)


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
