"""Facts of dtypes: limits, dtypes of numpy, and one promotion for scripts and trees."""

from __future__ import annotations

from itertools import product
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import (
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
    IndexType,
    IntegerType,
    Signedness,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Const
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import (
    FLOATS,
    finite_range,
    integer_range,
    integer_storage,
    largest_finite,
    numpy_dtype,
    promoted,
)
from xdsl_tvm.tvmscript.nodes import expressions as ex

UI8, UI32 = (IntegerType(width, Signedness.UNSIGNED) for width in (8, 32))
E4M3, E5M2, E2M1 = Float8E4M3FNType(), Float8E5M2Type(), Float4E2M1FNType()
FLOAT_ORDER: tuple[Attribute, ...] = (f64, f32, f16, bf16, E4M3, E2M1)
"""What is before another one wins (docs/spec/tir-ir.md §5.1)."""
ORDER = (*FLOAT_ORDER, i64, UI32, i32, UI8, i8, i1)


def test_promotion_is_that_of_the_order_whichever_operand_is_left() -> None:
    for (i, lhs), (j, rhs) in product(enumerate(ORDER), repeat=2):
        assert promoted(lhs, rhs) == ORDER[min(i, j)]
        assert promoted(tir.parse_dtype(tir.dtype_name(lhs)), rhs) == ORDER[min(i, j)]
    assert (promoted(E4M3, E5M2), promoted(E5M2, E4M3)) == (E4M3, E5M2)
    with pytest.raises(ValueError, match="no arithmetic"):
        promoted(tir.HandleType(), f32)


def test_scripts_and_algebra_promote_alike() -> None:
    for lhs, rhs in product(ORDER, repeat=2):
        common = promoted(lhs, rhs)
        trees = smart.matched(Const(1, lhs), Const(1, rhs))
        assert {tree.dtype for tree in trees} == {common}
        script = ex.match_types(ex.Var("a", lhs), ex.Var("b", rhs))
        assert {one.type for one in script} == {common}


def test_limits_are_those_of_numpy() -> None:
    for kind, facts in FLOATS.items():
        dtype = tir.parse_dtype(facts.name)
        assert type(dtype) is kind
        info = cast(Any, ml_dtypes).finfo(numpy_dtype(dtype, sub_byte=True))
        assert largest_finite(dtype) == float(info.max)
        assert finite_range(dtype) == (float(info.min), float(info.max))
        assert facts.digits == info.nmant + 1
    for dtype in (i8, i32, i64, UI8, UI32):
        integers = np.iinfo(numpy_dtype(dtype))
        assert integer_range(dtype) == finite_range(dtype) == (integers.min, integers.max)
    assert integer_range(i1) == (0, 1)


def test_numpy_has_dtypes_of_whole_bytes_only_unless_asked() -> None:
    assert numpy_dtype(i1) == np.bool_
    assert numpy_dtype(IndexType()) == np.int64
    for dtype in (E2M1, IntegerType(4)):
        assert numpy_dtype(dtype, sub_byte=True).itemsize == 1
        with pytest.raises(ValueError, match="numpy has no dtype for"):
            numpy_dtype(dtype)
    assert integer_storage(IntegerType(17)) == np.int32
    assert integer_storage(IntegerType(3, Signedness.UNSIGNED)) == np.uint8
