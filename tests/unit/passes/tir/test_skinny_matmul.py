"""Products of a few rows and a matrix in the default CPU schedule."""

from __future__ import annotations

import os

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.tir.default_cpu_schedule import DefaultCPUSchedule
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.executable import compile
from xdsl_tvm.runtime.threads import num_threads, set_num_threads
from xdsl_tvm.tvmscript.parser import parse

MANY = "XDSL_TVM_FUZZ" in os.environ
SIZES = {"i": "1", "j": "37", "k": "21"}
WIDE = DefaultCPUSchedule(vector_bytes=64, parallel_grain=64)
NARROW = DefaultCPUSchedule(vector_bytes=16, parallel_grain=64)


def product(
    a: str, b: str, c: str, dtype: str = "float32", before: bool = False, **sizes: str
) -> ModuleOp:
    """`C[c] += A[a] * B[b]`, each with the axes that index it; maybe a map before."""
    extents = {**SIZES, **sizes}
    symbols = sorted({e for e in extents.values() if not e.isdigit()})
    axes = [axis for axis in "hijk" if axis in a + b + c and axis in extents]

    def buffer(name: str, indices: str) -> str:
        shape = ", ".join(extents[axis] for axis in indices)
        return f'{name} = T.match_buffer(p{name}, ({shape},), "{dtype}")'

    def element(name: str, indices: str) -> str:
        return f"{name}[{', '.join('v' + axis for axis in indices)}]"

    lines = [f"{symbol} = T.int64()" for symbol in symbols]
    lines += [buffer("A", a), buffer("B", b), buffer("C", c)]
    if before:
        grid = ", ".join(extents[axis] for axis in a)
        lines += [
            f"for {', '.join(a)} in T.grid({grid}):",
            '    with T.block("before"):',
            *(f"        v{x} = T.axis.spatial({extents[x]}, {x})" for x in a),
            f"        {element('A', a)} = {element('A', a)} + T.cast(1, '{dtype}')",
        ]
    result = element("C", c)
    kinds = {x: "spatial" if x in c else "reduce" for x in axes}
    lines += [
        f"for {', '.join(axes)} in T.grid({', '.join(extents[x] for x in axes)}):",
        '    with T.block("C"):',
        *(f"        v{x} = T.axis.{kinds[x]}({extents[x]}, {x})" for x in axes),
        "        with T.init():",
        f"            {result} = T.cast(0, '{dtype}')",
        f"        {result} = {result} + {element('A', a)} * {element('B', b)}",
    ]
    head = [
        "from xdsl_tvm.tvmscript import tir as T",
        "",
        "@T.prim_func",
        "def main(pA: T.handle, pB: T.handle, pC: T.handle):",
        '    T.func_attr({"global_symbol": "main", "tir.noalias": True})',
    ]
    return parse("\n".join([*head, *(f"    {line}" for line in lines), ""]))


def buffers(module: ModuleOp, schedule: DefaultCPUSchedule) -> set[str]:
    """The names of the buffers that the scheduled module allocates."""
    scheduled = module.clone()
    schedule.apply(new_context(), scheduled)
    scheduled.verify()
    made = (op for op in scheduled.walk() if isinstance(op, tir.AllocBufferOp))
    return {op.buffer.name_hint or "" for op in made}


IN_CACHE, GATHERED, PACKED = (
    set[str](),
    {"partial", "gathered", "result"},
    {"rows", "columns", "sums", "edge"},
)


@pytest.mark.parametrize(
    ("a", "b", "c", "rows", "schedule", "expected"),
    [
        ("ik", "kj", "ij", "1", WIDE, IN_CACHE),
        ("k", "kj", "j", "1", WIDE, IN_CACHE),
        ("kj", "ki", "ji", "1", WIDE, IN_CACHE),
        ("ik", "kj", "ij", "1", NARROW, IN_CACHE),
        ("ik", "kj", "ij", "3", WIDE, IN_CACHE),
        ("ki", "kj", "ij", "8", NARROW, IN_CACHE),
        ("ik", "jk", "ij", "2", NARROW, GATHERED),
        ("jk", "ik", "ji", "7", NARROW, GATHERED),
        ("jk", "ki", "ji", "1", NARROW, {"partial"}),
        ("ik", "kj", "ij", "9", NARROW, PACKED - {"rows"}),
    ],
)
def test_the_matrix_is_read_where_it_is(
    a: str, b: str, c: str, rows: str, schedule: DefaultCPUSchedule, expected: set[str]
) -> None:
    module = product(a, b, c, i=rows)
    assert buffers(module, schedule) == expected
    check_semantics(module, [schedule], tolerance=1e-4)


@pytest.mark.parametrize(
    ("rows", "terms", "parts"), [(1, 256, 8), (3, 140, 4), (5, 128, 4)]
)
@pytest.mark.parametrize("schedule", [WIDE, NARROW])
def test_threads_share_the_terms(
    rows: int, terms: int, parts: int, schedule: DefaultCPUSchedule
) -> None:
    module = product("ik", "kj", "ij", i=str(rows), k=str(terms))
    assert buffers(module, schedule) == {"sums"}
    check_semantics(module, [schedule], tolerance=1e-4)
    schedule.apply(new_context(), module)
    (sums,) = (op for op in module.walk() if isinstance(op, tir.AllocBufferOp))
    # Rows of sums are a vector longer, so that they are not in the same places of caches.
    width = int(SIZES["j"]) + schedule.vector_bytes // 4
    assert sums.type.get_shape() == (parts, rows * width)
    exact = DefaultCPUSchedule(parallel_grain=64, reassociate=False)
    assert not buffers(product("ik", "kj", "ij", k="256"), exact)


def test_unknown_numbers_of_rows_are_not_few() -> None:
    module = product("ik", "kj", "ij", i="n", j="m", k="l")
    assert buffers(module, NARROW) == PACKED
    check_semantics(module, [NARROW], tolerance=1e-4)


@pytest.mark.parametrize("dtype", ["float64", "int32", "uint32"])
@pytest.mark.parametrize(("a", "b"), [("ik", "kj"), ("ik", "jk")])
def test_other_types(dtype: str, a: str, b: str) -> None:
    module = product(a, b, "ij", dtype, i="3")
    check_semantics(module, [NARROW])


@pytest.mark.parametrize("symbolic", ["j", "k", "jk"])
@pytest.mark.parametrize(("a", "b"), [("ik", "kj"), ("ik", "jk")])
@pytest.mark.parametrize("rows", ["1", "2"] if MANY else ["2"])
def test_symbolic_extents(symbolic: str, a: str, b: str, rows: str) -> None:
    columns, terms = (
        ("n" if "j" in symbolic else "37"),
        ("m" if "k" in symbolic else "21"),
    )
    module = product(a, b, "ij", i=rows, j=columns, k=terms)
    assert "rows" not in buffers(module, NARROW)
    for schedule in (WIDE, NARROW):
        check_semantics(module, [schedule], tolerance=1e-4)


def test_the_order_of_terms_is_kept() -> None:
    exact = DefaultCPUSchedule(
        vector_bytes=16, parallel_grain=64, reassociate=False, fuse_multiply_add=False
    )
    for b in ("kj", "jk"):
        module = product("ik", b, "ij", i="4")
        assert "gathered" not in buffers(module, exact)
        check_semantics(module, [exact], tolerance=0.0)


def test_batches() -> None:
    for b in ("hkj", "hjk"):
        module = product("hik", b, "hij", h="3", i="2")
        assert not buffers(module, NARROW) & {"rows", "columns"}
        check_semantics(module, [NARROW], tolerance=1e-4)


@pytest.mark.parametrize("rows", ["1", "2"])
def test_threads_share_the_columns(rows: str) -> None:
    """A map over the same rows before the product does not make it a loop over rows."""
    module = product("ik", "kj", "ij", before=True, i=rows, j="256")
    check_semantics(module, [WIDE], tolerance=1e-4)
    WIDE.apply(new_context(), module)
    loops = [op for op in module.walk() if isinstance(op, tir.ForOp)]
    parallel = [
        op.loop_var.name_hint for op in loops if op.kind.data is tir.ForKind.PARALLEL
    ]
    assert parallel == ["j.o"]


@pytest.mark.parametrize(
    ("b", "rows", "terms"),
    [
        *(("kj", 1, 133), ("jk", 3, 133)),
        *((("kj", 3, 133), ("kj", 3, 256)) if MANY else ()),
    ],
)
def test_machine_code(b: str, rows: int, terms: int) -> None:
    """Results are right, and the same on any number of threads."""
    pytest.importorskip("llvmlite")
    columns = 203
    module = product("ik", b, "ij", i=str(rows), j=str(columns), k=str(terms))
    function = compile(module)["main"]
    random = np.random.default_rng(1)
    x = random.standard_normal((rows, terms)).astype(np.float32)
    w = random.standard_normal((terms, columns)).astype(np.float32)
    matrix = w if b == "kj" else np.ascontiguousarray(w.T)
    found = list[np.ndarray[tuple[int, int], np.dtype[np.float32]]]()
    before = num_threads()
    try:
        for threads in (1, 2, 3):
            set_num_threads(threads)
            result = np.full((rows, columns), np.nan, np.float32)
            function(x, matrix, result)
            found.append(result)
    finally:
        set_num_threads(before)
    np.testing.assert_allclose(found[0], x @ w, rtol=1e-4, atol=1e-4)
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
