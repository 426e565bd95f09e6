"""Buffers of random programs shrink to what is accessed, and hold what they held."""

from __future__ import annotations

import os

import pytest
from support.ir import parse
from support.oversized_buffers import roomy_program
from support.rewriting_passes import lower_blocks
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.tir.compact_buffer_allocation import CompactBufferAllocation
from xdsl_tvm.passes.tir.lower_match_buffer import LowerMatchBuffer
from xdsl_tvm.passes.tir.lower_opaque_block import LowerOpaqueBlock
from xdsl_tvm.registry import new_context

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "1"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))


def sizes(module: ModuleOp) -> list[list[int]]:
    """The extents of the buffers that are allocated; a dynamic one counts as most."""
    return [
        [1 << 30 if extent == DYNAMIC_INDEX else extent for extent in op.type.get_shape()]
        for op in module.walk()
        if isinstance(op, tir.AllocBufferOp | tir.DeclBufferOp)
    ]


@pytest.mark.parametrize("threads", [False, True])
@pytest.mark.parametrize("is_strict", [True, False])
@pytest.mark.parametrize("lowered", [False, True])
def test_smaller_buffers_hold_the_same(
    threads: bool, is_strict: bool, lowered: bool
) -> None:
    smaller = 0
    compact = CompactBufferAllocation(is_strict)
    for seed in range(FIRST, FIRST + COUNT):
        module = parse(roomy_program(seed, threads=threads))
        if lowered:
            LowerMatchBuffer().apply(new_context(), module)
            lower_blocks(module)
        check_semantics(
            module, [compact, LowerMatchBuffer(), LowerOpaqueBlock()], seed=seed, runs=1
        )
        before = sizes(module)
        compact.apply(new_context(), module)
        after = sizes(module)
        assert len(after) == len(before)
        if is_strict:
            assert all(
                new <= old
                for shapes in zip(after, before, strict=True)
                for new, old in zip(*shapes, strict=True)
            )
        smaller += after != before
    assert smaller > COUNT // 3
