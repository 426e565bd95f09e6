"""Markdown as the pages that are written from the code have it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def title(text: str) -> str:
    """A heading of a section."""
    return f"\n## {text}\n\n"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; bars in its cells are escaped."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
