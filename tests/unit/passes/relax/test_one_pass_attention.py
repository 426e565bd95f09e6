"""Attention in one pass: against double precision, and against the operator."""

from __future__ import annotations

import os
from collections.abc import Generator

import numpy as np
import pytest
from support.attention import (
    Array,
    assert_close,
    attention_module,
    exact_attention,
    random_arrays,
)
from xdsl.dialects.builtin import ModuleOp

import xdsl_tvm
from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.relax.one_pass_attention import OnePassAttention
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime import threads
from xdsl_tvm.runtime.load import load_module

MANY = "XDSL_TVM_FUZZ" in os.environ
IN_THE_LONG_RUN = pytest.mark.skipif(
    not MANY, reason="the ordinary run compiles fewer kernels"
)


@pytest.fixture
def _threads() -> Generator[None]:
    before = threads.num_threads()
    yield
    threads.set_num_threads(before)


def _run(module: ModuleOp, arrays: list[Array]) -> Array:
    OnePassAttention().apply(new_context(), module)
    assert any(isinstance(op, relax.CallTIROp) for op in module.walk())
    return np.asarray(xdsl_tvm.compile(module)["main"](*arrays))


def test_a_cache_of_which_rows_see_a_part() -> None:
    """More keys than queries, neither a multiple of a block; heads share keys."""
    pytest.importorskip("llvmlite")
    arrays = random_arrays((2, 40, 2, 5), (2, 70, 1, 5), (2, 70, 2, 16))
    result = _run(attention_module(arrays, 'causal "BottomRight"'), arrays)
    assert_close(result, exact_attention(arrays, causal="BottomRight"), 1e-6)


def test_rows_that_see_no_key() -> None:
    """More queries than keys: the first queries see none, as where the bias hides all."""
    pytest.importorskip("llvmlite")
    arrays = random_arrays((1, 40, 1, 8), (1, 33, 1, 8), (1, 33, 1, 16), (1, 1, 40, 33))
    arrays[3][0, 0, 20] = -np.inf
    result = _run(attention_module(arrays, 'causal "BottomRight"'), arrays)
    expected = exact_attention(arrays, causal="BottomRight")
    assert np.isnan(expected[0, :, 0, 0]).sum() == 8
    assert_close(result, expected, 1e-6)


def test_a_window_that_leaves_blocks_out() -> None:
    pytest.importorskip("llvmlite")
    arrays = random_arrays((1, 150, 1, 8), (1, 150, 1, 8), (1, 150, 1, 16))
    result = _run(attention_module(arrays, 'scale 2.0 causal "TopLeft" window 7'), arrays)
    expected = exact_attention(arrays, scale=2.0, causal="TopLeft", window=7)
    assert_close(result, expected, 1e-6)


def test_scores_whose_exponentials_overflow() -> None:
    """The largest score comes last, after sums that it makes vanish."""
    pytest.importorskip("llvmlite")
    arrays = random_arrays((1, 16, 1, 8), (1, 130, 1, 8), (1, 130, 1, 16))
    arrays[1] *= np.linspace(0.1, 100, 130, dtype=np.float32)[None, :, None, None]
    result = _run(attention_module(arrays), arrays)
    assert_close(result, exact_attention(arrays), 2e-5)


@pytest.mark.parametrize(
    ("queries", "features"), [(1, (21, 40)), *([(12, (5, 58))] if MANY else [])]
)
def test_few_queries(queries: int, features: tuple[int, int]) -> None:
    """Features that vectors do not divide, and a block of keys that is not full."""
    pytest.importorskip("llvmlite")
    width, value_width = features
    shapes = (1, queries, 2, width), (1, 70, 1, width), (1, 70, 2, value_width)
    arrays = random_arrays(*shapes, (1, 2, queries, 70))
    result = _run(attention_module(arrays, 'causal "BottomRight"'), arrays)
    assert_close(result, exact_attention(arrays, causal="BottomRight"), 1e-6)


def test_any_number_of_queries() -> None:
    """Up to eight queries have loops of their own; the first rows see no key."""
    pytest.importorskip("llvmlite")
    module = load_module("""
      !q = tensor<1x?x2x8xf32, #relax.dims<[1, q, 2, 8]>>
      !k = tensor<1x?x2x8xf32, #relax.dims<[1, k, 2, 8]>>
      !v = tensor<1x?x2x24xf32, #relax.dims<[1, k, 2, 24]>>
      !y = tensor<1x?x2x24xf32, #relax.dims<[1, q, 2, 24]>>
      relax.func @main<q, k>(%q: !q, %k: !k, %v: !v) -> !y
          attributes {global_symbol = "main"} {
        %y = relax.nn.attention %q, %k, %v causal "BottomRight" : (!q, !k, !v) -> !y
        relax.return %y : !y
      }
    """)
    OnePassAttention().apply(new_context(), module)
    assert any(isinstance(op, relax.CallTIROp) for op in module.walk())
    main = xdsl_tvm.compile(module)["main"]
    for queries, keys in ((1, 3), (8, 5), (9, 20), (40, 33)):
        arrays = random_arrays((1, queries, 2, 8), (1, keys, 2, 8), (1, keys, 2, 24))
        result = np.asarray(main(*arrays))
        assert_close(result, exact_attention(arrays, causal="BottomRight"), 1e-6)


def test_half_precision() -> None:
    """Sums are in f32: the error is that of rounding the result."""
    pytest.importorskip("llvmlite")
    shapes = (1, 16, 1, 8), (1, 70, 1, 8), (1, 70, 1, 16)
    arrays = random_arrays(*shapes, dtype=np.float16)
    result = _run(attention_module(arrays), arrays)
    assert result.dtype == np.float16
    assert_close(result.astype(np.float64), exact_attention(arrays), 2.0**-11)


@pytest.mark.usefixtures("_threads")
@pytest.mark.parametrize(("queries", "keys"), [(2, 200), *([(80, 80)] if MANY else [])])
def test_equal_bits_on_any_number_of_threads(queries: int, keys: int) -> None:
    """The parts of the keys that heads of few queries are divided into, too."""
    pytest.importorskip("llvmlite")
    arrays = random_arrays((1, queries, 3, 8), (1, keys, 3, 8), (1, keys, 3, 16))
    module = attention_module(arrays)
    main = xdsl_tvm.compile(module)["main"]
    results: list[Array] = []
    for count in (1, 2, 3):
        threads.set_num_threads(count)
        results.append(np.array(main(*arrays)))
    assert all(np.array_equal(results[0], each) for each in results[1:])
    assert_close(results[0], exact_attention(arrays), 1e-6)


@pytest.mark.parametrize("attributes", ["", 'causal "TopLeft" window 2'])
def test_interpreted_as_the_operator(attributes: str) -> None:
    """Of any vectors, also where a row sees nothing."""
    arrays = random_arrays((1, 5, 1, 3), (1, 3, 1, 3), (1, 3, 1, 3), (1, 1, 1, 3))
    module = attention_module(arrays, attributes)
    for vector_bytes in (4, 8):
        check_semantics(module, [OnePassAttention(vector_bytes)], tolerance=1e-4)
