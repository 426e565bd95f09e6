"""Conditions as messages show them: expression trees in the syntax of TVM's scripts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Final, TypeAlias

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith.expr import (
    Add,
    And,
    Binary,
    Broadcast,
    Call,
    Cast,
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
    Or,
    Ramp,
    Select,
    Sub,
    Value,
    fold,
    view,
)
from xdsl_tvm.analysis.tir.variable_names import buffer_variable_name, variable_name
from xdsl_tvm.dialects import tir

_OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _ATOM = range(7)
_Text: TypeAlias = "tuple[str, int]"
"""A text, and how strongly its outermost operator binds."""

_INFIX: Final[Mapping[type[Binary], tuple[str, int]]] = {
    Add: ("+", _SUM),
    Sub: ("-", _SUM),
    Mul: ("*", _PRODUCT),
    FloorDiv: ("//", _PRODUCT),
    FloorMod: ("%", _PRODUCT),
    And: ("and", _AND),
    Or: ("or", _OR),
}
_CALLS: Final[Mapping[type[Binary], str]] = {
    Div: "T.Div",
    Mod: "T.truncmod",
    Min: "T.min",
    Max: "T.max",
}
_COMPARISONS: Final = {
    tir.CmpPredicate.EQ: "==",
    tir.CmpPredicate.NE: "!=",
    tir.CmpPredicate.LT: "<",
    tir.CmpPredicate.LE: "<=",
    tir.CmpPredicate.GT: ">",
    tir.CmpPredicate.GE: ">=",
}


_LONGEST = 2000
"""Characters of the longest text of an operand; longer ones are left out."""
_DEEPEST = 16
"""How many loads may be indices of another before they are left out."""


def script_text(tree: Expr) -> str:
    """The tree as TVM's script spells it, with the names that variables have.

    Characters that no name of a script has become underscores. What makes the text longer
    than a message can be is left out, as `...`.
    """
    return _written(tree, 0)


def condition_text(value: SSAValue) -> str:
    """The expression of a value, as `script_text` spells it."""
    return _written(view(value), 0)


def _written(tree: Expr, depth: int) -> str:
    return fold(tree, partial(_short, depth))[0]


def _short(depth: int, node: Expr, operands: list[_Text]) -> _Text:
    found = _text(depth, node, operands)
    return found if len(found[0]) <= _LONGEST else ("...", _ATOM)


def _text(depth: int, node: Expr, operands: list[_Text]) -> _Text:
    match node:
        case Const():
            return _constant(node), _ATOM
        case Value():
            return _leaf(depth + 1, node.value), _ATOM
        case Binary():
            return _binary(node, operands)
        case Cmp():
            symbol = _COMPARISONS[node.predicate]
            lhs, rhs = (_within(each, _COMPARISON + 1) for each in operands)
            return f"{lhs} {symbol} {rhs}", _COMPARISON
        case Not():
            return f"not {_within(operands[0], _NOT)}", _NOT
        case _:
            return _call(node, [text for text, _ in operands]), _ATOM


def _within(operand: _Text, least: int) -> str:
    text, strength = operand
    return f"({text})" if strength < least else text


def _binary(node: Binary, operands: list[_Text]) -> _Text:
    infix = _INFIX.get(type(node))
    if isinstance(node, Div) and tir.is_float(node.dtype):
        infix = "/", _PRODUCT
    if infix is None:
        return _list(_CALLS[type(node)], [text for text, _ in operands]), _ATOM
    symbol, strength = infix
    lhs, rhs = operands
    text = f"{_within(lhs, strength)} {symbol} {_within(rhs, strength + 1)}"
    return text, strength


def _call(node: Expr, operands: list[str]) -> str:
    match node:
        case Cast():
            return _list("T.Cast", [_dtype(node), *operands])
        case Broadcast():
            return _list("T.Broadcast", [*operands, str(tir.lanes_of(node.dtype))])
        case Ramp():
            return _list("T.Ramp", [*operands, str(tir.lanes_of(node.dtype))])
        case Select():
            return _list("T.Select", operands)
        case IfThenElse():
            return _list("T.if_then_else", operands)
        case Call():
            before = [_dtype(node)] if node.name == "reinterpret" else []
            return _list(f"T.{node.name}", [*before, *operands])
        case _:
            return node.text(operands)


def _list(name: str, items: list[str]) -> str:
    return f"{name}({', '.join(items)})"


def _dtype(node: Expr) -> str:
    return f'"{tir.dtype_name(node.dtype)}"'


def _constant(node: Const) -> str:
    value = node.value
    if node.dtype == i32:
        return str(value)
    if node.dtype == i1:
        return f"T.bool({bool(value)})"
    return f"T.{tir.dtype_name(node.dtype)}({value})"


# ---- leaves ----


def _leaf(depth: int, value: SSAValue) -> str:
    """A variable, or what has no tree: a load, a call with an effect."""
    if depth > _DEEPEST:
        return "..."
    match value.owner:
        case tir.LoadOp() as load:
            indices = ", ".join(_written(view(each), depth) for each in load.indices)
            return f"{_word(buffer_variable_name(load.buffer))}[{indices or '()'}]"
        case tir.CallOp() as call:
            items = [_written(view(argument), depth) for argument in call.args]
            if call.callee.data in _WITH_DTYPE:
                items.append(f'"{tir.dtype_name(value.type)}"')
            return _list(f"T.{call.callee.data}", items)
        case tir.IfThenElseOp() as choice:
            values = [region.block.last_op for region in choice.regions]
            branches = [op.value for op in values if isinstance(op, tir.YieldOp)]
            parts = [_written(view(e), depth) for e in (choice.condition, *branches)]
            return _list("T.if_then_else", parts)
        case tir.DataOp() as data:
            return f"{_word(buffer_variable_name(data.buffer))}.data"
        case tir.StringOp() as string:
            return json.dumps(string.value.data, ensure_ascii=False)
        case _:
            return _word(variable_name(value))


def _word(name: str) -> str:
    return "".join(c if c.isalnum() and c.isascii() else "_" for c in name)


_WITH_DTYPE = frozenset(("tvm_struct_get",))
"""Calls whose dtype is their last argument."""
