"""A digest of what a module says, by which its compiled form is found again.

Two modules have one digest if they print the same up to the names of values and blocks,
and to locations. Printing itself would take far longer: the elements of dense constants
are hashed as bytes, and each attribute is written once. Large constants have digests of
their own, which are computed side by side.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.in_threads import map_in_threads

_LARGE = 4096
"""Bytes of a constant from which on it has a digest of its own."""


class _Digest:
    def __init__(self, constants: Mapping[int, bytes]) -> None:
        self._hash = hashlib.sha256()
        self._constants = constants
        self._values: dict[SSAValue, int] = {}
        self._blocks: dict[Block, int] = {}
        # The attributes are kept, so that an id is never used again.
        self._attributes: dict[int, tuple[Attribute, bytes]] = {}

    def hexdigest(self) -> str:
        return self._hash.hexdigest()

    def _field(self, data: bytes) -> None:
        self._hash.update(len(data).to_bytes(8, "little"))
        self._hash.update(data)

    def _number(self, number: int) -> None:
        self._hash.update(number.to_bytes(8, "little"))

    def _attribute(self, attribute: Attribute) -> None:
        found = self._attributes.get(id(attribute))
        if found is None:
            found = (attribute, _bytes(attribute, self._constants))
            self._attributes[id(attribute)] = found
        self._field(found[1])

    def _dictionary(self, items: Iterable[tuple[str, Attribute]]) -> None:
        entries = sorted(items, key=lambda item: item[0])
        self._number(len(entries))
        for name, attribute in entries:
            self._field(name.encode())
            self._attribute(attribute)

    def _numbered(self, values: Iterable[SSAValue]) -> None:
        """Values that an op or a block defines: their number and types."""
        defined = list(values)
        self._number(len(defined))
        for value in defined:
            self._values.setdefault(value, len(self._values))
            self._number(self._values[value])
            self._attribute(value.type)

    def operation(self, op: Operation) -> None:
        """An op without its regions."""
        self._field(op.name.encode())
        self._number(len(op.operands))
        for operand in op.operands:
            # An operand may be defined further down, in a graph region.
            self._number(self._values.setdefault(operand, len(self._values)))
        self._numbered(op.results)
        self._dictionary(op.properties.items())
        self._dictionary(op.attributes.items())
        self._number(len(op.successors))
        for successor in op.successors:
            self._number(self._blocks.setdefault(successor, len(self._blocks)))
        self._number(len(op.regions))
        for region in op.regions:
            self._number(len(region.blocks))

    def block(self, block: Block) -> None:
        """A block without its ops, and how many of them there are."""
        self._number(self._blocks.setdefault(block, len(self._blocks)))
        self._numbered(block.args)
        self._number(sum(1 for _ in block.ops))


def _bytes(attribute: Attribute, constants: Mapping[int, bytes]) -> bytes:
    if isinstance(attribute, DenseIntOrFPElementsAttr):
        dense = cast(DenseIntOrFPElementsAttr, attribute)
        data = dense.data.data
        if len(data) < _LARGE:
            return str(dense.type).encode() + b"\0" + data
        digest = constants.get(id(data)) or hashlib.sha256(data).digest()
        return str(dense.type).encode() + b"\1" + digest
    if isinstance(attribute, DenseArrayBase):
        array = cast(DenseArrayBase, attribute)
        return _text_of(array.elt_type) + b"\0" + array.data.data
    return _text_of(attribute)


def _text_of(attribute: Attribute) -> bytes:
    return _kept_text(attribute) if _is_kept(attribute) else str(attribute).encode()


_is_kept = of_classes(
    StringAttr,
    IntegerType,
    Float16Type,
    Float32Type,
    Float64Type,
    tir.BufferType,
    tir.HandleType,
    tir.ForKindAttr,
    tir.IterKindAttr,
)
"""Of frequent attributes those that print the same if they are equal, as 0.0 and -0.0
do not."""


@lru_cache(maxsize=4096)
def _kept_text(attribute: Attribute) -> bytes:
    return str(attribute).encode()


@dataclass(frozen=True)
class Fingerprint:
    """The digest of a module, and those of its large constants."""

    digest: str
    constants: Mapping[bytes, bytes]
    """The bytes of the constants by their digests."""

    @property
    def digests(self) -> dict[int, bytes]:
        """The digests of the constants by the `id` of their bytes."""
        return {id(data): digest for digest, data in self.constants.items()}


def module_fingerprint(module: ModuleOp) -> str:
    """The digest of a module, the same in every process. Linear in its size."""
    return fingerprint_of(module).digest


def fingerprint_of(module: ModuleOp) -> Fingerprint:
    """The digest of a module, and of its constants."""
    large = large_constants(module)
    found = map_in_threads(_sha256, large, sum(map(len, large)))
    digests = dict(zip(map(id, large), found, strict=True))
    digest = _Digest(digests)
    pending: list[Operation | Block] = [module]
    while pending:
        item = pending.pop()
        if isinstance(item, Block):
            digest.block(item)
            pending.extend(reversed(list(item.ops)))
        else:
            digest.operation(item)
            blocks = [block for region in item.regions for block in region.blocks]
            pending.extend(reversed(blocks))
    return Fingerprint(digest.hexdigest(), {digests[id(data)]: data for data in large})


def large_constants(module: ModuleOp) -> list[bytes]:
    """The bytes of large constants that operations have, each once."""
    found: dict[int, bytes] = {}
    for op in all_ops(module):
        for attribute in op.properties.values():
            if isinstance(attribute, DenseIntOrFPElementsAttr):
                data = cast(DenseIntOrFPElementsAttr, attribute).data.data
                if len(data) >= _LARGE:
                    found[id(data)] = data
    return list(found.values())


def _sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
