"""Launches that share memory of a block become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Block, Operation, Region
from xdsl.rewriter import InsertPoint

from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass

_SHARED: Final = ("shared", "shared.dyn")
_BARRIER: Final = "tvm_storage_sync"
_GRID: Final = "blockIdx.x"
_CONSTANTS: Final = (tir.ConstOp, tir.StringOp)


@dataclass(frozen=True)
class JoinLaunches(CompilerPass):
    """Summary: Joins launches of one block of threads that pass on shared memory.

    TVM name: none (ours)
    Input form: blocks, or loops and buffers; threads bound by loops
    Output form: the same
    Options: none
    Rewrites: loops over the same threads, one after the other in a block of operations,
        of which several access one buffer of scope `shared` or `shared.dyn` that is
        allocated before them in that block
            %S = tir.alloc_buffer "S" : !tir.buffer<64xf32, "shared">
            tir.for %t = %c0 to %c64 thread_binding "threadIdx.x" { … }
            tir.for %u = %c0 to %c64 thread_binding "threadIdx.x" { … }
          →
            %S = tir.alloc_buffer "S" : !tir.buffer<64xf32, "shared">
            tir.for %b = %c0 to %c1 thread_binding "blockIdx.x" {
              tir.for %t = %c0 to %c64 thread_binding "threadIdx.x" { … }
              tir.call "tvm_storage_sync"(%shared)
              tir.for %u = %c0 to %c64 thread_binding "threadIdx.x" { … }
            }
        The end of a launch orders what its threads did before what those of the next one
        do; in one block of threads, a barrier does. tir-lift-thread-binding then makes
        one loop of the threads. Loops between them that do not access the buffer are
        joined, too. Time is linear in the size of the module.
    Leaves alone: launches with axes of blocks, of other or unknown extents, or with other
        operations between them, whose shared memory is refused later
    Errors: none
    Attributes: read: none; created: none; removed: none
    Differs from TVM: TVM makes a kernel of each loop, and fails on the memory
    """

    name = "tir-join-launches"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        allocations: dict[Block, list[tir.AllocBufferOp]] = {}
        for inner in op.walk():
            if (
                isinstance(inner, tir.AllocBufferOp)
                and inner.type.scope.data in _SHARED
                and inner.parent is not None
            ):
                allocations.setdefault(inner.parent, []).append(inner)
        for block, found in allocations.items():
            _join(block, found)


def _join(block: Block, allocations: Sequence[tir.AllocBufferOp]) -> None:
    """Joins the launches of a block of operations that access one of some buffers."""
    ops = list(block.ops)
    places = {op: place for place, op in enumerate(ops)}
    ranges: list[tuple[int, int]] = []
    for allocation in allocations:
        users = {_ancestor(use.operation, block) for use in allocation.buffer.uses}
        found = sorted(places[op] for op in users if op is not None)
        if len(found) > 1:
            ranges.append((found[0], found[-1]))
    for first, last in _united(ranges):
        parts = [op for op in ops[first : last + 1] if not isinstance(op, _CONSTANTS)]
        threads = [_threads_of(op) for op in parts]
        if None not in threads and all(each == threads[0] for each in threads):
            for op in ops[first : last + 1]:
                if isinstance(op, _CONSTANTS):
                    op.detach()
                    block.insert_op_before(op, parts[0])
            _wrap(parts)


def _united(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges that share a place as one."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found


def _ancestor(op: Operation, block: Block) -> Operation | None:
    """The operation of a block that an operation is in."""
    inner: Operation | None = op
    while inner is not None and inner.parent is not block:
        inner = inner.parent_op()
    return inner


def _is_launch(op: Operation) -> bool:
    return isinstance(op, tir.ForOp) and op.kind.data is tir.ForKind.THREAD_BINDING


def _threads_of(op: Operation) -> dict[str, float] | None:
    """The extents of the threads of a launch; None for other operations, and launches
    with blocks or of unknown extents."""
    if not _is_launch(op):
        return None
    found: dict[str, float] = {}
    for inner in op.walk():
        if not isinstance(inner, tir.ForOp) or inner.thread_tag is None:
            continue
        tag, extent = inner.thread_tag.data, tir.constant_value(inner.extent)
        if extent is None or tag not in tir.THREAD_TAGS:
            return None
        if found.setdefault(tag, extent) != extent:
            return None
    return found


def _wrap(launches: Sequence[Operation]) -> None:
    """Puts launches into one of a single block of threads, with barriers between."""
    body = Block(arg_types=[i32])
    builder = Builder(InsertPoint.before(launches[0]))
    zero = builder.insert(tir.ConstOp.of(0, i32)).result
    one = builder.insert(tir.ConstOp.of(1, i32)).result
    scope = builder.insert(tir.StringOp(_SHARED[0])).result
    loop = tir.ForOp(
        zero,
        one,
        Region(body),
        kind=tir.ForKind.THREAD_BINDING,
        thread_tag=_GRID,
        name="b",
    )
    builder.insert(loop)
    for launch in launches:
        if body.first_op is not None:
            body.add_op(tir.CallOp(_BARRIER, [scope]))
        launch.detach()
        body.add_op(launch)
