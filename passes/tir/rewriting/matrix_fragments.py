"""Fragments of matrices in registers: loads by `ptx_ldmatrix`, products by `ptx_mma`.

A fragment of A has 16 rows and 16 terms, one of B 16 columns and 16 terms, which are two
operands of a product of 16 rows, 8 columns and 16 terms. A lane has 8 elements of each,
and 4 sums of a product: two neighbours of a row, and two 8 rows below.
"""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import BFloat16Type, f32, i1, i32
from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

ROWS: Final = 16
"""Rows of a product."""
COLUMNS: Final = 8
"""Columns of a product."""
TERMS: Final = 16
"""Terms of a product."""
FRAGMENT: Final = 8
"""Elements that a lane has of a fragment of A, or of B."""
SUMS: Final = 4
"""Sums of a product that a lane has."""


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
) -> None:
    """Load 16 lines of 16 terms: four matrices, of which a lane knows where a row is.

    Lines are rows of A, and columns of B. `tile` is in shared memory, by lines if
    `along_terms`, else by terms; `offset` is where the lane has its first element in
    `fragment`. The matrices of A follow each other along the lines, then along the terms;
    those of B the other way.
    """

    def number(value: int) -> Expr:
        return smart.const(value, lane.dtype)

    eighth = smart.floormod(lane, number(8))
    sixteenth = smart.floormod(lane, number(16))
    near = smart.sub(sixteenth, eighth)
    far = smart.mul(smart.floordiv(lane, number(16)), number(8))
    if is_a == along_terms:
        near = sixteenth
    else:
        far = smart.add(far, eighth)
    lines, terms = (near, far) if is_a else (far, near)
    at = smart.add(line, lines), smart.add(term, terms)
    row, column = at if along_terms else reversed(at)
    type_ = tir.buffer_definition(tile).type
    height, width = type_.get_shape()
    place = smart.add(smart.mul(row, number(width)), column)
    rest = smart.sub(number(height * width), place)
    arguments = [
        smart.const(not along_terms, i1),
        smart.const(4, i32),
        code.string(".b16"),
        code.data(fragment),
        offset,
        code.read_pointer(tile, place, rest),
        smart.const(0, i32),
    ]
    code.call("ptx_ldmatrix", arguments, type_.element_type)


def add_product(
    code: LoopCode,
    a: SSAValue,
    at_a: Expr,
    b: SSAValue,
    at_b: Expr,
    sums: SSAValue,
    at_sums: Expr,
) -> None:
    """Add the product of 16 rows and 8 columns to sums in f32.

    The places are those of the first element of the lane in each array.
    """
    is_bfloat = isinstance(tir.buffer_definition(a).type.element_type, BFloat16Type)
    dtype = "bf16" if is_bfloat else "fp16"
    arguments = [
        *map(code.string, ("m16n8k16", "row", "col", dtype, dtype, "fp32")),
        code.data(a),
        at_a,
        code.data(b),
        at_b,
        code.data(sums),
        at_sums,
        smart.const(0, i1),
    ]
    code.call("ptx_mma", arguments, f32)
