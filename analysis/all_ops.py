"""All ops below an op, or the outermost ones of some kind, as a list; their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.ir import Operation, SSAValue

from xdsl_tvm.dialects.all_ops import all_ops as all_ops
from xdsl_tvm.dialects.all_ops import enter_regions
from xdsl_tvm.dialects.all_ops import ops_in as ops_in
from xdsl_tvm.dialects.all_ops import ops_of as ops_of
from xdsl_tvm.dialects.all_ops import ops_with as ops_with


def all_values(root: Operation) -> Iterator[SSAValue]:
    """The results of an op and of those in its regions, and the arguments of blocks."""
    for op in all_ops(root):
        yield from op.results
        for region in op.regions:
            for block in region.blocks:
                yield from block.args


def outermost_ops(
    root: Operation, is_found: Callable[[Operation], bool]
) -> list[Operation]:
    """The ops in an op for which `is_found` holds, in the order of the text, without
    those inside of others. What they hold is not visited."""
    found: list[Operation] = []
    pending: list[Operation | None] = []
    enter_regions(root, pending)
    while pending:
        op = pending.pop()
        while op is not None:
            following = op.next_op
            if is_found(op):
                found.append(op)
            elif op.regions:
                pending.append(following)
                enter_regions(op, pending)
                following = None
            op = following
    return found
