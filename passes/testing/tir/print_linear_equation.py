"""The linear forms of expressions, shown."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.analysis.arith.linear_equation import (
    detect_clip_bound,
    detect_linear_equation,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.testing.tir._printing import PrintAnalysis, domains


@dataclass(frozen=True)
class TestPrintLinearEquation(PrintAnalysis):
    """Summary: Shows linear forms and clip bounds of evaluated values, for tests.

    TVM name: none (ours)
    Input form: any
    Output form: as the input
    Options: none
    Rewrites: a `tir.evaluate %x` gets the attribute `linear_equation`, a string: the
        factors of the variables of the loops around it, and the base, as in
        `%i: 4, base: (%n + 1)`; of a condition, of type `i1`, what it clips the
        variables to, as in `%i: [2, (%n - 1)]`; or `none`
    Leaves alone: everything else; a `tir.evaluate` without a value. Time is linear in
        the size of the module, besides what the analysis takes for each expression.
    Errors: none
    Attributes: read: none; created: `linear_equation` on `tir.evaluate`; removed: none
    Differs from TVM: TVM has no such passes.
    """

    name = "tir-test-print-linear-equation"
    attribute = "linear_equation"

    def conclusion(self, analyzer: Analyzer, tree: Expr) -> str:
        variables = list(domains(analyzer, tree))
        if tir.is_bool(tree.dtype):
            clipped = detect_clip_bound(tree, variables)
            if clipped is None:
                return "none"
            return ", ".join(f"{leaf}: {found}" for leaf, found in clipped.items())
        linear = detect_linear_equation(tree, variables)
        if linear is None:
            return "none"
        names = [*map(str, variables), "base"]
        return ", ".join(f"{n}: {f}" for n, f in zip(names, linear, strict=True))
