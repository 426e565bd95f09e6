"""64-bit little-endian ELF object files: their symbols, and files of constants.

Source: the System V ABI, chapters "Object files", "Sections" and "Symbol table".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl_tvm.lowering.llvm_text.datum import Datum

_PROGBITS, _SYMTAB, _STRTAB = 1, 2, 3
_ALLOC = 2
_TLS = 6
_GLOBAL_OBJECT = 1 << 4 | 1
_MACHINES = {"x86_64": 62, "aarch64": 183}
_HEADER, _SECTION, _SYMBOL = 64, 64, 24
_IDENT = b"\x7fELF\x02\x01\x01"


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


def can_hold_data(triple: str) -> bool:
    """Whether `data_object` writes objects for a target."""
    arch, _, system = triple.partition("-")
    return arch in _MACHINES and "linux" in system


def data_object(data: Sequence[Datum], triple: str) -> bytes:
    """An object file that defines constants, for a target that `can_hold_data`.

    The bytes are a section as they are: neither LLVM nor a text is on the way. The
    section is read-only memory of the program.
    """
    content, symbols, names = _Bytes(), bytearray(_SYMBOL), bytearray(1)
    for datum in data:
        start = content.add(datum.data, datum.alignment)
        symbols += struct.pack(
            "<IBBHQQ", len(names), _GLOBAL_OBJECT, 0, 1, start, len(datum.data)
        )
        names += datum.name.encode() + b"\0"
    labels = b"\0.rodata\0.symtab\0.strtab\0.note.GNU-stack\0"
    alignment = max((datum.alignment for datum in data), default=1)
    # Name, type, flags, content, link, info, alignment and size of an entry. The last one
    # says that the program's stack needs not be executable.
    sections = [
        (b".rodata", _PROGBITS, _ALLOC, content, 0, 0, alignment, 0),
        (b".symtab", _SYMTAB, 0, _Bytes([bytes(symbols)]), 3, 1, 8, _SYMBOL),
        (b".strtab", _STRTAB, 0, _Bytes([bytes(names + labels)]), 0, 0, 1, 0),
        (b".note.GNU-stack", _PROGBITS, 0, _Bytes(), 0, 0, 1, 0),
    ]
    file = _Bytes([bytes(_HEADER)])
    table = bytearray(_SECTION)
    for label, kind, flags, inner, link, info, align, entry in sections:
        start = file.add_all(inner, align)
        name = len(names) + labels.index(label + b"\0")
        table += struct.pack(
            "<IIQQQQIIQQ",
            *(name, kind, flags, 0, start, inner.size, link, info, align, entry),
        )
    start = file.add(bytes(table), 8)
    machine = _MACHINES[triple.partition("-")[0]]
    file.parts[0] = _IDENT.ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH",
        *(1, machine, 1, 0, 0, start, 0, _HEADER, 0, 0, _SECTION, len(sections) + 1, 3),
    )
    return b"".join(file.parts)


class _Bytes:
    """Parts that are joined once."""

    def __init__(self, parts: Sequence[bytes] = ()) -> None:
        self.parts = [*parts]
        self.size = sum(map(len, parts))

    def add(self, data: bytes, alignment: int) -> int:
        """Where the data are, after as many zeros as the alignment takes."""
        padding = -self.size % alignment
        self.parts += [bytes(padding), data]
        start = self.size + padding
        self.size = start + len(data)
        return start

    def add_all(self, other: _Bytes, alignment: int) -> int:
        """The same for the parts of another one."""
        start = self.add(b"", alignment)
        self.parts += other.parts
        self.size += other.size
        return start
