"""The strides that LowerAutoCopy chooses, against the rules in plain words."""

from __future__ import annotations

import random
from math import lcm

import pytest
from xdsl.dialects.builtin import i32

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, Value
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._auto_copy.padding import Access, access_of, padded_strides


def strides_by_lists(
    shape: list[int], bits: int, accesses: list[Access], multiple: int
) -> list[int]:
    """The choice, written with lists of all positions instead of counts."""
    row = 1024 // bits
    lows = [list(access[-1]) for access in accesses]
    stride, found = 1, [1]
    for axis in reversed(range(len(shape) - 1)):
        base = stride * shape[axis + 1]
        best: tuple[int, int] | None = None
        for padding in range(0, min(base // 4, row) + 1, lcm(multiple, stride)):
            step = (base + padding) % row
            worst = 0
            for access, low in zip(accesses, lows, strict=True):
                banks = [
                    ((a * step + b) * bits // 32) % 32 for a in access[axis] for b in low
                ]
                worst = max([worst, *(banks.count(bank) for bank in range(32))])
            if best is None or worst < best[0]:
                best = worst, padding
        assert best is not None
        padding = best[1]
        step = (base + padding) % row
        for number, access in enumerate(accesses):
            if access[axis]:
                lows[number] = [
                    ((a * step + b) * bits) % row
                    for a in access[axis]
                    for b in lows[number]
                ]
        stride = base + padding
        found.append(stride)
    return found[::-1]


def random_access(rng: random.Random, shape: list[int]) -> Access:
    found: list[tuple[int, ...]] = []
    lanes = 32
    for size in shape:
        count = rng.choice([n for n in (1, 2, 4, 8, 32) if n <= lanes])
        lanes //= count
        scale = rng.choice((1, 2, 4))
        values = tuple(x * scale % size for x in range(count))
        found.append(() if rng.random() < 0.1 else values)
    return tuple(found)


def test_strides_of_random_accesses() -> None:
    padded = 0
    for seed in range(60):
        rng = random.Random(seed)
        rank = rng.randint(1, 4)
        shape = [rng.choice((3, 8, 16, 32, 128)) for _ in range(rank)]
        accesses = [random_access(rng, shape) for _ in range(rng.randint(1, 3))]
        bits, multiple = rng.choice((8, 16, 32, 64)), rng.choice((1, 1, 2, 4, 8))
        strides = padded_strides(shape, bits, accesses, multiple)
        assert strides == strides_by_lists(shape, bits, accesses, multiple)
        for axis in range(rank - 1):
            base = strides[axis + 1] * shape[axis + 1]
            assert base <= strides[axis] <= base * 5 // 4
            assert strides[axis] % strides[axis + 1] == 0
            padded += strides[axis] > base
    assert padded > 20


def columns(bits: int, size: int, multiple: int) -> list[int]:
    """A square whose columns a warp reads."""
    access: Access = (tuple(range(32)), (0,))
    return padded_strides([size, size], bits, [access], multiple)


@pytest.mark.parametrize(
    ("bits", "multiple", "expected"),
    [(32, 1, [129, 1]), (32, 8, [136, 1]), (16, 1, [130, 1]), (64, 1, [129, 1])],
)
def test_columns_of_a_square(bits: int, multiple: int, expected: list[int]) -> None:
    assert columns(bits, 128, multiple) == expected


def test_small_rows_are_not_padded() -> None:
    """At most a quarter of a row is added."""
    assert columns(32, 3, 1) == [3, 1]


def variable() -> Expr:
    return Value(tir.ShapeVarOp("x", i32).result)


def test_values_of_indices() -> None:
    x, y, outer = variable(), variable(), variable()
    extents = {x: 32, y: 4}
    flat = smart.add(smart.mul(y, 128), smart.mul(x, 4))
    row, column = smart.floordiv(flat, 64), smart.floormod(flat, 64)
    found = access_of([row, column, smart.const(3, i32), outer], extents)
    pairs = [(a, b) for a in range(4) for b in range(32)]
    assert set(found[0]) == {(a * 128 + b * 4) // 64 for a, b in pairs}
    assert set(found[1]) == {(a * 128 + b * 4) % 64 for a, b in pairs}
    assert found[2:] == ((), (0,))


def test_indices_that_are_not_known() -> None:
    x = variable()
    unknown = (smart.minimum(x, 3), smart.floordiv(smart.mul(x, 3), 2), smart.mul(x, x))
    for tree in unknown:
        assert access_of([x, tree, x], {x: 32}) == (tuple(range(32)), (), ())


def test_parts_that_do_not_continue_are_dropped() -> None:
    x, y = variable(), variable()
    total = smart.add(smart.mul(x, 16), smart.mul(y, 3))
    assert access_of([total], {x: 2, y: 4}) == ((0, 16),)
