"""Errors of parsing, verification and passes as one line: what went wrong, and where."""

from __future__ import annotations

import re
import sys
from itertools import pairwise

from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError
from xdsl.utils.lexer import Span

from xdsl_tvm.analysis.pointed_text import pointed_text

_OPERATION_NAME = re.compile(r'"([\w$]+(?:\.[\w$]+)+)"\(')

_MENTIONED = re.compile(r"[a-z]\w*(?:\.[a-z]\w*)+(?=[: ])")


class UserError(Exception):
    """An error that a tool shows as `error: <message>`, without a traceback."""


class PlacedError(UserError):
    """An error at a place of a text; `str` is `pointed_text` of it."""

    def __init__(self, span: Span[str] | Span[bytes], message: str) -> None:
        super().__init__(message)
        self.span = span
        self.message = message

    def __str__(self) -> str:
        return pointed_text(self.span, self.message)


def error_text(error: BaseException) -> str:
    """What a tool prints of an error.

    That is `error: …` in one line; of an error at a place of a text it is
    `file:line:column: error: …`, followed by the line of the text and carets.
    """
    if isinstance(error, PlacedError):
        return str(error)
    if isinstance(error, ParseError):
        return pointed_text(error.span, _one_line(error.msg))
    return f"error: {error_line(error)}"


def nesting_line() -> str:
    """What a RecursionError means to the user."""
    return (
        f"nesting is deeper than Python's recursion limit of {sys.getrecursionlimit()} "
        "calls allows; move inner loops, branches or expressions into functions or "
        "values of their own"
    )


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
    if isinstance(error, RecursionError):
        return nesting_line()
    if isinstance(error, PlacedError):
        return f"{error.span.get_location()}: {_one_line(error.message)}"
    message = _one_line(str(error))
    if isinstance(error, MemoryError):
        return message or "out of memory; use smaller shapes, constants or programs"
    if isinstance(error, UserError):
        return message
    if isinstance(error, DiagnosticException):
        operation = _marked_operation(error)
        return message if operation is None else names_operation(operation, error)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


_UNEXPECTED = (LookupError, AttributeError, AssertionError, NameError, ArithmeticError)
"""What no input should lead to, so that the place in the code is of interest."""


def traceback_hint(error: BaseException) -> str:
    """What to add to the line of an error that no input should lead to; else nothing."""
    is_meant = isinstance(error, UserError | DiagnosticException)
    if is_meant or not isinstance(error, _UNEXPECTED):
        return ""
    return " (--traceback shows where)"


def names_operation(operation: str, error: BaseException) -> str:
    """The message of an error of an operation, after its name unless that is in it."""
    message = _one_line(str(error))
    shown = operation in message or mentioned_operation(message) is not None
    return message if shown else f"{operation}: {message}"


def mentioned_operation(message: str) -> str | None:
    """The operation that a message begins with, such as `tir.load` or `relax.nn.relu`."""
    match = _MENTIONED.match(message)
    return None if match is None else match[0]


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
