"""Random programs whose blocks look at buffers through views compute the same without."""

from __future__ import annotations

import os
import random

import pytest
from support.tir_programs import random_module
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import SemanticsError, check_semantics
from xdsl_tvm.passes.tir.lower_match_buffer import LowerMatchBuffer

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "6"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))


def look_through_views(block: tir.BlockOp, rng: random.Random) -> int:
    """Let what a block does to some buffers be done to views of them; their number."""
    used: dict[SSAValue, list[tir.LoadOp | tir.StoreOp]] = {}
    for op in block.body.walk():
        if isinstance(op, tir.LoadOp | tir.StoreOp) and not block.is_ancestor(
            tir.buffer_definition(op.buffer)
        ):
            used.setdefault(op.buffer, []).append(op)
    chosen = [buffer for buffer in used if rng.random() < 0.7]
    for buffer in chosen:
        source = tir.buffer_definition(buffer)
        zero = tir.ConstOp.of(0, i32)
        zeros = [zero.result for _ in source.shape]
        view = tir.MatchRegionOp(
            buffer, zeros, source.shape, source.type, source.extents, name="V"
        )
        Rewriter.insert_op([zero, view], InsertPoint.at_start(block.body.block))
        for op in used[buffer]:
            op.operands[op.operands.index(buffer)] = view.buffer
    return len(chosen)


def test_views_of_random_programs() -> None:
    views = checked = 0
    for seed in range(FIRST, FIRST + COUNT):
        program = random_module(seed, isolated=True)
        if program.foreign or program.threads:
            continue
        rng = random.Random(seed)
        found = sum(
            look_through_views(op, rng)
            for op in list(program.module.walk())
            if isinstance(op, tir.BlockOp)
        )
        if not found:
            continue
        program.module.verify()
        try:
            check_semantics(program.module, [LowerMatchBuffer()], seed=seed, tolerance=0)
        except PassFailedException as error:
            pytest.fail(f"seed {seed}: {error}")
        except SemanticsError as error:
            # Bounds of views are checked by themselves.
            if error.pass_name is None:
                continue
            raise
        checked += 1
        views += found
    assert checked
    assert views
