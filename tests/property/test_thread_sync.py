"""`tir-thread-sync` mends kernels without barriers, and each barrier of it is needed.

The ordinary run takes a few random kernels of each scope; `XDSL_TVM_FUZZ=1000` takes that
many.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support import paths
from support.barriers import accepts, barriers, erase
from support.ir import parse
from support.sync_kernels import random_sync_kernel, runs
from support.thread_kernels import random_kernel
from xdsl.context import Context

from xdsl_tvm.lowering.pipelines import TIR_BLOCKS_TO_LAUNCHES, run_pipeline
from xdsl_tvm.passes.tir import ThreadSync
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse as parse_script

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "1"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
SCOPES = ("shared", "shared.dyn", "warp", "global")
KERNELS = sorted((paths.EXAMPLES / "kernels").glob("*.mlir"))


@pytest.mark.parametrize("scope", SCOPES)
def test_kernels_without_barriers(scope: str) -> None:
    """The simulator finds the race, the pass mends it, the check accepts the result."""
    raced = 0
    for seed in range(FIRST, FIRST + COUNT):
        kernel = random_sync_kernel(seed, scope)
        module = parse_script(kernel.script)
        raced += not runs(kernel, module)
        ThreadSync(scope).apply(Context(), module)
        module.verify()
        assert accepts(module), f"seed {seed}:\n{kernel.script}"
        assert runs(kernel, module), f"seed {seed}:\n{kernel.script}"
        count = len(barriers(module))
        if scope != "warp":
            # It is done, except that barriers of a warp are not recognized.
            ThreadSync(scope).apply(Context(), module)
            assert len(barriers(module)) == count, f"seed {seed}:\n{kernel.script}"
    assert raced > COUNT // 2


@pytest.mark.parametrize("scope", SCOPES)
def test_loops_of_any_length(scope: str) -> None:
    accepted = 0
    for seed in range(FIRST, FIRST + COUNT):
        kernel = random_sync_kernel(seed, scope)
        module = parse_script(kernel.symbolic_script)
        ThreadSync(scope).apply(Context(), module)
        module.verify()
        # Not all is proved: `i // 2` has no period that is looked for.
        accepted += accepts(module)
        found = runs(kernel, module, symbolic=True)
        assert found, f"seed {seed}:\n{kernel.symbolic_script}"
    assert accepted >= max(1, COUNT // 2)


def test_barriers_are_needed() -> None:
    """Most barriers cannot be left out, each alone."""
    count = needed = 0
    for seed in range(FIRST, FIRST + COUNT):
        kernel = random_sync_kernel(seed, "shared")
        module = parse_script(kernel.script)
        ThreadSync("shared").apply(Context(), module)
        for number in range(len(barriers(module))):
            other = module.clone()
            erase(barriers(other)[number])
            count += 1
            needed += not runs(kernel, other)
    assert needed >= count * 0.8, f"{needed} of {count}"


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_right_kernels(seed: int) -> None:
    """Without its barriers a kernel that is right gets those that it needs."""
    module = parse(random_kernel(seed, faulty=False).text)
    was_right = accepts(module)
    count = len(barriers(module))
    for barrier in barriers(module):
        erase(barrier)
    ThreadSync("shared").apply(Context(), module)
    assert accepts(module) or not was_right
    assert len(barriers(module)) <= count


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    module = parse(path.read_text())
    run_pipeline(new_context(), module, ",".join(TIR_BLOCKS_TO_LAUNCHES))
    count = len(barriers(module))
    for barrier in barriers(module):
        erase(barrier)
    assert accepts(module) == (count == 0)
    ThreadSync("shared").apply(Context(), module)
    assert accepts(module)
    assert len(barriers(module)) <= count
