"""What is known of memory at its accesses, shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Operation

from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.analysis.tir.control_flow import ControlFlow
from xdsl_tvm.analysis.tir.scoped_facts import FactsWalker
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass


@dataclass(frozen=True)
class TestPrintControlFlow(CompilerPass):
    """Summary: Shows what loads read and which stores are overwritten, for tests.

    TVM name: none (ours)
    Input form: any
    Output form: as the input
    Options: none
    Rewrites: a `tir.load` whose value is known gets the attribute `known`, a string with
        that value, as in `"(%i + 1)"`; a `tir.store` gets it for what its elements hold
        before, and the attribute `overwritten` where they are written once more before
        they are read
    Leaves alone: everything else. Time is linear in the size of the module, times the
        depth of its loops.
    Errors: none
    Attributes: read: none; created: `known` on `tir.load` and `tir.store`, `overwritten`
        on `tir.store`; removed: none
    Differs from TVM: TVM has no such passes.
    """

    __test__: ClassVar[bool] = False
    name = "tir-test-print-control-flow"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            flow, analyzer = ControlFlow(func), Analyzer()

            def visit(
                inner: Operation, flow: ControlFlow = flow, analyzer: Analyzer = analyzer
            ) -> None:
                known: Expr | None = None
                if isinstance(inner, tir.LoadOp):
                    known = flow.value_of(inner, analyzer)
                elif isinstance(inner, tir.StoreOp):
                    known = flow.value_at(inner, analyzer)
                    if flow.is_overwritten(inner, analyzer):
                        inner.attributes["overwritten"] = UnitAttr()
                if known is not None:
                    text = str(analyzer.simplify(known))
                    inner.attributes["known"] = StringAttr(text)

            FactsWalker(analyzer, visit).walk(func)
