"""Which pointers are retyped, and what counts as an access of vectors."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PointerTypeSettings:
    """The parameters of TVM's rewriter of pointer types.

    docs/spec/tir-passes-c-memory-and-gpu.md, "PointerValueTypeRewrite".
    """

    rewrite_params: bool = True
    """Parameters that are typed pointers."""
    rewrite_buffer_map: bool = True
    """Parameters that a `tir.match_buffer` matches."""
    rewrite_allocate: bool = True
    """`tir.allocate` and `tir.alloc_buffer`."""
    rewrite_indices: bool = True
    """Indices follow the element type; without this nothing is retyped."""
    rewrite_let: bool = True
    """Pointers that a `tir.let` binds."""
    rewrite_allocate_const: bool = True
    """Accepted for completeness: contents are scalars, so constants are never retyped."""
    scalar_read_to_shuffle: bool = True
    """A scalar read becomes a lane of a vector read, and does not count as an access of
    scalars."""
    allow_untyped_pointers: bool = False
    """Whether a `tir.let` may bind a handle without a pointer type."""
