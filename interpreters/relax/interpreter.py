"""A reference interpreter of the `relax` dialect on numpy arrays.

`interpret(module)["main"](a, b)` calls a function on arrays and gives its result: an
array, a scalar, a tuple of those; a shape is given and taken as a tuple of integers.
Bindings run in order. A value is checked against the type that the program declares for
it wherever that says more than is known: at calls, in `relax.match_cast`, and at the
result of every operation, so that a wrong inference rule is found, too. Symbolic
dimensions get their values from arguments and `relax.match_cast`.

Tensors are references: a binding, a tuple and an alias share the elements, and calls
that write to their arguments are seen through all of them. Operators never do; they
compute floats in f64 and round once. TIR functions run in the interpreter of `tir`.
Operators are evaluated by the tables of `operators.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.analysis.relax.tail_calls import tail_call
from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters import tir as tir_interpreter
from xdsl_tvm.interpreters.data.numbers import number
from xdsl_tvm.interpreters.errors import (
    ArgumentError,
    SimulationError,
    StepLimitError,
    TypeCheckError,
    UninitializedReadError,
    UseAfterKillError,
    named_arguments,
    unsupported,
)
from xdsl_tvm.interpreters.relax.operators import EVALUATIONS
from xdsl_tvm.interpreters.relax.runtime_functions import RUNTIME
from xdsl_tvm.interpreters.relax.steps import STEPS, Killed, RunAgainError, check
from xdsl_tvm.interpreters.relax.values import (
    Array,
    Symbols,
    TypeMismatchError,
    argument,
    arrays_of,
    bind,
    map_arrays,
    public,
)

Externs: TypeAlias = Mapping[str, Callable[..., Any]]


class InterpretedRelax(
    Mapping[str, "RelaxFunction | tir_interpreter.InterpretedFunction"]
):
    """The Relax and TIR functions of a module by symbol name or by `global_symbol`.

    The module must not be edited while it is interpreted. `options` are those of
    `interpreters.tir.interpret`, for the TIR functions; `step_limit` bounds the calls of
    a function that ends by calling itself, too.
    """

    def __init__(
        self,
        module: ModuleOp,
        externs: Externs | None = None,
        *,
        step_limit: int = tir_interpreter.DEFAULT_STEP_LIMIT,
        **options: Any,
    ) -> None:
        self.module = module
        self.externs = dict(externs or {})
        self.tir = tir_interpreter.interpret(
            module, externs=externs, step_limit=step_limit, **options
        )
        self._step_limit = step_limit
        self._funcs: dict[str, relax.FuncOp] = {}
        self._aliases: dict[str, str] = {}
        for op in module.body.block.ops:
            if isinstance(op, relax.FuncOp):
                self._funcs[op.sym_name.data] = op
                symbol = op.attributes.get("global_symbol")
                if isinstance(symbol, StringAttr):
                    self._aliases.setdefault(symbol.data, op.sym_name.data)
        self._depth = 0
        self._tails: dict[relax.FuncOp, relax.CallOp | None] = {}
        self._unwritten: dict[int, Array] = {}

    def __getitem__(
        self, name: str
    ) -> RelaxFunction | tir_interpreter.InterpretedFunction:
        func = self._funcs.get(name) or self._funcs.get(self._aliases.get(name, ""))
        if func is not None:
            return RelaxFunction(self, func)
        try:
            return self.tir[name]
        except KeyError:
            raise KeyError(
                f"no function named {name}, there are: {', '.join(sorted(self))}"
            ) from None

    def __iter__(self) -> Iterator[str]:
        yield from self._funcs
        yield from self.tir

    def __len__(self) -> int:
        return len(self._funcs) + len(self.tir)

    def __repr__(self) -> str:
        """The functions, each in a line."""
        lines = [f"  {self[name]!r}" for name in self]
        return "\n".join([f"<{type(self).__name__}", *lines]) + ">"

    # ---- running ----

    def run(self, func: relax.FuncOp, values: Sequence[Any]) -> Any:
        """Call a Relax function on values of its parameters.

        One that ends by calling itself is run again instead, up to the step limit.

        Raises TypeCheckError where a value lacks the type of its parameter, and
        StepLimitError.
        """
        if func not in self._tails:
            tail = tail_call(func)
            self._tails[func] = None if tail is None else tail.call
        for _ in range(self._step_limit):
            frame = Frame(self)
            frame.tail = self._tails[func]
            try:
                return self.run_body(func, values, frame, func.sym_name.data)
            except RunAgainError as again:
                values = again.values
        raise StepLimitError(
            f"@{func.sym_name.data} called itself {self._step_limit} times; raise "
            "step_limit if the program is meant to"
        )

    def run_body(
        self,
        func: relax.FuncOp | relax.LambdaOp,
        values: Sequence[Any],
        frame: Frame,
        name: str,
    ) -> Any:
        """Run a function in a frame that holds what it captures.

        Raises TypeCheckError where a value lacks the type of its parameter.
        """
        type_ = func.type
        types = type_.param_types or ()
        if len(values) != len(func.args):
            raise ArgumentError(
                f"{name}: expects {len(func.args)} arguments, got {len(values)}"
            )
        names = [f"parameter {_name(arg)} of {name}" for arg in func.args]
        check(types, values, frame.symbols, func.symbol_names, names)
        frame.values.update(zip(func.args, values, strict=True))
        (result,) = self._enter(lambda: frame.run_block(func.body.block), name)
        what = [f"the result of {name}"]
        check([type_.ret], [result], frame.symbols, (), what)
        return result

    def _enter(self, body: Callable[[], tuple[Any, ...]], name: str) -> tuple[Any, ...]:
        if self._depth == 0:
            self._unwritten.clear()
        self._depth += 1
        try:
            with np.errstate(all="ignore"):
                return body()
        except RecursionError:
            raise SimulationError(
                f"{name}: functions call each other more deeply than Python can"
            ) from None
        finally:
            self._depth -= 1

    def call(self, name: str, values: Sequence[Any]) -> Any:
        """Call a function of the module, or an external one that the module lacks."""
        func = self._funcs.get(name)
        if func is not None:
            return self.run(func, values)
        self.mark_written(values)
        if name in self.tir and not self.tir[name].func.is_declaration:
            return self.tir[name](*values)
        return self.call_external(name, values)

    def call_external(self, name: str, values: Sequence[Any]) -> Any:
        """Call a Python function; one of the caller's, or of the runtime."""
        self.mark_written(values)
        function = self.externs.get(name, RUNTIME.get(name))
        if function is None:
            raise InterpretationError(
                f"no function {name} is known; pass it, as in "
                f"interpret(module, externs={{{name!r}: …}})"
            )
        return function(*(public(value) for value in values))

    def mark_written(self, values: Sequence[Any]) -> None:
        """Take arguments as written, since a call may have done so."""
        for array in arrays_of(tuple(values)):
            self._unwritten.pop(id(array), None)

    def new_frame(self) -> Frame:
        """A frame that holds nothing."""
        return Frame(self)

    # ---- memory ----

    def allocate(self, shape: Sequence[int], dtype: Attribute) -> Array:
        """A new tensor that nothing has been written to."""
        element = number(dtype)
        size = int(np.prod(shape, dtype=np.int64))
        # Bits that are no usual number, so that a read of them shows in the result.
        if element.is_bool:
            array = np.ones(shape, np.bool_)
        else:
            filled = np.full(size * element.size, 0xFF, np.uint8)
            array = filled.view(element.storage).reshape(shape)
        return self.track(array)

    def track(self, array: Array) -> Array:
        """Take an array as one that nothing has been written to."""
        self._unwritten[id(array)] = array
        return array

    def expect_written(self, values: Sequence[Any]) -> None:
        """Check that operands hold elements; UninitializedReadError otherwise."""
        for array in arrays_of(tuple(values)):
            if id(array) in self._unwritten and array.size:
                raise UninitializedReadError(
                    "a tensor is read that was allocated and never written"
                )


@dataclass(frozen=True)
class RelaxFunction:
    """A `relax.func` that can be called."""

    owner: InterpretedRelax
    func: relax.FuncOp

    def __repr__(self) -> str:
        """The function with the names of its parameters."""
        names = ", ".join(map(_name, self.func.args))
        return f"<interpreted @{self.func.sym_name.data}({names})>"

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run it on a numpy array per tensor, a number per scalar, tuples of those.

        Parameters are given in order or by name.

        Raises ArgumentError when an argument does not fit its parameter, another
        SimulationError for a fault of the program, and InterpretationError for what is
        not supported.
        """
        name = self.func.sym_name.data
        types = self.func.function_type.inputs.data
        if named:
            args = named_arguments(name, list(map(_name, self.func.args)), args, named)
        if len(args) != len(types):
            raise ArgumentError(
                f"{name}: expects {len(types)} arguments, got {len(args)}"
            )
        values = [
            argument(type_, value, f"{name}: parameter {_name(arg)}")
            for type_, value, arg in zip(types, args, self.func.args, strict=True)
        ]
        names = [f"parameter {_name(arg)}" for arg in self.func.args]
        try:
            bind(types, values, {}, self.func.symbol_names, names)
        except TypeMismatchError as error:
            raise ArgumentError(f"{name}: {error}") from None
        return public(self.owner.run(self.func, values))


def _name(arg: SSAValue) -> str:
    return arg.name_hint or str(getattr(arg, "index", "?"))


class Frame:
    """One call of a function: its values and the symbolic dimensions."""

    def __init__(self, owner: InterpretedRelax) -> None:
        self.owner = owner
        self.tail: relax.CallOp | None = None
        """The call of itself that the function ends with."""
        self.values: dict[SSAValue, Any] = {}
        self.symbols: Symbols = {}

    def run_block(self, block: Block) -> tuple[Any, ...]:
        """Run a block and give the values that its terminator names."""
        last = block.last_op
        for op in block.ops:
            if op is last:
                break
            self._run_op(op)
        assert last is not None, "verified"
        try:
            return self.read(last)
        except SimulationError as error:
            raise _at(error, last) from None

    def _run_op(self, op: Operation) -> None:
        step = STEPS.get(type(op))
        try:
            results = self._evaluate(op) if step is None else step(self, op)
            for result, value in zip(op.results, results, strict=True):
                check([result.type], [value], self.symbols, (), ["the result"])
                self.values[result] = value
        except SimulationError as error:
            raise _at(error, op) from None
        except TypeMismatchError as error:
            raise TypeCheckError(str(error), op) from None
        except ZeroDivisionError:
            raise SimulationError("a dimension divides by zero", op) from None

    def read(self, op: Operation) -> tuple[Any, ...]:
        """The values of all operands. Raises UseAfterKillError."""
        found = tuple(self.values[operand] for operand in op.operands)
        for value, operand in zip(found, op.operands, strict=True):
            if isinstance(value, Killed):
                name = operand.name_hint or "of an operand"
                raise UseAfterKillError(f"the life of value {name} was ended before")
        return found

    def _evaluate(self, op: Operation) -> tuple[Any, ...]:
        evaluation = EVALUATIONS.get(op.name)
        if evaluation is None:
            raise unsupported(
                op,
                "the Relax interpreter has no evaluation of it",
                "lower it first, or add one to interpreters/relax/operators.py",
            )
        operands = self.read(op)
        self.owner.expect_written(operands)
        try:
            result = evaluation(op, *operands)
        except (TypeError, ValueError) as error:
            raise SimulationError(f"the operands do not fit: {error}") from None
        sources = list(arrays_of(operands))
        return (map_arrays(result, lambda array: _own(array, sources)),)


def _own(array: Array, sources: Sequence[Array]) -> Array:
    """The array, contiguous and sharing no memory with operands."""
    array = np.asarray(array, order="C")
    shares = any(np.may_share_memory(array, source) for source in sources)
    return array.copy() if shares else array


def _at(error: SimulationError, op: Operation) -> SimulationError:
    """The error with the op where it happened."""
    return error if error.op is not None else type(error)(error.reason, op)


EVALUATED = frozenset(EVALUATIONS) | {op.name for op in STEPS}
"""Names of the operations that can be run, without functions and terminators."""


def interpret(
    module: ModuleOp, *, externs: Externs | None = None, **options: Any
) -> InterpretedRelax:
    """The Relax and TIR functions of a verified module, ready to be called.

    `externs` are the Python functions that calls of packed and external functions reach,
    by name: they get arrays, Python numbers and tuples, and write to arrays in place.
    `options` are those of `interpreters.tir.interpret`, for the TIR functions.
    """
    return InterpretedRelax(module, externs, **options)
