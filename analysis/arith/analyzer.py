"""The arithmetic analyzer: what is known of integer expressions, and what follows.

An `Analyzer` answers questions about trees (`analysis.expr`) under facts about their
leaves. Facts come from `bind`, which says what a variable is, and from `constraint`, a
condition that holds for as long as a scope lasts:

    analyzer = Analyzer()
    analyzer.bind(i, Range(zero, n))
    with analyzer.constraint(smart.lt(i, j)):
        analyzer.can_prove(smart.lt(i, smart.add(j, 1)))

Arithmetic of 32- and 64-bit signed integers is that of the integers: TIR leaves overflow
undefined, so a program in which it happens has no meaning to keep. Everything else is
taken exactly as TIR computes it. All answers are sound under the facts: bounds hold,
simplified trees have the same value wherever the original is defined, and `can_prove`
is true only of what holds. Where facts contradict each other the code is never reached,
and any answer is right. See docs/spec/tir-passes-b-arith-and-loops.md §1.3.

The parts, each usable through the analyzer only: `const_int_bound`, `modular_set`,
`canonical_simplify`, `rewrite_simplify` and `transitive_comparison`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from enum import IntEnum
from typing import TypeAlias, cast

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.canonical_simplify import CanonicalSimplifier, Form
from xdsl_tvm.analysis.arith.const_int_bound import ConstIntBoundAnalyzer
from xdsl_tvm.analysis.arith.expr import (
    Call,
    Cmp,
    Const,
    Expr,
    Mul,
    Value,
    leaf_values,
    postorder,
    substitute,
)
from xdsl_tvm.analysis.arith.extension import Extension
from xdsl_tvm.analysis.arith.facts import Facts, ScopedTable, conjuncts
from xdsl_tvm.analysis.arith.int_set import (
    IntervalFacts,
    IntSet,
    IntSetEvaluator,
    from_range,
    int_set,
    single_point,
)
from xdsl_tvm.analysis.arith.int_set import (
    Range as Range,
)
from xdsl_tvm.analysis.arith.modular_set import ModularSet, ModularSetAnalyzer
from xdsl_tvm.analysis.arith.rewrite_simplify import RewriteSimplifier, RewriteStats
from xdsl_tvm.analysis.arith.split_sum import Sum
from xdsl_tvm.analysis.arith.transitive_comparison import (
    Comparison,
    TransitiveComparisons,
    of_difference,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.integers import INF, Bound
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.dialects.tir.types import is_index_type


class ProofStrength(IntEnum):
    """How hard `can_prove` tries; TVM's values."""

    DEFAULT = 0
    SYMBOLIC_BOUND = 1
    """Also by the symbolic ends of the ranges of variables."""


class Memo:
    """Results under the facts of one scope, by tree."""

    # No dataclass: each loop has one, and seven calls of factories take their time.
    __slots__ = (
        "bounds",
        "compared",
        "forms",
        "moduli",
        "rewritten",
        "rewritten_aside",
        "simplified",
    )

    def __init__(self) -> None:
        self.bounds: dict[Expr, Bound] = {}
        self.moduli: dict[Expr, ModularSet] = {}
        self.rewritten: dict[Expr, Expr] = {}
        self.rewritten_aside: dict[Expr, Expr] = {}
        """What was simplified for a proof, perhaps not to the end."""
        self.forms: dict[Expr, Form] = {}
        self.simplified: dict[Expr, Expr] = {}
        """What `simplify` gives with two steps."""
        self.compared: dict[tuple[Expr, Expr, Expr, bool], Comparison] = {}
        """What `compare` gives, by its arguments, and whether it proves transitively."""


class Analyzer:
    """Facts about trees, and the questions they answer.

    `vscale` lists the values that `vscale` may have on the target, as on a machine with
    SVE: 1, 2, 4, 8 and 16. Nothing is known of it but that it is positive if the list is
    empty.
    """

    def __init__(
        self,
        extensions: Extension = Extension.NONE,
        *,
        vscale: Sequence[int] = (),
    ) -> None:
        self.extensions = extensions
        self.vscale_values = tuple(vscale)
        self.vscale = Bound(min(vscale), max(vscale)) if vscale else Bound(1, INF)
        self.facts = Facts()
        self.memo = Memo()
        self._comparisons = TransitiveComparisons()
        self._intervals = IntervalFacts()
        self._ranges: ScopedTable[Range | Expr] = ScopedTable()
        self._const_int_bound = ConstIntBoundAnalyzer(self)
        self._modular_set = ModularSetAnalyzer(self)
        self._rewrite_simplify = RewriteSimplifier(self)
        self._canonical_simplify = CanonicalSimplifier(self)

    # ---- facts ----

    def bind(
        self, var: Expr | SSAValue, what: Range | Expr, *, override: bool = False
    ) -> None:
        """Say what a variable is: the value of a tree, or any number of a range.

        A range gives constant bounds and comparisons with its ends; a tree takes the
        place of the variable in what is simplified from then on. Within a `constraint`,
        the binding ends with it. A variable that is bound already is bound anew only with
        `override`. Raises ValueError without it, when the types differ, and when the
        variable is no leaf or is part of its own value.
        """
        var = _leaf(var)
        value = _single(what)
        _check_binding(var, what)
        known = self._ranges.get(var)
        if known == what:
            return
        if known is not None and not override:
            raise ValueError(f"{var} is bound to {known} already")
        if override:
            self.facts.forget(var)
            self._comparisons.forget(var)
        self._ranges.set(var, what)
        if value is None:
            assert isinstance(what, Range)
            self._bind_range(var, what)
        else:
            self._bind_value(var, value)
        self.memo = Memo()

    def _bind_range(self, var: Expr, what: Range) -> None:
        low = self.const_int_bound(what.min)
        extent = self.const_int_bound(what.extent)
        high = max(low.min, low.max + extent.max - 1)
        self.facts.set_bound(var, Bound(low.min, high))
        self._comparisons.assume_within(var, what.min, what.extent)

    def _bind_value(self, var: Expr, value: Expr) -> None:
        simplified = self.rewrite_simplify(self.canonical_simplify(value))
        self.facts.set_bound(var, self.const_int_bound(simplified))
        self.facts.set_modulus(var, self.modular_set(simplified))
        if var not in postorder(simplified):
            self.facts.set_value(var, simplified)
        self._comparisons.assume(smart.eq(var, value))

    def update(
        self, var: Expr | SSAValue, bound: Bound, *, override: bool = False
    ) -> None:
        """Record a bound of a variable, along with what else is known of it.

        Raises ValueError when another bound is recorded, except with `override`, and
        when the variable is no leaf.
        """
        var = _leaf(var)
        known = self.facts.bound_of(var)
        if known is not None and known != bound and not override:
            raise ValueError(f"{var} has the bound {known} already, not {bound}")
        self.facts.set_bound(var, bound)
        self.memo = Memo()

    def mark_global_nonneg(self, node: Expr) -> None:
        """Record that a value is never negative, such as an extent of a buffer.

        It says something of a leaf that the value is a positive multiple of, plus a
        constant; TVM leaves the factor out of account. Any other tree says nothing.
        """
        form = self.canonical_form(node)
        if not isinstance(form, Sum) or len(form.splits) != 1:
            return
        (split,) = form.splits
        if not split.is_plain or not isinstance(split.source, Value) or split.scale <= 0:
            return
        least = Bound(-(form.base // split.scale), INF)
        known = self.const_int_bound(split.source)
        self.facts.set_bound(split.source, known.intersection(least))
        self.memo = Memo()

    @contextmanager
    def constraint(self, condition: Expr) -> Generator[None]:
        """A scope in which the condition, of type `i1`, is true.

        All parts of a conjunction become facts, as they are and simplified. Raises
        ValueError for a condition of another type.
        """
        if condition.dtype != i1:
            raise ValueError(f"a constraint must be an i1, got {condition.dtype}")
        parts = dict.fromkeys(conjuncts(condition))
        parts |= dict.fromkeys(conjuncts(self.simplify(condition)))
        with self.assumed(parts):
            yield

    def assumed(self, parts: Iterable[Expr]) -> AbstractContextManager[None]:
        """A scope in which conditions are true, which are no conjunctions.

        They become facts as they are: `constraint` simplifies them too.
        """
        return _Scope(self, parts)

    def mark(self) -> _State:
        """What is known, for `rewind`."""
        return (
            self.memo,
            self.facts.mark(),
            self._comparisons.mark(),
            self._ranges.mark(),
            self._intervals.mark(),
        )

    def rewind(self, state: _State) -> None:
        """Forget what was added since the mark; marks are used last first."""
        self.memo, facts, comparisons, ranges, intervals = state
        self._intervals.rewind(intervals)
        self._ranges.rewind(ranges)
        self._comparisons.rewind(comparisons)
        self.facts.rewind(facts)

    def assume(self, parts: Iterable[Expr]) -> None:
        """Let conditions be true, to the end of the scope; see `assumed`."""
        parts = tuple(parts)
        if parts:
            self.memo = Memo()
        for part in parts:
            self.facts.assume(part)
            self._comparisons.assume(part)
            self._intervals.assume(part)

    constraint_scope = constraint

    # ---- questions ----

    def const_int_bound(self, node: Expr) -> Bound:
        """Constants that the value of an integer is between; see `const_int_bound`."""
        return self._const_int_bound(node)

    def modular_set(self, node: Expr) -> ModularSet:
        """What an integer is modulo a constant; see `modular_set`."""
        return self._modular_set(node)

    def truth_of(self, condition: Expr) -> bool | None:
        """Whether the condition is a fact of a scope, or the negation of one.

        None if it is neither. The comparison is structural, up to the direction of
        comparisons and the place of negations.
        """
        return self.facts.truth_of(condition)

    def value_of(self, var: Expr) -> Expr | None:
        """The tree that a variable is bound to, simplified; None if it is not."""
        return self.facts.value_of(var)

    def range_of(self, var: Expr) -> Range | None:
        """The range that a variable is bound to, None if it is not."""
        found = self._ranges.get(var)
        return found if isinstance(found, Range) else None

    def intervals_of(self, var: Expr) -> tuple[IntSet, ...]:
        """The sets that the conditions of scopes say a variable is in."""
        return self._intervals.about(var)

    def int_set(self, node: Expr, env: Mapping[Expr, IntSet] | None = None) -> IntSet:
        """A symbolic interval that an integer is in; see `int_set`.

        It holds for all variables in the sets of `env`; without one, for all that are
        bound, in what they are bound to.
        """
        return int_set(node, self._bound_sets(node) if env is None else env, self)

    def _bound_sets(self, node: Expr) -> dict[Expr, IntSet]:
        """The sets of the bound variables that matter for a tree."""
        found: dict[Expr, IntSet] = {}
        waiting = [node]
        while waiting:
            for leaf in postorder(waiting.pop()):
                what = self._ranges.get(leaf)
                if what is None or leaf in found:
                    continue
                if isinstance(what, Range):
                    found[leaf] = from_range(what)
                    waiting += (what.min, what.extent)
                else:
                    found[leaf] = single_point(what)
                    waiting.append(what)
        return found

    def compare(self, x: Expr, y: Expr, difference: Expr | None = None) -> Comparison:
        """Which outcomes a comparison of two index expressions may have.

        By the bounds and the modular set of `difference`, a tree for `x - y` that may be
        simplified, and by known comparisons. Of other types nothing is known.
        """
        if x is y:
            return Comparison.EQ
        if not is_index_type(x.dtype):
            return Comparison.UNKNOWN
        if difference is None:
            difference = self.canonical_simplify(smart.sub(x, y))
        transitive = Extension.TRANSITIVELY_PROVE_INEQUALITIES in self.extensions
        known, key = self.memo.compared, (x, y, difference, transitive)
        found = known.get(key)
        if found is None:
            found = known[key] = self._compared(x, y, difference, transitive)
        return found

    def _compared(
        self, x: Expr, y: Expr, difference: Expr, transitive: bool
    ) -> Comparison:
        found = of_difference(self.const_int_bound(difference))
        if 0 not in self.modular_set(difference):
            found &= Comparison.NE
        if found not in (Comparison.EQ, Comparison.LT, Comparison.GT):
            found &= self._comparisons.compare(x, y, transitive=transitive)
        return found

    # ---- simplification ----

    def rewrite_simplify(self, node: Expr) -> Expr:
        """An equal tree, by the rewrite rules; see `rewrite_simplify`."""
        return self._rewrite_simplify(node)

    def rewrite_root(self, node: Expr) -> Expr:
        """An equal tree, by the rules for a node whose operands are simplified."""
        return self._rewrite_simplify.at_root(node)

    @property
    def rewrite_simplify_stats(self) -> RewriteStats:
        """What `rewrite_simplify` has done so far."""
        return self._rewrite_simplify.stats

    def reset_rewrite_simplify_stats(self) -> None:
        """Count from zero again."""
        self._rewrite_simplify.stats = RewriteStats()

    def set_maximum_rewrites(self, limit: int | None) -> None:
        """Let RewriteLimitError be raised when more rules than this are applied.

        They are counted from the last reset on; None is no limit.
        """
        self._rewrite_simplify.maximum_rewrites = limit

    def canonical_simplify(self, node: Expr) -> Expr:
        """An equal tree, by a normal form of sums; see `canonical_simplify`."""
        return self._canonical_simplify(node)

    def canonical_form(self, node: Expr) -> Form:
        """The normal form of a tree: of index types, a sum of splits."""
        return self._canonical_simplify.form(node)

    def simplify(self, node: Expr, steps: int = 2) -> Expr:
        """An equal tree, by `steps` rounds after a first canonical one.

        Rounds are rewrite and canonical in turn, and end when a literal is found. With 3
        steps, rewriting is last, so that conditions have its forms. With 2, sums of
        multiples of variables are left as they are: what rules make of their terms, the
        normal form undoes.
        """
        if isinstance(node, Const) or self._is_free(node):
            return node
        known = self.memo.simplified if steps == 2 else {}
        if (found := known.get(node)) is not None:
            return found
        root = node
        node = self.canonical_simplify(node)
        is_settled = steps == 2 and self._canonical_simplify.is_sum_of_variables(node)
        for step in range(steps):
            if is_settled or isinstance(node, Const):
                break
            simplify = self.canonical_simplify if step % 2 else self.rewrite_simplify
            node = simplify(node)
        known[root] = node
        return node

    def _is_free(self, node: Expr) -> bool:
        """Whether a node is a variable that stands for nothing else."""
        return (
            isinstance(node, Value)
            and node.dtype != i1
            and self.facts.value_of(node) is None
        )

    # ---- proofs ----

    def can_prove(
        self, condition: Expr, strength: ProofStrength = ProofStrength.DEFAULT
    ) -> bool:
        """Whether the condition is certainly true. False says that this is not known.

        Where `vscale` stays in the simplified condition and its values are known, each
        of them is tried.
        """
        simplified = self.simplify(condition)
        if isinstance(simplified, Const):
            return bool(simplified.value)
        if strength is ProofStrength.SYMBOLIC_BOUND and self._holds_by_ends(condition):
            return True
        return self._holds_for_each_vscale(simplified)

    def _holds_by_ends(self, condition: Expr) -> bool:
        """Whether an inequality follows from the symbolic end of a difference."""
        match condition:
            case Cmp(predicate=CmpPredicate.LT | CmpPredicate.LE, lhs=low, rhs=high):
                pass
            case Cmp(predicate=CmpPredicate.GT | CmpPredicate.GE, lhs=high, rhs=low):
                pass
            case _:
                return False
        if not is_index_type(low.dtype):
            return False
        difference = self.simplify(smart.sub(high, low))
        least = IntSetEvaluator(self, self._bound_sets(difference))(difference).min
        strict = condition.predicate in (CmpPredicate.LT, CmpPredicate.GT)
        return least is not None and self.const_int_bound(
            self.simplify(least)
        ).min >= int(strict)

    def can_prove_within_shape(self, node: Expr, extent: Expr) -> bool:
        """Whether an integer is certainly at most the extent of a buffer's dimension.

        The buffer must be accessed, so that no extent is zero: one that is a multiple of
        32 is at least 32. TVM's name is `CanProveLessEqualThanSymbolicShapeValue`.
        """
        if self.can_prove(smart.le(node, extent), ProofStrength.SYMBOLIC_BOUND):
            return True
        factor = abs(_literal_factor(extent))
        return (
            factor not in (0, 1)
            and not isinstance(extent, Const)
            and smart.fits(factor, node.dtype)
            and self.can_prove(smart.le(node, factor), ProofStrength.SYMBOLIC_BOUND)
        )

    def _holds_for_each_vscale(self, condition: Expr) -> bool:
        calls = [
            node
            for node in postorder(condition)
            if isinstance(node, Call) and node.name == "vscale"
        ]
        if not calls or not self.vscale_values:
            return False
        return all(
            self.can_prove(
                substitute(condition, {c: smart.const(value, c.dtype) for c in calls})
            )
            for value in self.vscale_values
        )

    def can_prove_equal(self, lhs: Expr, rhs: Expr) -> bool:
        """Whether two trees certainly have the same value.

        Trees of other types than integers only if they are the same tree.
        """
        if lhs is rhs:
            return True
        if lhs.dtype != rhs.dtype or not tir.is_integer(lhs.dtype):
            return False
        return self.can_prove(smart.eq(smart.sub(lhs, rhs), smart.const(0, lhs.dtype)))

    def can_prove_greater_equal(self, node: Expr, value: int) -> bool:
        """Whether an integer is certainly at least `value`, by its constant bounds."""
        return self.const_int_bound(self.rewrite_simplify(node)).min >= value

    def can_prove_less(self, node: Expr, value: int) -> bool:
        """Whether an integer is certainly less than `value`, by its constant bounds."""
        return self.const_int_bound(self.rewrite_simplify(node)).max < value


_Marks: TypeAlias = tuple[int, ...]
_State: TypeAlias = tuple[Memo, _Marks, int, int, int]


class _Scope:
    """The scope of `Analyzer.assumed`: loops have one each, so it is to be cheap."""

    __slots__ = ("_analyzer", "_parts", "_state")

    def __init__(self, analyzer: Analyzer, parts: Iterable[Expr]) -> None:
        self._analyzer = analyzer
        self._parts = parts

    def __enter__(self) -> None:
        self._state = self._analyzer.mark()
        try:
            self._analyzer.assume(self._parts)
        except BaseException:
            self._analyzer.rewind(self._state)
            raise

    def __exit__(self, *error: object) -> None:
        self._analyzer.rewind(self._state)


def _leaf(var: Expr | SSAValue) -> Value:
    if var.__class__ is Value:
        return cast(Value, var)
    node = Value(var) if isinstance(var, SSAValue) else var
    if not isinstance(node, Value):
        raise ValueError(f"only values can be bound, got {node}")
    return node


def _single(what: Range | Expr) -> Expr | None:
    """The one value there is, if it is a tree."""
    if isinstance(what, Expr):
        return what
    return what.min if smart.literal(what.extent) == 1 else None


def _check_binding(var: Value, what: Range | Expr) -> None:
    parts = (what.min, what.extent) if isinstance(what, Range) else (what,)
    for part in parts:
        if part.dtype is not var.dtype and part.dtype != var.dtype:
            raise ValueError(f"{var} has type {var.dtype}, its value {part.dtype}")
    if any(
        part.__class__ is not Const and var.value in leaf_values(part) for part in parts
    ):
        raise ValueError(f"{var} cannot be bound to what is made of it")


def _literal_factor(root: Expr) -> int:
    """The product of the literals that the tree is a product with."""
    factor, stack = 1, [root]
    while stack:
        match stack.pop():
            case Mul(lhs, rhs):
                stack += (lhs, rhs)
            case Const(value=int() as value):
                factor *= value
            case _:
                pass
    return factor
