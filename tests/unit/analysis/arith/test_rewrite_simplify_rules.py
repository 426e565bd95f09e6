"""The rules of the rewrite simplifier: each is sound, is applied, and does as it says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np
import pytest
from support.expr_trees import Array, evaluate, i8, leaves_of
from support.rule_terms import TermTrees, is_of_vectors
from xdsl.dialects.builtin import VectorType, f32, i1, i32, i64

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import (
    Add,
    Binary,
    Broadcast,
    Call,
    Cmp,
    Const,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IfThenElse,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Ramp,
    Sub,
)
from xdsl_tvm.analysis.arith.patterns import (
    Node,
    Operands,
    Rule,
    RuleTable,
    Term,
    is_number,
    names_of,
    parse_rule,
    parse_term,
)
from xdsl_tvm.analysis.arith.rewrite_rules.by_operator import rule_ids, rule_tables
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.integers import Bound
from xdsl_tvm.dialects.tir import CmpPredicate

POINTS = 6000
RULES = [(table, rule) for table in rule_tables() for rule in table.rules]
LEAST = -(1 << 31)
SVE = (1, 2, 4, 8, 16)


# ---- each rule keeps values ----


def points_of(trees: TermTrees, seed: int) -> dict[Expr, Array]:
    """Random small numbers for the names."""
    random = np.random.default_rng(seed)
    return {
        leaf: random.integers(0, 2, POINTS)
        if leaf.dtype == i1
        else random.integers(-7, 10, POINTS)
        for leaf in trees.leaves.values()
    }


def wrong_points(rule: Rule, pattern: Term) -> tuple[int, int]:
    """How many points satisfy the guard, and at how many of them values differ."""
    trees = TermTrees({})
    before = trees.tree(pattern, vector=is_of_vectors(pattern))
    guard = [trees.tree(part) for part in rule.guard]
    after = trees.replacement(rule.replacement, before)
    points = points_of(trees, len(rule.id))
    wanted, found = evaluate(before, points), evaluate(after, points)
    where = wanted.defined
    for part in guard:
        held = evaluate(part, points)
        where = where & held.defined & (held.numbers != 0)
    equal = found.numbers == wanted.numbers
    if equal.ndim > 1:
        equal = equal.all(axis=1)
    return int(where.sum()), int((where & ~(equal & found.defined)).sum())


@pytest.mark.parametrize("table", rule_tables(), ids=lambda table: table.name)
def test_rules_keep_values(table: RuleTable):
    """Constants are numbers like others here: all of them are tried at once."""
    for rule in table.rules:
        for pattern in rule.variants:
            tried, wrong = wrong_points(rule, pattern)
            assert tried >= 20, f"{rule.id} is hardly tried"
            assert not wrong, f"{rule.id} as {pattern}"


@pytest.mark.parametrize(
    "line",
    [
        "td(x + c1, c3) - td(x, c3) -> td(tm(x, c3) + c1, c3) if c3 > 0 and c1 >= 0",
        "x * c1 < y * c1 -> x < y",
        "x // c2 == c1 and x % c2 <= c3 -> c1 * c2 <= x and x <= c1 * c2 + c3",
        "min(x * c1, y * c1) -> min(x, y) * c1 [c]",
        "x - y -> y - x",
    ],
)
def test_wrong_rules_are_noticed(line: str):
    """Three of them are rules of TVM without the guards that they lack there."""
    rule = parse_rule("wrong", line)
    assert any(wrong_points(rule, pattern)[1] for pattern in rule.variants)


# ---- each rule is applied, and the result is what it says ----


CONSTANTS = (3, 2, 6, -3, 1, 0, -2, 4, -6, -1, 5, 12)
_TYPES = {Operands.INTEGER: i8, Operands.SIGNED: i8}


def constants_for(rule: Rule) -> Iterator[Mapping[str, int]]:
    """Constants that satisfy the guard."""
    names = sorted({n.text for n in names_of(rule.pattern) if n.is_constant})
    guard = [part for part in rule.guard if is_number(part)]
    for numbers in product(CONSTANTS, repeat=len(names)):
        chosen = dict(zip(names, numbers, strict=True))
        trees = TermTrees(chosen)
        if all(smart.literal(smart.folded(trees.tree(g))) == 1 for g in guard):
            yield chosen


def ranges_for(rule: Rule) -> dict[str, Bound]:
    """Ranges of variables in which the lower bounds of the guard hold."""
    found: dict[str, Bound] = {}
    for part in rule.guard:
        if is_number(part) or not isinstance(part, Node) or part.op != "le":
            continue
        tree = part.args[1]
        # Of a difference, the first is kept well above the second.
        greater = tree.args[0] if isinstance(tree, Node) and tree.op == "sub" else None
        for name in names_of(tree):
            if name.is_constant:
                continue
            found[name.text] = Bound(20, 100) if name == greater else Bound(1, 10)
    return found


Instance = tuple[Analyzer, Expr, Expr]
"""An analyzer, a tree that the rule is for, and what it says of it."""


def instance(rule: Rule, numbers: Mapping[str, int], operands: Operands) -> Instance:
    vector = is_of_vectors(rule.pattern)
    element = i32 if vector else _TYPES.get(operands, i32)
    # A ramp of integers has a rule of its own for sums with broadcasts.
    element = f32 if "bcast(0.0)" in rule.id else element
    trees = TermTrees(numbers, element)
    before = trees.tree(rule.pattern, vector=vector)
    after = trees.replacement(rule.replacement, before)
    analyzer = Analyzer()
    for name, bound in ranges_for(rule).items():
        analyzer.update(trees.leaves[name], bound)
    return analyzer, before, after


def applied(rule: Rule, found: Instance) -> bool:
    """Whether the rule was applied; then the result is asserted."""
    analyzer, before, after = found
    result = analyzer.rewrite_simplify(before)
    if not analyzer.rewrite_simplify_stats.rules[rule.id]:
        return False
    assert result is analyzer.rewrite_simplify(after), rule.id
    return True


Ranges = Mapping[str, tuple[int, int]]

# Rules whose guard says more than lower bounds, and those for the least constant.
EXAMPLES: list[tuple[str, str, Ranges]] = [
    ("min(z * 2, w + z) - min(z, w)", "z", {}),
    ("max(z * 2, w + z) - max(w, z)", "z", {}),
    (
        "td(x * 6 + y - z, 3)",
        "x * 2 + td(y - z, 3)",
        {"x": (0, 9), "y": (20, 99), "z": (0, 9)},
    ),
    ("(x * 3 + y + z) // 6", "x // 2", {"y": (0, 1), "z": (0, 1)}),
    ("(x * 3 + y) % 6", "x % 2 * 3 + y", {"y": (0, 2)}),
    ("(x * y - z + z % y) % y", "0", {}),
    ("(x - x % y) % y", "0", {}),
    ("(x % y - x) % y", "0", {}),
    ("x - -2147483648 == 5", "x == -2147483643", {}),
    ("5 < x - -2147483648", "-2147483643 < x", {}),
    ("x - -2147483648 < 5", "x < -2147483643", {}),
    # The rules that are functions.
    ("x + min(y, z)", "min(y, z) + x", {}),
    ("max(x, s) + min(y, z)", "max(x, s) + min(y, z)", {}),
    ("tm(x * 8 + y * 4 + 3, 4)", "3", {"x": (0, 9), "y": (0, 9)}),
    ("(x * 360 + y) // 25", "x * 14", {"x": (0, 1), "y": (0, 6)}),
    ("(x * 2 + y) // 8", "x // 4", {"y": (0, 1)}),
    ("(x * 2 + y) // 8", "(x * 2 + y) // 8", {"y": (0, 2)}),
    ("(x * y * 4 + z * 8 + 6) % 4", "2", {}),
    ("x % 8", "x", {"x": (0, 7)}),
    ("x % 8", "x % 8", {"x": (0, 8)}),
    ("min(x, y)", "x", {"x": (0, 3), "y": (3, 9)}),
    ("min(y, x)", "x", {"x": (0, 3), "y": (3, 9)}),
    ("max(x, y)", "y", {"x": (0, 3), "y": (3, 9)}),
    ("max(y, x)", "y", {"x": (0, 3), "y": (3, 9)}),
    ("x + 3 < y + 3", "x < y", {}),
    ("x + 2 < y + 3", "x <= y", {}),
    ("x + 5 < y + 3", "x + 2 < y", {}),
    ("x + 3 < y + 5", "x < y + 2", {}),
    ("x * 4 < y * 6", "x * 2 < y * 3", {}),
    ("x * 4 + 2 < y * 6", "x * 2 + 1 < y * 3", {}),
    ("x * 4 + 1 < y * 6", "x * 4 + 1 < y * 6", {}),
]


def example(before: str, after: str, ranges: Ranges) -> Instance:
    trees = TermTrees({})
    root = trees.tree(parse_term(before))
    analyzer = Analyzer()
    for name, (low, high) in ranges.items():
        analyzer.update(trees.leaves[name], Bound(low, high))
    return analyzer, root, trees.replacement(parse_term(after), root)


def ramp(base: Expr, stride: int, lanes: int, *, scalable: bool = False) -> Expr:
    dtype = tir.with_lanes(base.dtype, lanes, scalable=scalable)
    return Ramp(dtype, base, Const(stride, base.dtype))


def uniform(value: int, like: Expr) -> Expr:
    return smart.const(value, like.dtype)


def spread(lane: Expr, lanes: int) -> Expr:
    return Broadcast(tir.with_lanes(lane.dtype, lanes), lane)


def vector_examples() -> Iterator[Instance]:
    """Divisions of ramps by the number in all lanes."""
    (x,) = leaves_of(i32)
    eights = Mul(x, Const(8, i32))
    examples: list[tuple[type[Binary], Expr, int, int, int, Expr | None]] = [
        # the stride is a multiple of the divisor
        (FloorDiv, x, 6, 4, 3, ramp(smart.floordiv(x, 3), 2, 4)),
        (FloorMod, x, 6, 4, 3, spread(smart.floormod(x, 3), 4)),
        (FloorDiv, x, 6, 4, -3, ramp(smart.floordiv(x, -3), -2, 4)),
        # all lanes in one block
        (FloorDiv, eights, 1, 4, 4, spread(smart.mul(x, 2), 4)),
        (FloorMod, eights, 1, 4, 4, ramp(Const(0, i32), 1, 4)),
        (FloorDiv, eights, 2, 8, 4, None),
        # below the next residue that is known
        (FloorDiv, eights, 2, 4, 32, spread(smart.floordiv(x, 4), 4)),
        (FloorMod, eights, 2, 4, 32, ramp(smart.floormod(eights, 32), 2, 4)),
        (FloorDiv, eights, 2, 5, 32, None),
    ]
    for kind, base, stride, lanes, divisor, after in examples:
        vector = ramp(base, stride, lanes)
        root = kind(vector, uniform(divisor, vector))
        yield Analyzer(), root, root if after is None else after
    vector = ramp(Add(eights, Const(5, i32)), 3, 4)
    reduced = FloorMod(ramp(Const(1, i32), 3, 4), uniform(4, vector))
    yield Analyzer(), FloorMod(vector, uniform(4, vector)), reduced


def scalable_examples() -> Iterator[Instance]:
    (x,) = leaves_of(i32)
    scale = smart.mul(Call("vscale", [], i32), 8)
    for root, after in (
        (FloorDiv(x, scale), Const(0, i32)),
        (FloorMod(x, scale), x),
        (Min(scale, smart.mul(scale, 2)), scale),
        (Max(scale, smart.mul(scale, 2)), smart.mul(Call("vscale", [], i32), 16)),
    ):
        analyzer = Analyzer(vscale=SVE)
        analyzer.update(x, Bound(0, 7))
        yield analyzer, root, after


def other_examples() -> Iterator[Instance]:
    x, wide, b, f = leaves_of(i8, i64, i1, f32)
    yield Analyzer(), Cmp(CmpPredicate.EQ, x, x), Const(1, i1)
    yield Analyzer(), Cmp(CmpPredicate.LE, x, x), Const(1, i1)
    yield Analyzer(), Cmp(CmpPredicate.NE, x, x), Const(0, i1)
    yield Analyzer(), Cmp(CmpPredicate.LT, f, f), Const(0, i1)
    yield Analyzer(), Div(f, Const(4.0, f32)), Mul(f, Const(0.25, f32))
    yield Analyzer(), Div(f, Const(3.0, f32)), Div(f, Const(3.0, f32))
    for dtype, number, zeros in (
        (i32, 0, 32),
        (i32, 1, 31),
        (i32, 255, 24),
        (i32, -1, 0),
        (i64, 0, 64),
        (i64, 1 << 40, 23),
        (i64, -5, 0),
    ):
        yield Analyzer(), Call("clz", [Const(number, dtype)], i32), Const(zeros, i32)
    for number, result in ((1.0, 0.0), (9.0, 4.0), (0.3, -1.0), (64.0, 6.0)):
        log = Call("log2", [Const(number, f32)], f32)
        yield Analyzer(), Call("ceil", [log], f32), Const(result, f32)
    c, zero = Cmp(CmpPredicate.LT, wide, Const(3, i64)), Const(0, i8)
    inner = IfThenElse(b, x, zero)
    yield (
        Analyzer(),
        IfThenElse(c, inner, zero),
        IfThenElse(smart.conjunction(c, b), x, zero),
    )


def explicit() -> Iterator[Instance]:
    for parts in EXAMPLES:
        yield example(*parts)
    yield from vector_examples()
    yield from scalable_examples()
    yield from other_examples()


def test_explicit_examples():
    for analyzer, before, after in explicit():
        assert analyzer.rewrite_simplify(before) is after, before


def test_every_rule_is_applied_and_does_as_it_says(capsys: pytest.CaptureFixture[str]):
    fired: Counter[str] = Counter()
    for table, rule in RULES:
        for numbers in constants_for(rule):
            found = instance(rule, numbers, table.operands)
            if applied(rule, found):
                fired.update(found[0].rewrite_simplify_stats.rules)
                break
    for analyzer, before, _ in explicit():
        analyzer.rewrite_simplify(before)
        fired.update(analyzer.rewrite_simplify_stats.rules)
    missing = [rule_id for rule_id in rule_ids() if not fired[rule_id]]
    with capsys.disabled():
        count = len(rule_ids())
        print(f"\nrewrite rules applied: {count - len(missing)} of {count}")
    assert not missing


@pytest.mark.parametrize("kind", [Div, Mod, FloorDiv, FloorMod])
def test_a_division_of_a_vector_by_zero_stays(kind: type[Binary]):
    (x,) = leaves_of(i32)
    vector = ramp(x, 1, 4)
    division = kind(vector, uniform(0, vector))
    assert Analyzer().rewrite_simplify(division) is division


def test_rule_ids_are_distinct():
    ids = rule_ids()
    assert len(ids) == len(set(ids))


# ---- the language ----


def test_orders_of_operands():
    rule = parse_rule("t", "min(x + c1, y) -> x [c]")
    assert len(rule.variants) == 4
    rule = parse_rule("t", "min(x + c1, y) -> x [m]")
    assert len(rule.variants) == 2
    assert parse_rule("t", "min(x, y) - z -> x").variants == (
        rule_pattern("min(x, y) - z"),
    )


def rule_pattern(text: str) -> Term:
    return parse_term(text)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x + y", "no rule"),
        ("x -> y", "must be an operator"),
        ("x + y -> f(x)", "not of the rule language"),
        ("x ** y -> x", "not of the rule language"),
        ("x + 'a' -> x", "not of the rule language"),
    ],
)
def test_lines_that_are_no_rules(line: str, message: str):
    with pytest.raises(ValueError, match=message):
        parse_rule("t", line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x and y -> x and 2", "must compare or compute"),
        ("x + y -> x if x < y", "no guard"),
    ],
)
def test_rules_without_meaning(line: str, message: str):
    table = RuleTable("t", line)
    (x,) = leaves_of(i32)
    (b,) = leaves_of(i1)
    root = smart.conjunction(b, Not(b)) if " and " in line else Add(x, x)
    with pytest.raises(ValueError, match=message):
        table.first(root, NoProofs())


class NoProofs:
    """Nothing is known."""

    def proves_at_least(self, node: Expr, bound: int) -> bool:
        return False

    def proves_equal(self, lhs: Expr, rhs: Expr) -> bool:
        return False


def test_literals_that_the_type_cannot_hold():
    """`x + c1 + c2` keeps two additions where one would wrap around."""
    (x,) = leaves_of(i32)
    largest = Const((1 << 31) - 1, i32)
    root = Add(Add(x, largest), largest)
    assert Analyzer().rewrite_simplify(root) is root
    least = Sub(x, Const(LEAST, i32))
    assert Analyzer().rewrite_simplify(least) is least


def test_vectors_of_wrapping_lanes_are_not_compared_by_their_bases():
    x, y, s = leaves_of(i8, i8, i8)
    dtype = VectorType(i8, [4])
    root = Cmp(CmpPredicate.LT, Ramp(dtype, x, s), Ramp(dtype, y, s))
    assert Analyzer().rewrite_simplify(root) is root
