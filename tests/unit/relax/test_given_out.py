"""Variables of a dataflow block that are given out of it."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm import interpret, relax

ROW = relax.TensorStructInfo((4,), "float32")


def test_a_variable_that_is_given_out_is_visible_after_the_block() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", ROW)
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(x + 1.0)
            inner = bb.emit(y * 2.0)
            bb.emit_output(inner)
        z = bb.emit(inner - 1.0)
        bb.emit_func_output([inner, z], params=[x])
    first, second = interpret(bb.get())["main"](np.zeros(4, "float32"))
    assert (first.tolist(), second.tolist()) == ([2] * 4, [1] * 4)


def test_others_are_not() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", ROW)
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(x + 1.0, "y")
            bb.emit_output(x)
        with pytest.raises(VerifyException, match="'y' is not visible here"):
            bb.emit(y)
        bb.emit_func_output(x)


def test_parameters_are_those_of_the_function() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", ROW)
    with bb.function("main", [x]):
        with pytest.raises(VerifyException, match="parameters are given where the funct"):
            bb.emit_func_output(x, params=[])
        bb.emit_func_output(x)
