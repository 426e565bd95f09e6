"""Function literals that take tensors from outside whose types have symbols.

Types in a literal may not use them, so passes either do without them, or leave alone what
would need them.
"""

from __future__ import annotations

import pytest
from support.ir import parse
from xdsl.passes import ModulePass

from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.infra import Sequential
from xdsl_tvm.passes.relax import (
    CombineParallelMatmul,
    ConvertLayout,
    DecomposeOpsForInference,
    ExpandTupleArguments,
    FuseTransposeMatmul,
    InlinePrivateFunctions,
    LambdaLift,
    LegalizeOps,
    RemoveUnusedParameters,
)

PROGRAM = """
!x = tensor<?x4xf32, #relax.dims<[n, 4]>>
!u = tensor<?x4xf32>
!p = !relax.tuple<!x, !x>
!v = tensor<4xf32>
!t = tensor<4x?xf32, #relax.dims<[4, n]>>
!i = tensor<1x1x?x4xf32, #relax.dims<[1, 1, n, 4]>>
relax.func @main<n>(%x: !x, %p: !p, %v: !v) -> {result}
    attributes {{global_symbol = "main"}} {{
  %t = relax.permute_dims %x axes [1, 0] : (!x) -> !t
  %i = relax.expand_dims %x axis [0, 1] : (!x) -> !i
  %f = relax.lambda "f"(%w: !v) -> {result} {{
    %r = relax.dataflow -> ({result}) {{
      {body}
      relax.output %r : {result}
    }}
    relax.return %r : {result}
  }}
  %r = relax.call_indirect %f(%v) : !relax.func<(!v) -> {result}>, (!v) -> {result}
  relax.return %r : {result}
}}
{functions}
"""

OPERATORS = """
%a = relax.add %x, %w : (!x, !v) -> !u
%r = relax.nn.softmax %a axis 1 : (!u) -> !u
"""
TRANSPOSED = """
%c = relax.constant dense<1.0> : tensor<2x4xf32>
%m = relax.matmul %c, %t : (tensor<2x4xf32>, !t) -> tensor<2x?xf32>
%r = relax.sum %m axis [1] : (tensor<2x?xf32>) -> tensor<2xf32>
"""
PARALLEL = """
%a = relax.matmul %t, %x : (!t, !x) -> tensor<4x4xf32>
%b = relax.matmul %t, %x : (!t, !x) -> tensor<4x4xf32>
%r = relax.subtract %a, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
"""
CONVOLUTION = """
%k = relax.constant dense<2.0> : tensor<1x1x1x1xf32>
%c = relax.nn.conv2d %i, %k strides [1] padding [0] dilation [1] groups 1
  layout "NCHW" kernel "OIHW"
  : (!i, tensor<1x1x1x1xf32>) -> tensor<1x1x?x4xf32>
%r = relax.squeeze %c axis [0, 1] : (tensor<1x1x?x4xf32>) -> !u
"""
NORMALIZATION = """
%n = relax.nn.batch_norm %x, %w, %w, %w, %w axis 1 epsilon 1.0 momentum 0.1 inference
  : (!x, !v, !v, !v, !v) -> !relax.tuple<!u, !v, !v>
%r = relax.get_item %n[0] : !relax.tuple<!u, !v, !v> -> !u
"""
CALL = "%r = relax.call @callee(%x, %w) : (!x, !v) -> !u"
CALLEE = """
relax.func @callee<n>(%x: !x, %w: !v) -> !x {
  %y = relax.add %x, %w : (!x, !v) -> !x
  relax.return %y : !x
}
"""
ZEROS = """
relax.func @callee<n>(%x: !x, %w: !v) -> !x {
  %s = relax.shape [n, 4]
  %y = relax.zeros %s dtype f32 : (!relax.shape<[n, 4]>) -> !x
  relax.return %y : !x
}
"""
TUPLE_CALL = "%r = relax.call @callee(%p) : (!p) -> !u"
TUPLE_CALLEE = """
relax.func @callee<n>(%p: !p) -> !x {
  %y = relax.get_item %p[1] : !p -> !x
  relax.return %y : !x
}
"""


def program(body: str, functions: str = "", result: str = "!u") -> str:
    return PROGRAM.format(body=body, functions=functions, result=result)


PROGRAMS: list[tuple[ModulePass, str]] = [
    (LegalizeOps(), program(OPERATORS)),
    (LegalizeOps(), program(NORMALIZATION)),
    (FuseTransposeMatmul(), program(TRANSPOSED, result="tensor<2xf32>")),
    (CombineParallelMatmul(), program(PARALLEL, result="tensor<4x4xf32>")),
    (ConvertLayout(("relax.nn.conv2d:NHWC:OHWI",)), program(CONVOLUTION)),
    (DecomposeOpsForInference(), program(NORMALIZATION)),
    (InlinePrivateFunctions(), program(CALL, CALLEE)),
    (InlinePrivateFunctions(), program(CALL, ZEROS)),
    (RemoveUnusedParameters(), program(CALL, ZEROS)),
    (ExpandTupleArguments(), program(TUPLE_CALL, TUPLE_CALLEE)),
]


@pytest.mark.parametrize(("one", "text"), PROGRAMS, ids=str)
def test_results_are_well_formed_and_equal(one: ModulePass, text: str) -> None:
    assert "main" in check_semantics(parse(text), [one]).checked


def test_lifted_literals_are_legalized() -> None:
    module = parse(program(OPERATORS))
    assert "relax.add" in str(LegalizeOps()(module))
    steps = Sequential([LambdaLift(), LegalizeOps()])
    assert "relax.add" not in str(steps(module))
    assert check_semantics(module, [steps]).checked == ["main"]
