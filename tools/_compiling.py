"""What commands that compile a file have in common: its module, errors, progress."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.passes.infra.error_lines import UserError
from xdsl_tvm.passes.infra.module_text import InputPlaceError, ModuleText
from xdsl_tvm.runtime.executable import Executable, Progress, compile, load_text
from xdsl_tvm.tools._models import MODEL_ENDING, model_module
from xdsl_tvm.tools._progress import ProgressBar, wanted
from xdsl_tvm.tools._scripts import executed_module, has_python
from xdsl_tvm.tools._standard_input import STANDARD_INPUT, standard_input

Compiled = TypeVar("Compiled")

FILE_HELP = ".mlir, .py or .onnx; - for MLIR text on standard input"


def input_module(
    file: Path, *, execute: bool, locations: bool
) -> tuple[ModuleOp, ModuleText | None]:
    """The module of a file, and its text unless it is an executed script or a model.

    The file `-` is MLIR text on standard input.
    """
    if file == STANDARD_INPUT:
        if execute:
            raise UserError("--execute runs a .py file, which is named")
        given = standard_input()
        return load_text(given, locations=locations), given
    if file.suffix == MODEL_ENDING:
        if execute:
            raise UserError(f"{file}: --execute runs .py files")
        return model_module(file), None
    if execute:
        return executed_module(file), None
    text = ModuleText.of_file(file)
    try:
        return load_text(text, locations=locations), text
    except InputPlaceError as error:
        if file.suffix != ".py" or not has_python(text.text):
            raise
        reason = "--execute runs a file with Python beside its scripts"
        raise InputPlaceError(error.span, f"{error.message} ({reason})") from None


def compiled(
    module: ModuleOp, text: ModuleText | None, progress: bool | None, **options: Any
) -> Executable:
    """The executable; errors show their place in the text, and a bar how far it is."""

    def run(module: ModuleOp, progress: Progress | None) -> Executable:
        return compile(module, progress=progress, **options)

    return with_progress(run, module, text, progress)


def with_progress(
    run: Callable[[ModuleOp, Progress | None], Compiled],
    module: ModuleOp,
    text: ModuleText | None,
    progress: bool | None,
) -> Compiled:
    """What a module is compiled to; errors show their place in the text."""
    bar = ProgressBar(sys.stderr)
    try:
        return run(module, bar.update if wanted(progress) else None)
    except UserError:
        raise
    except DiagnosticException as error:
        placed = (
            None
            if text is None
            else text.placed_error(error, lambda module: run(module, None))
        )
        raise placed or error from error
    finally:
        bar.close()
