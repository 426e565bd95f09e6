"""Passes in a row, and passes by TVM's names."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from functools import cache
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline
from xdsl.universe import Universe

from xdsl_tvm.dialects.copies import copy_of
from xdsl_tvm.passes.infra.compiler_pass import (
    CompilerPass,
    DelegatingPass,
    ForeignPass,
    PassRun,
)
from xdsl_tvm.passes.infra.pass_info import PassInfo
from xdsl_tvm.passes.infra.verification import Trail
from xdsl_tvm.registry import all_passes

_CONSTRUCTORS: dict[str, Callable[[], ModulePass]] = {}


def register_pass(name: str, constructor: Callable[[], ModulePass]) -> None:
    """Let `required` lists name a pass of the caller's own, as `transform.X`.

    A later registration of the same name replaces the earlier one.
    """
    _CONSTRUCTORS[_constructor_name(name)] = constructor


def construct_pass(name: str) -> ModulePass:
    """The pass that a `required` list names: `tir.transform.X`, or X for `transform.X`.

    Raises ValueError if there is no such pass, or none without arguments.
    """
    name = _constructor_name(name)
    constructor = _CONSTRUCTORS.get(name)
    if constructor is None:
        family, _, class_name = name.partition(".transform.")
        constructor = find_pass_class(family, class_name)
    if constructor is None:
        raise ValueError(
            f"Cannot use {name} to create the pass: no pass is registered under this name"
        )
    try:
        return constructor()
    except TypeError as error:
        raise ValueError(f"Cannot use {name} to create the pass: {error}") from error


def _constructor_name(name: str) -> str:
    return name if "transform." in name else f"transform.{name}"


@cache
def _loaders() -> dict[str, Callable[[], type[ModulePass]]]:
    return {name.replace("-", ""): load for name, load in all_passes().items()}


def find_pass_class(family: str, class_name: str) -> type[ModulePass] | None:
    """The pass class of that name among the passes called `<family>-...`, or None.

    Only the file that may hold it is imported: the names of file, pass and class are
    the same but for case and separators.
    """
    load = _loaders().get(family + class_name.lower())
    if load is None or (found := load()).__name__ != class_name:
        return None
    return found


def pass_attribute(module: str, family: str, name: str) -> Callable[..., CompilerPass]:
    """The class `name` for the module that offers the passes called `<family>-...`.

    Raises AttributeError, as a module's `__getattr__` must, if there is no such class.
    """
    found = find_pass_class(family, name)
    if found is None or not issubclass(found, CompilerPass):
        hint = "" if name.startswith("_") else _closest(family, name)
        raise AttributeError(f"module '{module}' has no attribute '{name}'{hint}")
    return found


def _closest(family: str, class_name: str) -> str:
    names = [name for name in _loaders() if name.startswith(family)]
    close = get_close_matches(family + class_name.lower(), names, 1)
    return f"; did you mean '{_loaders()[close[0]]().__name__}'?" if close else ""


def checked_required(required: object) -> list[str]:
    """A pass's `required` argument as a list; TypeError if it is no list or tuple."""
    if not required:
        return []
    if not isinstance(required, list | tuple):
        raise TypeError("Required is expected to be the type of list/tuple.")
    return list(cast("list[str] | tuple[str, ...]", required))


class Sequential(DelegatingPass):
    """Runs passes in a row: those that the current `PassContext` enables.

    Before each of them run the passes that its `info.required` names, whatever the
    context says of those. The module is copied once and then edited in place, unless
    an instrument or a pass made of a Python callable might hold an earlier state.
    The result is verified. Where it is broken, or a pass raises on what an earlier one
    has broken, the passes run again on a copy of the input, unseen by instruments, and
    a PassFailedException names the first whose result does not verify.
    Passes of xDSL or of other projects may be among the passes; their name is xDSL's
    and their level is 0.

    Raises TypeError if `passes` is not a list or tuple of passes, or `required` not a
    list or tuple.
    """

    name = "tvm-sequential"
    is_composite = True
    passes: tuple[CompilerPass, ...]

    def __init__(
        self,
        passes: list[ModulePass] | tuple[ModulePass, ...] | None = None,
        opt_level: int = 0,
        name: str = "sequential",
        required: list[str] | tuple[str, ...] | None = None,
        traceable: bool = False,
    ) -> None:
        required_names = checked_required(required)
        super().__init__(PassInfo(opt_level, name, required_names, traceable))
        self.passes = _checked_passes(passes)

    @staticmethod
    def from_pipeline(pipeline: str) -> Sequential:
        """The Sequential of an `xdsl-opt -p` text: `"tir-simplify,cse"`.

        Raises ValueError for an unknown pass or option.
        """
        available = Universe.get_multiverse().all_passes
        return Sequential(PassPipeline.parse_spec(available, pipeline).passes)

    def transform(self, module: ModuleOp, run: PassRun) -> ModuleOp:
        if run.trail is not None:
            return self._run_all(module, run, run.trail)
        before = copy_of(module) if run.owned else module
        run.trail = Trail(run.xdsl_context, before)
        try:
            module = self._run_all(module, run, run.trail)
            run.trail.verify(module)
        finally:
            run.trail = None
        return module

    def _run_all(self, module: ModuleOp, run: PassRun, trail: Trail) -> ModuleOp:
        for each in self.passes:
            info = each.info
            if not run.context.enabled(info):
                continue
            for name in info.required:
                needed = as_compiler_pass(construct_pass(name))
                with trail.explaining(module):
                    module = needed.run(module, run)
            with trail.explaining(module):
                module = each.run(module, run)
        return module

    def __str__(self) -> str:
        names = "".join(f"{each.info.name} " for each in self.passes)
        return (
            f"Run Sequential pass: {self.info.name} at the optimization level "
            f"{self.info.opt_level}. The passes will be executed are: [{names}]"
        )


def as_compiler_pass(each: ModulePass) -> CompilerPass:
    """`each` itself, or what runs it TVM's way if it is a pass of another project."""
    return each if isinstance(each, CompilerPass) else ForeignPass(each)


def _checked_passes(passes: object) -> tuple[CompilerPass, ...]:
    if passes is None:
        return ()
    if isinstance(passes, list | tuple):
        members = cast("list[object] | tuple[object, ...]", passes)
        if all(isinstance(each, ModulePass) for each in members):
            return tuple(as_compiler_pass(cast(ModulePass, m)) for m in members)
    raise TypeError("passes must be a list of Pass objects.")
