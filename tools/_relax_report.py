"""What `xdsl-tvm run` says of a Relax module: times of kernels, and its memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.passes.infra import Sequential
from xdsl_tvm.passes.relax.default_pipeline import DefaultPipeline
from xdsl_tvm.passes.relax.report_memory_plan import MemoryReport, memory_reports
from xdsl_tvm.runtime.executable import KernelTime

_MOST_KERNELS = 10
_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def planned_memory(module: ModuleOp) -> list[MemoryReport]:
    """The memory of the functions of a module, planned by the default pipeline."""
    return memory_reports(Sequential(DefaultPipeline().passes())(module))


def kernel_lines(times: Sequence[KernelTime]) -> Iterator[str]:
    """A table of the kernels that took longest."""
    called = [time for time in times if time.calls]
    total = sum(time.seconds for time in called)
    if not called:
        return
    shown = called[:_MOST_KERNELS]
    if rest := called[_MOST_KERNELS:]:
        calls = sum(time.calls for time in rest)
        seconds = sum(time.seconds for time in rest)
        shown.append(KernelTime(f"{len(rest)} others", calls, seconds))
    width = max(len("kernel"), *(len(time.name) for time in shown))
    yield f"{'kernel':{width}}  {'calls':>6}  {'ms':>10}  {'share':>6}"
    for name, calls, seconds in shown:
        share = seconds / total if total else 0.0
        yield f"{name:{width}}  {calls:6}  {seconds * 1e3:10.3f}  {share:6.1%}"


def memory_lines(
    reports: Sequence[MemoryReport], function: str, symbols: Mapping[str, int]
) -> Iterator[str]:
    """For each function the memory that it takes, and would take without a plan.

    The symbols are those of `function`; the sizes of others are expressions.
    """
    for report in reports:
        known = symbols if report.function == function else dict[str, int]()
        planned, naive = report.planned, report.naive
        yield (
            f"memory of @{report.function}: {_size(planned, known)} planned, "
            f"{_size(naive, known)} for {report.tensors} tensors by themselves"
        )


def _size(size: Dim, symbols: Mapping[str, int]) -> str:
    if not set(size.symbols()) <= set(symbols):
        return f"{size} bytes"
    number = size.evaluate(symbols)
    for unit, name in _UNITS:
        if number >= unit:
            return f"{number / unit:.1f} {name}"
    return f"{number} bytes"
