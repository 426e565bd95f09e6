"""Kernels in the dialects below LLVM IR, run by their interpreter."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from support.ir import parse
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.dialects.dtypes import numpy_float
from xdsl_tvm.interpreters.data.numbers import Number, fused_multiply_add
from xdsl_tvm.interpreters.errors import (
    ArgumentError,
    AsyncCopyError,
    DivergenceError,
    DivisionByZeroError,
    OutOfBoundsError,
    RaceError,
    SimulationError,
    StepLimitError,
    UninitializedReadError,
)
from xdsl_tvm.interpreters.gpu.bank_conflicts import Request, multiplicities
from xdsl_tvm.interpreters.llvm_kernels.counts import AccessCounts
from xdsl_tvm.interpreters.llvm_kernels.intrinsics import fused
from xdsl_tvm.interpreters.llvm_kernels.launches import LLVMKernels

GLOBALS = """
  llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 64 : i64}
    : !llvm.array<64 x i32>
  llvm.mlir.global external @dynamic() {addr_space = 3 : i32} : !llvm.array<0 x i8>
  llvm.mlir.global internal constant @table(dense<[5, 6, 7, 8]> : tensor<4xi32>)
    {addr_space = 1 : i32} : !llvm.array<4 x i32>
  llvm.func internal @twice(%x: i32) -> i32 {
    %small = llvm.mlir.constant(10 : i32) : i32
    %is = llvm.icmp "slt" %x, %small : i32
    llvm.cond_br %is, ^double, ^same
  ^double:
    %y = llvm.add %x, %x : i32
    llvm.return %y : i32
  ^same:
    llvm.return %x : i32
  }
"""
START = """
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %b = nvvm.read.ptx.sreg.ctaid.x : i32
    %n = nvvm.read.ptx.sreg.ntid.x : i32
    %zero = llvm.mlir.constant(0 : i32) : i32
    %one = llvm.mlir.constant(1 : i32) : i32
    %two = llvm.mlir.constant(2 : i32) : i32
    %full = llvm.mlir.constant(-1 : i32) : i32
    %base = llvm.mul %b, %n : i32
    %i = llvm.add %base, %t : i32
    %pa = llvm.getelementptr %a[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %pc = llvm.getelementptr %c[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
    %ps = llvm.getelementptr %tile[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
"""


def module(body: str, attributes: str = "nvvm.kernel") -> list[Any]:
    text = (
        f"{GLOBALS}\n  llvm.func @k(%a: !llvm.ptr<1>, %c: !llvm.ptr<1>) attributes "
        f"{{{attributes}}} {{{START}{body}\n  }}"
    )
    return list(parse(text).body.ops)


def run(
    body: str,
    a: Any = None,
    *,
    threads: int = 32,
    blocks: int = 1,
    **options: Any,
) -> np.ndarray[Any, Any]:
    """What a kernel of so many threads and blocks writes to its second argument."""
    total = threads * blocks
    a = np.arange(total, dtype=np.int32) if a is None else a
    c = np.full(total, -7, np.int32)
    kernels = LLVMKernels(module(body), **options)
    kernels.launch("k", (blocks, 1, 1), (threads, 1, 1), [a, c], dynamic_bytes=1024)
    return c


STORE = "\n    llvm.store %v, %pc : i32, !llvm.ptr<1>\n    llvm.return"
LOAD = "    %x = llvm.load %pa : !llvm.ptr<1> -> i32\n"
BACKWARD = """
    %last = llvm.sub %n, %one : i32
    %j = llvm.sub %last, %t : i32
    %pj = llvm.getelementptr %tile[%j] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
"""


def test_loops_of_different_length() -> None:
    """Each thread adds its number so often: the threads leave the loop apart."""
    found = run(
        """
    llvm.br ^head(%zero, %zero : i32, i32)
  ^head(%k: i32, %sum: i32):
    %go = llvm.icmp "slt" %k, %t : i32
    llvm.cond_br %go, ^body, ^exit(%sum : i32)
  ^body:
    %next = llvm.add %k, %one : i32
    %more = llvm.add %sum, %t : i32
    llvm.br ^head(%next, %more : i32, i32)
  ^exit(%v: i32):"""
        + STORE,
        blocks=3,
    )
    np.testing.assert_array_equal(found, np.tile(np.arange(32) ** 2, 3))


def test_values_of_threads_that_wait() -> None:
    """A value that some threads define again in a loop stays for those that have left."""
    found = run(
        """
    llvm.br ^head(%zero : i32)
  ^head(%k: i32):
    %square = llvm.mul %k, %k : i32
    %go = llvm.icmp "slt" %k, %t : i32
    %next = llvm.add %k, %one : i32
    llvm.cond_br %go, ^head(%next : i32), ^exit
  ^exit:
    %v = llvm.add %square, %zero : i32"""
        + STORE
    )
    np.testing.assert_array_equal(found, np.arange(32) ** 2)


def test_switch_and_threads_that_end() -> None:
    found = run(
        """
    %r = llvm.srem %t, %two : i32
    %big = llvm.icmp "sgt" %t, %n : i32
    tvm_llvm.switch %t : i32, ^other [0: ^zero(%full : i32), 3: ^zero(%two : i32)]
  ^other:
    llvm.return
  ^zero(%v: i32):"""
        + STORE
    )
    assert found[0] == -1
    assert found[3] == 2
    assert (found[[1, 2, *range(4, 32)]] == -7).all()


def test_functions_are_called() -> None:
    found = run(
        "\n    %v = llvm.call @twice(%t) : (i32) -> i32"
        "\n    %w = llvm.call @twice(%v) : (i32) -> i32" + STORE.replace("%v", "%w")
    )
    expected = [x * 4 if x < 5 else x * 2 if x < 10 else x for x in range(32)]
    np.testing.assert_array_equal(found, expected)


def test_barrier_of_many_blocks() -> None:
    body = (
        f"{LOAD}    llvm.store %x, %ps : i32, !llvm.ptr<3>\n    nvvm.barrier0{BACKWARD}"
        f"    %v = llvm.load %pj : !llvm.ptr<3> -> i32{STORE}"
    )
    found = run(body, threads=48, blocks=400)
    rows = np.arange(48 * 400).reshape(400, 48)[:, ::-1]
    np.testing.assert_array_equal(found, rows.ravel())


UNORDERED = (
    f"{LOAD}    llvm.store %x, %ps : i32, !llvm.ptr<3>\n    BARRIER{BACKWARD}"
    f"    %v = llvm.load %pj : !llvm.ptr<3> -> i32{STORE}"
)


def test_races() -> None:
    with pytest.raises(RaceError, match=r"llvm.load: .* writes by .*llvm.store"):
        run(UNORDERED.replace("BARRIER", ""))
    warp = "nvvm.bar.warp.sync %full : i32"
    assert run(UNORDERED.replace("BARRIER", warp))[0] == 31
    with pytest.raises(RaceError, match="no synchronization"):
        run(UNORDERED.replace("BARRIER", warp), threads=64)
    same = "    llvm.store %t, %tile : i32, !llvm.ptr<3>\n    llvm.return"
    with pytest.raises(RaceError, match="writes"):
        run(same)
    # Blocks are not ordered by barriers of theirs.
    other = """
    %first = llvm.icmp "eq" %b, %zero : i32
    llvm.cond_br %first, ^write, ^read
  ^write:
    llvm.store %t, %pc : i32, !llvm.ptr<1>
    llvm.return
  ^read:
    nvvm.barrier0
    %p = llvm.getelementptr %c[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %x = llvm.load %p : !llvm.ptr<1> -> i32
    llvm.return"""
    with pytest.raises(RaceError, match="of block 0"):
        run(other, blocks=2)


FAULTS = {
    "a barrier that half of the threads reach": (
        """
    %half = llvm.mlir.constant(16 : i32) : i32
    %low = llvm.icmp "slt" %t, %half : i32
    llvm.cond_br %low, ^wait, ^end
  ^wait:
    nvvm.barrier0
    llvm.br ^end
  ^end:
    llvm.return""",
        DivergenceError,
        "thread 0 of block 0 waits, and thread 16 of block 0 has ended",
    ),
    "a shuffle without its own lane": (
        "    %v = nvvm.shfl.sync bfly %one, %t, %one, %full : i32 -> i32" + STORE,
        DivergenceError,
        "thread 1 of block 0 is not in its own mask",
    ),
    "an index behind the array": (
        "    %p = llvm.getelementptr %a[%one] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i64"
        "\n    %q = llvm.getelementptr %pa[%n] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32"
        "\n    %v = llvm.load %q : !llvm.ptr<1> -> i32" + STORE,
        OutOfBoundsError,
        "thread 0 of block 0 accesses 4 bytes from byte 128 of argument 0, which has 128",
    ),
    "an address of nothing": (
        "    %p = llvm.mlir.zero : !llvm.ptr<1>"
        "\n    %v = llvm.load %p : !llvm.ptr<1> -> i32" + STORE,
        OutOfBoundsError,
        "address 0x0 is in no memory",
    ),
    "a vector at an odd place": (
        "    %x = llvm.load %pa {alignment = 8 : i64} : !llvm.ptr<1> -> i32"
        "\n    llvm.return",
        SimulationError,
        "thread 1 of block 0 accesses byte 4 of argument 0, which is no multiple of 8",
    ),
    "shared memory that nobody has written": (
        "    %v = llvm.load %ps : !llvm.ptr<3> -> i32" + STORE,
        UninitializedReadError,
        "llvm.load: thread 0 of block 0 reads shared memory",
    ),
    "local memory that nobody has written": (
        """
    %slot = llvm.alloca %two x i32 : (i32) -> !llvm.ptr
    %q = llvm.getelementptr %slot[1] : (!llvm.ptr) -> !llvm.ptr, i32
    llvm.store %t, %slot : i32, !llvm.ptr
    %v = llvm.load %q : !llvm.ptr -> i32"""
        + STORE,
        UninitializedReadError,
        "reads local memory",
    ),
    "a division by zero": (
        "    %v = llvm.sdiv %one, %t : i32" + STORE,
        DivisionByZeroError,
        "llvm.sdiv: thread 0 of block 0 divides by zero",
    ),
    "a constant that is written": (
        "    %p = llvm.mlir.addressof @table : !llvm.ptr<1>"
        "\n    llvm.store %t, %p : i32, !llvm.ptr<1>\n    llvm.return",
        SimulationError,
        "it writes 'table', which is only read",
    ),
    "a place that is not reached": (
        "    llvm.unreachable",
        SimulationError,
        "llvm.unreachable: it is reached",
    ),
    "a copy in flight": (
        "    nvvm.cp.async.shared.global %ps, %pa, 4, cache = ca"
        " : !llvm.ptr<3>, !llvm.ptr<1>"
        "\n    nvvm.cp.async.commit.group\n    nvvm.cp.async.wait.group 1"
        "\n    %v = llvm.load %ps : !llvm.ptr<3> -> i32" + STORE,
        AsyncCopyError,
        "while a copy to it is in flight",
    ),
    "a copy that others read without a barrier": (
        "    nvvm.cp.async.shared.global %ps, %pa, 4, cache = ca"
        " : !llvm.ptr<3>, !llvm.ptr<1>"
        "\n    nvvm.cp.async.commit.group\n    nvvm.cp.async.wait.group 0"
        f"{BACKWARD}    %v = llvm.load %pj : !llvm.ptr<3> -> i32" + STORE,
        RaceError,
        "writes by nvvm.cp.async.shared.global",
    ),
}


@pytest.mark.parametrize("what", FAULTS)
def test_faults(what: str) -> None:
    body, kind, message = FAULTS[what]
    with pytest.raises(kind, match=re.escape(message)):
        run(body)


def test_step_limit() -> None:
    with pytest.raises(StepLimitError, match="@k: the step limit is reached"):
        run("    llvm.br ^a\n  ^a:\n    llvm.br ^a", step_limit=100)


def test_copies_land_at_the_wait() -> None:
    """Two groups are in flight, and the first one is complete after a wait for it."""
    body = """
    %far = llvm.getelementptr %ps[32] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32
    nvvm.cp.async.shared.global %ps, %pa, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    nvvm.cp.async.shared.global %far, %pa, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 1
    %x = llvm.load %ps : !llvm.ptr<3> -> i32
    nvvm.cp.async.wait.group 0
    %y = llvm.load %far : !llvm.ptr<3> -> i32
    %v = llvm.add %x, %y : i32"""
    np.testing.assert_array_equal(run(body + STORE), 2 * np.arange(32))


def expected_shuffle(kind: str, lane: int, by: int, clamp: int) -> int:
    """The PTX ISA's description of `shfl.sync`, for one lane."""
    segment = clamp >> 8 & 31
    most = (lane & segment) | (clamp & 31 & ~segment)
    match kind:
        case "up":
            source, fine = lane - by, lane - by >= most
        case "down":
            source, fine = lane + by, lane + by <= most
        case "bfly":
            source, fine = lane ^ by, lane ^ by <= most
        case _:
            source = (lane & segment) | (by & ~segment)
            fine = source <= most
    return source if fine else lane


@pytest.mark.parametrize("kind", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("width", [32, 8])
def test_shuffles(kind: str, width: int) -> None:
    clamp = (32 - width) << 8 | (0 if kind == "up" else 31)
    body = f"""
    %by = llvm.mlir.constant(3 : i32) : i32
    %clamp = llvm.mlir.constant({clamp} : i32) : i32
{LOAD}
    %v = nvvm.shfl.sync {kind} %full, %x, %by, %clamp : i32 -> i32"""
    expected = [expected_shuffle(kind, lane, 3, clamp) for lane in range(32)]
    np.testing.assert_array_equal(
        run(body + STORE, threads=64, blocks=2),
        [32 * warp + lane for warp in range(4) for lane in expected],
    )


def test_shuffle_in_half_of_a_warp() -> None:
    """The lanes of the mask meet; a lane that is not in it gives an undefined value."""
    found = run(
        """
    %half = llvm.mlir.constant(16 : i32) : i32
    %mask = llvm.mlir.constant(65535 : i32) : i32
    %low = llvm.icmp "slt" %t, %half : i32
    llvm.cond_br %low, ^wait, ^end
  ^end:
    llvm.return
  ^wait:
    %clamp = llvm.mlir.constant(31 : i32) : i32
    %v = nvvm.shfl.sync down %mask, %t, %two, %clamp : i32 -> i32"""
        + STORE
    )
    expected = [*range(2, 16), *[2**31 - 1] * 2, *[-7] * 16]
    np.testing.assert_array_equal(found, expected)


def test_votes_and_reductions() -> None:
    body = """
    %three = llvm.mlir.constant(3 : i32) : i32
    %low = llvm.icmp "slt" %t, %three : i32
    %ballot = nvvm.vote.sync ballot %full, %low -> i32
    %any = nvvm.vote.sync any %full, %low -> i1
    %all = nvvm.vote.sync all %full, %low -> i1
    %uni = nvvm.vote.sync uni %full, %low -> i1
    %sum = nvvm.redux.sync add %t, %full : i32 -> i32
    %most = nvvm.redux.sync umax %full, %full : i32 -> i32
    %an = llvm.zext %any : i1 to i32
    %al = llvm.zext %all : i1 to i32
    %un = llvm.zext %uni : i1 to i32
    %hundred = llvm.mlir.constant(100 : i32) : i32
    %x1 = llvm.mul %ballot, %hundred : i32
    %x2 = llvm.add %x1, %an : i32
    %x3 = llvm.mul %al, %two : i32
    %x4 = llvm.add %x2, %x3 : i32
    %x5 = llvm.add %x4, %un : i32
    %x6 = llvm.add %x5, %most : i32
    %x7 = llvm.mul %sum, %hundred : i32
    %x8 = llvm.mul %x7, %hundred : i32
    %v = llvm.add %x6, %x8 : i32"""
    assert set(run(body + STORE).tolist()) == {496 * 10000 + 7 * 100 + 1 - 1}
    # The second warp votes for itself.
    assert run(body + STORE, threads=64)[63] == sum(range(32, 64)) * 10000 + 1 - 1


def test_atomic_updates() -> None:
    """All threads add to one place, and exactly one of them finds it free."""
    found = run(
        """
    %old = tvm_llvm.atomicrmw add %c, %one monotonic : !llvm.ptr<1>, i32
    %last = llvm.getelementptr %c[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
    %free = llvm.mlir.constant(-7 : i32) : i32
    %pair = tvm_llvm.cmpxchg %last, %free, %t acq_rel monotonic : !llvm.ptr<1>, i32
    %won = llvm.extractvalue %pair[1] : !llvm.struct<(i32, i1)>
    llvm.cond_br %won, ^winner, ^end
  ^winner:
    %slot = llvm.getelementptr %c[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
    llvm.store %old, %slot : i32, !llvm.ptr<1>
    llvm.br ^end
  ^end:
    llvm.return""",
        blocks=2,
    )
    assert found[0] == 64 - 7
    assert 0 <= found[1] < 32
    assert found[2] >= -7


def test_generic_addresses() -> None:
    """One load reads local memory in some threads, and shared or global in others."""
    found = run(
        f"""{LOAD}
    %slot = llvm.alloca %one x i32 : (i32) -> !llvm.ptr
    %neg = llvm.sub %zero, %t : i32
    llvm.store %neg, %slot : i32, !llvm.ptr
    %ten = llvm.mlir.constant(10 : i32) : i32
    %x10 = llvm.mul %t, %ten : i32
    llvm.store %x10, %ps : i32, !llvm.ptr<3>
    %shared = tvm_llvm.addrspacecast %ps : !llvm.ptr<3> to !llvm.ptr
    %outside = tvm_llvm.addrspacecast %pa : !llvm.ptr<1> to !llvm.ptr
    %three = llvm.mlir.constant(3 : i32) : i32
    %r = llvm.urem %t, %three : i32
    %is0 = llvm.icmp "eq" %r, %zero : i32
    %is1 = llvm.icmp "eq" %r, %one : i32
    %p1 = llvm.select %is0, %slot, %shared : i1, !llvm.ptr
    %is01 = llvm.or %is0, %is1 : i1
    %p = llvm.select %is01, %p1, %outside : i1, !llvm.ptr
    %v = llvm.load %p : !llvm.ptr -> i32"""
        + STORE,
        np.arange(32, dtype=np.int32) + 1000,
    )
    expected = [(-t, 10 * t, 1000 + t)[t % 3] for t in range(32)]
    np.testing.assert_array_equal(found, expected)


def test_vectors_constants_and_dynamic_memory() -> None:
    found = run(
        """
    %four = llvm.mlir.constant(4 : i32) : i32
    %row = llvm.mul %t, %four : i32
    %dyn = llvm.mlir.addressof @dynamic : !llvm.ptr<3>
    %pd = llvm.getelementptr %dyn[%row] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %table = llvm.mlir.addressof @table : !llvm.ptr<1>
    %w = llvm.load %table : !llvm.ptr<1> -> vector<4xi32>
    %u = llvm.insertelement %t, %w[%one : i32] : vector<4xi32>
    llvm.store %u, %pd : vector<4xi32>, !llvm.ptr<3>
    %z = llvm.load %pd : !llvm.ptr<3> -> vector<4xi32>
    %y = llvm.shufflevector %z, %w [3, 1, 4, 0] : vector<4xi32>
    %r = llvm.and %t, %one : i32
    %s = llvm.add %r, %one : i32
    %v = tvm_llvm.extractelement %y[%s : i32] : vector<4xi32>"""
        + STORE
    )
    np.testing.assert_array_equal(found, [(t, 5)[t % 2] for t in range(32)])


def test_integers_of_odd_width() -> None:
    """20 bits wrap, are shifted, compared and divided as 20 bits."""
    found = run(
        """
    %x = llvm.trunc %t : i32 to i20
    %big = llvm.mlir.constant(500000 : i20) : i20
    %y = llvm.add %x, %big : i20
    %z = llvm.add %y, %big : i20
    %three = llvm.mlir.constant(3 : i20) : i20
    %q = llvm.udiv %z, %three : i20
    %s = llvm.ashr %z, %three : i20
    %d = llvm.add %q, %s : i20
    %v = llvm.sext %d : i20 to i32"""
        + STORE
    )

    def wrap(value: int) -> int:
        return (value + (1 << 19)) % (1 << 20) - (1 << 19)

    sums = [wrap(t + 1000000) for t in range(32)]
    expected = [wrap(wrap(x % (1 << 20) // 3) + (x >> 3)) for x in sums]
    np.testing.assert_array_equal(found, expected)


def test_arguments_are_checked() -> None:
    kernels = LLVMKernels(
        module("    llvm.return", "nvvm.kernel, nvvm.maxntid = array<i32: 16, 1, 1>")
    )
    a = np.zeros(4, np.int32)
    with pytest.raises(ArgumentError, match=r"made for blocks of \[16, 1, 1\]"):
        kernels.launch("k", (1, 1, 1), (32, 1, 1), [a, a])
    with pytest.raises(ArgumentError, match="expected 2 arguments, got 3"):
        LLVMKernels(module("    llvm.return")).launch(
            "k", (1, 1, 1), (1, 1, 1), [a, a, a]
        )
    with pytest.raises(ArgumentError, match="no kernel 'g'; there are: k"):
        kernels.launch("g", (1, 1, 1), (16, 1, 1), [a])
    with pytest.raises(ArgumentError, match="argument 1 expects a numpy array"):
        kernels.launch("k", (1, 1, 1), (16, 1, 1), [a, 4])


def test_what_is_not_run_is_named() -> None:
    body = '    %x = tvm_llvm.call_intrinsic "llvm.nvvm.unheard.of"() : () -> i32'
    with pytest.raises(
        InterpretationError, match=r"the intrinsic 'llvm.nvvm.unheard.of'"
    ):
        run(body + "\n    llvm.return")
    with pytest.raises(InterpretationError, match="number of elements is not constant"):
        run("    %p = llvm.alloca %t x i32 : (i32) -> !llvm.ptr\n    llvm.return")


def test_bank_conflicts_agree_with_those_of_the_simulator() -> None:
    rng = np.random.default_rng(0)
    op = parse(GLOBALS)
    for size in (1, 2, 4, 8, 16):
        for _ in range(20):
            starts = rng.integers(0, 128, 64) * size
            mask = rng.random(64) < 0.8
            counts = AccessCounts()
            warps = np.arange(64).reshape(2, 32)
            counts.shared(op, starts, size, warps, mask, "reads")
            expected: list[int] = []
            for warp in warps:
                lanes = [
                    Request(int(t) % 32, int(starts[t]), size) for t in warp if mask[t]
                ]
                expected += multiplicities(lanes)
            (use,) = counts.banks().accesses
            assert (use.steps, use.phases) == (sum(expected), len(expected))
            assert use.worst == max(expected)


def test_sectors() -> None:
    kernels = LLVMKernels(
        module(
            """
    %i2 = llvm.mul %i, %two : i32
    %p = llvm.getelementptr %a[%i2] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %v = llvm.load %p : !llvm.ptr<1> -> i32"""
            + STORE
        ),
        count_accesses=True,
    )
    a, c = np.arange(64, dtype=np.int32), np.zeros(32, np.int32)
    kernels.launch("k", (1, 1, 1), (32, 1, 1), [a, c])
    np.testing.assert_array_equal(c, a[::2])
    reads, writes = kernels.counts.sectors()
    assert (reads.instructions, reads.sectors, reads.least) == (1, 8, 4)
    assert (writes.instructions, writes.sectors, writes.least) == (1, 4, 4)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_fused_multiply_add(name: str) -> None:
    """Also where rounding twice would be wrong."""
    storage = numpy_float(name)
    dtype = Number(name, storage, 0, 0, "")
    rng = np.random.default_rng(1)
    a, b, c = (
        (rng.normal(size=300) * 2.0 ** rng.integers(-6, 6, 300)).astype(storage)
        for _ in range(3)
    )
    c[:100] = -(a[:100] * b[:100])
    expected = [fused_multiply_add(storage, *row) for row in zip(a, b, c, strict=True)]
    found = fused(dtype, a, b, c)
    assert found.dtype == storage
    np.testing.assert_array_equal(found.astype("f8"), np.array(expected).astype("f8"))


# ---- matrices in registers ----


def product_kernel(kind: str, transposed: bool) -> str:
    """C = A * B + C of 16 by 8 by 16: A and B by copies to shared memory, ldmatrix, mma.

    A has 512 bytes at `%a`, B 256 bytes after it, as 8 rows of 16, or 16 of 8.
    """
    first = "vector<2xf16>" if kind == "f32.f32" else "i32"
    cast = (
        "".join(f"\n    %f{n} = llvm.bitcast %r{n} : i32 to {first}" for n in range(6))
        if first != "i32"
        else ""
    )
    name = "f" if cast else "r"
    trans = ".trans" if transposed else ""
    loads = "".join(
        f"\n    %r{n} = llvm.extractvalue %la[{n}] : !llvm.struct<(i32, i32, i32, i32)>"
        for n in range(4)
    ) + "".join(
        f"\n    %r{4 + n} = llvm.extractvalue %lb[{n}] : !llvm.struct<(i32, i32)>"
        for n in range(2)
    )
    # Rows of A are 32 bytes: lanes 0-15 give columns 0-7, the others columns 8-15.
    # Rows of B^T are 32 bytes, of B 16.
    if transposed:
        b_offset = "%tb = llvm.and %t, %c15 : i32\n    %ob = llvm.mul %tb, %c16 : i32"
    else:
        b_offset = """%t7 = llvm.and %t, %c7 : i32
    %t8 = llvm.lshr %t, %c3 : i32
    %t81 = llvm.and %t8, %one : i32
    %ob0 = llvm.mul %t7, %c32 : i32
    %ob1 = llvm.mul %t81, %c16 : i32
    %ob = llvm.add %ob0, %ob1 : i32"""
    operands = ", ".join([*(f"%{name}{n}" for n in range(6)), *["%zf"] * 4])
    types = ", ".join([*[first] * 6, *["f32"] * 4])
    constants = "".join(
        f"\n    %c{n} = llvm.mlir.constant({n} : i32) : i32"
        for n in (3, 4, 7, 15, 16, 32)
    )
    copies = "".join(
        f"""
    %o{n} = llvm.mlir.constant({512 * n} : i32) : i32
    %to{n} = llvm.mul %t, %c16 : i32
    %at{n} = llvm.add %to{n}, %o{n} : i32
    %g{n} = llvm.getelementptr %a[%at{n}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
    %s{n} = llvm.getelementptr %dyn[%at{n}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    %half{n} = llvm.mlir.constant({8 if n else 16} : i32) : i32
    tvm_llvm.call_intrinsic "llvm.nvvm.cp.async.cg.shared.global.16.s"(%s{n}, %g{n},
      %size{n}) : (!llvm.ptr<3>, !llvm.ptr<1>, i32) -> ()"""
        for n in range(2)
    )
    return (
        f"""{constants}
    %zf = llvm.mlir.constant(0.0 : f32) : f32
    %dyn = llvm.mlir.addressof @dynamic : !llvm.ptr<3>
    %low = llvm.icmp "slt" %t, %c16 : i32
    %size0 = llvm.mlir.constant(16 : i32) : i32
    %size1 = llvm.select %low, %c16, %zero : i1, i32{copies}
    nvvm.cp.async.commit.group
    tvm_llvm.call_intrinsic "llvm.nvvm.cp.async.wait.group"(%zero) : (i32) -> ()
    nvvm.barrier0
    %ta = llvm.and %t, %c15 : i32
    %tc = llvm.lshr %t, %c4 : i32
    %oa0 = llvm.mul %ta, %c32 : i32
    %oa1 = llvm.mul %tc, %c16 : i32
    %oa = llvm.add %oa0, %oa1 : i32
    %pta = llvm.getelementptr %dyn[%oa] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    %la = tvm_llvm.call_intrinsic "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3"(%pta)
      : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
    {b_offset}
    %ptb0 = llvm.getelementptr %dyn[512] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %ptb = llvm.getelementptr %ptb0[%ob] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    %lb = tvm_llvm.call_intrinsic "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2{trans}.b16.p3"(
      %ptb) : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32)>{loads}{cast}
    %d = tvm_llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.{kind}"({operands})
      : ({types}) -> !llvm.struct<(f32, f32, f32, f32)>"""
        + "".join(
            f"""
    %d{e} = llvm.extractvalue %d[{e}] : !llvm.struct<(f32, f32, f32, f32)>
    %e{e} = llvm.mul %t, %c4 : i32
    %ce{e} = llvm.getelementptr %c[%e{e}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %cp{e} = llvm.getelementptr %ce{e}[{e}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    llvm.store %d{e}, %cp{e} : f32, !llvm.ptr<1>"""
            for e in range(4)
        )
        + "\n    llvm.return"
    )


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("kind", ["f32.f32", "bf16"])
def test_matrices(kind: str, transposed: bool) -> None:
    storage = numpy_float("bfloat16" if kind == "bf16" else "float16")
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, s).astype(storage) for s in ((16, 16), (16, 8)))
    held_b = b if transposed else np.ascontiguousarray(b.T)
    held = np.concatenate([a.ravel().view(np.uint8), held_b.ravel().view(np.uint8)])
    c = np.zeros((32, 4), np.float32)
    kernels = LLVMKernels(module(product_kernel(kind, transposed)), count_accesses=True)
    kernels.launch("k", (1, 1, 1), (32, 1, 1), [held, c], dynamic_bytes=1024)
    found = np.zeros((16, 8), np.float32)
    lane = np.arange(32)
    for e in range(4):
        found[lane // 4 + 8 * (e // 2), 2 * (lane % 4) + e % 2] = c[:, e]
    np.testing.assert_array_equal(found, a.astype("f4") @ b.astype("f4"))
    uses = kernels.counts.banks().accesses
    assert [use.phases for use in uses if not use.writes] == [4, 2]
    # Rows of 32 bytes, of which a matrix has every other 16: two of them share a bank.
    assert uses[2].steps == 8


def test_half_a_warp_cannot_multiply() -> None:
    name = "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16.p3"
    body = f'    %x = tvm_llvm.call_intrinsic "{name}"(%ps) : (!llvm.ptr<3>) -> i32'
    with pytest.raises(DivergenceError, match="some of its threads are missing"):
        run(body + "\n    llvm.return", threads=16)


# ---- counting barriers ----

COUNTED = """
    %bar = llvm.mlir.addressof @dynamic : !llvm.ptr<3>
    %first = llvm.icmp "eq" %t, %zero : i32
    llvm.cond_br %first, ^init, ^ready
  ^init:
    tvm_llvm.call_intrinsic "llvm.nvvm.mbarrier.init.shared"(%bar, %EXPECTED)
      : (!llvm.ptr<3>, i32) -> ()
    llvm.br ^ready
  ^ready:
    nvvm.barrier0
    nvvm.cp.async.shared.global %ps, %pa, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
    tvm_llvm.call_intrinsic "llvm.nvvm.cp.async.mbarrier.arrive.KIND"(%bar)
      : (!llvm.ptr<3>) -> ()
    %token = tvm_llvm.call_intrinsic "llvm.nvvm.mbarrier.arrive.shared"(%bar)
      : (!llvm.ptr<3>) -> i64
    llvm.br ^poll
  ^poll:
    %done = tvm_llvm.call_intrinsic "llvm.nvvm.mbarrier.test.wait.shared"(%bar, %token)
      : (!llvm.ptr<3>, i64) -> i1
    llvm.cond_br %done, ^read, ^poll
  ^read:"""


@pytest.mark.parametrize("kind", ["shared", "noinc.shared"])
def test_counted_copies(kind: str) -> None:
    """Copies arrive at a barrier, which either counts them itself or is told before."""
    expected = "n" if kind == "shared" else "twice"
    body = "    %twice = llvm.add %n, %n : i32" + COUNTED.replace("KIND", kind)
    body = body.replace("EXPECTED", expected) + BACKWARD
    body += "    %v = llvm.load %pj : !llvm.ptr<3> -> i32" + STORE
    found = run(body, threads=64, blocks=3)
    rows = np.arange(64 * 3).reshape(3, 64)[:, ::-1]
    np.testing.assert_array_equal(found, rows.ravel())


def test_a_phase_that_never_completes() -> None:
    body = "    %twice = llvm.add %n, %n : i32"
    body += COUNTED.replace("KIND", "shared").replace("EXPECTED", "twice")
    with pytest.raises(DivergenceError, match="the phase that it waits for never ends"):
        run(body + "\n    llvm.return")
    with pytest.raises(SimulationError, match="arrivals at a barrier that expects 1"):
        run(body.replace("(%bar, %twice)", "(%bar, %one)") + "\n    llvm.return")
    none = '    %x = tvm_llvm.call_intrinsic "llvm.nvvm.mbarrier.arrive.shared"(%tile)'
    with pytest.raises(SimulationError, match="there is no barrier in this memory"):
        run(none + " : (!llvm.ptr<3>) -> i64\n    llvm.return")


# ---- fragments of wmma ----


def wmma_kernel(kind: str, by_columns: bool) -> str:
    """C = A * B + C of 16 by 16 by 16 in memory: A, B and C follow each other."""
    floats = kind == "f16"
    a_type = ", ".join(["vector<2xf16>"] * 8 if floats else ["i32"] * 2)
    c_type = ", ".join(["f32"] * 8 if floats else ["i32"] * 8)
    a_name, c_name = ("f16", "f32") if floats else ("s8", "s32")
    product = "row.col.f32.f32" if floats else "row.col.s8"
    size = 512 if floats else 256
    way = "col" if by_columns else "row"
    count = len(a_type.split(","))
    each = a_type.partition(",")[0]
    element = c_type.partition(",")[0]
    name = "llvm.nvvm.wmma.m16n16k16"

    def unpacked(value: str, letter: str, number: int, types: str) -> str:
        return "".join(
            f"\n    %{letter}{n} = llvm.extractvalue %{value}[{n}] : "
            f"!llvm.struct<({types})>"
            for n in range(number)
        )

    operands = ", ".join(
        [
            *(f"%u{n}" for n in range(count)),
            *(f"%w{n}" for n in range(count)),
            *(f"%x{n}" for n in range(8)),
        ]
    )
    types = ", ".join([*[each] * (2 * count), *[element] * 8])
    results = ", ".join(f"%d{n}" for n in range(8))
    return (
        f"""
    %s16 = llvm.mlir.constant(16 : i32) : i32
    %mb = llvm.getelementptr %a[{size}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %fa = tvm_llvm.call_intrinsic "{name}.load.a.row.stride.{a_name}.p1"(%a, %s16)
      : (!llvm.ptr<1>, i32) -> !llvm.struct<({a_type})>
    %fb = tvm_llvm.call_intrinsic "{name}.load.b.col.{a_name}.p1"(%mb)
      : (!llvm.ptr<1>) -> !llvm.struct<({a_type})>
    %fc = tvm_llvm.call_intrinsic "{name}.load.c.row.stride.{c_name}.p1"(%c, %s16)
      : (!llvm.ptr<1>, i32) -> !llvm.struct<({c_type})>"""
        + unpacked("fa", "u", count, a_type)
        + unpacked("fb", "w", count, a_type)
        + unpacked("fc", "x", 8, c_type)
        + f"""
    %fd = tvm_llvm.call_intrinsic "{name}.mma.{product}"({operands})
      : ({types}) -> !llvm.struct<({c_type})>"""
        + unpacked("fd", "d", 8, c_type)
        + f"""
    nvvm.bar.warp.sync %full : i32
    tvm_llvm.call_intrinsic "{name}.store.d.{way}.stride.{c_name}.p1"(%c, {results},
      %s16) : (!llvm.ptr<1>, {c_type}, i32) -> ()
    llvm.return"""
    )


@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("kind", ["f16", "s8"])
def test_fragments(kind: str, by_columns: bool) -> None:
    storage, result = (np.float16, np.float32) if kind == "f16" else (np.int8, np.int32)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, (16, 16)).astype(storage) for _ in range(2))
    c = rng.integers(-4, 5, (16, 16)).astype(result)
    held = np.concatenate([a.ravel(), b.T.ravel()])
    expected = a.astype(result) @ b.astype(result) + c
    LLVMKernels(module(wmma_kernel(kind, by_columns))).launch(
        "k", (1, 1, 1), (32, 1, 1), [held, c]
    )
    np.testing.assert_array_equal(c, expected.T if by_columns else expected)
