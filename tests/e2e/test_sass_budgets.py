"""Budgets of machine code; `ptxas` and `nvdisasm` make it.

The kernels are the examples, and what the GPU schedule writes. No kernel spills or has a
stack. What the hottest loop holds is exact where the algorithm says it, and at most so
much otherwise.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import pytest
from support import paths
from support.gpu_schedules import MANY
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.analysis.gpu_rates import rates_of
from xdsl_tvm.lowering.llvm_ir import llvm_ir
from xdsl_tvm.lowering.pipelines import lower_to_driver_calls
from xdsl_tvm.passes.tir._gpu_schedule.product_time import (
    GroupModel,
    ProductSizes,
    ThreadModel,
    Tile,
    TimeModel,
)
from xdsl_tvm.passes.tir.gpu_schedule import GPUSchedule
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.kernel_estimate import estimate
from xdsl_tvm.runtime.llvm_jit import ptx
from xdsl_tvm.runtime.load import load_module
from xdsl_tvm.runtime.sass import KernelCode, Loop, find_program, machine_code
from xdsl_tvm.tools.cli import main
from xdsl_tvm.tools.estimate import block_sizes
from xdsl_tvm.tvmscript import parse

pytestmark = pytest.mark.skipif(
    None in (find_program("ptxas"), find_program("nvdisasm")),
    reason="ptxas or nvdisasm is not installed",
)

REGISTERS = {
    "kernels/matmul_tile.mlir": 40,
    "kernels/vector_add.mlir": 16,
    "tvmscript/gpu_tile.py": 40,
    "tvmscript/softmax_threads.py": 32,
}
"""The example kernels, and how many registers each may need."""
ARCHITECTURES = ("sm_80", "sm_90") if MANY else ("sm_90",)


@cache
def code(name: str, arch: str) -> KernelCode:
    module = load_module(paths.EXAMPLES / name)
    text = ptx(llvm_ir(new_context(), module, "nvptx", arch), arch)
    (found,) = machine_code(text, arch).values()
    return found


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", REGISTERS)
def test_no_spills(name: str, arch: str) -> None:
    found = code(name, arch)
    assert (found.spill_bytes, found.stack_bytes) == (0, 0)
    assert found.count("LDL") == found.count("STL") == 0
    assert found.registers <= REGISTERS[name]


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_matmul_tile(arch: str) -> None:
    """A turn multiplies rows of 16: the row of A comes as four vectors."""
    loop = code("kernels/matmul_tile.mlir", arch).hottest_loop("LDS")
    assert loop is not None
    assert (loop.count("FFMA"), loop.count("FMUL"), loop.count("FADD")) == (16, 0, 0)
    assert loop.count("LDS.128") == 4
    assert loop.count("LDS") == 20
    assert (loop.count("LDG"), loop.count("STS"), loop.count("BAR")) == (2, 2, 2)
    assert len(loop.instructions) <= 54


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_vector_add(arch: str) -> None:
    found = code("kernels/vector_add.mlir", arch)
    assert (found.count("LDG"), found.count("STG"), len(found.loops)) == (2, 1, 0)
    assert len(found.instructions) <= 26


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_softmax_of_threads(arch: str) -> None:
    """Two reductions of a warp have five shuffles each, and so have those of 8 warps."""
    found = code("tvmscript/softmax_threads.py", arch)
    assert found.count("SHFL") == 16
    assert found.count("MUFU") <= 3
    assert len(found.loops) == 0


# ---- what the schedule writes ----

PRODUCT = """
@T.prim_func
def main(A: T.Buffer((4096, 4096), "{dtype}"), B: T.Buffer((4096, 4096), "{dtype}"),
         C: T.Buffer((4096, 4096), "{acc}")):
    T.func_attr({{"global_symbol": "main", "tir.noalias": True}})
    for i, j, t in T.grid(4096, 4096, 4096):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, t])
            with T.init():
                C[vi, vj] = T.Cast("{acc}", 0)
            C[vi, vj] = C[vi, vj] + T.Cast("{acc}", A[vi, vk]) * T.Cast(
                "{acc}", B[{at}])
"""
MODEL = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((512, 1024), "{dtype}"), b: R.Tensor((1024,), "{dtype}")):
        with R.dataflow():
            y = {value}
            R.output(y)
        return y
"""


def only_kernel(module: ModuleOp, arch: str) -> KernelCode:
    """The machine code of a module of one kernel, which spills nothing."""
    return kernel_and_threads(module, arch)[0]


def kernel_and_threads(module: ModuleOp, arch: str) -> tuple[KernelCode, int]:
    """That, and the threads of a block."""
    context = new_context()
    kernels = lower_to_driver_calls(context, module, arch)
    text = ptx(llvm_ir(context, kernels, "nvptx", arch), arch)
    (found,) = machine_code(text, arch).values()
    assert (found.spill_bytes, found.stack_bytes) == (0, 0)
    assert found.count("LDL") == found.count("STL") == 0
    return found, block_sizes(text)[found.name]


def product_text(dtype: str, *, turned: bool) -> str:
    """A product of 4096 by 4096 by 4096, of B as [N, K] where it is turned."""
    acc, at = "int32" if dtype == "int8" else "float32", "vj, vk" if turned else "vk, vj"
    return PRODUCT.format(dtype=dtype, acc=acc, at=at)


def scheduled_product(
    dtype: str, arch: str, *, turned: bool = False, tf32: bool = False
) -> KernelCode:
    module = parse(product_text(dtype, turned=turned))
    GPUSchedule(f"cuda -arch={arch}", allow_tf32=tf32).apply(new_context(), module)
    return only_kernel(module, arch)


def test_scheduled_product_of_warpgroups() -> None:
    """A step of 64 terms of a tile of 128 x 256, by two warpgroups, which load nothing.

    One group of products is in flight: no product waits for the one before.
    """
    found = scheduled_product("float16", "sm_90a")
    loop = found.hottest_loop("HGMMA")
    assert loop is not None
    assert loop.count("HGMMA.64x256x16.F32") == loop.count("HGMMA") == 4
    kinds = ("LDG", "LDS", "LDSM", "LDL", "STL", "STS", "STG", "FFMA", "HMMA", "BAR")
    assert not any(loop.count(name) for name in kinds)
    waits = [each.operands for each in loop.instructions if "DEPBAR" in each.opcode]
    assert waits == ["gsb0, 0x1"]
    assert len(loop.instructions) <= 80
    # Each of 128 blocks has four tiles.
    assert loop.depth == 2
    # A of 128 rows, and 4 boxes of B by 64 columns.
    assert found.count("UTMALDG") % 5 == 0
    assert found.count("LDS") == found.count("LDSM") == 0
    assert found.registers <= 168
    judged = estimate(found, 384, 4 * (128 + 256) * 128)
    assert judged is not None
    assert (judged.bound, judged.share) == ("tensor", 1.0)
    assert judged.cycles["tensor"] == 1024


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_scheduled_product_of_tensor_cores(arch: str) -> None:
    """A step of 32 terms of a tile of 128 x 128, by four warps."""
    found = scheduled_product("float16", arch)
    loop = found.hottest_loop("HMMA")
    assert loop is not None
    assert [loop.count(name) for name in ("HMMA", "LDSM", "LDGSTS")] == [64, 16, 8]
    assert loop.count("LDGSTS.E.BYPASS.128") == 8
    assert loop.count("BAR.SYNC") == loop.count("BAR") == 1
    # Most of the others are addresses: those of shared memory have 32 bits. There are
    # less than 0.8 others for each product of the tensor cores.
    assert len(loop.instructions) - 64 - 16 - 8 <= 51
    # Results are stored in pairs; a multiprocessor has registers for two blocks.
    assert found.count("STG.E.64") == found.count("STG") == 64
    # The model that has chosen the tile has counted what a step takes.
    model = TimeModel(rates_of(arch), 1)
    tile = TimeModel.TILES[0]
    assert found.registers <= tile.registers
    modelled = model.of(tile, ProductSizes(4096, 4096, 4096, 1, 32, 2, 4, 4))
    judged = estimate(found, tile.threads, 4 * 256 * 64)
    assert judged is not None
    assert judged.occupancy.blocks == modelled.held == 2
    names = {"products": "tensor", "shared": "shared", "cache": "second-level cache"}
    for unit, name in names.items():
        assert modelled.units[unit] == pytest.approx(judged.cycles[name] / 2, rel=1e-6)
    assert modelled.units["issue"] == pytest.approx(judged.cycles["issue"] / 2, rel=0.1)


def loads(loop: Loop) -> int:
    """Loads from shared memory, but for those that are none, which ptxas writes."""
    return sum(
        each.opcode.startswith("LDS") and each.predicate != "@!PT"
        for each in loop.instructions
    )


@pytest.mark.skipif(not MANY, reason="one product is assembled in the ordinary run")
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(
    ("dtype", "turned", "product", "words", "permutations"),
    [
        ("int8", True, "IMMA.16832.S8.S8", 0, 0),
        ("int8", False, "IMMA.16832.S8.S8", 0, 32),
        ("float32", True, "HMMA.1688.F32.TF32", 0, 0),
        ("float32", False, "HMMA.1688.F32.TF32", 32, 0),
    ],
)
def test_scheduled_product_of_other_types(
    dtype: str, turned: bool, product: str, words: int, permutations: int, arch: str
) -> None:
    """A step of 64 bytes of terms has as many products and copies as one of f16.

    Words of B by terms are loaded one by one, two for each of 16 products. Bytes of B by
    terms are transposed by pairs: each of 8 matrices loaded is taken apart by four
    permutations of bytes.
    """
    found = scheduled_product(dtype, arch, turned=turned, tf32=True)
    loop = found.hottest_loop(product)
    assert loop is not None
    names = product, "LDSM", "LDGSTS.E.BYPASS.128", "BAR", "PRMT"
    counts = [loop.count(name) for name in names]
    assert counts == [64, 8 if words else 16, 8, 1, permutations]
    assert loads(loop) - loop.count("LDSM") == words
    assert len(loop.instructions) - sum(counts) - words <= (61 if words else 51)
    if dtype == "int8":
        # Lanes have four neighbours of rows where columns are dealt out.
        assert found.count("STG.E.64" if turned else "STG.E.128") == found.count("STG")
    assert found.registers <= 255


@pytest.mark.skipif(not MANY, reason="one product is assembled in the ordinary run")
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_scheduled_product_of_threads(arch: str) -> None:
    """At least 88 % are multiply-adds; operands come as four elements at a time."""
    loop = scheduled_product("float32", arch).hottest_loop("FFMA")
    assert loop is not None
    assert loop.count("FFMA") >= 0.88 * len(loop.instructions)
    # ptxas may unroll the loop over the terms of a tile.
    assert 16 * loop.count("LDS.128") == 16 * loads(loop) == loop.count("FFMA")


ATTENTION = """
@I.ir_module
class Module:
    @R.function
    def main(
        q: R.Tensor((1, 1024, 8, {d}), "{dtype}"),
        k: R.Tensor((1, 1024, 8, {d}), "{dtype}"),
        v: R.Tensor((1, 1024, 8, {d}), "{dtype}"),
    ):
        with R.dataflow():
            y = R.nn.attention(q, k, v{mask})
            R.output(y)
        return y
"""
CAUSAL = ', causal_mask="TopLeft"'


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(
    ("features", "mask", "others", "registers"),
    [(64, "", 280, 168), *([(128, "", 420, 232), (64, CAUSAL, 400, 168)] * MANY)],
)
def test_attention_on_tensor_cores(
    features: int, mask: str, others: int, registers: int, arch: str
) -> None:
    """A step of 64 keys: products for the scores and the values, an exponential for each
    of 32 scores of a lane and for each of its two rows, four shuffles for the largest."""
    text = ATTENTION.format(d=features, dtype="float16", mask=mask)
    found = only_kernel(parse(text), arch)
    loop = found.hottest_loop("HMMA")
    assert loop is not None
    names = ("HMMA", "LDSM", "LDGSTS", "MUFU", "SHFL")
    counts = [loop.count(name) for name in names]
    assert counts == [features, features // 2, features // 8, 34, 4]
    assert loop.count("LDGSTS.E.BYPASS.128") == features // 8
    assert len(loop.instructions) - sum(counts) <= others
    assert found.registers <= registers


@pytest.mark.skipif(not MANY, reason="one attention is assembled in the ordinary run")
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("features", [64, 128])
def test_attention_of_threads(features: int, arch: str) -> None:
    """Most are multiply-adds; operands come as four elements at a time."""
    text = ATTENTION.format(d=features, dtype="float32", mask="")
    loop = only_kernel(parse(text), arch).hottest_loop("FFMA")
    assert loop is not None
    assert loop.count("FFMA") >= 0.6 * len(loop.instructions)
    assert loop.count("LDS.128") == loop.count("LDS")


CONVOLUTION = """
@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((8, 56, 56, 64), "float16"), w: R.Tensor((64, 3, 3, 64), "float16")
    ):
        with R.dataflow():
            y = R.nn.conv2d(
                x, w, padding=1, data_layout="NHWC", kernel_layout="OHWI"
            )
            R.output(y)
        return y
"""


@pytest.mark.skipif(not MANY, reason="one product is assembled in the ordinary run")
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_scheduled_convolution(arch: str) -> None:
    """All copies are of 16 bytes, and zeros where the image is padded."""
    found = only_kernel(parse(CONVOLUTION), arch)
    assert found.count("HMMA") > 0
    assert found.count("LDGSTS.E.BYPASS.128") == found.count("LDGSTS") > 0
    assert found.count("LDG.") == 0


TRANSPOSE = "R.permute_dims(x)"
BOUND_BY_MEMORY = {
    "R.nn.relu(R.add(x, b))": ("float32", "float16"),
    "R.nn.softmax(x, axis=-1)": ("float32", "float16"),
    "R.nn.layer_norm(x, b, b, axes=[-1])": ("float32", "float16"),
    TRANSPOSE: ("float32", "float16", "int8"),
    "R.sum(x, axis=[1])": ("float32", "float16"),
    "R.sum(x, axis=[0])": ("float32",),
}
"""Programs that are one kernel each, and the dtypes of their elements."""


def bound_by_memory() -> list[tuple[str, str]]:
    """All of them in a long run, else the first dtype of most."""
    found = [
        (value, dtype) for value, types in BOUND_BY_MEMORY.items() for dtype in types
    ]
    if MANY:
        return found
    return [
        (value, dtype)
        for value, dtype in found
        if "axis=[0]" not in value
        and (dtype == "float32" or (value, dtype) == (TRANSPOSE, "float16"))
    ]


@pytest.mark.parametrize(("value", "dtype"), bound_by_memory())
def test_memory_is_accessed_by_16_bytes(value: str, dtype: str) -> None:
    """What is bound by memory is one kernel, with accesses as wide as they can be, and
    enough of them under way to hide the latency of memory."""
    module = parse(MODEL.format(value=value, dtype=dtype))
    found, threads = kernel_and_threads(module, "sm_90")
    assert found.count("LDG.E.128") == found.count("LDG") > 0
    # Sums are few.
    if "R.sum" not in value:
        assert found.count("STG.E.128") == found.count("STG") > 0
    bound = estimate(found, threads)
    assert bound is not None
    assert bound.bytes_in_flight >= 32 << 10


SKINNY = """
@T.prim_func
def main(A: T.Buffer((4, 4096), "float16"), B: T.Buffer({shape}, "float16"),
         C: T.Buffer((4, 4096), "float16")):
    T.func_attr({{"global_symbol": "main", "tir.noalias": True}})
    for i, j, t in T.grid(4, 4096, 4096):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, t])
            with T.init():
                C[vi, vj] = T.float16(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[{at}]
"""


@pytest.mark.parametrize("at", ["vj, vk", "vk, vj"] if MANY else ["vj, vk"])
def test_skinny_product(at: str) -> None:
    """A weight is read once for 4 vectors: 8 accesses of 16 bytes are under way."""
    module = parse(SKINNY.format(shape=(4096, 4096), at=at))
    GPUSchedule("cuda -arch=sm_90").apply(new_context(), module)
    found, threads = kernel_and_threads(module, "sm_90")
    loop = found.hottest_loop("LDG")
    assert loop is not None
    bound = estimate(found, threads)
    assert bound is not None
    assert bound.bytes_in_flight >= 32 << 10
    assert loop.count("LDG.E.128") == (16 if at == "vj, vk" else 4)
    assert loop.count("LDG") == (16 if at == "vj, vk" else 8)
    assert loop.count("FFMA") == (256 if at == "vj, vk" else 128)


# ---- all that the schedule may choose ----

TILES: dict[type[TimeModel], list[tuple[str, bool]]] = {
    TimeModel: [
        ("float16", True),
        ("float16", False),
        ("bfloat16", False),
        ("int8", True),
        ("int8", False),
        ("float32", True),
        ("float32", False),
    ],
    ThreadModel: [
        ("float32", True),
        ("float32", False),
        ("float16", False),
        ("int8", False),
    ],
    GroupModel: [("float16", False), ("bfloat16", False)],
}
"""Dtypes, and whether B has its terms next to each other, of products by warps, threads
and warpgroups, whose tables of tiles have the registers."""
VECTORS = {
    ("float16", True): {1: 40, 4: 112, 8: 128},
    ("float16", False): {1: 40, 4: 80, 8: 120},
    ("float32", True): {1: 40, 4: 80, 8: 128},
    ("float32", False): {1: 40, 4: 64, 8: 80},
}
"""The same of matrices with so many vectors."""
OTHERS = {
    "R.nn.relu(R.add(x, b))": {1024: 24},
    "R.nn.softmax(x, axis=-1)": {1024: 64, 8192: 64, 16384: 88},
    "R.nn.layer_norm(x, b, b, axes=[-1])": {4096: 40},
    "R.sum(x, axis=[1])": {4096: 32},
    "R.sum(x, axis=[0])": {4096: 32},
    "R.permute_dims(x)": {16384: 56},
}
"""Registers of programs on rows of so many elements."""
FEATURES = {
    "float16": {64: 160, 128: 232, 256: 255},
    "float32": {64: 128, 128: 128, 256: 128},
}
"""Registers of attention of so many features."""


class Candidate(NamedTuple):
    """A program, and the registers of its kernel."""

    name: str
    registers: int
    text: str
    options: dict[str, Any] | None
    """Of the schedule, if it is applied here."""
    model: type[TimeModel] = TimeModel
    tile: Tile | None = None
    """The only one to choose, if it has tiles."""


def candidates() -> list[Candidate]:
    found: list[Candidate] = []
    for model, dtypes in TILES.items():
        for dtype, turned in dtypes:
            is_threads = model is ThreadModel
            options = {"allow_tf32": dtype == "float32", "tensor_cores": not is_threads}
            text = product_text(dtype, turned=turned)
            for tile in model.TILES:
                name = f"{model.__name__} {tile.rows} {tile.columns} {dtype} {turned}"
                most = tile.registers
                found.append(Candidate(name, most, text, options, model, tile))
    for (dtype, turned), counts in VECTORS.items():
        for count, most in counts.items():
            text = product_text(dtype, turned=turned).replace(
                "C: T.Buffer((4096,", f"C: T.Buffer(({count},"
            )
            text = text.replace("A: T.Buffer((4096,", f"A: T.Buffer(({count},")
            text = text.replace("T.grid(4096,", f"T.grid({count},")
            found.append(Candidate(f"{count} vectors {dtype} {turned}", most, text, {}))
    for value, columns in OTHERS.items():
        for size, most in columns.items():
            for dtype in ("float32", "float16"):
                text = MODEL.format(value=value, dtype=dtype)
                text = text.replace("512, 1024", f"16384, {size}")
                text = text.replace("(1024,)", f"({size},)")
                found.append(Candidate(f"{value} {size} {dtype}", most, text, None))
    for dtype, features in FEATURES.items():
        for count, most in features.items():
            text = ATTENTION.format(d=count, dtype=dtype, mask="")
            found.append(Candidate(f"attention {count} {dtype}", most, text, None))
    return found


CANDIDATES = candidates()
CHOSEN = [
    each for each in CANDIDATES if MANY or each.name == "TimeModel 64 64 int8 False"
]
"""In an ordinary run, that of which `ptxas` spills registers if it is told nothing."""


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("candidate", CHOSEN, ids=lambda each: each.name)
def test_candidates(
    candidate: Candidate, arch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No candidate spills or has a stack; the registers of each are known.

    What its blocks have of a multiprocessor follows from them.
    """
    if candidate.model is GroupModel:
        if arch == "sm_80":
            pytest.skip("warpgroups are of sm_90a")
        arch = "sm_90a"
    if candidate.tile is not None:
        monkeypatch.setattr(candidate.model, "TILES", (candidate.tile,))
    module, context = parse(candidate.text), new_context()
    if candidate.options is not None:
        GPUSchedule(f"cuda -arch={arch}", **candidate.options).apply(context, module)
    kernels = lower_to_driver_calls(context, module, arch)
    text = ptx(llvm_ir(context, kernels, "nvptx", arch), arch)
    for found in machine_code(text, arch).values():
        assert (found.spill_bytes, found.stack_bytes) == (0, 0)
        assert found.count("LDL") == found.count("STL") == 0
        assert found.registers <= candidate.registers
        if candidate.tile is not None:
            assert block_sizes(text)[found.name] == candidate.tile.threads


def test_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(paths.EXAMPLES / "kernels" / "matmul_tile.mlir")
    assert main(["estimate", file, "--arch", "sm_90"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("@matmul_tile_kernel for sm_90: 256 threads a block")
    assert "0 bytes spilled, 0 bytes of stack" in lines[0]
    assert lines[1].startswith("  a multiprocessor holds 8 blocks, 64 warps")
    assert "upper bound: " in lines[4]
    assert "of the f32 peak" in lines[4]


def test_errors_of_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(paths.EXAMPLES / "kernels" / "matmul_tile.mlir")
    assert main(["estimate", file, "--arch", "sm_70"]) == 1
    assert "no rates are known of sm_70" in capsys.readouterr().err
    assert main(["estimate", str(paths.EXAMPLES / "scale.mlir")]) == 1
    assert "directly accessed by host memory" in capsys.readouterr().err
