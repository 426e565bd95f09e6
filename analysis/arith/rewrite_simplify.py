"""Rewriting expressions by rules, under the facts of an analyzer.

One pass visits the operands of a node before the node, folds it, and tries the rules of
its operator in order; the first that applies gives the result. A simplification is two
passes. Rules that ask for their result to be simplified again do so five deep at most,
what guards and comparisons ask is four deep at most, and all of that together is limited
by a number of visits in proportion to the tree: beyond it, nothing more is proved and
rules that need proofs do not apply. So time is linear in the size of the tree.

Results are kept as long as the facts of the analyzer hold; those of proofs, which the
limits may have cut short, apart from the others. The operands of a choice are simplified
knowing its condition, or the negation of it. See
docs/spec/tir-passes-b-arith-and-loops.md §1.6; the rules are in `analysis.rewrite_rules`.

Differences to TVM's simplifier, all for the sake of correct results:

- Literals that the type of an index cannot hold are never made: a rule that would need
  one does not apply.
- A comparison of floats is not replaced by the opposite of its opposite, nor by true when
  it compares a value with itself: NaN is possible. Sums of floats keep their operands:
  they are rounded, and an infinity less itself is a NaN.
- A division of floats becomes a product where the reciprocal is exact.
- Quotients toward zero of ramps are ramps only where no lane is negative or rounded.
- Facts about one operand of `and` or `or` are used in the other only if that is defined
  for all values of the leaves, and so are those about the condition of an eager choice.
"""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import i1

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.boolean_normal_form import and_of_ors
from xdsl_tvm.analysis.arith.definedness import is_total
from xdsl_tvm.analysis.arith.expr import (
    And,
    Binary,
    Call,
    Cmp,
    Const,
    Expr,
    IfThenElse,
    Not,
    Or,
    Select,
    Value,
    fold,
)
from xdsl_tvm.analysis.arith.extension import Extension
from xdsl_tvm.analysis.arith.facts import conjuncts, negated
from xdsl_tvm.analysis.arith.modular_set import ModularSet
from xdsl_tvm.analysis.arith.patterns import RuleTable
from xdsl_tvm.analysis.arith.product_and_sum import product_against_sum
from xdsl_tvm.analysis.arith.rewrite_rules.by_operator import Step, steps_for
from xdsl_tvm.analysis.arith.transitive_comparison import Comparison
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.integers import Bound
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.dialects.tir.types import is_index_type

if TYPE_CHECKING:
    from xdsl_tvm.analysis.arith.analyzer import Analyzer

PASSES = 2
"""Passes over a tree in one simplification."""
MAX_RECURSION = 5
"""How deep rules may ask for simpler results."""
MAX_NESTING = 4
"""How deep proofs may need proofs."""
MAX_ALTERNATIONS = 4
"""How often the operands of `and` and `or` are simplified by turns."""
MAX_SCOPES = 4
"""How many choices inside of each other are simplified knowing their conditions."""
_VISITS = 2000
_VISITS_PER_NODE = 10
"""How many nodes are visited for proofs, in all and for each node of the tree."""
_VISITS_AT_ROOT = 200
"""The same for a single node."""


class RewriteLimitError(RuntimeError):
    """More rules were applied than allowed."""


@dataclass
class RewriteStats:
    """What a simplifier has done."""

    nodes_visited: int = 0
    constraints_entered: int = 0
    rewrites_attempted: int = 0
    rewrites_performed: int = 0
    recursive_rewrites: int = 0
    max_recursion: int = 0
    rules: Counter[str] = field(default_factory=Counter[str])
    """How often each rule was applied, by id."""


_SWAPPED = {CmpPredicate.GT: CmpPredicate.LT, CmpPredicate.GE: CmpPredicate.LE}


class RewriteSimplifier:
    """The simplifier of an analyzer: calling it with a tree gives an equal one.

    Wherever the tree has a value, so has the result, and the same. `maximum_rewrites`
    limits the rules that are ever applied: RewriteLimitError is raised beyond it. A
    division by the constant 0 stays as it is.
    """

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self.stats = RewriteStats()
        self.maximum_rewrites: int | None = None
        self._active = 0
        self._recursion = 0
        self._nesting = 0
        self._visits = 0
        self._scaling: dict[Expr, bool] = {}
        self._total: dict[Expr, bool] = {}

    def __call__(self, root: Expr) -> Expr:
        """The tree simplified, under the facts that the analyzer has now."""
        self._begin(_VISITS)
        try:
            for _ in range(PASSES):
                result = self._visit(root)
                if result is root:
                    break
                root = result
            return root
        finally:
            self._active -= 1

    def at_root(self, node: Expr) -> Expr:
        """What the rules make of a node whose operands are simplified."""
        self._begin(_VISITS_AT_ROOT)
        aside = self._analyzer.memo.rewritten_aside
        for operand in node.operands:
            aside.setdefault(operand, operand)
        try:
            return self.simplified(node, list(node.operands))
        finally:
            self._active -= 1

    def _begin(self, visits: int) -> None:
        """Begin a simplification, perhaps within another, whose limits then hold."""
        if not self._active:
            self._visits = visits
        self._active += 1

    # ---- visiting ----

    @property
    def is_aside(self) -> bool:
        """Whether the simplification is one within another, and perhaps cut short."""
        return bool(self._nesting or self._recursion or self._active > 1)

    def result_of(self, node: Expr) -> Expr | None:
        """What the node was simplified to under the facts, None if it was not.

        What was simplified for a proof may not be simplified to the end, so it does not
        count where the node itself is wanted.
        """
        memo = self._analyzer.memo
        found = memo.rewritten.get(node)
        if found is not None:
            return found
        # As `is_aside` has it, without a call for every node.
        if self._nesting or self._recursion or self._active > 1:
            return memo.rewritten_aside.get(node)
        return None

    def record(self, node: Expr, result: Expr) -> None:
        """Keep the result for a node as long as the facts hold."""
        memo = self._analyzer.memo
        (memo.rewritten_aside if self.is_aside else memo.rewritten)[node] = result
        # Another pass may find more to do, but a proof does not need it.
        memo.rewritten_aside.setdefault(result, result)

    def _visit(self, root: Expr) -> Expr:
        """The result of one pass over the tree."""
        found = self.result_of(root)
        return _Visit(self).run(root) if found is None else found

    def may_visit(self, *, in_scope: bool) -> bool:
        """Account for a visit: whether more may be looked at for the sake of proofs.

        Visits to the tree itself, not to it again in the scope of a choice, add to what
        is allowed.
        """
        self.stats.nodes_visited += 1
        self._visits += -1 if in_scope or self.is_aside else _VISITS_PER_NODE
        return self._visits > 0

    def _nested(self, node: Expr) -> Expr:
        """The node simplified for a proof, as far as the limits allow."""
        if self._nesting >= MAX_NESTING or self._visits <= 0:
            return node
        self._nesting += 1
        try:
            return self._visit(node)
        finally:
            self._nesting -= 1

    def again(self, node: Expr) -> Expr:
        """The result of a rule simplified, as far as the limits allow."""
        if self._recursion >= MAX_RECURSION or self._visits <= 0:
            return node
        self._recursion += 1
        self.stats.recursive_rewrites += 1
        self.stats.max_recursion = max(self.stats.max_recursion, self._recursion)
        try:
            return self._visit(node)
        finally:
            self._recursion -= 1

    # ---- what rules ask ----

    def bound(self, node: Expr) -> Bound:
        """The constant bound of a tree."""
        return self._analyzer.const_int_bound(node)

    def modulus(self, node: Expr) -> ModularSet:
        """The modular set of a tree."""
        return self._analyzer.modular_set(node)

    def proves_at_least(self, node: Expr, bound: int) -> bool:
        """Whether the constant bounds of a tree, or of it simplified, say so."""
        if self.bound(node).min >= bound:
            return True
        simplified = self._nested(node)
        return simplified is not node and self.bound(simplified).min >= bound

    def proves_equal(self, lhs: Expr, rhs: Expr) -> bool:
        """Whether the difference of two trees is 0, by its bounds or simplified."""
        if lhs is rhs:
            return True
        difference = smart.sub(lhs, rhs)
        if self.bound(difference) == _ZERO:
            return True
        return smart.literal(self._nested(difference)) == 0

    def proves(self, condition: Expr) -> bool:
        """Whether a condition is certainly true."""
        if self._nesting >= MAX_NESTING or self._visits <= 0:
            return False
        self._nesting += 1
        try:
            return self._analyzer.can_prove(condition)
        finally:
            self._nesting -= 1

    def knows(self, condition: Expr) -> bool:
        """Whether a condition has been assumed."""
        return self._analyzer.facts.truth_of(condition) is True

    def scales(self, node: Expr) -> bool:
        """Whether the tree has a `vscale` in it."""
        return fold(node, _scales, self._scaling)

    def is_total(self, node: Expr) -> bool:
        """Whether the tree has a value whatever its leaves hold."""
        return is_total(node, self._total)

    # ---- nodes ----

    def simplified(self, node: Expr, operands: list[Expr]) -> Expr:
        """What becomes of a node, its operands being simplified."""
        new = _rebuilt(node, operands)
        if new.__class__ is Const:
            return new
        match new:
            case Value():
                return self._leaf(new)
            case Cmp():
                return self._comparison(new)
            case And() | Or():
                return self._boolean(new)
            case Not():
                return self._with_facts(new)
            case Call(name="likely", operands=(value,)):
                return self._known(value) or new
            case _:
                return self._by_rules(new)

    def _leaf(self, node: Expr) -> Expr:
        return self._known(node) or self._analyzer.value_of(node) or node

    def _known(self, node: Expr) -> Expr | None:
        """The truth of a condition that is a fact, or contradicts one."""
        if node.dtype != i1:
            return None
        truth = self._analyzer.truth_of(node)
        return None if truth is None else _bool(truth)

    def _with_facts(self, node: Expr) -> Expr:
        return self._known(node) or self._by_rules(node)

    def _by_rules(self, node: Expr) -> Expr:
        """The node, or what the first rule of its operator makes of it."""
        for step in steps_for(node):
            found = self._step(step, node)
            if found is not None:
                return found
        return node

    def _step(self, step: Step, node: Expr) -> Expr | None:
        self.stats.rewrites_attempted += 1
        if isinstance(step, RuleTable):
            found = step.first(node, self)
            if found is None:
                return None
            result, rule = found
            self._performed(rule.id)
            return self.again(result) if rule.is_recursive else result
        result = step.apply(node, self)
        if result is not None:
            self._performed(step.id)
        return result

    def _performed(self, rule_id: str) -> None:
        stats = self.stats
        stats.rewrites_performed += 1
        stats.rules[rule_id] += 1
        limit = self.maximum_rewrites
        if limit is not None and stats.rewrites_performed > limit:
            raise RewriteLimitError(f"more than {limit} rewrites, last `{rule_id}`")

    # ---- conditions ----

    def _boolean(self, node: Expr) -> Expr:
        known = self._known(node)
        if known is not None:
            return known
        extensions = self._analyzer.extensions
        if extensions & Extension.CONVERT_BOOLEAN_TO_AND_OF_ORS and node.dtype == i1:
            normal = and_of_ors(node, self)
            if normal is not None and normal is not node:
                return normal
        if extensions & Extension.APPLY_CONSTRAINTS_TO_BOOLEAN_BRANCHES:
            node = self._by_turns(node)
        return self._by_rules(node)

    def _by_turns(self, node: Expr) -> Expr:
        """Each operand of `and` simplified knowing the other, or that it is false.

        Which one is evaluated first must not matter, so both must be defined anyway.
        """
        if type(node) not in (And, Or) or node.dtype != i1:
            return node
        if not self.is_total(node) or self._nesting >= MAX_NESTING:
            return node
        parts = list(node.operands)
        unchanged = 0
        for turn in range(MAX_ALTERNATIONS):
            mine, other = turn % 2, 1 - turn % 2
            known = parts[other] if type(node) is And else negated(parts[other])
            found = self._under(known, parts[mine])
            unchanged = unchanged + 1 if found is parts[mine] else 0
            parts[mine] = found
            if unchanged == 2:
                break
        return _rebuilt(node, parts)

    def _under(self, condition: Expr, node: Expr) -> Expr:
        """The node simplified where the condition is true."""
        if isinstance(condition, Const) or self._visits <= 0:
            return node
        self._nesting += 1
        try:
            with self.scope(condition):
                return self._visit(node)
        finally:
            self._nesting -= 1

    def by_rules_alone(self, node: Expr, known: Expr | None = None) -> Expr:
        """The condition simplified without the normal form, `known` being true."""
        enabled = self._analyzer.extensions
        extension = Extension.CONVERT_BOOLEAN_TO_AND_OF_ORS
        self._analyzer.extensions = enabled & ~extension
        try:
            return self._nested(node) if known is None else self._under(known, node)
        finally:
            self._analyzer.extensions = enabled

    def scope(self, condition: Expr) -> AbstractContextManager[None]:
        """A scope of the analyzer in which a simplified condition is true."""
        self.stats.constraints_entered += 1
        return self._analyzer.assumed(conjuncts(condition))

    def _comparison(self, node: Cmp) -> Expr:
        swapped = _SWAPPED.get(node.predicate)
        if swapped is not None:
            node = Cmp(swapped, node.rhs, node.lhs)
        known = self._known(node)
        if known is not None:
            return known
        if not is_index_type(node.lhs.dtype):
            return self._other_comparison(node)
        match node.predicate:
            case CmpPredicate.EQ:
                return self._equal(node)
            case CmpPredicate.NE:
                return self._unequal(node)
            case CmpPredicate.LT:
                return self._less(node)
            case _:
                return self._at_most(node)

    def _other_comparison(self, node: Cmp) -> Expr:
        """By the rules of `==` and `<` where there are none of the predicate."""
        found = self._by_rules(node)
        if found is not node or tir.is_float(tir.element_of(node.lhs.dtype)):
            return found
        if node.predicate not in (CmpPredicate.NE, CmpPredicate.LE):
            return node
        opposite = negated(node)
        found = self._by_rules(opposite)
        return node if found is opposite else self._negation(found)

    def _negation(self, condition: Expr) -> Expr:
        """The negation of a simplified condition, by the rules of `not`."""
        new = smart.negation(condition)
        return self._by_rules(new) if isinstance(new, Not) else new

    def compare(self, x: Expr, y: Expr) -> Comparison:
        """Which outcomes a comparison of two simplified index expressions may have."""
        if x is y:
            return Comparison.EQ
        difference = self._nested(smart.sub(x, y))
        found = self._analyzer.compare(x, y, difference)
        extension = Extension.COMPARISON_OF_PRODUCT_AND_SUM
        if found not in _DECIDED and self._analyzer.extensions & extension:
            found &= product_against_sum(difference, self.bound)
        return found

    def _equal(self, node: Cmp) -> Expr:
        outcome = self.compare(node.lhs, node.rhs)
        if outcome is Comparison.EQ:
            return _bool(True)
        return self._by_rules(node) if outcome & Comparison.EQ else _bool(False)

    def _unequal(self, node: Cmp) -> Expr:
        lhs, rhs = node.operands
        outcome = self.compare(lhs, rhs)
        if not outcome & Comparison.EQ:
            return _bool(True)
        if outcome is Comparison.EQ:
            return _bool(False)
        if outcome is Comparison.GE:
            return self._by_rules(Cmp(CmpPredicate.LT, rhs, lhs))
        if outcome is Comparison.LE:
            return self._by_rules(Cmp(CmpPredicate.LT, lhs, rhs))
        equal = Cmp(CmpPredicate.EQ, lhs, rhs)
        found = self._by_rules(equal)
        return node if found is equal else self._negation(found)

    def _less(self, node: Cmp) -> Expr:
        outcome = self.compare(node.lhs, node.rhs)
        if outcome is Comparison.LT:
            return _bool(True)
        return self._by_rules(node) if outcome & Comparison.LT else _bool(False)

    def _at_most(self, node: Cmp) -> Expr:
        opposite = Cmp(CmpPredicate.LT, node.rhs, node.lhs)
        found = self._by_rules(opposite)
        result = node if found is opposite else self._negation(found)
        # The rules come first: they give the bounds of multiples their rounded form.
        if not isinstance(result, Cmp) or result.predicate is not CmpPredicate.LE:
            return result
        return self._compared_at_most(result)

    def _compared_at_most(self, node: Cmp) -> Expr:
        lhs, rhs = node.operands
        outcome = self.compare(lhs, rhs)
        if not outcome & Comparison.GT:
            return _bool(True)
        if outcome is Comparison.GT:
            return _bool(False)
        if outcome is Comparison.NE:
            return self._by_rules(Cmp(CmpPredicate.LT, lhs, rhs))
        if outcome is Comparison.GE:
            return self._by_rules(Cmp(CmpPredicate.EQ, lhs, rhs))
        return node


_ZERO = Bound(0, 0)
_DECIDED = (Comparison.EQ, Comparison.LT, Comparison.GT)


def _bool(truth: bool) -> Const:
    return Const(int(truth), i1)


def _rebuilt(node: Expr, operands: list[Expr]) -> Expr:
    """The node on other operands, folded."""
    if isinstance(node, Value | Const):
        return node
    plain = isinstance(node, Binary | Cmp) and Const not in map(type, operands)
    if plain and operands[0] is not operands[1]:
        return node.rebuilt(tuple(operands))
    return smart.rebuild(node, operands)


def _scales(node: Expr, operands: list[bool]) -> bool:
    return any(operands) or (isinstance(node, Call) and node.name == "vscale")


# ---- one pass ----


_CHOICES = (Select, IfThenElse)


@dataclass
class _Open:
    """A choice whose operand is being simplified in a scope of its own."""

    node: Expr
    condition: Expr
    scope: AbstractContextManager[None]
    true_value: Expr | None = None


class _Visit:
    """A pass over a tree, without recursion."""

    def __init__(self, simplifier: RewriteSimplifier) -> None:
        self._simplifier = simplifier
        self._open: list[_Open] = []
        self._stack: list[Expr | _Open] = []

    def run(self, root: Expr) -> Expr:
        """The result for the tree. Scopes are closed whatever happens."""
        self._stack.append(root)
        try:
            while self._stack:
                top = self._stack[-1]
                if isinstance(top, _Open):
                    self._continue(top)
                elif self._simplifier.result_of(top) is None:
                    self._node(top)
                else:
                    self._stack.pop()
            return self._result(root)
        finally:
            while self._open:
                self._close()

    def _result(self, node: Expr) -> Expr:
        """The result for a node that is visited."""
        found = self._simplifier.result_of(node)
        assert found is not None
        return found

    def _node(self, node: Expr) -> None:
        if isinstance(node, _CHOICES) and node.operands[0].dtype == i1:
            self._choice(node)
        else:
            self._plain(node)

    def _plain(self, node: Expr) -> None:
        """Visit the operands, then the node."""
        operands: list[Expr] = []
        missing: list[Expr] = []
        for operand in node.operands:
            found = self._simplifier.result_of(operand)
            (missing if found is None else operands).append(found or operand)
        if missing:
            self._stack += reversed(missing)
            return
        self._stack.pop()
        self._simplifier.may_visit(in_scope=bool(self._open))
        self._simplifier.record(node, self._simplifier.simplified(node, operands))

    def _choice(self, node: Expr) -> None:
        """Visit the condition, then each value where it is taken."""
        condition = self._simplifier.result_of(node.operands[0])
        if condition is None:
            self._stack.append(node.operands[0])
        elif isinstance(condition, Const):
            self._taken(node, node.operands[1 if condition.value else 2])
        elif self._may_open(node):
            self._stack.pop()
            self._begin(node, condition, condition)
            self._stack.append(node.operands[1])
        else:
            self._plain(node)

    def _may_open(self, node: Expr) -> bool:
        """Whether the values of a choice may be simplified knowing its condition.

        Both values of an eager one are computed, so what is simplified must be defined
        where the condition is false too.
        """
        if len(self._open) >= MAX_SCOPES:
            return False
        values = node.operands[1:]
        if isinstance(node, Select) and not all(map(self._simplifier.is_total, values)):
            return False
        return self._simplifier.may_visit(in_scope=bool(self._open))

    def _taken(self, node: Expr, value: Expr) -> None:
        found = self._simplifier.result_of(value)
        if found is None:
            self._stack.append(value)
        else:
            self._stack.pop()
            self._simplifier.record(node, found)

    def _begin(
        self, node: Expr, condition: Expr, known: Expr, true_value: Expr | None = None
    ) -> None:
        """Open a scope in which `known` is true."""
        scope = self._simplifier.scope(known)
        scope.__enter__()
        entry = _Open(node, condition, scope, true_value)
        self._open.append(entry)
        self._stack.append(entry)

    def _close(self) -> None:
        self._open.pop().scope.__exit__(None, None, None)

    def _continue(self, entry: _Open) -> None:
        """One value of a choice is simplified: go on with the other, or finish."""
        self._stack.pop()
        node = entry.node
        if entry.true_value is None:
            true_value = self._result(node.operands[1])
            self._close()
            self._begin(node, entry.condition, negated(entry.condition), true_value)
            self._stack.append(node.operands[2])
            return
        operands = [entry.condition, entry.true_value, self._result(node.operands[2])]
        self._close()
        self._simplifier.record(node, self._simplifier.simplified(node, operands))
