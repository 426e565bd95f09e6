"""Models of other formats as input of commands."""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.passes.infra.error_lines import UserError

MODEL_ENDING = ".onnx"
"""How the names of files of ONNX models end."""


def model_module(file: Path) -> ModuleOp:
    """The module of an ONNX model. Raises UserError, which names the file."""
    try:
        # Late: most inputs are no models, and the package onnx is an extra.
        from xdsl_tvm.frontend.onnx import OnnxError, from_onnx
    except ImportError as error:
        raise UserError(f"{file}: {error}") from None
    try:
        return from_onnx(file)
    except OnnxError as error:
        text = str(error)
        prefix = "" if text.startswith(f"{file}: ") else f"{file}: "
        raise UserError(f"{prefix}{text}") from error
