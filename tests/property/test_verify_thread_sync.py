"""`tir-verify-thread-sync` accepts no kernel in which the simulator finds a race.

The ordinary run takes a few random kernels; `XDSL_TVM_FUZZ=1000` takes that many.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from support import paths
from support.ir import parse
from support.thread_kernels import SIZE, Kernel, random_kernel
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.analysis.tir.barrier_intervals import KernelRaces
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.errors import RaceError
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.lowering.pipelines import TIR_BLOCKS_TO_LAUNCHES, run_pipeline
from xdsl_tvm.registry import new_context

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "20"))
KERNELS = sorted((paths.EXAMPLES / "kernels").glob("*.mlir"))


def _races(kernel: Kernel, module: ModuleOp) -> bool:
    """Whether threads race, of one block or of several."""
    total = kernel.blocks * kernel.threads
    arrays = [
        np.ones(SIZE, np.float32),
        np.ones(SIZE, np.int32),
        np.ones(total, np.float32),
        np.ones(total, np.int32),
    ]
    try:
        interpret(module)["f"](*arrays)
    except RaceError:
        return True
    except InterpretationError:
        return False
    return False


def _launches(module: ModuleOp) -> list[tir.LaunchThreadOp]:
    return [
        op
        for op in module.walk()
        if isinstance(op, tir.LaunchThreadOp)
        and not isinstance(op.parent_op(), tir.LaunchThreadOp)
    ]


def _accepts(module: ModuleOp) -> bool:
    found = map(KernelRaces, _launches(module))
    return all(each.clash is None and each.unwritten is None for each in found)


@pytest.mark.parametrize("faulty", [False, True])
def test_random_kernels(faulty: bool):
    accepted = raced = 0
    for seed in range(COUNT):
        kernel = random_kernel(seed, faulty=faulty)
        module = parse(kernel.text)
        found = _accepts(module)
        accepted += found
        if _races(kernel, module):
            raced += 1
            assert not found, f"seed {seed}:\n{kernel.text}"
    assert accepted > 0
    assert raced > 0 or not faulty or COUNT < 20


def _barriers(module: ModuleOp) -> list[Operation]:
    return [
        op
        for op in module.walk()
        if isinstance(op, tir.CallOp) and op.callee.data == "tvm_storage_sync"
    ]


@pytest.mark.parametrize("seed", range(COUNT))
def test_removed_barriers(seed: int):
    """Where a race is found without a barrier, its absence is found as well."""
    kernel = random_kernel(seed, faulty=False)
    for number in range(len(_barriers(parse(kernel.text)))):
        module = parse(kernel.text)
        barrier = _barriers(module)[number]
        for result in barrier.results:
            for use in list(result.uses):
                use.operation.detach()
                use.operation.erase()
        barrier.detach()
        barrier.erase()
        if _races(kernel, module):
            assert not _accepts(module), f"barrier {number} of:\n{kernel.text}"


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_examples_are_accepted(path: Path):
    module = parse(path.read_text())
    run_pipeline(new_context(), module, ",".join(TIR_BLOCKS_TO_LAUNCHES))
    assert _launches(module)
    assert _accepts(module)
