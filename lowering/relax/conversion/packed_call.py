"""What compiled code tells the runtime about a call of a function it does not define.

The text of a `PackedCall` is JSON: what is called, and of each argument and result how
its 64-bit cells are read (`packed.py`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

CALL_PACKED = "tvm_call_packed"
"""The function of the runtime: the addresses of text and cells to 0, or 1 on failure."""
PRINT = "relax.run.print"
"""The function that `relax.print` calls with a text."""


@dataclass(frozen=True)
class TensorSlot:
    """An address and as many extents as the rank says."""

    dtype: str
    rank: int
    is_constant: bool = False

    @property
    def cells(self) -> int:
        """How many cells it takes."""
        return 1 + self.rank


@dataclass(frozen=True)
class ScalarSlot:
    """The bits of an integer, or of a float as f64."""

    dtype: str

    @property
    def cells(self) -> int:
        """How many cells it takes."""
        return 1


@dataclass(frozen=True)
class ShapeSlot:
    """Extents."""

    rank: int

    @property
    def cells(self) -> int:
        """How many cells it takes."""
        return self.rank


@dataclass(frozen=True)
class ObjectSlot:
    """The number that stands for a value of the runtime."""

    @property
    def cells(self) -> int:
        """How many cells it takes."""
        return 1


@dataclass(frozen=True)
class FunctionSlot:
    """A function of the module, by its name."""

    name: str

    @property
    def cells(self) -> int:
        """How many cells it takes."""
        return 0


@dataclass(frozen=True)
class TupleSlot:
    """Fields, one after the other."""

    fields: tuple[Slot, ...]

    @property
    def cells(self) -> int:
        """How many cells it takes."""
        return sum(slot.cells for slot in self.fields)


Slot: TypeAlias = (
    TensorSlot | ScalarSlot | ShapeSlot | ObjectSlot | FunctionSlot | TupleSlot
)
_KINDS: dict[str, Any] = {
    "tensor": TensorSlot,
    "scalar": ScalarSlot,
    "shape": ShapeSlot,
    "object": ObjectSlot,
    "function": FunctionSlot,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


@dataclass(frozen=True)
class PackedCall:
    """One place where the runtime is called.

    `kind` is `call`, `print` or `assert`; the latter two write `format` with `{}`
    replaced by the arguments. `inplace` says of each result which argument it is, -1 for
    one that is copied to where its cells say.
    """

    kind: str
    callee: str
    format: str = ""
    inplace: tuple[int, ...] = ()
    arguments: tuple[Slot, ...] = ()
    results: tuple[Slot, ...] = ()

    def on(self, arguments: Sequence[Slot], results: Sequence[Slot]) -> PackedCall:
        """The call with these arguments and results."""
        return replace(self, arguments=tuple(arguments), results=tuple(results))

    @property
    def text(self) -> str:
        """The call as text."""
        return json.dumps(
            {
                "kind": self.kind,
                "callee": self.callee,
                "format": self.format,
                "inplace": self.inplace,
                "arguments": [_encoded(slot) for slot in self.arguments],
                "results": [_encoded(slot) for slot in self.results],
            },
            separators=(",", ":"),
        )

    @staticmethod
    def parse(text: str) -> PackedCall:
        """The call that a text of `text` says."""
        fields = json.loads(text)
        return PackedCall(
            fields["kind"],
            fields["callee"],
            fields["format"],
            tuple(fields["inplace"]),
            tuple(map(_decoded, fields["arguments"])),
            tuple(map(_decoded, fields["results"])),
        )


def _encoded(slot: Slot) -> list[Any]:
    if isinstance(slot, TupleSlot):
        return ["tuple", *map(_encoded, slot.fields)]
    return [_NAMES[type(slot)], *asdict(slot).values()]


def _decoded(fields: list[Any]) -> Slot:
    name, *values = fields
    if name == "tuple":
        return TupleSlot(tuple(map(_decoded, values)))
    return _KINDS[name](*values)
