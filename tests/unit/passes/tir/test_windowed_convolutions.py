"""Convolutions of images with channels in blocks, in the default CPU schedule."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.vectors import literal_of
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.lowering.llvm_ir import llvm_ir
from xdsl_tvm.lowering.pipelines import llvm_pipeline, passes_of, run_pipeline
from xdsl_tvm.passes.tir._cpu_schedule import windowed_tiling
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.load import load_module

_COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "4"))
_FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
_SCHEDULE = (
    "tir-inline-blocks,tir-default-cpu-schedule{vector_bytes=16 parallel_grain=64}"
)


def _convolution(random: Random) -> tuple[str, dict[str, int]]:
    """A convolution of random extents, a sum with a vector, and relu; what it has."""
    kind = random.choice(["full", "depthwise", "plain", "grouped"])
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
    images = random.choice([2, 2, "n"])
    data, weight = [images, inputs, height, width], [outputs, inputs, window, window]
    kernel, groups, layout = f"OIHW{lanes}o", 1, f"NCHW{lanes}c"
    if kind == "depthwise":
        data[1], weight[1], groups = outputs, 1, outputs * lanes
    if kind == "grouped":
        groups = random.randint(2, 3)
        data[1], weight[0] = data[1] * groups, weight[0] * groups
        outputs *= groups
    if kind in ("full", "grouped"):
        weight.append(lanes)
        kernel = f"OIHW{lanes}i{lanes}o"
    if kind == "plain":
        layout = "NCHW"
    else:
        data.append(lanes)
    weight.append(lanes)
    result = [images, outputs, out_height, out_width, lanes]
    bias = [1, outputs, 1, 1, lanes]
    x, w, b, y = map(_tensor, (data, weight, bias, result))
    symbols = "<n>" if images == "n" else ""
    text = f"""
      relax.func @main{symbols}(%x: {x}, %w: {w}, %b: {b}) -> {y}
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


def _tensor(shape: list[Any]) -> str:
    """The type of tensors of a shape, whose first extent may be a symbol."""
    extents = "x".join("?" if isinstance(each, str) else str(each) for each in shape)
    names = ", ".join(map(str, shape))
    symbols = f", #relax.dims<[{names}]>" if isinstance(shape[0], str) else ""
    return f"tensor<{extents}xf32{symbols}>"


def _lowered(text: str) -> ModuleOp:
    module = load_module(text)
    run_pipeline(new_context(), module, 'relax-default-pipeline{pipeline="zero"}')
    return module


@pytest.mark.parametrize("seed", range(_FIRST, _FIRST + _COUNT))
def test_scheduled_convolutions_compute_the_same(seed: int) -> None:
    text, _ = _convolution(Random(seed))
    check_semantics(_lowered(text), passes_of(_SCHEDULE), tolerance=1e-4)


def _loops(module: ModuleOp) -> list[tir.ForOp]:
    return [op for op in module.walk() if isinstance(op, tir.ForOp)]


@pytest.mark.parametrize("seed", range(_FIRST, _FIRST + _COUNT))
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
    # Blocks of half as many channels, and single ones, have two terms at a time.
    assert all(op.type.shape.data[-1].data in (facts["lanes"], 4, 8) for op in tiles)
    assert len(tiles) == len(buffers)
    assert not any(isinstance(op, tir.IfThenElseOp) for op in function.walk())
    kinds = {op.kind.data for op in _loops(module)}
    assert tir.ForKind.VECTORIZED in kinds


def _pooling(random: Random) -> str:
    """A pooling of random extents in blocks, of the greatest elements or of sums."""
    kind = random.choice(["max_pool2d", "avg_pool2d"])
    size, window = random.randint(4, 9), random.randint(2, 3)
    stride, pad = random.randint(1, 2), random.randint(0, 1)
    count = (size + 2 * pad - window) // stride + 1
    x, y = (f"tensor<1x2x{n}x{n}x4xf32>" for n in (size, count))
    return f"""
      relax.func @main(%x: {x}) -> {y} attributes {{global_symbol = "main"}} {{
        %r = relax.dataflow -> ({y}) {{
          %y = relax.nn.{kind} %x size [{window}, {window}]
            strides [{stride}, {stride}] padding [{pad}, {pad}, {pad}, {pad}]
            dilation [1, 1] layout "NCHW4c" : ({x}) -> {y}
          relax.output %y : {y}
        }}
        relax.return %r : {y}
      }}
    """


@pytest.mark.parametrize("seed", range(_FIRST, _FIRST + _COUNT // 2))
def test_poolings_in_blocks(seed: int) -> None:
    """They compute the same, and neither join blocks nor copy the image."""
    module = _lowered(_pooling(Random(seed)))
    check_semantics(module.clone(), passes_of(_SCHEDULE), tolerance=1e-4)
    run_pipeline(new_context(), module, _SCHEDULE)
    buffers = [op for op in module.walk() if isinstance(op, tir.AllocBufferOp)]
    local = [op for op in buffers if op.type.scope.data == "local"]
    assert local
    # The mean is a map of its own where not all windows have as many elements.
    assert len(buffers) - len(local) <= 1
    assert not any(isinstance(op, tir.IfThenElseOp) for op in module.walk())


def _pointwise(blocks: int) -> str:
    """A convolution of single elements, of so many blocks of channels."""
    x, w = f"tensor<1x{blocks}x3x3x4xf32>", f"tensor<1x{blocks}x1x1x4x4xf32>"
    y = "tensor<1x1x3x3x4xf32>"
    return f"""
      relax.func @main(%x: {x}, %w: {w}) -> {y} attributes {{global_symbol = "main"}} {{
        %y = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0]
          dilation [1, 1] groups 1 layout "NCHW4c" kernel "OIHW4i4o" : ({x}, {w}) -> {y}
        relax.return %y : {y}
      }}
    """


def test_short_rows_are_joined() -> None:
    """All elements of a small image are one tile."""
    module = _lowered(_pointwise(2))
    check_semantics(module.clone(), passes_of(_SCHEDULE), tolerance=1e-4)
    run_pipeline(new_context(), module, _SCHEDULE)
    (tile,) = [op for op in module.walk() if isinstance(op, tir.AllocBufferOp)]
    assert [extent.data for extent in tile.type.shape] == [9, 1, 4]


@pytest.mark.parametrize(
    ("blocks", "lanes", "size", "sums", "steps"),
    [
        (1, 16, 28, 28, 4),
        (2, 16, 28, 28, 2),
        (4, 16, 28, 28, 1),
        (3, 8, 28, 21, 2),
        (5, 16, 25, 25, 2),
    ],
)
def test_sums_stay_in_registers(
    blocks: int, lanes: int, size: int, sums: int, steps: int
) -> None:
    """Where terms are added, nothing is spilled and no place is widened: the columns of
    a tile have one address and constants."""
    pytest.importorskip("llvmlite")
    # Late: it needs llvmlite.
    from xdsl_tvm.runtime.llvm_jit import assembly

    x, w = f"tensor<1x2x{size}x{size}x16xf32>", f"tensor<{blocks}x2x1x1x16x{lanes}xf32>"
    y = f"tensor<1x{blocks}x{size}x{size}x{lanes}xf32>"
    module = load_module(f"""
      relax.func @main(%x: {x}, %w: {w}) -> {y} attributes {{global_symbol = "main"}} {{
        %r = relax.dataflow -> ({y}) {{
          %c = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0]
            dilation [1, 1] groups 1 layout "NCHW16c" kernel "OIHW16i{lanes}o"
            out_layout "NCHW{lanes}c" : ({x}, {w}) -> {y}
          %y = relax.nn.relu %c : ({y}) -> {y}
          relax.output %y : {y}
        }}
        relax.return %r : {y}
      }}
    """)
    context = new_context()
    run_pipeline(context, module, llvm_pipeline(relax=True, vector_bytes=64))
    text = assembly(
        llvm_ir(context, module), triple="x86_64-unknown-linux-gnu", cpu="sapphirerapids"
    )
    loops = [part for part in text.split("\n.L") if "vfmadd" in part]
    assert loops
    for loop in loops:
        # What follows the branch back is another block.
        body = loop[: loop.index("\n\tj")]
        assert body.count("vfmadd") == steps * sums
        assert not any(each in body for each in ("%rsp", "sarq", "movslq"))


@pytest.mark.parametrize(("size", "is_unrolled"), [(8, True), (10, False)])
def test_steps_are_unrolled_where_registers_suffice(
    size: int, *, is_unrolled: bool
) -> None:
    """Of 12 vectors, 4 are for the weights of as many channels."""
    x, w = f"tensor<1x1x{size}x{size}x4xf32>", "tensor<1x1x3x3x4x4xf32>"
    module = _lowered(f"""
      relax.func @main(%x: {x}, %w: {w}) -> {x} attributes {{global_symbol = "main"}} {{
        %y = relax.nn.conv2d %x, %w strides [1, 1] padding [1, 1, 1, 1]
          dilation [1, 1] groups 1 layout "NCHW4c" kernel "OIHW4i4o" : ({x}, {w}) -> {x}
        relax.return %y : {x}
      }}
    """)
    run_pipeline(new_context(), module, _SCHEDULE)
    hints = [op.annotations.data for op in _loops(module) if op.annotations is not None]
    counts = [hint["unroll_count"] for hint in hints if "unroll_count" in hint]
    assert (IntegerAttr(4, i32) in counts) == is_unrolled
    assert IntegerAttr(1, i32) in counts


def _prefetches(module: ModuleOp) -> list[tir.CallOp]:
    calls = [op for op in module.walk() if isinstance(op, tir.CallOp)]
    return [op for op in calls if op.callee.data == "prefetch"]


def test_large_weights_are_fetched_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hint at an element of the weight, which changes nothing."""
    text = _pointwise(3)
    module = _lowered(text)
    run_pipeline(new_context(), module, _SCHEDULE)
    assert not _prefetches(module)
    monkeypatch.setattr(windowed_tiling, "_LARGE", 0)
    monkeypatch.setattr(windowed_tiling, "_AHEAD", 64)
    module = _lowered(text)
    check_semantics(module.clone(), passes_of(_SCHEDULE), tolerance=1e-4)
    run_pipeline(new_context(), module, _SCHEDULE)
    assert _prefetches(module)


@pytest.mark.parametrize(("blocks", "inputs"), [(1, 4), (1, 2), (3, 4), (6, 4)])
def test_the_image_of_the_next_tile_is_fetched(
    blocks: int, inputs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column in each step, or several where there are few; not where other channels
    read the image again."""
    monkeypatch.setattr(windowed_tiling, "_LARGE_IMAGE", 0)
    x, w = f"tensor<1x2x3x24x{inputs}xf32>", f"tensor<{blocks}x2x1x1x{inputs}x4xf32>"
    y = f"tensor<1x{blocks}x3x24x4xf32>"
    module = _lowered(f"""
      relax.func @main(%x: {x}, %w: {w}) -> {y} attributes {{global_symbol = "main"}} {{
        %y = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0]
          dilation [1, 1] groups 1 layout "NCHW{inputs}c" kernel "OIHW{inputs}i4o"
          out_layout "NCHW4c" : ({x}, {w}) -> {y}
        relax.return %y : {y}
      }}
    """)
    check_semantics(module.clone(), passes_of(_SCHEDULE), tolerance=1e-4)
    run_pipeline(new_context(), module, _SCHEDULE)
    width = 12 if blocks == 1 else 4
    fetched = 0 if blocks > 3 else -(-width // inputs)
    assert len(_prefetches(module)) == fetched


@pytest.mark.parametrize("blocks", [2, 4])
def test_the_weight_of_the_next_channels_is_fetched(
    blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each tile fetches a part of what is read after all tiles."""
    monkeypatch.setattr(windowed_tiling, "_STREAMED", 0)
    x, w = "tensor<1x2x1x25x4xf32>", f"tensor<{blocks}x2x1x1x4x4xf32>"
    y = f"tensor<1x{blocks}x1x25x4xf32>"
    module = _lowered(f"""
      relax.func @main(%x: {x}, %w: {w}) -> {y} attributes {{global_symbol = "main"}} {{
        %y = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0]
          dilation [1, 1] groups 1 layout "NCHW4c" kernel "OIHW4i4o" : ({x}, {w}) -> {y}
        relax.return %y : {y}
      }}
    """)
    check_semantics(module.clone(), passes_of(_SCHEDULE), tolerance=1e-4)
    run_pipeline(new_context(), module, _SCHEDULE)
    # There is nothing after two blocks, which are done together.
    assert bool(_prefetches(module)) == (blocks > 2)


def test_rows_of_a_small_image_share_what_they_fetch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each row fetches a part of the weight of the next step, as it lies in memory."""
    for name, value in (("_LARGE", 0), ("_AHEAD", 64), ("_LARGE_PART", 0)):
        monkeypatch.setattr(windowed_tiling, name, value)
    x, w = "tensor<1x2x4x3x4xf32>", "tensor<4x2x3x3x4x4xf32>"
    y = "tensor<1x4x4x3x4xf32>"
    module = _lowered(f"""
      relax.func @main(%x: {x}, %w: {w}) -> {y} attributes {{global_symbol = "main"}} {{
        %y = relax.nn.conv2d %x, %w strides [1, 1] padding [1, 1, 1, 1]
          dilation [1, 1] groups 1 layout "NCHW4c" kernel "OIHW4i4o" : ({x}, {w}) -> {y}
        relax.return %y : {y}
      }}
    """)
    check_semantics(module.clone(), passes_of(_SCHEDULE), tolerance=1e-4)
    run_pipeline(new_context(), module, _SCHEDULE)
    parts = {
        tir.constant_value(loop.extent)
        for loop in _loops(module)
        if any(call.parent is loop.body.block for call in _prefetches(module))
    }
    # 36 vectors of a block of channels, for 4 rows and 3 rows of the window.
    assert parts == {3}


@pytest.mark.parametrize(("rows", "strips"), [(14, 2), (13, 1)])
def test_rows_in_strips(rows: int, strips: int) -> None:
    """All channels of some rows come before other rows, where the weight is small."""
    x, w = f"tensor<1x1x{rows}x14x2xf32>", "tensor<5x1x1x1x2x2xf32>"
    y = f"tensor<1x5x{rows}x14x2xf32>"
    module = _lowered(f"""
      relax.func @main(%x: {x}, %w: {w}) -> {y} attributes {{global_symbol = "main"}} {{
        %y = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0]
          dilation [1, 1] groups 1 layout "NCHW2c" kernel "OIHW2i2o" : ({x}, {w}) -> {y}
        relax.return %y : {y}
      }}
    """)
    check_semantics(module.clone(), passes_of(_SCHEDULE), tolerance=1e-4)
    run_pipeline(new_context(), module, _SCHEDULE)
    (loop,) = [op for op in _loops(module) if op.kind.data is tir.ForKind.PARALLEL]
    divisors = {
        literal_of(op.rhs)
        for op in loop.body.walk()
        if isinstance(op, tir.FloorDivOp | tir.FloorModOp)
    }
    # An iteration has the rows of a strip for some channels, or else one row of all.
    assert (5 in divisors) == (strips > 1)
    assert (rows in divisors) == (strips == 1)
    serial = [op for op in loop.body.walk() if isinstance(op, tir.ForOp)]
    extents = [literal_of(op.extent) for op in serial]
    assert (rows // strips in extents) == (strips > 1)


@pytest.mark.parametrize(
    ("size", "blocks", "channels"), [(3, 2, 2), (14, 2, 2), (14, 1, 4)]
)
def test_half_and_single_blocks_add_terms_in_pairs(
    size: int, blocks: int, channels: int
) -> None:
    """Two terms are in the lanes of a vector, or of two where channels fill one, also
    where columns are odd in number; not where sums keep their order."""
    x, w = f"tensor<1x2x{size}x{size}x4xf32>", f"tensor<{blocks}x2x1x1x4x{channels}xf32>"
    y = f"tensor<1x{blocks}x{size}x{size}x{channels}xf32>"
    module = _lowered(f"""
      relax.func @main(%x: {x}, %w: {w}) -> {y} attributes {{global_symbol = "main"}} {{
        %y = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0]
          dilation [1, 1] groups 1 layout "NCHW4c" kernel "OIHW4i{channels}o"
          out_layout "NCHW{channels}c" : ({x}, {w}) -> {y}
        relax.return %y : {y}
      }}
    """)
    check_semantics(module.clone(), passes_of(_SCHEDULE), tolerance=1e-4)
    ordered = module.clone()
    run_pipeline(new_context(), module, _SCHEDULE)
    buffers = [op for op in module.walk() if isinstance(op, tir.AllocBufferOp)]
    shapes = [[extent.data for extent in op.type.shape] for op in buffers]
    panels = [shape for shape in shapes if len(shape) == 6]
    # Vectors, blocks of input channels, rows and columns of the window, pairs, lanes.
    assert panels == [[blocks, 2, 1, 1, 2, 2 * channels]]
    run_pipeline(new_context(), ordered, _SCHEDULE.replace("{", "{reassociate=false "))
    assert not any(isinstance(op, tir.ShuffleOp) for op in ordered.walk())


@pytest.mark.parametrize(("size", "rows"), [(3, 1), (14, 1), (14, 14)])
def test_epilogues_of_pairs_are_done_on_two_columns(size: int, rows: int) -> None:
    """Sums begin with what is added to them, if that is the same for all rows; what
    follows reads and writes neighbours, and not the sums."""
    x, w = f"tensor<1x2x{size}x{size}x4xf32>", "tensor<2x2x1x1x4x2xf32>"
    y, b = f"tensor<1x2x{size}x{size}x2xf32>", f"tensor<1x2x{rows}x1x2xf32>"
    module = _lowered(f"""
      relax.func @main(%x: {x}, %w: {w}, %b: {b}, %z: {y}) -> {y}
          attributes {{global_symbol = "main"}} {{
        %r = relax.dataflow -> ({y}) {{
          %c = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0]
            dilation [1, 1] groups 1 layout "NCHW4c" kernel "OIHW4i2o"
            out_layout "NCHW2c" : ({x}, {w}) -> {y}
          %s = relax.add %c, %b : ({y}, {b}) -> {y}
          %t = relax.add %s, %z : ({y}, {y}) -> {y}
          %y = relax.nn.relu %t : ({y}) -> {y}
          relax.output %y : {y}
        }}
        relax.return %r : {y}
      }}
    """)
    check_semantics(module.clone(), passes_of(_SCHEDULE), tolerance=1e-4)
    run_pipeline(new_context(), module, _SCHEDULE)
    shapes = [
        [extent.data for extent in op.type.shape]
        for op in module.walk()
        if isinstance(op, tir.AllocBufferOp)
    ]
    # What two vectors begin with, and their results for three times two columns.
    assert ([2, 4] in shapes) == (rows == 1)
    assert [3, 2, 4] in shapes


@pytest.mark.parametrize("reassociate", [True, False])
def test_sums_of_depthwise_convolutions_begin_with_the_bias(*, reassociate: bool) -> None:
    """So it is not added at the end."""
    x, b = (f"tensor<1x2x{n}x{n}x4xf32>" for n in (6, 1))
    w = "tensor<2x1x3x3x4xf32>"
    module = _lowered(f"""
      relax.func @main(%x: {x}, %w: {w}, %b: {b}) -> {x}
          attributes {{global_symbol = "main"}} {{
        %r = relax.dataflow -> ({x}) {{
          %c = relax.nn.conv2d %x, %w strides [1, 1] padding [1, 1, 1, 1]
            dilation [1, 1] groups 8 layout "NCHW4c" kernel "OIHW4o"
            out_layout "NCHW4c" : ({x}, {w}) -> {x}
          %s = relax.add %c, %b : ({x}, {b}) -> {x}
          %y = relax.nn.relu %s : ({x}) -> {x}
          relax.output %y : {x}
        }}
        relax.return %r : {x}
      }}
    """)
    schedule = _SCHEDULE
    if not reassociate:
        schedule = schedule.replace("{", "{reassociate=false ")
    check_semantics(module.clone(), passes_of(schedule), tolerance=1e-4)
    run_pipeline(new_context(), module, schedule)
    sums = [
        op
        for op in module.walk()
        if isinstance(op, tir.AddOp) and tir.is_float(op.result.type)
    ]
    assert bool(sums) != reassociate


def _depthwise(
    rows: int,
    columns: int,
    *,
    window: tuple[int, int] = (3, 3),
    stride: int = 1,
    pads: Sequence[int] = (1, 1, 1, 1),
    dilation: int = 1,
    images: int = 1,
    lanes: int = 4,
    dtype: str = "f32",
    bias: str = "1x2x1x1",
) -> str:
    """A depthwise convolution with results of so many rows and columns, a sum and relu;
    `dilation` is that of columns."""
    height = (rows - 1) * stride + window[0] - pads[0] - pads[2]
    width = (columns - 1) * stride + dilation * (window[1] - 1) + 1 - pads[1] - pads[3]
    x = f"tensor<{images}x2x{height}x{width}x{lanes}x{dtype}>"
    w = f"tensor<2x1x{window[0]}x{window[1]}x{lanes}x{dtype}>"
    b = f"tensor<{bias}x{lanes}x{dtype}>"
    y = f"tensor<{images}x2x{rows}x{columns}x{lanes}x{dtype}>"
    return f"""
      relax.func @main(%x: {x}, %w: {w}, %b: {b}) -> {y}
          attributes {{global_symbol = "main"}} {{
        %r = relax.dataflow -> ({y}) {{
          %c = relax.nn.conv2d %x, %w strides [{stride}, {stride}] padding {[*pads]}
            dilation [1, {dilation}] groups {2 * lanes} layout "NCHW{lanes}c"
            kernel "OIHW{lanes}o" out_layout "NCHW{lanes}c" : ({x}, {w}) -> {y}
          %s = relax.add %c, %b : ({y}, {b}) -> {y}
          %y = relax.nn.relu %s : ({y}) -> {y}
          relax.output %y : {y}
        }}
        relax.return %r : {y}
      }}
    """


@pytest.mark.parametrize(
    ("text", "tile"),
    [
        # The last tile has one row, and one column.
        (_depthwise(7, 7), [2, 3, 4]),
        # Strips of 8 and of 6 rows.
        (_depthwise(14, 2), [2, 2, 4]),
        # Nothing is padded, so that there is nothing to read for the missing row.
        (_depthwise(3, 4, pads=(0, 0, 0, 0), images=2), [2, 2, 4]),
        (_depthwise(3, 4, stride=2, pads=(0, 1, 1, 0)), [2, 2, 4]),
        (_depthwise(4, 3, stride=3, window=(2, 3), pads=(1, 0, 0, 2)), [2, 3, 4]),
        # Padding that is wider than a tile.
        (_depthwise(2, 8, pads=(2, 4, 2, 4), dilation=3), [2, 3, 4]),
        (_depthwise(4, 4, lanes=2, dtype="f64"), [2, 2, 2]),
        (_depthwise(2, 3, bias="1x2x2x1"), [2, 3, 4]),
        # What is added to a row cannot be read for a missing one.
        (_depthwise(3, 3, bias="1x2x3x1"), [3, 1, 4]),
        (_depthwise(1, 3), [3, 1, 4]),
        # More weights than registers.
        (_depthwise(2, 3, window=(4, 3)), [3, 1, 4]),
    ],
)
def test_tiles_of_depthwise_convolutions_have_two_rows(
    text: str, tile: list[int]
) -> None:
    """Each element is loaded for all of a tile, and there is one kind of tile."""
    module = _lowered(text)
    check_semantics(module.clone(), passes_of(_SCHEDULE), tolerance=1e-4)
    run_pipeline(new_context(), module, _SCHEDULE)
    buffers = [op for op in module.walk() if isinstance(op, tir.AllocBufferOp)]
    shapes = [[extent.data for extent in op.type.shape] for op in buffers]
    assert tile in shapes
    assert len(shapes) == 1 or tile[0] != 2


def test_rows_of_depthwise_convolutions_stay_in_registers() -> None:
    """All products of a tile are there once, and nothing is spilled."""
    pytest.importorskip("llvmlite")
    # Late: it needs llvmlite.
    from xdsl_tvm.runtime.llvm_jit import assembly

    module, context = load_module(_depthwise(14, 14, lanes=16)), new_context()
    run_pipeline(context, module, llvm_pipeline(relax=True, vector_bytes=64))
    text = assembly(
        llvm_ir(context, module), triple="x86_64-unknown-linux-gnu", cpu="skylake-avx512"
    )
    lines = [line for line in text.splitlines() if "zmm" in line]
    assert sum("vfmadd" in line for line in lines) == 2 * 7 * 9
    assert not any("%rsp" in line for line in lines)
    # Nine columns of four rows, and weights, some of which are loaded again at edges.
    assert len(re.findall(r"vmovups\t.*\), %zmm", text)) <= 4 * 9 + 2 * 9


@pytest.mark.parametrize("seed", range(_FIRST, _FIRST + _COUNT // 2))
def test_the_weight_of_a_small_image_is_read_once(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All rows are done with at each block of input channels."""
    for name in ("_LARGE", "_LARGE_PART"):
        monkeypatch.setattr(windowed_tiling, name, 0)
    monkeypatch.setattr(windowed_tiling, "_AHEAD", 64)
    size, pad = 3 + seed % 3, seed % 2
    count = size + 2 * pad - 2
    x, w = f"tensor<1x3x{size}x{size}x4xf32>", "tensor<2x3x3x3x4x4xf32>"
    y = f"tensor<1x2x{count}x{count}x4xf32>"
    module = _lowered(f"""
      relax.func @main(%x: {x}, %w: {w}) -> {y} attributes {{global_symbol = "main"}} {{
        %r = relax.dataflow -> ({y}) {{
          %c = relax.nn.conv2d %x, %w strides [1, 1] padding [{pad}, {pad}, {pad}, {pad}]
            dilation [1, 1] groups 1 layout "NCHW4c" kernel "OIHW4i4o" : ({x}, {w}) -> {y}
          %y = relax.nn.relu %c : ({y}) -> {y}
          relax.output %y : {y}
        }}
        relax.return %r : {y}
      }}
    """)
    check_semantics(module.clone(), passes_of(_SCHEDULE), tolerance=1e-4)
    run_pipeline(new_context(), module, _SCHEDULE)
    shapes = [
        [extent.data for extent in op.type.shape]
        for op in module.walk()
        if isinstance(op, tir.AllocBufferOp)
    ]
    assert ([count, count, 2, 4] in shapes) == (count > 1)
