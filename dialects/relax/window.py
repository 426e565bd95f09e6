"""What convolutions and poolings share: windows that move over spatial dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.attributes import Dims
from xdsl_tvm.dialects.relax.layout import Layout
from xdsl_tvm.dialects.relax.symbolic import Dim, provably_different
from xdsl_tvm.dialects.relax.types import TensorInfo

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
"""Letters of the spatial dimensions, by their number."""


def per_dimension(op: str, what: str, values: Sequence[int], rank: int) -> list[int]:
    """One value per spatial dimension; a single one is for all.

    Raises VerifyException for another number of values.
    """
    if len(values) == 1:
        return list(values) * rank
    if len(values) != rank:
        raise VerifyException(
            f"{op}: {what} must have 1 or {rank} values, not {len(values)}"
        )
    return list(values)


def positive(op: str, what: str, values: Sequence[int]) -> Sequence[int]:
    """The values; VerifyException if one is not positive."""
    if any(value <= 0 for value in values):
        raise VerifyException(f"{op}: {what} must be positive, not {min(values)}")
    return values


def full_padding(op: str, padding: Sequence[int], rank: int) -> list[int]:
    """Padding at all begins, then at all ends; one for all, or one per dimension.

    Raises VerifyException for another number of values.
    """
    if len(padding) == 1:
        return list(padding) * (2 * rank)
    if len(padding) == rank:
        return [*padding, *padding]
    if len(padding) != 2 * rank:
        raise VerifyException(
            f"{op}: padding must have 1, {rank} or {2 * rank} values, not {len(padding)}"
        )
    return list(padding)


def padding_pairs(op: str, padding: Sequence[int], rank: int) -> list[tuple[int, int]]:
    """What is added before and after, per spatial dimension.

    Raises VerifyException for another number of values.
    """
    full = full_padding(op, padding, rank)
    return list(zip(full[:rank], full[rank:], strict=True))


def differ(lhs: Dim | None, rhs: Dim | None) -> bool:
    """Whether two extents are known to be different."""
    return lhs is not None and rhs is not None and provably_different(lhs, rhs)


def window_count(
    extent: Dim | None,
    size: Dim | None,
    stride: int,
    padding: tuple[int, int],
    dilation: int,
    ceil_mode: bool = False,
) -> Dim | None:
    """How many windows of `size` elements, `dilation` apart, fit a padded extent."""
    if extent is None or size is None:
        return None
    room = extent + sum(padding) - (size - 1) * dilation - 1
    return (room + (stride - 1 if ceil_mode else 0)) // stride + 1


def plain_dims(
    op: str, operand: str, info: TensorInfo, layout: Layout, letters: str
) -> Dims | None:
    """Dimensions in the order of the letters, None where the rank is unknown.

    Raises VerifyException for a rank that does not fit the layout.
    """
    if info.rank is not None and info.rank != layout.rank:
        raise VerifyException(
            f"{op}: operand '{operand}' must have rank {layout.rank}, "
            f'as layout "{layout}" has, not {info.rank}'
        )
    return None if info.dims is None else layout.to_plain(info.dims, letters)
