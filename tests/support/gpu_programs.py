"""Random programs for GPUs, of all the kinds that there are, by name."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp, StringAttr

from support.allreduce_kernels import random_allreduce
from support.block_nests import block_nests
from support.ir import parse as parse_ir
from support.pipelined_loops import random_pipeline
from support.reduction_kernels import random_reduction
from support.thread_kernels import random_kernel
from support.thread_nests import random_nest
from support.unsynchronized_kernels import (
    Unsynchronized,
    copies,
    exchanges,
    softmax,
    warps,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir.default_gpu_schedule import DefaultGPUSchedule
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse as parse_script


def exposed(module: ModuleOp) -> ModuleOp:
    """The module with all functions visible: private ones have no code for the host."""
    for func in module.ops:
        if isinstance(func, tir.FuncOp):
            func.attributes["global_symbol"] = StringAttr(func.sym_name.data)
    return module


def scheduled(seed: int) -> ModuleOp:
    """A function of blocks, bound to threads by the default schedule."""
    module = parse_script(block_nests(seed))
    threads = (2, 3, 32, 1024)[seed % 4]
    DefaultGPUSchedule(f"cuda -max_num_threads={threads}").apply(new_context(), module)
    return module


def with_dynamic_memory(text: str, seed: int) -> ModuleOp:
    """The module of a text, in every third case with dynamic shared memory."""
    return parse_ir(text.replace('"shared"', '"shared.dyn"') if seed % 3 == 0 else text)


KERNELS: dict[str, Callable[[int], ModuleOp]] = {
    "allreduce": lambda seed: parse_ir(random_allreduce(seed)),
    "nests": lambda seed: with_dynamic_memory(random_nest(seed), seed),
    "pipelines": lambda seed: with_dynamic_memory(
        random_pipeline(seed, in_order=True), seed
    ),
    "reductions": lambda seed: with_dynamic_memory(
        random_reduction(seed, barriers=True), seed
    ),
    "scheduled": scheduled,
    "threads": lambda seed: with_dynamic_memory(
        random_kernel(seed, faulty=False).text, seed
    ),
}
UNSYNCHRONIZED: dict[str, Callable[[int], Unsynchronized]] = {
    "copies": copies,
    "exchanges": exchanges,
    "softmax": softmax,
    "warps": warps,
}


def is_kernel(module: ModuleOp) -> bool:
    return any(
        isinstance(op, tir.LaunchThreadOp)
        or (isinstance(op, tir.ForOp) and op.thread_tag is not None)
        for op in module.walk()
    )
