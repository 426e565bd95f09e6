"""The iterator maps that expressions are, shown."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.analysis.arith.iter_map import detect_iter_map
from xdsl_tvm.dialects.tir.types import is_index_type
from xdsl_tvm.passes.testing.tir._printing import PrintAnalysis, domains


@dataclass(frozen=True)
class TestPrintIterMap(PrintAnalysis):
    """Summary: Shows the iterator maps of evaluated values, for tests of the analyzer.

    TVM name: none (ours)
    Input form: any
    Output form: as the input
    Options: none
    Rewrites: a `tir.evaluate %x` gets the attribute `iter_map`, a string: the base, the
        scale and the extent of the one iterator that the value is of the loops around
        it, as in `3 + 2 * [0, 8)`, and what is padding; or why it is none. Of a type
        other than `i32` and `i64` it is `none`
    Leaves alone: everything else; a `tir.evaluate` without a value. Time is linear in
        the size of the module, besides what the analysis takes for each expression.
    Errors: none
    Attributes: read: none; created: `iter_map` on `tir.evaluate`; removed: none
    Differs from TVM: TVM has no such passes.
    """

    name = "tir-test-print-iter-map"
    attribute = "iter_map"

    def conclusion(self, analyzer: Analyzer, tree: Expr) -> str:
        if not is_index_type(tree.dtype):
            return "none"
        found = detect_iter_map([tree], domains(analyzer, tree), analyzer=analyzer)
        if found.errors:
            return found.errors[0]
        (total,) = found.indices
        text = str(total.base)
        for split in total.args:
            text += f" + {split.scale} * [0, {split.extent})"
        padding = str(found.padding_predicate)
        return text if padding == "0" else f"{text}, padding where {padding}"
