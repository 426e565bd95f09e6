"""Products on tensor cores and asynchronous copies on the road to PTX.

A kernel computes the same in the simulator of threads on TIR and, lowered, in that of the
llvm dialect; `ptxas` judges the text where it is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.ir import parse as parse_ir
from support.paths import EXAMPLES
from support.ptx_road import assembled, run_lowered

from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.tvmscript import parse

WMMA = (EXAMPLES / "gpu" / "matmul_wmma.py").read_text()
MMA = (EXAMPLES / "gpu" / "matmul_mma.py").read_text()


def test_pipelined_product(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((n, 128)).astype(np.float16) for n in (32, 64))
    c = np.zeros((32, 64), np.float32)
    tiles = 2 * 2 * 32 * 32 * 2
    run_lowered(parse(MMA), "matmul_mma_kernel", 2, (32, 2, 1), [a, b, c], tiles)
    expected = a.astype(np.float32) @ b.astype(np.float32).T
    np.testing.assert_allclose(c, expected, rtol=1e-4, atol=1e-4)
    text = assembled(parse(MMA), tmp_path)
    assert "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" in text
    assert "ldmatrix.sync.aligned.m8n8.x4.shared.b16" in text


def test_product_of_fragments(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((n, 64)).astype(np.float16) for n in (32, 64))
    c = np.zeros((32, 64), np.float32)
    run_lowered(parse(WMMA), "matmul_wmma_kernel", 2, (32, 2, 1), [a, b, c])
    expected = a.astype(np.float32) @ b.astype(np.float32).T
    np.testing.assert_allclose(c, expected, rtol=1e-4, atol=1e-4)
    text = assembled(parse(WMMA), tmp_path)
    assert text.count("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32") == 8


PRODUCT = """
tir.func @f(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle)
    attributes {{global_symbol = "f"}} {{
  %A = tir.match_buffer "A" %a : !tir.buffer<{all_a}x{a}>
  %B = tir.match_buffer "B" %b : !tir.buffer<{all_b}x{b}>
  %C = tir.match_buffer "C" %c : !tir.buffer<{all_c}x{c}>
  %no = tir.const {saturate}
  %shape = tir.string "{shape}"
  %row = tir.string "row"
  %col = tir.string "col"
  %ta = tir.string "{ta}"
  %tb = tir.string "{tb}"
  %tc = tir.string "{tc}"
  %c0 = tir.const 0 : i32
  %c32 = tir.const 32 : i32
  %na = tir.const {na} : i32
  %nb = tir.const {nb} : i32
  %nc = tir.const {nc} : i32
  tir.launch_thread %t = "threadIdx.x" to %c32 {{
    %x = tir.allocate [{na}] : !tir.ptr<{a}, "local">
    %X = tir.decl_buffer "X" %x : !tir.buffer<{na}x{a}, "local">
    %y = tir.allocate [{nb}] : !tir.ptr<{b}, "local">
    %Y = tir.decl_buffer "Y" %y : !tir.buffer<{nb}x{b}, "local">
    %z = tir.allocate [{nc}] : !tir.ptr<{c}, "local">
    %Z = tir.decl_buffer "Z" %z : !tir.buffer<{nc}x{c}, "local">
    {copies}
    %d = tir.call "ptx_mma"(%shape, %row, %col, %ta, %tb, %tc, %x, %c0, %y, %c0, %z,
        %c0, %no) : (!tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle,
        !tir.handle, !tir.ptr<{a}, "local">, i32, !tir.ptr<{b}, "local">, i32,
        !tir.ptr<{c}, "local">, i32, i1) -> {c}
    {last}
  }}
}}
"""

COPY = """
    tir.for %i{n} = %c0 to %n{n} unrolled {{
      %p{n} = tir.mul %t, %n{n} : i32
      %q{n} = tir.add %p{n}, %i{n} : i32
      %v{n} = tir.load %{source} : {dtype}
      tir.store %v{n}, %{target} : {dtype}
    }}
"""

NUMPY = {
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "ui8": np.uint8,
    "i32": np.int32,
}


def fragment_copy(n: str, source: str, target: str, dtype: str) -> str:
    return COPY.format(n=n, source=source, target=target, dtype=dtype)


CASES = [
    ("m16n8k8", "fp16", "fp16", "fp32", "f16", "f16", "f32", False),
    ("m16n8k16", "fp16", "fp16", "fp16", "f16", "f16", "f16", False),
    ("m16n8k8", "tf32", "tf32", "fp32", "f32", "f32", "f32", False),
    ("m16n8k4", "tf32", "tf32", "fp32", "f32", "f32", "f32", False),
    ("m8n8k4", "fp64", "fp64", "fp64", "f64", "f64", "f64", False),
    ("m8n8k16", "int8", "int8", "int32", "i8", "i8", "i32", False),
    ("m16n8k16", "int8", "uint8", "int32", "i8", "ui8", "i32", False),
    ("m16n8k32", "uint8", "uint8", "int32", "ui8", "ui8", "i32", True),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case[:4])))
def test_products_agree(case: tuple[Any, ...], tmp_path: Path) -> None:
    shape, ta, tb, tc, a, b, c, saturate = case
    m, rest = shape[1:].split("n")
    n, k = rest.split("k")
    na, nb, nc = (int(x) * int(y) // 32 for x, y in ((m, k), (k, n), (m, n)))
    text = PRODUCT.format(
        **{"shape": shape, "ta": ta, "tb": tb, "tc": tc, "a": a, "b": b, "c": c},
        **{"na": na, "nb": nb, "nc": nc, "saturate": str(saturate).lower()},
        **{"all_a": 32 * na, "all_b": 32 * nb, "all_c": 32 * nc},
        copies=fragment_copy("a", "A[%qa]", "X[%ia]", a)
        + fragment_copy("b", "B[%qb]", "Y[%ib]", b)
        + fragment_copy("c", "C[%qc]", "Z[%ic]", c),
        last=fragment_copy("c", "Z[%ic]", "C[%qc]", c),
    )
    rng = np.random.default_rng(1)
    data = [
        rng.integers(0, 9, 32 * count).astype(NUMPY[dtype])
        for count, dtype in ((na, a), (nb, b), (nc, c))
    ]
    before = data[2].copy()
    expected = [each.copy() for each in data]
    interpret(parse_ir(text))["f"](*expected)
    run_lowered(parse_ir(text), "f_kernel", 1, (32, 1, 1), data)
    np.testing.assert_array_equal(data[2], expected[2])
    # Each element of the sum is in one register: the total is that of the factors.
    assert (data[2] != before).any()
    assert f"mma.sync.aligned.{shape}.row.col" in assembled(parse_ir(text), tmp_path)


COPIES = """
tir.func @f(%a: !tir.handle, %c: !tir.handle) attributes {{global_symbol = "f"}} {{
  %A = tir.match_buffer "A" %a : !tir.buffer<{size}xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<{size}xf32>
  %c0 = tir.const 0 : i32
  %c32 = tir.const 32 : i32
  %last = tir.const {last} : i32
  %n = tir.const {count} : i32
  %bytes = tir.const {bytes} : i32
  tir.launch_thread %t = "threadIdx.x" to %c32 {{
    %s = tir.allocate [{size}] : !tir.ptr<f32, "shared">
    %S = tir.decl_buffer "S" %s : !tir.buffer<{size}xf32, "shared">
    %p = tir.data %A : !tir.ptr<f32>
    %i = tir.mul %t, %n : i32
    %some = tir.cmp lt %t, %last : i32
    %d = tir.call "ptx_cp_async"(%s, %i, %p, %i, %bytes{some}) : (!tir.ptr<f32, "shared">,
        i32, !tir.ptr<f32>, i32, i32{type}) -> f32
    tir.call "ptx_commit_group"() : () -> ()
    tir.call "ptx_wait_group"(%c0) : (i32) -> ()
    tir.for %j = %c0 to %n {{
      %k = tir.add %i, %j : i32
      %v = tir.load %S[%k] : f32
      tir.store %v, %C[%k] : f32
    }}
  }}
}}
"""


@pytest.mark.parametrize("predicated", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_copies(count: int, predicated: bool, tmp_path: Path) -> None:
    last = 20
    text = COPIES.format(
        size=32 * count,
        count=count,
        bytes=4 * count,
        last=last,
        some=", %some" if predicated else "",
        type=", i1" if predicated else "",
    )
    a = np.arange(1, 32 * count + 1, dtype=np.float32)
    c = np.full_like(a, -1)
    run_lowered(parse_ir(text), "f_kernel", 1, (32, 1, 1), [a, c])
    expected = a.copy()
    if predicated:
        expected[last * count :] = 0
    np.testing.assert_array_equal(c, expected)
    simulated = np.full_like(a, -1)
    interpret(parse_ir(text))["f"](a, simulated)
    np.testing.assert_array_equal(simulated, expected)
    cache = "cg" if count == 4 else "ca"
    assert f"cp.async.{cache}.shared.global" in assembled(parse_ir(text), tmp_path)
