"""The error of a script that cannot be read."""

from __future__ import annotations

from xdsl.utils.exceptions import ParseError

from xdsl_tvm.analysis.pointed_text import pointed_text


class ScriptError(ParseError):
    """What is wrong in a script, and where.

    `str` gives `file:line:column: error: message`, the line of the script, and carets
    below the place; lines and columns count from 1. As a ParseError it is reported by
    the tools as errors in `.mlir` files are.
    """

    @property
    def message(self) -> str:
        """What is wrong, without the place."""
        return self.msg

    @property
    def file(self) -> str:
        """The name of the file, `<script>` for text that came from none."""
        return self.span.get_location().file

    @property
    def line(self) -> int:
        """The line of the file, from 1 on."""
        return self.span.get_location().line

    @property
    def column(self) -> int:
        """The column in characters, from 1 on."""
        return self.span.get_location().col

    def __str__(self) -> str:
        return pointed_text(self.span, self.msg)
