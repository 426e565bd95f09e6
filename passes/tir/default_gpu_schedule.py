"""A schedule for GPUs, for functions that were written without one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import BoolAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops, ops_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.annotations import is_true
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._bound_block import bind_block
from xdsl_tvm.passes.tir._gpu_schedule.device import GPUS, threads_of
from xdsl_tvm.passes.tir._loops.thread_axes import axes_around
from xdsl_tvm.passes.tir.rewriting.statements import describe

_SCHEDULED = "tir.is_scheduled"


@dataclass(frozen=True)
class DefaultGPUSchedule(CompilerPass):
    """Summary: Binds the loops of functions without a schedule to the threads of a GPU.

    TVM name: tir.DefaultGPUSchedule (v0.20)
    Input form: blocks; in a block without others in it, one loop for each iteration
        variable
    Output form: the same
    Options: `target`: the target of functions that have none, as `Target.parse` takes it
    Rewrites: each block without others in it that is in no thread. With `T`, the
        `max_num_threads` of the target, before

            tir.for "i" %i = %c0 to %c32 {
              tir.for "j" %j = %c0 to %c64 {
                tir.for "k" %k = %c0 to %c8 {
                  tir.block "C" (%vi : S in … = %i, %vj : S in … = %j, %vk : R in … = %k)

        after, in TVMScript, for `T` = 1024

            for i_j_fused_0 in T.thread_binding(2, thread="blockIdx.x"):
                for i_j_fused_1 in T.thread_binding(1024, thread="threadIdx.x"):
                    for k in range(8):
                        with T.block("C"):
                            vi = T.axis.spatial(
                                32, (i_j_fused_0 * 1024 + i_j_fused_1) // 64)
                            vj = T.axis.spatial(
                                64, (i_j_fused_0 * 1024 + i_j_fused_1) % 64)
                            vk = T.axis.reduce(8, k)

        The loops of variables of kind `S` that follow each other are fused. Up to
        256 * `T` iterations become threads, at most `T` of a block. More, and a symbolic
        number, become 256 blocks of `T` threads with a serial loop `…_0` in each thread.
        A predicate keeps out iterations that the loops did not have. Without such a loop,
        one thread of one block runs the nest, in loops of one iteration.
        Time is linear in the size of a function.
    Leaves alone: functions with `tir.is_scheduled`; bodies of functions for other
        devices than CUDA, OpenCL, Vulkan, Metal, ROCm and WebGPU, and of functions
        without blocks; blocks in loops or launches of threads; declarations
    Errors: a function without a target; a target without `max_num_threads`, or with one
        below 1; a target that does not parse; two blocks of one name in a function; a
        block without others in it that is all of the function's body; a block of which
        the iteration variables are not as many as the loops around it, but for one of
        one variable in no loop
    Attributes: read: `target`, `tir.is_scheduled`; created: `tir.is_scheduled`, on all
        functions; removed: none
    Differs from TVM: an error of TVM in these cases, in which less is bound here: loops
        of kind `S` that do not follow each other, of which the first ones are bound; a
        loop that holds more than the next one, which stays outside; a loop whose range
        depends on another, that has annotations or another kind, or another type. A loop
        is bound only if a variable of kind `S` is its variable, up to its sign and terms
        that do not change in the nest, and no variable of another kind depends on it, so
        that threads never run one instance of the block. Loops from other numbers than 0
        are fused. Loops stay outside of the fused one where the product could exceed
        their type, or could be positive though two extents are negative. A nest without
        iterations is one thread that does nothing. Blocks without a name may be several.
    """

    name = "tir-default-gpu-schedule"

    target: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        default = self._default_target()
        for func in all_ops(op):
            if not isinstance(func, tir.FuncOp) or func.is_declaration:
                continue
            if is_true(func.attributes.get(_SCHEDULED)):
                continue
            own = func.attributes.get("target")
            target = own if isinstance(own, Target) else default
            if target is None:
                raise PassFailedException(
                    f"{func.name} @{func.sym_name.data}: the target is missing; run "
                    "tir-bind-target before, or set the option 'target'"
                )
            if target.device_type in GPUS:
                _schedule(func, threads_of(target, func))
            func.attributes[_SCHEDULED] = BoolAttr.from_bool(True)

    def _default_target(self) -> Target | None:
        if self.target is None:
            return None
        try:
            return Target.parse(self.target)
        except ValueError as error:
            raise PassFailedException(f"{self.name}: {error}") from error


def _schedule(func: tir.FuncOp, threads: int) -> None:
    blocks = ops_of(func, tir.BlockOp)
    _check_names(blocks)
    holding = {_block_around(block) for block in blocks}
    sizes = {
        extent
        for match in func.buffer_map.values()
        for extent in match.shape
        if isinstance(extent, SSAValue)
    }
    for block in blocks:
        if block in holding or _is_bound(block):
            continue
        if _is_root(block):
            raise PassFailedException(
                f"{describe(block)}: Cannot add loops on top of the root block; put the "
                "statements into a block of their own inside of it"
            )
        bind_block(block, threads, sizes)


def _check_names(blocks: Sequence[tir.BlockOp]) -> None:
    """TVM finds blocks by their names."""
    counts = Counter(block.block_name.data for block in blocks)
    for block in blocks:
        if block.block_name.data and counts[block.block_name.data] > 1:
            raise PassFailedException(
                f"{describe(block)}: Duplicated block name "
                f"{block.block_name.data} in the function is not supported; rename one "
                "of the blocks"
            )


def _block_around(op: Operation) -> Operation | None:
    """The closest block that holds an op, None in a function without one."""
    around = op.parent_op()
    while around is not None and not isinstance(around, tir.BlockOp):
        around = around.parent_op()
    return around


def _is_bound(block: tir.BlockOp) -> bool:
    return next(axes_around(block), None) is not None


def _is_root(block: tir.BlockOp) -> bool:
    """Whether a block is all that a function does."""
    parent = block.parent
    assert isinstance(parent, Block)
    return (
        block.is_opaque
        and isinstance(block.parent_op(), tir.FuncOp)
        and all(op is block or op.results for op in parent.ops)
    )
