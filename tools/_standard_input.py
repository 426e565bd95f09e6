"""MLIR text on standard input, which commands take for the file `-`."""

from __future__ import annotations

import sys
from pathlib import Path

from xdsl_tvm.passes.infra.module_text import ModuleText, reading

STANDARD_INPUT = Path("-")


def standard_input() -> ModuleText:
    """The text. Raises InputError for what is no text."""
    with reading("stdin"):
        return ModuleText(sys.stdin.buffer.read().decode(), "stdin")
