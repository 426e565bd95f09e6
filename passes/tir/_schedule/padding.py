"""Padding: copies with a constant around them, which readers can do without."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from xdsl_tvm.analysis.arith.expr import Const, Expr, Value, view
from xdsl_tvm.analysis.arith.linear_equation import mentions
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._loops.loop_nest import Nest
from xdsl_tvm.passes.tir._schedule.maps import is_map


@dataclass(frozen=True)
class Padding:
    """A map that fills an allocated buffer with elements of another one, or a number."""

    nest: Nest
    buffer: SSAValue
    """What is filled."""
    load: tir.LoadOp
    condition: SSAValue
    is_along_last: bool
    """Whether it depends on the last index which of them an element is, or which one."""
    fill: Expr
    """The number."""

    @property
    def is_zero(self) -> bool:
        """Whether the number is 0, as asynchronous copies fill what they leave out."""
        return isinstance(self.fill, Const) and self.fill.value == 0

    def is_inside(self, indices: list[Expr]) -> Expr:
        """Whether an element of the filled buffer is one of the other."""
        return self._at(self.condition, indices)

    def element(self, indices: list[Expr]) -> tuple[SSAValue, tuple[Expr, ...]]:
        """Which one it is."""
        places = tuple(self._at(index, indices) for index in self.load.indices)
        return self.load.buffer, places

    def _at(self, value: SSAValue, indices: list[Expr]) -> Expr:
        point: dict[SSAValue, Expr] = {
            axis.variable: index
            for axis, index in zip(self.nest.axes, indices, strict=True)
        }
        return self.nest.tree_at(view(value, self.nest.trees), point)

    def is_read_only_by(self, nest: Nest) -> bool:
        """Whether nobody but the block of a nest reads what is filled."""
        blocks = self.nest.block, nest.block
        return all(
            any(block.is_ancestor(use.operation) for block in blocks)
            for use in self.buffer.uses
        )


def match_padding(nest: Nest) -> Padding | None:
    """A nest as the padding of a buffer, if it is that and nothing else."""
    if not is_map(nest) or len(nest.written) != 1:
        return None
    (buffer,) = nest.written
    filled = tir.buffer_definition(buffer)
    variables = tuple(Value(axis.variable) for axis in nest.axes)
    store = next((access for access in nest.accesses if access.writes), None)
    if not isinstance(filled, tir.AllocBufferOp) or store is None:
        return None
    extents = tuple(axis.size for axis in nest.axes)
    if store.indices != variables or filled.shape != extents:
        return None
    assert isinstance(store.op, tir.StoreOp)
    choice = store.op.value.owner
    if not isinstance(choice, tir.IfThenElseOp) or len(nest.accesses) != 2:
        return None
    load, fill = _yielded(choice.true_region.block), _yielded(choice.false_region.block)
    if not isinstance(load, tir.LoadOp) or not isinstance(fill, tir.ConstOp):
        return None
    if load.buffer is buffer:
        return None
    source, last = tir.buffer_definition(load.buffer), variables[-1]
    if source.layout_strides:
        return None
    condition = view(choice.condition, nest.trees)
    is_along_last = (
        source.shape[-1] != filled.shape[-1]
        or view(load.indices[-1], nest.trees) is not last
        or mentions(condition, last)
    )
    fill = view(fill.result)
    return Padding(nest, buffer, load, choice.condition, is_along_last, fill)


def _yielded(block: Block) -> Operation | None:
    """What computes the value of a case."""
    end = block.last_op
    if not isinstance(end, tir.YieldOp) or len(end.values) != 1:
        return None
    owner = end.values[0].owner
    return owner if isinstance(owner, Operation) else None
