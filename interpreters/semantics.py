"""Checks that passes keep what a module computes, by running it before and after."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.types import element_of, is_handle, is_vector, lanes_of
from xdsl_tvm.interpreters._numbers import Number, number
from xdsl_tvm.interpreters.errors import SimulationError
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.registry import new_context

Inputs = Mapping[str, Sequence[Sequence[Any]]]
"""For a function's name, the argument lists to run it on."""

_ATTEMPTS = 20
_LARGEST_EXTENT = 7


class SemanticsError(InterpretationError):
    """A pass changed what a function computes.

    It names pass, function, buffer, the first index that differs, and both values.
    """


@dataclass
class SemanticsReport:
    """What was checked: function names, and why others were left out or left early."""

    checked: list[str] = field(default_factory=list[str])
    skipped: dict[str, str] = field(default_factory=dict[str, str])


@dataclass
class _Case:
    """Arguments, and what the function makes of them."""

    arguments: tuple[Any, ...]
    outputs: tuple[Any, ...]
    result: Any


def check_semantics(
    module: ModuleOp,
    passes: Sequence[ModulePass],
    inputs: Inputs | None = None,
    *,
    seed: int = 0,
    runs: int = 2,
    tolerance: float = 0.0,
    externs: Mapping[str, Callable[..., Any]] | None = None,
) -> SemanticsReport:
    """Run every function of `module` before and after each of `passes`, and compare.

    The module itself is not changed. Functions run on `inputs`, or `runs` times on random
    ones: small extents for symbolic dimensions, numbers in small ranges. Integers and
    bools must be equal; floats within `tolerance`, relative to the larger magnitude or
    to 1, and equal where it is 0. NaN equals NaN. Functions for which no
    inputs can be made, or which the interpreter does not support, are in the report.

    Raises SemanticsError at the first difference, and when no function could be checked.
    """
    rng = np.random.default_rng(seed)
    report = SemanticsReport()
    cases: dict[str, list[_Case]] = {}
    for op in module.body.block.ops:
        if isinstance(op, tir.FuncOp) and not op.is_declaration:
            _prepare(module, op, inputs, rng, runs, externs, cases, report)
    if not cases:
        reasons = "; ".join(f"{name}: {why}" for name, why in report.skipped.items())
        raise SemanticsError(
            f"no function could be run, pass inputs: {reasons or 'there is none'}"
        )
    current = module.clone()
    context = new_context()
    for one in passes:
        one.apply(context, current)
        current.verify()
        for name in list(cases):
            _compare_function(current, name, cases, one.name, tolerance, externs, report)
    report.checked.extend(cases)
    return report


def _prepare(
    module: ModuleOp,
    func: tir.FuncOp,
    inputs: Inputs | None,
    rng: np.random.Generator,
    runs: int,
    externs: Mapping[str, Callable[..., Any]] | None,
    cases: dict[str, list[_Case]],
    report: SemanticsReport,
) -> None:
    name = func.sym_name.data
    given = None if inputs is None else inputs.get(name)
    function = interpret(module, externs=externs)[name]
    try:
        if given is not None:
            cases[name] = [_run(function, tuple(arguments)) for arguments in given]
        else:
            cases[name] = [_random_case(func, function, rng) for _ in range(runs)]
    except InterpretationError as error:
        if given is not None and isinstance(error, SimulationError):
            raise SemanticsError(f"{name} fails before any pass: {error}") from error
        report.skipped[name] = str(error)


def _run(function: Callable[..., Any], arguments: tuple[Any, ...]) -> _Case:
    outputs = tuple(
        _duplicate(cast("np.ndarray[Any, Any]", a)) if isinstance(a, np.ndarray) else a
        for a in arguments
    )
    return _Case(arguments, outputs, function(*outputs))


def _duplicate(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy with the strides of `array`, which may leave gaps."""
    if array.flags.c_contiguous:
        return array.copy()
    steps = zip(array.shape, array.strides, strict=True)
    span = 1 + sum((extent - 1) * stride for extent, stride in steps) // array.itemsize
    flat = np.zeros((max(span, 0),), array.dtype)
    copy = np.lib.stride_tricks.as_strided(flat, array.shape, array.strides)
    copy[...] = array
    return copy


def _random_case(
    func: tir.FuncOp, function: Callable[..., Any], rng: np.random.Generator
) -> _Case:
    failure: SimulationError | None = None
    for _ in range(_ATTEMPTS):
        try:
            return _run(function, random_arguments(func, rng))
        except SimulationError as error:
            failure = error
    assert failure is not None
    raise failure


def _compare_function(
    module: ModuleOp,
    name: str,
    cases: dict[str, list[_Case]],
    pass_name: str,
    tolerance: float,
    externs: Mapping[str, Callable[..., Any]] | None,
    report: SemanticsReport,
) -> None:
    where = f"pass {pass_name} changes function {name}"
    found = interpret(module, externs=externs)
    if name not in found:
        raise SemanticsError(f"{where}: it is not in the module any more")
    function = found[name]
    for case in cases[name]:
        try:
            after = _run(function, case.arguments)
        except SimulationError as error:
            raise SemanticsError(f"{where}: it fails now: {error}") from error
        except InterpretationError as error:
            report.skipped[name] = f"not executable after pass {pass_name}: {error}"
            del cases[name]
            return
        for label, before, now in zip(
            _labels(function.func), case.outputs, after.outputs, strict=True
        ):
            if isinstance(before, np.ndarray):
                old = cast("np.ndarray[Any, Any]", before)
                _compare_arrays(f"{where}: buffer {label}", old, now, tolerance)
        old, new = np.asarray(case.result), np.asarray(after.result)
        if case.result is None or after.result is None:
            if case.result is not after.result:
                raise SemanticsError(
                    f"{where}: the result was {case.result}, is {after.result}"
                )
        else:
            _compare_arrays(f"{where}: the result", old, new, tolerance)


def _labels(func: tir.FuncOp) -> list[str]:
    """The buffer or parameter names, one per parameter."""
    matched = func.buffer_map
    labels: list[str] = []
    for index, arg in enumerate(func.args):
        match = matched.get(arg)
        if match is not None and match.buffer_name is not None:
            labels.append(match.buffer_name.data)
        elif func.param_names is not None:
            labels.append(func.param_names.data[index].data)
        else:
            labels.append(arg.name_hint or str(index))
    return labels


def _compare_arrays(
    where: str,
    before: np.ndarray[Any, Any],
    after: np.ndarray[Any, Any],
    tolerance: float,
) -> None:
    if before.dtype.kind in "biu":
        same = before == after
    else:
        old, new = before.astype(np.float64), after.astype(np.float64)
        same = (old == new) | (np.isnan(old) & np.isnan(new))
        with np.errstate(invalid="ignore"):
            scale = np.maximum(np.maximum(np.abs(old), np.abs(new)), 1.0)
            finite = np.isfinite(old) & np.isfinite(new)
            same |= finite & (np.abs(old - new) <= tolerance * scale)
    if not np.all(same):
        index = tuple(int(i) for i in np.argwhere(~np.asarray(same))[0])
        raise SemanticsError(
            f"{where} differs first at index {list(index)}: it was {before[index]}, is "
            f"{after[index]}"
        )


# ---- random arguments ----


def random_arguments(func: tir.FuncOp, rng: np.random.Generator) -> tuple[Any, ...]:
    """Arguments for a function: small extents, values in small ranges.

    Raises InterpretationError when the size of a pointer, or an extent, is not known.
    """
    values: dict[SSAValue, int] = {}
    scalars: dict[SSAValue, Any] = {}
    for arg in func.args:
        if not is_handle(arg.type):
            scalars[arg] = _random_scalar(arg, rng)
            if isinstance(scalars[arg], int):
                values[arg] = scalars[arg]
    matches = func.buffer_map
    for match in matches.values():
        for extent in (*match.extents, *match.strides):
            if isinstance(extent.owner, tir.ShapeVarOp) and extent not in values:
                values[extent] = int(rng.integers(1, _LARGEST_EXTENT + 1))
    arguments: list[Any] = []
    for arg in func.args:
        if arg in scalars:
            arguments.append(scalars[arg])
        elif arg in matches:
            arguments.append(_random_buffer(matches[arg], values, rng))
        else:
            raise InterpretationError(
                f"{func.sym_name.data}: no array can be made for the pointer "
                f"{arg.name_hint or arg.index}; pass inputs"
            )
    return tuple(arguments)


def _random_scalar(arg: SSAValue, rng: np.random.Generator) -> Any:
    if is_vector(arg.type):
        element = number(element_of(arg.type))
        return list(_random_values(element, (lanes_of(arg.type),), rng))
    dtype = number(arg.type)
    if dtype.is_float:
        return _random_values(dtype, (1,), rng)[0]
    if dtype.is_bool:
        return bool(rng.integers(2))
    return int(rng.integers(1, min(dtype.high, _LARGEST_EXTENT) + 1))


def _random_values(
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
        return _random_values(element, tuple(shape), rng)
    steps = _steps(match, shape, values)
    if lanes > 1:
        steps = [*(step * lanes for step in steps), 1]
    size = 1 + sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
    flat = _random_values(element, (max(size, 0),), rng)
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
}


def _evaluate(value: int | SSAValue, values: Mapping[SSAValue, int]) -> int:
    """An extent or stride, from the values of shape variables and parameters."""
    if isinstance(value, int):
        return value
    if value in values:
        return values[value]
    owner = value.owner
    if isinstance(owner, tir.ConstOp):
        return int(owner.literal)
    if isinstance(owner, tir.CastOp | tir.LetOp):
        return _evaluate(owner.value, values)
    if isinstance(owner, tir.BinaryOp) and type(owner) in _OPERATORS:
        return _OPERATORS[type(owner)](
            _evaluate(owner.lhs, values), _evaluate(owner.rhs, values)
        )
    raise InterpretationError(
        f"an extent is computed from {value.name_hint or 'a value'}, whose value is not "
        "known; pass inputs"
    )
