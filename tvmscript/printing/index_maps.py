"""Index maps: their lambdas as text, and the attribute of what a script makes of one."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import AffineMapAttr, i32, i64
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
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.nodes.operators import IndexMap

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


def index_map_attr(value: IndexMap) -> IndexMapAttr:
    """The attribute of an index map.

    Raises ScriptTypeError for indices that are no sums, products, quotients and
    remainders of the map's own indices and constants.
    """
    inverse = None if value.inverse is None else _map_of(value.inverse)
    is_narrow = any(var.type == i32 for var in value.initial_indices)
    return IndexMapAttr(_map_of(value), inverse, i32 if is_narrow else i64)


def _map_of(value: IndexMap) -> AffineMap:
    dims: dict[ex.Expr, AffineExpr] = {
        var: AffineExpr.dimension(index)
        for index, var in enumerate(value.initial_indices)
    }
    results = tuple(_affine_of(index, dims) for index in value.final_indices)
    return AffineMap(len(dims), 0, results)


def _affine_of(node: ex.Expr, dims: Mapping[ex.Expr, AffineExpr]) -> AffineExpr:
    match node:
        case ex.Var() if node in dims:
            return dims[node]
        case ex.IntImm():
            return AffineExpr.constant(node.value)
        case ex.Binary():
            lhs, rhs = _affine_of(node.lhs, dims), _affine_of(node.rhs, dims)
            match node.op:
                case "add":
                    return lhs + rhs
                case "sub":
                    return lhs - rhs
                case "mul":
                    return _ceiling(lhs, rhs) or lhs * rhs
                case "floordiv":
                    return lhs // rhs
                case "floormod":
                    return lhs % rhs
                case _:
                    pass
        case _:
            pass
    raise ex.ScriptTypeError(
        "T.index_map: an index is made of the map's indices and constants by +, -, *, // "
        "and %"
    )


def _ceiling(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr | None:
    """`a` divided by `b` and rounded up, where the factors are those of `-(-a // b)`."""
    match lhs, rhs:
        case (
            AffineBinaryOpExpr(
                kind=AffineBinaryOpKind.FloorDiv,
                lhs=AffineBinaryOpExpr(
                    kind=AffineBinaryOpKind.Mul, lhs=a, rhs=AffineConstantExpr(value=-1)
                ),
                rhs=b,
            ),
            AffineConstantExpr(value=-1),
        ):
            return a.ceil_div(b)
        case _:
            return None
