"""Matrices that a warp holds together, against numpy and tables of their layouts."""

from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from support.gpu_kernels import SYNC
from support.ir import parse
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.interpreters.gpu.fragments import Product, expand, parse_product
from xdsl_tvm.interpreters.tir import (
    DivergenceError,
    OutOfBoundsError,
    RaceError,
    SimulationError,
    UninitializedReadError,
    interpret,
)

RNG = np.random.default_rng(0)
LANES = range(32)
Place = Callable[[int, int], tuple[int, int]]
"""Row and column by lane and element."""

CONSTANTS = "\n".join(
    [
        *(
            f"%c{n} = tir.const {n} : i32"
            for n in (0, 1, 2, 4, 8, 16, 31, 32, 64, 128, 256)
        ),
        "%no = tir.const false",
        "%yes = tir.const true",
        '%shared = tir.string "shared"',
        '%row_major = tir.string "row_major"',
        '%col_major = tir.string "col_major"',
    ]
)


def program(buffers: dict[str, str], body: str, threads: int = 32) -> Any:
    """A kernel of one block with a buffer of each name, called with their arrays."""
    params = ", ".join(f"%h{name}: !tir.handle" for name in buffers)
    matches = "\n".join(
        f'%{name} = tir.match_buffer "{name}" %h{name} : !tir.buffer<{kind}>'
        for name, kind in buffers.items()
    )
    text = f"""
    tir.func @f({params}) {{
      {matches}
      {CONSTANTS}
      %threads = tir.const {threads} : i32
      tir.launch_thread %t = "threadIdx.x" to %threads {{
        {body}
      }}
    }}"""
    return interpret(parse(text))["f"]


def strings(**texts: str) -> str:
    return "\n".join(f'%{name} = tir.string "{text}"' for name, text in texts.items())


# ---- the layouts of the PTX ISA, written out ----


class Layouts(NamedTuple):
    """Where the elements of a lane are in A (m by k), B (k by n) and C (m by n)."""

    a: Place
    b: Place
    c: Place


def ordinary(a: Place, b_by_columns: Place, *, tall: bool) -> Layouts:
    """B is given by column, then row, in terms of `g` and `q` as A."""

    def transposed(lane: int, i: int) -> tuple[int, int]:
        column, row = b_by_columns(lane, i)
        return row, column

    def short_c(lane: int, i: int) -> tuple[int, int]:
        return lane // 4, 2 * (lane % 4) + i

    def tall_c(lane: int, i: int) -> tuple[int, int]:
        return lane // 4 + 8 * (i // 2), 2 * (lane % 4) + i % 2

    return Layouts(a, transposed, tall_c if tall else short_c)


def gq(place: Callable[[int, int, int], tuple[int, int]]) -> Place:
    return lambda lane, i: place(lane // 4, lane % 4, i)


F16_K8 = gq(lambda g, q, i: (g + 8 * (i // 2), 2 * q + i % 2))
F16_K16 = gq(lambda g, q, i: (g + 8 * (i % 4 // 2), 2 * q + i % 2 + 8 * (i // 4)))
TABLE = {
    "m8n8k4": ordinary(
        gq(lambda g, q, i: (g, q)), gq(lambda g, q, i: (g, q)), tall=False
    ),
    "m8n8k16": ordinary(
        gq(lambda g, q, i: (g, 4 * q + i)), gq(lambda g, q, i: (g, 4 * q + i)), tall=False
    ),
    "m8n8k32": ordinary(
        gq(lambda g, q, i: (g, 8 * q + i)), gq(lambda g, q, i: (g, 8 * q + i)), tall=False
    ),
    "m8n8k128": ordinary(
        gq(lambda g, q, i: (g, 32 * q + i)),
        gq(lambda g, q, i: (g, 32 * q + i)),
        tall=False,
    ),
    "m16n8k4": ordinary(
        gq(lambda g, q, i: (g + 8 * i, q)), gq(lambda g, q, i: (g, q)), tall=True
    ),
    "tf32 m16n8k8": ordinary(
        gq(lambda g, q, i: (g + 8 * (i % 2), q + 4 * (i // 2))),
        gq(lambda g, q, i: (g, q + 4 * i)),
        tall=True,
    ),
    "m16n8k8": ordinary(F16_K8, gq(lambda g, q, i: (g, 2 * q + i)), tall=True),
    "m16n8k16": ordinary(
        F16_K16, gq(lambda g, q, i: (g, 2 * q + i % 2 + 8 * (i // 2))), tall=True
    ),
    "int8 m16n8k16": ordinary(
        gq(lambda g, q, i: (g + 8 * (i // 4), 4 * q + i % 4)),
        gq(lambda g, q, i: (g, 4 * q + i)),
        tall=True,
    ),
    "m16n8k32": ordinary(
        gq(lambda g, q, i: (g + 8 * (i % 8 // 4), 4 * q + i % 4 + 16 * (i // 8))),
        gq(lambda g, q, i: (g, 4 * q + i % 4 + 16 * (i // 4))),
        tall=True,
    ),
    "int4 m16n8k32": ordinary(
        gq(lambda g, q, i: (g + 8 * (i // 8), 8 * q + i % 8)),
        gq(lambda g, q, i: (g, 8 * q + i)),
        tall=True,
    ),
    "m16n8k64": ordinary(
        gq(lambda g, q, i: (g + 8 * (i % 16 // 8), 8 * q + i % 8 + 32 * (i // 16))),
        gq(lambda g, q, i: (g, 8 * q + i % 8 + 32 * (i // 8))),
        tall=True,
    ),
    "m16n8k128": ordinary(
        gq(lambda g, q, i: (g + 8 * (i // 32), 32 * q + i % 32)),
        gq(lambda g, q, i: (g, 32 * q + i)),
        tall=True,
    ),
    "m16n8k256": ordinary(
        gq(lambda g, q, i: (g + 8 * (i % 64 // 32), 32 * q + i % 32 + 128 * (i // 64))),
        gq(lambda g, q, i: (g, 32 * q + i % 32 + 128 * (i // 32))),
        tall=True,
    ),
}


def deal(matrix: Any, place: Place, count: int) -> Any:
    """The elements of each lane."""
    return np.stack([[matrix[place(lane, i)] for i in range(count)] for lane in LANES])


def collect(registers: Any, place: Place, shape: tuple[int, int]) -> Any:
    """The matrix whose elements the lanes hold."""
    found = np.zeros(shape, registers.dtype)
    for lane in LANES:
        for i in range(registers.shape[1]):
            found[place(lane, i)] = registers[lane, i]
    return found


# ---- products in registers ----


def product_kernel(
    shape: str,
    formats: tuple[str, str, str],
    dtypes: tuple[str, str, str],
    counts: tuple[int, int, int],
    layouts: tuple[str, str] = ("row", "col"),
    *,
    operator: str = "",
    saturate: str = "%no",
    around: str = "CALL",
    threads: int = 32,
    loaded: str = "abc",
) -> Any:
    """Copies operands of all lanes into registers, multiplies and copies C back."""
    buffers: dict[str, str] = {}
    lines: list[str] = []
    after: list[str] = []
    for name, dtype, count in zip("abc", dtypes, counts, strict=True):
        buffers[name.upper()] = f"32x{count}x{dtype}"
        lines.append(f"""
        %m{name} = tir.allocate [{count}] : !tir.ptr<{dtype}, "local">
        %L{name} = tir.decl_buffer %m{name} : !tir.buffer<{count}x{dtype}, "local">
        %n{name} = tir.const {count if name in loaded else 0} : i32
        tir.for %i{name} = %c0 to %n{name} {{
          %x{name} = tir.load %{name.upper()}[%t, %i{name}] : {dtype}
          tir.store %x{name}, %L{name}[%i{name}] : {dtype}
        }}""")
    after.append(f"""
        tir.for %io = %c0 to %nc {{
          %xo = tir.load %Lc[%io] : {dtypes[2]}
          tir.store %xo, %C[%t, %io] : {dtypes[2]}
        }}""")
    names = dict(zip(("fa", "fb", "fc"), formats, strict=True))
    lines.append(strings(shape=shape, la=layouts[0], lb=layouts[1], **names))
    pointers = ", ".join(f'!tir.ptr<{one}, "local">, i32' for one in dtypes)
    bits = ""
    if operator:
        lines.append(strings(op=operator))
        bits = ", %op"
    call = (
        f'%d = tir.call "ptx_mma"(%shape, %la, %lb, %fa, %fb, %fc, %ma, %c0, %mb, %c0, '
        f"%mc, %c0, {saturate}{bits}) : ({', '.join(['!tir.handle'] * 6)}, {pointers}, "
        f"i1{', !tir.handle' if operator else ''}) -> f32"
    )
    body = "\n".join((*lines, around.replace("CALL", call), *after))
    return program(buffers, body, threads)


def integers(low: int, high: int, shape: tuple[int, int]) -> Any:
    return RNG.integers(low, high, shape, endpoint=True)


def size_of(shape: str) -> tuple[int, int, int]:
    m, rest = shape[1:].split("n")
    n, k = rest.split("k")
    return int(m), int(n), int(k)


FLOATS = {
    "fp16": ("f16", np.float16),
    "bf16": ("bf16", ml_dtypes.bfloat16),
    "tf32": ("f32", np.float32),
    "fp64": ("f64", np.float64),
    "fp32": ("f32", np.float32),
    "e4m3": ("f8E4M3FN", ml_dtypes.float8_e4m3fn),
    "e5m2": ("f8E5M2", ml_dtypes.float8_e5m2),
}


def run_floats(
    shape: str, form: str, result: str, table: str, other: str = ""
) -> tuple[Any, Any, Any, Any]:
    """A, B, C and what the kernel makes of them."""
    m, n, k = size_of(shape)
    (a_type, a_kind), (c_type, c_kind) = FLOATS[form], FLOATS[result]
    b_type, b_kind = FLOATS[other or form]
    # Eighths: exact in every format, and so are the sums of products.
    a = (integers(-8, 8, (m, k)) / 8).astype(a_kind)
    b = (integers(-8, 8, (k, n)) / 8).astype(b_kind)
    c = (integers(-8, 8, (m, n)) / 8).astype(c_kind)
    layout = TABLE[table]
    counts = (m * k // 32, k * n // 32, m * n // 32)
    run = product_kernel(
        shape, (form, other or form, result), (a_type, b_type, c_type), counts
    )
    registers = deal(c, layout.c, counts[2])
    run(deal(a, layout.a, counts[0]), deal(b, layout.b, counts[1]), registers)
    return a, b, c, collect(registers, layout.c, (m, n))


@pytest.mark.parametrize(
    ("shape", "form", "result", "table"),
    [
        ("m16n8k8", "fp16", "fp16", "m16n8k8"),
        ("m16n8k8", "fp16", "fp32", "m16n8k8"),
        ("m16n8k16", "fp16", "fp16", "m16n8k16"),
        ("m16n8k16", "fp16", "fp32", "m16n8k16"),
        ("m16n8k8", "bf16", "fp32", "m16n8k8"),
        ("m16n8k16", "bf16", "fp32", "m16n8k16"),
        ("m16n8k4", "tf32", "fp32", "m16n8k4"),
        ("m16n8k8", "tf32", "fp32", "tf32 m16n8k8"),
        ("m8n8k4", "fp64", "fp64", "m8n8k4"),
        ("m16n8k4", "fp64", "fp64", "m16n8k4"),
        ("m16n8k8", "fp64", "fp64", "tf32 m16n8k8"),
        ("m16n8k32", "e4m3", "fp32", "m16n8k32"),
        ("m16n8k32", "e5m2", "fp32", "m16n8k32"),
    ],
)
def test_products_of_floats(shape: str, form: str, result: str, table: str) -> None:
    a, b, c, found = run_floats(shape, form, result, table)
    expected = a.astype(np.float64) @ b.astype(np.float64) + c.astype(np.float64)
    np.testing.assert_array_equal(found.astype(np.float64), expected)


def test_product_of_two_narrow_formats() -> None:
    a, b, c, found = run_floats("m16n8k32", "e4m3", "fp32", "m16n8k32", "e5m2")
    expected = a.astype(np.float64) @ b.astype(np.float64) + c
    np.testing.assert_array_equal(found, expected)


def test_rounding_of_sums() -> None:
    """2048 + 1 + 1: f16 cannot hold 2049, f32 can, and rounds once at the end."""
    layout = TABLE["m16n8k8"]
    a, b = np.zeros((16, 8), np.float16), np.zeros((8, 8), np.float16)
    c = np.full((16, 8), 2048, np.float16)
    a[:, :2] = b[:2] = 1
    run = product_kernel(
        "m16n8k8", ("fp16", "fp16", "fp16"), ("f16", "f16", "f16"), (4, 2, 4)
    )
    registers = deal(c, layout.c, 4)
    run(deal(a, layout.a, 4), deal(b, layout.b, 2), registers)
    assert (registers == 2050).all()


def test_low_bits_of_tf32_are_ignored() -> None:
    layout = TABLE["tf32 m16n8k8"]
    a = np.full((16, 8), 1 + 2**-12, np.float32)
    run = product_kernel(
        "m16n8k8", ("tf32", "tf32", "fp32"), ("f32", "f32", "f32"), (4, 2, 4)
    )
    registers = np.zeros((32, 4), np.float32)
    run(deal(a, layout.a, 4), np.ones((32, 2), np.float32), registers)
    assert (registers == 8).all()


def pack(values: Any, bits: int) -> Any:
    """Elements of less than 32 bits in registers of 32, the first one lowest."""
    each = 32 // bits
    found = values.reshape(32, -1, each).astype(np.int64) & ((1 << bits) - 1)
    words = (found << (bits * np.arange(each))).sum(axis=-1)
    return words.astype(np.uint32).view(np.int32)


INTEGERS = {
    "int8": (8, -128, 127, "i8", np.int8),
    "uint8": (8, 0, 255, "ui8", np.uint8),
    "int4": (4, -8, 7, "i4", np.int8),
    "uint4": (4, 0, 15, "ui4", np.uint8),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("shape", "a_form", "b_form", "table"),
    [
        ("m8n8k16", "int8", "int8", "m8n8k16"),
        ("m8n8k16", "uint8", "int8", "m8n8k16"),
        ("m16n8k16", "int8", "uint8", "int8 m16n8k16"),
        ("m16n8k32", "uint8", "uint8", "m16n8k32"),
        ("m8n8k32", "int4", "uint4", "m8n8k32"),
        ("m16n8k32", "int4", "int4", "int4 m16n8k32"),
        ("m16n8k64", "uint4", "int4", "m16n8k64"),
    ],
)
def test_products_of_integers(
    shape: str, a_form: str, b_form: str, table: str, packed: bool
) -> None:
    m, n, k = size_of(shape)
    bits, low, high, a_type, a_kind = INTEGERS[a_form]
    _, b_low, b_high, b_type, b_kind = INTEGERS[b_form]
    a, b = integers(low, high, (m, k)), integers(b_low, b_high, (k, n))
    c = integers(-1000, 1000, (m, n)).astype(np.int32)
    layout = TABLE[table]
    counts = (m * k // 32, k * n // 32, m * n // 32)
    lanes = [deal(a, layout.a, counts[0]), deal(b, layout.b, counts[1])]
    if packed:
        a_type = b_type = "i32"
        lanes = [pack(one, bits) for one in lanes]
    else:
        lanes = [lanes[0].astype(a_kind), lanes[1].astype(b_kind)]
    sizes = (lanes[0].shape[1], lanes[1].shape[1], counts[2])
    run = product_kernel(shape, (a_form, b_form, "int32"), (a_type, b_type, "i32"), sizes)
    registers = deal(c, layout.c, counts[2])
    run(*lanes, registers)
    np.testing.assert_array_equal(collect(registers, layout.c, (m, n)), a @ b + c)


@pytest.mark.parametrize(
    ("saturate", "expected"), [("%no", -(2**31)), ("%yes", 2**31 - 1)]
)
def test_sums_wrap_or_saturate(saturate: str, expected: int) -> None:
    run = product_kernel(
        "m8n8k16",
        ("int8", "int8", "int32"),
        ("i8", "i8", "i32"),
        (4, 4, 2),
        saturate=saturate,
    )
    ones = np.zeros((32, 4), np.int8)
    ones[:, 0] = 1
    registers = np.full((32, 2), 2**31 - 4, np.int32)
    run(ones, ones, registers)
    assert (registers == expected).all()


@pytest.mark.parametrize("operator", ["xor", "and"])
@pytest.mark.parametrize("shape", ["m8n8k128", "m16n8k128", "m16n8k256"])
def test_products_of_bits(shape: str, operator: str) -> None:
    m, n, k = size_of(shape)
    a, b = integers(0, 1, (m, k)), integers(0, 1, (k, n))
    c = integers(-9, 9, (m, n)).astype(np.int32)
    layout = TABLE[shape]
    lanes = [
        pack(deal(a, layout.a, m * k // 32), 1),
        pack(deal(b, layout.b, k * n // 32), 1),
        deal(c, layout.c, m * n // 32),
    ]
    run = product_kernel(
        shape,
        ("int1", "int1", "int32"),
        ("i32", "i32", "i32"),
        (lanes[0].shape[1], lanes[1].shape[1], lanes[2].shape[1]),
        operator=operator,
    )
    run(*lanes)
    both = a[:, :, None] ^ b[None] if operator == "xor" else a[:, :, None] & b[None]
    expected = both.sum(axis=1) + c
    np.testing.assert_array_equal(collect(lanes[2], layout.c, (m, n)), expected)


# ---- m8n8k4 of f16: four products at once ----


def quads(layouts: tuple[str, str], result: str) -> Layouts:
    """Rows count on over the groups: group `p` has the rows and columns `[8 * p, …)`."""

    def group(lane: int) -> int:
        return lane % 16 // 4

    def a(lane: int, i: int) -> tuple[int, int]:
        high = 4 if lane >= 16 else 0
        row, column = (
            (lane % 4 + high, i) if layouts[0] == "row" else (i + high, lane % 4)
        )
        return 8 * group(lane) + row, column

    def b(lane: int, i: int) -> tuple[int, int]:
        high = 4 if lane >= 16 else 0
        row, column = (
            (lane % 4, i + high) if layouts[1] == "row" else (i, lane % 4 + high)
        )
        return row, 8 * group(lane) + column

    def c(lane: int, i: int) -> tuple[int, int]:
        high = 4 if lane >= 16 else 0
        if result == "fp16":
            return 8 * group(lane) + lane % 4 + high, i
        row = lane % 2 + 2 * (i // 2 % 2) + high
        return 8 * group(lane) + row, 4 * (i // 4) + 2 * (lane // 2 % 2) + i % 2

    return Layouts(a, b, c)


@pytest.mark.parametrize("result", ["fp16", "fp32"])
@pytest.mark.parametrize(
    "layouts", [("row", "col"), ("row", "row"), ("col", "col"), ("col", "row")]
)
def test_four_products_at_once(layouts: tuple[str, str], result: str) -> None:
    c_type, c_kind = FLOATS[result]
    table = quads(layouts, result)
    a = (integers(-8, 8, (32, 4)) / 8).astype(np.float16)
    b = (integers(-8, 8, (4, 32)) / 8).astype(np.float16)
    c = (integers(-8, 8, (32, 8)) / 8).astype(c_kind)
    run = product_kernel(
        "m8n8k4", ("fp16", "fp16", result), ("f16", "f16", c_type), (4, 4, 8), layouts
    )
    registers = deal(c, table.c, 8)
    run(deal(a, table.a, 4), deal(b, table.b, 4), registers)
    expected = np.concatenate(
        [a[8 * p : 8 * p + 8] @ b[:, 8 * p : 8 * p + 8] for p in range(4)]
    )
    np.testing.assert_array_equal(collect(registers, table.c, (32, 8)), expected + c)


# ---- sparse products ----


def sparse_kernel(shape: str, counts: tuple[int, int], selector: int) -> Any:
    body = [strings(shape=shape, row="row", col="col", fp16="fp16", fp32="fp32")]
    sizes = (*counts, 4, 1)
    for name, dtype, count in zip(
        "abcm", ("f16", "f16", "f32", "i32"), sizes, strict=True
    ):
        body.append(f"""
        %m{name} = tir.allocate [{count}] : !tir.ptr<{dtype}, "local">
        %L{name} = tir.decl_buffer %m{name} : !tir.buffer<{count}x{dtype}, "local">
        %n{name} = tir.const {count} : i32
        tir.for %i{name} = %c0 to %n{name} {{
          %x{name} = tir.load %{name.upper()}[%t, %i{name}] : {dtype}
          tir.store %x{name}, %L{name}[%i{name}] : {dtype}
        }}""")
    pointers = ", ".join(
        f'!tir.ptr<{one}, "local">, i32' for one in ("f16", "f16", "f32", "i32")
    )
    body.append(f"""
    %selector = tir.const {selector} : i32
    %d = tir.call "ptx_mma_sp"(%shape, %row, %col, %fp16, %fp16, %fp32, %ma, %c0, %mb,
      %c0, %mc, %c0, %mm, %c0, %selector, %no)
      : ({", ".join(["!tir.handle"] * 6)}, {pointers}, i32, i1) -> f32
    tir.for %io = %c0 to %c4 {{
      %xo = tir.load %Lc[%io] : f32
      tir.store %xo, %C[%t, %io] : f32
    }}""")
    kinds = {
        "A": f"32x{counts[0]}xf16",
        "B": f"32x{counts[1]}xf16",
        "C": "32x4xf32",
        "M": "32x1xi32",
    }
    return program(kinds, "\n".join(body))


def sparse_operand(k: int) -> tuple[Any, Any, Any]:
    """A compressed matrix, the columns within their group of four, and the full one."""
    compressed = (integers(1, 8, (16, k // 2)) / 8).astype(np.float16)
    columns = np.zeros((16, k // 2), np.int64)
    full = np.zeros((16, k), np.float16)
    for row in range(16):
        for group in range(k // 4):
            pair = np.sort(RNG.choice(4, 2, replace=False))
            columns[row, 2 * group : 2 * group + 2] = pair
            full[row, 4 * group + pair] = compressed[row, 2 * group : 2 * group + 2]
    return compressed, columns, full


def word(columns: Any, row: int, start: int) -> int:
    """Eight selectors of a row, and eight of the row 8 below."""
    bits = [
        int(column) for r in (row, row + 8) for column in columns[r, start : start + 8]
    ]
    return sum(column << 2 * position for position, column in enumerate(bits))


@pytest.mark.parametrize("k", [16, 32])
@pytest.mark.parametrize("selector", [0, 1])
def test_sparse_products(k: int, selector: int) -> None:
    compressed, columns, full = sparse_operand(k)
    b = (integers(-8, 8, (k, 8)) / 8).astype(np.float16)
    metadata = np.full((32, 1), -1, np.int32)
    for row in range(8):
        for half in range(k // 16):
            lane = 4 * row + (selector if k == 16 else 2 * selector + half)
            metadata[lane, 0] = np.uint32(word(columns, row, 8 * half)).astype(np.int32)
    a_place = F16_K8 if k == 16 else F16_K16
    place = TABLE["m16n8k16"]
    b_place = place.b
    run = sparse_kernel(f"m16n8k{k}", (k // 4, k // 4), selector)
    registers = np.zeros((32, 4), np.float32)
    run(
        deal(compressed, a_place, k // 4),
        deal(b, b_place, k // 4),
        registers,
        metadata,
    )
    expected = full.astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_array_equal(collect(registers, place.c, (16, 8)), expected)


def chosen(form: str, k: int) -> tuple[Any, Any, Any]:
    """A compressed matrix, the full one, and the bits that tell each row's columns."""
    full = np.zeros((16, k), np.float32 if form == "tf32" else np.int64)
    kept: list[list[int]] = []
    codes: list[list[int]] = []
    for _ in range(16):
        kept.append([])
        codes.append([])
        for start in range(0, k, {"tf32": 2, "int8": 4, "int4": 8}[form]):
            if form == "tf32":
                column = int(RNG.integers(2))
                kept[-1].append(start + column)
                codes[-1] += (0, 0, 1, 0) if column == 0 else (0, 1, 1, 1)
                continue
            for column in sorted(RNG.choice(4, 2, replace=False).tolist()):
                each = 2 if form == "int4" else 1
                kept[-1] += [start + column * each + n for n in range(each)]
                codes[-1] += (column % 2, column // 2)
    compressed = integers(1, 8, (16, k // 2)).astype(full.dtype)
    for row, columns in enumerate(kept):
        full[row, columns] = compressed[row]
    return compressed, full, np.array(codes)


def words_of(bits: Any) -> list[int]:
    return [int(n) for n in np.packbits(bits, bitorder="little").view(np.uint32)]


@pytest.mark.parametrize(
    ("form", "k"),
    [
        ("tf32", 8),
        ("tf32", 16),
        ("int8", 32),
        ("int8", 64),
        ("int4", 64),
        ("int4", 128),
    ],
)
def test_columns_of_sparse_products(form: str, k: int) -> None:
    compressed, full, bits = chosen(form, k)
    metadata = [0] * 32
    # Which lanes of four tell the bits of two rows: one or two of them, or all.
    selector = 0 if k in (64, 128) and (form, k) != ("int4", 64) else 1
    for row in range(8):
        if form == "tf32":
            halves = bits[[row, row + 8]].reshape(2, -1, 16).transpose(1, 0, 2)
            words = words_of(halves.ravel())
        else:
            words = words_of(bits[[row, row + 8]].reshape(2, -1, 32).swapaxes(0, 1))
        start = 4 * row + selector * len(words)
        metadata[start : start + len(words)] = words
    product = parse_product(
        f"m16n8k{k}",
        (form, form, "fp32" if form == "tf32" else "int32"),
        None,
        sparse=True,
    )
    assert isinstance(product, Product)
    np.testing.assert_array_equal(expand(compressed, metadata, selector, product.a), full)
    with pytest.raises(SimulationError, match="metadata of row 0"):
        expand(compressed, [0] * 32, selector, product.a)


@pytest.mark.parametrize(
    ("selector", "metadata", "message"),
    [
        (4, 0x4444, "a sparse product has no selector 4"),
        (0, 0, "row 0 select columns 0 and 0 of group 0, not two that ascend"),
    ],
)
def test_wrong_metadata(selector: int, metadata: int, message: str) -> None:
    run = sparse_kernel("m16n8k16", (4, 4), selector)
    operands = [np.zeros((32, 4), np.float16) for _ in range(2)]
    words = np.full((32, 1), metadata, np.int32)
    with pytest.raises(SimulationError, match=message):
        run(*operands, np.zeros((32, 4), np.float32), words)


# ---- who takes part ----


def small(around: str = "CALL", threads: int = 32, loaded: str = "abc") -> Any:
    formats, dtypes = ("fp16", "fp16", "fp32"), ("f16", "f16", "f32")
    return product_kernel(
        "m16n8k8",
        formats,
        dtypes,
        (4, 2, 4),
        around=around,
        threads=threads,
        loaded=loaded,
    )


def operands() -> tuple[Any, Any, Any]:
    return (
        np.ones((32, 4), np.float16),
        np.ones((32, 2), np.float16),
        np.zeros((32, 4), np.float32),
    )


def test_lane_that_does_not_come() -> None:
    guarded = "%p = tir.cmp lt %t, %c31 : i32\ntir.if %p {\nCALL\n}"
    message = (
        r"thread \(0, 0, 0\) .* waits for thread \(31, 0, 0\) .*, which has ended, in: "
        r".*tir.call \"ptx_mma\""
    )
    with pytest.raises(DivergenceError, match=message):
        small(guarded)(*operands())
    results = operands()
    small()(*results)
    assert (results[2] == 8).all()


def test_lanes_that_come_to_different_calls() -> None:
    both = "%p = tir.cmp lt %t, %c16 : i32\ntir.if %p {\nCALL\n} else {\nCALL\n}"
    with pytest.raises(DivergenceError, match=r"which waits at %d = tir\.call"):
        small(both)(*operands())


def test_warp_that_is_not_full() -> None:
    with pytest.raises(DivergenceError, match=r"\(0, 0, 0\) .* has 16 threads, not 32"):
        small(threads=16)(*operands())


def test_registers_that_nobody_wrote() -> None:
    with pytest.raises(
        UninitializedReadError,
        match=r"never written, by thread \(0, 0, 0\) .*, in: .*ptx_mma",
    ):
        small(loaded="bc")(*operands())


def test_registers_that_are_not_there() -> None:
    run = product_kernel(
        "m16n8k16",
        ("fp16", "fp16", "fp32"),
        ("f16", "f16", "f32"),
        (4, 4, 4),
    )
    with pytest.raises(OutOfBoundsError, match="its memory has the elements"):
        run(operands()[0], np.ones((32, 4), np.float16), operands()[2])


@pytest.mark.parametrize(
    ("shape", "formats", "layouts", "message"),
    [
        (
            "m16n8k32",
            ("fp16", "fp16", "fp32"),
            ("row", "col"),
            "no product m16n8k32 of fl",
        ),
        ("m16n8k8", ("fp17", "fp16", "fp32"), ("row", "col"), "no format 'fp17'"),
        (
            "m16n8k8",
            ("fp16", "bf16", "fp32"),
            ("row", "col"),
            "do not multiply to float32",
        ),
        (
            "m16n8k8",
            ("bf16", "bf16", "fp16"),
            ("row", "col"),
            "do not multiply to float16",
        ),
        (
            "m16n8k8",
            ("fp16", "fp16", "fp32"),
            ("col", "col"),
            "with A by col and B by col",
        ),
        ("m8n8k128", ("int1", "int1", "int32"), ("row", "col"), "goes with bits"),
    ],
)
def test_products_that_do_not_exist(
    shape: str, formats: tuple[str, str, str], layouts: tuple[str, str], message: str
) -> None:
    run = product_kernel(shape, formats, ("f16", "f16", "f32"), (4, 2, 4), layouts)
    with pytest.raises(InterpretationError, match=message):
        run(*operands())


# ---- ldmatrix, mma_fill, mma_store ----


def load_kernel(
    count: int, transposed: bool, offset: str, *, sync: str = SYNC, store: str = ""
) -> Any:
    """Copies a 16 by 16 matrix to shared memory and loads `count` matrices of it."""
    number = 2 * count
    return program(
        {"I": "256xf16", "O": f"32x{number}xf16"},
        f"""
        %m = tir.allocate [256] : !tir.ptr<f16, "shared">
        %S = tir.decl_buffer "S" %m : !tir.buffer<256xf16, "shared">
        %l = tir.allocate [{number}] : !tir.ptr<f16, "local">
        %L = tir.decl_buffer %l : !tir.buffer<{number}xf16, "local">
        tir.for %i = %c0 to %c8 {{
          %row = tir.mul %i, %c32 : i32
          %at = tir.add %row, %t : i32
          %x = tir.load %I[%at] : f16
          tir.store %x, %S[%at] : f16
        }}
        {store}
        {sync}
        {strings(kind=".b16")}
        {offset}
        %n = tir.const {count} : i32
        %d = tir.call "ptx_ldmatrix"({"%yes" if transposed else "%no"}, %n, %kind, %l,
          %c0, %m, %offset) : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i32,
          !tir.ptr<f16, "shared">, i32) -> f16
        %end = tir.const {number} : i32
        tir.for %j = %c0 to %end {{
          %y = tir.load %L[%j] : f16
          tir.store %y, %O[%t, %j] : f16
        }}""",
    )


ROWS = """
%r16 = tir.floormod %t, %c16 : i32
%rows = tir.mul %r16, %c16 : i32
%half = tir.floordiv %t, %c16 : i32
%right = tir.mul %half, %c8 : i32
%offset = tir.add %rows, %right : i32"""


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_load_of_matrices(count: int, transposed: bool) -> None:
    given = np.arange(256, dtype=np.float16)
    out = np.zeros((32, 2 * count), np.float16)
    load_kernel(count, transposed, ROWS)(given, out)
    tile = given.reshape(16, 16)
    for lane in LANES:
        for slot in range(2 * count):
            block = slot // 2
            row, column = lane // 4, 2 * (lane % 4) + slot % 2
            if transposed:
                row, column = column, row
            place = (8 * (block % 2) + row, 8 * (block // 2) + column)
            assert out[lane, slot] == tile[place]


def test_load_of_matrices_needs_a_barrier() -> None:
    arrays = np.arange(256, dtype=np.float16), np.zeros((32, 8), np.float16)
    message = (
        r"race on element \d+ of the memory of buffer S: thread .* writes it and the "
        r"warp of thread \(0, 0, 0\) .* reads it"
    )
    with pytest.raises(RaceError, match=message):
        load_kernel(4, False, ROWS, sync="")(*arrays)
    # A barrier of the warp is enough.
    warp = SYNC.replace("%shared", "%warp")
    load_kernel(4, False, ROWS, sync=f"{strings(warp='warp')}\n{warp}")(*arrays)


def test_misaligned_row() -> None:
    arrays = np.arange(256, dtype=np.float16), np.zeros((32, 2), np.float16)
    with pytest.raises(
        SimulationError, match="begins at byte 8, not at a multiple of 16"
    ):
        load_kernel(1, False, "%offset = tir.mul %t, %c4 : i32")(*arrays)


def test_transposed_bytes() -> None:
    given = RNG.integers(-128, 127, 512).astype(np.int8)
    out = np.zeros((32, 16), np.int8)
    program(
        {"I": "512xi8", "O": "32x16xi8"},
        f"""
        %m = tir.allocate [512] : !tir.ptr<i8, "shared">
        %S = tir.decl_buffer "S" %m : !tir.buffer<512xi8, "shared">
        %l = tir.allocate [16] : !tir.ptr<i8, "local">
        %L = tir.decl_buffer %l : !tir.buffer<16xi8, "local">
        tir.for %i = %c0 to %c16 {{
          %row = tir.mul %i, %c32 : i32
          %at = tir.add %row, %t : i32
          %x = tir.load %I[%at] : i8
          tir.store %x, %S[%at] : i8
        }}
        {SYNC}
        {strings(kind=".b16")}
        %d = tir.call "ptx_ldmatrix"(%yes, %c4, %kind, %l, %c0, %m, %c16)
          : (i1, i32, !tir.handle, !tir.ptr<i8, "local">, i32,
             !tir.ptr<i8, "shared">, i32) -> i8
        tir.for %j = %c0 to %c16 {{
          %y = tir.load %L[%j] : i8
          tir.store %y, %O[%t, %j] : i8
        }}""",
    )(given, out)
    # The 32 by 16 tile, k by n, in the layout of B of two m16n8k32.
    tile = given.reshape(32, 16)
    for lane in LANES:
        g, q = lane // 4, lane % 4
        for i in range(16):
            row, column = 4 * q + i % 4 + 16 * (i % 8 // 4), g + 8 * (i // 8)
            assert out[lane, i] == tile[row, column]


TILE_STORE = """
%d = tir.call "mma_fill"(%c8, %m, {fill}) : (i32, !tir.ptr<f32, "{scope}">, i32) -> f32
{write}
%target = tir.data %O : !tir.ptr<f32>
%q = tir.access_ptr w %target[%c0 to %c256] : !tir.ptr<f32>
%e = tir.call "mma_store"(%c16, %c16, %q, %m, %c0, %c16)
  : (i32, i32, !tir.ptr<f32>, !tir.ptr<f32, "{scope}">, i32, i32) -> f32"""


@pytest.mark.parametrize(("scope", "size"), [("local", 8), ("warp", 256)])
def test_fill_and_store_of_a_tile(scope: str, size: int) -> None:
    """Each lane adds its number to its 8 registers, its own or those of the warp."""
    base = (
        "%start = tir.mul %t, %c8 : i32"
        if scope == "warp"
        else "%start = tir.add %c0, %c0 : i32"
    )
    write = f"""
    %value = tir.cast %t : i32 to f32
    {base}
    tir.for %i = %c0 to %c8 {{
      %at = tir.add %start, %i : i32
      %x = tir.load %L[%at] : f32
      %y = tir.add %x, %value : f32
      tir.store %y, %L[%at] : f32
    }}"""
    out = np.zeros(256, np.float32)
    program(
        {"O": "256xf32"},
        f"""
        %m = tir.allocate [{size}] : !tir.ptr<f32, "{scope}">
        %L = tir.decl_buffer "L" %m : !tir.buffer<{size}xf32, "{scope}">
        {TILE_STORE.format(scope=scope, fill="%c0", write=write)}""",
    )(out)
    expected = np.zeros((16, 16))
    for row in range(16):
        for column in range(16):
            expected[row, column] = 4 * (row % 8) + column % 8 // 2
    np.testing.assert_array_equal(out.reshape(16, 16), expected)


# ---- fragments of WMMA ----

WMMA_TYPES = {
    "f16": (np.float16, "f32", np.float32),
    "bf16": (ml_dtypes.bfloat16, "f32", np.float32),
    "i8": (np.int8, "i32", np.int32),
    "ui8": (np.uint8, "i32", np.int32),
    "i4": (np.int8, "i32", np.int32),
    "i1": (np.bool_, "i32", np.int32),
}


def wmma_kernel(
    size: tuple[int, int, int],
    dtype: str,
    result: str,
    layouts: tuple[str, str, str] = ("row", "row", "row"),
    *,
    body: str = "LOAD_A LOAD_B FILL MMA STORE",
    threads: int = 32,
) -> Any:
    """`O = A * B` with fragments, of which those of A have the index 1."""
    m, n, k = size
    shapes = {"A": (m, k), "B": (k, n), "O": (m, n)}
    strides: dict[str, int] = {}
    for (name, (rows, columns)), layout in zip(shapes.items(), layouts, strict=True):
        strides[name] = columns if layout == "row" else rows
    handle = "!tir.handle"
    scopes = {"a": "matrix_a", "b": "matrix_b", "c": "accumulator"}
    types = {
        name: f'!tir.ptr<{result if name == "c" else dtype}, "wmma.{scope}">'
        for name, scope in scopes.items()
    }
    zero = "0.0" if result.startswith("f") else "0"
    mma = "tvm_bmma_sync" if dtype == "i1" else "tvm_mma_sync"
    move = (
        '%d{y} = tir.call "tvm_{what}_matrix_sync"(%m{y}, %m, %n, %k, {i}, %q{y}, %s{y}, '
    )
    move += (
        "%{layout}_major) : ({kind}, i32, i32, i32, i32, !tir.ptr<{d}>, i32, {h}) -> {h}"
    )

    def moved(what: str, y: str, i: str, layout: str, d: str) -> str:
        return move.format(
            what=what, y=y, i=i, layout=layout, d=d, kind=types[y], h=handle
        )

    pieces = {
        "LOAD_A": moved("load", "a", "%c1", layouts[0], dtype),
        "LOAD_B": moved("load", "b", "%c0", layouts[1], dtype),
        "FILL": f'%df = tir.call "tvm_fill_fragment"(%mc, %m, %n, %k, %c0, %zero) : '
        f"({types['c']}, i32, i32, i32, i32, {result}) -> {handle}",
        "MMA": f'%dm = tir.call "{mma}"(%mc, %c0, %ma, %c1, %mb, %c0, %mc, %c0) : '
        f"({types['c']}, i32, {types['a']}, i32, {types['b']}, i32, {types['c']}, i32) "
        f"-> {handle}",
        "STORE": moved("store", "c", "%c0", layouts[2], result),
    }
    lines = [
        f"%m = tir.const {m} : i32",
        f"%n = tir.const {n} : i32",
        f"%k = tir.const {k} : i32",
        f"%zero = tir.const {zero} : {result}",
    ]
    for name, buffer in (("a", "A"), ("b", "B"), ("c", "O")):
        rows, columns = shapes[buffer]
        element = result if name == "c" else dtype
        lines.append(f"""
        %s{name} = tir.const {strides[buffer]} : i32
        %m{name} = tir.allocate [{2 * rows * columns}] : {types[name]}
        %p{name} = tir.data %{buffer} : !tir.ptr<{element}>
        %z{name} = tir.const {rows * columns} : i32
        %q{name} = tir.access_ptr rw %p{name}[%c0 to %z{name}] : !tir.ptr<{element}>""")
    for name, piece in pieces.items():
        body = body.replace(name, f"\n{piece}\n")
    kinds = {
        "A": f"{m * k}x{dtype}",
        "B": f"{k * n}x{dtype}",
        "O": f"{m * n}x{result}",
    }
    return program(kinds, "\n".join(lines) + "\n" + body, threads)


def flat(matrix: Any, layout: str) -> Any:
    return np.ascontiguousarray(matrix if layout == "row" else matrix.T).ravel()


@pytest.mark.parametrize("layouts", [("row", "row", "row"), ("col", "col", "col")])
@pytest.mark.parametrize(
    ("size", "dtype"),
    [
        ((16, 16, 16), "f16"),
        ((8, 32, 16), "f16"),
        ((32, 8, 16), "bf16"),
        ((16, 16, 16), "i8"),
        ((32, 8, 16), "ui8"),
        ((8, 8, 32), "i4"),
    ],
)
def test_fragments(
    size: tuple[int, int, int], dtype: str, layouts: tuple[str, str, str]
) -> None:
    kind, result, out_kind = WMMA_TYPES[dtype]
    m, n, k = size
    low = 0 if dtype == "ui8" else -7
    a, b = (integers(low, 7, shape).astype(kind) for shape in ((m, k), (k, n)))
    out = np.zeros(m * n, out_kind)
    wmma_kernel(size, dtype, result, layouts)(
        flat(a, layouts[0]), flat(b, layouts[1]), out
    )
    expected = a.astype(np.int64) @ b.astype(np.int64)
    np.testing.assert_array_equal(out, flat(expected, layouts[2]))


def test_fragments_of_bits() -> None:
    a, b = (integers(0, 1, shape).astype(np.bool_) for shape in ((8, 128), (128, 8)))
    out = np.zeros(64, np.int32)
    wmma_kernel((8, 8, 128), "i1", "i32")(a.ravel(), b.ravel(), out)
    expected = (a[:, :, None] ^ b[None]).sum(axis=1)
    np.testing.assert_array_equal(out.reshape(8, 8), expected)


def test_fragments_of_f16_sums() -> None:
    a = np.ones((16, 16), np.float16)
    out = np.zeros(256, np.float16)
    wmma_kernel((16, 16, 16), "f16", "f16")(a.ravel(), a.ravel(), out)
    assert (out == 16).all()


def halves() -> tuple[Any, Any, Any]:
    ones = np.ones(256, np.float16)
    return ones, ones.copy(), np.zeros(256, np.float32)


CUBE = (16, 16, 16)


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        (
            "LOAD_A FILL MMA STORE",
            UninitializedReadError,
            "fragment 0 of matrix_b is used",
        ),
        (
            "LOAD_A LOAD_B MMA",
            UninitializedReadError,
            "fragment 0 of accumulator is used",
        ),
        (
            "%p = tir.cmp ne %t, %c4 : i32\ntir.if %p { FILL }",
            DivergenceError,
            r"thread \(0, 0, 0\) .* waits for thread \(4, 0, 0\)",
        ),
        (
            "%p = tir.cmp lt %t, %c16 : i32\ntir.if %p { FILL } else { FILL }",
            DivergenceError,
            r"thread \(0, 0, 0\) .* waits for thread \(16, 0, 0\)",
        ),
    ],
)
def test_misused_fragments(body: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wmma_kernel(CUBE, "f16", "f32", body=body)(*halves())
    operands = halves()
    wmma_kernel(CUBE, "f16", "f32")(*operands)
    assert (operands[2] == 16).all()


def test_lanes_that_disagree() -> None:
    text = """%v = tir.cast %t : i32 to f32
    %df = tir.call "tvm_fill_fragment"(%mc, %m, %n, %k, %c0, %v)
      : (!tir.ptr<f32, "wmma.accumulator">, i32, i32, i32, i32, f32) -> !tir.handle"""
    message = (
        r"\(0, 0, 0\) .* and thread \(1, 0, 0\) .* disagree about index and value: 0"
    )
    with pytest.raises(DivergenceError, match=message):
        wmma_kernel(CUBE, "f16", "f32", body=text)(*halves())


def test_fragments_of_another_product() -> None:
    text = """FILL LOAD_A LOAD_B %other = tir.const 8 : i32
    %wide = tir.const 32 : i32
    %df = tir.call "tvm_fill_fragment"(%mc, %other, %wide, %k, %c0, %zero)
      : (!tir.ptr<f32, "wmma.accumulator">, i32, i32, i32, i32, f32) -> !tir.handle
    """
    message = r"different products are multiplied: \(16, 16, 16\), \(16, 16, 16\), \(8,"
    with pytest.raises(SimulationError, match=message):
        wmma_kernel(CUBE, "f16", "f32", body=text.replace("FILL", "") + "MMA")(*halves())
    with pytest.raises(SimulationError, match="not of"):
        wmma_kernel(CUBE, "f16", "f32", body=text.replace("FILL", "") + "STORE")(
            *halves()
        )


def test_two_warps_write_one_tile() -> None:
    with pytest.raises(
        RaceError,
        match=r"the warp of thread \(0, 0, 0\) .* and the warp of .*\(32, 0, 0\)",
    ):
        wmma_kernel(CUBE, "f16", "f32", threads=64)(*halves())


def test_a_tile_is_written_by_the_warp() -> None:
    """No lane knows which element it wrote: reading its own needs a barrier as well."""
    read = """%x = tir.load %O[%t] : f32
    tir.store %x, %O[%t] : f32"""
    steps = "LOAD_A LOAD_B FILL MMA STORE"
    with pytest.raises(RaceError, match=r"race on O\[0\]: the warp of thread"):
        wmma_kernel(CUBE, "f16", "f32", body=steps + read)(*halves())
    operands = halves()
    wmma_kernel(CUBE, "f16", "f32", body=f"{steps}{SYNC}\n{read}")(*operands)
    assert (operands[2] == 16).all()


def test_tile_outside_of_its_memory() -> None:
    body = "%far = tir.access_ptr r %pa[%c16 to %c16 + %za] : !tir.ptr<f16>\nLOAD_A"
    run = wmma_kernel(CUBE, "f16", "f32", body=body.replace("LOAD_A", LOAD_FAR))
    message = r"element 255 at a pointer .*\(0, 0, 0\)"
    with pytest.raises(OutOfBoundsError, match=message):
        run(*halves())


LOAD_FAR = """%da = tir.call "tvm_load_matrix_sync"(%ma, %m, %n, %k, %c1, %far, %sa,
  %row_major) : (!tir.ptr<f16, "wmma.matrix_a">, i32, i32, i32, i32, !tir.ptr<f16>,
  i32, !tir.handle) -> !tir.handle"""


@pytest.mark.parametrize(
    ("size", "dtype", "result", "message"),
    [
        (
            (16, 8, 16),
            "f16",
            "f32",
            "no fragment matrix_a of float16 for products of 16, 8",
        ),
        ((16, 16, 16), "f64", "f64", "no fragment matrix_a of float64"),
        ((16, 16, 16), "f16", "i32", "float16 and float16 do not multiply to int32"),
    ],
)
def test_fragments_that_do_not_exist(
    size: tuple[int, int, int], dtype: str, result: str, message: str
) -> None:
    with pytest.raises(InterpretationError, match=message):
        wmma_kernel(size, dtype, result)(*halves())


# ---- simdgroups ----


@pytest.mark.parametrize("transposed", [False, True])
def test_simdgroup_matrices(transposed: bool) -> None:
    frag = '!tir.ptr<f32, "metal.simdgroup">'
    flag = "%yes" if transposed else "%no"

    def moved(what: str, name: str, fragment: str, flag: str) -> str:
        return (
            f'%d{name} = tir.call "simdgroup_{what}"({fragment}, %c0, %p{name}, %c8, '
            f"%c8, %c8, {flag}) : ({frag}, i32, !tir.ptr<f32>, i32, i32, i32, i1) "
            "-> !tir.handle"
        )

    body = f"""
    %zero = tir.const 0.5 : f32
    %ma = tir.allocate [64] : {frag}
    %mb = tir.allocate [64] : {frag}
    %mc = tir.allocate [64] : {frag}
    %pA = tir.data %A : !tir.ptr<f32>
    %pB = tir.data %B : !tir.ptr<f32>
    %pO = tir.data %O : !tir.ptr<f32>
    {moved("load", "A", "%ma", flag)}
    {moved("load", "B", "%mb", "%no")}
    %df = tir.call "make_filled_simdgroup_matrix"(%mc, %c0, %zero, %c8, %c8)
      : ({frag}, i32, f32, i32, i32) -> !tir.handle
    %dm = tir.call "simdgroup_multiply_accumulate"(%mc, %c0, %ma, %c0, %mb, %c0, %mc, %c0)
      : ({frag}, i32, {frag}, i32, {frag}, i32, {frag}, i32) -> !tir.handle
    {moved("store", "O", "%mc", flag)}"""
    a, b = (integers(-8, 8, (8, 8)).astype(np.float32) for _ in range(2))
    out = np.zeros((8, 8), np.float32)
    kinds = {"A": "8x8xf32", "B": "8x8xf32", "O": "8x8xf32"}
    program(kinds, body)(a, b, out)
    expected = (a.T if transposed else a) @ b + np.float32(0.5)
    np.testing.assert_array_equal(out, expected.T if transposed else expected)
    partial = body.replace("%df =", "%p = tir.cmp ne %t, %c4 : i32\n%df =")
    partial = partial.replace("%df =", "tir.if %p {\n%df =")
    partial = partial.replace(
        "i32, f32, i32, i32) -> !tir.handle", "i32, f32, i32, i32) -> !tir.handle }"
    )
    with pytest.raises(DivergenceError, match=r"waits for thread \(4, 0, 0\)"):
        program(kinds, partial)(a, b, out)


def test_simdgroup_shuffle() -> None:
    out = np.zeros(32, np.float32)
    program(
        {"O": "32xf32"},
        """
        %x = tir.cast %t : i32 to f32
        %lane = tir.sub %c31, %t : i32
        %y = tir.call "metal.simd_shuffle"(%x, %lane) : (f32, i32) -> f32
        %z = tir.call "metal.simd_shuffle_down"(%y, %c1) : (f32, i32) -> f32
        tir.store %z, %O[%t] : f32""",
    )(out)
    assert out.tolist() == [*range(30, -1, -1), 0]
