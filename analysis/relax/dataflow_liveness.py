"""From where to where the values of a Relax dataflow block live.

Positions count the operations of the block, its terminator being position N. The rules
are TVM's (docs/spec/relax-passes-headline.md, DataflowUseInplaceCalls §2.1) but for one:
taking a field of a tuple is a use of the tuple. TVM takes it for none, and so writes
over tensors that a tuple still holds.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Operation, SSAValue


def uses_at(op: Operation) -> Iterator[SSAValue]:
    """The values from outside of `op` that it uses, itself or in its regions."""
    yield from op.operands
    if not op.regions:
        return
    inside = {block for inner in op.walk() for r in inner.regions for block in r.blocks}
    for inner in op.walk():
        if inner is not op:
            for operand in inner.operands:
                owner = operand.owner
                home = owner.parent if isinstance(owner, Operation) else owner
                if home not in inside:
                    yield operand


def live_ranges(block: Block) -> dict[SSAValue, tuple[int, int]]:
    """First and last position of each value that is defined or used in a block.

    A value of the block lives from the operation that makes it to the last that uses it,
    and to N if the terminator names it. One from outside starts at -1 and lives to N,
    since who defines it may use it later. Values come in the order in which they first
    occur. Linear in the size of the block.
    """
    ops = [op for op in block.ops if op is not block.last_op]
    end = len(ops)
    starts: dict[SSAValue, int] = {}
    ends: dict[SSAValue, int] = {}
    for position, op in enumerate(ops):
        for value in uses_at(op):
            ends[value] = position if starts.setdefault(value, -1) >= 0 else end
        for result in op.results:
            starts[result] = ends[result] = position
    if block.last_op is not None:
        for value in uses_at(block.last_op):
            starts.setdefault(value, -1)
            ends[value] = end
    return {value: (start, ends[value]) for value, start in starts.items()}
