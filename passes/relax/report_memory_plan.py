"""How many bytes the functions of a module need, and how many they have to."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.relax.functions import relax_functions
from xdsl_tvm.analysis.relax.live_ranges import most_at_once
from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax._memory_plan.planned_tensors import (
    PlannedTensor,
    Storage,
    planned_tensors,
    storage_bytes,
)
from xdsl_tvm.passes.relax._memory_plan.sizes import UpperBounds
from xdsl_tvm.passes.relax._memory_plan.upper_bounds import upper_bounds_of


@dataclass(frozen=True)
class ReportMemoryPlan(CompilerPass):
    """Summary: Prints how many bytes each Relax function allocates, and how many it would
        without a plan and with a perfect one.

    TVM name: none (ours)
    Input form: any; meant for after `relax-static-plan-block-memory`
    Output form: the same
    Options: none
    Rewrites: nothing. Prints for each function that allocates tensors

            @main: 104 bytes planned, 136 bytes in 5 tensors, 72 bytes at once, ratio 1.44

        The first number is that of all storages whose size is known, and of tensors
        without one; the second is that of all tensors, each by itself; the third, a lower
        bound for any plan, is the most that is alive at one time, as `relax-verify-
        memory-plan` has it; the ratio is that of the first to the third. Symbols have the
        greatest value of `tir_var_upper_bound`; where one has none, sums are expressions,
        and the third number is `?`. Time is that of sorting the tensors of a function by
        their lives.
    Leaves alone: everything
    Errors: attributes that `relax-static-plan-block-memory` refuses
    Attributes: read: `tir_var_upper_bound`, `tir_non_negative_var`; created: none;
        removed: none
    Differs from TVM: TVM has no such pass
    """

    name = "relax-report-memory-plan"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for report in memory_reports(op):
            print(report)


@dataclass(frozen=True)
class MemoryReport:
    """The bytes of one function."""

    function: str
    planned: relax.Dim
    """Of all storages, and of tensors without one."""
    naive: relax.Dim
    """Of all tensors."""
    tensors: int
    alive: int | None
    """The most at one time; None where a size is not constant."""

    @property
    def ratio(self) -> float | None:
        """The planned bytes for each that has to be; None where either is not known."""
        planned = self.planned.value
        return None if planned is None or not self.alive else planned / self.alive

    def __str__(self) -> str:
        alive = "?" if self.alive is None else self.alive
        ratio = "?" if self.ratio is None else f"{self.ratio:.2f}"
        return (
            f"@{self.function}: {self.planned} bytes planned, {self.naive} bytes in "
            f"{self.tensors} tensors, {alive} bytes at once, ratio {ratio}"
        )


def memory_reports(module: ModuleOp) -> list[MemoryReport]:
    """A report for each Relax function that allocates tensors.

    Raises PassFailedException for attributes that are not understood.
    """
    functions = relax_functions(module)
    reports = (_report(func) for func in functions if func.body.blocks)
    return [report for report in reports if report.tensors]


def _report(func: relax.FuncOp) -> MemoryReport:
    upper = upper_bounds_of(func, ReportMemoryPlan.name)
    tensors = planned_tensors(func, upper)
    sizes = [_size(tensor) for tensor in tensors]
    own = [size for size, t in zip(sizes, tensors, strict=True) if t.storage is None]
    zero = relax.Dim.constant(0)
    planned = sum((*own, *_storages(func, upper)), zero)
    return MemoryReport(
        func.sym_name.data, planned, sum(sizes, zero), len(tensors), _alive(tensors)
    )


def _storages(op: Operation, upper: UpperBounds) -> list[relax.Dim]:
    return [
        upper.of(size)
        for inner in all_ops(op)
        if isinstance(inner, Storage) and (size := storage_bytes(inner)) is not None
    ]


def _size(tensor: PlannedTensor) -> relax.Dim:
    return relax.Dim.constant(0) if tensor.most is None else tensor.most


def _alive(tensors: list[PlannedTensor]) -> int | None:
    """The most bytes that are alive at one time."""
    lives = list[tuple[int, int, int]]()
    for tensor in tensors:
        if tensor.most is None or (size := tensor.most.value) is None:
            return None
        lives.append((tensor.start, tensor.end, size))
    return most_at_once(lives)
