"""Checks of operand and result types that verifiers of several modules share."""

from __future__ import annotations

from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.tir.types import (
    MAX_LANES,
    is_custom,
    is_expression_type,
    is_float,
    is_integer,
)


def require_expression(op: Operation, dtype: Attribute) -> None:
    """Raise VerifyException unless `dtype` is the type of a TIR expression."""
    if not is_expression_type(dtype):
        raise VerifyException(
            f"{op.name}: {dtype} is no TIR dtype; use an integer, a float, a handle, a "
            f"pointer or a rank-1 vector of 2 to {MAX_LANES} lanes"
        )


def require_numeric(op: Operation, dtype: Attribute) -> None:
    if not (is_integer(dtype) or is_float(dtype) or is_custom(dtype)):
        raise VerifyException(
            f"{op.name}: operands must be integers or floats, got {dtype}"
        )
