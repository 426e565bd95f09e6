"""Named operands, results and regions of operations, found in less time.

xDSL finds an operand of an operation with several variadic ones by unpacking the bytes of
`operandSegmentSizes` each time. Passes ask for operands more often than for anything
else: here what the bytes say is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, chain, compress
from operator import attrgetter
from typing import Any, TypeAlias

from xdsl.ir import Attribute, Operation, Region, SSAValue, SSAValues
from xdsl.irdl.operations import (
    BeforeVariadicSingleAccessor,
    OptionalAttrAccessor,
    SingleAttrAccessor,
    VariadicAttrAccessor,
    VarIRConstruct,
)

_SEGMENTS = "operandSegmentSizes"
_Part: TypeAlias = SSAValue | Region | Sequence[SSAValue] | None
_Getter: TypeAlias = Callable[[Operation], _Part]

stored_operands: Callable[[Operation], SSAValues] = attrgetter("_operands")
"""The operands as xDSL stores them: `op.operands` makes a list that can be changed."""
type_of: Callable[[SSAValue], Attribute] = attrgetter("_type")
"""The type of a value as xDSL stores it."""
_item: Callable[[tuple[SSAValue, ...], int], SSAValue] = tuple[SSAValue, ...].__getitem__
_slice: Callable[[tuple[SSAValue, ...], slice], tuple[SSAValue, ...]]
_slice = tuple[SSAValue, ...].__getitem__

_known: dict[bytes, tuple[int, ...]] = {}
"""Where segments begin, and the last one ends, by the bytes of their sizes."""
_MOST = 4096


def first_result(op: Operation) -> SSAValue:
    """`op.results[0]`."""
    return _item(op.results, 0)


def types_of(op: Operation) -> list[Attribute]:
    """The types of the operands and results of an operation."""
    return [*map(type_of, stored_operands(op)), *map(type_of, op.results)]


def types_in(ops: Sequence[Operation]) -> list[Attribute]:
    """The types of operands, results and block arguments of operations, each object once.

    What operations hold is not looked into. Few types say of many operations that none
    of them concerns a pass.
    """
    values = [*chain.from_iterable(map(stored_operands, ops))]
    values += chain.from_iterable(map(_results, ops))
    for op in compress(ops, map(_regions, ops)):
        for region in op.regions:
            for block in region.blocks:
                values += block.args
    return distinct(map(type_of, values))


def distinct(attributes: Iterable[Attribute]) -> list[Attribute]:
    """The attributes, each object once."""
    found = list(attributes)
    return [*dict(zip(map(id, found), found, strict=True)).values()]


_results: Callable[[Operation], SSAValues] = attrgetter("results")
_regions: Callable[[Operation], tuple[Region, ...]] = attrgetter("regions")


def quicken_accessors(kinds: Iterable[type[Operation]]) -> None:
    """Makes the names of operands, results and regions of these classes quick.

    They mean what they meant. Where a class declares variadic results or regions, or
    variadic operands all of one size, those are left as they are.
    """
    for kind in kinds:
        for name, accessor in list(vars(kind).items()):
            getter = _getter(accessor) if type(accessor) in _ACCESSORS else None
            if getter is not None:
                setattr(kind, name, property(getter))


_ACCESSORS = frozenset(
    {
        BeforeVariadicSingleAccessor,
        OptionalAttrAccessor,
        SingleAttrAccessor,
        VariadicAttrAccessor,
    }
)


def _getter(accessor: object) -> _Getter | None:
    """The quick form of an accessor; None where there is none."""
    match accessor:
        case BeforeVariadicSingleAccessor(construct=VarIRConstruct.OPERAND, idx=index):
            return lambda op: _item(stored_operands(op), index)
        case BeforeVariadicSingleAccessor(construct=VarIRConstruct.RESULT, idx=index):
            return lambda op: _item(op.results, index)
        case BeforeVariadicSingleAccessor(construct=VarIRConstruct.REGION, idx=index):
            return lambda op: op.regions[index]
        case SingleAttrAccessor() | VariadicAttrAccessor() | OptionalAttrAccessor():
            option = accessor.option
            if accessor.construct is not VarIRConstruct.OPERAND or not option.as_property:
                return None
            return _of_segment(accessor, accessor.idx)
        case _:
            return None


def _of_segment(
    accessor: SingleAttrAccessor | VariadicAttrAccessor | OptionalAttrAccessor,
    index: int,
) -> _Getter:
    def variadic(op: Operation) -> Sequence[SSAValue]:
        starts = segment_starts(op)
        part = slice(starts[index], starts[index + 1])
        return SSAValues(_slice(stored_operands(op), part))

    def single(op: Operation) -> SSAValue:
        return _item(stored_operands(op), segment_starts(op)[index])

    def optional(op: Operation) -> SSAValue | None:
        starts = segment_starts(op)
        start = starts[index]
        return None if start == starts[index + 1] else _item(stored_operands(op), start)

    match accessor:
        case VariadicAttrAccessor():
            return variadic
        case SingleAttrAccessor():
            return single
        case OptionalAttrAccessor():
            return optional


def segment_starts(op: Operation) -> tuple[int, ...]:
    """Where the segments of the operands of an op begin, and the last one ends.

    For operations that say the sizes of the segments.
    """
    sizes: Any = op.properties[_SEGMENTS]
    data: bytes = sizes.data.data
    starts = _known.get(data)
    if starts is None:
        if len(_known) >= _MOST:
            _known.clear()
        starts = _known[data] = tuple(accumulate(sizes.get_values(), initial=0))
    return starts
