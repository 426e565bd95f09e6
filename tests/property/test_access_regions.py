"""What blocks of random programs access is in the regions that are found for them.

The programs check that themselves: an assert before each load and store in a block
compares its indices with the sides of the box that is found for the block.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import pytest
from support.tir_programs import random_module
from xdsl.builder import Builder
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.analysis.tir.access_regions import (
    AccessRegion,
    AccessRegions,
    get_block_read_write_region,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.random_inputs import random_arguments
from xdsl_tvm.interpreters.tir import interpret

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "6"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))


def blocks_of(module: ModuleOp) -> list[tir.BlockOp]:
    """The blocks, inner ones first."""
    return [op for op in module.walk() if isinstance(op, tir.BlockOp)][::-1]


def forget_declarations(module: ModuleOp) -> None:
    for op in list(module.walk()):
        if isinstance(op, tir.ReadsOp | tir.WritesOp):
            Rewriter.erase_op(op)


def declare(block: tir.BlockOp, found: AccessRegions) -> None:
    """Add the regions to the block."""
    builder = Builder(InsertPoint.at_start(block.body.block))
    reads = [region.emit(builder) for region in found.reads]
    writes = [region.emit(builder) for region in found.writes]
    builder.insert(tir.ReadsOp(reads))
    builder.insert(tir.WritesOp(writes))


class Guard:
    """Inserts asserts that accesses of one block are in its regions."""

    def __init__(self, block: tir.BlockOp, found: AccessRegions) -> None:
        builder = Builder(InsertPoint.at_start(block.body.block))
        self.block = block
        self.with_init = any(isinstance(op, tir.InitOp) for op in block.body.walk())
        self.reads, self.writes = (
            {region.buffer: self.sides(region, builder) for region in regions}
            for regions in (found.reads, found.writes)
        )

    def sides(
        self, region: AccessRegion, builder: Builder
    ) -> list[tuple[SSAValue, SSAValue]]:
        """Start and end of each dimension, of type i64."""
        found = region.emit(builder)
        sides: list[tuple[SSAValue, SSAValue]] = []
        for low, extent in zip(found.mins, found.extents, strict=True):
            start = builder.insert(tir.CastOp(low, i64)).result
            size = (
                builder.insert(tir.ConstOp.of(extent, i64)).result
                if isinstance(extent, int)
                else builder.insert(tir.CastOp(extent, i64)).result
            )
            sides.append((start, builder.insert(tir.AddOp(start, size)).result))
        return sides

    def insert(self, op: tir.LoadOp | tir.StoreOp) -> bool:
        """Check an access; whether it is one to check."""
        if self.block.is_ancestor(tir.buffer_definition(op.buffer)):
            return False
        table = self.reads if isinstance(op, tir.LoadOp) else self.writes
        if isinstance(op, tir.LoadOp) and self.with_init and op.buffer in self.writes:
            # What a block with an init writes is not declared as read.
            return False
        builder = Builder(InsertPoint.before(op))
        for index, (start, end) in zip(op.indices, table[op.buffer], strict=True):
            value = builder.insert(tir.CastOp(index, i64)).result
            for lhs, rhs in ((start, value), (value, end)):
                kind = tir.CmpPredicate.LE if lhs is start else tir.CmpPredicate.LT
                holds = builder.insert(tir.CmpOp(kind, lhs, rhs)).result
                builder.insert(tir.AssertOp(holds, "outside of the region"))
        return True


def guarded(accesses: Sequence[tir.LoadOp | tir.StoreOp], guard: Guard) -> int:
    return sum(map(guard.insert, accesses))


def run(module: ModuleOp, seed: int) -> None:
    """Call the public functions; an assert that fails is an error."""
    functions, rng = interpret(module), np.random.default_rng(seed)
    for op in module.body.block.ops:
        if isinstance(op, tir.FuncOp) and "global_symbol" in op.attributes:
            functions[op.sym_name.data](*random_arguments(op, rng))


@pytest.mark.parametrize("declared", [False, True])
def test_accesses_lie_in_the_regions(declared: bool) -> None:
    checked = narrow = 0
    for seed in range(FIRST, FIRST + COUNT):
        program = random_module(seed)
        if program.foreign or program.threads:
            continue
        module = program.module
        forget_declarations(module)
        accesses = {
            block: [
                op for op in block.body.walk() if isinstance(op, tir.LoadOp | tir.StoreOp)
            ]
            for block in blocks_of(module)
        }
        regions: dict[tir.BlockOp, AccessRegions] = {}
        for block in accesses:
            regions[block] = get_block_read_write_region(block)
            if declared:
                declare(block, regions[block])
        module.verify()
        for block, found in regions.items():
            checked += guarded(accesses[block], Guard(block, found))
            narrow += sum(
                str(side.extent) == "1"
                for region in (*found.reads, *found.writes)
                for side in region.region
            )
        run(module, seed)
    assert checked
    assert narrow
