"""The features of values in tiles of a few vectors."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.passes.relax._attention.places import constant


@dataclass(frozen=True)
class Panels:
    """Tiles of vectors that together are all features.

    Where tiles do not divide the features, the last one begins earlier, and computes
    again what another one does.
    """

    features: int
    vectors: int
    """Of a tile."""
    lanes: int
    """Of a vector."""

    @staticmethod
    def of(features: int, most_vectors: int, most_lanes: int) -> Panels:
        """Tiles of so many vectors and lanes, of fewer where there are few features."""
        lanes = min(most_lanes, 1 << (features.bit_length() - 1))
        return Panels(features, min(most_vectors, features // lanes), lanes)

    @property
    def width(self) -> int:
        """Features of a tile."""
        return self.vectors * self.lanes

    @property
    def count(self) -> int:
        """How many tiles there are."""
        return -(-self.features // self.width)

    def feature(self, panel: Expr, place: Expr) -> Expr:
        """The feature at a place of a tile."""
        first = smart.mul(panel, constant(self.width))
        if self.features % self.width:
            first = smart.minimum(first, constant(self.features - self.width))
        return smart.add(first, place)
