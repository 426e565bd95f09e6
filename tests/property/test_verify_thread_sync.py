"""`tir-verify-thread-sync` accepts no kernel in which the simulator finds a race.

The ordinary run takes a few random kernels; `XDSL_TVM_FUZZ=1000` takes that many.
"""

from __future__ import annotations

import os
import random
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
from xdsl_tvm.tvmscript import parse as parse_script

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "5"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
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
    for seed in range(FIRST, FIRST + COUNT):
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


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
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


_BYTES = 64
_SIZES = {"int8": 1, "float16": 2, "int32": 4, "float32": 4, "float64": 8}


def _access(rng: random.Random, name: str, dtype: str) -> list[str]:
    """Code in which each thread writes or reads elements of a buffer."""
    elements = _BYTES // _SIZES[dtype]
    scale, first = rng.choice((0, 1, 1, 2, 4)), rng.choice((0, 1, 4, elements // 2))
    extent = rng.choice((1, 1, 2, 4))
    lines = [f"for {name}_i in range({extent}):"]
    scale *= rng.choice((1, extent))
    index = f"t * {scale} + {first} + {name}_i"
    bounded = rng.choice((f"({index}) % {elements}", f"T.min({index}, {elements - 1})"))
    if rng.random() < 0.3:
        lines.append(f"    if t < {rng.choice((1, 3))}:")
    place = f"{name}[{bounded}]"
    line = rng.choice(
        (f"{place} = T.Cast('{dtype}', t)",) * 2 + (f"R[t] = T.Cast('float64', {place})",)
    )
    return [*lines, " " * 4 * len(lines) + line]


def _views(seed: int) -> str:
    """Threads that access some memory by two buffers of two dtypes."""
    rng = random.Random(f"views {seed}")
    threads = rng.choice((4, 8))
    one, other = rng.sample(list(_SIZES), 2)
    sync = 'T.tvm_storage_sync("shared")'
    body = [
        f"t = T.launch_thread('threadIdx.x', {threads})",
        f"P = T.allocate([{_BYTES}], 'int8', 'shared')",
        *(
            f"{name} = T.decl_buffer(({_BYTES // _SIZES[dtype]},), '{dtype}', data=P, "
            "scope='shared')"
            for name, dtype in (("X", one), ("Y", other), ("Z", "int8"))
        ),
        f"for j in range({_BYTES // threads}):",
        f"    Z[t * {_BYTES // threads} + j] = T.int8(0)",
        sync,
        *_access(rng, "X", one),
        *([sync] if rng.random() < 0.2 else []),
        *_access(rng, "Y", other),
    ]
    lines = ("@T.prim_func", "def f(R: T.Buffer((8,), 'float64')):")
    return "\n    ".join(("\n".join(lines), *body))


def test_views_of_other_elements() -> None:
    """Accesses of memory by elements of two sizes are compared byte by byte."""
    accepted = raced = 0
    for seed in range(FIRST, FIRST + 2 * COUNT):
        text = _views(seed)
        module = parse_script(text)
        found = _accepts(module)
        accepted += found
        try:
            interpret(module)["f"](np.zeros(8))
        except RaceError:
            raced += 1
            assert not found, f"seed {seed}:\n{text}"
    assert accepted > 0
    assert raced > 0
    # Almost all that is right is proved to be.
    assert accepted + raced > 1.9 * COUNT


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_examples_are_accepted(path: Path):
    module = parse(path.read_text())
    run_pipeline(new_context(), module, ",".join(TIR_BLOCKS_TO_LAUNCHES))
    assert _launches(module)
    assert _accepts(module)
