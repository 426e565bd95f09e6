"""Splitting the loops of random programs keeps what they compute.

The programs have no hints of their own: here all loops get one, or all comparisons are
said to be likely. `XDSL_TVM_FUZZ` sets the number of programs.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from support.rewriting_passes import lower_blocks
from support.tir_programs import random_module
from xdsl.dialects.builtin import BoolAttr, DictionaryAttr, ModuleOp, i1

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import SemanticsError, check_semantics
from xdsl_tvm.passes import tir as tir_passes

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "8"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
HINT = DictionaryAttr({"pragma_loop_partition_hint": BoolAttr.from_bool(True)})


def program(seed: int) -> ModuleOp | None:
    found = random_module(seed, isolated=True)
    if found.foreign:
        return None
    lower_blocks(found.module)
    return found.module


def hint(module: ModuleOp) -> int:
    loops = [
        op
        for op in module.walk()
        if isinstance(op, tir.ForOp) and op.kind.data is not tir.ForKind.THREAD_BINDING
    ]
    for loop in loops:
        loop.annotations = HINT
    return len(loops)


def mark(module: ModuleOp) -> int:
    comparisons = [op for op in module.walk() if isinstance(op, tir.CmpOp)]
    scalars = [op for op in comparisons if op.result.type == i1]
    for op in scalars:
        call = tir.CallOp("likely", [op.result], i1)
        assert op.parent is not None
        op.parent.insert_op_after(call, op)
        assert call.result is not None
        op.result.replace_all_uses_with(call.result)
        call.operands = (op.result,)
    return len(scalars)


def splits(before: ModuleOp, after: ModuleOp) -> bool:
    return sum(1 for _ in before.walk()) < sum(1 for _ in after.walk())


@pytest.mark.parametrize("prepare", [hint, mark])
@pytest.mark.parametrize("option", [False, True])
def test_partitions_keep_what_programs_compute(
    prepare: Callable[[ModuleOp], int], option: bool
) -> None:
    partition = tir_passes.LoopPartition(
        partition_const_loop=True,
        no_unroll_loop_with_extent_one=option,
        unroll_loop_with_partition_hint_no_interval=option,
    )
    changed = 0
    for seed in range(FIRST, FIRST + COUNT):
        module = program(seed)
        if module is None or not prepare(module):
            continue
        module.verify()
        changed += splits(module, partition(module))
        try:
            check_semantics(module, (partition,), seed=seed, tolerance=0.0)
        except SemanticsError as error:
            # Loops bound to threads may race, or fail before any pass.
            if error.pass_name is None or "race on" in str(error):
                continue
            raise
    assert changed
