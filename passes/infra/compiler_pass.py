"""The base class of every pass, and one run of a pass under a `PassContext`."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from inspect import get_annotations
from typing import Any, ClassVar, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException, PassFailedException

from xdsl_tvm.dialects.copies import copy_of
from xdsl_tvm.passes.infra.error_lines import UserError, error_line
from xdsl_tvm.passes.infra.pass_config import ConfigStruct
from xdsl_tvm.passes.infra.pass_context import PassContext
from xdsl_tvm.passes.infra.pass_failure import function_named
from xdsl_tvm.passes.infra.pass_info import PassInfo
from xdsl_tvm.passes.infra.verification import Trail
from xdsl_tvm.registry import new_context

_Struct = TypeVar("_Struct", bound=ConfigStruct)
_Module = TypeVar("_Module", bound=ModuleOp)


class _ThreadContext(threading.local):
    """xDSL's context for passes that are called on a module, without a driver.

    One per thread, because passes load dialects into it.
    """

    def __init__(self) -> None:
        self.context = new_context()


_THREAD = _ThreadContext()


@dataclass
class PassRun:
    """What a run of a pass, and of the passes inside of it, goes by.

    `owned` says that nobody but the run holds the module it is at, so that the next
    pass may edit it in place. It is False at first, when the module is the caller's.
    `trail` is that of the outermost Sequential, which verifies what its passes made.
    """

    context: PassContext
    xdsl_context: Context
    owned: bool = False
    trail: Trail | None = None

    def private(self, module: ModuleOp) -> ModuleOp:
        """`module` itself if it may be edited in place, otherwise a copy."""
        return module if self.owned else copy_of(module)


def _make_options(pass_class: type[CompilerPass], struct: type[ConfigStruct]) -> None:
    """The fields of `struct` as options of the pass, unset by default.

    To be called before the class becomes a dataclass.
    """
    pass_class.config_key = struct.key
    inherited = {field.name: f"{field.type} | None" for field in fields(struct)}
    pass_class.__annotations__ = inherited | get_annotations(pass_class)
    for name in inherited:
        setattr(pass_class, name, None)


def _guarded(apply: Callable[..., None]) -> Callable[..., None]:
    """The `apply` of a pass, with unexpected exceptions reported as its failure."""

    @wraps(apply)
    def guarded(self: ModulePass, ctx: Context, op: ModuleOp) -> None:
        try:
            apply(self, ctx, op)
        except (DiagnosticException, UserError, MemoryError):
            raise
        except Exception as error:
            function = function_named(error)
            where = "" if function is None else f" in @{function}"
            raise PassFailedException(
                f"{self.name}: internal error{where}: {error_line(error)}; report it "
                "with the module, and leave the pass out"
            ) from error

    return guarded


@dataclass(frozen=True)
class CompilerPass(ModulePass):
    """An xDSL module pass that can also be called TVM's way.

    `apply(ctx, module)` edits the module in place, as xDSL's pass managers expect.
    `pass_(module)` runs under the current `PassContext`: instruments are told, the
    argument is left as it is, also when the pass raises, and the result is returned.
    That is the argument itself only if an instrument has skipped the pass. Neither way
    verifies the result, but that of several passes in a Sequential or a composite pass.
    Neither raises an exception of another class than those of xDSL's diagnostics: what
    else comes out of `apply` is a `PassFailedException` that names the pass and the
    function, and has the exception as its `__cause__`.

    Subclasses are frozen dataclasses whose fields are the options of the pass, and
    implement `apply`. Its text form is xDSL's pipeline text, `tir-unroll-loop{...}`.
    """

    tvm_name: ClassVar[str | None] = None
    """TVM's name of the pass, where it is not the one derived from the class."""
    opt_level: ClassVar[int] = 0
    """A Sequential runs the pass if the context's level is at least this."""
    required: ClassVar[tuple[str, ...]] = ()
    """Passes that a Sequential runs first, by constructor name: `tir.transform.X`."""
    traceable: ClassVar[bool] = False
    """Of interest to tuning tools only."""
    config_key: ClassVar[str | None] = None
    """The `PassContext` key of a struct that fills in unset options.

    A pass that derives from the struct has its key and its fields. See
    `resolved_options`.
    """
    is_composite: ClassVar[bool] = False
    """Whether it only runs other passes, each of them in a `run` of its own."""

    @property
    def info(self) -> PassInfo:
        """The metadata, under TVM's name: `tir.LowerInitBlock`, `LegalizeOps`."""
        return PassInfo(
            self.opt_level, self._tvm_name(), list(self.required), self.traceable
        )

    def __init_subclass__(cls, *, runs_passes: bool = False, **kwargs: Any) -> None:
        """`runs_passes`: what `apply` raises is what the passes in it raise."""
        super().__init_subclass__(**kwargs)
        for base in cls.__bases__:
            if issubclass(base, ConfigStruct) and CompilerPass not in base.__mro__:
                _make_options(cls, base)
        own = cls.__dict__.get("apply")
        if own is not None and not runs_passes:
            cls.apply = _guarded(own)

    @abstractmethod
    def apply(self, ctx: Context, op: ModuleOp) -> None: ...

    def __call__(self, module: _Module) -> _Module:
        """The module that the pass makes of `module`, which stays as it is.

        It is of the class of `module`. Raises what the pass raises, and TypeError if
        `module` is no module.
        """
        result = self.run(module, PassRun(PassContext.current(), _THREAD.context))
        return _of_class(type(module), result)

    def resolved_options(self, struct: type[_Struct]) -> _Struct:
        """The options in force: the pass's own where set, else the context's.

        For a pass that derives from `struct`. An option that is None is unset. It takes
        its value from the current `PassContext`, where that sets the key, and else the
        struct's default:

            @dataclass(frozen=True)
            class UnrollLoop(UnrollLoopConfig, CompilerPass):
                name = "tir-unroll-loop"

                def apply(self, ctx, op):
                    options = self.resolved_options(UnrollLoopConfig)
                    ... options.auto_max_step ...
        """
        if self.config_key is None:
            raise TypeError(f"pass {self.name} has no config_key")
        config = PassContext.current().get_config(self.config_key, struct) or struct()
        return struct(
            **{
                field.name: self._own_or(field.name, getattr(config, field.name))
                for field in fields(struct)
            }
        )

    def run(self, module: ModuleOp, run: PassRun) -> ModuleOp:
        """One invocation under `run.context`, instruments included.

        Options and levels of the context that select passes play no role here.
        """
        _check_module(module)
        context, info = run.context, self.info
        if not context.run_before_pass(module, info):
            return module
        if context.instruments:
            # An instrument may have kept the module.
            run.owned = False
        result = self._transform_checked(module, run, info)
        if run.trail is not None and not self.is_composite:
            run.trail.add(self._label(), self)
        context.run_after_pass(result, info)
        if context.instruments:
            run.owned = False
        return result

    def transform(self, module: ModuleOp, run: PassRun) -> ModuleOp:
        """The work of one invocation: `apply` on `module`, or on a copy of it."""
        result = run.private(module)
        self.apply(run.xdsl_context, result)
        run.owned = True
        return result

    def _transform_checked(
        self, module: ModuleOp, run: PassRun, info: PassInfo
    ) -> ModuleOp:
        if not run.context.get_config("testing.immutable_module", bool):
            return self.transform(module, run)
        run.owned = False
        before = module.clone()
        result = self.transform(module, run)
        if not module.is_structurally_equivalent(before):
            raise PassFailedException(
                f"Immutable module has been modified in pass: {info.name}"
            )
        return result

    def _tvm_name(self) -> str:
        if self.tvm_name is not None:
            return self.tvm_name
        family = self.name.partition("-")[0]
        match family:
            case "tir":
                return f"tir.{type(self).__name__}"
            case "relax":
                return type(self).__name__
            case _:
                return self.name

    def _label(self) -> str:
        """How errors call the pass."""
        return self.name

    def _own_or(self, option: str, value: Any) -> Any:
        own = getattr(self, option, None)
        return value if own is None else own


def _of_class(kind: type[_Module], module: ModuleOp) -> _Module:
    """`module` itself if it is one of `kind`, else a copy that is."""
    if isinstance(module, kind):
        return module
    copy = module.clone()
    return kind.create(
        attributes=copy.attributes,
        properties=copy.properties,
        regions=[copy.detach_region(copy.body)],
        location=copy.location,
    )


def _check_module(module: object) -> None:
    if module is None:
        raise ValueError("The input module must be set.")
    if not isinstance(module, ModuleOp):
        found = type(module).__name__
        is_function = isinstance(module, Operation)
        hint = "; give the module that it is in" if is_function else ""
        raise TypeError(f"a pass accepts a builtin.module, not {found}{hint}")


class DelegatingPass(CompilerPass, runs_passes=True):
    """A pass that is described by an object of its own rather than by its class.

    It holds callables and other passes, so it has no pipeline text and is equal to
    itself only. `apply` is one `transform` whose result is moved into the given module,
    so it is in place, too.
    """

    def __init__(self, info: PassInfo) -> None:
        self._info = info

    @property
    def info(self) -> PassInfo:
        return self._info

    def _label(self) -> str:
        return self._info.name

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.apply_within(None, ctx, op)

    def apply_within(self, trail: Trail | None, ctx: Context, op: ModuleOp) -> None:
        """`apply` as a part of what `trail` is about."""
        run = PassRun(PassContext.current(), ctx, owned=True, trail=trail)
        result = self.transform(op, run)
        if result is not op:
            _move_into(op, run.private(result))

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


class ForeignPass(DelegatingPass):
    """An xDSL pass that is not of this package, to be run TVM's way."""

    name = "tvm-foreign-pass"

    def __init__(self, xdsl_pass: ModulePass) -> None:
        super().__init__(PassInfo(0, xdsl_pass.name))
        self._pass = xdsl_pass

    def transform(self, module: ModuleOp, run: PassRun) -> ModuleOp:
        result = run.private(module)
        self._pass.apply(run.xdsl_context, result)
        run.owned = True
        return result

    def __str__(self) -> str:
        return str(self._pass)


def _move_into(module: ModuleOp, result: ModuleOp) -> None:
    """Make `module` what `result` is; the latter is left without a body."""
    module.attributes = result.attributes
    module.properties = result.properties
    module.detach_region(module.body)
    module.add_region(result.detach_region(result.body))
