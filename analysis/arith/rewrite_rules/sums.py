"""Rules for `+`, `-` and `*` of index values.

docs/spec/tir-passes-b-arith-and-loops.md §1.6.4.
"""

from xdsl_tvm.analysis.arith.patterns import Operands, RuleTable

ADD = RuleTable(
    "add",
    """
x - y + y -> x [c]
x - y + (y - z) -> x - z [c]
min(x, y - z) + z -> min(x + z, y)
min(x - z, y) + z -> min(x, y + z)
max(x, y - z) + z -> max(x + z, y)
max(x - z, y) + z -> max(x, y + z)
min(x, y + z * c1) + z * c2 -> min(x + z * c2, y) if c1 == -c2 [m]
max(x, y + z * c1) + z * c2 -> max(x + z * c2, y) if c1 == -c2 [m]
max(x, y) + min(x, y) -> x + y [c]
min(x, y + c1) + c2 -> min(x + c2, y) if c1 == -c2
min(x + c1, y) + c2 -> min(x, y + c2) if c1 == -c2
max(x, y + c1) + c2 -> max(x + c2, y) if c1 == -c2
max(x + c1, y) + c2 -> max(x, y + c2) if c1 == -c2
x + c1 + c2 -> x + (c1 + c2)
x + x -> x * 2
x * y + x -> x * (y + 1) [c]
x * y + x * z -> x * (y + z) [c]
td(x, c1) * c1 + tm(x, c1) -> x
x // y * y + x % y -> x [c]
(x % c2 + c1) // c2 + x // c2 -> (x + c1) // c2 if c2 > 0
x // 2 + x % 2 -> (x + 1) // 2 [r]
(x + c1) % 2 + x % 2 -> 1 if c1 % 2 == 1 [c]
x + (c1 - y) -> x - y + c1 [c][r]
x + c1 + y -> x + y + c1 [c][r]
tm(y, c1) + x * c1 -> x * c1 + tm(y, c1) [r]
y % c1 + x * c1 -> x * c1 + y % c1 [r]
""",
)

# The quotients of sums by truncation round the two terms the same way only if both are
# known not to be negative: `x >= 0` is a condition of its own.
SUB = RuleTable(
    "sub",
    """
x + y - y -> x [c]
x - (y + x) -> 0 - y [c]
min(x, y) - y -> min(x - y, 0)
x - max(y, x) -> min(x - y, 0)
x - max(x, y) -> min(0, x - y)
min(y, x) - y -> min(0, x - y)
max(x, y) - y -> max(x - y, 0)
x - min(y, x) -> max(x - y, 0)
x - min(x, y) -> max(0, x - y)
max(y, x) - y -> max(0, x - y)
x - x -> 0
x * y - x -> x * (y - 1) [c]
x - y * x -> x * (1 - y) [c]
x * y - x * z -> x * (y - z) [c]
x + c1 - c2 -> x + (c1 - c2)
c1 - x - (c2 - y) -> y - x + (c1 - c2)
x + y - (x + z) -> y - z [c]
min(x + y, z) - x -> min(y, z - x)
min(y + x, z) - x -> min(y, z - x)
min(z, x + y) - x -> min(z - x, y)
min(z, y + x) - x -> min(z - x, y)
max(x + y, z) - x -> max(y, z - x)
max(y + x, z) - x -> max(y, z - x)
max(z, x + y) - x -> max(z - x, y)
max(z, y + x) - x -> max(z - x, y)
x - min(x + y, z) -> max(0 - y, x - z)
x - min(y + x, z) -> max(0 - y, x - z)
x - min(z, x + y) -> max(x - z, 0 - y)
x - min(z, y + x) -> max(x - z, 0 - y)
x - max(x + y, z) -> min(0 - y, x - z)
x - max(y + x, z) -> min(0 - y, x - z)
x - max(z, x + y) -> min(x - z, 0 - y)
x - max(z, y + x) -> min(x - z, 0 - y)
min(x, y) - min(y, x) -> 0
max(x, y) - max(y, x) -> 0
min(x, y) - min(s, t) -> x - s if x - s == y - t [c]
max(x, y) - max(s, t) -> x - s if x - s == y - t [c]
x - td(x, c1) * c1 -> tm(x, c1) if c1 != 0
td(x, c1) * c1 - x -> 0 - tm(x, c1) if c1 != 0
x - td(x + y, c1) * c1 -> tm(x + y, c1) - y if c1 != 0
td(x + y, c1) * c1 - x -> y - tm(x + y, c1) if c1 != 0
x - td(x - y, c1) * c1 -> tm(x - y, c1) + y if c1 != 0
td(x - y, c1) * c1 - x -> 0 - tm(x - y, c1) - y if c1 != 0
x * c2 - td(x, c1) * c3 -> tm(x, c1) * c2 if c1 != 0 and c3 == c1 * c2
td(x, c1) * c3 - x * c2 -> 0 - tm(x, c1) * c2 if c1 != 0 and c3 == c1 * c2
x * c2 - td(x + y, c1) * c3 -> (tm(x + y, c1) - y) * c2
    if c1 != 0 and c3 == c1 * c2
td(x + y, c1) * c3 - x * c2 -> (y - tm(x + y, c1)) * c2
    if c1 != 0 and c3 == c1 * c2
x * c2 - td(x - y, c1) * c3 -> (tm(x - y, c1) + y) * c2
    if c1 != 0 and c3 == c1 * c2
td(x - y, c1) * c3 - x * c2 -> (0 - tm(x - y, c1) - y) * c2
    if c1 != 0 and c3 == c1 * c2
td(x + c1, c3) - td(x + c2, c3) -> td(tm(x + c2 % c3, c3) + (c1 - c2), c3)
    if c3 > 0 and c1 >= c2 and x >= 0 and x >= -c2
td(x + c1, c3) - td(x, c3) -> td(tm(x, c3) + c1, c3)
    if c3 > 0 and c1 >= 0 and x >= 0
x - x // c1 * c1 -> x % c1 if c1 != 0
x // c1 * c1 - x -> 0 - x % c1 if c1 != 0
x - (x + y) // c1 * c1 -> (x + y) % c1 - y if c1 != 0
(x + y) // c1 * c1 - x -> y - (x + y) % c1 if c1 != 0
x - (x - y) // c1 * c1 -> (x - y) % c1 + y if c1 != 0
(x - y) // c1 * c1 - x -> 0 - (x - y) % c1 - y if c1 != 0
(x + c1) // 2 - (x + c2) // 2
    -> x % 2 * (c1 % 2 - c2 % 2) + (c1 // 2 - c2 // 2) [r]
x // 2 - (x + c2) // 2 -> x % 2 * (0 - c2 % 2) - c2 // 2 [r]
(x + c1) // 2 - x // 2 -> x % 2 * (c1 % 2) + c1 // 2 [r]
x * c2 - x // c1 * c3 -> x % c1 * c2 if c1 != 0 and c3 == c1 * c2
x // c1 * c3 - x * c2 -> 0 - x % c1 * c2 if c1 != 0 and c3 == c1 * c2
x * c2 - (x + y) // c1 * c3 -> ((x + y) % c1 - y) * c2 if c1 != 0 and c3 == c1 * c2
(x + y) // c1 * c3 - x * c2 -> (y - (x + y) % c1) * c2 if c1 != 0 and c3 == c1 * c2
x * c2 - (x - y) // c1 * c3 -> ((x - y) % c1 + y) * c2 if c1 != 0 and c3 == c1 * c2
(x - y) // c1 * c3 - x * c2 -> (0 - (x - y) % c1 - y) * c2
    if c1 != 0 and c3 == c1 * c2
(x + 1) // 2 - x % 2 -> x // 2 [r]
(x + c1) // c3 - (x + c2) // c3 -> ((x + c2 % c3) % c3 + (c1 - c2)) // c3 if c3 > 0
(x + c1) // c3 - x // c3 -> (x % c3 + c1) // c3 if c3 > 0
x - c1 -> x + (0 - c1)
x + c1 - y -> x - y + c1 [r]
x - (y + c1) -> x - y + (0 - c1) [r]
x - (y - z) -> x + z - y [r]
x - y * c1 -> x + y * (0 - c1) [r]
""",
)

MUL = RuleTable(
    "mul",
    """
(x + c1) * c2 -> x * c2 + c1 * c2
x * c1 * c2 -> x * (c1 * c2)
min(x, y) * max(x, y) -> x * y [c]
(x - x % c2) // c1 * c1 -> x - x % c2 if c1 == -c2
x * (y * c1) -> x * y * c1 [r]
c1 * x -> x * c1 [r]
(x - y) * c1 -> (y - x) * (0 - c1) if c1 < 0 [r]
""",
)

# Overflow of narrow and unsigned integers wraps around on both sides alike.
SUB_WRAPPING = RuleTable(
    "sub of other integers",
    """
x - x -> 0
x + y - y -> x
x + y - x -> y
""",
    Operands.INTEGER,
)
SUB_SIGNED = RuleTable(
    "sub of narrow integers",
    """
x - (y + x) -> 0 - y
x - (x + y) -> 0 - y
""",
    Operands.SIGNED,
)
