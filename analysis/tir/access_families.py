"""Accesses whose indices differ by constants, as an unrolled loop leaves them.

To compare each of them with each other one takes quadratic time. A family holds what
differs by constants only, in its indices and in the comparisons around it, or by
multiples of products that are the same in all threads, as `4 * n` is of `n`. Where these
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
from xdsl_tvm.analysis.arith.expr import Cmp, Expr, Not, Value, leaf_values
from xdsl_tvm.analysis.arith.facts import conjuncts
from xdsl_tvm.analysis.arith.polynomial import Monomial
from xdsl_tvm.analysis.tir.thread_separation import Kind, Separation, ThreadAccess
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import integer_range
from xdsl_tvm.dialects.tir.types import is_integer_type

Constants = tuple[int, ...]
"""What is added to each index, or to each difference that is compared."""
Shift = frozenset[tuple[Monomial, int]]
"""What is added to an index: products that are the same in all threads, how often."""
Shifts = tuple[Shift, ...]


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
    _members: dict[object, dict[Shifts, _Member]] = field(
        default_factory=dict[object, dict[Shifts, "_Member"]]
    )
    _wholes: dict[object, dict[Shifts, ThreadAccess]] = field(
        default_factory=dict[object, dict[Shifts, ThreadAccess]]
    )
    _split: dict[object, tuple[object, Shifts, _Member] | None] = field(
        default_factory=dict[object, "tuple[object, Shifts, _Member] | None"]
    )
    _uniform: dict[Monomial, bool] = field(default_factory=dict[Monomial, bool])

    def add(self, access: ThreadAccess) -> None:
        """Add an access to its family."""
        found = self._split_off(access)
        if found is not None:
            key, shifts, member = found
            self._members.setdefault(key, {}).setdefault(shifts, member)

    def whole(self, access: ThreadAccess) -> ThreadAccess:
        """An access for all of a family, or the access if it has none.

        It is the same one for all members; its iterations are those of some member.
        """
        found = self._split_off(access)
        if found is None:
            return access
        key, shifts, member = found
        members = self._members.get(key, {})
        # Of accesses at one place under different conditions, the first one is added.
        same = members.get(shifts)
        if same is None or same.constants != member.constants:
            return access
        if key not in self._wholes:
            self._wholes[key] = _wholes(members, self.separation)
        return self._wholes[key].get(shifts, access)

    def _split_off(self, access: ThreadAccess) -> tuple[object, Shifts, _Member] | None:
        """The key of its family, and its place there; None for an access without one."""
        key = access.indices, access.conditions, access.buffer, access.writes
        if key not in self._split:
            self._split[key] = self._split_anew(access)
        return self._split[key]

    def _split_anew(self, access: ThreadAccess) -> tuple[object, Shifts, _Member] | None:
        if not access.indices or any(
            tir.lanes_of(index.dtype) != 1 for index in access.indices
        ):
            return None
        indices = [self._shifted(index) for index in access.indices]
        parts = [part for each in access.conditions for part in conjuncts(each)]
        conditions = [self._condition(part) for part in parts]
        key = (
            access.buffer,
            access.writes,
            tuple(terms for terms, _ in indices),
            tuple(terms for terms, _ in conditions),
        )
        member = _Member(access, tuple(parts), tuple(c for _, c in conditions))
        return key, tuple(shift for _, shift in indices), member

    def _shifted(self, index: Expr) -> tuple[object, Shift]:
        """The terms of an index that differ between threads, and the others."""
        own: list[tuple[Monomial, int]] = []
        same: list[tuple[Monomial, int]] = []
        for term in self.separation.polynomial(index).terms.items():
            (same if self._is_uniform(term[0]) else own).append(term)
        return frozenset(own), frozenset(same)

    def _is_uniform(self, monomial: Monomial) -> bool:
        found = self._uniform.get(monomial)
        if found is None:
            known = self.separation.variables
            variables = (known.get(value) for value in leaf_values(*monomial))
            found = all(v is not None and v.kind is Kind.UNIFORM for v in variables)
            self._uniform[monomial] = found
        return found

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
    members: Mapping[Shifts, _Member], separation: Separation
) -> dict[Shifts, ThreadAccess]:
    """For each member that is not alone the access for all of its family."""
    found: dict[Shifts, ThreadAccess] = {}
    products = [
        (position, monomial)
        for position, shifts in enumerate(zip(*members, strict=True))
        for monomial in sorted({m for shift in shifts for m, _ in shift}, key=_order)
    ]
    places: dict[Constants, Shifts] = {}
    for shifts in members:
        terms = [dict(shift) for shift in shifts]
        places[tuple(terms[at].get(monomial, 0) for at, monomial in products)] = shifts
    for each in progressions(places):
        if each.loops:
            own = [places[place] for place in each.values()]
            whole = _whole([members[s] for s in own], each, products, separation)
            found.update(dict.fromkeys(own, whole))
    return found


def _order(monomial: Monomial) -> tuple[int, ...]:
    return len(monomial), *(atom.serial for atom in monomial)


def _whole(
    members: Sequence[_Member],
    places: Progressions,
    products: Sequence[tuple[int, Monomial]],
    separation: Separation,
) -> ThreadAccess:
    """The access for all members, whose indices are in the order of loops.

    A step is what is added of each of `products`, each to an index.
    """
    first, counts = members[0], [count for count, _ in places.loops]
    assert first.access.indices is not None

    def shifted(index: Expr, steps: Sequence[int], factor: Monomial = ()) -> Expr:
        for number, (count, step) in enumerate(zip(counts, steps, strict=True)):
            if step:
                lane = Value(separation.lane(count, index.dtype, of_loop=number))
                more = smart.mul(lane, smart.const(step, index.dtype))
                for atom in factor:
                    more = smart.mul(more, smart.cast(index.dtype, atom))
                index = smart.add(index, more)
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
    indices = list(first.access.indices)
    for number, (position, monomial) in enumerate(products):
        steps = [step[number] for _, step in places.loops]
        indices[position] = shifted(indices[position], steps, monomial)
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
