"""Buffers with strides: what `buffer_dim_align` asks for, and the memory it takes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.arith.expr import Expr, emit, values_at_hand, view
from xdsl_tvm.analysis.arith.polynomial import Polynomial, polynomial
from xdsl_tvm.analysis.derivation import derivation
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.annotations import list_items
from xdsl_tvm.passes.tir.rewriting.statements import describe

DIM_ALIGN = "buffer_dim_align"
Alignments = dict[SSAValue, list[ArrayAttr[Attribute]]]
"""For an allocated buffer lists of -1, dimension, factor and offset."""
_NO_ANNOTATIONS = DictionaryAttr({})


def entry(annotations: DictionaryAttr | None, key: str) -> Sequence[Attribute]:
    """The list under a key of annotations, empty where there is none."""
    found = (annotations or _NO_ANNOTATIONS).data.get(key)
    return (None if found is None else list_items(found)) or ()


def collect_alignments(block: tir.BlockOp, found: Alignments) -> None:
    """Add what `buffer_dim_align` says of the buffers that the block writes."""
    alignments = entry(block.annotations, DIM_ALIGN)
    if not alignments:
        return
    writes = next(
        (op for op in block.body.block.ops if isinstance(op, tir.WritesOp)), None
    )
    buffers: Sequence[SSAValue] = () if writes is None else writes.buffers
    for alignment in alignments:
        fields = list_items(alignment)
        # The verifier has seen to it that there are four integers.
        assert fields is not None
        named = cast("IntegerAttr[IntegerType]", fields[0])
        index = named.value.data
        if not 0 <= index < len(buffers):
            raise PassFailedException(
                f"{describe(block)}: {DIM_ALIGN} names written buffer {index}, but the "
                f"block declares {len(buffers)} in tir.writes"
            )
        found.setdefault(_allocated(buffers[index]), []).append(
            ArrayAttr([IntegerAttr(-1, named.type), *fields[1:]])
        )


def _allocated(buffer: SSAValue) -> SSAValue:
    """The buffer whose memory `buffer` views."""
    found = buffer
    for value in derivation(buffer, (tir.DeclBufferOp, tir.DataOp)):
        if isinstance(value.type, tir.BufferType):
            found = value
    return found


def allocation_shape(
    alloc: tir.BufferDefinition, anchor: Operation
) -> list[int | SSAValue]:
    """The extents to allocate for a buffer: its own, with its strides folded in.

    What they need is computed before `anchor`. Raises PassFailedException where
    strides do not divide each other, or let rows overlap.
    """
    strides = alloc.layout_strides
    if not strides:
        return list(alloc.shape)
    trees: dict[SSAValue, Expr] = {}

    def normal_form(value: int | SSAValue) -> Polynomial:
        if isinstance(value, int):
            return Polynomial.constant(value)
        return polynomial(view(value, trees))

    steps = [normal_form(stride) for stride in strides]
    sizes = [normal_form(extent) for extent in alloc.shape]
    extents = [sizes[0]]
    for dim, (outer, inner) in enumerate(pairwise(steps), start=1):
        extent = outer.exact_quotient(inner)
        if extent is None:
            raise PassFailedException(
                f"{describe(alloc)}: stride {dim - 1} must be a multiple of stride {dim} "
                "that can be shown to be one; write it as such a product"
            )
        slack = (extent - sizes[dim]).as_constant
        if slack is not None and slack < 0:
            raise PassFailedException(
                f"{describe(alloc)}: stride {dim - 1} is too small for the extent of "
                f"dimension {dim}, so its rows overlap; enlarge the stride"
            )
        extents.append(extent)
    extents[-1] *= steps[-1]
    builder = Builder(InsertPoint.before(anchor))
    at_hand = values_at_hand(trees)
    dtype = alloc.strides[0].type if alloc.strides else alloc.extent_type
    given = dict(zip(steps + sizes, strides + alloc.shape, strict=True))

    def operand(extent: Polynomial) -> int | SSAValue:
        if extent in given:
            return given[extent]
        constant = extent.as_constant
        if constant is not None:
            return constant
        if not extent.fits(dtype):
            raise PassFailedException(
                f"{describe(alloc)}: a stride is outside of {dtype}; use 64-bit extents, "
                "or smaller ones"
            )
        return emit(extent.to_expr(dtype), builder, at_hand)

    return [operand(extent) for extent in extents]
