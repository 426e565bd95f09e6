"""Loops of random programs compute the same where all they do is double-buffered."""

from __future__ import annotations

import os

import pytest
from support.rewriting_passes import lower_blocks
from support.tir_programs import random_module
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import SemanticsError, check_semantics
from xdsl_tvm.passes.tir.inject_double_buffer import InjectDoubleBuffer

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "3"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))


def mark(module: ModuleOp, from_zero: bool) -> int:
    """Let the body of each innermost serial loop pass its variable through marked memory;
    the number of such loops."""
    loops = [op for op in module.walk() if isinstance(op, tir.ForOp)]
    marked = 0
    for loop in loops:
        is_inner = not any(isinstance(op, tir.ForOp) for op in loop.body.walk())
        starts = tir.is_constant(loop.min, 0) or not from_zero
        if loop.kind.data is tir.ForKind.SERIAL and is_inner and starts:
            wrap(loop)
            marked += 1
    return marked


def wrap(loop: tir.ForOp) -> None:
    body, variable = loop.body.block, loop.loop_var
    ops = list(body.ops)
    for op in ops:
        op.detach()
    zero = tir.ConstOp.of(0, i32)
    memory = tir.AllocateOp(tir.PtrType(variable.type), [1])
    buffer = tir.DeclBufferOp(memory, tir.BufferType([1], variable.type))
    store = tir.StoreOp(variable, buffer, [zero])
    load = tir.LoadOp(buffer, [zero])
    variable.replace_all_uses_with(load.result)
    store.operands[0] = variable
    scope = tir.AttrOp("double_buffer_scope", memory.result, IntegerAttr(1, i32))
    scope.body.block.add_ops([store, load, *ops])
    body.add_ops([zero, memory, buffer, scope])


@pytest.mark.parametrize("factor", [0, 1, 2])
def test_bodies_that_run_ahead(factor: int) -> None:
    checked = 0
    for seed in range(FIRST, FIRST + COUNT):
        program = random_module(seed, isolated=True)
        if program.foreign:
            continue
        module = program.module
        lower_blocks(module)
        marked = mark(module, from_zero=factor > 0)
        module.verify()
        try:
            check_semantics(
                module, (InjectDoubleBuffer(factor),), seed=seed, tolerance=0.0
            )
        except SemanticsError as error:
            # Loops of random programs may be bound to threads that race before any pass.
            if error.pass_name is not None and "race on" not in str(error):
                raise
        else:
            checked += marked
    assert checked >= COUNT // 2
