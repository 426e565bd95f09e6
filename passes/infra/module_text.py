"""Modules as text: read, parsed and verified, with errors that say where."""

from __future__ import annotations

import codecs
import math
import re
import struct
from bisect import bisect_right
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    FileLineColLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Block, Operation
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException, ParseError, VerifyException
from xdsl.utils.lexer import Input, Span

from xdsl_tvm.dialects.float_literals import with_hexadecimal_floats
from xdsl_tvm.dialects.tir.storage_scope import did_you_mean
from xdsl_tvm.passes.infra.error_lines import (
    PlacedError,
    UserError,
    error_line,
    mentioned_operation,
    names_operation,
    nesting_line,
)
from xdsl_tvm.passes.infra.pass_failure import failure_of
from xdsl_tvm.registry import new_context

ENDINGS = (".mlir", ".py")
"""How the names of files that hold modules end."""

MAX_CONSTANT_ELEMENTS = 1 << 28
"""Elements of a constant in text. One number in the text may stand for all of them, and
the parser keeps each in 8 bytes and more: this many take some seconds and gigabytes."""


class InputError(UserError, ValueError):
    """A file or a text that holds no module: one line, which names it."""


class InputPlaceError(PlacedError, InputError):
    """What is wrong at a place of a text; the line of it follows, with carets."""


@contextmanager
def reading(name: str) -> Generator[None]:
    """Around what reads, verifies or prints what the file or text `name` holds.

    Raises InputError where it is no text, or is nested too deeply for Python.
    """
    try:
        yield
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name}: byte 0x{error.object[error.start]:02x} at offset {error.start} is "
            "not UTF-8 text; give a text file that is saved as UTF-8"
        ) from None
    except RecursionError as error:
        raise InputError(f"{name}: {nesting_line()}") from error


@dataclass(frozen=True)
class ModuleText:
    """The text of a module, in MLIR or in TVMScript, and where in it operations are."""

    text: str
    name: str = "<text>"
    """What errors call the text."""
    line_offset: int = 0
    """How many lines of the file are before the text."""
    is_script: bool = False
    """Whether it is TVMScript."""
    _starts: dict[Operation, int] = field(default_factory=dict[Operation, int])
    _verified: set[Operation] = field(default_factory=set[Operation])
    """Modules whose functions were verified as they were read."""

    @staticmethod
    def of_file(path: Path) -> ModuleText:
        """The text of a file.

        Raises InputError for a file that does not end in `.mlir` or `.py` or is no text,
        and OSError for one that cannot be read.
        """
        check_ending(path)
        with reading(str(path)):
            text = path.read_text(encoding="utf-8")
        return ModuleText(text, str(path), is_script=path.suffix == ".py")

    def parsed(
        self,
        context: Context | None = None,
        *,
        implicit_module: bool = True,
        locations: bool = False,
    ) -> ModuleOp:
        """The module of the text, which is not verified.

        With `locations`, operations have their place in the text as location. Raises
        ParseError, InputError if the text is empty, begins with a byte order mark, holds
        a NUL character or is nested too deeply, and DiagnosticException for a script that
        is no valid module.
        """
        if not self.text.strip():
            what = "TVMScript" if self.is_script else "MLIR text"
            raise InputError(f"{self.name}: the file is empty; it should hold {what}")
        if self.text.startswith(codecs.BOM_UTF8.decode()):
            raise InputPlaceError(
                self._span(0, 1), "a byte order mark; save the file as UTF-8 without one"
            )
        nul = self.text.find("\0")
        if nul >= 0:
            raise InputPlaceError(
                self._span(nul, nul + 1), "a NUL character; give a text file"
            )
        with reading(self.name):
            if self.is_script:
                # Late: most modules are no scripts.
                from xdsl_tvm.tvmscript.parser import parse_text

                module, is_verified = parse_text(
                    self.text, file=self.name, locations=locations
                )
                if is_verified:
                    self._verified.add(module)
                return module
            self._check_strings()
            parser = _Parser(context or new_context(), self.text, self.name)
            try:
                module = parser.parse_module(implicit_module)
            except ParseError as error:
                raise self._with_names(parser, error) from None
            self._starts.update(parser.starts)
            if locations:
                for op in parser.starts:
                    op.location = self._location(op)
            return module

    def _check_strings(self) -> None:
        """Refuse a string that does not end: xDSL's lexer, which tries all partitions of
        its characters, would not come to an end, either.
        """
        for found in _STRING_OR_COMMENT.finditer(self.text):
            if found[1] == "":
                raise InputPlaceError(
                    self._span(*found.span()),
                    "a string that does not end on its line, or has an unknown escape",
                )

    def placed_error(
        self,
        error: DiagnosticException,
        again: Callable[[ModuleOp], object],
        context: Context | None = None,
    ) -> InputPlaceError | None:
        """The error of a pass, with the place in the text of the operation it refused.

        None if that is not known. `again` does on another module of the text what raised
        `error`: operations get locations only then, so that parsing takes no time for
        them where nothing fails. What passes made of an operation may have kept its.
        """
        failure = failure_of(error)
        if failure.operation is None:
            return None
        place = None
        if failure.operation in self._starts:
            place = self.place_of(failure.operation)
        else:
            place = self._place_in_rerun(error, again, context)
        if place is None:
            return None
        message = error_line(error)
        name = failure.pass_name
        is_named = name is None or message.startswith(f"{name}:")
        return InputPlaceError(place, message if is_named else f"{name}: {message}")

    def error_at(self, op: Operation, message: str) -> InputPlaceError | None:
        """An error of a module parsed with locations, at the place of an operation.

        None where the operation and those around it have none.
        """
        place = self.place_of(op) or self._located(op)
        return None if place is None else InputPlaceError(place, message)

    def _place_in_rerun(
        self,
        error: DiagnosticException,
        again: Callable[[ModuleOp], object],
        context: Context | None,
    ) -> Span[str] | None:
        module = self.parsed(context, locations=True)
        try:
            again(module)
        except DiagnosticException as repeated:
            if error_line(repeated) == error_line(error):
                return self._located(failure_of(repeated).operation)
        return None

    def _located(self, op: Operation | None) -> Span[str] | None:
        """The place that the location of an operation tells, or of one around it."""
        while op is not None:
            match op.location:
                case FileLineColLoc(
                    filename=StringAttr(data=self.name),
                    line=IntAttr(data=line),
                    column=IntAttr(data=column),
                ):
                    start = self._line_starts[line - 1] + column - 1
                    name = _WORD.match(self.text, start)
                    end = start + 1 if name is None or self.is_script else name.end()
                    return self._span(start, end)
                case _:
                    op = op.parent_op()
        return None

    def _location(self, op: Operation) -> LocationAttr:
        start = self._name_start(op)
        line = bisect_right(self._line_starts, start)
        column = start - self._line_starts[line - 1] + 1
        return FileLineColLoc(StringAttr(self.name), IntAttr(line), IntAttr(column))

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def _name_start(self, op: Operation) -> int:
        start = self._starts[op]
        named = self.text.find(op.name, start)
        return start if named < 0 else named

    def place_of(self, op: Operation) -> Span[str] | None:
        """Where the name of an operation is, or that of the closest one around it."""
        around: Operation | None = op
        while around is not None and around not in self._starts:
            around = around.parent_op()
        if around is None:
            return None
        start = self._name_start(around)
        return self._span(start, start + len(around.name))

    def _span(self, start: int, end: int) -> Span[str]:
        return Span(start, end, Input(self.text, self.name), self.line_offset)

    def _with_names(self, parser: _Parser, error: ParseError) -> ParseError:
        """An error of the parser; of an unknown operation, with names that are close."""
        unknown = _UNKNOWN.fullmatch(error.msg)
        if unknown is None:
            return error
        name = unknown[1]
        start = max(self.text.rfind(name, 0, error.span.start), 0)
        what = f"{name}: {_unknown_operation(parser.known, name)}"
        return ParseError(self._span(start, start + len(name)), what)

    def verify(self, module: ModuleOp) -> None:
        """Verify a module that `parsed` has returned, before it is changed.

        Raises InputError, with the place of the operation where that is known.
        """
        try:
            with reading(self.name):
                verify_input(module, nested=module not in self._verified)
        except DiagnosticException as error:
            raise self.verification_error(module, error) from error

    def verification_error(
        self, module: ModuleOp, error: DiagnosticException
    ) -> InputError:
        """What `verify` raises for an error of the verifier."""
        op = _invalid_operation(module)
        op = None if op is None else _mentioned(op, error)
        place = None if op is None else self.place_of(op)
        if op is None or place is None:
            return InputError(f"{self.name}: {error_line(error)}")
        return InputPlaceError(place, names_operation(op.name, error))


def check_ending(path: Path) -> None:
    """Raises InputError for a file whose name does not say that it holds a module."""
    if path.suffix not in ENDINGS:
        found = f"ends in '{path.suffix}'" if path.suffix else "has no ending"
        raise InputError(
            f"{path}: the name {found}; give a file of MLIR text, which ends in .mlir, "
            "or of TVMScript, which ends in .py"
        )


_WORD = re.compile(r"[\w.]+")
_STRING_OR_COMMENT = re.compile(
    r'//[^\n]*+|"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+("?)'
)

_UNKNOWN = re.compile(r"Operation (\S+) is not registered")


class _Parser(Parser):
    """A parser that keeps where operations begin."""

    def __init__(self, context: Context, text: str, name: str) -> None:
        super().__init__(context, text, name)
        self.known = context
        self.starts: dict[Operation, int] = {}

    def _parse_dense_literal_type(self) -> Any:
        start = self.pos
        dtype: Any = super()._parse_dense_literal_type()
        count = math.prod(dtype.get_shape())
        if count > MAX_CONSTANT_ELEMENTS:
            self.raise_error(
                f"a constant of {count} elements, more than the {MAX_CONSTANT_ELEMENTS} "
                "that a module may hold; make it a parameter, or relax.full for equal "
                "elements",
                start,
                self.pos,
            )
        return dtype

    def parse_dense_int_or_fp_elements_attr(self, type: Any) -> Any:
        start = self.pos
        try:
            attr = super().parse_dense_int_or_fp_elements_attr(type)
        except (OverflowError, ValueError, struct.error) as error:
            self.raise_error(f"an element is not one of the type: {error}", start)
        text = self.lexer.input.slice(start, self.pos)
        return with_hexadecimal_floats(attr, text or "")

    def _parse_block(self) -> Block:
        # A name that a branch before it has used is defined twice: xDSL has a KeyError.
        token = self._current_token
        name = token.text[1:]
        _, first = self.blocks.get(name, (None, token.span))
        if first is None and name not in self.forward_block_references:
            self.raise_error(f"re-declaration of block '{name}'", token.span)
        return super()._parse_block()

    def parse_operation(self) -> Operation:
        start = self.pos
        try:
            op = super().parse_operation()
        except VerifyException as error:
            # xDSL checks some properties while it reads them, and says no place.
            self.raise_error(str(error), start)
        self.starts[op] = start
        return op


def _unknown_operation(context: Context, name: str) -> str:
    """What is unknown about an operation, with the closest known name."""
    dialect, dot, _ = name.partition(".")
    found = context.get_optional_dialect(dialect)
    if dot and found is None:
        known = list(context.registered_dialect_names)
        return f"there is no dialect '{dialect}'{did_you_mean(dialect, known)}"
    known = [] if found is None else [op.name for op in found.operations]
    return f"there is no such operation{did_you_mean(name, known)}"


def _mentioned(op: Operation, error: DiagnosticException) -> Operation:
    """The operation in `op` that an error begins with, if there is only one such."""
    name = mentioned_operation(str(error).strip())
    if name is None or name == op.name:
        return op
    found = [inner for inner in op.walk() if inner.name == name]
    return found[0] if len(found) == 1 else op


_OF_INVALID_IR = (AttributeError, LookupError, TypeError, AssertionError)
"""What verifiers raise that read another operation, which does not verify itself."""


def verify_input(module: ModuleOp, *, nested: bool = True) -> None:
    """Verify a module, without its operations if not `nested`.

    Raises DiagnosticException for the operation that does not verify, also where the
    verifier of another one fails on it first.
    """
    try:
        module.verify(verify_nested_ops=nested)
    except _OF_INVALID_IR:
        op = _invalid_operation(module)
        if op is not None:
            op.verify(verify_nested_ops=False)
        raise


def _invalid_operation(module: ModuleOp) -> Operation | None:
    """The operation that verification stops at."""
    pending: list[tuple[Operation, bool]] = [(module, False)]
    while pending:
        op, is_ready = pending.pop()
        if not is_ready:
            inner = [o for region in op.regions for b in region.blocks for o in b.ops]
            pending.append((op, True))
            pending += [(each, False) for each in reversed(inner)]
            continue
        try:
            op.verify(verify_nested_ops=False)
        except DiagnosticException:
            return op
        except _OF_INVALID_IR:
            continue
    return None
