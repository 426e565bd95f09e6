"""A walk over statements with an analyzer that knows what holds at each of them.

This is TVM's walker with an analyzer (docs/spec/tir-passes-b-arith-and-loops.md §1.17)
for this SSA form: facts are about values, so they hold wherever their scope says,
whatever is written to memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from contextlib import ExitStack

from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from xdsl_tvm.analysis.all_ops import ops_in
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer, Range
from xdsl_tvm.analysis.arith.expr import Expr, leaf_values, view
from xdsl_tvm.analysis.arith.facts import negated
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes


class FactsWalker:
    """Visits all ops below an op in order, each with the facts that hold there.

    - In a loop or a launch of threads, the variable is in its range, which is not empty.
    - In a block, iteration variables are in their domains and the predicate is true.
    - In a branch of `tir.if` and `tir.if_then_else`, the condition or its negation holds.
    - After a `tir.assert`, to the end of its block, the condition is true.
    - After a `tir.let`, its result is its value.

    `trees` shares the views of values. What `visit` does with an op is up to it: it may
    replace or erase the op, and regions that are gone are not walked. Time is linear in
    the number of ops, besides what `visit` does.
    """

    def __init__(self, analyzer: Analyzer, visit: Callable[[Operation], None]) -> None:
        self.analyzer = analyzer
        self.trees: MutableMapping[SSAValue, Expr] = {}
        self._visit = visit

    def tree(self, value: SSAValue) -> Expr:
        """The tree of a value."""
        return view(value, self.trees)

    def walk(self, root: Operation) -> None:
        """Visit the ops in the regions of `root`, with the facts that it gives."""
        for position, region in enumerate(root.regions):
            with self.analyzer.assumed(()), ExitStack() as scopes:
                self._enter(root, position, scopes)
                self.walk_region(region)

    def walk_region(self, region: Region) -> None:
        """Visit the ops in a region, with the facts that are known already."""
        for block in region.blocks:
            self._walk_block(block)

    def _walk_block(self, block: Block) -> None:
        with ExitStack() as scopes:
            for op in self._ops(block):
                self._visit(op)
                if op.parent is not block:
                    continue
                self._after(op, scopes)
                if op.regions:
                    self.walk(op)

    def _ops(self, block: Block) -> Iterator[Operation]:
        """The ops of a block to visit; those that a visit adds are not among them."""
        return iter(ops_in(block))

    def _enter(self, op: Operation, position: int, scopes: ExitStack) -> None:
        """Record what holds in a region of the op."""
        match op:
            case tir.ForOp():
                self._bind(op.loop_var, op.min, op.extent, scopes)
            case tir.LaunchThreadOp():
                zero = smart.const(0, op.extent.type)
                self._bind_range(op.thread_var, zero, self.tree(op.extent), scopes)
            case tir.BlockOp():
                domains = zip(op.iter_vars, op.dom_mins, op.dom_extents, strict=True)
                for variable, low, extent in domains:
                    self._bind_iteration(variable, low, extent, scopes)
                if op.predicate is not None:
                    self._assume(self.tree(op.predicate), scopes)
            case tir.IfOp() | tir.IfThenElseOp():
                condition = self.tree(op.condition)
                self._assume(negated(condition) if position else condition, scopes)
            case _:
                pass

    def _after(self, op: Operation, scopes: ExitStack) -> None:
        """Record what holds to the end of the block of the op."""
        if not _says_something(op):
            return
        match op:
            case tir.AssertOp():
                self._assume(self.tree(op.condition), scopes)
            case tir.LetOp() if op.value.type == op.result.type:
                scopes.enter_context(self.analyzer.assumed(()))
                self.analyzer.bind(op.result, self.tree(op.value))
            case _:
                pass

    def _assume(self, condition: Expr, scopes: ExitStack) -> None:
        scopes.enter_context(self.analyzer.constraint(condition))

    def _bind(
        self, variable: SSAValue, low: SSAValue, extent: SSAValue, scopes: ExitStack
    ) -> None:
        self._bind_range(variable, self.tree(low), self.tree(extent), scopes)

    def _bind_iteration(
        self, variable: SSAValue, low: SSAValue, extent: SSAValue, scopes: ExitStack
    ) -> None:
        """Bind a variable of a block, but not to what the block may not use.

        A domain of one number would take the place of the variable. Where it may come
        from a loop around the block, the rule BlockVarAccess does not let it.
        """
        start = self.tree(low)
        if tir.is_constant(extent, 1) and not _is_known_at_entry(start):
            if low.type == variable.type:
                end = smart.add(start, 1)
                tree = self.tree(variable)
                within = (smart.ge(tree, start), smart.lt(tree, end))
                scopes.enter_context(self.analyzer.assumed(within))
                self.analyzer.update(variable, self.analyzer.const_int_bound(start))
            return
        self._bind(variable, low, extent, scopes)

    def _bind_range(
        self, variable: SSAValue, low: Expr, extent: Expr, scopes: ExitStack
    ) -> None:
        if not low.dtype == extent.dtype == variable.type:
            return
        if smart.literal(extent) is None:
            scopes.enter_context(self.analyzer.assumed((smart.gt(extent, 0),)))
        self.analyzer.bind(variable, Range(low, extent))


_says_something = of_classes(tir.AssertOp, tir.LetOp)


def _is_known_at_entry(tree: Expr) -> bool:
    """Whether a tree is made of parameters and shape variables only."""
    return all(
        isinstance(value.block.parent_op(), tir.FuncOp)
        if isinstance(value, BlockArgument)
        else isinstance(value.owner, tir.ShapeVarOp)
        for value in leaf_values(tree)
    )
