"""The slots of sequences in a paged cache, compared with lists of tokens."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from xdsl_tvm.runtime.attention_caches.page_table import (
    CacheFullError,
    PagedCacheError,
    PageTable,
)

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "10"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))


class Lists:
    """Tokens by sequence; memory says which token each slot holds."""

    def __init__(self, tokens: int, page_size: int, sequences: int) -> None:
        self.table = PageTable(tokens, page_size, sequences)
        self.memory = np.full(self.table.pages * page_size, -1)
        self.tokens: dict[int, list[int]] = {}
        self.next = 0

    def extend(self, names: list[int], counts: list[int]) -> None:
        self.table.extend(names, counts)
        for name, count in zip(names, counts, strict=True):
            new = range(self.next, self.next + count)
            self.next += count
            self.tokens[name] += new
            self.memory[self.table.slots(name)[len(self.tokens[name]) - count :]] = new

    def check(self) -> None:
        alive = {token for tokens in self.tokens.values() for token in tokens}
        assert self.table.tokens == len(alive)
        used: set[int] = set()
        for name, tokens in self.tokens.items():
            slots = self.table.slots(name)
            assert self.memory[slots].tolist() == tokens
            used |= {int(slot) // self.table.page_size for slot in slots}
        assert self.table.free_pages == self.table.pages - len(used)


def step(lists: Lists, rng: random.Random) -> None:
    table, tokens = lists.table, lists.tokens
    names = list(tokens)
    kind = rng.choice(["add", "remove", "fork", "pop", *["extend"] * 6])
    if kind == "add" or not names:
        name = rng.choice([n for n in range(9) if n not in names])
        table.add(name)
        tokens[name] = []
        return
    name = rng.choice(names)
    if kind == "remove":
        table.remove(name)
        del tokens[name]
    elif kind == "fork":
        child = rng.choice([n for n in range(9) if n not in names])
        at = rng.choice([-1, rng.randint(0, len(tokens[name]))])
        table.fork(name, child, at)
        tokens[child] = tokens[name][: at if at >= 0 else None]
    elif kind == "pop":
        count = rng.randint(0, len(tokens[name]))
        table.pop(name, count)
        del tokens[name][len(tokens[name]) - count :]
    else:
        chosen = rng.sample(names, rng.randint(1, len(names)))
        lists.extend(chosen, [rng.randint(1, 6) for _ in chosen])


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_random_changes(seed: int):
    rng = random.Random(seed)
    lists = Lists(rng.randint(8, 40), rng.choice([1, 3, 4, 16]), rng.randint(1, 5))
    refused = 0
    for _ in range(100):
        try:
            step(lists, rng)
        except CacheFullError:
            refused += 1
        lists.check()
    assert refused < 100
    for name in list(lists.tokens):
        lists.table.remove(name)
        del lists.tokens[name]
    lists.check()
    assert not lists.table.tokens


def test_memory_suffices_for_tokens_that_are_not_shared():
    table = PageTable(20, 8, 4)
    for name in range(4):
        table.add(name)
    table.extend([0, 1, 2, 3], [1, 1, 1, 17])
    with pytest.raises(CacheFullError, match="1 tokens do not fit: the cache holds 20"):
        table.extend([0], [1])
    table.pop(3, 1)
    table.extend([0], [1])


def test_sequences_that_are_forked_share_slots():
    table = PageTable(16, 4, 3)
    table.add(0)
    table.extend([0], [6])
    table.fork(0, 1)
    table.fork(0, 2, 4)
    assert table.tokens == 6
    # The first to go on does so in the page, the others in pages of their own.
    table.extend([1, 0, 2], [1, 1, 1])
    ends = [int(table.slots(name)[-1]) for name in (1, 0, 2)]
    assert ends[0] == int(table.slots(0)[5]) + 1
    assert len({end // 4 for end in ends}) == 3
    assert table.tokens == 9


def test_a_window_drops_tokens_after_the_sinks():
    table = PageTable(16, 2, 2)
    table.add(7)
    table.set_window(7, 5, 2)
    table.extend([7], [3])
    first = table.slots(7).tolist()
    table.extend([7], [1])
    table.extend([7], [2])
    assert len(table.slots(7)) == 5
    assert table.slots(7)[:2].tolist() == first[:2]
    assert table.dropped(7) == 1
    with pytest.raises(PagedCacheError, match="4 tokens do not fit its sliding window"):
        table.extend([7], [4])
    with pytest.raises(PagedCacheError, match="a sliding window, and such are not"):
        table.fork(7, 8)


def test_what_cannot_be_done_is_refused_by_name():
    table = PageTable(8, 4, 2)
    table.add(3)
    with pytest.raises(PagedCacheError, match="there is no sequence 5, but 3"):
        table.pop(5, 1)
    with pytest.raises(PagedCacheError, match="there is a sequence 3 already"):
        table.add(3)
    table.extend([3], [2])
    with pytest.raises(PagedCacheError, match="3 tokens cannot be popped of sequence 3"):
        table.pop(3, 3)
    with pytest.raises(PagedCacheError, match="has 2 tokens, and cannot be forked at 3"):
        table.fork(3, 4, 3)
    table.fork(3, 4)
    with pytest.raises(
        CacheFullError, match="2 sequences, as many as its max_batch_size"
    ):
        table.add(5)
    with pytest.raises(PagedCacheError, match="cannot hold 2 attention sinks"):
        table.set_window(3, 2, 2)
    table.clear()
    assert len(table) == 0
    assert table.free_pages == table.pages


def test_pages_may_end_before_tokens_do():
    table = PageTable(8, 8, 3)
    table.add(0)
    table.extend([0], [1])
    for _ in range(3):
        # The fork goes on in the page of the last token, the other one in a new page.
        table.fork(0, 1)
        table.extend([1, 0], [1, 1])
        table.remove(1)
    assert (table.tokens, table.free_pages) == (4, 0)
    table.fork(0, 1)
    with pytest.raises(CacheFullError, match="no page is free: 4 pages of 8 tokens hold"):
        table.extend([1, 0], [1, 1])
    assert (table.tokens, len(table.slots(1))) == (4, 4)
