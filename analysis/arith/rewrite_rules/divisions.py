"""Rules for quotients and remainders of index values.

docs/spec/tir-passes-b-arith-and-loops.md §1.6.4.
"""

from xdsl_tvm.analysis.arith.patterns import RuleTable

TRUNC_DIV = RuleTable(
    "div",
    """
td(td(x, c1), c2) -> td(x, c1 * c2) if c1 > 0 and c2 > 0
td(td(x, c1) + c2, c3) -> td(x + c1 * c2, c1 * c3)
    if c1 > 0 and c2 >= 0 and c3 > 0 and x >= 0
td(x * c1, c2) -> x * td(c1, c2) if c1 > 0 and c2 > 0 and c1 % c2 == 0
td(x * c1, c2) -> td(x, td(c2, c1)) if c1 > 0 and c2 > 0 and c2 % c1 == 0
td(x, x) -> 1
td(x * c1, x) -> c1 [c]
td(x * c1 + y, c2) -> x * td(c1, c2) + td(y, c2)
    if c1 >= 0 and c2 > 0 and c1 % c2 == 0 and x >= 0 and y >= 0 [c]
td(min(x * c1, y), c2) -> min(x * td(c1, c2), td(y, c2))
    if c1 >= 0 and c2 > 0 and c1 % c2 == 0 and x >= 0 and y >= 0 [m]
td(max(x * c1, y), c2) -> max(x * td(c1, c2), td(y, c2))
    if c1 >= 0 and c2 > 0 and c1 % c2 == 0 and x >= 0 and y >= 0 [m]
td(x * c1 + y + z, c2) -> x * td(c1, c2) + td(y + z, c2)
    if c1 >= 0 and c2 > 0 and c1 % c2 == 0 and x >= 0 and y + z >= 0
td(x * c1 - y + z, c2) -> x * td(c1, c2) + td(z - y, c2)
    if c1 >= 0 and c2 > 0 and c1 % c2 == 0 and x >= 0 and z - y >= 0
td(x * c1 + y - z, c2) -> x * td(c1, c2) + td(y - z, c2)
    if c1 >= 0 and c2 > 0 and c1 % c2 == 0 and x >= 0 and y - z >= 0
td(y + x * c1 + z, c2) -> x * td(c1, c2) + td(y + z, c2)
    if c1 > 0 and c2 > 0 and c1 % c2 == 0 and x >= 0 and y + z >= 0
td(x + c1, c2) -> td(x, c2) + td(c1, c2)
    if c1 > 0 and c2 > 0 and c1 % c2 == 0 and x >= 0
td(x + y, x) -> td(y, x) + 1 if x >= 0 and y >= 0 [c]
td(x + y + z, x) -> td(y + z, x) + 1 if x >= 0 and y + z >= 0 [c]
td(x * y, y) -> x if x >= 0 and y >= 0 [c]
td(x * z + y, z) -> x + td(y, z) if x >= 0 and y >= 0 and z >= 0 [c]
""",
)

TRUNC_MOD = RuleTable(
    "mod",
    """
tm(x * c1, c2) -> 0 if c2 != 0 and c1 % c2 == 0
tm(x * c1 + y, c2) -> tm(y, c2)
    if c2 > 0 and c1 % c2 == 0 and x * c1 >= 0 and y >= 0 [c]
tm(x + c1, c2) -> tm(x, c2) if c2 > 0 and c1 >= 0 and c1 % c2 == 0 and x >= 0
tm(x, x) -> 0
tm(x, c1) -> tm(x, 0 - c1) if c1 < 0 [r]
""",
)

NESTED_FLOOR_DIV = RuleTable(
    "floordiv of quotients",
    """
x // c1 // c2 -> x // (c1 * c2) if c1 > 0 and c2 > 0
(x // c1 + c2) // c3 -> (x + c1 * c2) // (c1 * c3) if c1 > 0 and c3 > 0
""",
)
"""Tried before the driver splits linear sums."""

FLOOR_DIV = RuleTable(
    "floordiv",
    """
x // x -> 1
x * c1 // x -> c1 [c]
(x % 2 + 1) // 2 -> x % 2
min(x * c1, y) // c2 -> min(x * (c1 // c2), y // c2) if c2 > 0 and c1 % c2 == 0 [m]
max(x * c1, y) // c2 -> max(x * (c1 // c2), y // c2) if c2 > 0 and c1 % c2 == 0 [m]
(x * c1 + y + z) // c2 -> x * (c1 // c2) + (y + z) // c2
    if c2 > 0 and c1 % c2 == 0
(x * c1 + y + z) // c2 -> x // (c2 // c1)
    if c1 > 0 and c2 > 0 and c2 % c1 == 0 and (y + z) // c1 == 0
(x * c1 - y + z) // c2 -> x * (c1 // c2) + (z - y) // c2
    if c2 > 0 and c1 % c2 == 0
(x * c1 + z - y) // c2 -> x * (c1 // c2) + (z - y) // c2
    if c2 > 0 and c1 % c2 == 0
(y + x * c1 + z) // c2 -> x * (c1 // c2) + (y + z) // c2
    if c2 > 0 and c1 % c2 == 0
(x + c1) // c2 -> x // c2 + c1 // c2 if c2 > 0 and c1 % c2 == 0
x * c1 // (x * c2) -> c1 // c2 if c2 > 0
(x + y) // x -> y // x + 1 if x >= 0 [c]
(x + y + z) // x -> (y + z) // x + 1 if x >= 0 [c]
x * y // y -> x if y >= 0 [c]
(x * z + y) // z -> x + y // z if z >= 0 [c]
(x * z * c1 + y) // (z * c1) -> x + y // (z * c1) if z * c1 >= 0
(x - x % c1) // c1 -> x // c1 if c1 != 0
""",
)

FLOOR_MOD = RuleTable(
    "floormod",
    """
x * c1 % c2 -> x * (c1 % c2) % c2 if c2 != 0
(x * c1 + y) % c2 -> x % (c2 // c1) * c1 + y
    if c1 > 0 and c2 > 0 and c2 % c1 == 0 and y // c1 == 0
(x * c1 + y) % c2 -> (x * (c1 % c2) + y) % c2 if c2 > 0 [c]
(x + c1) % c2 -> (x + c1 % c2) % c2 if c2 > 0 and (c1 >= c2 or c1 < 0)
x * c1 % (x * c2) -> x * (c1 % c2) if c2 != 0
x * y % y -> 0 [c]
x % x -> 0
(x + z % y) % y -> 0 if (x + z) % y == 0 [c]
(x - x % z) % y -> 0 if y == z or y == 0 - z
(x % z - x) % y -> 0 if y == z or y == 0 - z
(x * z * c1 + y) % (z * c1) -> y % (z * c1) if z * c1 >= 0
""",
)
