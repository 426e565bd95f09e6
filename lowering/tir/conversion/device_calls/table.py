"""Which builtins of PTX have a lowering, and the lowering of each."""

from __future__ import annotations

from collections.abc import Callable

from xdsl_tvm.dialects import tir
from xdsl_tvm.lowering.tir.conversion.body import BodyConverter
from xdsl_tvm.lowering.tir.conversion.device_calls import copies, matrices

DEVICE_CALLS: dict[str, Callable[[BodyConverter, tir.CallOp], None]] = {
    "mma_fill": matrices.fill,
    "ptx_commit_group": copies.commit,
    "ptx_cp_async": copies.copy,
    "ptx_ldmatrix": matrices.load_matrices,
    "ptx_mma": matrices.multiply,
    "ptx_mma_sp": matrices.multiply_sparse,
    "ptx_wait_group": copies.wait,
}
"""Builtins that a kernel runs for their effects, by name."""
