"""Winograd's filtering: against double precision, and as it is scheduled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

import xdsl_tvm
from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.dense import dense_of
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.lowering.pipelines import passes_of, relax_optimization, run_pipeline
from xdsl_tvm.passes.relax import winograd_convolutions
from xdsl_tvm.passes.relax.winograd_convolutions import WinogradConvolutions
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.load import load_module

Array = NDArray[Any]
_SCHEDULE = (
    "tir-inline-blocks,tir-default-cpu-schedule{vector_bytes=16 parallel_grain=64}"
)


def _arrays(size: int, lanes: int, channels: int = 32) -> tuple[Array, Array]:
    random = np.random.default_rng(3)
    blocks = channels // lanes
    data = random.standard_normal((1, blocks, size, size, lanes))
    weight = random.standard_normal((blocks, blocks, 3, 3, lanes, lanes))
    weight /= np.sqrt(9 * channels)
    return data.astype(np.float32), weight.astype(np.float32)


def _module(weight: Array, size: int) -> ModuleOp:
    """A convolution in blocks, of data of this size, with the weight as constant."""
    blocks, *_, lanes = weight.shape
    x = f"tensor<1x{blocks}x{size}x{size}x{lanes}xf32>"
    w = f"tensor<{'x'.join(map(str, weight.shape))}xf32>"
    module = load_module(f"""
      relax.func @main(%x: {x}) -> {x} attributes {{global_symbol = "main"}} {{
        %w = relax.constant dense<0.0> : {w}
        %r = relax.dataflow -> ({x}) {{
          %y = relax.nn.conv2d %x, %w strides [1, 1] padding [1, 1, 1, 1]
            dilation [1, 1] groups 1 layout "NCHW{lanes}c"
            kernel "OIHW{lanes}i{lanes}o" : ({x}, {w}) -> {x}
          relax.output %y : {x}
        }}
        relax.return %r : {x}
      }}
    """)
    for op in module.walk():
        if isinstance(op, relax.ConstantOp):
            op.properties["value"] = dense_of(weight)
    return module


def _expected(data: Array, weight: Array) -> Array:
    """The convolution in double precision."""
    size = data.shape[2]
    padded = np.pad(data.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1), (0, 0)))
    result = np.zeros((1, weight.shape[0], *data.shape[2:4], weight.shape[-1]))
    for y in range(3):
        for x in range(3):
            part = padded[:, :, y : y + size, x : x + size]
            kernel = weight[:, :, y, x].astype(np.float64)
            result += np.einsum("nihwc,oicl->nohwl", part, kernel, optimize=True)
    return result


@pytest.mark.parametrize(("tile", "size", "most"), [(2, 11, 1e-6), (4, 22, 1e-5)])
def test_errors_against_double_precision(tile: int, size: int, most: float) -> None:
    """Of the largest result; sizes that tiles do not divide."""
    pytest.importorskip("llvmlite")
    data, weight = _arrays(size, 16)
    module = _module(weight, size)
    WinogradConvolutions(tile).apply(new_context(), module)
    assert any(isinstance(op, relax.CallTIROp) for op in module.walk())
    expected = _expected(data, weight)
    result = xdsl_tvm.compile(module)["main"](data)
    error = np.abs(result - expected).max() / np.abs(expected).max()
    # Less than the weights, in single precision, are away from the exact ones.
    assert 1e-9 < error < most


@pytest.mark.parametrize(("tile", "positions"), [(2, 16), (4, 36)])
def test_the_option_of_compile(tile: int, positions: int) -> None:
    _, weight = _arrays(22, 16)
    module = _module(weight, 22)
    steps = relax_optimization(64, tile)
    run_pipeline(new_context(), module, steps[: steps.index(_WINOGRAD.format(tile)) + 1])
    calls = [op for op in module.walk() if isinstance(op, relax.CallTIROp)]
    shapes = [relax.TensorInfo.of(arg.type) for op in calls for arg in op.operands[-1:]]
    assert [info and info.shape and info.shape[0].value for info in shapes] == [positions]
    with pytest.raises(ValueError, match="winograd_tile must be 2 or 4, got 3"):
        xdsl_tvm.compile(module, winograd_tile=3)


_WINOGRAD = "relax-winograd-convolutions{{tile={}}}"


def _scheduled(module: ModuleOp) -> tir.FuncOp:
    WinogradConvolutions().apply(new_context(), module)
    run_pipeline(new_context(), module, _SCHEDULE)
    return next(op for op in module.ops if isinstance(op, tir.FuncOp))


def _parallel(function: tir.FuncOp) -> list[int | float | None]:
    """The extents of the parallel loops."""
    return [
        tir.constant_value(op.extent)
        for op in function.walk()
        if isinstance(op, tir.ForOp) and op.kind.data is tir.ForKind.PARALLEL
    ]


def test_groups_of_rows_are_one_loop() -> None:
    """A group is done with before the next one begins."""
    _, weight = _arrays(1, 4, 64)
    assert _parallel(_scheduled(_module(weight, 56))) == [14]


def test_a_small_image_is_one_group() -> None:
    """Threads share the work of each stage."""
    _, weight = _arrays(1, 4)
    assert len(_parallel(_scheduled(_module(weight, 12)))) > 1


def test_groups_compute_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SMALL_SCRATCH", "ROW_SCRATCH", "LEAST_CHANNELS", "LEAST_TILES"):
        monkeypatch.setattr(winograd_convolutions, f"_{name}", 0)
    _, weight = _arrays(1, 4, 8)
    module = _module(weight, 7)
    WinogradConvolutions().apply(new_context(), module)
    copy = module.clone()
    check_semantics(module, passes_of(_SCHEDULE), tolerance=1e-4)
    run_pipeline(new_context(), copy, _SCHEDULE)
    function = next(op for op in copy.ops if isinstance(op, tir.FuncOp))
    assert _parallel(function) == [4]
