"""Convolutions of images with channels in blocks, in the default CPU schedule."""

from __future__ import annotations

import os
from random import Random

import pytest
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.lowering.pipelines import passes_of, run_pipeline
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.load import load_module

_COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "6"))
_SCHEDULE = (
    "tir-inline-blocks,tir-default-cpu-schedule{vector_bytes=16 parallel_grain=64}"
)


def _convolution(random: Random) -> tuple[str, dict[str, int]]:
    """A convolution of random extents, a sum with a vector, and relu; what it has."""
    kind = random.choice(["full", "depthwise", "plain"])
    lanes = random.choice([4, 4, 2])
    inputs, outputs = random.randint(1, 2), random.randint(1, 4)
    size, window = random.randint(1, 9), random.randint(1, 4)
    pads = [random.randint(0, 2) for _ in range(4)]
    stride, dilation = random.randint(1, 3), random.randint(1, 2)
    reach = dilation * (window - 1)
    height = size + max(0, reach + 1 - size - pads[0] - pads[2])
    width = size + max(0, reach + 1 - size - pads[1] - pads[3])
    out_height = (height + pads[0] + pads[2] - reach - 1) // stride + 1
    out_width = (width + pads[1] + pads[3] - reach - 1) // stride + 1
    data, weight = [2, inputs, height, width], [outputs, inputs, window, window]
    kernel, groups, layout = f"OIHW{lanes}o", 1, f"NCHW{lanes}c"
    if kind == "depthwise":
        data[1], weight[1], groups = outputs, 1, outputs * lanes
    if kind == "full":
        weight.append(lanes)
        kernel = f"OIHW{lanes}i{lanes}o"
    if kind == "plain":
        layout = "NCHW"
    else:
        data.append(lanes)
    weight.append(lanes)
    result = [2, outputs, out_height, out_width, lanes]
    x, w, b, y = (
        f"tensor<{'x'.join(map(str, shape))}xf32>"
        for shape in (data, weight, [1, outputs, 1, 1, lanes], result)
    )
    text = f"""
      relax.func @main(%x: {x}, %w: {w}, %b: {b}) -> {y}
          attributes {{global_symbol = "main"}} {{
        %r = relax.dataflow -> ({y}) {{
          %c = relax.nn.conv2d %x, %w strides [{stride}, {stride}] padding {pads}
            dilation [{dilation}, {dilation}] groups {groups} layout "{layout}"
            kernel "{kernel}" out_layout "NCHW{lanes}c" : ({x}, {w}) -> {y}
          %s = relax.add %c, %b : ({y}, {b}) -> {y}
          %y = relax.nn.relu %s : ({y}) -> {y}
          relax.output %y : {y}
        }}
        relax.return %r : {y}
      }}
    """
    return text, {"lanes": lanes, "columns": out_width, "rows": out_height}


def _lowered(text: str) -> ModuleOp:
    module = load_module(text)
    run_pipeline(new_context(), module, 'relax-default-pipeline{pipeline="zero"}')
    return module


@pytest.mark.parametrize("seed", range(_COUNT))
def test_scheduled_convolutions_compute_the_same(seed: int) -> None:
    text, _ = _convolution(Random(seed))
    check_semantics(_lowered(text), passes_of(_SCHEDULE), tolerance=1e-4)


def _loops(module: ModuleOp) -> list[tir.ForOp]:
    return [op for op in module.walk() if isinstance(op, tir.ForOp)]


@pytest.mark.parametrize("seed", range(_COUNT))
def test_they_are_not_copied(seed: int) -> None:
    """All that is allocated are tiles of results, and nothing asks for padding."""
    text, facts = _convolution(Random(seed))
    module = _lowered(text)
    run_pipeline(new_context(), module, _SCHEDULE)
    # The sum is a function of its own where the window is one element.
    function = next(op for op in module.ops if isinstance(op, tir.FuncOp))
    buffers = [op for op in function.walk() if isinstance(op, tir.AllocBufferOp)]
    tiles = [op for op in buffers if op.type.scope.data == "local"]
    assert tiles
    assert all(op.type.shape.data[-1].data == facts["lanes"] for op in tiles)
    assert len(tiles) == len(buffers)
    assert not any(isinstance(op, tir.IfThenElseOp) for op in function.walk())
    kinds = {op.kind.data for op in _loops(module)}
    assert tir.ForKind.VECTORIZED in kinds
