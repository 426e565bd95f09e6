"""Operations that are made in a fraction of the time.

xDSL compares what a new operation is made of with its definition, group by group. Passes
make operations by the thousand, and verification compares them in any case. Also without
that, as by `Operation.create`, most of the time is taken by what few operations have:
successors, regions, and properties with defaults.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import TypeAlias, TypeVar

from xdsl.dialects.builtin import UNKNOWN_LOC, DenseArrayBase, LocationAttr, i32
from xdsl.ir import (
    Attribute,
    Block,
    IRNode,
    Operation,
    OpResult,
    Region,
    SSAValue,
    SSAValues,
)
from xdsl.irdl import AttrSizedOperandSegments, IRDLOperation, OptionalDef
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects.by_class import of_classes

Group: TypeAlias = SSAValue | Operation | Sequence[SSAValue | Operation] | None
"""An operand, those of a variadic group, or an optional operand that is not there."""

_Op = TypeVar("_Op", bound=Operation)
_NOTHING: Mapping[str, Attribute] = {}


def create(
    kind: type[_Op],
    *,
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = _NOTHING,
    attributes: Mapping[str, Attribute] = _NOTHING,
    location: LocationAttr | None = None,
    successors: Sequence[Block] = (),
    regions: Sequence[Region] = (),
) -> _Op:
    """What `kind.create` makes."""
    op = kind.__new__(kind)
    initialize(
        op,
        operands=operands,
        result_types=result_types,
        properties=properties,
        attributes=attributes,
        location=location,
        successors=successors,
        regions=regions,
    )
    return op


def initialize(
    op: Operation,
    *,
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = _NOTHING,
    attributes: Mapping[str, Attribute] = _NOTHING,
    location: LocationAttr | None = None,
    successors: Sequence[Block] = (),
    regions: Sequence[Region] = (),
) -> None:
    """What `Operation.__init__` does.

    Operands, results, successors and regions that there are none of are those of the
    class, which has none.
    """
    if operands:
        op.operands = operands
    if result_types:
        results = [OpResult(type, op, index) for index, type in enumerate(result_types)]
        op.results = SSAValues(results)
    op.properties = {**properties}
    op.attributes = {**attributes}
    op.location = UNKNOWN_LOC if location is None else location
    if successors:
        op.successors = successors
    for region in regions:
        op.add_region(region)
    set_defaults(op)


def erase(op: Operation) -> None:
    """What `Rewriter.erase_op` does: detaches an operation, and erases it.

    Results that have no uses need nothing that takes their place.
    """
    if any(result.first_use is not None for result in op.results):
        Rewriter.erase_op(op)
        return
    if op.parent is not None:
        op.detach()
    op.drop_all_references()


def set_defaults(op: Operation) -> None:
    """What `Operation.__post_init__` does: sets properties that have a default."""
    defaults = _defaults(type(op))
    if defaults is None:
        op.__post_init__()
        return
    for name, value in defaults:
        op.properties.setdefault(name, value)


@cache
def _defaults(kind: type[Operation]) -> Sequence[tuple[str, Attribute]] | None:
    """Properties of a class and their defaults; None where it sets something else."""
    if (
        not issubclass(kind, IRDLOperation)
        or kind.__post_init__ is not IRDLOperation.__post_init__
    ):
        return None
    definition = kind.get_irdl_definition()
    if any(_default(each) is not None for each in definition.attributes.values()):
        return None
    found = [(name, _default(each)) for name, each in definition.properties.items()]
    return [(name, value) for name, value in found if value is not None]


def _default(definition: object) -> Attribute | None:
    """The value of a property or an attribute that an operation is made without."""
    if isinstance(definition, OptionalDef):
        return None
    return getattr(definition, "default_value", None)


def quicken_creation(kinds: Iterable[type[Operation]]) -> None:
    """Makes `create` of these classes quick, and so copies; it means what it meant."""
    for kind in kinds:
        setattr(kind, _CREATE, classmethod(create))


_CREATE = "create"


def quicken_insertion(kinds: Iterable[type[Operation]]) -> None:
    """Makes the insertion of operations of these classes quick.

    A block that gets an operation asks whether it is in the operation, by a walk to the
    outermost one. It never is where the operation has no regions.
    """
    for kind in kinds:
        if issubclass(kind, IRDLOperation) and not kind.get_irdl_definition().regions:
            setattr(kind, _IS_ANCESTOR, _is_ancestor_without_regions)


_IS_ANCESTOR = "is_ancestor"


def _is_ancestor_without_regions(self: Operation, op: IRNode) -> bool:
    return self is op or (bool(self.regions) and Operation.is_ancestor(self, op))


class QuickOperation(IRDLOperation):
    """The base of operations that passes make often; none has optional results.

    `__init__` accepts what that of `IRDLOperation` does, in fewer forms: one type for
    each result, and regions as such.
    """

    def __init__(
        self,
        *,
        operands: Sequence[Group] = (),
        result_types: Sequence[Attribute] = (),
        properties: Mapping[str, Attribute | None] | None = None,
        regions: Sequence[Region] = (),
    ) -> None:
        values: list[SSAValue] = []
        sizes: list[int] = []
        for group in operands:
            before = len(values)
            if _is_operand(group):
                values.append(value_of(group))
            elif group is not None:
                values += map(value_of, group)
            sizes.append(len(values) - before)
        given = properties or {}
        kept = {name: value for name, value in given.items() if value is not None}
        if _has_segments(type(self)):
            kept[AttrSizedOperandSegments.attribute_name] = segments(*sizes)
        initialize(
            self,
            operands=values,
            result_types=result_types,
            properties=kept,
            regions=regions,
        )


def value_of(operand: SSAValue | Operation) -> SSAValue:
    """What `SSAValue.get` returns."""
    return operand if _is_value(operand) else SSAValue.get(operand)


_is_operand = of_classes(SSAValue, Operation)
_is_value = of_classes(SSAValue)


@cache
def _has_segments(kind: type[IRDLOperation]) -> bool:
    """Whether operations of a class say how many operands each group has."""
    options = kind.get_irdl_definition().options
    return any(isinstance(option, AttrSizedOperandSegments) for option in options)


@lru_cache(maxsize=1024)
def segments(*sizes: int) -> DenseArrayBase:
    """How many operands each group of operands has."""
    return DenseArrayBase.from_list(i32, sizes)
