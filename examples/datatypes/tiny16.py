"""A user-defined dtype: `custom[tiny]16`, the upper half of a float32.

The functions of the dtype work on `uint16` and are C symbols for the compiler; here they
are Python functions, which the interpreter calls. The result is that of bfloat16, which
is the same format.

    python examples/datatypes/tiny16.py
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from xdsl_tvm.dialects.dtypes import numpy_float
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.tir import LowerCustomDatatypes, datatype
from xdsl_tvm.tvmscript import parse

PROGRAM = """
@T.prim_func
def scaled(a: T.handle, b: T.handle, n: T.int32):
    T.func_attr({"target": T.target("llvm")})
    A = T.match_buffer(a, (n,), "DTYPE")
    B = T.match_buffer(b, (n,), "DTYPE")
    for i in range(n):
        one = T.Cast("DTYPE", T.float32(1))
        B[i] = T.max(A[i] * T.FloatImm("DTYPE", 2.5) + one, A[i])
"""
BINARY = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Max": np.maximum}


def to_tiny(value: float) -> int:
    """The upper half of a float32, rounded to the nearest, ties to even."""
    bits = int(np.float32(value).view(np.uint32))
    if value != value:
        return bits >> 16 | 1 << 6
    return bits + 0x7FFF + (bits >> 16 & 1) >> 16


def from_tiny(bits: int) -> np.float32:
    """The number that sixteen bits are."""
    return np.uint32(bits << 16).view(np.float32)


def _binary(function: Callable[..., np.float32]) -> Callable[[int, int], int]:
    return lambda a, b: to_tiny(float(function(from_tiny(a), from_tiny(b))))


EXTERNS: dict[str, Callable[..., int]] = {
    "FloatToTiny": to_tiny,
    **{f"Tiny{name}": _binary(function) for name, function in BINARY.items()},
}


def register() -> None:
    """Register the dtype, and the C symbols that compute with it."""
    datatype.register("tiny", 150)
    for name in BINARY:
        lower = datatype.create_lower_func({16: f"Tiny{name}"})
        datatype.register_op(lower, name, "llvm", "tiny")
    constant = datatype.create_lower_func({16: "FloatToTiny"})
    datatype.register_op(constant, "FloatImm", "llvm", "tiny")
    conversion = datatype.create_lower_func({(32, 16): "FloatToTiny"})
    datatype.register_op(conversion, "Cast", "llvm", "float", "tiny")


def main() -> None:
    """Compare the lowered program with the one on bfloat16."""
    register()
    try:
        custom = parse(PROGRAM.replace("DTYPE", "custom[tiny]16"))
        lowered = LowerCustomDatatypes()(custom)
    finally:
        datatype.unregister("tiny")
    print(lowered)
    native = parse(PROGRAM.replace("DTYPE", "bfloat16"))
    values = np.linspace(-3, 3, 16, dtype=np.float32)
    a = np.array([to_tiny(float(value)) for value in values], np.uint16)
    b, expected = np.zeros((2, 16), np.uint16)
    interpret(lowered, externs=EXTERNS)["scaled"](a, b, 16)
    bfloat16 = numpy_float("bfloat16")
    interpret(native)["scaled"](a.view(bfloat16), expected.view(bfloat16), 16)
    assert np.array_equal(b, expected)
    print([float(from_tiny(int(bits))) for bits in b])


if __name__ == "__main__":
    main()
