"""Functions of blocks compute the same on the threads that DefaultGPUSchedule binds.

The interpreter runs a function as it is written, and the simulator after the pass, with
threads of several targets; nothing races. `XDSL_TVM_FUZZ` sets the number of functions,
`XDSL_TVM_FUZZ_FROM` the first of them.
"""

from __future__ import annotations

import os

from support.block_nests import block_nests

from xdsl_tvm.interpreters.semantics import SemanticsError, check_semantics
from xdsl_tvm.passes.tir.default_gpu_schedule import DefaultGPUSchedule
from xdsl_tvm.tvmscript import parse

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "6"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
THREADS = (1, 2, 3, 8, 32, 1024)


def test_random_blocks() -> None:
    bound = 0
    for seed in range(FIRST, FIRST + COUNT):
        module = parse(block_nests(seed))
        options = DefaultGPUSchedule(
            f"cuda -max_num_threads={THREADS[seed % len(THREADS)]}"
        )
        try:
            check_semantics(module, [options], seed=seed, tolerance=0.0)
        except SemanticsError as error:
            # No inputs of a size that all of the function fits.
            if error.pass_name is not None:
                raise
        else:
            bound += 1
    assert bound >= COUNT * 3 // 4
