"""All operators as functions: `op.add(x, y)`, `op.nn.conv2d(data, weight, strides=2)`.

Names, parameters and defaults are TVM's, from `dialects/relax/signatures.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.signatures import OPERATORS
from xdsl_tvm.relax._scripts import is_reading, script_attribute
from xdsl_tvm.relax.calls import (
    call_dps_packed,
    call_packed,
    call_pure_packed,
    call_tir,
    call_tir_inplace,
    call_tir_with_grad,
)
from xdsl_tvm.relax.expr import Expr, Operands, call
from xdsl_tvm.relax.runtime import FUNCTIONS

__all__ = [
    "assert_op",
    "call_dps_packed",
    "call_packed",
    "call_pure_packed",
    "call_tir",
    "call_tir_inplace",
    "call_tir_with_grad",
    "print",
]

_KNOWN = (*OPERATORS, *FUNCTIONS)


class Operator:
    """An operator, or the beginning of the names of several, such as `nn`."""

    def __init__(self, name: str) -> None:
        self._name = name
        if (signature := OPERATORS.get(name)) is not None:
            self.__doc__ = f"relax.{signature}\n\n{signature.op_class.__doc__}"
        elif (function := FUNCTIONS.get(name)) is not None:
            self.__doc__ = function.__doc__

    def __getattr__(self, name: str) -> Operator:
        return _operator(f"{self._name}.{name}")

    def __call__(self, *args: object, **kwargs: object) -> Expr:
        if self._name not in _KNOWN:
            raise AttributeError(f"there is no operator relax.op.{self._name}")
        if is_reading():
            return script_attribute(self._name)(*args, **kwargs)
        if (function := FUNCTIONS.get(self._name)) is not None:
            return function(*args, **kwargs)
        return call(self._name, *args, **kwargs)

    def __dir__(self) -> list[str]:
        return _names(f"{self._name}.")

    def __repr__(self) -> str:
        return f"relax.op.{self._name}"


def _operator(name: str) -> Operator:
    is_known = name in _KNOWN or any(key.startswith(f"{name}.") for key in _KNOWN)
    if not is_known or name.rpartition(".")[2].startswith("_"):
        raise AttributeError(f"there is no operator relax.op.{name}")
    return Operator(name)


def _names(prefix: str) -> list[str]:
    """The parts of operators' names that follow a prefix."""
    length = len(prefix)
    found = (key[length:] for key in _KNOWN if key.startswith(prefix))
    return sorted({name.partition(".")[0] for name in found})


def __getattr__(name: str) -> Operator:
    return _operator(name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_names("")})


def print(*values: Expr, format: str = "") -> Expr:
    """Print values; the empty format prints them one behind the other. Impure."""
    operands = Operands()
    return operands.expr(relax.PrintOp(format, [operands.of(v) for v in values]))


def assert_op(
    condition: Expr, format_args: Expr | Sequence[Expr] | None = None, format: str = ""
) -> Expr:
    """Stop the program with a message unless the condition holds. Impure."""
    args = [format_args] if isinstance(format_args, Expr) else format_args or []
    operands = Operands()
    given = operands.of(condition)
    values = [operands.of(arg) for arg in args]
    return operands.expr(relax.AssertOp(given, format, values))
