"""Operators, legalized and compiled, compute what the interpreter does."""

from collections.abc import Iterable
from typing import Any, cast

import numpy as np
import pytest
from support.legalization import Case, case
from xdsl.dialects.builtin import IntegerType, ModuleOp, i1

import xdsl_tvm
from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.relax import interpret

pytest.importorskip("llvmlite")

_DIGITS = {"f2": 1e-2, "f4": 1e-5, "f8": 1e-11}


def _cases() -> Iterable[Case]:
    positive = ((0.1, 0.9),)
    yield case(relax.AsinhOp, "f32[5]", ranges=positive)
    yield case(relax.SqrtOp, "f16[5]", ranges=positive)
    yield case(relax.RoundOp, "f16[n]")
    yield case(relax.FloorDivideOp, "i8[9]", "i8[9]", ranges=((-9, 9), (1, 4)))
    yield case(relax.ModOp, "f16[9]", "f16[9]", ranges=((-9, 9), (1, 4)))
    yield case(relax.PowerOp, "i8[4]", "const 5 : i8")
    yield case(relax.ClipOp, "f32[n]", "f32()", "= 0.5 : f32")
    yield case(relax.WhereOp, "i1[n, 1]", "f32[1, m]", "f32[n, m]")
    yield case(relax.AstypeOp, "ui8[n, 4]", dtype=i1)
    yield case(relax.ArangeOp, "i64(1)", "i64(n * 4)", "i64(2)")
    yield case(relax.EinsumOp, ("f32[n, 3]", "f32[3, 4]"), subscripts="ij,jk->ki")
    yield case(relax.ReshapeOp, "f32[2, n, 6]", "[n * 2, 2, 3]")
    yield case(relax.ConcatOp, ("f32[2, n]", "f32[2, m]", "f32[2, 3]"), axis=1)
    yield case(relax.SplitOp, "f32[7, n]", indices_or_sections=3)
    yield case(relax.TakeOp, "f32[4, n]", "i32[5]", axis=0, ranges=((-2, 2), (0, 3)))
    one = (("i64(1)",), ("i64(-1)",), ("i64(-99)",), ("i64(-2)",))
    yield case(relax.StridedSliceOp, "f32[n, 7]", *one)
    data = ("f32[4, n]", "i64[3, 1]", "f32[3, n]")
    ranges = ((-2, 2), (-2, 1))
    yield case(relax.ScatterNDOp, *data, reduction="add", ranges=ranges)
    yield case(
        relax.QuantizeOp,
        "f32[n, 3]",
        "f32[3]",
        "i8[3]",
        out_dtype=IntegerType(8),
        ranges=((-20, 20), (0.1, 1), (-9, 9)),
    )
    yield case(relax.Resize2DOp, "f32[1, 1, 3, n]", "[4, 5]", method="linear")


def _fields(value: Any) -> list[Any]:
    return [value] if isinstance(value, np.ndarray) else list(value)


def test_compiled_operators_agree_with_the_interpreter():
    cases = dict(enumerate(_cases()))
    module = ModuleOp([one.function(f"f{at}") for at, one in cases.items()])
    module.verify()
    reference, compiled = interpret(module), xdsl_tvm.compile(module)
    for at, one in cases.items():
        arguments = one.inputs()
        expected = _fields(cast(Any, reference[f"f{at}"])(*arguments))
        found = _fields(cast(Any, compiled[f"f{at}"])(*arguments))
        for want, got in zip(expected, found, strict=True):
            tolerance = _DIGITS.get(want.dtype.str[1:], 0)
            np.testing.assert_allclose(
                np.asarray(got, np.float64),
                np.asarray(want, np.float64),
                tolerance,
                tolerance,
                err_msg=str(one),
            )
