"""Heads of queries that are no multiple of those of keys ended the process by SIGFPE.

LegalizeOps divided by the quotient of both, which was 0.
"""

import numpy as np
from support.legalization import case

from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.relax import interpret
from xdsl_tvm.passes.relax.legalize_ops import LegalizeOps
from xdsl_tvm.registry import new_context


def test_nothing_is_divided_by_zero() -> None:
    keys = "f32[1, 5, n, 4]"
    module = case(relax.AttentionOp, "f32[1, 3, 2, 4]", keys, keys).module()
    LegalizeOps().apply(new_context(), module)
    shapes = (1, 3, 2, 4), (1, 5, 3, 4), (1, 5, 3, 4), (3, 2)
    arguments = [np.ones(shape, np.float32) for shape in shapes]
    found = interpret(module)["main"](*arguments)
    np.testing.assert_allclose(found, np.ones((1, 3, 2, 4)), rtol=1e-6)
