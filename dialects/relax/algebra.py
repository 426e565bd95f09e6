"""The lattice of types: what a type promises, common supertypes, scopes of symbols.

The rules are those of docs/spec/relax-ir.md §6, on types instead of struct infos. Two
differences, both because a tensor type here can know one dimension and not another:
shapes are compared and merged dimension by dimension, and a dimension that leaves the
scope of its symbols is forgotten alone, not with the whole shape.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from enum import IntEnum

from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.attributes import Dims, VDeviceAttr
from xdsl_tvm.dialects.relax.symbolic import Dim, provably_equal
from xdsl_tvm.dialects.relax.types import (
    OBJECT,
    FuncType,
    ObjectType,
    PrimType,
    ShapeType,
    TensorInfo,
    TupleType,
    map_dims,
    substitute_symbols,
)

__all__ = [
    "Check",
    "base_check",
    "common_base",
    "erase_symbols",
    "infer_call",
    "is_base_of",
]


class Check(IntEnum):
    """How far a value of one type is known to be of another. Parts combine by minimum."""

    IMPOSSIBLE = 0
    """No value is of both types."""
    KIND_UNKNOWN = 1
    """Possible, but rank, dtype or kind are not known to agree."""
    VALUES_UNKNOWN = 2
    """All agrees but for dimensions that are not proven equal."""
    PASS = 3
    """Every value of the derived type is of the base type."""


def base_check(base: Attribute, derived: Attribute) -> Check:
    """Whether values of type `derived` are values of type `base`."""
    return _check(base, derived, _check_dim)


def is_base_of(base: Attribute, derived: Attribute) -> bool:
    """Whether every value of type `derived` is one of type `base`."""
    return base_check(base, derived) == Check.PASS


_DimCheck = Callable[[Dim, Dim], Check]


def _check_dim(base: Dim, derived: Dim) -> Check:
    if base.value is not None and derived.value is not None:
        return Check.PASS if base.value == derived.value else Check.IMPOSSIBLE
    return Check.PASS if provably_equal(base, derived) else Check.VALUES_UNKNOWN


def _check(base: Attribute, derived: Attribute, check_dim: _DimCheck) -> Check:
    if isinstance(base, ObjectType):
        return Check.PASS
    if isinstance(derived, ObjectType):
        return Check.KIND_UNKNOWN
    if isinstance(base, PrimType) and isinstance(derived, PrimType):
        if base.dtype != derived.dtype:
            return Check.IMPOSSIBLE
        return _check_dims((base.dim,), (derived.dim,), check_dim)
    if isinstance(base, ShapeType) and isinstance(derived, ShapeType):
        return _check_shape(base.values, derived.values, check_dim)
    if isinstance(base, TupleType) and isinstance(derived, TupleType):
        return _check_all(base.fields.data, derived.fields.data, check_dim)
    if isinstance(base, FuncType) and isinstance(derived, FuncType):
        return _check_func(base, derived)
    base_tensor, derived_tensor = TensorInfo.of(base), TensorInfo.of(derived)
    if base_tensor is not None and derived_tensor is not None:
        return _check_tensor(base_tensor, derived_tensor, check_dim)
    return Check.IMPOSSIBLE


def _check_dims(base: Dims, derived: Dims, check_dim: _DimCheck) -> Check:
    result = Check.PASS
    for expected, actual in zip(base, derived, strict=True):
        if expected is None:
            continue
        part = Check.VALUES_UNKNOWN if actual is None else check_dim(expected, actual)
        result = min(result, part)
    return result


def _check_shape(base: Dims | None, derived: Dims | None, check_dim: _DimCheck) -> Check:
    if base is None:
        return Check.PASS
    if derived is None:
        return Check.KIND_UNKNOWN
    if len(base) != len(derived):
        return Check.IMPOSSIBLE
    return _check_dims(base, derived, check_dim)


def _check_tensor(base: TensorInfo, derived: TensorInfo, check_dim: _DimCheck) -> Check:
    result = _check_vdevice(base.vdevice, derived.vdevice)
    if base.dtype is not None and base.dtype != derived.dtype:
        known = derived.dtype is not None
        result = min(result, Check.IMPOSSIBLE if known else Check.KIND_UNKNOWN)
    return min(result, _check_shape(base.dims, derived.dims, check_dim))


def _check_vdevice(base: VDeviceAttr | None, derived: VDeviceAttr | None) -> Check:
    if base is None or base == derived:
        return Check.PASS
    if derived is None or base.target_name is None:
        return Check.KIND_UNKNOWN if derived is None else Check.PASS
    return Check.KIND_UNKNOWN if derived.target_name is None else Check.IMPOSSIBLE


def _check_all(
    base: Sequence[Attribute], derived: Sequence[Attribute], check_dim: _DimCheck
) -> Check:
    if len(base) != len(derived):
        return Check.IMPOSSIBLE
    parts = (_check(b, d, check_dim) for b, d in zip(base, derived, strict=True))
    return min(parts, default=Check.PASS)


def _check_func(base: FuncType, derived: FuncType) -> Check:
    if base.is_pure and not derived.is_pure:
        return Check.IMPOSSIBLE
    base_params, derived_params = base.param_types, derived.param_types
    ret = _check(base.ret, derived.ret, _check_dim)
    if base_params is None:
        return ret
    if derived_params is None:
        return Check.VALUES_UNKNOWN
    params = _check_all(base_params, derived_params, _check_dim)
    if params == Check.KIND_UNKNOWN:
        params = Check.VALUES_UNKNOWN
    return min(params, ret)


def erase_symbols(type_: Attribute, visible: Collection[str]) -> Attribute:
    """The type with every dimension forgotten that uses a symbol not in `visible`."""

    def erase(dims: Dims) -> Dims:
        return tuple(
            dim if dim is not None and all(s in visible for s in dim.symbols()) else None
            for dim in dims
        )

    if isinstance(type_, PrimType):
        dim = erase((type_.dim,))[0]
        return PrimType.of(type_.dtype, dim)
    if isinstance(type_, TupleType):
        return TupleType.of(erase_symbols(f, visible) for f in type_.fields.data)
    return map_dims(type_, erase)


def common_base(lhs: Attribute, rhs: Attribute) -> Attribute:
    """The most precise type that values of both types have (LCA).

    docs/spec/relax-ir.md §6.5.
    """
    if lhs == rhs:
        return lhs
    if isinstance(lhs, PrimType) and isinstance(rhs, PrimType):
        if lhs.dtype != rhs.dtype:
            return OBJECT
        return PrimType.of(lhs.dtype, _common_dims((lhs.dim,), (rhs.dim,))[0])
    if isinstance(lhs, ShapeType) and isinstance(rhs, ShapeType):
        return ShapeType.of(_common_shape(lhs.values, rhs.values))
    if isinstance(lhs, TupleType) and isinstance(rhs, TupleType):
        fields = _common_all(lhs.fields.data, rhs.fields.data)
        return OBJECT if fields is None else TupleType.of(fields)
    if isinstance(lhs, FuncType) and isinstance(rhs, FuncType):
        left, right = lhs.param_types, rhs.param_types
        params = None if left is None or right is None else _common_all(left, right)
        ret = common_base(lhs.ret, rhs.ret)
        return FuncType.of(params, ret, lhs.is_pure and rhs.is_pure)
    a, b = TensorInfo.of(lhs), TensorInfo.of(rhs)
    if a is None or b is None:
        return OBJECT
    return TensorInfo(
        _common_shape(a.dims, b.dims),
        a.dtype if a.dtype == b.dtype else None,
        a.vdevice if a.vdevice == b.vdevice else None,
    ).type


def _common_shape(lhs: Dims | None, rhs: Dims | None) -> Dims | None:
    if lhs is None or rhs is None or len(lhs) != len(rhs):
        return None
    return _common_dims(lhs, rhs)


def _common_dims(lhs: Dims, rhs: Dims) -> Dims:
    return tuple(
        a if a is not None and b is not None and provably_equal(a, b) else None
        for a, b in zip(lhs, rhs, strict=True)
    )


def _common_all(
    lhs: Sequence[Attribute], rhs: Sequence[Attribute]
) -> list[Attribute] | None:
    if len(lhs) != len(rhs):
        return None
    return [common_base(a, b) for a, b in zip(lhs, rhs, strict=True)]


def infer_call(where: str, func: FuncType, args: Sequence[Attribute]) -> Attribute:
    """The type of a call's result, symbols of the parameters solved.

    docs/spec/relax-ir.md §6.4.

    Raises VerifyException, starting with `where`, for arguments that cannot be passed.
    """
    params = func.param_types
    if params is None:
        return func.ret
    if len(params) != len(args):
        raise VerifyException(
            f"{where} takes {len(params)} arguments, {len(args)} are given"
        )
    solved: dict[str, Dim] = {}
    for index, (param, arg) in enumerate(zip(params, args, strict=True)):
        if _solve(param, arg, solved) <= Check.KIND_UNKNOWN:
            raise VerifyException(
                f"argument {index} of {where} must be {param}, {arg} is given"
            )
    return substitute_symbols(erase_symbols(func.ret, solved), solved)


def solve_symbols(
    params: Sequence[Attribute], args: Sequence[Attribute]
) -> dict[str, Dim]:
    """What the symbols of parameters are in a call, as far as types of arguments say.

    As many arguments as parameters. The first dimension that is a symbol by itself
    decides (TVM's `InferSymbolicVarMap` takes the last).
    """
    solved: dict[str, Dim] = {}
    for param, arg in zip(params, args, strict=True):
        _solve(param, arg, solved)
    return solved


def _solve(param: Attribute, arg: Attribute, solved: dict[str, Dim]) -> Check:
    def check_dim(expected: Dim, actual: Dim) -> Check:
        name = expected.symbol_name
        if name is None:
            return _check_dim(expected, actual)
        known = solved.setdefault(name, actual)
        return Check.PASS if provably_equal(known, actual) else Check.VALUES_UNKNOWN

    return _check(param, arg, check_dim)
