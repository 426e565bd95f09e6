"""The regions that indices cover, shown."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.analysis.arith.int_set import Range
from xdsl_tvm.analysis.arith.region_estimate import (
    estimate_region_strict_bound,
    estimate_region_upper_bound,
)
from xdsl_tvm.dialects.tir.types import is_index_type
from xdsl_tvm.passes.testing.tir._printing import PrintAnalysis, domains


@dataclass(frozen=True)
class TestPrintRegionEstimate(PrintAnalysis):
    """Summary: Shows what evaluated values cover as indices, for tests of the analyzer.

    TVM name: none (ours)
    Input form: any
    Output form: as the input
    Options: none
    Rewrites: a `tir.evaluate %x` gets the attribute `region_estimate`, a string: the
        elements that are accessed at this index while the loops around it run, as in
        `exactly [0, 63]`, or `within [0, 63]` if not all of them. Of a type other than
        `i32` and `i64` it is `none`
    Leaves alone: everything else; a `tir.evaluate` without a value. Time is linear in
        the size of the module, besides what the analysis takes for each expression.
    Errors: none
    Attributes: read: none; created: `region_estimate` on `tir.evaluate`; removed: none
    Differs from TVM: TVM has no such passes.
    """

    name = "tir-test-print-region-estimate"
    attribute = "region_estimate"

    def conclusion(self, analyzer: Analyzer, tree: Expr) -> str:
        if not is_index_type(tree.dtype):
            return "none"
        region = [Range(tree, smart.const(1, tree.dtype))]
        inputs = domains(analyzer, tree)
        exact = estimate_region_strict_bound(region, inputs, analyzer=analyzer)
        if exact is not None:
            return f"exactly {exact[0]}"
        (upper,) = estimate_region_upper_bound(region, inputs, analyzer=analyzer)
        return f"within {upper}"
