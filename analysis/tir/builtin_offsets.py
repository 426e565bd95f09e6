"""Builtins that access memory by a pointer and an offset after it.

Such a builtin has an offset of its own for each of its pointers, and what it accesses by
one of them does not depend on the offsets of the others.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl_tvm.dialects import tir

_BYTE = 8
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


def transposes_bytes(op: tir.CallOp) -> bool:
    """Whether a `ptx_ldmatrix` is that of transposed bytes, as its dtype says.

    No instruction loads them: it is loads of bytes, and its last operand is the stride of
    rows. Of another dtype it transposes pairs of bytes, whatever shared memory holds.
    """
    if tir.constant_value(op.args[position_of(op, "trans")]) == 0:
        return False
    pointer = op.args[position_of(op, "smem_ptr")].type
    dtype = pointer.element_type if isinstance(pointer, tir.PtrType) else pointer
    if op.result is not None:
        dtype = op.result.type
    return tir.bits_of_lane(tir.element_of(dtype)) == _BYTE
