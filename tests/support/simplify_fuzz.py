"""Random expressions whose simplified value is compared with the original's.

`random_case` makes a tree of any type with facts about its leaves, `failure` simplifies
it and compares the values on every point of small ranges where the facts hold, `shrunk`
makes a failing case small. Run as a module, it does so many times:

    python -m tests.property.fuzz_simplify --n 100000
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from io import StringIO

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import IntegerType, Signedness, VectorType, i1, i16, i32, i64
from xdsl.ir import Attribute, Block, Region
from xdsl.printer import Printer
from xdsl.rewriter import InsertPoint

from support.expr_trees import Array, Trees, Values, evaluate, grid, i8, leaves_of, ui8
from support.rule_terms import TermTrees, is_of_vectors
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import (
    Add,
    And,
    Broadcast,
    Cast,
    Cmp,
    Const,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Ramp,
    Select,
    Sub,
    Value,
    emit,
    postorder,
    substitute,
)
from xdsl_tvm.analysis.arith.extension import Extension
from xdsl_tvm.analysis.arith.patterns import Operands, Rule, is_number, names_of
from xdsl_tvm.analysis.arith.rewrite_rules.by_operator import rule_tables
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.integers import Bound
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.dialects.tir.folding import FoldError

ui32 = IntegerType(32, Signedness.UNSIGNED)
LANES = 3
EXTENSIONS = (*(Extension(bits) for bits in (0, 0, 0, 1, 2, 4, 8)), ~Extension.NONE)
METHODS = ("rewrite_simplify", "simplify")
"""The latter begins with canonical simplification."""

LEAVES = leaves_of(i32, i32, i32, i64, i64, i8, ui8, i16, ui32, i1)
_RANGES: tuple[Sequence[int], ...] = (
    range(-5, 7),
    range(0, 8),
    range(1, 6),
    range(-4, 5),
    range(0, 5),
    (-128, -5, -1, 0, 1, 7, 127),
    (0, 1, 3, 255),
    (-32768, -3, 0, 2, 100),
    (0, 1, 2, 6, (1 << 32) - 1),
    (0, 1),
)
RANGES = dict(zip(LEAVES, _RANGES, strict=True))
_NAMES = "xyzijabcdp"
for _leaf, _name in zip(LEAVES, _NAMES, strict=True):
    assert isinstance(_leaf, Value)
    _leaf.value.name_hint = _name

_INTEGERS = (i32, i32, i32, i32, i64, i64, i8, ui8, i16, ui32)
_OF_VECTORS = (Add, Add, Sub, Mul, Div, Mod, FloorDiv, FloorMod, Min, Max)
_DIVISIONS = (Div, Mod, FloorDiv, FloorMod)
_CONSTANTS = (*range(-4, 9), 2, 2, 3, 4, 6, -6, 12)
_NARROW = (Operands.INTEGER, Operands.SIGNED)
TABLES = list(rule_tables())


class AnyTrees(Trees):
    """Random trees of integers, conditions and vectors of both."""

    def any_tree(self, size: int) -> Expr:
        """A tree of any of the types."""
        if self.random.random() < 0.4:
            return self.patterned(size)
        pick = self.random.random()
        if pick < 0.5:
            return self.integer(size, self.random.choice(_INTEGERS))
        if pick < 0.75:
            return self.condition(size)
        if pick < 0.93:
            return self.vector(size, self.random.choice((i32, i32, i32, i64, i8, ui8)))
        return self.mask(size)

    def patterned(self, size: int) -> Expr:
        """A tree that some rule may apply to, the letters being trees of their own."""
        table = self.random.choice(TABLES)
        rule = self.random.choice(table.rules)
        pattern = self.random.choice(rule.variants)
        dtypes = (i8, ui8, ui32, i16) if table.operands in _NARROW else (i32, i32, i64)
        terms = TermTrees(self._numbers(rule), self.random.choice(dtypes))
        root = terms.tree(pattern, vector=is_of_vectors(pattern))
        replacements: dict[Expr, Expr] = {}
        for leaf in terms.leaves.values():
            part = self.random.choice((1, 1, 1, 2, max(size // 3, 1)))
            if leaf.dtype == i1:
                replacements[leaf] = self.condition(part)
            else:
                replacements[leaf] = self.integer(part, leaf.dtype)
        return substitute(root, replacements)

    def _numbers(self, rule: Rule) -> dict[str, int]:
        """Constants for a rule that satisfy its guard, if that is easy."""
        names = sorted({n.text for n in names_of(rule.pattern) if n.is_constant})
        guard = [part for part in rule.guard if is_number(part)]
        numbers: dict[str, int] = {}
        for _ in range(20):
            numbers = {name: self.random.choice(_CONSTANTS) for name in names}
            trees = TermTrees(numbers)
            if all(smart.literal(smart.folded(trees.tree(g))) == 1 for g in guard):
                break
        return numbers

    def condition(self, size: int) -> Expr:
        """A condition, sometimes a leaf or a cast of an integer."""
        pick = self.random.random()
        if pick < 0.05:
            return LEAVES[-1]
        if pick < 0.08:
            return Cast(i1, self.integer(size // 2))
        if pick < 0.12:
            return Not(self.condition(size - 1))
        return super().condition(size)

    def integer(self, size: int, dtype: Attribute = i32) -> Expr:
        """An integer, sometimes a cast of a condition."""
        if size > 2 and self.random.random() < 0.03:
            return Cast(dtype, self.condition(size - 1))
        return super().integer(size, dtype)

    def vector(self, size: int, element: Attribute) -> Expr:
        """A vector of integers."""
        dtype = VectorType(element, [LANES])
        pick = self.random.random()
        if size <= 3 or pick < 0.1:
            return self._lanes(dtype, element, size)
        half = size // 2
        if pick < 0.2:
            condition = self.condition(half) if pick < 0.15 else self.mask(half)
            values = self.vector(half, element), self.vector(half, element)
            return Select(condition, *values)
        if pick < 0.25:
            source = self.random.choice((i8, ui8, i32, i64))
            return smart.cast(dtype, self.vector(size - 1, source))
        if pick < 0.45:
            return self._divided_ramp(dtype, element)
        kind = self.random.choice(_OF_VECTORS)
        right = self.vector(half, element)
        if kind in _DIVISIONS and self.random.random() < 0.8:
            right = Broadcast(dtype, self._divisor(element))
        return kind(self.vector(half, element), right)

    def _divided_ramp(self, dtype: VectorType[Attribute], element: Attribute) -> Expr:
        """A division of a ramp whose base has a known residue."""
        factor, offset = self.random.randrange(0, 9), self.random.randrange(0, 9)
        scaled = Mul(self.integer(1, element), Const(factor, element))
        base = self.random.choice((scaled, smart.add(scaled, offset)))
        stride = self.random.randrange(0 if tir.is_uint(element) else -3, 9)
        ramp = Ramp(dtype, base, Const(stride, element))
        kind = self.random.choice(_DIVISIONS)
        return kind(ramp, Broadcast(dtype, self._divisor(element)))

    def _lanes(self, dtype: VectorType[Attribute], element: Attribute, size: int) -> Expr:
        base = self.integer(max(size - 2, 1), element)
        if self.random.random() < 0.4:
            return Broadcast(dtype, base)
        stride = Const(self.random.randrange(0, 9), element)
        if self.random.random() < 0.3:
            return Ramp(dtype, base, self.integer(1, element))
        return Ramp(dtype, base, stride)

    def mask(self, size: int) -> Expr:
        """A vector of conditions."""
        pick = self.random.random()
        if size > 4 and pick < 0.4:
            half = size // 2
            if pick < 0.1:
                return Not(self.mask(size - 1))
            kind = self.random.choice((And, Or))
            return kind(self.mask(half), self.mask(half))
        if pick < 0.5:
            return Broadcast(VectorType(i1, [LANES]), self.condition(size - 1))
        half = max(size // 2, 1)
        predicate = self.random.choice(list(CmpPredicate))
        return Cmp(predicate, self.vector(half, i32), self.vector(half, i32))


@dataclass(frozen=True)
class Case:
    """A tree, and what an analyzer is told."""

    root: Expr
    constraints: tuple[Expr, ...] = ()
    bound_leaves: tuple[Expr, ...] = tuple(LEAVES)
    """The leaves whose range is known."""
    extensions: Extension = Extension.NONE

    def nodes(self) -> list[Expr]:
        """The nodes of all trees, each once."""
        return list(postorder(self.root, *self.constraints))

    def points(self) -> dict[Expr, Array]:
        """All combinations of the numbers of the leaves that occur, at least one."""
        used = set(self.nodes())
        return grid({leaf: r for leaf, r in RANGES.items() if leaf in used} or _SOME)

    def simplified(self, method: str, rules: Counter[str] | None = None) -> Expr:
        """The tree simplified under the facts."""
        analyzer = Analyzer(self.extensions)
        for leaf in self.bound_leaves:
            numbers = RANGES[leaf]
            analyzer.update(leaf, Bound(min(numbers), max(numbers)))
        with ExitStack() as scopes:
            for constraint in self.constraints:
                scopes.enter_context(analyzer.constraint(constraint))
            result: Expr = getattr(analyzer, method)(self.root)
        if rules is not None:
            rules.update(analyzer.rewrite_simplify_stats.rules)
        return result


_SOME = {LEAVES[-1]: RANGES[LEAVES[-1]]}


def random_case(seed: int) -> Case:
    """The case with this number."""
    trees = AnyTrees(LEAVES[:-1], seed)
    random = trees.random
    root = trees.any_tree(2 + seed % 13)
    constraints: list[Expr] = []
    if random.random() < 0.35:
        constraints = [trees.condition(5) for _ in range(random.choice((1, 1, 2)))]
    return Case(
        root,
        tuple(constraints),
        tuple(leaf for leaf in LEAVES if random.random() < 0.85),
        random.choice(EXTENSIONS),
    )


def failure(case: Case, rules: Counter[str] | None = None) -> str | None:
    """What is wrong with what becomes of the case, None if nothing is."""
    points = case.points()
    where = np.ones(len(next(iter(points.values()))), dtype=bool)
    for constraint in case.constraints:
        held = evaluate(constraint, points)
        where &= held.defined & (held.numbers != 0)
    wanted = evaluate(case.root, points)
    for method in METHODS:
        try:
            result = case.simplified(method, rules)
        except FoldError:
            if any(map(_divides_vectors, case.nodes())):
                continue
            raise
        except Exception as error:
            return f"{method} raises {type(error).__name__}: {error}"
        if result is not case.root:
            found = _difference(result, points, wanted, where & wanted.defined)
            if found is not None:
                return f"{method} gives {result}, wrong at {found}"
    return None


def _divides_vectors(node: Expr) -> bool:
    """Whether it is an error if the divisor turns out to be 0."""
    return isinstance(node, _DIVISIONS) and tir.is_vector(node.dtype)


def _difference(
    result: Expr, points: dict[Expr, Array], wanted: Values, where: Array
) -> str | None:
    """A point where the values differ, and the values."""
    found = evaluate(result, points)
    equal = found.numbers == wanted.numbers
    if equal.ndim > 1:
        equal = equal.all(axis=1)
    (wrong,) = np.nonzero(where & ~(equal & found.defined))
    if not len(wrong):
        return None
    at = wrong[0]
    leaves = ", ".join(f"{leaf} = {numbers[at]}" for leaf, numbers in points.items())
    value = found.numbers[at] if found.defined[at] else "undefined"
    return f"{leaves}: {value} instead of {wanted.numbers[at]}"


# ---- making failing cases small ----


def shrunk(case: Case) -> Case:
    """A case that fails as well, of which nothing can be left out."""
    smaller: Case | None = case
    while smaller is not None:
        case = smaller
        smaller = next((c for c in _smaller(case) if failure(c) is not None), None)
    return case


def _smaller(case: Case) -> Iterator[Case]:
    """Cases with less in them."""
    for constraint in case.constraints:
        kept = tuple(c for c in case.constraints if c is not constraint)
        yield replace(case, constraints=kept)
    if case.extensions:
        yield replace(case, extensions=Extension.NONE)
    for node in sorted(case.nodes(), key=lambda node: -node.serial):
        for other in _replacements(node):
            yield _replaced(case, node, other)
    for leaf in case.bound_leaves:
        kept = tuple(other for other in case.bound_leaves if other is not leaf)
        yield replace(case, bound_leaves=kept)


def _replacements(node: Expr) -> Iterator[Expr]:
    """Simpler trees of the same type."""
    if isinstance(node, Const):
        if node.value not in (0, 1):
            yield Const(int(node.value / 2), node.dtype)
        return
    for inner in postorder(node):
        if inner is not node and inner.dtype == node.dtype:
            yield inner
    if not tir.is_vector(node.dtype) and not isinstance(node, Value):
        yield Const(0, node.dtype)
        yield Const(1, node.dtype)


def _replaced(case: Case, node: Expr, other: Expr) -> Case:
    constraints = (substitute(c, {node: other}) for c in case.constraints)
    root = substitute(case.root, {node: other})
    return replace(case, root=root, constraints=tuple(constraints))


def as_tir(case: Case) -> str:
    """The case as the text of a module: the constraints are asserted."""
    used = [leaf for leaf in LEAVES if leaf in case.nodes()]
    block = Block(arg_types=[leaf.dtype for leaf in used])
    inside = dict(zip(used, map(Value, block.args), strict=True))
    for leaf, argument in zip(used, block.args, strict=True):
        assert isinstance(leaf, Value)
        argument.name_hint = leaf.value.name_hint
    builder = Builder(InsertPoint.at_end(block))
    for constraint in case.constraints:
        holds = emit(substitute(constraint, inside), builder)
        builder.insert(tir.AssertOp(holds, "the constraint"))
    builder.insert(tir.EvaluateOp(emit(substitute(case.root, inside), builder)))
    types = [leaf.dtype for leaf in used]
    function = tir.FuncOp("failing", (types, []), Region(block))
    output = StringIO()
    Printer(output).print_op(function)
    return output.getvalue()


def report(seed: int) -> str | None:
    """What is wrong with the case of this number, made small; None if nothing is."""
    case = random_case(seed)
    if failure(case) is None:
        return None
    small = shrunk(case)
    known = [f"{leaf} in {_text(RANGES[leaf])}" for leaf in small.bound_leaves]
    return (
        f"case {seed}: {failure(small)}\n"
        f"known: {', '.join(known)}; extensions {small.extensions!r}\n"
        f"{as_tir(small)}"
    )


def _text(numbers: Sequence[int]) -> str:
    return f"[{min(numbers)}, {max(numbers)}]"


def main(arguments: Sequence[str] | None = None) -> int:
    """Check `--n` cases from `--seed` on; the exit code is 1 if there are failures."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--n", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    rules: Counter[str] = Counter()
    failing = [
        seed
        for seed in range(options.seed, options.seed + options.n)
        if failure(random_case(seed), rules) is not None
    ]
    for seed in failing[:5]:
        print(report(seed))
    seconds = time.perf_counter() - start
    print(
        f"{options.n} expressions, {seconds:.1f} s, {len(rules)} rules applied, "
        f"failures {len(failing)}"
    )
    return 1 if failing else 0


if __name__ == "__main__":
    raise SystemExit(main())
