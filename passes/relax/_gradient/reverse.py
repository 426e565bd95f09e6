"""The derivatives of a value by others, from the last operation to the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.relax._gradient.builder import (
    Adjoint,
    GradientBuilder,
    is_differentiable,
    unsupported,
)
from xdsl_tvm.passes.relax._gradient.rules import RULES, TUPLE_RULES

_CHECKPOINTS = (relax.StartCheckpointOp, relax.EndCheckpointOp)
_SAME = (relax.AliasOp, relax.MatchCastOp)


@dataclass
class Reverse:
    """The derivatives of a value of a dataflow block, computed at the block's end."""

    block: Block
    inside: set[Operation] = field(default_factory=set[Operation])
    """Operations between checkpoints, whose results are computed again."""
    _copies: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    _adjoints: dict[SSAValue, Adjoint] = field(default_factory=dict[SSAValue, Adjoint])

    def remove_checkpoints(self) -> None:
        """Remove the marks of checkpoints; remember what is between them."""
        within = set[SSAValue]()
        for op in list(self.block.ops):
            if isinstance(op, relax.StartCheckpointOp):
                within.add(op.result)
            elif isinstance(op, relax.EndCheckpointOp):
                continue
            elif not within.isdisjoint(op.operands) and op is not self.block.last_op:
                within.update(op.results)
                self.inside.add(op)
        for op in list(self.block.ops):
            if isinstance(op, _CHECKPOINTS):
                Rewriter.replace_op(op, (), (op.data,))

    def derivatives(
        self, target: SSAValue, required: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """The derivative by each of the required values, zeros where there is none."""
        active = self._active(required)
        last = self.block.last_op
        assert last is not None, "a block ends with a terminator"
        ops = list(self.block.ops)[:-1]
        start = GradientBuilder(last, last)
        one = start.insert(relax.OnesOp(start.shape([]), start.dtype(target)))
        self._adjoints[target] = one
        for op in reversed(ops):
            is_reached = any(self._adjoints.get(r) is not None for r in op.results)
            if is_reached and not active.isdisjoint(op.operands):
                self._visit(op, active, GradientBuilder(last, op))
        builder = GradientBuilder(last, last)
        return [builder.whole(self._adjoints.get(each), each) for each in required]

    def _active(self, required: Sequence[SSAValue]) -> set[SSAValue]:
        """The values that depend on required ones."""
        active = set(required)
        for op in self.block.ops:
            if not active.isdisjoint(op.operands) and not isinstance(op, relax.NoGradOp):
                active.update(r for r in op.results if is_differentiable(r.type))
        return active

    def _visit(
        self, op: Operation, active: set[SSAValue], builder: GradientBuilder
    ) -> None:
        adjoint = self._adjoints.get(op.results[0])
        match op:
            case relax.TupleOp():
                assert isinstance(adjoint, list), "of a tuple"
                parts: Sequence[Adjoint] = adjoint
            case relax.GetItemOp():
                type_ = op.tuple_value.type
                assert isinstance(type_, relax.TupleType), "verified"
                fields: list[Adjoint] = [None] * len(type_.fields.data)
                fields[op.index.value.data] = adjoint
                parts = [fields]
            case _ if isinstance(op, _SAME):
                parts = [adjoint]
            case _:
                parts = self._of_operator(op, adjoint, builder)
        for operand, part in zip(op.operands, parts, strict=True):
            if part is not None and operand in active:
                known = self._adjoints.get(operand)
                self._adjoints[operand] = builder.added(known, part)

    def _of_operator(
        self, op: Operation, adjoint: Adjoint, builder: GradientBuilder
    ) -> Sequence[Adjoint]:
        op = self._forward(op, builder)
        rule, of_fields = RULES.get(type(op)), TUPLE_RULES.get(type(op))
        if rule is not None and isinstance(adjoint, SSAValue):
            return rule(builder, op, adjoint)
        if of_fields is not None and isinstance(adjoint, list):
            return of_fields(builder, op, adjoint)
        return unsupported(
            op, "it has no gradient; mark its result by relax.grad.no_grad"
        )

    def _forward(self, op: Operation, builder: GradientBuilder) -> Operation:
        """An operation whose operands and results may be used here.

        What is between checkpoints is computed again, once.
        """
        pending = [op]
        while pending:
            current = pending[-1]
            if current not in self.inside or current.results[0] in self._copies:
                pending.pop()
                continue
            missing = [
                value.owner
                for value in current.operands
                if value.owner in self.inside and value not in self._copies
            ]
            if missing:
                pending += [each for each in missing if isinstance(each, Operation)]
                continue
            copy = builder.insert_op(current.clone(dict(self._copies)))
            copy.location = current.location
            self._copies.update(zip(current.results, copy.results, strict=True))
            pending.pop()
        found = self._copies.get(op.results[0])
        owner = op if found is None else found.owner
        assert isinstance(owner, Operation), "a result"
        return owner
