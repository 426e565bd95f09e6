"""A schedule for GPUs, for functions that were written without one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._gpu_schedule.allreduce import match_combined
from xdsl_tvm.passes.tir._gpu_schedule.columns import schedule_columns
from xdsl_tvm.passes.tir._gpu_schedule.device import (
    GPUS,
    WARP,
    Device,
    has_matrix_units,
    has_warpgroups,
    rates_for,
    threads_of,
)
from xdsl_tvm.passes.tir._gpu_schedule.elementwise import schedule_map
from xdsl_tvm.passes.tir._gpu_schedule.matrix_units import UnitsKernel, match_units
from xdsl_tvm.passes.tir._gpu_schedule.product import match_product
from xdsl_tvm.passes.tir._gpu_schedule.row_nests import Rows, match_rows
from xdsl_tvm.passes.tir._gpu_schedule.rows import schedule_rows
from xdsl_tvm.passes.tir._gpu_schedule.skinny_product.matching import match_skinny
from xdsl_tvm.passes.tir._gpu_schedule.skinny_product.schedule import schedule_skinny
from xdsl_tvm.passes.tir._gpu_schedule.thread_product import ThreadProduct
from xdsl_tvm.passes.tir._gpu_schedule.transpose import schedule_transpose
from xdsl_tvm.passes.tir._gpu_schedule.warpgroup_product import (
    WarpgroupKernel,
    match_warpgroups,
)
from xdsl_tvm.passes.tir._gpu_schedule.windows import (
    match_windows,
    schedule_windows,
)
from xdsl_tvm.passes.tir._loops.loop_nest import (
    Nest,
    find_nest,
    with_counted_extents,
)
from xdsl_tvm.passes.tir._schedule.contraction import (
    Contraction,
    with_map,
    with_padding,
)
from xdsl_tvm.passes.tir._schedule.maps import is_map
from xdsl_tvm.passes.tir._schedule.padding import match_padding
from xdsl_tvm.passes.tir._schedule.reduction import Reduction
from xdsl_tvm.passes.tir._schedule.transpose import match_transpose
from xdsl_tvm.passes.tir._schedule.unscheduled import is_unscheduled
from xdsl_tvm.passes.tir.rewriting.default_targets import (
    parsed_target,
    uses_async_copy,
)
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode


@dataclass(frozen=True)
class GPUSchedule(CompilerPass):
    """Summary: Writes the loops of functions without a schedule anew, as GPU kernels.

    TVM name: none (ours; TVM has the schedules of its package dlight)
    Input form: blocks; functions of serial loops without annotations
    Output form: blocks, in loops that are bound to threads; opaque ones without barriers,
        which tir-thread-sync inserts
    Options:
        `target`: the target of functions that have none, as `Target.parse` takes it
        `threads` (256): threads of a block, where there is work for so many
        `vector_bytes` (16): what a thread accesses at once of neighbouring elements, of
        the narrowest type of a nest, and at most twice as much of wider ones
        `warp_row` (1024): up to so many elements, a row has the threads of a warp
        `row_in_registers` (8192): up to so many elements, what nests hand on of a row
        stays with the threads; of longer rows it is computed again
        `tile` (128): the most rows and columns of a tile of a product without tensor
        cores
        `tile_terms` (16): terms of a tile of a product that are copied at a time
        `tensor_cores` (true): products of f16, of bf16 and of integers of 8 bits are
        done by tensor cores, where the target names a CUDA `arch` of `sm_80` or later
        `tensor_core_tile` (128): the most rows and columns of a tile of such a product
        `warpgroups` (true): products of f16 and of bf16 are done by warpgroups, where the
        target names the CUDA `arch` `sm_90a`
        `warpgroup_tile` (256): the most rows and columns of a tile of such a product, at
        least 64
        `stages`: how many tiles of an operand such a product has in shared memory; from 2
        on, copies are asynchronous where the passes that follow make them so. The default
        is 4 where `tir.use_async_copy` of the PassContext is on, or is not set and the
        target names a CUDA `arch` of `sm_80` or later, else 1
        `fuse_multiply_add` (true): products without tensor cores round once per term;
        false rounds the product as well
        `allow_tf32` (false): products of f32 are done by tensor cores as well, which
        look at 10 of the 23 bits of the fraction of each operand, and leave the others
        out
        `splits`: over how many blocks the terms of each tile of a product are split, or
        the next smaller divisor of its steps; the default is as many as fill all
        multiprocessors, where extents are constant, blocks have 16 steps at least, that
        takes less time, and matrices of skinny products are of 4 MiB at least
        `multiprocessors`: those of the GPU; the default is that of the target's
        architecture: 108 of `sm_80` and of targets without one, 132 of `sm_90`
    Rewrites: perfect nests of loops from 0 around one block, of which each iteration
        variable is one of the loop variables. Before

            tir.for %i = %c0 to %c64 {
              tir.for %j = %c0 to %c1000 {
                tir.block "C" (%vi : S in [%c0 to %c64] = %i, %vj : S in … = %j) {
                  %x = tir.load %A[%vi, %vj] : f32
                  %y = tir.load %B[%vj] : f32
                  %z = tir.add %x, %y : f32
                  tir.store %z, %C[%vi, %vj] : f32
                }
              }
            }

        after, in TVMScript

            for bx in T.thread_binding(63, thread="blockIdx.x"):
                for tx in T.thread_binding(256, thread="threadIdx.x"):
                    with T.block("C"):
                        if bx * 256 + tx < 16000:
                            for v in T.vectorized(4):
                                …    # at (bx * 256 + tx) // 250,
                                     #    (bx * 256 + tx) % 250 * 4 + v

        Each nest, or nests that share rows, are a kernel; what it is goes by the nest.
        *Maps*, whose iterations are independent: all axes are one, and a thread has the
        elements of one access (see `_gpu_schedule/elementwise.py`). *Transposed copies*:
        a thread has a square in registers, of `vector_bytes` a side and 16 bytes at most,
        where that divides both constant extents; else a tile goes through shared memory,
        each side by the widest piece that divides its extent (`transpose.py`).
        *Reductions* whose terms are
        next to each other, with the nests after and before them that share their rows, as
        in softmax and norms: a warp or a block reduces a row, by `tir.thread_allreduce`,
        and elements that no other nest needs, or that a later nest stores anew, stay with
        their threads, or are computed again (`rows.py`). *Windows*, reductions of up to
        64 terms at places that move with the results, of 3456 results at least or with
        padding by a number before: a thread has all terms of neighbouring results, with
        the padding, and a map after sums (`windows.py`). *Other
        reductions*: a thread has the neighbouring results of one access, rows of threads
        share their terms, and 4 of a thread are loaded at a time (`columns.py`).
        *Skinny products* of a matrix with up to 8 vectors, of 16 terms at least: the
        matrix is read once for all vectors, and a map after it works on the results.
        Where its terms are next to each other, the threads of a warp share those of up to
        4 lines, or those of a block the terms of one, where there are few lines; where
        its lines are, a thread has neighbouring lines, and rows of threads share the
        terms (`skinny_product/`).
        *Contractions* of 8 rows and columns or more, such as matrix products and
        convolutions: tiles of the operands in shared memory, of the result in registers,
        with a map after it that works on the results (`product.py`). An operand is copied
        along what is next to each other for longer, its terms or its rows or columns, as
        windows of images are along the image.
        Where a nest before them only puts zeros around images, and nobody else reads
        these, the copies write the zeros, and the nest is not done.
        Contractions of f16 or bf16 operands whose terms are summed in that type or in f32
        become `ptx_mma` and `ptx_ldmatrix` on tiles with `permuted_layout`, those of
        integers of 8 bits that are summed in i32, and with `allow_tf32` those of f32, on
        tiles whose columns are permuted in the indices. Bytes whose lines, and not terms,
        are next to each other are loaded transposed by pairs of lines, whose bytes
        `tir.shuffle` parts: the products are of every other line. Where both
        operands are loads of neighbours, of 4 bytes at least, and there are several
        `stages`, the loop over tiles is annotated as a software pipeline with
        asynchronous copies (`matrix_units.py`).
        With `warpgroups`, products of 33 rows and columns and 65 terms at least become
        `ptx_wgmma_mma_async` and tensor copies instead: operands are loads of whole
        buffers, A `[…, rows, terms]`, B `[…, columns, terms]` or `[…, terms, columns]`,
        whose rows are a multiple of 16 bytes. Tiles are of 64 or 128 rows and 64, 128 or
        256 columns. Where more tiles than blocks run at a time are a multiple of these,
        and the blocks a part of the tiles that share operands, or the other way round,
        each block has several tiles, and copies for the next one while it stores results
        (`warpgroup_product.py`).
        Products with few tiles have their terms split over several blocks, whose sums a
        second kernel adds in a fixed order, from memory of the function
        (`split_terms.py`).
        *Tiles* of products are those of a table that take the least time by a model: what
        a step multiplies, reads of shared memory, issues and copies, how many blocks a
        multiprocessor holds, and how many it has in turn (`product_time.py`). With
        symbolic extents they are 64 by 64, of warpgroups 128 by 128. Kernels that need
        more registers than others of their tile say how many blocks a multiprocessor is
        to hold at least, where `ptxas` would spill registers for one block more.
        Symbolic extents, and those that are no multiples, are guarded; those that may be
        negative count as 0. Independence is proved from the accesses; the kinds `S` and
        `R` are not trusted. Time is linear in the size of the module.
    Leaves alone: functions without a target, where the option has none, and functions for
        other devices than tir-default-gpu-schedule binds loops for; functions with
        `tir.is_scheduled`, those in which some loop has a kind, a thread or an
        annotation, or that name memory twice (`tir.decl_buffer`, `tir.match_region`,
        `tir.data`, `tir.address_of`, a parameter matched twice); in others, nests that
        are none of the above, for which tir-default-gpu-schedule is to follow. Buffers of
        different parameters are taken not to overlap.
    Errors: `threads`, `vector_bytes`, `tile`, `tile_terms` or `tensor_core_tile` that is
        no power of two; `stages`, `splits` or `multiprocessors` below 1; a target that
        does not parse, or states no `max_num_threads`
    Attributes: read: `target` and `tir.is_scheduled` of functions; created:
        `permuted_layout` of blocks, `pragma_unroll_explicit`, `pragma_min_blocks`,
        `software_pipeline_stage`, `software_pipeline_order` and
        `software_pipeline_async_stages` of loops; removed: none
    Differs from TVM: one pass chooses by the accesses; dlight has a list of rules to
        apply. Terms of floats are combined in another order than that of the program, and
        of floats of up to 16 bits in f32, which is rounded once, at the end. A reduction
        to one element is done by one block.
    """

    name = "tir-gpu-schedule"

    target: str | None = None
    threads: int = 256
    vector_bytes: int = 16
    warp_row: int = 1024
    row_in_registers: int = 8192
    tile: int = 128
    tile_terms: int = 16
    tensor_cores: bool = True
    tensor_core_tile: int = 128
    warpgroups: bool = True
    warpgroup_tile: int = 256
    stages: int | None = None
    fuse_multiply_add: bool = True
    allow_tf32: bool = False
    splits: int | None = None
    multiprocessors: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for name in ("stages", "splits", "multiprocessors"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise PassFailedException(
                    f"{self.name}: {name} must be at least 1, got {value}"
                )
        for name in _POWERS_OF_TWO:
            value = getattr(self, name)
            if value < 1 or value & (value - 1):
                raise PassFailedException(
                    f"{self.name}: {name} must be a power of two, got {value}"
                )
        default = parsed_target(self.name, self.target)
        for func in list(all_ops(op)):
            if not isinstance(func, tir.FuncOp) or func.is_declaration:
                continue
            own = func.attributes.get("target")
            target = own if isinstance(own, Target) else default
            if target is None or target.device_type not in GPUS:
                continue
            if is_unscheduled(func):
                threads = min(self.threads, _power_of_two(threads_of(target, func)))
                _Function(self._device(target, threads)).schedule(func)

    def _stages(self, target: Target) -> int:
        if self.stages is not None:
            return self.stages
        return _STAGES if uses_async_copy(target) else 1

    def _device(self, target: Target, threads: int) -> Device:
        with_units = self.tensor_cores and has_matrix_units(target)
        rates = rates_for(target)
        return Device(
            threads,
            self.vector_bytes,
            self.warp_row,
            self.row_in_registers,
            self.tile,
            self.tile_terms,
            with_units and threads >= WARP * UnitsKernel.WARPS,
            self.tensor_core_tile,
            self.warpgroups and with_units and has_warpgroups(target),
            self.warpgroup_tile,
            self._stages(target),
            self.fuse_multiply_add,
            self.allow_tf32,
            self.splits,
            self.multiprocessors or rates.multiprocessors,
            rates,
        )


_STAGES = 4
_POWERS_OF_TWO = (
    "threads",
    "vector_bytes",
    "tile",
    "tile_terms",
    "tensor_core_tile",
    "warpgroup_tile",
)


def _power_of_two(most: int) -> int:
    return 1 << (most.bit_length() - 1)


_BETWEEN = (tir.AllocBufferOp, tir.ConstOp, tir.ReadsOp, tir.WritesOp)
"""Ops that nests on both sides of them need not know of."""
_MOST_NESTS = 32
"""More nests do not become one kernel, as each is compared with all before it."""


@dataclass(frozen=True)
class _Function:
    """Writes the kernels of a function."""

    device: Device

    def schedule(self, func: tir.FuncOp) -> None:
        pending: list[Block] = [block for r in func.regions for block in r.blocks]
        while pending:
            block = pending.pop()
            group: list[Nest] = []
            for op in tuple(block.ops):
                nest = find_nest(op) if isinstance(op, tir.ForOp) else None
                if nest is not None:
                    group = self._joined(group, with_counted_extents(nest))
                elif not isinstance(op, _BETWEEN):
                    self._write(group)
                    group = []
                    if isinstance(op, tir.BlockOp) and op.is_opaque:
                        pending.append(op.body.block)
            self._write(group)

    def _joined(self, group: list[Nest], nest: Nest) -> list[Nest]:
        """The group with the nest in it, or else a new one after the group is written."""
        both = [*group, nest]
        if 0 < len(group) < _MOST_NESTS and _are_kernel(both):
            return both
        self._write(group)
        return [nest]

    def _write(self, group: list[Nest]) -> None:
        """Write nests anew, where the last of them is; not what no strategy is for."""
        if not group:
            return
        code = LoopCode(InsertPoint.before(group[-1].outermost))
        if not self._write_kernel(code, group):
            return
        for nest in group:
            Rewriter.erase_op(nest.outermost)
        # What padding would have filled is not in memory any more.
        for buffer in {buffer for nest in group[:-1] for buffer in nest.written}:
            owner = buffer.owner
            if isinstance(owner, tir.AllocBufferOp) and not any(buffer.uses):
                Rewriter.erase_op(owner)

    def _write_kernel(self, code: LoopCode, group: list[Nest]) -> bool:
        """Write nests by the strategy for them; False if there is none."""
        device, first = self.device, group[0]
        product, skinny, rows = _product(group), _skinny(group), _rows(group)
        transpose, reduction = match_transpose(first), match_combined(first)
        windows = match_windows(group)
        units = None
        if product is not None and device.has_matrix_units:
            units = match_units(product, allow_tf32=device.allow_tf32)
        if skinny is not None:
            schedule_skinny(code, skinny, device)
        elif units is not None and device.has_warpgroups and match_warpgroups(units):
            WarpgroupKernel(code, units, device).write()
        elif units is not None:
            UnitsKernel(code, units, device).write()
        elif product is not None:
            ThreadProduct(code, product, device).write()
        elif windows is not None:
            schedule_windows(code, windows, device)
        elif rows is not None:
            schedule_rows(code, rows, device)
        elif transpose is not None:
            schedule_transpose(code, transpose, device)
        elif is_map(first):
            schedule_map(code, first, device)
        elif reduction is not None:
            schedule_columns(code, reduction, device)
        else:
            return False
        return True


def _are_kernel(group: list[Nest]) -> bool:
    """Whether several nests are one kernel."""
    return any(
        match(group) is not None for match in (_product, _skinny, match_windows, _rows)
    )


def _product(group: list[Nest]) -> Contraction | None:
    """The product that a group is, with padding before it and a map after it."""
    padding = match_padding(group[0]) if len(group) > 1 else None
    if padding is not None and not padding.is_zero:
        return None
    found = _with_map_after(group if padding is None else group[1:], match_product)
    if found is None or padding is None:
        return found
    return with_padding(found, padding)


def _skinny(group: list[Nest]) -> Contraction | None:
    """The product of a matrix with few vectors that a group is, with the map after it."""
    return _with_map_after(group, match_skinny)


def _with_map_after(
    group: list[Nest], match: Callable[[Reduction], Contraction | None]
) -> Contraction | None:
    first, *others = group
    reduction = match_combined(first)
    found = None if reduction is None else match(reduction)
    if found is None or not others:
        return found
    # Where there is no term, the map is done on what was there.
    if len(others) > 1 or any(axis.size is None for axis in found.terms):
        return None
    return with_map(found, others[0])


def _rows(group: list[Nest]) -> Rows | None:
    """The rows that the nests of a group share."""
    for nest in group:
        reduction = match_combined(nest)
        if reduction is None:
            continue
        if match_product(reduction) is not None or match_skinny(reduction) is not None:
            return None
    return match_rows(group)
