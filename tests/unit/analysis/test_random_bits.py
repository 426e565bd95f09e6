"""Generators of random bits, against the known answers of their authors' library."""

from collections.abc import Sequence

import pytest

from xdsl_tvm.analysis.random_bits import philox, threefry

MASK = 0xFFFFFFFF


class Integers:
    """Words that are integers of Python."""

    def constant(self, value: int) -> int:
        return value

    def add(self, lhs: int, rhs: int) -> int:
        return lhs + rhs & MASK

    def xor(self, lhs: int, rhs: int) -> int:
        return lhs ^ rhs

    def rotated(self, word: int, distance: int) -> int:
        return (word << distance | word >> 32 - distance) & MASK

    def product(self, word: int, factor: int) -> tuple[int, int]:
        return word * factor >> 32, word * factor & MASK


def words(text: str) -> list[int]:
    return [int(each, 16) for each in text.split()]


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ("0 0", "0 0", "6b200159 99ba4efe"),
        ("ffffffff ffffffff", "ffffffff ffffffff", "1cb996fc bb002be7"),
        ("243f6a88 85a308d3", "13198a2e 03707344", "c4923a9c 483df7a0"),
    ],
)
def test_threefry(counter: str, key: str, expected: str) -> None:
    found: Sequence[int] = threefry(Integers(), words(key), words(counter))
    assert list(found) == words(expected)


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ("0 0 0 0", "0 0", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        (
            "ffffffff ffffffff ffffffff ffffffff",
            "ffffffff ffffffff",
            "408f276d 41c83b0e a20bc7c6 6d5451fd",
        ),
        (
            "243f6a88 85a308d3 13198a2e 03707344",
            "a4093822 299f31d0",
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_philox(counter: str, key: str, expected: str) -> None:
    found: Sequence[int] = philox(Integers(), words(key), words(counter))
    assert list(found) == words(expected)
