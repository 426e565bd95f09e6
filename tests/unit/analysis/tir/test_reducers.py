"""Which reducers are recognized, and that others can be added."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.ir import parse
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, Block

from xdsl_tvm.analysis.arith.expr import Add, Call, Const, Expr, Max, Min, Mul, Value
from xdsl_tvm.analysis.tir.reducers import (
    CommutativeReducer,
    match_reducer,
    register_reducer,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.tir.lower_cross_thread_reduction import LowerCrossThreadReduction


def leaves(*dtypes: Attribute) -> list[Expr]:
    return [Value(argument) for argument in Block(arg_types=dtypes).args]


@pytest.mark.parametrize(
    ("kind", "dtype", "start", "op"),
    [
        (Add, f32, 0.0, tir.AddOp),
        (Mul, i32, 1, tir.MulOp),
        (Min, i32, 2147483647, tir.MinOp),
        (Max, f32, float("-inf"), tir.MaxOp),
        (Max, f32, -float.fromhex("0x1.fffffep127"), tir.MaxOp),
    ],
)
def test_one_value(
    kind: Callable[[Expr, Expr], Expr],
    dtype: Attribute,
    start: float,
    op: type[tir.BinaryOp],
) -> None:
    x, y = leaves(dtype, dtype)
    found = match_reducer([x], [kind(x, y)], [Const(start, dtype)])
    assert found is not None
    assert found.operands == (y,)
    found.op.verify()
    assert isinstance(found.op.combiner.block.first_op, op)
    assert match_reducer([x], [kind(y, x)], [Const(start, dtype)]) is None
    assert match_reducer([x], [kind(x, kind(x, y))], [Const(start, dtype)]) is None
    assert match_reducer([x], [kind(x, y)], [Const(7, dtype)]) is None


def test_a_start_that_is_no_constant() -> None:
    x, y, start = leaves(i32, i32, i32)
    assert match_reducer([x], [Add(x, y)], [start]) is None
    folded = Add(Const(2, i32), Const(-2, i32))
    assert match_reducer([x], [Add(x, y)], [folded]) is not None


BITS = """
tir.func @main(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "main"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<i32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  tir.block "root" {
    tir.for %k = %c0 to %c8 thread_binding "threadIdx.x" {
      tir.block "B" (%vk : R in [%c0 to %c8] = %k) {
        tir.init {
          tir.store %c0, %B[] : i32
        }
        %x = tir.load %B[] : i32
        %y = tir.load %A[%vk] : i32
        %z = tir.call "bitwise_xor"(%x, %y) : (i32, i32) -> i32
        tir.store %z, %B[] : i32
      }
    }
  }
}"""


def test_a_registered_reducer() -> None:
    x, y = leaves(i32, i32)
    update = Call("bitwise_xor", (x, y), i32)
    assert match_reducer([x], [update], [Const(0, i32)]) is None
    forget = register_reducer(
        CommutativeReducer(
            lambda a, b: (Call("bitwise_xor", (a[0], b[0]), a[0].dtype),),
            (lambda dtype: (0,),),
        )
    )
    try:
        assert match_reducer([x], [update], [Const(0, i32)]) is not None
        report = check_semantics(parse(BITS), [LowerCrossThreadReduction()])
        assert report.checked == ["main"]
    finally:
        forget()
    assert match_reducer([x], [update], [Const(0, i32)]) is None
