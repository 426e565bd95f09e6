"""Formats and shapes of products on tensor cores, as the PTX ISA lists them."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple, TypeAlias

from xdsl.dialects.builtin import VectorType, f16, f32, f64, i32
from xdsl.ir import Attribute

Shape: TypeAlias = tuple[int, int, int]
"""m, n and k."""

LANES = 32


class Format(NamedTuple):
    """How elements are in registers: their name in PTX, bits, and type of a register."""

    name: str
    bits: int
    register: Attribute

    @property
    def register_bits(self) -> int:
        """The bits of a register: 64 for f64, 32 for all others."""
        return 64 if self.bits == 64 else 32


F16 = Format("f16", 16, VectorType(f16, [2]))
BF16 = Format("bf16", 16, i32)
TF32 = Format("tf32", 32, i32)
F32 = Format("f32", 32, f32)
F64 = Format("f64", 64, f64)
E4M3 = Format("e4m3", 8, i32)
E5M2 = Format("e5m2", 8, i32)
S8 = Format("s8", 8, i32)
U8 = Format("u8", 8, i32)
S4 = Format("s4", 4, i32)
U4 = Format("u4", 4, i32)
B1 = Format("b1", 1, i32)
S32 = Format("s32", 32, i32)

FORMATS: dict[str, Format] = {
    each.name: each
    for each in (F16, BF16, TF32, F32, F64, E4M3, E5M2, S8, U8, S4, U4, B1, S32)
}
"""All formats, by name."""

QUADS: Shape = (8, 8, 4)
"""The shape of f16 of which four groups of lanes compute a product each."""


def shape_of(text: str) -> Shape:
    """The extents in a text such as `m16n8k16`. Raises ValueError for another text."""
    match = re.fullmatch(r"m(\d+)n(\d+)k(\d+)", text)
    if match is None:
        raise ValueError(f"'{text}' is no shape such as m16n8k16")
    m, n, k = map(int, match.groups())
    return m, n, k


def shape_text(shape: Shape) -> str:
    """`m16n8k16`."""
    m, n, k = shape
    return f"m{m}n{n}k{k}"


class Family(NamedTuple):
    """Formats that multiply with each other."""

    factors: tuple[Format, ...]
    sums: tuple[Format, ...]
    shapes: tuple[Shape, ...]
    """Of `mma`."""
    sparse: tuple[Shape, ...] = ()
    """Of `mma.sp`."""
    saturates: bool = False


@cache
def _shapes(text: str) -> tuple[Shape, ...]:
    return tuple(map(shape_of, text.split()))


FAMILIES: tuple[Family, ...] = (
    Family(
        (F16,),
        (F16, F32),
        _shapes("m8n8k4 m16n8k8 m16n8k16"),
        _shapes("m16n8k16 m16n8k32"),
    ),
    Family((BF16,), (F32,), _shapes("m16n8k8 m16n8k16"), _shapes("m16n8k16 m16n8k32")),
    Family((TF32,), (F32,), _shapes("m16n8k4 m16n8k8"), _shapes("m16n8k8 m16n8k16")),
    Family((F64,), (F64,), _shapes("m8n8k4 m16n8k4 m16n8k8 m16n8k16")),
    Family((E4M3, E5M2), (F32,), _shapes("m16n8k32"), _shapes("m16n8k64")),
    Family(
        (S8, U8),
        (S32,),
        _shapes("m8n8k16 m16n8k16 m16n8k32"),
        _shapes("m16n8k32 m16n8k64"),
        saturates=True,
    ),
    Family(
        (S4, U4),
        (S32,),
        _shapes("m8n8k32 m16n8k32 m16n8k64"),
        _shapes("m16n8k64 m16n8k128"),
        saturates=True,
    ),
    Family((B1,), (S32,), _shapes("m8n8k128 m16n8k128 m16n8k256")),
)

_OF_FACTOR = {factor: family for family in FAMILIES for factor in family.factors}


def family_of(factor: Format) -> Family | None:
    """The family of a format; None for one of sums."""
    return _OF_FACTOR.get(factor)


def product_problem(
    shape: Shape, a: Format, b: Format, c: Format, *, sparse: bool = False
) -> str | None:
    """Why there is no such product, or None if there is."""
    family = _OF_FACTOR.get(a)
    kind = "sparse product" if sparse else "product"
    shapes = () if family is None else family.sparse if sparse else family.shapes
    if family is None or shape not in shapes:
        known = ", ".join(map(shape_text, shapes))
        advice = f"use one of {known}" if known else "use another format"
        return f"there is no {kind} {shape_text(shape)} of {a.name}; {advice}"
    if b not in family.factors or c not in family.sums:
        return f"{a.name} and {b.name} do not multiply to {c.name} on tensor cores"
    return None


def registers_of(
    shape: Shape, a: Format, b: Format, c: Format, *, sparse: bool = False
) -> tuple[int, int, int]:
    """How many registers of a lane hold A, B and C."""
    m, n, k = shape
    groups = 4 if shape == QUADS and a == F16 else 1
    factor = m * k // 2 if sparse else m * k
    return (
        factor * groups * a.bits // LANES // a.register_bits,
        k * n * groups * b.bits // LANES // b.register_bits,
        m * n * groups * c.bits // LANES // c.register_bits,
    )


WMMA_SHAPES: dict[Format, tuple[Shape, ...]] = {
    **dict.fromkeys((F16, BF16, S8, U8), _shapes("m16n16k16 m32n8k16 m8n32k16")),
    TF32: _shapes("m16n16k8"),
    F64: _shapes("m8n8k4"),
    **dict.fromkeys((S4, U4), _shapes("m8n8k32")),
    B1: _shapes("m8n8k128"),
}
"""The shapes of `wmma`, by the format of A and B."""


def wmma_layout_problem(form: Format, fragment: str, layout: str) -> str | None:
    """Why a fragment is not loaded by rows or by columns; None if it is."""
    wanted = {"a": "row", "b": "col"}.get(fragment)
    if form.bits >= 8 or wanted in (None, layout):
        return None
    return f"fragments {fragment} of {form.name} are loaded by {wanted} only"


def wmma_registers(shape: Shape, fragment: str, form: Format) -> int:
    """How many registers of a lane hold a fragment `a`, `b`, `c` or `d`."""
    if form == F16 and fragment in "ab":
        # Some lanes hold the same elements.
        return 8
    m, n, k = shape
    elements = {"a": m * k, "b": k * n}.get(fragment, m * n)
    return elements * form.bits // LANES // form.register_bits


def wmma_problem(shape: Shape, factor: Format, total: Format | None = None) -> str | None:
    """Why there is no such fragment, or no product with such sums; None if there is."""
    shapes = WMMA_SHAPES.get(factor, ())
    if shape not in shapes:
        known = ", ".join(map(shape_text, shapes))
        advice = f"use one of {known}" if known else "use another format"
        return f"WMMA has no {shape_text(shape)} of {factor.name}; {advice}"
    family = _OF_FACTOR[factor]
    if total is not None and total not in family.sums:
        return f"{factor.name} does not multiply to {total.name} on tensor cores"
    return None


_WARPGROUP_ROWS, _WARPGROUP_TERMS, _WARPGROUP_COLUMNS = 64, 16, 256


def warpgroup_columns(text: str) -> int:
    """The columns of a product of a warpgroup, `m64nNk16`; ValueError for others."""
    m, n, k = shape_of(text)
    if (m, k) != (_WARPGROUP_ROWS, _WARPGROUP_TERMS) or n % 8:
        raise ValueError(f"there is no product of a warpgroup {text}; use m64nNk16")
    if not 8 <= n <= _WARPGROUP_COLUMNS:
        raise ValueError(f"a product of a warpgroup has 8 to 256 columns, not {n}")
    return n
