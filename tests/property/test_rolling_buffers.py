"""Random stencils compute the same with rings, and compute elements once."""

from __future__ import annotations

import os

from support.ir import parse
from support.rolling_buffers import allocated, random_rolling
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import SemanticsChecker
from xdsl_tvm.passes.tir.inject_rolling_buffer import InjectRollingBuffer
from xdsl_tvm.registry import new_context

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "8"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))


def rolled(module: ModuleOp) -> ModuleOp:
    module = module.clone()
    InjectRollingBuffer().apply(new_context(), module)
    module.verify()
    return module


def test_rings_hold_what_is_used() -> None:
    """Elements that nothing has stored are undefined, so that skipping one shows."""
    guarded = 0
    for seed in range(FIRST, FIRST + COUNT):
        module = parse(random_rolling(seed))
        checker = SemanticsChecker(allocated(module), None, seed=seed, runs=1)
        assert checker.report.checked, checker.report.skipped
        after = rolled(module)
        assert str(after) != str(module)
        checker.check("tir-inject-rolling-buffer", allocated(after))
        guarded += any(isinstance(op, tir.IfOp) for op in after.walk())
    assert guarded >= COUNT // 2


SHARED_VALUES = """
tir.func @f(%a: !tir.handle, %o: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<8xi32>
  %O = tir.match_buffer %o : !tir.buffer<4x3xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {
    %T = tir.buffer_realize bounds [%i to %i + 3]
      annotations {"rolling_buffer_scope" = true} : !tir.buffer<6xi32>
    tir.for %r = %c0 to %c3 {
      %k = tir.add %i, %r : i32
      %x = tir.load %A[%k] : i32
      %y = tir.mul %x, %c2 : i32
      tir.store %x, %O[%i, %r] : i32
      tir.store %y, %T[%k] : i32
      %z = tir.load %T[%k] : i32
      %w = tir.add %y, %z : i32
      tir.store %w, %O[%i, %r] : i32
    }
  }
}"""


def test_what_others_use_stays_outside() -> None:
    module = parse(SHARED_VALUES)
    checker = SemanticsChecker(allocated(module), None, runs=2)
    after = rolled(module)
    checker.check("tir-inject-rolling-buffer", allocated(after))
    (guard,) = [op for op in after.walk() if isinstance(op, tir.IfOp)]
    inside = [type(op) for op in guard.then_region.block.ops]
    assert tir.LoadOp not in inside
    assert tir.MulOp not in inside
