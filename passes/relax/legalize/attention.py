"""Rules of attention (docs/spec/relax-ops.md §11)."""

from __future__ import annotations

import math

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.attention import AnyAttentionOp
from xdsl_tvm.passes.relax.legalize.extents import minus, moved, quotient
from xdsl_tvm.passes.relax.legalize.normalization import softmax_stages
from xdsl_tvm.passes.relax.legalize.reductions import rounded
from xdsl_tvm.passes.relax.legalize.registry import NoStagesError, RuleContext, rule
from xdsl_tvm.passes.relax.legalize.stages import accumulator_type, broadcast_indices
from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    SUM,
    Dim,
    Expr,
    Tensor,
    TensorProgram,
)


@rule(relax.AttentionOp, relax.AttentionBiasOp)
def attention(op: AnyAttentionOp, site: RuleContext) -> Tensor:
    """`softmax(mask(query · key * scale + bias)) · value`, in `f32` for 16-bit floats.

    Operands have dimensions batch, sequence, heads, features, and products read them as
    they are: nothing is transposed. Heads of queries share heads of keys and values in
    equal parts. A query that sees no key becomes NaN. Integers have no softmax.
    """
    program = site.program
    query, key, value = (site.tensor(position) for position in range(3))
    if not all(tir.is_float(each.dtype) for each in (query, key, value)):
        raise NoStagesError
    batch, queries, heads, features = query.shape
    keys = key.shape[1]
    wide = accumulator_type(query.dtype)

    def product(at: list[Expr], over: list[Expr]) -> Expr:
        b, h, i, j = at
        other = key[b, j, _shared(program, h, heads, key.shape[2]), over[0]]
        return query[b, i, h, over[0]].cast(wide) * other.cast(wide)

    shape = [batch, heads, queries, keys]
    products = program.reduce("attention_qk", shape, [features], wide, SUM, product)

    def scale() -> Expr:
        if op.scale is not None:
            return program.constant(op.scale.value.data, wide)
        if isinstance(features, int):
            return program.constant(1 / math.sqrt(features), wide)
        return features.cast(wide).call("rsqrt")

    def score(*at: Expr) -> Expr:
        found = products[at] * scale()
        if isinstance(op, relax.AttentionBiasOp):
            bias = site.tensor(3)
            found = found + bias[broadcast_indices(program, bias, at, shape)].cast(wide)
        seen = _seen(op, program, at, queries, keys)
        if seen is None:
            return found
        return program.select(seen, found, program.constant(float("-inf"), wide))

    scores = program.compute("attention_scores", shape, wide, score)
    weights = softmax_stages(program, scores, 3, wide)

    def mix(at: list[Expr], over: list[Expr]) -> Expr:
        b, i, h, feature = at
        own = _shared(program, h, heads, value.shape[2])
        return weights[b, h, i, over[0]] * value[b, over[0], own, feature].cast(wide)

    found = program.reduce("attention", site.shape, [keys], wide, SUM, mix)
    return rounded(program, found, site.dtype)


def _shared(program: TensorProgram, head: Expr, heads: Dim, others: Dim) -> Expr:
    """The head of keys or values that a head of queries uses."""
    if heads == others:
        return head
    size = quotient(program, heads, others)
    if isinstance(size, int):
        return head if size == 1 else head // program.extent(size)
    # Never a division by 0, not even where the heads are no multiple of the others.
    return head * program.extent(others) // program.extent(heads)


def _seen(
    op: AnyAttentionOp,
    program: TensorProgram,
    at: tuple[Expr, ...],
    queries: Dim,
    keys: Dim,
) -> Expr | None:
    """Whether a query sees a key, None where it sees all."""
    place, key = at[2], at[3]
    seen: Expr | None = None
    if op.causal_mask is not None:
        if op.causal_mask.data == "BottomRight":
            place = moved(program, place, 1, minus(program, keys, queries))
        seen = key <= place
    if op.window_size is not None:
        first = moved(program, place, 1, -op.window_size.value.data)
        seen = key > first if seen is None else seen & (key > first)
    return seen
