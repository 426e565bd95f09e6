"""Reductions over threads of sizes that are only known at run time."""

from __future__ import annotations

import numpy as np
from support.ir import parse

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.tir.lower_cross_thread_reduction import LowerCrossThreadReduction
from xdsl_tvm.registry import new_context

SUM = """
tir.func @main(%a: !tir.handle, %b: !tir.handle, %n: i32) {{
  %A = tir.match_buffer "A" %a : !tir.buffer<24xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<1xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c3 = tir.const 3 : i32
  %c8 = tir.const 8 : i32
  %size = tir.mul %n, %c8 : i32
  tir.block "root" {{
    tir.for %i = %c0 to %c1 {{
      tir.for %ko = %c0 to {serial} {{
        tir.for %ki = %c0 to %c8 thread_binding "threadIdx.x" {{
          %m = tir.mul %ko, %c8 : i32
          %k = tir.add %m, %ki : i32
          %p = tir.cmp lt %k, %n : i32
          tir.block "B" (%v : S in [%c0 to %c1] = %i,
                         %vk : R in [%c0 to {size}] = %k){where} {{
            tir.init {{
              tir.store %c0, %B[%v] : i32
            }}
            %x = tir.load %B[%v] : i32
            %y = tir.load %A[%vk] : i32
            %z = tir.add %x, %y : i32
            tir.store %z, %B[%v] : i32
          }}
        }}
      }}
    }}
  }}
}}"""


def check(text: str, sizes: list[int]) -> str:
    """Run it with these sizes, and return the write-back's guard."""
    numbers = np.arange(24, dtype=np.int32)
    inputs = {"main": [(numbers, np.full(1, 7, np.int32), size) for size in sizes]}
    module = parse(text)
    report = check_semantics(module, [LowerCrossThreadReduction()], inputs)
    assert report.checked == ["main"]
    LowerCrossThreadReduction().apply(new_context(), module)
    (back,) = (
        op
        for op in module.walk()
        if isinstance(op, tir.BlockOp) and op.block_name.data == "B_write_back"
    )
    assert back.predicate is not None
    return str(back.predicate.owner)


def test_a_serial_loop_that_may_not_run() -> None:
    guard = check(SUM.format(serial="%n", size="%size", where=""), [0, 1, 3])
    assert "tir.and" in guard


def test_a_predicate_that_may_never_hold() -> None:
    guard = check(SUM.format(serial="%c3", size="%n", where=" where %p"), [0, 5, 8, 24])
    assert "tir.and" in guard


def test_a_predicate_that_holds_at_first() -> None:
    text = SUM.format(serial="%c3", size="%n", where=" where %p")
    text = text.replace("%size =", "%five = tir.const 5 : i32\n  %size =")
    text = text.replace("%k, %n :", "%k, %five :").replace(
        "to %n] = %k", "to %five] = %k"
    )
    guard = check(text, [1])
    assert "tir.cmp eq" in guard
