"""Models with paged caches, and what they compute, without a cache, in numpy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from xdsl_tvm import relax
from xdsl_tvm.relax.frontend import nn
from xdsl_tvm.relax.frontend.nn.llm.kv_cache import (
    PagedKVCache,
    RopeMode,
    TIRPagedKVCache,
)
from xdsl_tvm.runtime.global_functions import get_global_func

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
LAYERS, QUERY_HEADS, HEADS, FEATURES = 2, 4, 2, 8
ALL_HEADS = QUERY_HEADS + 2 * HEADS
SCALE = 0.3
ROTARY = 4
THETA = 100.0
EXTENTS: dict[str, Any] = dict.fromkeys(
    ("max_batch_size", "max_total_seq_len", "prefill_chunk_size", "page_size"), int
)


def paged_cache(mode: RopeMode, **changed: Any) -> PagedKVCache:
    """A cache of two layers; half of the features are turned by positions."""
    given: dict[str, Any] = {
        "attn_kind": "mha",
        "support_sliding_window": 0,
        "layer_partition": relax.ShapeExpr([0, LAYERS]),
        "num_hidden_layers": LAYERS,
        "num_attention_heads": QUERY_HEADS,
        "num_key_value_heads": HEADS,
        "qk_head_dim": FEATURES,
        "v_head_dim": FEATURES,
        "mla_original_qk_head_dim": 0,
        "mla_original_v_head_dim": 0,
        "rope_mode": mode,
        "rope_scale": 1,
        "rope_theta": THETA,
        "rope_scaling": {},
        "rope_ext_factors": relax.PrimValue(0),
        "rotary_dim": ROTARY,
        "enable_disaggregation": False,
        "dtype": "float32",
        "target": None,
    }
    return TIRPagedKVCache(**given | changed)


def _makes(mode: RopeMode, **changed: Any) -> Callable[..., PagedKVCache]:
    """A method that makes a cache."""

    def make(
        self: nn.Module,
        max_batch_size: Any,
        max_total_seq_len: Any,
        prefill_chunk_size: Any,
        page_size: Any,
    ) -> PagedKVCache:
        extents = (max_batch_size, max_total_seq_len, prefill_chunk_size, page_size)
        return paged_cache(mode, **dict(zip(EXTENTS, extents, strict=True)), **changed)

    return make


class Attention(nn.Module):
    """Attention in two layers; the second is given twice what the first is."""

    none = _makes(RopeMode.NONE)
    normal = _makes(RopeMode.NORMAL)
    window = _makes(RopeMode.INLINE, support_sliding_window=1)

    def attend(self, qkv: nn.Tensor, cache: PagedKVCache) -> Any:
        first = cache.attention_with_fused_qkv(0, qkv, QUERY_HEADS, SCALE)
        twice = qkv + qkv
        second = cache.attention_with_fused_qkv(1, twice, QUERY_HEADS, SCALE)
        return first, second, cache.get_query_positions(qkv.shape[1])


def runtime(name: str) -> Any:
    """A function of TVM's runtime."""
    return get_global_func(f"vm.builtin.{name}")


def turned(rows: Array, positions: Array, rotary: int, theta: float) -> Array:
    """Rows `[n, heads, features]` whose features are turned by their positions."""
    half = rotary // 2
    angles = positions[:, None, None] * theta ** (-2.0 * np.arange(half) / rotary)
    first, second = rows[..., :half], rows[..., half:rotary]
    return np.concatenate(
        [
            first * np.cos(angles) - second * np.sin(angles),
            second * np.cos(angles) + first * np.sin(angles),
            rows[..., rotary:],
        ],
        -1,
    )


def attention(
    qkv: Array, new: int, query_heads: int, scale: float, rotary: int, theta: float
) -> Array:
    """Causal attention of the last tokens of `[n, heads, features]`."""
    rows = np.asarray(qkv, np.float64)
    count = len(rows)
    heads = (rows.shape[1] - query_heads) // 2
    places = np.arange(count)
    queries = turned(rows[:, :query_heads], places, rotary, theta)[count - new :]
    keys = turned(rows[:, query_heads : query_heads + heads], places, rotary, theta)
    values = rows[:, query_heads + heads :]
    group = query_heads // heads
    scores = np.einsum("qhd,khd->hqk", queries, np.repeat(keys, group, 1)) * scale
    is_later = places > places[count - new :, None]
    scores = np.where(is_later, -np.inf, scores)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("hqk,khd->qhd", weights, np.repeat(values, group, 1))


@dataclass
class PlainSequence:
    """The tokens of a sequence, each a row of an array of its own."""

    tokens: list[Array] = field(default_factory=list["Array"])
    dropped: int = 0
    window: int | None = None
    sinks: int = 0

    def slide(self, count: int) -> None:
        """Drop what a window has no place for when tokens are added."""
        if self.window is not None:
            excess = max(len(self.tokens) + count - self.window, 0)
            del self.tokens[self.sinks : self.sinks + excess]
            self.dropped += excess


class PlainCache:
    """What a paged cache of `Attention` has to compute: sequences are lists."""

    def __init__(self, rotary: int) -> None:
        self.rotary = rotary
        self.sequences: dict[int, PlainSequence] = {}

    @property
    def tokens(self) -> int:
        """The number of tokens, shared ones counted once."""
        return len({id(t) for each in self.sequences.values() for t in each.tokens})

    def forward(
        self, sequences: list[int], counts: list[int], qkv: Array
    ) -> tuple[Array, Array, Array]:
        """Add tokens; gives what `attend` returns for them."""
        parts: list[list[Array]] = [[], [], []]
        rows = iter(qkv[0])
        for name, count in zip(sequences, counts, strict=True):
            sequence = self.sequences[name]
            sequence.slide(count)
            sequence.tokens += [next(rows) for _ in range(count)]
            kept = np.stack(sequence.tokens)
            for layer in (0, 1):
                given = kept * (layer + 1)
                parts[layer].append(
                    attention(given, count, QUERY_HEADS, SCALE, self.rotary, THETA)
                )
            end = sequence.dropped + len(kept)
            parts[2].append(np.arange(end - count, end))
        first, second, positions = map(np.concatenate, parts)
        return first[None], second[None], positions
