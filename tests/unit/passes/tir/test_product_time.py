"""Tiles of products are those that take the least time by the model, term by term."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import pytest
from xdsl.rewriter import InsertPoint

from xdsl_tvm.analysis.gpu_rates import GPUS
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.passes.tir._gpu_schedule.allreduce import match_combined
from xdsl_tvm.passes.tir._gpu_schedule.device import Device, rates_for
from xdsl_tvm.passes.tir._gpu_schedule.matrix_units import UnitsKernel, match_units
from xdsl_tvm.passes.tir._gpu_schedule.product import ProductKernel, match_product
from xdsl_tvm.passes.tir._gpu_schedule.product_time import (
    GroupModel,
    ProductSizes,
    ProductTime,
    ThreadModel,
    Tile,
    TimeModel,
    clipped,
)
from xdsl_tvm.passes.tir._gpu_schedule.split_terms import splits_within
from xdsl_tvm.passes.tir._gpu_schedule.thread_product import ThreadProduct
from xdsl_tvm.passes.tir._gpu_schedule.warpgroup_product import WarpgroupKernel
from xdsl_tvm.passes.tir._loops.loop_nest import find_nest
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode
from xdsl_tvm.tvmscript import parse

PRODUCT = """
@T.prim_func
def main(pA: T.handle, pB: T.handle, pC: T.handle):
    T.func_attr({{"global_symbol": "main", "tir.noalias": True}})
    n = T.int32()
    A = T.match_buffer(pA, ({b}, {m}, {k}), "{dtype}")
    B = T.match_buffer(pB, ({b}, {k}, {n}), "{dtype}")
    C = T.match_buffer(pC, ({b}, {m}, {n}), "{dtype}")
    for b, i, j, t in T.grid({b}, {m}, {n}, {k}):
        with T.block("C"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, t])
            with T.init():
                C[vb, vi, vj] = T.Cast("{dtype}", 0)
            C[vb, vi, vj] = C[vb, vi, vj] + A[vb, vi, vk] * B[vb, vk, vj]
"""


class Shape(NamedTuple):
    m: object
    n: object
    k: object
    b: object = 1


SHAPES = {
    "8192": Shape(8192, 8192, 8192),
    "4096": Shape(4096, 4096, 4096),
    "ragged 4095": Shape(4095, 4096, 4088),
    "1024": Shape(1024, 1024, 1024),
    "BERT 128 x 768 x 768": Shape(128, 768, 768),
    "BERT 128 x 3072 x 768": Shape(128, 3072, 768),
    "BERT 128 x 768 x 3072": Shape(128, 768, 3072),
    "BERT scores": Shape(128, 128, 64, 12),
    "GPT-2 1024 x 3072 x 768": Shape(1024, 3072, 768),
    "GPT-2 1024 x 768 x 3072": Shape(1024, 768, 3072),
    "GPT-2 words": Shape(64, 50264, 768),
    "ResNet-18 56 x 56 x 64": Shape(3136, 64, 576),
    "ResNet-18 28 x 28 x 128": Shape(784, 128, 1152),
    "ResNet-18 14 x 14 x 256": Shape(196, 256, 2304),
    "ResNet-18 7 x 7 x 512": Shape(49, 512, 4608),
    "ResNet-18 stem": Shape(12544, 64, 196),
    "skinny 16": Shape(16, 4096, 4096),
    "skinny 128": Shape(128, 4096, 4096),
    "tall": Shape(100000, 16, 256),
}
KERNELS: dict[str, type[ProductKernel]] = {
    "threads": ThreadProduct,
    "warps": UnitsKernel,
    "groups": WarpgroupKernel,
}
DTYPES = {"threads": "float32", "warps": "float16", "groups": "float16"}


def kernel(kind: str, shape: Shape, arch: str = "sm_90") -> ProductKernel:
    """The writer of a product by a kind of kernel, which has chosen its tile."""
    text = PRODUCT.format(dtype=DTYPES[kind], **shape._asdict())
    module = parse(text)
    loop = next(op for op in module.walk() if isinstance(op, tir.ForOp))
    nest = find_nest(loop)
    assert nest is not None
    reduction = match_combined(nest)
    assert reduction is not None
    found = match_product(reduction)
    assert found is not None
    if kind != "threads":
        found = match_units(found, allow_tf32=False)
        assert found is not None
    rates = GPUS[arch]
    device = Device(
        stages=4, tile=128, multiprocessors=rates.multiprocessors, rates=rates
    )
    return KERNELS[kind](LoopCode(InsertPoint.before(loop)), found, device)


def choice(kind: str, shape: Shape, arch: str = "sm_90") -> ProductTime:
    found = kernel(kind, shape, arch).choice
    assert found is not None
    return found


def by_rule(
    kind: str, found: ProductKernel, arch: str, sizes: ProductSizes
) -> ProductTime:
    """The time of what a rule without occupancy and latencies chooses.

    A square tile for as many as 108 blocks, or 32 by 32; of warpgroups the least time by
    products and loads. Terms are split to fill 108 multiprocessors.
    """
    model = found.model
    if kind == "groups":

        def loaded(tile: Tile) -> float:
            step = max(tile.rows * tile.columns / 32, (tile.rows + tile.columns) * 2)
            blocks = -(-sizes.rows // tile.rows) * -(-sizes.columns // tile.columns)
            waves = -(-blocks * sizes.batch // model.multiprocessors)
            steps = -(-sizes.terms // 64) + 6
            return waves * steps * step - tile.rows * tile.columns / (1 << 20)

        tile = min(model.TILES, key=loaded)
    else:
        side = 128
        while side > 32 and model.of(square(model, side), sizes).blocks < 108:
            side //= 2
        tile = square(model, side)
        if kind == "warps":
            tile = clipped(tile, sizes.rows, sizes.columns, (16, 16))
    device = Device(multiprocessors=108)
    steps = -(-sizes.terms // sizes.depth)
    splits = splits_within(device, model.of(tile, sizes).blocks, steps, 16)
    return model.of(tile, sizes, splits)


def square(model: TimeModel | type[TimeModel], side: int) -> Tile:
    return next(t for t in model.TILES if t.rows == t.columns == side)


# ---- the terms ----

F16 = ProductSizes(8192, 8192, 8192, 1, 32, 2, 2, 4)
F32 = ProductSizes(8192, 8192, 8192, 1, 16, 4, 4, 4)


def test_terms_of_warps() -> None:
    """Of 128 x 128 x 32 as the machine code has it: 64 products of each of four warps."""
    found = TimeModel(GPUS["sm_80"], 108).of(square(TimeModel, 128), F16)
    assert found.units == {
        # 1024 a cycle.
        "products": 128 * 128 * 32 / 1024,
        # Each warp reads 64 rows and 64 columns of 64 bytes; 256 rows are copied.
        "shared": (4 * 128 * 64 + 256 * 64) / 128,
        # 64 products, 16 loads, 8 copies, and 40 others.
        "issue": 4 * (64 + 16 + 8 + 40) / 4,
        "cache": 256 * 64 / 64,
    }
    assert (found.bound, found.step) == ("products", 512 + (384 + 128 + 256) / 4)
    # Registers of two blocks; three copies are ahead of a product.
    assert (found.held, found.ahead) == (2, 800 / 3)
    # 4096 blocks, of which a multiprocessor has 38 in 19 pairs, each of 256 steps.
    assert (found.blocks, found.most, found.steps) == (4096, 38, 256)
    # Results of 2 bytes, by 64 a cycle.
    group = 256 * 2 * found.step + 800 + 2 * 128 * 128 * 2 / 64
    assert found.cycles == 19 * group


def test_terms_of_threads() -> None:
    found = ThreadModel(GPUS["sm_80"], 108).of(square(ThreadModel, 128), F32)
    assert found.units == {
        # 64 a cycle.
        "products": 128 * 128 * 16 / 64,
        # 8 lines of A, a cycle each, and 8 of B, two cycles, of 4 terms at a time.
        "shared": 8 * 4 * (8 + 2 * 8) + 256 * 64 / 128,
        "issue": 8 * (8 * 8 * 16 + 4 * 16 + 40 + 4) / 4,
        "cache": 256 * 64 / 64,
    }
    assert (found.bound, found.held) == ("products", 1)


def test_terms_of_warpgroups() -> None:
    sizes = ProductSizes(4096, 4096, 4096, 1, 64, 2, 2, 4)
    found = GroupModel(GPUS["sm_90"], 132).of(GroupModel.TILES[0], sizes)
    assert found.units["products"] == 128 * 256 * 64 / 2048 == 1024
    assert found.units["cache"] == (128 + 256) * 128 / 64
    assert (found.blocks, found.most, found.held) == (512, 4, 1)


def test_split_terms_take_a_second_kernel() -> None:
    model = TimeModel(GPUS["sm_80"], 108)
    sizes = ProductSizes(128, 128, 8192, 1, 32, 2, 2, 4)
    tile = square(model, 64)
    one, eight = model.of(tile, sizes), model.of(tile, sizes, 8)
    assert (one.blocks, one.steps, one.second) == (4, 256, 0)
    assert (eight.blocks, eight.steps) == (32, 32)
    assert eight.second == 3000 + 128 * 128 * 8 * 4 / (64 * 108)
    assert eight.cycles < one.cycles


def test_copies_that_are_waited_for() -> None:
    model = TimeModel(GPUS["sm_80"], 108)
    sizes = ProductSizes(512, 512, 512, 1, 32, 2, 2, 1)
    found = model.of(square(model, 32), sizes)
    assert found.ahead == 800 + max(found.units.values())


# ---- what is chosen ----

CHOSEN = {
    ("8192", "warps", "sm_80"): (128, 128, 1),
    ("8192", "warps", "sm_90"): (128, 128, 1),
    ("8192", "groups", "sm_90"): (128, 256, 1),
    ("8192", "threads", "sm_90"): (128, 128, 1),
    ("4096", "warps", "sm_80"): (128, 128, 1),
    ("4096", "groups", "sm_90"): (128, 256, 1),
    ("ragged 4095", "warps", "sm_90"): (128, 128, 1),
    ("BERT 128 x 768 x 768", "warps", "sm_80"): (32, 32, 1),
    ("BERT 128 x 768 x 3072", "warps", "sm_80"): (64, 64, 4),
    ("GPT-2 1024 x 3072 x 768", "warps", "sm_80"): (128, 128, 1),
    ("ResNet-18 56 x 56 x 64", "warps", "sm_80"): (64, 32, 1),
    ("ResNet-18 7 x 7 x 512", "warps", "sm_80"): (64, 64, 9),
    ("skinny 16", "warps", "sm_90"): (16, 128, 4),
    ("tall", "warps", "sm_80"): (128, 16, 1),
}


@pytest.mark.parametrize("case", CHOSEN, ids="-".join)
def test_choices(case: tuple[str, str, str]) -> None:
    name, kind, arch = case
    found = choice(kind, SHAPES[name], arch)
    assert (found.tile.rows, found.tile.columns, found.splits) == CHOSEN[case]


def test_no_choice_takes_longer_than_that_of_a_simple_rule() -> None:
    """By the model, for all shapes."""
    for kind, arch in (("threads", "sm_80"), ("warps", "sm_90"), ("groups", "sm_90")):
        for name, shape in SHAPES.items():
            found = kernel(kind, shape, arch)
            assert found.choice is not None
            assert found.sizes is not None
            simple = by_rule(kind, found, arch, found.sizes)
            assert found.choice.cycles <= simple.cycles, (kind, arch, name)


@pytest.mark.parametrize("arch", GPUS)
def test_tiles_that_no_multiprocessor_holds_are_not_chosen(arch: str) -> None:
    model = ThreadModel(GPUS[arch], 108)
    tiles = [(tile, 1) for tile in model.TILES]
    # Four tiles of 64 terms: those of 128 rows and columns are 256 KiB.
    wide = replace(F32, depth=64)
    assert model.of(square(model, 128), wide).held == 0
    assert model.best(wide, tiles).held > 0
    # All are too large: the smallest is nearest to what there is.
    assert model.best(replace(F32, depth=512), tiles).tile == model.TILES[-1]


def test_least_blocks() -> None:
    """As many as registers allow, where the assembler would rather have one more."""
    found = {
        (model.__name__, tile.rows, tile.columns, arch): least
        for model in (TimeModel, ThreadModel, GroupModel)
        for arch, rates in GPUS.items()
        for tile in model.TILES
        if (least := model(rates, 1).least_blocks(tile))
    }
    assert found == {
        ("TimeModel", 64, 64, "sm_80"): 6,
        ("TimeModel", 64, 64, "sm_90"): 6,
        ("ThreadModel", 64, 128, "sm_80"): 2,
    }
    tile = replace(square(ThreadModel(GPUS["sm_80"], 1), 64), spilled_for=("sm_80",))
    # A block of so many threads leaves fewer registers than that to each.
    assert ThreadModel(GPUS["sm_80"], 1).least_blocks(replace(tile, threads=1024)) == 0


def best(model: TimeModel, sizes: ProductSizes) -> float:
    return model.best(sizes, [(tile, 1) for tile in model.TILES]).cycles


@pytest.mark.parametrize("model", [TimeModel, ThreadModel, GroupModel])
def test_time_grows_with_the_product(model: type[TimeModel]) -> None:
    """More rows, columns, terms or batches never take less time."""
    made = model(GPUS["sm_90"], 132)
    depth = 64 if model is GroupModel else 32
    for axis in range(4):
        times: list[float] = []
        for count in (1, 7, 16, 33, 64, 100, 129, 200, 500, 513, 1000, 3000, 5000):
            extents = [300, 400, 500, 3]
            extents[axis] = count
            rows, columns, terms, batch = extents
            sizes = ProductSizes(rows, columns, terms, batch, depth, 2, 2, 4)
            times.append(best(made, sizes))
        assert all(before <= after for before, after in pairwise(times)), axis


def test_less_time_with_more_of_a_gpu() -> None:
    sizes = ProductSizes(1000, 3000, 700, 1, 32, 2, 2, 4)
    times = [best(TimeModel(GPUS["sm_90"], count), sizes) for count in (16, 66, 132, 528)]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize(
    ("kind", "shape", "tile"),
    [
        ("warps", Shape("n", "n", "n"), (64, 64)),
        ("warps", Shape(16, "n", 4096), (16, 64)),
        ("threads", Shape(4096, 4096, "n"), (64, 64)),
        ("groups", Shape("n", 4096, 4096), (128, 128)),
    ],
)
def test_extents_that_are_not_known(kind: str, shape: Shape, tile: Sequence[int]) -> None:
    """The middle of the table, without rows that there are not; nothing is split."""
    found = kernel(kind, shape)
    assert found.choice is None
    assert [found.tile_rows, found.tile_columns, found.splits] == [*tile, 1]


def test_rates_of_targets() -> None:
    for text, arch in (
        ("cuda", "sm_80"),
        ("cuda -arch=sm_75", "sm_80"),
        ("cuda -arch=sm_87", "sm_86"),
        ("cuda -arch=sm_90a", "sm_90"),
        ("cuda -arch=sm_120", "sm_90"),
    ):
        assert rates_for(Target.parse(text)) is GPUS[arch]
