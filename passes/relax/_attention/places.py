"""What attention computes, and where its tensors have it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import f32, i64

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, Value
from xdsl_tvm.passes.relax.legalize.tensor_expression import Dim, Tensor
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode


@dataclass(frozen=True)
class Attention:
    """What is computed; all but batch and keys, and perhaps queries, are known."""

    queries: int | None
    heads: int
    key_heads: int
    value_heads: int
    features: int
    value_features: int
    scale: float
    heads_first: bool = False
    """Whether tensors are batch, heads, sequence, features; else heads are third."""
    causal_mask: str | None = None
    window: int | None = None


@dataclass(frozen=True)
class Places:
    """The tensors of attention: query, key and value, a bias or none, the result."""

    what: Attention
    query: Tensor
    key: Tensor
    value: Tensor
    bias: Tensor | None
    out: Tensor

    @cached_property
    def batch(self) -> Expr:
        return _extent(self.query.shape[0])

    @cached_property
    def keys(self) -> Expr:
        return _extent(self.key.shape[2 if self.what.heads_first else 1])

    @cached_property
    def queries(self) -> Expr:
        return _extent(self.query.shape[2 if self.what.heads_first else 1])

    @cached_property
    def offset(self) -> Expr:
        """How far the masks are moved to later keys."""
        if self.what.causal_mask != "BottomRight":
            return constant(0)
        return smart.sub(self.keys, self.queries)

    def indices(self, batch: Expr, place: Expr, head: Expr, feature: Expr) -> list[Expr]:
        """Those of an element of a query, a key, a value or a result."""
        middle = [head, place] if self.what.heads_first else [place, head]
        return [batch, *middle, feature]

    def shared_head(self, head: Expr, heads: int) -> Expr:
        """The head of so many of keys or values that a head of queries uses."""
        return smart.floordiv(head, constant(self.what.heads // heads))

    def seen(self, first: Expr, rows: int | Expr) -> tuple[Expr, Expr]:
        """The keys that some of `rows` rows may see: the first, and the end of them."""
        rows = constant(rows) if isinstance(rows, int) else rows
        start, end = constant(0), self.keys
        # Rows are taken up to the last one of a block, even after the last query.
        place = smart.add(first, self.offset)
        if self.what.causal_mask is not None:
            end = smart.minimum(end, smart.add(place, rows))
        if self.what.window is not None:
            seen = smart.sub(place, constant(self.what.window - 1))
            start = smart.maximum(seen, constant(0))
        return start, end

    def bias_of(self, code: LoopCode, at: tuple[Expr, Expr, Expr, Expr]) -> Expr:
        """The bias in f32 of batch, head, row and key, which exist."""
        assert self.bias is not None
        shape = self.bias.shape
        indices = [
            constant(0) if dim == 1 else index
            for dim, index in zip(shape, at[len(at) - len(shape) :], strict=True)
        ]
        return smart.cast(f32, code.load(self.bias.buffer, *indices))

    def masked(self, score: Expr, row: Expr, key: Expr) -> Expr:
        """A score, minus infinity where the row does not see the key."""
        place = smart.add(row, self.offset)
        hidden = smart.const(float("-inf"), f32)
        if self.what.causal_mask is not None:
            score = smart.select(smart.le(key, place), score, hidden)
        if self.what.window is not None:
            least = smart.sub(place, constant(self.what.window))
            score = smart.select(smart.gt(key, least), score, hidden)
        return score


def constant(value: int) -> Expr:
    """An index."""
    return smart.const(value, i64)


def split(index: Expr, size: int) -> tuple[Expr, Expr]:
    """Quotient and remainder."""
    by = constant(size)
    return smart.floordiv(index, by), smart.floormod(index, by)


def count(extent: Expr, step: int) -> Expr:
    """How many steps cover an extent."""
    return smart.floordiv(smart.add(extent, constant(step - 1)), constant(step))


def _extent(dim: Dim) -> Expr:
    return constant(dim) if isinstance(dim, int) else Value(dim.value)
