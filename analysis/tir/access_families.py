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
from itertools import product

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
    _wholes: dict[object, ThreadAccess | None] = field(
        default_factory=dict[object, ThreadAccess | None]
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
        if len(members) < 2 or members.get(constants) != member:
            return access
        if key not in self._wholes:
            self._wholes[key] = _whole(members, self.separation)
        return self._wholes[key] or access

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


@dataclass(frozen=True)
class _Member:
    """An access, its conditions one by one, and the constants of these."""

    access: ThreadAccess
    parts: tuple[Expr, ...]
    constants: Constants

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Member) and self.constants == other.constants

    def __hash__(self) -> int:
        return hash(self.constants)


def _is_wide(index: Expr) -> bool:
    """Whether arithmetic on an index is that of the integers."""
    dtype = index.dtype
    return (
        is_integer_type(dtype)
        and tir.is_int(dtype)
        and integer_range(dtype)[1] >= (1 << 31) - 1
    )


def _whole(
    members: Mapping[Constants, _Member], separation: Separation
) -> ThreadAccess | None:
    """The access for all members; None where their constants are no progressions."""
    places = sorted(members)
    loops = progressions(places)
    if loops is None:
        return None
    first = members[places[0]]
    assert first.access.indices is not None
    counts = [count for count, _ in loops]

    def shifted(index: Expr, steps: Sequence[int]) -> Expr:
        for number, (count, step) in enumerate(zip(counts, steps, strict=True)):
            if step:
                lane = Value(separation.lane(count, index.dtype, of_loop=number))
                index = smart.add(index, smart.mul(lane, smart.const(step, index.dtype)))
        return index

    conditions: list[Expr] = []
    for position, part in enumerate(first.parts):
        values = [members[place].constants[position] for place in places]
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
        shifted(index, [step[position] for _, step in loops])
        for position, index in enumerate(first.access.indices)
    ]
    return replace(first.access, indices=tuple(indices), conditions=tuple(conditions))


def progressions(values: Sequence[Constants]) -> list[tuple[int, Constants]] | None:
    """Counts and steps whose multiples, added to the first value, are the values.

    The values ascend. Those of `[(0,), (1,), (8,), (9,)]` are `[(2, (1,)), (2, (8,))]`;
    None where the values are no such sums.
    """
    found: list[tuple[int, Constants]] = []
    rest = list(values)
    while len(rest) > 1:
        step = _minus(rest[1], rest[0])
        count = 2
        while count < len(rest) and _minus(rest[count], rest[count - 1]) == step:
            count += 1
        starts = rest[::count]
        runs = [
            tuple(x + number * s for x, s in zip(start, step, strict=True))
            for start in starts
            for number in range(count)
        ]
        if runs != rest:
            return None
        found.append((count, step))
        rest = starts
    return found


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
