"""NaN, infinities, zeros and limits of dtypes: code, interpreter and numpy agree.

What operators do where their results are no ordinary numbers is on the page of the
operators, docs/relax.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from legalization import Case, case
from xdsl.dialects.builtin import (
    IntegerType,
    ModuleOp,
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

import xdsl_tvm
from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.relax import interpret

pytest.importorskip("llvmlite")

ui8 = IntegerType(8, Signedness.UNSIGNED)
FLOATS: Mapping[str, tuple[Attribute, Any, float]] = {
    "f16": (f16, np.float16, 2e-3),
    "bf16": (bf16, ml_dtypes.bfloat16, 2e-2),
    "f32": (f32, np.float32, 1e-5),
    "f64": (f64, np.float64, 1e-12),
}
INTEGERS: Mapping[str, tuple[Attribute, Any]] = {
    "i8": (i8, np.int8),
    "i32": (i32, np.int32),
    "i64": (i64, np.int64),
    "ui8": (ui8, np.uint8),
}
Reference = Callable[..., Any]


def specials(dtype: str) -> Any:
    """Values of a dtype on which rules are easily wrong."""
    if dtype in INTEGERS:
        limits = np.iinfo(INTEGERS[dtype][1])
        numbers = [limits.min, limits.min + 1, limits.max, 0, 1, 2, 3, 7, 100]
        if limits.min < 0:
            numbers += [-1, -2, -3, -7]
        return np.array(numbers, INTEGERS[dtype][1])
    storage = FLOATS[dtype][1]
    limits = ml_dtypes.finfo(storage)
    numbers = [np.nan, 0.0, -0.0, np.inf, -np.inf, limits.max, -limits.max, limits.tiny]
    numbers += [0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 1.0, -1.0, 2.0, 3.0, -3.0, 7.0, 100.0]
    return np.array([float(number) for number in numbers], storage)


def pairs(dtype: str) -> tuple[Any, Any]:
    """Each special value with each."""
    both = list(itertools.product(specials(dtype), repeat=2))
    return tuple(np.array([pair[at] for pair in both]) for at in (0, 1))
