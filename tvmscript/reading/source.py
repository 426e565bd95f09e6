"""The text and the syntax tree of scripts: given as text, or found for live objects.

Syntax trees of live functions and classes come from the file that defines them, parsed
as a whole and once, so lines and columns are those of the file.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import FrameType, FunctionType

from xdsl.dialects.builtin import (
    FileLineColLoc,
    IntAttr,
    LocationAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.utils.lexer import Input, Span

from xdsl_tvm.tvmscript.errors import ScriptError

Definition = ast.FunctionDef | ast.ClassDef
"""What a script defines: a function or a class."""

Placed = tuple[Definition, Sequence[Definition]]
"""A definition, and those around it, outermost first."""


@dataclass(frozen=True, eq=False)
class Source:
    """A text with its syntax tree.

    Raises ScriptError where the text is no Python.
    """

    text: str
    name: str = "<script>"
    locates: bool = False
    """Whether operations get the place of their statement as location."""
    body: Sequence[ast.stmt] = field(init=False)
    """The statements at the top of the text."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "body", self._parsed())

    def _parsed(self) -> Sequence[ast.stmt]:
        try:
            # Without a file name: for an error Python would open the file of that name.
            if not _is_indented(self.text):
                return ast.parse(self.text).body
            # An indented text is the body of something; this keeps its columns.
            tree = ast.parse(f"if True:\n{self.text}")
            ast.increment_lineno(tree, -1)
            return [inner for outer in tree.body for inner in _body_of(outer)]
        except SyntaxError as error:
            raise self._syntax_error(error) from None
        except (MemoryError, RecursionError):
            raise self._nested_too_deeply() from None
        except ValueError as error:
            raise ScriptError(self._span_at(1, 0, 1), str(error)) from None

    @contextmanager
    def blaming_nesting(self) -> Generator[None]:
        """Raises ScriptError for what Python cannot walk, as it is nested too deeply."""
        try:
            yield
        except (MemoryError, RecursionError):
            raise self._nested_too_deeply() from None

    def _nested_too_deeply(self) -> ScriptError:
        return ScriptError(self._span_at(1, 0, 1), "the text is nested too deeply")

    def _syntax_error(self, error: SyntaxError) -> ScriptError:
        shift = 1 if _is_indented(self.text) else 0
        line = min(max((error.lineno or 1) - shift, 1), len(self._starts))
        column = max((error.offset or 1) - 1, 0)
        span = self._span_at(line, column, column + 1)
        return ScriptError(span, f"not valid Python: {error.msg}")

    @cached_property
    def _starts(self) -> Sequence[int]:
        """Where each line starts in the text."""
        starts = [0]
        position = self.text.find("\n")
        while position >= 0:
            starts.append(position + 1)
            position = self.text.find("\n", position + 1)
        return starts

    @cached_property
    def _input(self) -> Input[str]:
        return Input(self.text, self.name)

    def _span_at(self, line: int, column: int, end_column: int) -> Span[str]:
        start = self._starts[line - 1]
        limit = self._input.get_end_of_line(start)
        first = min(start + column, limit)
        return Span(first, min(max(start + end_column, first), limit), self._input)

    def span(self, line: int, column: int, end_column: int | None = None) -> Span[str]:
        """The place on a line, its columns as syntax trees have them: bytes, from 0."""
        start = self._starts[line - 1]
        text = self.text[start : self._input.get_end_of_line(start)]
        first = _characters(text, column)
        end = first + 1 if end_column is None else _characters(text, end_column)
        return self._span_at(line, first, end)

    def location(self, line: int | None, column: int | None) -> LocationAttr:
        """The location of operations of the statement at a place, as trees have it.

        It is unknown unless the source `locates`.
        """
        if not self.locates or line is None or column is None:
            return UnknownLoc()
        start = self._starts[line - 1]
        text = self.text[start : self._input.get_end_of_line(start)]
        column = _characters(text, column) + 1
        return FileLineColLoc(StringAttr(self.name), IntAttr(line), IntAttr(column))

    def error(self, node: ast.AST, message: str) -> ScriptError:
        """An error at a node of the tree."""
        line: int = getattr(node, "lineno", 1)
        column: int = getattr(node, "col_offset", 0)
        end_line: int | None = getattr(node, "end_lineno", None)
        end: int | None = getattr(node, "end_col_offset", None)
        if end_line != line or isinstance(node, ast.stmt):
            end = None
        return ScriptError(self.span(line, column, end), message)

    @cached_property
    def definitions(self) -> Mapping[str, Sequence[Placed]]:
        """The functions and classes of the text, by name, in the order of the text.

        Each comes with those around it, outermost first.
        """
        found: dict[str, list[Placed]] = {}
        for node, around in _definitions(self.body, ()):
            found.setdefault(node.name, []).append((node, around))
        return found


def _body_of(node: ast.stmt) -> Sequence[ast.stmt]:
    return node.body if isinstance(node, ast.If) else [node]


def _is_indented(text: str) -> bool:
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            return line[0] in " \t"
    return False


def _characters(text: str, byte_offset: int) -> int:
    """A column in characters."""
    if text.isascii():
        return byte_offset
    return len(text.encode()[:byte_offset].decode(errors="ignore"))


def _definitions(
    body: Sequence[ast.stmt], around: tuple[Definition, ...]
) -> Iterator[Placed]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node, around
            yield from _definitions(node.body, (*around, node))
            continue
        for nested in ("body", "orelse", "finalbody"):
            yield from _definitions(getattr(node, nested, ()), around)
        for handler in getattr(node, "handlers", ()):
            yield from _definitions(handler.body, around)


def first_line(node: Definition) -> int:
    """The line of the first decorator, or of the definition without one."""
    return min([node.lineno, *(d.lineno for d in node.decorator_list)])


@dataclass(frozen=True)
class LiveDefinition:
    """A live function or class in its source."""

    source: Source
    node: Definition
    around: Sequence[Definition]
    """The functions and classes that it is defined in, outermost first."""


def find_definition(
    definition: FunctionType | type, frame: FrameType | None = None
) -> LiveDefinition:
    """Where a function or a class is defined; `frame` is one that is defining it.

    Raises OSError where its source is not available.
    """
    if isinstance(definition, FunctionType):
        return _find_function(definition)
    return _find_class(definition, frame)


def _find_function(function: FunctionType) -> LiveDefinition:
    code = function.__code__
    source = _source_of(code.co_filename, function.__globals__, function.__qualname__)
    for node, around in source.definitions.get(code.co_name, ()):
        if isinstance(node, ast.FunctionDef) and first_line(node) == code.co_firstlineno:
            return LiveDefinition(source, node, around)
    raise _unavailable(function.__qualname__)


def _find_class(definition: type, frame: FrameType | None) -> LiveDefinition:
    members = [v for v in vars(definition).values() if isinstance(v, FunctionType)]
    source = _source_of_class(definition, members, frame)
    lines = {member.__code__.co_firstlineno for member in members}
    path = [part for part in definition.__qualname__.split(".") if part != "<locals>"]
    found = [
        LiveDefinition(source, node, around)
        for node, around in source.definitions.get(definition.__name__, ())
        if isinstance(node, ast.ClassDef)
        and [outer.name for outer in around] == path[:-1]
        and all(_holds(node, line) for line in lines)
    ]
    if not found:
        raise _unavailable(definition.__qualname__)
    # Of several without functions, the one that is being decorated, or the last.
    decorated = (each for each in found if frame and _holds(each.node, frame.f_lineno))
    return next(decorated, found[-1])


def _holds(node: Definition, line: int) -> bool:
    return first_line(node) <= line <= (node.end_lineno or node.lineno)


def _source_of_class(
    definition: type, members: Sequence[FunctionType], frame: FrameType | None
) -> Source:
    name = definition.__qualname__
    if members:
        code = members[0].__code__
        return _source_of(code.co_filename, members[0].__globals__, name)
    if frame is not None:
        return _source_of(frame.f_code.co_filename, frame.f_globals, name)
    module = sys.modules.get(definition.__module__)
    file = getattr(module, "__file__", None)
    if file is None:
        raise _unavailable(name)
    return _source_of(file, vars(module), name)


def _source_of(file: str, names: dict[str, object], what: str) -> Source:
    linecache.checkcache(file)
    lines = linecache.getlines(file, names)
    if not lines:
        raise _unavailable(what)
    return _parsed_file("".join(lines), file)


@lru_cache(maxsize=16)
def _parsed_file(text: str, file: str) -> Source:
    return Source(text, file)


def _unavailable(what: str) -> OSError:
    return OSError(
        f"the source of {what} is not available; give its text to tvmscript.parse"
    )
