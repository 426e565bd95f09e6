"""Kernels race without their barriers, and `tir-thread-sync` mends them.

All barriers of a sound kernel are taken away. The simulator finds the race, unless the
barriers were redundant; with the barriers of the pass the kernel computes what it did.
`XDSL_TVM_FUZZ` sets the number of random kernels, `XDSL_TVM_FUZZ_FROM` the first one.
"""

from __future__ import annotations

import os

from support.barriers import accepts, barriers, erase
from support.sound_kernels import SoundKernel, random_kernels, written_kernels
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.interpreters.semantics import SemanticsError
from xdsl_tvm.passes.tir import ThreadSync

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "1"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
EVERY = 1 if "XDSL_TVM_FUZZ" in os.environ else 4
"""Which of the written modules take part."""


def races(kernel: SoundKernel, module: ModuleOp) -> bool:
    """Whether the simulator finds a race; else it must compute what the kernel does."""
    try:
        kernel.checker.check("without barriers", module)
    except SemanticsError as error:
        found = str(error)
    else:
        return False
    assert " race on " in found, f"{kernel.name}: {found}"
    return True


def check(kernel: SoundKernel) -> bool:
    """Take the barriers of a kernel away and mend it; tells whether it raced."""
    module = kernel.module.clone()
    for barrier in barriers(module):
        erase(barrier)
    raced = races(kernel, module)
    assert not (raced and accepts(module)), kernel.name
    for scope in ("shared", "shared.dyn", "warp"):
        ThreadSync(scope).apply(Context(), module)
    module.verify()
    if races(kernel, module):
        # Threads of a block exchange data by global memory as well.
        ThreadSync("global").apply(Context(), module)
        module.verify()
        assert not races(kernel, module), f"{kernel.name}:\n{module}"
    assert kernel.checker.report.checked, kernel.name
    assert barriers(module) or not raced
    return raced


def test_written_kernels() -> None:
    raced = [check(kernel) for kernel in written_kernels(EVERY)]
    assert len(raced) >= 25 / EVERY
    # The barriers of a few kernels are there to be moved, not to be needed.
    assert sum(raced) >= 0.7 * len(raced)


def test_random_kernels() -> None:
    raced = [
        check(kernel)
        for seed in range(FIRST, FIRST + COUNT)
        for kernel in random_kernels(seed)
    ]
    assert len(raced) >= COUNT
    assert any(raced)
