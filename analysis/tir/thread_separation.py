"""Whether two accesses of memory by different threads can be of one element.

`are_separate` compares the elements that two accesses name, each in a thread of its own.
Methods prove that equal elements mean one thread. The first reads the difference of
the indices as a number in a mixed radix, `256 * db + dt`: where each digit is smaller
than the weight of the next one, a difference of 0 means that every digit is 0. It needs
no constant extents. What is made of variables of loops, such as `i % 2` in an iteration
and the next one, contributes its differences where they are few. The second evaluates
indices and conditions in all threads and compares them, which also decides quotients,
remainders and exclusive ors; it is limited to `MAX_POINTS` combinations of variables.
Where both fail, indices are split by numbers that all threads have in common, as in
`x // n * m + x % n`, and the first method gets the parts (`radix_split`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from math import gcd, inf, lcm, prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xdsl_tvm.analysis.arith.analyzer import Analyzer, Range
from xdsl_tvm.analysis.arith.expr import (
    Add,
    Cmp,
    Const,
    Expr,
    FloorMod,
    Mul,
    Sub,
    Value,
    leaf_values,
    postorder,
    substitute,
    view,
)
from xdsl_tvm.analysis.arith.facts import conjuncts
from xdsl_tvm.analysis.arith.polynomial import Monomial, Polynomial, polynomial
from xdsl_tvm.analysis.derivation import derivation
from xdsl_tvm.analysis.tir.radix_split import (
    Dimension,
    Divisions,
    Place,
    split_dimensions,
)
from xdsl_tvm.analysis.tir.thread_points import (
    Points,
    are_apart,
    evaluate,
    polynomial_values,
)
from xdsl_tvm.analysis.tir.variable_ends import (
    Ends,
    VariableEnds,
    range_of,
    single_variable,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import integer_range
from xdsl_tvm.dialects.integers import Bound, mul
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.dialects.tir.types import bytes_of, is_integer_type

MAX_POINTS = 1 << 17
"""Combinations of variables of one access that are evaluated at most."""

_FEW_ITERATIONS = 4
"""So many are looked at one by one, where nothing else tells accesses apart."""
_FEW_POINTS = 1 << 12
"""So many take less time than other methods."""
_MAX_COMBINATIONS = 1 << 12
"""Combinations of values of loops that are evaluated at most for a part of an index."""
_MAX_OFFSETS = 64
"""Differences of such parts that are looked at one by one."""
_ATOMIC = "atomic_add"

Path = tuple[tuple[int, Operation, bool], ...]
"""The ops around an op from the outermost on, and the op: each with the number of one run
of its block, and whether threads of that run may have parted."""


class Kind(Enum):
    """How the values that a variable has in two threads relate."""

    THREAD = auto()
    """An index within the block of threads."""
    BLOCK = auto()
    """An index of the block."""
    LOOP = auto()
    """A loop variable, one value for each iteration."""
    UNIFORM = auto()
    """One value for all threads of the launch."""


@dataclass(frozen=True)
class Variable:
    """What is known of a value that indices are made of; both ends are included."""

    kind: Kind
    low: float = -inf
    high: float = inf


@dataclass(frozen=True)
class Iteration:
    """An iteration of a loop that all threads of a block do at the same time.

    `loop` stands for one run of the loop, `ahead` says how many iterations later than a
    first one it is, with `or_more` how many it is at least.
    """

    loop: int
    ahead: int
    or_more: bool = False


@dataclass(frozen=True, eq=False)
class ThreadAccess:
    """An access of memory that threads share."""

    op: Operation
    buffer: SSAValue
    memory: SSAValue | None
    """What defines the memory; None if that is unknown."""
    indices: tuple[Expr, ...] | None
    """The element; None for any element."""
    conditions: tuple[Expr, ...]
    """What holds where it is reached."""
    writes: bool
    iterations: Mapping[SSAValue, Iteration] = field(
        default_factory=dict[SSAValue, Iteration]
    )
    path: Path = ()
    """Where it is; accesses that differ in nothing else are equal."""

    @property
    def key(self) -> object:
        """What tells accesses apart; equal ones need to be compared once."""
        place = self.op if self.indices is None else self.indices
        iterations = tuple(self.iterations.items())
        return place, self.buffer, self.writes, self.conditions, iterations

    @property
    def is_atomic(self) -> bool:
        """Whether it is an update that threads make one after the other, in any order."""
        return isinstance(self.op, tir.CallOp) and self.op.callee.data == _ATOMIC


class Separation:
    """Compares accesses of one kernel, whose variables are given.

    Values that are not among them differ between threads in unknown ways. With
    `blocks_meet` the iterations of accesses are those of all blocks of the launch.
    """

    def __init__(
        self, variables: dict[SSAValue, Variable], *, blocks_meet: bool = False
    ) -> None:
        self.variables = variables
        """What is known of the values of the kernel."""
        self._blocks_meet = blocks_meet
        self._ends = VariableEnds(variables)
        self._analyzer = Analyzer()
        for value, variable in variables.items():
            if variable.low == 0 and variable.high == inf:
                self._analyzer.mark_global_nonneg(Value(value))
            if variable.low > -inf and variable.high < inf and _is_exact(value):
                low, high = int(variable.low), int(variable.high)
                if low <= high:
                    extent = Const(high - low + 1, value.type)
                    self._analyzer.bind(
                        Value(value), Range(Const(low, value.type), extent)
                    )
        self._known: dict[object, bool] = {}
        self._known_anywhere: dict[object, bool] = {}
        self._leaves_of: dict[tuple[Expr, ...], frozenset[SSAValue]] = {}
        self._lanes: dict[object, SSAValue] = {}
        self._polynomials: dict[Expr, Polynomial] = {}

    def lane(
        self,
        count: int,
        dtype: Attribute,
        *,
        of_bytes: bool = False,
        of_rows: bool = False,
        of_loop: int | None = None,
    ) -> SSAValue:
        """A variable for the elements that one op accesses, counted from 0.

        With `of_bytes` it counts the bytes of an element, with `of_rows` the rows of a
        tile, and with `of_loop` the iterations of a loop that has this number.
        """
        key = count, dtype, of_bytes, of_rows, of_loop
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Block(arg_types=[dtype]).args[0]
            self.variables[lane] = Variable(Kind.LOOP, 0, count - 1)
            if _is_exact(lane):
                values = Range(Const(0, dtype), Const(count, dtype))
                self._analyzer.bind(Value(lane), values)
        return lane

    def polynomial(self, index: Expr) -> Polynomial:
        """The normal form of an index, which is asked for again and again."""
        found = self._polynomials.get(index)
        if found is None:
            found = self._polynomials[index] = polynomial(index)
        return found

    def are_separate(
        self,
        a: ThreadAccess,
        b: ThreadAccess,
        axes: Kind,
        ignored: SSAValue | None = None,
    ) -> bool:
        """Whether threads that differ on some axis of a kind access different elements.

        With `Kind.THREAD` the threads are of one block, with `Kind.BLOCK` of two. Both
        accesses are of one memory. Threads that only differ on the axis `ignored` may
        access the same.
        """
        wanted = {
            value
            for value, variable in self.variables.items()
            if variable.kind is axes
            and variable.high > variable.low
            and value is not ignored
        }
        if not wanted or (a.is_atomic and b.is_atomic):
            return True
        key = (a.key, b.key, axes, ignored)
        found = self._known.get(key)
        if found is None:
            found = self._are_separate_anywhere(a, b, axes, ignored, wanted)
            found = self._known[key] = found or self._compare(a, b, axes, wanted)
        return found

    def _are_separate_anywhere(
        self,
        a: ThreadAccess,
        b: ThreadAccess,
        axes: Kind,
        ignored: SSAValue | None,
        wanted: set[SSAValue],
    ) -> bool:
        """The same by what takes little time, whatever holds where both are reached.

        Conditions and iterations that indices do not depend on make no difference then,
        so that elements are compared once.
        """
        used = self._leaves(a) | self._leaves(b)
        a, b = (
            replace(
                each,
                conditions=(),
                iterations={v: i for v, i in each.iterations.items() if v in used},
            )
            for each in (a, b)
        )
        key = (a.key, b.key, axes, ignored)
        found = self._known_anywhere.get(key)
        if found is None:
            pair = self._pair(a, b, axes)
            found = pair is not None and pair.by_little(wanted)
            self._known_anywhere[key] = found
        return found

    def _leaves(self, access: ThreadAccess) -> frozenset[SSAValue]:
        """What the indices of an access are made of."""
        indices = access.indices or ()
        found = self._leaves_of.get(indices)
        if found is None:
            found = self._leaves_of[indices] = frozenset(leaf_values(*indices))
        return found

    def _pair(self, a: ThreadAccess, b: ThreadAccess, axes: Kind) -> _Pair | None:
        """Two accesses whose indices can be compared."""
        dimensions = self._dimensions(a, b)
        if dimensions is None or not (self._is_fixed(a) and self._is_fixed(b)):
            return None
        return _Pair(
            self.variables,
            self._ends,
            self._analyzer,
            a,
            b,
            axes,
            dimensions,
            self._blocks_meet,
        )

    def _compare(
        self, a: ThreadAccess, b: ThreadAccess, axes: Kind, wanted: set[SSAValue]
    ) -> bool:
        pair = self._pair(a, b, axes)
        if pair is None:
            return False
        if pair.by_little(wanted):
            return True
        extents = [*_extents(a.buffer), *_extents(b.buffer)]
        # The facts are made before the first of them is assumed.
        with self._analyzer.assumed(tuple(self._at_least_one(extents))):
            if pair.by_divisions(wanted):
                return True
        # The points are many.
        return pair.by_points(wanted) or self._by_iterations(a, b, axes, wanted)

    def _by_iterations(
        self, a: ThreadAccess, b: ThreadAccess, axes: Kind, wanted: set[SSAValue]
    ) -> bool:
        """The same for each of few iterations of a loop in which both are in the same.

        Stages of a ring are compared so where a loop goes around it less than once, and
        one of them has no remainder any more.
        """
        if axes is Kind.BLOCK and not self._blocks_meet:
            return False
        for value, iteration in a.iterations.items():
            variable = self.variables.get(value)
            if variable is None or b.iterations.get(value) != iteration:
                continue
            if iteration.or_more or variable.high - variable.low >= _FEW_ITERATIONS:
                continue
            return all(
                self._compare(
                    _in_iteration(a, value, number),
                    _in_iteration(b, value, number),
                    axes,
                    wanted,
                )
                for number in range(int(variable.low), int(variable.high) + 1)
            )
        return False

    def _at_least_one(self, extents: Iterable[SSAValue]) -> Iterator[Expr]:
        """That extents are not 0, which holds where an element is accessed."""
        for extent in dict.fromkeys(extents):
            tree = view(extent)
            least = Cmp(CmpPredicate.GE, tree, Const(1, tree.dtype))
            yield from conjuncts(self._analyzer.simplify(least))

    def _dimensions(self, a: ThreadAccess, b: ThreadAccess) -> list[Dimension] | None:
        """Indices to compare one by one; None if those of the two are not comparable."""
        if a.indices is None or b.indices is None:
            return None
        if any(tir.lanes_of(index.dtype) != 1 for index in (*a.indices, *b.indices)):
            return None
        one, other = _element(a.buffer), _element(b.buffer)
        if a.buffer is b.buffer or (
            one == other and _is_alike_compact(a.buffer, b.buffer)
        ):
            pairs = zip(a.indices, b.indices, strict=True)
            return [(self.polynomial(i), self.polynomial(j)) for i, j in pairs]
        first, second = _flat(a.buffer, a.indices), _flat(b.buffer, b.indices)
        if first is None or second is None:
            return None
        if one == other:
            return [(first, second)]
        if tir.is_scalable(one) or tir.is_scalable(other):
            return None
        sizes = bytes_of(one), bytes_of(other)
        unit = gcd(*sizes)
        return [
            (
                self._in_units(first, sizes[0] // unit),
                self._in_units(second, sizes[1] // unit),
            )
        ]

    def _in_units(self, index: Polynomial, count: int) -> Polynomial:
        """The parts of an element, where each has `count` of them."""
        scaled = index * Polynomial.constant(count)
        if count == 1:
            return scaled
        part = Value(self.lane(count, i64, of_bytes=True))
        return scaled + polynomial(part)

    def _is_fixed(self, access: ThreadAccess) -> bool:
        """Whether the elements of a buffer are at the same locations for all threads."""
        return all(
            (variable := self.variables.get(leaf)) is not None
            and variable.kind is Kind.UNIFORM
            for value in layout_values(access.buffer)
            for leaf in leaf_values(view(value))
        )


def _in_iteration(access: ThreadAccess, value: SSAValue, number: int) -> ThreadAccess:
    """The access where the variable of a loop has a value."""
    given: dict[Expr, Expr] = {Value(value): Const(number, value.type)}
    iterations = {key: each for key, each in access.iterations.items() if key != value}
    return replace(
        access,
        indices=None
        if access.indices is None
        else tuple(substitute(index, given) for index in access.indices),
        conditions=tuple(substitute(each, given) for each in access.conditions),
        iterations=iterations,
    )


def _extents(buffer: SSAValue) -> Iterator[SSAValue]:
    """The dynamic extents of a parameter that a buffer is in."""
    for value in derivation(buffer):
        if isinstance(value.owner, tir.MatchBufferOp):
            yield from (e for e in value.owner.shape if isinstance(e, SSAValue))


def layout_values(buffer: SSAValue) -> Iterator[SSAValue]:
    """The numbers that say where in its memory the elements of a buffer are."""
    for value in derivation(buffer):
        owner = value.owner
        if isinstance(owner, Operation) and not isinstance(owner, tir.MatchBufferOp):
            yield from (each for each in owner.operands if is_integer_type(each.type))


def _is_exact(value: SSAValue) -> bool:
    return tir.is_int(value.type) and integer_range(value.type)[1] >= (1 << 31) - 1


def _element(buffer: SSAValue) -> Attribute:
    if isinstance(buffer.type, tir.PtrType):
        return buffer.type.element_type
    return tir.buffer_definition(buffer).type.element_type


def compact_shape(buffer: SSAValue) -> tuple[int, ...] | None:
    """The shape of a buffer in row-major order from the start of its memory."""
    if isinstance(buffer.type, tir.PtrType):
        return (-1,) if isinstance(buffer.owner, tir.AllocateOp | Block) else None
    definition = tir.buffer_definition(buffer)
    if next(layout_values(buffer), None) is not None or definition.layout_strides:
        return None
    if isinstance(definition, tir.DeclBufferOp):
        owner = definition.data.owner
        if not isinstance(owner, tir.AllocateOp | tir.AllocateConstOp | Block):
            return None
    elif not isinstance(definition, tir.AllocBufferOp | tir.MatchBufferOp):
        return None
    return definition.type.get_shape()


def _is_alike_compact(a: SSAValue, b: SSAValue) -> bool:
    shape = compact_shape(a)
    return shape is not None and shape == compact_shape(b)


def _flat(buffer: SSAValue, indices: Sequence[Expr]) -> Polynomial | None:
    """The element of a compact buffer, counted from the start of its memory."""
    shape = compact_shape(buffer)
    if shape is None or any(extent < 0 for extent in shape[1:]):
        return None
    total = Polynomial({})
    for index, extent in zip(indices, shape, strict=True):
        total = total * Polynomial.constant(extent) + polynomial(index)
    return total


@dataclass
class _Pair:
    """Two accesses of one memory, and their indices."""

    variables: Mapping[SSAValue, Variable]
    ends: VariableEnds
    """Of these variables."""
    analyzer: Analyzer
    a: ThreadAccess
    b: ThreadAccess
    axes: Kind
    dimensions: list[Dimension]
    blocks_meet: bool
    joins: Sequence[tuple[frozenset[SSAValue], Dimension]] = ()
    """What is equal as well where some variables are."""
    most_points: int = MAX_POINTS
    """Combinations of variables of one access that are evaluated at most."""
    periods: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """Numbers modulo which values are looked at, where there are too many of them."""

    def _ahead(self, value: SSAValue) -> tuple[int, int] | None:
        """How far both are from a value that they share; None if they share none."""
        variable = self.variables.get(value)
        if variable is None:
            return None
        if variable.kind is Kind.UNIFORM:
            return 0, 0
        if variable.kind is Kind.THREAD:
            return None
        if variable.kind is Kind.BLOCK:
            return None if self.axes is Kind.BLOCK else (0, 0)
        found = self._iterations(value)
        if found is None:
            return None
        if found[0] != found[1] and any(each.or_more for each in found):
            return None
        return found[0].ahead, found[1].ahead

    def _iterations(self, value: SSAValue) -> tuple[Iteration, Iteration] | None:
        """The iterations of both in one run of a loop; None if they share none."""
        if self.axes is Kind.BLOCK and not self.blocks_meet:
            return None
        one, other = self.a.iterations.get(value), self.b.iterations.get(value)
        if one is None or other is None or one.loop != other.loop:
            return None
        return one, other

    def _distance(self, value: SSAValue) -> Bound | None:
        """How many iterations later the second is than the first, if that is a range."""
        found = self._iterations(value)
        if found is None or found[0].or_more or not found[1].or_more:
            return None
        variable = self.variables[value]
        least = found[1].ahead - found[0].ahead
        return Bound(least, max(least, variable.high - variable.low))

    def by_little(self, wanted: set[SSAValue]) -> bool:
        """By digits, or by few points, which takes less time than other methods."""
        return self.by_digits(wanted) or replace(self, most_points=_FEW_POINTS).by_points(
            wanted
        )

    # ---- digits ----

    def by_digits(self, wanted: set[SSAValue]) -> bool:
        """Whether equal indices mean equal `wanted`, or cannot be."""
        ends = [self._narrowed(access) for access in (self.a, self.b)]
        if None in ends:
            return True
        one, other = ends
        assert one is not None
        assert other is not None
        equal = {
            value
            for value in wanted
            if one[value] == other[value] and one[value].value is not None
        }
        dimensions, joins = list(self.dimensions), list(self.joins)
        while not wanted <= equal:
            count = len(equal)
            for first, second in dimensions:
                if _never_zero(self._digits(first, second, one, other, equal), equal):
                    return True
            known = [each for each in joins if each[0] <= equal]
            if len(equal) == count and not known:
                return False
            dimensions += [dimension for _, dimension in known]
            joins = [each for each in joins if not each[0] <= equal]
        return True

    # ---- divisions ----

    def by_divisions(self, wanted: set[SSAValue]) -> bool:
        """As `by_digits`, where indices are split by what is the same in both threads.

        Their quotients and remainders are digits then.
        """
        dimensions = split_dimensions(
            self.dimensions, self._place(self.a), self._place(self.b)
        )
        divisions = Divisions(self._is_uniform)
        dimensions = [divisions.replaced(each) for each in dimensions]
        if dimensions == self.dimensions:
            return False
        joins = list(divisions.joins())
        variables = dict(self.variables)
        for atom, variable in divisions.variables.items():
            ends = [self._where_reached(access, atom) for access in (self.a, self.b)]
            low, high = min(each.min for each in ends), max(each.max for each in ends)
            variables[variable] = Variable(Kind.THREAD, low, high)
        ends = self.ends.with_variables(variables)
        pair = replace(
            self, variables=variables, ends=ends, dimensions=dimensions, joins=joins
        )
        return pair.by_digits(wanted)

    def _where_reached(self, access: ThreadAccess, atom: Expr) -> Bound:
        """The values of an expression where an access is reached."""
        parts = [part for each in access.conditions for part in conjuncts(each)]
        with self.analyzer.assumed(parts):
            return self.analyzer.const_int_bound(atom)

    def _is_one_value(self, value: SSAValue) -> bool:
        """Whether it is the same in both threads."""
        shared = self._ahead(value)
        return shared is not None and shared[0] == shared[1]

    def _is_uniform(self, value: SSAValue) -> bool:
        variable = self.variables.get(value)
        return variable is not None and variable.kind is Kind.UNIFORM

    def _place(self, access: ThreadAccess) -> Place:
        ends = self._narrowed(access)
        parts = [part for each in access.conditions for part in conjuncts(each)]

        def bound(part: Polynomial) -> Bound:
            if ends is None:
                return _EVERYTHING
            with self.analyzer.assumed(parts):
                return self._ends_of(part, ends)

        return Place(access.conditions, self._is_uniform, bound)

    def _ends_of(self, index: Polynomial, ends: Mapping[SSAValue, Bound]) -> Bound:
        """The values that an index may have."""
        low: float = 0
        high: float = 0
        for monomial, factor in index.terms.items():
            leaf = single_variable(monomial)
            bound = self._bound(monomial) if leaf is None else ends.get(leaf, _EVERYTHING)
            scaled = mul(bound, Bound(factor, factor))
            low, high = low + scaled.min, high + scaled.max
        return Bound(low, high)

    def _narrowed(self, access: ThreadAccess) -> Ends | None:
        """The ends of variables where an access is reached; None if it is nowhere."""
        return self.ends.where(access.conditions)

    def _digits(
        self,
        first: Polynomial,
        second: Polynomial,
        one: Mapping[SSAValue, Bound],
        other: Mapping[SSAValue, Bound],
        equal: set[SSAValue],
    ) -> _Difference:
        """The difference of two indices, without the variables that are `equal`."""
        result = _Difference()
        rest = dict.fromkeys((*first.terms, *second.terms))
        for v, w in self._pairs_of_loops(first, second):
            spread = max(one[v].max - other[w].min, other[w].max - one[v].min)
            result.digits.append((abs(first.terms[Value(v),]), spread, None))
            del rest[Value(v),], rest[Value(w),]
        for is_few in (self._is_few, self._is_few_product, self._is_shared):
            few = [
                monomial
                for monomial in rest
                if is_few(monomial) and not self._is_digit(monomial, first, second, equal)
            ]
            offsets = self._differences(first, second, few, (one, other)) if few else None
            if offsets is not None:
                result.offsets = offsets
                rest = dict.fromkeys(m for m in rest if m not in few)
                break
        for monomial in rest:
            a, b = first.terms.get(monomial, 0), second.terms.get(monomial, 0)
            if a == b and self._is_same(monomial, equal):
                continue
            leaf = single_variable(monomial)
            if leaf is None:
                result.slack(a, self._bound(monomial))
                result.slack(-b, self._bound(monomial))
                continue
            shared = self._ahead(leaf)
            later = self._distance(leaf)
            if later is not None and a == b:
                result.slack(-b, later)
            elif shared is not None:
                result.slack(a * shared[0] - b * shared[1], Bound(1, 1))
                ends = one[leaf]
                result.slack(a - b, Bound(ends.min - shared[0], ends.max - shared[0]))
            elif a == b and leaf in one:
                spread = max(
                    one[leaf].max - other[leaf].min, other[leaf].max - one[leaf].min
                )
                result.digits.append((abs(a), spread, leaf))
            else:
                result.slack(a, one.get(leaf, _EVERYTHING))
                result.slack(-b, other.get(leaf, _EVERYTHING))
        return result

    def _pairs_of_loops(
        self, first: Polynomial, second: Polynomial
    ) -> list[tuple[SSAValue, SSAValue]]:
        """Variables of two loops with the same factor, each in one of the indices."""
        free: dict[int, list[SSAValue]] = {}
        for leaf, factor in self._loops_of(second, first):
            free.setdefault(factor, []).append(leaf)
        return [
            (leaf, free[factor].pop())
            for leaf, factor in self._loops_of(first, second)
            if free.get(factor)
        ]

    def _loops_of(
        self, index: Polynomial, other: Polynomial
    ) -> Iterator[tuple[SSAValue, int]]:
        for monomial, factor in index.terms.items():
            leaf = single_variable(monomial)
            if leaf is not None and monomial not in other.terms and self._is_loop(leaf):
                yield leaf, factor

    def _is_loop(self, value: SSAValue) -> bool:
        """Whether a variable has a value of its own in each thread and each access."""
        variable = self.variables.get(value)
        return (
            variable is not None
            and variable.kind is Kind.LOOP
            and self._ahead(value) is None
        )

    def _is_same(self, monomial: Monomial, equal: set[SSAValue]) -> bool:
        """Whether a product has one value in both threads."""
        return all(
            value in equal or self._is_one_value(value)
            for value in leaf_values(*monomial)
        )

    def _is_digit(
        self,
        monomial: Monomial,
        first: Polynomial,
        second: Polynomial,
        equal: set[SSAValue],
    ) -> bool:
        """Whether a product cancels, or is one variable with the same factor in both."""
        if first.terms.get(monomial) != second.terms.get(monomial):
            return False
        leaf = single_variable(monomial)
        is_own = leaf is not None and self._ahead(leaf) is None
        return is_own or self._is_same(monomial, equal)

    def _is_shared(self, monomial: Monomial) -> bool:
        """Whether a product is made of values that both share, and is none of them."""
        leaves = leaf_values(*monomial)
        return (
            bool(leaves)
            and single_variable(monomial) is None
            and all(self._ahead(value) is not None for value in leaves)
        )

    def _is_few(self, monomial: Monomial) -> bool:
        """Whether a product may have few values: that of loops or of shared values."""
        leaf = single_variable(monomial)
        if leaf is None:
            return self._is_few_product(monomial)
        return self._is_loop(leaf) and self._extent(leaf) <= _MAX_OFFSETS

    def _is_few_product(self, monomial: Monomial) -> bool:
        """Whether it is, and is no variable."""
        leaves = leaf_values(*monomial)
        return (
            bool(leaves)
            and single_variable(monomial) is None
            and all(
                self._is_loop(value) or self._ahead(value) is not None for value in leaves
            )
        )

    def _differences(
        self,
        first: Polynomial,
        second: Polynomial,
        monomials: Sequence[Monomial],
        ends: tuple[Mapping[SSAValue, Bound], Mapping[SSAValue, Bound]],
    ) -> list[int] | None:
        """The values of the difference of some terms of two indices.

        None if they are too many or unknown. Of a value that counts modulo some number
        only, as `i` does in `i % 2`, that many are evaluated.
        """
        atoms = [atom for monomial in monomials for atom in monomial]
        axes: list[_Axis] = []
        for value in dict.fromkeys(leaf_values(*atoms)):
            ahead, period = self._ahead(value), period_of(atoms, value)
            if ahead is not None:
                axes.append(_Axis.of(value, period, self._range(value), ahead))
            else:
                one, other = (end.get(value, _EVERYTHING) for end in ends)
                axes += [
                    _Axis.of(value, period, one, (0, None)),
                    _Axis.of(value, period, other, (None, 0)),
                ]
        if prod(axis.extent for axis in axes) > _MAX_COMBINATIONS:
            return None
        grid = np.indices([int(axis.extent) for axis in axes], dtype=np.int64)
        parts: list[Any] = []
        for side, index in enumerate((first, second)):
            columns: dict[SSAValue, Any] = {}
            for axis, row in zip(axes, grid.reshape(len(axes), -1), strict=True):
                ahead = axis.ahead[side]
                if ahead is not None:
                    columns[axis.value] = row + int(axis.first) + ahead
            terms = {m: index.terms[m] for m in monomials if m in index.terms}
            parts.append(polynomial_values(Polynomial(terms), columns))
        if parts[0] is None or parts[1] is None:
            return None
        found = np.unique(parts[0] - parts[1])
        return found.tolist() if len(found) <= _MAX_OFFSETS else None

    def _range(self, value: SSAValue) -> Bound:
        return range_of(self.variables[value])

    def _bound(self, monomial: Monomial) -> Bound:
        if not monomial:
            return Bound(1, 1)
        if len(monomial) != 1:
            return _EVERYTHING
        return self.analyzer.const_int_bound(monomial[0])

    # ---- points ----

    def by_points(self, wanted: set[SSAValue]) -> bool:
        """Whether no two threads that differ on `wanted` have equal indices."""
        rest = [self._without_common(*pair) for pair in self.dimensions]
        first, second = [pair[0] for pair in rest], [pair[1] for pair in rest]
        is_done = False
        for is_periodic in (False, True):
            if is_periodic:
                self.periods = self._find_periods((*first, *second), wanted)
            # Conditions have variables of their own, which make the points many more.
            for conditions in self._kept_conditions():
                one = self._points(first, wanted, 0, conditions[0])
                if one is None:
                    break
                other = self._points(second, wanted, 1, conditions[1])
                if other is None:
                    break
                if are_apart(one, other):
                    return True
                is_done = True
            if is_done:
                return False
        return False

    def _kept_conditions(self) -> Iterator[tuple[Sequence[Expr], Sequence[Expr]]]:
        """The conditions of both accesses to go by: none, then all, if there are any."""
        yield (), ()
        both = self.a.conditions, self.b.conditions
        if any(both):
            yield both

    def _find_periods(
        self, indices: Sequence[Polynomial], wanted: set[SSAValue]
    ) -> dict[SSAValue, int]:
        """Numbers modulo which values count in all indices.

        Sums with values that nothing is known of may overflow, so that they have none.
        """
        atoms = [atom for index in indices for m in index.terms for atom in m]
        found: dict[SSAValue, int] = {}
        for value in leaf_values(*atoms):
            if value in wanted or value not in self.variables:
                continue
            period = period_of(atoms, value)
            if period is not None and period < self._extent(value):
                found[value] = period
        return found

    def _without_common(
        self, first: Polynomial, second: Polynomial
    ) -> tuple[Polynomial, Polynomial]:
        """Two indices without the terms that are in both and the same in all threads."""
        common = Polynomial(
            {
                monomial: factor
                for monomial, factor in first.terms.items()
                if second.terms.get(monomial) == factor and self._is_same(monomial, set())
            }
        )
        return first - common, second - common

    def _points(
        self,
        indices: Sequence[Polynomial],
        wanted: set[SSAValue],
        side: int,
        kept: Sequence[Expr],
    ) -> Points | None:
        """The elements of an access in all combinations of its variables.

        Of its conditions, those of `kept` count.
        """
        atoms = [atom for index in indices for m in index.terms for atom in m]
        common = [
            value
            for pair in self.dimensions
            for index in (self._without_common(*pair))
            for m in index.terms
            for value in leaf_values(*m)
            if self._ahead(value) is not None
        ]
        names = dict.fromkeys((*wanted, *leaf_values(*atoms), *common))
        if self._count(names) > self.most_points:
            return None
        if self._count(names) == 0:
            return Points([], np.zeros(0, np.int64))
        conditions: list[Expr] = []
        for part in (p for c in kept for p in conjuncts(c)):
            more = dict.fromkeys((*names, *leaf_values(part)))
            is_whole = self.periods.keys().isdisjoint(leaf_values(part))
            if is_whole and self._count(more) <= self.most_points:
                names = more
                conditions.append(part)
        columns = self._columns(list(names), side)
        size = int(self._count(names))
        exists, keep = columns.pop(None, None), None
        if exists is not None:
            # What is not there may have no value, such as a shift by less than 0.
            columns = {value: column[exists] for value, column in columns.items()}
            size = int(np.count_nonzero(exists))
        for condition in conditions:
            found = evaluate(condition, columns)
            if found is not None:
                keep = found != 0 if keep is None else keep & (found != 0)
        element: list[Any] = []
        for index in indices:
            value = polynomial_values(index, columns)
            if value is None:
                return None
            element.append(value)
        # What both share is part of what is compared, as the value that they share.
        shared = [
            columns[v] - (self._ahead(v) or (0, 0))[side] for v in dict.fromkeys(common)
        ]
        rows = [np.broadcast_to(np.asarray(v), (size,)) for v in (*element, *shared)]
        thread = np.zeros(size, np.int64)
        for value in sorted(wanted, key=_order):
            variable = self.variables[value]
            thread = thread * int(variable.high - variable.low + 1)
            thread = thread + (columns[value] - int(variable.low))
        if keep is not None:
            keep = np.broadcast_to(keep, (size,))
            rows = [row[keep] for row in rows]
            thread = thread[keep]
        return Points(rows, thread)

    def _count(self, values: Iterable[SSAValue]) -> float:
        return prod(self.periods.get(value) or self._extent(value) for value in values)

    def _extent(self, value: SSAValue) -> float:
        variable = self.variables.get(value)
        if variable is None or variable.low == -inf or variable.high == inf:
            return inf
        return max(0, variable.high - variable.low + 1)

    def _columns(self, names: Sequence[SSAValue], side: int) -> dict[Any, Any]:
        """Values of variables in all combinations; None maps to which of them exist."""
        extents = [int(self._count((value,))) for value in names]
        grid = np.indices(extents, dtype=np.int64).reshape(len(extents), -1)
        columns: dict[Any, Any] = {}
        for value, row in zip(names, grid, strict=True):
            variable, ahead = self.variables[value], self._ahead(value)
            is_periodic = value in self.periods
            columns[value] = row if is_periodic else row + int(variable.low)
            if ahead is not None and ahead[side]:
                columns[value] = columns[value] + ahead[side]
            if ahead is not None and ahead[side] and not is_periodic:
                exists = columns[value] <= variable.high
                old = columns.get(None)
                columns[None] = exists if old is None else old & exists
        return columns


_EVERYTHING = Bound(-inf, inf)


def _order(value: SSAValue) -> int:
    return Value(value).serial


@dataclass
class _Difference:
    """A difference of indices: digits with weights, and what is no digit."""

    low: float = 0
    high: float = 0
    digits: list[tuple[int, float, SSAValue | None]] = field(
        default_factory=list[tuple[int, float, SSAValue | None]]
    )
    """Weight, greatest absolute value, and the variable, if it is the same in both."""
    offsets: Sequence[int] = (0,)
    """What may be added: the few values that a part of the difference has."""

    def slack(self, factor: int, bound: Bound) -> None:
        """Add a multiple of something within a bound."""
        if factor:
            scaled = mul(bound, Bound(factor, factor))
            self.low += scaled.min
            self.high += scaled.max


def _never_zero(difference: _Difference, equal: set[SSAValue]) -> bool:
    """Whether a difference is never 0; adds to `equal` what is equal where it is."""
    found = [_equal_digits(difference, offset) for offset in difference.offsets]
    possible = [each for each in found if each is not None]
    for value in possible[0] if possible else ():
        if all(value in each for each in possible):
            equal.add(value)
    return not possible


def _equal_digits(difference: _Difference, offset: int) -> set[SSAValue] | None:
    """What is equal where a difference with an offset is 0; None if it never is."""
    found = difference.digits
    # Those of one value would be in the way of others of their weight.
    equal = {value for _, spread, value in found if spread == 0 and value is not None}
    digits = sorted((each for each in found if each[1]), key=lambda digit: digit[0])
    rest = sum(_times(weight, spread) for weight, spread, _ in digits)
    low, high = difference.low + offset, difference.high + offset
    while digits:
        if low - rest > 0 or high + rest < 0:
            return None
        weight, _, value = digits.pop()
        rest = sum(_times(weight, spread) for weight, spread, _ in digits)
        if max(high, -low) + rest >= weight:
            return equal
        if value is not None:
            equal.add(value)
    return None if low > 0 or high < 0 else equal


@dataclass(frozen=True)
class _Axis:
    """The numbers that a value may be for two accesses, or for one of them."""

    value: SSAValue
    first: float
    extent: float
    ahead: tuple[int | None, int | None]
    """What is added for each access; None where the access has other numbers."""

    @staticmethod
    def of(
        value: SSAValue,
        period: int | None,
        ends: Bound,
        ahead: tuple[int | None, int | None],
    ) -> _Axis:
        """All numbers between ends, or those of one period."""
        extent = max(0, ends.max - ends.min + 1)
        if period is not None and period < extent:
            return _Axis(value, 0, period, ahead)
        return _Axis(value, ends.min, extent, ahead)


@dataclass(frozen=True)
class _Periodic:
    """How an expression depends on an integer value.

    With `is_sum` it is one of multiples of the value and of what depends on the value
    modulo `period`, else it depends on the value modulo `period` only.
    """

    period: int = 1
    is_sum: bool = False


def period_of(roots: Sequence[Expr], value: SSAValue) -> int | None:
    """A number modulo which a value counts in all expressions; None if there is none."""
    if not _is_exact(value):
        return None
    known: dict[Expr, _Periodic | None] = {}
    for root in roots:
        for node in postorder(root):
            known[node] = _periodic(node, known, value)
    found = [known[root] for root in roots]
    if any(each is None or each.is_sum for each in found):
        return None
    return lcm(*(each.period for each in found if each is not None))


def _periodic(
    node: Expr, known: Mapping[Expr, _Periodic | None], value: SSAValue
) -> _Periodic | None:
    if isinstance(node, Value):
        return _Periodic(is_sum=node.value is value)
    operands = [known[operand] for operand in node.operands]
    parts = [each for each in operands if each is not None]
    if len(parts) < len(operands):
        return None
    period = lcm(*(each.period for each in parts))
    if not any(each.is_sum for each in parts):
        return _Periodic(period)
    match node:
        case Add() | Sub() | Mul():
            return _Periodic(period, is_sum=True)
        case FloorMod(rhs=Const(value=divisor)) if divisor > 0:
            return _Periodic(lcm(period, int(divisor)))
        case _:
            return None


def _times(weight: int, spread: float) -> float:
    return 0 if spread == 0 else weight * spread
