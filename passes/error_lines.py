"""Errors of parsing, verification and passes as one line: what went wrong, and where."""

from __future__ import annotations

import re
from itertools import pairwise

from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError

_OPERATION_NAME = re.compile(r'"([\w$]+(?:\.[\w$]+)+)"\(')


class UserError(Exception):
    """An error that a tool shows as `error: <message>`, without a traceback."""


def error_line(error: BaseException) -> str:
    """`error` in one line.

    A syntax error is preceded by file, line and column; a verification error by the
    name of the operation, unless the message holds it already; anything that is not
    meant as a message to the user by the name of its class.
    """
    if isinstance(error, ParseError):
        return f"{error.span.get_location()}: {_one_line(error.msg)}"
    if isinstance(error, ArgSpecParseError):
        return f"pipeline '{_marked_text(str(error))}': {_last_line(str(error))}"
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f"{error.filename}: "
        return f"{where}{error.strerror}"
    message = _one_line(str(error))
    if isinstance(error, UserError):
        return message
    if isinstance(error, DiagnosticException):
        operation = _marked_operation(error)
        shown = operation is None or operation in message
        return message if shown else f"{operation}: {message}"
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _marked_text(text: str) -> str:
    """The source line above the markers of an xDSL error with context."""
    lines = text.splitlines()
    for above, line in pairwise(lines):
        if line.strip().startswith("^"):
            return above.strip()
    return ""


def _marked_operation(error: BaseException) -> str | None:
    """The operation that xDSL's diagnostic, kept as a note of `error`, points at."""
    for note in getattr(error, "__notes__", ()):
        match = _OPERATION_NAME.search(_marked_text(note))
        if match is not None:
            return match[1]
    return None
