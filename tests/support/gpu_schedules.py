"""The GPU schedule, and the passes that make kernels of it."""

from __future__ import annotations

import os
from collections.abc import Sequence

from xdsl.passes import ModulePass

from xdsl_tvm.passes.infra.sequential import Sequential
from xdsl_tvm.passes.tir.default_gpu_schedule import DefaultGPUSchedule
from xdsl_tvm.passes.tir.default_pipeline import DefaultPipeline
from xdsl_tvm.passes.tir.gpu_schedule import GPUSchedule
from xdsl_tvm.passes.tir.thread_sync import ThreadSync
from xdsl_tvm.passes.tir.verify_memory import VerifyMemory

MANY = "XDSL_TVM_FUZZ" in os.environ
"""Whether forms and well-formed programs are checked after each pass."""


def kernel_passes(schedule: GPUSchedule) -> tuple[Sequential, Sequence[ModulePass]]:
    """The passes up to the last barrier as one, as kernels race before; the others."""
    target = schedule.target or "cuda"
    passes = DefaultPipeline(target=target, debug=MANY).passes()
    count = 1 + max(n for n, one in enumerate(passes) if isinstance(one, ThreadSync))
    first = [schedule, DefaultGPUSchedule(target), *passes[:count]]
    return Sequential(first), passes[count:]


def until_barriers(schedule: GPUSchedule, *, alone: bool = False) -> Sequential:
    """The passes up to the last barrier; alone, what is left of loops is the host's."""
    passes = kernel_passes(schedule)[0].passes
    not_alone = (DefaultGPUSchedule, VerifyMemory)
    return Sequential([p for p in passes if not (alone and isinstance(p, not_alone))])
