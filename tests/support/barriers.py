"""Barriers of kernels, to be taken away and put in again."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xdsl_tvm.analysis.tir.barrier_intervals import KernelRaces
from xdsl_tvm.analysis.tir.barrier_walk import barrier_scope
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._loops.thread_axes import outermost_ops


def barriers(module: ModuleOp, scopes: tuple[str, ...] = ()) -> list[Operation]:
    """The barriers in textual order, of all scopes or of some."""
    return [
        op
        for op in module.walk()
        if (scope := barrier_scope(op)) is not None and (not scopes or scope in scopes)
    ]


def erase(barrier: Operation) -> None:
    """Remove a barrier."""
    for result in barrier.results:
        for use in list(result.uses):
            use.operation.detach()
            use.operation.erase()
    barrier.detach()
    barrier.erase()


def launches(module: ModuleOp) -> list[tir.LaunchThreadOp]:
    """The outermost launches."""
    wanted = outermost_ops(module, lambda op: isinstance(op, tir.LaunchThreadOp))
    return [op for op in wanted if isinstance(op, tir.LaunchThreadOp)]


def accepts(module: ModuleOp) -> bool:
    """Whether no race is found in any kernel."""
    found = map(KernelRaces, launches(module))
    return all(each.clash is None and each.unwritten is None for each in found)
