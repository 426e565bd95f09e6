"""What shows itself as a script: modules and functions, in TVM's words.

TVM's `Scriptable`: `script()` is the text, `show()` prints it, in colours on a terminal
and as HTML in a notebook. Colours need the package pygments.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any, Final, cast

_FIXED: Final[dict[str, object]] = {
    "name": None,
    "show_meta": False,
    "ir_prefix": "I",
    "tir_prefix": "T",
    "relax_prefix": "R",
    "module_alias": "cls",
    "buffer_dtype": "float32",
    "int_dtype": "int32",
    "float_dtype": "void",
    "verbose_expr": False,
    "print_line_numbers": False,
    "num_context_lines": None,
    "show_object_address": False,
    "show_all_struct_info": True,
    "path_to_underline": None,
    "path_to_annotate": None,
    "obj_to_underline": None,
    "obj_to_annotate": None,
}
"""TVM's other options of a script, with the only value that they have here."""

_STYLES: Final = {None: "default", "light": "default", "dark": "monokai", "ansi": None}
"""TVM's names of styles, and those of pygments."""


class Scriptable:
    """A module or a function that has a script."""

    def script(
        self, *, indent_spaces: int = 4, syntax_sugar: bool = True, **options: object
    ) -> str:
        """The script, as `xdsl_tvm.tvmscript.print_script` writes it.

        TVM's other options are accepted with their defaults. Raises ValueError for
        another value of one, TypeError for an option that TVM does not have, and
        DiagnosticException for what TVMScript cannot say.
        """
        for key, value in options.items():
            if key not in _FIXED:
                raise TypeError(f"script() has no option '{key}'")
            if value != _FIXED[key]:
                raise ValueError(
                    f"script: {key}={value!r} is not supported; leave it out, which is "
                    f"{_FIXED[key]!r}"
                )
        # Late: scripts are above dialects, and few programs are shown.
        printer = importlib.import_module("xdsl_tvm.tvmscript.printer")
        text = printer.print_script(self, indent=indent_spaces, sugar=syntax_sugar)
        return cast(str, text)

    def show(
        self, style: str | None = None, black_format: bool | None = None, **options: Any
    ) -> None:
        """Print the script: in colours on a terminal, as HTML in a notebook.

        `style` is `light`, `dark`, `ansi`, or the name of a style of pygments; without
        pygments, and where the output is no terminal, the text is plain. `black_format`
        formats the text by the package black. `options` are those of `script`.

        Raises ValueError for an unknown style, and where black is not installed.
        """
        name = _STYLES.get(style, style)
        text = self.script(**options)
        if black_format:
            text = _formatted(text)
        if (display := _notebook_display()) is not None:
            display.display(display.HTML(_as_html(text, name)))
        else:
            print(_coloured(text, name))

    def _repr_html_(self) -> str:
        """The script for a notebook, which calls this."""
        return _as_html(self.script(), _STYLES[None])


def _pygments(style: str | None) -> Any:
    """The package pygments, None where it is not installed.

    Raises ValueError where it is and does not have the style.
    """
    try:
        found = importlib.import_module("pygments")
    except ImportError:
        return None
    styles = importlib.import_module("pygments.styles")
    known = cast("list[str]", sorted(styles.get_all_styles()))
    if style is not None and style not in known:
        raise ValueError(
            f"show: there is no style '{style}'; use light, dark, ansi or one of "
            f"{', '.join(known)}"
        )
    return found


def _rendered(pygments: Any, text: str, formatter: str, **options: Any) -> str:
    lexers = importlib.import_module("pygments.lexers.python")
    formatters = importlib.import_module("pygments.formatters")
    made = getattr(formatters, formatter)(**options)
    return cast(str, pygments.highlight(text, lexers.PythonLexer(), made))


def _coloured(text: str, style: str | None) -> str:
    pygments = _pygments(style)
    if pygments is None or not sys.stdout.isatty():
        return text
    if style is None:
        return _rendered(pygments, text, "TerminalFormatter")
    return _rendered(pygments, text, "Terminal256Formatter", style=style)


def _as_html(text: str, style: str | None) -> str:
    pygments = _pygments(style)
    if pygments is None:
        # Late: few notebooks lack pygments.
        from html import escape

        return f"<pre>{escape(text)}</pre>"
    return _rendered(
        pygments, text, "HtmlFormatter", style=style or "default", noclasses=True
    )


def _formatted(text: str) -> str:
    try:
        black = importlib.import_module("black")
    except ImportError:
        raise ValueError(
            "show: black_format needs the package black: pip install black"
        ) from None
    return cast(str, black.format_str(text, mode=black.FileMode()))


def _notebook_display() -> Any:
    """What displays HTML, where the code runs in a notebook."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if type(shell).__name__ != "ZMQInteractiveShell":
        return None
    return importlib.import_module("IPython.display")
