"""Counts of sequences of words, which are numbers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from xdsl_tvm import relax
from xdsl_tvm.frontend.onnx.node import Node, converts
from xdsl_tvm.frontend.onnx.values import Array, Value
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr


@converts("TfIdfVectorizer", since=9)
def _tf_idf(node: Node) -> Value:
    """How often each n-gram of the pool is in a row, words skipped or not."""
    mode = node.str_of("mode")
    if mode not in ("TF", "IDF", "TFIDF"):
        raise node.error(f"mode must be TF, IDF or TFIDF, not {mode}")
    if node.is_set("pool_strings"):
        raise node.error("a pool of text is not converted; use pool_int64s")
    pool, columns = node.ints_of("pool_int64s"), node.ints_of("ngram_indexes")
    if node.rank() not in (1, 2) or not columns or min(columns) < 0:
        raise node.error("it needs rows of words, and columns of n-grams")
    words, width = node.sizes()[-1], max(columns) + 1
    x = op.astype(node.expr(), "int64")
    x = node.emit(x if node.rank() == 2 else op.expand_dims(x, [0]))
    rows = x.shape[0]
    starts = [*node.ints_of("ngram_counts"), len(pool)]
    shortest, longest = node.int_of("min_gram_length"), node.int_of("max_gram_length")
    total: Expr = op.zeros([rows, width], "float32")
    first = 0
    for length, (begin, end) in enumerate(pairwise(starts), 1):
        grams = np.array(pool[begin:end], np.int64)
        count = len(grams) // length
        places = columns[first : first + count]
        if len(grams) % length or len(places) < count:
            raise node.error(f"the pool has no whole number of {length}-grams")
        first += count
        if not count or not shortest <= length <= longest:
            continue
        target = np.zeros((count, width), np.float32)
        target[np.arange(count), places] = 1
        # Words are skipped between two of them only.
        skips = node.int_of("max_skip_count") if length > 1 else 0
        for step in range(1, skips + 2):
            if words - step * (length - 1) <= 0:
                break
            found = _counted(node, x, words, grams.reshape(count, length), step)
            total = node.emit(op.add(total, op.matmul(found, relax.const(target))))
    if mode != "TF":
        weights = np.array(node.floats_of("weights", [1.0] * width), np.float32)
        if len(weights) != width:
            raise node.error(f"it has {len(weights)} weights for {width} columns")
        if mode == "IDF":
            total = op.astype(op.greater(total, relax.const(np.float32(0))), "float32")
        total = op.multiply(total, relax.const(weights))
    return total if node.rank() == 2 else op.squeeze(total, [0])


def _counted(node: Node, x: Expr, words: int, grams: Array, step: int) -> Expr:
    """How often each n-gram is in the rows, with words `step` apart."""
    length = grams.shape[1]
    same: Expr | None = None
    for index in range(length):
        at = node.places(words - step * (length - 1)) + index * step
        word = op.expand_dims(op.take(x, relax.const(at), 1), [2])
        equal = op.equal(word, relax.const(grams[:, index]))
        same = node.emit(equal if same is None else op.logical_and(same, equal))
    assert same is not None
    return op.sum(op.astype(same, "float32"), [1])
