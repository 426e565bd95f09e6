"""A reference interpreter of the `tir` dialect on numpy arrays.

`interpret(module)["main"](a, b, 3)` calls a function as a compiled one is called: arrays
for buffer parameters, written in place, numbers for scalars; it returns the value of
`tir.ret`, or None.

Each function is translated once, when it is first called, to the source of a Python
function (`codegen/emitter.py`), and not walked op by op with xDSL's `Interpreter`:
measured on a loop of integer arithmetic, that takes about ten microseconds per op,
the translated code less than a tenth of one. `TirFunctions` puts the same engine into
xDSL's framework, so that code of other dialects can call `tir` functions, and
`functions=` lets `tir` functions hold ops of other dialects.

What TIR leaves undefined and passes may move about never fails here: a float out of
range casts to the nearest integer and NaN to 0, a shift by an amount outside of the
width gives 0, signed overflow wraps, masked-off lanes and `undef` are 0. Iterations of
parallel loops run one after the other; the threads of a GPU block run together, up to the
next barrier, and races between them are reported (`gpu/simulator.py`). The threads of
many blocks run as numpy arrays where their code allows it, with the same results and
errors (`codegen/lockstep_launch.py`). Math functions are computed in f64 and rounded
once. An integer of a width that no machine has is stored in the next wider one.

`call_extern` and packed calls by the symbol of a function of the module run that, unless
`externs` has one of the name. A kernel gets the sizes of its launch after its arguments
(`tir.kernel_launch_params`); where it needs other ones, that is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    impl,
    impl_callable,
    register_impls,
)
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.dialects import integers, tir
from xdsl_tvm.dialects.tir.annotations import packed_abi, strings_of
from xdsl_tvm.dialects.tir.data_types import Abi
from xdsl_tvm.dialects.tir.types import PtrType, element_of, is_handle
from xdsl_tvm.interpreters.codegen import builtins
from xdsl_tvm.interpreters.codegen.code_writer import Program, Settings
from xdsl_tvm.interpreters.codegen.lockstep_launch import LockstepLaunches
from xdsl_tvm.interpreters.codegen.pointer_code import string_operand
from xdsl_tvm.interpreters.codegen.translation import translate
from xdsl_tvm.interpreters.data import memory, numbers
from xdsl_tvm.interpreters.data.foreign_values import from_foreign, to_foreign
from xdsl_tvm.interpreters.data.memory import (
    Pointer,
    Tensor,
    passed_out,
    pointer_argument,
)
from xdsl_tvm.interpreters.data.numbers import Number, number
from xdsl_tvm.interpreters.data.packed import DLTensor, PackedValues, pack, unpack
from xdsl_tvm.interpreters.data.values import public_value, returned_value, value_argument
from xdsl_tvm.interpreters.errors import (
    ArgumentError,
    AssertionFailedError,
    AsyncCopyError,
    DivergenceError,
    DivisionByZeroError,
    OutOfBoundsError,
    RaceError,
    SimulationError,
    StepLimitError,
    UninitializedReadError,
    named_arguments,
    unsupported,
)
from xdsl_tvm.interpreters.gpu.bank_conflicts import BankCounter, BankReport
from xdsl_tvm.interpreters.gpu.simulator import Grid
from xdsl_tvm.interpreters.packed_calls import (
    Workspaces,
    call_packed_function,
    call_with_slots,
    device_type_of,
    is_null_result,
    packed_result,
    public_argument,
    runtime_functions,
)

DEFAULT_STEP_LIMIT = 10_000_000
"""Iterations that the `tir.while` loops of one call may run together."""

_DEEP = 50
"""More nested calls than this make a RecursionError that of the module's functions; with
fewer, it is that of an external one."""
_HELPERS = frozenset(module.__file__ for module in (memory, numbers, builtins, integers))
"""Files whose functions are single operations of the code: their errors are its own."""


def is_packed(func: tir.FuncOp) -> bool:
    """Whether the parameters of a function are those of a packed convention."""
    return packed_abi(func) is not None and not func.is_declaration


def _require_arguments(
    op: tir.CallOp, func: tir.FuncOp, values: Sequence[Any], sizes: int
) -> None:
    count = len(func.function_type.inputs)
    if len(values) != count + sizes:
        launch = f" and {sizes} launch sizes" if sizes else ""
        raise ArgumentError(
            f"{func.sym_name.data}: expects {count} arguments{launch}, got {len(values)}",
            op,
        )


@dataclass
class _Compiled:
    """A translated function: its code, and the op of each line of it."""

    run: Callable[..., Any]
    ops: Sequence[Operation | None]


class InterpretedModule(Mapping[str, "InterpretedFunction"]):
    """The functions of a module by symbol name or by `global_symbol`.

    The module must not be edited while it is interpreted.
    """

    def __init__(
        self,
        module: ModuleOp,
        *,
        externs: Mapping[str, Callable[..., Any]] | None = None,
        functions: Sequence[InterpreterFunctions] = (),
        step_limit: int = DEFAULT_STEP_LIMIT,
        vscale: int = 2,
        vectorize_threads: bool = True,
        count_bank_conflicts: bool = False,
    ) -> None:
        self.module = module
        self._externs = dict(externs or {})
        self._step_limit = step_limit
        self._steps = 0
        self._depth = 0
        self._compiled: dict[tuple[str, bool], _Compiled] = {}
        self._files: dict[str, _Compiled] = {}
        self._funcs: dict[str, tir.FuncOp] = {}
        self._aliases: dict[str, str] = {}
        self._device_types: dict[str, int] = {}
        for op in module.body.block.ops:
            if isinstance(op, tir.FuncOp):
                name = op.sym_name.data
                self._funcs[name] = op
                symbol = op.attributes.get("global_symbol")
                if isinstance(symbol, StringAttr):
                    self._aliases.setdefault(symbol.data, name)
        self._banks = BankCounter() if count_bank_conflicts else None
        self._grid = Grid(self._banks)
        self.workspaces = Workspaces()
        """What the program took from the runtime, and has not given back."""
        self._runtime = runtime_functions(self.workspaces)
        # Threads in lockstep do not tell what a warp does at a time.
        vectorize_threads &= not count_bank_conflicts
        self._together = LockstepLaunches() if vectorize_threads else None
        self._settings = Settings(
            module,
            vscale,
            self._tick,
            self._call,
            self._call_device,
            self._call_extern,
            self._call_foreign,
            self._grid,
            {
                "alloc_workspace": self.workspaces.allocate,
                "call_packed": self._call_packed,
                "free_workspace": self.workspaces.free,
                "is_null_result": is_null_result,
                "packed_result": packed_result,
            },
            self._together,
            lambda name: self._exposed(name) is not None,
            lambda name: name in self._externs or self._exposed(name) is not None,
        )
        self._foreign: Interpreter | None = None
        if functions:
            self._foreign = Interpreter(module)
            for item in functions:
                self._foreign.register_implementations(item)

    def __getitem__(self, name: str) -> InterpretedFunction:
        func = self._funcs.get(name) or self._funcs.get(self._aliases.get(name, ""))
        if func is None:
            raise KeyError(
                f"no tir.func named {name}, there are: {', '.join(sorted(self._funcs))}"
            )
        return InterpretedFunction(self, func)

    def __iter__(self) -> Iterator[str]:
        return iter(self._funcs)

    def __len__(self) -> int:
        return len(self._funcs)

    def __repr__(self) -> str:
        """The functions, each in a line."""
        lines = [f"  {self[name]!r}" for name in self]
        return "\n".join([f"<{type(self).__name__}", *lines]) + ">"

    # ---- running ----

    def run(self, func: tir.FuncOp, values: Sequence[Any]) -> Any:
        """Run a function on values in the form the code works on."""
        compiled = self._compile(func)
        if self._depth == 0:
            self._steps = 0
        self._depth += 1
        try:
            with np.errstate(all="ignore"):
                result = compiled.run(*values)
            if self._depth == 1:
                self._grid.end_call()
            return result
        except Exception as error:
            found = self._explain(error)
            if isinstance(error, RecursionError) and self._is_deep(error.__traceback__):
                found = SimulationError(
                    f"@{func.sym_name.data}: functions call each other more deeply than "
                    "Python can; call them in a loop"
                )
            if self._depth == 1:
                self._grid.reset()
                self.workspaces.reset()
            if found is None:
                raise
            raise found from None
        finally:
            self._depth -= 1

    @property
    def launches_together(self) -> int:
        """How many launches ran with their threads together."""
        return 0 if self._together is None else self._together.ran

    @property
    def launches_repeated(self) -> int:
        """How many were begun so and, at a fault, repeated one thread after the other."""
        return 0 if self._together is None else self._together.repeated

    def bank_conflicts(self) -> BankReport:
        """The accesses of shared memory so far, and their bank conflicts.

        Raises ValueError if they are not counted.
        """
        if self._banks is None:
            raise ValueError(
                "bank conflicts are not counted; pass count_bank_conflicts=True to "
                "interpret"
            )
        return self._banks.report()

    def device_type(self, func: tir.FuncOp) -> int:
        """The type of the device that a packed function is for."""
        name = func.sym_name.data
        found = self._device_types.get(name)
        if found is None:
            found = self._device_types[name] = device_type_of(func)
        return found

    def source(self, name: str) -> str:
        """The Python text that the function `name` runs as, for looking at."""
        return self._translate(self[name].func).source

    def _translate(self, func: tir.FuncOp, device: bool = False) -> Program:
        if func.is_declaration:
            raise unsupported(func, "it has no body", "pass an extern of its name")
        try:
            return translate(func, self._settings, device=device)
        except RecursionError as error:
            raise _nested_too_deeply(func, error) from error

    def _compile(self, func: tir.FuncOp, device: bool = False) -> _Compiled:
        """The code of a function; `device` is that for calls by threads."""
        name = func.sym_name.data
        known = self._compiled.get((name, device))
        if known is not None:
            return known
        program = self._translate(func, device)
        file = f"<tir.func @{name}{' on the device' if device else ''}>"
        try:
            code = compile(program.source, file, "exec")
        except (SyntaxError, RecursionError, MemoryError) as error:
            raise _nested_too_deeply(func, error) from error
        exec(code, program.names)
        made = _Compiled(cast(Callable[..., Any], program.names["run"]), program.ops)
        self._compiled[name, device] = self._files[file] = made
        return made

    def _explain(self, error: Exception) -> Exception | None:
        """The error to report instead: with the op, and in our terms."""
        pending = self._grid.pending
        if pending is not None and not isinstance(error, RaceError | AsyncCopyError):
            return pending
        op, innermost = self._faulty_op(error.__traceback__)
        where = self._grid.where()
        if isinstance(error, SimulationError):
            if error.op is not None:
                return error
            return type(error)(f"{error.reason}{where}", op)
        if op is None or not innermost:
            return None
        if isinstance(error, ZeroDivisionError):
            return DivisionByZeroError(f"an integer is divided by zero{where}", op)
        if isinstance(error, IndexError):
            return OutOfBoundsError(f"the access is outside of the memory{where}", op)
        if isinstance(op, tir.StoreOp) and isinstance(error, TypeError | ValueError):
            return ArgumentError(f"the memory cannot be written: {error}", op)
        if isinstance(error, AttributeError | TypeError):
            return SimulationError(
                f"a null pointer, or a value of another kind, is used ({error})", op
            )
        return None

    def _is_deep(self, traceback: TracebackType | None) -> bool:
        """Whether an error is below many calls of functions of the module."""
        count = 0
        while traceback is not None:
            count += traceback.tb_frame.f_code.co_filename in self._files
            traceback = traceback.tb_next
        return count > _DEEP

    def _faulty_op(
        self, traceback: TracebackType | None
    ) -> tuple[Operation | None, bool]:
        """The op where it happened, and whether our helpers or the code itself failed."""
        op: Operation | None = None
        innermost = False
        while traceback is not None:
            file = traceback.tb_frame.f_code.co_filename
            compiled = self._files.get(file)
            if compiled is not None:
                op = compiled.ops[traceback.tb_lineno - 1]
                innermost = True
            elif file not in _HELPERS:
                innermost = False
            traceback = traceback.tb_next
        return op, innermost

    # ---- what the code calls ----

    def _tick(self) -> None:
        self._steps += 1
        if self._steps > self._step_limit:
            raise StepLimitError(
                f"loops ran more than {self._step_limit} iterations; raise step_limit if "
                "the program is meant to"
            )

    def _call(self, op: tir.CallFuncOp, *values: Any) -> Any:
        name = op.callee.string_value()
        func = self._funcs.get(name)
        if func is not None and not func.is_declaration:
            # Functions do not mark what they write to their parameters.
            tensors = (passed_out(v) if isinstance(v, Tensor) else v for v in values)
            return self._compile(func).run(*tensors)
        if func is None and self._foreign is not None:
            results = self._foreign.call_op(name, _passed(values, op.args))
            return from_foreign(results[0]) if results else None
        return self._call_extern(op, name, *values)

    def _call_device(
        self, op: tir.CallFuncOp | tir.CallOp, *values: Any
    ) -> Generator[Any, Any, Any]:
        """A call by a thread, which the callee's meetings are passed on to."""
        if isinstance(op, tir.CallOp):
            func = self._exposed(string_operand(op, 0))
            assert func is not None, "asked before"
            _require_arguments(op, func, values, 0)
        else:
            func = self._funcs.get(op.callee.string_value())
            if func is None or func.is_declaration:
                return self._call(op, *values)
        run: Callable[..., Generator[Any, Any, Any]]
        run = self._compile(func, device=True).run
        return (yield from run(*values))

    def _call_extern(
        self, op: tir.CallOp | tir.CallFuncOp, name: str, *values: Any
    ) -> Any:
        function = self._externs.get(name)
        if function is None and isinstance(op, tir.CallOp):
            func = self._exposed(name)
            if func is not None:
                return self._call_symbol(op, func, values)
            packed = self._packed(name)
            if packed is not None:
                return self._call_with_values(op, packed, values)
        function = function or self._runtime.get(name)
        if function is None:
            raise self._unknown(op, name)
        operands = op.args if isinstance(op, tir.CallFuncOp) else op.args[1:]
        arguments: list[Any] = []
        for value, operand in zip(values, operands, strict=False):
            arguments.append(public_value(passed_out(value), operand.type))
        dtype = None if op.result is None else op.result.type
        return returned_value(function(*arguments), dtype, f"the function {name}")

    def _call_with_values(
        self, op: tir.CallOp, func: tir.FuncOp, values: Sequence[Any]
    ) -> Any:
        """Call a packed function of the module by a call that is not lowered."""
        public = [passed_out(value) for value in values]
        run = self._compile(func).run
        abi = packed_abi(func) or Abi.PACKED
        result = call_packed_function(run, func.sym_name.data, public, abi=abi)
        if op.result is None or is_handle(op.result.type):
            return result
        dtype = number(element_of(op.result.type))
        return dtype.convert(0 if result is None else result)

    def _call_packed(
        self,
        op: tir.CallOp,
        name: str,
        slots: PackedValues,
        codes: Pointer,
        begin: int,
        end: int,
        resource: Any,
    ) -> None:
        """Call what a name says with arguments in slots; the result is in slot `end`."""
        slots, codes = slots.from_slot(begin), codes.at(begin, 4)
        count = end - begin
        packed = None if name in self._externs else self._packed(name)
        if packed is not None:
            run = self._compile(packed).run
            call_with_slots(run, name, slots, codes, count, resource)
            return
        values = [unpack(slots, codes, index) for index in range(count)]
        function = self._externs.get(name)
        func = self._exposed(name)
        if function is None and func is not None:
            pack(slots, codes, count, self._call_symbol(op, func, values))
            return
        function = function or self._runtime.get(name)
        if function is None:
            raise self._unknown(op, name)
        pack(slots, codes, count, function(*map(public_argument, values)))

    def _unknown(self, op: Operation, name: str) -> InterpretationError:
        return unsupported(
            op,
            f"no external function {name} is known",
            f"pass it, as in interpret(module, externs={{{name!r}: …}})",
        )

    def _packed(self, name: str) -> tir.FuncOp | None:
        """The function of the packed convention that a name stands for."""
        func = self._funcs.get(self._aliases.get(name, name))
        if func is None or func.is_declaration or packed_abi(func) is not Abi.PACKED:
            return None
        return func

    def _exposed(self, name: str) -> tir.FuncOp | None:
        """The function of the module that external code calls by a name, unless the user
        has given another one, or it has the packed convention."""
        func = self._funcs.get(self._aliases.get(name, name))
        if func is None or func.is_declaration or name in self._externs:
            return None
        return None if is_packed(func) else func

    def _call_symbol(
        self, op: tir.CallOp, func: tir.FuncOp, values: Sequence[Any]
    ) -> Any:
        """Call a function by its symbol; a kernel is passed the sizes of its launch."""
        names = func.attributes.get("tir.kernel_launch_params")
        sizes = strings_of(names)
        _require_arguments(op, func, values, len(sizes))
        count = len(values) - len(sizes)
        tensors = (passed_out(v) if isinstance(v, Tensor) else v for v in values[:count])
        run = self._compile(func).run
        if names is None:
            result = run(*tensors)
        else:
            with self._grid.launched(dict(zip(sizes, values[count:], strict=True))):
                result = run(*tensors)
        return 0 if result is None and op.result is not None else result

    def _call_foreign(self, op: Operation, *values: Any) -> tuple[Any, ...]:
        if self._foreign is None:
            raise unsupported(
                op,
                "an op of another dialect",
                "pass its implementation, as in interpret(module, functions=[…])",
            )
        results = self._foreign.run_op(op, _passed(values, op.operands))
        return tuple(
            value
            if is_handle(result.type)
            else returned_value(from_foreign(value), result.type, op.name)
            for value, result in zip(results, op.results, strict=True)
        )


def _passed(values: Sequence[Any], of: Sequence[SSAValue]) -> tuple[Any, ...]:
    """The values of operands for an implementation of another dialect."""
    return tuple(
        to_foreign(passed_out(value), operand.type)
        for value, operand in zip(values, of, strict=True)
    )


@dataclass(frozen=True)
class InterpretedFunction:
    """A `tir.func` that can be called like a compiled one."""

    owner: InterpretedModule
    func: tir.FuncOp

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run it: a numpy array for each buffer, written in place, numbers for scalars.

        Arrays have dtype, rank and extents of their buffers; symbolic extents take their
        value from the first array that has them. Pointers are contiguous arrays. Vector
        elements are one more dimension of the array. Returns the value of `tir.ret`.

        Parameters are given in order or by name. A function of the packed convention gets
        the arguments that it had before MakePackedAPI. Its arrays count as those of the
        device that it asks for; a `DLTensor` is passed as it is.

        Raises ArgumentError when an argument does not fit, another SimulationError for a
        fault of the program, and InterpretationError for what is not supported.
        """
        func = self.func
        name = func.sym_name.data
        if is_packed(func):
            return self._call_packed(args, named)
        types = func.function_type.inputs.data
        if named:
            names = list(map(self._name, range(len(types))))
            args = named_arguments(name, names, args, named)
        if len(args) != len(types):
            raise ArgumentError(
                f"{name}: expects {len(types)} arguments, got {len(args)}"
            )
        values: list[Any] = []
        for index, (value, dtype) in enumerate(zip(args, types, strict=True)):
            if isinstance(dtype, PtrType):
                values.append(
                    pointer_argument(
                        value, _pointee(dtype), f"{name}: parameter {self._name(index)}"
                    )
                )
            elif is_handle(dtype):
                values.append(value)
            else:
                what = f"{name}: parameter {self._name(index)}"
                values.append(value_argument(value, dtype, what))
        result = self.owner.run(func, values)
        outputs = func.function_type.outputs.data
        if result is None or not outputs:
            return result
        return public_value(result, outputs[0])

    def _call_packed(self, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Pass the arguments by the packed convention."""
        name = self.func.sym_name.data
        if named:
            raise ArgumentError(
                f"{name}: the packed convention has no names of parameters; pass them in "
                "order"
            )

        def run(*values: Any) -> Any:
            return self.owner.run(self.func, values)

        device_type = self.owner.device_type(self.func)
        abi = packed_abi(self.func) or Abi.PACKED
        return call_packed_function(run, name, args, device_type, abi)

    def __repr__(self) -> str:
        """The function with the names of its parameters."""
        names = map(self._name, range(len(self.func.function_type.inputs)))
        return f"<interpreted @{self.func.sym_name.data}({', '.join(names)})>"

    def _name(self, index: int) -> str:
        if self.func.param_names is not None:
            return self.func.param_names.data[index].data
        if self.func.is_declaration:
            return str(index)
        return self.func.args[index].name_hint or str(index)


def _pointee(dtype: PtrType) -> Number | None:
    try:
        return number(element_of(dtype.element_type))
    except InterpretationError:
        return None


def _nested_too_deeply(func: tir.FuncOp, error: Exception) -> InterpretationError:
    reason = f"it nests too deeply for Python ({error})"
    return unsupported(func, reason, "split the function")


def interpret(
    module: ModuleOp,
    *,
    externs: Mapping[str, Callable[..., Any]] | None = None,
    functions: Sequence[InterpreterFunctions] = (),
    step_limit: int = DEFAULT_STEP_LIMIT,
    vscale: int = 2,
    vectorize_threads: bool = True,
    count_bank_conflicts: bool = False,
) -> InterpretedModule:
    """The functions of a verified module, ready to be called on numpy arrays.

    `externs` are the Python functions that calls of external and packed functions reach,
    by name: they get Python integers and bools, numpy floats, `Pointer`s (whose `array()`
    shares the memory), and arrays for tensors built on the stack. `functions` are xDSL
    implementations of ops of other dialects. `step_limit` bounds the iterations of
    `tir.while` loops in one call, `vscale` is the run-time constant of that name.
    `vectorize_threads=False` runs the threads of a kernel one after the other even where
    they could run together, which gives the same results and the same errors.
    `count_bank_conflicts=True` does so, too, and counts the accesses of shared memory for
    `InterpretedModule.bank_conflicts`.
    """
    return InterpretedModule(
        module,
        externs=externs,
        functions=functions,
        step_limit=step_limit,
        vscale=vscale,
        vectorize_threads=vectorize_threads,
        count_bank_conflicts=count_bank_conflicts,
    )


@register_impls
class TirFunctions(InterpreterFunctions):
    """The `tir` dialect for xDSL's `Interpreter`: functions, and calls of them.

    Register it to call a `tir.func` from code of other dialects, or by
    `Interpreter(module).call_op("main", (a, b))`.
    """

    def __init__(self, externs: Mapping[str, Callable[..., Any]] | None = None) -> None:
        super().__init__()
        self._externs = externs
        self._modules: dict[ModuleOp, InterpretedModule] = {}

    def _module(self, interpreter: Interpreter) -> InterpretedModule:
        found = self._modules.get(interpreter.module)
        if found is None:
            found = interpret(interpreter.module, externs=self._externs)
            self._modules[interpreter.module] = found
        return found

    @impl_callable(tir.FuncOp)
    def run_function(
        self, interpreter: Interpreter, op: tir.FuncOp, args: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """Call a function, with the arguments of `InterpretedFunction`, and numbers as
        the implementations of xDSL's dialects have them."""
        func = InterpretedFunction(self._module(interpreter), op)
        result = func(*map(from_foreign, args))
        return tuple(to_foreign(result, type_) for type_ in op.function_type.outputs)

    @impl(tir.CallFuncOp)
    def run_call(
        self, interpreter: Interpreter, op: tir.CallFuncOp, args: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """Call a function of the module, of any dialect."""
        return interpreter.call_op(op.callee, args)


__all__ = [
    "DEFAULT_STEP_LIMIT",
    "ArgumentError",
    "AssertionFailedError",
    "AsyncCopyError",
    "DLTensor",
    "DivergenceError",
    "DivisionByZeroError",
    "InterpretedFunction",
    "InterpretedModule",
    "OutOfBoundsError",
    "Pointer",
    "RaceError",
    "SimulationError",
    "StepLimitError",
    "TirFunctions",
    "UninitializedReadError",
    "interpret",
]
