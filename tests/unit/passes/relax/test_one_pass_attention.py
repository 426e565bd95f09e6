"""Attention in one pass: against double precision, and against the operator."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

import xdsl_tvm
from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.relax.one_pass_attention import OnePassAttention
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime import threads
from xdsl_tvm.runtime.load import load_module

Array = NDArray[Any]


@pytest.fixture
def _threads() -> Generator[None]:
    before = threads.num_threads()
    yield
    threads.set_num_threads(before)


def _module(arrays: list[Array], attributes: str = "") -> ModuleOp:
    """Attention on tensors of the types of some arrays; a fourth one is a bias."""
    dtype = {"float32": "f32", "float16": "f16"}[str(arrays[0].dtype)]
    types = [f"tensor<{'x'.join(map(str, a.shape))}x{dtype}>" for a in arrays]
    result = [*arrays[0].shape[:3], arrays[2].shape[3]]
    type_ = f"tensor<{'x'.join(map(str, result))}x{dtype}>"
    names = ["%q", "%k", "%v", "%b"][: len(arrays)]
    parameters = ", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=True))
    kind = "attention_bias" if len(arrays) == 4 else "attention"
    return load_module(f"""
      relax.func @main({parameters}) -> {type_} attributes {{global_symbol = "main"}} {{
        %y = relax.nn.{kind} {", ".join(names)} {attributes} :
          ({", ".join(types)}) -> {type_}
        relax.return %y : {type_}
      }}
    """)


def _arrays(*shapes: tuple[int, ...], dtype: type = np.float32) -> list[Array]:
    random = np.random.default_rng(5)
    return [random.standard_normal(shape).astype(dtype) for shape in shapes]


def _expected(
    arrays: list[Array],
    *,
    scale: float | None = None,
    causal: str | None = None,
    window: int | None = None,
) -> Array:
    """Attention in double precision."""
    query, key, value, *bias = (each.astype(np.float64) for each in arrays)
    key, value = (
        np.repeat(each, query.shape[2] // each.shape[2], axis=2) for each in (key, value)
    )
    factor = 1 / math.sqrt(query.shape[3]) if scale is None else scale
    scores = np.einsum("bihd,bjhd->bhij", query, key) * factor
    if bias:
        scores = scores + bias[0]
    queries, keys = query.shape[1], key.shape[1]
    row, column = np.ogrid[:queries, :keys]
    place = row + (keys - queries if causal == "BottomRight" else 0)
    seen = np.ones((queries, keys), bool)
    if causal is not None:
        seen &= column <= place
    if window is not None:
        seen &= column > place - window
    scores = np.where(seen, scores, -np.inf)
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return np.einsum("bhij,bjhd->bihd", weights, value)


def _run(module: ModuleOp, arrays: list[Array]) -> Array:
    OnePassAttention().apply(new_context(), module)
    assert any(isinstance(op, relax.CallTIROp) for op in module.walk())
    return np.asarray(xdsl_tvm.compile(module)["main"](*arrays))


def _assert_close(result: Array, expected: Array, most: float) -> None:
    """Of the largest element; NaN where NaN is expected."""
    np.testing.assert_array_equal(np.isnan(result), np.isnan(expected))
    error = np.nanmax(np.abs(result - expected)) / np.nanmax(np.abs(expected))
    assert error < most


def test_a_cache_of_which_rows_see_a_part() -> None:
    """More keys than queries, neither a multiple of a block; heads share keys."""
    pytest.importorskip("llvmlite")
    arrays = _arrays((2, 40, 2, 5), (2, 70, 1, 5), (2, 70, 2, 32))
    result = _run(_module(arrays, 'causal "BottomRight"'), arrays)
    _assert_close(result, _expected(arrays, causal="BottomRight"), 1e-6)


def test_rows_that_see_no_key() -> None:
    """More queries than keys: the first queries see none, as where the bias hides all."""
    pytest.importorskip("llvmlite")
    arrays = _arrays((1, 40, 1, 8), (1, 33, 1, 8), (1, 33, 1, 16), (1, 1, 40, 33))
    arrays[3][0, 0, 20] = -np.inf
    result = _run(_module(arrays, 'causal "BottomRight"'), arrays)
    expected = _expected(arrays, causal="BottomRight")
    assert np.isnan(expected[0, :, 0, 0]).sum() == 8
    _assert_close(result, expected, 1e-6)


def test_a_window_that_leaves_blocks_out() -> None:
    pytest.importorskip("llvmlite")
    arrays = _arrays((1, 150, 1, 8), (1, 150, 1, 8), (1, 150, 1, 16))
    result = _run(_module(arrays, 'scale 2.0 causal "TopLeft" window 7'), arrays)
    expected = _expected(arrays, scale=2.0, causal="TopLeft", window=7)
    _assert_close(result, expected, 1e-6)


def test_scores_whose_exponentials_overflow() -> None:
    """The largest score comes last, after sums that it makes vanish."""
    pytest.importorskip("llvmlite")
    arrays = _arrays((1, 16, 1, 8), (1, 130, 1, 8), (1, 130, 1, 16))
    arrays[1] *= np.linspace(0.1, 100, 130, dtype=np.float32)[None, :, None, None]
    result = _run(_module(arrays), arrays)
    _assert_close(result, _expected(arrays), 2e-5)


def test_half_precision() -> None:
    """Sums are in f32: the error is that of rounding the result."""
    pytest.importorskip("llvmlite")
    shapes = (1, 16, 1, 8), (1, 70, 1, 8), (1, 70, 1, 16)
    arrays = _arrays(*shapes, dtype=np.float16)
    result = _run(_module(arrays), arrays)
    assert result.dtype == np.float16
    _assert_close(result.astype(np.float64), _expected(arrays), 2.0**-11)


@pytest.mark.usefixtures("_threads")
def test_equal_bits_on_any_number_of_threads() -> None:
    pytest.importorskip("llvmlite")
    arrays = _arrays((1, 80, 3, 8), (1, 80, 3, 8), (1, 80, 3, 16))
    module = _module(arrays)
    main = xdsl_tvm.compile(module)["main"]
    results: list[Array] = []
    for count in (1, 2, 3):
        threads.set_num_threads(count)
        results.append(np.array(main(*arrays)))
    assert all(np.array_equal(results[0], each) for each in results[1:])


@pytest.mark.parametrize("attributes", ["", 'causal "TopLeft" window 2'])
def test_interpreted_as_the_operator(attributes: str) -> None:
    """Of any vectors, also where a row sees nothing."""
    arrays = _arrays((1, 5, 1, 2), (1, 3, 1, 2), (1, 3, 1, 2), (1, 1, 1, 3))
    module = _module(arrays, attributes)
    check_semantics(module, [OnePassAttention(8, least_queries=1)], tolerance=1e-4)
