"""Attributes of Relax functions as values of Python, and back.

Unlike in TIR, integers of Python are `i64` and floats `f64`, as the dialect's own
attributes are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation

from xdsl_tvm.dialects.tir.annotations import annotation_attr
from xdsl_tvm.dialects.tir.types import dtype_name
from xdsl_tvm.tvmscript.nodes.expressions import (
    Expr,
    FloatImm,
    IntImm,
    ScriptTypeError,
    StringImm,
)
from xdsl_tvm.tvmscript.printing.expressions import (
    ExpressionText,
    Spelling,
    Style,
    string,
)
from xdsl_tvm.tvmscript.ssa.expression_ops import immediate


def relax_attributes(values: Mapping[str, object]) -> dict[str, Attribute]:
    """The attributes of a dictionary. Raises ScriptTypeError for what is none."""
    for key in values:
        if not isinstance(cast(object, key), str):
            raise ScriptTypeError(f"the name of an attribute must be a string, got {key}")
    return {key: relax_attribute(value) for key, value in values.items()}


def relax_attribute(value: object) -> Attribute:
    """The attribute of a value. Raises ScriptTypeError where it has none."""
    match value:
        case IntImm() | FloatImm() | StringImm():
            return immediate(value)
        case Expr():
            raise ScriptTypeError("an attribute must be a constant, not an expression")
        case bool():
            return annotation_attr(value)
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f64)
        case dict():
            return DictionaryAttr(relax_attributes(cast("dict[str, object]", value)))
        case list() | tuple():
            items = cast("Sequence[object]", value)
            return ArrayAttr(map(relax_attribute, items))
        case _:
            try:
                return annotation_attr(value)
            except ValueError as error:
                raise ScriptTypeError(str(error)) from None


def python_attribute(attribute: Attribute, op: Operation) -> object:
    """What scripts write for an attribute; the inverse of `relax_attribute`.

    Raises DiagnosticException for what has no spelling.
    """
    # Here, since the printer of TIR is not needed for reading.
    from xdsl_tvm.tvmscript.ssa.python_values import python_value

    match attribute:
        case IntegerAttr() if cast(Attribute, attribute.type) == i64:
            return attribute.value.data
        case IntegerAttr() if cast(Attribute, attribute.type) != i1:
            return IntImm(cast(Attribute, attribute.type), attribute.value.data)
        case FloatAttr() if cast(Attribute, attribute.type) == f64:
            return attribute.value.data
        case FloatAttr():
            return FloatImm(cast(Attribute, attribute.type), attribute.value.data)
        case ArrayAttr():
            return [python_attribute(item, op) for item in attribute]
        case DictionaryAttr():
            return {k: python_attribute(v, op) for k, v in attribute.data.items()}
        case _:
            return python_value(attribute, op)


def relax_text(value: object) -> str:
    """The text of what `python_attribute` gives."""
    match value:
        case bool() | int() | None:
            return str(value)
        case float():
            return float_text(value)
        case IntImm():
            return f"T.{dtype_name(value.type)}({value.value})"
        case FloatImm():
            text = repr(value.value)
            number = text if math.isfinite(value.value) else string(text)
            return f"T.{dtype_name(value.type)}({number})"
        case list():
            items = cast("list[object]", value)
            return f"[{', '.join(map(relax_text, items))}]"
        case dict():
            pairs = sorted(cast("dict[str, object]", value).items())
            texts = (f"{string(key)}: {relax_text(each)}" for key, each in pairs)
            return f"{{{', '.join(texts)}}}"
        case _:
            return ExpressionText(Spelling(str, str, Style())).value(value)


def float_text(value: float) -> str:
    """A float as Python reads it back."""
    text = repr(value)
    return text if math.isfinite(value) else f'float("{text}")'
