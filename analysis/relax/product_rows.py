"""The rows of matrix products, and how many are worth rearranging the matrix for."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl_tvm.dialects.relax.symbolic import Dim

LEAST_ROWS = 4
"""Products of fewer rows read a matrix once, and where it is."""


def product_rows(shape: Sequence[Dim], unknown: int = LEAST_ROWS) -> int:
    """The rows of a left operand, `unknown` for each dimension that is not constant."""
    rows = 1
    for dim in shape[:-1]:
        rows *= unknown if dim.value is None else dim.value
    return rows
