"""Passes put expressions where only a variable can be named.

NarrowDataType and ForceNarrowIndexToInt32 cast the threads of a reduction and the node of
an attribute back to the type that they had, and LowerOpaqueBlock and LoopPartition added
the start of the loop to them.
"""

from __future__ import annotations

import pytest
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir import (
    ConvertBlocksToOpaque,
    ForceNarrowIndexToInt32,
    LoopPartition,
    LowerOpaqueBlock,
    NarrowDataType,
)

REDUCTION = """
tir.func @f(%a: !tir.handle) {{
  %A = tir.match_buffer %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i64
  %c2 = tir.const 2 : i64
  %c32 = tir.const 32 : i64
  %R = tir.alloc_buffer "R" : !tir.buffer<1xf32, "local">
  %r = tir.reducer (%x : f32, %y : f32) identity [0.0 : f32] {{
    %z = tir.add %x, %y : f32
    tir.yield %z : f32
  }}
  {binding} {{
    tir.attr "pragma_of" (%t) = 0 : i32 {{
      %v = tir.load %A[%t] : f32
      tir.attr "reduce_scope" (%r) = 0 : i32 {{
        tir.thread_allreduce [%v] into [%R[%c0]] over [%t]
      }}
      tir.store %v, %A[%t] : f32
    }}
  }}
}}
"""
LAUNCH = 'tir.launch_thread %t = "threadIdx.x" to %c32'
SHIFTED = 'tir.for %t = %c2 to %c2 + %c32 thread_binding "threadIdx.x"'
PARTITIONED = """
tir.func @f(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c20 = tir.const 20 : i32
  %x = tir.const 1.0 : f32
  tir.for %i = %c0 to %c20 annotations {pragma_loop_partition_hint = true} {
    tir.attr "pragma_of" (%i) = 0 : i32 {
      %p = tir.cmp lt %i, %c8 : i32
      %q = tir.call "likely" (%p) : (i1) -> i1
      tir.if %q {
        tir.store %x, %A[%i] : f32
      } else {
        tir.store %x, %A[%c0] : f32
      }
    }
  }
}
"""


def named(module: ModuleOp) -> list[SSAValue]:
    """What reductions and attributes name, except reducers."""
    found: list[SSAValue] = []
    for op in module.walk():
        if isinstance(op, tir.ThreadAllreduceOp):
            found += op.threads
        if isinstance(op, tir.AttrOp) and op.key.data == "pragma_of":
            assert op.node is not None
            found.append(op.node)
    return found


@pytest.mark.parametrize(
    ("binding", "run"),
    [
        (LAUNCH, NarrowDataType(32)),
        (LAUNCH, NarrowDataType(16)),
        (LAUNCH, ForceNarrowIndexToInt32()),
        (SHIFTED, NarrowDataType(32)),
        (SHIFTED, LowerOpaqueBlock()),
    ],
)
def test_variables_stay_bare(binding: str, run: CompilerPass):
    module = run(parse(REDUCTION.format(binding=binding)))
    variables = named(module)
    assert len(variables) == 2
    assert all(isinstance(variable.owner, Block) for variable in variables)
    module.verify()


def test_loops_that_are_partitioned_stay_named():
    module = LoopPartition()(parse(PARTITIONED))
    variables = named(module)
    assert len(variables) == 2
    assert all(isinstance(variable.owner, Block) for variable in variables)


def test_what_narrows_nothing_is_accepted():
    text = REDUCTION.format(binding=LAUNCH)
    assert str(NarrowDataType(64)(parse(text))) == str(parse(text))


def test_expressions_are_no_threads():
    text = REDUCTION.format(binding=LAUNCH).replace("over [%t]", "over [%u]")
    text = text.replace("%v = ", "%u = tir.add %t, %c0 : i64\n%v = ")
    with pytest.raises(VerifyException, match="thread variables or the constant 0"):
        parse(text).verify()


@pytest.mark.parametrize("dtype", ["i32", "i64"])
def test_variables_of_blocks_become_those_of_threads(dtype: str):
    text = REDUCTION.format(binding=LAUNCH).replace("over [%t]", "over [%w]")
    text = text.replace(
        "%v = ",
        f"%u = tir.cast %t : i64 to {dtype}\n%e = tir.const 32 : {dtype}\n"
        f"%z = tir.const 0 : {dtype}\n"
        'tir.block "B" (%w : R in [%z to %e] = %u) {\n%v = ',
        1,
    ).replace("tir.store %v", "}\n%v = tir.load %A[%t] : f32\ntir.store %v", 1)
    module = ConvertBlocksToOpaque()(parse(text))
    assert all(isinstance(variable.owner, Block) for variable in named(module))
    module.verify()
