"""Sizes of allocated tensors in bytes, exact or bounded from above."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.integers import INF
from xdsl_tvm.dialects.relax.symbolic import (
    Apply,
    Atom,
    Monomial,
    Symbol,
    bounds,
    maximum,
    minimum,
    product,
)
from xdsl_tvm.dialects.tir.types import bytes_of_lane, is_scalar


@dataclass(frozen=True)
class UpperBounds:
    """Bounds of dimensions, given the greatest values of some symbols, inclusive."""

    symbols: Mapping[str, int] = field(default_factory=dict[str, int])
    _known: dict[relax.Dim, relax.Dim] = field(default_factory=dict[relax.Dim, relax.Dim])

    def of(self, dim: relax.Dim) -> relax.Dim:
        """What the extent `dim` never exceeds; `dim` itself if nothing better is known.

        A constant where one is known, else an expression over symbols without a bound.
        """
        if not self.symbols or dim.value is not None:
            return dim
        if dim not in self._known:
            self._known[dim] = self._bound(dim)
        return self._known[dim]

    def _bound(self, dim: relax.Dim) -> relax.Dim:
        greatest = bounds(dim, self.symbols).max
        if greatest != INF:
            # It is an extent: it cannot be negative, whatever its bound is.
            return relax.Dim.constant(int(max(greatest, 0)))
        total = relax.Dim.constant(0)
        for monomial, coefficient in dim.terms:
            total += self._term(monomial, coefficient)
        return total

    def _term(self, monomial: Monomial, coefficient: int) -> relax.Dim:
        """What one product is at most: each term of a sum is bounded by itself."""
        exact = relax.Dim({monomial: coefficient})
        if len(monomial) > 1 and not all(map(self._is_non_negative, monomial)):
            return exact
        if coefficient > 0:
            return product(map(self._atom, monomial)) * coefficient
        is_bounded = any(symbol in self.symbols for symbol in exact.symbols())
        if is_bounded and all(map(self._is_non_negative, monomial)):
            return relax.Dim.constant(0)
        return exact

    def _is_non_negative(self, atom: Atom) -> bool:
        return bounds(relax.Dim({(atom,): 1}), self.symbols).min >= 0

    def _atom(self, atom: Atom) -> relax.Dim:
        exact = relax.Dim({(atom,): 1})
        greatest = bounds(exact, self.symbols).max
        if greatest != INF:
            return relax.Dim.constant(int(greatest))
        if isinstance(atom, Symbol):
            return exact
        return self._apply(atom) or exact

    def _apply(self, atom: Apply) -> relax.Dim | None:
        if atom.operator == "floordiv" and (atom.rhs.value or 0) > 0:
            return self._bound(atom.lhs) // atom.rhs
        if atom.operator == "min":
            return minimum(self._bound(atom.lhs), self._bound(atom.rhs))
        if atom.operator == "max":
            return maximum(self._bound(atom.lhs), self._bound(atom.rhs))
        return None


UNBOUNDED = UpperBounds()
"""Nothing is known of any symbol: sizes are exact."""


def allocated_info(alloc: relax.AllocTensorOp) -> relax.TensorInfo:
    """The tensor that is allocated."""
    info = relax.TensorInfo.of(alloc.result.type)
    assert info is not None, "verified"
    return info


def allocated_bytes(
    alloc: relax.AllocTensorOp, name: str, upper: UpperBounds = UNBOUNDED
) -> relax.Dim:
    """The bytes that a new tensor needs at most, `upper` bounding its dimensions.

    Elements of less than a byte take one. Raises PassFailedException, with the name of
    the pass, for an element type without a size.
    """
    size = tensor_bytes(allocated_info(alloc), upper)
    if size is None:
        raise PassFailedException(
            f"{name}: {alloc.name} makes a {alloc.result.type}, whose elements have no "
            "size in bytes; use an integer or a float type"
        )
    return size


def tensor_bytes(
    info: relax.TensorInfo, upper: UpperBounds = UNBOUNDED
) -> relax.Dim | None:
    """The bytes of a tensor at most, None if shape or element size are not known."""
    if info.shape is None or info.dtype is None or not is_scalar(info.dtype):
        return None
    return product(map(upper.of, info.shape)) * bytes_of_lane(info.dtype)
