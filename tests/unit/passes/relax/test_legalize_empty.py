"""Legalized operators where a reduction has nothing to combine."""

from __future__ import annotations

import numpy as np
import pytest

from xdsl_tvm import relax
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.relax import interpret
from xdsl_tvm.passes.relax.legalize_ops import LegalizeOps
from xdsl_tvm.relax import op


def _module() -> relax.IRModule:
    n = relax.sym("n")
    x = relax.Var("x", relax.TensorStructInfo((n, 3), "float32"))
    y = relax.Var("y", relax.TensorStructInfo((0, 3), "float32"))
    w = relax.Var("w", relax.TensorStructInfo((2, n), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", params=[x, y, w]):
        results = [
            op.sum(x, axis=0),
            op.prod(y, axis=0),
            op.max(x, axis=1),
            op.matmul(w, x),
            op.matmul(x, op.ones([3, 2], "float32")),
            op.nn.softmax(x, axis=0),
            op.nn.log_softmax(x, axis=0),
            op.sum(op.concat([x, op.ones([1, 3], "float32")], axis=0), axis=0),
        ]
        bb.emit_func_output([bb.emit(each) for each in results])
    return bb.get()


@pytest.mark.parametrize("n", [0, 2])
def test_identities_are_there(n: int) -> None:
    module = _module()
    legalized = LegalizeOps()(module)
    arguments = (
        np.arange(3 * n, dtype=np.float32).reshape(n, 3),
        np.zeros((0, 3), np.float32),
        np.ones((2, n), np.float32),
    )
    expected = interpret(module)["main"](*arguments)
    found = interpret(legalized)["main"](*arguments)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_only_what_may_be_empty_has_a_stage_for_it() -> None:
    stages = [
        block.block_name.data
        for block in LegalizeOps()(_module()).walk()
        if isinstance(block, tir.BlockOp) and block.block_name.data.endswith("_identity")
    ]
    # Not the maximum over 3, the product over 3, nor the sum over n + 1.
    assert stages == ["sum_identity", "prod_identity", "matmul_identity"]
