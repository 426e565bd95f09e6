"""Parameters that are arrays when a module is compiled."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import xdsl_tvm
from xdsl_tvm.dialects import relax
from xdsl_tvm.lowering.pipelines import relax_optimization, run_pipeline
from xdsl_tvm.passes.relax.bind_params import BindParams
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime import llvm_jit
from xdsl_tvm.runtime.executable import NativeExecutable
from xdsl_tvm.runtime.exported_library.loaded import LoadedLibrary
from xdsl_tvm.runtime.load import load_module

pytest.importorskip("llvmlite")

Array = NDArray[Any]

NETWORK = """
!x = tensor<1x3x8x8xf32>
!y = tensor<1x8x8x8xf32>
!v = tensor<8xf32>
relax.func @main(%x: !x, %w: tensor<8x3x3x3xf32>, %g: !v, %b: !v, %m: !v, %s: !v,
    %d: tensor<8x1x3x3xf32>, %p: tensor<8x8x1x1xf32>) -> !y
    attributes {global_symbol = "main"} {
  %r = relax.dataflow -> (!y) {
    %a = relax.nn.conv2d %x, %w strides [1, 1] padding [1, 1, 1, 1]
      dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" :
      (!x, tensor<8x3x3x3xf32>) -> !y
    %n = relax.nn.batch_norm %a, %g, %b, %m, %s axis 1 epsilon 1.0e-05 momentum 0.1
      inference : (!y, !v, !v, !v, !v) -> !relax.tuple<!y, !v, !v>
    %f = relax.get_item %n[0] : !relax.tuple<!y, !v, !v> -> !y
    %c = relax.nn.relu %f : (!y) -> !y
    %h = relax.nn.conv2d %c, %d strides [1, 1] padding [1, 1, 1, 1]
      dilation [1, 1] groups 8 layout "NCHW" kernel "OIHW" :
      (!y, tensor<8x1x3x3xf32>) -> !y
    %k = relax.nn.conv2d %h, %p strides [1, 1] padding [0, 0, 0, 0]
      dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" :
      (!y, tensor<8x8x1x1xf32>) -> !y
    %z = relax.add %k, %c : (!y, !y) -> !y
    relax.output %z : !y
  }
  relax.return %r : !y
}
"""


def _arrays() -> list[Array]:
    random = np.random.default_rng(0)
    shapes = [(8, 3, 3, 3), (8,), (8,), (8,), (8,), (8, 1, 3, 3), (8, 8, 1, 1)]
    return [random.random(shape, np.float32) for shape in shapes]


def test_results_are_those_with_all_arguments() -> None:
    arrays = _arrays()
    x = np.random.default_rng(1).random((1, 3, 8, 8), np.float32)
    expected = xdsl_tvm.compile(NETWORK)["main"](x, *arrays)
    main = xdsl_tvm.compile(NETWORK, params=dict(enumerate(arrays, 1)))["main"]
    np.testing.assert_allclose(main(x), expected, rtol=1e-4, atol=1e-4)


def test_some_parameters_stay() -> None:
    arrays = _arrays()
    x = np.random.default_rng(1).random((1, 3, 8, 8), np.float32)
    expected = xdsl_tvm.compile(NETWORK)["main"](x, *arrays)
    main = xdsl_tvm.compile(NETWORK, params={"w": arrays[0], 7: arrays[6]})["main"]
    np.testing.assert_allclose(main(x, *arrays[1:6]), expected, rtol=1e-4, atol=1e-4)


def test_what_is_constant_is_computed_once() -> None:
    """Batch normalization is in the weights, and no tensor inside is rearranged."""
    module = load_module(NETWORK)
    BindParams("main", dict(enumerate(_arrays(), 1))).apply(new_context(), module)
    *before, _ = relax_optimization(16)
    run_pipeline(new_context(), module, before)
    names = [op.name for op in module.walk()]
    assert "relax.nn.batch_norm" not in names
    layouts = [
        op.data_layout.data for op in module.walk() if isinstance(op, relax.Conv2DOp)
    ]
    assert layouts == ["NCHW", "NCHW4c", "NCHW4c"]
    assert names.count("relax.layout_transform") == 1


def test_a_module_is_left_as_it_is() -> None:
    module = load_module(NETWORK)
    text = str(module)
    xdsl_tvm.compile(module, params={1: _arrays()[0]})
    assert str(module) == text


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"absent": np.zeros(8, np.float32)}, "there is no parameter absent"),
        ({1: np.zeros((8, 3, 3, 2), np.float32)}, "relax-bind-params"),
    ],
)
def test_arrays_that_fit_no_parameter(
    params: dict[str | int, Array], message: str
) -> None:
    with pytest.raises(Exception, match=message):
        xdsl_tvm.compile(NETWORK, params=params)


def test_no_relax_function() -> None:
    text = NETWORK.replace('attributes {global_symbol = "main"} ', "")
    with pytest.raises(ValueError, match="it has none"):
        xdsl_tvm.compile(text, params={1: _arrays()[0]})


LARGE = """
!x = tensor<4x600xf32>
!k = tensor<600xf64>
relax.func @main(%x: !x, %w: !x, %k: !k) -> !relax.tuple<!x, !k, !k>
    attributes {global_symbol = "main"} {
  %y = relax.add %x, %w : (!x, !x) -> !x
  %m = relax.negative %k : (!k) -> !k
  %r = relax.tuple(%y, %k, %m) : !x, !k, !k
  relax.return %r : !relax.tuple<!x, !k, !k>
}
"""


def _large() -> tuple[Array, Array, Array]:
    random = np.random.default_rng(2)
    x, w = (random.random((4, 600), np.float32) for _ in range(2))
    return x, w, random.random(600)


@pytest.mark.skipif(not llvm_jit.holds_data(), reason="objects are not ELF here")
@pytest.mark.parametrize("optimize", [True, False])
def test_large_constants_are_memory_apart_from_the_objects(
    optimize: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In units and in whole modules; the second call finds them in the module, or in the
    cache if they are computed."""
    monkeypatch.setenv("XDSL_TVM_CACHE", str(tmp_path))
    x, w, k = _large()
    params: dict[str | int, Array] = {1: w, 2: k}
    made = [xdsl_tvm.compile(LARGE, params=params, optimize=optimize) for _ in range(2)]
    for executable in made:
        y, z, m = executable["main"](x)
        np.testing.assert_array_equal(y, x + w)
        np.testing.assert_array_equal(z, k)
        np.testing.assert_array_equal(m, -k)
    entries = [path.read_bytes() for path in tmp_path.rglob("*.o")]
    assert not any(each.tobytes() in entry for each in (w, k) for entry in entries)
    assert any((-k).tobytes() in entry for entry in entries) == optimize
    # Whoever reads the text sees everything.
    assert isinstance(made[0], NativeExecutable)
    assert "external constant" not in made[0].llvm_ir


@pytest.mark.skipif(
    importlib.util.find_spec("tvm_ffi") is None,
    reason='tvm_ffi is not installed: pip install "xdsl-tvm[ffi]"',
)
def test_a_library_holds_large_constants(tmp_path: Path) -> None:
    x, w, k = _large()
    executable = xdsl_tvm.compile(LARGE, params={1: w, 2: k})
    assert isinstance(executable, NativeExecutable)
    executable.export_library(tmp_path / "model.so")
    y, z, _ = LoadedLibrary(tmp_path / "model.so")["main"](x)
    np.testing.assert_array_equal(y, x + w)
    np.testing.assert_array_equal(z, k)
    assert w.tobytes() in (tmp_path / "model.so").read_bytes()
