"""Matrices in the registers of a warp: `ldmatrix` and `mma.sync`.

`loading_matrices` and `multiplying` make synchronization points for operations of any
spelling: those of `nvvm`, and the LLVM intrinsics by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects.builtin import VectorType, i16, i32
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.dialects import nvvm, tvm_llvm
from xdsl_tvm.dialects.nvvm.formats import shape_text
from xdsl_tvm.interpreters.gpu.fragments import (
    Format,
    Places,
    Product,
    a_places,
    b_places,
    c_places,
    expand,
    multiply,
    parse_product,
    quad_places,
)
from xdsl_tvm.interpreters.llvm_kernels.accesses import copying
from xdsl_tvm.interpreters.llvm_kernels.layouts import (
    Array,
    Mask,
    Value,
    members,
    scalar,
    store_bytes,
)
from xdsl_tvm.interpreters.llvm_kernels.memory import Access
from xdsl_tvm.interpreters.llvm_kernels.rules import (
    ACTION_INTRINSICS,
    SYNC_INTRINSICS,
    Action,
    SimpleAction,
    Sync,
    TeamState,
    sync,
)

_ROW_BYTES = 16
_ROW = VectorType(i16, [8])


def whole_warps(team: TeamState, mask: Mask) -> Array:
    """The threads of the warps that execute, a row for each."""
    warps = team.spaces.warps
    complete = (warps >= 0).all(1)
    if mask is not None:
        complete &= mask[warps].all(1)
    return warps[complete]


def _spread(team: TeamState, threads: Array, values: Array) -> Array:
    """Values by warp and lane as values of all threads."""
    found = np.zeros((team.count, *values.shape[2:]), values.dtype)
    found[threads] = values
    return found


# ---- loading ----


def loading_matrices(op: Operation, count: int, *, transposed: bool) -> Sync:
    """Loads `count` 8 by 8 matrices of 16 bits, of which each lane addresses a row.

    Lane `8 * m + r` gives the address of row `r` of matrix `m`. Lane `l` receives of each
    matrix the elements `2 * (l % 4)` and the next of row `l / 4`, as 32 bits.
    """
    access = Access(op, _ROW, 3, _ROW_BYTES)

    def load(team: TeamState, mask: Mask, address: Array) -> Value:
        spaces = team.spaces
        threads = whole_warps(team, mask)
        address = np.broadcast_to(address, (team.count,))
        gives = np.zeros(team.count, np.bool_)
        gives[threads[:, : 8 * count]] = True
        rows = spaces.read(access, spaces.shared, address, gives)
        matrices = rows[threads[:, : 8 * count]].reshape(len(threads), count, 8, 8)
        if transposed:
            matrices = matrices.swapaxes(2, 3)
        lanes = np.ascontiguousarray(matrices).reshape(len(threads), count, 32, 2)
        words = lanes.view(np.int32)[..., 0]
        found = tuple(_spread(team, threads, words[:, m]) for m in range(count))
        return found if count > 1 else found[0]

    return Sync(op, "warp", load)


_LDMATRIX = re.compile(
    r"llvm\.nvvm\.ldmatrix\.sync\.aligned\.m8n8\.x([124])(\.trans)?\.b16"
)


def _ldmatrix(op: tvm_llvm.CallIntrinsicOp) -> Sync:
    match = _LDMATRIX.match(op.intrin.data)
    if match is None:
        raise InterpretationError(f"the intrinsic '{op.intrin.data}' is not known here")
    return loading_matrices(op, int(match[1]), transposed=match[2] is not None)


SYNC_INTRINSICS["llvm.nvvm.ldmatrix"] = _ldmatrix


# ---- products ----


class _Layout(NamedTuple):
    """How a matrix is in the registers of the lanes of a warp."""

    kind: Format
    places: Places
    """Rows and columns, by lane and element."""
    shape: tuple[int, int]
    group: Array
    """Which of several matrices a lane holds a part of."""

    @property
    def position(self) -> tuple[Array, Array, Array]:
        """Matrix, row and column, by lane and element."""
        return self.group, *self.places


_ONE_GROUP = np.zeros((32, 1), np.int64)
_FOUR_GROUPS = np.arange(32)[:, None] % 16 // 4


def _layouts(product: Product, layouts: tuple[str, str]) -> tuple[_Layout, ...]:
    m, n, k = product.shape
    if product.in_quads:
        forms = (product.a, product.b, product.c)
        shapes = ((m, k), (k, n), (m, n))
        return tuple(
            _Layout(form, quad_places(name, layout, product.c.bits), shape, _FOUR_GROUPS)
            for name, form, layout, shape in zip(
                "abc", forms, (*layouts, "row"), shapes, strict=True
            )
        )
    held = k // 2 if product.sparse else k
    a = a_places(m, held, product.a.bits)
    b = b_places(k, n, product.b.bits)
    return (
        _Layout(product.a, a, (m, held), _ONE_GROUP),
        _Layout(product.b, b, (k, n), _ONE_GROUP),
        _Layout(product.c, c_places(m, n), (m, n), _ONE_GROUP),
    )


def multiplying(
    op: Operation,
    product: Product,
    *,
    saturate: bool = False,
    layouts: tuple[str, str] = ("row", "col"),
    selector: int = 0,
) -> Sync:
    """Multiplies matrices in registers: operands are those of A, of B and of C.

    Those of a sparse product are followed by the metadata and the selector, which
    `selector` is too. Raises InterpretationError for registers that do not hold the
    matrices.
    """
    where = _layouts(product, layouts)
    factors = op.operands[:-2] if product.sparse else op.operands
    bounds = _split([store_bytes(operand.type) for operand in factors], where)
    parts = members(op.results[0].type) or (op.results[0].type,)

    def run(team: TeamState, mask: Mask, *registers: Array) -> Value:
        threads = whole_warps(team, mask)
        a, b, c = (
            _matrices(team, threads, registers[first:last], layout)
            for (first, last), layout in zip(bounds, where, strict=True)
        )
        if product.sparse:
            words = np.broadcast_to(registers[-2], (team.count,))[threads]
            rows = zip(a[:, 0], words.tolist(), strict=True)
            a = np.stack([expand(held, word, selector, product.a) for held, word in rows])
            a = a[:, None]
        total = multiply(a, b, c, product.operator, saturate=saturate)
        held = np.ascontiguousarray(total[:, *where[2].position]).view(np.uint8)
        held = held.reshape(len(threads), 32, -1)
        return in_registers(team, threads, held, parts)

    return Sync(op, "warp", run)


def _split(sizes: Sequence[int], layouts: Sequence[_Layout]) -> list[tuple[int, int]]:
    """Which operands hold each matrix."""
    found: list[tuple[int, int]] = []
    first = 0
    for layout in layouts:
        wanted = layout.places[0].shape[1] * layout.kind.bits // 8
        last = first
        while last < len(sizes) and sum(sizes[first:last]) < wanted:
            last += 1
        if sum(sizes[first:last]) != wanted:
            raise InterpretationError(f"its registers do not hold {wanted} bytes each")
        found.append((first, last))
        first = last
    if first != len(sizes):
        raise InterpretationError(f"it has {len(sizes)} registers and needs {first}")
    return found


def held_bytes(team: TeamState, threads: Array, registers: Sequence[Array]) -> Array:
    """The bytes in registers, by warp and lane."""
    everyone = [np.broadcast_to(x, (team.count, *x.shape[1:])) for x in registers]
    pieces = [np.ascontiguousarray(each[threads]) for each in everyone]
    return np.concatenate(
        [each.view(np.uint8).reshape(len(threads), 32, -1) for each in pieces], axis=2
    )


def in_registers(
    team: TeamState, threads: Array, held: Array, parts: Sequence[Attribute]
) -> Value:
    """Bytes by warp and lane as the values of registers of these types."""
    found: list[Array] = []
    start = 0
    for part in parts:
        size = store_bytes(part)
        piece = np.ascontiguousarray(held[:, :, start : start + size])
        piece = piece.view(scalar(part).storage)
        start += size
        wide = isinstance(part, VectorType)
        found.append(_spread(team, threads, piece if wide else piece[..., 0]))
    return tuple(found) if len(found) > 1 else found[0]


def _matrices(
    team: TeamState, threads: Array, registers: Sequence[Array], layout: _Layout
) -> Array:
    """The matrices that warps hold in registers, by warp and group."""
    rows, _ = layout.places
    data = held_bytes(team, threads, registers)
    values = layout.kind.unpack(data.tobytes(), len(threads) * rows.size)
    groups = int(layout.group.max()) + 1
    found = np.zeros((len(threads), groups, *layout.shape), values.dtype)
    found[:, *layout.position] = values.reshape(len(threads), *rows.shape)
    return found


# ---- operations ----


@sync(nvvm.LdMatrixOp)
def _load_matrices(op: nvvm.LdMatrixOp) -> Sync:
    return loading_matrices(op, op.num.value.data, transposed=op.transposed)


def _product(
    op: nvvm.MmaOp | nvvm.MmaSpOp, operator: str | None, *, sparse: bool
) -> Product:
    """What an operation multiplies. Raises InterpretationError where it is not known."""
    formats = [form.name for form in op.formats]
    shape = shape_text(op.shape.extents)
    product = parse_product(shape, formats, operator, sparse=sparse)
    if isinstance(product, str):
        raise InterpretationError(product)
    return product


@sync(nvvm.MmaOp)
def _multiply(op: nvvm.MmaOp) -> Sync:
    product = _product(op, op.operator, sparse=False)
    layouts = (op.layout_a.data, op.layout_b.data)
    return multiplying(op, product, saturate=op.saturates, layouts=layouts)


@sync(nvvm.MmaSpOp)
def _multiply_sparse(op: nvvm.MmaSpOp) -> Sync:
    selector = op.selected
    if selector is None:
        raise InterpretationError("its selector is not constant")
    product = _product(op, None, sparse=True)
    return multiplying(op, product, saturate=op.saturates, selector=selector)


# ---- intrinsics ----

_MMA = re.compile(
    r"llvm\.nvvm\.mma\.(?:(?P<operator>xor|and)\.popc\.)?(?P<shape>m\d+n\d+k\d+)"
    r"\.(?P<a>row|col)\.(?P<b>row|col)(?P<saturate>\.satfinite)?"
    r"\.(?P<types>\w+(?:\.\w+)*)"
)


def _formats(types: Sequence[str]) -> tuple[str, str, str] | None:
    """The formats of A, B and C in the name of an intrinsic."""
    match types:
        case ["f16" | "f32" as d, "f16" | "f32" as c] if d == c:
            return "f16", "f16", c
        case ["f64"]:
            return "f64", "f64", "f64"
        case ["bf16" | "tf32" as kind]:
            return kind, kind, "f32"
        case [a] if a in _INTEGERS:
            return a, a, "s32"
        case [a, b] if a in _INTEGERS and b in _INTEGERS:
            return a, b, "s32"
        case _:
            return None


_INTEGERS = ("s8", "u8", "s4", "u4", "b1")


def _mma(op: tvm_llvm.CallIntrinsicOp) -> Sync:
    name = op.intrin.data
    match = _MMA.fullmatch(name)
    formats = None if match is None else _formats(match["types"].split("."))
    if match is None or formats is None:
        raise InterpretationError(f"the intrinsic '{name}' is not known here")
    product = parse_product(match["shape"], formats, match["operator"], sparse=False)
    if isinstance(product, str):
        raise InterpretationError(f"{product}, which '{name}' asks for")
    return multiplying(
        op,
        product,
        saturate=match["saturate"] is not None,
        layouts=(match["a"], match["b"]),
    )


SYNC_INTRINSICS["llvm.nvvm.mma"] = _mma


# ---- copies, by their intrinsics ----

_CP_ASYNC = re.compile(r"llvm\.nvvm\.cp\.async\.c[ag]\.shared\.global\.(4|8|16)(\.s)?")


def _cp_async(op: tvm_llvm.CallIntrinsicOp) -> Action:
    match = _CP_ASYNC.fullmatch(op.intrin.data)
    if match is None:
        raise InterpretationError(f"the intrinsic '{op.intrin.data}' is not known here")
    return copying(op, int(match[1]))


def _commit(op: Operation) -> SimpleAction:
    return lambda team, mask: team.copies.commit(mask)


def _wait_all(op: Operation) -> SimpleAction:
    return lambda team, mask: team.copies.wait_all(mask)


def _wait(op: Operation) -> Action:
    if op.operands[0].type != i32:
        raise InterpretationError("it waits for a number of groups, an i32")

    def wait(team: TeamState, mask: Mask, left: Array) -> None:
        team.copies.wait(mask, int(left[0]))

    return wait


_COPIES: dict[str, Callable[[Any], Action]] = {
    "llvm.nvvm.cp.async": _cp_async,
    "llvm.nvvm.cp.async.commit.group": _commit,
    "llvm.nvvm.cp.async.wait.all": _wait_all,
    "llvm.nvvm.cp.async.wait.group": _wait,
}
ACTION_INTRINSICS.update(_COPIES)
