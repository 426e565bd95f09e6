"""Reductions that threads share: each reduces its part, and then all of them together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from xdsl_tvm.analysis.all_ops import all_ops, ops_of
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer, Range
from xdsl_tvm.analysis.arith.expr import (
    Expr,
    leaf_values,
    view,
)
from xdsl_tvm.analysis.arith.iter_map import detect_iter_map
from xdsl_tvm.analysis.tir.memory_order import Memory, memory_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._cross_thread_reduction.broadcast_guard import (
    BroadcastGuard,
    Reduced,
    ranges_of,
)
from xdsl_tvm.passes.tir._cross_thread_reduction.reduction import (
    ThreadReduction,
    kernel_of,
    reduction_loops,
)
from xdsl_tvm.passes.tir._cross_thread_reduction.update import (
    buffers_touched,
    refuse,
)
from xdsl_tvm.passes.tir._loops.enclosing import container_of, loops_around
from xdsl_tvm.passes.tir._loops.thread_axes import axes_around
from xdsl_tvm.passes.tir.rewriting.statements import (
    may_write,
)

_KINDS = (tir.IterKind.SPATIAL, tir.IterKind.REDUCE)
_PROLOGUE = (
    tir.AllocBufferOp,
    tir.MatchBufferOp,
    tir.MatchRegionOp,
    tir.ReadsOp,
    tir.ShapeVarOp,
    tir.WritesOp,
)


@dataclass(frozen=True)
class LowerCrossThreadReduction(CompilerPass):
    """Summary: Lets threads that share a reduction reduce a part each, and then all of
        them what each of them has.

    TVM name: tir.LowerCrossThreadReduction (v0.20)
    Input form: blocks with their iteration variables and inits
    Output form: the same; no block of the ones described reduces over a loop that is
        bound to threads
    Options: none
    Rewrites: before

            tir.for %i = %c0 to %c16 {
              tir.for %ko = %c0 to %c4 {
                tir.for %ki = %c0 to %c32 thread_binding "threadIdx.x" {
                  tir.block "B" (%vi : S in [%c0 to %c16] = %i,
                                 %vk : R in [%c0 to %c128] = %k) {
                    tir.init {
                      tir.store %zero, %B[%vi] : f32
                    }
                    // B[vi] = B[vi] + A[vi, vk], where k = ko * 32 + ki
                  }
                }
              }
            }

        after

            %cross = tir.alloc_buffer strides [1] : !tir.buffer<1xf32, "local">
            %own = tir.alloc_buffer strides [1] : !tir.buffer<1xf32, "local">
            tir.for %i = %c0 to %c16 {
              tir.for %ki = %c0 to %c32 thread_binding "threadIdx.x" {
                tir.block "B_in_thread_init" {
                  tir.store %zero, %own[%c0] : f32
                }
                tir.for %ko = %c0 to %c4 {
                  tir.block "B_in_thread" (%vi : S in [%c0 to %c16] = %i,
                                           %vk : R in [%c0 to %c128] = %k) {
                    // own[0] = own[0] + A[vi, vk]
                  }
                }
                tir.block "B_cross_thread" {
                  %x = tir.load %own[%c0] : f32
                  tir.attr "reduce_scope" (%sum) = %null {
                    tir.thread_allreduce [%x] into [%cross[%c0]] over [%ki]
                  }
                }
                %first = tir.cmp eq %ki, %c0 : i32
                tir.block "B_write_back" (%vi : S in [%c0 to %c16] = %i) where %first {
                  // B[vi] = cross[0]
                }
              }
            }

        It concerns a block with an init and only spatial and reduction variables, which
        split and fuse the loops around it, where a reduction variable depends on a loop
        bound to threads. It is the only block of the block around it that writes its
        buffers, at places that depend on its spatial variables. Where all loops it
        reduces over are bound and it has no predicate, it needs no `in_thread` buffers,
        and combines the new values of the threads itself; a variable is added to it for
        each thread that it has none for. The write-back has the parts of the predicate
        that hold for all of the reduction or none, and where the buffers are not `local`
        only the first thread does it. Scratch buffers are allocated by the block around.

        A block after it in the same kernel that reads what was reduced gets loops over
        the threads it is not in yet, and only the first of them runs it. One that only
        writes memory of the threads runs in all of them if it reads such memory, and then
        the same holds for what it has written; else it stays as it is. A kernel is a loop
        over blocks of threads, or the outermost loop over threads.
    Leaves alone: all other blocks, also a reduction over threads that is not of this kind
    Errors: a reduction of this kind that breaks one of these conditions, which messages
        name by number: 1 the loops it reduces over are the innermost ones; 2 those bound
        are bound to axes of `threadIdx`, to each at most one; 3 the init stores one value
        to each buffer; 4 so does the body, to the same buffers, after all reads; 5 all at
        the same indices, in buffers of one shape; 6 a known reducer of
        `xdsl_tvm.analysis.tir.reducers` combines the accumulators with new values; 7 the
        buffers are all memory of threads or all shared; 8 no statement is after it in
        these loops; 9 no other there uses its buffers; 10 what is written there is in
        loops over the same threads, or memory of threads; 11 its variables start where
        their domains do; 12 what other blocks need of it is computed before the
        loops. Moreover, what was reduced in memory of threads is used only in the same
        kernel, by threads of the same axes, in blocks that write such memory or shared
        memory, but not both
    Attributes: read: none; created: `reduce_scope`; removed: none
    Differs from TVM: the write-back keeps a predicate that is a single comparison, which
        TVM drops, as well as what the predicate says at the first iteration; it stores
        nothing where serial loops do not run. Only the loops around the block itself move
        or lose their place; loops over threads beside it stay as they are, and so does
        all that other reductions in the same loops were rewritten to. Blocks inside of
        blocks are guarded too, innermost ones, with the axes in the order of the
        reduction. A block that reads memory of threads and writes such memory gets loops
        without a guard, since outside of them it would run once. Conditions 9 to 12 are
        ours, and so is that an infinite identity of `min` and `max` is taken, and that a
        function needs no root block. As in TVM, of equal values another one may win where
        a reducer of positions takes the left one.
        `tir.reads` of the part in a thread lists its accumulator.
    """

    name = "tir-lower-cross-thread-reduction"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in ops_of(op, tir.FuncOp):
            blocks = [op for op in ops_of(func, tir.BlockOp) if _may_need_lowering(op)]
            if blocks:
                _Function(func).lower(blocks)


def _may_need_lowering(block: tir.BlockOp) -> bool:
    """Whether a block has an init and reduces over a loop that is bound to threads."""
    return block.init is not None and any(
        loop.thread_tag is not None for loop in reduction_loops(block)
    )


class _Function:
    """A function with blocks that may reduce over threads."""

    def __init__(self, func: tir.FuncOp) -> None:
        self._order = {op: number for number, op in enumerate(func.walk())}
        self._writers: dict[Operation, dict[Memory, set[Operation]]] = {}
        self._scratch: dict[Operation, Operation | None] = {}
        self._lowered: set[Operation] = set()

    def lower(self, blocks: Sequence[tir.BlockOp]) -> None:
        reduced: list[Reduced] = []
        for block in blocks:
            if self._is_candidate(block):
                reduced += self._lower_block(block)
        BroadcastGuard(self._order, self._lowered).guard(reduced)

    # ---- which blocks ----

    def _is_candidate(self, block: tir.BlockOp) -> bool:
        return (
            all(it.kind in _KINDS for it in block.iters)
            and self._is_only_writer(block)
            and not _stores_by_reduction_variables(block)
            and _is_affine(block)
        )

    def _is_only_writer(self, block: tir.BlockOp) -> bool:
        container = container_of(block)
        writers = self._writers.get(container)
        if writers is None:
            writers = self._writers[container] = _writers_in(container)
        return all(
            writers[memory] == {block}
            for op in all_ops(block)
            for memory in _memories_written(op)
        )

    # ---- lowering ----

    def _lower_block(self, block: tir.BlockOp) -> list[Reduced]:
        reduction = ThreadReduction(block)
        reduction.check()
        position = self._order[block]
        container = container_of(block)
        outputs = reduction.update.buffers
        cross = [self._alloc(container, block, "cross_thread", b) for b in outputs]
        if reduction.needs_in_thread:
            own = [self._alloc(container, block, "in_thread", b) for b in outputs]
            self._lowered |= set(reduction.lower_in_thread(own, cross))
        else:
            self._lowered |= set(reduction.lower_in_place(cross))
        kernel = kernel_of(reduction.threads[0])
        threads = ranges_of(reduction.threads)
        axes = frozenset(axes_around(reduction.block))
        return [Reduced(each, threads, axes, kernel, position) for each in outputs]

    def _alloc(
        self,
        container: tir.BlockOp | tir.FuncOp,
        block: tir.BlockOp,
        prefix: str,
        buffer: SSAValue,
    ) -> SSAValue:
        """A buffer of one element for each thread, allocated by the block around."""
        definition = tir.buffer_definition(buffer)
        name = definition.buffer_name
        alloc = tir.AllocBufferOp(
            tir.BufferType([1], definition.type.element_type, "local"),
            name=f"{prefix}_{'' if name is None else name.data}".rstrip("_"),
            strides=[1],
        )
        alloc.location = block.location
        hint = buffer.name_hint or (name and name.data)
        alloc.buffer.name_hint = f"{prefix}_{hint}" if hint else prefix
        if container not in self._scratch:
            self._scratch[container] = _end_of_prologue(container)
        last = self._scratch[container]
        ops = container.body.block
        if last is not None:
            ops.insert_op_after(alloc, last)
        elif ops.first_op is not None:
            ops.insert_op_before(alloc, ops.first_op)
        self._scratch[container] = alloc
        return alloc.buffer


def _memories_written(op: Operation) -> Iterator[Memory]:
    """The memory that an op may write, as far as it names buffers."""
    if isinstance(op, tir.StoreOp | tir.ThreadAllreduceOp | tir.DataOp | tir.AddressOfOp):
        for buffer in buffers_touched(op):
            yield memory_of(buffer, distinct_parameters=True)


def _writers_in(container: Operation) -> dict[Memory, set[Operation]]:
    """For each memory the blocks directly in a block, or other ops, that write it."""
    found: dict[Memory, set[Operation]] = {}
    for op in container.walk():
        for memory in _memories_written(op):
            found.setdefault(memory, set()).add(_outermost_block(op, container))
    return found


def _outermost_block(op: Operation, container: Operation) -> Operation:
    """The outermost block around an op in `container`; the op itself if there is none."""
    found = op
    parent = op.parent_op()
    while parent is not None and parent is not container:
        if isinstance(parent, tir.BlockOp):
            found = parent
        parent = parent.parent_op()
    return found


def _stores_by_reduction_variables(block: tir.BlockOp) -> bool:
    trees: dict[SSAValue, Expr] = {}
    variables = {
        variable
        for variable, it in zip(block.iter_vars, block.iters, strict=True)
        if it.kind is tir.IterKind.REDUCE
    }
    return any(
        not variables.isdisjoint(leaf_values(*(view(i, trees) for i in op.indices)))
        for op in all_ops(block)
        if isinstance(op, tir.StoreOp)
    )


def _is_affine(block: tir.BlockOp) -> bool:
    """Whether the bindings split and fuse the loops of a block, and take all values."""
    trees: dict[SSAValue, Expr] = {}
    inputs = {
        view(loop.loop_var, trees): Range(view(loop.min, trees), view(loop.extent, trees))
        for loop in loops_around(block, container_of(block))
    }
    predicate = None if block.predicate is None else view(block.predicate, trees)
    analyzer = Analyzer()
    for it in block.iters:
        # A block whose domain is empty does not run, so this holds where it matters.
        analyzer.mark_global_nonneg(view(it.extent, trees))
    found = detect_iter_map(
        [view(it.binding, trees) for it in block.iters],
        inputs,
        predicate,
        analyzer=analyzer,
    )
    if found.errors:
        return False
    for index, it in zip(found.indices, block.iters, strict=True):
        if index.args and smart.literal(index.args[0].scale) != 1:
            return False
        starts = smart.matched(index.base, view(it.min, trees))
        if it.kind is tir.IterKind.REDUCE and not analyzer.can_prove_equal(*starts):
            refuse(
                block,
                11,
                f"a reduction variable starts at {index.base}, its domain at "
                f"{view(it.min, trees)}, so that the init would never run; let both "
                "start at one value",
            )
    return True


def _end_of_prologue(container: tir.BlockOp | tir.FuncOp) -> Operation | None:
    """The last of the declarations that a block starts with."""
    last: Operation | None = None
    for op in container.body.block.ops:
        if isinstance(op, _PROLOGUE):
            last = op
        elif op.regions or may_write(op):
            break
    return last
