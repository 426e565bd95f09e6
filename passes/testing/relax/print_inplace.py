"""The operators of dataflow blocks that can be computed in place, shown."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from xdsl_tvm.analysis.relax.dataflow_inplace import Match, inplace_matches
from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.testing.relax._printing import PrintDataflowAnalysis, locations_text


@dataclass(frozen=True)
class TestPrintInplace(PrintDataflowAnalysis):
    """Summary: Shows which operators of dataflow blocks may write over which operands,
        for tests.

    TVM name: none (ours)
    Input form: any
    Output form: as the input
    Options: none
    Rewrites: a `relax.dataflow` gets the attributes `size_match` and `exact_match`,
        strings with the position of each operator and its operands that are large enough,
        and those of exactly the shape of the result, as in `"1 {0, 1}, 4 {1}"`
    Leaves alone: everything else. Time is linear in the size of the module.
    Errors: none
    Attributes: read: none; created: `size_match` and `exact_match` on `relax.dataflow`;
        removed: none
    Differs from TVM: TVM has no such pass, but a function for tests,
        `dataflow_inplace_analysis`, which is in `xdsl_tvm.passes.testing.relax_transform`
    """

    name = "relax-test-print-inplace"

    def conclusions(
        self, block: relax.DataflowOp, inputs: tuple[SSAValue, ...]
    ) -> dict[str, str]:
        found = inplace_matches(block.body.block, inputs)
        return {"size_match": _text(found.size), "exact_match": _text(found.exact)}


def _text(matches: list[Match]) -> str:
    return ", ".join(f"{at} {locations_text(operands)}" for at, operands in matches)
