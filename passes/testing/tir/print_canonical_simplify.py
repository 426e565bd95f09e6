"""What the analyzer knows of the canonical forms, shown."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.passes.testing.tir._printing import PrintAnalysis


@dataclass(frozen=True)
class TestPrintCanonicalSimplify(PrintAnalysis):
    """Summary: Shows the canonical forms of evaluated values, for tests of the analyzer.

    TVM name: none (ours)
    Input form: any
    Output form: as the input
    Options: none
    Rewrites: a `tir.evaluate %x` gets the attribute `canonical_simplify`, a string:
        the form, as in `((%i * 4) + 3)`; values are called as in the file
    Leaves alone: everything else; a `tir.evaluate` without a value. Time is linear in
        the size of the module and of the expressions in it.
    Errors: none
    Attributes: read: none; created: `canonical_simplify` on `tir.evaluate`; removed: none
    Differs from TVM: TVM has no such passes.
    """

    name = "tir-test-print-canonical-simplify"
    attribute = "canonical_simplify"

    def conclusion(self, analyzer: Analyzer, tree: Expr) -> str:
        return str(analyzer.canonical_simplify(tree))
