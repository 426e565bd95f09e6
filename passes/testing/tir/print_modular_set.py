"""What the analyzer knows of the modular sets, shown."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.passes.testing.tir._printing import PrintAnalysis


@dataclass(frozen=True)
class TestPrintModularSet(PrintAnalysis):
    """Summary: Shows the modular sets of evaluated values, for tests of the analyzer.

    TVM name: none (ours)
    Input form: any
    Output form: as the input
    Options: none
    Rewrites: a `tir.evaluate %x` gets the attribute `modular_set`, a string:
        the set, as in `4*k + 3`
    Leaves alone: everything else; a `tir.evaluate` without a value. Time is linear in
        the size of the module and of the expressions in it.
    Errors: none
    Attributes: read: none; created: `modular_set` on `tir.evaluate`; removed: none
    Differs from TVM: TVM has no such passes.
    """

    name = "tir-test-print-modular-set"
    attribute = "modular_set"

    def conclusion(self, analyzer: Analyzer, tree: Expr) -> str:
        return str(analyzer.modular_set(tree))
