"""Builtins of GPUs on the road to PTX.

Each kernel computes the same in the simulator of threads on TIR and, lowered, in that of
the llvm dialect, and what numpy computes; ptxas judges the text where it is.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from support.gpu_schedules import MANY
from support.ir import parse
from support.ptx_road import assembled, emitted, run_lowered
from support.warp_exchanges import NUMPY, Exchange
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_tvm.dialects.nvvm.formats import (
    F64,
    FAMILIES,
    Format,
    Shape,
    registers_of,
    shape_text,
)
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.lowering.llvm_ir import llvm_ir
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime import llvm_jit
from xdsl_tvm.runtime.llvm_jit import LocalMemoryWarning
from xdsl_tvm.tools.cli import main

NUMBERS = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256)


def kernel(buffers: dict[str, str], body: str, threads: int = 32) -> str:
    """A kernel of one block, with a buffer for each name."""
    params = ", ".join(f"%h{name}: !tir.handle" for name in buffers)
    lines = [
        *(
            f'%{name} = tir.match_buffer "{name}" %h{name} : !tir.buffer<{kind}>'
            for name, kind in buffers.items()
        ),
        *(
            f"%p{name} = tir.data %{name} : !tir.ptr<{kind.split('x')[-1]}>"
            for name, kind in buffers.items()
        ),
        *(f"%c{n} = tir.const {n} : i32" for n in NUMBERS),
        '%row = tir.string "row"',
        '%col = tir.string "col"',
        '%row_major = tir.string "row_major"',
        '%col_major = tir.string "col_major"',
        '%shared = tir.string "shared"',
        "%no = tir.const false",
        f"%threads = tir.const {threads} : i32",
    ]
    return f"""
    tir.func @f({params}) attributes {{global_symbol = "f"}} {{
      {chr(10).join(lines)}
      tir.launch_thread %t = "threadIdx.x" to %threads {{
        {body}
      }}
    }}"""


def check(
    text: str,
    data: Sequence[Any],
    expected: Any,
    folder: Path,
    *,
    threads: int = 32,
    arch: str = "sm_80",
    order: Sequence[int] | None = None,
) -> str:
    """The last array is `expected` after both runs; the PTX.

    `order` is that of the kernel's parameters, where it is not the function's.
    """
    simulated = [each.copy() for each in data]
    interpret(parse(text))["f"](*simulated)
    np.testing.assert_array_equal(simulated[-1], expected)
    lowered = [each.copy() for each in data]
    given = lowered if order is None else [lowered[place] for place in order]
    run_lowered(parse(text), "f_kernel", 1, (threads, 1, 1), given, arch=arch)
    np.testing.assert_array_equal(lowered[-1], expected)
    return assembled(parse(text), folder, arch)


def allocated(name: str, size: int, dtype: str, scope: str = "local") -> str:
    return f"""
    %{name} = tir.allocate [{size}] : !tir.ptr<{dtype}, "{scope}">
    %{name.upper()} = tir.decl_buffer "{name}" %{name} :
        !tir.buffer<{size}x{dtype}, "{scope}">"""


def copied(n: str, count: int, source: str, target: str, dtype: str) -> str:
    """Elements of the thread, `count` of them in a row; `%i` and `%q` are indices."""
    return f"""
    %n{n} = tir.const {count} : i32
    tir.for %i{n} = %c0 to %n{n} unrolled {{
      %w{n} = tir.mul %t, %n{n} : i32
      %q{n} = tir.add %w{n}, %i{n} : i32
      %v{n} = tir.load %{source} : {dtype}
      tir.store %v{n}, %{target} : {dtype}
    }}"""


def strings(**texts: str) -> str:
    return "\n".join(f'%{name} = tir.string "{text}"' for name, text in texts.items())


# ---- fragments ----

WMMA = {
    "f16": ("f16", "f32", np.float16, np.float32),
    "half sums": ("f16", "f16", np.float16, np.float16),
    "bf16": ("bf16", "f32", ml_dtypes.bfloat16, np.float32),
    "i8": ("i8", "i32", np.int8, np.int32),
    "ui8": ("ui8", "i32", np.uint8, np.int32),
}


def fragments(
    shape: tuple[int, int, int], factor: str, total: str, layout: str, fill: str
) -> str:
    m, n, k = shape
    sizes = "".join(
        f"%{name} = tir.const {extent} : i32\n"
        for name, extent in zip(("m", "n", "k"), shape, strict=True)
    )
    ab, c = (f'!tir.ptr<{dtype}, "wmma.' for dtype in (factor, total))
    load = f"({ab}{{}}>, i32, i32, i32, i32, !tir.ptr<{factor}>, i32, !tir.handle)"
    return kernel(
        {"A": f"{m * k}x{factor}", "B": f"{k * n}x{factor}", "C": f"{m * n}x{total}"},
        f"""
        {sizes}
        %a = tir.allocate [{m * k}] : {ab}matrix_a">
        %b = tir.allocate [{k * n}] : {ab}matrix_b">
        %c = tir.allocate [{2 * m * n}] : {c}accumulator">
        %x = tir.call "tvm_load_matrix_sync"(%a, %m, %n, %k, %c0, %pA, %k, %row_major) :
            {load.format('matrix_a"')} -> !tir.handle
        %y = tir.call "tvm_load_matrix_sync"(%b, %m, %n, %k, %c0, %pB,
            %{"k" if layout == "col" else "n"}, %{layout}_major) :
            {load.format('matrix_b"')} -> !tir.handle
        %zero = tir.const {fill} : {total}
        %z = tir.call "tvm_fill_fragment"(%c, %m, %n, %k, %c1, %zero) :
            ({c}accumulator">, i32, i32, i32, i32, {total}) -> !tir.handle
        %w = tir.call "tvm_mma_sync"(%c, %c0, %a, %c0, %b, %c0, %c, %c1) :
            ({c}accumulator">, i32, {ab}matrix_a">, i32, {ab}matrix_b">, i32,
            {c}accumulator">, i32) -> !tir.handle
        %s = tir.call "tvm_store_matrix_sync"(%c, %m, %n, %k, %c0, %pC, %n, %row_major) :
            ({c}accumulator">, i32, i32, i32, i32, !tir.ptr<{total}>, i32, !tir.handle)
            -> !tir.handle
        """,
    )


SOME_FRAGMENTS = [
    ((16, 16, 16), "f16", "col"),
    ((32, 8, 16), "half sums", "row"),
    ((8, 32, 16), "i8", "col"),
    ((32, 8, 16), "bf16", "row"),
]
ALL_FRAGMENTS = list(
    itertools.product(((16, 16, 16), (32, 8, 16), (8, 32, 16)), WMMA, ("row", "col"))
)


@pytest.mark.parametrize(
    ("shape", "kind", "layout"), ALL_FRAGMENTS if MANY else SOME_FRAGMENTS
)
def test_fragments(
    shape: tuple[int, int, int], kind: str, layout: str, tmp_path: Path
) -> None:
    factor, total, narrow, wide = WMMA[kind]
    m, n, k = shape
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 5, sides).astype(narrow) for sides in ((m, k), (k, n)))
    text = fragments(shape, factor, total, layout, "2.0" if "f" in total else "2")
    given = (b if layout == "row" else b.T).ravel()
    product = (a.astype(wide) @ b.astype(wide) + 2).ravel()
    ptx = check(text, [a.ravel(), given, np.zeros(m * n, wide)], product, tmp_path)
    assert f"wmma.mma.sync.aligned.row.{layout}.m{m}n{n}k{k}" in ptx


PACKED = {
    "i4": ((8, 8, 32), 4, "wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4"),
    "ui4": ((8, 8, 32), 4, "wmma.mma.sync.aligned.row.col.m8n8k32.s32.u4.u4"),
    "i1 xor": ((8, 8, 128), 1, "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128"),
    "i1 and": ((8, 8, 128), 1, "wmma.mma.and.popc.sync.aligned.row.col.m8n8k128"),
}
"""Elements of which words of memory hold several."""


def packed_fragments(
    shape: tuple[int, int, int],
    factor: str,
    operator: str,
    words: int,
    memory: str = "i32",
) -> str:
    """A product; rows of A and columns of B are twice as far apart as they need be."""
    m, n, k = shape
    a, b = (f'!tir.ptr<{factor}, "wmma.matrix_{name}">' for name in "ab")
    c = '!tir.ptr<i32, "wmma.accumulator">'
    handle = "!tir.handle"
    moved = f"i32, i32, i32, i32, !tir.ptr<i32>, i32, {handle}) -> {handle}"
    name, more, kind = "tvm_mma_sync", "", ""
    if operator:
        name, more, kind = "tvm_bmma_sync", ", %op", f", {handle}"
    return kernel(
        {"A": f"{words}x{memory}", "B": f"{words}xi32", "C": f"{m * n}xi32"},
        f"""
        {strings(op=operator or "xor")}
        %k = tir.const {k} : i32
        %step = tir.const {2 * k} : i32
        %a = tir.allocate [{m * k}] : {a}
        %b = tir.allocate [{k * n}] : {b}
        %c = tir.allocate [{m * n}] : {c}
        %x = tir.call "tvm_load_matrix_sync"(%a, %c8, %c8, %k, %c0, %pA, %step,
            %row_major) : ({a}, {moved.replace("i32>", f"{memory}>")}
        %y = tir.call "tvm_load_matrix_sync"(%b, %c8, %c8, %k, %c0, %pB, %step,
            %col_major) : ({b}, {moved}
        %z = tir.call "tvm_load_matrix_sync"(%c, %c8, %c8, %k, %c0, %pC, %c8,
            %row_major) : ({c}, {moved}
        %w = tir.call "{name}"(%c, %c0, %a, %c0, %b, %c0, %c, %c0{more}) :
            ({c}, i32, {a}, i32, {b}, i32, {c}, i32{kind}) -> {handle}
        %sync = tir.call "tvm_storage_sync"(%shared) : ({handle}) -> i32
        %s = tir.call "tvm_store_matrix_sync"(%c, %c8, %c8, %k, %c0, %pC, %c8,
            %row_major) : ({c}, {moved}
        """,
    )


@pytest.mark.parametrize("kind", PACKED if MANY else ["i4", "i1 and"])
def test_packed_fragments(kind: str, tmp_path: Path) -> None:
    shape, bits, instruction = PACKED[kind]
    factor, _, operator = kind.partition(" ")
    m, n, k = shape
    rng = np.random.default_rng(0)
    low, high = {"i4": (-8, 8), "ui4": (0, 16)}.get(factor, (0, 2))
    a, b = (rng.integers(low, high, (rows, 2 * k)) for rows in (m, n))
    c = rng.integers(-9, 9, (m, n)).astype(np.int32)
    each = 32 // bits
    words = [
        ((x.reshape(-1, each) & ((1 << bits) - 1)) << bits * np.arange(each)).sum(1)
        for x in (a, b)
    ]
    left, right = a[:, :k], b[:, :k]
    if operator:
        combine = np.bitwise_xor if operator == "xor" else np.bitwise_and
        expected = combine(left[:, None], right[None]).sum(2) + c
    else:
        expected = left @ right.T + c
    text = packed_fragments(shape, factor, operator, len(words[0]))
    data = [x.astype(np.uint32).view(np.int32) for x in words]
    ptx = check(text, [*data, c.ravel()], expected.ravel(), tmp_path)
    assert instruction in ptx


@pytest.mark.parametrize(
    ("kind", "old", "new", "message"),
    [
        (
            "i4",
            "%pA, %step,\n            %row",
            "%pA, %step,\n            %col",
            "by row",
        ),
        ("i4", "memory", "i4", "loaded from words of 32 bits, 8 elements in each"),
        ("i4", "tvm_mma_sync", "tvm_bmma_sync", "bits are multiplied by tvm_bmma_sync"),
        ("i1 xor", "tvm_bmma_sync", "tvm_mma_sync", "operands|tvm_bmma_sync"),
    ],
)
def test_packed_fragments_refused(kind: str, old: str, new: str, message: str) -> None:
    shape, _, _ = PACKED[kind]
    factor, _, operator = kind.partition(" ")
    memory = new if old == "memory" else "i32"
    text = packed_fragments(shape, factor, operator, 128, memory).replace(old, new)
    with pytest.raises((PassFailedException, VerifyException), match=message):
        emitted(parse(text))


def test_bits_need_an_architecture() -> None:
    shape, _, _ = PACKED["i1 and"]
    text = packed_fragments(shape, "i1", "and", 64)
    with pytest.raises(PassFailedException, match="needs sm_80 or later, not sm_75"):
        emitted(parse(text), "sm_75")
    assert "xor.popc" in emitted(parse(text.replace('"and"', '"xor"')), "sm_75")


# ---- products ----


def product(
    call: str,
    shape: str,
    layouts: tuple[str, str],
    formats: Sequence[str],
    dtypes: Sequence[str],
    counts: Sequence[int],
    more: str = "",
    types: str = "",
    before: str = "",
    buffers: dict[str, str] | None = None,
) -> str:
    """A product of registers, which lanes load and store in a row."""
    names = zip("abc", dtypes, counts, strict=True)
    registers = "".join(allocated(f"r{name}", n, dtype) for name, dtype, n in names)
    a, b, c = dtypes
    na, nb, nc = counts
    return kernel(
        {
            **(buffers or {}),
            "A": f"{32 * na}x{a}",
            "B": f"{32 * nb}x{b}",
            "C": f"{32 * nc}x{c}",
        },
        f"""
        {strings(shape=shape, la=layouts[0], lb=layouts[1])}
        {strings(fa=formats[0], fb=formats[1], fc=formats[2])}
        {registers}
        {before}
        {copied("a", na, "A[%qa]", "RA[%ia]", a)}
        {copied("b", nb, "B[%qb]", "RB[%ib]", b)}
        {copied("c", nc, "C[%qc]", "RC[%ic]", c)}
        %d = tir.call "{call}"(%shape, %la, %lb, %fa, %fb, %fc, %ra, %c0, %rb, %c0, %rc,
            %c0{more}) : (!tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle,
            !tir.handle, !tir.ptr<{a}, "local">, i32, !tir.ptr<{b}, "local">, i32,
            !tir.ptr<{c}, "local">, i32{types}) -> {c}
        {copied("d", nc, "RC[%id]", "C[%qd]", c)}
        """,
    )


def simulated_product(text: str, data: list[Any]) -> Any:
    """What the simulator computes, whose products numpy checks elsewhere."""
    found = [each.copy() for each in data]
    interpret(parse(text))["f"](*found)
    assert (found[-1] != data[-1]).any()
    return found[-1]


DENSE = {
    "quads of f32 sums": (
        ("m8n8k4", ("row", "col"), ("fp16", "fp16", "fp32")),
        (("f16", "f16", "f32"), (4, 4, 8)),
    ),
    "quads by columns and rows": (
        ("m8n8k4", ("col", "row"), ("fp16", "fp16", "fp16")),
        (("f16", "f16", "f16"), (4, 4, 8)),
    ),
    "nibbles": (
        ("m16n8k64", ("row", "col"), ("int4", "uint4", "int32")),
        (("i32", "i32", "i32"), (4, 2, 4)),
    ),
    "bytes as floats": (
        ("m16n8k32", ("row", "col"), ("e4m3", "e5m2", "fp32")),
        (("i32", "i32", "f32"), (4, 2, 4)),
    ),
}


@pytest.mark.parametrize("which", DENSE)
def test_dense_products(which: str, tmp_path: Path) -> None:
    (shape, layouts, formats), (dtypes, counts) = DENSE[which]
    text = product("ptx_mma", shape, layouts, formats, dtypes, counts, ", %no", ", i1")
    rng = np.random.default_rng(1)
    numpy = {"f16": np.float16, "f32": np.float32, "i32": np.int32}
    data = [
        rng.integers(0, 5, 32 * count).astype(numpy[dtype])
        for dtype, count in zip(dtypes, counts, strict=True)
    ]
    # Bytes of small floats of 8 bits, in words.
    if dtypes[0] == "i32":
        bits = 0x3F3F3F3F if formats[0] == "e4m3" else -1
        data[0] = rng.integers(-(2**31), 2**31, 32 * counts[0]).astype(np.int32) & bits
        data[1] = rng.integers(-(2**31), 2**31, 32 * counts[1]).astype(np.int32) & bits
    arch = "sm_89" if formats[0] == "e4m3" else "sm_80"
    expected = simulated_product(text, data)
    ptx = check(text, data, expected, tmp_path, arch=arch)
    assert f"mma.sync.aligned.{shape}.{layouts[0]}.{layouts[1]}" in ptx


@pytest.mark.parametrize("operator", ["xor", "and"])
def test_products_of_bits(operator: str, tmp_path: Path) -> None:
    text = product(
        "ptx_mma",
        "m8n8k128",
        ("row", "col"),
        ("int1", "int1", "int32"),
        ("i32", "i32", "i32"),
        (1, 1, 2),
        ", %no, %op",
        ", i1, !tir.handle",
        strings(op=operator),
    )
    rng = np.random.default_rng(2)
    data = [rng.integers(-(2**31), 2**31, 32 * n).astype(np.int32) for n in (1, 1, 2)]
    ptx = check(text, data, simulated_product(text, data), tmp_path)
    assert f"b1.b1.s32.{operator}.popc" in ptx
    # Before sm_86, LLVM would write a PTX version that has no `and`.
    assert (".version 7.1" if operator == "and" else ".version 7.0") in ptx


@pytest.mark.parametrize(("k", "form"), [(16, "fp16"), (32, "bf16")])
def test_sparse_products(k: int, form: str, tmp_path: Path) -> None:
    dtype = {"fp16": "f16", "bf16": "bf16"}[form]
    na, nb = k // 4, k // 4
    metadata = f"""
        {allocated("meta", 1, "i32")}
        %word = tir.load %M[%t] : i32
        tir.store %word, %META[%c0] : i32"""
    text = product(
        "ptx_mma_sp",
        f"m16n8k{k}",
        ("row", "col"),
        (form, form, "fp32"),
        (dtype, dtype, "f32"),
        (na, nb, 4),
        ", %meta, %c0, %c0, %no",
        ', !tir.ptr<i32, "local">, i32, i32, i1',
        metadata,
        {"M": "32xi32"},
    )
    rng = np.random.default_rng(3)
    narrow = np.float16 if form == "fp16" else ml_dtypes.bfloat16
    a, b = (rng.integers(0, 5, 32 * n).astype(narrow) for n in (na, nb))
    # Of each four columns the first and the third, or the second and the last.
    words = rng.choice(np.array([0x88888888, 0xDDDDDDDD], np.uint32), 32).view(np.int32)
    data = [words, a, b, np.zeros(128, np.float32)]
    expected = simulated_product(text, data)
    ptx = check(text, data, expected, tmp_path, order=(1, 2, 3, 0))
    assert f"mma.sp.sync.aligned.m16n8k{k}.row.col" in ptx


class Case(NamedTuple):
    """A product of the table in `dialects/nvvm/formats.py`."""

    shape: Shape
    formats: tuple[Format, Format, Format]
    sparse: bool

    @property
    def name(self) -> str:
        kind = "sp." if self.sparse else ""
        return f"{kind}{shape_text(self.shape)}.{'.'.join(f.name for f in self.formats)}"


ALL_CASES = [
    Case(shape, (a, b, total), sparse)
    for family in FAMILIES
    for sparse in (False, True)
    for shape in (family.sparse if sparse else family.shapes)
    for a in family.factors
    for b in family.factors
    for total in family.sums
]
METADATA = {"tf32": 0x4E4E4E4E}
"""The first or the second column of tf32; else the first and the third of four."""
MEMORY = {"f16": "f16", "bf16": "bf16", "tf32": "f32", "f32": "f32", "f64": "f64"}
"""The dtypes of registers; those of other formats are words."""


def random_registers(form: Format, count: int, rng: np.random.Generator) -> Any:
    """Small numbers in the registers of all lanes."""
    dtype = MEMORY.get(form.name, "i32")
    if dtype == "i32":
        # Floats of 8 bits are neither infinite nor no numbers.
        mask = 0x3F3F3F3F if form.name in ("e4m3", "e5m2") else -1
        return rng.integers(-(2**31), 2**31, 32 * count).astype(np.int32) & mask
    numpy = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}
    each = form.register_bits // form.bits
    return rng.integers(0, 5, 32 * count * each).astype(numpy.get(dtype, np.float64))


SOME_CASES = [*ALL_CASES[5::32], Case((16, 8, 8), (F64, F64, F64), False)]


@pytest.mark.parametrize(
    "case", ALL_CASES if MANY else SOME_CASES, ids=lambda case: case.name
)
def test_all_products(case: Case, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    counts = registers_of(case.shape, *case.formats, sparse=case.sparse)
    data = [
        random_registers(form, count, rng)
        for form, count in zip(case.formats, counts, strict=True)
    ]
    dtypes = [MEMORY.get(form.name, "i32") for form in case.formats]
    is_bits = case.formats[0].name == "b1"
    before, more, types, buffers = "", ", %no", ", i1", {}
    if is_bits:
        before, more, types = strings(op="xor"), ", %no, %op", ", i1, !tir.handle"
    order = None
    if case.sparse:
        before = f"""
            {allocated("meta", 1, "i32")}
            %word = tir.load %M[%t] : i32
            tir.store %word, %META[%c0] : i32"""
        more = ", %meta, %c0, %c0, %no"
        types = ', !tir.ptr<i32, "local">, i32, i32, i1'
        buffers, order = {"M": "32xi32"}, (1, 2, 3, 0)
    text = product(
        "ptx_mma_sp" if case.sparse else "ptx_mma",
        shape_text(case.shape),
        ("row", "col"),
        [form.name for form in case.formats],
        dtypes,
        [len(each) // 32 for each in data],
        more,
        types,
        before,
        buffers,
    )
    arch = "sm_89" if case.formats[0].name in ("e4m3", "e5m2") else "sm_80"
    if case.formats[0] == F64 and case.shape[0] == 16:
        arch = "sm_90"
    if case.sparse:
        word = METADATA.get(case.formats[0].name, -0x77777778)
        data = [np.full(32, word, np.int32), *data]
    expected = simulated_product(text, data)
    ptx = check(text, data, expected, tmp_path, arch=arch, order=order)
    assert f"{'mma.sp' if case.sparse else 'mma'}.sync.aligned" in ptx


def test_store_of_a_tile(tmp_path: Path) -> None:
    text = kernel(
        {"A": "256xf32", "C": "384xf32"},
        f"""
        {allocated("r", 8, "f32")}
        {copied("a", 8, "A[%qa]", "R[%ia]", "f32")}
        %stride = tir.const 24 : i32
        %d = tir.call "mma_store"(%c16, %c16, %pC, %r, %c0, %stride) :
            (i32, i32, !tir.ptr<f32>, !tir.ptr<f32, "local">, i32, i32) -> f32
        """,
    )
    a = np.arange(256, dtype=np.float32)
    expected = np.full((16, 24), -1, np.float32)
    for lane, slot in np.ndindex(32, 8):
        row = lane // 4 + 8 * (slot % 4 // 2)
        expected[row, 2 * (lane % 4) + slot % 2 + 8 * (slot // 4)] = a[8 * lane + slot]
    data = [a, np.full(384, -1, np.float32)]
    check(text, data, expected.ravel(), tmp_path)


def test_transposed_bytes(tmp_path: Path) -> None:
    text = kernel(
        {"A": "1024xi8", "C": "512xi8"},
        f"""
        %s = tir.allocate [1024] : !tir.ptr<i8, "shared">
        %S = tir.decl_buffer "S" %s : !tir.buffer<1024xi8, "shared">
        {copied("a", 32, "A[%qa]", "S[%qa]", "i8")}
        %sync = tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> i32
        {allocated("r", 16, "i8")}
        {strings(b16=".b16")}
        %yes = tir.const true
        %d = tir.call "ptx_ldmatrix"(%yes, %c4, %b16, %r, %c0, %s, %c32) :
            (i1, i32, !tir.handle, !tir.ptr<i8, "local">, i32, !tir.ptr<i8, "shared">,
            i32) -> i8
        {copied("d", 16, "R[%id]", "C[%qd]", "i8")}
        """,
    )
    a = np.arange(1024).astype(np.int8)
    expected = np.zeros((32, 16), np.int8)
    for lane, slot in np.ndindex(32, 16):
        row = slot % 8 // 4 * 16 + lane % 4 * 4 + slot % 4
        expected[lane, slot] = a.reshape(32, 32)[row, lane // 4 + slot // 8 * 8]
    check(text, [a, np.zeros(512, np.int8)], expected.ravel(), tmp_path)


# ---- memory ----


def test_guarded_loads(tmp_path: Path) -> None:
    text = kernel(
        {"A": "32xf32", "C": "32xf32"},
        f"""
        {allocated("r", 1, "f32")}
        %some = tir.cmp lt %t, %c16 : i32
        %at = tir.address_of %A[%t] : !tir.ptr<f32>
        %d = tir.call "ptx_ldg32"(%r, %some, %at, %c0) :
            (!tir.ptr<f32, "local">, i1, !tir.ptr<f32>, i32) -> f32
        {copied("d", 1, "R[%id]", "C[%qd]", "f32")}
        """,
    )
    a = np.arange(1, 33, dtype=np.float32)
    expected = np.where(np.arange(32) < 16, a, 0).astype(np.float32)
    ptx = check(text, [a, np.full(32, -1, np.float32)], expected, tmp_path)
    assert "ld.global.nc" in ptx


@pytest.mark.parametrize("dtype", ["f32", "i32", "f16"] if MANY else ["f32", "i32"])
def test_atomic_sums(dtype: str, tmp_path: Path) -> None:
    numpy = {"f32": np.float32, "i32": np.int32, "f16": np.float16}[dtype]
    text = kernel(
        {"A": f"32x{dtype}", "C": f"1x{dtype}"},
        f"""
        %v = tir.load %A[%t] : {dtype}
        %at = tir.address_of %C[%c0] : !tir.ptr<{dtype}>
        %old = tir.call "atomic_add"(%at, %v) : (!tir.ptr<{dtype}>, {dtype}) -> {dtype}
        """,
    )
    a = np.arange(32).astype(numpy)
    ptx = check(text, [a, np.ones(1, numpy)], [1 + 31 * 16], tmp_path)
    assert "atom.global.add" in ptx or "red.global.add" in ptx


COPY_AND_WAIT = """
    tir.call "create_barriers"(%c2) : (i32) -> ()
    %first = tir.cmp eq %t, %c0 : i32
    tir.if %first {{
      tir.call "ptx_init_barrier_thread_count"(%c1, %{expected}) : (i32, i32) -> ()
    }}
    %sync = tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> i32
    %s = tir.allocate [128] : !tir.ptr<f32, "shared">
    %S = tir.decl_buffer "S" %s : !tir.buffer<128xf32, "shared">
    {copy}
    tir.call "ptx_wait_barrier"(%c1) : (i32) -> ()
    {last}
"""


def test_copies_that_a_barrier_counts(tmp_path: Path) -> None:
    copy = """
    %i = tir.mul %t, %c4 : i32
    %d = tir.call "ptx_cp_async"(%s, %i, %pA, %i, %c16) :
        (!tir.ptr<f32, "shared">, i32, !tir.ptr<f32>, i32, i32) -> f32
    tir.call "ptx_cp_async_barrier"(%c1) : (i32) -> ()
    tir.call "ptx_arrive_barrier"(%c1) : (i32) -> ()"""
    last = """
    tir.for %j = %c0 to %c4 {
      %k = tir.mul %j, %c32 : i32
      %l = tir.add %k, %t : i32
      %v = tir.load %S[%l] : f32
      tir.store %v, %C[%l] : f32
    }"""
    body = COPY_AND_WAIT.format(expected="c32", copy=copy, last=last)
    text = kernel({"A": "128xf32", "C": "128xf32"}, body)
    a = np.arange(128, dtype=np.float32)
    ptx = check(text, [a, np.zeros_like(a)], a, tmp_path)
    assert "mbarrier.test_wait.parity" in ptx
    assert "cp.async.mbarrier.arrive.shared" in ptx
    # Since sm_90 the thread may sleep.
    assert "mbarrier.try_wait.parity" in assembled(parse(text), tmp_path, "sm_90")


def test_bulk_copies(tmp_path: Path) -> None:
    copy = """
    tir.if %first {
      %n = tir.const 512 : i32
      tir.call "ptx_arrive_barrier_expect_tx"(%c1, %n) : (i32, i32) -> ()
      %d = tir.call "ptx_cp_async_bulk"(%s, %c0, %pA, %c0, %n, %c1) :
          (!tir.ptr<f32, "shared">, i32, !tir.ptr<f32>, i32, i32, i32) -> f32
    }"""
    last = """
    tir.for %j = %c0 to %c4 {
      %k = tir.mul %j, %c32 : i32
      %l = tir.add %k, %t : i32
      %v = tir.load %S[%l] : f32
      tir.store %v, %C[%l] : f32
    }"""
    body = COPY_AND_WAIT.format(expected="c1", copy=copy, last=last)
    text = kernel({"A": "128xf32", "C": "128xf32"}, body)
    a = np.arange(128, dtype=np.float32)
    ptx = check(text, [a, np.zeros_like(a)], a, tmp_path, arch="sm_90")
    assert ".version 8.0" in ptx
    assert "cp.async.bulk.shared::cluster.global.mbarrier" in ptx
    assert "fence.proxy.async.shared::cta" in ptx
    with pytest.raises(PassFailedException, match="needs sm_90 or later, not sm_80"):
        assembled(parse(text), tmp_path, "sm_80")


# ---- memory of warps ----


def test_exchanges_in_warps(tmp_path: Path) -> None:
    for seed in (0, 1) if not MANY else range(40):
        exchange = Exchange.random(random.Random(seed))
        given = np.arange(exchange.size * exchange.groups).astype(NUMPY[exchange.dtype])
        expected = exchange.expected(given)
        found = np.zeros_like(expected)
        text = exchange.text().replace(
            "attributes {", 'attributes {global_symbol = "f", '
        )
        block = (exchange.threads, exchange.groups, 1)
        run_lowered(parse(text), "f_kernel", 1, block, [given, found])
        np.testing.assert_array_equal(found, expected)
        if exchange.threads == 32:
            ptx = assembled(parse(text), tmp_path)
            assert "shfl.sync.idx" in ptx


# ---- arrays of threads ----


def array_kernel(index: str) -> str:
    """A thread stores 8 elements in an array, loops over it, and reads one again."""
    return kernel(
        {"A": "256xf32", "I": "32xi32", "C": "32xf32"},
        f"""
        {allocated("own", 8, "f32")}
        tir.for %i = %c0 to %c8 {{
          %j = tir.mul %t, %c8 : i32
          %k = tir.add %j, %i : i32
          %v = tir.load %A[%k] : f32
          tir.store %v, %OWN[%i] : f32
        }}
        %n = tir.load %I[%t] : i32
        %w = tir.load %OWN[%{index}] : f32
        tir.store %w, %C[%t] : f32
        """,
    )


def test_arrays_become_registers(tmp_path: Path) -> None:
    """A serial loop over an array is unrolled in full where the pass pipeline is not."""
    a = np.arange(256, dtype=np.float32)
    number = np.arange(32, dtype=np.int32) % 8
    given = [a, number, np.zeros(32, np.float32)]
    text = array_kernel("c4")
    ptx = check(text, given, a[4::8], tmp_path, order=(0, 2))
    assert ".local" not in ptx
    with pytest.warns(LocalMemoryWarning, match="'f_kernel' keeps the array 'own'"):
        emitted(parse(array_kernel("n")))


def test_unrolled_loops_are_left_to_llvm() -> None:
    """Of kind `unrolled`, where the pass that expands them is told to leave them."""
    text = kernel(
        {"A": "256xf32", "C": "256xf32"},
        allocated("own", 8, "f32")
        + copied("a", 8, "A[%qa]", "OWN[%ia]", "f32")
        + copied("c", 8, "OWN[%ic]", "C[%qc]", "f32"),
    )
    with PassContext(config={"tir.UnrollLoop": {"explicit_unroll": False}}):
        ir = llvm_ir(new_context(), parse(text), "nvptx", "sm_80")
    assert ir.count("llvm.loop.unroll.full") == 1
    assert ir.count("!llvm.loop !") == 2
    code = llvm_jit.ptx(ir, "sm_80")
    assert ".local" not in code
    # Neighbours go by four, since what is passed to kernels is aligned.
    assert code.count("ld.global.v4") == code.count("st.global.v4") == 2


def test_fused_multiply_adds(tmp_path: Path) -> None:
    text = kernel(
        {"A": "32xf32", "C": "32xf32"},
        """
        %x = tir.load %A[%t] : f32
        %y = tir.load %C[%t] : f32
        %p = tir.mul %x, %x : f32
        %s = tir.add %p, %y : f32
        tir.store %s, %C[%t] : f32
        """,
    )
    assert "fma.rn.f32" in emitted(parse(text))
    apart = emitted(parse(text), fuse_multiply_add=False)
    assert "mul.rn.f32" in apart
    assert "add.rn.f32" in apart
    source, output = tmp_path / "f.mlir", tmp_path / "f"
    source.write_text(text)
    command = ["compile", str(source), "-o", str(output), "--no-fuse-multiply-add"]
    assert main(command) == 1
    assert main([*command[:-1], "--allow-tf32"]) == 1
    assert main([*command, "--target", "cuda", "--no-progress"]) == 0
    found = (output / "kernels.ptx").read_text()
    assert "mul.rn.f32" in found
    assert "fma.rn.f32" not in found
