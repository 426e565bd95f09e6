"""`check_semantics` runs Relax functions before and after passes."""

from dataclasses import dataclass

import numpy as np
import pytest
from support.ir import parse
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.random_relax_inputs import random_relax_arguments
from xdsl_tvm.interpreters.semantics import SemanticsError, check_semantics
from xdsl_tvm.passes.relax.call_tir_rewrite import CallTIRRewrite
from xdsl_tvm.passes.relax.lambda_lift import LambdaLift
from xdsl_tvm.passes.relax.legalize_ops import LegalizeOps
from xdsl_tvm.passes.relax.to_non_dataflow import ToNonDataflow

MODEL = """
!x = tensor<?x4xf32, #relax.dims<[n, 4]>>
!y = tensor<?x3xf32, #relax.dims<[n, 3]>>
!p = !relax.tuple<!y, tensor<?xf32, #relax.dims<[n]>>>
relax.func @main<n>(%x: !x, %w: tensor<4x3xf32>, %b: tensor<3xf32>) -> !p {
  %u, %v = relax.dataflow -> (!y, tensor<?xf32, #relax.dims<[n]>>) {
    %0 = relax.matmul %x, %w : (!x, tensor<4x3xf32>) -> !y
    %1 = relax.add %0, %b : (!y, tensor<3xf32>) -> !y
    %2 = relax.nn.softmax %1 axis -1 : (!y) -> !y
    %3 = relax.sum %2 axis [1] : (!y) -> tensor<?xf32, #relax.dims<[n]>>
    relax.output %2, %3 : !y, tensor<?xf32, #relax.dims<[n]>>
  }
  %t = relax.tuple(%u, %v) : !y, tensor<?xf32, #relax.dims<[n]>>
  relax.return %t : !p
}
relax.func @opaque(%o: !relax.object) -> !relax.object {
  relax.return %o : !relax.object
}
"""


def test_lowering_keeps_a_model():
    report = check_semantics(
        parse(MODEL), [LegalizeOps(), ToNonDataflow(), CallTIRRewrite()]
    )
    assert report.checked == ["main"]
    assert report.skipped == {
        "opaque": "no value can be made for !relax.object; pass inputs"
    }


@dataclass(frozen=True)
class SubtractForAdd(ModulePass):
    """Subtracts what is to be added."""

    name = "subtract-for-add"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for add in [op for op in op.walk() if isinstance(op, relax.AddOp)]:
            Rewriter.replace_op(add, relax.SubtractOp(add.lhs, add.rhs))


def test_a_wrong_pass_is_found():
    with pytest.raises(SemanticsError) as caught:
        check_semantics(parse(MODEL), [SubtractForAdd()])
    assert str(caught.value).startswith(
        "pass subtract-for-add changes function main: the result, field 0, differs first"
    )
    assert (caught.value.pass_name, caught.value.function) == ("subtract-for-add", "main")


def test_written_arguments_are_compared():
    text = """
    tir.func @set(%a: !tir.handle) {
      %A = tir.match_buffer %a [] : !tir.buffer<1xf32>
      %c0 = tir.const 0 : i32
      %x = tir.const 1.0 : f32
      tir.store %x, %A[%c0] : f32
    }
    relax.func impure @main(%x: tensor<1xf32>) -> tensor<1xf32> {
      relax.call impure @set(%x) : (tensor<1xf32>) -> ()
      %c = relax.constant dense<1.0> : tensor<1xf32>
      relax.return %c : tensor<1xf32>
    }"""

    @dataclass(frozen=True)
    class DropCall(ModulePass):
        name = "drop-call"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            for call in [op for op in op.walk() if isinstance(op, relax.CallOp)]:
                call.detach()
                call.erase()

    with pytest.raises(SemanticsError, match="changes function main: buffer x differs"):
        check_semantics(parse(text), [DropCall()])


def test_random_arguments():
    text = """
    relax.func @main<n>(
        %a: tensor<?x2xf16, #relax.dims<[n * 2, 2]>>, %s: !relax.shape<[n, 3]>,
        %p: !relax.prim<i64, n>, %t: !relax.tuple<tensor<*xi8>, !relax.prim<i1>>,
        %u: tensor<?x!relax.any>) -> !relax.prim<i64, n> {
      relax.return %p : !relax.prim<i64, n>
    }"""
    func = next(iter(parse(text).body.block.ops))
    assert isinstance(func, relax.FuncOp)
    rng = np.random.default_rng(0)
    for attempt in range(5):
        a, s, p, t, u = random_relax_arguments(func, rng, attempt)
        assert a.shape == (s[0] * 2, 2)
        assert (a.dtype, s[1], p) == (np.float16, 3, s[0])
        assert t[0].dtype == np.int8
        assert isinstance(t[1], bool)
        assert (u.dtype, u.ndim) == (np.float32, 1)


def test_printing_is_silent(capsys: pytest.CaptureFixture[str]):
    text = """
    relax.func impure @main(%n: !relax.prim<i64>) -> !relax.prim<i64> {
      relax.print "{}"(%n) : (!relax.prim<i64>) -> ()
      relax.return %n : !relax.prim<i64>
    }"""
    assert check_semantics(parse(text), [LegalizeOps()]).checked == ["main"]
    assert capsys.readouterr().out == ""


def test_casts_find_their_extents():
    text = """
    relax.func @main(%x: tensor<?x?xf32>) -> tensor<3x5xf32> {
      %y = relax.match_cast %x : tensor<?x?xf32> -> tensor<3x5xf32>
      %z = relax.nn.relu %y : (tensor<3x5xf32>) -> tensor<3x5xf32>
      relax.return %z : tensor<3x5xf32>
    }"""
    assert check_semantics(parse(text), [LegalizeOps()]).checked == ["main"]


def test_functions_that_are_results_may_be_lifted():
    module = parse("""
    !t = tensor<4xf32>
    relax.func @f(%x: !t) -> !relax.func<(!t) -> !t> {
      %f = relax.lambda (%y: !t) -> !t {
        %z = relax.add %x, %y : (!t, !t) -> !t
        relax.return %z : !t
      }
      relax.return %f : !relax.func<(!t) -> !t>
    }
    """)
    assert check_semantics(module, [LambdaLift()]).checked == ["f"]
