"""The names of variables and buffers in printed scripts.

docs/spec/tvmscript.md §10.1.
"""

from __future__ import annotations

import keyword
import re

_INVALID = re.compile(r"\W", re.ASCII)

RESERVED: frozenset[str] = frozenset(("T", "range", "float"))
"""Names that scripts use for something else."""


def identifier(name: str) -> str:
    """The name with all that an identifier cannot hold replaced."""
    found = _INVALID.sub("_", name) or "v"
    if found[0].isdigit():
        found = f"_{found}"
    return f"{found}_" if keyword.iskeyword(found) else found


class Names:
    """The identifiers in use, in frames that end with the bodies they stand for.

    A name that is taken gets the first free of the suffixes `_1`, `_2` and so on; one
    whose frame has ended is free again.
    """

    def __init__(self) -> None:
        self._used = set(RESERVED)
        self._suffixes: dict[str, int] = {}
        self._frames: list[list[tuple[str, str, int | None]]] = [[]]

    def reserve(self, name: str) -> None:
        """Keep a name from being given."""
        self._used.add(name)

    def fresh(self, hint: str) -> str:
        """A name like `hint` that nothing visible has, taken until the frame ends."""
        base = identifier(hint)
        before = self._suffixes.get(base)
        number = 0 if before is None else before
        name = base if number == 0 else f"{base}_{number}"
        while name in self._used:
            number += 1
            name = f"{base}_{number}"
        # The next search starts here, so that many equal hints do not cost a square.
        self._suffixes[base] = number
        self._used.add(name)
        self._frames[-1].append((name, base, before))
        return name

    def enter(self) -> None:
        """Begin a frame."""
        self._frames.append([])

    def leave(self) -> None:
        """End a frame, and free its names."""
        for name, base, before in reversed(self._frames.pop()):
            self._used.discard(name)
            if before is None:
                del self._suffixes[base]
            else:
                self._suffixes[base] = before
