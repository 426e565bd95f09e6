"""Accesses whose indices differ by constants, as an unrolled loop leaves them.

To compare each of them with each other one takes quadratic time. `families` collects what
differs by constants only, and where these are sums of arithmetic progressions, makes one
access of them, whose index has a loop variable for each progression: what the loop was
before it was unrolled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Value
from xdsl_tvm.analysis.arith.polynomial import polynomial
from xdsl_tvm.analysis.tir.thread_separation import Separation, ThreadAccess
from xdsl_tvm.dialects import tir


@dataclass(frozen=True)
class AccessFamily:
    """Accesses of one buffer whose indices differ by constants."""

    members: tuple[ThreadAccess, ...]
    whole: ThreadAccess
    """An access that reaches all that the members do, and perhaps more."""

    @property
    def writes(self) -> bool:
        return self.whole.writes


def families(
    accesses: Iterable[ThreadAccess], separation: Separation
) -> list[AccessFamily]:
    """The accesses, in families; those of several dimensions are alone in theirs.

    Loop variables that the families need are added to those of `separation`.
    """
    found: dict[object, dict[int, ThreadAccess]] = {}
    result: list[AccessFamily] = []
    for access in accesses:
        key, constant = _split_off_constant(access)
        if key is None or constant in found.setdefault(key, {}):
            result.append(AccessFamily((access,), access))
        else:
            found[key][constant] = access
    for members in found.values():
        steps = progressions(sorted(members))
        if len(members) == 1 or steps is None:
            result += [AccessFamily((each,), each) for each in members.values()]
        else:
            first = members[min(members)]
            whole = _with_loops(first, steps, separation)
            result.append(AccessFamily(tuple(members.values()), whole))
    return result


def progressions(values: Sequence[int]) -> list[tuple[int, int]] | None:
    """Counts and steps whose multiples, added to the first value, are the values.

    The values ascend. Those of `[0, 1, 8, 9]` are `[(2, 1), (2, 8)]`; None where the
    values are no such sums.
    """
    found: list[tuple[int, int]] = []
    rest = list(values)
    while len(rest) > 1:
        step = rest[1] - rest[0]
        count = 2
        while count < len(rest) and rest[count] - rest[count - 1] == step:
            count += 1
        starts = rest[::count]
        runs = [start + number * step for start in starts for number in range(count)]
        if runs != rest:
            return None
        found.append((count, step))
        rest = starts
    return found


def _split_off_constant(access: ThreadAccess) -> tuple[object | None, int]:
    """What an access has in common with its family, and its place there."""
    if access.indices is None or len(access.indices) != 1:
        return None, 0
    (index,) = access.indices
    if tir.lanes_of(index.dtype) != 1:
        return None, 0
    terms = dict(polynomial(index).terms)
    constant = terms.pop((), 0)
    iterations = tuple(access.iterations.items())
    key = access.buffer, access.writes, frozenset(terms.items()), iterations
    return key, constant


def _with_loops(
    first: ThreadAccess, steps: Sequence[tuple[int, int]], separation: Separation
) -> ThreadAccess:
    """The access for all values of loop variables, and without its conditions."""
    assert first.indices is not None
    (index,) = first.indices
    for number, (count, step) in enumerate(steps):
        lane = Value(separation.lane(count, index.dtype, of_loop=number))
        index = smart.add(index, smart.mul(lane, smart.const(step, index.dtype)))
    return replace(first, indices=(index,), conditions=())
