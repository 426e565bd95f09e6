"""What the analyzer knows of the constant bounds, shown."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.passes.testing.tir._printing import PrintAnalysis


@dataclass(frozen=True)
class TestPrintConstIntBound(PrintAnalysis):
    """Summary: Shows the constant bounds of evaluated values, for tests of the analyzer.

    TVM name: none (ours)
    Input form: any
    Output form: as the input
    Options: none
    Rewrites: a `tir.evaluate %x` gets the attribute `const_int_bound`, a string:
        its least and its greatest value, as in `[0, +inf]`
    Leaves alone: everything else; a `tir.evaluate` without a value. Time is linear in
        the size of the module and of the expressions in it.
    Errors: none
    Attributes: read: none; created: `const_int_bound` on `tir.evaluate`; removed: none
    Differs from TVM: TVM has no such passes.
    """

    name = "tir-test-print-const-int-bound"
    attribute = "const_int_bound"

    def conclusion(self, analyzer: Analyzer, tree: Expr) -> str:
        return str(analyzer.const_int_bound(tree))
