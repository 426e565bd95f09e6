"""Stores that are guarded by the bounds of memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.structural_equal import assert_structural_equal
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.errors import AssertionFailedError
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.passes.tir.default_pipeline import DefaultPipeline
from xdsl_tvm.passes.tir.instrument_bound_checkers import InstrumentBoundCheckers
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.compile import compile
from xdsl_tvm.tvmscript import parse as parse_script

HEADER = "from tvm.script import ir as I\nfrom tvm.script import tir as T\n@I.ir_module\n"
POINTERS = 'a: T.handle("float32"), b: T.handle("float32"), n: T.int32, i: T.int32'
BUFFERS = """A = T.decl_buffer(16, "float32", data=a)
B = T.decl_buffer(16, "float32", data=b)"""


def bound(pointer: str, *extents: str) -> str:
    extents_text = ", ".join(extents)
    return f'T.attr({pointer}, "buffer_bound", T.tvm_tuple({extents_text}))'


BOTH = f"{bound('a', '16')}\n{bound('b', '16')}"


def function(body: str, parameters: str = POINTERS) -> ModuleOp:
    lines = "".join(f"        {each}\n" for each in body.splitlines())
    head = f"class Module:\n    @T.prim_func\n    def f({parameters}):\n"
    return parse_script(HEADER + head + lines)


def checked(module: ModuleOp) -> ModuleOp:
    InstrumentBoundCheckers().apply(new_context(), module)
    module.verify()
    return module


def pair(index: str, extent: str = "16") -> str:
    wide = f'T.Cast("int64", {index})'
    return f'({wide} >= T.int64(0) and {wide} < T.Cast("int64", {extent}))'


def guarded(condition: str, store: str) -> str:
    return f"""if {condition}:
    {store}
else:
    assert {condition}, "OUT OF THE BOUNDS"
    T.evaluate(1)"""


def same(before: str, after: str, parameters: str = POINTERS) -> None:
    assert_structural_equal(
        checked(function(before, parameters)), function(after, parameters)
    )


def test_without_bounds() -> None:
    """CASE: InstrumentBoundCheckers.2"""
    same(f"{BUFFERS}\nB[i] = A[n]", f"{BUFFERS}\nB[i] = A[n]")


def test_a_load_and_a_store() -> None:
    """CASE: InstrumentBoundCheckers.3"""
    start = f"{BOTH}\n{BUFFERS}\n"
    same(
        f"{start}A[i] = B[n] * T.float32(2)",
        start + guarded(f"{pair('n')} and {pair('i')}", "A[i] = B[n] * T.float32(2)"),
    )


def test_a_load_alone() -> None:
    """CASE: InstrumentBoundCheckers.4"""
    start = f"{bound('a', '16')}\n{BUFFERS}\n"
    same(f"{start}B[i] = A[n]", start + guarded(pair("n"), "B[i] = A[n]"))


def test_lazy_choices() -> None:
    """CASE: InstrumentBoundCheckers.5"""
    choice = "T.if_then_else(n > 3, B[n], T.float32(0))"
    start = f"{BOTH}\n{BUFFERS}\n"
    same(f"{start}A[i] = {choice}", f"{start}A[i] = {choice}")
    store = f"A[i] = B[i] + {choice}"
    same(f"{start}{store}", start + guarded(pair("i"), store))


ALLOCATED = """p = T.allocate({extents}, "{dtype}")
{bound}
P = T.decl_buffer({length}, "float32", data=p)
{store}"""


def test_allocated_memory() -> None:
    """CASE: InstrumentBoundCheckers.6"""
    shape = {"extents": "(16,)", "dtype": "float32x4", "bound": bound("p", "3")}
    shape["length"] = "64"
    store = "P[i] = T.float32(1)"
    after = guarded(pair("i", "T.uint64(64)"), store)
    # The tuple of the attribute is only looked at.
    same(ALLOCATED.format(store=store, **shape), ALLOCATED.format(store=after, **shape))


def test_vectors_of_allocated_memory() -> None:
    """Lanes are those of the elements that are accessed."""
    text = """p = T.allocate((16,), "float32x4")
T.attr(p, "buffer_bound", T.tvm_tuple(1))
P = T.decl_buffer(16, "float32x4", data=p)
P[i] = T.Broadcast(T.float32(1), 4)"""
    module = checked(function(text))
    function_ = interpret(module)["f"]
    arrays = np.zeros(1, np.float32), np.zeros(1, np.float32)
    function_(*arrays, 0, 15)
    with pytest.raises(AssertionFailedError, match="OUT OF THE BOUNDS"):
        function_(*arrays, 0, 16)


def test_ramps() -> None:
    """CASE: InstrumentBoundCheckers.7: the last lane is checked, not the one after it."""
    start = f"{bound('b', '16')}\n{BUFFERS}\n"
    module = checked(
        function(f"{start}B[i * 4 : i * 4 + 4] = T.Broadcast(T.float32(1), 4)")
    )
    arrays = np.zeros(16, np.float32), np.zeros(16, np.float32)
    run = interpret(module)["f"]
    run(*arrays, 0, 3)
    assert arrays[1].tolist() == [0] * 12 + [1] * 4
    for outside in (4, -1):
        with pytest.raises(AssertionFailedError, match="OUT OF THE BOUNDS"):
            run(*arrays, 0, outside)
    text = str(module)
    assert "%c3" in text or "tir.const 3" in text
    reverse = "B[T.Ramp(i, -1, 4)] = T.Broadcast(T.float32(2), 4)"
    run = interpret(checked(function(f"{start}{reverse}")))["f"]
    run(*arrays, 0, 3)
    assert arrays[1].tolist() == [2] * 4 + [0] * 8 + [1] * 4
    for outside in (2, 16):
        with pytest.raises(AssertionFailedError, match="OUT OF THE BOUNDS"):
            run(*arrays, 0, outside)


def test_two_dimensions() -> None:
    """CASE: InstrumentBoundCheckers.8"""
    start = f"""{bound("b", "4", "8")}
B = T.decl_buffer((4, 8), "float32", data=b)
"""
    store = "B[n, i] = T.float32(1)"
    both = f"{pair('n', '4')} and {pair('i', '8')}"
    condition = both.replace(f"and {pair('i', '8')}", f"and {pair('i', '8')}")
    same(f"{start}{store}", start + guarded(condition, store))


def test_loads_outside_of_stores() -> None:
    """CASE: InstrumentBoundCheckers.9"""
    body = f"""{bound("a", "16")}
{BUFFERS}
if A[n] > T.float32(0):
    B[i] = T.float32(1)"""
    same(body, body)


def test_equal_conditions() -> None:
    """CASE: InstrumentBoundCheckers.10"""
    start = f"{BOTH}\n{BUFFERS}\n"
    store = "B[i] = A[n] + A[i]"
    condition = f"{pair('n')} and {pair('i')} and {pair('i')}"
    same(f"{start}{store}", start + guarded(condition, store))


def test_a_bound_that_is_a_variable() -> None:
    """CASE: InstrumentBoundCheckers.11"""
    start = f"{bound('b', 'n')}\n{BUFFERS}\n"
    store = "B[i] = T.float32(1)"
    same(f"{start}{store}", start + guarded(pair("i", "n"), store))


def test_another_rank() -> None:
    """CASE: InstrumentBoundCheckers.12"""
    body = f"{bound('b', '4', '4')}\n{BUFFERS}\nB[i] = T.float32(1)"
    with pytest.raises(
        PassFailedException,
        match=r"store in @f: has 1 indices, and the memory has 2 bounds",
    ):
        checked(function(body))


def test_a_constant_store() -> None:
    """CASE: InstrumentBoundCheckers.13"""
    start = f"{bound('b', '16')}\n{BUFFERS}\n"
    store = "B[i] = T.float32(1)"
    same(f"{start}{store}", start + guarded(pair("i"), store))


def test_a_load_in_an_index() -> None:
    """TVM reads the index in the condition without a check."""
    parameters = 'a: T.handle("int32"), b: T.handle("float32"), n: T.int32, i: T.int32'
    body = f"""{bound("a", "4")}
{bound("b", "4")}
A = T.decl_buffer(4, "int32", data=a)
B = T.decl_buffer(4, "float32", data=b)
B[A[i]] = T.float32(1)"""
    run = interpret(checked(function(body, parameters)))["f"]
    a, b = np.array([3, 9, 0, 1], np.int32), np.zeros(4, np.float32)
    run(a, b, 0, 0)
    assert b.tolist() == [0, 0, 0, 1]
    for outside in (1, 4, -1):
        with pytest.raises(AssertionFailedError, match="OUT OF THE BOUNDS"):
            run(a, b, 0, outside)


SHARED = """tir.func @f(%a: !tir.ptr<i32>, %b: !tir.ptr<i32>, %i: i32) {
  %c4 = tir.const 4 : i32
  %c0 = tir.const 0 : i32
  %t = tir.call "tvm_tuple"(%c4) : (i32) -> !tir.handle
  tir.attr "buffer_bound" (%a) = %t {
    %A = tir.decl_buffer "A" %a : !tir.buffer<4xi32>
    %B = tir.decl_buffer "B" %b : !tir.buffer<4xi32>
    %x = tir.load %A[%i] : i32
    tir.store %c4, %B[%c0] : i32
    tir.store %x, %B[%x] : i32
  }
}"""


def test_a_load_that_cannot_move() -> None:
    """The load has its own check, before it."""
    module = checked(parse(SHARED))
    run = interpret(module)["f"]
    a, b = np.array([3, 2, 1, 0], np.int32), np.zeros(4, np.int32)
    run(a, b, 0)
    assert b.tolist() == [4, 0, 0, 3]
    with pytest.raises(AssertionFailedError, match="OUT OF THE BOUNDS"):
        run(a, b, 4)


REDUCTION = """
class Module:
    @T.prim_func
    def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((), "float32")):
        for i, j in T.grid(4, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("RR", [i, j])
                with T.init():
                    B[()] = T.float32(0)
                B[()] = B[()] + A[vi, vj]
"""


def test_kernels_with_the_configuration() -> None:
    """CASE: InstrumentBoundCheckers.1"""
    module = parse_script(HEADER + REDUCTION.lstrip())
    with PassContext(config={"tir.instrument_bound_checkers": True}):
        names = [each.name for each in DefaultPipeline().passes()]
        assert "tir-instrument-bound-checkers" in names
        function_ = compile(module)["f"]
    a, b = np.ones((4, 8), np.float32), np.zeros((), np.float32)
    function_(a, b)
    assert b == 32


def test_machine_code() -> None:
    """An access out of bounds is an error of Python's, and no crash."""
    body = f"{bound('B.data', '16')}\nB[i] = T.float32(1)"
    module = checked(function(body, 'B: T.Buffer(16, "float32"), i: T.int32'))
    run: Any = compile(module, optimize=False)["f"]
    array = np.zeros(16, np.float32)
    run(array, 15)
    for outside in (16, -1, 1 << 30):
        with pytest.raises(RuntimeError, match="OUT OF THE BOUNDS"):
            run(array, outside)
    assert array.sum() == 1


def test_tuple_of_the_attribute_stays() -> None:
    module = checked(function(f"{bound('b', '16')}\n{BUFFERS}\nB[i] = T.float32(1)"))
    assert [op.key.data for op in module.walk() if isinstance(op, tir.AttrOp)] == [
        "buffer_bound"
    ]
