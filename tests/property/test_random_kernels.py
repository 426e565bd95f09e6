"""Random kernels do the same with threads together as with one after the other.

The ordinary run takes a few kernels; `XDSL_TVM_FUZZ=1000` takes that many.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from support.ir import parse
from support.thread_kernels import SIZE, Kernel, random_kernel
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.interpreters.tir import InterpretedModule, interpret

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "10"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))


def run(kernel: Kernel, module: InterpretedModule) -> tuple[list[Any], str]:
    """The arrays after a call, and its error."""
    rng = np.random.default_rng(0)
    total = kernel.blocks * kernel.threads
    arrays: list[Any] = [
        rng.normal(scale=10, size=SIZE).astype(np.float32),
        rng.integers(-200, 200, SIZE).astype(np.int32),
        np.ones(total, np.float32),
        np.arange(total, dtype=np.int32),
    ]
    try:
        module["f"](*arrays)
    except InterpretationError as error:
        return arrays, f"{type(error).__name__}: {error}"
    return arrays, ""


def both_ways(kernel: Kernel) -> tuple[InterpretedModule, str]:
    """Compare the two, and return what ran together, and the error of both."""
    parsed = parse(kernel.text)
    together = interpret(parsed)
    found, error = run(kernel, together)
    expected, message = run(kernel, interpret(parsed, vectorize_threads=False))
    assert error == message
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    return together, error


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_right_kernels(seed: int) -> None:
    kernel = random_kernel(seed, faulty=False)
    module, error = both_ways(kernel)
    assert error == ""
    assert module.launches_repeated == 0
    assert module.launches_together == (kernel.blocks * kernel.threads >= 32)


@pytest.mark.parametrize("seed", range(FIRST + 1000, FIRST + 1000 + COUNT))
def test_faulty_kernels(seed: int) -> None:
    module, error = both_ways(random_kernel(seed, faulty=True))
    if error:
        assert module.launches_together == 0


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_counting_of_bank_conflicts(seed: int) -> None:
    """It changes neither results nor errors."""
    kernel = random_kernel(seed, faulty=seed % 2 == 1)
    parsed = parse(kernel.text)
    found, error = run(kernel, interpret(parsed))
    counting = interpret(parsed, count_bank_conflicts=True)
    expected, message = run(kernel, counting)
    assert error == message
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    for use in counting.bank_conflicts().accesses:
        assert use.instructions <= use.phases <= use.steps <= use.worst * use.phases
