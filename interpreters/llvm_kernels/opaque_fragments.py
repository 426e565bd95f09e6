"""Fragments of `wmma`, whose layout in registers is not specified.

Here the elements of a matrix, row by row, are in the registers of the lanes one after the
other; registers that are left over hold them once more. `loading_fragment`,
`storing_fragment` and `multiplying_fragments` make synchronization points for operations
of any spelling: those of `nvvm`, and the LLVM intrinsics by name. Accesses are not
counted, since which lane touches what is not specified.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import bf16, f16, f32, i8, i32
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.dialects import nvvm, tvm_llvm
from xdsl_tvm.dialects.nvvm.formats import Format, Shape
from xdsl_tvm.interpreters.errors import DivergenceError
from xdsl_tvm.interpreters.gpu.fragments import Product, multiply, parse_product
from xdsl_tvm.interpreters.llvm_kernels.accesses import loading, storing
from xdsl_tvm.interpreters.llvm_kernels.layouts import (
    Array,
    Mask,
    Value,
    members,
    space_of,
    store_bytes,
)
from xdsl_tvm.interpreters.llvm_kernels.memory import Access
from xdsl_tvm.interpreters.llvm_kernels.registers import (
    held_bytes,
    in_registers,
    whole_warps,
)
from xdsl_tvm.interpreters.llvm_kernels.rules import (
    SYNC_INTRINSICS,
    Sync,
    TeamState,
    sync,
)

_LANES = 32


@dataclass(frozen=True)
class TileInMemory:
    """A matrix of `rows` by `columns` elements of a type, and which way it is."""

    rows: int
    columns: int
    element: Attribute
    by_columns: bool

    def offsets(self, step: Array) -> Array:
        """Bytes from the first element to each, by warp, lane and element of the lane.

        `step` holds for each warp the elements from one row, or column, to the next.
        """
        row, column = np.divmod(np.arange(self.rows * self.columns), self.columns)
        if self.by_columns:
            row, column = column, row
        each = row * step[:, None] + column
        return each.reshape(len(step), _LANES, -1) * store_bytes(self.element)

    @property
    def step(self) -> int:
        """The distance of two rows, or columns, where no operand gives it."""
        return self.rows if self.by_columns else self.columns


def _one_for_all(team: TeamState, op: Operation, threads: Array, value: Array) -> Array:
    """What all lanes of each warp give. Raises DivergenceError where they differ."""
    found = np.broadcast_to(value, (team.count,))[threads]
    differs = (found != found[:, :1]).any(1)
    if differs.any():
        name = team.spaces.name(int(threads[np.flatnonzero(differs)[0], 0]))
        raise DivergenceError(
            f"{op.name}: {name} and others of its warp give different operands", op
        )
    return found[:, 0].astype(np.int64)


def _each_element(
    team: TeamState,
    op: Operation,
    threads: Array,
    tile: TileInMemory,
    pointer: Array,
    step: Array | None,
) -> list[Array]:
    """The addresses of the elements, by thread, of every position in a lane."""
    start = _one_for_all(team, op, threads, pointer)
    given = np.array([tile.step]) if step is None else step
    steps = _one_for_all(team, op, threads, given)
    addresses = start[:, None, None] + tile.offsets(steps)
    found: list[Array] = []
    for position in range(addresses.shape[2]):
        each = np.zeros(team.count, np.int64)
        each[threads] = addresses[:, :, position]
        found.append(each)
    return found


def _those(team: TeamState, threads: Array) -> Array:
    found = np.zeros(team.count, np.bool_)
    found[threads] = True
    return found


def _access(op: Operation, element: Attribute) -> Access:
    space = space_of(op.operands[0].type)
    return Access(op, element, space, store_bytes(element), counted=False)


def loading_fragment(op: Operation, tile: TileInMemory) -> Sync:
    """Loads a matrix: operands are the pointer and, optionally, the distance of rows."""
    load = loading(_access(op, tile.element))
    parts = members(op.results[0].type) or (op.results[0].type,)
    size = sum(map(store_bytes, parts))

    def run(
        team: TeamState, mask: Mask, pointer: Array, step: Array | None = None
    ) -> Value:
        threads = whole_warps(team, mask)
        lanes = _those(team, threads)
        addresses = _each_element(team, op, threads, tile, pointer, step)
        pieces = [load(team, lanes, each)[threads] for each in addresses]
        held = np.stack(pieces, axis=2).view(np.uint8)
        held = np.tile(held, (1, 1, size // held.shape[2]))
        return in_registers(team, threads, held, parts)

    return Sync(op, "warp", run)


def storing_fragment(op: Operation, tile: TileInMemory, *, has_step: bool) -> Sync:
    """Stores a matrix: operands are the pointer, the registers, and maybe the step."""
    store = storing(_access(op, tile.element))
    size = store_bytes(tile.element)

    def run(team: TeamState, mask: Mask, pointer: Array, *rest: Array) -> None:
        registers, step = (rest[:-1], rest[-1]) if has_step else (rest, None)
        threads = whole_warps(team, mask)
        lanes = _those(team, threads)
        held = held_bytes(team, threads, registers)
        addresses = _each_element(team, op, threads, tile, pointer, step)
        for position, each in enumerate(addresses):
            piece = held[:, :, position * size : (position + 1) * size]
            value = in_registers(team, threads, piece, (tile.element,))
            store(team, lanes, value, each)

    return Sync(op, "warp", run)


def multiplying_fragments(
    op: Operation, product: Product, registers: tuple[int, int], *, saturate: bool = False
) -> Sync:
    """Multiplies fragments, of which `registers` says how many are of A and of B."""
    m, n, k = product.shape
    first, last = registers[0], sum(registers)
    parts = members(op.results[0].type) or (op.results[0].type,)

    def run(team: TeamState, mask: Mask, *values: Array) -> Value:
        threads = whole_warps(team, mask)

        def matrix(
            held: Sequence[Array], storage: np.dtype[Any], rows: int, columns: int
        ) -> Array:
            data = held_bytes(team, threads, held)
            data = data[:, :, : rows * columns // _LANES * storage.itemsize]
            found = np.ascontiguousarray(data).view(storage)
            return found.reshape(len(threads), rows, columns)

        total = multiply(
            matrix(values[:first], product.a.storage, m, k),
            matrix(values[first:last], product.b.storage, k, n),
            matrix(values[last:], product.c.storage, m, n),
            saturate=saturate,
        )
        held = np.ascontiguousarray(total).reshape(len(threads), _LANES, -1)
        return in_registers(team, threads, held.view(np.uint8), parts)

    return Sync(op, "warp", run)


# ---- intrinsics ----

_NAME = re.compile(
    r"llvm\.nvvm\.wmma\.m(?P<m>\d+)n(?P<n>\d+)k(?P<k>\d+)\.(?P<what>load|store|mma)\."
    r"(?P<rest>.*)"
)
_MEMORY = re.compile(
    r"(?P<which>[abcd])\.(?P<way>row|col)(?P<step>\.stride)?\.(?P<type>\w+)\.p\d"
)
_PRODUCT = re.compile(
    r"(?:row|col)\.(?:row|col)\.(?P<types>f16\.f16|f32\.f32|bf16|s8|u8)"
    r"(?P<saturate>\.satfinite)?"
)
_ELEMENTS: dict[str, Attribute] = {
    "f16": f16,
    "bf16": bf16,
    "f32": f32,
    "s8": i8,
    "u8": i8,
    "s32": i32,
}
_FORMATS = {
    "f16.f16": ("f16", "f16", "f16"),
    "f32.f32": ("f16", "f16", "f32"),
    "bf16": ("bf16", "bf16", "f32"),
    "s8": ("s8", "s8", "s32"),
    "u8": ("u8", "u8", "s32"),
}


def _unknown(name: str) -> InterpretationError:
    return InterpretationError(f"the intrinsic '{name}' is not known here")


def _wmma(op: tvm_llvm.CallIntrinsicOp) -> Sync:
    name = op.intrin.data
    found = _NAME.fullmatch(name)
    if found is None:
        raise _unknown(name)
    m, n, k = (int(found[each]) for each in "mnk")
    if found["what"] == "mma":
        return _mma(op, found["rest"], (m, n, k))
    memory = _MEMORY.fullmatch(found["rest"])
    if memory is None or memory["type"] not in _ELEMENTS:
        raise _unknown(name)
    rows, columns = {"a": (m, k), "b": (k, n)}.get(memory["which"], (m, n))
    element = _ELEMENTS[memory["type"]]
    tile = TileInMemory(rows, columns, element, memory["way"] == "col")
    if found["what"] == "load":
        return loading_fragment(op, tile)
    return storing_fragment(op, tile, has_step=memory["step"] is not None)


def _mma(op: tvm_llvm.CallIntrinsicOp, rest: str, shape: tuple[int, int, int]) -> Sync:
    match = _PRODUCT.fullmatch(rest)
    if match is None:
        raise _unknown(op.intrin.data)
    # The formats are those of `mma.sync`, the shapes are not.
    product = parse_product("m16n8k16", _FORMATS[match["types"]], None, sparse=False)
    assert isinstance(product, Product)
    product = replace(product, shape=shape)
    sizes = [store_bytes(operand.type) for operand in op.operands]
    m, n, k = shape
    copies = 2 if product.a.kind == "float" else 1
    counts: list[int] = []
    for rows, columns in ((m, k), (k, n)):
        wanted = rows * columns // _LANES * product.a.bits // 8 * copies
        counts.append(wanted // sizes[sum(counts)])
    return multiplying_fragments(
        op, product, (counts[0], counts[1]), saturate=match["saturate"] is not None
    )


SYNC_INTRINSICS["llvm.nvvm.wmma"] = _wmma


# ---- operations ----


def _tile(shape: Shape, fragment: str, form: Format, layout: str) -> TileInMemory:
    m, n, k = shape
    rows, columns = {"a": (m, k), "b": (k, n)}.get(fragment, (m, n))
    element = _ELEMENTS.get(form.name)
    if element is None:
        raise InterpretationError(f"fragments of {form.name} are not run")
    return TileInMemory(rows, columns, element, layout == "col")


@sync(nvvm.WMMALoadOp)
def _load(op: nvvm.WMMALoadOp) -> Sync:
    tile = _tile(op.extents, op.frag.data, op.format, op.layout.data)
    return loading_fragment(op, tile)


@sync(nvvm.WMMAStoreOp)
def _store(op: nvvm.WMMAStoreOp) -> Sync:
    tile = _tile(op.extents, "d", op.format, op.layout.data)
    store = storing_fragment(op, tile, has_step=True)

    def run(
        team: TeamState, mask: Mask, pointer: Array, step: Array, *rest: Array
    ) -> None:
        store.action(team, mask, pointer, *rest, step)

    return replace(store, action=run)


@sync(nvvm.WMMAMmaOp)
def _multiply(op: nvvm.WMMAMmaOp) -> Sync:
    factor, total = op.formats
    names = (factor.name, factor.name, total.name)
    product = parse_product("m16n8k16", names, None, sparse=False)
    if isinstance(product, str):
        raise InterpretationError(product)
    product = replace(product, shape=op.extents)
    first, second, _ = op.counts
    return multiplying_fragments(op, product, (first, second))
