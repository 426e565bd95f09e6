"""Generators of random bits that count: Threefry-2x32 and Philox-4x32.

A generator maps a key and a counter to words of 32 bits, so that numbers are the same
wherever and in whatever order they are made. Both are those of Salmon, Moraes, Dror and
Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011), with 20 and 10 rounds.

What a word is the caller says, by `Words`: an array, a tensor of Relax.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

Word = TypeVar("Word")

_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
_PARITY = 0x1BD11BDA
_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_STEPS = 0x9E3779B9, 0xBB67AE85


class Words(Protocol[Word]):
    """Arithmetic of unsigned words of 32 bits, modulo 2^32."""

    def constant(self, value: int) -> Word:
        """A word."""
        ...

    def add(self, lhs: Word, rhs: Word) -> Word:
        """The sum."""
        ...

    def xor(self, lhs: Word, rhs: Word) -> Word:
        """The bits that differ."""
        ...

    def rotated(self, word: Word, distance: int) -> Word:
        """The bits moved to the left, those that fall out coming in at the right."""
        ...

    def product(self, word: Word, factor: int) -> tuple[Word, Word]:
        """The high and the low word of the product of 64 bits."""
        ...


def threefry(
    words: Words[Word], key: Sequence[Word], counter: Sequence[Word]
) -> tuple[Word, Word]:
    """Two words of a key of two words and a counter of two."""
    parity = words.xor(words.xor(key[0], key[1]), words.constant(_PARITY))
    keys = (*key, parity)
    x, y = (words.add(word, part) for word, part in zip(counter, key, strict=True))
    for turn in range(1, 6):
        first = 4 * (1 - turn % 2)
        for distance in _ROTATIONS[first : first + 4]:
            x = words.add(x, y)
            y = words.xor(words.rotated(y, distance), x)
        x = words.add(x, keys[turn % 3])
        y = words.add(words.add(y, keys[(turn + 1) % 3]), words.constant(turn))
    return x, y


def philox(
    words: Words[Word], key: Sequence[Word], counter: Sequence[Word]
) -> tuple[Word, Word, Word, Word]:
    """Four words of a key of two words and a counter of four."""
    a, b, c, d = counter
    low, high = key
    for turn in range(10):
        if turn:
            low, high = (
                words.add(part, words.constant(step))
                for part, step in zip((low, high), _STEPS, strict=True)
            )
        (top, bottom), (upper, lower) = (
            words.product(word, factor)
            for word, factor in zip((a, c), _MULTIPLIERS, strict=True)
        )
        a, c = words.xor(words.xor(upper, b), low), words.xor(words.xor(top, d), high)
        b, d = lower, bottom
    return a, b, c, d
