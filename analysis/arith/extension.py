"""What simplification may do beyond the ordinary."""

from __future__ import annotations

from enum import IntFlag


class Extension(IntFlag):
    """What simplification may do beyond the ordinary, at some cost; TVM's values."""

    NONE = 0
    TRANSITIVELY_PROVE_INEQUALITIES = 1
    """Comparisons follow from chains of known ones."""
    CONVERT_BOOLEAN_TO_AND_OF_ORS = 2
    """Conditions become conjunctions of disjunctions."""
    APPLY_CONSTRAINTS_TO_BOOLEAN_BRANCHES = 4
    """Each operand of `and` and `or` is simplified knowing the other."""
    COMPARISON_OF_PRODUCT_AND_SUM = 8
    """Products are compared with sums of their factors."""
