"""Paged caches: a model that decodes with one, and what is refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from support.live_scripts import import_text, python_blocks
from support.paged_caches import (
    ALL_HEADS,
    EXTENTS,
    FEATURES,
    HEADS,
    LAYERS,
    QUERY_HEADS,
    SCALE,
    Array,
    Attention,
    attention,
    paged_cache,
    runtime,
)

import xdsl_tvm as tvm
from xdsl_tvm import relax
from xdsl_tvm.relax.frontend import nn
from xdsl_tvm.relax.frontend.nn.llm import kv_cache
from xdsl_tvm.relax.frontend.nn.llm.kv_cache import PagedKVCache, RopeMode
from xdsl_tvm.runtime.attention_caches.page_table import CacheFullError, PagedCacheError
from xdsl_tvm.runtime.attention_caches.rope import rotations
from xdsl_tvm.tvmscript import parse

FUZZ = "XDSL_TVM_FUZZ" in os.environ
"""Compiling a model takes seconds; the page has a smaller one."""
HIDDEN, WORDS, INNER = 16, 11, 12


# ---- a model ----


class Layer(nn.Module):
    def __init__(self) -> None:
        self.norm = nn.RMSNorm(HIDDEN, -1, 1e-5, bias=False)
        self.qkv = nn.Linear(HIDDEN, ALL_HEADS * FEATURES, bias=False)
        self.out = nn.Linear(QUERY_HEADS * FEATURES, HIDDEN, bias=False)
        self.inner_norm = nn.RMSNorm(HIDDEN, -1, 1e-5, bias=False)
        self.gate_up = nn.Linear(HIDDEN, 2 * INNER, bias=False)
        self.down = nn.Linear(INNER, HIDDEN, bias=False)

    def forward(self, x: nn.Tensor, cache: PagedKVCache, layer: int) -> nn.Tensor:
        b, s, _ = x.shape
        qkv = nn.reshape(self.qkv(self.norm(x)), (b, s, ALL_HEADS, FEATURES))
        attended = cache.attention_with_fused_qkv(layer, qkv, QUERY_HEADS, SCALE)
        x = x + self.out(nn.reshape(attended, (b, s, QUERY_HEADS * FEATURES)))
        gate, up = nn.split(self.gate_up(self.inner_norm(x)), 2, axis=-1)
        return x + self.down(nn.silu(gate) * up)


class Llama(nn.Module):
    def __init__(self) -> None:
        self.words = nn.Embedding(WORDS, HIDDEN)
        self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])
        self.head = nn.Linear(HIDDEN, WORDS, bias=False)

    def forward(self, words: nn.Tensor, cache: PagedKVCache) -> Any:
        x = self.words(words)
        for number, layer in enumerate(self.layers):
            x = layer(x, cache, number)
        return self.head(x), cache

    def create(self, batch: Any, total: Any, chunk: Any, page: Any) -> PagedKVCache:
        extents = dict(zip(EXTENTS, (batch, total, chunk, page), strict=True))
        return paged_cache(RopeMode.NORMAL, rotary_dim=FEATURES, **extents)


def norm(x: Array, weight: Array) -> Array:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight


@dataclass
class Reference:
    """The model in numpy, without a cache."""

    weights: dict[str, Array]

    def logits(self, words: list[int]) -> Array:
        w = {name: value.astype(np.float64) for name, value in self.weights.items()}
        x = w["words.weight"][words]
        for number in range(LAYERS):
            at = f"layers.{number}."
            qkv = norm(x, w[f"{at}norm.weight"]) @ w[f"{at}qkv.weight"].T
            qkv = qkv.reshape(len(x), ALL_HEADS, FEATURES)
            attended = attention(qkv, len(x), QUERY_HEADS, SCALE, FEATURES, 100.0)
            x = x + attended.reshape(len(x), -1) @ w[f"{at}out.weight"].T
            inner = norm(x, w[f"{at}inner_norm.weight"]) @ w[f"{at}gate_up.weight"].T
            gate, up = np.split(inner, 2, -1)
            x = x + (gate / (1 + np.exp(-gate)) * up) @ w[f"{at}down.weight"].T
        return x @ w["head.weight"].T


class Chat:
    """A model with a cache, and the words of each sequence."""

    def __init__(self, run: Any, weights: dict[str, Array], cache: Any) -> None:
        self.run, self.weights = run, list(weights.values())
        self.reference = Reference(weights)
        self.cache = cache
        self.words: dict[int, list[int]] = {}

    def add(self, name: int) -> None:
        runtime("kv_state_add_sequence")(self.cache, name)
        self.words[name] = []

    def forward(self, new: dict[int, list[int]], *, is_batch: bool = False) -> None:
        """Call the model with new words, and compare with whole sequences.

        Words are `[1, n]`, or one of each sequence, `[n, 1]`.
        """
        counts = tuple(map(len, new.values()))
        runtime("kv_state_begin_forward")(self.cache, tuple(new), counts)
        words = np.array([word for each in new.values() for word in each], np.int32)
        words = words[:, None] if is_batch else words[None]
        got, same = self.run["forward"](words, self.cache, *self.weights)
        runtime("kv_state_end_forward")(self.cache)
        assert same is self.cache
        expected: list[Array] = []
        for name, each in new.items():
            self.words[name] += each
            expected.append(self.reference.logits(self.words[name])[-len(each) :])
        wanted = np.concatenate(expected)
        np.testing.assert_allclose(
            got.reshape(wanted.shape), wanted, rtol=1e-5, atol=1e-5
        )


@pytest.mark.parametrize(
    ("make", "batch"),
    [(tvm.interpret, "b"), *([(tvm.compile, 1), (tvm.compile, "b")] if FUZZ else [])],
)
def test_a_model_decodes_as_without_a_cache(make: Callable[..., Any], batch: str | int):
    if make is tvm.compile:
        pytest.importorskip("llvmlite")
    spec = {
        "forward": {
            "words": nn.spec.Tensor([batch, "s"], "int32"),
            "cache": nn.spec.Object(PagedKVCache),
        },
        "create": {
            **dict.fromkeys(("batch", "total", "chunk", "page"), int),
            "$": {"param_mode": "none"},
        },
    }
    module, params = Llama().export_tvm(spec)
    rng = np.random.default_rng(0)
    weights: dict[str, Array] = {}
    for name, parameter in params:
        shape = cast("list[int]", parameter.shape)
        weights[name] = rng.standard_normal(shape).astype(np.float32) * np.float32(0.4)
    run = make(module)
    chat = Chat(run, weights, run["create"]((3,), (40,), (16,), (4,)))
    chat.add(0)
    chat.add(7)
    chat.forward({7: [1, 2, 3, 4, 5], 0: [6, 7, 8]})
    chat.forward({0: [1], 7: [2]}, is_batch=batch == "b")
    runtime("kv_state_fork_sequence")(chat.cache, 7, 2, 3)
    chat.words[2] = chat.words[7][:3]
    chat.forward({2: [9], 0: [10], 7: [0]}, is_batch=batch == "b")
    runtime("kv_state_popn")(chat.cache, 7, 5)
    del chat.words[7][-5:]
    chat.forward({7: [3], 2: [4]}, is_batch=batch == "b")
    runtime("kv_state_remove_sequence")(chat.cache, 0)
    chat.add(1)
    # A sequence that begins, one that goes on with several words, and one with one.
    chat.forward({1: [5, 6], 7: [7, 8, 9, 10], 2: [1]})


# ---- kinds of caches ----


def attend_spec(dtype: str = "float32") -> dict[str, Any]:
    qkv = nn.spec.Tensor([1, "n", ALL_HEADS, FEATURES], dtype)
    return {
        "normal": EXTENTS,
        "attend": {"qkv": qkv, "cache": nn.spec.Object(PagedKVCache)},
    }


def made(run: Any, *extents: int) -> Any:
    """A cache of `Attention`, with one sequence."""
    cache = run["normal"](*((extent,) for extent in extents))
    runtime("kv_state_add_sequence")(cache, 0)
    return cache


@pytest.fixture(scope="module")
def attending() -> Any:
    module, _ = Attention().export_tvm(attend_spec())
    return tvm.interpret(module)


def rows(count: int, dtype: str = "float32") -> Array:
    rng = np.random.default_rng(count)
    return rng.standard_normal((1, count, ALL_HEADS, FEATURES)).astype(dtype)


class Halves(Attention):
    def normal(self, max_batch_size: Any, max_total_seq_len: Any) -> PagedKVCache:
        return paged_cache(
            RopeMode.NONE,
            dtype="float16",
            max_batch_size=max_batch_size,
            max_total_seq_len=max_total_seq_len,
            prefill_chunk_size=8,
            page_size=4,
        )


def test_caches_of_halves_sum_in_floats():
    spec = attend_spec("float16")
    spec["normal"] = dict.fromkeys(("max_batch_size", "max_total_seq_len"), int)
    module, _ = Halves().export_tvm(spec)
    given = rows(6, "float16")
    expected = attention(given[0], 6, QUERY_HEADS, SCALE, 0, 1.0)
    run = tvm.compile(module) if FUZZ else tvm.interpret(module)
    cache = made(run, 1, 8)
    runtime("kv_state_begin_forward")(cache, (0,), (6,))
    got, _, _ = run["attend"](given, cache)
    assert got.dtype == np.float16
    np.testing.assert_allclose(got[0], expected, rtol=1e-3, atol=1e-3)


def test_what_a_cache_holds_can_be_copied(attending: Any):
    cache = made(attending, 1, 12, 8, 4)
    given = rows(5)
    runtime("kv_state_begin_forward")(cache, (0,), (5,))
    attending["attend"](given, cache)
    keys, values = (np.zeros((LAYERS, 2, HEADS, FEATURES), np.float32) for _ in "kv")
    copy = runtime("attention_kv_cache_debug_get_kv")
    copy(cache, 0, 3, 5, tvm.nd.array(keys), tvm.nd.from_dlpack(values))
    np.testing.assert_array_equal(values[0], given[0, 3:, -HEADS:])
    np.testing.assert_array_equal(values[1], 2 * given[0, 3:, -HEADS:])
    with pytest.raises(PagedCacheError, match="has 5 tokens, not those from 3 to 6"):
        copy(cache, 0, 3, 6, keys, values)
    assert runtime("attention_kv_cache_get_num_available_pages")(cache) == 4 - 2


def test_angles_are_those_of_the_scalings():
    plain = rotations(9, 4, 0.5, 100.0)
    np.testing.assert_allclose(plain[8, 0], [np.cos(4), np.cos(0.4)], 1e-6)
    np.testing.assert_allclose(plain[8, 1], [np.sin(4), np.sin(0.4)], 1e-6)
    # Waves of 6.3 positions stay, those of 63 are eight times as long.
    scaled = rotations(9, 4, 1, 100.0, (8.0, 1.0, 4.0, 32.0))
    np.testing.assert_allclose(scaled[8, 0], [np.cos(8), np.cos(0.1)], 1e-6)


# ---- errors ----


def test_calls_out_of_order_are_refused(attending: Any):
    cache = made(attending, 2, 12, 6, 4)
    begin, end = runtime("kv_state_begin_forward"), runtime("kv_state_end_forward")
    with pytest.raises(PagedCacheError, match="begin_forward comes first"):
        attending["attend"](rows(2), cache)
    begin(cache, (0,), (2,))
    for name, arguments in (
        ("add_sequence", (1,)),
        ("popn", (0, 1)),
        ("begin_forward", ((0,), (1,))),
        ("clear", ()),
    ):
        with pytest.raises(PagedCacheError, match=f"{name} comes after end_forward"):
            runtime(f"kv_state_{name}")(cache, *arguments)
    with pytest.raises(PagedCacheError, match="are not the 2 tokens of begin_forward"):
        attending["attend"](rows(3), cache)
    end(cache)
    for sequences, counts, reason in (
        ((0, 0), (1, 1), "give different sequences"),
        ((0,), (1, 1), "a length for each"),
        ((0,), (0,), "each sequence needs a token"),
        ((), (), "each sequence needs a token"),
        ((0,), (7,), "more than the prefill_chunk_size, 6"),
        ((5,), (1,), "there is no sequence 5, but 0"),
    ):
        with pytest.raises(PagedCacheError, match=reason):
            begin(cache, sequences, counts)
    with pytest.raises(PagedCacheError, match="trees of tokens are not supported"):
        begin(cache, (0,), (1,), (-1,))
    begin(cache, (0,), (6,))
    end(cache)
    with pytest.raises(CacheFullError, match="6 tokens do not fit: the cache holds 8"):
        begin(cache, (0,), (6,))
    with pytest.raises(PagedCacheError, match="need a cache with support_sliding_window"):
        runtime("attention_kv_cache_enable_sliding_window_for_seq")(cache, 0, 4, 1)


def test_caches_that_cannot_be_are_refused(attending: Any):
    with pytest.raises(PagedCacheError, match="all of them are at least 1"):
        made(attending, 1, 12, 6, 0)
    for changed, reason in (
        ({"attn_kind": "mla"}, "attn_kind is 'mha' in every layer, not 'mla'"),
        ({"attn_kind": ["mha", "mla"]}, "attn_kind is 'mha' in every layer"),
        ({"v_head_dim": 4}, "qk_head_dim and v_head_dim are equal, not 8 and 4"),
        ({"num_key_value_heads": 3}, "4 heads of queries are no groups for 3"),
        ({"layer_partition": relax.ShapeExpr([0, 1, 2])}, r"not \[0, 1, 2\]"),
        ({"layer_partition": [0, 3]}, "all 2 layers are one stage"),
        ({"enable_disaggregation": True}, "caches are on one machine"),
        ({"rotary_dim": 3}, "rotary_dim is even and at most 8, not 3"),
        ({"rope_scaling": {"rope_type": "yarn"}}, "is not supported; it is empty, or"),
        ({"rope_scaling": {"rope_type": "llama3"}}, "of the type llama3 with factor"),
        ({"rope_ext_factors": relax.const([1.0])}, "a number that is not read"),
    ):
        with pytest.raises(ValueError, match=reason):
            paged_cache(RopeMode.NORMAL, **dict.fromkeys(EXTENTS, 4), **changed)
    with pytest.raises(RuntimeError, match="TIRPagedKVCache adds a function"):
        paged_cache(RopeMode.NONE, **dict.fromkeys(EXTENTS, 4))
    with pytest.raises(AttributeError, match="TIRPagedKVCache has kernels of TIR"):
        _ = kv_cache.FlashInferPagedKVCache
    with pytest.raises(AttributeError, match="trees of tokens are not supported"):
        _ = nn.llm.tree_attn


def test_modules_with_caches_are_scripts():
    module, _ = Attention().export_tvm(attend_spec())
    tvm.ir.assert_structural_equal(parse(module.script()), module)


def test_page(tmp_path: Path):
    """The blocks of the page run, as one program."""
    pytest.importorskip("llvmlite")
    blocks = python_blocks("kv-cache.md")
    assert len(blocks) == 3
    import_text(tmp_path, "\n".join(blocks))
