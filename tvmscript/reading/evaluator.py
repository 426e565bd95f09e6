"""Evaluates the expressions of scripts: Python values and IR side by side.

Every part of an expression is evaluated before the whole, conditions and branches that
Python would skip included (docs/spec/tvmscript.md §1). Calls, attributes, subscripts and
displays mean what they mean in Python. Operators do so between Python values; next to an
IR expression they build IR: arithmetic matches dtypes and folds, comparisons and logic
are nodes as written (docs/spec/tvmscript.md §3).
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from typing import Any, TypeVar, cast

from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.types import is_vector
from xdsl_tvm.tvmscript.errors import ScriptError
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.nodes.statements import Buffer, BufferRegion
from xdsl_tvm.tvmscript.reading.macros import arguments_of, signature_of
from xdsl_tvm.tvmscript.reading.rules import ScriptFunction
from xdsl_tvm.tvmscript.reading.scope import Scope
from xdsl_tvm.tvmscript.reading.source import Source

T = TypeVar("T")

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


_SYMBOLS: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Mult: "*",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
}
"""The operators whose results may be much larger than their operands."""


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
            rules = self.scope.rules
            rules.step()
            value = handler(node)
            rules.check_size(value)
            return value
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
        """What is in brackets; `vectors` gives slices with both bounds step 1."""
        if not isinstance(node, ast.Tuple):
            return self._index_part(node, vectors)
        parts: list[object] = []
        for part in node.elts:
            if isinstance(part, ast.Starred):
                parts += self.scope.rules.sequence(self.evaluate(part.value))
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
        return self.scope.rules.constant(node.value)

    def _name(self, node: ast.Name) -> object:
        value = self.scope[node.id]
        self.scope.rules.step(_length(value) >> 4)
        return value

    def _attribute(self, node: ast.Attribute) -> object:
        return self.scope.rules.attribute(self.evaluate(node.value), node.attr)

    # ---- composites ----

    def _subscript(self, node: ast.Subscript) -> object:
        return self._item(
            self.evaluate(node.value), self.index(node.slice, vectors=False)
        )

    def _item(self, base: object, index: object) -> object:
        return self.scope.rules.item(base, index)

    def _called(self, node: ast.Call) -> object:
        function = self.evaluate(node.func)
        vectors = (
            isinstance(node.func, ast.Attribute) and node.func.attr not in _KEEP_RANGES
        )
        evaluate = self.operand if vectors else self.evaluate
        args: list[object] = []
        for arg in node.args:
            if isinstance(arg, ast.Starred):
                args += self.scope.rules.sequence(self.evaluate(arg.value))
            else:
                args.append(evaluate(arg))
        named: dict[str, object] = {}
        for keyword in node.keywords:
            value = self.evaluate(keyword.value)
            for name, part in _keywords(keyword.arg, value).items():
                if name in named:
                    raise TypeError(f"keyword argument '{name}' is given twice")
                named[name] = part
        rules = self.scope.rules
        rules.check_call(function, args)
        result = self._call(function, args, named)
        if not isinstance(result, ex.Expr):
            # Its arguments are in no expression that is charged as a whole.
            for arg in (*args, *named.values()):
                rules.charge(arg)
        return result

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
                values += self.scope.rules.sequence(self.evaluate(node.value))
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
        parts = [cast(str, self.evaluate(part)) for part in node.values]
        joined = ""
        for part in parts:
            self.scope.rules.check_operands("+", joined, part)
            joined += part
        return joined

    def _formatted(self, node: ast.FormattedValue) -> object:
        value = self.evaluate(node.value)
        spec = "" if node.format_spec is None else self.evaluate(node.format_spec)
        convert = "" if node.conversion < 0 else chr(node.conversion)
        return self.scope.rules.formatted(value, convert, cast(str, spec))

    def _lambda(self, node: ast.Lambda) -> object:
        """A function of Python; what it reads from outside has its present value."""
        return Lambda(self, node)

    def captured(self, node: ast.AST) -> dict[str, object]:
        """The present values of the names in a part of the script."""
        names = [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
        self.scope.rules.step(len(names))
        return {name: self.scope[name] for name in names if name in self.scope}

    def of_lambda(self) -> Evaluator:
        """One for the body of a lambda, whose scope is still empty."""
        scope = Scope({}, rules=self.scope.rules)
        return PythonEvaluator(self.source, scope, self._call)

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
                value = self.binary(type(part.op), value, other)
            except Exception as error:
                raise self.source.error(part, error_text(error)) from error
        return value

    def binary(self, kind: type[ast.operator], lhs: object, rhs: object) -> object:
        """`lhs` and `rhs` under an operator of arithmetic, shifting or bits."""
        left, right = as_operand(lhs), as_operand(rhs)
        is_power_of_ir = kind is ast.Pow and any(
            isinstance(each, ex.Expr) for each in (left, right)
        )
        if is_power_of_ir:
            raise ex.ScriptTypeError("'**' is not for IR expressions; write T.pow(x, y)")
        rules = self.scope.rules
        rules.check_operands(_SYMBOLS.get(kind, ""), left, right)
        value = _BINARY[kind](left, right)
        rules.check_size(value)
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


class PythonEvaluator(Evaluator):
    """Evaluates the bodies of lambdas, which are Python's (docs/spec/tvmscript.md §1).

    Branches that are not taken are not evaluated, and comparisons are those of the
    values: between expressions they match dtypes and fold.
    """

    def __init__(
        self,
        source: Source,
        scope: Scope,
        call: Callable[[object, Sequence[object], Mapping[str, object]], object],
    ) -> None:
        super().__init__(source, scope, call)
        self._handlers |= {
            ast.ListComp: self._list_of,
            ast.GeneratorExp: self._list_of,
            ast.SetComp: self._set_of,
            ast.DictComp: self._dict_of,
        }

    def operand(self, node: ast.expr) -> object:
        return self.evaluate(node)

    def _unary(self, node: ast.UnaryOp) -> object:
        if isinstance(node.op, ast.Not):
            return not self.evaluate(node.operand)
        return super()._unary(node)

    def _logical(self, node: ast.BoolOp) -> object:
        value: object = None
        for each in node.values:
            value = self.evaluate(each)
            if bool(value) == isinstance(node.op, ast.Or):
                break
        return value

    def _compared(self, node: ast.Compare) -> object:
        lhs, result = self.evaluate(node.left), True
        for kind, each in zip(node.ops, node.comparators, strict=True):
            rhs = self.evaluate(each)
            result = _COMPARISONS[type(kind)](lhs, rhs)
            if each is not node.comparators[-1] and not result:
                break
            lhs = rhs
        return result

    def _ternary(self, node: ast.IfExp) -> object:
        return self.evaluate(node.body if self.evaluate(node.test) else node.orelse)

    def _list_of(self, node: ast.ListComp | ast.GeneratorExp) -> object:
        found = self._generated(node.generators, lambda each: each.evaluate(node.elt))
        return list(found)

    def _set_of(self, node: ast.SetComp) -> object:
        found = self._generated(node.generators, lambda each: each.evaluate(node.elt))
        return set(found)

    def _dict_of(self, node: ast.DictComp) -> object:
        pairs = self._generated(
            node.generators,
            lambda each: (each.evaluate(node.key), each.evaluate(node.value)),
        )
        return dict(pairs)

    def _generated(
        self, generators: Sequence[ast.comprehension], make: Callable[[Evaluator], T]
    ) -> Iterator[T]:
        """What a comprehension makes, one by one."""
        if not generators:
            yield make(self)
            return
        first, *others = generators
        if first.is_async:
            raise ScriptSyntaxError("a script cannot hold 'async'")
        for item in self.scope.rules.sequence(self.evaluate(first.iter)):
            self.scope.rules.step()
            with self.scope.body():
                self._bind(first.target, item)
                if all(self.evaluate(test) for test in first.ifs):
                    yield from self._generated(others, make)

    def _bind(self, target: ast.expr, value: object) -> None:
        match target:
            case ast.Name(id=name):
                self.scope.define(name, value)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                values = self.scope.rules.sequence(value)
                for part, each in zip(targets, values, strict=True):
                    self._bind(part, each)
            case _:
                raise ScriptSyntaxError("a comprehension binds names")


class Lambda(ScriptFunction):
    """A lambda of a script: a call evaluates its body, which nothing else runs."""

    def __init__(self, evaluator: Evaluator, node: ast.Lambda) -> None:
        self._evaluator = evaluator.of_lambda()
        self._node = node
        self._captured = evaluator.captured(node.body)
        self.__signature__ = signature_of(node.args, evaluator.evaluate)

    def __call__(self, *args: object, **named: object) -> object:
        bound = arguments_of(self.__signature__, args, named)
        evaluator, before = self._evaluator, self._evaluator.scope
        evaluator.scope = Scope({**self._captured, **bound}, rules=before.rules)
        try:
            return evaluator.evaluate(self._node.body)
        finally:
            evaluator.scope = before


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


def _length(value: object) -> int:
    """Of a string, a list or a dict; other values have none."""
    is_sized = isinstance(value, str | list | tuple | dict)
    return len(cast(Sized, value)) if is_sized else 0


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


def _keywords(name: str | None, value: object) -> Mapping[str, object]:
    if name is not None:
        return {name: value}
    if not isinstance(value, Mapping):
        raise TypeError(f"'**' takes a dict, not a {type(value).__name__}")
    return dict(cast("Mapping[str, object]", value))


def _has_slice(index: ast.expr) -> bool:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(isinstance(part, ast.Slice) for part in parts)


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
