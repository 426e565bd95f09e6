"""Boxes of tensors and operands of warpgroups, as in shared memory of Hopper GPUs.

With a swizzle of 128 bytes, bits 4 to 6 of an address are combined with bits 7 to 9, so
that pieces of 16 bytes are permuted within rows of 128. A product of a warpgroup reads
rows of 64 elements that are permuted so: lines of 64 terms, or terms of 64 columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from xdsl_tvm.interpreters.errors import ArgumentError

Array: TypeAlias = np.ndarray[Any, Any]

CHUNK: Final = 16
"""The bytes that a swizzle keeps together."""
ROW: Final = 128
"""The bytes of a row of a permuted box."""
EIGHT_ROWS: Final = 8 * ROW
"""From 8 rows to the next 8, in bytes."""
TERMS: Final = 16
"""Terms of a product of a warpgroup."""
ROWS: Final = 64
"""Its rows."""
GROUP: Final = 64
"""Columns of B that a row has where rows are terms."""
FURTHER_COLUMNS: Final = 64 * ROW
"""From 64 columns to the next 64 there, in bytes: boxes have 64 terms."""
MOST_DIMENSIONS: Final = 5
_MOST_ELEMENTS: Final = 256
_MOST_EXTENT: Final = 1 << 32
_ITEM: Final = 2


def permuted(address: Array) -> Array:
    """Addresses of shared memory, with a swizzle of 128 bytes."""
    return address ^ ((address >> 7 & 7) << 4)


def check_tensor_map(
    extents: Sequence[int],
    strides: Sequence[int],
    itemsize: int,
    box: Sequence[int],
    swizzle: int,
) -> None:
    """Raise ArgumentError where there is no such tensor map.

    `strides` are in bytes, of all dimensions but the innermost, which is contiguous.
    """
    if not 1 <= len(extents) <= MOST_DIMENSIONS or len(box) != len(extents):
        raise ArgumentError(
            f"a tensor map has 1 to {MOST_DIMENSIONS} dimensions, a box as many, not "
            f"{len(extents)} and {len(box)}"
        )
    if any(each % CHUNK for each in strides):
        raise ArgumentError(
            f"a tensor map is of contiguous rows at multiples of {CHUNK} bytes, not of "
            f"strides {tuple(strides)}"
        )
    if not all(1 <= each <= _MOST_EXTENT for each in extents):
        raise ArgumentError(
            f"a dimension has 1 to 2^32 elements, not those of {tuple(extents)}"
        )
    if not all(1 <= each <= _MOST_ELEMENTS for each in box):
        raise ArgumentError(f"a box has 1 to {_MOST_ELEMENTS} elements, not {tuple(box)}")
    row = box[-1] * itemsize
    if swizzle not in (0, ROW) or row % CHUNK:
        raise ArgumentError(
            f"rows of a box are multiples of {CHUNK} bytes, permuted by 0 or {ROW}"
        )
    if swizzle and row != ROW:
        raise ArgumentError(f"a permuted row has {ROW} bytes, not {row}")


# ---- operands of products ----


def line_chunks(start: int, first: int, count: int, eight_rows: int) -> Array:
    """The addresses of the pieces of some lines of 16 terms each, by line and piece."""
    line = np.arange(first, first + count)[:, None]
    piece = np.arange(0, TERMS * _ITEM, CHUNK)[None, :]
    return permuted(start + line // 8 * eight_rows + line % 8 * ROW + piece)


def term_chunks(start: int, columns: int, further: int, eight_rows: int) -> Array:
    """Those of 16 terms of some columns each, where rows are terms; by term and piece.

    `further` is from 64 columns to the next 64.
    """
    term = np.arange(TERMS)[:, None]
    column = np.arange(0, columns, CHUNK // _ITEM)[None, :]
    place = column // GROUP * further + column % GROUP * _ITEM
    return permuted(start + term // 8 * eight_rows + term % 8 * ROW + place)


def sum_places(columns: int) -> tuple[Array, Array]:
    """The rows and columns of the sums of each thread of a warpgroup, by thread and sum.

    The sum `4 * j + 2 * h + e` of lane l of warp w is in row `16 * w + l / 4 + 8 * h` and
    column `8 * j + 2 * (l % 4) + e`.
    """
    thread = np.arange(128)[:, None]
    number = np.arange(columns // 2)[None, :]
    row = thread // 32 * 16 + thread % 32 // 4 + number // 2 % 2 * 8
    column = number // 4 * 8 + thread % 4 * 2 + number % 2
    return np.broadcast_to(row, (128, columns // 2)), column
