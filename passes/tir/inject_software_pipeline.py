"""Loops run as software pipelines: stages of several iterations at a time."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.analysis.tir.memory_order import Memory, memory_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import ForKind
from xdsl_tvm.dialects.tir.annotations import integer_of
from xdsl_tvm.dialects.tir.types import is_index_type
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._software_pipeline.conflicts import (
    Conflicts,
    Touches,
    facts_around,
)
from xdsl_tvm.passes.tir._software_pipeline.copies import check_copies
from xdsl_tvm.passes.tir._software_pipeline.emission import PipelineEmitter
from xdsl_tvm.passes.tir._software_pipeline.schedule import (
    ORDER,
    STAGE,
    async_plan,
    check_order,
    schedule_of,
    versions,
)
from xdsl_tvm.passes.tir._software_pipeline.statements import PipelineBody, take_apart
from xdsl_tvm.passes.tir._software_pipeline.versions import VersionedBuffers
from xdsl_tvm.passes.tir.rewriting.statements import describe, erase_if_unused

_DOUBLE = "double_buffer_scope"
_IN_ORDER = (ForKind.SERIAL, ForKind.UNROLLED)


@dataclass(frozen=True)
class InjectSoftwarePipeline(CompilerPass):
    """Summary: Runs annotated loops as software pipelines: in one step the early stages
        of an iteration run with the late ones of those before it.

    TVM name: tir.InjectSoftwarePipeline (v0.20)
    Input form: opaque blocks without `tir.init` and `tir.match_region` in the loops
    Output form: the same, without the annotations of pipelines
    Options: none
    Rewrites: before

            tir.for %i = %c0 to %c16 annotations {
                software_pipeline_stage = [0 : i32, 1 : i32],
                software_pipeline_order = [0 : i32, 1 : i32]} {
              tir.block {
                %B = tir.alloc_buffer : !tir.buffer<4xf32, "shared">
                // fill(%B[...], %i)
                // use(%B[...], %i)
              }
            }

        after

            tir.block {
              %B = tir.alloc_buffer : !tir.buffer<2x4xf32, "shared">
              // fill(%B[0, ...], 0)
              tir.block {
                tir.for %i = %c0 to %c15 {
                  // fill(%B[(%i + 1) % 2, ...], %i + 1)
                  // use(%B[%i % 2, ...], %i)
                }
              }
              // use(%B[1, ...], 15)
            }

        The statements are those of the loop, or of the one block in it; a block of
        several statements without a predicate counts as these. A statement of stage `s`
        runs in step `x + s` for iteration `x`, and those of a step run by `order`. With
        the last stage `S`, the first and the last `S` steps are the prologue and the
        epilogue, unrolled loops if `S > 1`; a statement that may have no iteration in a
        step gets a predicate. Each statement gets its own copy of the values it needs.

        A buffer that the loop allocates gets as many versions as iterations use it at a
        time, in a new first dimension; `double_buffer_scope`, on a block that writes it,
        asks for two at least. Blocks declare the version that they access if `S` is 1,
        else all. What accesses it by its pointer is moved by the size of a version.

        The statements of a stage in `software_pipeline_async_stages` are put in an
        `async_scope`, and neighbours of one stage together in an
        `async_commit_queue_scope`. What reads what they write, or overwrites what they
        read, is put in an `async_wait_queue_scope`, which leaves all later groups in
        flight, unless an earlier statement has waited for the same. Time is linear in
        the size of the result, and quadratic in the statements of one loop.
    Leaves alone: loops without `software_pipeline_stage` and `software_pipeline_order`
    Errors: only one of both annotations, a list that has not one number per statement, an
        order that is there twice, a negative stage or one above 1024; a body of less than
        two statements; a schedule in which statements that depend on each other change
        places; a loop that is not serial or unrolled, or whose variable is not i32 or
        i64; a block with iteration variables, a `tir.init`, a `tir.match_region`, a
        `tir.ret`; memory that the loop gets by `tir.allocate`, or whose size depends on
        the iteration; a value that one statement gets from an op with an effect and
        another uses, or that is loaded before a statement that may write it; a buffer of
        several versions with an offset, with strides that do not show its size, or in a
        matrix whose builtins do not say how large its fragments are; an asynchronous
        statement that is more than loads and stores, reads what it writes, or may write
        an element twice; a `double_buffer_scope` that names no written buffer
    Attributes: read and removed: `software_pipeline_stage`, `software_pipeline_order`,
        `software_pipeline_async_stages`; read: `double_buffer_scope`; changed:
        `buffer_dim_align` of buffers that get versions; created: `async_scope`,
        `async_commit_queue_scope`, `async_wait_queue_scope`, `async_wait_inflight_count`;
        removed: annotations of the block in the loop and of blocks that count as their
        statements. Other annotations of the loop are on all loops that are made of it.
    Differs from TVM: all memory that statements share keeps its order, memory around the
        loop and what later iterations overwrite included, where TVM looks only at what
        one statement writes and a later one reads; but boxes that are shown to be
        disjoint do not depend on each other. Memory of different parameters counts as
        different, and what is done through pointers is what blocks declare. A buffer gets
        more versions than TVM gives it where the schedule needs them, and a buffer that
        nothing accesses is kept. The predicate of the block in the loop stays, on each
        statement. Versions count from the start of the loop for pointers too, and
        `tvm_fill_fragment` fills the version of its iteration. What a step commits is in
        the same groups in prologue, body and epilogue, so that the count is right from
        the first step on; statements in between part them. A statement also waits before
        it overwrites what a copy may still read or write, and the epilogue waits for
        copies that nothing in the loop has waited for. Blocks with buffers of their own
        stay blocks in an `async_scope`. Indices, conditions and counts are simplified by
        the bounds of the generated loops. Loops of kind parallel, vectorized and
        thread_binding are refused.
    """

    name = "tir-inject-software-pipeline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        doubled: set[Memory] = set()
        loops: list[tir.ForOp] = []
        for inner in ops_of(op, tir.BlockOp, tir.ForOp, tir.LaunchThreadOp):
            if isinstance(inner, tir.BlockOp):
                doubled |= _requested(inner)
            elif _is_marked(inner):
                loops.append(_checked(inner))
        # What is inside first: its parts are statements of what is around it.
        for loop in reversed(loops):
            _inject(loop, doubled)


# ---- what is annotated ----


def _is_marked(op: tir.ForOp | tir.LaunchThreadOp) -> bool:
    known = op.annotations
    return known is not None and (STAGE in known.data or ORDER in known.data)


def _checked(op: tir.ForOp | tir.LaunchThreadOp) -> tir.ForOp:
    """The loop of a pipeline; PassFailedException for one that cannot be."""
    if not isinstance(op, tir.ForOp) or op.kind.data not in _IN_ORDER:
        kind = op.kind.data.value if isinstance(op, tir.ForOp) else "thread"
        raise PassFailedException(
            f"{describe(op)}: a {kind} loop does not run its iterations in order, so it "
            "cannot be a pipeline; annotate a serial loop"
        )
    assert op.annotations is not None
    for key, other in ((STAGE, ORDER), (ORDER, STAGE)):
        if key not in op.annotations.data:
            raise PassFailedException(
                f"{describe(op)} is annotated with {other}, but not with {key}; a "
                "pipeline needs both"
            )
    if not is_index_type(op.loop_var.type):
        raise PassFailedException(
            f"{describe(op)}: a pipeline needs a loop variable of type i32 or i64, and "
            f"this is {op.loop_var.type}; cast it"
        )
    return op


def _requested(block: tir.BlockOp) -> set[Memory]:
    """The memory that an annotation of the block asks a second version of."""
    known = block.annotations
    if known is None or _DOUBLE not in known.data:
        return set()
    index = integer_of(known.data[_DOUBLE])
    writes: tuple[SSAValue, ...] = ()
    for op in block.body.block.ops:
        if isinstance(op, tir.WritesOp):
            writes = tuple(op.buffers)
    if index is None or index not in range(len(writes)):
        raise PassFailedException(
            f"{describe(block)}: {_DOUBLE} names written buffer {index}, but the block "
            f"declares {len(writes)} in tir.writes"
        )
    return {memory_of(writes[index])}


# ---- one pipeline ----


def _inject(loop: tir.ForOp, doubled: set[Memory]) -> None:
    """Replace a loop by the block of its pipeline."""
    body = take_apart(loop)
    schedule = schedule_of(loop, body)
    touches = Touches(body.statements)
    _check_reads(loop, body, touches)
    with facts_around(loop) as analyzer:
        conflicts = Conflicts(loop, body.statements, body.allocations, touches, analyzer)
        check_order(loop, body, schedule, conflicts)
        for number, statement in enumerate(body.statements):
            if schedule.is_async(number):
                check_copies(statement, analyzer)
        counts: dict[Memory, int] = {
            alloc.buffer: versions(
                alloc.buffer,
                touches.by_memory.get(alloc.buffer, ()),
                schedule,
                conflicts,
                doubled=alloc.buffer in doubled,
            )
            for alloc in body.allocations
        }
        plan = async_plan(body, schedule, conflicts, counts)
        versioned = VersionedBuffers(loop, schedule.last_stage, analyzer)
        allocations = [
            versioned.enlarge(alloc, count)
            if (count := counts[alloc.buffer]) > 1
            else alloc
            for alloc in body.allocations
        ]
        emitter = PipelineEmitter(
            loop, body.statements, schedule, plan, versioned.numbers, analyzer
        )
        pipeline = emitter.pipeline(allocations)
    bounds = (loop.min, loop.extent)
    Rewriter.insert_op(pipeline, InsertPoint.before(loop))
    Rewriter.erase_op(loop, safe_erase=False)
    erase_if_unused(bounds)


def _check_reads(loop: tir.ForOp, body: PipelineBody, touches: Touches) -> None:
    """Raise PassFailedException if a sunk read has moved past a write."""
    for read in body.reads:
        for number in range(read.first, read.statement):
            if touches.writes(number, read.op):
                raise PassFailedException(
                    f"{describe(loop)}: statement {read.statement} uses the value of a "
                    f"{read.op.name} before statement {number}, which may write "
                    "what it reads; load it where it is used"
                )
