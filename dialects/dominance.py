"""Values are used after their definition, which xDSL itself does not verify."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl.dominance import DominanceInfo
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.all_ops import all_ops
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.quick_accessors import stored_operands

_is_block = of_classes(Block)


def verify_dominance(
    what: str, function: Operation, *, across_blocks: bool = True
) -> None:
    """Check that each operand in a function is defined before its use.

    The rule is MLIR's for regions with SSA dominance. Time is linear in the size of the
    function, but for regions of several blocks; without `across_blocks`, what another
    block of a region defines passes there as defined, in linear time. Raises
    VerifyException that begins with `what` and names the first op that breaks the rule.
    """
    walk = _DominanceWalk(across_blocks)
    seen = walk.seen
    for op in all_ops(function):
        block = op.parent
        for number, operand in enumerate(stored_operands(op)):
            owner = operand.owner
            # Most operands are of the same block.
            if owner is block or (owner.parent is block and owner in seen):
                continue
            if not walk.is_defined(operand, op):
                raise VerifyException(
                    f"{what}: operand {number} of {op.name}, {_origin(operand)}, is not "
                    "defined where it is used; move the use after the definition"
                )
        seen.add(op)


def previous_ops(op: Operation) -> Iterator[Operation]:
    """The operations before `op` in its block, the nearest first."""
    previous = op.prev_op
    while previous is not None:
        yield previous
        previous = previous.prev_op


def _origin(value: SSAValue) -> str:
    name = "" if value.name_hint is None else f"%{value.name_hint} of "
    owner = value.owner
    return f"{name}{owner.name if isinstance(owner, Operation) else 'another block'}"


@dataclass
class _DominanceWalk:
    """What is before an op."""

    across_blocks: bool
    seen: set[Operation] = field(default_factory=set[Operation])
    """What is before an op, and what holds it."""
    _ancestors: dict[tuple[Block, Block | None], Operation | None] = field(
        default_factory=dict[tuple[Block, "Block | None"], "Operation | None"]
    )
    """For a block and one inside of it, the op of the first that holds the other."""
    _blocks: dict[Region, DominanceInfo] = field(
        default_factory=dict[Region, DominanceInfo]
    )

    def is_defined(self, value: SSAValue, user: Operation) -> bool:
        owner = value.owner
        home = owner if _is_block(owner) else owner.parent
        if home is None:
            return False
        ancestor = user
        if user.parent is not home:
            blocks = home, user.parent
            if blocks not in self._ancestors:
                self._ancestors[blocks] = home.find_ancestor_op_in_block(user)
            found = self._ancestors[blocks]
            if found is None:
                return self._is_behind(home, user)
            ancestor = found
        return owner is home or (owner is not ancestor and owner in self.seen)

    def _is_behind(self, home: Block, user: Operation) -> bool:
        """Whether a user is in a block of the same region that `home` dominates."""
        region = home.parent
        if region is None or user.parent is None:
            return False
        block = region.find_ancestor_block_in_region(user.parent)
        if block is None:
            return False
        if not self.across_blocks:
            return block is not home
        if region not in self._blocks:
            self._blocks[region] = DominanceInfo(region)
        return self._blocks[region].strictly_dominates(home, block)
