"""Random divisions, and all divisions of eight bits, as LowerIntrin leaves them.

`XDSL_TVM_FUZZ` sets the number of programs.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from support.division_programs import DivisionProgram
from support.ir import parse

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.tir.lower_intrin import LowerIntrin
from xdsl_tvm.registry import new_context

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "20"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
TARGETS = ("llvm", "cuda", "c")


def test_random_divisions() -> None:
    for seed in range(FIRST, FIRST + COUNT):
        program = DivisionProgram(seed, TARGETS[seed % len(TARGETS)])
        module = parse(program.text)
        arguments = program.arguments()
        expected = [array.copy() for array in arguments]
        interpret(module)["f"](*expected)
        LowerIntrin().apply(new_context(), module)
        module.verify()
        assert not any(
            isinstance(op, tir.FloorDivOp | tir.FloorModOp) for op in module.walk()
        )
        interpret(module)["f"](*arguments)
        for found, wanted in zip(arguments, expected, strict=True):
            assert np.array_equal(found, wanted), (seed, program.text)


@pytest.mark.parametrize("dtype", ["i8", "ui8"])
def test_all_divisions_of_eight_bits(dtype: str) -> None:
    """All dividends by all divisors, a thread for each dividend."""
    info = np.iinfo(np.int8 if dtype == "i8" else np.uint8)
    text = f"""
tir.func @f(%x: !tir.handle, %y: !tir.handle, %q: !tir.handle, %r: !tir.handle)
    attributes {{target = #tir.target<"cuda">}} {{
  %X = tir.match_buffer %x : !tir.buffer<65280x{dtype}>
  %Y = tir.match_buffer %y : !tir.buffer<65280x{dtype}>
  %Q = tir.match_buffer %q : !tir.buffer<65280x{dtype}>
  %R = tir.match_buffer %r : !tir.buffer<65280x{dtype}>
  %blocks = tir.const 255 : i32
  %threads = tir.const 256 : i32
  tir.launch_thread %b = "blockIdx.x" to %blocks {{
    tir.launch_thread %t = "threadIdx.x" to %threads {{
      %o = tir.mul %b, %threads : i32
      %i = tir.add %o, %t : i32
      %m = tir.load %X[%i] : {dtype}
      %n = tir.load %Y[%i] : {dtype}
      %d = tir.floordiv %m, %n : {dtype}
      %e = tir.floormod %m, %n : {dtype}
      tir.store %d, %Q[%i] : {dtype}
      tir.store %e, %R[%i] : {dtype}
    }}
  }}
}}
"""
    numbers = np.arange(info.min, info.max + 1)
    dividends, divisors = np.meshgrid(numbers, numbers[numbers != 0])
    x, y = (part.ravel().astype(info.dtype) for part in (dividends, divisors))
    module = parse(text)
    LowerIntrin().apply(new_context(), module)
    module.verify()
    q, r = np.zeros_like(x), np.zeros_like(x)
    runner = interpret(module)
    runner["f"](x, y, q, r)
    assert runner.launches_together == 1
    wide_x, wide_y = x.astype(np.int64), y.astype(np.int64)
    assert np.array_equal(q, (wide_x // wide_y).astype(info.dtype))
    assert np.array_equal(r, (wide_x % wide_y).astype(info.dtype))


@pytest.mark.parametrize("dtype", ["i8", "ui8"])
def test_all_constant_divisors_of_eight_bits(dtype: str) -> None:
    """Each divisor as a constant, by a loop over all dividends and over some of them."""
    info = np.iinfo(np.int8 if dtype == "i8" else np.uint8)
    divisors = [n for n in range(int(info.min), int(info.max) + 1) if n]
    step = 1 if COUNT >= 300 else 5
    for divisor in {*divisors[::step], *(d for d in divisors if d & d - 1 == 0)}:
        for low, extent in ((int(info.min), 255), (int(info.min) // 9, 40)):
            module = parse(f"""
tir.func @f(%q: !tir.handle, %r: !tir.handle)
    attributes {{target = #tir.target<"llvm">}} {{
  %Q = tir.match_buffer %q : !tir.buffer<{extent}x{dtype}>
  %R = tir.match_buffer %r : !tir.buffer<{extent}x{dtype}>
  %c = tir.const {divisor} : {dtype}
  %z = tir.const 0 : i32
  %l = tir.const {low} : i32
  %n = tir.const {extent} : i32
  tir.for %i = %z to %n {{
    %w = tir.add %i, %l : i32
    %m = tir.cast %w : i32 to {dtype}
    %d = tir.floordiv %m, %c : {dtype}
    %e = tir.floormod %m, %c : {dtype}
    tir.store %d, %Q[%i] : {dtype}
    tir.store %e, %R[%i] : {dtype}
  }}
}}
""")
            LowerIntrin().apply(new_context(), module)
            q, r = np.zeros(extent, info.dtype), np.zeros(extent, info.dtype)
            interpret(module)["f"](q, r)
            x = np.arange(low, low + extent)
            assert np.array_equal(q, (x // divisor).astype(info.dtype)), (divisor, low)
            assert np.array_equal(r, (x % divisor).astype(info.dtype)), (divisor, low)
