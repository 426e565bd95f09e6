"""Accesses that differ by constants become one with loop variables."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xdsl_tvm.analysis.tir.access_families import progressions


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([7], []),
        ([0, 1], [(2, 1)]),
        ([3, 5, 7, 9], [(4, 2)]),
        ([0, 1, 8, 9, 16, 17], [(2, 1), (3, 8)]),
        ([0, 2, 3], None),
        ([0, 1, 8], None),
        ([0, 1, 2, 8, 9], None),
    ],
)
def test_progressions(values: list[int], found: list[tuple[int, int]] | None) -> None:
    assert progressions(values) == found


@given(
    st.integers(-50, 50),
    st.lists(st.tuples(st.integers(2, 4), st.integers(1, 5)), max_size=3),
)
def test_values_of_nested_loops_are_progressions(
    first: int, loops: list[tuple[int, int]]
) -> None:
    """As many as the loops have iterations, where a step passes over the inner loops."""
    steps: list[tuple[int, int]] = []
    reach = 0
    for count, gap in loops:
        step = reach + gap
        steps.append((count, step))
        reach += (count - 1) * step
    offsets = [range(0, count * step, step) for count, step in steps]
    values = sorted(first + sum(each) for each in product(*offsets))
    found = progressions(values)
    assert found is not None
    ranges = [range(0, count * step, step) for count, step in found]
    assert sorted(first + sum(each) for each in product(*ranges)) == values
