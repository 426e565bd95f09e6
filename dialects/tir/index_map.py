"""Maps from logical indices to new coordinates (docs/spec/tir-ir.md §8)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from inspect import signature
from math import prod
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import AffineMapAttr, IntegerType, NoneAttr, i32, i64
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

_MANY = 4096
"""So many elements are mapped at once, as arrays."""

Coordinates: TypeAlias = Sequence[AffineExpr | int]
IndexFunction: TypeAlias = (
    Callable[[], Coordinates]
    | Callable[[AffineExpr], Coordinates]
    | Callable[[AffineExpr, AffineExpr], Coordinates]
    | Callable[[AffineExpr, AffineExpr, AffineExpr], Coordinates]
    | Callable[[AffineExpr, AffineExpr, AffineExpr, AffineExpr], Coordinates]
    | Callable[[AffineExpr, AffineExpr, AffineExpr, AffineExpr, AffineExpr], Coordinates]
)
"""A function of up to five indices that gives the coordinates."""


def _affine(function: IndexFunction) -> AffineMap:
    rank = len(signature(function).parameters)
    apply = cast(Callable[..., Coordinates], function)
    results = apply(*map(AffineExpr.dimension, range(rank)))
    return AffineMap(
        rank,
        0,
        tuple(AffineExpr.constant(r) if isinstance(r, int) else r for r in results),
    )


@irdl_attr_definition
class IndexMapAttr(ParametrizedAttribute):
    """Which coordinates an element at some indices gets: TVM's `IndexMap`.

    `#tir.index_map<(d0, d1) -> (d1, d0 floordiv 4, d0 mod 4)>`, and where the inverse is
    given after it, `#tir.index_map<(d0) -> (d0 + 1), inverse (d0) -> (d0 - 1)>`. They
    are built of `+`, `-`, `*`, `floordiv`, `ceildiv` and `mod` by constants; `mod` has
    the sign of its divisor. Indices are `i64`, or `i32` where that is written at the end.
    """

    name = "tir.index_map"

    map: AffineMapAttr
    inverse_map: AffineMapAttr | NoneAttr
    index_type: IntegerType

    def __init__(
        self,
        map: AffineMap,
        inverse_map: AffineMap | None = None,
        index_type: IntegerType = i64,
    ) -> None:
        super().__init__(
            AffineMapAttr(map),
            NoneAttr() if inverse_map is None else AffineMapAttr(inverse_map),
            index_type,
        )

    @staticmethod
    def of(function: IndexFunction, inverse: IndexFunction | None = None) -> IndexMapAttr:
        """The map of a Python function of the indices: `lambda i, j: (j, i // 4)`."""
        return IndexMapAttr(
            _affine(function), None if inverse is None else _affine(inverse)
        )

    @staticmethod
    def from_func(
        mapping_function: IndexFunction, inverse_index_map: IndexFunction | None = None
    ) -> IndexMapAttr:
        """The map of a function, as `of`, by TVM's name."""
        return IndexMapAttr.of(mapping_function, inverse_index_map)

    @property
    def rank(self) -> int:
        """How many indices it takes."""
        return self.map.data.num_dims

    @property
    def inverse(self) -> IndexMapAttr | None:
        """The map back, if it is given."""
        if isinstance(self.inverse_map, NoneAttr):
            return None
        return IndexMapAttr(self.inverse_map.data, self.map.data, self.index_type)

    def map_indices(self, indices: Sequence[int]) -> tuple[int, ...]:
        """The coordinates of an element. Raises ValueError for another rank."""
        self._require_rank(indices)
        return self.map.data.eval(indices, ())

    def map_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The smallest box from 0 that holds the coordinates of all elements of `shape`.

        All are computed, so it takes time linear in their number. Raises ValueError for
        another rank, an empty shape and a negative coordinate.
        """
        self._require_rank(shape)
        if not prod(shape):
            raise ValueError(f"{self} has no shape for the empty shape {list(shape)}")
        if prod(shape) < _MANY:
            found = list(zip(*self._images(shape), strict=True))
            ranges = [(min(each), max(each)) for each in found]
        else:
            arrays = self._columns(shape)
            ranges = [(int(each.min()), int(each.max())) for each in arrays]
        if any(low < 0 for low, _ in ranges):
            raise ValueError(f"{self} maps indices of {list(shape)} below 0")
        return tuple(high + 1 for _, high in ranges)

    def _columns(self, shape: Sequence[int]) -> Sequence[Any]:
        """Per coordinate its values for all elements, as arrays that broadcast."""
        import numpy as np

        return self.evaluated(np.ogrid[tuple(slice(extent) for extent in shape)])

    def evaluated(self, indices: Sequence[Any]) -> tuple[Any, ...]:
        """The coordinates for arrays of indices, as arrays that broadcast."""
        import numpy as np

        results = self.map.data.results
        return tuple(np.asarray(result.eval(indices, ())) for result in results)

    def compose(self, first: IndexMapAttr) -> IndexMapAttr:
        """The map that does `first`, and this one on its results.

        Raises ValueError unless `first` has as many results as this one has indices.
        """
        if len(first.map.data.results) != self.rank:
            raise ValueError(
                f"{self} takes {self.rank} indices, but {first} gives "
                f"{len(first.map.data.results)}"
            )
        return IndexMapAttr(self.map.data.compose(first.map.data), None, self.index_type)

    def is_bijective_on(self, shape: Sequence[int]) -> bool:
        """Whether the elements of `shape` fill the box `map_shape` one to one."""
        images = list(self._images(shape))
        count = prod(self.map_shape(shape))
        return len(set(images)) == len(images) == count

    def _images(self, shape: Sequence[int]) -> list[tuple[int, ...]]:
        return [self.map_indices(each) for each in itertools.product(*map(range, shape))]

    def _require_rank(self, indices: Sequence[int]) -> None:
        if len(indices) != self.rank:
            raise ValueError(f"{self} takes {self.rank} indices, got {len(indices)}")

    def verify(self) -> None:
        forward = self.map.data
        if self.index_type not in (i32, i64):
            raise VerifyException(
                f"tir.index_map: indices must be i32 or i64, got {self.index_type}"
            )
        maps = [forward]
        if isinstance(self.inverse_map, AffineMapAttr):
            backward = self.inverse_map.data
            maps.append(backward)
            if (backward.num_dims, len(backward.results)) != (
                len(forward.results),
                forward.num_dims,
            ):
                raise VerifyException(
                    f"tir.index_map: the inverse of a map from {forward.num_dims} to "
                    f"{len(forward.results)} indices must be one from "
                    f"{len(forward.results)} to {forward.num_dims}"
                )
        if any(each.num_symbols for each in maps):
            raise VerifyException("tir.index_map: a map must have no symbols")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        inverse: Attribute = NoneAttr()
        index_type: Attribute = i64
        with parser.in_angle_brackets():
            forward = AffineMapAttr(parser.parse_affine_map())
            while parser.parse_optional_punctuation(",") is not None:
                if parser.parse_optional_keyword("inverse") is not None:
                    inverse = AffineMapAttr(parser.parse_affine_map())
                else:
                    index_type = parser.parse_type()
        return forward, inverse, index_type

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.map.data))
            if isinstance(self.inverse_map, AffineMapAttr):
                printer.print_string(f", inverse {self.inverse_map.data}")
            if self.index_type != i64:
                printer.print_string(", ")
                printer.print_attribute(self.index_type)
