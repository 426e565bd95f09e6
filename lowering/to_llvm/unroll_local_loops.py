"""Loops over arrays of a thread, which become registers once they are unrolled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects import arith, gpu, memref, scf
from xdsl.dialects.builtin import (
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    UnitAttr,
)
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects.tvm_llvm import LoopAttr
from xdsl_tvm.passes.infra import CompilerPass

_FULL: Final = "unroll.full"


@dataclass(frozen=True)
class UnrollLocalLoops(CompilerPass):
    """Summary: Marks loops over a thread's own arrays in kernels to be unrolled in full.

    TVM name: none (ours)
    Input form: any; the scf.for of GPU modules are looked at
    Output form: the same
    Options: `max_operations`: how many operations an unrolled loop has at most (4096)
    Rewrites: a loop whose counter is part of an index of a memref.alloca, or of a view of
        one, and whose bounds and step are constant
            scf.for %i = %c0 to %c8 step %c1 {
              memref.store %x, %local[%i] : memref<8xf32>
            }
          →
            scf.for … {
              …
            } {tvm_llvm.loop = #tvm_llvm.loop<{unroll.full}>}
        With constant indices LLVM keeps the array in registers; one index that is not
        constant keeps it in memory, which is many times slower. Code generation takes
        time that is quadratic in the length of a block, hence the limit.
    Leaves alone: everything outside of GPU modules; loops that have a hint; longer ones;
        loops of unknown extent
    Errors: none
    Attributes: read: `tvm_llvm.loop`; created: `tvm_llvm.loop`; removed: none
    Differs from TVM: TVM expands such loops where a schedule or the configuration says
        so, and leaves the others to nvcc, which does what this pass does
    """

    name = "tvm-unroll-local-loops"

    max_operations: int = 4096

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for module in list(op.walk()):
            if isinstance(module, gpu.ModuleOp):
                for kernel in module.body.block.ops:
                    self._mark(kernel)

    def _mark(self, kernel: Operation) -> None:
        wanted: set[Operation] = set()
        known: set[SSAValue] = set()
        for op in all_ops(kernel):
            if isinstance(op, memref.AllocaOp):
                for index in _indices_of(op.memref):
                    wanted.update(_loops_behind(index, known))
        if wanted:
            self._size(kernel, wanted)

    def _size(self, op: Operation, wanted: set[Operation]) -> int:
        """The operations of an op once its loops are unrolled, which are marked."""
        inside = sum(
            self._size(inner, wanted)
            for region in op.regions
            for block in region.blocks
            for inner in block.ops
        )
        if not isinstance(op, scf.ForOp) or op not in wanted:
            return inside + 1
        count = _trip_count(op)
        if count is None or count * inside > self.max_operations:
            return inside + 1
        if LoopAttr.name not in op.attributes:
            op.attributes[LoopAttr.name] = LoopAttr(DictionaryAttr({_FULL: UnitAttr()}))
        return count * inside


def _indices_of(array: SSAValue) -> Iterator[SSAValue]:
    """The indices by which an array, or a view of it, is accessed."""
    pending, seen = [array], {array}
    while pending:
        value = pending.pop()
        for use in value.uses:
            user = use.operation
            yield from (x for x in user.operands if isinstance(x.type, IndexType))
            for result in user.results:
                if isinstance(result.type, MemRefType) and result not in seen:
                    seen.add(result)
                    pending.append(result)


def _loops_behind(index: SSAValue, known: set[SSAValue]) -> Iterable[Operation]:
    """The loops whose counters a value is computed from; `known` ones are left out."""
    pending = [index]
    while pending:
        value = pending.pop()
        if value in known:
            continue
        known.add(value)
        if isinstance(value, BlockArgument):
            loop = value.block.parent_op()
            if isinstance(loop, scf.ForOp) and value.index == 0:
                yield loop
            continue
        owner = value.owner
        if not isinstance(owner, Block):
            pending.extend(owner.operands)


def _trip_count(loop: scf.ForOp) -> int | None:
    """How often a loop runs, where its bounds and its step are constant."""
    numbers: list[int] = []
    for bound in (loop.lb, loop.ub, loop.step):
        owner = bound.owner
        value = owner.value if isinstance(owner, arith.ConstantOp) else None
        if not isinstance(value, IntegerAttr):
            return None
        numbers.append(value.value.data)
    low, high, step = numbers
    return None if step < 1 else max(0, -(-(high - low) // step))
