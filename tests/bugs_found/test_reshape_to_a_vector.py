"""A parameter that is reshaped to one dimension, and returned in a tuple.

The copy into the result had a static and a dynamic extent, which does not verify.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from xdsl_tvm import compile, relax

pytest.importorskip("llvmlite")


@pytest.mark.parametrize(("given", "wanted"), [((2, 3), (6,)), ((), (1,))])
def test_the_elements_are_copied(given: Sequence[int], wanted: Sequence[int]) -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(given, "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            reshaped = relax.op.reshape(x, list(wanted))
            output = builder.emit_output(relax.Tuple([reshaped]))
        builder.emit_func_output(output)
    data = np.arange(np.prod(given), dtype=np.float32).reshape(given)
    (found,) = compile(builder.get())["main"](data)
    np.testing.assert_array_equal(found, data.reshape(wanted))
