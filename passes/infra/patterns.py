"""Rewrite patterns of passes, applied in one walk.

A pass whose rewrite is local has it as a public `RewritePattern`, so that an embedder can
combine it with others in a `GreedyRewritePatternApplier`. xDSL's walker visits what a
pattern creates, and all operations again until nothing changes; the pass has no need of
that, and takes the operations that it has found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.builder import InsertOpInvT
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint, Rewriter


def rewrite_each(pattern: RewritePattern, ops: Iterable[Operation]) -> None:
    """Applies a pattern once to each operation, in order, and not to what it creates.

    The operations are those of a list where the pattern erases or moves operations.
    """
    rewriter: _DirectRewriter | None = None
    for op in ops:
        if rewriter is None:
            rewriter = _DirectRewriter(op)
        rewriter.matched = op
        rewriter.has_done_action = False
        pattern.match_and_rewrite(op, rewriter)


class _DirectRewriter(PatternRewriter):
    """A rewriter without listeners, for many operations one after the other.

    Making a rewriter for each operation, and lists of what an edit modifies, takes some
    microseconds each, as much as a small rewrite.
    """

    def __init__(self, matched: Operation) -> None:
        super().__init__(matched)
        self.matched = matched

    def insert(
        self, op: InsertOpInvT, insertion_point: InsertPoint | None = None
    ) -> InsertOpInvT:
        self.has_done_action = True
        Rewriter.insert_op(op, insertion_point or InsertPoint.before(self.matched))
        return op

    def erase(self, op: Operation, safe_erase: bool = True) -> None:
        self.has_done_action = True
        Rewriter.erase_op(op, safe_erase=safe_erase)

    def replace(
        self,
        op: Operation,
        new_ops: Operation | Sequence[Operation],
        new_results: Sequence[SSAValue | None] | None = None,
        safe_erase: bool = True,
    ) -> None:
        self.has_done_action = True
        Rewriter.replace_op(op, new_ops, new_results, safe_erase=safe_erase)

    def replace_all_uses_with(
        self, from_value: SSAValue, to_value: SSAValue | None, safe_erase: bool = True
    ) -> None:
        self.has_done_action = True
        if to_value is None:
            from_value.erase(safe_erase=safe_erase)
        else:
            from_value.replace_all_uses_with(to_value)

    def notify_op_modified(self, op: Operation) -> None:
        self.has_done_action = True
