"""Any loop may be called vectorized: what programs compute stays the same.

Loops of random programs depend on their iterations as they like, so the pass has to find
out which of them it can vectorize. `XDSL_TVM_FUZZ` sets the number of programs.
"""

from __future__ import annotations

import os
import random

import pytest
from support.tir_programs import random_module
from xdsl.dialects.builtin import ModuleOp, VectorType

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import SemanticsError, check_semantics
from xdsl_tvm.passes.tir import VectorizeLoop
from xdsl_tvm.registry import new_context

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "8"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
VECTORIZED = tir.ForKindAttr(tir.ForKind.VECTORIZED)
KINDS = (tir.ForKind.SERIAL, tir.ForKind.UNROLLED)


def vectorized(seed: int) -> ModuleOp | None:
    """A random program with some of its loops of constant extent vectorized."""
    program = random_module(seed, isolated=True)
    if program.foreign:
        return None
    rng = random.Random(seed)
    for op in program.module.walk():
        if not isinstance(op, tir.ForOp) or op.kind.data not in KINDS:
            continue
        if any(isinstance(inner, tir.WhileOp) for inner in op.walk()):
            continue
        if tir.constant_value(op.extent) is not None and rng.random() < 0.6:
            op.kind = VECTORIZED
    return program.module


def vectors_in(module: ModuleOp) -> int:
    return sum(
        isinstance(result.type, VectorType)
        for op in module.walk()
        for result in op.results
    )


@pytest.mark.parametrize("predication", [False, True])
def test_vectorizing_random_loops_changes_nothing(predication: bool) -> None:
    one = VectorizeLoop(enable_buffer_level_predication=predication)
    checked = vectors = 0
    for seed in range(FIRST, FIRST + COUNT):
        module = vectorized(seed)
        if module is None:
            continue
        try:
            check_semantics(module, [one], seed=seed, tolerance=0.0)
        except SemanticsError as error:
            # Loops are bound to threads without asking what they write.
            if error.pass_name is None or "race on" in str(error):
                continue
            raise
        checked += 1
        one.apply(new_context(), module)
        vectors += vectors_in(module)
        loops = [op for op in module.walk() if isinstance(op, tir.ForOp)]
        assert all(loop.kind != VECTORIZED for loop in loops)
    assert checked
    assert vectors
