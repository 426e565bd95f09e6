"""Calls of packed functions that their generated checks refuse or accept.

docs/spec/tir-passes-d-abi-and-pipelines.md III.3. A case is a function, arguments, and
what it returns or the text of the failed check; an `Array` says how an array is passed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from xdsl_tvm.dialects.tir.data_types import Abi


@dataclass(frozen=True)
class Array:
    """An array with fields of its DLTensor that are not those of numpy."""

    array: np.ndarray[Any, Any]
    has_data: bool = True
    has_strides: bool | None = None
    """Whether strides are given where the array is compact, too."""
    shape: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None
    """In elements."""
    byte_offset: int = 0
    device_type: int = 1
    device_id: int = 0
    bits: int | None = None
    code: int | None = None
    lanes: int = 1


Arguments: TypeAlias = Callable[[], tuple[Any, ...]]
HEADER = "from tvm.script import ir as I\nfrom tvm.script import tir as T\n@I.ir_module\n"


@dataclass(frozen=True)
class PackedCase:
    """A call, what it returns, and what fails."""

    name: str
    function: str
    arguments: Arguments
    failure: str | None = None
    """A part of the message of the assertion, None if the call succeeds."""
    result: Any = None
    results: tuple[tuple[int, Any], ...] = ()
    """What elements are written: the argument's place, and its first element."""


def _floats(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


def _function(parameters: str, body: str, result: str = "") -> str:
    lines = "".join(f"        {line}\n" for line in body.strip().splitlines())
    head = f"class Module:\n    @T.prim_func\n    def f({parameters}){result}:\n"
    return HEADER + head + lines


def _array(shape: str, rest: str = "", *, variables: str = "n", index: str = "0") -> str:
    """A function that doubles an element, of which the second is written."""
    made = "".join(f"{name} = T.int32()\n" for name in variables.split())
    body = f"A = T.match_buffer(a, {shape}, 'float32'{rest})\nA[{index}] = T.float32(5)"
    return _function("a: T.handle", made + body)


_PAIR = _function(
    "a: T.handle, b: T.handle",
    """n = T.int32()
A = T.match_buffer(a, (n, 4), 'float32')
B = T.match_buffer(b, (n,), 'float32')
B[0] = A[0, 1]""",
)
_WITH_N = _function(
    "a: T.handle, n: T.int32",
    "A = T.match_buffer(a, (n,), 'float32')\nA[0] = T.float32(5)",
)
_COMPOUND = _function(
    "c: T.handle, a: T.handle",
    """n = T.int32()
A = T.match_buffer(a, (n,), 'float32')
C = T.match_buffer(c, (n * 2,), 'float32')
C[0] = T.float32(5)""",
)
_MATRIX = _array("(4, 6)", index="1, 1")
_ANY_STRIDES = _function(
    "a: T.handle",
    """s0, s1 = T.int32(), T.int32()
A = T.match_buffer(a, (2, 3), 'float32', strides=(s0, s1))
A[0, 0] = A[1, 2]
return s0 * 100 + s1""",
    " -> T.int32",
)
_BROADCAST = _function(
    "a: T.handle",
    """m, n = T.int32(), T.int32()
A = T.match_buffer(a, (m, n), 'float32', buffer_type='auto')
A[0, 0] = A[m - 1, n - 1] + T.float32(1)""",
)
_OFFSET = _function(
    "a: T.handle",
    """e = T.int32()
A = T.match_buffer(a, (4,), 'float32', elem_offset=e, offset_factor=2)
A[0] = T.float32(5)
return e""",
    " -> T.int32",
)
_SCALARS = {
    "int32": "x + T.int32(1)",
    "bool": "not x",
    "float32": "x * T.float32(2)",
}


def _scalar(dtype: str) -> str:
    value = _SCALARS[dtype]
    return _function(f"x: T.{dtype}", f"return {value}", f" -> T.{dtype}")


def _returned(dtype: str, value: str) -> str:
    return _function("", f"return T.{dtype}({value})", f" -> T.{dtype}")


_SCALAR = _array("()", index="()")
_VECTOR = _array("(8,)")


def packed_cases(abi: Abi = Abi.PACKED) -> Iterator[PackedCase]:
    """Every case of III.3 that a program of one function on a CPU can show.

    In the convention of `tvm-ffi` an integer is passed for a float, too.
    """
    for case in _packed_cases():
        if abi is Abi.FFI and case.name == "13 float of int":
            case = replace(case, failure=None, result=2.0)
        yield case


def _packed_cases() -> Iterator[PackedCase]:
    yield from _counts_and_codes()
    yield from _shapes()
    yield from _strides()
    yield from _devices_and_offsets()
    yield from _scalars()


def _counts_and_codes() -> Iterator[PackedCase]:
    fine = _floats(8)
    count = "f: num_args should be 1"
    yield PackedCase("1 too few", _VECTOR, tuple, count)
    yield PackedCase("1 too many", _VECTOR, lambda: (fine, 1), count)
    pointer = "f: Expect arg[0] to be pointer"
    yield PackedCase("2 a number", _VECTOR, lambda: (3,), pointer)
    yield PackedCase("2 a float", _VECTOR, lambda: (3.5,), pointer)
    null = "f.a is expected to have non-NULL DLTensor* pointer"
    yield PackedCase("3 None", _VECTOR, lambda: (None,), null)
    rank = "f.a.ndim is expected to equal 1"
    yield PackedCase("4 rank", _VECTOR, lambda: (_floats(2, 4),), rank)
    nothing = Array(_floats(2, 4), has_data=False)
    yield PackedCase("4 rank without data", _VECTOR, lambda: (nothing,), rank)
    no_data = "f.a is expected to have non-NULL data pointer"
    yield PackedCase("5 data", _VECTOR, lambda: (Array(fine, has_data=False),), no_data)
    yield PackedCase(
        "5 nothing",
        _array("(n, 4)", index="0, 0").replace("A[0, 0] =", "T.evaluate(n) #"),
        lambda: (Array(_floats(0, 4), has_data=False),),
    )
    dtype = "f.a.dtype is expected to be float32"
    yield PackedCase("6 bits", _VECTOR, lambda: (fine.astype(np.float64),), dtype)
    yield PackedCase("6 code", _VECTOR, lambda: (fine.astype(np.int32),), dtype)
    yield PackedCase("6 lanes", _VECTOR, lambda: (Array(fine, lanes=4),), dtype)
    yield PackedCase("15 no arguments", _returned("int32", "7"), tuple, result=7)
    yield PackedCase("16 rank 0", _SCALAR, lambda: (_floats(),), results=((0, 5),))
    yield PackedCase("17 the first", _VECTOR, lambda: (_floats(2, 4).astype(int),), rank)


def _shapes() -> Iterator[PackedCase]:
    extent = 'f.a.shape[0] has an unsatisfied constraint: 8 == T.Cast("int32", f_a_shape'
    yield PackedCase("7 constant", _VECTOR, lambda: (_floats(7),), extent)
    yield PackedCase(
        "7 variable", _PAIR, lambda: (_floats(3, 4), _floats(3)), results=((1, 1),)
    )
    other = "f.b.shape[0] has an unsatisfied constraint: n =="
    yield PackedCase("7 violated", _PAIR, lambda: (_floats(3, 4), _floats(2)), other)
    by_value = "f.a.shape[0] has an unsatisfied constraint: n =="
    yield PackedCase("7 parameter", _WITH_N, lambda: (_floats(3), 3), results=((0, 5),))
    yield PackedCase("7 another", _WITH_N, lambda: (_floats(3), 4), by_value)
    yield PackedCase(
        "7 compound", _COMPOUND, lambda: (_floats(6), _floats(3)), results=((0, 5),)
    )
    product = "f.c.shape[0] has an unsatisfied constraint: n * 2 =="
    yield PackedCase("7 product", _COMPOUND, lambda: (_floats(5), _floats(3)), product)


def _strides() -> Iterator[PackedCase]:
    compact = "f.a.strides: expected to be compact array"
    yield PackedCase("8 transposed", _MATRIX, lambda: (_floats(6, 4).T,), compact)
    yield PackedCase("8 gaps", _MATRIX, lambda: (_floats(4, 12)[:, ::2],), compact)
    yield PackedCase("8 none", _MATRIX, lambda: (_floats(4, 6),))
    yield PackedCase("8 given", _MATRIX, lambda: (Array(_floats(4, 6), strides=(6, 1)),))
    one = _array("(1, 6)", index="0, 1")
    any_stride = Array(_floats(1, 6), strides=(77, 1))
    yield PackedCase("8 one element", one, lambda: (any_stride,))
    yield PackedCase(
        "9 any", _ANY_STRIDES, lambda: (_floats(3, 2).T,), result=102, results=((0, 5),)
    )
    yield PackedCase(
        "9 compact", _ANY_STRIDES, lambda: (_floats(2, 3),), result=301, results=((0, 5),)
    )
    yield PackedCase(
        "10 broadcast",
        _BROADCAST,
        lambda: (Array(_floats(1, 3), strides=(99, 1)),),
        results=((0, 3),),
    )
    yield PackedCase("10 plain", _BROADCAST, lambda: (_floats(2, 3),), results=((0, 6),))


def _devices_and_offsets() -> Iterator[PackedCase]:
    offset = "f.a.byte_offset has an unsatisfied constraint: T.uint64(0) =="
    yield PackedCase(
        "11 none", _VECTOR, lambda: (Array(_floats(8), byte_offset=4),), offset
    )
    memory = Array(_floats(8), shape=(4,), byte_offset=8)
    yield PackedCase("11 given", _OFFSET, lambda: (memory,), result=2)
    odd = Array(_floats(8), shape=(4,), byte_offset=4)
    uneven = "f.a.elem_offset has an unsatisfied constraint: T.truncmod(e, 2) == 0"
    yield PackedCase("11 uneven", _OFFSET, lambda: (odd,), uneven)
    kind = "f.a.device_type has an unsatisfied constraint: 1 =="
    yield PackedCase(
        "12 type", _VECTOR, lambda: (Array(_floats(8), device_type=2),), kind
    )
    second = Array(_floats(3), device_id=1)
    number = "f.b.device_id has an unsatisfied constraint: dev_id =="
    yield PackedCase("12 number", _PAIR, lambda: (_floats(3, 4), second), number)


def _scalars() -> Iterator[PackedCase]:
    for value, result in ((4, 5), (True, 2)):
        yield PackedCase(
            f"13 int {value}", _scalar("int32"), lambda v=value: (v,), None, result
        )
    integer = "f: Expect arg[0] to be int"
    yield PackedCase("13 int of float", _scalar("int32"), lambda: (4.0,), integer)
    for value, result in ((True, False), (2, False), (0, True)):
        yield PackedCase(
            f"13 bool {value}", _scalar("bool"), lambda v=value: (v,), None, result
        )
    boolean = "f: Expect arg[0] to be boolean"
    yield PackedCase("13 bool of float", _scalar("bool"), lambda: (1.0,), boolean)
    yield PackedCase("13 float", _scalar("float32"), lambda: (1.5,), None, 3.0)
    real = "f: Expect arg[0] to be float"
    yield PackedCase("13 float of int", _scalar("float32"), lambda: (1,), real)
    returned = {
        "int32": ("-3", -3),
        "int64": ("1 << 40", 1 << 40),
        "float16": ("1.5", 1.5),
        "float32": ("0.25", 0.25),
        "float64": ("-2.5", -2.5),
        "bool": ("True", True),
    }
    for dtype, (text, result) in returned.items():
        yield PackedCase(f"14 {dtype}", _returned(dtype, text), tuple, None, result)
    nothing = _function("A: T.Buffer(1, 'float32')", "A[0] = T.float32(5)")
    yield PackedCase("14 nothing", nothing, lambda: (_floats(1),), results=((0, 5),))
