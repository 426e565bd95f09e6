"""Runs a pipeline with dumps, timings, verification and a reproducer on failure."""

from __future__ import annotations

import difflib
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TextIO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.analysis.reproducer import write_reproducer
from xdsl_tvm.passes.infra.error_lines import (
    PlacedError,
    UserError,
    error_line,
    traceback_hint,
)
from xdsl_tvm.passes.infra.module_text import ModuleText, verify_input
from xdsl_tvm.passes.infra.verification import BrokenIRError, Trail

PassFactories = Mapping[str, Callable[[], type[ModulePass]]]


class PipelineError(UserError, DiagnosticException):
    """The input does not verify, a pass raised, or its result does not verify.

    One line; `__cause__` is the error itself.
    """


class PipelinePlaceError(PlacedError, PipelineError):
    """A pass raised on an operation at a known place of the text."""


def parse_passes(available: PassFactories, pipeline: str) -> tuple[ModulePass, ...]:
    """The passes of a pipeline text such as `a,b{option=1}`, in our names or TVM's.

    Raises UserError for a name or an option that does not exist and for an option
    value of the wrong type, ArgSpecParseError for text that is no pipeline.
    """
    text = with_own_names(pipeline)
    return tuple(_build_pass(available, spec) for spec in parse_pipeline(text))


_TVM_NAME = re.compile(r"""(?P<text>"[^"]*")|(?<![\w.="-])(?P<name>(?:tir|relax)\.\w+)""")


def with_own_names(pipeline: str) -> str:
    """Pipeline text in which TVM's names of passes, `tir.Simplify`, are replaced by ours.

    Raises UserError, with the closest name, for a name of TVM's that no pass has.
    """
    if all(match["name"] is None for match in _TVM_NAME.finditer(pipeline)):
        return pipeline
    # Late: contracts are read from all passes.
    from xdsl_tvm.passes.infra.contract import names_by_tvm_name

    known = names_by_tvm_name()

    def own(match: re.Match[str]) -> str:
        name = match["name"]
        if name is None:
            return match[0]
        if name not in known:
            check_name("pass of TVM", name, known)
        return known[name]

    return _TVM_NAME.sub(own, pipeline)


def _build_pass(available: PassFactories, spec: ArgSpec) -> ModulePass:
    check_name("pass", spec.name, available)
    try:
        return available[spec.name]().from_pass_spec(spec)
    except ValueError as error:
        raise UserError(f"pass '{spec.name}': {error}") from error


_LONGEST_SHOWN = 80


def check_name(kind: str, name: str, known: Iterable[str], otherwise: str = "") -> None:
    """Raises UserError unless `name` is one of the known ones.

    It has the closest of them, or what to do `otherwise`, where none is close.
    """
    known = list(known)
    if name in known:
        return
    close = difflib.get_close_matches(name, known)
    hint = f"did you mean {' or '.join(close)}?" if close else otherwise
    shown = name if len(name) <= _LONGEST_SHOWN else f"{name[:_LONGEST_SHOWN]}…"
    raise UserError(f"unknown {kind} '{shown}'" + (f"; {hint}" if hint else ""))


class PassCheck(Protocol):
    """Looks at the module between passes, and says so if one did wrong."""

    def start(self, module: ModuleOp) -> None:
        """Called once, before the first pass."""
        ...

    def after(self, one: ModulePass, module: ModuleOp) -> None:
        """Called after `one` has made `module`; raises DiagnosticException."""
        ...

    def smallest(self, one: ModulePass, before: ModuleOp) -> ModuleOp:
        """What to save as the case on which `after` blamed `one`."""
        ...

    def run_options(self) -> str:
        """The options of `xdsl-tvm opt` that make this check."""
        ...

    def summary(self) -> str:
        """What was checked, as lines."""
        ...


@dataclass
class PipelineRunner:
    """Applies passes to modules in place, one after the other.

    `print_before` and `print_after` hold pass names. Dumps and timings go to `log`,
    so that they do not mix with the module a tool prints.
    """

    passes: Sequence[ModulePass]
    print_before: frozenset[str] = frozenset()
    print_after: frozenset[str] = frozenset()
    print_before_all: bool = False
    print_after_all: bool = False
    print_between: bool = False
    """Whether to print after each pass but the last."""
    print_after_failure: bool = False
    reproducer: Path | None = None
    """Where to write the module as it was before a pass that failed."""
    verify_each: bool = True
    """Whether to verify after every pass, not only before the first, after the last.

    With `reproducer` it is done in any case. Without, the passes run again on a copy of
    the input where the result is broken, to find the one that broke it.
    """
    source: str = "input"
    """How errors name the module before the first pass, such as its file name."""
    text: ModuleText | None = None
    """What the module was parsed from, for the place of what does not verify."""
    check: PassCheck | None = None
    """What else looks at the module before the first pass and after each."""
    log: TextIO | None = None
    """Where dumps go; None is the process's stderr."""
    seconds: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])
    """Name and wall time of every pass that ran, without verification and dumps."""

    def run(self, ctx: Context, module: ModuleOp, *, verify: bool = True) -> None:
        """Runs the pipeline on `module`; `verify=False` verifies nowhere.

        Raises PipelineError if the input does not verify, a pass raises, or its result
        does not verify; InputError for input that does not verify if `text` is known.
        """
        if verify:
            self._verify_input(module)
        if self.check is not None:
            self.check.start(module)
        each = self.verify_each or self.reproducer is not None
        trail = Trail(ctx, module.clone()) if verify and not each else None
        for index, one in enumerate(self.passes):
            wanted = self.print_before_all or one.name in self.print_before
            self._dump(wanted, "before", one, module)
            before = module.clone() if self.reproducer is not None else None
            applied = checked = False
            try:
                with nullcontext() if trail is None else trail.explaining(module):
                    self._apply(ctx, one, module)
                applied = True
                if trail is not None:
                    trail.add(one.name, one)
                elif verify:
                    module.verify()
                if self.check is not None:
                    checked = True
                    self.check.after(one, module)
            except Exception as error:
                self._dump(self.print_after_failure, "after failure of", one, module)
                line = error_line(error)
                if trail is None or not isinstance(error, BrokenIRError):
                    line = f"pass '{one.name}' failed: {line}{traceback_hint(error)}"
                placed = None if applied else self.placed_error(ctx, error, index + 1)
                if placed is not None:
                    line = placed.message
                if before is not None:
                    line += self._save(before, index, line, checked)
                if placed is not None:
                    raise PipelinePlaceError(placed.span, line) from error
                raise PipelineError(line) from error
            between = self.print_between and index < len(self.passes) - 1
            wanted = between or self.print_after_all or one.name in self.print_after
            self._dump(wanted, "after", one, module)
        if trail is not None:
            try:
                trail.verify(module)
            except BrokenIRError as error:
                raise PipelineError(error_line(error)) from error

    def _verify_input(self, module: ModuleOp) -> None:
        try:
            verify_input(module)
        except DiagnosticException as error:
            if self.text is not None:
                raise self.text.verification_error(module, error) from error
            raise PipelineError(f"{self.source}: {error_line(error)}") from error

    def placed_error(
        self,
        ctx: Context,
        error: Exception,
        count: int,
        then: Callable[[ModuleOp], object] | None = None,
    ) -> PlacedError | None:
        """An error with the place of its operation in the text; None if not known.

        It was raised in the first `count` passes, or in what is done after them.
        """
        if self.text is None or not isinstance(error, DiagnosticException):
            return None

        def again(module: ModuleOp) -> None:
            for one in self.passes[:count]:
                one.apply(ctx, module)
            if then is not None:
                then(module)

        return self.text.placed_error(error, again, ctx)

    def _apply(self, ctx: Context, one: ModulePass, module: ModuleOp) -> None:
        start = time.perf_counter()
        one.apply(ctx, module)
        self.seconds.append((one.name, time.perf_counter() - start))

    def _dump(self, wanted: bool, when: str, one: ModulePass, module: ModuleOp) -> None:
        if not wanted:
            return
        stream = self.log or sys.stderr
        stream.write(f"// ----- IR {when} {one.name} -----\n")
        # The IR a failed pass leaves behind may be fit for the generic form only.
        generic = when.startswith("after failure")
        Printer(stream=stream, print_generic_format=generic).print_op(module)
        stream.write("\n")

    def _save(self, before: ModuleOp, index: int, line: str, is_check: bool) -> str:
        """Saves the module before the failing pass, and says where."""
        if self.reproducer is None:
            return ""
        passes, options = self.passes[index:], ""
        if is_check and self.check is not None:
            passes, options = passes[:1], self.check.run_options()
            before = self.check.smallest(passes[0], before)
        try:
            write_reproducer(self.reproducer, before, passes, line, options)
        except OSError as error:
            return f" (no reproducer: {self.reproducer}: {error.strerror})"
        return f" (reproducer: {self.reproducer})"

    def timing_report(self) -> str:
        """One line per pass that ran, in order, and the total; in milliseconds."""
        rows = [*self.seconds, ("total", sum(time for _, time in self.seconds))]
        return "".join(f"{1e3 * time:10.3f} ms  {name}\n" for name, time in rows)
