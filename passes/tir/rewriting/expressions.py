"""A walk that puts other expressions in the place of those that ops use."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator

from xdsl.builder import Builder
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsolatedFromAbove

from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr, Value, emit
from xdsl_tvm.analysis.tir.scoped_facts import FactsWalker
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.quick_accessors import stored_operands
from xdsl_tvm.passes.tir.rewriting.statements import erase_if_unused, replace_by_body


class _AtHand(dict[Expr, SSAValue]):
    """The values of trees that dominate the place where the walk is."""

    def __init__(self) -> None:
        super().__init__()
        self._added: list[Expr] = []

    def __setitem__(self, tree: Expr, value: SSAValue) -> None:
        if tree not in self:
            super().__setitem__(tree, value)
            self._added.append(tree)

    def mark(self) -> int:
        return len(self._added)

    def rewind(self, mark: int) -> None:
        while len(self._added) > mark:
            del self[self._added.pop()]


class ExpressionRewriter(FactsWalker):
    """Visits ops in order, with the facts and the values that there are.

    Expressions are rewritten where they are used, by `rewritten`, in the operands of
    `tir` ops that `statement` gives to `rewrite`. New ops are before the use, and
    equal values that are available there are used. What nothing uses is erased.
    """

    def __init__(self, root: Operation, analyzer: Analyzer) -> None:
        super().__init__(analyzer, self._visit_any)
        self._root = root
        self._at_hand = _AtHand()
        self.dropped: list[SSAValue] = []
        """What was used where nothing uses it now."""

    @abstractmethod
    def rewritten(self, tree: Expr) -> Expr:
        """What to put in the place of an expression; the same tree to leave it."""

    def statement(self, op: Operation) -> None:
        """Rewrite what an op uses that is no expression itself."""
        if _is_rewritten_as_it_is(op):
            self.rewrite(op)
            return
        match op:
            case tir.BufferDefinition() | tir.ReducerOp():
                pass
            case tir.AttrOp():
                self.rewrite(op, but=op.node)
            case _ if op.name.startswith("tir."):
                self.rewrite(op)
            case _:
                pass

    def run(self) -> None:
        """Rewrite what is in the regions of the root, and erase what is left over."""
        self.walk(self._root)
        erase_if_unused(self.dropped)

    def rewrite(self, op: Operation, but: SSAValue | None = None) -> None:
        """Rewrite the operands of an op, `but` aside."""
        for index, operand in enumerate(stored_operands(op)):
            if operand is but or not is_number(operand.type):
                continue
            tree = self.tree(operand)
            new = self.rewritten(tree)
            if new is not tree:
                self.dropped.append(operand)
                builder = Builder(InsertPoint.before(op))
                op.operands[index] = emit(new, builder, self._at_hand)

    @property
    def available(self) -> dict[Expr, SSAValue]:
        """The values of trees that dominate the place where the walk is."""
        return self._at_hand

    def make_available(self, op: Operation) -> None:
        """Let what an expression computes be used by what is visited after it."""
        (value,) = op.results
        self._at_hand[self.tree(value)] = value

    def drop(self, op: Operation) -> None:
        """Erase an op, and note what it has used."""
        self.dropped += op.operands
        self._note(op.regions)
        Rewriter.erase_op(op)

    def take_branch(self, op: tir.IfOp, truth: bool) -> None:
        """Replace a branch by what is executed where its condition is `truth`."""
        taken = op.then_region if truth else op.else_region
        if taken is None:
            self.drop(op)
            return
        self._note(region for region in op.regions if region is not taken)
        self.dropped.append(op.condition)
        replace_by_body(op, taken.block)

    def take_value(self, op: tir.IfThenElseOp, truth: bool) -> SSAValue:
        """Replace a lazy choice by what is evaluated where its condition is `truth`."""
        taken, other = op.true_region, op.false_region
        if not truth:
            taken, other = other, taken
        self._note((other,))
        self.dropped.append(op.condition)
        end = taken.block.last_op
        assert isinstance(end, tir.YieldOp)
        value = end.value
        Rewriter.erase_op(end)
        Rewriter.inline_block(taken.block, InsertPoint.before(op))
        Rewriter.replace_op(op, [], [value])
        return value

    def _note(self, regions: Iterable[Region]) -> None:
        """Note the values from outside that regions use, which are going to be erased."""
        for region in regions:
            for op in region.walk():
                for operand in op.operands:
                    if not region.is_ancestor(operand.owner):
                        self.dropped.append(operand)

    # ---- the walk ----

    def _walk_block(self, block: Block) -> None:
        outer, mark = self._at_hand, self._at_hand.mark()
        parent = block.parent_op()
        if parent is not None and parent.has_trait(IsolatedFromAbove):
            self._at_hand = _AtHand()
        super()._walk_block(block)
        self._at_hand = outer
        outer.rewind(mark)

    def _ops(self, block: Block) -> Iterator[Operation]:
        """The ops as they are: what takes the place of an op is visited, too."""
        op = block.first_op
        while op is not None:
            before = op.prev_op
            yield op
            if op.parent is block:
                op = op.next_op
            else:
                op = block.first_op if before is None else before.next_op

    def _visit_any(self, op: Operation) -> None:
        if len(op.results) == 1:
            (value,) = op.results
            tree = self.tree(value)
            if not isinstance(tree, Value):
                # What is visited after it may use the value.
                self._at_hand[tree] = value
                return
        if not self._is_in_expression(op):
            self.statement(op)

    def _is_expression(self, op: Operation) -> bool:
        """Whether the op is part of the trees of what uses it."""
        results = op.results
        if len(results) != 1:
            return False
        (value,) = results
        return not isinstance(self.tree(value), Value)

    def _is_in_expression(self, op: Operation) -> bool:
        parent = op.parent_op()
        if _is_choice(parent):
            return self._is_expression(parent)
        return _is_reducer(parent)


_is_choice = of_classes(tir.IfThenElseOp)
_is_reducer = of_classes(tir.ReducerOp)
_is_rewritten_as_it_is = of_classes(
    tir.CallOp, tir.EvaluateOp, tir.ForOp, tir.IfOp, tir.LetOp, tir.LoadOp, tir.StoreOp
)


def is_number(dtype: Attribute) -> bool:
    """Whether values of the type are computed: numbers, bools, vectors of them."""
    return tir.is_scalar(dtype) or tir.is_vector(dtype)
