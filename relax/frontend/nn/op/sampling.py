"""Operators of models that sample from the most likely tokens.

Names and parameters are TVM's. The tokens that are kept are the first in descending
order, up to the one at which their probabilities have reached `top_p` or their number
`top_k`; one at least.
"""

from __future__ import annotations

from xdsl_tvm.relax.frontend.nn.op.elementwise import (
    divide,
    greater_equal,
    less,
    less_equal,
    minimum,
    multiply,
    where,
)
from xdsl_tvm.relax.frontend.nn.op.shapes import arange, cumsum, sum, take
from xdsl_tvm.relax.frontend.nn.tensor import Tensor, operate


def sample_top_p_top_k_from_sorted_prob(
    sorted_prob: Tensor,
    sorted_index: Tensor,
    top_p: Tensor,
    top_k: Tensor,
    uniform_sample: Tensor,
    sample_indices: Tensor | None = None,
) -> Tensor:
    """For samples `[n, 1]` from 0 to 1, tokens drawn from the most likely ones of rows.

    `sorted_prob` `[rows, tokens]` has the probabilities in descending order, and
    `sorted_index` their tokens; `top_p` and `top_k` are `[rows, 1]`. Sample `i` is drawn
    from row `sample_indices[i, 0]`, from row `i` without them. The result is `[n, 1]`, of
    the dtype of `sorted_index`. Raises ValueError if there are other numbers of rows and
    of samples without `sample_indices`.
    """
    total = cumsum(sorted_prob, 1)
    share = divide(total, _gathered(total, _last_kept(total, top_p, top_k)))
    if sample_indices is None:
        rows, count = sorted_prob.shape[0], uniform_sample.shape[0]
        if rows != count:
            raise ValueError(
                "nn.op.sample_top_p_top_k_from_sorted_prob: "
                f"{count} samples of {rows} distributions need sample_indices"
            )
    else:
        flat = sample_indices.reshape(-1)
        share, sorted_index = take(share, flat, 0), take(sorted_index, flat, 0)
    drawn = sum(less_equal(share, uniform_sample).astype("int64"), 1, keepdims=True)
    return _gathered(sorted_index, _at_most_last(drawn, sorted_prob))


def renormalize_top_p_top_k_prob(
    prob: Tensor, sorted_prob: Tensor, top_p: Tensor, top_k: Tensor
) -> Tensor:
    """The probabilities `[rows, tokens]` of the most likely tokens, brought to sum 1.

    Others are 0. Tokens as likely as the last one that is kept are kept, too.
    `sorted_prob` has the probabilities in descending order; `top_p` and `top_k` are
    `[rows, 1]`.
    """
    last = _last_kept(cumsum(sorted_prob, 1), top_p, top_k)
    is_kept = greater_equal(prob, _gathered(sorted_prob, last))
    kept = where(is_kept, prob, 0.0)
    return divide(kept, sum(kept, 1, keepdims=True))


def _last_kept(total: Tensor, top_p: Tensor, top_k: Tensor) -> Tensor:
    """The position `[rows, 1]` of the least likely token that is kept."""
    tokens = total.shape[1]
    position = arange(1, tokens + 1, 1, "int64")
    below = multiply(
        less(total, top_p).astype("int64"),
        less(position, top_k.astype("int64")).astype("int64"),
    )
    return _at_most_last(sum(below, 1, keepdims=True), total)


def _at_most_last(position: Tensor, x: Tensor) -> Tensor:
    """Positions, or that of the last column where they are after it.

    They are at most the number of columns, which is counted where it is a symbol.
    """
    tokens = x.shape[1]
    if isinstance(tokens, int):
        return minimum(position, tokens - 1)
    is_last = greater_equal(position, sum(arange(0, tokens, 1, "int64") * 0 + 1))
    return position - is_last.astype("int64")


def _gathered(x: Tensor, position: Tensor) -> Tensor:
    """The elements of rows at positions `[rows, 1]`."""
    return operate("gather_elements", x, position, 1, name="gather_elements")
