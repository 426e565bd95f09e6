"""The rule of changes of layout by index maps (docs/spec/relax-ops.md §8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.relax.legalize.indexing import everything, for_each
from xdsl_tvm.passes.relax.legalize.registry import NoStagesError, RuleContext, rule
from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    Dim,
    Expr,
    Scalar,
    Tensor,
    TensorProgram,
)


@dataclass(frozen=True)
class _Digit:
    """`dim floordiv divisor mod modulus`, without the latter where it is None."""

    dim: int
    divisor: int
    modulus: int | None


@rule(relax.LayoutTransformOp, function="te_layout_transform")
def layout_transform(op: relax.LayoutTransformOp, site: RuleContext) -> Tensor:
    """The element that the map brings to each place, else the pad value.

    A map that takes indices apart is inverted. For one that joins them, and fills the
    result, each element is put where it belongs; for any other one after the result is
    filled with the pad value.
    """
    if op.axis_separators is not None or op.input_axis_separators is not None:
        raise NoStagesError
    x, forward = site.tensor(0), op.index_map.map.data
    pad = None if op.pad_value is None else site.scalar(1)
    digits = [_digit(each) for each in forward.results]
    positions = [_positions(digits, dim, x.shape[dim]) for dim in range(len(x.shape))]
    known = [each for each in positions if each is not None]
    if len(known) < len(positions) or None in digits:
        joined = _joined(forward.results, x.shape, site.shape)
        if joined is not None:
            return _moved(site, x, forward.results, joined)
        return _scattered(site, x, forward.results, pad)
    program = site.program

    def element(*indices: Expr) -> Expr:
        places = [_whole(program, digits, own, indices) for own in known]
        # Where a block is not full, its rest is padding.
        checks = [
            place < program.extent(extent)
            for place, extent, own in zip(places, x.shape, known, strict=True)
            if not _is_full(site.shape, own, extent)
        ]
        if not checks:
            return x[tuple(places)]
        inside = checks[0]
        for check in checks[1:]:
            inside = inside & check
        return program.if_then_else(
            inside, lambda: x[tuple(places)], lambda: _pad(program, pad, x)
        )

    return program.compute("te_layout_transform", site.shape, x.dtype, element)


def _pad(program: TensorProgram, pad: Scalar | None, x: Tensor) -> Expr:
    return program.constant(0, x.dtype) if pad is None else pad.of(x.dtype)


def _digit(expr: AffineExpr) -> _Digit | None:
    """The part of an index that a result of the map is; None for anything else."""
    if isinstance(expr, AffineDimExpr):
        return _Digit(expr.position, 1, None)
    if not isinstance(expr, AffineBinaryOpExpr):
        return None
    inner, by = _digit(expr.lhs), expr.rhs
    if inner is None or not isinstance(by, AffineConstantExpr) or by.value <= 0:
        return None
    number, modulus = by.value, inner.modulus
    if modulus is not None and modulus % number:
        return None
    if expr.kind == AffineBinaryOpKind.Mod:
        return _Digit(inner.dim, inner.divisor, number)
    if expr.kind == AffineBinaryOpKind.FloorDiv:
        rest = None if modulus is None else modulus // number
        return _Digit(inner.dim, inner.divisor * number, rest)
    return None


def _positions(
    digits: Sequence[_Digit | None], dim: int, extent: Dim
) -> list[int] | None:
    """The results that hold the digits of an index, from the lowest; None if not all."""
    own = sorted(
        (digit.divisor, position, digit.modulus)
        for position, digit in enumerate(digits)
        if digit is not None and digit.dim == dim
    )
    reached: int | None = 1
    for divisor, _, modulus in own:
        if divisor != reached:
            return None
        reached = None if modulus is None else divisor * modulus
    is_all = reached is None or (isinstance(extent, int) and reached >= extent)
    return [position for _, position, _ in own] if is_all else None


def _whole(
    program: TensorProgram,
    digits: Sequence[_Digit | None],
    positions: Sequence[int],
    indices: Sequence[Expr],
) -> Expr:
    """The index whose digits are at `positions`."""
    total: Expr | None = None
    for position in positions:
        digit = digits[position]
        assert digit is not None
        term = indices[position]
        if digit.divisor != 1:
            term = term * program.extent(digit.divisor)
        total = term if total is None else total + term
    return program.extent(0) if total is None else total


def _is_full(shape: Sequence[Dim], positions: Sequence[int], extent: Dim) -> bool:
    """Whether the digits count up to the extent and not further."""
    if len(positions) == 1:
        return shape[positions[0]] == extent
    total = 1
    for position in positions:
        length = shape[position]
        if not isinstance(length, int):
            return False
        total *= length
    return total == extent


def _joined(
    results: Sequence[AffineExpr], extents: Sequence[Dim], shape: Sequence[Dim]
) -> list[int] | None:
    """The dimensions of the operand in the order of the result, where each result of the
    map is the number of an index among all of some dimensions of known extents, or one of
    any extent, so that it puts an element in each place; None for other maps."""
    order: list[int] = []
    for expr, size in zip(results, shape, strict=True):
        strides = _strides(expr)
        if strides is None:
            return None
        own = [dim for _, dim in sorted((-n, dim) for dim, n in strides.items())]
        if len(own) == 1 and strides[own[0]] == 1 and extents[own[0]] == size:
            order += own
            continue
        reached: Dim = 1
        for dim in reversed(own):
            extent = extents[dim]
            if strides[dim] != reached or not isinstance(extent, int):
                return None
            reached = strides[dim] * extent
        if reached != size:
            return None
        order += own
    return order if sorted(order) == [*range(len(extents))] else None


def _strides(expr: AffineExpr) -> dict[int, int] | None:
    """Each dimension and its factor in a sum of them; None for other expressions."""
    match expr:
        case AffineDimExpr():
            return {expr.position: 1}
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add):
            parts = [_strides(each) for each in (expr.lhs, expr.rhs)]
            found = [each for each in parts if each is not None]
            if len(found) < len(parts) or found[0].keys() & found[1].keys():
                return None
            return found[0] | found[1]
        case AffineBinaryOpExpr(
            kind=AffineBinaryOpKind.Mul, rhs=AffineConstantExpr(value=factor)
        ):
            terms = _strides(expr.lhs)
            return None if terms is None else {d: n * factor for d, n in terms.items()}
        case _:
            return None


def _moved(
    site: RuleContext, x: Tensor, results: Sequence[AffineExpr], order: Sequence[int]
) -> Tensor:
    """Each element where the map puts it, in the order of the result."""
    program = site.program

    def point(indices: Sequence[Expr]) -> tuple[Expr, ...]:
        return tuple(indices[order.index(dim)] for dim in range(len(order)))

    def places(indices: Sequence[Expr]) -> tuple[Expr, ...]:
        return tuple(_value(program, each, point(indices)) for each in results)

    (out,) = program.sequential(
        "te_layout_transform",
        [x.shape[dim] for dim in order],
        [("te_layout_transform", site.shape, x.dtype)],
        lambda indices: [(x, point(indices))],
        lambda indices, outputs: [(outputs[0], places(indices))],
        lambda indices, outputs: program.store(
            x[point(indices)], outputs[0], places(indices)
        ),
    )
    return out


def _scattered(
    site: RuleContext, x: Tensor, results: Sequence[AffineExpr], pad: Scalar | None
) -> Tensor:
    program = site.program

    def body(_: list[Expr], outputs: list[Tensor]) -> None:
        (out,) = outputs
        for_each(
            program,
            site.shape,
            lambda point: program.store(_pad(program, pad, x), out, point),
        )
        for_each(
            program,
            x.shape,
            lambda point: program.store(
                x[point], out, [_value(program, each, point) for each in results]
            ),
        )

    (out,) = program.sequential(
        "te_layout_transform",
        (),
        [("te_layout_transform", site.shape, x.dtype)],
        lambda _: [everything(x)],
        lambda _, outputs: [everything(outputs[0])],
        body,
    )
    return out


_APPLY: dict[AffineBinaryOpKind, Callable[[Expr, Expr], Expr]] = {
    AffineBinaryOpKind.Add: lambda a, b: a + b,
    AffineBinaryOpKind.Mul: lambda a, b: a * b,
    AffineBinaryOpKind.FloorDiv: lambda a, b: a // b,
    AffineBinaryOpKind.Mod: lambda a, b: a % b,
}


def _value(program: TensorProgram, expr: AffineExpr, point: Sequence[Expr]) -> Expr:
    """An index of the result at a point of the operand."""
    if isinstance(expr, AffineConstantExpr):
        return program.extent(expr.value)
    if isinstance(expr, AffineDimExpr):
        return point[expr.position]
    if not isinstance(expr, AffineBinaryOpExpr) or expr.kind not in _APPLY:
        raise NoStagesError
    lhs, rhs = (_value(program, each, point) for each in (expr.lhs, expr.rhs))
    return _APPLY[expr.kind](lhs, rhs)
