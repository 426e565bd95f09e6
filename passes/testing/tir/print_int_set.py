"""The integer sets of expressions, shown."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.passes.testing.tir._printing import PrintAnalysis


@dataclass(frozen=True)
class TestPrintIntSet(PrintAnalysis):
    """Summary: Shows the integer sets of evaluated values, for tests of the analyzer.

    TVM name: none (ours)
    Input form: any
    Output form: as the input
    Options: none
    Rewrites: a `tir.evaluate %x` gets the attribute `int_set`, a string: the interval
        that the value is in while all variables run over their ranges, as in
        `[0, (%n - 1)]`; values are called as in the file
    Leaves alone: everything else; a `tir.evaluate` without a value. Time is linear in
        the size of the module, besides what the analysis takes for each expression.
    Errors: none
    Attributes: read: none; created: `int_set` on `tir.evaluate`; removed: none
    Differs from TVM: TVM has no such passes.
    """

    name = "tir-test-print-int-set"
    attribute = "int_set"

    def conclusion(self, analyzer: Analyzer, tree: Expr) -> str:
        return str(analyzer.int_set(tree))
