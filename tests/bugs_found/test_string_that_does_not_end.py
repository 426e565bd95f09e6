"""A string without its end is refused at once.

xDSL's lexer tries all partitions of the characters of such a string, so 40 of them keep
it busy for days.
"""

import pytest

from xdsl_tvm.passes.infra.module_text import InputPlaceError
from xdsl_tvm.runtime.load import load_module

LONG = "x" * 200


@pytest.mark.parametrize(
    "text",
    [
        f'func.func @f() attributes {{a = "{LONG}\n}} {{ func.return }}',
        f'func.func @f() attributes {{a = "{LONG}',
        f'func.func @f() attributes {{a = "{LONG}\\q"}} {{ func.return }}',
    ],
)
def test_it_is_refused(text: str) -> None:
    with pytest.raises(InputPlaceError, match=r"1:32.*a string that does not end"):
        load_module(text)


def test_strings_that_end() -> None:
    """Quotes in comments, and comments in strings, are neither."""
    text = 'func.func @f() attributes {a = "//\\22\\n\\""} { func.return } // "\n// "'
    (function,) = load_module(text).ops
    assert str(function.attributes["a"]) == '"//\\22\\0A\\22"'
