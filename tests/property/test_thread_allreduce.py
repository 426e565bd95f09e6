"""Reductions over random threads give the same after they are expanded.

`XDSL_TVM_FUZZ` sets how many, `XDSL_TVM_FUZZ_FROM` the first; with 1,024 or more, also
each number of threads along one axis is reduced.
"""

from __future__ import annotations

import os

from support.allreduce_kernels import allreduce_kernel, random_allreduce
from support.ir import parse

from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.tir.lower_thread_allreduce import LowerThreadAllreduce

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "6"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))


def check(text: str) -> None:
    passes = (LowerThreadAllreduce(),)
    report = check_semantics(parse(text), passes, runs=1, tolerance=0.0)
    assert report.checked, text


def test_random_axes() -> None:
    for seed in range(FIRST, FIRST + COUNT):
        check(random_allreduce(seed))


def test_numbers_of_threads() -> None:
    # CASE: LowerThreadAllreduce.9
    extents = range(1, 1025) if COUNT >= 1024 else (1, 2, 12, 32, 33, 48, 100, 201, 1024)
    for extent in extents:
        check(allreduce_kernel([extent], "x"))
