"""Expressions that are computed once more, elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from xdsl_tvm.analysis.derivation import derived_from_itself


@dataclass
class ExpressionCopier:
    """Copies the ops that compute a value, down to leaves.

    Each op is copied once. Linear in what is copied.
    """

    is_copied: Callable[[Operation], bool]
    """Whether an op may be computed elsewhere; the values of others are leaves."""
    leaf: Callable[[SSAValue], SSAValue]
    """What a leaf is elsewhere; asked once for each."""
    insert: Callable[[Operation], None]
    """Puts a copy after those that have been inserted so far."""
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """What values are elsewhere."""

    def copy(self, value: SSAValue) -> SSAValue:
        """The value elsewhere. Leaves are asked for in the order of operands.

        Raises VerifyException for a value that is derived from itself.
        """
        pending, entered = [value], set[Operation]()
        while pending:
            current = pending[-1]
            if current in self.values:
                pending.pop()
                continue
            op = current.owner
            if not isinstance(op, Operation) or not self.is_copied(op):
                self.values[current] = self.leaf(current)
                continue
            missing = [each for each in operands_of(op) if each not in self.values]
            if missing:
                if op in entered:
                    raise derived_from_itself(current)
                entered.add(op)
                pending += reversed(missing)
                continue
            # The clone maps the results.
            self.insert(op.clone(self.values))
        return self.values[value]


def operands_of(op: Operation) -> Iterator[SSAValue]:
    """The values from outside of an op that it, or what it holds, uses."""
    yield from op.operands
    if op.regions:
        for inner in op.walk():
            if inner is not op:
                for operand in inner.operands:
                    if not op.is_ancestor(operand.owner):
                        yield operand
