"""Rewrite rules on expression trees, written as text and compiled to Python.

A rule is a line `pattern -> replacement`, optionally `if guard` and flags at the end:

    (x + c1) + y -> (x + y) + c1 [c][r]
    td(x + c1, c2) -> td(x, c2) + td(c1, c2) if c2 > 0 and c1 % c2 == 0 and x >= 0

All three parts have Python's syntax. `//` and `%` round down, `td` and `tm` are quotient
and remainder rounded toward zero, `bcast(x)` and `ramp(b, s)` make vectors of the root's
type, `select(c, a, b)` chooses, and `and`, `or`, `not` and the comparisons are those of
TIR. A comparison has `==`, `!=`, `<` or `<=`: the others are these with operands swapped.

- A letter stands for any tree, the same letter for the same tree.
- `c` with a digit stands for an integer constant. What has only constants is computed
  on numbers without bounds, where `//` and `%` round down as well. A rule whose result
  needs a literal that its type cannot hold does not apply.
- A guard on constants is evaluated. Other comparisons in a guard must be provable:
  `e >= k` against a number by the constant bounds of `e`; `e == f` when the difference
  simplifies to 0.
- A number in the pattern or the result stands for a constant of the type in question.
- `[c]` matches every order of the operands of the commutative nodes of the pattern,
  `[m]` of `min` and `max` only. `[r]` asks to simplify the result again.

A rule may span lines: what is indented continues it. A table holds the rules of one root
operator, in order; the first that applies wins. Patterns become straight-line functions
when a node that may match is first met, and a node is only tried on the rules whose
operands have its kinds.
"""

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache, cached_property
from itertools import product
from typing import Protocol, TypeAlias, cast

from xdsl.ir import Attribute

from xdsl_tvm.analysis.arith import expr as ex
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Cmp, Const, Expr
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.integers import truncated_quotient, truncated_remainder
from xdsl_tvm.dialects.tir.types import is_index_type

Number: TypeAlias = int | float


@dataclass(frozen=True, slots=True)
class Name:
    """A variable of a rule."""

    text: str

    @property
    def is_constant(self) -> bool:
        return self.text[0] == "c" and self.text[1:].isdigit()


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, or a bool."""

    value: Number


@dataclass(frozen=True, slots=True)
class Node:
    """An operator of `OPERATORS` on terms."""

    op: str
    args: tuple[Term, ...]


Term: TypeAlias = Name | Literal | Node


@dataclass(frozen=True, slots=True)
class Operator:
    """How an operator of the rule language is matched, built and computed."""

    kind: type[Expr] | tir.CmpPredicate
    """The class of the tree node; the predicate for comparisons."""
    number: str
    """Python text of the value on numbers, with the operands as `{0}` and `{1}`."""
    commutes: bool = False


OPERATORS = {
    "add": Operator(ex.Add, "({0} + {1})", commutes=True),
    "sub": Operator(ex.Sub, "({0} - {1})"),
    "mul": Operator(ex.Mul, "({0} * {1})", commutes=True),
    "td": Operator(ex.Div, "td({0}, {1})"),
    "tm": Operator(ex.Mod, "tm({0}, {1})"),
    "fd": Operator(ex.FloorDiv, "({0} // {1})"),
    "fm": Operator(ex.FloorMod, "({0} % {1})"),
    "min": Operator(ex.Min, "min({0}, {1})", commutes=True),
    "max": Operator(ex.Max, "max({0}, {1})", commutes=True),
    "and": Operator(ex.And, "({0} and {1})", commutes=True),
    "or": Operator(ex.Or, "({0} or {1})", commutes=True),
    "not": Operator(ex.Not, "(not {0})"),
    "eq": Operator(tir.CmpPredicate.EQ, "({0} == {1})", commutes=True),
    "ne": Operator(tir.CmpPredicate.NE, "({0} != {1})"),
    "lt": Operator(tir.CmpPredicate.LT, "({0} < {1})"),
    "le": Operator(tir.CmpPredicate.LE, "({0} <= {1})"),
    "select": Operator(ex.Select, "({1} if {0} else {2})"),
    "bcast": Operator(ex.Broadcast, ""),
    "ramp": Operator(ex.Ramp, ""),
}
_BY_SYNTAX: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "fd",
    ast.Mod: "fm",
    ast.And: "and",
    ast.Or: "or",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
}
_CALLS = ("td", "tm", "min", "max", "select", "bcast", "ramp")
_COMPARISONS = ("eq", "ne", "lt", "le")
_RULE = re.compile(
    r"(?P<pattern>.+?) -> (?P<replacement>.+?)(?: if (?P<guard>.+?))?"
    r"(?P<flags>(?:\s*\[[cmr]\])*)"
)


def parse_term(text: str) -> Term:
    """The term of an expression of the rule language.

    Raises ValueError for what the language does not have.
    """
    return _term(ast.parse(text.strip(), mode="eval").body)


def _term(node: ast.expr) -> Term:
    match node:
        case ast.Name(id=name):
            return Name(name)
        case ast.Constant(value=bool() | int() | float() as value):
            return Literal(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            return Literal(-value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return Node("sub", (Literal(0), _term(operand)))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return Node("not", (_term(operand),))
        case ast.Call(func=ast.Name(id=name), args=args) if name in _CALLS:
            return Node(name, tuple(map(_term, args)))
        case ast.BinOp(left=left, op=op, right=right):
            return Node(_syntax(op), (_term(left), _term(right)))
        case ast.Compare(left=left, ops=[ast.Gt()], comparators=[right]):
            return Node("lt", (_term(right), _term(left)))
        case ast.Compare(left=left, ops=[ast.GtE()], comparators=[right]):
            return Node("le", (_term(right), _term(left)))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return Node(_syntax(op), (_term(left), _term(right)))
        case ast.BoolOp(op=op, values=[first, *rest]):
            result = _term(first)
            for value in rest:
                result = Node(_syntax(op), (result, _term(value)))
            return result
        case _:
            raise ValueError(f"`{ast.unparse(node)}` is not of the rule language")


def _syntax(op: ast.AST) -> str:
    name = _BY_SYNTAX.get(type(op))
    if name is None:
        raise ValueError(f"{type(op).__name__} is not of the rule language")
    return name


def names_of(term: Term) -> Iterator[Name]:
    """The names in a term, repeated ones repeatedly."""
    if isinstance(term, Name):
        yield term
    elif isinstance(term, Node):
        for arg in term.args:
            yield from names_of(arg)


def is_number(term: Term) -> bool:
    """Whether the term has only constants."""
    return all(name.is_constant for name in names_of(term))


@dataclass(frozen=True)
class Rule:
    """One line of a table."""

    id: str
    """The table's name and the line, flags aside."""
    pattern: Node
    replacement: Term
    guard: tuple[Term, ...]
    """What must hold, all of it: conditions on constants first."""
    variants: tuple[Node, ...]
    """The patterns with operands in other orders, `pattern` among them."""
    is_recursive: bool


def parse_rule(table: str, line: str) -> Rule:
    """The rule of one line of the table with this name.

    Raises ValueError when the line is no rule.
    """
    match = _RULE.fullmatch(line.strip())
    if match is None:
        raise ValueError(f"`{line}` is no rule: it lacks ` -> `")
    flags = match["flags"]
    pattern = parse_term(match["pattern"])
    if not isinstance(pattern, Node):
        raise ValueError(f"`{line}` is no rule: its pattern must be an operator")
    commuting = "cm" if "[c]" in flags else "m" if "[m]" in flags else ""
    text = line.strip().removesuffix(flags)
    guard = _conjuncts(parse_term(match["guard"])) if match["guard"] else []
    return Rule(
        id=f"{table}: {text}",
        pattern=pattern,
        replacement=parse_term(match["replacement"]),
        guard=tuple(sorted(guard, key=lambda part: not is_number(part))),
        variants=tuple(dict.fromkeys(_orders(pattern, commuting))),
        is_recursive="[r]" in flags,
    )


def _conjuncts(term: Term) -> list[Term]:
    if isinstance(term, Node) and term.op == "and":
        return [part for arg in term.args for part in _conjuncts(arg)]
    return [term]


def _orders(node: Node, commuting: str) -> Iterator[Node]:
    """The node with the operands of commutative nodes in every order."""
    swaps = OPERATORS[node.op].commutes and (
        "c" in commuting or (commuting == "m" and node.op in ("min", "max"))
    )
    parts = [
        _orders(arg, commuting) if isinstance(arg, Node) else (arg,) for arg in node.args
    ]
    for args in product(*parts):
        yield Node(node.op, args)
        if swaps:
            yield Node(node.op, args[::-1])


# ---- from rules to functions ----


class Prover(Protocol):
    """What guards ask; False where it cannot be shown."""

    def proves_at_least(self, node: Expr, bound: int) -> bool:
        """Whether the index expression is at least `bound`."""
        ...

    def proves_equal(self, lhs: Expr, rhs: Expr) -> bool:
        """Whether the index expressions are equal."""
        ...


Matcher: TypeAlias = Callable[[Expr, Prover], Expr | None]
"""The replacement of a node, or None when the rule does not apply."""


class Operands(Enum):
    """The types that the rules of a table hold for.

    They are the types of the lanes of the root, and of what is compared where the root is
    a comparison or a combination of them.
    """

    ANY = auto()
    ORDERED = auto()
    """All but floats, among which a NaN is neither less nor greater than another."""
    INTEGER = auto()
    SIGNED = auto()
    INDEX = auto()
    """Scalars in which arithmetic is that of the integers."""

    def admits(self, dtype: Attribute) -> bool:
        """Whether `dtype` is one of these types."""
        return _admits(self, dtype)


@cache
def _admits(operands: Operands, dtype: Attribute) -> bool:
    element = tir.element_of(dtype)
    match operands:
        case Operands.ANY:
            return True
        case Operands.ORDERED:
            return not tir.is_float(element)
        case Operands.INTEGER:
            return tir.is_integer(element)
        case Operands.SIGNED:
            return tir.is_int(element)
        case Operands.INDEX:
            return is_index_type(element)


_SAFE = 127
"""Literals up to this magnitude fit every integer type."""
_BOOLEAN = ("and", "or", "not")


def compile_rule(rule: Rule, pattern: Node, operands: Operands) -> Matcher:
    """The function that applies the rule to nodes of one variant of its pattern.

    The operator of the root is not checked. Raises ValueError when a part of the rule has
    no meaning.
    """
    source = _Source()
    source.match(pattern)
    if operands is not Operands.ANY:
        source.admit(operands)
    source.require(rule.guard)
    source.give(rule.replacement)
    text = "\n    ".join(["def match(n, s):", *source.lines])
    namespace = {**_NAMESPACE, "admits": operands.admits}
    exec(compile(text, f"<rule {rule.id}>", "exec"), namespace)
    return cast(Matcher, namespace["match"])


@dataclass
class _Source:
    """The Python text of a matcher as it grows."""

    lines: list[str] = field(default_factory=lambda: [])
    bound: dict[str, str] = field(default_factory=lambda: {})
    """The Python names of the rule's variables."""
    typed: str | None = None
    """The Python name of a tree with the type of the literals."""
    is_vector: bool = False
    has_dtype: bool = False
    fresh: int = 0

    def _new(self) -> str:
        self.fresh += 1
        return f"v{self.fresh}"

    def _fail_if(self, condition: str) -> None:
        self.lines.append(f"if {condition}: return None")

    # -- the pattern --

    def match(self, pattern: Node) -> None:
        if pattern.op not in (*_COMPARISONS, *_BOOLEAN):
            self.typed = "n"
        queue: deque[tuple[Term, str]] = deque()
        self._unpack(pattern, "n", queue)
        while queue:
            self._match_part(*queue.popleft(), queue)

    def _unpack(self, node: Node, at: str, queue: deque[tuple[Term, str]]) -> None:
        names = [self._new() for _ in node.args]
        self.lines.append(f"{', '.join(names)}{',' * (len(names) == 1)} = {at}.operands")
        queue += zip(node.args, names, strict=True)
        if node.op in _COMPARISONS and self.typed is None:
            self.typed = names[0]
        self.is_vector |= node.op in ("bcast", "ramp")

    def _match_part(self, term: Term, at: str, queue: deque[tuple[Term, str]]) -> None:
        match term:
            case Name(text=text) if not term.is_constant:
                if text in self.bound:
                    self._fail_if(f"{at} is not {self.bound[text]}")
                self.bound.setdefault(text, at)
            case Name(text=text):
                self._fail_if(f"type({at}) is not Const")
                if text in self.bound:
                    self._fail_if(f"{at}.payload != {text}")
                else:
                    self.bound[text] = text
                    self.lines.append(f"{text} = {at}.payload")
            case Literal(value=value):
                self._fail_if(f"type({at}) is not Const or {at}.payload != {value}")
            case Node(op=op):
                kind = OPERATORS[op].kind
                if isinstance(kind, tir.CmpPredicate):
                    wanted = f"Predicate.{kind.name}"
                    self._fail_if(
                        f"type({at}) is not Cmp or {at}.payload is not {wanted}"
                    )
                else:
                    self._fail_if(f"type({at}) is not {kind.__name__}")
                self._unpack(term, at, queue)

    # -- guard and replacement --

    def admit(self, operands: Operands) -> None:
        if self.typed is None:
            raise ValueError(f"a rule for {operands.name} must compare or compute")
        self._fail_if(f"not admits({self.typed}.dtype)")

    def require(self, guard: tuple[Term, ...]) -> None:
        for part in guard:
            self._fail_if(f"not {self._condition(part)}")

    def _condition(self, term: Term) -> str:
        """Python text that is true when the part of a guard holds."""
        if is_number(term):
            return self._number(term)
        match term:
            case Node(op="or", args=(lhs, rhs)):
                return f"({self._condition(lhs)} or {self._condition(rhs)})"
            case Node(op="le", args=(bound, tree)) if is_number(bound):
                return f"s.proves_at_least({self._tree(tree)}, {self._number(bound)})"
            case Node(op="eq", args=(lhs, rhs)):
                return f"s.proves_equal({self._tree(lhs)}, {self._tree(rhs)})"
            case _:
                raise ValueError(f"no guard can be made of {term}")

    def give(self, replacement: Term) -> None:
        self.lines.append(f"return {self._tree(replacement)}")

    def _number(self, term: Term) -> str:
        match term:
            case Name(text=text):
                return text
            case Literal(value=value):
                return repr(value)
            case Node(op=op, args=args):
                return OPERATORS[op].number.format(*map(self._number, args))

    def _tree(self, term: Term) -> str:
        """Python text that builds the tree; what it needs is added to the lines."""
        if is_number(term) and not _is_vector(term):
            return self._literal(term)
        match term:
            case Name(text=text):
                return self.bound[text]
            case Node(op="bcast" | "ramp" as op, args=args):
                return f"{_class(op)}(n.dtype, {', '.join(map(self._tree, args))})"
            case Node(op=op, args=args):
                return f"build_{op}({', '.join(map(self._tree, args))})"
            case Literal():
                raise AssertionError("a literal is a number")

    def _literal(self, term: Term) -> str:
        if isinstance(term, Literal) and isinstance(term.value, bool):
            return f"const({int(term.value)}, n.dtype)"
        if isinstance(term, Node) and term.op in _COMPARISONS:
            return f"const(int({self._number(term)}), n.dtype)"
        self._load_dtype()
        if isinstance(term, Literal) and abs(term.value) <= _SAFE:
            return f"Const({term.value}, dt)"
        name = self._new()
        self.lines.append(f"{name} = {self._number(term)}")
        self._fail_if(f"not fits({name}, dt)")
        return f"Const({name}, dt)"

    def _load_dtype(self) -> None:
        if self.typed is None:
            raise ValueError("a rule with literals must compare or compute")
        if not self.has_dtype:
            self.has_dtype = True
            dtype = f"{self.typed}.dtype"
            lane = f"element_of({dtype})" if self.is_vector else dtype
            self.lines.append(f"dt = {lane}")


def _is_vector(term: Term) -> bool:
    return isinstance(term, Node) and term.op in ("bcast", "ramp")


def _class(op: str) -> str:
    kind = OPERATORS[op].kind
    assert isinstance(kind, type)
    return kind.__name__


def _builder(
    kind: type[ex.Binary],
) -> Callable[[Expr, Expr], Expr]:
    """`kind` of two operands, folded."""

    def build(lhs: Expr, rhs: Expr) -> Expr:
        if type(lhs) is Const or type(rhs) is Const or lhs is rhs:
            return smart.binary(kind, lhs, rhs)
        return kind(lhs, rhs)

    return build


def _comparison(predicate: tir.CmpPredicate) -> Callable[[Expr, Expr], Expr]:
    def build(lhs: Expr, rhs: Expr) -> Expr:
        if type(lhs) is Const and type(rhs) is Const:
            return smart.compare(predicate, lhs, rhs)
        return Cmp(predicate, lhs, rhs)

    return build


def _builders() -> Iterator[tuple[str, object]]:
    """The constructors that replacements are made with, by the names in the text."""
    for name, operator in OPERATORS.items():
        kind = operator.kind
        if isinstance(kind, tir.CmpPredicate):
            yield f"build_{name}", _comparison(kind)
        elif issubclass(kind, ex.Binary):
            yield f"build_{name}", _builder(kind)
    yield "build_not", smart.negation
    yield "build_select", smart.select


_NAMESPACE: dict[str, object] = {
    **{
        operator.kind.__name__: operator.kind
        for operator in OPERATORS.values()
        if isinstance(operator.kind, type)
    },
    **dict(_builders()),
    "Cmp": Cmp,
    "Const": Const,
    "Predicate": tir.CmpPredicate,
    "const": smart.const,
    "element_of": tir.element_of,
    "fits": smart.fits,
    "td": truncated_quotient,
    "tm": truncated_remainder,
}


# ---- tables ----

Kind: TypeAlias = type[Expr] | tir.CmpPredicate


def kind_of(node: Expr) -> Kind:
    """The class of a node, and the predicate of a comparison."""
    return node.payload if type(node) is Cmp else type(node)


@dataclass(slots=True)
class _Variant:
    """A pattern of a rule, compiled when it is first tried."""

    rule: Rule
    pattern: Node
    matcher: Matcher | None = None

    def may_match(self, kinds: tuple[Kind, ...]) -> bool:
        """Whether operands of these kinds could be those of the pattern."""
        for arg, kind in zip(self.pattern.args, kinds, strict=True):
            match arg:
                case Node(op=op):
                    wanted = OPERATORS[op].kind
                case Name() if not arg.is_constant:
                    continue
                case _:
                    wanted = Const
            if kind is not wanted:
                return False
        return True


class RuleTable:
    """Rules for one operator, the first that applies wins."""

    def __init__(self, name: str, rules: str, operands: Operands = Operands.ANY) -> None:
        self.name = name
        self.operands = operands
        self._text = rules
        self._candidates: dict[tuple[Kind, ...], tuple[_Variant, ...]] = {}

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, in order."""
        lines = re.sub(r"\n +", " ", self._text).splitlines()
        return tuple(parse_rule(self.name, line) for line in lines if line)

    @cached_property
    def _variants(self) -> tuple[_Variant, ...]:
        return tuple(
            _Variant(rule, pattern) for rule in self.rules for pattern in rule.variants
        )

    def first(self, node: Expr, prover: Prover) -> tuple[Expr, Rule] | None:
        """What the first rule that applies makes of a node, and that rule.

        The node must have the operator that the table is for.
        """
        kinds = tuple([kind_of(operand) for operand in node.operands])
        candidates = self._candidates.get(kinds)
        if candidates is None:
            candidates = tuple(v for v in self._variants if v.may_match(kinds))
            self._candidates[kinds] = candidates
        for variant in candidates:
            matcher = variant.matcher
            if matcher is None:
                matcher = compile_rule(variant.rule, variant.pattern, self.operands)
                variant.matcher = matcher
            found = matcher(node, prover)
            if found is not None:
                return found, variant.rule
        return None
