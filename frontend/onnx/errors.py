"""The error of models that are not converted."""

from __future__ import annotations

from xdsl.utils.exceptions import DiagnosticException


class OnnxError(DiagnosticException, ValueError):
    """Why a model is not converted: one line, with the node and its operator."""


def one_line(error: BaseException) -> str:
    """The first line of what an error says, which libraries write more of."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
