"""Integers of LLVM in numpy arrays: signed, wrapped to their width.

An integer is in the signed dtype of 8, 16, 32 or 64 bits that holds it, sign-extended; an
`i1` is a bool.
"""

from __future__ import annotations

import numpy as np

from xdsl_tvm.interpreters.data.numbers import Number
from xdsl_tvm.interpreters.llvm_kernels.layouts import Array


def spare_bits(dtype: Number) -> int:
    """The bits of the numpy dtype that the integer does not have."""
    return 8 * dtype.size - dtype.bits


def as_signed(values: Array, dtype: Number) -> Array:
    """Integers as signed numbers: a set `i1` is -1."""
    return -values.astype(np.int8) if dtype.is_bool else values


def as_unsigned(values: Array, dtype: Number) -> Array:
    """Integers as unsigned numbers of the same size."""
    if dtype.is_bool:
        return values.astype(np.uint8)
    found = values.view(f"u{dtype.size}")
    if spare_bits(dtype):
        return found & found.dtype.type((1 << dtype.bits) - 1)
    return found


def wrapped(values: Array, dtype: Number) -> Array:
    """The low bits of integers of any numpy dtype, as integers of `dtype`."""
    if dtype.is_bool:
        return (values & 1).astype(np.bool_)
    found = values.astype(dtype.storage, copy=False)
    spare = spare_bits(dtype)
    return found << spare >> spare if spare else found
