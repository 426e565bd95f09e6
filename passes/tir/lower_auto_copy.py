"""Copies between memories, spread over threads as the hardware likes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.annotations import integer_of
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._auto_copy.cache import emit_through_registers
from xdsl_tvm.passes.tir._auto_copy.coalesce import coalesced, inverted
from xdsl_tvm.passes.tir._auto_copy.fragments import (
    MMA_TILE,
    WMMA_TILE,
    emit_wmma_load,
    emit_wmma_store,
    stage_accumulators,
    tiled,
)
from xdsl_tvm.passes.tir._auto_copy.nest import (
    Nest,
    NestBuilder,
    element_bits,
    emit_nest,
    read_nest,
    refuse,
    scope_of,
    statement_of,
    store_map,
)
from xdsl_tvm.passes.tir._auto_copy.padding import Padder
from xdsl_tvm.passes.tir._auto_copy.threads import Surroundings, flag
from xdsl_tvm.passes.tir.rewriting.statements import describe, erase_if_unused

_FRAGMENT_PADDING = 8
_ACCUMULATOR = tir.StorageRank.WMMA_ACCUMULATOR


@dataclass(frozen=True)
class LowerAutoCopy(CompilerPass):
    """Summary: Rewrites blocks that are marked as copies: spreads them over threads and
        vector lanes, moves matrix fragments tile by tile, and pads shared memory.

    TVM name: tir.LowerAutoCopy (v0.20)
    Input form: opaque blocks
    Output form: opaque blocks
    Options: none
    Rewrites: before

            tir.block annotations {auto_copy = 1 : i32, vector_bytes = 16 : i32} {
              tir.for %i = %c0 to %c128 {
                tir.for %j = %c0 to %c128 {
                  %x = tir.load %A[%i, %j] : f32
                  tir.store %x, %S[%i, %j] : f32
                }
              }
            }

        after, if `%S` is shared, and the kernel binds 8 `threadIdx.y` and 32
        `threadIdx.x`

            tir.block annotations {auto_copy = 1 : i32, vector_bytes = 16 : i32} {
              tir.for %f0 = %c0 to %c16 {
                tir.for %f1 = %c0 to %c8 thread_binding "threadIdx.y" {
                  tir.for %f2 = %c0 to %c32 thread_binding "threadIdx.x" {
                    tir.for %f3 = %c0 to %c4 vectorized {
                      // %f = ((%f0 * 8 + %f1) * 32 + %f2) * 4 + %f3
                      // %i = %f // 128 % 128, %j = %f % 128
                      %x = tir.load %A[%i, %j] : f32
                      tir.store %x, %S[%i, %j] : f32
                    }
                  }
                }
              }
            }

        What is done depends on the scopes of the source, which is what the block reads,
        and of the target:

        - global to shared, shared to global: one loop over the elements, split over
          threads and lanes (above); under a condition where it does not divide evenly.
          Shared to global goes in the order of the target. With `local_stage`, the loops
          over threads are outermost, and in them one loop fills registers and one
          stores them
        - shared to `wmma.matrix_a` and `wmma.matrix_b`, `wmma.accumulator` to shared:
          a block for each tile of 16 by 16 that loads or stores a fragment
        - `wmma.accumulator` and `m16n8k8.matrixC` to global: through a cache in shared
          memory, filled by tiles of 16 by 16, or 8 by 8, and then copied like others;
          arithmetic is done in the second step

        Shared buffers that such blocks access get strides: rows are padded such that the
        lanes of a warp meet on as few banks as possible, and vectorized accesses stay
        aligned. Threads do not wait for each other anywhere: tir-thread-sync adds
        barriers. Time is linear in the size of
        the module, but for the proofs.
    Leaves alone: other blocks; copies between other scopes, and those of no elements;
        the strides of shared buffers whose address is taken, or which have strides, axis
        separators, or extents that are not constant
    Errors: a copy block with iteration variables; one that does not write one region, or
        reads none, or several of which not exactly one is `wmma.accumulator`. In a copy
        that is rewritten: statements other than loops around one store; a loop that is
        bound to threads, or has an extent that is not constant; a store that is masked;
        elements that are stored twice, or where that cannot be shown; reading what it
        stores to. For fragments: loops that are no multiples of the tile, or do not run
        along the last dimensions; dtypes, shapes and places without fragments;
        arithmetic on what is loaded, but to global memory; copies that differ between
        the lanes of a warp. For accumulators to global: a condition on threads around
        it; values that other threads cannot compute
    Attributes: read: `auto_copy`, `vector_bytes`, `local_stage`, `warp_execution` of
        blocks; created: none; removed: none
    Differs from TVM: axes are those of the copy's own kernel, and a copy is not spread
        over an axis whose threads copy different things, where TVM copies parts of each.
        Loops may start anywhere. What each iteration stores must be shown to differ.
        Fragments have their own dtype, where TVM loads all as f16, and may be transposed;
        more than 16 in a row, whose numbers TVM mixes up, are an error. Only
        `threadIdx.y` and `threadIdx.z` get a dimension of the cache for accumulators:
        the lanes of a warp share fragments, virtual threads use it in turns. All
        vectorized accesses keep their alignment when rows are padded, not only stores of
        copies, and paddings are such that strides divide each other, as
        tir-lower-opaque-block needs them. Memory of different parameters counts as
        different.
    """

    name = "tir-lower-auto-copy"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels: dict[Operation, dict[str, int]] = {}
        copies = [
            Surroundings.of(block, kernels)
            for block in ops_of(op, tir.BlockOp)
            if flag(block, "auto_copy")
        ]
        padder = Padder()
        for around in reversed(copies):
            _Copy.of(around, padder).lower()
            padder.record(around.block, around.extents)
        padder.apply()


@dataclass(frozen=True)
class _Copy:
    """A copy block, with the buffers that it says it copies between."""

    around: Surroundings
    padder: Padder
    source: SSAValue
    target: SSAValue

    @staticmethod
    def of(around: Surroundings, padder: Padder) -> _Copy:
        """The copy that a block is. Raises PassFailedException if it cannot be one."""
        block = around.block
        if not block.is_opaque:
            raise PassFailedException(
                f"{describe(block)} has iteration variables; run "
                "tir-convert-blocks-to-opaque first"
            )
        reads: list[SSAValue] = []
        writes: list[SSAValue] = []
        for op in block.body.block.ops:
            if isinstance(op, tir.ReadsOp):
                reads += op.buffers
            elif isinstance(op, tir.WritesOp):
                writes += op.buffers
        if len(writes) != 1 or not reads:
            refuse(
                block,
                f"a copy reads regions and writes one, and this one declares "
                f"{len(reads)} in tir.reads and {len(writes)} in tir.writes",
                "declare them, or remove auto_copy",
            )
        if len(reads) > 1:
            reads = [one for one in reads if scope_of(one).rank is _ACCUMULATOR]
        if len(reads) != 1:
            refuse(
                block,
                "a copy that reads several regions reads one of scope wmma.accumulator, "
                f"and this one {len(reads)}",
                "split it, or remove auto_copy",
            )
        return _Copy(around, padder, reads[0], writes[0])

    @property
    def block(self) -> tir.BlockOp:
        """The block."""
        return self.around.block

    def lower(self) -> None:
        """Rewrite the block, if there is a rule for the scopes."""
        match (scope_of(self.source).rank, scope_of(self.target).rank):
            case (tir.StorageRank.GLOBAL, tir.StorageRank.SHARED):
                self._rewrite(self._to_shared)
            case (tir.StorageRank.SHARED, tir.StorageRank.GLOBAL):
                self._rewrite(self._to_global)
            case (
                tir.StorageRank.SHARED,
                tir.StorageRank.WMMA_MATRIX_A | tir.StorageRank.WMMA_MATRIX_B,
            ):
                self._rewrite(self._load_fragments)
            case (tir.StorageRank.WMMA_ACCUMULATOR, tir.StorageRank.SHARED):
                self._rewrite(self._store_fragments)
            case (tir.StorageRank.WMMA_ACCUMULATOR, tir.StorageRank.GLOBAL):
                self._rewrite(lambda nest, place: self._stage(nest, place, WMMA_TILE))
            case (tir.StorageRank.MMA_MATRIX_C, tir.StorageRank.GLOBAL):
                self._rewrite(lambda nest, place: self._stage(nest, place, MMA_TILE))
            case _:
                pass

    def _rewrite(self, rule: Callable[[Nest, NestBuilder], None]) -> None:
        """Put what a rule makes of the nest in the place of it."""
        nest = read_nest(self.block)
        if nest.size == 0:
            return
        self._check_scopes(nest)
        statement = statement_of(self.block, self.block.body.block, [])
        rule(nest, NestBuilder(Builder(InsertPoint.before(statement))))
        operands = tuple(statement.operands)
        Rewriter.erase_op(statement)
        erase_if_unused(operands)

    def _check_scopes(self, nest: Nest) -> None:
        declared, stored = scope_of(self.target), scope_of(nest.store.buffer)
        if declared.rank is not stored.rank:
            refuse(
                self.block,
                f"it declares that it writes {declared} memory, and stores to {stored}",
                "let tir.writes say what it stores to",
            )

    def _coalesced(self, nest: Nest, *, alone: bool) -> Nest:
        """The nest spread over the axes, `alone` those whose threads do the same."""
        axes = self.around.independent_axes() if alone else self.around.axes()
        annotations = self.block.annotations
        value = None if annotations is None else annotations.data.get("vector_bytes")
        size = integer_of(value) or 1
        return coalesced(nest, axes, max(1, size * 8 // element_bits(self.source)))

    def _to_shared(self, nest: Nest, place: NestBuilder) -> None:
        store_map(nest)
        nest = self._coalesced(nest, alone=True)
        if flag(self.block, "local_stage"):
            emit_through_registers(nest, place)
        else:
            emit_nest(nest, place)

    def _to_global(self, nest: Nest, place: NestBuilder) -> None:
        nest = inverted(nest, store_map(nest))
        emit_nest(self._coalesced(nest, alone=True), place)

    def _load_fragments(self, nest: Nest, place: NestBuilder) -> None:
        self._check_lanes()
        shared = emit_wmma_load(nest, place)
        self.padder.require_multiple(shared, _FRAGMENT_PADDING)

    def _store_fragments(self, nest: Nest, place: NestBuilder) -> None:
        self._check_lanes()
        emit_wmma_store(nest, place)
        self.padder.require_multiple(nest.store.buffer, _FRAGMENT_PADDING)

    def _stage(self, nest: Nest, place: NestBuilder, size: int) -> None:
        self._check_lanes()
        store_map(nest)
        nest = tiled(nest, size)
        place = place.loops(nest.loops[:-3])
        staged = stage_accumulators(nest, place, self.around)
        self.padder.require_multiple(staged.cache.buffer, _FRAGMENT_PADDING)
        staged.emit(self._coalesced(staged.nest, alone=False), place)

    def _check_lanes(self) -> None:
        if self.around.depends_on_lanes():
            refuse(
                self.block,
                "the lanes of a warp share fragments, and this copy differs between them",
                "let it not depend on threadIdx.x, or remove auto_copy",
            )
