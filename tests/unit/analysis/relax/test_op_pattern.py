"""The kinds for fusion of the functions that operators are legalized to."""

import pytest
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.analysis.relax.op_pattern import OpPattern, op_pattern
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.relax import LegalizeOps

KINDS = {
    "relax.add %a, %b : (!m, !m) -> !m": OpPattern.ELEMWISE,
    "relax.add %a, %v : (!m, !v) -> !m": OpPattern.ELEMWISE,
    "relax.nn.gelu %a : (!m) -> !m": OpPattern.ELEMWISE,
    "relax.add %v, %c : (!v, !c) -> !m": OpPattern.BROADCAST,
    "relax.permute_dims %a : (!m) -> !t": OpPattern.INJECTIVE,
    "relax.reshape %a, %s : (!m, !relax.shape<[2, 16]>) -> tensor<2x16xf32>": (
        OpPattern.INJECTIVE
    ),
    "relax.sum %a axis [0] : (!m) -> !v": OpPattern.COMM_REDUCE,
    "relax.max %a axis [1] : (!m) -> tensor<4xf32>": OpPattern.COMM_REDUCE,
    "relax.mean %a axis [1] : (!m) -> tensor<4xf32>": OpPattern.OUT_ELEMWISE_FUSABLE,
    "relax.matmul %a, %t : (!m, !t) -> tensor<4x4xf32>": OpPattern.OUT_ELEMWISE_FUSABLE,
    "relax.nn.softmax %a axis -1 : (!m) -> !m": OpPattern.OUT_ELEMWISE_FUSABLE,
    "relax.nn.layer_norm %a, %v, %v axes [-1] epsilon 1.0e-05 : (!m, !v, !v) -> !m": (
        OpPattern.OUT_ELEMWISE_FUSABLE
    ),
}


def legalized(line: str) -> ModuleOp:
    result = line.rpartition("-> ")[2]
    return LegalizeOps()(
        parse(
            f"""
            !m = tensor<4x8xf32>
            !t = tensor<8x4xf32>
            !v = tensor<8xf32>
            !c = tensor<4x1xf32>
            relax.func @main(%a: !m, %b: !m, %t: !t, %v: !v, %c: !c) -> {result} {{
              %s = relax.shape [2, 16]
              %r = {line}
              relax.return %r : {result}
            }}
            """
        )
    )


@pytest.mark.parametrize("line", KINDS)
def test_kinds_of_operators(line: str):
    (function,) = [op for op in legalized(line).ops if isinstance(op, tir.FuncOp)]
    assert op_pattern(function) is KINDS[line]
