"""PlanAndUpdateBufferAllocationLocation on scripts and random programs, in a pipeline."""

from __future__ import annotations

import os
from collections import Counter
from textwrap import dedent

import pytest
from support.staged_programs import staged_program
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from xdsl_tvm.analysis.structural_equal import assert_structural_equal
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import SemanticsError, check_semantics
from xdsl_tvm.passes.tir.compact_buffer_allocation import CompactBufferAllocation
from xdsl_tvm.passes.tir.convert_blocks_to_opaque import ConvertBlocksToOpaque
from xdsl_tvm.passes.tir.flatten_buffer import FlattenBuffer
from xdsl_tvm.passes.tir.lower_init_block import LowerInitBlock
from xdsl_tvm.passes.tir.lower_match_buffer import LowerMatchBuffer
from xdsl_tvm.passes.tir.lower_opaque_block import LowerOpaqueBlock
from xdsl_tvm.passes.tir.plan_and_update_buffer_allocation_location import (
    PlanAndUpdateBufferAllocationLocation,
)
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "6"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
PLAN = (LowerInitBlock(), PlanAndUpdateBufferAllocationLocation())
PIPELINE: tuple[ModulePass, ...] = (
    *PLAN,
    ConvertBlocksToOpaque(),
    LowerMatchBuffer(),
    LowerOpaqueBlock(),
    FlattenBuffer(),
)


def script(text: str) -> ModuleOp:
    module = parse(
        "from tvm.script import tir as T\n\n@T.prim_func\n" + dedent(text).lstrip()
    )
    assert isinstance(module, ModuleOp)
    return module


def planned(module: ModuleOp) -> ModuleOp:
    module = module.clone()
    for one in PLAN:
        one.apply(new_context(), module)
    module.verify()
    return module


def check(before: str, after: str, *, runs: bool = True) -> None:
    module = script(before)
    assert_structural_equal(planned(module), planned_form(after))
    if runs:
        check_semantics(module, PIPELINE, tolerance=0.0)


def planned_form(text: str) -> ModuleOp:
    module = script(text)
    LowerInitBlock().apply(new_context(), module)
    return module


def places(module: ModuleOp) -> dict[str, str]:
    """For each allocated buffer, by name, the op that it is allocated in."""
    found: dict[str, str] = {}
    for op in planned(module).walk():
        if isinstance(op, tir.AllocBufferOp):
            assert op.buffer_name is not None
            found[op.buffer_name.data] = place_of(op)
    return found


def place_of(op: Operation) -> str:
    """The name of the block around an op; of one without a name, that of its loop."""
    around = op.parent_op()
    if isinstance(around, tir.BlockOp) and not around.block_name.data:
        around = around.parent_op()
    match around:
        case tir.BlockOp():
            return around.block_name.data
        case tir.ForOp():
            return around.loop_var.name_hint or "for"
        case _:
            return "function"


def test_if_is_no_place() -> None:
    # CASE: PlanAndUpdateBufferAllocationLocation.2
    before = """
    def main(X: T.Buffer((8, 8), "int32"), Y: T.Buffer((8, 8), "int32")):
        with T.block("root"):
            for i in range(2):
                with T.block("outer"):
                    vi = T.axis.spatial(2, i)
                    T.reads(X[vi, 0:8])
                    T.writes(Y[vi, 0:8])
                    B = T.alloc_buffer((8,), "int32")
                    C = T.alloc_buffer((8,), "int32")
                    D = T.alloc_buffer((8,), "int32")
                    if vi < 1:
                        for k in range(8):
                            B[k] = X[vi, k]
                        for k in range(8):
                            Y[vi, k] = B[k]
                    for jj in range(4):
                        for kk in range(2):
                            C[jj * 2 + kk] = X[vi, jj * 2 + kk]
                        for kk in range(2):
                            D[jj * 2 + kk] = C[jj * 2 + kk]
                            Y[vi, jj * 2 + kk] = D[jj * 2 + kk]
    """
    after = """
    def main(X: T.Buffer((8, 8), "int32"), Y: T.Buffer((8, 8), "int32")):
        with T.block("root"):
            for i in range(2):
                with T.block("outer"):
                    vi = T.axis.spatial(2, i)
                    T.reads(X[vi, 0:8])
                    T.writes(Y[vi, 0:8])
                    B = T.alloc_buffer((8,), "int32")
                    if vi < 1:
                        for k in range(8):
                            B[k] = X[vi, k]
                        for k in range(8):
                            Y[vi, k] = B[k]
                    for jj in range(4):
                        with T.block(""):
                            T.reads(X[vi, jj * 2 : jj * 2 + 2])
                            T.writes(Y[vi, jj * 2 : jj * 2 + 2])
                            C = T.alloc_buffer((8,), "int32")
                            for kk in range(2):
                                C[jj * 2 + kk] = X[vi, jj * 2 + kk]
                            for kk in range(2):
                                with T.block(""):
                                    T.reads(C[jj * 2 + kk])
                                    T.writes(Y[vi, jj * 2 + kk])
                                    D = T.alloc_buffer((8,), "int32")
                                    D[jj * 2 + kk] = C[jj * 2 + kk]
                                    Y[vi, jj * 2 + kk] = D[jj * 2 + kk]
    """
    check(before, after)


def test_matched_regions_count_where_they_are_declared() -> None:
    # CASE: PlanAndUpdateBufferAllocationLocation.3
    text = """
    def main(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8, 8), "int32")):
        with T.block("root"):
            T.reads()
            T.writes()
            {root}
            for i in range(8):
                with T.block("outer"):
                    vi = T.axis.spatial(8, i)
                    T.reads(A[vi, 0:8])
                    T.writes(B[vi, 0:8])
                    {outer}
                    C1 = T.match_buffer(C[vi, 0:8], (1, 8), "int32")
                    for j in range(8):
                        with T.block("inner"):
                            vj = T.axis.spatial(8, j)
                            T.reads(A[vi, vj])
                            T.writes(B[vi, vj], C1[0, vj])
                            C2 = T.match_buffer(C1[0:1, vj], (1, 1), "int32")
                            C2[0, 0] = A[vi, vj]
                            B[vi, vj] = C2[0, 0]
    """
    alloc = 'C = T.alloc_buffer((8, 8), "int32")'
    check(
        text.format(root=alloc, outer="pass").replace("                    pass\n", ""),
        text.format(root="pass", outer=alloc).replace("            pass\n", "", 1),
    )


CONSUMER_IN_ORDER = """
def main(A: T.Buffer((4, 8, 4), "int32"), B: T.Buffer((4, 8, 4), "int32")):
    with T.block("root"):
        C = T.alloc_buffer((4, 8, 4), "int32")
        D = T.alloc_buffer((4, 8, 4), "int32")
        for i in range(4):
            for j in range(8):
                for k in range(4):
                    with T.block("C"):
                        vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                        T.reads(A[vi, vj, vk])
                        T.writes(C[vi, vj, vk])
                        C[vi, vj, vk] = A[vi, vj, vk] * 2
                for k in range(4):
                    with T.block("D"):
                        vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                        T.reads(A[vi, vj, vk])
                        T.writes(D[vi, vj, vk])
                        D[vi, vj, vk] = A[vi, vj, vk] + 1
                for k in range(4):
                    with T.block("B"):
                        vi = T.axis.spatial(4, i)
                        vj = T.axis.opaque(8, j)
                        vk = T.axis.spatial(4, k)
                        T.where(1 <= j)
                        T.reads(C[vi, vj - 1, vk], D[vi, vj, vk])
                        T.writes(B[vi, vj, vk])
                        B[vi, vj, vk] = C[vi, vj - 1, vk] + D[vi, vj, vk]
"""


def test_instances_in_order_keep_what_moves_along() -> None:
    # CASE: PlanAndUpdateBufferAllocationLocation.5
    module = script(CONSUMER_IN_ORDER)
    assert list(places(module).items()) == [("C", "i"), ("D", "i")]
    check_semantics(module, PIPELINE, tolerance=0.0)


def test_order_is_seen_where_it_is_not_declared() -> None:
    module = script(CONSUMER_IN_ORDER.replace("T.axis.opaque", "T.axis.spatial"))
    assert places(module) == {"C": "i", "D": "j"}
    check_semantics(module, PIPELINE, tolerance=0.0)


def test_rolling_cascade() -> None:
    # CASE: PlanAndUpdateBufferAllocationLocation.6
    before = """
    def main(A: T.Buffer((4, 12), "int32"), C: T.Buffer((4, 8), "int32")):
        with T.block("root"):
            B = T.alloc_buffer((4, 10), "int32")
            for c, i in T.grid(4, 8):
                for j in range(6):
                    with T.block("B"):
                        T.where(i < 1 or j >= 2)
                        vc = T.axis.spatial(4, c)
                        vi = T.axis.opaque(10, T.min(i + j, 9))
                        T.reads(A[vc, vi:vi + 3])
                        T.writes(B[vc, vi])
                        B[vc, vi] = A[vc, vi] + A[vc, vi + 1] + A[vc, vi + 2]
                with T.block("C"):
                    vc = T.axis.spatial(4, c)
                    vi = T.axis.opaque(8, i)
                    T.reads(B[vc, vi:vi + 3])
                    T.writes(C[vc, vi])
                    C[vc, vi] = B[vc, vi] + B[vc, vi + 1] + B[vc, vi + 2]
    """
    module = script(before)
    assert places(module) == {"B": "c"}
    (outer,) = (
        op
        for op in planned(module).walk()
        if isinstance(op, tir.BlockOp) and not op.block_name.data
    )
    regions = [
        list(region.extents)
        for op in outer.body.block.ops
        if isinstance(op, tir.ReadsOp | tir.WritesOp)
        for region in op.buffer_regions
    ]
    assert regions == [[1, 12], [1, 8]]
    check_semantics(module, PIPELINE, tolerance=0.0)


def test_reductions_are_allocated_outside_of_their_loops() -> None:
    # CASE: PlanAndUpdateBufferAllocationLocation.7
    text = """
    def main(A: T.Buffer((8, 128), "int32"), C: T.Buffer((8, 4), "int32")):
        with T.block("root"):
            B = T.alloc_buffer((8, 4), "int32")
            for outer in range(4):
                for k1_0 in range(2):
                    for inner, ax1, k1_1 in T.grid(2, 4, 64):
                        with T.block("B"):
                            vi = T.axis.spatial(8, outer * 2 + inner)
                            vj = T.axis.spatial(4, ax1)
                            vk = T.axis.reduce(128, k1_0 * 64 + k1_1)
                            T.reads(A[vi, vk])
                            T.writes(B[vi, vj])
                            with T.init():
                                B[vi, vj] = 0
                            B[vi, vj] = B[vi, vj] + A[vi, vk] * vj
                for ax1_0 in range(2):
                    for ax0, ax1_1 in T.grid(2, 2):
                        with T.block("C"):
                            vi = T.axis.spatial(8, outer * 2 + ax0)
                            vj = T.axis.spatial(4, ax1_0 * 2 + ax1_1)
                            T.reads(B[vi, vj])
                            T.writes(C[vi, vj])
                            C[vi, vj] = B[vi, vj]
    """
    module = script(text)
    assert places(module) == {"B": "outer"}
    check_semantics(module, PIPELINE, tolerance=0.0)


def test_views_of_unpacked_pointers_stay() -> None:
    # CASE: PlanAndUpdateBufferAllocationLocation.9
    module = script("""
    def main(handle: T.handle, n: T.int32) -> T.int32:
        data: T.handle("int32") = T.tvm_struct_get(handle, 0, 1, "handle")
        A = T.decl_buffer((16,), "int32", data=data)
        scalar = T.decl_buffer((), "int32", data=data)
        if n < 0:
            T.ret(-1)
        for i in range(16):
            if i < n:
                A[i] = A[i] + scalar[()]
            else:
                A[i] = 0
        T.ret(0)
    """)
    assert_structural_equal(planned(module), module)


BY_POINTER = """
def main(A: T.Buffer((32,), "int32"), C: T.Buffer((32,), "int32")):
    with T.block("root"):
        B = T.alloc_buffer((32,), "int32")
        for i in range(8):
            with T.block("fill"):
                T.reads(A[i * 4:i * 4 + 4])
                T.writes(B[i * 4:i * 4 + 4])
                offset = T.int32()
                V = T.match_buffer(
                    B[i * 4:i * 4 + 4], (4,), "int32", elem_offset=offset, offset_factor=4
                )
                T.evaluate(T.call_extern("int32", "fill", {pointer}))
            for j in range(4):
                C[i * 4 + j] = B[{read}]
"""


@pytest.mark.parametrize(
    ("pointer", "read", "place"),
    [
        # The region of the pointer moves as the loads do.
        ('V.access_ptr("w")', "i * 4 + j", "i"),
        ("V.data, V.elem_offset", "i * 4 + j", "i"),
        # The call may write elsewhere than what is read.
        ('V.access_ptr("w")', "i + j", "root"),
        ("V.data, V.elem_offset, i", "i * 4 + j", "root"),
        ("B.data, i * 4", "i * 4 + j", "root"),
        ("B.data, V.elem_offset", "j", "root"),
        ("B.data, 0", "i * 4 + j", "root"),
        ("B.data, 0", "j", "i"),
    ],
)
def test_accesses_by_pointers(pointer: str, read: str, place: str) -> None:
    module = script(BY_POINTER.format(pointer=pointer, read=read))
    assert places(module) == {"B": place}


STAGES = """
def main(A: T.Buffer((30, 7), "int32"), C: T.Buffer((30,), "int32")):
    with T.block("root"):
        B = T.alloc_buffer((30,), "int32")
        for io in range(4):
            for ko, i, ki in T.grid(2, {width}, 4):
                with T.block("B"):
                    vi = T.axis.spatial(30, io * 8 + i)
                    vk = T.axis.reduce(7, ko * 4 + ki)
                    T.where(io * 8 + i < 30 and ko * 4 + ki < 7)
                    T.reads(A[vi, vk])
                    T.writes(B[vi])
                    with T.init():
                        B[vi] = 0
                    B[vi] = B[vi] + A[vi, vk]
            for f in range(8):
                with T.block("C"):
                    vi = T.axis.spatial(30, io * 8 + f // 2 * 2 + f % 2)
                    T.where(io * 8 + f // 2 * 2 + f % 2 < 30)
                    T.reads(B[0:30])
                    T.writes(C[vi])
                    C[vi] = B[{read}]
"""


@pytest.mark.parametrize(
    ("width", "read", "place"),
    [
        (8, "vi", "io"),
        (10, "vi + 2 - vi // 28 * 2", "io"),
        (10, "T.min(vi + 3, 29)", None),
        (8, "T.max(vi - 1, 0)", "root"),
        (8, "T.max(vi - 1, vi // 8 * 8)", "io"),
        (8, "vi // 2 * 2", "io"),
        (8, "vi // 3 * 3", "root"),
        (8, "vi // 8 * 8", "io"),
        (8, "0", "root"),
    ],
)
def test_ragged_tiles(width: int, read: str, place: str | None) -> None:
    """Conditions depend on the tile, so each read needs a write of the same tile."""
    module = script(STAGES.format(width=width, read=read))
    if place is None:
        with pytest.raises(SemanticsError, match="no function could be run"):
            check_semantics(module, PLAN)
        return
    assert places(module) == {"B": place}
    check_semantics(module, PIPELINE, tolerance=0.0)


@pytest.mark.parametrize(
    ("scope", "read", "place"),
    [
        ("shared", "31 - tx", "k"),
        ("shared", "T.max(tx - k, 0)", "k"),
        ("local", "tx", "k"),
        ("global", "31 - tx", "root"),
        ("global", "tx", "bx"),
    ],
)
def test_threads_fill_shared_memory_together(scope: str, read: str, place: str) -> None:
    module = script(f"""
    def main(A: T.Buffer((4, 30), "int32"), C: T.Buffer((2, 4, 32), "int32")):
        with T.block("root"):
            S = T.alloc_buffer((2, 4, 32), "int32", scope="{scope}")
            for bx in T.thread_binding(2, thread="blockIdx.x"):
                for tx in T.thread_binding(32, thread="threadIdx.x"):
                    for k in range(4):
                        if bx < 2:
                            S[bx, k, tx] = A[k, T.min(tx, 29)]
                        T.tvm_storage_sync("shared")
                        C[bx, k, tx] = S[bx, k, {read}]
                        T.tvm_storage_sync("shared")
    """)
    assert places(module) == {"S": place}
    lowered = [one for one in PIPELINE if not isinstance(one, FlattenBuffer)]
    check_semantics(module, lowered, tolerance=0.0)


def test_random_stages_compute_the_same() -> None:
    """Many of the programs carry values, and the lowered ones must run as well."""
    counts = Counter[str]()
    for seed in range(FIRST, FIRST + COUNT):
        module = parse(staged_program(seed))
        assert isinstance(module, ModuleOp)
        try:
            check_semantics(module, PIPELINE, seed=seed, tolerance=0.0)
        except SemanticsError as error:
            if error.pass_name is not None:
                raise
            counts["undefined"] += 1
            continue
        counts.update(
            "kept" if place == "root" else "moved" for place in places(module).values()
        )
    assert counts["moved"] > COUNT // 12
    assert counts["kept"] >= max(COUNT // 20, 1)


# ---- tiles of matrices, in the loop of a reduction ----

TENSOR_CORES = """
def main(A: T.Buffer((16, 64), "float16"), B: T.Buffer((64, 16), "float16"),
         C: T.Buffer((16, 16), "float32")):
    with T.block("root"):
        AS = T.alloc_buffer((16, 64), "float16", scope="shared")
        AF = T.alloc_buffer((16, 64), "float16", scope="wmma.matrix_a")
        BF = T.alloc_buffer((64, 16), "float16", scope="wmma.matrix_b")
        CF = T.alloc_buffer((16, 16), "float32", scope="wmma.accumulator")
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("fill"):
                T.reads()
                T.writes(CF[0:16, 0:16])
                CM = T.match_buffer(CF[0:16, 0:16], (16, 16), "float32",
                                    offset_factor=256, scope="wmma.accumulator")
                T.tvm_fill_fragment(CM.data, 16, 16, 16, CM.elem_offset // 256,
                                    T.float32(0))
            for k0 in T.serial(4, annotations={
                    "software_pipeline_stage": [0, 0, 0, 0, 1, 1],
                    "software_pipeline_order": [0, 1, 2, 3, 4, 5]}):
                for f in range(8):
                    with T.block("AS"):
                        v0 = T.axis.spatial(16, (f * 32 + tx) // 16)
                        v1 = T.axis.spatial(64, k0 * 16 + (f * 32 + tx) % 16)
                        AS[v0, v1] = A[v0, v1]
                T.tvm_storage_sync("shared")
                with T.block("AF"):
                    v1 = T.axis.spatial(4, k0)
                    {where}
                    T.reads(AS[0:16, v1 * 16:v1 * 16 + 16])
                    T.writes(AF[0:16, v1 * 16:v1 * 16 + 16])
                    s1 = T.int32()
                    s0 = T.int32()
                    SM = T.match_buffer(AS[0:16, v1 * 16:v1 * 16 + 16], (16, 16),
                                        "float16", strides=(s1, s0), offset_factor=16,
                                        scope="shared")
                    FM = T.match_buffer(AF[0:16, v1 * 16:v1 * 16 + 16], (16, 16),
                                        "float16", offset_factor=16,
                                        scope="wmma.matrix_a")
                    T.tvm_load_matrix_sync(FM.data, 16, 16, 16, {number},
                                           SM.access_ptr("r"), s1, "row_major")
                with T.block("BF"):
                    v0 = T.axis.spatial(4, k0)
                    T.reads(B[v0 * 16:v0 * 16 + 16, 0:16])
                    T.writes(BF[v0 * 16:v0 * 16 + 16, 0:16])
                    s1 = T.int32()
                    s0 = T.int32()
                    SM = T.match_buffer(B[v0 * 16:v0 * 16 + 16, 0:16], (16, 16),
                                        "float16", strides=(s1, s0), offset_factor=16)
                    FM = T.match_buffer(BF[v0 * 16:v0 * 16 + 16, 0:16], (16, 16),
                                        "float16", offset_factor=16,
                                        scope="wmma.matrix_b")
                    T.tvm_load_matrix_sync(FM.data, 16, 16, 16, FM.elem_offset // 256,
                                           SM.access_ptr("r"), s1, "row_major")
                with T.block("mma"):
                    vk = T.axis.reduce(4, k0)
                    T.reads(CF[0:16, 0:16], AF[0:16, vk * 16:vk * 16 + 16],
                            BF[vk * 16:vk * 16 + 16, 0:16])
                    T.writes(CF[0:16, 0:16])
                    CM = T.match_buffer(CF[0:16, 0:16], (16, 16), "float32",
                                        offset_factor=256, scope="wmma.accumulator")
                    AM = T.match_buffer(AF[0:16, vk * 16:vk * 16 + 16], (16, 16),
                                        "float16", offset_factor=16,
                                        scope="wmma.matrix_a")
                    BM = T.match_buffer(BF[vk * 16:vk * 16 + 16, 0:16], (16, 16),
                                        "float16", offset_factor=16,
                                        scope="wmma.matrix_b")
                    T.tvm_mma_sync(CM.data, CM.elem_offset // 256,
                                   AM.data, AM.elem_offset // 256,
                                   BM.data, BM.elem_offset // 256,
                                   CM.data, CM.elem_offset // 256)
                T.tvm_storage_sync("shared")
            with T.block("store"):
                T.reads(CF[0:16, 0:16])
                T.writes(C[0:16, 0:16])
                CM = T.match_buffer(CF[0:16, 0:16], (16, 16), "float32",
                                    offset_factor=256, scope="wmma.accumulator")
                T.tvm_store_matrix_sync(CM.data, 16, 16, 16, CM.elem_offset // 256,
                                        T.address_of(C[0, 0]), 16, "row_major")
"""


def tensor_cores(number: str = "FM.elem_offset // 256", where: str = "") -> ModuleOp:
    text = TENSOR_CORES.replace("{number}", number)
    return script(text.replace("                    {where}\n", where))


def test_tiles_of_a_pipeline_are_allocated_in_its_loop() -> None:
    """As TVM does: a reduction keeps what it writes outside, not what it reads."""
    module = tensor_cores()
    found = places(module)
    assert found.pop("CF") == "tx"
    assert found == dict.fromkeys(("AS", "AF", "BF"), "k0")
    compact = (ConvertBlocksToOpaque(), CompactBufferAllocation(), LowerMatchBuffer())
    for passes in (PLAN, (*PLAN, *compact)):
        report = check_semantics(module, passes, runs=1, tolerance=0.0)
        assert report.checked


def test_tiles_that_an_iteration_may_find_stay_outside() -> None:
    """One is loaded in the first iteration only, or at a number of unknown origin."""
    first = " " * 20 + "T.where(k0 == 0)\n"
    assert places(tensor_cores(where=first))["AF"] == "tx"
    for number in ("SM.elem_offset // 256", "v1 % 2"):
        found = places(tensor_cores(number))
        assert found["AF"] != "k0"
        assert found["AS"] == "k0"
