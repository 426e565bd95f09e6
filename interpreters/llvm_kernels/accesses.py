"""Loads, stores, atomic updates, asynchronous copies and registers of one thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import numpy as np
from xdsl.dialects import llvm
from xdsl.dialects.builtin import Float32Type, IntegerAttr, VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.dialects import nvvm, tvm_llvm
from xdsl_tvm.dialects.dtypes import is_vector, lanes_of
from xdsl_tvm.interpreters.data.numbers import Number, toward_zero
from xdsl_tvm.interpreters.errors import DivisionByZeroError
from xdsl_tvm.interpreters.llvm_kernels.copies import Copy
from xdsl_tvm.interpreters.llvm_kernels.integers import as_signed, as_unsigned, wrapped
from xdsl_tvm.interpreters.llvm_kernels.layouts import (
    Array,
    Mask,
    Value,
    alignment,
    members,
    scalar,
    space_of,
)
from xdsl_tvm.interpreters.llvm_kernels.memory import Access
from xdsl_tvm.interpreters.llvm_kernels.rules import (
    ACTION_INTRINSICS,
    Action,
    SimpleAction,
    TeamState,
    action,
)
from xdsl_tvm.interpreters.llvm_kernels.values import numbers_of

# ---- loads and stores ----

_LEAST_MEMBER: Final = 4


def _access(op: Operation, pointer: SSAValue, type: Attribute) -> Access:
    parts = members(type)
    if parts is not None:
        # Members that follow each other without a gap are as the elements of a vector.
        if len(set(parts)) != 1 or scalar(parts[0]).size < _LEAST_MEMBER:
            raise InterpretationError(f"it accesses an aggregate of type {type}")
        type = VectorType(parts[0], [len(parts)])
        return Access(op, type, space_of(pointer.type), alignment(parts[0]), False)
    given = op.properties.get("alignment")
    each = given.value.data if isinstance(given, IntegerAttr) else alignment(type)
    ordering = op.properties.get("ordering")
    atomic = isinstance(ordering, IntegerAttr) and ordering.value.data != 0
    return Access(op, type, space_of(pointer.type), each, atomic)


@action(llvm.LoadOp, tvm_llvm.LoadOp)
def _load(op: llvm.LoadOp | tvm_llvm.LoadOp) -> Action:
    type = op.results[0].type
    load = loading(_access(op, op.operands[0], type))
    if members(type) is not None:

        def load_members(team: TeamState, mask: Mask, address: Array) -> Value:
            return tuple(cast(Array, load(team, mask, address)).T)

        return load_members
    if isinstance(type, Float32Type):
        return _complete(op, load)
    return load


def _complete(op: Operation, load: Action) -> Action:
    """Loads that are no sums of a product in flight."""

    def check(team: TeamState, mask: Mask, address: Array) -> Value:
        found = load(team, mask, address)
        team.products.require_complete(op, found, mask)
        return found

    return check


def loading(access: Access) -> Action:
    """What reads the values at addresses."""
    shape = (lanes_of(access.type),) if is_vector(access.type) else ()
    storage = scalar(access.type).storage

    def load(team: TeamState, mask: Mask, address: Array) -> Value:
        spaces = team.spaces
        found: Array | None = None
        for region, offsets, chosen in spaces.locate(
            access.op, access.space, address, mask
        ):
            values = spaces.read(access, region, offsets, chosen)
            if chosen is mask:
                return values
            if found is None:
                found = np.zeros((team.count, *shape), storage)
            found[chosen] = values[chosen]
        assert found is not None
        return found

    return load


@action(llvm.StoreOp, tvm_llvm.StoreOp)
def _store(op: llvm.StoreOp | tvm_llvm.StoreOp) -> Action:
    type = op.operands[0].type
    store = storing(_access(op, op.operands[1], type))
    if members(type) is not None:

        def store_members(
            team: TeamState, mask: Mask, value: Sequence[Array], address: Array
        ) -> None:
            size = max(map(len, value))
            parts = [np.broadcast_to(each, (size,)) for each in value]
            store(team, mask, np.stack(parts, axis=1), address)

        return store_members
    return store


@action(llvm.ExtractValueOp)
def _extract_value(op: llvm.ExtractValueOp) -> Action:
    path = numbers_of(cast(Attribute, op.position))
    is_whole = members(op.res.type) is not None

    def extract(team: TeamState, mask: Mask, value: Value) -> Value:
        for index in path:
            value = value[index]
        if not is_whole:
            team.products.require_complete(op, value, mask)
        return value

    return extract


def storing(access: Access) -> Action:
    """What writes values at addresses."""

    def store(team: TeamState, mask: Mask, value: Array, address: Array) -> None:
        spaces = team.spaces
        for region, offsets, chosen in spaces.locate(
            access.op, access.space, address, mask
        ):
            spaces.write(access, region, offsets, value, chosen)

    return store


# ---- atomic updates ----

_UPDATES: dict[str, Callable[[Any, Any], Any]] = {
    "xchg": lambda old, new: new,
    "add": np.add,
    "sub": np.subtract,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "nand": lambda old, new: ~(old & new),
    "max": np.maximum,
    "min": np.minimum,
    "fadd": np.add,
    "fsub": np.subtract,
    "fmax": np.fmax,
    "fmin": np.fmin,
}


def _unsigned_update(name: str, dtype: Number) -> Callable[[Any, Any], Any]:
    pick = np.maximum if name == "umax" else np.minimum

    def update(old: Any, new: Any) -> Any:
        pair = [as_unsigned(np.array([each]), dtype) for each in (old, new)]
        return wrapped(pick(*pair), dtype)[0]

    return update


def _counting_update(name: str, dtype: Number) -> Callable[[Any, Any], Any]:
    def update(old: Any, limit: Any) -> Any:
        count, last = (int(as_unsigned(np.array([x]), dtype)[0]) for x in (old, limit))
        if name == "uinc_wrap":
            found = 0 if count >= last else count + 1
        else:
            found = last if count == 0 or count > last else count - 1
        return dtype.storage.type(dtype.wrap(found))

    return update


@action(tvm_llvm.AtomicRMWOp)
def _atomic_rmw(op: tvm_llvm.AtomicRMWOp) -> Action:
    type, name = op.val.type, op.bin_op_name
    dtype = scalar(type)
    if name in ("umax", "umin"):
        update = _unsigned_update(name, dtype)
    elif name in ("uinc_wrap", "udec_wrap"):
        update = _counting_update(name, dtype)
    else:
        update = _UPDATES[name]

    def change(old: Any, value: Any, _: Any) -> Any:
        return update(old, value)

    return _updating(op, op.ptr, type, change, with_success=False)


@action(tvm_llvm.CmpXchgOp)
def _cmpxchg(op: tvm_llvm.CmpXchgOp) -> Action:
    def change(old: Any, expected: Any, new: Any) -> Any:
        return new if old == expected else old

    return _updating(op, op.ptr, op.val.type, change, with_success=True)


def _updating(
    op: Operation,
    pointer: SSAValue,
    type: Attribute,
    change: Callable[[Any, Any, Any], Any],
    *,
    with_success: bool,
) -> Action:
    """Threads update memory one after the other, in the order of their numbers."""
    given = op.properties.get("alignment")
    each = given.value.data if isinstance(given, IntegerAttr) else alignment(type)
    access = Access(op, type, space_of(pointer.type), each, atomic=True)
    storage = scalar(type).storage

    def update(
        team: TeamState,
        mask: Mask,
        address: Array,
        value: Array,
        new: Array | None = None,
    ) -> Value:
        spaces, count = team.spaces, team.count
        address = np.broadcast_to(address, (count,))
        value = np.broadcast_to(value, (count,))
        other = value if new is None else np.broadcast_to(new, (count,))
        found = np.zeros(count, storage)
        for region, offsets, chosen in spaces.locate(op, access.space, address, mask):
            spaces.read(access, region, offsets, chosen)
            places = spaces.checked(access, region, offsets, chosen, access.size)
            cells = region.typed(storage)
            threads = range(count) if chosen is None else np.flatnonzero(chosen).tolist()
            for thread in threads:
                cell = int(places[thread]) // storage.itemsize
                old = found[thread] = cells[cell]
                cells[cell] = change(old, value[thread], other[thread])
        return (found, found == value) if with_success else found

    return update


@action(tvm_llvm.FenceOp, nvvm.FenceProxyOp)
def _fence(op: Operation) -> Action:
    return _nothing


def _nothing(team: TeamState, mask: Mask, *operands: Value) -> None:
    """Accesses are in the order of the program already."""


# ---- division, which may fail ----


def _quotient(a: Array, b: Array) -> Array:
    return toward_zero(np.floor_divide(a, b), a, b)


def _remainder(a: Array, b: Array) -> Array:
    return a - _quotient(a, b) * b


@action(llvm.SDivOp, llvm.SRemOp, llvm.UDivOp, llvm.URemOp)
def _division(op: Operation) -> Action:
    dtype = scalar(op.results[0].type)
    is_signed = isinstance(op, llvm.SDivOp | llvm.SRemOp)
    view = as_signed if is_signed else as_unsigned
    if isinstance(op, llvm.SDivOp | llvm.UDivOp):
        function = _quotient if is_signed else np.floor_divide
    else:
        function = _remainder if is_signed else np.remainder

    def divide(team: TeamState, mask: Mask, a: Array, b: Array) -> Array:
        left, right = view(a, dtype), view(b, dtype)
        zero = right == 0
        if zero.any():
            rows = zero.any(1) if zero.ndim > 1 else zero
            active = rows if mask is None else rows & mask
            if active.any():
                thread = int(np.flatnonzero(active)[0])
                name = team.spaces.name(thread)
                raise DivisionByZeroError(f"{op.name}: {name} divides by zero", op)
            right = np.where(zero, right.dtype.type(1), right)
        return wrapped(function(left, right), dtype)

    return divide


# ---- registers ----


@action(*(x for x in nvvm.NVVM.operations if issubclass(x, nvvm.SpecialRegisterOp)))
def _register(op: Operation) -> SimpleAction:
    name = op.name.removeprefix("nvvm.read.ptx.sreg.")
    return lambda team, mask: team.register(name)


def _active(op: Operation) -> SimpleAction:
    return lambda team, mask: team.lanes_of(mask).astype(np.uint32).view(np.int32)


ACTION_INTRINSICS["llvm.nvvm.activemask"] = _active
ACTION_INTRINSICS["llvm.nvvm.membar"] = lambda op: _nothing
ACTION_INTRINSICS["llvm.assume"] = lambda op: _nothing
ACTION_INTRINSICS["llvm.lifetime"] = lambda op: _nothing
ACTION_INTRINSICS["llvm.prefetch"] = lambda op: _nothing


# ---- asynchronous copies ----


@action(nvvm.CpAsyncOp)
def _cp_async(op: nvvm.CpAsyncOp) -> Action:
    return copying(op, op.size.value.data)


def copying(op: Operation, size: int, unit: int = 0) -> Action:
    """Starts copies of `size` bytes to shared memory; a third operand, if there is one,
    is how many of them are read, and the rest is zero.

    Addresses are aligned to `unit` bytes, or to the size."""
    target = Access(op, op.operands[0].type, 3, unit or size)
    source = Access(op, op.operands[1].type, 1, unit or size)

    def copy(
        team: TeamState, mask: Mask, to: Array, origin: Array, given: Array | None = None
    ) -> None:
        spaces, count = team.spaces, team.count
        to = np.broadcast_to(to, (count,))
        origin = np.broadcast_to(origin, (count,))
        filled = np.full(count, size)
        if given is not None:
            filled = np.minimum(np.broadcast_to(given, (count,)).astype(np.int64), size)
        everyone = np.ones(count, np.bool_) if mask is None else mask
        places = spaces.checked(target, spaces.shared, to, mask, size)
        spaces.require_landed(op, spaces.shared, places, size, mask)
        spaces.count_access(op, spaces.shared, places, size, mask, "writes")
        reads = everyone & (filled > 0)
        if not reads.any():
            pieces = [(spaces.shared, to, everyone)]
        else:
            pieces = list(spaces.locate(op, source.space, origin, reads))
            if not reads.all() and (everyone & ~reads).any():
                pieces.append((spaces.shared, to, everyone & ~reads))
        for region, offsets, chosen in pieces:
            assert chosen is not None
            data = offsets
            if region is not spaces.shared:
                data = _read_places(team, source, region, offsets, chosen, filled)
            team.copies.start(
                Copy(
                    op,
                    spaces.shared,
                    places,
                    data,
                    region,
                    size,
                    filled,
                    chosen.copy(),
                    np.full(count, -1),
                )
            )

    return copy


def _read_places(
    team: TeamState,
    access: Access,
    region: Any,
    offsets: Array,
    mask: Array,
    filled: Array,
) -> Array:
    """The checked positions that copies read, of which some read fewer bytes."""
    spaces = team.spaces
    places = offsets
    for length in np.unique(filled[mask]).tolist():
        some = mask & (filled == length)
        places = spaces.checked(access, region, offsets, some, length)
        spaces.require_written(access.op, region, places, length, some)
        spaces.count_access(access.op, region, places, length, some, "reads")
    return region.places(offsets, None)


@action(nvvm.CpAsyncCommitGroupOp)
def _commit(op: nvvm.CpAsyncCommitGroupOp) -> SimpleAction:
    return lambda team, mask: team.copies.commit(mask)


@action(nvvm.CpAsyncWaitGroupOp)
def _wait(op: nvvm.CpAsyncWaitGroupOp) -> SimpleAction:
    left = op.n.value.data
    return lambda team, mask: team.copies.wait(mask, left)
