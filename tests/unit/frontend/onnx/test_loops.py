"""Loops of a number of iterations that only the running program knows."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xdsl_tvm

pytest.importorskip("onnx")

from onnx import ModelProto
from onnx.parser import parse_model

from xdsl_tvm.frontend.onnx import OnnxError, from_onnx
from xdsl_tvm.runtime.executable import NativeExecutable

FUZZ = "XDSL_TVM_FUZZ" in os.environ

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'

COUNTED = """
g (int64 count, float[n, 2] x, float[n, 2] y) => (float[n, 2] z, float[k, n, 2] all) {
  z, all = Loop <body = body (int64 i, bool going, float[n, 2] a)
    => (bool going_on, float[n, 2] b, float[n, 2] b_out) {
      going_on = Identity(going)
      f = Cast<to = 1>(i)
      c = Add(a, f)
      b = Add(c, y)
      b_out = Mul(b, y)
    }> (count, , x)
}
"""

CONDITION = """
g (float[n] x, float limit) => (float[n] z, int64[k] numbers) {
  start = Constant<value = bool {1}>()
  z, numbers = Loop <body = body (int64 i, bool going, float[n] a)
    => (bool going_on, float[n] b, int64 j) {
      b = Add(a, a)
      total = ReduceSum<keepdims = 0>(b)
      going_on = Less(total, limit)
      j = Identity(i)
    }> ("", start, x)
}
"""

GROWS = """
g (int64 count, float[n] x) => (float[m] z) {
  z = Loop <body = body (int64 i, bool going, float[k] a) => (bool going_on, float[l] b) {
      going_on = Identity(going)
      b = Concat<axis = 0>(a, x)
    }> (count, , x)
}
"""

NESTED = """
g (int64 count, float[2] x) => (float[2] z) {
  z = Loop <body = outer (int64 i, bool going, float[2] a) => (bool on, float[2] b) {
      on = Identity(going)
      b = Loop <body = inner (int64 j, bool go, float[2] c) => (bool go_on, float[2] d) {
          go_on = Identity(go)
          d = Add(c, x)
        }> (i, , a)
    }> (count, , x)
}
"""

SCAN = """
g (float[2] start, float[n, 2] x, float[2, n] y) => (float[2] last, float[2, n] all) {
  last, all = Scan <num_scan_inputs = 2, scan_input_axes = [0, 1],
    scan_input_directions = [0, 1], scan_output_axes = [1], scan_output_directions = [1],
    body = body (float[2] s, float[2] a, float[2] b) => (float[2] t, float[2] out) {
      m = Mul(a, b)
      t = Add(s, m)
      out = Sub(t, a)
    }> (start, x, y)
}
"""


def _numbers(*shape: int) -> Any:
    return np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)


def _count(number: int) -> Any:
    return np.array(number, np.int64)


def _counted(count: Any, x: Any, y: Any) -> list[Any]:
    rows: list[Any] = []
    for i in range(int(count)):
        x = x + i + y
        rows.append(x * y)
    return [x, np.array(rows, np.float32).reshape(-1, *x.shape)]


def _doubled(x: Any, limit: Any) -> list[Any]:
    count = 0
    while not count or x.sum() < limit:
        x, count = x + x, count + 1
    return [x, np.arange(count)]


def _grown(count: Any, x: Any) -> list[Any]:
    return [np.tile(x, int(count) + 1)]


def _nested(count: Any, x: Any) -> list[Any]:
    return [x * (1 + sum(range(int(count))))]


def _scanned(start: Any, x: Any, y: Any) -> list[Any]:
    rows: list[Any] = []
    for a, b in zip(x, y.T[::-1], strict=True):
        start = start + a * b
        rows.append(start - a)
    return [start, np.array(rows[::-1], np.float32).T]


Expected = Callable[..., list[Any]]
CASES: dict[str, tuple[str, Expected, list[list[Any]]]] = {
    "a count": (
        COUNTED,
        _counted,
        [[_count(k), _numbers(3, 2), _numbers(3, 2)] for k in (0, 1, 4)],
    ),
    "a condition": (
        CONDITION,
        _doubled,
        [[_numbers(n), np.array(most, np.float32)] for n, most in ((1, 0), (3, 100))],
    ),
    "a state that grows": (
        GROWS,
        _grown,
        [[_count(k), _numbers(3)] for k in (0, 1, 3)],
    ),
    "a loop in a loop": (
        NESTED,
        _nested,
        [[_count(k), _numbers(2)] for k in (0, 4)],
    ),
    "a scan": (
        SCAN,
        _scanned,
        [[_numbers(2), _numbers(n, 2), _numbers(2, n)] for n in (1, 4)],
    ),
}


def _model(text: str) -> ModelProto:
    return parse_model(HEAD + text)


def _agrees(road: Callable[..., Any], name: str) -> None:
    text, expected, inputs = CASES[name]
    function = road(from_onnx(_model(text)))["main"]
    for each in inputs:
        found: Any = function(*each)
        results: list[Any] = [found] if isinstance(found, np.ndarray) else [*found]
        for result, value in zip(results, expected(*each), strict=True):
            np.testing.assert_allclose(result, value, strict=False)
            assert result.shape == value.shape


@pytest.mark.parametrize("name", CASES)
def test_a_loop_is_interpreted(name: str) -> None:
    _agrees(xdsl_tvm.interpret, name)


@pytest.mark.skipif(not FUZZ, reason="the ordinary run compiles the counted loop")
@pytest.mark.parametrize("name", CASES)
def test_a_loop_is_compiled(name: str) -> None:
    pytest.importorskip("llvmlite")
    _agrees(xdsl_tvm.compile, name)


def test_memory_of_what_is_collected_is_doubled() -> None:
    """Else each iteration would copy what all before it have made."""
    pytest.importorskip("llvmlite")
    compiled = xdsl_tvm.compile(from_onnx(_model(COUNTED)), profile=True)
    assert isinstance(compiled, NativeExecutable)
    x, y = np.zeros((1, 2), np.float32), np.ones((1, 2), np.float32)
    for count, doublings in ((0, 0), (1, 1), (100, 7)):
        compiled.reset_kernel_times()
        last, rows = compiled["main"](_count(count), x, y)
        expected = _counted(count, x, y)
        np.testing.assert_allclose(last, expected[0])
        np.testing.assert_allclose(rows, expected[1])
        calls = {time.name: time.calls for time in compiled.kernel_times()}
        assert (calls["set_row"], calls["concatenate"]) == (count, doublings)


def test_loops_that_collect_are_nested() -> None:
    text = """
g (int64 count, float[2] x) => (float[2] z, float[k, 2] all) {
  axis = Constant<value = int64[1] {0}>()
  z, all = Loop <body = outer (int64 i, bool going, float[2] a)
    => (bool on, float[2] b, float[2] sums) {
      on = Identity(going)
      b, parts = Loop <body = inner (int64 j, bool go, float[2] c)
        => (bool go_on, float[2] d, float[2] d_out) {
          go_on = Identity(go)
          d = Add(c, x)
          d_out = Identity(d)
        }> (i, , a)
      sums = ReduceSum<keepdims = 0>(parts, axis)
    }> (count, , x)
}
"""
    run = xdsl_tvm.interpret(from_onnx(_model(text)))["main"]
    x = _numbers(2)
    state = x
    expected: list[Any] = []
    for i in range(4):
        parts = [state + k * x for k in range(1, i + 1)]
        state = parts[-1] if parts else state
        expected.append(np.sum(parts, 0) if parts else np.zeros(2))
    last, rows = run(_count(4), x)
    np.testing.assert_allclose(last, state)
    np.testing.assert_allclose(rows, expected)


def test_a_type_that_changes_is_refused() -> None:
    text = """
g (int64 count, float[n] x) => (float[m] z) {
  z = Loop <body = body (int64 i, bool going, float[k] a) => (bool going_on, float[l] b) {
      going_on = Identity(going)
      zero = Constant<value = int64[1] {0}>()
      b = Unsqueeze(a, zero)
    }> (count, , x)
}
"""
    with pytest.raises(OnnxError, match="rank and dtype must stay"):
        from_onnx(_model(text))
