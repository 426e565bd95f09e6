"""Contractions: sums of products of two operands.

Matrix products, batched and with transposed operands, and convolutions are one thing
here. The axes of a sum `C += a * b` fall into four classes by which operand they move:
batch axes both, rows only `a`, columns only `b`, terms both but not `C`. Columns are the
axes along which `C` is in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Block, Operation, SSAValue

from xdsl_tvm.analysis.arith.expr import Add, Expr, Value, view
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._loops.loop_nest import Access, Axis, Nest
from xdsl_tvm.passes.tir._schedule.maps import is_lazy, is_map
from xdsl_tvm.passes.tir._schedule.padding import Padding
from xdsl_tvm.passes.tir._schedule.reduction import Reduction


@dataclass(frozen=True)
class Contraction:
    """`C[batch, row, column] += a(batch, row, term) * b(batch, column, term)`."""

    reduction: Reduction
    a: SSAValue
    b: SSAValue
    batch: tuple[Axis, ...]
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    epilogue: Nest | None = None
    """A map that works on the results where they are, or makes others of them, and is
    done tile by tile."""
    padding: Padding | None = None
    """What an operand is loaded from, and is not to be filled before."""
    pads_a: bool = True
    """Whether that operand is `a`, and not `b`."""

    @property
    def nest(self) -> Nest:
        return self.reduction.nest

    @property
    def terms(self) -> tuple[Axis, ...]:
        return self.nest.carried

    @property
    def keeps_results(self) -> bool:
        """Whether the results are stored: not those of which a map makes others."""
        return (
            self.epilogue is None or self.reduction.result.buffer in self.epilogue.written
        )


def match_contraction(found: Reduction) -> Contraction | None:
    """A reduction as a contraction with rows and columns, if it is one."""
    product = found.term.owner
    if found.combiner is not Add or not isinstance(product, tir.MulOp):
        return None
    nest = found.nest
    a, b = product.operands
    by_a, by_b = moving(nest, a), moving(nest, b)
    last = _last_axis(found)
    if last is None or (last in by_a) == (last in by_b):
        return None
    if last in by_a:
        a, b, by_a, by_b = b, a, by_b, by_a
    columns = _columns(found, by_a, by_b)
    rows = tuple(axis for axis in nest.spatial if axis in by_a and axis not in by_b)
    rest = [axis for axis in nest.spatial if axis not in (*columns, *rows)]
    if not rows or not columns:
        return None
    return Contraction(found, a, b, tuple(rest), rows, columns)


def moving(nest: Nest, value: SSAValue) -> frozenset[Axis]:
    """The axes that a value of the block depends on."""
    used = {operand for op in ops_behind(nest, value) for operand in op.operands}
    return frozenset(axis for axis in nest.axes if axis.variable in used)


def ops_behind(nest: Nest, value: SSAValue) -> frozenset[Operation]:
    """The ops of the block that compute a value, with those inside of them."""
    found: set[Operation] = set()
    pending = [value]
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Block) or owner in found:
            continue
        if nest.block.is_ancestor(owner):
            for op in owner.walk():
                found.add(op)
                pending += op.operands
    return frozenset(found)


def with_map(found: Contraction, nest: Nest) -> Contraction | None:
    """The contraction with a map done on its results; None for another kind of map.

    The map stores to the results, at an element for each point, and reads them there
    only. What else it reads is as the results do, or stays along the columns.
    """
    result = found.reduction.result
    if found.epilogue is not None or not is_map(nest) or is_lazy(nest):
        return None
    if nest.written != frozenset({result.buffer}):
        return None
    return _with_map_at(found, nest, [result.buffer])


def with_last_map(found: Contraction, nest: Nest) -> Contraction | None:
    """The contraction with a map that makes other elements, as narrow ones, of its
    results, which nobody else needs; None for another kind of map.

    Results are in an allocated buffer then, and need not be in memory.
    """
    buffer = found.reduction.result.buffer
    if found.epilogue is not None or not is_map(nest) or is_lazy(nest):
        return None
    if not isinstance(tir.buffer_definition(buffer), tir.AllocBufferOp):
        return None
    blocks = found.nest.block, nest.block
    if not all(any(b.is_ancestor(use.operation) for b in blocks) for use in buffer.uses):
        return None
    others = nest.written
    if len(others) != 1 or others & {access.buffer for access in found.nest.accesses}:
        return None
    return _with_map_at(found, nest, [buffer, *others])


def _with_map_at(
    found: Contraction, nest: Nest, buffers: Sequence[SSAValue]
) -> Contraction | None:
    """The contraction with a map whose accesses of these buffers, the results' before
    others, are at the element for each point, and one of them is a store."""
    axes = tuple(Value(axis.variable) for axis in nest.axes)
    own = [access for access in nest.accesses if access.buffer in buffers]
    if any(access.indices != axes for access in own):
        return None
    if sum(access.writes for access in own) != 1:
        return None
    if not all(_covers(buffer, nest) for buffer in buffers):
        return None
    if not all(_is_at_hand(found, nest, access) for access in nest.accesses):
        return None
    return replace(found, epilogue=nest)


def with_padding(found: Contraction, padding: Padding) -> Contraction | None:
    """The contraction of padded elements that need not be in memory; None for others.

    They are those of one operand, and no result of the contraction is among them.
    """
    reads = [each for each in found.nest.accesses if each.buffer is padding.buffer]
    operands = [ops_behind(found.nest, value) for value in (found.a, found.b)]
    if len(reads) != 1 or sum(reads[0].op in behind for behind in operands) != 1:
        return None
    if found.reduction.result.buffer is padding.load.buffer:
        return None
    if not padding.is_read_only_by(found.nest):
        return None
    return replace(found, padding=padding, pads_a=reads[0].op in operands[0])


def _covers(buffer: SSAValue, nest: Nest) -> bool:
    """Whether the axes of a nest run over all dimensions of a buffer."""
    shape = tir.buffer_definition(buffer).shape
    return len(shape) == len(nest.axes) and all(
        axis.size == extent if isinstance(extent, int) else axis.extent is view(extent)
        for extent, axis in zip(shape, nest.axes, strict=True)
    )


def _is_at_hand(found: Contraction, nest: Nest, access: Access) -> bool:
    """Whether what is read for neighbouring columns of a tile is one, or neighbours."""
    axes = nest.axes
    if access.indices == tuple(Value(axis.variable) for axis in axes):
        return True
    columns = axes[len(axes) - len(found.columns) :]
    steps = [access.step(axis) for axis in columns]
    return steps in ([0], [1]) or not any(step != 0 for step in steps)


def _last_axis(found: Reduction) -> Axis | None:
    """The axis along which results are neighbours."""
    for axis in reversed(found.nest.spatial):
        if found.result.step(axis) == 1:
            return axis
    return None


def _columns(
    found: Reduction, by_a: frozenset[Axis], by_b: frozenset[Axis]
) -> tuple[Axis, ...]:
    """The axes of `b` that together are the end of the result's dimensions."""
    by_variable: dict[Expr, Axis] = {Value(a.variable): a for a in found.nest.spatial}
    shape = tir.buffer_definition(found.result.buffer).shape
    columns: list[Axis] = []
    for index, extent in zip(
        reversed(found.result.indices), reversed(shape), strict=True
    ):
        axis = by_variable.get(index)
        if axis is None or axis not in by_b or axis in by_a:
            break
        columns.insert(0, axis)
        if (view(extent) if isinstance(extent, SSAValue) else extent) not in (
            axis.extent,
            axis.size,
        ):
            break
    return tuple(columns)
