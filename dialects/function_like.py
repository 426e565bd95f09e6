"""What the function ops of the dialects have in common."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Attribute, Operation, Region
from xdsl.traits import CallableOpInterface


class FunctionLike(CallableOpInterface):
    """Callable through its only region, with the type in the property `function_type`."""

    @classmethod
    def get_callable_region(cls, op: Operation) -> Region:
        return op.regions[0]

    @classmethod
    def get_argument_types(cls, op: Operation) -> tuple[Attribute, ...]:
        return _function_type(op).inputs.data

    @classmethod
    def get_result_types(cls, op: Operation) -> tuple[Attribute, ...]:
        return _function_type(op).outputs.data


def _function_type(op: Operation) -> FunctionType:
    return cast(FunctionType, op.properties["function_type"])
