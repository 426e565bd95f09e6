"""Conditions and bindings move before the loops that do not change them.

What `HoistExpression` and `HoistIfThenElse` share
(docs/spec/tir-passes-b-arith-and-loops.md, the sections of the same names). A first walk
finds for each condition the loop that it goes before. The rewrite then makes `if c: loop
else: loop` of that loop, and resolves the condition in both copies. Only values that are
pure and cannot fail move.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Call, Const, Expr, leaf_values, view
from xdsl_tvm.analysis.arith.facts import negated
from xdsl_tvm.analysis.tir.side_effect import does_nothing, op_does_nothing
from xdsl_tvm.analysis.tir.thread_divergence import may_diverge
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.passes.tir._hoist.flags import HoistedConditionals, HoistedLetBindings
from xdsl_tvm.passes.tir.rewriting.statements import (
    can_speculate,
    erase_if_unused,
    replace_by_body,
)


@dataclass(frozen=True)
class Hoisted:
    """What to hoist."""

    conditionals: HoistedConditionals
    lets: HoistedLetBindings

    def wants(self, op: Operation) -> bool:
        """Whether the conditions of such an op are hoisted."""
        if not _has_condition(op):
            return False
        match op:
            case tir.IfOp():
                bit = HoistedConditionals.IfElseStmt
            case tir.IfThenElseOp():
                bit = HoistedConditionals.IfElseExpr
            case tir.AndOp() | tir.OrOp() if op.result.type == i1:
                bit = HoistedConditionals.BooleanExpression
            case _:
                return False
        return bool(self.conditionals & bit)

    def concerns(self, op: Operation) -> bool:
        """Whether the op has something to hoist."""
        return self.wants(op) or (_is_let(op) and self.wants_let(op))

    def wants_let(self, op: tir.LetOp) -> bool:
        """Whether the binding is hoisted for its own sake."""
        is_expr = op.kind.data is tir.LetKind.EXPR
        bit = HoistedLetBindings.LetExpr if is_expr else HoistedLetBindings.LetStmt
        return bool(self.lets & bit)


_has_condition = of_classes(tir.AndOp, tir.IfOp, tir.IfThenElseOp, tir.OrOp)
_is_let = of_classes(tir.LetOp)


def hoist(func: Operation, hoisted: Hoisted) -> bool:
    """Hoist in the body of a function, in place; whether there was something.

    Time is linear in the size of the result times the number of conditions around it.
    """
    if not any(map(hoisted.concerns, all_ops(func))):
        return False
    plan = _Plan(hoisted)
    plan.visit_regions(func)
    if not plan.moves:
        return False
    rewriter = _Rewriter(plan.moves)
    for region in func.regions:
        rewriter.visit(region)
    return True


# ---- where conditions go ----


@dataclass(frozen=True)
class _Condition:
    """An operand of an op, which is a condition."""

    op: Operation
    index: int = 0

    @property
    def value(self) -> SSAValue:
        return self.op.operands[self.index]


@dataclass
class _Moves:
    """What goes before a loop, in the order it was found."""

    lets: list[tir.LetOp] = field(default_factory=list[tir.LetOp])
    conditions: list[_Condition] = field(default_factory=list[_Condition])


@dataclass
class _Loop:
    """A loop around the op that is visited."""

    op: Operation
    is_block: bool
    """Its variable is a block variable: that of threads, or of an attribute."""
    has_sequence: bool = False
    """Several statements have been met directly in it."""


@dataclass(frozen=True)
class _Source:
    """What a value needs."""

    depth: int
    """The number of loops that it must stay inside of."""
    uses_block: bool = False
    uses_let: bool = False


_ANYWHERE = _Source(0)
_TRANSPARENT = (tir.IfOp, tir.IfThenElseOp, tir.ScopeOp, tir.AttrOp, tir.WhileOp)


@dataclass
class _Plan:
    """Finds the loops that conditions and bindings go before; changes nothing."""

    hoisted: Hoisted
    moves: dict[Operation, _Moves] = field(default_factory=dict[Operation, _Moves])
    _loops: list[_Loop] = field(default_factory=list[_Loop])
    _floor: int = 0
    """The loops up to this one are outside of what nothing is hoisted from."""
    _sources: dict[SSAValue, _Source] = field(default_factory=dict[SSAValue, _Source])

    def visit_regions(self, op: Operation) -> None:
        for region in op.regions:
            for block in region.blocks:
                self._visit_block(block)

    def _visit_block(self, block: Block) -> None:
        if len(self._loops) > self._floor and _has_several_statements(block):
            self._loops[-1].has_sequence = True
        for argument in block.args:
            self._sources.setdefault(argument, _Source(len(self._loops)))
        for op in block.ops:
            self._visit(op)

    def _visit(self, op: Operation) -> None:
        self._record(op)
        if not op.regions:
            return
        if _is_loop(op):
            self._visit_loop(op)
        elif isinstance(op, _TRANSPARENT):
            self.visit_regions(op)
        else:
            floor, self._floor = self._floor, len(self._loops)
            self.visit_regions(op)
            self._floor = floor

    def _visit_loop(self, op: Operation) -> None:
        is_block = not isinstance(op, tir.ForOp)
        self._loops.append(_Loop(op, is_block))
        depth = len(self._loops)
        for argument in op.regions[0].block.args:
            self._sources[argument] = _Source(depth, uses_block=is_block)
        self.visit_regions(op)
        self._loops.pop()

    def _record(self, op: Operation) -> None:
        source = self._source_of(op)
        for result in op.results:
            self._sources[result] = source
        if isinstance(op, tir.LetOp) and self.hoisted.wants_let(op):
            moves = self._destination(source)
            if moves is not None:
                moves.lets.append(op)
        if not self.hoisted.wants(op):
            return
        count = 2 if isinstance(op, tir.AndOp | tir.OrOp) else 1
        for index in range(count):
            condition = _Condition(op, index)
            needs = self._sources.get(condition.value, _ANYWHERE)
            if not isinstance(condition.value.owner, tir.ConstOp) and self._allows(needs):
                moves = self._destination(needs)
                if moves is not None:
                    moves.conditions.append(condition)

    def _source_of(self, op: Operation) -> _Source:
        needs = [self._sources.get(operand, _ANYWHERE) for operand in op.operands]
        uses_block = any(need.uses_block for need in needs)
        is_let = isinstance(op, tir.LetOp)
        uses_let = is_let or any(need.uses_let for need in needs)
        if not self._is_movable(op):
            return _Source(len(self._loops), uses_block, uses_let)
        depth = max((need.depth for need in needs), default=0)
        return _Source(depth, uses_block, uses_let)

    def _is_movable(self, op: Operation) -> bool:
        if isinstance(op, tir.LetOp):
            required = HoistedLetBindings.RequiredByConditional
            return bool(self.hoisted.lets & required) or self.hoisted.wants_let(op)
        return not op.regions and can_speculate(op)

    def _allows(self, needs: _Source) -> bool:
        lets = HoistedLetBindings.RequiredByConditional | HoistedLetBindings.LetStmt
        if needs.uses_let and not self.hoisted.lets & lets:
            return False
        return not needs.uses_block or self._may_use_block_variables()

    def _may_use_block_variables(self) -> bool:
        return bool(self.hoisted.conditionals & HoistedConditionals.UsingBlockVar)

    def _destination(self, needs: _Source) -> _Moves | None:
        """The moves of the outermost loop that what needs this can go before."""
        count = len(self._loops)
        while count > max(needs.depth, self._floor):
            loop = self._loops[count - 1]
            if loop.has_sequence:
                break
            if loop.is_block and not self._may_use_block_variables():
                break
            count -= 1
        if count == len(self._loops):
            return None
        return self.moves.setdefault(self._loops[count].op, _Moves())


def _is_loop(op: Operation) -> bool:
    if isinstance(op, tir.AttrOp):
        return op.node is not None
    return isinstance(op, tir.ForOp | tir.LaunchThreadOp)


def _has_several_statements(block: Block) -> bool:
    return sum(map(_is_statement, block.ops)) > 1


def _is_statement(op: Operation) -> bool:
    """Whether it is a statement that TVM would put in a sequence."""
    if _is_evaluation(op):
        return True
    return not _is_no_statement(op) and (bool(op.regions) or not op_does_nothing(op))


_is_evaluation = of_classes(tir.EvaluateOp)
_is_no_statement = of_classes(tir.AssertOp, tir.IfThenElseOp, tir.ReducerOp, tir.YieldOp)


# ---- the rewrites ----

_MAX_DOUBLINGS = 6
"""How many conditions may each double the same code; others stay where they are."""


class _Rewriter:
    """Makes the moves of a plan, those of outer loops first."""

    def __init__(self, moves: dict[Operation, _Moves]) -> None:
        self._moves = moves
        self._decisions = _Decisions()
        self._analyzer = Analyzer()
        self._doublings = 0

    def visit(self, region: Region) -> None:
        for block in region.blocks:
            for op in list(block.ops):
                if op.parent is not block:
                    continue
                moves = self._moves.pop(op, None)
                if moves is None:
                    self._visit_inside(op)
                else:
                    self._move(op, moves)

    def _visit_inside(self, op: Operation) -> None:
        for region in op.regions:
            self.visit(region)

    def _move(self, loop: Operation, moves: _Moves) -> None:
        for let in moves.lets:
            if loop.is_ancestor(let):
                _move_out(let.result, loop)
        self._resolve(loop, moves.conditions)

    def _resolve(self, loop: Operation, conditions: list[_Condition]) -> None:
        """Put the conditions before the loop, the first one outermost."""
        pending = conditions[::-1]
        while pending:
            found = self._decisions.current(pending.pop())
            if not found:
                continue
            condition, *others = found
            pending += others[::-1]
            if not loop.is_ancestor(condition.op):
                continue
            tree = _tree(condition.value)
            truth = self._truth(tree)
            if truth is not None:
                self._decisions.decide(condition, truth=truth)
            elif not may_diverge(loop, leaf_values(tree)):
                alone = _is_guard_of_all(condition, loop)
                if alone or self._doublings < _MAX_DOUBLINGS:
                    rest = self._all_current(reversed(pending))
                    self._doublings += not alone
                    self._split(loop, condition, tree, rest, doubled=not alone)
                    self._doublings -= not alone
                    return
        self._visit_inside(loop)

    def _truth(self, tree: Expr) -> bool | None:
        if isinstance(tree, Const):
            return bool(tree.value)
        if self._analyzer.can_prove(tree):
            return True
        return False if self._analyzer.can_prove(negated(tree)) else None

    def _split(
        self,
        loop: Operation,
        condition: _Condition,
        tree: Expr,
        rest: list[_Condition],
        *,
        doubled: bool,
    ) -> None:
        """Put the loop in an `if`, with a copy of it for the case of false."""
        _move_out(condition.value, loop)
        copy = self._copied(loop) if doubled else None
        # Read before the condition is resolved, which takes it from the op.
        value = condition.value
        choice = tir.IfOp(value, else_region=None if copy is None else Region(Block()))
        choice.location = loop.location
        block = loop.parent
        assert block is not None
        block.insert_op_before(choice, loop)
        loop.detach()
        choice.then_region.block.add_op(loop)
        with self._analyzer.constraint(tree):
            self._decisions.decide(condition, truth=True)
            self._resolve(loop, rest)
        if copy is None or choice.else_region is None:
            return
        other, mapped = copy
        choice.else_region.block.add_op(other)
        with self._analyzer.constraint(negated(tree)):
            self._decisions.decide(_mapped(condition, mapped), truth=False)
            self._resolve(other, [_mapped(each, mapped) for each in rest])
        if does_nothing(choice.else_region):
            choice.detach_region(choice.else_region).erase()

    def _copied(self, loop: Operation) -> tuple[Operation, dict[Operation, Operation]]:
        """A copy of a loop, whose moves are those of the loop."""
        clone = loop.clone()
        mapped = dict(zip(loop.walk(), clone.walk(), strict=True))
        for old, new in mapped.items():
            moves = self._moves.get(old)
            if moves is not None:
                moves.conditions = self._all_current(moves.conditions)
                self._moves[new] = _mapped_moves(moves, mapped)
        return clone, mapped

    def _all_current(self, conditions: Iterable[_Condition]) -> list[_Condition]:
        return [now for each in conditions for now in self._decisions.current(each)]


def _mapped(condition: _Condition, mapped: dict[Operation, Operation]) -> _Condition:
    return _Condition(mapped.get(condition.op, condition.op), condition.index)


def _mapped_moves(moves: _Moves, mapped: dict[Operation, Operation]) -> _Moves:
    lets = [mapped.get(let, let) for let in moves.lets]
    return _Moves(
        [let for let in lets if isinstance(let, tir.LetOp)],
        [_mapped(condition, mapped) for condition in moves.conditions],
    )


def _tree(value: SSAValue) -> Expr:
    """The condition, without `likely`."""
    tree = view(value)
    while isinstance(tree, Call) and tree.name == "likely":
        (tree,) = tree.operands
    return tree


def _move_out(value: SSAValue, loop: Operation) -> None:
    """Move what a value needs before the loop, as far as it is inside of it."""
    block = loop.parent
    assert block is not None
    stack = [(value.owner, False)]
    while stack:
        op, operands_done = stack.pop()
        if isinstance(op, Block) or not loop.is_ancestor(op):
            continue
        if not operands_done:
            stack.append((op, True))
            stack += [(operand.owner, False) for operand in op.operands]
            continue
        op.detach()
        block.insert_op_before(op, loop)
        if isinstance(op, tir.LetOp):
            op.kind = tir.LetKindAttr(tir.LetKind.STMT)


def _is_guard_of_all(condition: _Condition, loop: Operation) -> bool:
    """Whether the loop does nothing where the condition does not hold."""
    guard = condition.op
    if not isinstance(guard, tir.IfOp) or guard.else_region is not None:
        return False
    return all(map(op_does_nothing, _walk_without(loop, guard)))


def _walk_without(root: Operation, left_out: Operation) -> Iterator[Operation]:
    stack = [root]
    while stack:
        op = stack.pop()
        if op is left_out:
            continue
        yield op
        for region in op.regions:
            for block in region.blocks:
                stack += block.ops


# ---- conditions that are known ----


def _take_branch(op: tir.IfOp, *, truth: bool) -> None:
    region = op.then_region if truth else op.else_region
    if region is None:
        Rewriter.erase_op(op)
    else:
        replace_by_body(op, region.block)


def _take_value(op: tir.IfThenElseOp, *, truth: bool) -> None:
    body = (op.true_region if truth else op.false_region).block
    last = body.last_op
    assert isinstance(last, tir.YieldOp), "verified"
    value = last.value
    Rewriter.erase_op(last)
    Rewriter.inline_block(body, InsertPoint.before(op))
    op.result.replace_all_uses_with(value)
    Rewriter.erase_op(op)


class _Decisions:
    """Resolves conditions that are known, and follows the others.

    Where one operand of a logical op is decided and the op is replaced by the other one,
    a condition that is the other operand is from then on what the op was used for.
    """

    def __init__(self) -> None:
        self._moved: dict[_Condition, list[_Condition]] = {}

    def current(self, condition: _Condition) -> list[_Condition]:
        """The operands that a condition is now."""
        found: list[_Condition] = []
        stack = [condition]
        while stack:
            each = stack.pop()
            if each in self._moved:
                stack += reversed(self._moved[each])
            else:
                found.append(each)
        return found

    def decide(self, condition: _Condition, *, truth: bool) -> None:
        """Make an op what it is where its condition is known."""
        value = condition.value
        self._decide(condition, truth=truth)
        erase_if_unused([value])

    def _decide(self, condition: _Condition, *, truth: bool) -> None:
        op = condition.op
        match op:
            case tir.IfOp():
                _take_branch(op, truth=truth)
            case tir.IfThenElseOp():
                _take_value(op, truth=truth)
            case tir.AndOp() | tir.OrOp():
                self._decide_logical(op, condition.index, truth=truth)
            case _:
                constant = tir.ConstOp.of(truth, i1)
                Rewriter.insert_op(constant, InsertPoint.before(op))
                op.operands[condition.index] = constant.result
                self._propagate(constant, truth=truth)

    def _decide_logical(
        self, op: tir.AndOp | tir.OrOp, index: int, *, truth: bool
    ) -> None:
        """`x and true` is `x`, `x or true` is true, and so on."""
        if isinstance(op, tir.AndOp) == truth:
            uses = [_Condition(use.operation, use.index) for use in op.result.uses]
            self._moved[_Condition(op, 1 - index)] = uses
            op.result.replace_all_uses_with(op.operands[1 - index])
            Rewriter.erase_op(op)
            return
        constant = tir.ConstOp.of(truth, i1)
        Rewriter.replace_op(op, constant)
        self._propagate(constant, truth=truth)
        erase_if_unused([constant.result])

    def _propagate(self, constant: tir.ConstOp, *, truth: bool) -> None:
        """Decide the conditions that a constant is."""
        for use in list(constant.result.uses):
            op = use.operation
            if op.parent is None:
                continue
            match op:
                case tir.IfOp() | tir.IfThenElseOp() | tir.AndOp() | tir.OrOp():
                    self.decide(_Condition(op, use.index), truth=truth)
                case tir.NotOp():
                    opposite = tir.ConstOp.of(not truth, i1)
                    Rewriter.replace_op(op, opposite)
                    self._propagate(opposite, truth=not truth)
                case tir.CallOp() if op.callee.data == "likely":
                    again = tir.ConstOp.of(truth, i1)
                    Rewriter.replace_op(op, again)
                    self._propagate(again, truth=truth)
                case _:
                    pass
