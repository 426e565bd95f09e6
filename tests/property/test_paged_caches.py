"""Random schedules of paged caches: what lists of tokens and numpy compute.

`XDSL_TVM_FUZZ` sets the number of schedules of each kind of cache, `XDSL_TVM_FUZZ_FROM`
the first of them.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from support.paged_caches import (
    ALL_HEADS,
    EXTENTS,
    FEATURES,
    ROTARY,
    Attention,
    PlainCache,
    PlainSequence,
    runtime,
)

from xdsl_tvm.relax.frontend import nn
from xdsl_tvm.relax.frontend.nn.llm.kv_cache import PagedKVCache
from xdsl_tvm.runtime.attention_caches.page_table import CacheFullError
from xdsl_tvm.runtime.executable import compile
from xdsl_tvm.runtime.interpreted import interpret

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "1"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
KINDS = {"none": 0, "normal": ROTARY, "window": ROTARY}
"""The methods that make caches, and how many features of theirs are turned."""
COMPILED = tuple(KINDS) if "XDSL_TVM_FUZZ" in os.environ else ("window",)
"""The kernels of a kind take a second to compile."""


def module(kinds: Iterable[str]) -> Any:
    qkv = nn.spec.Tensor([1, "n", ALL_HEADS, FEATURES], "float32")
    spec = {
        **dict.fromkeys(KINDS, EXTENTS),
        "attend": {"qkv": qkv, "cache": nn.spec.Object(PagedKVCache)},
    }
    found, _ = Attention().export_tvm(spec)
    return found


@pytest.fixture(scope="module")
def compiled() -> Any:
    return compile(module(COMPILED))


class Schedule:
    """A cache, and lists that are changed in the same way."""

    def __init__(self, run: Any, kind: str, rng: random.Random) -> None:
        self.run, self.rng = run, rng
        self.has_windows = kind == "window"
        self.plain = PlainCache(KINDS[kind])
        self.extents = rng.randint(2, 4), rng.randint(12, 40), rng.randint(4, 12)
        pages = (rng.choice([1, 4, 16]),)
        self.cache = run[kind](*((extent,) for extent in self.extents), pages)
        self.refused = 0

    def step(self) -> None:
        rng, sequences = self.rng, self.plain.sequences
        kind = rng.choice(["add", "fork", "pop", "remove", *["forward"] * 4])
        free = [name for name in range(6) if name not in sequences]
        if kind in ("add", "fork") and len(sequences) == self.extents[0]:
            kind = "forward"
        if kind == "add" or not sequences:
            self._add(rng.choice(free))
            return
        name = rng.choice(list(sequences))
        sequence = sequences[name]
        if kind == "remove":
            runtime("kv_state_remove_sequence")(self.cache, name)
            del sequences[name]
        elif kind == "pop":
            count = rng.randint(0, len(sequence.tokens))
            runtime("kv_state_popn")(self.cache, name, count)
            del sequence.tokens[len(sequence.tokens) - count :]
        elif kind == "fork" and sequence.window is None:
            at, child = rng.randint(0, len(sequence.tokens)), rng.choice(free)
            runtime("kv_state_fork_sequence")(self.cache, name, child, at)
            sequences[child] = PlainSequence(sequence.tokens[:at])
        else:
            self._forward()

    def _add(self, name: int) -> None:
        runtime("kv_state_add_sequence")(self.cache, name)
        sequence = self.plain.sequences[name] = PlainSequence()
        if self.has_windows and self.rng.random() < 0.5:
            sequence.window, sequence.sinks = (
                self.rng.randint(6, 9),
                self.rng.randint(0, 2),
            )
            runtime("attention_kv_cache_enable_sliding_window_for_seq")(
                self.cache, name, sequence.window, sequence.sinks
            )

    def _forward(self) -> None:
        rng, sequences = self.rng, self.plain.sequences
        most = self.extents[2]
        names = rng.sample(list(sequences), rng.randint(1, min(len(sequences), most)))
        counts = [rng.randint(1, min(4, most // len(names))) for _ in names]
        try:
            runtime("kv_state_begin_forward")(self.cache, tuple(names), tuple(counts))
        except CacheFullError:
            for name, count in zip(names, counts, strict=True):
                sequences[name].slide(count)
            self.refused += 1
            return
        rows = np.random.default_rng(rng.randrange(1 << 30)).standard_normal
        qkv = rows((1, sum(counts), ALL_HEADS, FEATURES)).astype(np.float32)
        got = self.run["attend"](qkv, self.cache)
        runtime("kv_state_end_forward")(self.cache)
        expected = self.plain.forward(names, counts, qkv)
        for found, wanted in zip(got, expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)

    def check(self) -> None:
        total = runtime("attention_kv_cache_get_total_sequence_length")(self.cache)
        assert total == self.plain.tokens


@pytest.mark.parametrize("kind", COMPILED)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_random_schedules(compiled: Any, seed: int, kind: str):
    schedule = Schedule(compiled, kind, random.Random(f"{kind} {seed}"))
    for _ in range(60 if "XDSL_TVM_FUZZ" in os.environ else 25):
        schedule.step()
        schedule.check()
    runtime("kv_state_clear")(schedule.cache)
    assert runtime("attention_kv_cache_empty")(schedule.cache)


@pytest.mark.parametrize("kind", KINDS)
def test_random_schedules_in_the_interpreter(kind: str):
    schedule = Schedule(interpret(module([kind])), kind, random.Random(FIRST))
    for _ in range(12):
        schedule.step()
        schedule.check()
