"""Loops and launches over the axes of a kernel's threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.storage_scope import StorageScope
from xdsl_tvm.passes.tir.rewriting.statements import describe, names_variable


def outermost_ops(
    function: Operation, is_wanted: Callable[[Operation], bool]
) -> Iterator[Operation]:
    """The wanted ops of a function that no other wanted op encloses, in textual order."""
    pending = [op for region in function.regions for op in _ops_reversed(region.blocks)]
    while pending:
        op = pending.pop()
        if is_wanted(op):
            yield op
            continue
        for region in reversed(op.regions):
            pending += _ops_reversed(region.blocks)


def _ops_reversed(blocks: Iterable[Block]) -> list[Operation]:
    return [op for block in reversed(tuple(blocks)) for op in reversed(tuple(block.ops))]


def axis_of(op: Operation) -> str | None:
    """The tag of the thread axis that an op binds, if it does."""
    if isinstance(op, tir.ForOp):
        return None if op.thread_tag is None else op.thread_tag.data
    return op.tag.data if isinstance(op, tir.LaunchThreadOp) else None


def axes_around(op: Operation, end: Operation | None = None) -> Iterator[str]:
    """The tags bound around an op, from the innermost, up to `end`."""
    parent = op.parent_op()
    while parent is not None and parent is not end:
        tag = axis_of(parent)
        if tag is not None:
            yield tag
        parent = parent.parent_op()


def is_private(buffer: SSAValue) -> bool:
    """Whether each thread has its own copy of a buffer."""
    scope = tir.buffer_definition(buffer).type.scope.data
    return not StorageScope.parse(scope).is_shared_by_threads


def require_same_range(
    op: Operation,
    own: tuple[Expr, Expr],
    first: tuple[Expr, Expr],
    analyzer: Analyzer,
) -> None:
    """Raise PassFailedException unless two bindings of an axis have one range.

    The ranges are minimum and extent; `op` is the later binding.
    """
    for what, one, other in zip(("minimum", "extent"), first, own, strict=True):
        if not analyzer.can_prove_equal(*smart.matched(one, other)):
            raise PassFailedException(
                f'{describe(op)}: "{axis_of(op)}" has the {what} {one} and the {what} '
                f"{other} in one kernel; give the axis one range"
            )


def replace_variable(binding: Operation, value: SSAValue, place: InsertPoint) -> None:
    """Use another variable of the same axis for that of a binding.

    One of another type is converted at the place, except where the variable is named, as
    in a reduction.
    """
    old = binding.regions[0].block.args[0]
    old.replace_uses_with_if(value, names_variable)
    if old.type != value.type and old.first_use is not None:
        converted = tir.CastOp(value, old.type)
        converted.location = binding.location
        Rewriter.insert_op(converted, place)
        value = converted.result
    old.replace_all_uses_with(value)
