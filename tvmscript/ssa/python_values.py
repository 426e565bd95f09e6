"""Attributes of ops as the Python values that scripts write."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    NoneAttr,
    StringAttr,
    UnitAttr,
    f32,
    i1,
    i32,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.analysis.tree_form import name_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.relax import VDeviceAttr
from xdsl_tvm.dialects.tir.index_map import IndexMapAttr
from xdsl_tvm.tvmscript.ssa.trees import (
    constant,
)


def python_value(attribute: Attribute, op: Operation) -> object:
    """An attribute as what scripts write for it.

    Numbers of the default dtypes, strings, lists and dictionaries are Python's own; other
    numbers are immediates. Raises DiagnosticException for what has no spelling.
    """
    match attribute:
        case UnitAttr():
            return True
        case NoneAttr():
            return None
        case StringAttr():
            return attribute.data
        case tir.Target() | IndexMapAttr() | VDeviceAttr():
            return attribute
        case ArrayAttr():
            return [python_value(item, op) for item in attribute]
        case DictionaryAttr():
            return {k: python_value(v, op) for k, v in attribute.data.items()}
        case IntegerAttr() | FloatAttr():
            return _python_number(attribute, op)
        case _:
            raise DiagnosticException(
                f"{name_of(op)}: the attribute {attribute} has no spelling in TVMScript; "
                "use numbers, strings, lists and dictionaries"
            )


def _python_number(attribute: IntegerAttr | FloatAttr, op: Operation) -> object:
    dtype = cast(Attribute, attribute.type)
    if dtype == i1:
        return bool(attribute.value.data)
    if dtype in (i32, f32):
        return attribute.value.data
    return constant(attribute, op)
