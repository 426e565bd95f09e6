"""Copies compute the same where LowerAutoCopy has rewritten them."""

from __future__ import annotations

import os

import numpy as np
from support.copy_kernels import (
    plain_copies,
    random_product,
    random_registers,
)
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import SemanticsChecker
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.tir.flatten_buffer import FlattenBuffer
from xdsl_tvm.passes.tir.lower_auto_copy import LowerAutoCopy
from xdsl_tvm.passes.tir.lower_match_buffer import LowerMatchBuffer
from xdsl_tvm.passes.tir.lower_opaque_block import LowerOpaqueBlock
from xdsl_tvm.registry import new_context

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "7"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
SEEDS = range(FIRST, FIRST + COUNT)
FLAT = (LowerMatchBuffer(), LowerOpaqueBlock(), FlattenBuffer())
"""The passes that give padded buffers their memory."""


def kinds(module: ModuleOp) -> set[tir.ForKind]:
    return {op.kind.data for op in module.walk() if isinstance(op, tir.ForOp)}


def test_copies_between_global_and_shared_memory() -> None:
    rewritten = 0
    for seed in SEEDS:
        module = parse(plain_copies(seed))
        checker = SemanticsChecker(module.clone(), seed=seed, runs=1, tolerance=0.0)
        assert checker.report.checked
        LowerAutoCopy().apply(new_context(), module)
        module.verify()
        checker.check("tir-lower-auto-copy", module)
        rewritten += tir.ForKind.VECTORIZED in kinds(module)
        if seed % 4 == 0:
            for one in FLAT:
                one.apply(new_context(), module)
            checker.check("tir-flatten-buffer", module)
        assert checker.report.checked
    assert rewritten > COUNT * 0.8


def lowered(text: str) -> list[ModuleOp]:
    """The program after the pass, and without views.

    Loops over threads meet before and after them; launches, which come later, do not.
    """
    module = parse(text)
    found: list[ModuleOp] = []
    for one in (LowerAutoCopy(), LowerMatchBuffer()):
        one.apply(new_context(), module)
        module.verify()
        found.append(module.clone())
    return found


def test_products_of_fragments() -> None:
    for seed in SEEDS[: max(1, COUNT // 6)]:
        kernel = random_product(seed)
        rng = np.random.default_rng(seed)
        rows = kernel.rows * kernel.warps
        a = rng.integers(-4, 5, (rows, kernel.depth)).astype(np.float16)
        b = rng.integers(-4, 5, (kernel.columns, kernel.depth)).astype(np.float16)
        d = rng.integers(-4, 5, rows).astype(np.float32)
        expected = np.zeros((rows, kernel.columns), np.float32)
        interpret(parse(kernel.written(together=False)))["f"](a, b, expected, d)
        sums = a.astype(np.float32) @ b.T.astype(np.float32)
        with_bias = kernel.bias and not kernel.through_shared
        np.testing.assert_array_equal(expected, sums + d[:, None] * with_bias)
        for module in lowered(kernel.written(together=True)):
            found = np.zeros_like(expected)
            interpret(module)["f"](a, b, found, d)
            np.testing.assert_array_equal(found, expected, err_msg=f"seed {seed}")


def test_accumulators_in_registers() -> None:
    for seed in SEEDS[: max(1, COUNT // 3)]:
        kernel = random_registers(seed)
        rng = np.random.default_rng(seed)
        shape = (kernel.rows * kernel.warps, kernel.columns)
        a = rng.standard_normal(shape).astype(np.float32)
        expected = np.zeros(shape, np.float32)
        interpret(parse(kernel.written(together=False)))["f"](a, expected)
        np.testing.assert_array_equal(expected, 2 * a)
        for module in lowered(kernel.written(together=True)):
            found = np.zeros(shape, np.float32)
            interpret(module)["f"](a, found)
            np.testing.assert_array_equal(found, expected, err_msg=f"seed {seed}")
