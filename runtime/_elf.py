"""The symbols of a 64-bit little-endian ELF object file.

Source: the System V ABI, chapters "Object files" and "Symbol table".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_SYMTAB = 2
_TLS = 6
_IDENT = b"\x7fELF\x02\x01"


@dataclass(frozen=True)
class Symbol:
    """A global symbol: its name, whether the file defines it, whether per thread."""

    name: str
    defined: bool
    thread_local: bool


def is_elf(data: bytes) -> bool:
    """Whether `data` is an object file that `symbols` can read."""
    return data.startswith(_IDENT)


def symbols(data: bytes) -> Iterator[Symbol]:
    """The global and weak symbols of an object file."""
    sections = _sections(data)
    for kind, offset, size, link in sections:
        if kind != _SYMTAB:
            continue
        _, names, names_size, _ = sections[link]
        strings = data[names : names + names_size]
        for name, info, _, section, _, _ in struct.iter_unpack(
            "<IBBHQQ", data[offset : offset + size]
        ):
            if info >> 4 and name:
                text = strings[name : strings.index(b"\0", name)].decode()
                yield Symbol(text, section != 0, info & 15 == _TLS)


def _sections(data: bytes) -> list[tuple[int, int, int, int]]:
    """Type, offset, size and link of each section."""
    (start,) = struct.unpack_from("<Q", data, 0x28)
    entry, count = struct.unpack_from("<HH", data, 0x3A)
    found: list[tuple[int, int, int, int]] = []
    for index in range(count):
        at = start + index * entry
        kind = struct.unpack_from("<I", data, at + 4)[0]
        offset, size = struct.unpack_from("<QQ", data, at + 0x18)
        link = struct.unpack_from("<I", data, at + 0x28)[0]
        found.append((kind, offset, size, link))
    return found
