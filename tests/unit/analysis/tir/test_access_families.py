"""Accesses that differ by constants become one with loop variables."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random

import pytest
from xdsl.dialects.builtin import i32
from xdsl.ir import Block, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, Value
from xdsl_tvm.analysis.tir.access_families import (
    families,
    progressions,
)
from xdsl_tvm.analysis.tir.thread_points import evaluate
from xdsl_tvm.analysis.tir.thread_separation import (
    Kind,
    Separation,
    ThreadAccess,
    Variable,
)
from xdsl_tvm.dialects import tir


@pytest.mark.parametrize(
    ("values", "count"),
    [
        ([7], 1),
        ([0, 1], 1),
        ([3, 5, 7, 9], 1),
        ([0, 1, 8, 9, 16, 17], 1),
        ([0, 2, 3], 2),
        ([0, 1, 8], 2),
        ([0, 1, 2, 8, 9], 2),
        ([0, 1, 8, 9, 32, 33, 40], 3),
    ],
)
def test_progressions(values: list[int], count: int) -> None:
    found = progressions([(value,) for value in values])
    assert len(found) == count
    assert sorted(v for each in found for (v,) in each.values()) == values


@pytest.mark.parametrize("seed", range(40))
def test_progressions_have_each_value_once(seed: int) -> None:
    rng = Random(seed)
    count = rng.randint(1, 1 + seed)
    values = {(rng.randint(-20, 20), rng.randint(-3, 3)) for _ in range(count)}
    found = [value for each in progressions(values) for value in each.values()]
    assert len(found) == len(values)
    assert set(found) == values


@pytest.mark.parametrize("seed", range(40))
def test_values_of_nested_loops_are_one(seed: int) -> None:
    """Where gaps grow outward, there is one sum of progressions."""
    rng = Random(seed)
    first = rng.randint(-50, 50)
    steps: list[tuple[int, int]] = []
    reach = 0
    for _ in range(seed % 4):
        count, gap = rng.randint(2, 4), rng.randint(1, 5)
        step = reach + gap + (steps[-1][1] if steps else 0)
        steps.append((count, step))
        reach += (count - 1) * step
    offsets = [range(0, count * step, step) for count, step in steps]
    values = {(first + sum(each),) for each in product(*offsets)}
    assert len(progressions(values)) == 1


def _number(value: int) -> Expr:
    return smart.const(value, i32)


def _tile(
    rows: int, limit: int, *, drop: int = -1, named: bool = False
) -> tuple[Separation, list[ThreadAccess]]:
    """Stores of a thread of 4 to its column of rows of 5, those below a limit.

    With `named` the rows have a length that is the same in all threads.
    """
    block = Block(arg_types=[i32, tir.BufferType([1000], i32), i32])
    thread, buffer, length = block.args
    operation = tir.EvaluateOp(thread)
    accesses: list[ThreadAccess] = []
    for row in range(rows):
        width = Value(length) if named else _number(5)
        index = smart.add(Value(thread), smart.mul(width, _number(row)))
        inside = smart.lt(smart.add(Value(thread), _number(row)), _number(limit))
        conditions = () if row == drop else (inside,)
        accesses.append(
            ThreadAccess(operation, buffer, buffer, (index,), conditions, writes=True)
        )
    variables: dict[SSAValue, Variable] = {thread: Variable(Kind.THREAD, 0, 3)}
    if named:
        variables[length] = Variable(Kind.UNIFORM, 5, 5)
    return Separation(variables), accesses


def _reached(access: ThreadAccess, separation: Separation) -> set[int]:
    """The elements that an access reaches, by the values of all its variables."""
    assert access.indices is not None
    names = list(separation.variables)
    extents = [separation.variables[name] for name in names]
    found: set[int] = set()
    for point in product(*(range(int(v.low), int(v.high) + 1) for v in extents)):
        columns = dict(zip(names, point, strict=True))
        if all(evaluate(each, columns) for each in access.conditions):
            found.add(int(evaluate(access.indices[0], columns)))
    return found


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("drop", [-1, 0, 2])
def test_a_family_reaches_what_its_members_do(drop: int, named: bool) -> None:
    """Its comparisons move with its indices, so that it reaches nothing else."""
    separation, accesses = _tile(4, 5, drop=drop, named=named)
    found = families(accesses, separation)
    sizes = {-1: [4], 0: [1, 3], 2: [1, 1, 2]}
    assert sorted(len(each.members) for each in found) == sizes[drop]
    for each in found:
        members = set[int]().union(*(_reached(m, separation) for m in each.members))
        assert _reached(each.whole, separation) == members


def test_a_comparison_that_moves_otherwise_is_left_out() -> None:
    separation, accesses = _tile(3, 5)
    inside = smart.lt(accesses[2].conditions[0].operands[0], _number(9))
    accesses[2] = replace(accesses[2], conditions=(inside,))
    (found,) = families(accesses, separation)
    assert found.whole.conditions == ()
    assert _reached(found.whole, separation) == {*range(4), *range(5, 9), *range(10, 14)}
