"""Copies to shared memory: what they read is held in registers first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import emit, view
from xdsl_tvm.analysis.tir.flat_index import leaf
from xdsl_tvm.analysis.tir.memory_order import memory_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.rewriting.copied_element import is_expression, reads_within
from xdsl_tvm.passes.tir.rewriting.statements import describe, erase_if_unused

_STAGED = "tir.manifest_shared_memory_local_stage"
_LOOPS = (tir.ForKind.SERIAL, tir.ForKind.VECTORIZED)


@dataclass(frozen=True)
class ManifestSharedMemoryLocalStage(CompilerPass):
    """Summary: Splits marked copies to shared memory in two: one that fills registers,
        and one that stores them.

    TVM name: tir.ManifestSharedMemoryLocalStage (v0.20)
    Input form: opaque blocks
    Output form: opaque blocks, without `tir.manifest_shared_memory_local_stage`
    Options: none
    Rewrites: before

            %S = tir.alloc_buffer "S" : !tir.buffer<256xf32, "shared">
            tir.for %i = %c0 to %c4 {
              %k = tir.mul %i, %c64 : i32
              tir.block "copy" annotations
                  {tir.manifest_shared_memory_local_stage = 1 : i32} {
                tir.reads %A[%k]
                tir.writes %S[%k]
                %x = tir.load %A[%k] : f32
                tir.store %x, %S[%k] : f32
              }
            }

        after

            %S = tir.alloc_buffer "S" : !tir.buffer<256xf32, "shared">
            %L = tir.alloc_buffer "S_local" : !tir.buffer<4xf32, "local">
            tir.for %i = %c0 to %c4 {
              %k = tir.mul %i, %c64 : i32
              tir.block {
                tir.reads %A[%k]
                tir.writes %L[%i]
                %x = tir.load %A[%k] : f32
                tir.store %x, %L[%i] : f32
              }
            }
            tir.for %i = %c0 to %c4 {
              %k = tir.mul %i, %c64 : i32
              tir.block "copy" {
                tir.reads %A[%k]
                tir.writes %S[%k]
                %x = tir.load %L[%i] : f32
                tir.store %x, %S[%k] : f32
              }
            }

        The registers have one element for each iteration of the loops between the block
        and the one that allocates its target; loops count from their start. A predicate
        of the block holds for both. Time is linear in the size of the module.
    Leaves alone: blocks without the annotation
    Errors: a marked block that has iteration variables, or that holds more than
        expressions and one store; a store that is masked, of a vector, or not to shared
        memory of the nearest block, or function, around; a loop in between that is not
        serial or vectorized, has other statements in it, or an extent that is computed
        in the nest; anything else in between, such as a condition; a copy whose value
        is read from its target
    Attributes: read and removed: `tir.manifest_shared_memory_local_stage`; those of the
        loops are copied with them
    Differs from TVM: loops that do not start at 0 do not overrun the registers. Each
        marked block has registers of its own, also where two fill one buffer. The body of
        a function counts as a block. A value that depends on the target is an error,
        since it is read before any of it is stored.
    """

    name = "tir-manifest-shared-memory-local-stage"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        marked: list[tir.BlockOp] = []
        for inner in ops_of(op, tir.BlockOp):
            if _is_marked(inner):
                marked.append(inner)
        for block in marked:
            _stage(_Copy.of(block))


def _is_marked(block: tir.BlockOp) -> bool:
    return block.annotations is not None and _STAGED in block.annotations.data


@dataclass(frozen=True)
class _Copy:
    """A marked block, its store, and the loops around it, from the outermost on."""

    block: tir.BlockOp
    store: tir.StoreOp
    target: tir.AllocBufferOp
    loops: tuple[tir.ForOp, ...]

    @property
    def nest(self) -> tir.BlockOp | tir.ForOp:
        """The statement that copies all of it."""
        return self.loops[0] if self.loops else self.block

    @staticmethod
    def of(block: tir.BlockOp) -> _Copy:
        """The copy that a block is. Raises PassFailedException if it is none."""
        loops: list[tir.ForOp] = []
        statement: tir.BlockOp | tir.ForOp = block
        parent = block.parent_op()
        while isinstance(parent, tir.ForOp):
            _check_loop(block, parent, statement)
            loops.append(parent)
            statement = parent
            parent = parent.parent_op()
        if not isinstance(parent, tir.BlockOp | tir.FuncOp):
            around = "nothing" if parent is None else parent.name
            raise PassFailedException(
                f"{describe(block)}: {_STAGED} allows only loops up to the next block, "
                f"and there is {around}; move it out"
            )
        store = _only_store(block)
        target = tir.buffer_definition(store.buffer)
        if not isinstance(target, tir.AllocBufferOp) or target.parent_op() is not parent:
            raise PassFailedException(
                f"{describe(block)}: {_STAGED} needs a target that the next block around "
                "it allocates; move the tir.alloc_buffer there"
            )
        _check_reads(block, store, loops)
        return _Copy(block, store, target, tuple(reversed(loops)))


def _check_loop(block: tir.BlockOp, loop: tir.ForOp, statement: Operation) -> None:
    if loop.kind.data not in _LOOPS:
        raise PassFailedException(
            f"{describe(block)}: {_STAGED} allows only serial and vectorized loops "
            f"around it, and there is one of kind {loop.kind.data.value}; put the "
            "allocation of the target inside of that"
        )
    for op in loop.body.block.ops:
        if op is not statement and not is_expression(op):
            raise PassFailedException(
                f"{describe(block)}: {op.name} shares a loop with a block marked by "
                f"{_STAGED}; split the loop"
            )


def _only_store(block: tir.BlockOp) -> tir.StoreOp:
    if not block.is_opaque:
        raise PassFailedException(
            f"{describe(block)} has iteration variables; run "
            "tir-convert-blocks-to-opaque first"
        )
    stores: list[tir.StoreOp] = []
    for op in block.body.block.ops:
        if isinstance(op, tir.StoreOp):
            stores.append(op)
        elif not isinstance(op, tir.ReadsOp | tir.WritesOp) and not is_expression(op):
            raise PassFailedException(
                f"{describe(block)}: a block marked by {_STAGED} is one store, and this "
                f"one holds {op.name}; move it out"
            )
    if len(stores) != 1:
        raise PassFailedException(
            f"{describe(block)}: a block marked by {_STAGED} is one store, and this one "
            f"holds {len(stores)}; split it"
        )
    (store,) = stores
    scope = tir.StorageScope.parse(tir.buffer_definition(store.buffer).type.scope.data)
    if scope.rank is not tir.StorageRank.SHARED:
        raise PassFailedException(
            f"{describe(block)}: a block marked by {_STAGED} stores to shared memory, "
            f"and this one to {scope}; remove the annotation"
        )
    if store.predicate is not None or not tir.is_scalar(store.value.type):
        raise PassFailedException(
            f"{describe(block)}: a block marked by {_STAGED} stores one element, without "
            "a mask; let a loop run over the lanes"
        )
    return store


def _check_reads(
    block: tir.BlockOp, store: tir.StoreOp, loops: Iterable[tir.ForOp]
) -> None:
    """Raise PassFailedException if what is copied may depend on what is stored before."""
    target = memory_of(store.buffer)
    values = [store.value, *(value for loop in loops for value in loop.operands)]
    if block.predicate is not None:
        values.append(block.predicate)
    for memory in reads_within(values):
        if memory is None or memory is target:
            raise PassFailedException(
                f"{describe(block)}: what a block marked by {_STAGED} stores may be read "
                "from its target; read it from a buffer of its own"
            )


# ---- the rewrite ----


def _stage(copy: _Copy) -> None:
    registers = _allocate(copy)
    nest = copy.nest
    values: dict[SSAValue, SSAValue] = {}
    blocks: dict[Block, Block] = {}
    filling = nest.clone(values, blocks)
    Rewriter.insert_op(filling, InsertPoint.before(nest))
    body = blocks[copy.block.body.block]
    block = body.parent_op()
    assert isinstance(block, tir.BlockOp)
    (store,) = (op for op in body.ops if isinstance(op, tir.StoreOp))
    variables = [values[loop.loop_var] for loop in copy.loops]
    _fill(block, store, registers, _places(copy, variables, block))
    _drain(copy, registers)


def _allocate(copy: _Copy) -> tir.AllocBufferOp:
    """The registers, allocated where their extents are known."""
    extents = [_extent(loop, copy) for loop in copy.loops]
    shape = [one if isinstance(one, int) else DYNAMIC_INDEX for one in extents]
    dynamic = [one for one in extents if isinstance(one, SSAValue)]
    name = copy.target.buffer_name
    element = copy.target.type.element_type
    registers = tir.AllocBufferOp(
        tir.BufferType(shape, element, "local"),
        dynamic,
        name=None if name is None else f"{name.data}_local",
    )
    hint = copy.target.buffer.name_hint
    registers.buffer.name_hint = None if hint is None else f"{hint}_local"
    registers.location = copy.block.location
    place = (
        InsertPoint.before(copy.nest)
        if dynamic
        else InsertPoint.after(_last_allocation(copy.target))
    )
    Rewriter.insert_op(registers, place)
    return registers


def _last_allocation(first: tir.AllocBufferOp) -> tir.AllocBufferOp:
    """The last of the allocations that a block starts with, from `first` on."""
    last = first
    op = first.next_op
    while op is not None and (isinstance(op, _PROLOGUE) or is_expression(op)):
        if isinstance(op, tir.AllocBufferOp):
            last = op
        op = op.next_op
    return last


_PROLOGUE = (tir.AllocBufferOp, tir.ReadsOp, tir.WritesOp, tir.MatchRegionOp)


def _extent(loop: tir.ForOp, copy: _Copy) -> int | SSAValue:
    number = tir.constant_value(loop.extent)
    if number is not None:
        return max(0, int(number))
    owner = loop.extent.owner
    inside = owner.parent_op() if isinstance(owner, Block) else owner
    if inside is not None and copy.nest.is_ancestor(inside):
        raise PassFailedException(
            f"{describe(copy.block)}: {_STAGED} needs loops whose extents are computed "
            "before them; move the extent out, or make it a constant"
        )
    return loop.extent


def _places(
    copy: _Copy, variables: Iterable[SSAValue], block: tir.BlockOp
) -> list[SSAValue]:
    """The element of the registers for an iteration, before a block."""
    builder = Builder(InsertPoint.before(block))
    found: list[SSAValue] = []
    for loop, variable in zip(copy.loops, variables, strict=True):
        if tir.is_constant(loop.min, 0):
            found.append(variable)
            continue
        low = _loop_of(variable).min
        index = smart.sub(view(variable), leaf(low))
        found.append(emit(index, builder, {leaf(low): low}))
    return found


def _loop_of(variable: SSAValue) -> tir.ForOp:
    assert isinstance(variable.owner, Block)
    loop = variable.owner.parent_op()
    assert isinstance(loop, tir.ForOp)
    return loop


def _fill(
    block: tir.BlockOp,
    store: tir.StoreOp,
    registers: tir.AllocBufferOp,
    places: list[SSAValue],
) -> None:
    """Let the copy of the block store to the registers."""
    block.properties["name"] = StringAttr("")
    block.properties.pop("annotations", None)
    dropped: list[SSAValue] = list(store.indices)
    for op in list(block.body.block.ops):
        if isinstance(op, tir.WritesOp):
            dropped += op.operands
            ones = (1,) * len(places)
            region = tir.BufferRegion(registers.buffer, tuple(places), ones)
            Rewriter.replace_op(op, tir.WritesOp([region]))
    new = tir.StoreOp(store.value, registers.buffer, places)
    new.location = store.location
    Rewriter.replace_op(store, new)
    erase_if_unused(dropped)


def _drain(copy: _Copy, registers: tir.AllocBufferOp) -> None:
    """Let the block store what is in the registers."""
    block, value = copy.block, copy.store.value
    places = _places(copy, [loop.loop_var for loop in copy.loops], block)
    load = tir.LoadOp(registers.buffer, places)
    load.location = copy.store.location
    Rewriter.insert_op(load, InsertPoint.before(copy.store))
    copy.store.operands[0] = load.result
    assert block.annotations is not None
    kept: dict[str, Attribute] = dict(block.annotations.data)
    del kept[_STAGED]
    block.annotations = DictionaryAttr(kept) if kept else None
    erase_if_unused((value,))
