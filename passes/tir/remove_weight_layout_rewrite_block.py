"""Blocks that rewrite the layout of a weight: gone, it comes in the new layout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import NoReturn, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    ModuleOp,
    TensorType,
)
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.arith import expr as trees
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, Value, leaf_values, view
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.types import is_index_type
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.rewriting.memory_views import replace_regions, take_after
from xdsl_tvm.passes.tir.rewriting.statements import describe, erase_if_unused

_MARK = "meta_schedule.layout_rewrite_preproc"
_Numbers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RemoveWeightLayoutRewriteBlock(CompilerPass):
    """Summary: Removes the copies of weights into another layout: the function takes, or
        holds, weights that are in that layout already.

    TVM name: tir.RemoveWeightLayoutRewriteBlock (v0.20)
    Input form: any
    Output form: as the input
    Options:
        `skip_ndarray_rewrite`: the contents of constants stay in the order they are in,
            as for measurements, where only their shape matters
    Rewrites: before

            %W = tir.match_buffer %w : !tir.buffer<16x16xf32>
            %P = tir.alloc_buffer "P" : !tir.buffer<16x4x4xf32>
            ...
            tir.block "pack" (%i : S in [%c0 to %c16] = %k, %j : S in [%c0 to %c16] = %l)
                annotations {meta_schedule.layout_rewrite_preproc = true} {
              tir.reads %W[%i, %j]
              tir.writes %P[%j, %q, %r]
              %x = tir.load %W[%i, %j] : f32
              %q = tir.floordiv %i, %c4 : i32
              %r = tir.floormod %i, %c4 : i32
              tir.store %x, %P[%j, %q, %r] : f32
            }

        after

            %P = tir.match_buffer "P" %w : !tir.buffer<16x4x4xf32>
            ...
            tir.block "pack" (%i : S in [%c0 to %c16] = %k, %j : S in [%c0 to %c16] = %l)
                annotations {meta_schedule.layout_rewrite_preproc = true} {
              tir.reads
              tir.writes
              tir.evaluate
            }

        A weight that views a `tir.allocate_const` gets the new shape, and its elements
        are put where the block would have copied them. Where other blocks declare to read
        the weight, they declare to read all of it in its new layout. Time is linear in
        the sizes of the module and of the constants.
    Leaves alone: blocks without the annotation, or where it is not 1; the loops around a
        block, and the attributes of the function
    Errors: an annotated block that declares buffers, or does anything but copy one
        element to one that it computes from the iteration variables that index the first;
        a weight that is neither a parameter nor a constant, whose shape or layout is not
        static, that is used elsewhere, or that is written; a copy that is written
        elsewhere; a constant that is not inline, that is used by others, or that does
        not come before all uses of the copy; a copy that does not fill its buffer
    Attributes: read: `meta_schedule.layout_rewrite_preproc` on `tir.block`; created:
        none; removed: none
    Differs from TVM: the copy must not be written elsewhere, nor the weight be used; TVM
        goes on and accesses the wrong elements. A weight that is an allocated buffer is
        an error, where TVM removes the memory of the copy. A constant is only rearranged
        if each element of the new layout gets one of the old.
    """

    name = "tir-remove-weight-layout-rewrite-block"
    skip_ndarray_rewrite: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in [each for each in op.walk() if _is_marked(each)]:
            assert isinstance(block, tir.BlockOp)
            copy = _copy_of(block)
            match copy.weight:
                case tir.MatchBufferOp() as match:
                    _change_parameter(copy, match)
                case tir.DeclBufferOp(data=data) as view_op if isinstance(
                    constant := data.owner, tir.AllocateConstOp
                ):
                    _change_constant(
                        copy, view_op, constant, in_order=self.skip_ndarray_rewrite
                    )
                case _:
                    _refuse(
                        block,
                        "the weight is neither a parameter nor a constant; pass it as a "
                        "parameter",
                    )


def _refuse(block: Operation, reason: str) -> NoReturn:
    raise PassFailedException(f"{describe(block)}: {reason}")


def _is_marked(op: Operation) -> bool:
    if not isinstance(op, tir.BlockOp) or op.annotations is None:
        return False
    value = op.annotations.data.get(_MARK)
    # `true` is 1 or -1, depending on who made it.
    return isinstance(value, IntegerAttr) and abs(value.value.data) == 1


# ---- what the block does ----


@dataclass(frozen=True)
class _Copy:
    """A block that copies each element of a weight to another place."""

    block: tir.BlockOp
    load: tir.LoadOp
    store: tir.StoreOp
    weight: tir.BufferDefinition
    packed: tir.AllocBufferOp


def _copy_of(block: tir.BlockOp) -> _Copy:
    """What an annotated block copies; raises PassFailedException if it does not."""
    loads: list[tir.LoadOp] = []
    stores: list[tir.StoreOp] = []
    for op in block.body.block.ops:
        match op:
            case tir.BufferDefinition():
                _refuse(block, f"it declares a buffer by {op.name}; declare none")
            case tir.LoadOp():
                loads.append(op)
            case tir.StoreOp():
                stores.append(op)
            case tir.ReadsOp() | tir.WritesOp():
                pass
            case _ if op.regions or not is_side_effect_free(op):
                _refuse(block, f"it does more than copy an element: {op.name}")
            case _:
                pass
    if len(loads) != 1 or len(stores) != 1 or stores[0].value is not loads[0].result:
        _refuse(block, "it must load one element and store it as it is")
    (load,), (store,) = loads, stores
    packed = store.buffer.owner
    if load.predicate is not None or store.predicate is not None:
        _refuse(block, "its load and its store must have no predicate")
    if not isinstance(packed, tir.AllocBufferOp):
        _refuse(block, "it must copy to a buffer of a tir.alloc_buffer")
    _check_indices(block, load, store)
    copy = _Copy(block, load, store, tir.buffer_definition(load.buffer), packed)
    _check_uses(copy)
    return copy


def _check_indices(block: tir.BlockOp, load: tir.LoadOp, store: tir.StoreOp) -> None:
    variables = set(load.indices)
    if len(variables) < len(load.indices) or not all(
        isinstance(index, BlockArgument) for index in variables
    ):
        _refuse(block, "the indices of its load must be different variables")
    found = leaf_values(*(view(index) for index in store.indices))
    if not set(found) <= variables:
        _refuse(block, "the indices of its store must be computed from those of its load")


def _check_uses(copy: _Copy) -> None:
    """Refuse weights and copies that are more than that."""
    for use in copy.weight.buffer.uses:
        if use.operation is not copy.load and not isinstance(use.operation, tir.ReadsOp):
            _refuse(
                copy.block,
                f"the weight is used elsewhere, by {use.operation.name}, where it would "
                "be in the other layout; use the copy there",
            )
    for use in copy.packed.buffer.uses:
        op = use.operation
        around = op.parent_op()
        is_other = isinstance(op, tir.StoreOp) and op is not copy.store
        if isinstance(op, tir.WritesOp) and around is not None:
            is_other = not around.is_ancestor(copy.block)
        if is_other:
            _refuse(copy.block, "the copy is written elsewhere; copy into a buffer again")
    weight, packed = copy.weight.type, copy.packed.type
    if (weight.element_type, weight.scope) != (packed.element_type, packed.scope):
        _refuse(copy.block, "weight and copy must be of one element type and scope")
    for what, buffer in (("weight", copy.weight), ("copy", copy.packed)):
        if buffer.extents or buffer.strides or buffer.elem_offset is not None:
            _refuse(copy.block, f"the {what} must have constant extents, and no offset")


# ---- edits ----


def _change_parameter(copy: _Copy, match: tir.MatchBufferOp) -> None:
    if any(use.operation is not match for use in match.param.uses):
        _refuse(
            copy.block, "the parameter of the weight is used elsewhere; match it once"
        )
    new = tir.MatchBufferOp(match.param, copy.packed.type)
    Rewriter.insert_op(new, InsertPoint.before(match))
    _use_instead(copy, new)


def _change_constant(
    copy: _Copy,
    view_op: tir.DeclBufferOp,
    constant: tir.AllocateConstOp,
    *,
    in_order: bool,
) -> None:
    if any(use.operation is not view_op for use in constant.result.uses):
        _refuse(copy.block, "the constant of the weight is used elsewhere; view it once")
    if not _comes_first(constant, copy.packed):
        _refuse(copy.block, "the constant must come before all uses of the copy")
    data = cast("DenseIntOrFPElementsAttr | IntegerAttr", constant.data)
    if not isinstance(data, DenseIntOrFPElementsAttr):
        _refuse(
            copy.block,
            "the constant is one of the module's; write its contents in the "
            "tir.allocate_const",
        )
    if copy.packed.layout_strides or view_op.layout_strides:
        _refuse(copy.block, "the constant and its copy must have no strides")
    constant.properties["data"] = _rearranged(copy, data, in_order=in_order)
    new = tir.DeclBufferOp(constant.result, copy.packed.type)
    Rewriter.insert_op(new, InsertPoint.after(constant))
    _use_instead(copy, new)


def _comes_first(constant: Operation, packed: tir.AllocBufferOp) -> bool:
    """Whether all uses of a buffer are after an op, where that is defined."""
    block = constant.parent
    assert block is not None, "a detached op has no place"
    users = {block.find_ancestor_op_in_block(use.operation) for use in packed.buffer.uses}
    return None not in users and users.isdisjoint(_ops_before(constant))


def _ops_before(op: Operation) -> Iterator[Operation]:
    while (before := op.prev_op) is not None:
        yield before
        op = before


def _use_instead(copy: _Copy, new: tir.BufferDefinition) -> None:
    """Let a buffer take the place of the weight and of the copy."""
    take_after(new, copy.packed)
    _empty(copy.block)
    packed = copy.packed.buffer
    for op in {use.operation: None for use in packed.uses}:
        if isinstance(op, tir.WritesOp):
            left = [each for each in op.buffer_regions if each.buffer is not packed]
            erase_if_unused(replace_regions(op, left))
    packed.replace_all_uses_with(new.buffer)
    for op in {use.operation: None for use in copy.weight.buffer.uses}:
        assert isinstance(op, tir.ReadsOp), "all other uses have been refused"
        _read_all(op, copy.weight.buffer, new)
    Rewriter.erase_op(copy.packed)
    Rewriter.erase_op(copy.weight)


def _empty(block: tir.BlockOp) -> None:
    body = block.body.block
    outside = _values_used(body)
    for op in reversed(tuple(body.ops)):
        Rewriter.erase_op(op)
    body.add_ops([tir.ReadsOp(), tir.WritesOp(), tir.EvaluateOp()])
    erase_if_unused(outside)


def _values_used(body: Block) -> list[SSAValue]:
    """The values from around a block that its ops use."""
    return [
        operand
        for op in body.ops
        for operand in op.operands
        if isinstance(operand.owner, Operation) and operand.owner.parent is not body
    ]


def _read_all(op: tir.ReadsOp, weight: SSAValue, new: tir.BufferDefinition) -> None:
    """Declare that all of a buffer is read where parts of the weight were."""
    zero = tir.ConstOp(IntegerAttr(0, new.extent_type))
    Rewriter.insert_op(zero, InsertPoint.before(op))
    shape = new.shape
    whole = tir.BufferRegion(new.buffer, (zero.result,) * len(shape), shape)
    regions = [each for each in op.buffer_regions if each.buffer is not weight]
    erase_if_unused(replace_regions(op, [*regions, whole]))


# ---- contents of constants ----


def _rearranged(
    copy: _Copy, data: DenseIntOrFPElementsAttr, *, in_order: bool
) -> DenseIntOrFPElementsAttr:
    """The contents of a constant as the copy would have them."""
    old, new = copy.weight.type.get_shape(), copy.packed.type.get_shape()
    if not prod(old) == prod(new) == len(data):
        _refuse(
            copy.block,
            f"the constant has {len(data)} elements, the weight {prod(old)} and the copy "
            f"{prod(new)}; they must have equally many",
        )
    contents = data.data.data
    if not in_order:
        size = len(contents) // max(len(data), 1)
        elements = np.frombuffer(contents, dtype=f"V{size}")
        moved = np.empty_like(elements)
        moved[_places(copy, old, new)] = elements
        contents = moved.tobytes()
    return DenseIntOrFPElementsAttr(
        TensorType(data.get_element_type(), new), BytesAttr(contents)
    )


def _places(copy: _Copy, old: Sequence[int], new: Sequence[int]) -> _Numbers:
    """Where in row-major order each element goes."""
    grids = np.indices(old, dtype=np.int64).reshape(len(old), -1)
    known: dict[Expr, _Numbers] = {
        Value(index): grid for index, grid in zip(copy.load.indices, grids, strict=True)
    }
    place = np.zeros(prod(old), dtype=np.int64)
    for index, extent in zip(copy.store.indices, new, strict=True):
        numbers = np.broadcast_to(_numbers(copy.block, view(index), known), place.shape)
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < extent:
            _refuse(copy.block, f"it copies outside of the extent {extent}")
        place = place * extent + numbers
    if len(np.unique(place)) < place.size:
        _refuse(copy.block, "it copies several elements of the weight to one place")
    return place


def _numbers(block: tir.BlockOp, root: Expr, known: Mapping[Expr, _Numbers]) -> _Numbers:
    """The numbers that a tree stands for, for those of its variables."""

    def number(node: Expr, operands: Sequence[_Numbers]) -> _Numbers:
        if node in known:
            return known[node]
        constant = smart.literal(node)
        if isinstance(constant, int):
            return np.full(1, constant, dtype=np.int64)
        match node, *operands:
            case trees.Add(), a, b:
                return a + b
            case trees.Sub(), a, b:
                return a - b
            case trees.Mul(), a, b:
                return a * b
            case trees.FloorDiv(), a, b if b.all():
                return a // b
            case trees.FloorMod(), a, b if b.all():
                return a % b
            case trees.Cast(), a if is_index_type(node.dtype):
                return a
            case _:
                _refuse(block, f"an index of its store is no sum or quotient: {node}")

    return trees.fold(root, number)
