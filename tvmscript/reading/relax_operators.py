"""The operators of `R`: arguments of scripts as those of the operations.

Parameters, their kinds and defaults are those of `dialects/relax/signatures.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import cast

from xdsl.dialects.builtin import NoneType

from xdsl_tvm.dialects.relax.signatures import OPERATORS, Parameter, Signature
from xdsl_tvm.dialects.tir.index_map import IndexMapAttr
from xdsl_tvm.dialects.tir.storage_scope import did_you_mean
from xdsl_tvm.relax.expr import Var
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.nodes.expressions import ScriptTypeError
from xdsl_tvm.tvmscript.nodes.operators import IndexMap
from xdsl_tvm.tvmscript.nodes.operators import index_map as make_index_map
from xdsl_tvm.tvmscript.nodes.relax_types import device_of, dim_of, known_dtype
from xdsl_tvm.tvmscript.printing.index_maps import index_map_attr
from xdsl_tvm.tvmscript.reading.relax_values import (
    DtypeLeaf,
    FunctionBuilder,
    Text,
    const,
    prim,
)

_CONSTANTS: Mapping[str, Mapping[str, object]] = {"take": {"mode": "fast"}}
"""Arguments of TVM's functions that can have one value only."""


@dataclass(frozen=True)
class Operator:
    """An operator, called by its name in `R`."""

    signature: Signature

    def __repr__(self) -> str:
        return f"R.{self.signature.name}"

    def __call__(self, *args: object, **named: object) -> Var:
        """The result of the operator.

        Raises ScriptTypeError or VerifyException for wrong arguments.
        """
        builder = FunctionBuilder.current()
        signature = self.signature
        self._check_names(named)
        constants = _CONSTANTS.get(signature.name, {})
        others = {key: value for key, value in named.items() if key not in constants}
        bound = signature.bind(args, others)
        given = {
            parameter.name: self._argument(builder, parameter, bound)
            for parameter in signature.parameters
        }
        return builder.value_of(signature.make([], given, builder.insert))

    def _check_names(self, named: Mapping[str, object]) -> None:
        known = [parameter.name for parameter in self.signature.parameters]
        constants = _CONSTANTS.get(self.signature.name, {})
        for key, value in named.items():
            if key in constants and value != constants[key]:
                raise ScriptTypeError(f"{self!r}: '{key}' can be {constants[key]!r} only")
            if key not in known and key not in constants:
                hint = did_you_mean(key, known)
                raise ScriptTypeError(f"{self!r} has no argument '{key}'{hint}")

    def _argument(
        self,
        builder: FunctionBuilder,
        parameter: Parameter,
        bound: Mapping[str, object],
    ) -> object:
        value = bound[parameter.name]
        if value is None:
            return None
        try:
            if parameter.is_operand:
                return _operand(builder, parameter, value, bound)
            return _attribute(parameter, value, builder)
        except ScriptTypeError as error:
            raise ScriptTypeError(f"{self!r}: '{parameter.name}': {error}") from None


def _operand(
    builder: FunctionBuilder,
    parameter: Parameter,
    value: object,
    bound: Mapping[str, object],
) -> object:
    if parameter.kind == "shape" and isinstance(value, list | tuple):
        return [dim_of(dim) for dim in cast("Sequence[object]", value)]
    if parameter.name == "size" and isinstance(value, int | ex.Expr):
        return [dim_of(value)]
    if parameter.name == "fill_value" and isinstance(value, bool | int | float):
        return builder.of(const(value, bound.get("dtype")))
    if parameter.kind == "value" and isinstance(value, bool | int | float):
        return builder.of(prim(value))
    return builder.of(value)


def _attribute(parameter: Parameter, value: object, builder: FunctionBuilder) -> object:
    match value:
        case DtypeLeaf():
            return value.dtype
        case Text():
            return value.text
        case IndexMap():
            return _index_map(value)
        case _:
            pass
    if parameter.kind == "vdevice":
        return device_of(value, builder.devices)
    if parameter.kind == "map" and callable(value):
        return _index_map(make_index_map(value))
    if parameter.kind == "dtype":
        return known_dtype(value) or NoneType()
    if isinstance(value, list | tuple):
        items = cast("Sequence[object]", value)
        return [_number(item) for item in items]
    return _number(value)


def _index_map(value: IndexMap) -> IndexMapAttr:
    try:
        return index_map_attr(value)
    except KeyError:
        raise ScriptTypeError("an index map uses its own variables only") from None


def _number(value: object) -> object:
    if isinstance(value, ex.FloatImm):
        return value.value
    return dim_of(value) if isinstance(value, ex.Expr) else value


@cache
def operators() -> Mapping[str, Operator]:
    """All operators by their names in `R`."""
    return {name: Operator(signature) for name, signature in OPERATORS.items()}
