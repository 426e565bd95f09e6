"""Bank conflicts of shared memory, against counts by hand and a plain model."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from support.ir import parse

from xdsl_tvm.interpreters.gpu.bank_conflicts import (
    BankReport,
    BankUse,
    Request,
    instructions,
    multiplicities,
    runs,
)
from xdsl_tvm.interpreters.tir import InterpretedModule, SimulationError, interpret

CONSTANTS = "\n".join(
    [
        *(f"%c{n} = tir.const {n} : i32" for n in (0, 1, 2, 4, 8, 16, 31, 32, 33, 64)),
        '%scope = tir.string "shared"',
        "%no = tir.const false",
        "%yes = tir.const true",
    ]
)
SYNC = 'tir.call "tvm_storage_sync"(%scope) : (!tir.handle) -> ()'


def module(body: str, *, threads: int = 32, size: int = 4096, dtype: str = "f32") -> str:
    """A block of threads with `size` elements `%s` in shared memory, at `%p`."""
    return f"""
    tir.func @f(%o: !tir.handle) {{
      %O = tir.match_buffer "O" %o : !tir.buffer<{size}x{dtype}>
      {CONSTANTS}
      %threads = tir.const {threads} : i32
      %x = tir.const 1.0 : {dtype}
      tir.launch_thread %t = "threadIdx.x" to %threads {{
        %p = tir.allocate [{size}] : !tir.ptr<{dtype}, "shared">
        %s = tir.decl_buffer "s" %p : !tir.buffer<{size}x{dtype}, "shared">
        {body}
      }}
    }}"""


def counted(text: str, *arrays: Any) -> BankReport:
    found = interpret(parse(text), count_bank_conflicts=True)
    found["f"](*arrays)
    return found.bank_conflicts()


def one(
    body: str, *, threads: int = 32, size: int = 4096, dtype: str = "f32"
) -> list[BankUse]:
    numpy_dtype = {"f32": np.float32, "f16": np.float16, "f64": np.float64}[dtype]
    text = module(body, threads=threads, size=size, dtype=dtype)
    return list(counted(text, np.zeros(size, numpy_dtype)).accesses)


def figures(uses: Sequence[BankUse]) -> list[tuple[int, int, int, int]]:
    """Worst multiplicity, instructions, phases and steps of each access."""
    return [(use.worst, use.instructions, use.phases, use.steps) for use in uses]


@pytest.mark.parametrize(
    ("stride", "worst"), [(0, 1), (1, 1), (2, 2), (4, 4), (31, 1), (32, 32), (33, 1)]
)
def test_strides_of_words(stride: int, worst: int) -> None:
    body = f"""
    %stride = tir.const {stride} : i32
    %i = tir.mul %t, %stride : i32
    tir.store %x, %s[%i] : f32"""
    if stride == 0:
        # Several threads may not write one location, but they may read it.
        body = (
            """
        %first = tir.cmp eq %t, %c0 : i32
        tir.if %first {
          tir.store %x, %s[%c0] : f32
        }
        """
            + SYNC
            + """
        %y = tir.load %s[%c0] : f32
        tir.store %y, %O[%t] : f32"""
        )
    *_, use = one(body)
    assert figures([use]) == [(worst, 1, 1, worst)]
    assert use.conflicts == worst - 1


def test_halves_share_words() -> None:
    """Two lanes touch a word, which is no conflict; at a stride of 64 all do."""
    uses = one(
        """
        %i = tir.mul %t, %c64 : i32
        tir.store %x, %s[%t] : f16
        """
        + SYNC
        + """
        tir.store %x, %s[%i] : f16""",
        dtype="f16",
    )
    assert figures(uses) == [(1, 1, 1, 1), (32, 1, 1, 32)]


def test_doubles_are_served_in_two_phases() -> None:
    uses = one(
        """
        %i = tir.mul %t, %c2 : i32
        tir.store %x, %s[%t] : f64
        """
        + SYNC
        + """
        tir.store %x, %s[%i] : f64""",
        dtype="f64",
    )
    assert figures(uses) == [(1, 1, 2, 2), (2, 1, 2, 4)]


@pytest.mark.parametrize(
    ("lanes", "between", "expected"),
    [
        (2, 2, (1, 1, 2, 2)),
        (4, 4, (1, 1, 4, 4)),
        (4, 8, (2, 1, 4, 8)),
        (4, 32, (8, 1, 4, 32)),
        # More than 16 bytes take two instructions.
        (8, 8, (2, 2, 8, 16)),
        # At odd words a vector is touched word by word.
        (2, 33, (1, 2, 2, 2)),
    ],
)
def test_vectors(lanes: int, between: int, expected: tuple[int, ...]) -> None:
    uses = one(
        f"""
        %between = tir.const {between} : i32
        %start = tir.mul %t, %between : i32
        %i = tir.ramp %start, %c1 : vector<{lanes}xi32>
        %v = tir.broadcast %x : vector<{lanes}xf32>
        tir.store %v, %s[%i] : vector<{lanes}xf32>"""
    )
    assert figures(uses) == [expected]


def test_a_vector_with_gaps_is_several_instructions() -> None:
    uses = one(
        """
        %start = tir.mul %t, %c4 : i32
        %i = tir.ramp %start, %c2 : vector<2xi32>
        %v = tir.broadcast %x : vector<2xf32>
        tir.store %v, %s[%i] : vector<2xf32>"""
    )
    assert figures(uses) == [(4, 2, 2, 8)]


def test_masked_lanes_take_no_part() -> None:
    uses = one(
        """
        %i = tir.mul %t, %c32 : i32
        %few = tir.cmp lt %t, %c4 : i32
        tir.store %x, %s[%i] if %few : f32"""
    )
    assert figures(uses) == [(4, 1, 1, 4)]


def test_warps_are_counted_apart() -> None:
    """The second warp has 8 threads."""
    uses = one(
        """
        %i = tir.mul %t, %c32 : i32
        tir.store %x, %s[%i] : f32""",
        threads=40,
    )
    assert figures(uses) == [(32, 2, 2, 40)]


def test_lanes_meet_in_the_iterations_of_a_loop() -> None:
    """Lane t stores in iteration t % 4 only: 8 lanes at a time, in 8 words of a bank."""
    uses = one(
        """
        %i = tir.mul %t, %c32 : i32
        tir.for %k = %c0 to %c4 {
          %turn = tir.floormod %t, %c4 : i32
          %mine = tir.cmp eq %turn, %k : i32
          tir.if %mine {
            tir.store %x, %s[%i] : f32
          }
        }"""
    )
    assert figures(uses) == [(8, 4, 4, 32)]


def test_iterations_are_counted_from_the_beginning_of_a_loop() -> None:
    uses = one(
        """
        tir.for %k = %t to %t + %c2 {
          %times = tir.sub %k, %t : i32
          %row = tir.mul %times, %c32 : i32
          %i = tir.add %row, %t : i32
          tir.store %x, %s[%i] : f32
        }"""
    )
    assert figures(uses) == [(1, 2, 2, 2)]


def test_virtual_threads_are_instructions_of_their_own() -> None:
    uses = one(
        """
        tir.launch_thread %v = "vthread.x" to %c2 {
          %row = tir.mul %v, %c32 : i32
          %i = tir.add %row, %t : i32
          tir.store %x, %s[%i] : f32
        }"""
    )
    assert figures(uses) == [(1, 2, 2, 2)]


def test_a_while_loop_is_counted_by_its_iterations() -> None:
    uses = one(
        """
        %m = tir.allocate [1] : !tir.ptr<i32, "local">
        %n = tir.decl_buffer "n" %m : !tir.buffer<1xi32, "local">
        tir.store %c0, %n[%c0] : i32
        tir.while {
          %now = tir.load %n[%c0] : i32
          %more = tir.cmp lt %now, %c2 : i32
          tir.yield %more : i1
        } do {
          %now = tir.load %n[%c0] : i32
          %row = tir.mul %now, %c32 : i32
          %i = tir.add %row, %t : i32
          tir.store %x, %s[%i] : f32
          %next = tir.add %now, %c1 : i32
          tir.store %next, %n[%c0] : i32
        }"""
    )
    assert figures(uses) == [(1, 2, 2, 2)]


MATRICES = """
    tir.for %k = %c0 to %c128 {{
      %top = tir.mul %t, %c128 : i32
      %j = tir.add %top, %k : i32
      tir.store %x, %s[%j] : f16
    }}
    {sync}
    %row = tir.mul %t, %stride : i32
    %q = tir.access_ptr r %p[%row to %row + %c8] : !tir.ptr<f16, "shared">
    %w = tir.allocate [8] : !tir.ptr<f16, "local">
    %kind = tir.string ".b16"
    %d = tir.call "ptx_ldmatrix"(%no, %c4, %kind, %w, %c0, %q, %c0)
      : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "shared">, i32)
      -> f16
    tir.evaluate %d : f16"""


@pytest.mark.parametrize(
    ("stride", "worst"), [(8, 1), (16, 2), (32, 4), (64, 8), (72, 1), (40, 1)]
)
def test_rows_of_matrices(stride: int, worst: int) -> None:
    """A phase is a matrix, 8 rows of 16 bytes."""
    body = f"""
    %c128 = tir.const 128 : i32
    %stride = tir.const {stride} : i32
    {MATRICES.format(sync=SYNC)}"""
    *_, use = one(body, dtype="f16")
    assert use.buffer == "s"
    assert not use.writes
    assert figures([use]) == [(worst, 1, 4, 4 * worst)]


@pytest.mark.parametrize(("between", "worst"), [(16, 1), (64, 4), (128, 8)])
def test_asynchronous_copies(between: int, worst: int) -> None:
    uses = one(
        f"""
        %bytes = tir.const {between} : i32
        %count = tir.const {between // 4} : i32
        %i = tir.mul %t, %count : i32
        %D = tir.data %O : !tir.ptr<f32, "global">
        tir.call "ptx_cp_async"(%p, %i, %D, %i, %c16)
          : (!tir.ptr<f32, "shared">, i32, !tir.ptr<f32, "global">, i32, i32) -> ()
        tir.call "ptx_commit_group"() : () -> ()
        tir.call "ptx_wait_group"(%c0) : (i32) -> ()"""
    )
    assert [use.writes for use in uses] == [True]
    assert figures(uses) == [(worst, 1, 4, 4 * worst)]


def test_other_memory_is_not_counted() -> None:
    assert one("tir.store %x, %O[%t] : f32") == []
    report = counted(module("tir.store %x, %O[%t] : f32"), np.zeros(4096, np.float32))
    assert report.lines() == ["bank conflicts: no access of shared memory was counted"]
    assert (report.worst, report.steps) == (0, 0)


TRANSPOSITION = module(
    f"""
    tir.for %k = %c0 to %c32 {{
      %top = tir.mul %k, %c32 : i32
      %i = tir.add %top, %t : i32
      tir.store %x, %s[%i] : f32
    }}
    {SYNC}
    tir.for %k = %c0 to %c32 {{
      %left = tir.mul %t, %c32 : i32
      %i = tir.add %left, %k : i32
      %y = tir.load %s[%i] : f32
      tir.store %y, %O[%i] : f32
    }}"""
)


def test_a_report() -> None:
    report = counted(TRANSPOSITION, np.zeros(4096, np.float32))
    assert report.lines() == [
        "worst  conflicts  steps  instructions  access    operation",
        "    1          0     32            32  writes s  tir.store %x, %s[%i] : f32",
        "   32        992   1024            32  reads s   %y = tir.load %s[%i] : f32",
        "bank conflicts: 992 of 1056 steps, the worst access takes 32 steps a phase",
    ]


def test_counts_add_up_over_calls_and_blocks() -> None:
    text = module(
        """
        tir.store %x, %s[%t] : f32"""
    )
    found = interpret(parse(text), count_bank_conflicts=True)
    for _ in range(3):
        found["f"](np.zeros(4096, np.float32))
    assert figures(found.bank_conflicts().accesses) == [(1, 3, 3, 3)]


def test_a_launch_that_fails_leaves_nothing() -> None:
    text = module(
        """
        tir.store %x, %s[%t] : f32
        %i = tir.mul %t, %threads : i32
        %j = tir.mul %i, %c64 : i32
        tir.store %x, %O[%j] : f32"""
    )
    found = interpret(parse(text), count_bank_conflicts=True)
    with pytest.raises(SimulationError, match="index 0 is 4096"):
        found["f"](np.zeros(4096, np.float32))
    assert found.bank_conflicts().accesses == []


def test_it_is_off_by_default() -> None:
    plain = interpret(parse(TRANSPOSITION))
    assert "banks" not in plain.source("f")
    counting: InterpretedModule = interpret(
        parse(TRANSPOSITION), count_bank_conflicts=True
    )
    assert "banks" in counting.source("f")
    with pytest.raises(ValueError, match="count_bank_conflicts=True"):
        plain.bank_conflicts()


def test_results_are_the_same() -> None:
    plain, counting = (np.zeros(4096, np.float32) for _ in range(2))
    interpret(parse(TRANSPOSITION))["f"](plain)
    interpret(parse(TRANSPOSITION), count_bank_conflicts=True)["f"](counting)
    np.testing.assert_array_equal(plain, counting)


def steps_by_search(requests: Sequence[Request]) -> list[int]:
    """Steps in which each bank serves one word, phase by phase."""
    size = max(4, *(request.size for request in requests))
    found: list[int] = []
    for first in range(0, 32, 128 // size):
        waiting = {
            byte // 4
            for lane, start, count in requests
            if first <= lane < first + 128 // size
            for byte in range(start, start + count)
        }
        steps = 0
        while waiting:
            served = {word % 32: word for word in sorted(waiting)}
            waiting -= set(served.values())
            steps += 1
        found.extend([steps] if steps else [])
    return found


def test_random_requests() -> None:
    rng = random.Random(0)
    for _ in range(200):
        size = rng.choice((1, 2, 4, 8, 16))
        span = rng.choice((4, 40, 400))
        requests = [
            Request(lane, rng.randrange(span) * size, size)
            for lane in range(32)
            if rng.random() < 0.8 or lane == 0
        ]
        assert multiplicities(requests) == steps_by_search(requests)


@pytest.mark.parametrize(
    ("places", "bits", "expected"),
    [
        ([], 32, []),
        ([3], 32, [(12, 4)]),
        ([0, 1, 2, 3], 32, [(0, 16)]),
        ([0, 2], 32, [(0, 4), (8, 4)]),
        ([3, 2], 32, [(12, 4), (8, 4)]),
        ([5, 5], 32, [(20, 4)]),
        ([1, 2], 8, [(1, 2)]),
        ([0, 1, 2, 3], 4, [(0, 2)]),
        ([3], 4, [(1, 1)]),
    ],
)
def test_runs(places: list[int], bits: int, expected: list[tuple[int, int]]) -> None:
    assert runs(places, bits) == expected


@pytest.mark.parametrize(
    ("starts", "size", "widths"),
    [
        ([0, 16], 16, [16]),
        ([0, 32], 32, [16, 16]),
        ([0, 8], 16, [8, 8]),
        ([0, 2], 4, [2, 2]),
        ([4, 8], 12, [4, 4, 4]),
        ([1], 2, [1, 1]),
        ([], 0, []),
    ],
)
def test_instructions(starts: list[int], size: int, widths: list[int]) -> None:
    found = instructions([Request(lane, at, size) for lane, at in enumerate(starts)])
    assert [{request.size for request in one} for one in found] == [{w} for w in widths]
    for lane, start in enumerate(starts):
        touched = [one[lane].start for one in found]
        assert touched == [start + sum(widths[:n]) for n in range(len(widths))]
