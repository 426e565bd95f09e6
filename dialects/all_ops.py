"""All ops below an op, or those of some classes, as a list."""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import cache
from itertools import compress
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar, cast

from xdsl.ir import Block, Operation, Region

from xdsl_tvm.dialects.by_class import DerivedClasses, of_classes

if TYPE_CHECKING:
    from collections.abc import Iterator

_T = TypeVar("_T")


def all_ops(root: Operation | Region) -> list[Operation]:
    """The ops in a region, or an op and those in its regions, in the order of the text.

    What `root.walk()` gives, as they are now. It takes a fraction of the time, which for
    `walk` is that of the depth of each op.
    """
    found: list[Operation] = []
    pending: list[Operation | None] = []
    if _is_region(root):
        _enter(root, pending)
    else:
        found.append(root)
        enter_regions(root, pending)
    while pending:
        op = pending.pop()
        while op is not None:
            found.append(op)
            following = _next(op)
            if op.regions:
                pending.append(following)
                enter_regions(op, pending)
                break
            op = following
    return found


def ops_in(block: Block) -> list[Operation]:
    """The ops of a block, without those inside of them, as they are now.

    What `list(block.ops)` gives, which goes through them twice, first to count them.
    """
    found: list[Operation] = []
    op = block.first_op
    while op is not None:
        found.append(op)
        op = _next(op)
    return found


_next: Callable[[Operation], Operation | None] = attrgetter("_next_op")
"""`op.next_op`, without a call of Python for each of all ops; those below, too."""
_first: Callable[[Block], Operation | None] = attrgetter("_first_op")
_previous: Callable[[Block], Block | None] = attrgetter("_prev_block")
_last_block: Callable[[Region], Block | None] = attrgetter("_last_block")
_is_region = of_classes(Region)
_classes = cache(DerivedClasses)


def ops_of(root: Operation | Region, *classes: type[_T]) -> list[_T]:
    """Those of `all_ops` that are instances of one of the classes."""
    ops = all_ops(root)
    # Without bytecode for an op: most passes of a pipeline find nothing this way.
    found = compress(ops, map(_classes(classes).__getitem__, map(type, ops)))
    return list(cast("Iterator[_T]", found))


def ops_with(root: Operation | Region, classes: Container[type]) -> list[Operation]:
    """Those of `all_ops` whose class is one of these, derived classes aside."""
    ops = all_ops(root)
    return list(compress(ops, map(classes.__contains__, map(type, ops))))


def enter_regions(op: Operation, pending: list[Operation | None]) -> None:
    """Note where the blocks of an op begin, the last of them first."""
    regions = op.regions
    if len(regions) == 1:
        _enter(regions[0], pending)
        return
    for region in reversed(regions):
        _enter(region, pending)


def _enter(region: Region, pending: list[Operation | None]) -> None:
    block = _last_block(region)
    while block is not None:
        pending.append(_first(block))
        block = _previous(block)
