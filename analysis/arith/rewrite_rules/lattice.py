"""Rules for `min`, `max` and `select`.

docs/spec/tir-passes-b-arith-and-loops.md §1.6.4: Min, Max, Select.
"""

import re

from xdsl_tvm.analysis.arith.patterns import Operands, RuleTable


def _dual(rules: str) -> str:
    """The rules with `min` and `max` in each other's place."""
    swapped = {"min": "max", "max": "min"}
    return re.sub(r"\bm(?:in|ax)\b", lambda match: swapped[match[0]], rules)


# What rounding does is not the same in both directions.
_MIN_ROUNDED = """
min(td(x + c1, c2) * c2, x) -> x if c2 > 0 and c1 + 1 == c2 [m]
min((x + c1) // c2 * c2, x) -> x if c2 > 0 and c1 + 1 == c2 [m]
min(td(x + c1, c2) * c2, max(x, c2)) -> max(x, c2)
    if c2 > 0 and c1 + 1 == c2 and x >= 1 [m]
min((x + c1) // c2 * c2, max(x, c2)) -> max(x, c2)
    if c2 > 0 and c1 + 1 == c2 and x >= 1 [m]
min(x, x // c2 * c2) -> x // c2 * c2 if c2 > 0 [m]
"""
_MAX_ROUNDED = """
max(td(x + c1, c2) * c2, x) -> td(x + c1, c2) * c2 if c2 > 0 and c1 + 1 == c2 [m]
max((x + c1) // c2 * c2, x) -> (x + c1) // c2 * c2 if c2 > 0 and c1 + 1 == c2 [m]
max(x // c2 * c2, x) -> x if c2 > 0 [m]
"""
_MIN_COMMON = """
min(max(x, y), min(x, y)) -> min(x, y) [c]
min(min(x, y), x) -> min(x, y) [c]
min(max(x, y), x) -> x [c]
min(min(min(x, y), z), y) -> min(min(x, y), z)
min(min(min(min(x, y), z), s), y) -> min(min(min(x, y), z), s)
min(min(min(min(min(x, y), z), s), t), y) -> min(min(min(min(x, y), z), s), t)
min(max(x, y), max(x, z)) -> max(min(y, z), x) [c]
min(min(x, y), min(x, z)) -> min(min(y, z), x) [c]
min(x + y, x + z) -> min(y, z) + x [c]
min(y - x, z - x) -> min(y, z) - x
min(x - y, x - z) -> x - max(y, z)
min(min(x, c1), c2) -> min(x, min(c1, c2))
min(td(x, c1), td(y, c1)) -> td(min(x, y), c1) if c1 > 0
min(td(x, c1), td(y, c1)) -> td(max(x, y), c1) if c1 < 0
min(x // c1, y // c1) -> min(x, y) // c1 if c1 > 0
min(x // c1, y // c1) -> max(x, y) // c1 if c1 < 0
min(x * c1, y * c1) -> min(x, y) * c1 if c1 > 0
min(x * c1, y * c1) -> max(x, y) * c1 if c1 <= 0
min(x * c1, c2) -> min(x, td(c2, c1)) * c1 if c1 > 0 and c2 % c1 == 0
min(x * c1, c2) -> max(x, td(c2, c1)) * c1 if c1 < 0 and c2 % c1 == 0
"""
_MIN_LAST = """
min(min(x, c1), y) -> min(min(x, y), c1) [r]
min(c1 - x, c2) -> c1 - max(x, c1 - c2) if c2 != 0 [r]
"""

MIN = RuleTable("min", _MIN_ROUNDED + _MIN_COMMON)
MIN_LAST = RuleTable("min, last", _MIN_LAST)
MAX = RuleTable("max", _MAX_ROUNDED + _dual(_MIN_COMMON))
MAX_LAST = RuleTable("max, last", _dual(_MIN_LAST))

_MIN_OFFSETS = """
min(x + c1, x + c2) -> x + min(c1, c2)
min(x + c1, x) -> x + min(c1, 0) [m]
min(c1 - x, c2 - x) -> min(c1, c2) - x
"""
MIN_OFFSETS = RuleTable("min of offsets", _MIN_OFFSETS)
MAX_OFFSETS = RuleTable("max of offsets", _dual(_MIN_OFFSETS))
"""Tried before the others: the smaller, or greater, of two constant distances."""

# Rules of operators of any type on choices by one condition.
ADD_OF_SELECTS = RuleTable(
    "add of selects",
    "select(x, y, z) + select(x, s, t) -> select(x, y + s, z + t)",
)
SUB_OF_SELECTS = RuleTable(
    "sub of selects",
    "select(x, y, z) - select(x, s, t) -> select(x, y - s, z - t)",
)
SUB_FROM_SELECT = RuleTable(
    "sub from selects",
    """
select(x, y, z) - z -> select(x, y - z, 0)
select(x, y, z) - y -> select(x, 0, z - y)
""",
    Operands.INTEGER,
)
MIN_OF_SELECTS = RuleTable(
    "min of selects",
    "min(select(x, y, z), select(x, s, t)) -> select(x, min(y, s), min(z, t))",
)
MAX_OF_SELECTS = RuleTable(
    "max of selects",
    "max(select(x, y, z), select(x, s, t)) -> select(x, max(y, s), max(z, t))",
)
