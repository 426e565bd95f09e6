"""Keys and values of earlier tokens in pages: the object `nn.llm.kv_cache` makes.

A program adds sequences, and says by `begin_forward` how many tokens of which sequences
the model is called with; each layer then stores the keys and values of these tokens and
computes attention, by two kernels of the module (`relax/frontend/nn/llm/kernels.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from xdsl_tvm.runtime.attention_caches.page_table import PagedCacheError, PageTable
from xdsl_tvm.runtime.attention_caches.rope import rotations

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Kernel: TypeAlias = Callable[..., Any]


class _Batch(NamedTuple):
    """The tokens that the model is called with, and what each of them attends to."""

    positions: Array
    """`[n]`: of each token, in its sequence."""
    turns: Array
    """`[n]`: of each token, among those of its sequence that are kept."""
    new: Array
    """`[n]`: where keys and values of each token are stored."""
    slots: Array
    """The slots of all sequences, one sequence after the other."""
    first: Array
    """`[n]`: where the sequence of each token begins in `slots`."""
    counts: Array
    """`[n]`: how many tokens of it each token attends to; it is the last of them."""


class PagedCache:
    """Keys and values of each layer, in pages, and the sequences that they are of."""

    def __init__(
        self,
        table: PageTable,
        most_tokens: int,
        has_windows: bool,
        keys: Array,
        values: Array,
        queries: Array,
        turned: Array,
        append: Kernel,
        attend: Kernel,
    ) -> None:
        self.table = table
        self._most_tokens = most_tokens
        self._has_windows = has_windows
        self.keys, self.values = keys, values
        """`[layers, slots, heads, features]`, as they are stored."""
        self._queries = queries
        self._turned = turned
        self._append, self._attend = append, attend
        self._batch: _Batch | None = None

    def begin_forward(
        self, sequences: Sequence[int], counts: Sequence[int], tree: object = None
    ) -> None:
        """Say that the model is called with so many new tokens of some sequences.

        Raises PagedCacheError for what does not fit, and changes nothing then, but that
        sliding windows may have moved.
        """
        self.expect_outside("begin_forward")
        if tree is not None:
            raise PagedCacheError("begin_forward: trees of tokens are not supported")
        if len(sequences) != len(counts) or len(set(sequences)) != len(sequences):
            raise PagedCacheError(
                f"begin_forward: {list(sequences)} with lengths {list(counts)}: give "
                "different sequences, and a length for each"
            )
        if not counts or min(counts) < 1:
            raise PagedCacheError(
                f"begin_forward: lengths {list(counts)}: each sequence needs a token"
            )
        if sum(counts) > self._most_tokens:
            raise PagedCacheError(
                f"begin_forward: {sum(counts)} tokens in one call are more than the "
                f"prefill_chunk_size, {self._most_tokens}; add them in several calls"
            )
        table = self.table
        table.extend(sequences, counts)
        kept = [table.slots(sequence) for sequence in sequences]
        starts = np.cumsum([0, *map(len, kept)])
        turns = [
            np.arange(len(slots) - count, len(slots), dtype=np.int32)
            for slots, count in zip(kept, counts, strict=True)
        ]
        dropped = [table.dropped(sequence) for sequence in sequences]
        all_turns = np.concatenate(turns)
        self._batch = _Batch(
            all_turns + np.repeat(dropped, counts).astype(np.int32),
            all_turns,
            np.concatenate([s[-count:] for s, count in zip(kept, counts, strict=True)]),
            np.concatenate(kept),
            np.repeat(starts[:-1], counts).astype(np.int32),
            all_turns + np.int32(1),
        )

    def end_forward(self) -> None:
        """Say that the model has returned."""
        self._batch = None

    def expect_outside(self, what: str) -> None:
        """Raise PagedCacheError while the model is called."""
        if self._batch is not None:
            raise PagedCacheError(f"{what} comes after end_forward")

    def enable_window(self, sequence: int, size: int, sinks: int) -> None:
        """Let a sequence keep its last tokens only, besides the first few.

        Raises PagedCacheError where the cache was made for no windows.
        """
        if not self._has_windows:
            raise PagedCacheError(
                "sliding windows need a cache with support_sliding_window=1"
            )
        self.table.set_window(sequence, size, sinks)

    def positions(self) -> Array:
        """The position of each token in its sequence. Raises PagedCacheError."""
        return self._current("get_query_positions").positions

    def attention(self, layer: int, scale: float, qkv: Array, out: Array) -> None:
        """Store keys and values of the tokens, and compute what their queries attend to.

        `qkv` is `[n, heads, features]`: of queries, then keys, then values; `out` has
        the heads of queries. Raises PagedCacheError for another number of tokens than
        `begin_forward` has said, and a layer that there is not.
        """
        batch = self._current("attention_with_fused_qkv")
        count = len(batch.new)
        if not 0 <= layer < len(self.keys):
            raise PagedCacheError(
                f"attention_with_fused_qkv: there is no layer {layer} of {len(self.keys)}"
            )
        queries = self._queries[:count]
        if len(qkv) != count or out.shape != queries.shape:
            raise PagedCacheError(
                f"attention_with_fused_qkv: {qkv.shape} to {out.shape} are not the "
                f"{count} tokens of begin_forward, of {list(queries.shape[1:])}"
            )
        keys, values = self.keys[layer], self.values[layer]
        self._append(qkv, batch.turns, batch.new, self._turned, queries, keys, values)
        self._attend(
            queries,
            keys,
            values,
            batch.slots,
            batch.first,
            batch.counts,
            self._turned,
            scale,
            out,
        )

    def _current(self, what: str) -> _Batch:
        if self._batch is None:
            raise PagedCacheError(f"{what}: begin_forward comes first")
        return self._batch

    def copy_of(
        self, sequence: int, start: int, end: int, keys: Array, values: Array
    ) -> None:
        """Copy the keys and values of tokens to arrays `[layers, n, heads, features]`.

        Raises PagedCacheError for tokens that are not there.
        """
        slots = self.table.slots(sequence)
        if not 0 <= start <= end <= len(slots):
            raise PagedCacheError(
                f"debug_get_kv: sequence {sequence} has {len(slots)} tokens, not those "
                f"from {start} to {end}"
            )
        keys[...] = self.keys[:, slots[start:end]]
        values[...] = self.values[:, slots[start:end]]


def _create(
    extents: tuple[int, int, int, int, int],
    layers: int,
    query_heads: int,
    heads: int,
    key_features: int,
    value_features: int,
    rope: tuple[int, float, float],
    llama_scaling: tuple[float, float, float, float] | tuple[()],
    prototype: Array,
    append: Kernel,
    attend: Kernel,
) -> PagedCache:
    """A cache for `extents`: sequences, tokens, tokens in a call, those in a page, and
    whether there are windows; `rope` is features, scale and theta."""
    sequences, tokens, chunk, page_size, has_windows = extents
    if min(sequences, tokens, chunk, page_size) < 1:
        raise PagedCacheError(
            f"a paged cache for {sequences} sequences, {tokens} tokens, {chunk} tokens "
            f"in a call and {page_size} in a page: all of them are at least 1"
        )
    table = PageTable(tokens, page_size, sequences)
    slots, dtype = table.pages * page_size, prototype.dtype
    features, scale, theta = rope
    turned = rotations(tokens, features, scale, theta, llama_scaling or None)
    return PagedCache(
        table,
        chunk,
        bool(has_windows),
        np.zeros((layers, slots, heads, key_features), dtype),
        np.zeros((layers, slots, heads, value_features), dtype),
        np.empty((chunk, query_heads, key_features), dtype),
        turned,
        append,
        attend,
    )


def _is_empty(cache: PagedCache) -> bool:
    return not cache.table.tokens


def _free_pages(cache: PagedCache) -> int:
    return cache.table.free_pages


def _tokens(cache: PagedCache) -> int:
    return cache.table.tokens


def _changes_table(name: str, change: Callable[..., None]) -> Callable[..., None]:
    """A function of a cache that changes its sequences, while no model is called."""

    def run(cache: PagedCache, *arguments: Any) -> None:
        cache.expect_outside(name)
        change(cache.table, *arguments)

    return run


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "vm.builtin.paged_attention_kv_cache_create": _create,
    **{
        f"vm.builtin.kv_state_{name}": _changes_table(name, change)
        for name, change in (
            ("clear", PageTable.clear),
            ("add_sequence", PageTable.add),
            ("remove_sequence", PageTable.remove),
            ("fork_sequence", PageTable.fork),
            ("popn", PageTable.pop),
        )
    },
    "vm.builtin.kv_state_begin_forward": PagedCache.begin_forward,
    "vm.builtin.kv_state_end_forward": PagedCache.end_forward,
    "vm.builtin.attention_kv_cache_attention_with_fused_qkv": PagedCache.attention,
    "vm.builtin.attention_kv_cache_get_query_positions": PagedCache.positions,
    "vm.builtin.attention_kv_cache_enable_sliding_window_for_seq": (
        PagedCache.enable_window
    ),
    "vm.builtin.attention_kv_cache_empty": _is_empty,
    "vm.builtin.attention_kv_cache_get_num_available_pages": _free_pages,
    "vm.builtin.attention_kv_cache_get_total_sequence_length": _tokens,
    "vm.builtin.attention_kv_cache_debug_get_kv": PagedCache.copy_of,
}
"""By name; they get arrays of numpy, numbers, tuples for shapes, and functions."""
