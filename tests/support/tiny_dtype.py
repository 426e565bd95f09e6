"""The custom dtype `tiny16`, whose bits are those of bfloat16."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

from xdsl_tvm.dialects.dtypes import numpy_float
from xdsl_tvm.passes.tir import datatype

OPERATIONS = ("Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "LT", "EQ", "FloorDiv")


@contextmanager
def registered() -> Generator[None]:
    """The dtype, and lowering functions for `llvm` that call C symbols."""
    datatype.register("tiny16", 131)
    for name in OPERATIONS:
        lower = datatype.create_lower_func({16: f"Tiny16{name}"})
        datatype.register_op(lower, name, "llvm", "tiny16")
    for source, dest in (("float", "tiny16"), ("tiny16", "float")):
        lower = datatype.create_lower_func(
            {(32, 16): "float32Totiny16", (16, 32): "tiny16Tofloat32"}
        )
        datatype.register_op(lower, "Cast", "llvm", source, dest)
    constant = datatype.create_lower_func({16: "FloatToTiny16"})
    datatype.register_op(constant, "FloatImm", "llvm", "tiny16")
    try:
        yield
    finally:
        datatype.unregister("tiny16")


def functions() -> dict[str, Callable[..., Any]]:
    """The symbols of `tiny16`, which is bfloat16."""
    narrow = numpy_float("bfloat16")

    def number(bits: int) -> Any:
        return np.array(bits, np.uint16).view(narrow)[()]

    def bits(value: Any) -> int:
        return int(np.array(value, narrow).view(np.uint16)[()])

    def binary(function: Callable[..., Any]) -> Callable[[int, int], int]:
        return lambda a, b: bits(function(number(a), number(b)))

    def less(a: int, b: int) -> bool:
        return bool(number(a) < number(b))

    def equal(a: int, b: int) -> bool:
        return bool(number(a) == number(b))

    def widened(a: int) -> np.float32:
        return np.float32(number(a))

    return {
        "Tiny16Add": binary(np.add),
        "Tiny16Sub": binary(np.subtract),
        "Tiny16Mul": binary(np.multiply),
        "Tiny16Div": binary(np.divide),
        "Tiny16Min": binary(min),
        "Tiny16Max": binary(max),
        "Tiny16LT": less,
        "Tiny16EQ": equal,
        "float32Totiny16": bits,
        "FloatToTiny16": bits,
        "tiny16Tofloat32": widened,
    }
