"""`xdsl-tvm opt`: xdsl-opt with dumps, timings, a reproducer and one-line errors."""

from __future__ import annotations

import argparse
import inspect
import sys
import textwrap
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, NoReturn

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, parse_spec
from xdsl.utils.exceptions import DiagnosticException, VerifyException
from xdsl.xdsl_opt_main import xDSLOptMain

from xdsl_tvm.passes.infra import pipeline_text, written_out
from xdsl_tvm.passes.infra.error_lines import UserError
from xdsl_tvm.passes.infra.module_text import (
    InputError,
    ModuleText,
    check_ending,
    reading,
)
from xdsl_tvm.passes.infra.pipeline_runner import (
    PassCheck,
    PipelineRunner,
    check_name,
    parse_passes,
    with_own_names,
)
from xdsl_tvm.runtime.load import converted_text
from xdsl_tvm.tools._files import writing
from xdsl_tvm.tools._models import MODEL_ENDING, model_module
from xdsl_tvm.tools._scripts import EXECUTE_HELP, executed_module
from xdsl_tvm.tools._seeds import seed


def refuse_arguments(message: str) -> NoReturn:
    """Stands in for argparse's handler, which prints a page of usage."""
    raise UserError(message)


_USAGE = "xdsl-tvm opt [options] [FILE]"
_DESCRIPTION = (
    "Runs passes on a file of MLIR text, .mlir, TVMScript, .py, or an ONNX model, .onnx, "
    "or on standard input, which is meant by - or no FILE, as xdsl-opt does, with dumps, "
    "timings and reproducers. "
    "`xdsl-tvm passes` lists this package's passes and their options; all passes of xDSL "
    "can be run, too."
)
_SHORT_HELP = {
    "--passes": "passes in order, as in cse,tir-simplify; TVM's names, such as "
    "tir.Simplify, are accepted",
    "--target": "what to write; default: mlir",
    "--print-between-passes": "print the IR after each pass but the last, to standard "
    "error",
    "--time-passes": "the same as --timing",
    "--verify-diagnostics": "print what does not verify, or what a pass refuses, to "
    "standard output, and exit with code 0",
    "--parsing-diagnostics": "print what is wrong with the syntax to standard output, "
    "and exit with code 0",
    "--frontend": "what the input is; default: as its ending says, .mlir, .py or .onnx",
}
"""Texts for options of xdsl-opt that list all names there are, or do more here."""


class _HelpParser(argparse.ArgumentParser):
    """A parser that is only printed."""

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        if names[-1] in _SHORT_HELP:
            options["help"] = _SHORT_HELP[names[-1]]
        return super().add_argument(*names, **options)


def _add_options(arg_parser: argparse.ArgumentParser) -> None:
    """The options that xdsl-opt does not have."""
    add = arg_parser.add_argument
    add("--execute", action="store_true", help=EXECUTE_HELP)
    add(
        "--print-pipeline",
        action="store_true",
        help="print the passes that -p stands for, as text for -p, and read no input",
    )
    add(
        "--timing",
        action="store_true",
        help="print the time of each pass, to standard error",
    )
    add(
        "--print-ir-before",
        metavar="NAMES",
        default="",
        help="print the IR before these passes, comma-separated, to standard error",
    )
    add("--print-ir-after", metavar="NAMES", default="", help="the same, after them")
    add(
        "--print-ir-before-all",
        action="store_true",
        help="print the IR before every pass, also of those that a pass of -p stands for",
    )
    add("--print-ir-after-all", action="store_true", help="the same, after them")
    add(
        "--print-ir-after-failure",
        action="store_true",
        help="print the IR that a failing pass leaves",
    )
    add(
        "--reproducer",
        metavar="FILE",
        type=Path,
        help="on failure, write the IR before the failing pass and a RUN line",
    )
    add(
        "--check-semantics",
        metavar="SEED",
        type=seed,
        nargs="?",
        const=0,
        help="run every TIR function before and after each pass on random inputs, "
        "and compare; with --reproducer, a failing case is cut down and saved",
    )
    add(
        "--verify-each",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="verify after every pass, not only at both ends",
    )
    add("--traceback", action="store_true", help="show where an error was raised")


def _check_pass_runs(names: frozenset[str], passes: Sequence[ModulePass]) -> None:
    """Raises UserError for a name to print around that no pass of the pipeline has."""
    unseen = sorted(names - {each.name for each in passes})
    if unseen:
        raise UserError(
            f"nothing to print before or after '{unseen[0]}': -p does not run it; "
            "--print-pipeline lists what it runs"
        )


class OptMain(xDSLOptMain):
    """xdsl-opt's driver over a PipelineRunner."""

    runner: PipelineRunner
    _line_offset: int = 0

    def register_all_frontends(self) -> None:
        super().register_all_frontends()
        self.available_frontends["mlir"] = lambda chunk: self._parsed(chunk, ".mlir")
        self.available_frontends["py"] = lambda chunk: self._parsed(chunk, ".py")
        self.available_frontends["onnx"] = self._model

    def parse_chunk(
        self, chunk: IO[bytes], file_extension: str, start_offset: int = 0
    ) -> ModuleOp | None:
        self._line_offset = start_offset
        with self._diagnosed():
            return super().parse_chunk(chunk, file_extension, start_offset)

    def _model(self, chunk: IO[bytes]) -> ModuleOp:
        """The module of an ONNX model, a file whose folder may hold its data."""
        del chunk
        return model_module(Path(self.get_input_name()))

    def _parsed(self, chunk: IO[bytes], ending: str) -> ModuleOp:
        """The module of a file; a script is run only if --execute says so."""
        name = self.get_input_name()
        if self.args.execute:
            return executed_module(Path(name))
        with reading(name):
            content = chunk.read().decode()
        text = ModuleText(content, name, self._line_offset, is_script=ending == ".py")
        self.runner.text = text
        implicit = not self.args.no_implicit_module
        module = text.parsed(self.ctx, implicit_module=implicit)
        names = [each.name for each in self.runner.passes]
        if not names or "stablehlo-to-relax" in names or self.args.disable_verify:
            return module
        # Passes on Relax are given, so that is what StableHLO has to become.
        text.verify(module)
        return converted_text(text, module, self.ctx)

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        arg_parser.prog = "xdsl-tvm opt"
        arg_parser.error = refuse_arguments
        arg_parser.format_help = self._help
        _add_options(arg_parser)

    def _help(self) -> str:
        """Our options, then those of xdsl-opt, without its lists of all names."""
        ours = _HelpParser(prog="xdsl-tvm opt", usage=_USAGE, description=_DESCRIPTION)
        _add_options(ours)
        theirs = _HelpParser(usage=argparse.SUPPRESS, add_help=False)
        super().register_all_arguments(theirs)
        _, _, options = theirs.format_help().partition("options:\n")
        targets = textwrap.fill(
            ", ".join(self.available_targets), 79, break_on_hyphens=False
        )
        return (
            f"{ours.format_help()}\noptions of xdsl-opt:\n{options}\n"
            f"targets, for -t:\n{textwrap.indent(targets, '  ')}\n"
        )

    def setup_pipeline(self) -> None:
        if self.args.input_file == "-":
            self.args.input_file = None
        passes = parse_passes(self.available_passes, self.args.passes)
        self._check_target(parse_spec(self.args.target))
        before = self._pass_names(self.args.print_ir_before)
        after = self._pass_names(self.args.print_ir_after)
        if before or after or self._watches_all_passes():
            passes = written_out(passes, before | after)
            _check_pass_runs(before | after, passes)
        self.runner = PipelineRunner(
            passes,
            print_before=before,
            print_after=after,
            print_before_all=self.args.print_ir_before_all,
            print_after_all=self.args.print_ir_after_all,
            print_between=self.args.print_between_passes,
            print_after_failure=self.args.print_ir_after_failure,
            reproducer=self.args.reproducer,
            verify_each=self.args.verify_each,
            check=self._check(),
            source=self.get_input_name(),
        )

    def _check_target(self, spec: ArgSpec) -> None:
        """Raises UserError for a target or an option of it that does not exist, and for
        an option value of the wrong type."""
        check_name("target", spec.name, self.available_targets)
        entry: Any = self.available_targets[spec.name]
        # Those that are functions of a module have no options.
        if spec.parameters and not inspect.signature(entry).parameters:
            try:
                entry().from_spec(spec)
            except ValueError as error:
                raise UserError(f"target '{spec.name}': {error}") from error

    def _check(self) -> PassCheck | None:
        if self.args.check_semantics is None:
            return None
        from xdsl_tvm.tools.check_semantics import SemanticsPassCheck

        return SemanticsPassCheck(self.args.check_semantics)

    def _watches_all_passes(self) -> bool:
        """Whether an option is about each pass, also about those in a composite one."""
        args = self.args
        return (
            args.print_ir_before_all
            or args.print_ir_after_all
            or args.print_ir_after_failure
            or args.print_between_passes
            or args.timing
            or args.time_passes
            or args.reproducer is not None
            or args.check_semantics is not None
        )

    def _pass_names(self, text: str) -> frozenset[str]:
        text = with_own_names(text)
        names = [name.strip() for name in text.split(",") if name.strip()]
        for name in names:
            check_name("pass", name, self.available_passes)
        return frozenset(names)

    def apply_passes(self, prog: ModuleOp) -> None:
        with self._diagnosed():
            self.runner.run(self.ctx, prog, verify=not self.args.disable_verify)

    @contextmanager
    def _diagnosed(self) -> Generator[None]:
        """Around what verifies input, whose errors --verify-diagnostics prints."""
        try:
            yield
        except InputError as error:
            is_shown = self.args.verify_diagnostics
            if is_shown and isinstance(error.__cause__, DiagnosticException):
                raise VerifyException(str(error)) from error
            raise

    def output_resulting_program(self, prog: ModuleOp) -> str:
        output = super().output_resulting_program
        try:
            return output(prog)
        except UserError:
            raise
        except DiagnosticException as error:
            count = len(self.runner.passes)
            placed = self.runner.placed_error(self.ctx, error, count, output)
            raise placed or error from error

    def _writing(self) -> AbstractContextManager[None]:
        file: str | None = self.args.output_file
        if file is None:
            return nullcontext()
        folder = Path(file).parent
        if not folder.is_dir():
            raise UserError(f"{file}: there is no folder '{folder}'; make it first")
        return writing(Path(file))

    def run(self) -> None:
        name = self.get_input_name()
        if self.args.execute and (self.args.split_input_file or not name.endswith(".py")):
            raise UserError("--execute runs a whole .py file, which is named")
        if self.args.print_pipeline:
            print(pipeline_text(self.runner.passes))
            return
        try:
            if self.args.input_file is not None and self.args.frontend is None:
                file = Path(self.args.input_file)
                if file.suffix != MODEL_ENDING:
                    check_ending(file)
            with reading(self.get_input_name()), self._writing():
                super().run()
        finally:
            if self.args.timing or self.args.time_passes:
                sys.stderr.write(self.runner.timing_report())
            if self.runner.check is not None:
                sys.stderr.write(self.runner.check.summary())


def main(arguments: Sequence[str]) -> None:
    """Runs the command; errors are raised, for the caller to print."""
    OptMain("xdsl-opt with dumps, timings and reproducers", arguments).run()
