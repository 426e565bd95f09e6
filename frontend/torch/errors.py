"""The error of programs that are not converted."""

from __future__ import annotations

from xdsl.utils.exceptions import DiagnosticException


class TorchError(DiagnosticException, ValueError):
    """Why a program is not converted: one line, with the node and its operator."""
