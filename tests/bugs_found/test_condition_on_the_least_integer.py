"""A condition on a limit of a type: the other side of the relation is no number of it."""

from __future__ import annotations

import pytest

from xdsl_tvm.lowering.pipelines import run_pipeline
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.executable import load_module

SOURCE = """
tir.func @f(%a: !tir.handle, %n: i32) attributes {global_symbol = "f"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
  %zero = tir.const 0 : i32
  %four = tir.const 4 : i32
  tir.block "root" {
    tir.block "set" {
      tir.reads
      tir.writes %A[%zero to %four]
      %L = tir.alloc_buffer "L" : !tir.buffer<4xi32>
      %limit = tir.const LIMIT : i32
      %is = tir.cmp PREDICATE %n, %limit : i32
      tir.if %is {
        tir.store %n, %L[%zero] : i32
        %x = tir.load %L[%zero] : i32
        tir.store %x, %A[%zero] : i32
      }
    }
  }
}
"""


@pytest.mark.parametrize("predicate", ["eq", "lt", "ge"])
@pytest.mark.parametrize("limit", [-(2**31), 2**31 - 1])
def test_compact_buffer_allocation(predicate: str, limit: int) -> None:
    text = SOURCE.replace("LIMIT", str(limit)).replace("PREDICATE", predicate)
    context = new_context()
    module = load_module(text, context)
    run_pipeline(
        context, module, "tir-convert-blocks-to-opaque,tir-compact-buffer-allocation"
    )
    module.verify()
