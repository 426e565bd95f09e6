"""What operands of operators must be at run time, and TIR functions that check it.

A `Check` gives an operand back as it is, as long as every element of it is allowed. Else
its function fails with a message that names the operator and the element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, i1, i64
from xdsl.ir import Attribute, Operation

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.operators import OperatorOp
from xdsl_tvm.dialects.relax.types import PrimType, TensorInfo
from xdsl_tvm.passes.relax.legalize.indexing import everything, for_each
from xdsl_tvm.passes.relax.legalize.registry import RuleContext
from xdsl_tvm.passes.relax.legalize.stages import broadcast_indices
from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    Dim,
    Expr,
    Operand,
    Tensor,
    TensorProgram,
    lowest,
)

Point: TypeAlias = tuple[Expr, ...]


@dataclass(frozen=True)
class Check:
    """A check of the operand `checked` of an operator."""

    checked: int
    operands: tuple[int, ...]
    """The operands that the function knows; the checked one is among them."""
    shape_only: tuple[int, ...]
    """Of these, the positions of those of which it knows the shape only."""
    stages: Callable[[Any, RuleContext], Tensor]
    """Computes the operand again; gets the operator."""
    holds: Callable[[Any, np.ndarray[Any, Any]], bool] = lambda op, values: False
    """Whether a constant operand is known to be allowed."""


def check_of(op: OperatorOp) -> Check | None:
    """What has to be checked before the operator runs, if there is anything."""
    make = _CHECKS.get(type(op))
    found = None if make is None else make(op)
    if found is None or _holds(op, found):
        return None
    return found


def _holds(op: OperatorOp, check: Check) -> bool:
    source = op.operands[check.checked]
    if isinstance(source.type, PrimType) and source.type.dim is not None:
        value = source.type.dim.value
        return value is not None and check.holds(op, np.array(value))
    if not isinstance(source.owner, relax.ConstantOp):
        return False
    value = source.owner.value
    if not isinstance(value, DenseIntOrFPElementsAttr):
        return False
    return check.holds(op, np.array(value.get_values()))


# ---- functions ----


@dataclass(frozen=True)
class _Fault:
    """What may be wrong, at which points, and what is said of the first one."""

    over: Sequence[Dim]
    is_wrong: Callable[[Point], Expr]
    text: str
    numbers: Callable[[Point], Sequence[Expr]]
    """What the text has a `{}` for."""


def _copied(
    site: RuleContext,
    source: Operand,
    others: Sequence[Operand],
    faults: Sequence[_Fault],
    copy: Callable[[Expr], Expr] = lambda value: value,
) -> Tensor:
    """`copy` of each element of `source`, unless there is a fault.

    The first fault is looked for at the points of `source`.
    The loop over all points has no branch, so that it becomes one of vectors. Only where
    it finds something another one looks for the first point at which that is.
    """
    program = site.program

    def body(_: list[Expr], outputs: list[Tensor]) -> None:
        flags = [program.local("wrong", (2,), i1) for _ in faults]
        found = [
            program.local("found", (max(fault.text.count("{}"), 1),), i64)
            for fault in faults
        ]

        def store(point: Point) -> None:
            program.store(copy(source[point]), outputs[0], point)

        # What is copied is not used if there is a fault.
        for fault, flag, numbers in zip(faults, flags, found, strict=True):
            is_first = fault is faults[0]
            _find(program, fault, flag, numbers, store if is_first else lambda _: None)

    tensors = [each for each in (source, *others) if isinstance(each, Tensor)]
    (out,) = program.sequential(
        "check",
        (),
        [("checked", source.shape, source.dtype)],
        lambda _: [everything(each) for each in tensors],
        lambda _, outputs: [everything(outputs[0])],
        body,
    )
    return out


def _find(
    program: TensorProgram,
    fault: _Fault,
    flag: Tensor,
    found: Tensor,
    visit: Callable[[Point], None],
) -> None:
    """Fail if there is a fault; `flag` is whether, and whether it is still looked for.

    `visit` is done at each point.
    """
    zero, one = program.extent(0), program.extent(1)
    count = fault.text.count("{}")
    program.store(program.constant(0, i1), flag, [zero])
    program.store(program.constant(1, i1), flag, [one])
    for place in range(count):
        program.store(zero, found, [program.extent(place)])

    def test(point: Point) -> None:
        visit(point)
        program.store(flag[zero] | fault.is_wrong(point), flag, [zero])

    for_each(program, fault.over, test)

    def look(point: Point) -> None:
        with program.when(flag[one] & fault.is_wrong(point)):
            program.store(program.constant(0, i1), flag, [one])
            for place, number in enumerate(fault.numbers(point)):
                program.store(number.cast(i64), found, [program.extent(place)])

    with program.when(flag[zero]):
        for_each(program, fault.over, look)
    numbers = [found[program.extent(place)] for place in range(count)]
    program.require(~flag[zero], fault.text, numbers)


def _outside(index: Expr, extent: Dim, negative: bool) -> Expr:
    """Whether an index is none of an axis; negative ones may count from its end."""
    program, wide = index.program, index.cast(i64)
    size = program.extent(extent)
    # An index that is too large for i64 becomes negative.
    low = program.extent(0) - size if negative else program.extent(0)
    if tir.is_uint(index.dtype):
        low = program.extent(0)
    return (wide < low) | (wide >= size)


def _indices_of(
    op: OperatorOp,
    site: RuleContext,
    places: Operand,
    extent: Dim,
    where: str,
    *,
    negative: bool = True,
    ignored: int | None = None,
) -> Tensor:
    """Indices of one axis."""
    program = site.program

    def is_wrong(point: Point) -> Expr:
        index = places[point]
        wrong = _outside(index, extent, negative)
        if ignored is None:
            return wrong
        return wrong & ~index.cast(i64).equals(program.constant(ignored, i64))

    def numbers(point: Point) -> Sequence[Expr]:
        known = [] if isinstance(extent, int) else [extent]
        return [places[point], *known]

    size = extent if isinstance(extent, int) else "{}"
    text = f"{op.name}: index {{}} is out of range for {where} with extent {size}"
    return _copied(site, places, (), [_Fault(places.shape, is_wrong, text, numbers)])


# ---- operators ----


def _rank(op: OperatorOp, position: int) -> int | None:
    info = TensorInfo.of(op.operands[position].type)
    return None if info is None else info.rank


def _static_extent(op: OperatorOp, position: int, axis: int) -> int | None:
    info = TensorInfo.of(op.operands[position].type)
    dims = None if info is None else info.dims
    dim = None if dims is None else dims[axis]
    return None if dim is None else dim.value


def _on_axis(
    indices: int,
    axis_of: Callable[[Any], int | None],
    *,
    negative: bool,
    name: str = "axis {axis}",
    ignored: Callable[[Any], int | None] = lambda op: None,
) -> Callable[[Any], Check | None]:
    """The check of indices of one axis of the first operand."""

    def make(op: OperatorOp) -> Check | None:
        rank, given = _rank(op, 0), axis_of(op)
        if not rank or given is None:
            return None
        axis = given % rank
        where = name.format(axis=axis)

        def stages(op: OperatorOp, site: RuleContext) -> Tensor:
            extent = site.dims(0)[axis]
            places = site.operand(1)
            skipped = ignored(op)
            return _indices_of(
                op, site, places, extent, where, negative=negative, ignored=skipped
            )

        def holds(op: OperatorOp, values: np.ndarray[Any, Any]) -> bool:
            extent = _static_extent(op, 0, axis)
            if extent is None:
                return False
            inside = (values >= (-extent if negative else 0)) & (values < extent)
            skipped = ignored(op)
            return bool(np.all(inside | (values == skipped)))

        return Check(indices, (0, indices), (0,), stages, holds)

    return make


def _along_last(batch_dims: Callable[[Any], int]) -> Callable[[Any], Check | None]:
    """The check of indices whose last axis numbers the axes of the first operand."""

    def make(op: OperatorOp) -> Check | None:
        def stages(op: OperatorOp, site: RuleContext) -> Tensor:
            program, places, extents = site.program, site.tensor(1), site.dims(0)
            batch, count = batch_dims(op), places.shape[-1]
            assert isinstance(count, int), "verified"

            def extent(point: Point) -> Expr:
                """The extent of the axis that the last index says."""
                if not count:
                    return program.extent(0)
                found = program.extent(extents[batch + count - 1])
                for number in reversed(range(count - 1)):
                    found = program.select(
                        point[-1].equals(number),
                        program.extent(extents[batch + number]),
                        found,
                    )
                return found

            def is_wrong(point: Point) -> Expr:
                return _outside(places[point], extent(point), True)

            def numbers(point: Point) -> Sequence[Expr]:
                return [places[point], point[-1] + batch, extent(point)]

            text = f"{op.name}: index {{}} is out of range for axis {{}} with extent {{}}"
            return _copied(
                site, places, (), [_Fault(places.shape, is_wrong, text, numbers)]
            )

        return Check(1, (0, 1), (0,), stages)

    return make


def _divisor(
    stages: Callable[[Any, RuleContext], Tensor], *operands: int
) -> Callable[[Any], Check | None]:
    """The check of a divisor of integers."""

    def make(op: OperatorOp) -> Check | None:
        dtype = _dtype(op.operands[1].type)
        if dtype is None or not tir.is_integer(dtype) or tir.is_bool(dtype):
            return None
        signed = not tir.is_uint(dtype)

        def holds(_: OperatorOp, values: np.ndarray[Any, Any]) -> bool:
            return bool(np.all(values != 0)) and not (signed and np.any(values == -1))

        return Check(1, operands, (), stages, holds)

    return make


def _dtype(type_: Attribute) -> Attribute | None:
    if isinstance(type_, PrimType):
        return type_.dtype
    info = TensorInfo.of(type_)
    return None if info is None else info.dtype


def _nonzero(op: OperatorOp, divisor: Operand) -> _Fault:
    text = f"{op.name}: an integer is divided by zero"
    return _Fault(divisor.shape, lambda at: divisor[at].equals(0), text, lambda _: [])


def _divisor_of_quotient(op: OperatorOp, site: RuleContext) -> Tensor:
    """A divisor, unless it or a quotient is not allowed: the least integer by -1."""
    program, lhs, rhs = site.program, site.operand(0), site.operand(1)
    least = lowest(rhs.dtype)
    shape = _broadcast_shape(lhs.shape, rhs.shape)

    def overflows(point: Point) -> Expr:
        dividend = lhs[broadcast_indices(program, lhs, point, shape)]
        divisor = rhs[broadcast_indices(program, rhs, point, shape)]
        return divisor.equals(-1) & dividend.equals(least)

    if tir.is_uint(rhs.dtype):
        return _copied(site, rhs, (), [_nonzero(op, rhs)])
    text = f"{op.name}: {int(least)} divided by -1 is out of the range of {rhs.dtype}"
    overflow = _Fault(shape, overflows, text, lambda _: [])
    return _copied(site, rhs, (lhs,), [_nonzero(op, rhs), overflow])


def _divisor_of_remainder(op: OperatorOp, site: RuleContext) -> Tensor:
    """A divisor with 1 in the place of -1: the remainders are the same, 0, and no
    quotient overflows."""
    program, rhs = site.program, site.operand(0)

    def copy(value: Expr) -> Expr:
        if tir.is_uint(rhs.dtype):
            return value
        return program.select(value.equals(-1), program.constant(1, rhs.dtype), value)

    return _copied(site, rhs, (), [_nonzero(op, rhs)], copy)


def _broadcast_shape(lhs: Sequence[Dim], rhs: Sequence[Dim]) -> Sequence[Dim]:
    rank = max(len(lhs), len(rhs))
    pairs = [[1] * (rank - len(shape)) + list(shape) for shape in (lhs, rhs)]
    return [b if a == 1 else a for a, b in zip(*pairs, strict=True)]


def _each(
    position: int,
    is_wrong: Callable[[Any], Any],
    text: str,
    *,
    applies: Callable[[Attribute | None], bool] = lambda dtype: True,
) -> Callable[[Any], Check | None]:
    """The check of each element of an operand, if it is one for the dtype of that.

    `is_wrong` is asked of expressions and of numpy arrays.
    """

    def make(op: OperatorOp) -> Check | None:
        if not applies(_dtype(op.operands[position].type)):
            return None

        def stages(op: OperatorOp, site: RuleContext) -> Tensor:
            values = site.operand(0)

            def at(point: Point) -> Expr:
                return is_wrong(values[point])

            fault = _Fault(values.shape, at, f"{op.name}: {text}", lambda _: [])
            return _copied(site, values, (), [fault])

        def holds(_: OperatorOp, values: np.ndarray[Any, Any]) -> bool:
            return not np.any(is_wrong(values))

        return Check(position, (position,), (), stages, holds)

    return make


def _is_zero(value: Any) -> Any:
    return value.equals(0) if isinstance(value, Expr) else value == 0


def _is_signed(dtype: Attribute | None) -> bool:
    return dtype is not None and tir.is_int(dtype) and not tir.is_bool(dtype)


def _axis_of_take(op: relax.TakeOp) -> int:
    return 0 if op.axis is None else op.axis.value.data


def _axis(op: relax.GatherElementsOp | relax.ScatterElementsOp) -> int:
    return op.axis.value.data


_CHECKS: Mapping[type[Operation], Callable[[Any], Check | None]] = {
    relax.DivideOp: _divisor(_divisor_of_quotient, 0, 1),
    relax.FloorDivideOp: _divisor(_divisor_of_quotient, 0, 1),
    relax.ModOp: _divisor(_divisor_of_remainder, 1),
    relax.FloorModOp: _divisor(_divisor_of_remainder, 1),
    relax.TakeOp: _on_axis(1, _axis_of_take, negative=False),
    relax.GatherElementsOp: _on_axis(1, _axis, negative=True),
    relax.ScatterElementsOp: _on_axis(1, _axis, negative=True),
    relax.GatherNDOp: _along_last(lambda op: op.batch_dims.value.data),
    relax.ScatterNDOp: _along_last(lambda op: 0),
    relax.NLLLossOp: _on_axis(
        1,
        lambda op: 1 if (_rank(op, 0) or 0) > 1 else 0,
        negative=False,
        name="the classes",
        ignored=lambda op: op.ignore_index.value.data,
    ),
    relax.MultinomialFromUniformOp: _on_axis(
        2, lambda op: 0, negative=False, name="the rows"
    ),
    relax.DynamicStridedSliceOp: _each(3, _is_zero, "the stride of a slice is 0"),
    relax.PowerOp: _each(
        1, lambda x: x < 0, "an integer has no negative power", applies=_is_signed
    ),
}
