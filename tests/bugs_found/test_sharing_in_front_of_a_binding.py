"""CommonSubexprElimTIR bound terms before the bindings that they are made of.

What a block, a scope or a launch holds counts for the block around it, too, although
that one does not have the bindings inside.
"""

from __future__ import annotations

import pytest
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.tir import CommonSubexprElimTIR

AROUND = (
    "tir.scope {",
    'tir.block "B" () {',
    'tir.launch_thread %t = "threadIdx.x" to %n {',
)
PROGRAM = """
tir.func @f(%a: !tir.handle) {{
  %A = tir.match_buffer %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %n = tir.const 1 : i32
  {around}
    %x = tir.load %A[%c0] : i32
    %v = tir.let {kind} "v" %x : i32
    %w = tir.mul %v, %c2 : i32
    tir.store %w, %A[%n] : i32
    tir.store %w, %A[%c2] : i32
  }}
}}"""


def bound_before_use(module: ModuleOp) -> bool:
    places = {op: place for place, op in enumerate(module.walk())}
    return all(
        isinstance(operand.owner, Block) or places[operand.owner] < place
        for op, place in places.items()
        for operand in op.operands
    )


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("kind", ["", "expr"])
def test_a_term_is_bound_behind_the_bindings_in_it(around: str, kind: str):
    module = parse(PROGRAM.format(around=around, kind=kind))
    shared = CommonSubexprElimTIR()(module)
    assert bound_before_use(shared)
    assert sum(isinstance(op, tir.LetOp) for op in shared.walk()) == 2
    check_semantics(module, [CommonSubexprElimTIR()])
