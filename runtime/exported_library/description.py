"""What an exported library says of its functions: their signatures, as JSON.

A dimension is an integer, the name of a symbol, or a list of an operator and two
dimensions. A function of the packed convention, whose code checks its arguments, is null.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from xdsl_tvm.dialects.dtypes import FLOATS_BY_NAME, numpy_float
from xdsl_tvm.dialects.relax.symbolic import Dim, maximum, minimum
from xdsl_tvm.runtime.packed_functions import PackedSignature
from xdsl_tvm.runtime.signature import (
    ArraySpec,
    ParamTree,
    PlainSpec,
    ResultTree,
    ScalarSpec,
    ShapeSpec,
    Signature,
    Spec,
)


def described(functions: Mapping[str, Signature | PackedSignature]) -> str:
    """The text for functions by their exported names."""
    shown = {
        name: _signature(signature) if isinstance(signature, Signature) else None
        for name, signature in functions.items()
    }
    return json.dumps(shown, separators=(",", ":"))


def signatures_of(text: str) -> dict[str, Signature | None]:
    """What `described` has written; ValueError for any other text."""
    try:
        found = cast("dict[str, Any]", json.loads(text))
        return {n: None if s is None else _read_signature(s) for n, s in found.items()}
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"no description of exported functions: {error}") from None


def _signature(of: Signature) -> dict[str, Any]:
    return {
        "function": of.function,
        "params": [_spec(spec) for spec in of.plain_params()],
        "symbols": list(of.symbols),
        "symbol_types": [dtype.name for dtype in of.symbol_types],
        "result": None if of.result is None else _result(of.result),
        "scalar_result": None if of.scalar_result is None else of.scalar_result.name,
        "noalias": of.noalias,
        "tuples": of.tuples,
    }


def _read_signature(found: Mapping[str, Any]) -> Signature:
    scalar, result, tuples = found["scalar_result"], found["result"], found["tuples"]
    return Signature(
        str(found["function"]),
        tuple(_read_spec(each) for each in found["params"]),
        tuple(map(str, found["symbols"])),
        tuple(map(_dtype, found["symbol_types"])),
        None if result is None else _read_result(result),
        None if scalar is None else _dtype(scalar),
        bool(found["noalias"]),
        None if tuples is None else tuple(map(_read_tree, tuples)),
    )


def _spec(spec: PlainSpec) -> dict[str, Any]:
    match spec:
        case ArraySpec():
            return _array(spec)
        case ScalarSpec():
            return {
                "kind": "scalar",
                "name": spec.name,
                "dtype": spec.dtype.name,
                "symbol": spec.symbol,
                "value": _dim(spec.value),
                "is_extent": spec.is_extent,
            }
        case ShapeSpec():
            return {"kind": "shape", "name": spec.name, "shape": _dims(spec.shape)}


def _array(spec: ArraySpec) -> dict[str, Any]:
    return {
        "kind": "array",
        "name": spec.name,
        "dtype": spec.dtype.name,
        "shape": _dims(spec.shape),
        "strides": None if spec.strides is None else _dims(spec.strides),
        "offset": _dim(spec.offset),
        "written": spec.written,
        "form": spec.form,
    }


def _read_spec(found: Mapping[str, Any]) -> Spec:
    name = str(found["name"])
    match found["kind"]:
        case "array":
            return _read_array(found)
        case "scalar":
            symbol = found["symbol"]
            return ScalarSpec(
                name,
                _dtype(found["dtype"]),
                None if symbol is None else str(symbol),
                _read_dim(found["value"]),
                bool(found["is_extent"]),
            )
        case "shape":
            return ShapeSpec(name, tuple(map(_read_dim, found["shape"])))
        case kind:
            raise ValueError(f"a parameter is of the kind {kind}")


def _read_array(found: Mapping[str, Any]) -> ArraySpec:
    strides, form = found["strides"], found["form"]
    if form not in ("array", "scalar", "shape"):
        raise ValueError(f"a result has the form {form}")
    return ArraySpec(
        str(found["name"]),
        _dtype(found["dtype"]),
        tuple(map(_read_dim, found["shape"])),
        None if strides is None else tuple(map(_known, strides)),
        _read_dim(found["offset"]),
        bool(found["written"]),
        form,
    )


def _result(tree: ResultTree) -> Any:
    if isinstance(tree, ArraySpec):
        return _array(tree)
    return [_result(branch) for branch in tree]


def _read_result(found: Any) -> ResultTree:
    if isinstance(found, list):
        return tuple(_read_result(branch) for branch in cast("list[Any]", found))
    return _read_array(found)


def _read_tree(found: Any) -> ParamTree:
    if isinstance(found, list):
        return tuple(_read_tree(branch) for branch in cast("list[Any]", found))
    return str(found)


def _dtype(name: str) -> np.dtype[Any]:
    return numpy_float(name) if name in FLOATS_BY_NAME else np.dtype(name)


# ---- dimensions ----


def _dims(dims: tuple[Dim | None, ...]) -> list[Any]:
    return [_dim(dim) for dim in dims]


def _dim(dim: Dim | None) -> Any:
    if dim is None:
        return None

    def applied(operator: str, lhs: Any, rhs: Any) -> Any:
        return [operator, lhs, rhs]

    return dim.fold(_same, _same, applied)


def _same(value: Any) -> Any:
    return value


_OPERATORS: dict[str, Callable[[Dim, Dim], Dim]] = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "min": minimum,
    "max": maximum,
}


def _read_dim(found: Any) -> Dim | None:
    return None if found is None else _known(found)


def _known(found: Any) -> Dim:
    match found:
        case int():
            return Dim.constant(found)
        case str():
            return Dim.symbol(found)
        case [str() as operator, lhs, rhs]:
            return _OPERATORS[operator](_known(lhs), _known(rhs))
        case _:
            raise ValueError("a dimension is neither a number nor an expression")
