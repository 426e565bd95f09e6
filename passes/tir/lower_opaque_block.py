"""Blocks: gone, with the loops that run once and the loops over threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._storage_align import (
    DIM_ALIGN,
    Alignments,
    allocation_shape,
    collect_alignments,
)
from xdsl_tvm.passes.tir.rewriting.statements import (
    can_speculate,
    describe,
    erase_if_unused,
    pragmas_of,
    replace_by_body,
    replace_value_uses,
    within_pragmas,
)

_PRAGMA_VALUES = (FloatAttr, IntegerAttr, StringAttr, UnitAttr)


@dataclass(frozen=True)
class LowerOpaqueBlock(CompilerPass):
    """Summary: Removes all blocks: predicates become `tir.if`, allocated buffers memory
        with a buffer on it, thread loops launches, and loops that run once disappear.

    TVM name: tir.LowerOpaqueBlock (v0.20)
    Input form: opaque blocks without `tir.init` and `tir.match_region`
    Output form: loops and buffers: no blocks, no loops of kind thread_binding; buffers
        keep their dimensions
    Options: none
    Rewrites: before

            tir.block "B" where %p annotations {"pragma_x" = 1 : i32} {
              %B = tir.alloc_buffer "B" strides [17, 1] : !tir.buffer<4x16xf32>
              tir.writes %B[%i, %j]
              tir.store %x, %B[%i, %j] : f32
            }
            tir.for %t = %lo to %lo + %c8 thread_binding "threadIdx.x" {
              tir.evaluate %t : i32
            }
            tir.for %u = %lo to %lo + %c1 {
              tir.evaluate %u : i32
            }

        after

            tir.attr "pragma_x" (0 : i32) = 1 : i32 {
              %0 = tir.allocate "B" [4, 17] : !tir.ptr<f32>
              %B = tir.decl_buffer "B" %0 strides [17, 1] : !tir.buffer<4x16xf32>
              tir.if %p {
                tir.store %x, %B[%i, %j] : f32
              }
            }
            tir.launch_thread %tx = "threadIdx.x" to %c8 {
              %t = tir.add %tx, %lo : i32
              tir.evaluate %t : i32
            }
            tir.evaluate %lo : i32

        Every op of a block with a predicate ends up inside the `tir.if`, except the
        allocations and the expressions that they need. Pragmas of a block are ordered
        by key, the smallest outermost. With strides `s`, dimension `k >= 1` of an
        allocation is `s[k-1] / s[k]`, and the last is multiplied by its stride. What is
        allocated or bound in a block or loop that disappears is bounded by a
        `tir.scope` if statements follow. Time is linear in the size of the module.
    Leaves alone: loops that run once but have annotations or attributes; loops whose
        extent is not the constant 1; the annotations of loops, `pragma_*` included,
        which stand for attribute scopes around the loop in the order of their keys
    Errors: a block with iteration variables: run tir-convert-blocks-to-opaque first; a
        `tir.init`: run tir-lower-init-block first; a `tir.match_region`:
        run tir-lower-match-buffer first; a pragma that is no string, number or unit;
        strides of an allocated buffer that do not divide each other, or that let rows
        overlap; an allocated buffer with an offset; `buffer_dim_align` that names no
        written buffer
    Attributes: read: `buffer_dim_align` of blocks, `pragma_*` of blocks and loops;
        created: `buffer_dim_align` on `tir.allocate` with -1 as first integer,
        `pragma_*` of blocks as `tir.attr` with the node `0 : i32`; removed: all other
        annotations of blocks and of thread loops
    Differs from TVM: a thread loop that does not start at 0 adds its start to the
        thread index, where TVM confuses the two; the last dimension's stride is
        allocated for; a `tir.match_region`, which TVM drops in silence, is an error,
        and so are overlapping rows and an offset. An allocation whose extents cannot be
        computed without the predicate, as they load or divide, stays inside the
        `tir.if`. A stride that is no constant is trusted to span its dimension.
    """

    name = "tir-lower-opaque-block"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        # In preorder: where enclosing ops come first, no op is moved more than once.
        found: list[tir.BlockOp | tir.ForOp | tir.AllocBufferOp] = []
        alignments: Alignments = {}
        for inner in ops_of(op, *_LOOKED_AT):
            _check(inner)
            if isinstance(inner, tir.BlockOp):
                collect_alignments(inner, alignments)
            if isinstance(inner, tir.BlockOp | tir.ForOp | tir.AllocBufferOp):
                found.append(inner)
        for inner in found:
            match inner:
                case tir.BlockOp():
                    _lower_block(inner)
                case tir.ForOp():
                    _lower_loop(inner)
                case tir.AllocBufferOp():
                    _lower_allocation(inner, alignments.get(inner.buffer, []))


_LOOKED_AT = (tir.AllocBufferOp, tir.BlockOp, tir.ForOp, tir.InitOp, tir.MatchRegionOp)


# ---- what is refused ----


def _check(op: Operation) -> None:
    """Raise PassFailedException if `op` is not of the input form."""
    match op:
        case tir.InitOp():
            raise PassFailedException(
                f"{describe(op)} must be gone here; run tir-lower-init-block first"
            )
        case tir.MatchRegionOp():
            raise PassFailedException(
                f"{describe(op)} must be gone here; run tir-lower-match-buffer first"
            )
        case tir.BlockOp() if not op.is_opaque:
            raise PassFailedException(
                f"{describe(op)} has iteration variables; run "
                "tir-convert-blocks-to-opaque first"
            )
        case tir.AllocBufferOp(elem_offset=SSAValue() as offset):
            if not tir.is_constant(offset, 0):
                raise PassFailedException(
                    f"{describe(op)} allocates a buffer with an element offset, which "
                    "its memory would not hold; remove the offset"
                )
        case tir.BlockOp() | tir.ForOp():
            _check_pragmas(op)
        case _:
            pass


def _check_pragmas(op: tir.BlockOp | tir.ForOp) -> None:
    for key, value in pragmas_of(op.annotations):
        if not isinstance(value, _PRAGMA_VALUES):
            raise PassFailedException(
                f"{describe(op)}: the pragma '{key}' is of type {value.name}; write a "
                "string, an integer, a float or unit"
            )


# ---- blocks ----


def _lower_block(block: tir.BlockOp) -> None:
    region = block.detach_region(block.body)
    body = region.block
    _drop_regions(body)
    predicate = block.predicate
    if predicate is None or tir.is_constant(predicate, 1):
        region.detach_block(body)
    else:
        allocations = _detach_allocations(body)
        guard = tir.IfOp(predicate, region)
        guard.location = block.location
        body = Block([*allocations, guard])
    body = within_pragmas(block, body, pragmas_of(block.annotations))
    replace_by_body(block, body)
    if predicate is not None:
        erase_if_unused((predicate,))


def _drop_regions(body: Block) -> None:
    """Erase the declared accesses, and the expressions that only they use."""
    for op in tuple(body.ops):
        if isinstance(op, tir.ReadsOp | tir.WritesOp):
            operands = tuple(op.operands)
            Rewriter.erase_op(op)
            erase_if_unused(operands)


def _detach_allocations(body: Block) -> list[Operation]:
    """Take the allocations out of `body`, with the expressions they need, in order.

    Those stay that need an expression which may not run without the predicate.
    """
    movable: dict[Operation, bool] = {}
    pending: list[Operation] = []
    for op in body.ops:
        is_allocation = isinstance(op, tir.AllocBufferOp)
        movable[op] = (is_allocation or (not op.regions and can_speculate(op))) and all(
            movable.get(cast(Operation, operand.owner), True) for operand in op.operands
        )
        if is_allocation and movable[op]:
            pending.append(op)
    needed: set[Operation] = set()
    while pending:
        op = pending.pop()
        if op in movable and op not in needed:
            needed.add(op)
            pending += [cast(Operation, operand.owner) for operand in op.operands]
    moved = [op for op in movable if op in needed]
    for op in moved:
        op.detach()
    return moved


# ---- loops ----


def _lower_loop(loop: tir.ForOp) -> None:
    annotated = bool(loop.attributes) or bool(
        loop.annotations is not None and loop.annotations.data
    )
    once = tir.is_constant(loop.extent, 1) and not annotated
    if loop.kind.data is tir.ForKind.THREAD_BINDING:
        _launch(loop, once)
    elif once:
        loop.loop_var.replace_all_uses_with(loop.min)
        body = loop.body.block
        body.erase_arg(loop.loop_var)
        bounds = (loop.min, loop.extent)
        replace_by_body(loop, body)
        erase_if_unused(bounds)


def _launch(loop: tir.ForOp, once: bool) -> None:
    """Replace a thread loop by a launch; with `once`, its index by its minimum."""
    assert loop.thread_tag is not None
    minimum = loop.min
    index = loop.loop_var
    if once and tir.is_constant(minimum, 0):
        # An axis of one thread may be named by 0.
        index.replace_all_uses_with(minimum)
    elif once:
        replace_value_uses(index, minimum)
    elif index.first_use is not None and not tir.is_constant(minimum, 0):
        shifted = tir.AddOp(index, minimum)
        shifted.location = loop.location
        replace_value_uses(index, shifted.result)
        shifted.operands[0] = index
        Rewriter.insert_op(shifted, InsertPoint.at_start(loop.body.block))
    pragmas = pragmas_of(loop.annotations)
    launch = tir.LaunchThreadOp(
        loop.thread_tag,
        loop.extent,
        loop.detach_region(loop.body),
        virtual=loop.thread_tag.data in tir.VIRTUAL_THREAD_TAGS,
        annotations=DictionaryAttr(dict(pragmas)) if pragmas else None,
    )
    launch.attributes |= loop.attributes
    launch.location = loop.location
    Rewriter.replace_op(loop, launch)
    erase_if_unused((minimum,))


# ---- allocations ----


def _lower_allocation(
    alloc: tir.AllocBufferOp, alignments: list[ArrayAttr[Attribute]]
) -> None:
    annotations = {DIM_ALIGN: ArrayAttr(alignments)} if alignments else None
    memory = tir.AllocateOp(
        alloc.type.pointer_type,
        allocation_shape(alloc, alloc),
        annotations=None if annotations is None else DictionaryAttr(annotations),
        name=alloc.buffer_name,
    )
    memory.result.name_hint = alloc.buffer.name_hint
    buffer = tir.DeclBufferOp(
        memory,
        alloc.type,
        alloc.extents,
        strides=alloc.layout_strides,
        elem_offset=alloc.elem_offset,
    )
    for key, value in alloc.properties.items():
        buffer.properties.setdefault(key, value)
    buffer.attributes |= alloc.attributes
    memory.location = buffer.location = alloc.location
    Rewriter.replace_op(alloc, [memory, buffer])
