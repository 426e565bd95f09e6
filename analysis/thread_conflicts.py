"""Accesses of one kernel that need a barrier between them and have none.

Threads of a block may access one element of shared or global memory, and one of them
write it, only with a barrier between the two. Two accesses in the text need none where

- each thread accesses elements of its own with both of them: the indices determine the
  thread, and in the same way, or
- no element is accessed by both.

A store conflicts with itself where several threads may store one element. All else counts
as a conflict, so that what is found to have none has none. The order of threads of
different blocks, which no barrier gives, is not looked at.

The walk goes through a kernel once. Of each statement it knows the accesses that a
barrier in it does not separate from what is before it, and those that none separates from
what follows; a loop is followed by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Attribute, Block, Operation, SSAValue

from xdsl_tvm.analysis import smart
from xdsl_tvm.analysis.analyzer import Analyzer
from xdsl_tvm.analysis.expr import (
    Cmp,
    Expr,
    FloorMod,
    Value,
    leaf_values,
    substitute,
    view,
)
from xdsl_tvm.analysis.facts import conjuncts
from xdsl_tvm.analysis.flat_index import flat_indices
from xdsl_tvm.analysis.int_set import (
    IntSet,
    IntSetEvaluator,
    Range,
    from_range,
    simplified,
)
from xdsl_tvm.analysis.iter_map import IterMapLevel, detect_iter_map
from xdsl_tvm.analysis.linear_equation import literal_factors
from xdsl_tvm.analysis.memory_order import memory_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import CmpPredicate, StorageRank

_SHARED_BY_THREADS = (StorageRank.GLOBAL, StorageRank.SHARED, StorageRank.WARP)
_WARP = 32


@dataclass(frozen=True)
class Conflict:
    """Two accesses of one memory that need a barrier between them."""

    first: Operation
    second: Operation
    memory: SSAValue | None
    """The buffer or pointer that both access; None where one may access any memory."""
    loop: Operation | None
    """The loop whose next iteration `second` is in; None where it is in the same one."""


@dataclass(frozen=True, eq=False)
class _Access:
    op: Operation
    memory: object
    """What `memory_of` says; None for any."""
    writes: bool
    indices: tuple[Expr, ...] | None
    """Flat, or those of the buffer; None for an unknown place."""
    buffer: SSAValue | None
    scope: _Scope

    @property
    def key(self) -> object:
        return self.memory, self.writes, self.indices, self.buffer, self.scope.key


@dataclass(frozen=True)
class _Scope:
    """What encloses an access in its kernel."""

    loops: Mapping[Expr, Range] = field(default_factory=dict[Expr, Range])
    pinned: Mapping[Expr, Expr] = field(default_factory=dict[Expr, Expr])
    """Thread variables that conditions fix, and what they are."""

    @property
    def key(self) -> object:
        return tuple(self.loops), tuple(self.pinned.items())

    def inside(self, variable: Expr, domain: Range) -> _Scope:
        return _Scope({**self.loops, variable: domain}, self.pinned)

    def where(self, pinned: Mapping[Expr, Expr]) -> _Scope:
        return _Scope(self.loops, {**self.pinned, **pinned}) if pinned else self


_Accesses = dict[object, _Access]
"""Accesses by what tells them apart; equal ones need to be compared once."""


@dataclass
class _Summary:
    start: _Accesses = field(default_factory=dict[object, _Access])
    """Those without a barrier between them and what is before the statement."""
    end: _Accesses = field(default_factory=dict[object, _Access])
    through: bool = True
    """Whether a way through the statement has no barrier."""


def conflicts_in(kernel: tir.LaunchThreadOp) -> list[Conflict]:
    """The conflicts of a kernel, the outermost of nested launches, in textual order.

    The form is loops and buffers, and later ones. Linear in the number of ops, but for
    the pairs of different accesses of one memory between two barriers.
    """
    return _Kernel(kernel).run()


class _Kernel:
    def __init__(self, kernel: tir.LaunchThreadOp) -> None:
        self._kernel = kernel
        self._analyzer = Analyzer()
        self._trees: dict[SSAValue, Expr] = {}
        self._threads: dict[Expr, Range] = {}
        """Variables of `threadIdx` axes of more than one thread, one for each axis."""
        self._axes: dict[str, Expr] = {}
        self._renamed: dict[Expr, Expr] = {}
        """Later variables of an axis -> the first one."""
        self._found: dict[tuple[Operation, Operation], Conflict] = {}

    def run(self) -> list[Conflict]:
        for op in self._kernel.walk():
            if isinstance(op, tir.LaunchThreadOp):
                self._open(op)
        self._statement(self._kernel, _Scope())
        return list(self._found.values())

    def _open(self, op: tir.LaunchThreadOp) -> None:
        variable = Value(op.thread_var)
        first = self._axes.setdefault(op.tag.data, variable)
        if first is not variable:
            self._renamed[variable] = first
            return
        domain = Range(smart.const(0, op.extent.type), self._tree(op.extent))
        self._analyzer.bind(variable, domain)
        if not op.axis.is_block and smart.literal(domain.extent) != 1:
            self._threads[variable] = domain

    def _tree(self, value: SSAValue) -> Expr:
        tree = view(value, self._trees)
        return substitute(tree, self._renamed) if self._renamed else tree

    # ---- statements ----

    def _block(self, block: Block, scope: _Scope) -> _Summary:
        total = _Summary()
        for op in block.ops:
            each = self._statement(op, scope)
            if each is None:
                continue
            self._compare(total.end, each.start, scope)
            if total.through:
                total.start |= each.start
            total.end = total.end | each.end if each.through else dict(each.end)
            total.through = total.through and each.through
        return total

    def _statement(self, op: Operation, scope: _Scope) -> _Summary | None:
        match op:
            case tir.LoadOp() | tir.StoreOp():
                return self._element(op, scope)
            case tir.LaunchThreadOp() | tir.AttrOp() | tir.ScopeOp():
                return self._block(op.body.block, scope)
            case tir.ForOp():
                return self._loop(op, scope)
            case tir.IfOp():
                return self._choice(op, scope)
            case tir.CallOp() if self._is_barrier(op):
                return _Summary(through=False)
            case _ if op.regions:
                return self._regions(op, scope)
            case _:
                return self._pointers(op, scope)

    def _loop(self, op: tir.ForOp, scope: _Scope) -> _Summary:
        variable = Value(op.loop_var)
        domain = Range(self._tree(op.min), self._tree(op.extent))
        self._analyzer.bind(variable, domain)
        body = self._block(op.body.block, scope.inside(variable, domain))
        count = smart.literal(domain.extent)
        if count is None or count > 1:
            next_of = None if body.through else variable
            self._compare(body.end, body.start, scope, op, next_of)
        body.through = body.through or count is None or count < 1
        return body

    def _choice(self, op: tir.IfOp, scope: _Scope) -> _Summary:
        total = self._block(op.then_region.block, scope.where(self._pins(op)))
        if op.else_region is None:
            total.through = True
            return total
        other = self._block(op.else_region.block, scope)
        total.start |= other.start
        total.end |= other.end
        total.through = total.through or other.through
        return total

    def _pins(self, op: tir.IfOp) -> dict[Expr, Expr]:
        """Thread variables that the condition compares with what is no thread's."""
        found: dict[Expr, Expr] = {}
        for part in conjuncts(self._tree(op.condition)):
            if not isinstance(part, Cmp) or part.predicate is not CmpPredicate.EQ:
                continue
            for one, other in ((part.lhs, part.rhs), (part.rhs, part.lhs)):
                if one in self._threads and smart.literal(other) is not None:
                    found[one] = other
        return found

    def _regions(self, op: Operation, scope: _Scope) -> _Summary:
        """An op whose regions may run, any number of times."""
        total = _Summary()
        for region in op.regions:
            for block in region.blocks:
                each = self._block(block, scope)
                self._compare(each.end, each.start, scope, op)
                total.start |= each.start
                total.end |= each.end
        return total

    def _is_barrier(self, op: tir.CallOp) -> bool:
        if op.callee.data != "tvm_storage_sync" or not op.args:
            return False
        scope = op.args[0].owner
        name = scope.value.data if isinstance(scope, tir.StringOp) else ""
        if name != "warp":
            return True
        counts = [smart.literal(each.extent) for each in self._threads.values()]
        total = 1
        for count in counts:
            if count is None:
                return False
            total *= int(count)
        return total <= _WARP

    # ---- accesses ----

    def _element(self, op: tir.LoadOp | tir.StoreOp, scope: _Scope) -> _Summary | None:
        if not _is_shared_by_threads(op.buffer.type):
            return None
        buffer = tir.buffer_definition(op.buffer)
        indices = [self._tree(index) for index in op.indices]
        memory = memory_of(op.buffer, distinct_parameters=True)
        places: tuple[Expr, ...] | None = tuple(indices)
        if not all(tir.is_scalar(index.dtype) for index in indices):
            places = None
        elif isinstance(buffer, tir.DeclBufferOp | tir.MatchRegionOp):
            places = tuple(flat_indices(buffer, indices, self._tree))
        return self._access(
            op, memory, isinstance(op, tir.StoreOp), places, op.buffer, scope
        )

    def _pointers(self, op: Operation, scope: _Scope) -> _Summary | None:
        """Accesses through pointers that an op uses for more than another pointer."""
        if isinstance(op, tir.DataOp | tir.AddressOfOp | tir.DeclBufferOp):
            return None
        if isinstance(op, tir.AccessPtrOp | tir.LetOp | tir.AttrOp):
            return None
        total = _Summary()
        for operand in op.operands:
            if not isinstance(operand.type, tir.PtrType | tir.BufferType):
                continue
            if not _is_shared_by_threads(operand.type):
                continue
            owner = operand.owner
            writes = True
            if isinstance(owner, tir.AccessPtrOp):
                writes = owner.mode.data is not tir.AccessMode.READ
            memory = memory_of(operand, distinct_parameters=True)
            each = self._access(op, memory, writes, None, None, scope)
            total.start |= each.start
            total.end |= each.end
        return total if total.start else None

    def _access(
        self,
        op: Operation,
        memory: object,
        writes: bool,
        indices: tuple[Expr, ...] | None,
        buffer: SSAValue | None,
        scope: _Scope,
    ) -> _Summary:
        access = _Access(op, memory, writes, indices, buffer, scope)
        found: _Accesses = {access.key: access}
        if isinstance(op, tir.StoreOp):
            # The threads that store together, which no barrier could separate.
            self._compare(found, found, scope)
        return _Summary(found, dict(found))

    # ---- pairs ----

    def _compare(
        self,
        before: _Accesses,
        after: _Accesses,
        scope: _Scope,
        loop: Operation | None = None,
        next_of: Expr | None = None,
    ) -> None:
        """Look for conflicts of accesses with those that no barrier separates them from.

        Both are in `scope`; with `loop`, the later ones are in a later iteration of it,
        the next one where the variable `next_of` is given.
        """
        if not before or not after or not self._threads:
            return
        by_memory: dict[object, list[_Access]] = {}
        for access in before.values():
            by_memory.setdefault(access.memory, []).append(access)
        anywhere = by_memory.get(None, [])
        for second in after.values():
            if second.memory is None:
                candidates: Iterable[_Access] = before.values()
            else:
                candidates = (*by_memory.get(second.memory, ()), *anywhere)
            for first in candidates:
                key = first.op, second.op
                if key not in self._found and self._conflict(
                    first, second, scope, next_of
                ):
                    both = None in (first.memory, second.memory)
                    name = None if both else second.buffer or first.buffer
                    self._found[key] = Conflict(*key, name, loop)

    def _conflict(
        self, a: _Access, b: _Access, scope: _Scope, next_of: Expr | None
    ) -> bool:
        if not (a.writes or b.writes):
            return False
        if a.indices is None or b.indices is None or len(a.indices) != len(b.indices):
            return True
        common = scope.loops
        pair = _Pair(self._analyzer, self._threads, a, b, common, next_of)
        return not (pair.by_own_threads() or pair.are_apart())


def _is_shared_by_threads(dtype: Attribute) -> bool:
    if not isinstance(dtype, tir.PtrType | tir.BufferType):
        return False
    return tir.StorageScope.parse(dtype.scope.data).rank in _SHARED_BY_THREADS


class _Pair:
    """Two accesses of one memory with as many indices.

    `common` are the loops whose variables have one value for both. With `next_of`, the
    second one is in the iteration of that loop that follows the first one's.
    """

    def __init__(
        self,
        analyzer: Analyzer,
        threads: Mapping[Expr, Range],
        a: _Access,
        b: _Access,
        common: Mapping[Expr, Range],
        next_of: Expr | None,
    ) -> None:
        self._analyzer = analyzer
        self._threads = threads
        self._next_of = next_of
        # Threads that are fixed to one for both need not be told apart.
        self._free = {
            variable
            for variable in threads
            if variable not in a.scope.pinned
            or a.scope.pinned[variable] is not b.scope.pinned.get(variable)
        }
        self._a, self._b = self._indices(a), self._indices(b)
        self._loops_a = _without(a.scope.loops, common)
        self._loops_b = _without(b.scope.loops, common)

    def _indices(self, access: _Access) -> list[Expr]:
        known = access.scope.pinned
        indices = access.indices or ()
        return [self._analyzer.simplify(substitute(index, known)) for index in indices]

    # ---- each thread its own elements ----

    def by_own_threads(self) -> bool:
        """Whether both access an element only where they are of one thread."""
        if not self._free:
            return True
        found: set[Expr] = set()
        for left, right in zip(self._a, self._b, strict=True):
            found |= self._equal_digits(left, right)
        return found >= self._free or self._are_one_map()

    def _equal_digits(self, left: Expr, right: Expr) -> set[Expr]:
        """The thread variables that are the same where the indices are.

        The indices are sums of variables with literal weights. Where those of one weight
        cannot be made up for by all of lesser weights, they are equal by themselves.
        """
        a = literal_factors(left, [*self._threads, *self._loops_a], self._analyzer)
        b = literal_factors(right, [*self._threads, *self._loops_b], self._analyzer)
        if a is None or b is None or a[1].dtype != b[1].dtype:
            return set()
        difference = smart.literal(self._analyzer.simplify(smart.sub(a[1], b[1])))
        if difference is None:
            return set()
        terms = [
            *(
                (weight, v, self._ends(v, weight, self._loops_a))
                for v, weight in a[0].items()
            ),
            *(
                (weight, v, self._ends(v, -weight, self._loops_b))
                for v, weight in b[0].items()
            ),
        ]
        found: set[Expr] = set()
        # From the least weight on: what all lesser ones and the bases may add up to.
        low = high = int(difference)
        separate: dict[int, bool] = {}
        for weight in sorted({abs(weight) for weight, _, _ in terms}):
            separate[weight] = -weight < low and high < weight
            ends = [each for other, _, each in terms if abs(other) == weight]
            if None in ends:
                low, high = -_FAR, _FAR
            for first, last in (each for each in ends if each is not None):
                low, high = low + first, high + last
        for weight in sorted(separate, reverse=True):
            if not separate[weight]:
                break
            one = [(v, w) for v, w in a[0].items() if abs(w) == weight]
            other = [(v, w) for v, w in b[0].items() if abs(w) == weight]
            if one == other and len(one) == 1:
                found.add(one[0][0])
        return found & self._threads.keys()

    def _ends(
        self, variable: Expr, weight: int, loops: Mapping[Expr, Range]
    ) -> tuple[int, int] | None:
        """The least and the greatest value of a term; None where it is not known."""
        domain = self._threads.get(variable) or loops[variable]
        first, extent = smart.literal(domain.min), smart.literal(domain.extent)
        if first is None or extent is None:
            return None
        ends = weight * int(first), weight * (int(first) + int(extent) - 1)
        return min(ends), max(ends)

    def _are_one_map(self) -> bool:
        """Whether both are one function of threads and loops, with different values."""
        if self._free != set(self._threads):
            return False
        ours = _loops_in(self._a, self._loops_a)
        theirs = _loops_in(self._b, self._loops_b)
        domains = [self._loops_a[v] for v in ours]
        if domains != [self._loops_b[v] for v in theirs]:
            return False
        names = dict(zip(theirs, ours, strict=True))
        if self._a != [substitute(index, names) for index in self._b]:
            return False
        inputs = {**self._threads, **dict(zip(ours, domains, strict=True))}
        return not detect_iter_map(self._a, inputs, level=IterMapLevel.BIJECTIVE).errors

    # ---- different elements ----

    def are_apart(self) -> bool:
        """Whether an index of one is never that of the other."""
        b, following = self._b, self._next_of
        if following is not None:
            name = {following: smart.add(following, 1)}
            b = [substitute(index, name) for index in b]
        return any(map(self._is_apart, self._a, b))

    def _is_apart(self, left: Expr, right: Expr) -> bool:
        a, b = self._set(left, self._loops_a), self._set(right, self._loops_b)
        if a.min is None or a.max is None or b.min is None or b.max is None:
            return False
        prove = self._analyzer.can_prove
        are_points = a.min is a.max and b.min is b.max
        return (
            prove(smart.lt(a.max, b.min))
            or prove(smart.lt(b.max, a.min))
            or (are_points and prove(smart.ne(a.min, b.min)))
            or (are_points and self._are_other_remainders(a.min, b.min))
        )

    def _are_other_remainders(self, left: Expr, right: Expr) -> bool:
        """Whether both are remainders by one number, of what differs by no multiple."""
        if not isinstance(left, FloorMod) or not isinstance(right, FloorMod):
            return False
        (a, divisor), (b, other) = left.operands, right.operands
        size = smart.literal(divisor)
        if other is not divisor or size is None or a.dtype != b.dtype:
            return False
        distance = smart.literal(self._analyzer.simplify(smart.sub(a, b)))
        return distance is not None and int(distance) % int(size) != 0

    def _set(self, index: Expr, loops: Mapping[Expr, Range]) -> IntSet:
        relaxed = {**self._threads, **loops}
        env = {v: from_range(r) for v, r in relaxed.items() if v is not self._next_of}
        return simplified(IntSetEvaluator(self._analyzer, env)(index), self._analyzer)


_FAR = 1 << 64
"""More than any index."""


def _without(
    loops: Mapping[Expr, Range], common: Mapping[Expr, Range]
) -> dict[Expr, Range]:
    return {
        variable: found for variable, found in loops.items() if variable not in common
    }


def _loops_in(indices: Sequence[Expr], loops: Mapping[Expr, Range]) -> list[Expr]:
    """The variables of loops in the order in which indices mention them."""
    leaves = [Value(leaf) for index in indices for leaf in leaf_values(index)]
    return [leaf for leaf in dict.fromkeys(leaves) if leaf in loops]
