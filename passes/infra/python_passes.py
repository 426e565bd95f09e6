"""Passes made of Python callables: over modules, and over every TIR function."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast, overload

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.printer import Printer

from xdsl_tvm.passes.infra.compiler_pass import DelegatingPass, PassRun
from xdsl_tvm.passes.infra.pass_context import PassContext
from xdsl_tvm.passes.infra.pass_info import PassInfo
from xdsl_tvm.passes.infra.sequential import checked_required

if TYPE_CHECKING:
    from xdsl_tvm.dialects.tir import FuncOp

FunctionTransform: TypeAlias = "Callable[[FuncOp, ModuleOp, PassContext], FuncOp | None]"
ModuleTransform: TypeAlias = Callable[[ModuleOp, PassContext], ModuleOp]
_Required: TypeAlias = list[str] | tuple[str, ...] | None


class CallablePass(DelegatingPass):
    """A pass that is made of a Python callable."""

    def __init__(self, transform: Callable[..., Any], info: PassInfo) -> None:
        super().__init__(info)
        self._transform = transform


class PrimFuncPass(CallablePass):
    """A pass that hands each `tir.func` of a module to a Python callable.

    The callable gets `(func, module, pass_context)` and returns the new function, which
    may be `func` itself, or None to delete it. Functions come in definition order;
    meanwhile `func` is not in `module`, where earlier ones are in their new and later
    ones in their old form. All of that is a copy, so the caller's module stays as it is
    whatever the callable does. A result keeps the symbol name of the function that it
    replaces, and is copied into the module unless it is `func`. Only functions directly
    in the module count; everything else in it stays.

    Made by `prim_func_pass`. Raises TypeError if the callable returns anything else.
    """

    name = "tir-prim-func-pass"

    def transform(self, module: ModuleOp, run: PassRun) -> ModuleOp:
        from xdsl_tvm.dialects.tir import FuncOp

        module = run.private(module)
        # The callable may keep whatever it sees.
        run.owned = False
        for func in [op for op in module.ops if isinstance(op, FuncOp)]:
            self._transform_function(func, module, run.context)
        return module

    def _transform_function(
        self, func: FuncOp, module: ModuleOp, context: PassContext
    ) -> None:
        block, next_op, name = module.body.block, func.next_op, func.sym_name
        func.detach()
        result = self._transform(func, module, context)
        if result is None:
            return
        _check_result(result, func, self.info)
        if result is not func:
            result = result.clone()
        result.sym_name = name
        _insert(result, block, next_op)

    def __str__(self) -> str:
        return f"PrimFuncPass({self.info.name}, opt_level={self.info.opt_level})"


def _check_result(result: object, func: FuncOp, info: PassInfo) -> None:
    if not isinstance(result, type(func)):
        raise TypeError(
            f"pass {info.name} must return a tir.func or None for "
            f"@{func.sym_name.data}, not {type(result).__name__}"
        )


def _insert(op: Operation, block: Block, next_op: Operation | None) -> None:
    if next_op is not None and next_op.parent is block:
        block.insert_op_before(op, next_op)
    else:
        block.add_op(op)


class PythonModulePass(CallablePass):
    """A pass that hands the whole module to a Python callable.

    The callable gets `(module, pass_context)`, where the module is a copy that it may
    edit, and returns the new module. Made by `module_pass`. Raises ValueError if the
    callable returns None, TypeError if it returns anything else but a module.
    """

    name = "tvm-python-module-pass"

    def transform(self, module: ModuleOp, run: PassRun) -> ModuleOp:
        module = run.private(module)
        # The callable may keep what it sees, and return what it keeps.
        run.owned = False
        result = cast(object, self._transform(module, run.context))
        if result is None:
            raise ValueError(
                f"The return value of a module pass must be set: {self.info.name}"
            )
        if not isinstance(result, ModuleOp):
            raise TypeError(
                f"module pass {self.info.name} must return a builtin.module, "
                f"not {type(result).__name__}"
            )
        return result

    def __str__(self) -> str:
        return (
            f"Run Module pass: {self.info.name} at the optimization level "
            f"{self.info.opt_level}"
        )


@dataclass(frozen=True)
class _Decorator:
    """Makes passes, or pass classes, of what it decorates."""

    base: type[CallablePass]
    method: str
    opt_level: int
    name: str | None
    required: list[str]
    traceable: bool

    def __call__(self, pass_func: object) -> Any:
        if inspect.isclass(pass_func):
            return self._pass_class(pass_func)
        if not callable(pass_func):
            raise TypeError("pass_func must be a callable for Module pass")
        return self.base(pass_func, self._info(pass_func))

    def _info(self, subject: object) -> PassInfo:
        default = getattr(subject, "__name__", type(subject).__name__)
        return PassInfo(
            self.opt_level, self.name or default, self.required, self.traceable
        )

    def _pass_class(self, user_class: type) -> type[DelegatingPass]:
        """A pass class whose constructor builds a user object and a pass around it."""
        base, info, method = self.base, self._info(user_class), self.method

        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            user_object = user_class(*args, **kwargs)
            self._user_object = user_object
            base.__init__(self, getattr(user_object, method), info)

        def getattribute(self: Any, attribute: str) -> Any:
            # Reached only for what the pass itself lacks, before the user object is
            # there, too: copy and pickle look up hooks on objects without fields.
            if attribute == "_user_object":
                raise AttributeError(attribute)
            return getattr(self._user_object, attribute)

        functools.update_wrapper(init, user_class.__init__)
        bases: tuple[type[object], ...] = (base,)
        pass_class = type(
            user_class.__name__,
            bases,
            {
                "__init__": init,
                "__getattr__": getattribute,
                "__doc__": user_class.__doc__,
                "__module__": user_class.__module__,
                "__qualname__": user_class.__qualname__,
            },
        )
        return cast("type[DelegatingPass]", pass_class)


_Transform = TypeVar("_Transform")
_Pass = TypeVar("_Pass", bound=CallablePass)


@dataclass(frozen=True)
class PassDecorator(Generic[_Transform, _Pass]):
    """A decorator that makes a pass of a function, or a pass class of a class.

    What the function accepts and returns is said by the pass class `base`. A class has a
    method `transform_<kind>` with these arguments; calling the pass class builds an
    object of the class, on which what the pass lacks is looked up. `name` is by default
    that of the function or class.

    Calls raise ValueError without `opt_level`, TypeError if `required` is no list or
    tuple or what is decorated is not callable.
    """

    base: type[_Pass]
    kind: str

    @overload
    def __call__(
        self,
        pass_func: type,
        opt_level: int,
        name: str | None = None,
        required: _Required = None,
        traceable: bool = False,
    ) -> Callable[..., _Pass]: ...
    @overload
    def __call__(
        self,
        pass_func: _Transform,
        opt_level: int,
        name: str | None = None,
        required: _Required = None,
        traceable: bool = False,
    ) -> _Pass: ...
    @overload
    def __call__(
        self,
        pass_func: None = None,
        *,
        opt_level: int,
        name: str | None = None,
        required: _Required = None,
        traceable: bool = False,
    ) -> Callable[[Any], Any]: ...
    def __call__(
        self,
        pass_func: _Transform | type | None = None,
        opt_level: int | None = None,
        name: str | None = None,
        required: _Required = None,
        traceable: bool = False,
    ) -> Any:
        if opt_level is None:
            raise ValueError(f"Please provide opt_level for the {self.kind} pass.")
        decorator = _Decorator(
            self.base,
            f"transform_{self.kind}",
            opt_level,
            name,
            checked_required(required),
            traceable,
        )
        return decorator if pass_func is None else decorator(pass_func)


prim_func_pass = PassDecorator[FunctionTransform, PrimFuncPass](PrimFuncPass, "function")
"""Makes a `PrimFuncPass`, as `tvm.tir.transform.prim_func_pass`.

The function accepts `(func, module, pass_context)` and returns the new function or None.
"""
module_pass = PassDecorator[ModuleTransform, PythonModulePass](PythonModulePass, "module")
"""Makes a `PythonModulePass`, as `tvm.transform.module_pass`.

The function accepts `(module, pass_context)` and returns a module.
"""


def Apply(ftransform: Callable[[FuncOp], FuncOp | None]) -> PrimFuncPass:
    """The pass `Apply`, level 0: `ftransform` on every `tir.func` of a module.

    `ftransform` returns the new function, or None to delete it; see `PrimFuncPass`.
    As `tvm.tir.transform.Apply`.
    """
    return prim_func_pass(lambda func, _module, _context: ftransform(func), 0, "Apply")


def Filter(fcond: Callable[[FuncOp], bool]) -> PrimFuncPass:
    """The pass `tir.Filter`, level 0: keep the `tir.func`s for which `fcond` holds.

    Everything that is not a `tir.func` is kept. Calls to a deleted function are not
    looked for. Raises TypeError if `fcond` returns no bool. As
    `tvm.tir.transform.Filter`.
    """

    def keep(func: FuncOp, module: ModuleOp, context: PassContext) -> FuncOp | None:
        answer = cast(object, fcond(func))
        if not isinstance(answer, bool):
            raise TypeError(
                f"tir.Filter: the condition must return a bool for "
                f"@{func.sym_name.data}, not {type(answer).__name__}"
            )
        return func if answer else None

    return prim_func_pass(keep, 0, "tir.Filter")


class PrintIR(DelegatingPass):
    """Prints the module to standard error and leaves it alone.

    `show_meta_data` prints the source location of every op as well: of what TVM counts
    as metadata, the only part that xDSL's text leaves out. As `tvm.ir.transform.PrintIR`.
    """

    name = "tvm-print-ir"

    def __init__(self, header: str = "", show_meta_data: bool = False) -> None:
        super().__init__(PassInfo(0, "PrintIR"))
        self.header = header
        self.show_meta_data = show_meta_data

    def transform(self, module: ModuleOp, run: PassRun) -> ModuleOp:
        text = StringIO()
        Printer(text, print_debuginfo=self.show_meta_data).print_op(module)
        print(f"PrintIR({self.header}):\n{text.getvalue()}", file=sys.stderr)
        return module
