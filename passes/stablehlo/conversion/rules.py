"""The table of conversions, from operations of `stablehlo` to functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from xdsl.ir import Operation, SSAValue

from xdsl_tvm.passes.stablehlo.conversion.emitter import Emitter

Rule = Callable[[Emitter, Any, Sequence[SSAValue]], SSAValue | Sequence[SSAValue]]
"""From an operation and its converted operands to its results."""

RULES: dict[type[Operation], Rule] = {}

_Rule = TypeVar("_Rule", bound=Rule)


def converts(*kinds: type[Operation]) -> Callable[[_Rule], _Rule]:
    """The function converts operations of those classes."""

    def register(function: _Rule) -> _Rule:
        for kind in kinds:
            assert kind not in RULES
            RULES[kind] = function
        return function

    return register
