"""Fragments of matrices in registers: loads by `ptx_ldmatrix`, products by `ptx_mma`.

A fragment of A has 16 rows of 32 bytes, one of B 16 columns of as many, which are two
operands of a product of 16 rows and 8 columns. A lane has four registers of each, and 4
sums of a product: two neighbours of a row, and two 8 rows below. How many terms 32 bytes
are goes by the type of the operands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from xdsl.dialects.builtin import bf16, f16, f32, i1, i8, i16, i32
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

ROWS: Final = 16
"""Rows of a product."""
COLUMNS: Final = 8
"""Columns of a product."""
TERMS: Final = 16
"""Terms of a product of two operands of 16 bits."""
FRAGMENT: Final = 8
"""Elements of 16 bits that a lane has of a fragment of A, or of B."""
SUMS: Final = 4
"""Sums of a product that a lane has."""
_WORD: Final = 4
"""Bytes of a register."""
ROW_BYTES: Final = 16
"""Bytes of a row of one of the four matrices of a fragment."""


@dataclass(frozen=True)
class ProductFormat:
    """Operands of a product, as `ptx_mma` names them."""

    name: str
    shape: str
    sums: Attribute
    """The type of the sums."""
    sums_name: str
    size: int
    """Bytes of an element."""

    @property
    def piece(self) -> int:
        """Elements of a row of a matrix, as many as a lane has of a fragment."""
        return ROW_BYTES // self.size

    @property
    def terms(self) -> int:
        """Terms of a product."""
        return 2 * self.piece


_BYTES: Final = ("m16n8k32", i32, "int32", 1)
FORMATS: Final[dict[Attribute, ProductFormat]] = {
    f16: ProductFormat("fp16", "m16n8k16", f32, "fp32", 2),
    bf16: ProductFormat("bf16", "m16n8k16", f32, "fp32", 2),
    i8: ProductFormat("int8", *_BYTES),
    tir.parse_dtype("uint8"): ProductFormat("uint8", *_BYTES),
    f32: ProductFormat("tf32", "m16n8k8", f32, "fp32", 4),
}
"""The products of operands of a type. The low 13 bits of an f32 are not looked at."""


def format_of(buffer: SSAValue) -> ProductFormat:
    """The products of elements of a buffer."""
    return FORMATS[tir.buffer_definition(buffer).type.element_type]


def load_fragment(
    code: LoopCode,
    fragment: SSAValue,
    offset: Expr,
    tile: SSAValue,
    lane: Expr,
    line: Expr,
    term: Expr,
    *,
    is_a: bool,
    along_terms: bool,
    permuted: Callable[[Expr, Expr], Expr] | None = None,
) -> None:
    """Load 16 lines of 32 bytes: four matrices, of which a lane knows where a row is.

    Lines are rows of A, and columns of B. `tile` is in shared memory, by lines if
    `along_terms`, else by terms, which has to be of 16 bits; `offset` is where the lane
    has its first element in `fragment`. The matrices of A follow each other along the
    lines, then along the terms; those of B the other way. `permuted` says in which column
    of the tile a row has a column.
    """

    def number(value: int) -> Expr:
        return smart.const(value, lane.dtype)

    piece = format_of(tile).piece
    eighth = smart.floormod(lane, number(8))
    sixteenth = smart.floormod(lane, number(16))
    last = smart.floordiv(lane, number(16))
    if along_terms and is_a:
        lines, terms = sixteenth, smart.mul(last, number(piece))
    elif along_terms:
        lines = smart.add(smart.mul(last, number(8)), eighth)
        terms = smart.sub(sixteenth, eighth)
        if piece != FRAGMENT:
            terms = smart.mul(smart.floordiv(sixteenth, number(8)), number(piece))
    elif is_a:
        lines = smart.sub(sixteenth, eighth)
        terms = smart.add(smart.mul(last, number(8)), eighth)
    else:
        lines, terms = smart.mul(last, number(8)), sixteenth
    at = smart.add(line, lines), smart.add(term, terms)
    row, column = at if along_terms else reversed(at)
    if permuted is not None:
        column = permuted(row, column)
    dtype = tir.buffer_definition(tile).type.element_type
    _load_matrices(
        code, fragment, offset, tile, row, column, dtype, transposed=not along_terms
    )


def _load_matrices(
    code: LoopCode,
    fragment: SSAValue,
    offset: Expr,
    tile: SSAValue,
    row: Expr,
    column: Expr,
    dtype: Attribute,
    *,
    transposed: bool,
) -> None:
    """Load four matrices, of which the lane's row is where it says in the tile."""
    height, width = tir.buffer_definition(tile).type.get_shape()
    place = smart.add(smart.mul(row, smart.const(width, row.dtype)), column)
    rest = smart.sub(smart.const(height * width, place.dtype), place)
    arguments = [
        smart.const(transposed, i1),
        smart.const(SUMS, i32),
        code.string(".b16"),
        code.data(fragment),
        offset,
        code.read_pointer(tile, place, rest),
        smart.const(0, i32),
    ]
    code.call("ptx_ldmatrix", arguments, dtype)


def load_words(
    code: LoopCode,
    fragment: SSAValue,
    offset: Expr,
    tile: SSAValue,
    lane: Expr,
    line: Expr,
    term: Expr,
    *,
    is_a: bool,
    permuted: Callable[[Expr, Expr], Expr],
) -> None:
    """Load 16 lines of 8 terms of 32 bits of a tile by terms, as `load_fragment` does.

    No `ptx_ldmatrix` transposes words: a lane loads its four.
    """

    def number(value: int) -> Expr:
        return smart.const(value, lane.dtype)

    with code.unrolled("w", number(SUMS)) as word:
        near = smart.floormod(word, number(2))
        far = smart.floordiv(word, number(2))
        below, after = (near, far) if is_a else (far, near)
        lines = smart.add(smart.mul(below, number(8)), smart.floordiv(lane, number(4)))
        terms = smart.add(smart.mul(after, number(4)), smart.floormod(lane, number(4)))
        row, column = smart.add(term, terms), smart.add(line, lines)
        value = code.load(tile, row, permuted(row, column))
        code.store(value, fragment, smart.add(offset, word))


def load_bytes(
    code: LoopCode,
    fragment: SSAValue,
    offset: Expr,
    tile: SSAValue,
    lane: Expr,
    line: Expr,
    term: Expr,
    *,
    is_a: bool,
    placed: Callable[[Expr, Expr], tuple[Expr, Expr]],
) -> None:
    """Load 16 lines of 32 terms of bytes of a tile by terms, of which every other is one
    of a product: even lines are the first 8 of the fragment, odd ones the others.

    `ptx_ldmatrix` transposes pairs of bytes, those of two lines. A lane receives them of
    two terms by each matrix; the four terms of a register are those of two matrices,
    whose bytes are dealt out to the two lines. `placed` says where in the tile a term and
    a line are.
    """

    def number(value: int) -> Expr:
        return smart.const(value, lane.dtype)

    def part(size: int, count: int) -> Expr:
        return smart.floormod(smart.floordiv(lane, number(size)), number(count))

    # Rows 2q and 2q + 1 of a matrix reach the lanes that hold terms 4q to 4q + 3.
    terms = smart.add(
        smart.mul(part(16, 2), number(16)), smart.mul(part(2, 4), number(4))
    )
    terms = smart.add(terms, smart.mul(part(8, 2), number(2)))
    row, column = placed(smart.add(term, smart.add(terms, part(1, 2))), line)
    dtype = tir.buffer_definition(tile).type.element_type
    pairs = code.alloc("pairs", [ROW_BYTES], dtype, "local")
    _load_matrices(code, pairs, number(0), tile, row, column, i16, transposed=True)
    loaded = [
        code.value(code.load(pairs, smart.ramp(number(first), _WORD)))
        for first in range(0, ROW_BYTES, _WORD)
    ]
    for which in range(SUMS):
        # Registers of A follow each other along the lines first, those of B the terms.
        odd, half = (which % 2, which // 2) if is_a else (which // 2, which % 2)
        both = loaded[2 * half : 2 * half + 2]
        place = smart.ramp(smart.add(offset, number(_WORD * which)), _WORD)
        code.store(code.shuffled(both, range(odd, 2 * _WORD, 2)), fragment, place)


def add_product(
    code: LoopCode,
    a: SSAValue,
    at_a: Expr,
    b: SSAValue,
    at_b: Expr,
    sums: SSAValue,
    at_sums: Expr,
) -> None:
    """Add the product of 16 rows and 8 columns to sums, which are f32 or i32.

    The places are those of the first element of the lane in each array.
    """
    form = format_of(a)
    arguments = [
        *map(code.string, (form.shape, "row", "col", form.name, form.name)),
        code.string(form.sums_name),
        code.data(a),
        at_a,
        code.data(b),
        at_b,
        code.data(sums),
        at_sums,
        smart.const(0, i1),
    ]
    code.call("ptx_mma", arguments, form.sums)
