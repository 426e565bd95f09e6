"""Script expressions as the trees of `analysis.expr`, for algebra, and back.

Variables become leaves, and so do loads and calls that `analysis.expr` does not look
into; equal ones become one leaf. Variables can be given values on the way, which
substitutes them, in the indices of loads too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from xdsl.ir import Block

from xdsl_tvm.analysis.arith import expr as tree
from xdsl_tvm.dialects import tir
from xdsl_tvm.tvmscript.nodes import expressions as ex

_BINARY: Mapping[str, type[tree.Binary]] = {
    "add": tree.Add,
    "sub": tree.Sub,
    "mul": tree.Mul,
    "div": tree.Div,
    "mod": tree.Mod,
    "floordiv": tree.FloorDiv,
    "floormod": tree.FloorMod,
    "min": tree.Min,
    "max": tree.Max,
    "and": tree.And,
    "or": tree.Or,
}
_BINARY_NAMES: Mapping[type[tree.Binary], str] = {
    kind: name for name, kind in _BINARY.items()
}


class Trees:
    """Translates script expressions to trees and back."""

    def __init__(self) -> None:
        self._leaves: dict[object, tree.Value] = {}
        self._expressions: dict[tree.Expr, ex.Expr] = {}
        self._parts: dict[tree.Expr, tuple[tree.Expr, ...]] = {}

    def leaf(self, var: ex.Var) -> tree.Value:
        """The leaf of a variable."""
        return self._leaf(var, var, ())

    def parts(self, leaf: tree.Expr) -> tuple[tree.Expr, ...]:
        """The trees inside a leaf: the indices of a load, the operands of a call."""
        return self._parts.get(leaf, ())

    def loaded(self, leaf: tree.Expr) -> ex.Expr | None:
        """The load or call that a leaf is, None for a variable and for other trees."""
        expression = self._expressions.get(leaf)
        return None if isinstance(expression, ex.Var) else expression

    def leaves(self, *roots: tree.Expr) -> Iterator[tree.Expr]:
        """The leaves of trees, those inside of loads and calls too."""
        stack = list(roots)
        while stack:
            for node in tree.postorder(stack.pop()):
                if isinstance(node, tree.Value):
                    yield node
                    stack += self.parts(node)

    def of(
        self, root: ex.Expr, values: Mapping[ex.Var, tree.Expr] = MappingProxyType({})
    ) -> tree.Expr:
        """The tree of an expression, with variables replaced by their `values`."""
        known: dict[int, tree.Expr] = {}
        stack = [root]
        while stack:
            node = stack[-1]
            if id(node) in known:
                stack.pop()
                continue
            waiting = [part for part in ex.operands(node) if id(part) not in known]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            stack.pop()
            known[id(node)] = self._tree(
                node, tuple(known[id(part)] for part in ex.operands(node)), values
            )
        return known[id(root)]

    def _tree(
        self,
        node: ex.Expr,
        parts: tuple[tree.Expr, ...],
        values: Mapping[ex.Var, tree.Expr],
    ) -> tree.Expr:
        match node:
            case ex.Var():
                return values.get(node) or self.leaf(node)
            case ex.FloatImm(type=tir.CustomType()):
                return self._leaf(("custom", node.type, node.value), node, parts)
            case ex.IntImm() | ex.FloatImm():
                return tree.Const(node.value, node.type)
            case ex.Binary():
                return _BINARY[node.op](*parts)
            case ex.Compare():
                return tree.Cmp(node.predicate, *parts)
            case ex.Not():
                return tree.Not(*parts)
            case ex.Select():
                return tree.Select(*parts)
            case ex.Cast():
                return tree.Cast(node.type, *parts)
            case ex.Broadcast():
                return tree.Broadcast(node.type, *parts)
            case ex.Ramp():
                return tree.Ramp(node.type, *parts)
            case ex.Call() if node.name in tree.PURE_CALLS:
                return tree.Call(node.name, parts, node.type)
            case ex.BufferLoad() if node.predicate is None:
                return self._leaf(("load", node.buffer, parts), node, parts)
            case _:
                return self._leaf((id(node), parts), node, parts)

    def _leaf(
        self, key: object, expression: ex.Expr, parts: tuple[tree.Expr, ...]
    ) -> tree.Value:
        leaf = self._leaves.get(key)
        if leaf is None:
            leaf = tree.Value(Block(arg_types=[expression.type]).args[0])
            self._leaves[key] = leaf
            self._expressions[leaf] = expression
            self._parts[leaf] = parts
        return leaf

    def expression(self, root: tree.Expr) -> ex.Expr:
        """The script expression of a tree."""
        return tree.fold(root, self._expression)

    def _expression(self, node: tree.Expr, parts: list[ex.Expr]) -> ex.Expr:
        match node:
            case tree.Value():
                inner = [self.expression(part) for part in self.parts(node)]
                return with_operands(self._expressions[node], inner)
            case tree.Const():
                return ex.const(node.value, node.dtype)
            case tree.Binary():
                return ex.Binary(_BINARY_NAMES[type(node)], *parts)
            case tree.Cmp():
                return ex.Compare(node.predicate, *parts)
            case tree.Not():
                return ex.Not(*parts)
            case tree.Select():
                return ex.Select(*parts)
            case tree.Cast():
                return ex.Cast(node.dtype, *parts)
            case tree.Broadcast():
                return ex.Broadcast(parts[0], node.dtype)
            case tree.Ramp():
                return ex.Ramp(parts[0], parts[1], node.dtype)
            case tree.Call():
                return ex.Call(node.name, tuple(parts), node.dtype)
            case _:
                raise AssertionError(f"{type(node).__name__} has no script expression")


def with_operands(node: ex.Expr, parts: Sequence[ex.Expr]) -> ex.Expr:
    """The same expression on other operands, given in the order of `operands`."""
    match node:
        case ex.Binary():
            return ex.Binary(node.op, *parts)
        case ex.Compare():
            return ex.Compare(node.predicate, *parts)
        case ex.Not():
            return ex.Not(*parts)
        case ex.Select():
            return ex.Select(*parts)
        case ex.Cast():
            return ex.Cast(node.type, *parts)
        case ex.Broadcast():
            return ex.Broadcast(parts[0], node.type)
        case ex.Ramp():
            return ex.Ramp(parts[0], parts[1], node.type)
        case ex.Shuffle():
            count = len(node.vectors)
            return ex.Shuffle(tuple(parts[:count]), tuple(parts[count:]))
        case ex.Let():
            return ex.Let(node.var, *parts)
        case ex.BufferLoad() if node.predicate is None:
            return ex.BufferLoad(node.buffer, tuple(parts))
        case ex.BufferLoad():
            return ex.BufferLoad(node.buffer, tuple(parts[:-1]), parts[-1])
        case ex.Call():
            rest = iter(parts)
            args = [next(rest) if isinstance(arg, ex.Expr) else arg for arg in node.args]
            return ex.Call(node.name, tuple(args), node.type)
        case ex.CallFunc():
            return ex.CallFunc(node.symbol, tuple(parts), node.type)
        case _:
            return node
