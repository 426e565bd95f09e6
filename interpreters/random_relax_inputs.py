"""Random arguments for Relax functions, such as the check of semantics runs them on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, f32
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.hints import isa

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.functions import VAR_UPPER_BOUND
from xdsl_tvm.interpreters.data.numbers import number
from xdsl_tvm.interpreters.random_inputs import LARGEST_EXTENT, random_values

_INTEGERS = ((-8, 8), (0, 1), (1, 8))
"""Ranges of integers, tried in turn: any, indices, divisors."""


def random_relax_arguments(
    func: relax.FuncOp, rng: np.random.Generator, attempt: int = 0
) -> tuple[Any, ...]:
    """Arguments for a function: small extents, values in small ranges.

    Each symbol has one value in all of them, at most its `tir_var_upper_bound`; extents
    of which nothing is known are drawn, an unknown rank is 2. Unknown dtypes are f32.
    Integers are from another range in each `attempt`, and every second one draws unknown
    extents from those that the function names, so that a `relax.match_cast` may succeed.
    Raises InterpretationError for a parameter that is an object or a function, and where
    an extent computed from the symbols is negative.
    """
    drawn = _Draw(rng, {}, _INTEGERS[attempt % len(_INTEGERS)])
    greatest = _upper_bounds(func)
    for name in func.symbol_names:
        drawn.symbols[name] = drawn.extent(greatest.get(name, LARGEST_EXTENT))
    if attempt % 2:
        drawn.likely = [*drawn.symbols.values(), *_cast_extents(func)]
    return tuple(drawn.value(arg.type) for arg in func.args)


def _upper_bounds(func: relax.FuncOp) -> dict[str, int]:
    """The bounds that the function puts on its symbols: what it is planned for."""
    given = func.attributes.get(VAR_UPPER_BOUND)
    if not isinstance(given, DictionaryAttr):
        return {}
    return {
        name: bound.value.data
        for name, bound in given.data.items()
        if isa(bound, IntegerAttr) and bound.value.data > 0
    }


def _cast_extents(func: relax.FuncOp) -> list[int]:
    """The constant extents that a `relax.match_cast` of the function asks for."""
    found: dict[int, None] = {}
    for op in func.walk():
        if isinstance(op, relax.MatchCastOp):
            info = relax.TensorInfo.of(op.result.type)
            dims = () if info is None or info.dims is None else info.dims
            values = [None if dim is None else dim.value for dim in dims]
            found.update((value, None) for value in values if value is not None)
    return list(found)


class _Draw:
    def __init__(
        self,
        rng: np.random.Generator,
        symbols: dict[str, int],
        integers: tuple[int, int],
    ) -> None:
        self.rng = rng
        self.symbols = symbols
        self.likely: list[int] = []
        self._integers = integers

    def extent(self, greatest: int = LARGEST_EXTENT) -> int:
        return int(self.rng.integers(1, min(greatest, LARGEST_EXTENT) + 1))

    def value(self, type_: Attribute) -> Any:
        info = relax.TensorInfo.of(type_)
        if info is not None:
            return self._tensor(info)
        make = _KINDS.get(type(type_))
        if make is None:
            raise InterpretationError(f"no value can be made for {type_}; pass inputs")
        return make(self, type_)

    def dim(self, dim: relax.Dim | None) -> int:
        if dim is None:
            return int(self.rng.choice(self.likely)) if self.likely else self.extent()
        found = dim.evaluate(self.symbols)
        if found < 0:
            raise InterpretationError(f"an extent {dim} is {found}; pass inputs")
        return found

    def _tensor(self, info: relax.TensorInfo) -> Any:
        dims: tuple[relax.Dim | None, ...] = (None, None)
        if info.dims is not None:
            dims = info.dims
        shape = tuple(self.dim(dim) for dim in dims)
        return self._values(f32 if info.dtype is None else info.dtype, shape)

    def _values(self, dtype: Attribute, shape: tuple[int, ...]) -> Any:
        element = number(dtype)
        if element.is_float or element.is_bool:
            return random_values(element, shape, self.rng)
        low, high = self._integers
        drawn = self.rng.integers(
            max(element.low, low), min(element.high, high) + 1, shape
        )
        return np.asarray(drawn).astype(element.storage)

    def prim(self, type_: relax.PrimType) -> Any:
        if type_.dim is not None:
            return type_.dim.evaluate(self.symbols)
        found = self._values(type_.dtype, (1,))[0]
        return found if number(type_.dtype).is_float else found.item()

    def shape(self, type_: relax.ShapeType) -> tuple[int, ...]:
        values = (None, None) if type_.values is None else type_.values
        return tuple(self.dim(dim) for dim in values)

    def tuple(self, type_: relax.TupleType) -> tuple[Any, ...]:
        return tuple(self.value(field) for field in type_.fields.data)


_KINDS: Mapping[type[Attribute], Callable[[_Draw, Any], Any]] = {
    relax.PrimType: _Draw.prim,
    relax.ShapeType: _Draw.shape,
    relax.TupleType: _Draw.tuple,
}
