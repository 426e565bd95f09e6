"""What `compile` and `interpret` accept as a module."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any, TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException, ParseError

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.passes.infra.module_text import InputPlaceError, ModuleText, reading
from xdsl_tvm.registry import new_context

FunctionOp: TypeAlias = tir.FuncOp | relax.FuncOp | func.FuncOp
Source: TypeAlias = ModuleOp | FunctionOp | str | Path
"""A module; a function, such as one that a decorator of scripts has read; a file, as a
Path or a name that ends in .mlir, or in .py, which is a script in TVMScript that is read
and not run; or the text of such a file."""

_SCRIPT = re.compile(
    r"^[ \t]*(?:@[\w.]*\b(?:prim_func|function|ir_module)\b|from\s+[\w.]+\s+import\s)",
    re.MULTILINE,
)
"""A line that scripts have and MLIR text has not."""


def load_module(source: Source, context: Context | None = None) -> ModuleOp:
    """The module that `source` is or holds, verified.

    A function that is part of a module is taken out of it, as a copy. Functions of
    StableHLO are converted to Relax by `stablehlo-to-relax`.

    Raises InputError, a ValueError, for text that is no module or no valid one, with
    file, line and column where they are known; OSError for a file that cannot be read;
    VerifyException for an object that is not valid; and TypeError for any other object.
    """
    if isinstance(source, ModuleOp | FunctionOp):
        with reading("the module"):
            is_module = isinstance(source, ModuleOp)
            module = source if is_module else ModuleOp([source.clone()])
            module.verify()
            return without_stablehlo(module)
    return load_text(_text(source), context)


def load_text(
    text: ModuleText, context: Context | None = None, *, locations: bool = False
) -> ModuleOp:
    """The module of a text, verified. Raises InputError as `load_module` does.

    With `locations`, operations have their place in the text as location.
    """
    try:
        module = text.parsed(context, locations=locations)
    except ParseError as error:
        raise InputPlaceError(error.span, error.msg) from None
    text.verify(module)
    return converted_text(text, module, context)


def converted_text(
    text: ModuleText, module: ModuleOp, context: Context | None = None
) -> ModuleOp:
    """`without_stablehlo` of the verified module of a text.

    Errors are InputErrors with their place in the text, where that is known.
    """
    try:
        return without_stablehlo(module)
    except DiagnosticException as error:
        raise text.placed_error(error, without_stablehlo, context) or error from error


def without_stablehlo(module: ModuleOp) -> ModuleOp:
    """The module with its functions of StableHLO converted to Relax.

    A module that has some is copied. Raises PassFailedException for what is not
    converted.
    """
    functions = (op for op in module.ops if isinstance(op, func.FuncOp))
    if not any(_is_stablehlo(op) for each in functions for op in each.walk()):
        return module
    # Late: few programs are of StableHLO.
    from xdsl_tvm.passes.stablehlo.to_relax import ToRelax

    converted = module.clone()
    ToRelax().apply(new_context(), converted)
    converted.verify()
    return converted


def _is_stablehlo(op: Operation) -> bool:
    return op.name.startswith(("stablehlo.", "chlo."))


def _text(source: object) -> ModuleText:
    if isinstance(source, str | Path) and str(source).endswith(".onnx"):
        raise TypeError(
            f"expected a module or its text, got the ONNX model {source}; {_READ_ONNX}"
        )
    if isinstance(source, Path):
        return ModuleText.of_file(source)
    if not isinstance(source, str):
        raise TypeError(
            "expected a module, a function of TVMScript or MLIR, a file or its text, got "
            f"{_shown(source)}"
        )
    if source.endswith((".mlir", ".py")) and "\n" not in source:
        return ModuleText.of_file(Path(source))
    return ModuleText(source, is_script=_SCRIPT.search(source) is not None)


def _shown(source: Any) -> str:
    kind = type(source).__name__
    if callable(source) and hasattr(source, "__name__"):
        return (
            f"the {kind} {source.__name__}; decorate it with T.prim_func, R.function or "
            "I.ir_module"
        )
    shown = f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"
    for each in inspect.getmro(cast("type[Any]", type(source))):
        if (how := _READERS.get(f"{each.__module__}.{each.__name__}")) is not None:
            return f"{shown}; {how}"
    return shown


_READ_ONNX = "read it by relax.frontend.onnx.from_onnx"
_READ_TORCH = "read it by relax.frontend.torch.from_exported_program"
_READERS = {
    "onnx.onnx_ml_pb2.ModelProto": _READ_ONNX,
    "torch.export.exported_program.ExportedProgram": _READ_TORCH,
    "torch.nn.modules.module.Module": "export it by torch.export.export, and "
    f"{_READ_TORCH}",
    "xdsl_tvm.relax.frontend.nn.core.Module": "use its export_tvm or its jit",
    "jax._src.stages.Lowered": "pass its text, as_text()",
}
"""What to do with models of other kinds, by their classes."""
