"""The GPU schedule keeps what loop nests compute, and nothing races.

Random nests run in the interpreter as they are written, and in the simulator after the
schedule and the passes up to barriers, with blocks of few threads and with many.
`XDSL_TVM_FUZZ` sets their number, `XDSL_TVM_FUZZ_FROM` the first of them.
"""

from __future__ import annotations

import os

import pytest
from support.block_nests import block_nests
from support.cpu_nests import random_nests
from support.gpu_schedules import until_barriers
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.interpreters.semantics import SemanticsError, check_semantics
from xdsl_tvm.passes.tir.gpu_schedule import GPUSchedule
from xdsl_tvm.tvmscript import parse

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "2"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
OPTIONS = (
    GPUSchedule("cuda", threads=4, warp_row=2, vector_bytes=4, tile=2, tile_terms=2),
    GPUSchedule("cuda", threads=64, warp_row=8, row_in_registers=8, tile=8, tile_terms=4),
    GPUSchedule("cuda", threads=1, tile=1, tile_terms=1),
    GPUSchedule("cuda"),
)


@pytest.mark.parametrize("family", ["any kinds", "right kinds"])
def test_random_nests(family: str) -> None:
    """Functions that a later pass refuses, or that fail by themselves, do not count.

    Where kinds may be wrong, the default schedule, which trusts them, does not follow.
    """
    executed = 0
    refused: list[str] = []
    for seed in range(FIRST, FIRST + COUNT):
        is_any = family == "any kinds"
        module = parse(random_nests(seed) if is_any else block_nests(seed))
        passes = until_barriers(OPTIONS[seed % len(OPTIONS)], alone=is_any)
        try:
            check_semantics(module, [passes], seed=seed, tolerance=1e-4)
        except PassFailedException as error:
            refused.append(str(error))
        except SemanticsError as error:
            if error.pass_name is not None:
                raise
        else:
            executed += 1
    assert executed >= COUNT * 3 // 4, refused
