"""Rules for comparisons of index values.

docs/spec/tir-passes-b-arith-and-loops.md §1.6.4: EQ, LT.
"""

from xdsl_tvm.analysis.arith.patterns import RuleTable

# A difference from a constant is a sum by the time it is compared, except from the least
# number of its type, whose opposite is none: for it are the rules with `x - c2`.
EQ = RuleTable(
    "eq",
    """
c1 == x -> x == c1
x - c1 == c2 -> x == c2 + c1
c1 - x == c2 -> x == c1 - c2
x + c1 == c2 -> x == c2 - c1
x * y == 0 -> x == 0 or y == 0 [r]
""",
)

LT = RuleTable(
    "lt",
    """
x + y < x + z -> y < z [c]
y - x < z - x -> y < z
x - y < x - z -> z < y
x < x + z -> 0 < z [c]
x < x - z -> z < 0
x * c1 < y * c1 -> x < y if c1 > 0
x * c1 < y * c1 -> y < x if c1 < 0
x * c2 < c1 -> x < td(c1 - 1, c2) + 1 if c1 > 0 and c2 > 0
x * c2 < c1 -> x < td(c1, c2) if c1 <= 0 and c2 > 0
x * c2 < c1 -> td(c1 - 1, c2) - 1 < x if c1 > 0 and c2 < 0
x * c2 < c1 -> td(c1, c2) < x if c1 <= 0 and c2 < 0
c1 < x * c2 -> td(c1 + 1, c2) - 1 < x if c1 < 0 and c2 > 0
c1 < x * c2 -> td(c1, c2) < x if c1 >= 0 and c2 > 0
c1 < x * c2 -> x < td(c1 + 1, c2) + 1 if c1 < 0 and c2 < 0
c1 < x * c2 -> x < td(c1, c2) if c1 >= 0 and c2 < 0
td(x, c1) < c2 -> x < c1 * c2 if c1 > 0 and c2 > 0
td(x, c1) < c2 -> x < c1 * (c2 - 1) + 1 if c1 > 0 and c2 <= 0
c1 < td(x, c2) -> (c1 + 1) * c2 - 1 < x if c1 >= 0 and c2 > 0
c1 < td(x, c2) -> c1 * c2 < x if c1 < 0 and c2 > 0
td(x, c1) * c1 < x -> 0 < tm(x, c1) if c1 > 0
td(x, c1) * c1 < x + y -> 0 < tm(x, c1) + y if c1 > 0
td(x, c1) * c1 < x - y -> y < tm(x, c1) if c1 > 0
td(x + c2, c1) * c1 < x -> c2 < tm(x + c2, c1) if c1 > 0
td(x + c2, c1) * c1 < x + y -> c2 < tm(x + c2, c1) + y if c1 > 0
td(x + c2, c1) * c1 < x - y -> y < tm(x + c2, c1) + (0 - c2) if c1 > 0
x // c1 < c2 -> x < c1 * c2 if c1 > 0
c1 < x // c2 -> (c1 + 1) * c2 - 1 < x if c2 > 0
x // c1 * c1 < x -> 0 < x % c1 if c1 > 0
x // c1 * c1 < x + y -> 0 < x % c1 + y if c1 > 0
x // c1 * c1 < x - y -> y < x % c1 if c1 > 0
(x + c2) // c1 * c1 < x -> c2 < (x + c2) % c1 if c1 > 0
(x + c2) // c1 * c1 < x + y -> c2 < (x + c2) % c1 + y if c1 > 0
(x + c2) // c1 * c1 < x - y -> y < (x + c2) % c1 + (0 - c2) if c1 > 0
min(x, y) < z -> x < z or y < z [r]
max(x, y) < z -> x < z and y < z [r]
z < min(x, y) -> z < x and z < y [r]
z < max(x, y) -> z < x or z < y [r]
c1 < x + c2 -> c1 - c2 < x [r]
c1 - x < c2 -> c1 - c2 < x [r]
c1 < c2 - x -> x < c2 - c1 [r]
x + c1 < c2 -> x < c2 - c1 [r]
c1 < x - c2 -> c1 + c2 < x [r]
x - c2 < c1 -> x < c1 + c2 [r]
x < c1 - y -> x + y < c1 [r]
c1 - y < x -> c1 < x + y [r]
x < c1 + y -> x - y < c1 [r]
c1 + y < x -> c1 < x - y [r]
""",
)
