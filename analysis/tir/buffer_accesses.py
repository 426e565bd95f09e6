"""The accesses of allocated buffers in a function, with trees of where they go.

Iteration variables of blocks are what they are bound to, and bindings what they bind, so
that two accesses can be compared that are in different blocks.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, Region, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, view
from xdsl_tvm.analysis.derivation import derivation, origin
from xdsl_tvm.analysis.tir.builtin_offsets import (
    FRAGMENTS,
    OFFSETS,
    offset_positions,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes


@dataclass(frozen=True, eq=False)
class Access:
    """An access of a buffer by an op."""

    buffer: SSAValue
    """What the `tir.alloc_buffer` defines."""
    op: Operation
    indices: tuple[Expr, ...]
    """The element, or where the region starts that a pointer is of; empty for all of the
    buffer, and for what has another shape."""
    values: tuple[Expr, ...]
    """What else may say where the access goes: integers that the op has."""
    is_element: bool
    reads: bool
    writes: bool

    @property
    def is_certain_write(self) -> bool:
        """Whether the element is written each time that the op runs."""
        return self.writes and self.is_element and not self.values


class BufferAccesses:
    """The accesses of some allocated buffers in an op, for each in the order of the text.

    Linear in the size of the op.
    """

    def __init__(self, root: Operation, buffers: Collection[SSAValue]) -> None:
        self.trees: dict[SSAValue, Expr] = {}
        self.of: dict[SSAValue, list[Access]] = {buffer: [] for buffer in buffers}
        self.at: dict[Operation, list[Access]] = {}
        self.symbols: dict[SSAValue, tir.MatchRegionOp] = {}
        """The `tir.shape_var`s that views of regions bind, each with the first view."""
        for op in root.walk():
            self._visit(op)

    def tree(self, value: SSAValue) -> Expr:
        """The tree of a value."""
        return view(value, self.trees)

    def _visit(self, op: Operation) -> None:
        if not _is_known(op):
            self._opaque(op)
            return
        match op:
            case tir.BlockOp():
                for variable, binding in zip(op.iter_vars, op.iter_values, strict=True):
                    self.trees[variable] = self.tree(binding)
            case tir.LetOp() if op.value.type == op.result.type:
                self.trees[op.result] = self.tree(op.value)
            case tir.LoadOp():
                self._element(op, op.buffer, op.indices, op.predicate, reads=True)
            case tir.StoreOp():
                self._element(op, op.buffer, op.indices, op.predicate, reads=False)
            case tir.ThreadAllreduceOp():
                for place in op.places:
                    self._element(op, place.buffer, place.indices, None, reads=False)
            case tir.MatchRegionOp():
                self._bind(op)
            case (
                tir.ReadsOp()
                | tir.WritesOp()
                | tir.AttrOp()
                | tir.DataOp()
                | tir.LetOp()
                | tir.BufferDefinition()
            ):
                pass

    def _bind(self, view_op: tir.MatchRegionOp) -> None:
        offset = () if view_op.elem_offset is None else (view_op.elem_offset,)
        for field in (*view_op.extents, *view_op.strides, *offset):
            if isinstance(field.owner, tir.ShapeVarOp):
                self.symbols.setdefault(field, view_op)

    def _element(
        self,
        op: Operation,
        buffer: SSAValue,
        indices: Sequence[SSAValue],
        predicate: SSAValue | None,
        *,
        reads: bool,
    ) -> None:
        root = origin(buffer)
        if root not in self.of:
            return
        trees = [self.tree(index) for index in indices]
        values = [] if predicate is None else [self.tree(predicate)]
        element = self._in_source(buffer, trees)
        if element is None:
            values += trees
        places = () if element is None else tuple(element)
        is_element = element is not None
        self._add(Access(root, op, places, tuple(values), is_element, reads, not reads))

    def _in_source(self, buffer: SSAValue, indices: list[Expr]) -> list[Expr] | None:
        """The element of the allocated buffer that an element of a view is."""
        for each in derivation(buffer, (tir.MatchRegionOp,)):
            owner = each.owner
            if not isinstance(owner, tir.MatchRegionOp):
                return indices if isinstance(owner, tir.AllocBufferOp) else None
            starts = [self.tree(low) for low in owner.region_mins]
            surplus = len(starts) - len(indices)
            pairs = list(zip(starts[surplus:], indices, strict=True))
            if any(start.dtype != index.dtype for start, index in pairs):
                return None
            indices = [*starts[:surplus], *(smart.add(*pair) for pair in pairs)]
        return None

    def _opaque(self, op: Operation) -> None:
        for operand in dict.fromkeys(op.operands):
            root = origin(operand)
            if root in self.of:
                start, sizes = self._region(operand)
                values = (*self._integers(op, operand), *sizes)
                self._add(Access(root, op, start, values, False, True, True))

    def _integers(self, op: Operation, pointer: SSAValue) -> list[Expr]:
        """The integers of an op that may say where it accesses what is at a pointer."""
        offsets: dict[int, int] = {}
        if isinstance(op, tir.CallOp):
            offsets = offset_positions(op, {**FRAGMENTS, **OFFSETS})
        of_others = {
            offset for at, offset in offsets.items() if op.operands[at] is not pointer
        }
        return [
            self.tree(operand)
            for at, operand in enumerate(op.operands)
            if tir.is_integer(operand.type) and at not in of_others
        ]

    def _region(self, value: SSAValue) -> tuple[tuple[Expr, ...], list[Expr]]:
        """Where the region starts that a pointer is of, and its extents, if of a view."""
        for each in derivation(value):
            match each.owner:
                case tir.MatchRegionOp() as view_op:
                    zeros = [smart.const(0, low.type) for low in view_op.region_mins]
                    surplus = len(zeros) - view_op.type.get_num_dims()
                    start = self._in_source(each, zeros[surplus:])
                    sizes = [self.tree(size) for size in view_op.region_extents]
                    starts = [self.tree(low) for low in view_op.region_mins]
                    return (() if start is None else tuple(start)), (
                        sizes if start is not None else sizes + starts
                    )
                case _:
                    pass
        return (), []

    def _add(self, access: Access) -> None:
        self.of[access.buffer].append(access)
        self.at.setdefault(access.op, []).append(access)


def regions_around(op: Operation, outermost: Region | None = None) -> list[Region]:
    """The regions that an op is in, from the outermost on, which is not among them."""
    found: list[Region] = []
    region = op.parent_region()
    while region is not None and region is not outermost:
        found.append(region)
        parent = region.parent_op()
        region = None if parent is None else parent.parent_region()
    return found[::-1]


_is_known = of_classes(
    tir.AttrOp,
    tir.BlockOp,
    tir.BufferDefinition,
    tir.DataOp,
    tir.LetOp,
    tir.LoadOp,
    tir.ReadsOp,
    tir.StoreOp,
    tir.ThreadAllreduceOp,
    tir.WritesOp,
)
"""Ops that `BufferAccesses` treats by their class."""
