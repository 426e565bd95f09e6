"""Checks that passes keep what a module computes, by running it before and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException, InterpretationError

from xdsl_tvm.analysis.reproducer import write_reproducer
from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.tir.annotations import packed_abi
from xdsl_tvm.dialects.tir.data_types import Abi
from xdsl_tvm.dialects.tir.types import is_handle
from xdsl_tvm.interpreters.data.memory import memory_of
from xdsl_tvm.interpreters.data.packed import DLTensor
from xdsl_tvm.interpreters.errors import SimulationError
from xdsl_tvm.interpreters.random_inputs import random_arguments
from xdsl_tvm.interpreters.random_relax_inputs import random_relax_arguments
from xdsl_tvm.interpreters.relax import InterpretedRelax, RelaxFunction
from xdsl_tvm.interpreters.relax.values import map_arrays
from xdsl_tvm.interpreters.shrink import shrink
from xdsl_tvm.interpreters.tir import (
    InterpretedFunction,
    InterpretedModule,
    interpret,
    is_packed,
)
from xdsl_tvm.registry import new_context

Inputs = Mapping[str, Sequence[Sequence[Any]]]
"""For a function's name, the argument lists to run it on."""
Externs = Mapping[str, Callable[..., Any]]
"""The functions of `call_extern` and packed calls, by name."""
_Function: TypeAlias = InterpretedFunction | RelaxFunction

TOLERANCES = {
    "float64": 1e-12,
    "float32": 1e-5,
    "float16": 1e-2,
    "bfloat16": 5e-2,
    "float8_e4m3fn": 0.25,
    "float8_e5m2": 0.5,
    "float4_e2m1fn": 1.0,
}
"""What a result may differ by where no tolerance is given, relative to the larger
magnitude or to 1: some tens of units in the last place, as another order of summation
has them. All other dtypes must be equal."""

_ATTEMPTS = 20


class SemanticsError(InterpretationError):
    """A pass changed what a function computes.

    It names pass, function, buffer, the first index that differs, and both values.
    `pass_name` and `function` are None when no pass is at fault, since nothing could be
    run.
    """

    def __init__(
        self, message: str, *, pass_name: str | None = None, function: str | None = None
    ) -> None:
        super().__init__(message)
        self.pass_name = pass_name
        self.function = function


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
    tolerance: float | None = None,
    externs: Externs | None = None,
    save_to: Path | None = None,
) -> SemanticsReport:
    """Run every function of `module` before and after each of `passes`, and compare.

    The module itself is not changed. Functions run on `inputs`, or `runs` times on random
    ones (`random_inputs.py`). Integers and bools must be equal; floats within
    `tolerance`, relative to the larger magnitude or to 1, by default that of their dtype
    in TOLERANCES. NaN equals NaN, and functions that are results are not called.
    Functions for which no inputs can be made, or which the interpreter does not support,
    are in the report.

    Raises SemanticsError at the first difference, and when no function could be run.
    A difference is then saved to the file `save_to`, if one is given: the module before
    the pass, cut down as far as the pass still changes it, under a RUN line.
    """
    checker = SemanticsChecker(
        module, inputs, seed=seed, runs=runs, tolerance=tolerance, externs=externs
    )
    if checker.report.checked:
        module.verify()
    return checker.check_passes(module, passes, save_to=save_to)


class SemanticsChecker:
    """What the functions of a module compute, to compare later states of it with.

    `report` says which functions are run. A function that a later state does not let the
    interpreter run any more moves to its skipped ones.
    """

    def __init__(
        self,
        module: ModuleOp,
        inputs: Inputs | None = None,
        *,
        seed: int = 0,
        runs: int = 2,
        tolerance: float | None = None,
        externs: Externs | None = None,
    ) -> None:
        self.report = SemanticsReport()
        self._inputs = inputs
        self._seed = seed
        self._runs = runs
        self._tolerance = tolerance
        self._externs = externs
        self._cases: dict[str, list[_Case]] = {}
        rng = np.random.default_rng(seed)
        functions = _interpret(module, externs)
        for op in module.body.block.ops:
            if isinstance(op, relax.FuncOp) or (
                isinstance(op, tir.FuncOp) and not op.is_declaration
            ):
                self._prepare(functions[op.sym_name.data], rng)
        self.report.checked.extend(self._cases)
        self._removable = _private_functions(module)
        self._public = _public_names(module)
        self._types = {name: functions[name].func.function_type for name in self._cases}
        self._labels = {name: _labels(functions[name].func) for name in self._cases}
        self._ways = {name: _ways(functions[name].func) for name in self._cases}

    def fresh(self) -> SemanticsChecker:
        """A checker of the same programs, to which no later state was shown.

        Where many passes are checked, the functions run once before all of them.
        """
        found = copy(self)
        report = self.report
        found.report = SemanticsReport([*report.checked], {**report.skipped})
        found._cases = dict(self._cases)
        return found

    def check_passes(
        self,
        module: ModuleOp,
        passes: Sequence[ModulePass],
        *,
        save_to: Path | None = None,
    ) -> SemanticsReport:
        """Run passes on a copy of a module, which verifies and is that of the checker.

        As `check_semantics`, which says what is raised and saved.
        """
        if not self.report.checked:
            reasons = "; ".join(f"{n}: {why}" for n, why in self.report.skipped.items())
            raise SemanticsError(
                f"no function could be run, pass inputs: {reasons or 'there is none'}"
            )
        before, current = module, module.clone()
        context = new_context()
        for number, one in enumerate(passes, 1):
            one.apply(context, current)
            if current.is_structurally_equivalent(before):
                # Equal programs verify and compute the same; most passes of a pipeline
                # change nothing.
                continue
            current.verify()
            try:
                self.check(one.name, current)
            except SemanticsError as error:
                if save_to is not None:
                    smallest = self.smallest(one, before)
                    options = self.run_options()
                    write_reproducer(save_to, smallest, [one], str(error), options)
                raise
            if number < len(passes):
                before = current.clone()
        return self.report

    def _prepare(self, function: _Function, rng: np.random.Generator) -> None:
        name = function.func.sym_name.data
        given = None if self._inputs is None else self._inputs.get(name)
        try:
            if given is not None:
                self._cases[name] = [_run(function, tuple(a)) for a in given]
            else:
                self._cases[name] = [
                    _random_case(function, rng) for _ in range(self._runs)
                ]
        except InterpretationError as error:
            if given is not None and isinstance(error, SimulationError):
                raise SemanticsError(f"{name} fails before any pass: {error}") from error
            self.report.skipped[name] = str(error)

    def check(self, pass_name: str, module: ModuleOp) -> None:
        """Run the functions of `module`, which `pass_name` has made, and compare.

        Raises SemanticsError where one computes something else than at the beginning.
        """
        if not self._cases:
            return
        found = _interpret(module, self._externs)
        public = {symbol: name for name, symbol in _public_names(module).items()}
        for name in list(self._cases):
            where = f"pass {pass_name} changes function {name}"
            now = public.get(self._public.get(name, ""), name)
            try:
                if now not in found:
                    raise _missing(module, name, where, name in self._removable)
                if name in self._removable and self._is_another(name, found[now]):
                    raise InterpretationError("it is private and is called otherwise")
                self._compare(name, found[now], where)
            except SemanticsError as error:
                error.pass_name, error.function = pass_name, name
                raise
            except InterpretationError as error:
                del self._cases[name]
                self.report.checked.remove(name)
                self.report.skipped[name] = (
                    f"not executable after pass {pass_name}: {error}"
                )

    def _is_another(self, name: str, now: _Function) -> bool:
        """Whether a private function was renamed, or takes or returns something else."""
        symbol = now.func.attributes.get("global_symbol")
        is_public_one = isinstance(symbol, StringAttr) and symbol.data in set(
            self._public.values()
        )
        return is_public_one or now.func.function_type != self._types[name]

    def _compare(self, name: str, function: _Function, where: str) -> None:
        """Run the cases of a function with what it is now."""
        call: Callable[..., Any] = function
        if isinstance(function.func, tir.FuncOp) and is_packed(function.func):
            call = _Packed(function, self._ways[name])
        for case in self._cases[name]:
            try:
                after = _run(call, case.arguments)
            except SimulationError as error:
                raise SemanticsError(f"{where}: it fails now: {error}") from error
            for label, before, now in zip(
                self._labels[name], case.outputs, after.outputs, strict=True
            ):
                if isinstance(before, np.ndarray | tuple):
                    _compare(f"{where}: buffer {label}", before, now, self._tolerance)
            result = _like(case.result, after.result)
            _compare(f"{where}: the result", case.result, result, self._tolerance)

    def run_options(self) -> str:
        """The option of `xdsl-tvm opt` that makes this check with random inputs."""
        return f"--check-semantics={self._seed}"

    def smallest(self, one: ModulePass, before: ModuleOp) -> ModuleOp:
        """`before`, on which `one` is at fault, cut down while that stays so.

        Inputs are those of the checker, or random ones of its seed.
        """

        def fails(candidate: ModuleOp) -> bool:
            try:
                candidate.verify()
                check_semantics(
                    candidate,
                    [one],
                    self._inputs,
                    seed=self._seed,
                    runs=self._runs,
                    tolerance=self._tolerance,
                    externs=self._externs,
                )
            except SemanticsError as error:
                return error.pass_name is not None
            except (DiagnosticException, InterpretationError):
                return False
            return False

        return shrink(before, fails) if fails(before) else before


def _interpret(
    module: ModuleOp, externs: Externs | None
) -> InterpretedModule | InterpretedRelax:
    if any(isinstance(op, relax.FuncOp) for op in module.body.block.ops):
        return InterpretedRelax(module, {"relax.run.print": _ignore, **(externs or {})})
    return interpret(module, externs=externs)


def _private_functions(module: ModuleOp) -> set[str]:
    """The functions that only others call; none where no function is public."""
    functions = [
        op for op in module.body.block.ops if isinstance(op, relax.FuncOp | tir.FuncOp)
    ]
    private = {f.sym_name.data for f in functions if "global_symbol" not in f.attributes}
    return private if len(private) < len(functions) else set()


def _public_names(module: ModuleOp) -> dict[str, str]:
    """For each function that is visible outside, the symbol that it has there."""
    return {
        op.sym_name.data: symbol.data
        for op in module.body.block.ops
        if isinstance(op, relax.FuncOp | tir.FuncOp)
        and isinstance(symbol := op.attributes.get("global_symbol"), StringAttr)
    }


def _ignore(*values: Any) -> None:
    """What programs print is not compared."""


def _missing(
    module: ModuleOp, name: str, where: str, removable: bool
) -> InterpretationError:
    """Why a function is not to be found: it was removed, or is in another dialect."""
    for op in module.walk():
        if op.get_attr_or_prop("sym_name") == StringAttr(name):
            return InterpretationError(f"{op.name} @{name} is not interpreted")
    if removable:
        return InterpretationError("it is private and was removed")
    return SemanticsError(f"{where}: it is not in the module any more")


def _run(function: Callable[..., Any], arguments: tuple[Any, ...]) -> _Case:
    outputs = tuple(map_arrays(argument, _duplicate) for argument in arguments)
    return _Case(arguments, outputs, function(*outputs))


def _like(before: Any, result: Any) -> Any:
    """A result as one of the dtype of another: packed functions return float64, and a
    function of the C signature that returned nothing its status, 0."""
    if before is None and result == 0:
        return None
    dtype: np.dtype[Any] | None = getattr(before, "dtype", None)
    if dtype is None or not isinstance(result, float):
        return result
    return np.asarray(result).astype(dtype)[()]


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


def _random_case(function: _Function, rng: np.random.Generator) -> _Case:
    failure: SimulationError | None = None
    for attempt in range(_ATTEMPTS):
        try:
            if isinstance(function, RelaxFunction):
                arguments = random_relax_arguments(function.func, rng, attempt)
            else:
                arguments = random_arguments(function.func, rng)
            return _run(function, arguments)
        except SimulationError as error:
            failure = error
    assert failure is not None
    raise failure


Way = Callable[[Any, Abi], Any]
"""What a packed function is passed for an argument."""


@dataclass(frozen=True)
class _Packed:
    """A function that MakePackedAPI has changed, called with its former arguments."""

    function: _Function
    ways: Sequence[Way]

    def __call__(self, *arguments: Any) -> Any:
        """Call it, arrays for pointers as pointers, and with vectors as elements."""
        func = self.function.func
        abi = packed_abi(func) or Abi.PACKED
        passed = zip(self.ways, arguments, strict=True)
        return self.function(*(way(argument, abi) for way, argument in passed))


def _ways(func: tir.FuncOp | relax.FuncOp) -> list[Way]:
    if isinstance(func, relax.FuncOp):
        return []
    matched = func.buffer_map
    found: list[Way] = []
    for arg in func.args:
        match = matched.get(arg)
        if match is not None:
            lanes = tir.lanes_of(match.type.element_type)
            found.append(_as_it_is if lanes == 1 else partial(_with_lanes, lanes))
        else:
            found.append(_as_pointer if is_handle(arg.type) else _as_it_is)
    return found


def _as_it_is(value: Any, abi: Abi) -> Any:
    return value


def _as_pointer(value: Any, abi: Abi) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    return memory_of(cast("np.ndarray[Any, Any]", value))


def _with_lanes(lanes: int, value: Any, abi: Abi) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    return DLTensor.of(cast("np.ndarray[Any, Any]", value), lanes, abi)


def _labels(func: tir.FuncOp | relax.FuncOp) -> list[str]:
    """The buffer or parameter names, one per parameter."""
    if isinstance(func, relax.FuncOp):
        return [arg.name_hint or str(index) for index, arg in enumerate(func.args)]
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


def _compare(where: str, before: Any, after: Any, tolerance: float | None) -> None:
    """Compare arrays or numbers, and all those in tuples."""
    old, new = _fields(before), _fields(after)
    if old is not None and new is not None:
        if len(old) != len(new):
            raise SemanticsError(f"{where} had {len(old)} fields, has {len(new)}")
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            _compare(f"{where}, field {index},", one, other, tolerance)
    elif _is_numeric(before) and _is_numeric(after):
        _compare_arrays(where, np.asarray(before), np.asarray(after), tolerance)
    elif callable(before) and callable(after):
        # What a function computes is not compared, and passes may lift it.
        return
    elif type(before) is not type(after):
        raise SemanticsError(f"{where} was {before}, is {after}")


def _fields(value: Any) -> tuple[Any, ...] | None:
    return cast("tuple[Any, ...]", value) if isinstance(value, tuple) else None


def _is_numeric(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic | int | float)


def _compare_arrays(
    where: str,
    before: np.ndarray[Any, Any],
    after: np.ndarray[Any, Any],
    tolerance: float | None,
) -> None:
    if before.shape != after.shape or before.dtype != after.dtype:
        raise SemanticsError(
            f"{where} was {before.dtype}{list(before.shape)}, "
            f"is {after.dtype}{list(after.shape)}"
        )
    if before.dtype.kind in "biu":
        same = before == after
    else:
        if tolerance is None:
            tolerance = TOLERANCES.get(before.dtype.name, 0.0)
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
