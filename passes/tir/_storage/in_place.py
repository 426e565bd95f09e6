"""Whether a statement may write its result over what it reads.

It may if every element is read before it is written, and by no other iteration or thread
than the one that writes it: all reads feed writes of the same element, and no element is
written twice. The latter is read off the indices, which have to number the iterations as
digits number integers: each coefficient is at least the span of the smaller ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith.expr import Expr, Ramp, Value, leaf_values, view
from xdsl_tvm.analysis.arith.polynomial import Polynomial, polynomial
from xdsl_tvm.analysis.tir.side_effect import own_effect
from xdsl_tvm.analysis.tir.storage_events import StorageEvents
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.storage_scope import StorageRank, StorageScope, ThreadAxis
from xdsl_tvm.passes.tir.rewriting.memory_views import is_plain_view

_STATEMENTS = (
    tir.AttrOp,
    tir.ForOp,
    tir.IfOp,
    tir.LaunchThreadOp,
    tir.StoreOp,
    tir.WhileOp,
)
_OPAQUE_KEYS = ("extern_scope", "volatile_scope")
_MAX_STEPS = 4096
"""Uses of loaded values that are followed for one question."""


class InPlace:
    """Answers which memory a statement may write in the place of memory that it reads."""

    def __init__(self, events: StorageEvents) -> None:
        self._events = events
        self._opaque: dict[Operation, bool] = {}

    def is_possible(
        self, statement: Operation, target: tir.AllocateOp, source: tir.AllocateOp
    ) -> bool:
        """Whether `target`, which a statement writes first, may be where `source` is,
        which it reads last."""
        if not isinstance(statement, _STATEMENTS) or self._is_opaque(statement):
            return False
        stores = self._touching(statement, target)
        loads = self._touching(statement, source)
        indices: dict[Operation, tuple[Expr, ...]] = {}
        for op in (*stores, *loads):
            if not isinstance(op, tir.StoreOp if op in stores else tir.LoadOp):
                return False
            memory = target if op in stores else source
            if op.predicate is not None or not _is_plain(op.buffer, memory):
                return False
            indices[op] = tuple(view(index) for index in op.indices)
        written = [op for op in stores if isinstance(op, tir.StoreOp)]
        steps = [_MAX_STEPS]
        for load in loads:
            for store in _fed(load, stores, steps):
                if store is None or not isinstance(load, tir.LoadOp):
                    return False
                if load.result.type != store.value.type:
                    return False
                if indices[load] != indices[store]:
                    return False
        return self._are_distinct(statement, written, target)

    def _is_opaque(self, statement: Operation) -> bool:
        """Whether an attribute inside says that memory is accessed otherwise."""
        found = self._opaque.get(statement)
        if found is None:
            found = self._opaque[statement] = any(
                isinstance(op, tir.AttrOp) and op.key.data in _OPAQUE_KEYS
                for op in all_ops(statement)
            )
        return found

    def _touching(
        self, statement: Operation, memory: tir.AllocateOp
    ) -> dict[Operation, None]:
        """The ops of a statement that touch memory."""
        level = self._events.level_of(memory)
        return {
            op: None
            for op in self._events.lifetimes[memory].touching
            if self._events.statement(op, level) is statement
        }

    # ---- elements ----

    def _are_distinct(
        self,
        statement: Operation,
        stores: Sequence[tir.StoreOp],
        memory: tir.AllocateOp,
    ) -> bool:
        """Whether no element is written twice, by stores of any iteration or thread."""
        if not stores:
            return False
        threads = _threads_around(statement, memory)
        flat: list[tuple[Polynomial, _Digits]] = []
        for store in stores:
            digits = _digits(store, statement)
            index = _flat(store, memory)
            if digits is None or index is None:
                return False
            digits |= threads
            if isinstance(index[1], int):
                lane = Block(arg_types=[view(store.indices[-1]).dtype]).args[0]
                digits[lane] = Polynomial.constant(index[1])
                step = Polynomial({(Value(lane),): 1}) * index[2]
                flat.append((index[0] + step, digits))
            else:
                flat.append((index[0], digits))
        return _numbers(flat, statement)


_Digits = dict[SSAValue, Polynomial]
"""Variables, and how many values each has."""


def _is_plain(buffer: SSAValue, memory: tir.AllocateOp) -> bool:
    """Whether a buffer is on memory as it was allocated."""
    owner = buffer.owner
    if not isinstance(owner, tir.DeclBufferOp) or owner.data is not memory.result:
        return False
    if len(memory.shape) == 1:
        kind = memory.result.type.element_type
        offset = owner.elem_offset
        return is_plain_view(owner, memory) or (
            len(owner.shape) == 1
            and owner.type.element_type == kind
            and owner.layout_strides in ((), (1,))
            and (offset is None or tir.is_constant(offset, 0))
        )
    return (
        owner.shape == memory.shape
        and owner.type.element_type == memory.result.type.element_type
        and not owner.layout_strides
        and owner.elem_offset is None
    )


def _fed(
    load: Operation, stores: dict[Operation, None], steps: list[int]
) -> Iterator[tir.StoreOp | None]:
    """The stores whose value depends on a load; None for any other use of it."""
    pending = list(load.results)
    seen: set[Operation] = set()
    while pending:
        value = pending.pop()
        for use in value.uses:
            op = use.operation
            steps[0] -= 1
            if steps[0] < 0:
                yield None
                return
            if isinstance(op, tir.StoreOp):
                yield op if op in stores and use.index == 0 else None
            elif isinstance(op, tir.YieldOp):
                parent = op.parent_op()
                if not isinstance(parent, tir.IfThenElseOp):
                    yield None
                elif parent not in seen:
                    seen.add(parent)
                    pending += parent.results
            elif op in seen:
                continue
            elif (
                not op.results
                or op.regions
                or isinstance(op, tir.LoadOp | tir.LetOp)
                or own_effect(op) > tir.CallEffect.PURE
            ):
                yield None
            else:
                seen.add(op)
                pending += op.results


def _digits(op: Operation, statement: Operation) -> _Digits | None:
    """The variables of the loops of a statement around an op; None if it may run more
    often than they say."""
    found: _Digits = {}
    current = op
    while current is not statement:
        parent = current.parent_op()
        if parent is None:
            # The statement is the store itself, and this is one of its operands.
            return None
        match parent:
            case tir.ForOp():
                found[parent.loop_var] = polynomial(view(parent.extent))
            case tir.LaunchThreadOp():
                found[parent.thread_var] = polynomial(view(parent.extent))
            case tir.IfOp() | tir.AttrOp() | tir.ScopeOp():
                pass
            case _:
                return None
        current = parent
    return found


def _threads_around(statement: Operation, memory: tir.AllocateOp) -> _Digits:
    """The thread variables that tell apart who shares memory."""
    scope = StorageScope.parse(memory.result.type.scope.data)
    found: _Digits = {}
    if not scope.is_shared_by_threads:
        return found
    parent = statement.parent_op()
    while parent is not None:
        axis = _axis(parent)
        whole = scope.rank is StorageRank.GLOBAL
        if axis is not None and (whole or axis[0].is_thread):
            found[axis[1]] = polynomial(view(axis[2]))
        parent = parent.parent_op()
    return found


def _axis(op: Operation) -> tuple[ThreadAxis, SSAValue, SSAValue] | None:
    """The thread axis of a launch or of a loop that is bound to one, its variable and its
    extent."""
    match op:
        case tir.LaunchThreadOp():
            return op.axis, op.thread_var, op.extent
        case tir.ForOp() if (axis := op.thread_axis) is not None:
            return axis, op.loop_var, op.extent
        case _:
            return None


def _flat(
    store: tir.StoreOp, memory: tir.AllocateOp
) -> tuple[Polynomial, int | None, Polynomial] | None:
    """The element that a store writes: of its lanes the first, how many, and a step."""
    total, step = Polynomial.constant(0), Polynomial.constant(0)
    lanes: int | None = None
    for index, extent in zip(store.indices, memory.shape, strict=True):
        tree = view(index)
        if isinstance(extent, int):
            size = Polynomial.constant(extent)
        else:
            size = polynomial(view(extent))
        if len(store.indices) > 1:
            total = total * size
        if isinstance(tree, Ramp):
            lanes = tir.lanes_of(tree.dtype)
            if tir.is_scalable(tree.dtype):
                return None
            step = polynomial(tree.stride)
            total = total + polynomial(tree.base)
        elif tir.is_vector(tree.dtype):
            return None
        else:
            total = total + polynomial(tree)
    return total, lanes, step


def _numbers(stores: Sequence[tuple[Polynomial, _Digits]], root: Operation) -> bool:
    """Whether indices are different for all stores and all values of their variables."""
    factors: dict[SSAValue | int, Polynomial] | None = None
    extents: dict[SSAValue | int, Polynomial] = {}
    fixed: dict[tuple[Expr, ...], int] | None = None
    constants: list[int] = []
    for index, digits in stores:
        split = _split(index, digits, root)
        if split is None:
            return False
        own, rest, constant = split
        sizes: dict[SSAValue | int, Polynomial] = {}
        coefficients: dict[SSAValue | int, Polynomial] = {}
        for value, extent in digits.items():
            if extent.as_constant == 1:
                continue
            if value not in own or not _is_around(extent, root):
                return False
            # Lanes of two stores are one digit.
            key = value if _is_inside_or_thread(value) else -1
            coefficients[key], sizes[key] = own[value], extent
        if factors is None:
            factors, extents, fixed = coefficients, sizes, rest
        elif factors != coefficients or extents != sizes or fixed != rest:
            return False
        constants.append(constant)
    if factors is None or len(set(constants)) != len(constants):
        return False
    span = Polynomial.constant(max(constants) - min(constants) + 1)
    return _is_positional(factors, extents, span)


def _is_inside_or_thread(value: SSAValue) -> bool:
    """Whether a variable is one of the program, not one that stands for lanes."""
    return isinstance(value, BlockArgument) and value.owner.parent is not None


def _split(
    index: Polynomial, digits: _Digits, root: Operation
) -> tuple[dict[SSAValue, Polynomial], dict[tuple[Expr, ...], int], int] | None:
    """Factors of the variables, the terms without them, and the constant."""
    factors: dict[SSAValue, Polynomial] = {}
    rest: dict[tuple[Expr, ...], int] = {}
    constant = 0
    for monomial, factor in index.terms.items():
        own = [at for at, a in enumerate(monomial) if _digit_of(a, digits) is not None]
        others = [a for at, a in enumerate(monomial) if at not in own]
        if len(own) > 1 or not all(_is_tree_around(a, digits, root) for a in others):
            return None
        if own:
            value = _digit_of(monomial[own[0]], digits)
            assert value is not None
            term = Polynomial({tuple(others): factor})
            factors[value] = factors.get(value, Polynomial.constant(0)) + term
        elif monomial:
            rest[monomial] = factor
        else:
            constant = factor
    return factors, rest, constant


def _digit_of(atom: Expr, digits: _Digits) -> SSAValue | None:
    return atom.value if isinstance(atom, Value) and atom.value in digits else None


def _is_tree_around(tree: Expr, digits: _Digits, root: Operation) -> bool:
    """Whether a tree has one value during a statement."""
    return all(
        value not in digits and not root.is_ancestor(value.owner)
        for value in leaf_values(tree)
    )


def _is_around(number: Polynomial, root: Operation) -> bool:
    return all(
        _is_tree_around(atom, {}, root) for monomial in number.terms for atom in monomial
    )


def _is_positional(
    factors: dict[SSAValue | int, Polynomial],
    extents: dict[SSAValue | int, Polynomial],
    span: Polynomial,
) -> bool:
    """Whether each factor is at least the span of all that are smaller."""
    left = dict(factors)
    while left:
        found = next(
            (
                key
                for key in sorted(left, key=lambda each: _size(left[each]))
                if _is_at_least(left[key], span)
            ),
            None,
        )
        if found is None:
            return False
        factor, extent = left.pop(found), extents[found]
        number, count, low = factor.as_constant, extent.as_constant, span.as_constant
        if number is not None and count is not None and low is not None:
            span = Polynomial.constant(abs(number) * max(0, count - 1) + low)
        elif number is not None and number < 0:
            span = Polynomial.constant(-number) * extent
        else:
            span = factor * extent
    return True


def _size(factor: Polynomial) -> float:
    number = factor.as_constant
    return float("inf") if number is None else abs(number)


def _is_at_least(factor: Polynomial, span: Polynomial) -> bool:
    """Whether the absolute value of a factor is not below a span."""
    number, low = factor.as_constant, span.as_constant
    if number is not None and low is not None:
        return abs(number) >= low
    if low == 1:
        return False
    quotient = factor.exact_quotient(span)
    times = None if quotient is None else quotient.as_constant
    return times is not None and times >= 1
