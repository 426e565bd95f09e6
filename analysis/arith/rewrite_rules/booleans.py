"""Rules for `not`, `and` and `or`.

docs/spec/tir-passes-b-arith-and-loops.md §1.6.4: Not, And, Or.
"""

from xdsl_tvm.analysis.arith.patterns import Operands, RuleTable

NOT = RuleTable(
    "not",
    """
not not x -> x
not (x or y) -> not x and not y [r]
not (x and y) -> not x or not y [r]
""",
)

# A comparison with a NaN is false, and so is the opposite one; `!=` may be either.
NOT_COMPARISON = RuleTable(
    "not of a comparison",
    """
not x == y -> x != y
not x != y -> x == y
not x <= y -> y < x
not x < y -> y <= x
""",
    Operands.ORDERED,
)

AND = RuleTable(
    "and",
    """
x == y and x != y -> False [c]
x and not x -> False [c]
x <= y and y < x -> False [c]
""",
)

# `x - y * c` is `x + y * -c` by the time it is compared.
AND_INDEX = RuleTable(
    "and of index comparisons",
    """
x < c1 and c2 < x -> False if c2 + 1 >= c1 [c]
x < c1 and c2 <= x -> False if c2 >= c1 [c]
x <= c1 and c2 < x -> False if c2 >= c1 [c]
x <= c1 and c2 <= x -> False if c2 > c1 [c]
x == c1 and x == c2 -> x == c1 and c1 == c2
x == c1 and x != c2 -> x == c1 and c1 != c2 [c]
x // c2 == c1 and x % c2 == c3 -> x == c1 * c2 + c3 if 0 <= c3 and c3 < c2 [c][r]
0 <= x + y * c2 and x + y * c2 < c1 -> y == x // c1 if c2 == -c1 and c1 > 0 [c][r]
c1 < x + y * c2 and x + y * c2 <= 0 -> y == x // c1 if c2 == -c1 and c1 < 0 [c][r]
x < c1 and x % c2 < c3 -> x < c1 - c2 + c3 and x % c2 < c3
    if c2 > 0 and c1 % c2 == 0 and c3 < c2 [r]
x < c1 and x % c2 < c3 -> x < c1 - c1 % c2 + c3 and x % c2 < c3
    if c2 > 0 and c1 % c2 > c3 [r]
x <= c1 and x % c2 < c3 -> x < c1 + 1 - c2 + c3 and x % c2 < c3
    if c2 > 0 and (c1 + 1) % c2 == 0 and c3 < c2 [r]
x <= c1 and x % c2 < c3 -> x < c1 + 1 - (c1 + 1) % c2 + c3 and x % c2 < c3
    if c2 > 0 and (c1 + 1) % c2 > c3 [r]
x // c2 == c1 and x % c2 < c3 -> c1 * c2 <= x and x < c1 * c2 + c3
    if c2 > 0 and c3 <= c2 [c][r]
x // c2 == c1 and x % c2 <= c3 -> c1 * c2 <= x and x <= c1 * c2 + c3
    if c2 > 0 and c3 < c2 [c][r]
x // c2 == c1 and c3 <= x % c2 -> c1 * c2 + c3 <= x and x < (c1 + 1) * c2
    if c2 > 0 and c3 >= 0 [c][r]
x // c2 == c1 and c3 < x % c2 -> c1 * c2 + c3 < x and x < (c1 + 1) * c2
    if c2 > 0 and c3 >= -1 [c][r]
""",
    Operands.INDEX,
)

AND_LAST = RuleTable("and, last", "x and (y and z) -> (x and y) and z [r]")

OR = RuleTable("or", "x or not x -> True [c]")

OR_COMPARISON = RuleTable(
    "or of comparisons",
    """
x == y or x != y -> True [c]
x <= y or y < x -> True [c]
x < y or y < x -> x != y
x < y or x == y -> x <= y [c][r]
""",
    Operands.ORDERED,
)

OR_INDEX = RuleTable(
    "or of index comparisons",
    """
x < c1 or c2 < x -> True if c2 < c1 [c]
x <= c1 or c2 < x -> True if c2 <= c1 [c]
x < c1 or c2 <= x -> True if c2 <= c1 [c]
x <= c1 or c2 <= x -> True if c2 <= c1 + 1 [c]
x != c1 or x != c2 -> x != c1 or c1 != c2
x != c1 or x == c2 -> x != c1 or c1 == c2 [c]
""",
    Operands.INDEX,
)

OR_LAST = RuleTable("or, last", "x or (y or z) -> (x or y) or z [r]")
