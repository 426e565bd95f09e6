"""Passes that show what an analysis concludes, for FileCheck tests of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from xdsl_tvm.analysis.arith.analyzer import Analyzer, Range
from xdsl_tvm.analysis.arith.expr import Expr, postorder
from xdsl_tvm.analysis.tir.scoped_facts import FactsWalker
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass


def domains(analyzer: Analyzer, tree: Expr) -> dict[Expr, Range]:
    """The variables of a tree that are known to be in a range, with it."""
    ranges = {leaf: analyzer.range_of(leaf) for leaf in postorder(tree)}
    return {leaf: found for leaf, found in ranges.items() if found is not None}


@dataclass(frozen=True)
class PrintAnalysis(CompilerPass, ABC):
    """Writes a conclusion about each value that a `tir.evaluate` has, as an attribute.

    The analyzer knows what the loops, blocks, branches, bindings and asserts around the
    `tir.evaluate` say. A pass of this kind defines `attribute` and `conclusion`.
    """

    __test__: ClassVar[bool] = False
    attribute: ClassVar[str]
    """The name of the attribute."""

    @abstractmethod
    def conclusion(self, analyzer: Analyzer, tree: Expr) -> str:
        """What is to be seen about the tree, under the facts that hold here."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        analyzer = Analyzer()

        def visit(inner: Operation) -> None:
            if isinstance(inner, tir.EvaluateOp) and inner.value is not None:
                text = self.conclusion(analyzer, walker.tree(inner.value))
                inner.attributes[self.attribute] = StringAttr(text)

        walker = FactsWalker(analyzer, visit)
        walker.walk(op)
