"""Operations that compute values from values, by class of operation.

A rule of `PURE` makes of an operation a function of the arrays of its operands; one of
`CONSTANTS` makes the value itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.dialects import nvvm, tvm_llvm
from xdsl_tvm.dialects.dtypes import element_of, is_vector, lanes_of
from xdsl_tvm.interpreters.data.numbers import Number, number
from xdsl_tvm.interpreters.gpu.lockstep_threads import convert
from xdsl_tvm.interpreters.llvm_kernels.integers import (
    as_signed,
    as_unsigned,
    spare_bits,
    wrapped,
)
from xdsl_tvm.interpreters.llvm_kernels.layouts import (
    Array,
    Value,
    chosen,
    filled,
    member_offsets,
    members,
    scalar,
    space_of,
    stride,
    undefined,
    zero,
)

Function: TypeAlias = Callable[..., Value]
"""Of the values of the operands."""
Unary: TypeAlias = Callable[[Array], Value]
Binary: TypeAlias = Callable[[Array, Array], Value]
_OpT = TypeVar("_OpT", bound=Operation)

PURE: dict[type[Operation], Callable[[Any], Function]] = {}
"""What makes a function of an operation without effects."""

CONSTANTS: dict[type[Operation], Callable[[Any], Value]] = {
    llvm.UndefOp: lambda op: undefined(op.res.type),
    llvm.ZeroOp: lambda op: zero(op.res.type),
    tvm_llvm.PoisonOp: lambda op: undefined(op.res.type),
}
"""What makes the value of an operation without operands."""

SHARED_WINDOW = 1 << 60
LOCAL_WINDOW = 1 << 61
_WINDOWS = {0: 0, 1: 0, 4: 0, 3: SHARED_WINDOW, 5: LOCAL_WINDOW}
"""Where the addresses of each space begin among the generic ones."""


def window_of(space: int) -> int:
    """The generic address of byte 0 of an address space."""
    return _WINDOWS[space]


def pure(
    *classes: type[_OpT],
) -> Callable[[Callable[[_OpT], Function]], Callable[[_OpT], Function]]:
    """Registers the rule of operations without effects."""

    def register(rule: Callable[[_OpT], Function]) -> Callable[[_OpT], Function]:
        for operation in classes:
            PURE[operation] = rule
        return rule

    return register


def result_scalar(op: Operation) -> Number:
    """The dtype of the elements of the first result."""
    return scalar(op.results[0].type)


def numbers_of(array: Attribute) -> Sequence[int]:
    """The numbers of a dense array."""
    return cast("DenseArrayBase[IntegerType]", array).get_values()


# ---- constants ----


def constant(op: llvm.ConstantOp) -> Value:
    """The value of `llvm.mlir.constant`."""
    value, type = op.value, op.result.type
    dtype = scalar(type)
    if isinstance(value, IntegerAttr | FloatAttr):
        return filled(type, dtype.convert(value.value.data))
    items = cast("DenseIntOrFPElementsAttr[Any]", value).get_values()
    found = np.array([dtype.convert(item) for item in items], dtype.storage)
    return np.broadcast_to(found, (1, lanes_of(type)))


CONSTANTS[llvm.ConstantOp] = constant


# ---- integers ----

_WRAPPING: dict[type[Operation], Function] = {
    llvm.AddOp: np.add,
    llvm.SubOp: np.subtract,
    llvm.MulOp: np.multiply,
    llvm.AndOp: np.bitwise_and,
    llvm.OrOp: np.bitwise_or,
    llvm.XOrOp: np.bitwise_xor,
}


@pure(*_WRAPPING)
def _wrapping(op: Operation) -> Binary:
    function, dtype = _WRAPPING[type(op)], result_scalar(op)
    if dtype.is_bool:
        return lambda a, b: wrapped(function(a.view(np.int8), b.view(np.int8)), dtype)
    if spare_bits(dtype):
        return lambda a, b: wrapped(function(a, b), dtype)
    return function


def _shift(op: Operation, function: Callable[[Array, Array], Array]) -> Binary:
    """A shift; where the amount is too large the result is undefined."""
    dtype = result_scalar(op)
    fill = undefined(op.results[0].type)

    def shift(value: Array, amount: Array) -> Array:
        by = as_unsigned(amount, dtype)
        fine = by < dtype.bits
        if fine.all():
            return function(value, by)
        return np.where(fine, function(value, np.where(fine, by, by.dtype.type(0))), fill)

    return shift


@pure(llvm.ShlOp)
def _shl(op: llvm.ShlOp) -> Binary:
    dtype = result_scalar(op)
    return _shift(op, lambda a, b: wrapped(as_unsigned(a, dtype) << b, dtype))


@pure(llvm.LShrOp)
def _lshr(op: llvm.LShrOp) -> Binary:
    dtype = result_scalar(op)
    return _shift(op, lambda a, b: wrapped(as_unsigned(a, dtype) >> b, dtype))


@pure(llvm.AShrOp)
def _ashr(op: llvm.AShrOp) -> Binary:
    dtype = result_scalar(op)

    def shift(value: Array, amount: Array) -> Array:
        return wrapped(as_signed(value, dtype) >> amount.view(f"i{dtype.size}"), dtype)

    return _shift(op, shift)


_COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


@pure(llvm.ICmpOp, tvm_llvm.ICmpOp)
def _icmp(op: llvm.ICmpOp | tvm_llvm.ICmpOp) -> Binary:
    name = str(llvm.ICmpPredicateFlag.from_int(op.predicate.value.data))
    dtype = scalar(op.lhs.type)
    compare = _COMPARISONS[name[-2:]]
    if len(name) == 2 or (name[0] == "s" and not dtype.is_bool):
        return compare
    view = as_signed if name[0] == "s" else as_unsigned
    return lambda a, b: compare(view(a, dtype), view(b, dtype))


# ---- floats ----

_FLOAT: dict[type[Operation], Function] = {
    llvm.FAddOp: np.add,
    llvm.FSubOp: np.subtract,
    llvm.FMulOp: np.multiply,
    llvm.FDivOp: np.divide,
    llvm.FRemOp: np.fmod,
    llvm.FNegOp: np.negative,
}


@pure(*_FLOAT)
def _float(op: Operation) -> Function:
    return _FLOAT[type(op)]


@pure(llvm.FCmpOp, tvm_llvm.FCmpOp)
def _fcmp(op: llvm.FCmpOp | tvm_llvm.FCmpOp) -> Binary:
    flag = llvm.FCmpPredicateFlag.from_int(op.predicate.value.data)
    name = str(flag).lstrip("_")
    if name in ("true", "false"):
        return lambda a, _: np.full_like(a, name == "true", np.bool_)
    unordered = name[0] == "u"
    if name in ("ord", "uno"):
        return lambda a, b: (np.isnan(a) | np.isnan(b)) == unordered
    compare = _COMPARISONS[name[1:]]

    def apply(a: Array, b: Array) -> Array:
        nan = np.isnan(a) | np.isnan(b)
        found = compare(a, b)
        return found | nan if unordered else found & ~nan

    return apply


# ---- conversions ----


@pure(llvm.TruncOp)
def _trunc(op: llvm.TruncOp) -> Unary:
    dtype = result_scalar(op)
    return lambda value: wrapped(value, dtype)


@pure(llvm.ZExtOp)
def _zext(op: llvm.ZExtOp) -> Unary:
    source, target = scalar(op.arg.type), result_scalar(op)
    return lambda value: as_unsigned(value, source).astype(target.storage)


@pure(llvm.SExtOp)
def _sext(op: llvm.SExtOp) -> Unary:
    source, target = scalar(op.arg.type), result_scalar(op)
    return lambda value: as_signed(value, source).astype(target.storage)


def converted(dtype: Number, values: Array) -> Array:
    """Numbers as those of another dtype, rounded once; see `Number.convert`."""
    found = convert(dtype, values.ravel()).reshape(values.shape)
    return found.astype(dtype.storage, copy=False)


@pure(llvm.FPExtOp, llvm.FPTruncOp)
def _fp_cast(op: Operation) -> Unary:
    dtype = result_scalar(op)
    return lambda value: converted(dtype, value)


@pure(llvm.SIToFPOp)
def _sitofp(op: llvm.SIToFPOp) -> Unary:
    source, target = scalar(op.arg.type), result_scalar(op)
    return lambda value: converted(target, as_signed(value, source))


@pure(tvm_llvm.UIToFPOp)
def _uitofp(op: tvm_llvm.UIToFPOp) -> Unary:
    source, target = scalar(op.arg.type), result_scalar(op)
    return lambda value: converted(target, as_unsigned(value, source))


@pure(tvm_llvm.FPToSIOp)
def _fptosi(op: tvm_llvm.FPToSIOp) -> Unary:
    return to_integer(op.res.type, unsigned=False)


@pure(tvm_llvm.FPToUIOp)
def _fptoui(op: tvm_llvm.FPToUIOp) -> Unary:
    return to_integer(op.res.type, unsigned=True)


def to_integer(type: Attribute, *, unsigned: bool) -> Unary:
    """Floats toward zero, saturated, NaN as 0: what intrinsics say, and others may do."""
    target = scalar(type)
    wide = target
    if unsigned and not target.is_bool:
        wide = number(IntegerType(target.bits, Signedness.UNSIGNED))
    return lambda value: wrapped(convert(wide, value), target)


@pure(llvm.BitcastOp)
def _bitcast(op: llvm.BitcastOp) -> Unary:
    return reinterpreted(op.arg.type, op.result.type)


def reinterpreted(source: Attribute, target: Attribute) -> Unary:
    """The bits of values of one type as values of another one.

    Raises InterpretationError for elements that are no whole bytes.
    """
    if source == target:
        return lambda value: value
    for type in (source, target):
        dtype = scalar(type)
        if not dtype.is_float and spare_bits(dtype):
            raise InterpretationError(f"the bits of {type} are no whole bytes")
    storage = scalar(target).storage

    def view(value: Array) -> Array:
        rows = np.ascontiguousarray(value).reshape(len(value), -1).view(storage)
        return rows if is_vector(target) else rows[:, 0]

    return view


@pure(llvm.PtrToIntOp)
def _ptrtoint(op: llvm.PtrToIntOp) -> Unary:
    dtype = result_scalar(op)
    return lambda value: wrapped(value, dtype)


@pure(llvm.IntToPtrOp)
def _inttoptr(op: llvm.IntToPtrOp) -> Unary:
    source = scalar(op.operands[0].type)
    return lambda value: as_unsigned(value, source).astype(np.int64)


@pure(tvm_llvm.AddrSpaceCastOp)
def _addrspacecast(op: tvm_llvm.AddrSpaceCastOp) -> Unary:
    spaces = [space_of(each.type) for each in (op.arg, op.res)]
    # The addresses of a block in shared memory are those in the memory of its cluster.
    source, target = (3 if space == nvvm.CLUSTER_SPACE else space for space in spaces)
    if source == target:
        return lambda value: value
    if 0 not in (source, target):
        raise InterpretationError(f"no cast from space {source} to {target}")
    distance = window_of(source) - window_of(target)
    return lambda value: value + distance


# ---- addresses ----


@pure(llvm.GEPOp)
def _gep(op: llvm.GEPOp) -> Function:
    """An address is a number of bytes; the sum of the constant indices is known."""
    type: Attribute = op.elem_type
    start = 0
    steps: list[int] = []
    constants = numbers_of(cast(Attribute, op.rawConstantIndices))
    for position, index in enumerate(constants):
        if position:
            parts = members(type)
            if isinstance(type, llvm.LLVMStructType) and index != llvm.GEP_USE_SSA_VAL:
                start += member_offsets(type)[index]
                type = type.types.data[index]
                continue
            if parts is None and is_vector(type):
                type = element_of(type)
            elif isinstance(type, llvm.LLVMArrayType):
                type = type.type
            else:
                raise InterpretationError(f"no index into {type}")
        if index == llvm.GEP_USE_SSA_VAL:
            steps.append(stride(type))
        else:
            start += index * stride(type)
    dtypes = [scalar(index.type) for index in op.ssa_indices]

    def address(pointer: Array, *indices: Array) -> Array:
        for index, step, dtype in zip(indices, steps, dtypes, strict=True):
            pointer = pointer + as_signed(index, dtype).astype(np.int64) * step
        return pointer + start if start else pointer

    return address


# ---- elements ----


@pure(llvm.SelectOp, tvm_llvm.SelectOp)
def _select(op: Operation) -> Function:
    return chosen


@pure(tvm_llvm.RegisterFenceOp)
def _register_fence(op: tvm_llvm.RegisterFenceOp) -> Unary:
    return lambda value: value


@pure(tvm_llvm.FreezeOp)
def _freeze(op: tvm_llvm.FreezeOp) -> Unary:
    return lambda value: value


@pure(tvm_llvm.ExtractElementOp)
def _extract_element(op: tvm_llvm.ExtractElementOp) -> Function:
    last = lanes_of(op.vector.type) - 1

    def extract(vector: Array, position: Array) -> Array:
        index = np.clip(position.astype(np.int64), 0, last)
        if len(index) == 1:
            return vector[:, index[0]]
        rows = np.broadcast_to(vector, (len(index), vector.shape[1]))
        return np.take_along_axis(rows, index[:, None], 1)[:, 0]

    return extract


@pure(llvm.InsertElementOp)
def _insert_element(op: llvm.InsertElementOp) -> Function:
    def insert(vector: Array, value: Array, position: Array) -> Array:
        count = max(len(vector), len(value), len(position))
        found = np.broadcast_to(vector, (count, vector.shape[1])).copy()
        if len(position) == 1:
            found[:, int(position[0])] = value
        else:
            found[np.arange(count), position] = value
        return found

    return insert


@pure(llvm.ShuffleVectorOp)
def _shuffle(op: llvm.ShuffleVectorOp) -> Binary:
    positions = np.array(numbers_of(cast(Attribute, op.mask)))
    fill = undefined(op.res.type)

    def shuffle(left: Array, right: Array) -> Array:
        count = max(len(left), len(right))
        both = np.concatenate(
            [np.broadcast_to(x, (count, x.shape[1])) for x in (left, right)], axis=1
        )
        found = both[:, np.maximum(positions, 0)]
        return np.where(positions < 0, fill, found) if (positions < 0).any() else found

    return shuffle


@pure(llvm.InsertValueOp)
def _insert_value(op: llvm.InsertValueOp) -> Callable[[Value, Value], Value]:
    path = tuple(numbers_of(cast(Attribute, op.position)))
    return lambda container, value: _with_member(container, path, value)


def _with_member(container: Value, path: Sequence[int], value: Value) -> Value:
    if not path:
        return value
    parts = list(cast("tuple[Value, ...]", container))
    parts[path[0]] = _with_member(parts[path[0]], path[1:], value)
    return tuple(parts)
