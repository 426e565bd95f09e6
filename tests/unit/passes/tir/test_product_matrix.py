"""Who multiplies what: every writer of products, by dtype and by size, in the simulator.

`MATRIX` is the whole table. A row is a writer of the GPU schedule that is asked for, with
the sizes of one kind, and a cell the one that writes the kernel: another one where the
first does not cover the case, with the reason in `NOTES`. Each cell is a program that is
scheduled, run as threads up to the last barrier, where races are errors, and compared
with numpy; with XDSL_TVM_FUZZ the short ones are compared after each later pass, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from support.attention import attention_module, exact_attention
from support.gpu_schedules import MANY, kernel_passes
from xdsl.dialects.builtin import ModuleOp, StringAttr

from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.infra import Sequential
from xdsl_tvm.passes.relax.one_pass_attention import OnePassAttention
from xdsl_tvm.passes.tir.gpu_schedule import GPUSchedule
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse

Array: TypeAlias = np.ndarray[Any, Any]

MATRIX = """
writer       size      float32    tf32       float16    bfloat16   int8
threads      full      threads    threads/1  threads    threads    threads
threads      ragged    threads    threads/1  threads    threads    threads
threads      short     threads    threads/1  threads    threads    threads
threads      symbolic  threads    threads/1  threads    threads    threads
warps        full      threads/2  warps      warps      warps      warps
warps        ragged    threads/2  warps      warps      warps      warps
warps        short     threads/2  warps      warps      warps      warps
warps        symbolic  threads/2  warps      warps      warps      warps
warpgroups   full      threads/2  warps/3    warpgroups warpgroups warps/3
warpgroups   ragged    threads/2  warps/3    warpgroups warpgroups warps/3
warpgroups   short     threads/2  warps/3    warps/4    warps/4    warps/3
warpgroups   symbolic  threads/2  warps/3    warpgroups warpgroups warps/3
warpgroups   terms     threads/2  warps/3    warps/5    warps/5    warps/3
skinny       full      skinny     skinny/6   skinny     skinny     skinny
skinny       ragged    skinny     skinny/6   skinny     skinny     skinny
skinny       short     columns/7  columns/7  columns/7  columns/7  columns/7
skinny       symbolic  skinny     skinny/6   skinny     skinny     skinny
split        full      threads/2  warps      warps      warps      warps
split        ragged    threads/2  warps      warps      warps      warps
split        short     threads/2  warps      warps      warps      warps
split        symbolic  threads/8  warps/8    warps/8    warps/8    warps/8
convolution  full      threads/2  warps      warps      warps      warps
convolution  ragged    threads/2  warps      warps      warps      warps
convolution  short     threads/2  warps      warps      warps      warps
convolution  symbolic  threads/2  warps      warps      warps      warps
attention    full      threads/2  threads/9  warps      warps      none/10
attention    ragged    threads/2  threads/9  warps      warps      none/10
attention    short     threads/2  threads/9  warps      warps      none/10
attention    symbolic  threads/2  threads/9  warps      warps      none/10
"""
NOTES = {
    1: "only tensor cores have tf32: without them, f32 is multiplied as it is",
    2: "tensor cores multiply f32 where tf32 is allowed only",
    3: "warpgroups multiply f16 and bf16; others are done as on sm_80",
    4: "with fewer than 65 terms, a ring of stages is not worth its barriers",
    5: "rows of an unknown number of terms may begin at no multiple of 16 bytes",
    6: "a matrix with few vectors is bound by memory: threads multiply f32 as it is",
    7: "fewer than 16 terms are an ordinary sum, whose threads share columns",
    8: "how many blocks there are is not known, so that terms are not split",
    9: "attention has no option for tf32",
    10: "attention on integers is no kernel: the operator stays",
}
TOLERANCES = {
    "float32": 1e-5,
    "tf32": 1e-5,
    "float16": 8e-3,
    "bfloat16": 8e-2,
    "int8": 0.0,
}
DEFAULT = {
    ("warps", "symbolic", "bfloat16"),
    ("warpgroups", "symbolic", "float16"),
    ("convolution", "ragged", "float16"),
    ("convolution", "short", "int8"),
}
"""What the ordinary run has; other tests have others of small sizes."""


@dataclass(frozen=True)
class Cell:
    """A program, and who is to write its kernel."""

    writer: str
    size: str
    dtype: str
    found: str
    note: int | None

    @property
    def memory(self) -> np.dtype[Any]:
        """The type of the operands."""
        if self.dtype == "bfloat16":
            return np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
        return np.dtype("float32" if self.dtype == "tf32" else self.dtype)

    @property
    def sums(self) -> str:
        """The type of the results."""
        return "int32" if self.dtype == "int8" else self.memory.name

    def array(self, *shape: int) -> Array:
        rng = np.random.default_rng(sum(shape))
        if self.dtype == "int8":
            return rng.integers(-9, 10, shape).astype("int8")
        return rng.uniform(-1, 1, shape).astype(self.memory)

    def exact(self, array: Array) -> Array:
        """What is multiplied, in double precision."""
        if self.dtype == "tf32" and self.found == "warps":
            bits = array.view(np.uint32) & np.uint32(0xFFFFE000)
            array = bits.view(np.float32)
        return array.astype("f8")

    def assert_equal(self, found: Array, expected: Array) -> None:
        bound = TOLERANCES[self.dtype]
        np.testing.assert_allclose(found.astype("f8"), expected, bound, bound)


def cells() -> Sequence[Cell]:
    header, *lines = (line.split() for line in MATRIX.strip().splitlines())
    result: list[Cell] = []
    for writer, size, *row in lines:
        for dtype, text in zip(header[2:], row, strict=True):
            found, _, note = text.partition("/")
            result.append(Cell(writer, size, dtype, found, int(note) if note else None))
    return result


CELLS = cells()
CHOSEN = [c for c in CELLS if MANY or (c.writer, c.size, c.dtype) in DEFAULT]


# ---- programs ----

PRODUCT = """
@T.prim_func
def main(pA: T.handle, pB: T.handle, pC: T.handle):
    T.func_attr({{"global_symbol": "main", "tir.noalias": True}})
    {symbols}
    A = T.match_buffer(pA, ({m}, {k}), "{dtype}")
    B = T.match_buffer(pB, {b}, "{dtype}")
    C = T.match_buffer(pC, ({m}, {n}), "{sums}")
    for i, j, t in T.grid({m}, {n}, {k}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, t])
            with T.init():
                C[vi, vj] = T.Cast("{sums}", 0)
            C[vi, vj] = C[vi, vj] + T.Cast("{sums}", A[vi, vk]) * T.Cast(
                "{sums}", B[{at}])
"""
EXTENTS = {"m": 20, "n": 18, "k": 37}
"""What symbols are when a program runs."""

SMALL = GPUSchedule("cuda", threads=64, tile=16, tile_terms=8, stages=2)
CORES = GPUSchedule("cuda -arch=sm_80", tensor_core_tile=32, threads=128, tile=16)
SCHEDULES = {
    "threads": SMALL,
    "warps": CORES,
    "warpgroups": replace(
        CORES, target="cuda -arch=sm_90a", warpgroup_tile=64, multiprocessors=1
    ),
    "skinny": replace(CORES, threads=64),
    "split": replace(CORES, splits=3, stages=2),
    "convolution": replace(CORES, stages=3),
    "attention": CORES,
}
SIZES: Mapping[tuple[str, str], tuple[Any, Any, Any]] = {
    ("threads", "full"): (16, 32, 16),
    ("threads", "ragged"): (17, 20, 9),
    ("threads", "short"): (16, 16, 4),
    ("threads", "symbolic"): ("m", "n", "k"),
    ("warps", "full"): (32, 32, 128),
    ("warps", "ragged"): (33, 20, 70),
    ("warps", "short"): (32, 16, 8),
    ("warps", "symbolic"): ("m", "n", "k"),
    ("warpgroups", "full"): (64, 64, 128),
    ("warpgroups", "ragged"): (72, 40, 200),
    ("warpgroups", "short"): (64, 64, 64),
    ("warpgroups", "symbolic"): ("m", 40, 72),
    ("warpgroups", "terms"): ("m", "n", "k"),
    ("skinny", "full"): (4, 32, 64),
    ("skinny", "ragged"): (3, 21, 50),
    ("skinny", "short"): (3, 20, 15),
    ("skinny", "symbolic"): (3, "n", "k"),
    ("split", "full"): (32, 32, 192),
    ("split", "ragged"): (17, 20, 180),
    ("split", "short"): (16, 16, "three steps"),
    ("split", "symbolic"): ("m", "n", "k"),
}
"""Rows, columns and terms. B is [N, K] where these are full or symbolic, else [K, N].

Three steps are of 64 bytes of terms each, but for 4 terms.
"""


@dataclass
class Program:
    """A module, its arguments but for the result, and the result."""

    module: ModuleOp
    arguments: Sequence[Array]
    expected: Array
    name: str = "main"


def product(cell: Cell) -> Program:
    names = SIZES[cell.writer, cell.size]
    if names[2] == "three steps":
        names = (*names[:2], 3 * 64 // cell.memory.itemsize - 4)
    m, n, k = (each if isinstance(each, int) else EXTENTS[each] for each in names)
    turned = cell.size in ("full", "symbolic")
    symbols = [each for each in names if isinstance(each, str)]
    text = PRODUCT.format(
        **dict(zip("mnk", names, strict=True)),
        b=f"({names[1]}, {names[2]})" if turned else f"({names[2]}, {names[1]})",
        at="vj, vk" if turned else "vk, vj",
        dtype=cell.memory.name,
        sums=cell.sums,
        symbols="\n    ".join(f"{each} = T.int32()" for each in symbols),
    )
    a, b = cell.array(m, k), cell.array(*((n, k) if turned else (k, n)))
    exact = cell.exact(a) @ cell.exact(b.T if turned else b)
    return Program(parse(text), [a, b], exact)


CONVOLUTION = """
@T.prim_func
def main(pA: T.handle, B: T.Buffer(({o}, {w}, {w}, {c}), "{dtype}"), pC: T.handle):
    T.func_attr({{"global_symbol": "main", "tir.noalias": True}})
    {symbol}
    A = T.match_buffer(pA, ({n}, {s}, {s}, {c}), "{dtype}")
    C = T.match_buffer(pC, ({n}, {r}, {r}, {o}), "{sums}")
    {padding}
    for b, y, x, o, p, q, c in T.grid({n}, {r}, {r}, {o}, {w}, {w}, {c}):
        with T.block("C"):
            vb, vy, vx, vo, vp, vq, vc = T.axis.remap("SSSSRRR", [b, y, x, o, p, q, c])
            with T.init():
                C[vb, vy, vx, vo] = T.Cast("{sums}", 0)
            C[vb, vy, vx, vo] = C[vb, vy, vx, vo] + T.Cast(
                "{sums}", {image}[vb, vy * {stride} + vp, vx * {stride} + vq, vc]
            ) * T.Cast("{sums}", B[vo, vp, vq, vc])
"""
PADDING = """P = T.alloc_buffer(({n}, {t}, {t}, {c}), "{dtype}")
    for b, y, x, c in T.grid({n}, {t}, {t}, {c}):
        with T.block("P"):
            vb, vy, vx, vc = T.axis.remap("SSSS", [b, y, x, c])
            P[vb, vy, vx, vc] = T.if_then_else(
                1 <= vy and vy < {end} and 1 <= vx and vx < {end},
                A[vb, vy - 1, vx - 1, vc], T.Cast("{dtype}", 0))"""
IMAGES: Mapping[str, tuple[int | str, int, int, int, int, int]] = {
    "full": (2, 4, 32, 32, 3, 1),
    "ragged": (1, 7, 12, 20, 3, 2),
    "short": (1, 5, 8, 16, 1, 1),
    "symbolic": ("n", 4, 8, 16, 3, 1),
}
"""Images, their side, channels, results, side of windows, and steps."""


def convolution(cell: Cell) -> Program:
    images, s, c, o, w, stride = IMAGES[cell.size]
    n = images if isinstance(images, int) else 2
    pad = w // 2
    t = s + 2 * pad
    r = (t - w) // stride + 1
    names = {"n": images, "s": s, "c": c, "o": o, "w": w, "stride": stride, "t": t}
    names |= {"r": r, "end": s + 1, "dtype": cell.memory.name, "sums": cell.sums}
    symbol = "" if isinstance(images, int) else "n = T.int32()"
    text = CONVOLUTION.format(
        **names,
        symbol=symbol,
        image="P" if pad else "A",
        padding=PADDING.format(**names) if pad else "",
    )
    a, b = cell.array(n, s, s, c), cell.array(o, w, w, c)
    padded = np.pad(cell.exact(a), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    windows = sliding_window_view(padded, (w, w), axis=(1, 2))[:, ::stride, ::stride]
    exact = np.einsum("nhwcij,oijc->nhwo", windows, cell.exact(b))
    return Program(parse(text), [a, b], exact)


ATTENTION = {
    "full": ((1, 64, 1, 32), (1, 64, 1, 32), (1, 64, 1, 32)),
    "ragged": ((1, 20, 2, 24), (1, 70, 1, 24), (1, 70, 2, 40)),
    "short": ((1, 5, 1, 8), (1, 3, 1, 8), (1, 3, 1, 8)),
    "symbolic": ((1, 20, 1, 32), (1, 40, 1, 32), (1, 40, 1, 32)),
}


def attention(cell: Cell) -> Program:
    """The kernel that is made of the operator."""
    arrays = [cell.array(*shape) for shape in ATTENTION[cell.size]]
    module = attention_module(arrays, symbolic=cell.size == "symbolic")
    OnePassAttention(target=CORES.target, least_queries=1).apply(new_context(), module)
    if cell.found != "none":
        for op in list(module.ops):
            if isinstance(op, relax.FuncOp):
                op.detach()
            else:
                # Only functions that others call have a host.
                op.attributes["global_symbol"] = StringAttr("one_pass_attention")
    exact = exact_attention([each.astype("f8") for each in arrays])
    return Program(module, arrays, exact, "one_pass_attention")


PROGRAMS: Mapping[str, Callable[[Cell], Program]] = {
    "convolution": convolution,
    "attention": attention,
}


MARKS = {
    "warpgroups": r'"ptx_wgmma_mma_async"',
    "warps": r'"ptx_mma"',
    "none": r"relax\.nn\.attention",
    "skinny": r'alloc_buffer "w"',
    "threads": r'alloc_buffer "(a_tile|keys)"',
    "columns": r'alloc_buffer "cross"',
}
"""What only the kernels of a writer have."""


def writer_of(module: ModuleOp) -> str:
    text = str(module)
    return next((name for name, mark in MARKS.items() if re.search(mark, text)), text)


def is_split(module: ModuleOp) -> bool:
    return "_partial" in str(module)


def test_all_cells_have_their_reason() -> None:
    """Another writer than that of the row has a note, and each note is of some cell."""
    rows = {"threads", "warps", "warpgroups", "skinny"}
    for cell in CELLS:
        assert cell.writer not in rows or cell.note or cell.found == cell.writer
    assert {cell.note for cell in CELLS} == {None, *NOTES}
    assert {(c.writer, c.size) for c in CELLS} >= {*SIZES}
    assert {(c.writer, c.size, c.dtype) for c in CHOSEN} >= DEFAULT


@pytest.mark.parametrize("cell", CHOSEN, ids=lambda c: f"{c.writer}-{c.size}-{c.dtype}")
def test_cell(cell: Cell) -> None:
    program = PROGRAMS.get(cell.writer, product)(cell)
    module, context = program.module, new_context()
    schedule = replace(SCHEDULES[cell.writer], allow_tf32=cell.dtype == "tf32")
    schedule.apply(context, module)
    module.verify()
    assert writer_of(module) == cell.found
    assert is_split(module) == (cell.writer == "split" and cell.note != 8)
    if cell.found == "none":
        return
    first, others = kernel_passes(schedule)
    # The schedule, the first of them, has been applied.
    Sequential(first.passes[1:]).apply(context, module)
    result = np.full(program.expected.shape, 1, cell.sums)
    interpret(module)[program.name](*program.arguments, result)
    cell.assert_equal(result, program.expected)
    if not MANY or cell.size != "short":
        return
    inputs = {program.name: [[*program.arguments, np.zeros_like(result)]]}
    bound = TOLERANCES[cell.dtype]
    assert check_semantics(module, others, inputs, tolerance=bound).checked
