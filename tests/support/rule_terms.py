"""Trees of the terms of rewrite rules, with leaves for the names in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from xdsl.dialects.builtin import VectorType, i1, i32
from xdsl.ir import Attribute, Block

from xdsl_tvm.analysis.arith.expr import Broadcast, Cmp, Const, Expr, Ramp, Value
from xdsl_tvm.analysis.arith.patterns import OPERATORS, Literal, Name, Node, Term
from xdsl_tvm.dialects import tir

LANES = 3
_LOGICAL = ("and", "or", "not")
_COMPARISONS = ("eq", "ne", "lt", "le")


def is_of_vectors(term: Term) -> bool:
    """Whether there is a broadcast or a ramp in the term."""
    if not isinstance(term, Node):
        return False
    return term.op in ("bcast", "ramp") or any(map(is_of_vectors, term.args))


class TermTrees:
    """Makes trees of the terms of one rule; the same name is the same leaf.

    `numbers` gives constants for names; other names become leaves, kept in `leaves`.
    What is neither compared nor computed is of type `i1`, as it must be in a condition.
    """

    def __init__(self, numbers: Mapping[str, int], element: Attribute = i32) -> None:
        self.numbers = numbers
        self.element = element
        self.leaves: dict[str, Expr] = {}

    def tree(self, term: Term, *, vector: bool = False) -> Expr:
        """The tree of a pattern or a guard, of vectors or of scalars."""
        logical = isinstance(term, Node) and term.op in (*_LOGICAL, *_COMPARISONS)
        truth = logical or (isinstance(term, Literal) and isinstance(term.value, bool))
        return self._build(term, self._dtype(i1 if truth else self.element, vector))

    def replacement(self, term: Term, pattern: Expr) -> Expr:
        """The tree of what replaces a pattern."""
        return self._build(term, pattern.dtype)

    @staticmethod
    def _dtype(element: Attribute, vector: bool) -> Attribute:
        return VectorType(element, [LANES]) if vector else element

    def _build(self, term: Term, dtype: Attribute) -> Expr:
        match term:
            case Name(text=text) if text in self.numbers:
                return Const(self.numbers[text], dtype)
            case Name(text=text):
                return self._leaf(text, dtype)
            case Literal(value=value) if tir.is_vector(dtype):
                return Broadcast(dtype, Const(value, tir.element_of(dtype)))
            case Literal(value=value):
                return Const(value, dtype)
            case Node(op=op, args=args):
                return self._node(op, args, dtype)

    def _leaf(self, name: str, dtype: Attribute) -> Expr:
        if tir.is_vector(dtype):
            element = tir.element_of(dtype)
            base, stride = (self._leaf(f"{name}.{part}", element) for part in "bs")
            return Ramp(dtype, base, stride)
        if name not in self.leaves:
            (argument,) = Block(arg_types=[dtype]).args
            argument.name_hint = name.replace(".", "_")
            self.leaves[name] = Value(argument)
        return self.leaves[name]

    def _node(self, op: str, args: tuple[Term, ...], dtype: Attribute) -> Expr:
        vector = tir.is_vector(dtype)
        kind = OPERATORS[op].kind
        if isinstance(kind, tir.CmpPredicate):
            compared = self._dtype(self.element, vector)
            return Cmp(kind, *(self._build(arg, compared) for arg in args))
        make = cast(Callable[..., Expr], kind)
        if op in ("bcast", "ramp"):
            lane = tir.element_of(dtype)
            return make(dtype, *(self._build(arg, lane) for arg in args))
        dtypes = [dtype] * len(args)
        if op == "select":
            dtypes[0] = i1
        return make(*map(self._build, args, dtypes))
