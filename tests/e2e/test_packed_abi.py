"""Packed functions as machine code: checks, results, calls of Python, memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.ir import parse as parse_ir
from support.packed_cases import HEADER, Array, PackedCase, packed_cases
from support.processes import memory_in_use
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects.tir.data_types import Abi
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.passes.tir.bind_target import BindTarget
from xdsl_tvm.passes.tir.lower_tvm_builtin import LowerTVMBuiltin
from xdsl_tvm.passes.tir.make_packed_api import MakePackedAPI
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.executable import Executable, compile
from xdsl_tvm.runtime.packed_functions import ENTRY_TYPES, DLTensor, PackedFunction
from xdsl_tvm.tvmscript import parse

CASES = [(abi, case) for abi in Abi for case in packed_cases(abi)]


def packed(module: ModuleOp, abi: Abi = Abi.PACKED) -> ModuleOp:
    packing = MakePackedAPI(abi=abi.value)
    for each in (BindTarget("llvm", "llvm"), packing, LowerTVMBuiltin()):
        each.apply(new_context(), module)
    module.verify()
    return module


def built(text: str, abi: Abi = Abi.PACKED, **externs: Any) -> Executable:
    return compile(packed(parse(text), abi), externs=externs)


@pytest.fixture(scope="module")
def executables() -> dict[tuple[Abi, str], Executable]:
    return {}


def _argument(value: Any) -> Any:
    if not isinstance(value, Array):
        return value
    found = DLTensor.of(value.array)
    if not value.has_data:
        found.data = None
    if value.shape is not None:
        found.shape = (ctypes.c_int64 * len(value.shape))(*value.shape)
        found.ndim = len(value.shape)
    if value.strides is not None:
        found.strides = (ctypes.c_int64 * len(value.strides))(*value.strides)
    found.byte_offset = value.byte_offset
    found.device_type, found.device_id = value.device_type, value.device_id
    found.lanes = value.lanes
    return found


@pytest.mark.parametrize(
    ("abi", "case"), CASES, ids=lambda value: getattr(value, "name", str(value))
)
def test_a_call(
    abi: Abi, case: PackedCase, executables: dict[tuple[Abi, str], Executable]
) -> None:
    """Every case of docs/spec/tir-passes-d-abi-and-pipelines.md III.3."""
    key = abi, case.function
    if key not in executables:
        executables[key] = built(case.function, abi)
    function = executables[key]["f"]
    arguments = case.arguments()
    passed = [_argument(argument) for argument in arguments]
    if case.failure is not None:
        with pytest.raises(RuntimeError) as error:
            function(*passed)
        assert str(error.value).startswith("Assert fail: ")
        assert case.failure in str(error.value)
        return
    assert function(*passed) == case.result
    for place, first in case.results:
        array = arguments[place]
        assert (array.array if isinstance(array, Array) else array).flat[0] == first


def script(parameters: str, body: str, result: str = "") -> str:
    lines = "".join(f"        {line}\n" for line in body.strip().splitlines())
    head = f"class Module:\n    @T.prim_func\n    def f({parameters}){result}:\n"
    return HEADER + head + lines


def test_code_of_an_error() -> None:
    """A function that fails returns -1, one that succeeds 0."""
    executable = built(CASES[0][1].function)
    function = executable["f"]
    assert isinstance(function, PackedFunction)
    types = ENTRY_TYPES[Abi.PACKED]
    entry = ctypes.CFUNCTYPE(ctypes.c_int32, *types)(function.address)
    assert entry(None, None, 7, None, None, None) == -1
    assert function(np.zeros(8, np.float32)) is None


ARRAY = (
    "T.tvm_stack_make_array(A.data, T.tvm_stack_make_shape(2, 3, dtype='handle'), 0, "
    "T.uint32(2), T.float32(0), 0, dtype='handle')"
)
CALLS = script(
    "A: T.Buffer((2, 3), 'float32'), n: T.int32",
    f"""
T.call_packed("note", n, T.float32(2.5), "text", {ARRAY})
A[0, 0] = T.Cast("float32", T.call_packed("twice", T.call_packed("twice", n)))
""",
)


def test_calls_of_python() -> None:
    seen: list[Any] = []

    def note(number: int, real: float, text: str, array: np.ndarray[Any, Any]) -> None:
        seen.append((number, real, text, array.shape))
        array[1] = 7

    executable = built(CALLS, note=note, twice=times(2))
    array = np.zeros((2, 3), np.float32)
    executable["f"](array, 5)
    assert seen == [(5, 2.5, "text", (2, 3))]
    assert array.tolist() == [[20, 0, 0], [7, 7, 7]]


def times(factor: int) -> Callable[[int], int]:
    return lambda x: factor * x


class OwnError(Exception):
    pass


def test_errors_of_python_pass_through_machine_code() -> None:
    def fail(*_: Any) -> None:
        raise OwnError("of its own")

    executable = built(CALLS, note=fail, twice=fail)
    with pytest.raises(OwnError, match="of its own"):
        executable["f"](np.zeros((2, 3), np.float32), 5)
    executable = built(CALLS, twice=times(1))
    with pytest.raises(RuntimeError, match="no function 'note' is known; pass it"):
        executable["f"](np.zeros((2, 3), np.float32), 5)


BOTH = f"""{HEADER}class Module:
    @T.prim_func
    def main(x: T.int32) -> T.int32:
        T.ret(T.call_packed("python", x) + T.int32(1))

    @T.prim_func
    def outer(x: T.int32, A: T.Buffer(4, "int32")) -> T.int32:
        if x < 0:
            T.ret(T.int32(-1))
        for i in range(4):
            A[i] = x
            if i == x:
                T.ret(i * 10)
        T.ret(Module.main(x))
"""


def test_functions_call_each_other() -> None:
    executable = built(BOTH, python=times(100))
    array = np.zeros(4, np.int32)
    outer = executable["outer"]
    assert [outer(x, array) for x in (-5, 2, 9)] == [-1, 20, 901]
    assert array.tolist() == [9] * 4
    assert executable["main"](3) == 301


WORKSPACE = script(
    "n: T.int32, A: T.Buffer(1, 'int32')",
    """
T.attr("default", "device_id", 0)
p = T.allocate((1000,), "int32")
P = T.decl_buffer(1000, "int32", data=p)
P[n] = n
if n == 1:
    T.ret(T.int32(1))
T.call_packed("python", n)
assert P[n] < 3, "too large"
A[0] = P[n]
T.ret(P[n])
""",
    " -> T.int32",
)


def test_memory_is_given_back() -> None:
    """On every way out: results, failed assertions, errors of Python."""

    def python(x: int) -> None:
        if x == 2:
            raise OwnError

    executable = built(WORKSPACE, python=python)
    function, array = executable["f"], np.zeros(1, np.int32)

    def call(number: int) -> None:
        for _ in range(number):
            assert function(0, array) == 0
            assert function(1, array) == 1
            with pytest.raises(OwnError):
                function(2, array)
            with pytest.raises(RuntimeError, match="too large"):
                function(3, array)

    call(100)
    before = memory_in_use()
    call(4000)
    # Each leaked block would be 4,000 bytes: 16 MB for each way out.
    assert memory_in_use() - before < 8 << 20


@pytest.mark.parametrize(
    ("argument", "error"),
    [
        (object(), "a value of type object is no packed argument"),
        (np.zeros(3, np.complex64), "an array of dtype complex64 is no argument"),
        (np.broadcast_to(np.float32(1), (3,)), "the array is read-only"),
    ],
)
def test_arguments_that_cannot_be_passed(argument: Any, error: str) -> None:
    function = built(CASES[0][1].function)["f"]
    with pytest.raises((TypeError, ValueError), match=error):
        function(argument)


def test_code_without_assertions() -> None:
    """`tir.disable_assert` leaves the checks out."""
    with PassContext(config={"tir.disable_assert": True}):
        function = built(WORKSPACE, python=times(0))["f"]
    array = np.zeros(1, np.int32)
    assert function(3, array) == 3
    assert array[0] == 3


PARALLEL = script(
    "A: T.Buffer(64, 'float32')",
    """
for i in T.parallel(64):
    A[i] = T.Cast("float32", T.call_packed("python", i))
""",
)


def test_calls_from_threads() -> None:
    array = np.zeros(64, np.float32)
    built(PARALLEL, python=times(3))["f"](array)
    assert array.tolist() == [3 * i for i in range(64)]

    def fail(x: int) -> int:
        if x == 40:
            raise OwnError("in a thread")
        return x

    with pytest.raises(OwnError, match="in a thread"):
        built(PARALLEL, python=fail)["f"](array)


RESULTS = """tir.func @f(%a: !tir.handle) attributes {global_symbol = "f"} {
  %A = tir.match_buffer %a : !tir.buffer<2xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %s = tir.string "python"
  %x = tir.call "tvm_call_packed"(%s, %c0) : (!tir.handle, i32) -> f32
  %y = tir.call "tvm_call_packed"(%s, %c1) : (!tir.handle, i32) -> i32
  %z = tir.cast %y : i32 to f32
  tir.store %x, %A[%c0] : f32
  tir.store %z, %A[%c1] : f32
}"""


def test_results_of_another_kind() -> None:
    """An integer for a float is converted, and the other way around."""
    results = (3, -2.5)
    executable = compile(
        packed(parse_ir(RESULTS)), externs={"python": results.__getitem__}
    )
    array = np.zeros(2, np.float32)
    executable["f"](array)
    assert array.tolist() == [3, -2]


def test_arrays_with_negative_strides() -> None:
    array = np.arange(6, dtype=np.int32).reshape(2, 3)[::-1, ::-1]
    assert (DLTensor.of(array).view() == array).all()
