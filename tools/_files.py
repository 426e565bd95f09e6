"""Files that the commands write: their names, and what goes wrong with them."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from xdsl_tvm.passes.infra.error_lines import UserError

_LONGEST = 240
"""Bytes of the longest name; file systems take 255, and some endings are added later."""

_RESERVED = re.compile(
    r"(aux|clock\$|con|conin\$|conout\$|nul|prn|(com|lpt)[0-9])(?=\.|$)", re.IGNORECASE
)
"""What Windows keeps for devices, whatever the ending."""


def file_names(names: Sequence[str], ending: str) -> list[str]:
    """A name of a file for each name from a program, in its order.

    Letters, digits, `_`, `-` and inner dots stay; everything else is written as its bytes
    in UTF-8, `%2F` for a slash, so `urllib.parse.unquote` gives the name back. So is
    the first letter of names that Windows keeps for devices, and all capital letters of
    those that differ from others by case only. The empty name is `%`. `names` must be
    different from each other; then so are the files, on every file system.

    Raises UserError for a name that is too long.
    """
    folded = [name.casefold() for name in names]
    is_alone = {name: folded.count(name) == 1 for name in set(folded)}
    return [
        _file_name(name, ending, keep_capitals=is_alone[key])
        for name, key in zip(names, folded, strict=True)
    ]


def _file_name(name: str, ending: str, keep_capitals: bool) -> str:
    device = _RESERVED.match(name)
    encoded = "".join(
        character
        if _is_plain(character, keep_capitals)
        and not (first and device)
        # A dot in front hides a file, and two are the folder above.
        and not (first and character == ".")
        else _escaped(character)
        for character, first in zip(name, (True, *(False,) * len(name)), strict=False)
    )
    if len(encoded) + len(ending) > _LONGEST:
        raise UserError(
            f"the output '{name[:20]}…' has a name of {len(name)} characters, too long "
            "for a file; rename it in the program"
        )
    return f"{encoded or '%'}{ending}"


def _is_plain(character: str, keep_capitals: bool) -> bool:
    if not character.isascii():
        return False
    if character.isupper():
        return keep_capitals
    return character.isalnum() or character in "_-."


def _escaped(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode(errors="surrogatepass"))


@contextmanager
def writing(path: Path) -> Generator[None]:
    """Around what writes a file or makes a folder.

    Raises UserError, which names `path`, where that fails: numpy and the closing of files
    do not say which file it was.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        where = path if error.filename is None else error.filename
        raise UserError(f"{where}: {error.strerror or error}") from error
