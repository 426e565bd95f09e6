"""Relax values as Python objects, and whether a value has a type.

| type | value |
|---|---|
| tensor | numpy array, C-contiguous |
| `!relax.prim` | int or bool of Python, numpy scalar for floats |
| `!relax.shape` | `ShapeValue` |
| `!relax.tuple` | tuple |
| `!relax.func` | something that can be called |
| `!relax.object` | anything |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute

from xdsl_tvm.analysis.shared_arrays import shared_array
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.types import substitute_symbols
from xdsl_tvm.interpreters.data.numbers import number
from xdsl_tvm.interpreters.data.values import scalar_argument
from xdsl_tvm.interpreters.errors import ArgumentError

Array: TypeAlias = "np.ndarray[Any, Any]"
Symbols: TypeAlias = dict[str, int]


class ShapeValue(tuple[int, ...]):
    """The extents that a `!relax.shape` value holds."""


class TypeMismatchError(Exception):
    """A value does not have a type; the text says in what. For use inside only."""


@dataclass(frozen=True)
class _Extent:
    """What a type says of an extent: it is `dim`, and the value has `found`."""

    dim: relax.Dim
    found: int
    place: str


def storage_of(dtype: Attribute) -> np.dtype[Any]:
    """numpy's dtype of a tensor's elements; InterpretationError where it has none."""
    return number(dtype).storage


def bind(
    types: Sequence[Attribute],
    values: Sequence[Any],
    symbols: Symbols,
    defined: Iterable[str],
    names: Sequence[str],
) -> None:
    """Check that values have types, and give the `defined` symbols their values.

    All dimensions that are one symbol by themselves bind before any is compared (
    docs/spec/relax-ir.md §2.3). Raises TypeMismatchError naming the value, the extent and
    both numbers.
    """
    extents = [
        extent
        for type_, value, name in zip(types, values, names, strict=True)
        for extent in _extents(type_, value, name)
    ]
    wanted = set(defined)
    for extent in extents:
        symbol = extent.dim.symbol_name
        if symbol is not None and symbol in wanted:
            wanted.remove(symbol)
            if extent.found < 0:
                raise TypeMismatchError(
                    f"{extent.place} is {extent.found}, but the symbol {symbol} is never "
                    "negative"
                )
            symbols[symbol] = extent.found
    for extent in extents:
        if extent.dim.value == extent.found:
            continue
        try:
            expected = extent.dim.evaluate(symbols)
        except ZeroDivisionError:
            raise TypeMismatchError(
                f"{extent.place} should be {extent.dim}, which divides by zero"
            ) from None
        if expected != extent.found:
            raise TypeMismatchError(_difference(extent, expected))


def _difference(extent: _Extent, expected: int) -> str:
    said = "" if extent.dim.value is not None else f"{extent.dim} = "
    return f"{extent.place} is {extent.found}, not {said}{expected}"


def _extents(type_: Attribute, value: Any, place: str) -> Iterator[_Extent]:
    """The extents to compare, after checking kind, dtype and rank."""
    info = relax.TensorInfo.of(type_)
    if info is not None:
        yield from _tensor_extents(info, value, place)
    elif isinstance(type_, relax.ShapeType):
        _expect(isinstance(value, ShapeValue), place, "a shape", value)
        yield from _dim_extents(type_.values, cast(ShapeValue, value), place)
    elif isinstance(type_, relax.PrimType):
        _expect(isinstance(value, int | np.generic), place, "a scalar", value)
        if type_.dim is not None:
            yield _Extent(type_.dim, int(value), f"the value of {place}")
    elif isinstance(type_, relax.TupleType):
        _expect(is_tuple(value), place, "a tuple", value)
        fields = type_.fields.data
        if len(fields) != len(value):
            raise TypeMismatchError(
                f"{place} is a tuple of {len(value)} values, not {len(fields)}"
            )
        for index, (field, one) in enumerate(zip(fields, value, strict=True)):
            yield from _extents(field, one, f"field {index} of {place}")
    elif isinstance(type_, relax.FuncType):
        _expect(callable(value), place, "a function", value)


def is_tuple(value: Any) -> bool:
    """Whether a value is that of a `!relax.tuple`."""
    return isinstance(value, tuple) and not isinstance(value, ShapeValue)


def _expect(holds: bool, place: str, kind: str, value: Any) -> None:
    if not holds:
        raise TypeMismatchError(f"{place} is a {type(value).__name__}, not {kind}")


def _tensor_extents(info: relax.TensorInfo, value: Any, place: str) -> Iterator[_Extent]:
    _expect(isinstance(value, np.ndarray), place, "a tensor", value)
    array = cast(Array, value)
    if info.dtype is not None and array.dtype != storage_of(info.dtype):
        raise TypeMismatchError(
            f"the dtype of {place} is {array.dtype}, not {storage_of(info.dtype)}"
        )
    yield from _dim_extents(info.dims, array.shape, place)


def _dim_extents(
    dims: Sequence[relax.Dim | None] | None, found: Sequence[int], place: str
) -> Iterator[_Extent]:
    if dims is None:
        return
    if len(dims) != len(found):
        raise TypeMismatchError(f"the rank of {place} is {len(found)}, not {len(dims)}")
    for axis, (dim, extent) in enumerate(zip(dims, found, strict=True)):
        if dim is not None:
            yield _Extent(dim, extent, f"dimension {axis} of {place}")


def known_shape(info: relax.TensorInfo, symbols: Symbols) -> tuple[int, ...]:
    """The shape of a tensor to be made, whose dimensions are all known."""
    assert info.shape is not None, "verified"
    shape = tuple(dim.evaluate(symbols) for dim in info.shape)
    if any(extent < 0 for extent in shape):
        raise TypeMismatchError(f"a tensor of shape {list(shape)} cannot be made")
    return shape


def resolved(type_: Attribute, symbols: Symbols) -> Attribute:
    """The type with the numbers that its symbols have, as far as they have one."""
    return substitute_symbols(
        type_, {name: relax.Dim.constant(value) for name, value in symbols.items()}
    )


def argument(type_: Attribute, value: Any, what: str) -> Any:
    """What a caller passes, as a value of the table above.

    Shapes may be any sequence of integers, scalars of another Python type are converted
    where they fit, arrays of other libraries are shared, and one that is not C-contiguous
    is copied. Raises ArgumentError.
    """
    if isinstance(type_, relax.ShapeType):
        if not isinstance(value, Sequence):
            raise ArgumentError(f"{what} expects a shape, got {type(value).__name__}")
        extents = cast("Sequence[object]", value)
        for extent in extents:
            if not isinstance(extent, Integral):
                kind = type(extent).__name__
                raise ArgumentError(f"{what} expects a shape of integers, got a {kind}")
        return ShapeValue(int(cast(int, extent)) for extent in extents)
    if isinstance(type_, relax.PrimType):
        return scalar_argument(value, number(type_.dtype), what)
    if isinstance(type_, relax.TupleType):
        fields = type_.fields.data
        if not isinstance(value, list | tuple):
            raise ArgumentError(f"{what} expects a tuple, got {type(value).__name__}")
        values = cast("Sequence[Any]", value)
        if len(values) != len(fields):
            raise ArgumentError(
                f"{what} expects a tuple of {len(fields)} values, got {len(values)}"
            )
        return tuple(
            argument(field, one, f"{what}, field {index},")
            for index, (field, one) in enumerate(zip(fields, values, strict=True))
        )
    if isinstance(value, np.generic):
        return np.asarray(cast("np.generic[Any]", value))
    if relax.TensorInfo.of(type_) is None:
        return value
    try:
        array = shared_array(value)
    except ValueError as error:
        raise ArgumentError(f"{what}: {error}") from error
    if array is None:
        found = type(value).__name__
        raise ArgumentError(f"{what} expects a numpy array, got {found}")
    return array if array.flags.c_contiguous else array.copy()


def public(value: Any) -> Any:
    """A value for a caller: shapes as tuples of integers."""
    if isinstance(value, tuple):
        return tuple(public(one) for one in cast("tuple[Any, ...]", value))
    return value


def map_arrays(value: Any, function: Callable[[Array], Array]) -> Any:
    """The value with every array in it, tuples included, replaced."""
    if isinstance(value, np.ndarray):
        return function(cast(Array, value))
    if is_tuple(value):
        fields = cast("tuple[Any, ...]", value)
        return tuple(map_arrays(field, function) for field in fields)
    return value


def arrays_of(value: Any) -> Iterator[Array]:
    """The arrays in a value, tuples included."""
    if isinstance(value, np.ndarray):
        yield cast(Array, value)
    elif is_tuple(value):
        for field in cast("tuple[Any, ...]", value):
            yield from arrays_of(field)


def constant_array(attribute: Attribute) -> Array:
    """The elements of a `dense<…>`, read-only where they are not converted."""
    dense = cast("DenseIntOrFPElementsAttr[Any]", attribute)
    element = number(dense.get_element_type())
    shape = dense.get_shape()
    if element.is_float or element.bits == 8 * element.size:
        return np.frombuffer(dense.data.data, element.storage).reshape(shape)
    values = [element.wrap(int(value)) for value in dense.get_values()]
    return np.array(values, element.storage).reshape(shape)
