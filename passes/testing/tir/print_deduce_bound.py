"""The bounds that conditions give variables, shown."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.deduce_bound import deduce_bound
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.analysis.arith.int_set import from_range
from xdsl_tvm.passes.testing.tir._printing import PrintAnalysis, domains


@dataclass(frozen=True)
class TestPrintDeduceBound(PrintAnalysis):
    """Summary: Shows where evaluated conditions hold for certain, for tests.

    TVM name: none (ours)
    Input form: any
    Output form: as the input
    Options: none
    Rewrites: a `tir.evaluate %x` gets the attribute `deduce_bound`, a string: for each
        variable of a loop in the condition, the values of it for which the condition is
        true whatever the variables of the other loops are, as in `%i: [0, 3], %j:
        nothing`
    Leaves alone: everything else; a `tir.evaluate` without a value. Time is linear in
        the size of the module, besides what the analysis takes for each expression.
    Errors: none
    Attributes: read: none; created: `deduce_bound` on `tir.evaluate`; removed: none
    Differs from TVM: TVM has no such passes.
    """

    name = "tir-test-print-deduce-bound"
    attribute = "deduce_bound"

    def conclusion(self, analyzer: Analyzer, tree: Expr) -> str:
        inputs = domains(analyzer, tree)
        sets = {leaf: from_range(found) for leaf, found in inputs.items()}
        parts: list[str] = []
        for leaf in inputs:
            relaxed = {other: found for other, found in sets.items() if other != leaf}
            found = deduce_bound(leaf, tree, relaxed, relaxed, analyzer)
            parts.append(f"{leaf}: {found}")
        return ", ".join(parts)
