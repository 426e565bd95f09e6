"""A product by tensor copies and warpgroups, of Hopper GPUs: run below LLVM IR, and PTX.

One block of 128 threads computes a tile of 64 rows. A thread copies boxes of A `[M, K]`
and of B `[N, K]` to shared memory, 64 terms at a time, and all wait for their bytes.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.gpu_schedules import MANY
from support.ir import parse
from support.ptx_road import assemble
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.interpreters.errors import (
    ArgumentError,
    DivergenceError,
    SimulationError,
)
from xdsl_tvm.interpreters.llvm_kernels.launches import LLVMKernels
from xdsl_tvm.interpreters.llvm_kernels.tensor_maps import TensorMap
from xdsl_tvm.lowering.llvm_ir import llvm_ir
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.llvm_jit import ptx
from xdsl_tvm.runtime.sass import find_program, machine_code

ROWS, TERMS = 64, 64
A_BYTES = ROWS * 128


def kernel(columns: int, steps: int, dtype: str = "f16", *, expected: int = 0) -> str:
    """The product of `[M, 64 * steps]` with `[columns, 64 * steps]`; rows by blocks.

    `expected` is by how much the bytes that are expected differ from those of the boxes.
    """
    sums = columns // 2
    whole = f"!llvm.struct<({', '.join(['f32'] * sums)})>"
    size = A_BYTES + columns * 128
    lines = [
        f"%bytes = llvm.mlir.constant({size + expected} : i32) : i32",
        f"%high = llvm.mlir.constant({1 << 62 | 64 << 32 | 1 << 16} : i64) : i64",
        f"%c0 = llvm.mlir.zero : {whole}",
    ]

    def line(text: str) -> None:
        lines.append(text)

    for step in range(steps):
        line(f"%k{step} = llvm.mlir.constant({TERMS * step} : i32) : i32")
        line(f"%parity{step} = llvm.mlir.constant({step % 2} : i32) : i32")
        line(f"llvm.cond_br %is_first, ^copy{step}, ^wait{step}")
        lines.append(f"^copy{step}:")
        line(
            f"%state{step} = nvvm.mbarrier.arrive.expect_tx %bar, %bytes : "
            "!llvm.ptr<3>, i32 -> i64"
        )
        for name, row in (("a", "%row"), ("b", "%zero")):
            line(
                "nvvm.cp.async.bulk.tensor.shared.cluster.global "
                f"%{name}_far, %{name}_map, %bar, box[%k{step}, {row}] : "
                "!llvm.ptr<7>, !llvm.ptr"
            )
        line(f"llvm.br ^wait{step}")
        lines.append(f"^wait{step}:")
        line(
            f"%done{step} = nvvm.mbarrier.try_wait %bar, %parity{step} : "
            "!llvm.ptr<3>, i32 -> i1"
        )
        line(f"llvm.cond_br %done{step}, ^multiply{step}, ^wait{step}")
        lines.append(f"^multiply{step}:")
        line("nvvm.wgmma.fence.aligned")
        for part in range(4):
            number, last = 4 * step + part, 4 * step + part
            for name in ("a", "b"):
                tag = f"{name}{number}"
                line(f"%o{tag} = llvm.mlir.constant({2 * part} : i64) : i64")
                line(f"%d{tag} = llvm.add %{name}_low, %o{tag} : i64")
            scale = "zero" if not number else "one"
            line(
                f"%c{number + 1} = nvvm.wgmma.mma_async %c{last}, %da{number}, "
                f"%db{number} {{shape = #nvvm.shape<m = 64, n = {columns}, k = 16>, "
                f"typeA = #nvvm.wgmma_type<{dtype}>, typeB = #nvvm.wgmma_type<{dtype}>, "
                f"typeD = #nvvm.wgmma_type<f32>, scaleD = #nvvm.wgmma_scale_out<{scale}>,"
                " scaleA = #nvvm.wgmma_scale_in<one>, "
                "scaleB = #nvvm.wgmma_scale_in<one>, layoutA = #nvvm.mma_layout<row>, "
                f"layoutB = #nvvm.mma_layout<col>}} : {whole} -> {whole}"
            )
        line("nvvm.wgmma.commit.group.sync.aligned")
        line("nvvm.wgmma.wait.group.sync.aligned 0")
        line("nvvm.barrier0")
    for number in range(sums):
        j, h, e = number // 4, number // 2 % 2, number % 2
        line(f"%s{number} = llvm.extractvalue %c{4 * steps}[{number}] : {whole}")
        offset = 8 * h * columns + 8 * j + e
        line(
            f"%p{number} = llvm.getelementptr %place[{offset}] : "
            "(!llvm.ptr<1>) -> !llvm.ptr<1>, f32"
        )
        line(f"llvm.store %s{number}, %p{number} : f32, !llvm.ptr<1>")
    body = "\n    ".join(lines)
    tile = "!llvm.array<{} x i8>"
    by_value = (
        "{llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant}"
    )
    return f"""
  llvm.mlir.global internal @a_tile() {{addr_space = 3 : i32, alignment = 1024 : i64}}
    : {tile.format(A_BYTES)}
  llvm.mlir.global internal @b_tile() {{addr_space = 3 : i32, alignment = 1024 : i64}}
    : {tile.format(columns * 128)}
  llvm.mlir.global internal @bar() {{addr_space = 3 : i32, alignment = 8 : i64}} : i64
  llvm.func @k(%a_map: !llvm.ptr {by_value}, %b_map: !llvm.ptr {by_value},
      %c: !llvm.ptr<1>) attributes {{nvvm.kernel, nvvm.reqntid = array<i32: 128>}} {{
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %block = nvvm.read.ptx.sreg.ctaid.x : i32
    %zero = llvm.mlir.constant(0 : i32) : i32
    %one = llvm.mlir.constant(1 : i32) : i32
    %rows = llvm.mlir.constant({ROWS} : i32) : i32
    %row = llvm.mul %block, %rows : i32
    %bar = llvm.mlir.addressof @bar : !llvm.ptr<3>
    %a_near = llvm.mlir.addressof @a_tile : !llvm.ptr<3>
    %b_near = llvm.mlir.addressof @b_tile : !llvm.ptr<3>
    %a_any = tvm_llvm.addrspacecast %a_near : !llvm.ptr<3> to !llvm.ptr
    %b_any = tvm_llvm.addrspacecast %b_near : !llvm.ptr<3> to !llvm.ptr
    %a_far = tvm_llvm.addrspacecast %a_any : !llvm.ptr to !llvm.ptr<7>
    %b_far = tvm_llvm.addrspacecast %b_any : !llvm.ptr to !llvm.ptr<7>
    %is_first = llvm.icmp "eq" %t, %zero : i32
    llvm.cond_br %is_first, ^begin, ^ready
  ^begin:
    nvvm.mbarrier.init %bar, %one : !llvm.ptr<3>, i32
    nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>,
      space = #nvvm.shared_space<cta>}}
    llvm.br ^ready
  ^ready:
    nvvm.barrier0
    %four = llvm.mlir.constant(4 : i64) : i64
    %field = llvm.mlir.constant(16383 : i64) : i64
    %a_int = llvm.ptrtoint %a_near : !llvm.ptr<3> to i64
    %b_int = llvm.ptrtoint %b_near : !llvm.ptr<3> to i64
    %a_16 = llvm.lshr %a_int, %four : i64
    %b_16 = llvm.lshr %b_int, %four : i64
    %a_at = llvm.and %a_16, %field : i64
    %b_at = llvm.and %b_16, %field : i64
    %warp = llvm.mlir.constant(5 : i32) : i32
    %w = llvm.lshr %t, %warp : i32
    %lanes = llvm.mlir.constant(31 : i32) : i32
    %lane = llvm.and %t, %lanes : i32
    %two = llvm.mlir.constant(2 : i32) : i32
    %quarter = llvm.lshr %lane, %two : i32
    %three = llvm.mlir.constant(3 : i32) : i32
    %rest = llvm.and %lane, %three : i32
    %sixteen = llvm.mlir.constant(16 : i32) : i32
    %w16 = llvm.mul %w, %sixteen : i32
    %in_tile = llvm.add %w16, %quarter : i32
    %line = llvm.add %row, %in_tile : i32
    %width = llvm.mlir.constant({columns} : i32) : i32
    %start = llvm.mul %line, %width : i32
    %pair = llvm.mul %rest, %two : i32
    %offset = llvm.add %start, %pair : i32
    %place = llvm.getelementptr %c[%offset] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %high1 = llvm.mlir.constant({1 << 62 | 64 << 32 | 1 << 16} : i64) : i64
    %a_low = llvm.or %a_at, %high1 : i64
    %b_low = llvm.or %b_at, %high1 : i64
    {body}
    llvm.return
  }}
"""


def operands(rows: int, columns: int, terms: int, dtype: Any = "f2") -> Any:
    rng = np.random.default_rng(columns)
    a, b = (rng.uniform(-1, 1, (n, terms)).astype(dtype) for n in (rows, columns))
    return a, b


def launched(
    text: str, a: Any, b: Any, box: int, rows: int = ROWS, swizzle: int = 128
) -> np.ndarray[Any, Any]:
    c = np.full((-(-rows // ROWS) * ROWS, box), np.nan, "f4")
    maps = [TensorMap(a, (ROWS, TERMS), swizzle), TensorMap(b, (box, TERMS), swizzle)]
    kernels = LLVMKernels(list(parse(text).body.ops))
    kernels.launch("k", (len(c) // ROWS, 1, 1), (128, 1, 1), [*maps, c])
    return c


@pytest.mark.parametrize(
    ("rows", "columns", "terms", "dtype"),
    [
        (64, 16, 128, "f16"),
        (100, 8, 100, "bf16"),
        *([(192, 64, 192, "f16"), (64, 256, 64, "f16")] if MANY else []),
    ],
)
def test_product(rows: int, columns: int, terms: int, dtype: str) -> None:
    """What is outside of a tensor is zero, along rows and terms."""
    numpy_type: Any = "f2"
    if dtype == "bf16":
        numpy_type = pytest.importorskip("ml_dtypes").bfloat16
    padded = -(-terms // 8) * 8
    a, b = (each[:, :terms] for each in operands(rows, columns, padded, numpy_type))
    steps = -(-terms // TERMS)
    found = launched(kernel(columns, steps, dtype), a, b, columns, rows)
    exact = a.astype("f8") @ b.astype("f8").T
    np.testing.assert_allclose(found[:rows], exact, 1e-5, 1e-5)
    assert not found[rows:].any()


def test_machine_code(tmp_path: Path) -> None:
    """Copies are UTMALDG and products HGMMA, whose sums stay where they are."""
    pytest.importorskip("llvmlite", reason="PTX needs llvmlite")
    module = parse(kernel(128, 2))
    text = ptx(llvm_ir(new_context(), module, "nvptx", "sm_90a", check=True), "sm_90a")
    assert text.count("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16") == 8
    assert text.count("cp.async.bulk.tensor.2d") == 4
    assemble(text, tmp_path, "sm_90a")
    if None in (find_program("ptxas"), find_program("nvdisasm")):
        return
    (found,) = machine_code(text, "sm_90a").values()
    assert (found.spill_bytes, found.stack_bytes) == (0, 0)
    assert found.count("HGMMA.64x128x16.F32") == found.count("HGMMA") == 8
    assert found.count("UTMALDG.2D") == found.count("UTMALDG") == 4
    assert found.registers <= 128


def test_other_architectures_are_refused() -> None:
    for arch in ("sm_90", "sm_100a"):
        with pytest.raises(PassFailedException, match=f"needs sm_90a, not {arch}"):
            llvm_ir(new_context(), parse(kernel(8, 1)), "nvptx", arch, check=True)


# ---- faults ----


def test_fewer_bytes_than_expected() -> None:
    a, b = operands(ROWS, 8, TERMS)
    with pytest.raises(DivergenceError, match="the phase that it waits for never ends"):
        launched(kernel(8, 1, expected=16), a, b, 8)


def test_operands_that_nobody_waited_for() -> None:
    """Without the wait, products read what a copy may still write."""
    jump = re.compile(r"llvm.cond_br %done0, (\^multiply0), \^wait0")
    text = jump.sub(r"llvm.br \1", kernel(8, 1))
    text = re.sub(r"%done0 = .*\n", "", text)
    a, b = operands(ROWS, 8, TERMS)
    with pytest.raises(SimulationError, match="an operand is read"):
        launched(text, a, b, 8)


def test_arrays_without_a_map() -> None:
    a, b = operands(ROWS, 8, TERMS)
    c = np.zeros((ROWS, 8), "f4")
    kernels = LLVMKernels(list(parse(kernel(8, 1)).body.ops))
    with pytest.raises(SimulationError, match="argument 0 is no tensor map"):
        kernels.launch("k", (1, 1, 1), (128, 1, 1), [a, b, c])


@pytest.mark.parametrize(
    ("shape", "box", "swizzle", "message"),
    [
        ((4, 64), (4,), 0, "1 to 5 dimensions, a box as many"),
        ((4, 60), (4, 64), 128, "at multiples of 16 bytes"),
        ((4, 64), (4, 257), 0, "a box has 1 to 256 elements"),
        ((4, 64), (4, 4), 0, "rows of a box are multiples of 16 bytes"),
        ((4, 64), (4, 32), 128, "a permuted row has 128 bytes, not 64"),
    ],
)
def test_maps_that_there_are_not(
    shape: tuple[int, ...], box: tuple[int, ...], swizzle: int, message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        TensorMap(np.zeros(shape, "f2"), box, swizzle)
