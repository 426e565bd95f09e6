"""Allocations of buffers: moved into the innermost loop or block with all accesses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.analysis.tir.access_regions import AccessRegion, get_block_read_write_region
from xdsl_tvm.analysis.tir.buffer_accesses import regions_around
from xdsl_tvm.analysis.tir.lca import buffer_access_lca
from xdsl_tvm.analysis.tir.loop_carried import enterable
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.rewriting.memory_views import replace_regions
from xdsl_tvm.passes.tir.rewriting.statements import describe, erase_if_unused


@dataclass(frozen=True)
class PlanAndUpdateBufferAllocationLocation(CompilerPass):
    """Summary: Moves the allocation of each buffer inward, to the innermost loop or block
        with all accesses of it.

    TVM name: tir.PlanAndUpdateBufferAllocationLocation (v0.20)
    Input form: blocks without `tir.init`, with their iteration variables
    Output form: the same; blocks declare no region of a buffer that is allocated in them
    Options: none
    Rewrites: before

            %B = tir.alloc_buffer : !tir.buffer<16x16xf32>
            tir.for %i = %c0 to %c16 {
              tir.for %j = %c0 to %c16 { ... writes %B[%i, %j] }
              tir.for %k = %c0 to %c16 { ... reads %B[%i, %k] ... writes %C[%i, %k] }
            }

        after

            tir.for %i = %c0 to %c16 {
              tir.block {
                tir.reads %A[%i, %c0 to 16]
                tir.writes %C[%i, %c0 to 16]
                %B = tir.alloc_buffer : !tir.buffer<16x16xf32>
                tir.for %j = %c0 to %c16 { ... writes %B[%i, %j] }
                tir.for %k = %c0 to %c16 { ... reads %B[%i, %k] ... writes %C[%i, %k] }
              }
            }

        A place is a block or a loop; the body of a loop becomes a block. Where reduction
        variables of a block are bound to loops, what it writes stays outside of these;
        variables of other kinds but spatial also hold what it reads at moving places.
        Global memory is not moved into a loop in a loop over `blockIdx`. A buffer that
        nothing accesses is removed. A `tir.data` goes along with its buffer. Time is
        linear in the size of the module, times the depth of nested loops, besides what
        the analysis takes for indices.
    Leaves alone: other buffers, among them views, those of parameters and of
        `tir.allocate`; an allocation outside of loops and blocks whose accesses are too,
        and one that is further in than where it would go
    Errors: a `tir.init` in any block: run tir-lower-init-block first
    Attributes: read: none; created: none; removed: none
    Differs from TVM: an allocation stays outside of a loop that may read in one iteration
        what an earlier one wrote, whatever iteration variables say of it; TVM moves it
        and the value is lost. It moves into a loop over blocks or threads that do not
        meet, one with equal accesses in each iteration up to a shift, or one where a
        write of the same iteration is found for each read; where calls access the buffer
        by a pointer, also into one that is bound to spatial variables only of a block
        around them. Matrix builtins that access views of regions count as these regions,
        so that what a reduction only reads, such as the tiles of a software pipeline,
        moves into its loop. Global memory that threads may share stays outside of the
        loop over blocks, in which each thread would get its own. Where there is no block
        around all accesses, the allocation is not lost. Accesses by the bounds of a loop
        count around it. Regions that blocks declare in an enclosing block may become less
        precise, never wrong. A match of a region that is not visible cannot be written.
    """

    name = "tir-plan-and-update-buffer-allocation-location"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in ops_of(op, tir.InitOp):
            raise PassFailedException(
                f"{describe(inner)} hides when its block writes; run "
                "tir-lower-init-block first"
            )
        for func in op.body.block.ops:
            if isinstance(func, tir.FuncOp):
                _plan(func)


def _plan(func: tir.FuncOp) -> None:
    allocations = ops_of(func, tir.AllocBufferOp)
    if not allocations:
        return
    lowest = buffer_access_lca(func)
    paths = {op: _path(op, lowest.get(op.buffer)) for op in allocations}
    # Most are where they are to be: what they carry from one iteration to the next is not
    # asked then.
    may_move = any(paths.values())
    by_buffer: dict[SSAValue, Sequence[Operation]] = {
        op.buffer: path for op, path in paths.items()
    }
    counts = enterable(func, by_buffer) if may_move else {}
    moves: dict[Operation, list[tir.AllocBufferOp]] = {}
    for op, path in paths.items():
        for place in reversed(path[: counts.get(op.buffer, 0)]):
            if isinstance(place, tir.ForOp | tir.BlockOp):
                moves.setdefault(place, []).append(op)
                break
    created: set[Operation] = set()
    for place, moved in moves.items():
        block = place
        if isinstance(place, tir.ForOp):
            block = _in_block(place)
            created.add(block)
        _move(block, moved)
    unused = [op for op in allocations if op.buffer not in lowest]
    _undeclare(allocations, set(unused))
    for op in unused:
        _erase_unused(op)
    if created:
        for block in reversed([op for op in func.walk() if op in created]):
            _declare(block)


def _path(op: tir.AllocBufferOp, place: Operation | None) -> list[Operation]:
    """The ops around each other from where a buffer is allocated in to a place."""
    block = op.parent
    if block is None or place is None or block.find_ancestor_op_in_block(place) is None:
        return []
    around = (region.parent_op() for region in regions_around(place, block.parent))
    return [*(each for each in around if each is not None), place]


# ---- allocations ----


def _move(place: Operation, allocations: Sequence[tir.AllocBufferOp]) -> None:
    """Let buffers be allocated in a block that holds all their accesses."""
    assert isinstance(place, tir.BlockOp)
    block = place.body.block
    users = {use.operation for op in allocations for use in op.buffer.uses}
    before = _behind_declarations(block, users)
    for op in allocations:
        pointers = [use.operation for use in op.buffer.uses]
        for moved in (op, *_pointers(pointers, place)):
            moved.detach()
            if before is None:
                block.add_op(moved)
            else:
                block.insert_op_before(moved, before)


def _pointers(users: Iterable[Operation], place: Operation) -> Iterator[Operation]:
    """The pointers to a buffer that are taken outside of the block it moves to."""
    for user in users:
        if isinstance(user, tir.DataOp) and not place.is_ancestor(user):
            yield user


def _behind_declarations(block: Block, users: AbstractSet[Operation]) -> Operation | None:
    """The op of a block that follows what it declares, before all users."""
    first = block.first_op
    for op in block.ops:
        if isinstance(op, tir.ReadsOp | tir.WritesOp):
            first = op.next_op
        elif op in users or isinstance(op, tir.BufferDefinition) or op.regions:
            break
    return first


def _in_block(loop: tir.ForOp) -> tir.BlockOp:
    """Make the body of a loop that of a block in it."""
    body = loop.body.block
    inner = Block()
    for op in list(body.ops):
        op.detach()
        inner.add_op(op)
    block = tir.BlockOp(body=Region(inner))
    block.location = loop.location
    body.add_op(block)
    return block


def _erase_unused(op: tir.AllocBufferOp) -> None:
    """Erase an allocation that nothing accesses, and what only it needs."""
    for user in {use.operation for use in op.buffer.uses}:
        # A pointer that nothing uses.
        Rewriter.erase_op(user)
    operands = tuple(op.operands)
    Rewriter.erase_op(op)
    erase_if_unused(operands)


# ---- declared regions ----


def _undeclare(
    allocations: Iterable[tir.AllocBufferOp], unused: AbstractSet[Operation]
) -> None:
    """Drop the regions of buffers that are gone, or that the block does not see."""
    hidden: dict[Operation, set[SSAValue]] = {}
    for op in allocations:
        around = op.parent_op()
        for use in op.buffer.uses:
            user = use.operation
            if not isinstance(user, tir.ReadsOp | tir.WritesOp):
                continue
            block = user.parent_op()
            sees = around is not None and around is not block and around.is_ancestor(user)
            if op in unused or not sees:
                hidden.setdefault(user, set()).add(op.buffer)
    for user, buffers in hidden.items():
        assert isinstance(user, tir.ReadsOp | tir.WritesOp)
        left = [each for each in user.buffer_regions if each.buffer not in buffers]
        erase_if_unused(replace_regions(user, left))


def _declare(block: Operation) -> None:
    """Let a block declare what it accesses of buffers around it."""
    assert isinstance(block, tir.BlockOp)
    found = get_block_read_write_region(block)
    body = block.body.block
    builder = Builder(InsertPoint.at_start(body))
    known: dict[Expr, SSAValue] = {}

    def regions(accessed: Iterable[AccessRegion]) -> list[tir.BufferRegion]:
        return [each.emit(builder, known) for each in accessed]

    builder.insert(tir.ReadsOp(regions(found.reads)))
    builder.insert(tir.WritesOp(regions(found.writes)))
