"""Layouts of tensors as text, such as NCHW and NCHW4c (docs/spec/relax-ops.md §11).

A capital letter is a dimension; a number and a small letter after it are a dimension
inside of it, of that extent. A layout is over the dimensions of its capital letters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod

from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.attributes import Dims
from xdsl_tvm.dialects.relax.symbolic import Dim, ceildiv

_AXIS = re.compile(r"([A-Z])|([1-9]\d*)([a-z])")


@dataclass(frozen=True)
class Layout:
    """The order of a tensor's dimensions, some of them in blocks."""

    text: str
    axes: tuple[tuple[str, int], ...]
    """Per dimension its letter and, of a small one, its extent; 0 for a capital one."""

    @staticmethod
    def parse(op: str, text: str, letters: str) -> Layout:
        """A layout over the given capital letters.

        Raises VerifyException for what is none, misses a letter or repeats one.
        """
        found: list[tuple[str, int]] = []
        end = 0
        for match in _AXIS.finditer(text):
            if match.start() != end:
                break
            end = match.end()
            capital, size, small = match.groups()
            found.append((capital, 0) if capital else (small, int(size)))
        names = [name for name, _ in found]
        capitals = sorted(name for name in names if name.isupper())
        is_closed = all(name.upper() in capitals for name in names)
        if end != len(text) or capitals != sorted(letters) or not is_closed:
            raise VerifyException(
                f'{op}: layout "{text}" does not order the dimensions {letters}'
            )
        if len(set(names)) != len(names):
            raise VerifyException(f'{op}: layout "{text}" repeats a dimension')
        return Layout(text, tuple(found))

    @property
    def rank(self) -> int:
        """Number of dimensions of a tensor in this layout."""
        return len(self.axes)

    def _block(self, letter: str) -> int:
        return prod(size for name, size in self.axes if name == letter.lower())

    def to_plain(self, dims: Dims, letters: str) -> Dims:
        """Dimensions of a tensor in this layout, in the order of the capital letters."""
        extents = {
            name: dim for (name, _), dim in zip(self.axes, dims, strict=True) if dim
        }
        return tuple(
            extents[letter] * self._block(letter) if letter in extents else None
            for letter in letters
        )

    def from_plain(self, dims: Dims, letters: str) -> Dims:
        """The other way round; a block that is not full counts as one."""
        extents = dict(zip(letters, dims, strict=True))

        def extent(name: str, size: int) -> Dim | None:
            if size:
                return Dim.constant(size)
            dim = extents[name]
            return None if dim is None else ceildiv(dim, self._block(name))

        return tuple(extent(name, size) for name, size in self.axes)

    def __str__(self) -> str:
        return self.text
