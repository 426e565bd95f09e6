"""Tensor copies and products of warpgroups, of Hopper GPUs.

A launch takes a `TensorMap` where a kernel has the pointer to one. Rows of shared memory
are permuted as the hardware does: with a swizzle of 128 bytes, bits 4 to 6 of an address
are combined with bits 7 to 9.

A product reads its operands where it is begun: that they are written before the wait is
not found out. Its sums are there when the threads have waited for its group (see
`products.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from xdsl.ir import Operation

from xdsl_tvm.dialects import nvvm
from xdsl_tvm.dialects.dtypes import numpy_float
from xdsl_tvm.interpreters.data.boxes import (
    CHUNK,
    ROW,
    check_tensor_map,
    line_chunks,
    permuted,
    term_chunks,
)
from xdsl_tvm.interpreters.data.memory import Pointer, memory_of
from xdsl_tvm.interpreters.errors import (
    ArgumentError,
    AsyncCopyError,
    SimulationError,
    UninitializedReadError,
)
from xdsl_tvm.interpreters.llvm_kernels.copies import Copy
from xdsl_tvm.interpreters.llvm_kernels.counting import CountedCopies, places_of
from xdsl_tvm.interpreters.llvm_kernels.layouts import Array, Mask, Value
from xdsl_tvm.interpreters.llvm_kernels.memory import (
    Access,
    BoxedTensor,
    Region,
    array_region,
)
from xdsl_tvm.interpreters.llvm_kernels.registers import whole_warps
from xdsl_tvm.interpreters.llvm_kernels.rules import (
    Action,
    Sync,
    TeamState,
    action,
    sync,
)

_MAP_BYTES: Final = 128
_WARPGROUP: Final = 4
_ALIGNMENT: Final = 128
_FIELD: Final = 0x3FFF
_BY_128: Final = 1


# ---- tensor maps ----


@dataclass(frozen=True, eq=False)
class TensorMap:
    """A tensor of which kernels copy boxes, as `cuTensorMapEncodeTiled` makes one.

    The last dimension of `array` is contiguous, and the strides of the others are
    multiples of 16 bytes. `box` has the elements of a box in each dimension, up to 256;
    its rows are multiples of 16 bytes, and of 128 where `swizzle` is 128 and not 0.
    Raises ArgumentError for others.
    """

    array: np.ndarray[Any, Any]
    box: tuple[int, ...]
    swizzle: int = 0

    def __post_init__(self) -> None:
        array, size = self.array, self.array.dtype.itemsize
        check_tensor_map(array.shape, array.strides[:-1], size, self.box, self.swizzle)
        if array.strides[-1] != size:
            raise ArgumentError(
                f"a tensor map is of contiguous rows, not of strides {array.strides}"
            )

    def region(self, name: str) -> Region:
        """What a pointer to the map reaches: 128 bytes that only copies understand."""
        pointer = memory_of(self.array)
        assert isinstance(pointer, Pointer)
        tensor = BoxedTensor(
            array_region(pointer.memory, name, None),
            pointer.offset,
            self.array.shape,
            self.array.strides,
            self.array.dtype.itemsize,
            self.box,
            self.swizzle,
        )
        return Region(
            name, np.zeros(_MAP_BYTES, np.uint8), None, _MAP_BYTES, tensor=tensor
        )


# ---- copies ----


@action(nvvm.CpAsyncBulkTensorOp)
def _copy_box(op: nvvm.CpAsyncBulkTensorOp) -> Action:
    target = Access(op, op.dst.type, 3, _ALIGNMENT)

    def copy(
        team: TeamState, mask: Mask, to: Array, map: Array, bar: Array, *at: Array
    ) -> None:
        everyone = np.ones(team.count, np.bool_) if mask is None else mask
        place = np.broadcast_to(map, (team.count,))
        barriers = places_of(team, op, bar, mask, operand=2)
        to = np.broadcast_to(to, (team.count,))
        for region, _, some in team.spaces.locate(op, 0, place, everyone):
            assert some is not None
            if region.tensor is None:
                raise SimulationError(f"{op.name}: {region.name} is no tensor map", op)
            box = region.tensor
            if len(at) != len(box.extents):
                raise SimulationError(
                    f"{op.name}: {len(at)} coordinates of a tensor of "
                    f"{len(box.extents)} dimensions",
                    op,
                )
            corner = [np.broadcast_to(x, (team.count,)).astype(np.int64) for x in at]
            team.spaces.checked(target, team.spaces.shared, to, some, box.bytes)
            begun = _begin(team, op, box, to, corner[::-1], some)
            for bar_place in np.unique(barriers[some]).tolist():
                here = some & (barriers == bar_place)
                barrier = team.barriers.at(op, bar_place)
                size = box.bytes * int(here.sum())
                team.barriers.counted.append(
                    CountedCopies(op, barrier, here, begun, size)
                )

    return copy


def _begin(
    team: TeamState,
    op: Operation,
    tensor: BoxedTensor,
    to: Array,
    corner: list[Array],
    some: Array,
) -> list[Copy]:
    """Start the copies of all pieces of a box, for the threads that ask for it."""
    count, shared = team.count, team.spaces.shared
    assert shared.starts is not None
    row_bytes = tensor.box[-1] * tensor.itemsize
    before = len(team.copies.pending)
    for number, index in enumerate(np.ndindex(*tensor.box[:-1])):
        where = [first + step for first, step in zip(corner, (*index, 0), strict=True)]
        inside = np.ones(count, np.bool_)
        origin = np.full(count, tensor.start)
        for place, extent, stride in zip(
            where[:-1], tensor.extents, tensor.strides, strict=False
        ):
            inside &= (place >= 0) & (place < extent)
            origin = origin + place * stride
        for chunk in range(0, row_bytes, CHUNK):
            column = where[-1] * tensor.itemsize + chunk
            left = tensor.extents[-1] * tensor.itemsize - column
            if (inside & some & (column < 0)).any():
                raise SimulationError(f"{op.name}: a box begins before its tensor", op)
            filled = np.where(inside, np.clip(left, 0, CHUNK), 0)
            target = to + number * row_bytes + chunk
            if tensor.swizzle:
                target = permuted(target)
            places = np.where(some, shared.starts + target, shared.starts)
            source = np.where(filled > 0, origin + column, 0)
            team.copies.start(
                Copy(
                    op,
                    shared,
                    places,
                    source,
                    tensor.data,
                    CHUNK,
                    filled,
                    some.copy(),
                    np.full(count, -1),
                )
            )
    return team.copies.pending[before:]


# ---- products ----


@action(nvvm.WgmmaFenceOp)
def _fence(op: nvvm.WgmmaFenceOp) -> Action:
    def fence(team: TeamState, mask: Mask) -> None:
        team.products.fence(mask)

    return fence


@action(nvvm.WgmmaCommitGroupOp)
def _commit(op: nvvm.WgmmaCommitGroupOp) -> Action:
    def commit(team: TeamState, mask: Mask) -> None:
        team.products.commit(mask)

    return commit


@action(nvvm.WgmmaWaitGroupOp)
def _wait(op: nvvm.WgmmaWaitGroupOp) -> Action:
    def wait(team: TeamState, mask: Mask) -> None:
        team.products.wait(team, mask, op.count)

    return wait


@sync(nvvm.WgmmaMmaAsyncOp)
def _multiply(op: nvvm.WgmmaMmaAsyncOp) -> Sync:
    dtype = np.dtype(np.float16) if op.type_a.data == "f16" else numpy_float("bfloat16")
    columns = op.columns

    def run(team: TeamState, mask: Mask, sums: Value, a: Array, b: Array) -> Value:
        threads = whole_warps(team, mask)
        before = team.products.begin(op, team, mask, sums)
        descriptors = [
            np.broadcast_to(each, (team.count,)).astype(np.uint64) for each in (a, b)
        ]
        for warp in threads:
            first = int(warp[0])
            row = 16 * (_number_in_block(team, first) // 32 % _WARPGROUP)
            left, right = (int(each[first]) for each in descriptors)
            rows = _operand(team, op, warp, left, row, 16, dtype)
            lines = _operand(
                team, op, warp, right, 0, columns, dtype, by_terms=op.is_transposed
            )
            terms = lines if op.is_transposed else lines.T
            total = rows.astype(np.float64) @ terms.astype(np.float64)
            lane = np.arange(32)
            for number in range(columns // 2):
                j, h, e = number // 4, number // 2 % 2, number % 2
                found = total[lane // 4 + 8 * h, 8 * j + 2 * (lane % 4) + e]
                if not op.begins_with_zero:
                    found = found + before[number][warp]
                before[number][warp] = found.astype(np.float32)
        return team.products.hold(team, mask, before)

    return Sync(op, "warp", run)


def _number_in_block(team: TeamState, thread: int) -> int:
    """The number of a thread in its block."""
    found, size = 0, 1
    for axis in "xyz":
        place = team.register(f"tid.{axis}")
        found += size * int(place[thread if len(place) > 1 else 0])
        size *= int(team.register(f"ntid.{axis}")[0])
    return found


def _operand(
    team: TeamState,
    op: Operation,
    warp: Array,
    descriptor: int,
    first: int,
    count: int,
    dtype: np.dtype[np.generic],
    *,
    by_terms: bool = False,
) -> Array:
    """Some rows of an operand, 16 terms each, that are in shared memory; or 16 terms of
    some columns each, if `by_terms`.

    Raises SimulationError for a descriptor that is not of rows permuted by 128 bytes, and
    what reads of memory raise that is not written, or that a copy is on the way to.
    """
    if descriptor >> 62 != _BY_128:
        raise SimulationError(
            f"{op.name}: only operands that are permuted by {ROW} bytes are run", op
        )
    start = (descriptor & _FIELD) << 4
    stride = (descriptor >> 32 & _FIELD) << 4
    further = (descriptor >> 16 & _FIELD) << 4
    if by_terms:
        address = term_chunks(start, count, further, stride)
    else:
        address = line_chunks(start, first, count, stride)
    shared = team.spaces.shared
    assert shared.starts is not None
    places = address.ravel() + int(shared.starts[warp[0]])
    if int(address.max()) + CHUNK > shared.size:
        raise SimulationError(f"{op.name}: an operand ends after shared memory", op)
    each = places[:, None] + np.arange(CHUNK)
    if shared.in_flight is not None and shared.in_flight[each].any():
        raise AsyncCopyError(
            f"{op.name}: an operand is read while a copy to it is in flight; wait for "
            "the copy first",
            op,
        )
    if shared.marks is not None and not shared.marks[each].all():
        raise UninitializedReadError(
            f"{op.name}: an operand is read where nothing was written", op
        )
    if shared.stamps is not None:
        readers = np.resize(warp, len(places))
        shared.stamps.note(op, "reads", places, CHUNK, readers)
    return shared.data[each].reshape(len(address), -1).view(dtype)
