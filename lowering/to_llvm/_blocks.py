"""Edits of control-flow graphs that several lowerings make."""

from __future__ import annotations

from xdsl.ir import Block, Operation


def split_behind(op: Operation) -> Block:
    """A new block after that of `op`, with all that followed `op`.

    Where a block is split at several ops, begin with the last: each op then moves to
    its final block at once.
    """
    block, region = op.parent_block(), op.parent_region()
    assert block is not None
    assert region is not None
    rest = Block()
    region.insert_block_after(rest, block)
    following = op.next_op
    while following is not None:
        after = following.next_op
        following.detach()
        rest.add_op(following)
        following = after
    return rest
