"""Which values of a Relax dataflow block may be the same memory.

Memory locations are numbers, given out from 0 in the order of the operations; -1 is
memory that is not known. A tuple is a location of its own, whose fields are sets of
locations. The numbers are TVM's (docs/spec/relax-passes-headline.md,
DataflowUseInplaceCalls §2.2) wherever the reference is right. It is not where an
operator's result may be a view of its operand, where tensors are made on one storage,
where a call writes an argument in place, and where a closure holds what it captured: here
all these share memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Attribute, Block, Operation, SSAValue

from xdsl_tvm.analysis.relax.dataflow_liveness import uses_at
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.calls import AnyCallTIROp
from xdsl_tvm.dialects.relax.packed import PackedCallOp
from xdsl_tvm.dialects.relax.runtime import AnyInvokeClosureOp

Locations: TypeAlias = frozenset[int]

UNKNOWN = -1
"""The location of all memory of which nothing is known."""
LIMIT = 64
"""So many locations are told apart in one value; more of them are not known, which keeps
the time linear."""

_NAMES = (relax.AliasOp, relax.MatchCastOp)
MAY_BE_VIEWS = (
    relax.AllocTensorFromStorageOp,
    relax.VMAllocTensorOp,
    relax.ReshapeOp,
    relax.ExpandDimsOp,
    relax.SqueezeOp,
    relax.FlattenOp,
    relax.PermuteDimsOp,
    relax.BroadcastToOp,
    relax.CollapseSumLikeOp,
    relax.CollapseSumToOp,
    relax.LayoutTransformOp,
    relax.StridedSliceOp,
    relax.DynamicStridedSliceOp,
    relax.TileOp,
    relax.RepeatOp,
    relax.AstypeOp,
    relax.ViewOp,
    relax.EnsureZeroOffsetOp,
    relax.ToVDeviceOp,
    relax.HintOnDeviceOp,
    relax.NoGradOp,
    relax.StopLiftParamsOp,
    relax.StartCheckpointOp,
    relax.EndCheckpointOp,
    relax.WrapParamOp,
    relax.DropoutOp,
    relax.SplitOp,
    relax.ConcatOp,
)
"""Operations whose result may be memory of an operand, when they are lowered; the last
two only where there is a single part."""
_MYSTERIES = (
    relax.CallOp,
    relax.CallIndirectOp,
    relax.LambdaOp,
    relax.MakeClosureOp,
    PackedCallOp,
    AnyInvokeClosureOp,
)
"""Calls that may return whatever they are given, and functions that hold values."""
_FRESH = (
    relax.OperatorOp,
    relax.AllocTensorOp,
    relax.AllocStorageOp,
    relax.VMAllocStorageOp,
    relax.PrimValueOp,
    relax.NullValueOp,
    relax.ShapeOfOp,
)
"""Operations whose result is new."""


_NO_MEMORY = (relax.PrimType, relax.ShapeType)


@dataclass
class Aliases:
    """The locations of the values of one block."""

    sets: dict[SSAValue, Locations] = field(default_factory=dict[SSAValue, Locations])
    """Where each value may be. Values that were met nowhere are not in it."""
    tuples: dict[int, list[Locations]] = field(default_factory=dict[int, list[Locations]])
    """For each location that is a tuple the locations of its fields."""
    fixed: set[int] = field(default_factory=set[int])
    """Locations that must not be written: constants, and what others may keep."""

    def reached(self, locations: Iterable[int]) -> Locations:
        """The locations, and those of the fields of tuples among them, to any depth.

        Where these are more than LIMIT, it is UNKNOWN, and all of them become fixed.
        """
        found = set[int]()
        work = list(locations)
        while work:
            if (location := work.pop()) in found:
                continue
            found.add(location)
            parts = self.tuples.get(location, ())
            if len(found) + len(parts) > LIMIT:
                self.give_away((*found, *work))
                return _EVERYWHERE
            for part in parts:
                work += part
        return frozenset(found)

    def give_away(self, locations: Iterable[int]) -> None:
        """Fix locations and all that they reach."""
        work = list(locations)
        while work:
            if (location := work.pop()) not in self.fixed:
                self.fixed.add(location)
                for part in self.tuples.get(location, ()):
                    work += part

    def of(self, value: SSAValue) -> Locations:
        """The locations that a value is, or that are in it; see `reached`."""
        return self.reached(self.at(value))

    def at(self, value: SSAValue) -> Locations:
        """The locations that a value itself is."""
        found = self.sets.get(value)
        if found is None:
            # A shape or a number from outside is no memory.
            return frozenset() if isinstance(value.type, _NO_MEMORY) else _EVERYWHERE
        return found


_EVERYWHERE: Locations = frozenset((UNKNOWN,))


def aliases(block: Block, inputs: Sequence[SSAValue] = ()) -> Aliases:
    """The locations of the values that a block defines, and of its `inputs`.

    Each input gets a location of its own, as if it were no other's memory; all other
    values from outside are UNKNOWN. Linear in the size of the block.
    """
    walk = _AliasWalk()
    for value in inputs:
        walk.bind_input(value)
    for op in block.ops:
        if op is not block.last_op:
            walk.visit(op)
    return walk.found


class _AliasWalk:
    def __init__(self) -> None:
        self.found = Aliases()
        self._next = 0

    # ---- locations ----

    def _fresh(self) -> int:
        self._next += 1
        return self._next - 1

    def _fresh_of(self, type_: Attribute) -> int:
        """A new location for a value of a type, with new ones for its fields."""
        location = self._fresh()
        self._fill(location, type_)
        return location

    def _fill(self, location: int, type_: Attribute) -> None:
        if isinstance(type_, relax.TupleType):
            self.found.tuples[location] = [
                frozenset((self._fresh_of(part),)) for part in type_.fields
            ]

    def _at(self, value: SSAValue) -> Locations:
        return self.found.at(value)

    def _bounded(self, locations: Locations) -> Locations:
        """The locations, or UNKNOWN in the place of too many, which become fixed."""
        if len(locations) <= LIMIT:
            return locations
        self.found.give_away(locations)
        return _EVERYWHERE

    def _reached(self, values: Iterable[SSAValue]) -> Locations:
        """All that is in some values."""
        return self._bounded(frozenset[int]().union(*map(self.found.of, values)))

    # ---- operations ----

    def bind_input(self, value: SSAValue) -> None:
        """Take a value from outside as memory of its own."""
        self.found.sets[value] = frozenset((self._fresh_of(value.type),))

    def visit(self, op: Operation) -> None:
        """Find where the results of an operation are."""
        found = self._locations(op)
        if found is not None and len(op.results) == 1:
            self.found.sets[op.results[0]] = self._bounded(found)
            return
        for value in uses_at(op):
            self.found.give_away(self._at(value))
        self.found.sets.update((result, _EVERYWHERE) for result in op.results)

    def _locations(self, op: Operation) -> Locations | None:
        """Where the one result of an operation is, None if nothing is known of it."""
        match op:
            case relax.ConstantOp():
                location = self._fresh()
                self.found.fixed.add(location)
                return frozenset((location,))
            case relax.ShapeOp():
                return frozenset()
            case _ if isinstance(op, _NAMES):
                return self._at(op.value)
            case relax.TupleOp():
                return self._tuple(op)
            case relax.GetItemOp():
                return self._field(self._at(op.tuple_value), op.index.value.data)
            case relax.SplitOp() | relax.ConcatOp():
                return self._split_or_concat(op)
            case AnyCallTIROp():
                return self._call_tir(op)
            case relax.CallDPSPackedOp():
                return self._new(op)
            case _ if isinstance(op, _MYSTERIES):
                return None if op.result is None else self._mystery(op)
            case _ if isinstance(op, MAY_BE_VIEWS):
                return self._view(op)
            case _ if isinstance(op, _FRESH):
                return self._new(op)
            case _:
                return None

    def _new(self, op: Operation) -> Locations:
        return frozenset((self._fresh_of(op.results[0].type),))

    def _tuple(self, op: relax.TupleOp) -> Locations:
        location = self._fresh()
        self.found.tuples[location] = [self._at(element) for element in op.elements]
        return frozenset((location,))

    def _field(self, whole: Locations, index: int) -> Locations:
        if UNKNOWN in whole:
            return _EVERYWHERE
        fields = [self.found.tuples.get(location, ()) for location in whole]
        if not all(len(parts) > index for parts in fields):
            # Some of it has no known fields, as an object that a call returned.
            return self.found.reached(whole)
        return frozenset[int]().union(*(parts[index] for parts in fields))

    def _split_or_concat(self, op: relax.SplitOp | relax.ConcatOp) -> Locations:
        """With a single part nothing needs to move."""
        several = op.result.type if isinstance(op, relax.SplitOp) else op.tensors.type
        if isinstance(several, relax.TupleType) and len(several.fields) > 1:
            return self._new(op)
        return self._view(op)

    def _view(self, op: Operation) -> Locations:
        """One of the operands, or for a tuple something new whose fields may be one."""
        sources = self._reached(op.operands)
        type_ = op.results[0].type
        if not isinstance(type_, relax.TupleType):
            return sources
        location = self._fresh_of(type_)
        self._add_to_fields(location, sources)
        return frozenset((location,))

    def _call_tir(self, op: AnyCallTIROp) -> Locations:
        """New tensors, but for those that are written arguments."""
        places = op.output_arguments
        if not isinstance(op.result.type, relax.TupleType):
            (place,) = places
            if place >= 0:
                return self._at(op.arguments[place])
            return frozenset((self._fresh(),))
        location = self._fresh_of(op.result.type)
        parts = self.found.tuples[location]
        for index, place in enumerate(places):
            if place >= 0:
                parts[index] = self._at(op.arguments[place])
        return frozenset((location,))

    def _mystery(self, op: Operation) -> Locations:
        """Something new, which may be, or hold, any of the values that are used."""
        location = self._fresh_of(op.results[0].type)
        given = self._reached(uses_at(op))
        everything = self._bounded(self.found.reached((location,)) | given)
        self._add_to_fields(location, everything)
        return everything

    def _add_to_fields(self, location: int, added: Locations) -> None:
        """Let each field of a new tuple, to any depth, be `added` as well."""
        parts = self.found.tuples.get(location, [])
        for index, part in enumerate(parts):
            for inner in part:
                self._add_to_fields(inner, added)
            parts[index] = part | added
