"""Builtins that access memory by a pointer and an offset after it.

Such a builtin has an offset of its own for each of its pointers, and what it accesses by
one of them does not depend on the offsets of the others.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl_tvm.dialects import tir

_MMA_SYNC = (("d", "d_index"), ("a", "a_index"), ("b", "b_index"), ("c", "c_index"))

FRAGMENTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "tvm_load_matrix_sync": (("frag", "index"),),
    "tvm_store_matrix_sync": (("frag", "index"),),
    "tvm_fill_fragment": (("frag", "index"),),
    "tvm_mma_sync": _MMA_SYNC,
    "tvm_bmma_sync": _MMA_SYNC,
}
"""Builtins that take a fragment by pointer and number, by the names of the operands."""
OFFSETS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "ptx_ldmatrix": (("local_ptr", "local_offset"), ("smem_ptr", "smem_offset")),
    "ptx_mma": (("a", "a_offset"), ("b", "b_offset"), ("c", "c_offset")),
    "ptx_mma_sp": (
        ("a", "a_offset"),
        ("b", "b_offset"),
        ("c", "c_offset"),
        ("metadata", "metadata_offset"),
    ),
    "ptx_wgmma_mma_async": (("a", "a_offset"), ("b", "b_offset"), ("c", "c_offset")),
    "ptx_cp_async_bulk_tensor": (("shared_ptr", "shared_offset"),),
    "mma_store": (("src_ptr", "src_offset"),),
    "mma_fill": (("local_ptr", "offset"),),
}
"""Builtins that take an element by pointer and offset."""


def offset_positions(
    op: tir.CallOp, table: Mapping[str, tuple[tuple[str, str], ...]]
) -> dict[int, int]:
    """Where the operands are that a table lists: for each pointer, its offset."""
    return {
        position_of(op, pointer): position_of(op, offset)
        for pointer, offset in table.get(op.callee.data, ())
    }


def position_of(op: tir.CallOp, name: str) -> int:
    """Where a builtin has the operand of this name."""
    (found,) = tir.INTRINSICS[op.callee.data].positions(name, len(op.args))
    return found
