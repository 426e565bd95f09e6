"""All ops below an op, as a list."""

from __future__ import annotations

from xdsl.ir import Operation, Region


def all_ops(root: Operation | Region) -> list[Operation]:
    """The ops in a region, or an op and those in its regions, in the order of the text.

    What `root.walk()` gives, as they are now. It takes a fraction of the time, which for
    `walk` is that of the depth of each op.
    """
    found: list[Operation] = []
    pending: list[Operation | None] = []
    # Few classes derive from this one; all that others do would be asked otherwise.
    if isinstance(root, Region):
        pending += [block.first_op for block in reversed(root.blocks)]
    else:
        found.append(root)
        enter_regions(root, pending)
    while pending:
        op = pending.pop()
        while op is not None:
            found.append(op)
            following = op.next_op
            if op.regions:
                pending.append(following)
                enter_regions(op, pending)
                following = None
            op = following
    return found


def enter_regions(op: Operation, pending: list[Operation | None]) -> None:
    """Note where the blocks of an op begin, the last of them first."""
    for region in reversed(op.regions):
        pending += [block.first_op for block in reversed(region.blocks)]
