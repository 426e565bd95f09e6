"""Matrices that the lanes of a warp hold together: layouts, formats and products.

Lane `t` of the instructions `mma.sync` holds in its registers, with `g = t / 4`,
`q = t % 4`, `e` elements to a register of 32 bits, and element `i = e * r + w` (register
`r`, position `w`), of `D = A * B + C`:

- `A`, m by k: row `g + 8 * (r % (m / 8))`, column `e * q + w + 4 * e * (r / (m / 8))`;
- `B`, k by n: row `e * q + w + 4 * e * r`, column `g`;
- `C` and `D`, m by n: row `g + 8 * (i / 2)`, column `2 * q + i % 2`.

That is the PTX ISA's layout of all listed shapes but `m8n8k4` of f16, where each of four
groups of eight lanes multiplies matrices of its own (`quad_places`).

The exact products are summed in the order of `k`, beginning with the element of `C`:
in f32, rounded after every addition, and once more where `C` is f16; in f64 with fused
multiply-adds; integers exactly, after which they wrap to 32 bits or, if told to,
saturate. Hardware may add in another order. Of f32 that stands for tf32 the low 13 bits
are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from xdsl_tvm.interpreters.data.numbers import float_storage, fused_multiply_add
from xdsl_tvm.interpreters.errors import SimulationError

Array: TypeAlias = np.ndarray[Any, Any]
Shape: TypeAlias = tuple[int, int, int]
Places: TypeAlias = tuple[Array, Array]
"""Rows and columns, by lane and element of the lane."""

LANES = 32
_TF32 = np.uint32(0xFFFFE000)


@dataclass(frozen=True)
class Format:
    """How the elements of an operand are in registers.

    `kind` is `float`, `int`, `uint` or `bit`; `family` the formats that multiply with
    each other, and `results` what they give.
    """

    name: str
    bits: int
    kind: str
    family: str
    results: tuple[str, ...] = ()

    @property
    def storage(self) -> np.dtype[Any]:
        """The numpy dtype of the elements, of at least 8 bits."""
        if self.kind == "float":
            return float_storage({"tf32": "float32"}.get(self.name, self.name))
        return np.dtype(f"{self.kind}{self.bits}")

    def unpack(self, data: bytes, count: int) -> Array:
        """The first `count` elements in the bytes of registers."""
        if self.name == "tf32":
            bits = np.frombuffer(data, np.uint32, count)
            return (bits & _TF32).view(np.float32)
        if self.bits >= 8:
            return np.frombuffer(data, self.storage, count)
        raw = np.frombuffer(data, np.uint8)
        if self.bits == 1:
            return np.unpackbits(raw, bitorder="little")[:count].astype(np.int64)
        nibbles = np.stack((raw & 15, raw >> 4), axis=1).ravel()[:count]
        return self.narrow(nibbles.astype(np.int64))

    def narrow(self, values: Array) -> Array:
        """Integers of less than 8 bits, taken from wider ones."""
        low = values.astype(np.int64) & ((1 << self.bits) - 1)
        if self.kind != "int":
            return low
        sign = 1 << (self.bits - 1)
        return (low ^ sign) - sign


_FLOAT32 = ("float32",)
_INT32 = ("int32",)
_FORMATS = {
    one.name: one
    for one in (
        Format("float16", 16, "float", "float16", ("float16", "float32")),
        Format("bfloat16", 16, "float", "bfloat16", _FLOAT32),
        Format("tf32", 32, "float", "tf32", _FLOAT32),
        Format("float8_e4m3fn", 8, "float", "float8", _FLOAT32),
        Format("float8_e5m2", 8, "float", "float8", _FLOAT32),
        Format("float64", 64, "float", "float64", ("float64",)),
        Format("int8", 8, "int", "8", _INT32),
        Format("uint8", 8, "uint", "8", _INT32),
        Format("int4", 4, "int", "4", _INT32),
        Format("uint4", 4, "uint", "4", _INT32),
        Format("int1", 1, "bit", "1", _INT32),
        Format("float32", 32, "float", "float32"),
        Format("int32", 32, "int", "int32"),
    )
}
_SPELLINGS = {
    "fp16": "float16",
    "f16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "f32": "float32",
    "fp64": "float64",
    "f64": "float64",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "s8": "int8",
    "u8": "uint8",
    "s4": "int4",
    "u4": "uint4",
    "b1": "int1",
    "s32": "int32",
}


def _shapes(text: str) -> frozenset[Shape]:
    found: set[Shape] = set()
    for one in text.split():
        m, _, rest = one[1:].partition("n")
        n, _, k = rest.partition("k")
        found.add((int(m), int(n), int(k)))
    return frozenset(found)


_DENSE = {
    "float64": _shapes("m8n8k4 m16n8k4 m16n8k8 m16n8k16"),
    "float16": _shapes("m8n8k4 m16n8k8 m16n8k16"),
    "bfloat16": _shapes("m16n8k8 m16n8k16"),
    "tf32": _shapes("m16n8k4 m16n8k8"),
    "8": _shapes("m8n8k16 m16n8k16 m16n8k32"),
    "4": _shapes("m8n8k32 m16n8k32 m16n8k64"),
    "1": _shapes("m8n8k128 m16n8k128 m16n8k256"),
    "float8": _shapes("m16n8k32"),
}
_SPARSE = {
    "float16": _shapes("m16n8k16 m16n8k32"),
    "bfloat16": _shapes("m16n8k16 m16n8k32"),
    "tf32": _shapes("m16n8k8 m16n8k16"),
    "8": _shapes("m16n8k32 m16n8k64"),
    "4": _shapes("m16n8k64 m16n8k128"),
    "float8": _shapes("m16n8k64"),
}
QUADS = (8, 8, 4)
"""The shape of f16 that four groups of lanes compute at once."""


@dataclass(frozen=True)
class Product:
    """An `mma.sync`: shape, formats of A, B and C, and for bits how they combine."""

    shape: Shape
    a: Format
    b: Format
    c: Format
    operator: str | None = None
    sparse: bool = False

    @property
    def in_quads(self) -> bool:
        """Whether four groups of lanes multiply on their own."""
        return self.shape == QUADS and self.a.name == "float16"


def format_of(name: str) -> Format:
    """The format of a name such as `int4`."""
    return _FORMATS[name]


def parse_product(
    shape: str, formats: Sequence[str], operator: str | None, *, sparse: bool
) -> Product | str:
    """What the strings of a `ptx_mma` mean, or why they mean nothing here."""
    found: list[Format] = []
    for text in formats:
        name = text.removeprefix(".")
        known = _FORMATS.get(_SPELLINGS.get(name, name))
        if known is None:
            return f"there is no format {text!r}"
        found.append(known)
    a, b, c = found
    shapes = (_SPARSE if sparse else _DENSE).get(a.family, frozenset())
    if not any(shape == f"m{m}n{n}k{k}" for m, n, k in shapes):
        kind = "sparse " if sparse else ""
        return f"there is no {kind}product {shape} of {a.name}"
    if a.family != b.family or c.name not in a.results:
        return f"{a.name} and {b.name} do not multiply to {c.name}"
    if (a.kind == "bit") != (operator is not None):
        return "an operator, `xor` or `and`, goes with bits and with nothing else"
    (parsed,) = _shapes(shape)
    return Product(parsed, a, b, c, operator, sparse)


# ---- layouts ----


def a_places(m: int, k: int, bits: int) -> Places:
    """Rows and columns of A by lane and element."""
    lane, register, position, each = _registers(m * k // LANES, bits)
    rows = lane // 4 + 8 * (register % (m // 8))
    columns = each * (lane % 4) + position + 4 * each * (register // (m // 8))
    return _places(rows, columns)


def b_places(k: int, n: int, bits: int) -> Places:
    """Rows and columns of B by lane and element."""
    lane, register, position, each = _registers(k * n // LANES, bits)
    return _places(each * (lane % 4) + position + 4 * each * register, lane // 4)


def c_places(m: int, n: int) -> Places:
    """Rows and columns of C and D by lane and element."""
    lane, element, _, _ = _registers(m * n // LANES, 32)
    return _places(lane // 4 + 8 * (element // 2), 2 * (lane % 4) + element % 2)


def _places(rows: Array, columns: Array) -> Places:
    first, second = np.broadcast_arrays(rows, columns)
    return first, second


def _registers(count: int, bits: int) -> tuple[Array, Array, Array, int]:
    each = max(1, 32 // bits)
    element = np.arange(count)[None, :]
    return np.arange(LANES)[:, None], element // each, element % each, each


def quad_places(operand: str, layout: str, bits: int) -> Places:
    """Rows and columns of `m8n8k4` of f16, by lane and element, within its group.

    `operand` is a, b or c, `bits` the width of C. The group of lane `t` is `t % 16 / 4`;
    it holds the lanes of two rows of four.
    """
    lane = np.arange(LANES)[:, None]
    low, high = lane % 4, 4 * (lane // 16)
    element = np.arange(8 if operand == "c" else 4)[None, :]
    if operand == "c" and bits == 32:
        rows = (lane & 1) + (element & 2) + high
        return _places(rows, (element & 4) + (lane & 2) + (element & 1))
    if operand == "c" or (operand, layout) == ("a", "row"):
        return _places(low + high, element)
    if operand == "a":
        return _places(element + high, low)
    if layout == "row":
        return _places(low, element + high)
    return _places(element, low + high)


def store_places() -> Places:
    """Rows and columns of the 16 by 16 tile that `mma_store` writes."""
    lane = np.arange(LANES)[:, None]
    slot = np.arange(8)[None, :]
    rows = 8 * (slot % 4 // 2) + lane // 4
    return _places(rows, 8 * (slot // 4) + 2 * (lane % 4) + slot % 2)


# ---- arithmetic ----


def multiply(
    a: Array, b: Array, c: Array, operator: str | None = None, *, saturate: bool = False
) -> Array:
    """`a * b + c`, as this module's docstring says, in the dtype of `c`.

    Bits are 0 and 1; `operator` combines them, and the ones are counted. The last two
    dimensions are those of the matrices; those before are the same for all three.
    """
    if c.dtype == np.int32:
        return _multiply_integers(a, b, c, operator, saturate)
    if c.dtype == np.float64:
        total = c.copy()
        for (*others, row, column), start in np.ndenumerate(c):
            left, right = a[(*others, row)], b[(*others, slice(None), column)]
            for x, y in zip(left, right, strict=True):
                start = fused_multiply_add(c.dtype, x, y, start)
            total[(*others, row, column)] = start
        return total
    left, right = a.astype(np.float32), b.astype(np.float32)
    total = c.astype(np.float32)
    for position in range(left.shape[-1]):
        total += left[..., position, None] * right[..., None, position, :]
    return total.astype(c.dtype)


def _multiply_integers(
    a: Array, b: Array, c: Array, operator: str | None, saturate: bool
) -> Array:
    left, right = a.astype(np.int64), b.astype(np.int64)
    if operator is None:
        product = left @ right
    else:
        combine = np.bitwise_xor if operator == "xor" else np.bitwise_and
        product = combine(left[..., None], right[..., None, :, :]).sum(axis=-2)
    total = product + c
    if saturate:
        limits = np.iinfo(np.int32)
        total = np.clip(total, limits.min, limits.max)
    return total.astype(np.int32)


_OF_TWO = {0b0100: 0, 0b1110: 1}
"""The column of the element of tf32 in a group of two, by the four bits for it."""


def expand(
    compressed: Array, metadata: Sequence[int], selector: int, form: Format
) -> Array:
    """The matrix A of a sparse product, half of whose columns are given.

    Of elements of 16 and of 8 bits two of each four columns are given, of those of 4 bits
    two pairs of each four pairs, and of tf32 one of each two columns. Two bits select the
    column, or the pair, within its group, ascending in a group; for tf32 four bits do,
    0100 the first and 1110 the second column.

    `metadata` has a word for each lane, of which those that count hold the bits of the
    rows `r` and `r + 8`, `r` from 0 to 7, from the lowest on. Of elements of 16 bits and
    of tf32 a word has 16 bits of the row `r` and above them 16 of `r + 8`; the next 16
    are in the next lane, and the first ones in lane `4 * r + n * selector`, where `n`
    lanes are needed. Of other elements a word has 32 bits of one row, that of `r` is
    before that of `r + 8`, and the next ones follow.
    """
    rows, half = int(compressed.shape[0]), int(compressed.shape[1])
    each = 2 if form.bits == 4 else 1
    bits, group = (4, 2) if form.name == "tf32" else (2, 4)
    units = half // each
    of_both = form.bits >= 16
    words = units * bits // (16 if of_both else 32)
    lanes = words if of_both else 2 * words
    if not 0 <= selector < 4 // lanes:
        raise SimulationError(f"a sparse product has no selector {selector}")
    given = compressed.reshape(rows, units, each)
    found = np.zeros((rows, 2 * units, each), compressed.dtype)
    for row in range(rows):
        first = 4 * (row % 8) + lanes * selector
        if of_both:
            parts = [metadata[first + word] >> 16 * (row // 8) for word in range(words)]
            known = sum((part & 0xFFFF) << 16 * n for n, part in enumerate(parts))
        else:
            parts = [metadata[first + 2 * word + row // 8] for word in range(words)]
            known = sum((part & 0xFFFFFFFF) << 32 * n for n, part in enumerate(parts))
        before = -1
        for unit in range(units):
            code = known >> bits * unit & ((1 << bits) - 1)
            if group == 2:
                column = _OF_TWO.get(code)
                if column is None:
                    raise SimulationError(
                        f"the metadata of row {row} have {code:04b} for group {unit}, "
                        "neither 0100 nor 1110"
                    )
                found[row, 2 * unit + column] = given[row, unit]
                continue
            if unit % 2 and code <= before:
                raise SimulationError(
                    f"the metadata of row {row} select columns {before} and {code} of "
                    f"group {unit // 2}, not two that ascend"
                )
            found[row, unit // 2 * 4 + code] = given[row, unit]
            before = code
    return found.reshape(rows, 2 * half)
