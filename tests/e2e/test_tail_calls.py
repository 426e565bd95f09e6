"""Functions that end by calling themselves run as loops, as deep as they are asked to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xdsl_tvm

pytest.importorskip("llvmlite")

ROADS = [xdsl_tvm.compile, xdsl_tvm.interpret]

COUNT = """
from tvm.script import ir as I, relax as R
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), k: R.Tensor((), "int64")):
        cls = M
        y = cls.loop(k, x, x)
        return y
    @R.function(private=True)
    def loop(
        k: R.Tensor((), "int64"),
        x: R.Tensor(("n",), "float32"),
        y: R.Tensor(("n",), "float32"),
    ) -> R.Tuple(R.Tensor(("n",), "float32"), R.Tensor(("n",), "float32")):
        cls = M
        ends = R.less_equal(k, R.const(0, "int64"))
        if ends:
            r = (y, x)
        else:
            z = R.add(x, R.const(1.0, "float32"))
            k1 = R.subtract(k, R.const(1, "int64"))
            r = cls.loop(k1, y, z)
        return r
"""

GROWS = """
from tvm.script import ir as I, relax as R
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), most: R.Tensor((), "float32")):
        cls = M
        y = cls.loop(most, x)
        return y
    @R.function(private=True)
    def loop(
        most: R.Tensor((), "float32"), x: R.Tensor(("n",), "float32")
    ) -> R.Tensor(ndim=1, dtype="float32"):
        cls = M
        total = R.sum(x)
        goes_on = R.less(total, most)
        if goes_on:
            z = R.concat((x, x))
            r = cls.loop(most, z)
        else:
            r = x
        return r
"""


@pytest.mark.parametrize("road", ROADS)
def test_the_depth_is_not_bounded(road: Callable[..., Any]) -> None:
    f = road(COUNT)["main"]
    x = np.zeros(2, np.float32)
    # The stack has no memory for a call of each.
    deep = 400_000 if road is xdsl_tvm.compile else 120
    for count in (0, 1, deep):
        y, z = f(x, np.array(count, np.int64))
        assert (y.tolist(), z.tolist()) == ([(count + 1) // 2] * 2, [count // 2] * 2)
    assert x.tolist() == [0, 0]


@pytest.mark.parametrize("road", ROADS)
def test_what_is_passed_may_grow(road: Callable[..., Any]) -> None:
    f = road(GROWS)["main"]
    x = np.ones(3, np.float32)
    for most, size in ((3, 3), (4, 6), (100, 192)):
        assert f(x, np.array(most, np.float32)).tolist() == [1] * size
