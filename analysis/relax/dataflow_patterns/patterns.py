"""The patterns of TVM's `tvm.relax.dpl`, and how they match.

A pattern is an object with an identity: used at several places, it matches one expression
at all of them. `match` says whether an expression is of the pattern's form,
`extract_matched_expr` also what each part of the pattern matched. Parts are looked for
through the variables that bindings name (docs/spec/relax-passes-related.md C.4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Protocol, TypeVar, cast, overload, runtime_checkable

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.analysis.relax.dataflow_patterns.expressions import (
    ExternName,
    GlobalName,
    Node,
    OperatorName,
    are_equal_dims,
    attributes_of,
    call_view,
    dims_of,
    fields_of,
    is_dataflow_variable,
    is_equal_expression,
    is_variable,
)
from xdsl_tvm.analysis.relax.dataflow_patterns.graphs import (
    PatternSeq,
    SameShapeConstraint,
    current_context,
)
from xdsl_tvm.analysis.relax.dataflow_patterns.matching import (
    Expression,
    Match,
    Matched,
    Pattern,
    Solutions,
    expect_pattern,
    expect_patterns,
    is_solvable,
    match_value,
)
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.algebra import is_base_of
from xdsl_tvm.dialects.relax.signatures import dtype_of
from xdsl_tvm.dialects.relax.symbolic import Dim, DimLike
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.dialects.tir.annotations import annotation_value

_T = TypeVar("_T")


@runtime_checkable
class TypeAnnotation(Protocol):
    """What stands for a type, as `R.Tensor((4,), "float32")` does."""

    def relax_type(self) -> Attribute:
        """The type."""
        ...


class DFPattern(Pattern):
    """A pattern of expressions."""

    # ---- matching ----

    @overload
    def extract_matched_expr(
        self,
        expr: SSAValue | Operation,
        var2val: Mapping[Any, object] | None = None,
    ) -> Matched | None: ...
    @overload
    def extract_matched_expr(
        self, expr: Expression[_T], var2val: Mapping[Any, object] | None = None
    ) -> dict[DFPattern, _T] | None: ...
    def extract_matched_expr(
        self, expr: object, var2val: Mapping[Any, object] | None = None
    ) -> dict[DFPattern, Any] | None:
        """What the parts of the pattern match, None where it does not match.

        Values are looked through to their definitions, those of `var2val` only where it
        is given. An operation stands for its result, a function for itself. Raises
        TypeError for what is no expression.
        """
        known = (
            None if var2val is None else {_value_of("var2val", key) for key in var2val}
        )
        if isinstance(expr, SSAValue):
            return match_value(self, cast("SSAValue", expr), known)
        if isinstance(expr, Operation):
            is_value = len(expr.results) == 1
            return match_value(self, expr.results[0] if is_value else expr, known)
        if isinstance(expr, Expression):
            value, original = cast("Expression[Any]", expr).matched_value()
            found = match_value(self, value, known)
            return found and {p: original(each) for p, each in found.items()}
        raise TypeError(
            f"a pattern matches a value, an operation or an expression of the builder, "
            f"not {type(expr).__name__}"
        )

    def match(
        self,
        expr: SSAValue | Operation | Expression[Any],
        var2val: Mapping[Any, object] | None = None,
    ) -> bool:
        """Whether the pattern matches; see `extract_matched_expr`."""
        return self.extract_matched_expr(expr, var2val) is not None

    # ---- making patterns of it ----

    def __call__(
        self,
        *args: DFPattern,
        varg_default_wildcard: bool = False,
        add_constraint: bool = True,
    ) -> CallPattern:
        """A call of it."""
        return CallPattern(self, args, varg_default_wildcard, add_constraint)

    def __or__(self, other: DFPattern) -> OrPattern:
        return OrPattern(self, other)

    def __and__(self, other: DFPattern) -> AndPattern:
        return AndPattern(self, other)

    def __invert__(self) -> NotPattern:
        return NotPattern(self)

    def __add__(self, other: DFPattern) -> CallPattern:
        return _operator("add", self, other)

    def __sub__(self, other: DFPattern) -> CallPattern:
        return _operator("subtract", self, other)

    def __mul__(self, other: DFPattern) -> CallPattern:
        return _operator("multiply", self, other)

    def __truediv__(self, other: DFPattern) -> CallPattern:
        return _operator("divide", self, other)

    def __floordiv__(self, other: DFPattern) -> CallPattern:
        return _operator("floor_divide", self, other)

    def __pow__(self, other: DFPattern) -> CallPattern:
        return _operator("power", self, other)

    def __matmul__(self, other: DFPattern) -> CallPattern:
        return _operator("matmul", self, other)

    def __neg__(self) -> CallPattern:
        return _operator("negative", self)

    def has_attr(self, attrs: Mapping[str, object]) -> AttrPattern:
        """The pattern, with these attributes."""
        return AttrPattern(self, attrs)

    def has_struct_info(self, struct_info: Attribute | TypeAnnotation) -> DFPattern:
        """The pattern, of a type that is known to be this one or more precise."""
        return StructInfoPattern(self, struct_info)

    has_type = has_struct_info

    def has_dtype(self, dtype: str | Attribute) -> DataTypePattern:
        """The pattern, as a tensor of a dtype."""
        return DataTypePattern(self, dtype)

    def has_shape(self, shape: Sequence[DimLike]) -> ShapePattern:
        """The pattern, as a tensor of a shape, provably."""
        return ShapePattern(self, shape)

    # ---- in graphs ----

    def used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """The other pattern uses this one, as its operand `index`, -1 for any."""
        return PatternSeq([self]).used_by(other, index)

    def only_used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """The other pattern uses this one, and nothing else does."""
        return PatternSeq([self]).only_used_by(other, index)

    def __xor__(self, other: DFPattern | PatternSeq) -> PatternSeq:
        return self.used_by(other)

    def __rshift__(self, other: DFPattern | PatternSeq) -> PatternSeq:
        return self.only_used_by(other)

    def fork_to(self, *args: DFPattern) -> None:
        """All of these patterns use this one."""
        for other in args:
            self.used_by(other)

    def dup(self) -> DFPattern:
        """Another pattern of the same form, which matches something of its own.

        Its parts are those of this one.
        """
        return copy(self)

    def same_shape_as(self, *args: DFPattern) -> SameShapeConstraint:
        """What the patterns match has one shape, provably."""
        return SameShapeConstraint(self, *args)


def _value_of(what: str, expr: object) -> SSAValue:
    if isinstance(expr, SSAValue):
        return cast("SSAValue", expr)
    if isinstance(expr, Expression):
        return cast("Expression[Any]", expr).matched_value()[0]
    raise TypeError(f"{what}: a {type(expr).__name__} is no expression")


def _operator(name: str, *args: object) -> CallPattern:
    parts = expect_patterns(f"operands of {name}", args)
    return CallPattern(ExprPattern(OperatorName(f"relax.{name}")), parts)


# ---- what an expression is ----


class WildcardPattern(DFPattern):
    """Any expression."""

    def solutions(self, node: Node, match: Match) -> Solutions:
        yield


class ExprPattern(DFPattern):
    """One expression: an operator, a variable, or what is computed alike.

    `expr` is a value, an expression of the builder, or the name of an operator.
    """

    def __init__(self, expr: SSAValue | Expression[Any] | OperatorName) -> None:
        is_operator = isinstance(expr, OperatorName)
        self.expr = expr if is_operator else _value_of("is_expr", expr)

    def solutions(self, node: Node, match: Match) -> Solutions:
        expr = self.expr
        if isinstance(expr, OperatorName):
            if node == expr:
                yield
        elif isinstance(node, SSAValue) and is_equal_expression(
            expr, node, match.bindings
        ):
            yield


class VarPattern(DFPattern):
    """A variable, of a name where one is given."""

    def __init__(self, name_hint: str = "") -> None:
        self.name_hint = _text("is_var", name_hint)

    @property
    def name(self) -> str:
        """The name, empty for any."""
        return self.name_hint

    def solutions(self, node: Node, match: Match) -> Solutions:
        if isinstance(node, SSAValue) and is_variable(node):
            names = ("", node.name_hint)
            if self.name_hint in names:
                yield


class DataflowVarPattern(VarPattern):
    """A variable that is visible in its dataflow block only."""

    def solutions(self, node: Node, match: Match) -> Solutions:
        if is_dataflow_variable(node):
            yield from super().solutions(node, match)


class GlobalVarPattern(DFPattern):
    """A function of the module, of a name where one is given."""

    def __init__(self, name_hint: str = "") -> None:
        self.name_hint = _text("is_gv", name_hint)

    def solutions(self, node: Node, match: Match) -> Solutions:
        op = match.bindings.definition(node)
        if isinstance(op, relax.GlobalRefOp):
            node = GlobalName(op.callee.root_reference.data)
        if isinstance(node, GlobalName) and self.name_hint in ("", node.name):
            yield


class ExternFuncPattern(DFPattern):
    """A function of the runtime, of a name where one is given."""

    def __init__(self, global_symbol: str = "") -> None:
        self.global_symbol = _text("ExternFuncPattern", global_symbol)

    def solutions(self, node: Node, match: Match) -> Solutions:
        if isinstance(node, ExternName) and self.global_symbol in ("", node.name):
            yield


class ConstantPattern(DFPattern):
    """A tensor that is known at compile time."""

    def solutions(self, node: Node, match: Match) -> Solutions:
        if isinstance(match.bindings.definition(node), relax.ConstantOp):
            yield


class PrimArrPattern(DFPattern):
    """A shape of these dimensions, provably."""

    def __init__(self, shape: Sequence[DimLike]) -> None:
        self.fields = _dims("is_shape", shape)

    def __getitem__(self, index: int) -> Dim:
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)

    def solutions(self, node: Node, match: Match) -> Solutions:
        if are_equal_dims(self.fields, dims_of(node, match.bindings)):
            yield


def _text(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what}: a name is a string, not {type(value).__name__}")
    return value


def _dims(what: str, shape: object) -> tuple[Dim, ...]:
    if isinstance(shape, str) or not isinstance(shape, Sequence):
        raise ValueError(f"{what} takes a list or tuple, not {type(shape).__name__}")
    try:
        return tuple(Dim.of(each) for each in cast("Sequence[DimLike]", shape))
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None


# ---- what an expression is made of ----

_DIVIDE, _MULTIPLY = (OperatorName(f"relax.{name}") for name in ("divide", "multiply"))
_COMMUTATIVE = (OperatorName("relax.add"), _MULTIPLY)


class CallPattern(DFPattern):
    """A call; `args` are the patterns of the arguments, None for any.

    With `varg_default_wildcard` there may be more arguments. The operands of `relax.add`
    and `relax.multiply` may be the other way round. Of floats, `(a * b) / c` and
    `a * (b / c)` match each other. In a `PatternContext`, the arguments are used by the
    call, unless `add_constraint` is False.
    """

    def __init__(
        self,
        op: DFPattern,
        args: Sequence[DFPattern] | None,
        varg_default_wildcard: bool = False,
        add_constraint: bool = True,
    ) -> None:
        self.op = expect_pattern("the callee of a CallPattern", op)
        self.args = (
            None if args is None else expect_patterns("the arguments of a call", args)
        )
        self.varg_default_wildcard = varg_default_wildcard
        self.add_constraint = add_constraint
        self._add_constraints()

    def _add_constraints(self) -> None:
        context = current_context()
        if context is not None and self.add_constraint:
            for arg in self.args or ():
                context.add_part(arg, self)

    def dup(self) -> CallPattern:
        result = copy(self)
        result._add_constraints()
        return result

    @property
    def operator(self) -> OperatorName | None:
        """The operator that is called, if it is one."""
        expr = self.op.expr if isinstance(self.op, ExprPattern) else None
        return expr if isinstance(expr, OperatorName) else None

    def solutions(self, node: Node, match: Match) -> Solutions:
        op = match.bindings.definition(node)
        call = None if op is None else call_view(op)
        if call is None or op is None:
            return
        # First the callee, since most calls fail there.
        for _ in match.solutions(self.op, call.callee):
            if self.args is None:
                yield
                continue
            for args in _arrangements(call.callee, call.args):
                if len(args) == len(self.args) or (
                    len(args) > len(self.args) and self.varg_default_wildcard
                ):
                    yield from match.all_of(list(zip(self.args, args, strict=False)))
        yield from self._regrouped(op, call.callee, call.args, match)

    def _regrouped(
        self, op: Operation, callee: Node, args: tuple[Node, ...], match: Match
    ) -> Solutions:
        """The ways in which the pattern matches a product and a quotient otherwise."""
        pair = (self.operator, callee)
        if self.args is None or pair not in ((_DIVIDE, _MULTIPLY), (_MULTIPLY, _DIVIDE)):
            return
        info = TensorInfo.of(op.results[0].type)
        if info is None or not isinstance(info.dtype, AnyFloat):
            return
        pairs = _pairs(self.args)
        for inner, other in pairs[:1] if self.operator == _DIVIDE else pairs:
            if not isinstance(inner, CallPattern) or inner.operator != callee:
                continue
            products = _pairs(inner.args or ())
            if callee == _MULTIPLY:
                # (a * b) / other, written as a * (b / other).
                for a, b in products:
                    parts = (b, other)
                    yield from _nested(args, a, _DIVIDE, parts, match, either=True)
            else:
                # other * (a / b), written as (other * a) / b.
                for a, b in products[:1]:
                    parts = (other, a)
                    yield from _nested(args, b, _MULTIPLY, parts, match, either=False)


def _pairs(args: Sequence[DFPattern]) -> Sequence[tuple[DFPattern, DFPattern]]:
    """Two patterns in both orders."""
    return [(args[0], args[1]), (args[1], args[0])] if len(args) == 2 else []


def _nested(
    args: tuple[Node, ...],
    outer: DFPattern,
    operator: OperatorName,
    inner: tuple[DFPattern, DFPattern],
    match: Match,
    *,
    either: bool,
) -> Solutions:
    """The ways in which one argument is a call of an operator on two parts.

    The other argument matches `outer`. The call is the first argument, or `either`.
    """
    if len(args) != 2:
        return
    for call, other in ((args[0], args[1]), (args[1], args[0]))[: 1 + either]:
        op = match.bindings.definition(call)
        view = None if op is None else call_view(op)
        if view is None or view.callee != operator or len(view.args) != 2:
            continue
        for parts in _arrangements(operator, view.args):
            yield from match.all_of(
                [(inner[0], parts[0]), (inner[1], parts[1]), (outer, other)]
            )


def _arrangements(callee: Node, args: tuple[Node, ...]) -> Sequence[tuple[Node, ...]]:
    """The arguments in all orders that mean the same."""
    if callee in _COMMUTATIVE and len(args) == 2:
        return (args, args[::-1])
    return (args,)


class FunctionPattern(DFPattern):
    """A function of the module or a literal, by its parameters and its result.

    `params` is None for any.
    """

    def __init__(self, params: Sequence[DFPattern] | None, body: DFPattern) -> None:
        self.params = (
            None if params is None else expect_patterns("the parameters", params)
        )
        self.body = expect_pattern("the body of a FunctionPattern", body)

    def solutions(self, node: Node, match: Match) -> Solutions:
        func = match.bindings.definition(node)
        if not isinstance(func, relax.FuncOp | relax.LambdaOp) or not func.body.blocks:
            return
        pairs: list[tuple[DFPattern, Node]] = []
        if self.params is not None:
            if len(self.params) != len(func.args):
                return
            pairs += zip(self.params, func.args, strict=True)
        yield from match.all_of([*pairs, (self.body, func.return_op.value)])


class TuplePattern(DFPattern):
    """A tuple that is made of these fields."""

    def __init__(self, fields: Sequence[DFPattern]) -> None:
        self.fields = expect_patterns("the fields of a tuple", fields)

    def __getitem__(self, index: int | None) -> TupleGetItemPattern:
        """The field; any for None. A negative index counts from the end."""
        if index is None:
            return TupleGetItemPattern(self)
        count = len(self.fields)
        if not -count <= index < count:
            raise IndexError(f"there is no field {index} in a pattern of {count} fields")
        return TupleGetItemPattern(self, index % count)

    def __len__(self) -> int:
        return len(self.fields)

    def solutions(self, node: Node, match: Match) -> Solutions:
        fields = fields_of(node, match.bindings)
        if fields is not None and len(fields) == len(self.fields):
            yield from match.all_of(list(zip(self.fields, fields, strict=True)))


class UnorderedTuplePattern(DFPattern):
    """A tuple that is made of these fields, in any order."""

    def __init__(self, fields: Sequence[DFPattern]) -> None:
        self.fields = expect_patterns("the fields of a tuple", fields)

    def __len__(self) -> int:
        return len(self.fields)

    def solutions(self, node: Node, match: Match) -> Solutions:
        fields = fields_of(node, match.bindings)
        if fields is not None and len(fields) == len(self.fields):
            yield from _permuted(self.fields, fields, match)


def _permuted(
    patterns: Sequence[DFPattern], nodes: Sequence[Node], match: Match
) -> Solutions:
    if not patterns:
        yield
        return
    for index, node in enumerate(nodes):
        for _ in match.solutions(patterns[0], node):
            rest = [*nodes[:index], *nodes[index + 1 :]]
            yield from _permuted(patterns[1:], rest, match)


class TupleGetItemPattern(DFPattern):
    """A field of a tuple; any field where `index` is None or -1."""

    def __init__(self, tuple_value: DFPattern, index: int | None = None) -> None:
        self.tuple_value = expect_pattern("the tuple of is_tuple_get_item", tuple_value)
        self.index = -1 if index is None else index

    def solutions(self, node: Node, match: Match) -> Solutions:
        op = match.bindings.definition(node)
        if isinstance(op, relax.GetItemOp) and self.index in (-1, op.index.value.data):
            yield from match.solutions(self.tuple_value, op.tuple_value)


# ---- combinations ----


class OrPattern(DFPattern):
    """What one of two patterns matches."""

    def __init__(self, left: DFPattern, right: DFPattern) -> None:
        self.left = expect_pattern("the left side of |", left)
        self.right = expect_pattern("the right side of |", right)

    def solutions(self, node: Node, match: Match) -> Solutions:
        yield from match.solutions(self.left, node)
        yield from match.solutions(self.right, node)


class AndPattern(DFPattern):
    """What both of two patterns match."""

    def __init__(self, left: DFPattern, right: DFPattern) -> None:
        self.left = expect_pattern("the left side of &", left)
        self.right = expect_pattern("the right side of &", right)

    def solutions(self, node: Node, match: Match) -> Solutions:
        yield from match.all_of([(self.left, node), (self.right, node)])


class NotPattern(DFPattern):
    """What a pattern does not match."""

    def __init__(self, to_reject: DFPattern) -> None:
        self.reject = expect_pattern("the operand of ~", to_reject)

    def solutions(self, node: Node, match: Match) -> Solutions:
        if not is_solvable(match.solutions(self.reject, node)):
            yield


# ---- facts about an expression ----


class StructInfoPattern(DFPattern):
    """What a pattern matches, of a type that is known to be this one or more precise."""

    def __init__(
        self, pattern: DFPattern, struct_info: Attribute | TypeAnnotation
    ) -> None:
        self.pattern = expect_pattern("the pattern of has_struct_info", pattern)
        self.struct_info = _type_of(struct_info)

    def solutions(self, node: Node, match: Match) -> Solutions:
        if isinstance(node, SSAValue) and is_base_of(self.struct_info, node.type):
            yield from match.solutions(self.pattern, node)


def _type_of(given: object) -> Attribute:
    if isinstance(given, TypeAnnotation):
        return given.relax_type()
    if not isinstance(given, Attribute):
        raise TypeError(
            f"has_struct_info takes a struct info or a type, not {type(given).__name__}"
        )
    return given


class DataTypePattern(DFPattern):
    """What a pattern matches, as a tensor of a dtype."""

    def __init__(self, pattern: DFPattern, dtype: str | Attribute) -> None:
        self.pattern = expect_pattern("the pattern of has_dtype", pattern)
        self.dtype = dtype_of(dtype)

    def solutions(self, node: Node, match: Match) -> Solutions:
        info = TensorInfo.of(node.type) if isinstance(node, SSAValue) else None
        if info is not None and info.dtype == self.dtype:
            yield from match.solutions(self.pattern, node)


class ShapePattern(DFPattern):
    """What a pattern matches, as a tensor of a shape, provably."""

    def __init__(self, pattern: DFPattern, shape: Sequence[DimLike]) -> None:
        self.pattern = expect_pattern("the pattern of has_shape", pattern)
        self.shape = _dims("has_shape", shape)

    def solutions(self, node: Node, match: Match) -> Solutions:
        info = TensorInfo.of(node.type) if isinstance(node, SSAValue) else None
        if info is not None and are_equal_dims(self.shape, info.shape):
            yield from match.solutions(self.pattern, node)


class AttrPattern(DFPattern):
    """What a pattern matches, with these attributes of the call or function."""

    def __init__(self, pattern: DFPattern, attrs: Mapping[str, object]) -> None:
        self.pattern = expect_pattern("the pattern of has_attr", pattern)
        if not isinstance(cast("object", attrs), Mapping):
            raise TypeError(f"has_attr takes a dict, not {type(attrs).__name__}")
        self.attrs = {key: _plain(value) for key, value in attrs.items()}

    def solutions(self, node: Node, match: Match) -> Solutions:
        op = match.bindings.definition(node)
        if op is None:
            return
        found = attributes_of(op)
        if all(
            key in found and _is_value(value, found[key])
            for key, value in self.attrs.items()
        ):
            yield from match.solutions(self.pattern, node)


def _plain(value: object) -> object:
    return annotation_value(value) if isinstance(value, Attribute) else value


def _is_value(wanted: object, found: object) -> bool:
    """Whether an attribute is what was written; a dtype may be its name."""
    found = _plain(found)
    if isinstance(found, Attribute) and isinstance(wanted, str):
        return _is_dtype(wanted, found)
    if isinstance(wanted, list | tuple) and isinstance(found, list | tuple):
        left, right = cast("Sequence[object]", wanted), cast("Sequence[object]", found)
        return len(left) == len(right) and all(map(_is_value, left, right))
    if isinstance(wanted, bool) != isinstance(found, bool):
        return False
    return wanted == found


def _is_dtype(name: str, dtype: Attribute) -> bool:
    try:
        return dtype_of(name) == dtype
    except VerifyException:
        return False
