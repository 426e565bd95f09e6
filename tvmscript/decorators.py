"""The decorators of scripts: they read the function or class that they decorate."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from types import FrameType, FunctionType
from typing import TYPE_CHECKING, overload

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.ir_module import IRModule
from xdsl_tvm.tvmscript.frames import PrimFuncFrame
from xdsl_tvm.tvmscript.parser import (
    is_member_of_module,
    read_live_function,
    read_live_macro,
    read_live_module,
    read_live_relax,
)
from xdsl_tvm.tvmscript.reading.definitions import (
    FunctionMarker,
    MacroMarker,
    ModuleMarker,
)
from xdsl_tvm.tvmscript.reading.macros import Macro
from xdsl_tvm.tvmscript.reading.relax_body import RelaxMarker

if TYPE_CHECKING:
    from xdsl_tvm.relax.dpl import PatternMatchingRewriter


class PrimFuncDecorator(PrimFuncFrame):
    """`T.prim_func(...)`: decorates a function, or opens one for the builder."""

    def __call__(self, function: FunctionType) -> tir.FuncOp | FunctionType:
        """The `tir.func` of the function; see `T.prim_func`."""
        marker = FunctionMarker(self.private, self.check_well_formed)
        return _prim_func(function, marker, _caller())


@dataclass(frozen=True)
class PrimFunc(FunctionMarker):
    """`T.prim_func`.

    As a decorator it reads a Python function into a `tir.func` op, which belongs to no
    module yet:

        @T.prim_func
        def scale(A: T.Buffer((16,), "float32")):
            for i in range(16):
                A[i] = A[i] * T.float32(2)

        module = ModuleOp([scale])

    In the body of a module, `scale = scale` makes it a function of that module, which
    others call as `Module.scale(...)`. Inside of a class that `I.ir_module` decorates the
    function stays as it is; the class reads it. Called with options only, it is a
    decorator with them, or a frame of the builder: `with T.prim_func(private=True):`.

    A private function has no `global_symbol`. `s_tir` is newer TVM's permission to hold
    blocks, which every function has here. Raises ScriptError where the function
    cannot be read, and OSError where its source is not available.
    """

    @overload
    def __call__(self, function: FunctionType, /) -> tir.FuncOp | FunctionType: ...
    @overload
    def __call__(
        self,
        /,
        *,
        private: bool = False,
        check_well_formed: bool = True,
        s_tir: bool = False,
    ) -> PrimFuncDecorator: ...
    def __call__(
        self,
        function: FunctionType | None = None,
        /,
        *,
        private: bool = False,
        check_well_formed: bool = True,
        s_tir: bool = False,
    ) -> tir.FuncOp | FunctionType | PrimFuncDecorator:
        if function is None:
            return PrimFuncDecorator(private=private, check_well_formed=check_well_formed)
        return _prim_func(function, FunctionMarker(), _caller())


def _prim_func(
    function: FunctionType, marker: FunctionMarker, frame: FrameType | None
) -> tir.FuncOp | FunctionType:
    _require(function, FunctionType, "T.prim_func decorates a function")
    if is_member_of_module(function):
        return function
    return read_live_function(function, marker, frame)


@dataclass(frozen=True)
class TirMacro(MacroMarker):
    """`T.macro`: statements that are read in the place of each call.

    docs/spec/tvmscript.md §2.5.

    Names in the body that are no parameters are those around the macro; with
    `hygienic=False`, those around the call.
    """

    @overload
    def __call__(self, function: FunctionType, /) -> Macro: ...
    @overload
    def __call__(self, /, *, hygienic: bool = True) -> TirMacro: ...
    def __call__(
        self, function: FunctionType | None = None, /, *, hygienic: bool = True
    ) -> Macro | TirMacro:
        if function is None:
            return TirMacro(hygienic)
        _require(function, FunctionType, "T.macro decorates a function")
        return read_live_macro(function, self, _caller())


@dataclass(frozen=True)
class IRModuleDecorator(ModuleMarker):
    """`I.ir_module`: reads a class into a module.

    Its functions are decorated with `T.prim_func` or `R.function`, call each other as
    `Module.f(...)`, and see what Python code in the class sees. `name = f` takes over a
    function that was read before.
    """

    @overload
    def __call__(self, definition: type, /) -> IRModule: ...
    @overload
    def __call__(self, /, *, check_well_formed: bool = True) -> IRModuleDecorator: ...
    def __call__(
        self, definition: type | None = None, /, *, check_well_formed: bool = True
    ) -> IRModule | IRModuleDecorator:
        if definition is None:
            return IRModuleDecorator(check_well_formed)
        _require(definition, type, "I.ir_module decorates a class")
        return read_live_module(definition, self, _caller())


@dataclass(frozen=True)
class RelaxFunction(RelaxMarker):
    """`R.function`.

    As a decorator it reads a Python function into a `relax.func` op, which belongs to no
    module yet:

        @R.function
        def scale(x: R.Tensor(("n", 4), "float32")):
            return x * R.const(2, "float32")

        module = IRModule({"main": scale})

    In the body of a module, `scale = scale` makes it a function of that module, which
    others call as `Module.scale(...)`. Inside of a class that `I.ir_module` decorates the
    function stays as it is; the class reads it.

    A private function has no `global_symbol`; one that is not `pure` may hold impure
    calls. Raises ScriptError where the function cannot be read, and OSError where its
    source is not available.
    """

    @overload
    def __call__(self, function: FunctionType, /) -> relax.FuncOp | FunctionType: ...
    @overload
    def __call__(
        self,
        /,
        *,
        pure: bool = True,
        private: bool = False,
        check_well_formed: bool = True,
    ) -> RelaxFunction: ...
    def __call__(
        self,
        function: FunctionType | None = None,
        /,
        *,
        pure: bool = True,
        private: bool = False,
        check_well_formed: bool = True,
    ) -> relax.FuncOp | FunctionType | RelaxFunction:
        for option in (pure, private, check_well_formed):
            _require(option, bool, "the options of R.function are bools")
        if function is None:
            return RelaxFunction(check_well_formed, private, pure)
        _require(function, FunctionType, "R.function decorates a function")
        if is_member_of_module(function):
            return function
        return read_live_relax(function, self, _caller())


def rewriter(definition: type) -> PatternMatchingRewriter:
    """`R.rewriter`: reads a class into a rewriter of functions and modules.

    The class is a module with the functions `pattern` and `replacement`; see
    `PatternMatchingRewriter.from_module` of `xdsl_tvm.relax.dpl`.
    """
    from xdsl_tvm.relax.dpl import PatternMatchingRewriter

    _require(definition, type, "R.rewriter decorates a class")
    module = read_live_module(definition, ir_module, _caller())
    return PatternMatchingRewriter.from_module(module)


def _caller() -> FrameType | None:
    """The frame that a decorator is applied in."""
    own = inspect.currentframe()
    decorator = own.f_back if own else None
    return decorator.f_back if decorator else None


def _require(value: object, kind: type, message: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{message}, not a {type(value).__name__}")


function = RelaxFunction()
prim_func = PrimFunc()
macro = TirMacro()
ir_module = IRModuleDecorator()
