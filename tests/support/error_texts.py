"""The form of errors: one line, followed by the line of the text where there is one."""

from __future__ import annotations

import re

_PLACE = re.compile(r"[^\n]+:\d+:\d+: error: ")


def first_line(text: str) -> str:
    """The first line of an error, whose further lines can only be a place in a text."""
    lines = text.rstrip("\n").split("\n")
    if len(lines) > 1:
        assert _PLACE.match(lines[0]), lines
        assert len(lines) == 3, lines
        carets = lines[2].strip()
        assert carets, lines
        assert set(carets) == {"^"}, lines
    return lines[0]
