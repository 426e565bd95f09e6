"""Errors of scripts that tests mark in their texts."""

from __future__ import annotations

import pytest

from xdsl_tvm.tvmscript import ScriptError, parse


def error_of(marked: str) -> ScriptError:
    """The error of a text with a mark, which must be where the mark does."""
    start = marked.index("«")
    text = marked.replace("«", "").replace("»", "")
    with pytest.raises(ScriptError) as caught:
        parse(text, file="script.py")
    error = caught.value
    line = text.count("\n", 0, start) + 1
    column = start - (text.rfind("\n", 0, start) + 1) + 1
    assert (error.file, error.line, error.column) == ("script.py", line, column), error
    return error
