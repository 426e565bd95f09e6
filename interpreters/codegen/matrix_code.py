"""The code of matrix builtins: fragments of `wmma.*` and simdgroups, and registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl_tvm.analysis.tir.builtin_offsets import transposes_bytes
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.nvvm.formats import warpgroup_columns
from xdsl_tvm.interpreters.codegen.pointer_code import (
    access_of,
    behind,
    constant_operand,
    pointee,
    string_operand,
)
from xdsl_tvm.interpreters.errors import unsupported
from xdsl_tvm.interpreters.gpu import fragments as _fragments
from xdsl_tvm.interpreters.gpu.fragments import Places, Product, Shape
from xdsl_tvm.interpreters.gpu.grid_memory import Act, SyncPoint
from xdsl_tvm.interpreters.gpu.matrix_units import (
    FillFragment,
    FillRegisters,
    Fragments,
    LoadBytes,
    LoadMatrices,
    MoveFragment,
    MultiplyFragments,
    MultiplyRegisters,
    Registers,
    StoreRegisters,
    Tile,
)
from xdsl_tvm.interpreters.gpu.warpgroups import MultiplyWarpgroup, wait_products

if TYPE_CHECKING:
    from xdsl_tvm.interpreters.codegen.emitter import Emitter

_SIMDGROUP = "metal.simdgroup"
_TILE = 8
"""Rows and columns of a simdgroup's matrix."""

_SHAPES: dict[str, frozenset[Shape]] = {
    **dict.fromkeys(
        ("float16", "bfloat16", "int8", "uint8"),
        frozenset(((16, 16, 16), (8, 32, 16), (32, 8, 16))),
    ),
    **dict.fromkeys(("int4", "uint4"), frozenset(((8, 8, 32),))),
    "bool": frozenset(((8, 8, 128),)),
}
"""The shapes of WMMA by the dtype of A and B."""
_PACKED = {"int4": "int4", "uint4": "uint4", "bool": "int1"}
"""Dtypes of less than 8 bits, of which words of memory hold several: their formats."""
_WORDS = ("int32", "uint32")
_RESULTS: dict[str, tuple[str, ...]] = {
    "float16": ("float16", "float32"),
    "bfloat16": ("float32",),
    **dict.fromkeys(("int8", "uint8", "int4", "uint4", "bool"), ("int32",)),
}


def _together(e: Emitter, op: tir.CallOp, act: Act, operands: Sequence[str]) -> None:
    meeting = e.constant(SyncPoint("matrix", op, act=act))
    e.line(f"yield ({meeting}, ({', '.join(operands)},))")


def _texts(e: Emitter, op: tir.CallOp, *positions: int) -> list[str]:
    return [e[op.args[position]] for position in positions]


# ---- opaque fragments ----


def _fragments_at(e: Emitter, op: tir.CallOp, position: int) -> Fragments:
    scope = pointee(op, position).scope
    if not scope.startswith(("wmma.", _SIMDGROUP)):
        raise unsupported(
            op,
            f"operand {position} is in scope {scope!r}, which has no fragments",
            "allocate it in wmma.matrix_a, matrix_b, accumulator or metal.simdgroup",
        )
    return Fragments(access_of(e, op, position), scope.rsplit(".", 1)[-1])


def _tile(op: tir.CallOp, fragments: Fragments) -> Tile:
    """The shape of a fragment of WMMA."""
    m, n, k = (constant_operand(op, position) for position in (1, 2, 3))
    name = fragments.access.element.name
    if fragments.kind == "accumulator":
        factors = [one for one, results in _RESULTS.items() if name in results]
    else:
        factors = [name]
    if not any((m, n, k) in _SHAPES.get(factor, ()) for factor in factors):
        raise unsupported(
            op,
            f"there is no fragment {fragments.kind} of {name} for products of "
            f"{m}, {n}, {k}",
            "use a shape and a dtype of WMMA",
        )
    return fragments.tile((m, n, k))


def _simd_tile(op: tir.CallOp, first: int) -> Tile:
    for position in (first, first + 1):
        if len(op.args) > position and constant_operand(op, position) != _TILE:
            raise unsupported(op, "a simdgroup's matrices are 8 by 8", "split it")
    return Tile(_TILE, _TILE, (_TILE, _TILE, _TILE))


def _fill(e: Emitter, op: tir.CallOp) -> None:
    fragments = _fragments_at(e, op, 0)
    act = FillFragment(fragments, _tile(op, fragments))
    _together(e, op, act, _texts(e, op, 0, 4, 5))


def _simd_fill(e: Emitter, op: tir.CallOp) -> None:
    act = FillFragment(_fragments_at(e, op, 0), _simd_tile(op, 3))
    _together(e, op, act, _texts(e, op, 0, 1, 2))


def _move(loads: bool) -> Callable[[Emitter, tir.CallOp], None]:
    def emit(e: Emitter, op: tir.CallOp) -> None:
        fragments = _fragments_at(e, op, 0)
        by_columns = string_operand(op, 7) == "col_major"
        tile = _tile(op, fragments)
        _move_fragment(e, op, fragments, tile, (4, 5, 6), by_columns, loads)

    return emit


def _simd_move(loads: bool) -> Callable[[Emitter, tir.CallOp], None]:
    def emit(e: Emitter, op: tir.CallOp) -> None:
        by_columns = len(op.args) > 6 and constant_operand(op, 6) != 0
        tile = _simd_tile(op, 4)
        fragments = _fragments_at(e, op, 0)
        _move_fragment(e, op, fragments, tile, (1, 2, 3), by_columns, loads)

    return emit


def _move_fragment(
    e: Emitter,
    op: tir.CallOp,
    fragments: Fragments,
    tile: Tile,
    positions: tuple[int, int, int],
    by_columns: bool,
    loads: bool,
) -> None:
    memory = access_of(e, op, positions[1])
    ours, theirs = fragments.access.element.name, memory.element.name
    packed = None
    if theirs in _WORDS and ours in _PACKED:
        packed = _fragments.format_of(_PACKED[ours])
        if by_columns != (fragments.kind == "matrix_b"):
            raise unsupported(
                op, f"words of {ours} are not loaded so", "load A by row and B by column"
            )
    elif ours != theirs:
        raise unsupported(
            op, f"a fragment of {ours} goes with memory of {theirs}", "use one dtype"
        )
    act = MoveFragment(fragments, tile, memory, by_columns, loads, packed)
    _together(e, op, act, _texts(e, op, 0, *positions))


def _multiply(e: Emitter, op: tir.CallOp) -> None:
    d, a, b, c = (_fragments_at(e, op, position) for position in (0, 2, 4, 6))
    factors, results = a.access.element.name, c.access.element.name
    if (
        d.access.element.name != results
        or results not in _RESULTS.get(factors, ())
        or _family(b.access.element.name) != _family(factors)
    ):
        raise unsupported(
            op,
            f"{factors} and {b.access.element.name} do not multiply to {results}",
            "use dtypes of WMMA",
        )
    kinds = (d.kind, a.kind, b.kind, c.kind)
    if kinds != ("accumulator", "matrix_a", "matrix_b", "accumulator"):
        raise unsupported(op, f"it multiplies {kinds}", "use fragments of its operands")
    bits = factors == "bool"
    operator = string_operand(op, 8) if len(op.args) > 8 else "xor"
    if bits != (op.callee.data == "tvm_bmma_sync"):
        raise unsupported(
            op, f"it multiplies {factors}", "use tvm_bmma_sync for bits and only for them"
        )
    act = MultiplyFragments(d, a, b, c, operator if bits else None)
    _together(e, op, act, _texts(e, op, *range(8)))


def _family(name: str) -> str:
    return name.removeprefix("u")


def _simd_multiply(e: Emitter, op: tir.CallOp) -> None:
    d, a, b, c = (_fragments_at(e, op, position) for position in (0, 2, 4, 6))
    act = MultiplyFragments(d, a, b, c, None)
    _together(e, op, act, _texts(e, op, *range(8)))


# ---- registers ----


def _product(op: tir.CallOp, *, sparse: bool) -> Product:
    shape, a_layout, b_layout, *formats = (string_operand(op, i) for i in range(6))
    operator = string_operand(op, 13) if not sparse and len(op.args) > 13 else None
    found = _fragments.parse_product(shape, formats, operator, sparse=sparse)
    if isinstance(found, str):
        raise unsupported(op, found, "use a product of the PTX ISA")
    if not found.in_quads and (a_layout, b_layout) != ("row", "col"):
        raise unsupported(
            op,
            f"there is no {shape} with A by {a_layout} and B by {b_layout}",
            "give A by row and B by col",
        )
    return found


def _places(product: Product, a_layout: str, b_layout: str) -> tuple[Places, ...]:
    m, n, k = product.shape
    bits = product.a.bits
    if product.in_quads:
        layouts = zip("abc", (a_layout, b_layout, "row"), strict=True)
        return tuple(
            _fragments.quad_places(operand, layout, product.c.bits)
            for operand, layout in layouts
        )
    return (
        _fragments.a_places(m, k // 2 if product.sparse else k, bits),
        _fragments.b_places(k, n, bits),
        _fragments.c_places(m, n),
    )


def _multiply_registers(e: Emitter, op: tir.CallOp) -> None:
    sparse = op.callee.data == "ptx_mma_sp"
    product = _product(op, sparse=sparse)
    places = _places(product, string_operand(op, 1), string_operand(op, 2))
    formats = (product.a, product.b, product.c)
    a, b, c = [
        Registers(access_of(e, op, position), one, where)
        for position, one, where in zip((6, 8, 10), formats, places, strict=True)
    ]
    operands = [behind(e, op, i, e[op.args[i + 1]]) for i in (6, 8, 10)]
    metadata = None
    if sparse:
        metadata = access_of(e, op, 12)
        selector, saturate = _texts(e, op, 14, 15)
        operands += [saturate, behind(e, op, 12, e[op.args[13]]), selector]
    else:
        operands += [e[op.args[12]], "None", "0"]
    act = MultiplyRegisters(product, a, b, c, metadata)
    _together(e, op, act, operands)


# ---- warpgroups ----


def _multiply_warpgroup(e: Emitter, op: tir.CallOp) -> None:
    texts = [string_operand(op, position) for position in range(6)]
    try:
        columns = warpgroup_columns(texts[0])
    except ValueError as error:
        raise unsupported(op, str(error), "use a product of the PTX ISA") from None
    a, b = (access_of(e, op, position) for position in (6, 8))
    element = {"fp16": "float16", "bf16": "bfloat16"}
    for access, text in ((a, texts[3]), (b, texts[4])):
        if access.element.name != element[text] or texts[3] != texts[4]:
            raise unsupported(
                op,
                f"{texts[3]} and {texts[4]} are multiplied, in memory of "
                f"{access.element.name}",
                "use one dtype, that of the memory",
            )
    for position, scope in ((6, "shared"), (8, "shared"), (10, "local")):
        found = pointee(op, position).scope
        if found.split(".")[0] != scope:
            raise unsupported(
                op, f"operand {position} is in scope {found!r}", f"use scope {scope}"
            )
    if access_of(e, op, 10).element.name != "float32":
        raise unsupported(op, "the sums are of another dtype", "use float32")
    act = MultiplyWarpgroup(columns, texts[2] == "row", a, b)
    operands = [behind(e, op, i, e[op.args[i + 1]]) for i in (6, 8, 10)]
    meeting = e.constant(SyncPoint("warpgroup", op, act=act))
    e.line(f"yield ({meeting}, ({', '.join(operands)},))")


def _fence_products(e: Emitter, op: tir.CallOp) -> None:
    e.line("grid.products.is_fenced = True")


def _commit_products(e: Emitter, op: tir.CallOp) -> None:
    e.line("grid.products.commit()")


def _wait_products(e: Emitter, op: tir.CallOp) -> None:
    _together(e, op, wait_products, _texts(e, op, 0))


def _load_matrices(e: Emitter, op: tir.CallOp) -> None:
    transposed = constant_operand(op, 0) != 0
    count = constant_operand(op, 1)
    kind = string_operand(op, 2)
    if kind != ".b16":
        raise unsupported(op, f"matrices of {kind} are not loaded", "use .b16")
    local, shared = access_of(e, op, 3), access_of(e, op, 5, writes=False)
    target = behind(e, op, 3, e[op.args[4]])
    if transposes_bytes(op):
        if count != 4:
            raise unsupported(op, f"{count} transposed matrices of bytes", "load four")
        act: Act = LoadBytes(local, shared)
        _together(e, op, act, [target, *_texts(e, op, 5, 6)])
        return
    act = LoadMatrices(local, shared, count, transposed)
    _together(e, op, act, [target, behind(e, op, 5, e[op.args[6]])])


def _fill_registers(e: Emitter, op: tir.CallOp) -> None:
    of_warp = pointee(op, 1).scope.startswith("warp")
    act = e.constant(FillRegisters(access_of(e, op, 1), of_warp))
    e.line(f"{act}(grid, {behind(e, op, 1, e[op.args[2]])}, {e[op.args[0]]})")


def _store_registers(e: Emitter, op: tir.CallOp) -> None:
    shape = (constant_operand(op, 0), constant_operand(op, 1))
    if shape != (16, 16):
        raise unsupported(op, f"a tile of {shape} is not stored", "store 16 by 16")
    of_warp = pointee(op, 3).scope.startswith("warp")
    memory, local = access_of(e, op, 2, writes=True), access_of(e, op, 3)
    act = e.constant(StoreRegisters(memory, local, of_warp))
    source = behind(e, op, 3, e[op.args[4]])
    e.line(f"{act}(grid, {e[op.args[2]]}, {source}, {e[op.args[5]]})")


CALLS: dict[str, Callable[[Emitter, tir.CallOp], None]] = {
    "tvm_fill_fragment": _fill,
    "tvm_load_matrix_sync": _move(loads=True),
    "tvm_store_matrix_sync": _move(loads=False),
    "tvm_mma_sync": _multiply,
    "tvm_bmma_sync": _multiply,
    "make_filled_simdgroup_matrix": _simd_fill,
    "simdgroup_load": _simd_move(loads=True),
    "simdgroup_store": _simd_move(loads=False),
    "simdgroup_multiply_accumulate": _simd_multiply,
    "ptx_mma": _multiply_registers,
    "ptx_mma_sp": _multiply_registers,
    "ptx_ldmatrix": _load_matrices,
    "ptx_wgmma_mma_async": _multiply_warpgroup,
    "ptx_wgmma_fence": _fence_products,
    "ptx_wgmma_commit_group": _commit_products,
    "ptx_wgmma_wait_group": _wait_products,
    "mma_fill": _fill_registers,
    "mma_store": _store_registers,
}
