"""What the rewrite rules make of values, shown."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.passes.testing.tir._printing import PrintAnalysis


@dataclass(frozen=True)
class TestPrintRewriteSimplify(PrintAnalysis):
    """Summary: Shows evaluated values as the rewrite rules simplify them, for tests.

    TVM name: none (ours)
    Input form: any
    Output form: as the input
    Options: none
    Rewrites: a `tir.evaluate %x` gets the attribute `rewrite_simplify`, a string:
        the simplified expression, as in `(%x lt 17)`; values are called as in the file
    Leaves alone: everything else; a `tir.evaluate` without a value. Time is linear in
        the size of the module and of the expressions in it.
    Errors: none
    Attributes: read: none; created: `rewrite_simplify` on `tir.evaluate`; removed: none
    Differs from TVM: TVM has no such passes.
    """

    name = "tir-test-print-rewrite-simplify"
    attribute = "rewrite_simplify"

    def conclusion(self, analyzer: Analyzer, tree: Expr) -> str:
        return str(analyzer.rewrite_simplify(tree))
