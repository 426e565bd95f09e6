"""Random programs of host and device compute the same after they are separated.

The ordinary run takes a few programs; `XDSL_TVM_FUZZ=1000` takes that many.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from support.host_device_programs import random_calls, random_contexts, random_launches
from support.ir import parse
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.universe import Universe

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.infra.pipeline_runner import parse_passes
from xdsl_tvm.passes.tir.annotate_device_regions import AnnotateDeviceRegions
from xdsl_tvm.passes.tir.combine_context_call import CombineContextCall
from xdsl_tvm.passes.tir.inline_private_functions import InlinePrivateFunctions
from xdsl_tvm.passes.tir.legalize_packed_calls import LegalizePackedCalls
from xdsl_tvm.passes.tir.lower_device_kernel_launch import LowerDeviceKernelLaunch
from xdsl_tvm.passes.tir.split_host_device import SplitHostDevice
from xdsl_tvm.registry import new_context

PASSES = Universe.get_multiverse().all_passes
COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "3"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))


@dataclass(frozen=True)
class BindHost(ModulePass):
    """Lets the function with the launches be code of the host alone, as MakePackedAPI
    does."""

    name = "bind-host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.ops:
            if isinstance(func, tir.FuncOp) and func.sym_name.data == "main":
                func.attributes["target"] = Target("llvm")


def count(module: ModuleOp, kind: type[object]) -> int:
    return sum(isinstance(op, kind) for op in module.walk())


@pytest.mark.parametrize("first", ["", "canonicalize,cse"])
def test_kernels_are_launched_with_what_they_use(first: str) -> None:
    split = (AnnotateDeviceRegions(), SplitHostDevice())
    for seed in range(FIRST, FIRST + COUNT):
        module = parse(random_launches(seed))
        passes = (
            parse_passes(Universe.get_multiverse().all_passes, first) if first else ()
        )
        passes += (*split, BindHost(), LowerDeviceKernelLaunch())
        report = check_semantics(module, passes, seed=seed, runs=1, tolerance=0.0)
        assert report.checked == ["main"]
        for each in passes:
            each.apply(new_context(), module)
        module.verify()
        assert count(module, tir.CallFuncOp) == 0
        main, *kernels = [op for op in module.ops if isinstance(op, tir.FuncOp)]
        assert kernels
        assert count(module, tir.LaunchThreadOp) == 2 * len(kernels)
        assert not any(isinstance(op, tir.LaunchThreadOp) for op in main.walk())


def test_kernels_are_inlined_again() -> None:
    passes = (AnnotateDeviceRegions(), SplitHostDevice(), InlinePrivateFunctions())
    for seed in range(FIRST, FIRST + COUNT):
        module = parse(random_launches(seed))
        check_semantics(module, passes, seed=seed, runs=1, tolerance=0.0)
        for each in passes:
            each.apply(new_context(), module)
        assert count(module, tir.FuncOp) == 1


def test_private_functions_are_inlined() -> None:
    inlined = 0
    for seed in range(FIRST, FIRST + COUNT):
        module = parse(random_calls(seed))
        before = count(module, tir.FuncOp)
        arrays = results(module)
        InlinePrivateFunctions().apply(new_context(), module)
        module.verify()
        inlined += count(module, tir.FuncOp) < before
        assert results(module) == arrays
    assert inlined >= COUNT // 3


def results(module: ModuleOp) -> list[Any]:
    found: list[Any] = []
    for x in (-3, 2):
        array = np.arange(16, dtype=np.int32)
        found += [interpret(module)["f0"](array, x), array.tolist()]
    return found


def test_contexts_are_combined() -> None:
    combined = 0
    for seed in range(FIRST, FIRST + COUNT):
        module = parse(random_contexts(seed))
        trace, found = traced(module)
        CombineContextCall().apply(new_context(), module)
        module.verify()
        after, asked = traced(module)
        assert after == trace
        combined += len(asked) < len(found)
        assert not any(
            isinstance(op, tir.CallOp) and op.callee.data == "tvm_thread_context"
            for op in module.walk()
        )
    assert combined >= COUNT // 4


def traced(module: ModuleOp) -> tuple[list[Any], list[Any]]:
    """The contexts that things run in, and those that are asked for."""
    trace: list[Any] = []
    asked: list[Any] = []

    def device_context(*numbers: int) -> object:
        asked.append(numbers)
        return numbers

    def run(*contexts: object) -> None:
        trace.append(contexts)

    interpreted = interpret(
        module, externs={"run": run, "device_context": device_context}
    )
    interpreted["main"](2, 5)
    return trace, asked


DTYPES = {"f32": np.float32, "i8": np.int8, "i64": np.int64}


def test_packed_functions_get_arrays() -> None:
    rng = np.random.default_rng(FIRST)
    for _ in range(COUNT):
        dtype = str(rng.choice(list(DTYPES)))
        rows, columns = (int(size) for size in rng.integers(1, 5, 2))
        symbolic = bool(rng.integers(2))
        module = parse(packed_call(dtype, rows, columns, symbolic))
        LegalizePackedCalls().apply(new_context(), module)
        module.verify()
        array = rng.integers(-20, 20, rows * columns).astype(DTYPES[dtype])
        expected = (2 * array.reshape(rows, columns).T).T.reshape(-1)
        interpret(module)["main"](array, rows)
        np.testing.assert_array_equal(array, expected.astype(array.dtype))


def packed_call(dtype: str, rows: int, columns: int, symbolic: bool) -> str:
    """A call that doubles a matrix in memory of the caller."""
    size = rows * columns
    extent = "[%n] " if symbolic else ""
    shape = f"{'?' if symbolic else rows}x{columns}x{dtype}"
    return f"""
tir.func @main(%a: !tir.handle, %rows: i32) attributes {{global_symbol = "main"}} {{
  %A = tir.match_buffer "A" %a : !tir.buffer<{size}x{dtype}>
  %p = tir.allocate [{size}] : !tir.ptr<{dtype}>
  %P = tir.decl_buffer "P" %p : !tir.buffer<{size}x{dtype}>
  %c0 = tir.const 0 : i32
  %size = tir.const {size} : i32
  tir.for %i = %c0 to %size {{
    %x = tir.load %A[%i] : {dtype}
    tir.store %x, %P[%i] : {dtype}
  }}
  %zero = tir.const 0 : ui64
  %null = tir.call "reinterpret"(%zero) : (ui64) -> !tir.handle
  %s = tir.string "twice"
  %n = tir.add %rows, %c0 : i32
  %r = tir.call "tvm_call_cpacked"(%s, %p, %n, %null)
    : (!tir.handle, !tir.ptr<{dtype}>, i32, !tir.handle) -> i32
  tir.for %i = %c0 to %size {{
    %x = tir.load %P[%i] : {dtype}
    tir.store %x, %A[%i] : {dtype}
  }}
}}
tir.func @twice(%x: !tir.handle, %n: i32) {{
  %X = tir.match_buffer "X" %x {extent}: !tir.buffer<{shape}>
  %c0 = tir.const 0 : i32
  %columns = tir.const {columns} : i32
  tir.for %i = %c0 to %n {{
    tir.for %j = %c0 to %columns {{
      %v = tir.load %X[%i, %j] : {dtype}
      %w = tir.add %v, %v : {dtype}
      tir.store %w, %X[%i, %j] : {dtype}
    }}
  }}
}}
"""
