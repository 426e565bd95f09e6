"""The lives of the values of dataflow blocks, shown."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from xdsl_tvm.analysis.relax.dataflow_liveness import live_ranges
from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.testing.relax._printing import PrintDataflowAnalysis, name_of


@dataclass(frozen=True)
class TestPrintDataflowLiveness(PrintDataflowAnalysis):
    """Summary: Shows from where to where the values of dataflow blocks live, for tests.

    TVM name: none (ours)
    Input form: any
    Output form: as the input
    Options: none
    Rewrites: a `relax.dataflow` gets the attribute `live`, a string with the first and
        last position of each value, as in `"%x (-1, 5), %y (0, 2)"`; -1 is before
        the block, and the number of its operations is after it
    Leaves alone: everything else. Time is linear in the size of the module.
    Errors: none
    Attributes: read: none; created: `live` on `relax.dataflow`; removed: none
    Differs from TVM: TVM has no such pass, but a function for tests,
        `dataflow_liveness_analysis`; see `xdsl_tvm.passes.testing.relax_transform`
    """

    name = "relax-test-print-dataflow-liveness"

    def conclusions(
        self, block: relax.DataflowOp, inputs: tuple[SSAValue, ...]
    ) -> dict[str, str]:
        ranges = live_ranges(block.body.block)
        texts = (f"{name_of(value)} {ends}" for value, ends in ranges.items())
        return {"live": ", ".join(texts)}
