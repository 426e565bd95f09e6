"""Sorts, scans and draws by threads, run in the simulator, which reports races.

With `XDSL_TVM_FUZZ`, all lengths, dtypes and directions take part; else some.
"""

from __future__ import annotations

import os
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.legalization import Case, case
from xdsl.dialects.builtin import ModuleOp, f64, i64

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.operators import OperatorOp
from xdsl_tvm.interpreters.relax import interpret
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.dispatch_sampling import DispatchSampling
from xdsl_tvm.passes.relax.dispatch_sort_scan import DispatchSortScan

SORT_SCAN = DispatchSortScan("cuda", threads=4, tile=8)
SAMPLE = DispatchSampling("cuda", threads=4, tile=8)
MANY = "XDSL_TVM_FUZZ" in os.environ
LENGTHS = (1, 2, 5, 8, 33)
SPECIAL = (0.0, -0.0, 1.0, 1.0, 2.0, -3.0, np.nan, np.inf, -np.inf, -1.0)
NUMPY = {"f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "i64": "i8", "ui8": "u1"}
REST = np.zeros((3, 2), np.float32)
"""What a `case` takes to define symbols."""


def numbers(dtype: str, shape: tuple[int, ...]) -> Any:
    """Numbers some of which are equal, with infinities and NaNs where there are some."""
    rng = np.random.default_rng(shape[-1])
    if not dtype.startswith("f"):
        return rng.integers(0 if dtype == "ui8" else -3, 4, shape).astype(NUMPY[dtype])
    return rng.choice(np.array(SPECIAL, NUMPY[dtype]), shape)


def kernels_of(one: Case, dispatch: CompilerPass) -> ModuleOp:
    """The module with launches in the place of its operator."""
    module = dispatch(one.module())
    module.verify()
    left = {type(op) for op in module.walk() if isinstance(op, OperatorOp)}
    assert left <= {relax.PermuteDimsOp}
    return module


def results(module: ModuleOp, *arguments: Any) -> list[Any]:
    found: Any = interpret(module)["main"](*arguments, REST)
    return [found] if isinstance(found, np.ndarray) else [*found]


def check(one: Case, dispatch: CompilerPass, *arguments: Any, rtol: float = 0) -> None:
    expected = results(one.module(), *arguments)
    found = results(kernels_of(one, dispatch), *arguments)
    for a, b in zip(expected, found, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(b, a, rtol, equal_nan=True)


SORTS = [
    *product(LENGTHS, ("f32",), (False, True)),
    *product((5, 33), NUMPY, (False, True)),
]


@pytest.mark.parametrize(
    ("length", "dtype", "descending"),
    SORTS if MANY else [*SORTS[:10:3], *SORTS[10::3]],
)
def test_sorts(length: int, dtype: str, descending: bool) -> None:
    data = numbers(dtype, (3, length))
    operand = f"{dtype}[3, {length}]"
    check(case(relax.SortOp, operand, descending=descending), SORT_SCAN, data)
    order = case(relax.ArgsortOp, operand, descending=descending, dtype=i64)
    check(order, SORT_SCAN, data)


@pytest.mark.parametrize(
    ("operand", "shape", "attributes"),
    [
        ("f32[2, 33]", (2, 33), {"k": 5}),
        ("f32[4, 3]", (4, 3), {"k": 2, "axis": 0, "largest": False}),
        ("i8[3, n]", (3, 3), {"k": 0, "ret_type": "values"}),
        ("f32[20]", (20,), {"k": 9, "ret_type": "indices", "dtype": i64}),
    ],
)
def test_topk(operand: str, shape: tuple[int, ...], attributes: dict[str, Any]) -> None:
    data = numbers(operand.partition("[")[0], shape)
    check(case(relax.TopkOp, operand, **attributes), SORT_SCAN, data)


SCANS = [
    *product((relax.CumsumOp, relax.CumprodOp), LENGTHS, ("i64", "f32"), (False, True))
]


@pytest.mark.parametrize(
    ("kind", "length", "dtype", "exclusive"), SCANS if MANY else SCANS[::3]
)
def test_scans(kind: type[OperatorOp], length: int, dtype: str, exclusive: bool) -> None:
    # Sums and products of these are exact in any order.
    data = np.random.default_rng(0).choice([-1, 1, 2], (3, length)).astype(NUMPY[dtype])
    one = case(kind, f"{dtype}[3, {length}]", axis=1, exclusive=exclusive)
    check(one, SORT_SCAN, data)


@pytest.mark.parametrize(
    ("kind", "dtype"), [(relax.SortOp, "f32"), (relax.CumsumOp, "i64")]
)
def test_rows_of_symbolic_length(kind: type[OperatorOp], dtype: str) -> None:
    """Also rows of no element, and totals of more tiles than one tile has elements."""
    one = case(kind, f"{dtype}[n, 2]", axis=0)
    roads = [interpret(m)["main"] for m in (one.module(), kernels_of(one, SORT_SCAN))]
    for length in (0, 1, 8, 33, 140):
        shape, rest = (length, 2), np.zeros((length, 2), np.float32)
        before, after = (road(numbers(dtype, shape), rest) for road in roads)
        np.testing.assert_array_equal(after, before)


def test_scans_of_all_elements_and_of_other_dtypes() -> None:
    data = numbers("i8", (3, 3, 2))
    check(case(relax.CumsumOp, "i8[n, 3, 2]"), SORT_SCAN, data)
    check(case(relax.CumsumOp, "i8[3, 3, 2]", axis=-1, dtype=f64), SORT_SCAN, data)
    halves = np.random.default_rng(1).random((2, 40)).astype("f2")
    check(case(relax.CumsumOp, "f16[2, 40]", axis=1), SORT_SCAN, halves, rtol=2e-3)
    check(case(relax.CumsumOp, "f32[2, 9]", axis=1), SORT_SCAN, numbers("f32", (2, 9)))


@pytest.mark.parametrize("dtype", ["f16", "f32"])
@pytest.mark.parametrize("classes", [1, 5, 33])
def test_draws(classes: int, dtype: str) -> None:
    # Sums of eighths are exact; a sample of 9 exceeds all of them.
    rng = np.random.default_rng(classes)
    prob = (rng.integers(0, 3, (3, classes)) / 8).astype(NUMPY[dtype])
    uniform = np.append(rng.random(4) * prob.sum(1).max(), 9)
    drawn = rng.integers(0, 3, (5, 1))
    operands = (f"{dtype}[n, {classes}]", f"{dtype}[5, 1]", "i64[5, 1]")
    one = case(relax.MultinomialFromUniformOp, *operands)
    check(one, SAMPLE, prob, uniform[:, None].astype(NUMPY[dtype]), drawn)


def test_draws_from_symbolic_distributions() -> None:
    operands = ("f32[m, n]", "f32[n, 1]", "i64[n, 1]")
    prob = np.full((2, 3), 0.25, np.float32)
    uniform = np.array([[0.1], [0.6], [0.9]], np.float32)
    drawn = np.array([[0], [1], [1]])
    one = case(relax.MultinomialFromUniformOp, *operands)
    check(one, SAMPLE, prob, uniform, drawn)


def test_equal_operators_share_a_function() -> None:
    one = case(relax.SortOp, "f32[3, 4]")
    module = one.module()
    module.body.block.add_op(one.function("again"))
    found = SORT_SCAN(module)
    assert sum(isinstance(op, tir.FuncOp) for op in found.walk()) == 1


def test_blocks_have_no_more_threads_than_the_target() -> None:
    one = case(relax.SortOp, "f32[3, 64]")
    dispatch = DispatchSortScan("cuda -max_num_threads=8", threads=64, tile=64)
    extents = {
        tir.constant_value(op.extent)
        for op in dispatch(one.module()).walk()
        if isinstance(op, tir.ForOp)
        and op.thread_tag is not None
        and op.thread_tag.data == "threadIdx.x"
    }
    assert extents == {8}
