"""The arguments of Relax operators as text; parameters are those of `signatures.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_tvm.dialects.relax.attributes import VDeviceAttr
from xdsl_tvm.dialects.relax.signatures import OPERATORS, Parameter
from xdsl_tvm.dialects.tir.index_map import IndexMapAttr
from xdsl_tvm.tvmscript.nodes.relax_attributes import float_text
from xdsl_tvm.tvmscript.nodes.relax_types import dtype_text
from xdsl_tvm.tvmscript.printing.expressions import string
from xdsl_tvm.tvmscript.printing.index_maps import index_map


def operator_arguments(
    op: Operation,
    operand: Callable[[SSAValue, Parameter], str],
    device: Callable[[VDeviceAttr], str],
) -> Iterator[str]:
    """The arguments of the call that makes an operator.

    `operand` writes an operand, `device` a virtual device. Operands come first and
    without names, as far as that goes.
    """
    signature = OPERATORS[op.name.removeprefix("relax.")]
    given, is_first = signature.arguments(op), True
    for parameter in signature.parameters:
        if parameter.name not in given:
            is_first = False
            continue
        value = given[parameter.name]
        if parameter.is_operand and value is None:
            is_first = False
        elif parameter.is_operand:
            text = operand(cast(SSAValue, value), parameter)
            yield text if is_first else f"{parameter.name}={text}"
        elif value is not None or parameter.takes_none:
            is_first = False
            yield f"{parameter.name}={_attribute_text(value, device)}"


def _attribute_text(value: object, device: Callable[[VDeviceAttr], str]) -> str:
    match value:
        case None | bool() | int():
            return str(value)
        case float():
            return float_text(value)
        case str():
            return string(value)
        case list():
            items = cast("list[object]", value)
            return f"[{', '.join(_attribute_text(item, device) for item in items)}]"
        case IndexMapAttr():
            return index_map(value)
        case VDeviceAttr():
            return device(value)
        case _:
            return dtype_text(cast(Attribute, value))
