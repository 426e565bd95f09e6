"""Products of extents of 8 bits wrapped around, so that memory was allocated too small.

Indices were made wide enough, and sizes were not: code wrote outside of its memory.
Schedules fused loops over 600 elements to one over 88.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.parser import Parser

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.infra.pipeline_runner import parse_passes
from xdsl_tvm.registry import all_passes, new_context

ROWS = """
tir.func @rows(%a: !tir.handle, %c: !tir.handle) {
  %n = tir.shape_var "n" : ui8
  %A = tir.match_buffer %a [%n] : !tir.buffer<300x?xf32>
  %C = tir.match_buffer %c [%n, %n] : !tir.buffer<?x?xf32>
  %c0 = tir.const 0 : ui8
  %p = tir.allocate [%n, %n] : !tir.ptr<f32>
  %B = tir.decl_buffer %p [%n, %n] : !tir.buffer<?x?xf32>
  tir.for %i = %c0 to %n {
    tir.for %j = %c0 to %n {
      %x = tir.load %A[%i, %j] : f32
      tir.store %x, %B[%i, %j] : f32
      %y = tir.load %B[%i, %j] : f32
      tir.store %y, %C[%i, %j] : f32
    }
  }
}
"""
MAP = """
tir.func @map(%a: !tir.handle, %c: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<20x30xf32>
  %C = tir.match_buffer %c : !tir.buffer<20x30xf32>
  %c0 = tir.const 0 : ui8
  %c20 = tir.const 20 : ui8
  %c30 = tir.const 30 : ui8
  tir.for %i = %c0 to %c20 {
    tir.for %j = %c0 to %c30 {
      tir.block (%vi : S in [%c0 to %c20] = %i, %vj : S in [%c0 to %c30] = %j) {
        %x = tir.load %A[%vi, %vj] : f32
        tir.store %x, %C[%vi, %vj] : f32
      }
    }
  }
}
"""
VIRTUAL = """
tir.func @threads(%b: !tir.handle) {
  %B = tir.match_buffer %b : !tir.buffer<600xi32>
  %c0 = tir.const 0 : ui8
  %c20 = tir.const 20 : ui8
  %c30 = tir.const 30 : ui8
  tir.launch_thread %t = "vthread" to %c20 virtual {
    %p = tir.allocate [30] : !tir.ptr<i32, "local">
    %L = tir.decl_buffer %p : !tir.buffer<30xi32, "local">
    %t32 = tir.cast %t : ui8 to i32
    %c30_1 = tir.const 30 : i32
    %start = tir.mul %t32, %c30_1 : i32
    tir.for %j = %c0 to %c30 {
      tir.store %t32, %L[%j] : i32
    }
    tir.for %j = %c0 to %c30 {
      %x = tir.load %L[%j] : i32
      %j32 = tir.cast %j : ui8 to i32
      %at = tir.add %start, %j32 : i32
      tir.store %x, %B[%at] : i32
    }
  }
}
"""
VIRTUAL_SYMBOLIC = """
tir.func @threads(%b: !tir.handle, %n: ui8) {
  %B = tir.match_buffer %b : !tir.buffer<600xi32>
  %c0 = tir.const 0 : ui8
  %c20 = tir.const 20 : ui8
  tir.launch_thread %t = "vthread" to %c20 virtual {
    %p = tir.allocate [%n] : !tir.ptr<i32, "local">
    %L = tir.decl_buffer %p [%n] : !tir.buffer<?xi32, "local">
    %t32 = tir.cast %t : ui8 to i32
    %n32 = tir.cast %n : ui8 to i32
    %start = tir.mul %t32, %n32 : i32
    tir.for %j = %c0 to %n {
      tir.store %t32, %L[%j] : i32
    }
    tir.for %j = %c0 to %n {
      %x = tir.load %L[%j] : i32
      %j32 = tir.cast %j : ui8 to i32
      %at = tir.add %start, %j32 : i32
      tir.store %x, %B[%at] : i32
    }
  }
}
"""
DOUBLED = """
tir.func @doubled(%a: !tir.handle, %b: !tir.handle, %n: ui8) {
  %A = tir.match_buffer %a : !tir.buffer<200xf32>
  %B = tir.match_buffer %b : !tir.buffer<200xf32>
  %c0 = tir.const 0 : ui8
  %c3 = tir.const 3 : ui8
  tir.for %i = %c0 to %c3 {
    %p = tir.allocate [%n] : !tir.ptr<f32>
    %L = tir.decl_buffer %p [%n] : !tir.buffer<?xf32>
    tir.attr "double_buffer_scope" (%p) = 1 : i32 {
      tir.for %j = %c0 to %n {
        %x = tir.load %A[%j] : f32
        tir.store %x, %L[%j] : f32
      }
    }
    tir.for %j = %c0 to %n {
      %x = tir.load %L[%j] : f32
      %y = tir.load %B[%j] : f32
      %z = tir.add %x, %y : f32
      tir.store %z, %B[%j] : f32
    }
  }
}
"""
MERGED = """
tir.func @merged(%a: !tir.handle, %n: ui8) {
  %A = tir.match_buffer %a : !tir.buffer<200xf32>
  %c0 = tir.const 0 : ui8
  %c1 = tir.const 1 : i32
  tir.launch_thread %t = "threadIdx.x" to %c1 {
    %p = tir.allocate [%n] : !tir.ptr<f32, "shared.dyn">
    %P = tir.decl_buffer %p [%n] : !tir.buffer<?xf32, "shared.dyn">
    %q = tir.allocate [%n] : !tir.ptr<f32, "shared.dyn">
    %Q = tir.decl_buffer %q [%n] : !tir.buffer<?xf32, "shared.dyn">
    tir.for %j = %c0 to %n {
      %x = tir.load %A[%j] : f32
      tir.store %x, %P[%j] : f32
      tir.store %x, %Q[%j] : f32
    }
    tir.for %j = %c0 to %n {
      %x = tir.load %P[%j] : f32
      %y = tir.load %Q[%j] : f32
      %z = tir.add %x, %y : f32
      tir.store %z, %A[%j] : f32
    }
  }
}
"""
LANES = """
tir.func @lanes(%a: !tir.handle, %n: ui8) {
  %A = tir.match_buffer %a : !tir.buffer<200xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %n32 = tir.cast %n : ui8 to i32
  tir.for %i = %c0 to %c4 vectorized {
    %p = tir.allocate [%n] : !tir.ptr<f32>
    %P = tir.decl_buffer %p [%n] : !tir.buffer<?xf32>
    tir.for %j = %c0 to %n32 {
      %x = tir.load %A[%i] : f32
      tir.store %x, %P[%j] : f32
      %y = tir.load %P[%j] : f32
      tir.store %y, %A[%i] : f32
    }
  }
}
"""
KERNEL = """
tir.func @main(%n: ui8) attributes {target = #tir.target<"llvm">} {
  tir.call_func @kernel(%n) : (ui8) -> ()
}
tir.func @kernel(%n: ui8) attributes {target = #tir.target<"cuda">} {
  %c4 = tir.const 4 : i32
  tir.launch_thread %t = "threadIdx.x" to %c4 {
    %p = tir.allocate [%n] : !tir.ptr<f32, "shared.dyn">
    tir.evaluate %t : i32
  }
}
"""


def _parsed(text: str) -> ModuleOp:
    module = Parser(new_context(), text).parse_module()
    module.verify()
    return module


def test_flat_memory_has_all_elements():
    given, found = np.ones((300, 20), np.float32), np.zeros((20, 20), np.float32)
    passes = parse_passes(all_passes(), "tir-flatten-buffer,tir-storage-rewrite")
    inputs = {"rows": [[given, found]]}
    assert check_semantics(_parsed(ROWS), passes, inputs).checked == ["rows"]


@pytest.mark.parametrize("name", ["default-cpu-schedule", "gpu-schedule{target=cuda}"])
def test_fused_loops_have_all_iterations(name: str):
    given, found = np.ones((20, 30), np.float32), np.zeros((20, 30), np.float32)
    passes = parse_passes(all_passes(), f"tir-{name}")
    inputs = {"map": [[given, found]]}
    assert check_semantics(_parsed(MAP), passes, inputs).checked == ["map"]


def test_virtual_threads_have_memory_of_their_own():
    passes = parse_passes(all_passes(), "tir-inject-virtual-thread")
    inputs = {"threads": [[np.zeros(600, np.int32)]]}
    assert check_semantics(_parsed(VIRTUAL), passes, inputs).checked == ["threads"]


@pytest.mark.parametrize(
    ("name", "program", "arguments"),
    [
        ("inject-virtual-thread", VIRTUAL_SYMBOLIC, [np.zeros(600, np.int32), 30]),
        ("inject-double-buffer", DOUBLED, [*np.ones((2, 200), np.float32), 200]),
        ("merge-shared-memory-allocations", MERGED, [np.ones(200, np.float32), 200]),
        ("vectorize-loop", LANES, [np.ones(200, np.float32), 200]),
    ],
)
def test_memory_that_grows_has_all_elements(
    name: str, program: str, arguments: list[Any]
):
    module = _parsed(program)
    (function,) = module.ops
    assert isinstance(function, tir.FuncOp)
    inputs = {function.sym_name.data: [arguments]}
    passes = parse_passes(all_passes(), f"tir-{name}")
    assert check_semantics(module, passes, inputs).checked == list(inputs)


def test_shared_memory_of_a_launch_is_counted_in_32_bits():
    module = _parsed(KERNEL)
    for one in parse_passes(all_passes(), "tir-lower-device-kernel-launch"):
        one.apply(new_context(), module)
    products = [op for op in module.walk() if isinstance(op, tir.MulOp)]
    assert [str(op.result.type) for op in products] == ["i32"]


ARGUMENT = """
tir.func @main(%a: !tir.handle)
    attributes {global_symbol = "main",
                target = #tir.target<"llvm", host = #tir.target<"llvm">>} {
  %n = tir.shape_var "n" : ui8
  %A = tir.match_buffer %a [%n, %n, %n] : !tir.buffer<?x?x?xf32>
}
"""


def test_checks_of_arguments() -> None:
    """16 by 16 elements are not none: an array without data is not accepted."""
    module = Parser(new_context(), ARGUMENT).parse_module()
    (packed,) = parse_passes(all_passes(), "tir-make-packed-api")
    packed.apply(new_context(), module)
    products = [op.result.type for op in module.walk() if isinstance(op, tir.MulOp)]
    assert products
    assert set(products) == {i32}
