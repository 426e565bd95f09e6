"""How errors show a place in a text: file, line and column, the line, and carets."""

from __future__ import annotations

from xdsl.utils.lexer import Span

_LONGEST_LINE = 160
"""Characters that are shown of a line; of longer ones, those around the place."""


def pointed_text(span: Span[str] | Span[bytes], message: str) -> str:
    """`file:line:column: error: message`, the line of the text, and carets below it.

    Lines and columns count from 1.
    """
    input_text = span.input
    start = input_text.get_start_of_line(span.start)
    end = input_text.get_end_of_line(span.start)
    if end - start > _LONGEST_LINE:
        start = max(start, span.start - _LONGEST_LINE // 2)
        end = min(end, start + _LONGEST_LINE)
    line, before = (
        _text(input_text.content[start:end]),
        _text(input_text.content[start : span.start]),
    )
    # Tabs stay tabs, so that the carets are below the place in any viewer.
    margin = "".join(character if character == "\t" else " " for character in before)
    width = max(1, min(span.end, end) - span.start)
    location = span.get_location()
    place = f"{location.file}:{location.line}:{location.col}"
    return f"{place}: error: {message}\n{line}\n{margin}{'^' * width}"


def _text(content: str | bytes) -> str:
    """Content for display, in which control characters do not act on a terminal."""
    text = content if isinstance(content, str) else content.decode(errors="replace")
    return "".join(
        c if c.isprintable() or c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in text
    )
