"""The page `docs/performance.md`, in which each benchmark owns a section."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"


def write_section(program: str, title: str, lines: Sequence[str]) -> None:
    """Put `lines`, and the command that made them, into the section of `program`.

    A section that is not there yet goes to the end of the page.
    """
    start, end = f"<!-- {program}: start -->", f"<!-- {program}: end -->"
    text = PAGE.read_text() if PAGE.exists() else "# Performance\n"
    if start not in text:
        text = f"{text.rstrip()}\n\n## {title}\n\n{start}\n{end}\n"
    before, _, rest = text.partition(start)
    after = rest.partition(end)[2]
    command = " ".join(["python", f"benchmarks/{program}", *sys.argv[1:]])
    body = "\n".join([f"`{command}`", "", *lines]).rstrip()
    PAGE.write_text(f"{before}{start}\n\n{body}\n\n{end}{after}")
