"""Reductions over threads become shuffles, and trees in shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.analysis.arith.expr import emit
from xdsl_tvm.analysis.tir.function_target import target_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._loops.thread_axes import is_private
from xdsl_tvm.passes.tir._thread_allreduce.decode import Reduction, decode
from xdsl_tvm.passes.tir._thread_allreduce.expansion import (
    Buffer,
    Expansion,
    Result,
    store_at,
)
from xdsl_tvm.passes.tir.rewriting.default_targets import parsed_target
from xdsl_tvm.passes.tir.rewriting.statements import describe, erase_if_unused


@dataclass(frozen=True)
class LowerThreadAllreduce(CompilerPass):
    """Summary: Expands reductions over threads into shuffles of warps, or into trees in
        shared memory.

    TVM name: tir.LowerThreadAllreduce (v0.20)
    Input form: flat code; `tir.thread_allreduce` in a `tir.attr "reduce_scope"`, in
        launches of constant numbers of threads
    Output form: the same, without `tir.thread_allreduce`
    Options: `target`: the target of functions that have none, as `Target.parse` takes it
    Rewrites: before, for a target with warps of 32 threads

            %p = tir.allocate "R" [1] : !tir.ptr<f32, "local">
            %R = tir.decl_buffer "R" %p : !tir.buffer<1xf32, "local">
            tir.attr "reduce_scope" (%sum) = %null {
              tir.thread_allreduce [%x] into [%R[%c0]] over [%tx]
            }
            %y = tir.load %R[%c0] : f32

        after

            %p = tir.allocate "red_buf0" [1] : !tir.ptr<f32, "local">
            %r = tir.decl_buffer "red_buf0" %p : !tir.buffer<1xf32, "local">
            tir.attr "reduce_scope" (%sum) = %null {
              // allocations of "mask" and "t0"
              tir.store %x, %r[%c0] : f32
              %m = tir.call "tvm_warp_activemask"() : () -> ui32
              tir.store %m, %mask[%c0] : ui32
              // for offsets of 16, 8, 4, 2 and 1
              %s = tir.call "tvm_warp_shuffle_down"(%lanes, %a, %offset, %c32, %c32)
              tir.store %s, %t[%c0] : f32
              tir.store %a_plus_t, %r[%c0] : f32
              // and the value of the first lane, by "tvm_warp_shuffle"
            }
            %y = tir.load %r[%c0] : f32

        Warps reduce by shuffles on CUDA, ROCm and Metal, where the threads that reduce
        together are a row of threads in one warp or in whole warps, for 32 and 64 bits
        and for float16 (on ROCm for whole warps and 32 bits). Several warps leave what
        they have in `red_buf_staging`, and the first one reduces that into
        `red_result`. For CUDA of `arch` sm_80 or later, sums, least and greatest elements
        of integers of 32 bits of a whole warp are one `ptx_redux_sync`. Else all values
        are in `red_buf` in shared memory, and half of the threads combine two each, as
        often as needed. The memory of the result has the
        place of the destination, and its loads read it; where it is shared, what follows
        in the block is in a `tir.attr "volatile_scope"`. Time is linear in the size of
        the function.
    Leaves alone: functions without `tir.thread_allreduce`; the `reduce_scope`
    Errors: no `target`, or an option that does not parse; no `reduce_scope` of a
        `tir.reducer` around a reduction; virtual threads around it; a number of threads
        that is not a constant; an axis that is bound twice; a variable that is no
        thread's; a destination in shared memory that is used otherwise than by loads of
        its element 0; an axis of threads that the kernel binds elsewhere only; barriers
        under a condition, or in a loop with bounds, computed from thread variables
    Attributes: read: `target` (its `thread_warp_size` and `max_num_threads`),
        `reduce_scope`; created: `volatile_scope`; removed: none
    Differs from TVM: TVM has no `ptx_redux_sync`. The last levels of a tree, in one
        warp, have a barrier of the warp that all its threads meet at, after each level,
        and a condition for each: TVM has barriers in a branch, where CUDA emits none. All
        results of a level are computed before the first is stored. Metal's shuffles have
        the mask 0. A destination that is stored to, viewed, or used by two reductions
        keeps its memory, and gets the result. An axis of one thread may be listed. Only
        functions with reductions need a target. Threads that do not all reach a barrier
        are an error.
    """

    name = "tir-lower-thread-allreduce"

    target: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        default = parsed_target(self.name, self.target)
        for func in ops_of(op, tir.FuncOp):
            found = ops_of(func, tir.ThreadAllreduceOp)
            if found:
                target = _target_of(func, default)
                for each in found:
                    _lower(each, target)


def _target_of(func: tir.FuncOp, default: Target | None) -> Target:
    target = target_of(func) or default
    if target is None:
        raise PassFailedException(
            f"{describe(func)} @{func.sym_name.data}: Require the target attribute, to "
            "know the warps of the device; run tir-bind-target before"
        )
    return target


def _lower(op: tir.ThreadAllreduceOp, target: Target) -> None:
    reduction = decode(op)
    simple = [_is_simple(buffer, reduction) for buffer in op.buffers]
    for buffer, own in zip(op.buffers, simple, strict=True):
        if not own and not is_private(buffer):
            raise PassFailedException(
                f"{describe(op)}: a destination in shared memory is used otherwise than "
                "by loads of its element 0; reduce into local memory"
            )
    block, before = op.parent, op.prev_op
    assert block is not None
    expansion = Expansion(reduction, target)
    results = expansion.run()
    inside = [
        result.buffer
        for result, own in zip(results, simple, strict=True)
        if result.buffer is not None and not own
    ]
    _allocate((*reversed(inside), *expansion.allocated), block, before)
    places = op.places
    for result, own, place in zip(results, simple, places, strict=True):
        if result.buffer is not None and not own:
            builder = Builder(InsertPoint.before(op))
            index = emit(result.index, builder)
            value = builder.insert(tir.LoadOp(result.buffer.value, [index]))
            store_at(value.result, place, builder)
    added = op.prev_op
    while added is not None and added is not before:
        added.location = op.location
        added = added.prev_op
    operands = tuple(op.operands)
    Rewriter.erase_op(op)
    for result, own, place in zip(results, simple, places, strict=True):
        if result.buffer is not None and own:
            _take_over(place.buffer, result.buffer, result)
    erase_if_unused(operands)


def _allocate(buffers: Sequence[Buffer], block: Block, before: Operation | None) -> None:
    """Insert memory after an op of a block, at its start for None."""
    if before is None:
        assert block.first_op is not None
        place = InsertPoint.before(block.first_op)
    else:
        place = InsertPoint.after(before)
    ops = [op for each in buffers for op in (each.memory, each.declaration)]
    Rewriter.insert_op(ops, place)


# ---- destinations ----


def _is_simple(buffer: SSAValue, reduction: Reduction) -> bool:
    """Whether other memory can have the place of a destination.

    It is allocated in the kernel for this reduction only, and its first element is read,
    where the threads are known.
    """
    declaration = buffer.owner
    if not isinstance(declaration, tir.DeclBufferOp):
        return False
    memory = declaration.data.owner
    if (
        not isinstance(memory, tir.AllocateOp)
        or memory.condition is not None
        or not memory.result.has_one_use()
        or declaration.shape != (1,)
        or (
            declaration.elem_offset is not None
            and not tir.is_constant(declaration.elem_offset, 0)
        )
    ):
        return False
    launches = reduction.launches
    if not any(launch.is_ancestor(memory) for launch in launches):
        return False
    for use in buffer.uses:
        user = use.operation
        if user is reduction.op:
            continue
        if (
            not isinstance(user, tir.LoadOp)
            or user.predicate is not None
            or not all(tir.is_constant(index, 0) for index in user.indices)
            or not all(launch.is_ancestor(user) for launch in launches)
        ):
            return False
    return sum(each is buffer for each in reduction.op.buffers) == 1


def _take_over(buffer: SSAValue, new: Buffer, result: Result) -> None:
    """Let the memory of a result have the place of a destination."""
    declaration = buffer.owner
    assert isinstance(declaration, tir.DeclBufferOp)
    memory = declaration.data.owner
    assert isinstance(memory, tir.AllocateOp)
    new.memory.location = memory.location
    new.declaration.location = declaration.location
    if "implicit" in declaration.properties:
        new.declaration.properties["implicit"] = declaration.properties["implicit"]
    Rewriter.insert_op(new.memory, InsertPoint.before(memory))
    Rewriter.insert_op(new.declaration, InsertPoint.before(declaration))
    for load in [use.operation for use in buffer.uses]:
        assert isinstance(load, tir.LoadOp)
        _redirect(load, new, result)
    Rewriter.erase_op(declaration)
    Rewriter.erase_op(memory)
    if new.is_shared:
        _make_volatile(new.memory)


def _redirect(load: tir.LoadOp, new: Buffer, result: Result) -> None:
    builder = Builder(InsertPoint.before(load))
    old = tuple(load.indices)
    value = builder.insert(tir.LoadOp(new.value, [emit(result.index, builder)])).result
    if value.type != load.result.type:
        value = builder.insert(tir.CastOp(value, load.result.type)).result
    value.name_hint = load.result.name_hint
    load.result.replace_all_uses_with(value)
    Rewriter.erase_op(load)
    erase_if_unused(old)


def _make_volatile(memory: tir.AllocateOp) -> None:
    """Put what follows memory in its block into a `volatile_scope`."""
    block = memory.parent
    assert block is not None
    rest: list[Operation] = []
    op = memory.next_op
    while op is not None:
        rest.append(op)
        op = op.next_op
    inner = Block()
    for each in rest:
        each.detach()
    inner.add_ops(rest)
    scope = tir.AttrOp(
        "volatile_scope", memory.result, IntegerAttr(1, i32), Region(inner)
    )
    scope.location = memory.location
    Rewriter.insert_op(scope, InsertPoint.after(memory))
