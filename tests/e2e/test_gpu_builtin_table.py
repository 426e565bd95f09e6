"""Every builtin of GPUs reaches PTX: one kernel each, in one module.

The table of builtins says which there are; a builtin that is new there fails this test
until it has a kernel, or a reason in `WITHOUT_PTX`.
"""

from __future__ import annotations

import io
import re
from functools import cache
from pathlib import Path

import pytest
from support.ir import parse
from support.ptx_road import assembled
from support.warpgroup_kernels import RingProduct
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import tvm_llvm
from xdsl_tvm.dialects.tir.builtins_table import INTRINSICS
from xdsl_tvm.lowering.pipelines import lower_to_nvvm
from xdsl_tvm.registry import new_context
from xdsl_tvm.targets.ptx import PTXTarget

pytest.importorskip("llvmlite")

SECTIONS = (
    "Threads",
    "Matrix units of CUDA",
    "Asynchronous copies and barriers of PTX",
    "Matrices of Metal simdgroups",
)
METAL = "an instruction of Metal, for which there is no code generator"
WITHOUT_PTX = {
    "metal.simd_shuffle": METAL,
    "metal.simd_shuffle_up": METAL,
    "metal.simd_shuffle_down": METAL,
    "make_filled_simdgroup_matrix": METAL,
    "simdgroup_load": METAL,
    "simdgroup_store": METAL,
    "simdgroup_multiply_accumulate": METAL,
    "tvm_global_barrier_kinit": "blocks of a launch need not run at the same time",
}
"""Builtins without PTX, and why."""

HANDLE = "!tir.handle"
KERNEL = """
tir.func @{name}(%ha: !tir.handle, %hb: !tir.handle, %ho: !tir.handle, %hp: !tir.handle)
    attributes {{global_symbol = "{name}"}} {{
  %A = tir.match_buffer "A" %ha : !tir.buffer<2048xf16>
  %B = tir.match_buffer "B" %hb : !tir.buffer<2048xi32>
  %O = tir.match_buffer "O" %ho : !tir.buffer<2048xf16>
  %P = tir.match_buffer "P" %hp : !tir.buffer<2048xi32>
  %o16 = tir.data %O : !tir.ptr<f16>
  %o32 = tir.data %P : !tir.ptr<i32>
  %p = tir.data %A : !tir.ptr<f16>
  %q = tir.data %B : !tir.ptr<i32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %m8 = tir.const 8 : i32
  %m128 = tir.const 128 : i32
  %all = tir.const 4294967295 : ui32
  %no = tir.const false
  %yes = tir.const true
  %row = tir.string "row"
  %col = tir.string "col"
  %row_major = tir.string "row_major"
  %col_major = tir.string "col_major"
  %shared = tir.string "shared"
  tir.launch_thread %t = "threadIdx.x" to %c32 {{
    %v = tir.load %B[%t] : i32
    %S = tir.alloc_buffer "S" : !tir.buffer<1024xf16, "shared">
    %s = tir.data %S : !tir.ptr<f16, "shared">
    %x = tir.load %A[%t] : f16
    {body}
  }}
}}
"""


def registers(name: str, count: int, dtype: str, scope: str = "local") -> str:
    return f'%{name} = tir.allocate [{count}] : !tir.ptr<{dtype}, "{scope}">\n'


def stored(dtype: str = "i32", value: str = "%r") -> str:
    return f"tir.store {value}, %{'P' if dtype == 'i32' else 'O'}[%t] : {dtype}"


def pointer(dtype: str, scope: str = "local") -> str:
    return f'!tir.ptr<{dtype}, "{scope}">'


def shuffle(name: str, warp: bool) -> str:
    more, kind = (", %c32", ", i32") if warp else ("", "")
    return f"""
    %r = tir.call "{name}"(%all, %v, %c1, %c32{more}) : (ui32, i32, i32, i32{kind}) -> i32
    {stored()}"""


def product(name: str) -> str:
    """`mma.sync`, or of half of A."""
    sparse = name.endswith("_sp")
    k, more, kinds = (16, ", %m, %c0, %c0", f", {pointer('i32')}, i32, i32")
    if not sparse:
        more = kinds = ""
    result = "\n".join(
        f"%w{n} = tir.load %C[%c{n}] : f32\n%h{n} = tir.cast %w{n} : f32 to f16\n"
        f"tir.store %h{n}, %O[%x{n}] : f16"
        for n in range(2)
    )
    return f"""
    {registers("a", 8, "f16")}{registers("b", 8, "f16")}{registers("c", 4, "f32")}
    {registers("m", 1, "i32")}
    %RA = tir.decl_buffer "RA" %a : !tir.buffer<8xf16, "local">
    %RB = tir.decl_buffer "RB" %b : !tir.buffer<8xf16, "local">
    %C = tir.decl_buffer "C" %c : !tir.buffer<4xf32, "local">
    %M = tir.decl_buffer "M" %m : !tir.buffer<1xi32, "local">
    tir.store %v, %M[%c0] : i32
    %zero = tir.const 0.0 : f32
    tir.for %i = %c0 to %m8 unrolled {{
      tir.store %x, %RA[%i] : f16
      tir.store %x, %RB[%i] : f16
    }}
    tir.for %j = %c0 to %c4 unrolled {{
      tir.store %zero, %C[%j] : f32
    }}
    %shape = tir.string "m16n8k{k}"
    %f16 = tir.string "fp16"
    %f32 = tir.string "fp32"
    %r = tir.call "{name}"(%shape, %row, %col, %f16, %f16, %f32, %a, %c0, %b, %c0, %c,
        %c0{more}, %no) : ({", ".join([HANDLE] * 6)}, {pointer("f16")}, i32,
        {pointer("f16")}, i32, {pointer("f32")}, i32{kinds}, i1) -> f32
    %x0 = tir.add %t, %c0 : i32
    %x1 = tir.add %t, %c32 : i32
    {result}"""


def fragments(multiply: str) -> str:
    """A WMMA: of bits, or of f16."""
    bits = multiply == "tvm_bmma_sync"
    ab, total = ("i1", "i32") if bits else ("f16", "f16")
    size, k, memory, kind = (8, 128, "q", "i32") if bits else (16, 16, "p", "f16")
    out = "o32" if bits else "o16"
    m = "m8" if bits else "c16"
    step, zero = ("m128", "0") if bits else ("c16", "0.0")
    a, b, c = (
        pointer(dtype, f"wmma.{scope}")
        for dtype, scope in ((ab, "matrix_a"), (ab, "matrix_b"), (total, "accumulator"))
    )
    moved = f"i32, i32, i32, i32, !tir.ptr<{kind}>, i32, {HANDLE}) -> {HANDLE}"
    return f"""
    {registers("a", size * k, ab, "wmma.matrix_a")}
    {registers("b", size * k, ab, "wmma.matrix_b")}
    {registers("c", size * size, total, "wmma.accumulator")}
    %zero = tir.const {zero} : {total}
    %k = tir.const {k} : i32
    %w0 = tir.call "tvm_load_matrix_sync"(%a, %{m}, %{m}, %k, %c0, %{memory}, %{step},
        %row_major) : ({a}, {moved}
    %w1 = tir.call "tvm_load_matrix_sync"(%b, %{m}, %{m}, %k, %c0, %{memory}, %{step},
        %col_major) : ({b}, {moved}
    %w2 = tir.call "tvm_fill_fragment"(%c, %{m}, %{m}, %k, %c0, %zero) :
        ({c}, i32, i32, i32, i32, {total}) -> {HANDLE}
    %w3 = tir.call "{multiply}"(%c, %c0, %a, %c0, %b, %c0, %c, %c0) :
        ({c}, i32, {a}, i32, {b}, i32, {c}, i32) -> {HANDLE}
    %w4 = tir.call "tvm_store_matrix_sync"(%c, %{m}, %{m}, %k, %c0, %{out}, %{m},
        %row_major) : ({c}, {moved}"""


TILE = f"""
    {registers("r", 8, "f16")}
    %l = tir.call "mma_fill"(%m8, %r, %c0) : (i32, {pointer("f16")}, i32) -> f16
    %k = tir.call "mma_store"(%c16, %c16, %o16, %r, %c0, %c16) :
        (i32, i32, !tir.ptr<f16>, {pointer("f16")}, i32, i32) -> f16"""
BARRIERS = f"""
    tir.call "create_barriers"(%c1) : (i32) -> ()
    tir.call "ptx_init_barrier_thread_count"(%c0, %c32) : (i32, i32) -> ()
    %i = tir.mul %t, %m8 : i32
    %d = tir.call "ptx_cp_async"(%s, %i, %p, %i, %c16) :
        ({pointer("f16", "shared")}, i32, !tir.ptr<f16>, i32, i32) -> f16
    tir.call "ptx_cp_async_barrier"(%c0) : (i32) -> ()
    tir.call "ptx_arrive_barrier"(%c0) : (i32) -> ()
    tir.call "ptx_wait_barrier"(%c0) : (i32) -> ()
    %y = tir.load %S[%t] : f16
    {stored("f16", "%y")}"""
BULK = f"""
    tir.call "create_barriers"(%c1) : (i32) -> ()
    %first = tir.cmp eq %t, %c0 : i32
    tir.if %first {{
      tir.call "ptx_init_barrier_thread_count"(%c0, %c1) : (i32, i32) -> ()
      tir.call "ptx_arrive_barrier_expect_tx"(%c0, %c16) : (i32, i32) -> ()
      %d = tir.call "ptx_cp_async_bulk"(%s, %c0, %p, %c0, %c16, %c0) :
          ({pointer("f16", "shared")}, i32, !tir.ptr<f16>, i32, i32, i32) -> f16
    }}
    tir.call "ptx_wait_barrier"(%c0) : (i32) -> ()
    %y = tir.load %S[%t] : f16
    {stored("f16", "%y")}"""
GROUPS = f"""
    %i = tir.mul %t, %m8 : i32
    %d = tir.call "ptx_cp_async"(%s, %i, %p, %i, %c16) :
        ({pointer("f16", "shared")}, i32, !tir.ptr<f16>, i32, i32) -> f16
    tir.call "ptx_commit_group"() : () -> ()
    tir.call "ptx_wait_group"(%c0) : (i32) -> ()
    %y = tir.load %S[%t] : f16
    {stored("f16", "%y")}"""
MATRICES = f"""
    tir.store %x, %S[%t] : f16
    %w = tir.call "tvm_storage_sync"(%shared) : ({HANDLE}) -> i32
    {registers("r", 2, "f16")}
    %R = tir.decl_buffer "R" %r : !tir.buffer<2xf16, "local">
    %b16 = tir.string ".b16"
    %l = tir.call "ptx_ldmatrix"(%no, %c1, %b16, %r, %c0, %s, %c0) : (i1, i32, {HANDLE},
        {pointer("f16")}, i32, {pointer("f16", "shared")}, i32) -> f16
    %y = tir.load %R[%c1] : f16
    {stored("f16", "%y")}"""
SHUFFLES = ("", "_up", "_down")
KERNELS: dict[str, tuple[str, str]] = {
    "tvm_storage_sync": (MATRICES, "bar.sync"),
    **{
        f"tvm_warp_shuffle{kind}": (
            shuffle(f"tvm_warp_shuffle{kind}", warp=True),
            f"shfl.sync.{kind[1:] or 'idx'}",
        )
        for kind in SHUFFLES
    },
    **{
        f"cuda.__shfl{kind}_sync": (
            shuffle(f"cuda.__shfl{kind}_sync", warp=False),
            f"shfl.sync.{kind[1:] or 'idx'}",
        )
        for kind in SHUFFLES
    },
    **{
        name: (
            f"""%m = tir.call "{name}"() : () -> ui32
            %r = tir.cast %m : ui32 to i32
            {stored()}""",
            "activemask.b32",
        )
        for name in ("tvm_warp_activemask", "cuda.__activemask")
    },
    "ptx_redux_sync": (
        f"""%add = tir.string "add"
        %r = tir.call "ptx_redux_sync"(%add, %all, %v) : ({HANDLE}, ui32, i32) -> i32
        {stored()}""",
        "redux.sync.add",
    ),
    "atomic_add": (
        """%at = tir.address_of %P[%c0] : !tir.ptr<i32>
        %r = tir.call "atomic_add"(%at, %v) : (!tir.ptr<i32>, i32) -> i32""",
        "global.add",
    ),
    "tvm_load_matrix_sync": (fragments("tvm_mma_sync"), "wmma.load.a"),
    "tvm_store_matrix_sync": (fragments("tvm_mma_sync"), "wmma.store.d"),
    "tvm_fill_fragment": (fragments("tvm_mma_sync"), "wmma.mma"),
    "tvm_mma_sync": (fragments("tvm_mma_sync"), "wmma.mma"),
    "tvm_bmma_sync": (fragments("tvm_bmma_sync"), "wmma.mma.xor.popc"),
    "ptx_mma": (product("ptx_mma"), "mma.sync.aligned.m16n8k16"),
    "ptx_mma_sp": (product("ptx_mma_sp"), "mma.sp"),
    "ptx_ldmatrix": (MATRICES, "ldmatrix.sync"),
    "mma_fill": (TILE, "st.global"),
    "mma_store": (TILE, "st.global"),
    "ptx_cp_async": (GROUPS, "cp.async.cg.shared.global"),
    "ptx_commit_group": (GROUPS, "cp.async.commit_group"),
    "ptx_wait_group": (GROUPS, "cp.async.wait_group"),
    "ptx_cp_async_barrier": (BARRIERS, "cp.async.mbarrier.arrive"),
    "create_barriers": (BARRIERS, ".shared"),
    "ptx_init_barrier_thread_count": (BARRIERS, "mbarrier.init"),
    "ptx_arrive_barrier": (BARRIERS, "mbarrier.arrive"),
    "ptx_wait_barrier": (BARRIERS, "mbarrier.try_wait"),
    "ptx_arrive_barrier_expect_tx": (BULK, "expect_tx"),
    "ptx_cp_async_bulk": (BULK, "cp.async.bulk"),
    "ptx_ldg32": (
        f"""
        {registers("r", 1, "i32")}
        %R = tir.decl_buffer "R" %r : !tir.buffer<1xi32, "local">
        %some = tir.cmp lt %t, %c16 : i32
        %at = tir.address_of %B[%c0] : !tir.ptr<i32>
        %d = tir.call "ptx_ldg32"(%r, %some, %at, %c0) :
            ({pointer("i32")}, i1, !tir.ptr<i32>, i32) -> i32
        %y = tir.load %R[%c0] : i32
        {stored("i32", "%y")}""",
        "ld.global.nc",
    ),
}
"""A kernel's body, and an instruction that it has."""
HOPPER = {
    "tensormap_encode_tiled": ".param .align 64 .b8",
    "ptx_cp_async_bulk_tensor": "cp.async.bulk.tensor.2d",
    "ptx_fence_proxy_async": "fence.proxy.async",
    "ptx_wgmma_fence": "wgmma.fence",
    "ptx_wgmma_mma_async": "wgmma.mma_async",
    "ptx_wgmma_commit_group": "wgmma.commit_group",
    "ptx_wgmma_wait_group": "wgmma.wait_group",
}
"""Builtins of sm_90a, which are in one kernel, and an instruction of each."""
BY_PASSES = {"tvm_thread_allreduce": "tir-lower-thread-allreduce"}
"""Builtins that a pass of the road makes others of, and the pass."""


OPERATIONS: dict[str, str] = {
    "tvm_storage_sync": "nvvm.barrier0",
    **{name: "nvvm.shfl.sync" for name in KERNELS if "shuffle" in name or "shfl" in name},
    "tvm_warp_activemask": "llvm.nvvm.activemask",
    "cuda.__activemask": "llvm.nvvm.activemask",
    "ptx_redux_sync": "nvvm.redux.sync",
    "atomic_add": "tvm_llvm.atomicrmw",
    "tvm_load_matrix_sync": "nvvm.wmma.load",
    "tvm_store_matrix_sync": "nvvm.wmma.store",
    "tvm_fill_fragment": "llvm.store",
    "tvm_mma_sync": "nvvm.wmma.mma",
    "tvm_bmma_sync": "nvvm.wmma.mma",
    "ptx_mma": "nvvm.mma.sync",
    "ptx_mma_sp": "nvvm.mma.sp.sync",
    "ptx_ldmatrix": "nvvm.ldmatrix",
    "mma_fill": "llvm.store",
    "mma_store": "llvm.store",
    "ptx_cp_async": "nvvm.cp.async.shared.global",
    "ptx_commit_group": "nvvm.cp.async.commit.group",
    "ptx_wait_group": "nvvm.cp.async.wait.group",
    "ptx_cp_async_barrier": "nvvm.cp.async.mbarrier.arrive",
    "create_barriers": "nvvm.mbarrier.init",
    "ptx_init_barrier_thread_count": "nvvm.mbarrier.init",
    "ptx_arrive_barrier": "nvvm.mbarrier.arrive",
    "ptx_wait_barrier": "nvvm.mbarrier.try_wait",
    "ptx_arrive_barrier_expect_tx": "nvvm.mbarrier.arrive.expect_tx",
    "ptx_cp_async_bulk": "nvvm.cp.async.bulk.shared.cluster.global",
    "ptx_ldg32": "tvm_llvm.load",
    "ptx_cp_async_bulk_tensor": "nvvm.cp.async.bulk.tensor.shared.cluster.global",
    "ptx_fence_proxy_async": "nvvm.fence.proxy",
    "ptx_wgmma_fence": "nvvm.wgmma.fence.aligned",
    "ptx_wgmma_mma_async": "nvvm.wgmma.mma_async",
    "ptx_wgmma_commit_group": "nvvm.wgmma.commit.group.sync.aligned",
    "ptx_wgmma_wait_group": "nvvm.wgmma.wait.group.sync.aligned",
}
"""What each builtin becomes: an operation, or a called intrinsic that is in `CALLED`."""
CALLED = {"llvm.nvvm.activemask": "upstream's nvvm has no operation of it"}
"""Intrinsics of NVPTX that kernels call by name, and why."""


@cache
def lowered(arch: str) -> ModuleOp:
    """The kernels of all builtins in the dialects that LLVM IR is written from."""
    if arch == "sm_90a":
        module = RingProduct().module()
    else:
        bodies = dict.fromkeys(body for body, _ in KERNELS.values())
        texts = (KERNEL.format(name=f"f{n}", body=body) for n, body in enumerate(bodies))
        module = parse("\n".join(texts))
    lower_to_nvvm(new_context(), module, arch)
    return module


def made_operations(arch: str) -> dict[str, set[str]]:
    """The operations and called intrinsics of each kernel."""
    result: dict[str, set[str]] = {}
    for op in lowered(arch).walk():
        if not isinstance(op, llvm.FuncOp):
            continue
        made = result.setdefault(op.sym_name.data.removesuffix("_kernel"), set())
        for each in op.walk():
            is_call = isinstance(each, llvm.CallIntrinsicOp | tvm_llvm.CallIntrinsicOp)
            made.add(each.intrin.data if is_call else each.name)
    return result


def test_each_builtin_becomes_its_operation() -> None:
    """No intrinsic of NVPTX is called by name where the dialect has an operation."""
    of_all, of_hopper = made_operations("sm_90"), made_operations("sm_90a")
    bodies = list(dict.fromkeys(body for body, _ in KERNELS.values()))
    # The host encodes tensor maps.
    assert {*OPERATIONS, "tensormap_encode_tiled"} == {*KERNELS, *HOPPER}
    for name, operation in OPERATIONS.items():
        if name in HOPPER:
            assert any(operation in made for made in of_hopper.values()), name
        else:
            made = of_all[f"f{bodies.index(KERNELS[name][0])}"]
            assert operation in made, (name, made)
    made = set[str]().union(*of_all.values(), *of_hopper.values())
    assert {each for each in made if each.startswith("llvm.nvvm.")} == {*CALLED}


def test_each_builtin_has_a_kernel() -> None:
    known = {row.name for row in INTRINSICS.values() if row.section in SECTIONS}
    assert known == {*KERNELS, *HOPPER, *WITHOUT_PTX, *BY_PASSES}


def test_builtins_of_hopper(tmp_path: Path) -> None:
    ptx = assembled(lowered("sm_90a"), tmp_path, "sm_90a")
    for name, instruction in HOPPER.items():
        assert instruction in ptx, name


def test_kernels_of_all_builtins(tmp_path: Path) -> None:
    ptx = assembled(lowered("sm_90"), tmp_path, "sm_90")
    codes = re.split(r"\.entry ", ptx)[1:]
    by_name = {code.split("(")[0].removesuffix("_kernel"): code for code in codes}
    bodies = list(dict.fromkeys(body for body, _ in KERNELS.values()))
    assert len(by_name) == len(bodies)
    for name, (body, instruction) in KERNELS.items():
        assert instruction in by_name[f"f{bodies.index(body)}"], name


@pytest.mark.parametrize("name", sorted(WITHOUT_PTX))
def test_others_are_refused_by_name(name: str) -> None:
    if name != "tvm_global_barrier_kinit":
        assert WITHOUT_PTX[name] == METAL
        return
    body = 'tir.call "tvm_global_barrier_kinit"() : () -> ()'
    module = parse(KERNEL.format(name="f", body=body))
    with pytest.raises(PassFailedException, match=name):
        PTXTarget("sm_90").emit(new_context(), module, io.StringIO())
