"""Random arguments for functions, such as the check of semantics runs them on.

Extents are small and numbers in small ranges, so that a run is short and indices that
depend on data often hit. Scalars and symbolic sizes are drawn until the assertions at the
function's entry hold, as far as they speak of these alone.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.types import element_of, is_handle, is_vector, lanes_of
from xdsl_tvm.interpreters.data.numbers import Number, number

LARGEST_EXTENT = 7
_DRAWS = 300


def random_arguments(func: tir.FuncOp, rng: np.random.Generator) -> tuple[Any, ...]:
    """Arguments for a function: small extents, values in small ranges.

    Raises InterpretationError when the size of a pointer, or an extent, is not known, and
    when no sizes were found that the assertions at the function's entry allow.
    """
    scalars, values = _random_sizes(func, rng)
    matches = func.buffer_map
    arguments: list[Any] = []
    for arg in func.args:
        if arg in scalars:
            arguments.append(scalars[arg])
        elif arg in matches:
            try:
                arguments.append(_random_buffer(matches[arg], values, rng))
            except (MemoryError, ValueError, OverflowError) as error:
                raise InterpretationError(
                    f"{func.sym_name.data}: no array can be made for "
                    f"{arg.name_hint or arg.index}: {error}; pass inputs"
                ) from None
        else:
            raise InterpretationError(
                f"{func.sym_name.data}: no array can be made for the pointer "
                f"{arg.name_hint or arg.index}; pass inputs"
            )
    return tuple(arguments)


def _random_sizes(
    func: tir.FuncOp, rng: np.random.Generator
) -> tuple[dict[SSAValue, Any], dict[SSAValue, int]]:
    """Scalar arguments, and the values of all integers that sizes are made of."""
    symbols = list(_size_variables(func))
    conditions = list(_entry_conditions(func))
    for draw in range(_DRAWS):
        # Alignment and lower bounds may ask for more than the usual small sizes.
        largest = LARGEST_EXTENT * (1 + draw // 30)
        scalars: dict[SSAValue, Any] = {
            arg: _random_scalar(arg, rng, largest)
            for arg in func.args
            if not is_handle(arg.type)
        }
        values: dict[SSAValue, int] = {
            arg: value for arg, value in scalars.items() if isinstance(value, int)
        }
        for symbol in symbols:
            values[symbol] = int(rng.integers(1, largest + 1))
        if all(_holds(condition, values) for condition in conditions):
            return scalars, values
    raise InterpretationError(
        f"{func.sym_name.data}: no sizes found in {_DRAWS} draws that its assertions "
        "allow; pass inputs"
    )


def _size_variables(func: tir.FuncOp) -> Iterator[SSAValue]:
    """The symbolic extents of the buffers; strides follow from these."""
    seen: set[SSAValue] = set()
    for match in func.buffer_map.values():
        for extent in match.extents:
            if isinstance(extent.owner, tir.ShapeVarOp) and extent not in seen:
                seen.add(extent)
                yield extent


def _entry_conditions(func: tir.FuncOp) -> Iterator[SSAValue]:
    for op in func.body.block.ops:
        if isinstance(op, tir.AssertOp):
            yield op.condition


def _holds(condition: SSAValue, values: Mapping[SSAValue, int]) -> bool:
    """Whether the condition holds; one that says more than sizes is taken to."""
    try:
        return bool(_evaluate(condition, values))
    except (InterpretationError, ZeroDivisionError):
        return True


def _random_scalar(arg: SSAValue, rng: np.random.Generator, largest: int) -> Any:
    if is_vector(arg.type):
        element = number(element_of(arg.type))
        return list(random_values(element, (lanes_of(arg.type),), rng))
    dtype = number(arg.type)
    if dtype.is_float:
        return random_values(dtype, (1,), rng)[0]
    if dtype.is_bool:
        return bool(rng.integers(2))
    return int(rng.integers(1, min(dtype.high, largest) + 1))


def random_values(
    dtype: Number, shape: tuple[int, ...], rng: np.random.Generator
) -> np.ndarray[Any, Any]:
    """Integers from -8 to 8, floats between -2 and 2."""
    if dtype.is_float:
        return rng.uniform(-2, 2, shape).astype(dtype.storage)
    low, high = max(dtype.low, -8), min(dtype.high, 8)
    return rng.integers(low, high + 1, shape).astype(dtype.storage)


def _random_buffer(
    match: tir.MatchBufferOp, values: dict[SSAValue, int], rng: np.random.Generator
) -> np.ndarray[Any, Any]:
    shape = [_evaluate(extent, values) for extent in match.shape]
    element = number(element_of(match.type.element_type))
    lanes = lanes_of(match.type.element_type)
    if lanes > 1:
        shape.append(lanes)
    if not match.layout_strides:
        return random_values(element, tuple(shape), rng)
    steps = _steps(match, shape, values)
    if lanes > 1:
        steps = [*(step * lanes for step in steps), 1]
    size = 1 + sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
    flat = random_values(element, (max(size, 0),), rng)
    return np.lib.stride_tricks.as_strided(
        flat, shape, [step * element.size for step in steps]
    )


def _steps(
    match: tir.MatchBufferOp, shape: Sequence[int], values: dict[SSAValue, int]
) -> list[int]:
    """Strides in elements; symbolic ones are made to leave a gap between rows."""
    steps: list[int] = []
    step = 1
    for extent, stride in reversed(list(zip(shape, match.layout_strides, strict=False))):
        if isinstance(stride, SSAValue) and isinstance(stride.owner, tir.ShapeVarOp):
            values[stride] = step
        taken = _evaluate(stride, values)
        steps.append(taken)
        step = max(step, taken) * max(extent, 1) + 1
    return steps[::-1]


_OPERATORS: dict[type[Operation], Callable[[int, int], int]] = {
    tir.AddOp: operator.add,
    tir.SubOp: operator.sub,
    tir.MulOp: operator.mul,
    tir.FloorDivOp: lambda a, b: a // b,
    tir.FloorModOp: operator.mod,
    tir.MinOp: min,
    tir.MaxOp: max,
    tir.AndOp: lambda a, b: int(bool(a) and bool(b)),
    tir.OrOp: lambda a, b: int(bool(a) or bool(b)),
}
_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def _evaluate(value: int | SSAValue, values: Mapping[SSAValue, int]) -> int:
    """An integer or a condition, from the values of shape variables and parameters."""
    if isinstance(value, int):
        return value
    if value in values:
        return values[value]
    owner = value.owner
    if isinstance(owner, tir.ConstOp) and isinstance(owner.literal, int):
        return owner.literal
    if isinstance(owner, tir.CastOp | tir.LetOp):
        return _evaluate(owner.value, values)
    if isinstance(owner, tir.BinaryOp) and type(owner) in _OPERATORS:
        return _OPERATORS[type(owner)](
            _evaluate(owner.lhs, values), _evaluate(owner.rhs, values)
        )
    if isinstance(owner, tir.CmpOp):
        compare = _COMPARISONS[str(owner.predicate.data)]
        return int(compare(_evaluate(owner.lhs, values), _evaluate(owner.rhs, values)))
    if isinstance(owner, tir.NotOp):
        return int(not _evaluate(owner.value, values))
    raise InterpretationError(
        f"an extent is computed from {value.name_hint or 'a value'}, whose value is not "
        "known; pass inputs"
    )
