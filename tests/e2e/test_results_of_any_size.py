"""Results whose extents depend on data: machine code makes them, and hands them over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.utils.exceptions import PassFailedException

import xdsl_tvm

pytest.importorskip("llvmlite")

RNG = np.random.default_rng(0)
ALL = "sorted=True, return_index=True, return_inverse=True, return_counts=True"


def _script(body: str, params: str) -> str:
    return f"""
from tvm.script import relax as R
@R.function
def main({params}):
    with R.dataflow():
        y = {body}
        R.output(y)
    return y
"""


def _with_nan() -> Any:
    x = RNG.integers(0, 3, (4, 5)).astype(np.float32)
    x[1, 1] = x[2, 2] = np.nan
    x[0, 0], x[3, 3] = -0.0, np.inf
    return x


CASES: dict[str, tuple[str, str, list[Any]]] = {
    "places": (
        "R.nonzero(x)",
        'x: R.Tensor(("n", 5), "float32")',
        [_with_nan(), np.zeros((0, 5), np.float32), np.zeros((1, 5), np.float32)],
    ),
    "places of a scalar": (
        "R.nonzero(x)",
        'x: R.Tensor((), "bool")',
        [np.array(True), np.array(False)],
    ),
    "different elements": (
        f"R.unique(x, {ALL})",
        'x: R.Tensor(("n", 5), "float32")',
        [_with_nan(), np.zeros((0, 5), np.float32), np.zeros((1, 5), np.float32)],
    ),
    "different bools": (
        "R.unique(x, return_counts=True)",
        'x: R.Tensor((4,), "bool")',
        [np.array([True, False, False, True]), np.zeros(4, bool)],
    ),
    "different slices": (
        f"R.unique(x, {ALL}, axis=1)",
        'x: R.Tensor((3, "n", 2), "int32")',
        [RNG.integers(0, 2, (3, 7, 2)).astype(np.int32), np.zeros((3, 0, 2), np.int32)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_machine_code_agrees_with_the_interpreter(name: str) -> None:
    body, params, inputs = CASES[name]
    text = _script(body, params)
    compiled: Any = xdsl_tvm.compile(text)["main"]
    interpreted: Any = xdsl_tvm.interpret(text)["main"]
    for x in inputs:
        found: Any = compiled(x)
        expected: Any = interpreted(x)
        if isinstance(expected, np.ndarray):
            found, expected = [found], [expected]
        pairs: list[tuple[Any, Any]] = list(zip(found, expected, strict=True))
        for result, value in pairs:
            assert result.dtype == value.dtype
            np.testing.assert_array_equal(result, value, strict=True)


CALLS = """
from tvm.script import ir as I, relax as R
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        cls = M
        y = cls.different(x)
        z = R.match_cast(y, R.Tensor(("m",), "float32"))
        w = R.add(z, z)
        return (y, w, x)
    @R.function(private=True)
    def different(x: R.Tensor(("n",), "float32")) -> R.Tensor(ndim=1, dtype="float32"):
        y = R.unique(x)
        return y
"""


def test_functions_hand_results_over_to_functions() -> None:
    f: Any = xdsl_tvm.compile(CALLS)["main"]
    x = np.array([3, 1, 3, 2], np.float32)
    y, w, same = f(x)
    assert (y.tolist(), w.tolist(), same.tolist()) == ([1, 2, 3], [2, 4, 6], [3, 1, 3, 2])
    y[0] = 7
    assert f(x)[0].tolist() == [1, 2, 3]


def _resident_bytes() -> int:
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * 4096


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
def test_memory_is_released_with_the_arrays() -> None:
    text = _script("R.nonzero(x)", 'x: R.Tensor(("n",), "bool")')
    f: Any = xdsl_tvm.compile(text)["main"]
    x = np.ones(1 << 18, bool)
    f(x)
    before = _resident_bytes()
    for _ in range(40):
        f(x)
    # Each result has 2 MiB.
    assert _resident_bytes() - before < 40 << 20


def test_what_needs_the_extents_before_the_call_is_refused(tmp_path: Path) -> None:
    text = _script("R.nonzero(x)", 'x: R.Tensor((4,), "bool")')
    executable: Any = xdsl_tvm.compile(text)
    f = executable["main"]
    assert "-> int64[?, ?]" in str(f)
    with pytest.raises(TypeError, match="the call finds the extents of the result"):
        f(np.ones(4, bool), out=np.zeros((1, 4), np.int64))
    with pytest.raises(PassFailedException, match="@main cannot be exported: only the"):
        executable.export_library(tmp_path / "f.so")


FAILS_AFTER_A_CALL = """
from tvm.script import ir as I, relax as R
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        cls = M
        y = cls.different(x)
        z = R.match_cast(y, R.Tensor((3,), "float32"))
        return R.add(z, z)
    @R.function(private=True)
    def different(x: R.Tensor(("n",), "float32")) -> R.Tensor(ndim=1, dtype="float32"):
        y = R.unique(x)
        return y
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
def test_a_failure_releases_what_a_function_was_handed_over() -> None:
    f: Any = xdsl_tvm.compile(FAILS_AFTER_A_CALL)["main"]
    x = np.arange(1 << 17, dtype=np.float32)

    def fails() -> None:
        with pytest.raises(RuntimeError, match=r"relax.match_cast in @main"):
            f(x)

    fails()
    before = _resident_bytes()
    for _ in range(40):
        fails()
    # Each result of the inner function has 512 KiB.
    assert _resident_bytes() - before < 10 << 20
    assert f(np.array([3, 1, 3, 2], np.float32)).tolist() == [2, 4, 6]
