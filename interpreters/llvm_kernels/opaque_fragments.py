"""Fragments of `wmma`, whose layout in registers is not specified.

Here the elements of a matrix, row by row, are in the registers of the lanes one after the
other; registers that are left over hold them once more. Of elements of less than 8 bits
a word of 32 bits, along a row of A or a column of B, is one. `loading_fragment`,
`storing_fragment` and `multiplying_fragments` make synchronization points for operations
of any spelling: those of `nvvm`, and the LLVM intrinsics by name. Accesses are not
counted, since which lane touches what is not specified.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects.builtin import bf16, f16, f32, i8, i32
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.dialects import nvvm, tvm_llvm
from xdsl_tvm.dialects.nvvm.formats import Shape
from xdsl_tvm.interpreters.errors import DivergenceError
from xdsl_tvm.interpreters.gpu.fragments import Format as Elements
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
    packed: int = 1
    """Elements of the matrix in one of these."""

    def offsets(self, step: Array) -> Array:
        """Bytes from the first element to each, by warp, lane and element of the lane.

        `step` holds for each warp the elements from one row, or column, to the next.
        """
        row, column = np.divmod(np.arange(self.rows * self.columns), self.columns)
        if self.by_columns:
            row, column = column, row
        each = row * (step[:, None] // self.packed) + column
        return each.reshape(len(step), _LANES, -1) * store_bytes(self.element)

    @property
    def step(self) -> int:
        """The distance of two rows, or columns, where no operand gives it."""
        return (self.rows if self.by_columns else self.columns) * self.packed


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
    is_packed = product.b.bits < 8
    parts = members(op.results[0].type) or (op.results[0].type,)

    def run(team: TeamState, mask: Mask, *values: Array) -> Value:
        threads = whole_warps(team, mask)

        def matrix(
            held: Sequence[Array], form: Elements, rows: int, columns: int
        ) -> Array:
            count = rows * columns
            data = held_bytes(team, threads, held)[:, :, : count * form.bits // 8 // 32]
            found = form.unpack(data.tobytes(), len(threads) * count)
            return found.reshape(len(threads), rows, columns)

        b = values[first:last]
        # Columns of packed elements follow each other.
        right = (
            matrix(b, product.b, n, k).swapaxes(1, 2)
            if is_packed
            else matrix(b, product.b, k, n)
        )
        total = multiply(
            matrix(values[:first], product.a, m, k),
            right,
            matrix(values[last:], product.c, m, n),
            product.operator,
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
    r"(?:(?P<operator>xor|and)\.popc\.)?(?:row|col)\.(?:row|col)\."
    r"(?P<types>f16\.f16|f32\.f32|bf16|[su]8|[su]4|b1)"
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
    **{each: (each, each, "s32") for each in ("u8", "s4", "u4", "b1")},
}
_PACKED = {"s4": 8, "u4": 8, "b1": 32}
"""Elements of a word, of formats of less than 8 bits."""


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
    if memory is None:
        raise _unknown(name)
    tile = _tile((m, n, k), memory["which"], memory["type"], memory["way"])
    if found["what"] == "load":
        return loading_fragment(op, tile)
    return storing_fragment(op, tile, has_step=memory["step"] is not None)


def _mma(op: tvm_llvm.CallIntrinsicOp, rest: str, shape: tuple[int, int, int]) -> Sync:
    match = _PRODUCT.fullmatch(rest)
    if match is None:
        raise _unknown(op.intrin.data)
    product = _product(_FORMATS[match["types"]], shape, match["operator"])
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


def _tile(shape: Shape, fragment: str, form: str, layout: str) -> TileInMemory:
    """A matrix in memory; of packed elements B as the rows of its transpose."""
    m, n, k = shape
    packed = _PACKED.get(form)
    if packed is not None:
        return TileInMemory({"a": m, "b": n}[fragment], k // packed, i32, False, packed)
    rows, columns = {"a": (m, k), "b": (k, n)}.get(fragment, (m, n))
    element = _ELEMENTS.get(form)
    if element is None:
        raise InterpretationError(f"fragments of {form} are not run")
    return TileInMemory(rows, columns, element, layout == "col")


def _product(names: Sequence[str], shape: Shape, operator: str | None) -> Product:
    """The product of fragments; its formats are those of `mma.sync`, the shape is not."""
    like = {"s4": "m8n8k32", "u4": "m8n8k32", "b1": "m8n8k128"}.get(names[0], "m16n8k16")
    product = parse_product(like, names, operator, sparse=False)
    if isinstance(product, str):
        raise InterpretationError(product)
    return replace(product, shape=shape)


@sync(nvvm.WMMALoadOp)
def _load(op: nvvm.WMMALoadOp) -> Sync:
    tile = _tile(op.extents, op.frag.data, op.format.name, op.layout.data)
    return loading_fragment(op, tile)


@sync(nvvm.WMMAStoreOp)
def _store(op: nvvm.WMMAStoreOp) -> Sync:
    tile = _tile(op.extents, "d", op.format.name, op.layout.data)
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
    product = _product(names, op.extents, op.operator)
    first, second, _ = op.counts
    return multiplying_fragments(op, product, (first, second))
