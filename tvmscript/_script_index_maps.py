"""Index maps as the lambdas of a script."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import AffineMapAttr, i64
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.index_map import IndexMapAttr

_SUM, _PRODUCT, _UNARY, _ATOM = range(4)
"""How strongly operators bind."""


def index_map(value: IndexMapAttr) -> str:
    """`T.index_map` of lambdas."""
    found = [_lambda(value.map.data)]
    if isinstance(value.inverse_map, AffineMapAttr):
        found.append(f"inverse_index_map={_lambda(value.inverse_map.data)}")
    if value.index_type != i64:
        found.append(f'index_dtype="{tir.dtype_name(value.index_type)}"')
    return f"T.index_map({', '.join(found)})"


def _lambda(map_: AffineMap) -> str:
    names = ", ".join(f"i{index}" for index in range(map_.num_dims))
    results = [_affine(result)[0] for result in map_.results]
    result = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return f"lambda {names}: {result}"


_AFFINE: Mapping[AffineBinaryOpKind, tuple[str, int]] = {
    AffineBinaryOpKind.Add: ("+", _SUM),
    AffineBinaryOpKind.Mul: ("*", _PRODUCT),
    AffineBinaryOpKind.FloorDiv: ("//", _PRODUCT),
    AffineBinaryOpKind.Mod: ("%", _PRODUCT),
}


def _affine(node: AffineExpr) -> tuple[str, int]:
    """The text of an index, and how strongly its operator binds."""
    match node:
        case AffineDimExpr():
            return f"i{node.position}", _ATOM
        case AffineConstantExpr():
            return str(node.value), _ATOM
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.CeilDiv):
            # Rounded up is what is negative rounded down.
            return (
                f"-(-{_operand(node.lhs, _UNARY)} // {_operand(node.rhs, _ATOM)})",
                _UNARY,
            )
        case AffineBinaryOpExpr():
            symbol, strength = _AFFINE[node.kind]
            lhs, rhs = _operand(node.lhs, strength), _operand(node.rhs, strength + 1)
            return f"{lhs} {symbol} {rhs}", strength
        case _:
            raise DiagnosticException(f"the index {node} has no spelling in TVMScript")


def _operand(node: AffineExpr, least: int) -> str:
    text, strength = _affine(node)
    return text if strength >= least else f"({text})"
