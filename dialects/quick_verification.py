"""Definitions of operations, checked once for operations that look the same.

xDSL checks the types, properties and regions of every operation against its definition,
which is most of the time of a verification. That depends on nothing but these, and of a
program most operations look like others. Traits and verifiers of classes are asked of
every operation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Attribute, Operation, Region
from xdsl.irdl import IRDLOperation, OpDef
from xdsl.traits import OpTrait

from xdsl_tvm.dialects.quick_accessors import stored_operands, types_of


class _Verifier(Protocol):
    def __call__(self, op: Operation) -> None: ...


_Key = tuple[object, ...]
_MOST = 4096
"""The looks that are kept of a class, and the attributes in them."""


def quicken_verification(kinds: Iterable[type[Operation]]) -> None:
    """Makes the check of definitions of these classes quick; they mean what they meant.

    Classes that declare attributes, which nearly all leave to properties, are left as
    they are.
    """
    for kind in kinds:
        if issubclass(kind, IRDLOperation):
            definition = kind.get_irdl_definition()
            if not definition.attributes:
                # The verifier that xDSL has made of the class calls it.
                definition.verify = _check(definition, definition.verify)


def _check(definition: OpDef, verify: _Verifier) -> _Verifier:
    """`verify` of a definition, which is called for the first of equal looks."""
    known: dict[_Key, list[Attribute]] = {}
    traits = _CheckedTraits(definition)

    def check(op: Operation) -> None:
        types = types_of(op)
        key = (
            len(stored_operands(op)),
            tuple(map(id, types)),
            tuple(map(_property_key, op.properties.items())),
            tuple(map(_region_key, op.regions)) if op.regions else (),
            len(op.successors),
        )
        if key in known:
            for trait in traits.now():
                trait.verify(op)
            return
        verify(op)
        if len(known) >= _MOST:
            known.clear()
        # What has its identity in the key is kept: nothing else gets that.
        known[key] = [*types, *_types_of_arguments(op), *op.properties.values()]

    return check


class _CheckedTraits:
    """The traits of a definition that have something to verify."""

    def __init__(self, definition: OpDef) -> None:
        self._traits = definition.traits
        self._seen: frozenset[OpTrait] | None = None
        self._checked: Sequence[OpTrait] = ()

    def now(self) -> Sequence[OpTrait]:
        """Those that there are now: some are added to classes later."""
        traits = self._traits.traits
        if traits is not self._seen:
            self._seen = traits
            self._checked = [
                trait for trait in traits if type(trait).verify is not OpTrait.verify
            ]
        return self._checked


def _property_key(item: tuple[str, Attribute]) -> object:
    """What equal properties have in common."""
    name, value = item
    if type(value) is DenseArrayBase:
        # Hashing the bytes takes a fraction of the time.
        return name, id(value.elt_type), value.data.data
    return item


def _region_key(region: Region) -> object:
    """The number of blocks, and the types of the arguments of the first."""
    first = region.first_block
    if first is None:
        return 0
    arguments = tuple([id(argument.type) for argument in first.args])
    return first is region.last_block, arguments


def _types_of_arguments(op: Operation) -> list[Attribute]:
    return [
        argument.type
        for region in op.regions
        if region.first_block is not None
        for argument in region.first_block.args
    ]
