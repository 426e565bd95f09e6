"""Which slots of the memory of a paged cache hold the tokens of which sequence.

Memory is pages of as many slots, one a token. A sequence is a list of slots, in the order
of its tokens; it takes slots page by page. Sequences that share a prefix share its slots,
and a page is free when no sequence has a slot of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class PagedCacheError(ValueError):
    """A paged cache cannot do what it is asked to do."""


class CacheFullError(PagedCacheError):
    """A paged cache has no memory for another token or sequence."""


@dataclass
class _Sequence:
    slots: Array = field(default_factory=lambda: np.empty(16, np.int32))
    """Of the tokens that are kept, the first `length`."""
    length: int = 0
    dropped: int = 0
    """How many tokens a sliding window has dropped."""
    window: int | None = None
    sinks: int = 0

    @property
    def kept(self) -> Array:
        return self.slots[: self.length]

    def extend(self, slots: Sequence[int] | Array) -> None:
        end = self.length + len(slots)
        if end > len(self.slots):
            self.slots = np.resize(self.slots, max(end, 2 * len(self.slots)))
        self.slots[self.length : end] = slots
        self.length = end


class PageTable:
    """The slots of each sequence.

    There is memory for `tokens` tokens, shared ones counted once, of `sequences`
    sequences without a shared prefix: each may leave a part of its last page unused.
    """

    def __init__(self, tokens: int, page_size: int, sequences: int) -> None:
        self._most_tokens = tokens
        self._most_sequences = sequences
        self.page_size = page_size
        self.pages = -(-tokens // page_size) + sequences
        self._uses = np.zeros(self.pages * page_size, np.int32)
        """Of each slot: by how many sequences."""
        self.clear()

    def clear(self) -> None:
        """Forget all sequences."""
        self._uses[:] = 0
        self._free = list(range(self.pages - 1, -1, -1))
        self._tokens = 0
        self._sequences: dict[int, _Sequence] = {}

    def __len__(self) -> int:
        return len(self._sequences)

    @property
    def tokens(self) -> int:
        """How many tokens are held, shared ones counted once."""
        return self._tokens

    @property
    def free_pages(self) -> int:
        """How many pages no sequence uses."""
        return len(self._free)

    def slots(self, sequence: int) -> Array:
        """The slots of a sequence, in the order of its tokens."""
        return self._of(sequence).kept

    def dropped(self, sequence: int) -> int:
        """How many tokens of a sequence a sliding window has dropped."""
        return self._of(sequence).dropped

    def add(self, sequence: int) -> None:
        """Add an empty sequence. Raises PagedCacheError for one that there is."""
        self._expect_new(sequence)
        self._sequences[sequence] = _Sequence()

    def remove(self, sequence: int) -> None:
        """Forget a sequence. Raises PagedCacheError if there is none."""
        found = self._of(sequence)
        del self._sequences[sequence]
        self._release(found.kept)

    def fork(self, parent: int, child: int, position: int = -1) -> None:
        """Add a sequence that begins with the first tokens of another one, -1 for all.

        Raises PagedCacheError for a child that there is, a parent that there is not or
        that has a sliding window, and a position that it has not.
        """
        found = self._of(parent)
        self._expect_new(child)
        if found.window is not None:
            raise PagedCacheError(
                f"sequence {parent} has a sliding window, and such are not forked"
            )
        if not -1 <= position <= found.length:
            raise PagedCacheError(
                f"sequence {parent} has {found.length} tokens, and cannot be forked at "
                f"{position}"
            )
        shared = found.kept[: found.length if position < 0 else position]
        forked = self._sequences[child] = _Sequence()
        forked.extend(shared)
        self._uses[shared] += 1

    def pop(self, sequence: int, count: int) -> None:
        """Forget the last tokens of a sequence.

        Raises PagedCacheError if it has fewer.
        """
        found = self._of(sequence)
        if not 0 <= count <= found.length:
            raise PagedCacheError(
                f"{count} tokens cannot be popped of sequence {sequence}, which has "
                f"{found.length}"
            )
        self._shorten(found, found.length - count)

    def set_window(self, sequence: int, size: int, sinks: int) -> None:
        """Let a sequence keep its first `sinks` tokens and the last of others only.

        Raises PagedCacheError where no tokens would be left besides the sinks.
        """
        found = self._of(sequence)
        if not 0 <= sinks < size:
            raise PagedCacheError(
                f"a sliding window of {size} tokens cannot hold {sinks} attention sinks "
                "and another token"
            )
        found.window, found.sinks = size, sinks

    def extend(self, sequences: Sequence[int], counts: Sequence[int]) -> None:
        """Give slots for new tokens to sequences, to all or to none of them.

        Sliding windows drop tokens before, in any case. Raises CacheFullError where
        memory does not suffice, and PagedCacheError for sequences that there are not, and
        for more tokens than a window holds.
        """
        found = [self._of(sequence) for sequence in sequences]
        for sequence, each, count in zip(sequences, found, counts, strict=True):
            if each.window is not None and each.sinks + count > each.window:
                raise PagedCacheError(
                    f"sequence {sequence}: {count} tokens do not fit its sliding window "
                    f"of {each.window} with {each.sinks} attention sinks; add fewer at "
                    "a time"
                )
        for each, count in zip(found, counts, strict=True):
            self._slide(each, count)
        lengths = [each.length for each in found]
        try:
            self._expect_tokens(sum(counts))
            for each, count in zip(found, counts, strict=True):
                each.extend(self._taken(each, count))
        except CacheFullError:
            for each, length in zip(found, lengths, strict=True):
                self._shorten(each, length)
            raise

    def _of(self, sequence: int) -> _Sequence:
        found = self._sequences.get(sequence)
        if found is None:
            known = ", ".join(map(str, self._sequences)) or "none"
            raise PagedCacheError(f"there is no sequence {sequence}, but {known}")
        return found

    def _expect_new(self, sequence: int) -> None:
        if sequence in self._sequences:
            raise PagedCacheError(f"there is a sequence {sequence} already")
        if len(self) >= self._most_sequences:
            raise CacheFullError(
                f"the cache holds {len(self)} sequences, as many as its max_batch_size; "
                "remove one, or create a larger cache"
            )

    def _expect_tokens(self, count: int) -> None:
        if self._tokens + count > self._most_tokens:
            raise CacheFullError(
                f"{count} tokens do not fit: the cache holds {self._tokens} tokens of "
                f"its max_total_seq_len, {self._most_tokens}; remove or pop some, or "
                "create a larger cache"
            )

    def _slide(self, sequence: _Sequence, count: int) -> None:
        """Drop the tokens for which a window has no place when others are added."""
        if sequence.window is None:
            return
        excess = sequence.length + count - sequence.window
        if excess <= 0:
            return
        sinks, slots = sequence.sinks, sequence.kept.copy()
        sequence.length -= excess
        sequence.slots[sinks : sequence.length] = slots[sinks + excess :]
        sequence.dropped += excess
        self._release(slots[sinks : sinks + excess])

    def _taken(self, sequence: _Sequence, count: int) -> Array:
        """New slots: those after the last one of a sequence, then those of free pages."""
        size = self.page_size
        taken = [np.empty(0, np.int32)]
        end = int(sequence.kept[-1]) + 1 if sequence.length else 0
        while count:
            if end % size == 0 or self._uses[end]:
                # The page is full, or another sequence has gone on in it.
                try:
                    end = self._page() * size
                except CacheFullError:
                    self._release(np.concatenate(taken))
                    raise
            stop = min(end + count, (end // size + 1) * size)
            used = np.flatnonzero(self._uses[end:stop])
            stop = end + int(used[0]) if len(used) else stop
            taken.append(np.arange(end, stop, dtype=np.int32))
            self._use(taken[-1])
            count -= stop - end
            end = stop
        return np.concatenate(taken)

    def _shorten(self, sequence: _Sequence, length: int) -> None:
        last = sequence.kept[length:].copy()
        sequence.length = length
        self._release(last)

    def _page(self) -> int:
        if not self._free:
            raise CacheFullError(
                f"no page is free: {self.pages} pages of {self.page_size} tokens hold "
                f"{self._tokens} tokens, since forked sequences go on in pages of their "
                "own; remove a sequence, or create a larger cache"
            )
        return self._free.pop()

    def _use(self, slots: Array) -> None:
        self._tokens += int(np.count_nonzero(self._uses[slots] == 0))
        self._uses[slots] += 1

    def _release(self, slots: Array) -> None:
        self._uses[slots] -= 1
        unused = slots[self._uses[slots] == 0]
        self._tokens -= len(unused)
        for page in np.unique(unused // self.page_size):
            start = int(page) * self.page_size
            if not self._uses[start : start + self.page_size].any():
                self._free.append(int(page))
