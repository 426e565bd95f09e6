"""Virtual threads: statements for each of them, and memory with room for all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops, ops_of
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr, emit, view
from xdsl_tvm.analysis.tir.flat_index import wide_extent, widened_for
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._virtual_threads import Dependence, Unit
from xdsl_tvm.passes.tir.rewriting.memory_views import is_plain_view
from xdsl_tvm.passes.tir.rewriting.statements import (
    describe,
    erase_if_unused,
    insert_body_before,
    pragmas_of,
    replace_by_body,
    within_pragmas,
)

_LOOP_FROM = 16
"""The number of threads from which on statements are not written out for each."""
_BLOCK_OPS = (
    tir.AllocBufferOp,
    tir.BlockOp,
    tir.BufferRealizeOp,
    tir.InitOp,
    tir.MatchRegionOp,
)
_BARRIERS = frozenset(("tvm_storage_sync", "tvm_global_barrier_kinit"))
_LOOPS = (tir.ForOp, tir.WhileOp)


@dataclass(frozen=True)
class InjectVirtualThread(CompilerPass):
    """Summary: Removes virtual threads: what depends on their index is done for each of
        them, statement by statement, in memory that has room for all.

    TVM name: tir.InjectVirtualThread (v0.20)
    Input form: flat; virtual threads have a constant extent, and none accesses what
        another one writes in memory from outside of the launch
    Output form: the same, without virtual launches
    Options: none
    Rewrites: before

            tir.launch_thread %v = "vthread" to %c2 virtual {
              %p = tir.allocate [4] : !tir.ptr<f32, "shared">
              %B = tir.decl_buffer %p : !tir.buffer<4xf32, "shared">
              tir.for %i = %c0 to %c4 {
                %k = tir.add %i, %v : i32
                %x = tir.load %A[%k] : f32
                tir.store %x, %B[%i] : f32
              }
            }

        after

            %p = tir.allocate [8] : !tir.ptr<f32, "shared">
            %B = tir.decl_buffer %p : !tir.buffer<8xf32, "shared">
            tir.for %i = %c0 to %c4 {
              // the load of %A[%i + 0], and its store into %B[0 * 4 + %i]
              // the load of %A[%i + 1], and its store into %B[1 * 4 + %i]
            }

        A statement depends on the index if it uses it, what is computed from it, or
        memory that such a statement writes. It is copied for each thread, with the
        expressions and loads that it needs, or put in a serial loop if there are 16
        threads or more, or a loop in it. So is, as a whole, an op with statements in it
        whose own operands depend on the index; a `tir.let` that does, with all that
        follows in its block; and a load whose memory is written before its last use, or
        a `tir.let` of an expression that reads, with the statements up to there. Memory
        of the launch that they write is multiplied: index `x` becomes
        `index * extent + x`. Threads whose tag does not begin with `vthread` share
        nothing: all memory is multiplied and all statements are copied, and
        `tvm_context_id` is the index. Inner launches come first. Time is linear in the
        size of the result, for each launch around an op.
    Leaves alone: launches that are not virtual, vthread axes among them; memory, loops
        and statements that do not depend on an index, but for their place
    Errors: an extent that is no constant; inside of virtual threads: a `tir.while`, a
        `tir.ret`, blocks and buffers that are not flat (run tir-lower-opaque-block and
        tir-flatten-buffer first), and a barrier among statements that are copied
        together. Of memory to multiply: another number of dimensions than one, a buffer
        on it that is not declared as it is allocated, a `tir.access_ptr` whose elements
        do not divide it, and a use of its pointer by anything but buffers,
        `tir.access_ptr` and `tir.attr`
    Attributes: read: `coproc_scope` and `coproc_uop_scope`, whose bodies are copied as a
        whole for threads that share nothing; created: none; removed: none. Pragmas of a
        virtual launch become `tir.attr`; allocations keep their annotations.
    Differs from TVM: what is written under a condition or in a loop that depends on the
        index has a place for each thread, where TVM lets the threads share it; buffers
        have the extents of their memory. A load stays before the writes that follow
        it. Loops may start anywhere. Memory that is allocated among statements that are
        copied together is not multiplied. A barrier that would be copied for each
        thread with what is around it is refused. A virtual launch within one of the same
        axis and `env` has the same index. Indices are `i64` where the multiplied memory
        has more elements than 32 bits count.
    """

    name = "tir-inject-virtual-thread"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            launches = ops_of(func, tir.LaunchThreadOp)
            virtual = [launch for launch in launches if launch.virtual is not None]
            remaining = [launch for launch in virtual if not _is_reopened(launch)]
            for launch in reversed(remaining):
                _Expansion(launch).run()


def _is_virtual(op: Operation) -> TypeGuard[tir.LaunchThreadOp]:
    return isinstance(op, tir.LaunchThreadOp) and op.virtual is not None


def _is_reopened(launch: tir.LaunchThreadOp) -> bool:
    """Whether the axis of a launch is open around it; the launch is then gone."""
    if launch.env is None:
        return False
    outer = launch.parent_op()
    while outer is not None:
        if _is_virtual(outer) and (outer.tag, outer.env) == (launch.tag, launch.env):
            launch.thread_var.replace_all_uses_with(outer.thread_var)
            _dissolve(launch)
            return True
        outer = outer.parent_op()
    return False


def _dissolve(launch: tir.LaunchThreadOp) -> None:
    """Put what is in a launch, which uses no index, in its place."""
    body = launch.body.block
    body.erase_arg(launch.thread_var)
    pragmas = pragmas_of(launch.annotations)
    if pragmas:
        launch.body.detach_block(body)
        body = within_pragmas(launch, body, pragmas)
    extent = launch.extent
    replace_by_body(launch, body)
    erase_if_unused((extent,))


# ---- what is refused ----


def _count(launch: tir.LaunchThreadOp) -> int:
    count = tir.constant_value(launch.extent)
    if not isinstance(count, int):
        raise PassFailedException(
            f"{describe(launch)}: virtual threads need an extent that is a constant; "
            "specialize the function, or simplify it first"
        )
    return count


def _check(launch: tir.LaunchThreadOp) -> None:
    for op in launch.body.walk():
        match op:
            case tir.WhileOp():
                problem = "must not be in virtual threads; write a tir.for with a bound"
            case tir.RetOp():
                problem = "must not be in virtual threads; return after the launch"
            case _ if isinstance(op, _BLOCK_OPS):
                problem = (
                    "must not be in virtual threads; run tir-lower-opaque-block and "
                    "tir-flatten-buffer first"
                )
            case _:
                continue
        raise PassFailedException(f"{describe(op)} {problem}")


def _check_barriers(unit: Unit) -> None:
    if len(unit.ops) == 1 and not unit.ops[0].regions:
        return
    for top in unit.ops:
        for op in top.walk():
            if isinstance(op, tir.CallOp) and op.callee.data in _BARRIERS:
                raise PassFailedException(
                    f"{describe(op)}: {op.callee.data} is among statements that depend "
                    "on a virtual thread together, so each thread would meet the others "
                    "alone; move it out"
                )


# ---- the rewrite ----


class _Expansion:
    """Removes a virtual launch."""

    def __init__(self, launch: tir.LaunchThreadOp) -> None:
        self._launch = launch
        self._count = _count(launch)
        _check(launch)
        exclusive = not launch.tag.data.startswith("vthread")
        if exclusive:
            _number_contexts(launch)
        self._found = Dependence(launch, exclusive=exclusive)
        self._kept: set[SSAValue] = set()
        """Multiplied memory and the buffers on it, which all threads share."""
        self._dependent: dict[SSAValue, bool] = {}
        """New values, and whether they depend on the index."""
        self._numbers: dict[int, SSAValue] = {}
        self._dropped: list[SSAValue] = []
        self._analyzer = Analyzer()

    def run(self) -> None:
        """Do it all."""
        launch, found = self._launch, self._found
        if self._count <= 0:
            extent = launch.extent
            Rewriter.erase_op(launch)
            erase_if_unused((extent,))
            return
        for units in found.units.values():
            for unit in units:
                _check_barriers(unit)
        for memory in found.memory:
            if memory not in found.copied:
                self._multiply(memory)
        doomed = self._doomed()
        for units in found.units.values():
            for unit in units:
                self._expand(unit)
        for op in reversed(doomed):
            self._dropped += op.operands
            Rewriter.erase_op(op)
        erase_if_unused((*self._dropped, *self._numbers.values()))
        _dissolve(launch)

    # ---- memory ----

    def _multiply(self, memory: tir.AllocateOp) -> None:
        """Give memory room for all threads, and let each access its place."""
        if len(memory.shape) != 1:
            raise PassFailedException(
                f"{describe(memory)}: memory that is multiplied for virtual threads has "
                f"{len(memory.shape)} dimensions, where one is needed; run "
                "tir-flatten-buffer first"
            )
        views = self._share(memory)
        grown = self._grown(memory)
        if isinstance(grown, int):
            memory.static_extents = DenseArrayBase.from_list(i64, [grown])
        else:
            memory.operands[0] = grown
        for buffer in views:
            self._grow(buffer, grown)

    def _grown(self, memory: tir.AllocateOp) -> int | SSAValue:
        (extent,) = memory.shape
        if isinstance(extent, int):
            return extent * self._count
        builder = Builder(InsertPoint.before(memory))
        grown = smart.mul(wide_extent(extent), self._count)
        return emit(grown, builder, {view(extent): extent})

    def _grow(self, buffer: tir.DeclBufferOp, extent: int | SSAValue) -> None:
        if isinstance(extent, SSAValue):
            position = next(
                index
                for index, operand in enumerate(buffer.operands)
                if operand is buffer.extents[0]
            )
            buffer.operands[position] = extent
            return
        kind = buffer.type
        grown = tir.BufferType([extent], kind.element_type, kind.scope)
        self._kept.discard(buffer.buffer)
        self._kept.add(Rewriter.replace_value_with_new_type(buffer.buffer, grown))

    def _share(self, memory: tir.AllocateOp) -> list[tir.DeclBufferOp]:
        """Shift all accesses of memory; the buffers on it."""
        views: list[tir.DeclBufferOp] = []
        pending: list[SSAValue] = [memory.result]
        while pending:
            value = pending.pop()
            self._kept.add(value)
            for use in tuple(value.uses):
                match use.operation:
                    case tir.DeclBufferOp() as buffer:
                        _check_plain(buffer, memory)
                        views.append(buffer)
                        pending.append(buffer.buffer)
                    case tir.DataOp() | tir.LetOp() as alias:
                        pending.append(alias.results[0])
                    case tir.AttrOp():
                        pass
                    case op:
                        self._shift(op, _place(op, use.index, memory), memory)
        return views

    def _shift(self, op: Operation, position: int, memory: tir.AllocateOp) -> None:
        """Let operand `position` of an access, an index, go to the place of a thread."""
        (extent,) = memory.shape
        stride: int | Expr = extent if isinstance(extent, int) else wide_extent(extent)
        if isinstance(op, tir.AccessPtrOp):
            stride = _in_elements(op, stride, memory)
        index = op.operands[position]
        most = stride * self._count if isinstance(stride, int) else 0
        thread = widened_for(view(self._launch.thread_var), most)
        shifted = self._analyzer.simplify(
            smart.add(view(index), smart.mul(thread, stride))
        )
        known = {view(index): index}
        if isinstance(stride, int) and thread.dtype == self._launch.extent.type:
            number = self._number(stride)
            known[view(number)] = number
        builder = Builder(InsertPoint.before(op))
        op.operands[position] = emit(shifted, builder, known)
        self._dropped.append(index)

    # ---- copies ----

    def _depends(self, value: SSAValue) -> bool:
        """Whether a value has to be computed for each thread."""
        if value is self._launch.thread_var:
            return True
        if value in self._kept:
            return False
        owner = value.owner
        if isinstance(owner, Block) or owner in self._found.facts.ops:
            return value in self._found.values
        known = self._dependent.get(value)
        if known is None:
            known = any(self._depends(operand) for operand in owner.operands)
            self._dependent[value] = known
        return known

    def _doomed(self) -> list[Operation]:
        """The ops that copies take the place of, in their order."""
        doomed: list[Operation] = []
        for block, units in self._found.units.items():
            whole = {op for unit in units for op in unit.ops}
            doomed += [
                op
                for op in block.ops
                if op in whole or any(self._depends(result) for result in op.results)
            ]
        return doomed

    def _expand(self, unit: Unit) -> None:
        """Put the copies of a unit after it."""
        end = tir.EvaluateOp()
        Rewriter.insert_op(end, InsertPoint.after(unit.last))
        holds_loop = any(
            isinstance(op, _LOOPS) for top in unit.ops for op in all_ops(top)
        )
        if holds_loop or self._count >= _LOOP_FROM:
            Rewriter.insert_op(self._loop(unit), InsertPoint.before(end))
        else:
            for index in range(self._count):
                followed = index < self._count - 1 or end.next_op is not None
                body = Block()
                self._copy(unit, self._number(index), body)
                insert_body_before(end, body, followed=followed)
        Rewriter.erase_op(end)

    def _loop(self, unit: Unit) -> tir.ForOp:
        launch = self._launch
        axis = launch.tag if launch.env is None else launch.env
        loop = tir.ForOp(self._number(0), launch.extent, name=f"{axis.data}.s")
        loop.location = launch.location
        self._copy(unit, loop.loop_var, loop.body.block)
        return loop

    def _number(self, number: int) -> SSAValue:
        found = self._numbers.get(number)
        if found is None:
            constant = tir.ConstOp.of(number, self._launch.extent.type)
            Rewriter.insert_op(constant, InsertPoint.before(self._launch))
            found = self._numbers[number] = constant.result
        return found

    def _copy(self, unit: Unit, index: SSAValue, block: Block) -> None:
        """Append what a unit does for one index, with the values that it needs."""
        values: dict[SSAValue, SSAValue] = {self._launch.thread_var: index}
        for op in unit.ops:
            for value in _outer_values(op):
                self._compute(value, values, block)
            block.add_op(op.clone(values))

    def _compute(
        self, value: SSAValue, values: dict[SSAValue, SSAValue], block: Block
    ) -> None:
        """Append copies of the ops of a value that depend on the index."""
        pending = [value]
        while pending:
            current = pending[-1]
            if current in values or not self._depends(current):
                pending.pop()
                continue
            owner = current.owner
            assert isinstance(owner, Operation), "a loop that depends is copied whole"
            missing = [
                operand
                for operand in _outer_values(owner)
                if operand not in values and self._depends(operand)
            ]
            if missing:
                pending += missing
                continue
            block.add_op(owner.clone(values))
            pending.pop()


def _outer_values(op: Operation) -> Iterator[SSAValue]:
    """The values from outside that an op and what it holds use."""
    if not op.regions:
        yield from op.operands
        return
    inside: set[SSAValue] = set()
    for inner in op.walk():
        for value in inner.operands:
            if value not in inside:
                yield value
        inside.update(inner.results)
        for region in inner.regions:
            for block in region.blocks:
                inside.update(block.args)


def _check_plain(buffer: tir.DeclBufferOp, memory: tir.AllocateOp) -> None:
    if not is_plain_view(buffer, memory):
        raise PassFailedException(
            f"{describe(buffer)} is on memory that is multiplied for virtual threads, "
            "with other dimensions, elements, strides or offset; declare it as the "
            "memory is allocated, or run tir-flatten-buffer first"
        )


def _place(op: Operation, operand: int, memory: tir.AllocateOp) -> int:
    """Which operand is the index of an access whose buffer or pointer is `operand`."""
    match op:
        case tir.LoadOp() | tir.AddressOfOp() | tir.AccessPtrOp() if operand == 0:
            return 1
        case tir.StoreOp() if operand == 1:
            return 2
        case tir.ThreadAllreduceOp():
            before = len(op.sources) + (op.condition is not None)
            places = op.places[: operand - before]
            skipped = sum(len(place.indices) for place in places)
            return before + len(op.buffers) + skipped
        case _:
            raise PassFailedException(
                f"{describe(op)} uses the pointer of memory that is multiplied for "
                "virtual threads; pass it as a tir.access_ptr"
            )


def _in_elements(
    op: tir.AccessPtrOp, extent: int | Expr, memory: tir.AllocateOp
) -> int | Expr:
    """The extent of memory in the elements that a pointer into it counts."""
    ours, theirs = memory.result.type.element_type, op.element_type
    if ours == theirs:
        return extent
    size, unit = tir.bytes_of(ours), tir.bytes_of(theirs)
    if isinstance(extent, int) and extent * size % unit == 0:
        return extent * size // unit
    if isinstance(extent, Expr) and size % unit == 0:
        return smart.mul(extent, size // unit)
    raise PassFailedException(
        f"{describe(op)} counts in elements of {unit} bytes, which do not divide memory "
        "that is multiplied for virtual threads; make its extent a multiple"
    )


def _number_contexts(launch: tir.LaunchThreadOp) -> None:
    """Replace `tvm_context_id` by the index of a launch."""
    found = ops_of(launch.body, tir.CallOp)
    for op in found:
        if op.callee.data != "tvm_context_id":
            continue
        index: SSAValue = launch.thread_var
        if op.result is not None and op.result.type != index.type:
            cast = tir.CastOp(index, op.result.type)
            Rewriter.insert_op(cast, InsertPoint.before(op))
            index = cast.result
        Rewriter.replace_op(op, [], [index] if op.results else [])
