"""Evaluates the expressions of scripts: Python values and IR side by side.

Every part of an expression is evaluated before the whole, conditions and branches that
Python would skip included (spec tvmscript.md §1). Calls, attributes, subscripts and
displays mean what they mean in Python. Operators do so between Python values; next to an
IR expression they build IR: arithmetic matches dtypes and folds, comparisons and logic
are nodes as written (§3).
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any

from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.types import is_vector
from xdsl_tvm.tvmscript import expressions as ex
from xdsl_tvm.tvmscript.errors import ScriptError
from xdsl_tvm.tvmscript.scope import Scope
from xdsl_tvm.tvmscript.source import Source
from xdsl_tvm.tvmscript.statements import Buffer, BufferRegion

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], object]] = {
    ast.Add: lambda lhs, rhs: lhs + rhs,
    ast.Sub: lambda lhs, rhs: lhs - rhs,
    ast.Mult: lambda lhs, rhs: lhs * rhs,
    ast.Div: lambda lhs, rhs: lhs / rhs,
    ast.FloorDiv: lambda lhs, rhs: lhs // rhs,
    ast.Mod: lambda lhs, rhs: lhs % rhs,
    ast.Pow: lambda lhs, rhs: lhs**rhs,
    ast.MatMult: lambda lhs, rhs: lhs @ rhs,
    ast.LShift: lambda lhs, rhs: lhs << rhs,
    ast.RShift: lambda lhs, rhs: lhs >> rhs,
    ast.BitAnd: lambda lhs, rhs: lhs & rhs,
    ast.BitOr: lambda lhs, rhs: lhs | rhs,
    ast.BitXor: lambda lhs, rhs: lhs ^ rhs,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], object]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_PREDICATES: Mapping[type[ast.cmpop], tir.CmpPredicate] = {
    ast.Eq: tir.CmpPredicate.EQ,
    ast.NotEq: tir.CmpPredicate.NE,
    ast.Lt: tir.CmpPredicate.LT,
    ast.LtE: tir.CmpPredicate.LE,
    ast.Gt: tir.CmpPredicate.GT,
    ast.GtE: tir.CmpPredicate.GE,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda item, container: item in container,
    ast.NotIn: lambda item, container: item not in container,
}
_KEEP_RANGES = ("reads", "writes", "match_buffer", "realize")
"""Calls whose arguments `a:b` stay ranges; elsewhere they are vectors."""

_UNSUPPORTED: Mapping[type[ast.expr], str] = {
    ast.ListComp: "a comprehension; write a list, or compute it outside of the script",
    ast.SetComp: "a comprehension; compute it outside of the script",
    ast.DictComp: "a comprehension; compute it outside of the script",
    ast.GeneratorExp: "a generator; write a tuple, or compute it outside of the script",
    ast.NamedExpr: "the walrus operator; write an assignment before",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
}


class ScriptSyntaxError(SyntaxError):
    """Python that scripts cannot hold."""


class Evaluator:
    """Evaluates expressions of `source` with the names of `scope`.

    `call` performs the calls. Both source and scope are exchanged while a macro is
    spliced in. Errors of Python are raised as ScriptError at the innermost expression
    that they come from.
    """

    def __init__(
        self,
        source: Source,
        scope: Scope,
        call: Callable[[object, Sequence[object], Mapping[str, object]], object],
    ) -> None:
        self.source = source
        self.scope = scope
        self._call = call
        self._handlers: dict[type[ast.expr], Callable[[Any], object]] = {
            ast.Constant: self._constant,
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Subscript: self._subscript,
            ast.Call: self._called,
            ast.BinOp: self._binary,
            ast.UnaryOp: self._unary,
            ast.BoolOp: self._logical,
            ast.Compare: self._compared,
            ast.IfExp: self._ternary,
            ast.Tuple: self._tuple,
            ast.List: self._list,
            ast.Set: self._set,
            ast.Dict: self._dict,
            ast.Lambda: self._lambda,
            ast.JoinedStr: self._joined,
            ast.FormattedValue: self._formatted,
            ast.Slice: self._slice,
        }

    def evaluate(self, node: ast.expr) -> object:
        """The value of an expression.

        Raises ScriptError with the place of what is wrong.
        """
        try:
            handler = self._handlers.get(type(node))
            if handler is None:
                what = _UNSUPPORTED.get(type(node), f"a {type(node).__name__} expression")
                raise ScriptSyntaxError(f"a script cannot hold {what}")
            return handler(node)
        except ScriptError:
            raise
        except Exception as error:
            raise self.source.error(node, error_text(error)) from error

    def operand(self, node: ast.expr) -> object:
        """The value of an operand: its slices `a:b` are vectors, not ranges."""
        if isinstance(node, ast.Subscript) and _has_slice(node.slice):
            try:
                base = self.evaluate(node.value)
                return self._item(base, self.index(node.slice, vectors=True))
            except ScriptError:
                raise
            except Exception as error:
                raise self.source.error(node, error_text(error)) from error
        return self.evaluate(node)

    def index(self, node: ast.expr, *, vectors: bool) -> object:
        """What stands in brackets; `vectors` gives slices with both bounds step 1."""
        if not isinstance(node, ast.Tuple):
            return self._index_part(node, vectors)
        parts: list[object] = []
        for part in node.elts:
            if isinstance(part, ast.Starred):
                parts += _sequence(self.evaluate(part.value))
            else:
                parts.append(self._index_part(part, vectors))
        return tuple(parts)

    def _index_part(self, node: ast.expr, vectors: bool) -> object:
        if isinstance(node, ast.Slice) and vectors and node.lower and node.upper:
            step = self.evaluate(node.step) if node.step else 1
            return slice(self.evaluate(node.lower), self.evaluate(node.upper), step)
        return self.evaluate(node)

    # ---- leaves ----

    def _constant(self, node: ast.Constant) -> object:
        return node.value

    def _name(self, node: ast.Name) -> object:
        return self.scope[node.id]

    def _attribute(self, node: ast.Attribute) -> object:
        return getattr(self.evaluate(node.value), node.attr)

    # ---- composites ----

    def _subscript(self, node: ast.Subscript) -> object:
        return self._item(
            self.evaluate(node.value), self.index(node.slice, vectors=False)
        )

    def _item(self, base: object, index: object) -> object:
        return operator.getitem(_as_container(base), index)

    def _called(self, node: ast.Call) -> object:
        function = self.evaluate(node.func)
        vectors = (
            isinstance(node.func, ast.Attribute) and node.func.attr not in _KEEP_RANGES
        )
        evaluate = self.operand if vectors else self.evaluate
        args: list[object] = []
        for arg in node.args:
            if isinstance(arg, ast.Starred):
                args += _sequence(self.evaluate(arg.value))
            else:
                args.append(evaluate(arg))
        named: dict[str, object] = {}
        for keyword in node.keywords:
            value = self.evaluate(keyword.value)
            for name, part in _keywords(keyword.arg, value).items():
                if name in named:
                    raise TypeError(f"keyword argument '{name}' is given twice")
                named[name] = part
        return self._call(function, args, named)

    def _tuple(self, node: ast.Tuple) -> object:
        return tuple(self._elements(node.elts))

    def _list(self, node: ast.List) -> object:
        return self._elements(node.elts)

    def _set(self, node: ast.Set) -> object:
        return set(self._elements(node.elts))

    def _elements(self, nodes: Sequence[ast.expr]) -> list[object]:
        values: list[object] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                values += _sequence(self.evaluate(node.value))
            else:
                values.append(self.evaluate(node))
        return values

    def _dict(self, node: ast.Dict) -> object:
        values: dict[object, object] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                values.update(_keywords(None, self.evaluate(value)))
            else:
                values[self.evaluate(key)] = self.evaluate(value)
        return values

    def _slice(self, node: ast.Slice) -> object:
        bounds = (node.lower, node.upper, node.step)
        return slice(*(None if b is None else self.evaluate(b) for b in bounds))

    def _joined(self, node: ast.JoinedStr) -> object:
        return "".join(str(self.evaluate(part)) for part in node.values)

    def _formatted(self, node: ast.FormattedValue) -> object:
        value = self.evaluate(node.value)
        convert = {ord("s"): str, ord("r"): repr, ord("a"): ascii}.get(node.conversion)
        spec = "" if node.format_spec is None else str(self.evaluate(node.format_spec))
        return format(value if convert is None else convert(value), spec)

    def _lambda(self, node: ast.Lambda) -> object:
        """A Python function; what it reads from outside has its present value."""
        return eval(_compiled(node), self.captured(node))

    def captured(self, node: ast.AST) -> dict[str, object]:
        """The present values of the names in a part of the script."""
        names = {
            name.id: self.scope[name.id]
            for name in ast.walk(node)
            if isinstance(name, ast.Name) and name.id in self.scope
        }
        return names

    # ---- operators ----

    def _binary(self, node: ast.BinOp) -> object:
        # Long sums are deep on the left, deeper than Python may recurse.
        spine = [node]
        while isinstance(spine[-1].left, ast.BinOp):
            spine.append(spine[-1].left)
        value = self.operand(spine[-1].left)
        for part in reversed(spine):
            other = self.operand(part.right)
            try:
                value = binary(type(part.op), value, other)
            except Exception as error:
                raise self.source.error(part, error_text(error)) from error
        return value

    def _unary(self, node: ast.UnaryOp) -> object:
        value = self.operand(node.operand)
        if isinstance(node.op, ast.Not):
            value = as_operand(value)
            return ex.Not(value) if isinstance(value, ex.Expr) else not value
        return _UNARY[type(node.op)](as_operand(value))

    def _logical(self, node: ast.BoolOp) -> object:
        name = "and" if isinstance(node.op, ast.And) else "or"
        result, *others = [self.operand(value) for value in node.values]
        for other in others:
            result = _logical(name, result, other)
        return result

    def _compared(self, node: ast.Compare) -> object:
        lhs = self.operand(node.left)
        if len(node.ops) > 1:
            raise ScriptSyntaxError(
                "a script cannot hold a chained comparison; write the comparisons one "
                "by one, joined by 'and'"
            )
        rhs = self.operand(node.comparators[0])
        return _comparison(type(node.ops[0]), lhs, rhs)

    def _ternary(self, node: ast.IfExp) -> object:
        condition = self.evaluate(node.test)
        choices = self.evaluate(node.body), self.evaluate(node.orelse)
        if isinstance(condition, ex.Expr):
            raise ex.ScriptTypeError(
                "the condition of 'a if c else b' is an IR expression; write "
                "T.if_then_else(c, a, b) or T.Select(c, a, b)"
            )
        return choices[0] if condition else choices[1]


def binary(kind: type[ast.operator], lhs: object, rhs: object) -> object:
    """`lhs` and `rhs` under an operator of arithmetic, shifting or bits."""
    left, right = as_operand(lhs), as_operand(rhs)
    if kind is ast.Pow and (isinstance(left, ex.Expr) or isinstance(right, ex.Expr)):
        raise ex.ScriptTypeError("'**' is not for IR expressions; write T.pow(x, y)")
    return _BINARY[kind](left, right)


def _logical(name: str, lhs: object, rhs: object) -> object:
    if not isinstance(lhs, ex.Expr) and not isinstance(rhs, ex.Expr):
        return (lhs and rhs) if name == "and" else (lhs or rhs)
    left, right = _truth(lhs), _truth(rhs)
    if is_vector(left.type) or is_vector(right.type):
        return (ex.bitwise_and if name == "and" else ex.bitwise_or)(left, right)
    return ex.Binary(name, left, right)


def _truth(value: object) -> ex.Expr:
    """An operand of `and` and `or`; Python's numbers stand for what they are worth."""
    value = as_operand(value)
    return ex.const(value) if isinstance(value, bool) else ex.convert(value)


def _comparison(kind: type[ast.cmpop], lhs: object, rhs: object) -> object:
    lhs, rhs = as_operand(lhs), as_operand(rhs)
    if not isinstance(lhs, ex.Expr) and not isinstance(rhs, ex.Expr):
        return _COMPARISONS[kind](lhs, rhs)
    predicate = _PREDICATES.get(kind)
    if predicate is None:
        if isinstance(rhs, ex.Expr) or kind in (ast.Is, ast.IsNot):
            raise ex.ScriptTypeError("'is' and 'in' do not compare IR expressions")
        return _COMPARISONS[kind](lhs, rhs)
    if isinstance(lhs, ex.Expr):
        return ex.raw_compare(predicate, lhs, _number(rhs))
    return ex.raw_compare(predicate, _number(lhs), _number(rhs))


def _number(value: object) -> ex.ExprLike:
    if isinstance(value, ex.Expr | bool | int | float | str):
        return value
    return ex.convert(value)


def as_operand(value: object) -> object:
    """The value; a region stands for what it holds.

    Raises ScriptTypeError for a buffer.
    """
    if isinstance(value, Buffer):
        raise ex.ScriptTypeError(
            f"buffer {value.name} is not a value; index it, or write {value.name}.data"
        )
    if isinstance(value, BufferRegion):
        raise ex.ScriptTypeError(
            f"a region of buffer {value.buffer.name} is not a value; give its slices "
            "both bounds"
        )
    return value


def _as_container(value: object) -> Any:
    return value


def _sequence(value: object) -> Sequence[object]:
    items: Any = value
    return list(items)


def _keywords(name: str | None, value: object) -> Mapping[str, object]:
    if name is not None:
        return {name: value}
    given: Any = value
    return dict(given)


def _has_slice(index: ast.expr) -> bool:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(isinstance(part, ast.Slice) for part in parts)


def _compiled(node: ast.expr) -> CodeType:
    return compile(ast.Expression(node), "<lambda>", "eval")


_SPEAKING = (TypeError, ValueError, NameError, AttributeError, DiagnosticException)
"""Exceptions whose messages say what is wrong."""


def error_text(error: Exception) -> str:
    """What an exception says, in one line."""
    text = " ".join(str(error).split())
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, SyntaxError):
        return error.msg
    if isinstance(error, _SPEAKING) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
