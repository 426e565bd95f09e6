"""A schedule for the CPU, for functions that were written without one."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Attribute, Block, Operation
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._cpu_schedule.byte_depthwise import (
    ByteDepthwise,
    match_byte_depthwise,
    schedule_byte_depthwise,
)
from xdsl_tvm.passes.tir._cpu_schedule.contraction import (
    match_large_contraction,
    schedule_contraction,
)
from xdsl_tvm.passes.tir._cpu_schedule.divided_map import (
    is_divided_map,
    schedule_divided_map,
)
from xdsl_tvm.passes.tir._cpu_schedule.elementwise import (
    FENCED,
    schedule_map,
    streams,
)
from xdsl_tvm.passes.tir._cpu_schedule.options import (
    Machine,
    is_for_cpu,
    kind_of,
)
from xdsl_tvm.passes.tir._cpu_schedule.reduction import schedule_reduction
from xdsl_tvm.passes.tir._cpu_schedule.row_fetching import RowFetches, row_fetches
from xdsl_tvm.passes.tir._cpu_schedule.skinny_bytes import (
    is_few_rows_of_bytes,
    schedule_few_rows_of_bytes,
)
from xdsl_tvm.passes.tir._cpu_schedule.skinny_matmul import (
    match_few_rows,
    schedule_few_rows,
)
from xdsl_tvm.passes.tir._cpu_schedule.transpose import (
    match_large_transpose,
    schedule_transpose,
)
from xdsl_tvm.passes.tir._cpu_schedule.windowed import Windowed, match_windowed
from xdsl_tvm.passes.tir._cpu_schedule.windowed_loops import schedule_windowed
from xdsl_tvm.passes.tir._loops.loop_nest import (
    Nest,
    Point,
    find_nest,
    with_counted_extents,
)
from xdsl_tvm.passes.tir._schedule.axes import fused_loop
from xdsl_tvm.passes.tir._schedule.contraction import (
    Contraction,
    with_last_map,
    with_map,
)
from xdsl_tvm.passes.tir._schedule.maps import is_map
from xdsl_tvm.passes.tir._schedule.reduction import match_reduction
from xdsl_tvm.passes.tir._schedule.rows import shared_rows
from xdsl_tvm.passes.tir._schedule.unscheduled import is_unscheduled
from xdsl_tvm.passes.tir.rewriting.features import checked_features
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode


@dataclass(frozen=True)
class DefaultCPUSchedule(CompilerPass):
    """Summary: Writes the loops of functions without a schedule anew, for a CPU with
        vectors and several cores.

    TVM name: none (ours)
    Input form: blocks; functions of serial loops without annotations
    Output form: blocks, some of them opaque; loops may be parallel, vectorized, unrolled
    Options:
        `vector_bytes` (64): the width of vectors; one of 64 bytes suits AVX-512
        `cache_bytes` (32 MiB): where a nest that stores to whole buffers touches more
        than this, its stores bypass the cache
        `reassociate` (true): sums and products of floats along the axis along which
        their terms are in memory are gathered in several lanes, and so are least and
        greatest elements, whose values do not depend on the order, and sums of
        convolutions may begin with a bias; false keeps the order of the program
        `fuse_multiply_add` (true): matrix products round once per term; false rounds the
        product as well
        `parallel_grain` (16384): nests of fewer iterations stay on one thread
        `first_cache_bytes` (48 KiB), `second_cache_bytes` (1 MiB): the caches of a core.
        A block of a matrix product takes three quarters of the first or an eighth of the
        second, whichever is more; a part takes half of `cache_bytes`, or three quarters
        of the second where numbers of rows or terms are not known
        `features` (none): what the processor has, by LLVM's names with spaces between:
        `avx512vnni`, `avx512vl` and `avxvnni`
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

            for i in T.parallel(64):
                for j_o in range(31):
                    for v in T.vectorized(32):
                        with T.block("C"): …    # at i, j_o * 32 + v
                for j_t in range(992, 1000):
                    with T.block("C"): …        # at i, j_t

        What happens to a nest goes by what it is. *Maps*, whose iterations are
        independent: the outer loops become a parallel one, the innermost runs in vectors;
        where all buffers are walked in the order of memory, all loops become one. What
        is computed under a condition (`tir.if_then_else`) along the innermost axis stays
        scalar.
        An axis is divided where a choice by its index turns, as at the edges of padding,
        and the parts have loops of their own; a last axis of four elements or fewer is
        written out (see `divided_map.py`).
        *Transposed copies*: square tiles are turned over in registers; the last ones may
        copy elements of those before again. *Reductions*
        `C[s] = C[s] op term(s, r)`: with terms next to each other along `r`, partial
        results in four vectors, combined at the end, and where there are fewer than 4
        results, 16 parts of the terms for several threads; with terms next to each other
        along `s`, stretches of results that several rows are added to at a time; other
        results one by one, each in a register, neighbours in a loop of their own.
        *Contractions*, sums of `a * b` such as matrix products and convolutions: operands
        are copied into the order of their use, but for a `b` in panels, as
        relax-pack-weights makes it, and tiles of up to 14 rows by 2 vectors or 9 by 3, 6
        by 2 for vectors below 64 bytes, stay in registers (see `contraction.py`). The
        last tile may compute rows of the one before it again. Where many panels go over
        many rows, parts of these are in the second cache, and panels are copied once for
        all parts. What is used of a large `b`, or of its copy, is fetched ahead. Of a `b`
        of 4 MiB or more, and up to 128 rows, the first tile of a panel copies it while it
        is computed (`packing_contraction.py`). Where one tile has all rows, panels of 1
        MiB or more are read in two or four streams, each of which has an equal part of
        the terms, unless `reassociate` is false (`skinny_panels.py`). Sums of products of
        bytes are added two terms at a time, or four where `features` have an instruction
        of it (see `dot_contraction.py`). So are those of convolutions of bytes with
        channels last, each channel for itself among them (see `dot_windows.py` and
        `byte_depthwise.py`).
        *Convolutions and poolings of images with channels in blocks*, as many as a vector
        has lanes, or half as many: tiles of neighbouring columns and one to three blocks,
        or five where vectors are of 64 bytes and a map follows, stay in registers,
        nothing is copied, terms outside of the image are left out, and large weights, and
        large images that are read once, are fetched ahead (see `windowed_images.py`).
        If sums may be computed in another order, blocks that fill half of a vector,
        and single ones, have two terms at a time (see `windowed_pairs.py`), sums
        begin with a bias that is added to them, and where windows of depthwise
        convolutions have 9 elements at most, a tile has columns of two rows, for all of
        which an element is loaded once (see `windowed_rows.py`). Threads share the rows
        of an image where the weight is small, and channels otherwise (see
        `windowed_loops.py`).
        *Products of up to 8 rows and a matrix*: the matrix is read once, where it is,
        for all rows. With columns next to each other, stretches of results are in the
        cache; threads share the terms, in 4 or 8 parts whose sums are added at the end,
        or else the columns, where the terms keep their order. What follows in a
        matrix of 1 MiB or more is fetched ahead. With terms next to each other, each
        result is gathered in the lanes of a vector (see `skinny_matmul.py`). Of bytes,
        four lines of the matrix are interleaved in registers (see `skinny_bytes.py`).
        A map after a contraction that works on its results where they are, as bias and
        activation do after tir-inline-blocks, is done on each tile, and so is one that
        makes others of them, as rounding to bytes does, where nobody else reads them: the
        results are not in memory then.
        Nests that follow each other and share several rows become one loop over them:
        so it is with softmax, and its rows stay in the cache. The last map that reads a
        row of a buffer of 1 MiB or more fetches the next row (see `row_fetching.py`).
        Products in blocks of channels take part where there are four rows or more.
        Independence is proved from the accesses; the kinds `S` and `R` are not trusted.
        Symbolic extents are divided at run time; those that may be negative count as 0
        then. Linear in the size of the module.
    Leaves alone: functions for other targets than `llvm` and `c`, functions with the
        attribute `tir.is_scheduled`, those in which some loop has a kind, a thread or an
        annotation, or that name memory twice (`tir.decl_buffer`, `tir.match_region`,
        `tir.data`, `tir.address_of`, a parameter matched twice); in others, nests that
        are none of the above: without iterations, with variables that are neither `i32`
        nor `i64`, with statements between the loops, predicates, annotations, effects
        other than loads and stores, a written buffer with strides, dependences between
        iterations other than the reductions above. Buffers of different parameters are
        taken not to overlap, as `tir-vectorize-loop` takes them.
    Errors: `vector_bytes` that is no power of two, or more than 1024; a feature that
        is none of these
    Attributes: read: `target` and `tir.is_scheduled` of functions; created: the loop
        annotations `nontemporal`, `nontemporal_fence`, `unroll_count` and
        `pragma_unroll_explicit`; removed: none
    Differs from TVM: TVM leaves such functions serial, or asks for a search of schedules
    """

    name = "tir-default-cpu-schedule"

    vector_bytes: int = 64
    cache_bytes: int = 32 << 20
    reassociate: bool = True
    fuse_multiply_add: bool = True
    parallel_grain: int = 16384
    first_cache_bytes: int = 48 << 10
    second_cache_bytes: int = 1 << 20
    features: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.vector_bytes not in _WIDTHS:
            raise PassFailedException(
                f"{self.name}: vector_bytes must be a power of two up to 1024, got "
                f"{self.vector_bytes}"
            )
        machine = Machine(
            self.vector_bytes,
            self.cache_bytes,
            self.reassociate,
            self.fuse_multiply_add,
            self.parallel_grain,
            self.first_cache_bytes,
            self.second_cache_bytes,
            checked_features(self.features, self.name),
        )
        for function in all_ops(op):
            if (
                isinstance(function, tir.FuncOp)
                and is_for_cpu(function)
                and is_unscheduled(function)
            ):
                _schedule_function(function, machine)


_WIDTHS = frozenset(1 << power for power in range(11))


def _schedule_function(function: tir.FuncOp, machine: Machine) -> None:
    pending: list[Block] = [block for r in function.regions for block in r.blocks]
    while pending:
        block = pending.pop()
        group: list[Nest] = []
        for op in tuple(block.ops):
            nest = find_nest(op) if isinstance(op, tir.ForOp) else None
            if nest is not None:
                group = _joined(group, with_counted_extents(nest), machine)
            elif not isinstance(op, _BETWEEN):
                _schedule_group(group, machine)
                group = []
                pending += _bodies(op)
        _schedule_group(group, machine)


_BETWEEN = (tir.AllocBufferOp, tir.ConstOp, tir.ReadsOp, tir.WritesOp)
"""Ops that nests on both sides of them need not know of."""


_LEAST_ROWS = 4
"""Rows that are enough for the threads, where they hold products in blocks."""
_MOST_NESTS = 32
"""More nests do not become one loop, as each is compared with all before it."""


def _bodies(op: Operation) -> list[Block]:
    """The blocks of statements in `op` that may hold nests."""
    if op.results:
        return []
    return [block for region in op.regions for block in region.blocks]


def _joined(group: list[Nest], nest: Nest, machine: Machine) -> list[Nest]:
    """The group with the nest in it, or else a new one after the group is written."""
    if _with_map(group, machine) is not None:
        _schedule_group(group, machine)
        group = []
    if len(group) == 1 and (found := _contraction(group[0], machine)) is not None:
        if _finished(found, nest) is not None:
            return [*group, nest]
        _schedule_group(group, machine)
        group = []
    fits = 0 < len(group) < _MOST_NESTS and not _stands_alone(group[0], machine)
    if fits and not _stands_alone(nest, machine) and _shares_rows(group, nest, machine):
        return [*group, nest]
    _schedule_group(group, machine)
    return [nest]


def _shares_rows(group: list[Nest], nest: Nest, machine: Machine) -> bool:
    """Whether a nest becomes part of the loop over the rows of others.

    A product in blocks of channels has loops of its own for threads. It takes part where
    there is a row for each of them, and the rows leave the loops of a tile alone.
    """
    nests = [*group, nest]
    depth = shared_rows(nests)
    if not depth:
        return False
    products = [found for each in nests if (found := _windowed(each, machine))]
    rows = {axis.variable for each in nests for axis in each.axes[:depth]}
    return not products or (
        prod(axis.size or _LEAST_ROWS for axis in nest.axes[:depth]) >= _LEAST_ROWS
        and all(found.has_only_batch(rows) for found in products)
    )


def _windowed(nest: Nest, machine: Machine) -> Windowed | None:
    reduction = match_reduction(nest)
    return None if reduction is None else match_windowed(reduction, machine)


def _contraction(nest: Nest, machine: Machine) -> Contraction | None:
    reduction = match_reduction(nest)
    if reduction is None:
        return None
    windowed = match_windowed(reduction, machine)
    if windowed is not None:
        return windowed
    depthwise = match_byte_depthwise(reduction, machine)
    if depthwise is not None:
        return depthwise
    if match_few_rows(reduction, {}, machine) is not None:
        return None
    return match_large_contraction(reduction, machine)


def _stands_alone(nest: Nest, machine: Machine) -> bool:
    """Whether a nest shares no rows, as it takes all of them at once."""
    reduction = match_reduction(nest)
    if reduction is None:
        return False
    windowed = match_windowed(reduction, machine)
    if windowed is not None:
        return windowed.element is not None
    if match_byte_depthwise(reduction, machine) is not None:
        return True
    few = match_few_rows(reduction, {}, machine)
    if few is not None:
        return not few.is_batched
    return match_large_contraction(reduction, machine) is not None


def _schedule_group(group: list[Nest], machine: Machine) -> None:
    """Write nests anew, where the first of them is; not what no strategy is for."""
    if not group:
        return
    # A copy is written at the place of the last nest: what it needs is before that.
    code = LoopCode(InsertPoint.before(group[-1].outermost))
    parallel = any(machine.is_parallel(nest.axes) for nest in group)
    finished = _with_map(group, machine)
    if finished is not None:
        _write_contraction(code, finished, machine, parallel=parallel)
    elif len(group) == 1:
        if not _write(code, group[0], {}, machine, parallel=parallel):
            return
    else:
        depth = shared_rows(group)
        rows = group[0].axes[:depth]
        fenced = [parallel and _is_streamed(nest, group, machine) for nest in group]
        hints: dict[str, Attribute] | None = {FENCED: UnitAttr()} if any(fenced) else None
        with fused_loop(code, rows, kind_of(parallel), hints) as point:
            for number, (nest, streamed) in enumerate(zip(group, fenced, strict=True)):
                own = nest.axes[:depth]
                pairs = zip(own, rows, strict=True)
                here: Point = {a.variable: point[row.variable] for a, row in pairs}
                fetches = row_fetches(group, number, own, here, machine)
                written = _write(
                    code,
                    nest,
                    here,
                    machine,
                    parallel=False,
                    fenced=streamed,
                    fetches=fetches,
                )
                if not written:
                    nest.write_loops(code, here)
    for nest in group:
        Rewriter.erase_op(nest.outermost)


def _is_streamed(nest: Nest, group: list[Nest], machine: Machine) -> bool:
    """Whether a nest is a map with large results, which no other nest of a group uses."""
    others = [each for each in group if each is not nest]
    used = {access.buffer for each in others for access in each.accesses}
    return is_map(nest) and not nest.written & used and streams(nest, machine)


def _write_contraction(
    code: LoopCode, found: Contraction, machine: Machine, *, parallel: bool
) -> None:
    if isinstance(found, Windowed):
        schedule_windowed(code, found, machine, {}, parallel=parallel)
    elif isinstance(found, ByteDepthwise):
        schedule_byte_depthwise(code, found, machine, parallel=parallel)
    else:
        schedule_contraction(code, found, machine, parallel=parallel)


def _with_map(group: list[Nest], machine: Machine) -> Contraction | None:
    """The contraction that a group is, with the map after it."""
    if len(group) != 2 or (found := _contraction(group[0], machine)) is None:
        return None
    return _finished(found, group[1])


def _finished(found: Contraction, nest: Nest) -> Contraction | None:
    """The contraction with a map after it that is done on each tile.

    Those of images in blocks keep their results where they are.
    """
    finished = with_map(found, nest)
    if finished is None and not isinstance(found, Windowed):
        return with_last_map(found, nest)
    return finished


def _write(
    code: LoopCode,
    nest: Nest,
    point: Point,
    machine: Machine,
    *,
    parallel: bool,
    fenced: bool = False,
    fetches: RowFetches | None = None,
) -> bool:
    """Write a nest at `point` by the strategy for it; False if there is none."""
    transpose = None if point else match_large_transpose(nest, machine)
    if transpose is not None:
        schedule_transpose(code, transpose, machine, parallel=parallel)
        return True
    if is_map(nest) and not point and is_divided_map(nest):
        schedule_divided_map(code, nest, machine, parallel=parallel)
        return True
    if is_map(nest):
        schedule_map(
            code,
            nest,
            point,
            machine,
            parallel=parallel,
            fenced=fenced,
            fetches=fetches,
        )
        return True
    reduction = match_reduction(nest)
    if reduction is None:
        return False
    windowed = match_windowed(reduction, machine)
    if windowed is not None:
        schedule_windowed(code, windowed, machine, point, parallel=parallel)
        return True
    depthwise = None if point else match_byte_depthwise(reduction, machine)
    if depthwise is not None:
        schedule_byte_depthwise(code, depthwise, machine, parallel=parallel)
        return True
    few = match_few_rows(reduction, point, machine)
    contraction = None if point else match_large_contraction(reduction, machine)
    if few is not None and is_few_rows_of_bytes(few, machine):
        schedule_few_rows_of_bytes(code, few, point, machine, parallel=parallel)
    elif few is not None:
        schedule_few_rows(code, few, point, machine, parallel=parallel)
    elif contraction is not None:
        schedule_contraction(code, contraction, machine, parallel=parallel)
    else:
        schedule_reduction(code, reduction, point, machine, parallel=parallel)
    return True
