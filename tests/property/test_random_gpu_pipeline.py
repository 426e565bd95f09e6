"""Kernels compute the same after each pass of the default pipeline for CUDA.

That is the whole list, and the two that finish functions of the device and of the host;
the passes for asynchronous copies take part for every other kernel. The simulator runs
kernels before and after every pass, and finds no race; from SplitHostDevice on a function
of the host launches them, from MakePackedAPI on a packed one. Kernels without barriers
run from ThreadSync on, and are compared with numpy, too. `XDSL_TVM_FUZZ` sets the number
of kernels of each kind, `XDSL_TVM_FUZZ_FROM` the first of them.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from support import paths
from support.gpu_programs import KERNELS, UNSYNCHRONIZED, exposed, is_kernel
from support.ir import parse as parse_ir
from support.lowering import default_passes_with_forms
from support.unsynchronized_kernels import Unsynchronized
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import (
    SemanticsError,
    SemanticsReport,
    check_semantics,
)
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.passes.infra.sequential import Sequential
from xdsl_tvm.passes.tir.finalize_device_passes import FinalizeDevicePasses
from xdsl_tvm.passes.tir.finalize_host_passes import FinalizeHostPasses
from xdsl_tvm.passes.tir.storage_rewrite import StorageRewrite
from xdsl_tvm.passes.tir.thread_sync import ThreadSync
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript.files import read_file

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "1"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))


def whole_list() -> list[ModulePass]:
    """All passes, and the checks of the form after each of the list."""
    found = default_passes_with_forms("cuda")
    return [*found, FinalizeDevicePasses(), FinalizeHostPasses()]


def context_of(seed: int) -> PassContext:
    return PassContext(config={"tir.use_async_copy": seed % 2 == 0})


def until_barriers(passes: list[ModulePass]) -> list[ModulePass]:
    """The passes with one for those from StorageRewrite to the last ThreadSync.

    The former lets threads use memory again as soon as each of them is done with it, and
    the latter inserts the barriers that this needs.
    """
    first = next(n for n, one in enumerate(passes) if isinstance(one, StorageRewrite))
    end = count_until_barriers(passes)
    return [*passes[:first], Sequential(passes[first:end]), *passes[end:]]


def count_until_barriers(passes: list[ModulePass]) -> int:
    return 1 + max(n for n, one in enumerate(passes) if isinstance(one, ThreadSync))


def check(module: ModuleOp, seed: int) -> SemanticsReport:
    # Sums of halves in another order differ by more than usual.
    tolerance = 0.1 if "f16" in str(module) else None
    with context_of(seed):
        passes = whole_list()
        try:
            return check_semantics(
                exposed(module), passes, seed=seed, runs=1, tolerance=tolerance
            )
        except SemanticsError as error:
            if error.pass_name is None or " race on " not in str(error):
                raise
            passes = until_barriers(passes)
            return check_semantics(module, passes, seed=seed, runs=1, tolerance=tolerance)


def runs(module: ModuleOp, seed: int) -> str | None:
    """None where all passes keep what the kernels compute, else why nothing was run."""
    try:
        report = check(module, seed)
    except PassFailedException as error:
        return str(error)
    except SemanticsError as error:
        if error.pass_name is not None:
            raise
        return str(error)
    return None if report.checked and not report.skipped else str(report)


LONG = ("pipelines", "reductions")
"""Kinds of a long run; `test_interpreted_kernels` has them in each."""


@pytest.mark.parametrize(
    "kind",
    [each for each in KERNELS if each not in LONG or "XDSL_TVM_FUZZ" in os.environ],
)
def test_random_kernels(kind: str) -> None:
    """Programs that are no kernels, or which a pass refuses, are not counted."""
    executed = 0
    refused: list[str] = []
    for seed in range(FIRST, FIRST + 4 * COUNT):
        module = KERNELS[kind](seed)
        if executed == COUNT or not is_kernel(module):
            continue
        reason = runs(module, seed)
        executed += reason is None
        refused += [reason] if reason else []
    assert executed == COUNT, refused


def check_from_barriers(kernel: Unsynchronized, seed: int) -> None:
    """Fail unless a kernel computes what is expected from ThreadSync on."""
    module = exposed(kernel.module)
    (name,) = (op.sym_name.data for op in module.ops if isinstance(op, tir.FuncOp))
    with context_of(seed):
        passes = whole_list()
        count = count_until_barriers(passes)
        for one in passes[:count]:
            one.apply(new_context(), module)
        found = tuple(array.copy() for array in kernel.arrays)
        interpret(module)[name](*found)
        for array, expected in zip(found, kernel.expected, strict=True):
            np.testing.assert_allclose(
                array, expected, kernel.tolerance, kernel.tolerance, err_msg=f"{seed}"
            )
        report = check_semantics(
            module,
            passes[count:],
            {name: [kernel.arrays]},
            tolerance=kernel.tolerance,
        )
    assert report.checked, report


@pytest.mark.parametrize("kind", UNSYNCHRONIZED)
def test_kernels_without_barriers(kind: str) -> None:
    for seed in range(FIRST, FIRST + COUNT):
        check_from_barriers(UNSYNCHRONIZED[kind](seed), seed)


@pytest.mark.skipif("XDSL_TVM_FUZZ" not in os.environ, reason="takes long")
def test_softmax_of_threads() -> None:
    module = read_file(paths.EXAMPLES / "tvmscript" / "softmax_threads.py")
    a = np.random.default_rng(0).normal(size=(16, 256)).astype(np.float32)
    e = np.exp(a)
    result = e / e.sum(axis=1, keepdims=True)
    kernel = Unsynchronized(module, (a, np.zeros_like(a)), (a, result), 1e-5)
    check_from_barriers(kernel, 0)


EXAMPLES = (
    *sorted(paths.EXAMPLES.glob("kernels/*.mlir")),
    paths.EXAMPLES / "tvmscript" / "gpu_tile.py",
)
# gpu_tile is a smaller product of the same tiles as matmul_tile.
CHOSEN = [
    path
    for path in EXAMPLES
    if "XDSL_TVM_FUZZ" in os.environ or path.stem != "matmul_tile"
]


@pytest.mark.parametrize("path", CHOSEN, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    module = read_file(path) if path.suffix == ".py" else parse_ir(path.read_text())
    assert runs(module, 0) is None
