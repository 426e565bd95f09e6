"""Rules for vectors, of fixed and scalable lanes.

docs/spec/tir-passes-b-arith-and-loops.md §1.6.4: Vectors.
"""

from xdsl_tvm.analysis.arith.patterns import Operands, RuleTable

_BROADCASTS = "bcast(x) {0} bcast(y) -> bcast(x {0} y)"
_CALLED = "{0}(bcast(x), bcast(y)) -> bcast({0}(x, y))"

ADD_VECTOR = RuleTable(
    "add of vectors",
    """
ramp(x, s) + ramp(y, t) -> ramp(x + y, s + t)
ramp(x, s) + bcast(y) -> ramp(x + y, s)
bcast(y) + ramp(x, s) -> ramp(y + x, s)
""",
    Operands.INTEGER,
)
ADD_BROADCAST = RuleTable(
    "add of broadcasts",
    "bcast(x) + bcast(y) -> bcast(x + y)\nx + bcast(0.0) -> x",
)
SUB_VECTOR = RuleTable(
    "sub of vectors",
    """
ramp(x, s) - ramp(y, t) -> ramp(x - y, s - t)
ramp(x, s) - bcast(y) -> ramp(x - y, s)
""",
    Operands.INTEGER,
)
SUB_FROM_BROADCAST = RuleTable(
    "sub from broadcasts",
    "bcast(y) - ramp(x, s) -> ramp(y - x, 0 - s)",
    Operands.SIGNED,
)
SUB_BROADCAST = RuleTable("sub of broadcasts", _BROADCASTS.format("-"))
MUL_VECTOR = RuleTable(
    "mul of vectors",
    "ramp(x, s) * bcast(y) -> ramp(x * y, s * y) [c]",
    Operands.INTEGER,
)
MUL_ZERO = RuleTable(
    "mul of zeros",
    "bcast(0) * x -> bcast(0) [c]",
    Operands.INTEGER,
)
"""Of integers alone: the product of a float that is not finite and 0 is a NaN."""
MUL_BROADCAST = RuleTable("mul of broadcasts", _BROADCASTS.format("*"))
DIV_BROADCAST = RuleTable("div of broadcasts", _CALLED.format("td"))
MOD_BROADCAST = RuleTable("mod of broadcasts", _CALLED.format("tm"))
FLOOR_DIV_BROADCAST = RuleTable("floordiv of broadcasts", _BROADCASTS.format("//"))
FLOOR_MOD_BROADCAST = RuleTable("floormod of broadcasts", _BROADCASTS.format("%"))
MIN_BROADCAST = RuleTable(
    "min of broadcasts",
    _CALLED.format("min")
    + "\nmin(min(x, bcast(y)), bcast(z)) -> min(x, bcast(min(y, z)))",
)
MAX_BROADCAST = RuleTable(
    "max of broadcasts",
    _CALLED.format("max")
    + "\nmax(max(x, bcast(y)), bcast(z)) -> max(x, bcast(max(y, z)))",
)
EQ_BROADCAST = RuleTable("eq of broadcasts", _BROADCASTS.format("=="))
LT_BROADCAST = RuleTable("lt of broadcasts", _BROADCASTS.format("<"))
LT_VECTOR = RuleTable(
    "lt of vectors", "ramp(x, s) < ramp(y, s) -> bcast(x < y)", Operands.INDEX
)
AND_BROADCAST = RuleTable("and of broadcasts", _BROADCASTS.format("and"))
OR_BROADCAST = RuleTable("or of broadcasts", _BROADCASTS.format("or"))
NOT_BROADCAST = RuleTable("not of broadcasts", "not bcast(x) -> bcast(not x)")
