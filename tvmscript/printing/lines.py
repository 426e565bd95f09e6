"""Lines of a script that is being printed."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from xdsl_tvm.tvmscript.printing.names import Names


class ScriptLines:
    """Collects lines, indented by the depth of the blocks around, and names in scope."""

    def __init__(self, indent: int) -> None:
        self.lines: list[str] = []
        self._blanks = " " * indent
        self._depth = 0
        self._names = Names()

    def line(self, text: str) -> None:
        """Add a line at the current depth."""
        self.lines.append(f"{self._blanks * self._depth}{text}")

    @contextmanager
    def _frame(self) -> Generator[None]:
        """A block of the script, one level deeper, with names of its own."""
        self._depth += 1
        self._names.enter()
        yield
        self._names.leave()
        self._depth -= 1
