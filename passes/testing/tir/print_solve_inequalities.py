"""The solutions of inequalities, shown."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.analysis.arith.solve_inequalities import solve_inequalities_to_range
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.testing.tir._printing import PrintAnalysis, domains


@dataclass(frozen=True)
class TestPrintSolveInequalities(PrintAnalysis):
    """Summary: Shows the solutions of evaluated conditions, for tests of the analyzer.

    TVM name: none (ours)
    Input form: any
    Output form: as the input
    Options: none
    Rewrites: a `tir.evaluate %x` gets the attribute `solve_inequalities`, a string: for
        each variable of a loop in the condition, the first value and the number of values
        it has where the condition is true, and what else must hold, as in
        `%i: %n + [0, 4); (%j le %i)`. Of a type other than `i1` it is `none`
    Leaves alone: everything else; a `tir.evaluate` without a value. Time is linear in
        the size of the module, besides what the analysis takes for each expression.
    Errors: none
    Attributes: read: none; created: `solve_inequalities` on `tir.evaluate`; removed: none
    Differs from TVM: TVM has no such passes.
    """

    name = "tir-test-print-solve-inequalities"
    attribute = "solve_inequalities"

    def conclusion(self, analyzer: Analyzer, tree: Expr) -> str:
        if not tir.is_bool(tree.dtype):
            return "none"
        inputs = domains(analyzer, tree)
        found = solve_inequalities_to_range(list(inputs), inputs, [tree])
        ranges = [f"{v}: {r.min} + [0, {r.extent})" for v, r in found.ranges.items()]
        return "; ".join([*ranges, *map(str, found.relations)])
