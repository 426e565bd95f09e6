"""All operators as functions: `op.add(x, y)`, `op.nn.conv2d(data, weight, strides=2)`.

Names, parameters and defaults are TVM's, from `dialects/relax/signatures.py` and, for
what is no operator, from `xdsl_tvm.relax.vocabulary`.
"""

from __future__ import annotations

from xdsl_tvm.dialects.relax.signatures import OPERATORS
from xdsl_tvm.dialects.tir.storage_scope import did_you_mean
from xdsl_tvm.relax.calls import (
    call_dps_packed,
    call_packed,
    call_pure_packed,
    call_tir,
    call_tir_inplace,
    call_tir_with_grad,
)
from xdsl_tvm.relax.expr import Expr, call
from xdsl_tvm.relax.runtime import assert_op, print
from xdsl_tvm.relax.vocabulary import CALLS

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

_KNOWN = (*OPERATORS, *CALLS)


class Operator:
    """An operator, or the beginning of the names of several, such as `nn`."""

    def __init__(self, name: str) -> None:
        self._name = name
        if (signature := OPERATORS.get(name)) is not None:
            self.__doc__ = f"relax.{signature}\n\n{signature.op_class.__doc__}"
        elif (found := CALLS.get(name)) is not None:
            self.__doc__ = found.__doc__

    def __getattr__(self, name: str) -> Operator:
        return _operator(f"{self._name}.{name}")

    def __call__(self, *args: object, **kwargs: object) -> Expr:
        if self._name not in _KNOWN:
            raise AttributeError(f"there is no operator relax.op.{self._name}")
        if (found := CALLS.get(self._name)) is not None:
            return found(*args, **kwargs)
        return call(self._name, *args, **kwargs)

    def __dir__(self) -> list[str]:
        return _names(f"{self._name}.")

    def __repr__(self) -> str:
        return f"relax.op.{self._name}"


def _operator(name: str) -> Operator:
    is_known = name in _KNOWN or any(key.startswith(f"{name}.") for key in _KNOWN)
    if not is_known or name.rpartition(".")[2].startswith("_"):
        hint = did_you_mean(name, _KNOWN)
        raise AttributeError(f"there is no operator relax.op.{name}{hint}")
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
