"""The memory of the values of dataflow blocks, shown."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from xdsl_tvm.analysis.relax.dataflow_alias import aliases
from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.testing.relax._printing import (
    PrintDataflowAnalysis,
    locations_text,
    name_of,
)


@dataclass(frozen=True)
class TestPrintDataflowAlias(PrintDataflowAnalysis):
    """Summary: Shows which values of dataflow blocks may be the same memory, for tests.

    TVM name: none (ours)
    Input form: any
    Output form: as the input
    Options: none
    Rewrites: a `relax.dataflow` gets the attributes `alias`, `tuples` and `fixed`:
        strings with the numbers of the memory locations of each value, `"%x {0}"`, with
        those of the fields of each tuple, `"2: [{0}, {1}]"`, and with those that must not
        be written; -1 is memory that is not known
    Leaves alone: everything else. Time is linear in the size of the module.
    Errors: none
    Attributes: read: none; created: `alias`, `tuples` and `fixed` on `relax.dataflow`;
        removed: none
    Differs from TVM: TVM has no such pass, but a function for tests,
        `dataflow_alias_analysis`, which is in `xdsl_tvm.passes.testing.relax_transform`
    """

    name = "relax-test-print-dataflow-alias"

    def conclusions(
        self, block: relax.DataflowOp, inputs: tuple[SSAValue, ...]
    ) -> dict[str, str]:
        found = aliases(block.body.block, inputs)
        sets = (f"{name_of(v)} {locations_text(at)}" for v, at in found.sets.items())
        tuples = (
            f"{number}: [{', '.join(map(locations_text, parts))}]"
            for number, parts in found.tuples.items()
        )
        return {
            "alias": ", ".join(sets),
            "tuples": ", ".join(tuples),
            "fixed": locations_text(found.fixed),
        }
