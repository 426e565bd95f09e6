"""Checks and conversion of the arguments of one function, prepared once.

Arrays are passed without a copy, so they must be exactly what the function expects; each
mismatch is a one-line error that names the function, the parameter, and both sides.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from xdsl_tvm.analysis.named_arguments import in_order
from xdsl_tvm.analysis.shared_arrays import shared_array
from xdsl_tvm.dialects.dtypes import FLOATS, FLOATS_BY_NAME
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.lowering.runtime_symbols import KERNEL_ALIGNMENT
from xdsl_tvm.runtime._addresses import address_of
from xdsl_tvm.runtime._given_results import Given, check_extents
from xdsl_tvm.runtime._made_results import taken_over
from xdsl_tvm.runtime._objects import OBJECTS
from xdsl_tvm.runtime.ndarray import NDArray
from xdsl_tvm.runtime.result_memory import RESULTS
from xdsl_tvm.runtime.signature import (
    ArraySpec,
    Extents,
    ObjectSpec,
    ParamTree,
    ResultTree,
    ScalarSpec,
    ShapeSpec,
    Signature,
)

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Symbols: TypeAlias = dict[str, int]
Converter: TypeAlias = Callable[[Any, Symbols], Any]
"""Checks one argument and binds symbols; gives the array, or the number to pass."""


Evaluator: TypeAlias = Callable[[Symbols], int]
"""Computes an extent from the symbols."""


class Prepared(NamedTuple):
    """The arguments of one call, checked: arrays and numbers, results, symbol values."""

    params: list[Any]
    results: list[Array]
    symbols: list[int]


@dataclass(frozen=True)
class Bound:
    """Parameters that are given once: their values by position, and what they bind."""

    params: Mapping[int, Any]
    symbols: Symbols


_UNBOUND = Bound({}, {})


class Arrays:
    """What arguments and results that are arrays may be; this is numpy's."""

    kind = "a numpy array"

    def take(self, argument: Any) -> Array | None:
        """Another argument as an array, without a copy; None for what is none.

        Raises ValueError for one that it cannot be.
        """
        return shared_array(argument)

    def place(self, array: Array) -> Array:
        """The array that is passed for one that was checked."""
        return array

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
        """A new array, for a result."""
        return RESULTS.empty(shape, dtype)

    def address(self, array: Array) -> int:
        """Where the first element is."""
        return address_of(array)


HOST = Arrays()


class Arguments:
    """Checks the arguments of a function with the given signature."""

    def __init__(self, signature: Signature, arrays: Arrays = HOST) -> None:
        self.signature = signature
        self._arrays = arrays
        self._name = signature.function
        self._converters: list[Converter] = []
        bound: set[str] = {
            param.symbol
            for param in signature.params
            if isinstance(param, ScalarSpec) and param.symbol is not None
        }
        # Scalars come first, since extents may be computed from them.
        self._order = sorted(
            range(len(signature.params)),
            key=lambda i: isinstance(signature.params[i], ArraySpec),
        )
        self._checks: list[Callable[[Sequence[Any], Symbols], None]] = []
        for param in signature.params:
            if isinstance(param, ScalarSpec):
                self._converters.append(self._scalar(param))
            elif isinstance(param, ShapeSpec):
                self._converters.append(self._shape(param, bound))
            elif isinstance(param, ObjectSpec):
                self._converters.append(lambda value, symbols: value)
            else:
                self._converters.append(self._array(param, bound))
        self._prepare_symbol_ranges()
        self._results = [
            (
                spec,
                [
                    _evaluator(f"@{self._name}", Dim.constant(0) if dim is None else dim)
                    for dim in spec.shape
                ],
            )
            for spec in signature.results
        ]
        self._none_given: Given = [None] * len(self._results)
        self._symbols = signature.symbols

    def __call__(
        self, args: Sequence[Any], bound: Bound = _UNBOUND, given: Given = ()
    ) -> Prepared:
        """Check `args`, which are those that are not bound; results are new, or given.

        Raises TypeError or ValueError, and MemoryError for results too large to make.
        """
        if not bound.params:
            args = self._flat(args)
            params, order = list(args), self._order
            symbols: Symbols = {}
        else:
            params, order = self._merged(args, bound)
            symbols = dict(bound.symbols)
        converters = self._converters
        for position in order:
            params[position] = converters[position](params[position], symbols)
        for check in self._checks:
            check(params, symbols)
        results = [
            self._result(spec, dims, symbols, out)
            for (spec, dims), out in zip(
                self._results, given or self._none_given, strict=True
            )
        ]
        return Prepared(params, results, [symbols[name] for name in self._symbols])

    def ordered(
        self, args: Sequence[Any], named: Mapping[str, Any], bound: Bound = _UNBOUND
    ) -> list[Any]:
        """Arguments in order, of which some are given by name; a tuple has one name.

        Raises TypeError for names that do not fit.
        """
        tuples = self.signature.tuples
        if tuples is not None:
            names = [tree if isinstance(tree, str) else _stem(tree) for tree in tuples]
        else:
            params = enumerate(self.signature.params)
            names = [spec.name for at, spec in params if at not in bound.params]
        return in_order(f"@{self._name}", names, args, named)

    def bind(self, values: Mapping[int, Any]) -> Bound:
        """Check the values of some parameters, by position, once.

        Raises TypeError or ValueError.
        """
        symbols: Symbols = {}
        params = {
            position: self._converters[position](values[position], symbols)
            for position in self._order
            if position in values
        }
        return Bound(params, symbols)

    def _merged(self, args: Sequence[Any], bound: Bound) -> tuple[list[Any], list[int]]:
        """All parameters, and the positions of those that are to be checked."""
        order = [p for p in self._order if p not in bound.params]
        if len(args) != len(order):
            raise TypeError(
                f"@{self._name} takes {_arguments(len(order))} besides the "
                f"{len(bound.params)} bound ones, got {len(args)}"
            )
        params: list[Any] = [None] * len(self._converters)
        for position, value in bound.params.items():
            params[position] = value
        for position, value in zip(sorted(order), args, strict=True):
            params[position] = value
        return params, order

    def _flat(self, args: Sequence[Any]) -> Sequence[Any]:
        """The arguments without tuples."""
        tuples = self.signature.tuples
        count = len(self._converters) if tuples is None else len(tuples)
        if len(args) != count:
            raise TypeError(f"@{self._name} takes {_arguments(count)}, got {len(args)}")
        if tuples is None:
            return args
        return [
            leaf
            for tree, value in zip(tuples, args, strict=True)
            for leaf in self._fields(tree, value)
        ]

    def _fields(self, tree: ParamTree, value: Any) -> Iterator[Any]:
        if isinstance(tree, str):
            yield value
            return
        fields = cast("Sequence[Any] | None", value if _is_sequence(value) else None)
        if fields is None or len(fields) != len(tree):
            count = "" if fields is None else f" of {len(fields)}"
            got = f"{type(value).__name__}{count}"
            raise TypeError(
                f"@{self._name}: argument '{_stem(tree)}' must be a tuple of "
                f"{len(tree)}, got {got}"
            )
        for branch, field in zip(tree, fields, strict=True):
            yield from self._fields(branch, field)

    def tree(self, results: Sequence[Array]) -> Any:
        """The results as the function returns them: an array, or a tuple."""
        tree = self.signature.result
        if isinstance(tree, ArraySpec) and tree.form == "array":
            return _taken(tree, results[0])
        if tree is None:
            return None
        pairs = zip(self.signature.results, results, strict=True)
        return _built(tree, iter([_taken(spec, array) for spec, array in pairs]))

    # -- scalars

    def _scalar(self, spec: ScalarSpec) -> Converter:
        where = f"@{self._name}: argument '{spec.name}'"
        symbol, expected = spec.symbol, spec.value
        if expected is not None:
            self._checks.append(_value_check(where, expected, len(self._converters)))
        if spec.dtype.kind in "iu":
            convert = _integer_converter(where, spec.dtype, spec.is_extent)
        elif spec.dtype.kind == "b":
            convert = _bool_converter(where)
        else:
            convert = _float_converter(where, spec.dtype)

        def run(value: Any, symbols: Symbols) -> Any:
            number = convert(value)
            if symbol is not None:
                symbols[symbol] = int(number) if math.isfinite(number) else 0
            return number

        return run

    def _shape(self, spec: ShapeSpec, bound: set[str]) -> Converter:
        where = f"@{self._name}: argument '{spec.name}'"
        binders = [
            (name, axis)
            for axis, dim in enumerate(spec.shape)
            if (name := _new_symbol(dim, bound)) is not None
        ]
        if any(dim is not None for dim in spec.shape):
            check = _shape_check(where, spec.shape, len(self._converters), tuple)
            self._checks.append(check)

        def run(value: Any, symbols: Symbols) -> Any:
            if not isinstance(value, tuple | list):
                raise TypeError(
                    f"{where} must be a tuple of integers {spec}, got "
                    f"{type(value).__name__}"
                )
            fields = cast("list[object]", value)
            if not all(isinstance(extent, Integral) for extent in fields):
                raise TypeError(
                    f"{where} must be a tuple of integers {spec}, got {value}"
                )
            shape = tuple(operator.index(cast(int, extent)) for extent in fields)
            if len(shape) != len(spec.shape):
                raise ValueError(f"{where} must have rank {len(spec.shape)}, got {shape}")
            if not all(0 <= extent <= _MOST for extent in shape):
                raise ValueError(
                    f"{where} must hold extents from 0 to {_MOST}, got {shape}"
                )
            for name, axis in binders:
                symbols[name] = shape[axis]
            return shape

        return run

    # -- arrays

    def _array(self, spec: ArraySpec, bound: set[str]) -> Converter:
        where = f"@{self._name}: argument '{spec.name}'"
        dtype, rank, static = spec.dtype, len(spec.shape), spec.static_shape
        contiguous = spec.strides is None
        # One number instead of one attribute per flag: this is done at every call.
        needed = _ALIGNED
        needed |= _C_CONTIGUOUS if contiguous else 0
        needed |= _WRITEABLE if spec.written else 0
        name = f"{spec}"
        binders = _binders(spec, bound)
        place = None if self._arrays is HOST else self._arrays.place
        unit = "" if self._arrays is HOST else f" to {KERNEL_ALIGNMENT} bytes"
        self._add_checks(spec, where)

        def run(argument: Any, symbols: Symbols) -> Array:
            value = cast(Array, argument)
            if not isinstance(argument, np.ndarray):
                value = self._taken(argument, where, name)
            # Most dtypes are the same object, and asking for that takes half the time.
            if value.dtype is not dtype and value.dtype != dtype:
                raise TypeError(f"{where} must have dtype {dtype}, got {value.dtype}")
            shape = value.shape
            if shape != static:
                if len(shape) != rank:
                    raise ValueError(f"{where} must have rank {rank}, got shape {shape}")
                if static is not None:
                    raise ValueError(f"{where} must have shape {static}, got {shape}")
            for binder in binders:
                binder(value, symbols)
            if value.flags.num & needed != needed:
                is_own = place is not None or isinstance(argument, np.ndarray | NDArray)
                flaw = _flaw(value, contiguous, unit, is_own)
                raise ValueError(f"{where} {flaw}")
            if place is None:
                return value
            try:
                return place(value)
            except MemoryError as error:
                raise MemoryError(f"{where}: {error}") from None

        return run

    def _taken(self, argument: Any, where: str, name: str) -> Array:
        if isinstance(argument, NDArray):
            data = argument.data
            if isinstance(data, np.ndarray):
                return data
            argument = data
        try:
            found = self._arrays.take(argument)
        except (BufferError, ValueError) as error:
            raise ValueError(f"{where}: {error}") from None
        if found is None:
            raise TypeError(
                f"{where} must be {self._arrays.kind} {name}, got "
                f"{type(argument).__name__}"
            )
        return found

    def _add_checks(self, spec: ArraySpec, where: str) -> None:
        """What is to be checked when all symbols are bound."""
        position = len(self._converters)
        offset = spec.offset
        if any(dim is not None and dim.value is None for dim in spec.shape):
            self._checks.append(_shape_check(where, spec.shape, position, _shape_of))
        if spec.strides is not None:
            self._checks.append(_stride_check(where, spec.strides, spec.dtype, position))
        if offset is not None and offset.symbol_name is None:
            self._checks.append(_offset_check(where, offset))

    def _prepare_symbol_ranges(self) -> None:
        signature = self.signature
        narrow = [
            (name, int(np.iinfo(dtype).max))
            for name, dtype in zip(signature.symbols, signature.symbol_types, strict=True)
            if dtype.itemsize < 8
        ]
        if not narrow:
            return

        def check(params: Sequence[Any], symbols: Symbols) -> None:
            for name, limit in narrow:
                if symbols[name] > limit:
                    raise ValueError(
                        f"@{self._name}: '{name}' is {symbols[name]}, but its dtype "
                        f"holds at most {limit}"
                    )

        self._checks.append(check)

    def _result(
        self,
        spec: ArraySpec,
        dims: Sequence[Evaluator],
        symbols: Symbols,
        out: Array | None,
    ) -> Array:
        if spec.is_handed_over:
            return np.zeros(1 + len(dims), np.int64)
        shape = [dim(symbols) for dim in dims]
        if out is not None:
            return check_extents(self._name, spec, out, shape)
        try:
            return self._arrays.empty(shape, spec.dtype)
        except (MemoryError, ValueError) as error:
            raise MemoryError(
                f"@{self._name}: out of memory: {spec.name} is {spec.dtype}{shape}: "
                f"{error}"
            ) from None


def _taken(spec: ArraySpec, array: Array) -> Array:
    """A result, which the function may have made."""
    return taken_over(spec, array) if spec.is_handed_over else array


def _built(tree: ResultTree, results: Iterator[Array]) -> Any:
    # No closure that calls itself: it would keep the arrays until garbage is collected.
    if isinstance(tree, tuple):
        return tuple(_built(branch, results) for branch in tree)
    array = next(results)
    if tree.form == "array":
        return array
    if tree.form == "object":
        return OBJECTS.value(array.item())
    return array.item() if tree.form == "scalar" else tuple(array.tolist())


def _arguments(count: int) -> str:
    return "1 argument" if count == 1 else f"{count} arguments"


def _is_sequence(value: object) -> bool:
    return isinstance(value, tuple | list)


_MOST = int(np.iinfo(np.int64).max)
"""The greatest extent that compiled code can be given."""
_C_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400
"""Bits of `flags.num`, as numpy's C API defines them."""


def _flaw(value: Array, contiguous: bool, unit: str, is_own: bool) -> str:
    if contiguous and not value.flags.c_contiguous:
        return "must be C-contiguous; pass numpy.ascontiguousarray of it"
    if not value.flags.aligned:
        return f"must be aligned{unit}; pass a copy of it"
    if not is_own:
        # numpy takes DLPack without a version, which has no word on that, as read-only.
        return (
            "is written, but what it shares by DLPack is read-only; pass a numpy array "
            "on its memory"
        )
    return "is written, but the array is read-only; pass a copy of it"


def _evaluator(where: str, dim: Dim) -> Evaluator:
    """What computes an extent: at every call, so the usual kinds take no detour."""
    if (number := dim.value) is not None:
        return lambda symbols: number
    if (name := dim.symbol_name) is not None:
        return operator.itemgetter(name)

    def evaluate(symbols: Symbols) -> int:
        try:
            return dim.evaluate(symbols)
        except ZeroDivisionError:
            raise ValueError(f"{where}: the extent {dim} divides by zero") from None

    return evaluate


def _stem(tree: ParamTree) -> str:
    """The name of the parameter that a tuple is."""
    while not isinstance(tree, str):
        if not tree:
            return "()"
        tree = tree[0]
    return tree.partition("[")[0]


def _shape_of(array: Any) -> tuple[int, ...]:
    return array.shape


def _new_symbol(dim: Dim | None, bound: set[str]) -> str | None:
    """The symbol that a dimension is, where it is not bound yet; now it is."""
    name = None if dim is None else dim.symbol_name
    if name is None or name in bound:
        return None
    bound.add(name)
    return name


def _binders(spec: ArraySpec, bound: set[str]) -> list[Callable[[Array, Symbols], None]]:
    """What binds the symbols that occur bare in `spec` and nowhere before."""
    binders: list[Callable[[Array, Symbols], None]] = []
    for axis, dim in enumerate(spec.shape):
        if (name := _new_symbol(dim, bound)) is not None:
            binders.append(_extent_binder(name, axis))
    for axis, dim in enumerate(spec.strides or ()):
        if (name := _new_symbol(dim, bound)) is not None:
            binders.append(_stride_binder(name, axis))
    if (name := _new_symbol(spec.offset, bound)) is not None:
        # numpy's pointer is that of the first element.
        binders.append(_zero_binder(name))
    return binders


def _extent_binder(name: str, axis: int) -> Callable[[Array, Symbols], None]:
    def bind(array: Array, symbols: Symbols) -> None:
        symbols[name] = array.shape[axis]

    return bind


def _stride_binder(name: str, axis: int) -> Callable[[Array, Symbols], None]:
    def bind(array: Array, symbols: Symbols) -> None:
        symbols[name] = array.strides[axis] // array.itemsize

    return bind


def _zero_binder(name: str) -> Callable[[Array, Symbols], None]:
    def bind(array: Array, symbols: Symbols) -> None:
        symbols[name] = 0

    return bind


_Check: TypeAlias = Callable[[Sequence[Any], Symbols], None]


def _shape_check(
    where: str, extents: Extents, position: int, shape_of: Callable[[Any], Any]
) -> _Check:
    dims = [
        (axis, dim, _evaluator(where, dim), dim.value)
        for axis, dim in enumerate(extents)
        if dim is not None
    ]

    def check(params: Sequence[Any], symbols: Symbols) -> None:
        shape = shape_of(params[position])
        for axis, dim, evaluate, number in dims:
            expected = evaluate(symbols) if number is None else number
            if shape[axis] != expected:
                raise ValueError(
                    f"{where} must have extent {_explained(dim, expected)} on axis "
                    f"{axis}, got shape {shape}"
                )

    return check


def _value_check(where: str, expected: Dim, position: int) -> _Check:
    evaluate = _evaluator(where, expected)

    def check(params: Sequence[Any], symbols: Symbols) -> None:
        value = evaluate(symbols)
        if params[position] != value:
            raise ValueError(
                f"{where} must be {_explained(expected, value)}, got {params[position]}"
            )

    return check


def _explained(dim: Dim, value: int) -> str:
    return str(value) if dim.value is not None else f"{dim} = {value}"


def _stride_check(
    where: str, strides: tuple[Dim, ...], dtype: np.dtype[Any], position: int
) -> _Check:
    def check(params: Sequence[Any], symbols: Symbols) -> None:
        array = params[position]
        expected = tuple(dim.evaluate(symbols) * dtype.itemsize for dim in strides)
        for extent, found, wanted in zip(
            array.shape, array.strides, expected, strict=True
        ):
            if extent > 1 and found != wanted:
                raise ValueError(
                    f"{where} must have strides of {expected} bytes, got {array.strides}"
                )

    return check


def _offset_check(where: str, offset: Dim) -> _Check:
    def check(params: Sequence[Any], symbols: Symbols) -> None:
        if offset.evaluate(symbols) != 0:
            raise ValueError(
                f"{where} must start {offset} elements after its data pointer, which "
                "numpy arrays never do"
            )

    return check


def _integer_converter(
    where: str, dtype: np.dtype[Any], is_extent: bool
) -> Callable[[Any], int]:
    info = np.iinfo(dtype)
    low, high = 0 if is_extent else int(info.min), int(info.max)

    def convert(value: Any) -> int:
        if not isinstance(value, Integral) or isinstance(value, bool | np.bool_):
            raise TypeError(
                f"{where} must be an integer ({dtype}), got {type(value).__name__}"
            )
        number = int(value)
        if not low <= number <= high:
            raise ValueError(f"{where} must be within {low} and {high}, got {number}")
        return number

    return convert


def _bool_converter(where: str) -> Callable[[Any], bool]:
    def convert(value: Any) -> bool:
        if value is True or value is False or isinstance(value, np.bool_):
            return value is True or value == np.True_
        raise TypeError(f"{where} must be a bool, got {type(value).__name__}")

    return convert


def _float_converter(where: str, dtype: np.dtype[Any]) -> Callable[[Any], float]:
    limit = FLOATS[FLOATS_BY_NAME[dtype.name]].largest
    # Numbers of numpy's extension types are no Real.
    kinds: tuple[type[Any], ...] = (Real, dtype.type)

    def convert(value: Any) -> float:
        kind = cast("type[Any]", type(value))
        if issubclass(kind, bool | np.bool_) or not issubclass(kind, kinds):
            raise TypeError(
                f"{where} must be a number ({dtype}), got {type(value).__name__}"
            )
        number = float(value)
        if math.isfinite(number) and abs(number) > limit:
            raise ValueError(f"{where} must be within +-{limit:g}, got {number:g}")
        return number

    return convert
