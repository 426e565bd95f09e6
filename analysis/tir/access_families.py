"""Accesses whose indices differ by constants, as an unrolled loop leaves them.

To compare each of them with each other one takes quadratic time. A family holds what
differs by constants only, in its indices and in the comparisons around it. Where these
constants are sums of arithmetic progressions, one access stands for the family, whose
indices have a loop variable for each progression: what the loop was before it was
unrolled. A comparison is kept where its constants are sums of multiples of the same loop
variables, and left out else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Cmp, Expr, Not, Value
from xdsl_tvm.analysis.arith.facts import conjuncts
from xdsl_tvm.analysis.tir.thread_separation import Separation, ThreadAccess
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import integer_range
from xdsl_tvm.dialects.tir.types import is_integer_type

Constants = tuple[int, ...]
"""What is added to each index, or to each difference that is compared."""


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
    """The accesses, in families, whatever the iterations that they are of.

    Loop variables that the families need are added to those of `separation`.
    """
    table = FamilyTable(separation)
    every = list(accesses)
    for access in every:
        table.add(access)
    members: dict[ThreadAccess, list[ThreadAccess]] = {}
    for access in every:
        members.setdefault(table.whole(access), []).append(access)
    return [AccessFamily(tuple(found), whole) for whole, found in members.items()]


@dataclass
class FamilyTable:
    """The families of accesses, to be asked for when all accesses are added.

    Loop variables that the families need are added to those of `separation`.
    """

    separation: Separation
    _members: dict[object, dict[Constants, _Member]] = field(
        default_factory=dict[object, dict[Constants, "_Member"]]
    )
    _wholes: dict[object, dict[Constants, ThreadAccess]] = field(
        default_factory=dict[object, dict[Constants, ThreadAccess]]
    )
    _split: dict[object, tuple[object, Constants, _Member] | None] = field(
        default_factory=dict[object, "tuple[object, Constants, _Member] | None"]
    )

    def add(self, access: ThreadAccess) -> None:
        """Add an access to its family."""
        found = self._split_off(access)
        if found is not None:
            key, constants, member = found
            self._members.setdefault(key, {}).setdefault(constants, member)

    def whole(self, access: ThreadAccess) -> ThreadAccess:
        """An access for all of a family, or the access if it has none.

        It is the same one for all members; its iterations are those of some member.
        """
        found = self._split_off(access)
        if found is None:
            return access
        key, constants, member = found
        members = self._members.get(key, {})
        # Of accesses at one place under different conditions, the first one is added.
        same = members.get(constants)
        if same is None or same.constants != member.constants:
            return access
        if key not in self._wholes:
            self._wholes[key] = _wholes(members, self.separation)
        return self._wholes[key].get(constants, access)

    def _split_off(
        self, access: ThreadAccess
    ) -> tuple[object, Constants, _Member] | None:
        """The key of its family, and its place there; None for an access without one."""
        key = access.indices, access.conditions, access.buffer, access.writes
        if key not in self._split:
            self._split[key] = self._split_anew(access)
        return self._split[key]

    def _split_anew(
        self, access: ThreadAccess
    ) -> tuple[object, Constants, _Member] | None:
        if not access.indices or any(
            tir.lanes_of(index.dtype) != 1 for index in access.indices
        ):
            return None
        indices = [self._terms_of(index) for index in access.indices]
        parts = [part for each in access.conditions for part in conjuncts(each)]
        conditions = [self._condition(part) for part in parts]
        key = (
            access.buffer,
            access.writes,
            tuple(terms for terms, _ in indices),
            tuple(terms for terms, _ in conditions),
        )
        member = _Member(access, tuple(parts), tuple(c for _, c in conditions))
        return key, tuple(constant for _, constant in indices), member

    def _terms_of(self, *sides: Expr) -> tuple[object, int]:
        """The terms of an integer, or of a difference of two, and what is added."""
        index = self.separation.polynomial(sides[0])
        for other in sides[1:]:
            index -= self.separation.polynomial(other)
        terms = dict(index.terms)
        constant = terms.pop((), 0)
        return frozenset(terms.items()), constant

    def _condition(self, part: Expr) -> tuple[object, int]:
        """A condition without its constant, and the constant."""
        comparison = part.value if isinstance(part, Not) else part
        if not isinstance(comparison, Cmp) or not _is_wide(comparison.lhs):
            return part, 0
        terms, constant = self._terms_of(comparison.lhs, comparison.rhs)
        return (terms, comparison.predicate, isinstance(part, Not)), constant


@dataclass(frozen=True, eq=False)
class _Member:
    """An access, its conditions one by one, and the constants of these."""

    access: ThreadAccess
    parts: tuple[Expr, ...]
    constants: Constants


def _is_wide(index: Expr) -> bool:
    """Whether arithmetic on an index is that of the integers."""
    dtype = index.dtype
    return (
        is_integer_type(dtype)
        and tir.is_int(dtype)
        and integer_range(dtype)[1] >= (1 << 31) - 1
    )


def _wholes(
    members: Mapping[Constants, _Member], separation: Separation
) -> dict[Constants, ThreadAccess]:
    """For each member that is not alone the access for all of its family."""
    found: dict[Constants, ThreadAccess] = {}
    for each in progressions(members):
        if each.loops:
            places = list(each.values())
            whole = _whole([members[place] for place in places], each, separation)
            found.update(dict.fromkeys(places, whole))
    return found


def _whole(
    members: Sequence[_Member], places: Progressions, separation: Separation
) -> ThreadAccess:
    """The access for all members, whose indices are in the order of loops."""
    first, counts = members[0], [count for count, _ in places.loops]
    assert first.access.indices is not None

    def shifted(index: Expr, steps: Sequence[int]) -> Expr:
        for number, (count, step) in enumerate(zip(counts, steps, strict=True)):
            if step:
                lane = Value(separation.lane(count, index.dtype, of_loop=number))
                index = smart.add(index, smart.mul(lane, smart.const(step, index.dtype)))
        return index

    conditions: list[Expr] = []
    for position, part in enumerate(first.parts):
        values = [member.constants[position] for member in members]
        steps = _steps(values, counts)
        if steps is None:
            continue
        comparison = part.value if isinstance(part, Not) else part
        if any(steps) and isinstance(comparison, Cmp):
            predicate, side = comparison.predicate, comparison.lhs
            moved: Expr = Cmp(predicate, shifted(side, steps), comparison.rhs)
            part = Not(moved) if isinstance(part, Not) else moved
        conditions.append(part)
    indices = [
        shifted(index, [step[position] for _, step in places.loops])
        for position, index in enumerate(first.access.indices)
    ]
    return replace(first.access, indices=tuple(indices), conditions=tuple(conditions))


@dataclass(frozen=True)
class Progressions:
    """A first value, and those that multiples of steps added to it make."""

    first: Constants
    loops: tuple[tuple[int, Constants], ...] = ()
    """How many multiples of each step, from 0 on; the innermost loop is the first."""

    def values(self) -> Iterator[Constants]:
        """All values, in the order of the loops."""
        loops = [range(count) for count, _ in reversed(self.loops)]
        for numbers in product(*loops):
            value = self.first
            for number, (_, step) in zip(reversed(numbers), self.loops, strict=True):
                value = tuple(x + number * s for x, s in zip(value, step, strict=True))
            yield value


def progressions(values: Iterable[Constants]) -> list[Progressions]:
    """Few sums of progressions that have each of different values once.

    `0, 1, 8, 9` is one of two loops, of steps 1 and 8; `0, 1, 8` is `0, 1` and `8`.
    """
    result: list[Progressions] = []
    pending = [(sorted(values), tuple[tuple[int, Constants], ...]())]
    while pending:
        starts, loops = pending.pop()
        if len(starts) == 1:
            result.append(Progressions(starts[0], loops))
            continue
        known = set(starts)
        step = min(_minus(y, x) for x, y in pairwise(starts))
        runs: dict[int, list[Constants]] = {}
        for start in starts:
            if _minus(start, step) not in known:
                count, last = 1, _plus(start, step)
                while last in known:
                    count, last = count + 1, _plus(last, step)
                runs.setdefault(count, []).append(start)
        for count, found in runs.items():
            pending.append((found, loops if count == 1 else (*loops, (count, step))))
    return result


def _plus(one: Constants, other: Constants) -> Constants:
    return tuple(x + y for x, y in zip(one, other, strict=True))


def _minus(one: Constants, other: Constants) -> Constants:
    return tuple(x - y for x, y in zip(one, other, strict=True))


def _steps(values: Sequence[int], counts: Sequence[int]) -> list[int] | None:
    """What each loop adds to a value; None if the values are not made by such loops.

    The first loop is the innermost one.
    """
    strides = list(_strides(counts))
    steps = [values[stride] - values[0] for stride in strides]
    loops = [range(count) for count in reversed(counts)]
    for value, numbers in zip(values, product(*loops), strict=True):
        pairs = zip(reversed(numbers), steps, strict=True)
        if value != values[0] + sum(number * step for number, step in pairs):
            return None
    return steps


def _strides(counts: Sequence[int]) -> Iterator[int]:
    """How many values are between two iterations of each loop."""
    stride = 1
    for count in counts:
        yield stride
        stride *= count
