"""Threads that run together as arrays: that they do, and do what one thread would."""

from typing import Any

import numpy as np
import pytest
from support.gpu_kernels import CONSTANTS, SYNC, arrays, kernel
from support.ir import parse
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.interpreters.gpu import lockstep_races as _lockstep_races
from xdsl_tvm.interpreters.gpu import lockstep_threads as _lockstep_threads
from xdsl_tvm.interpreters.tir import (
    ArgumentError,
    RaceError,
    SimulationError,
    UninitializedReadError,
    interpret,
)

OWN = """%first = tir.mul %b, %threads : i32
%own = tir.add %first, %t : i32"""
SHARED = """%m = tir.allocate [64] : !tir.ptr<f32, "shared">
%S = tir.decl_buffer "S" %m : !tir.buffer<64xf32, "shared">"""


def counts(function: Any) -> tuple[int, int]:
    """Launches that ran together, and those that were repeated one by one."""
    return function.owner.launches_together, function.owner.launches_repeated


# ---- what runs together ----

ROWS = """
tir.func @f(%i: !tir.handle, %o: !tir.handle) {
  %n = tir.shape_var "n" : i32
  %I = tir.match_buffer "I" %i [%n] : !tir.buffer<?x8xf32>
  %O = tir.match_buffer "O" %o [%n] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c31 = tir.const 31 : i32
  %z = tir.const 0.0 : f32
  %up = tir.add %n, %c31 : i32
  %blocks = tir.floordiv %up, %c16 : i32
  tir.for %b = %c0 to %blocks thread_binding "blockIdx.x" {
    tir.for %t = %c0 to %c16 thread_binding "threadIdx.x" {
      %first = tir.mul %b, %c16 : i32
      %row = tir.add %first, %t : i32
      %inside = tir.cmp lt %row, %n : i32
      tir.for %k = %c0 to %c8 {
        tir.block "sum" (%vi : S in [%c0 to %n] = %row, %vk : R in [%c0 to %c8] = %k)
            where %inside {
          tir.reads %I[%vi, %vk]
          tir.writes %O[%vi]
          %Row = tir.match_region %I[%vi to %vi + 1, %c0 to %c0 + 8]
              : !tir.buffer<8xf32>
          tir.init { tir.store %z, %O[%vi] : f32 }
          %x = tir.load %Row[%vk] : f32
          %s = tir.load %O[%vi] : f32
          %y = tir.add %s, %x : f32
          tir.store %y, %O[%vi] : f32
        }
      }
    }
  }
}"""


def test_blocks_with_predicates_inits_and_views() -> None:
    function = interpret(parse(ROWS))["f"]
    given = np.random.default_rng(0).normal(size=(77, 8)).astype(np.float32)
    out = np.zeros(77, np.float32)
    function(given, out)
    expected = np.zeros_like(out)
    interpret(parse(ROWS), vectorize_threads=False)["f"](given, expected)
    np.testing.assert_array_equal(out, expected)
    assert counts(function) == (1, 0)


def test_vectors_of_lanes() -> None:
    body = """
    %at = tir.mul %t, %c2 : i32
    %r = tir.ramp %at, %c1 : vector<2xi32>
    %x = tir.load %I[%r] : vector<2xf32>
    %k = tir.broadcast %one : vector<2xf32>
    %y = tir.add %x, %k : vector<2xf32>
    %p = tir.cmp lt %t, %c16 : i32
    %z = tir.select %p, %x, %y : i1, vector<2xf32>
    tir.store %z, %O[%r] : vector<2xf32>"""
    out, given = arrays()
    function = kernel(body, threads=32)
    function(out, given)
    assert (out == given + (np.arange(64) >= 32)).all()
    assert counts(function) == (1, 0)


def test_blocks_of_several_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    body = f"""{OWN}
    {SHARED}
    %x = tir.load %I[%own] : f32
    tir.store %x, %S[%t] : f32
    {SYNC}
    %c15 = tir.sub %c16, %c1 : i32
    %r = tir.sub %c15, %t : i32
    %y = tir.load %S[%r] : f32
    tir.store %y, %O[%own] : f32"""
    function = kernel(body, threads=16, blocks=4)
    for most in (16, 40, 64):
        monkeypatch.setattr(_lockstep_threads, "MOST_THREADS", most)
        out, given = arrays()
        function(out, given)
        assert (out.reshape(4, 16) == given.reshape(4, 16)[:, ::-1]).all()
    assert counts(function) == (3, 0)
    for most in (16, 32, 64):
        monkeypatch.setattr(_lockstep_threads, "MOST_THREADS", most)
        with pytest.raises(RaceError, match=r"block \(0, 0, 0\) .* block \(2, 0, 0\)"):
            kernel(
                "%h = tir.floormod %b, %c2 : i32\ntir.store %one, %O[%h] : f32",
                threads=1,
                blocks=32,
            )(out, given)


@pytest.mark.parametrize(
    "body",
    [
        """%p = tir.address_of %O[%t] : !tir.ptr<f32>
        %old = tir.call "atomic_add"(%p, %one) : (!tir.ptr<f32>, f32) -> f32""",
        """%mask = tir.call "tvm_warp_activemask"() : () -> ui32
        tir.store %one, %O[%t] : f32""",
        """tir.while { %no = tir.const false tir.yield %no : i1 } do { }
        tir.store %one, %O[%t] : f32""",
        """%p = tir.cmp lt %t, %c64 : i32
        tir.store %one, %O[%t] if %p : f32""",
    ],
)
def test_what_runs_one_by_one(body: str) -> None:
    out, given = arrays()
    function = kernel(body)
    function(out, given)
    assert (out == 1).all()
    assert counts(function) == (0, 0)


# ---- faults ----


def test_memory_is_as_before_when_a_launch_is_repeated() -> None:
    body = """%x = tir.load %O[%t] : f32
    %y = tir.add %x, %one : f32
    tir.store %y, %O[%t] : f32
    %two = tir.add %t, %c1 : i32
    %n = tir.floormod %two, %c64 : i32
    %z = tir.load %I[%n] : f32
    tir.store %z, %I[%c0] : f32"""
    found, expected = arrays(), arrays()
    function = kernel(body)
    with pytest.raises(RaceError, match=r"race on I\[0\]"):
        function(*found)
    with pytest.raises(RaceError, match=r"race on I\[0\]"):
        interpret(function.owner.module, vectorize_threads=False)["f"](*expected)
    np.testing.assert_array_equal(found, expected)
    assert counts(function) == (0, 1)


def test_races_of_long_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    body = f"""{SHARED}
    tir.store %one, %S[%t] : f32
    {SYNC}
    tir.for %k = %c0 to %c8 {{ %x = tir.load %S[%r] : f32 }}
    tir.store %zero, %S[%t] : f32"""
    monkeypatch.setattr(_lockstep_races, "_LIMIT", 100)
    good = kernel(body.replace("%r", "%t"))
    good(*arrays())
    assert counts(good) == (1, 0)
    for index in ("%c63", "%c0"):
        with pytest.raises(RaceError, match=r"race on S\["):
            kernel(body.replace("%r", index))(*arrays())


def test_blocks_race_whatever_their_barriers() -> None:
    body = f"""%lead = tir.cmp eq %b, %c0 : i32
    tir.if %lead {{ tir.store %one, %O[%t] : f32 }}
    {SYNC}
    %x = tir.load %O[%WHERE] : f32
    tir.store %x, %I[%own] : f32"""
    good = kernel(f"{OWN}\n{body.replace('%WHERE', '%own')}", threads=32, blocks=2)
    good(*arrays())
    assert counts(good) == (1, 0)
    bad = kernel(f"{OWN}\n{body.replace('%WHERE', '%t')}", threads=32, blocks=2)
    with pytest.raises(RaceError, match=r"race on O\[0\]: .* of block \(1, 0, 0\) reads"):
        bad(*arrays())


def test_marks_of_the_host() -> None:
    text = f"""tir.func @f() -> f32 {{
      {CONSTANTS}
      %m = tir.allocate [64] : !tir.ptr<f32, "global">
      %G = tir.decl_buffer "G" %m : !tir.buffer<64xf32>
      tir.store %one, %G[%c63] : f32
      tir.launch_thread %t = "threadIdx.x" to %c32 {{
        %x = tir.load %G[%c63] : f32
        tir.store %x, %G[%t] : f32
      }}
      %y = tir.load %G[%WHERE] : f32
      tir.ret %y : f32
    }}"""
    for where in ("%c16", "%c63"):
        function = interpret(parse(text.replace("%WHERE", where)))["f"]
        assert function() == 1
        assert counts(function) == (1, 0)
    with pytest.raises(UninitializedReadError):
        interpret(parse(text.replace("%WHERE", "%c32")))["f"]()


COPY = """%x = tir.load %I[%t] : f32
tir.for %k = %c0 to %c2 {
  %y = tir.add %x, %one : f32
  tir.store %y, %O[%t] : f32
}
%z = tir.load %I[%t] : f32
tir.store %z, %O[%t] : f32"""


def test_arrays_that_overlap() -> None:
    found, expected = np.arange(96.0), np.arange(96.0)
    function = kernel(COPY.replace("f32", "f64").replace("%one", "%x"), dtype="f64")
    function(found[:64], found[32:])
    one_by_one = interpret(function.owner.module, vectorize_threads=False)["f"]
    one_by_one(expected[:64], expected[32:])
    np.testing.assert_array_equal(found, expected)
    assert counts(function) == (0, 0)


def test_arrays_that_cannot_be_written() -> None:
    out, given = arrays()
    out.flags.writeable = False
    with pytest.raises(ArgumentError, match="the memory cannot be written"):
        kernel(COPY)(out, given)


def test_a_kernel_that_divides_by_zero_somewhere() -> None:
    body = """%d = tir.sub %c32, %t : i32
    %p = tir.cmp ne %d, %c0 : i32
    tir.if %p {
      %q = tir.floordiv %c64, %d : i32
      %f = tir.cast %q : i32 to f32
      tir.store %f, %O[%t] : f32
    }"""
    out, given = arrays()
    function = kernel(body)
    function(out, given)
    expected = [0 if t == 32 else 64 // (32 - t) for t in range(64)]
    assert out.tolist() == expected
    assert counts(function) == (1, 0)
    with pytest.raises(InterpretationError, match=r"by zero, by thread \(32, 0, 0\)"):
        kernel(body.replace("ne %d", "ge %d"))(out, given)


@pytest.mark.usefixtures("each_way")
def test_a_buffer_that_views_the_null_pointer() -> None:
    text = f"""tir.func @f(%h: !tir.ptr<f32>) {{
      {CONSTANTS}
      tir.launch_thread %t = "threadIdx.x" to %c32 {{
        %H = tir.decl_buffer "H" %h : !tir.buffer<64xf32>
        tir.store %one, %H[%t] : f32
      }}
    }}"""
    with pytest.raises(SimulationError, match="null pointer"):
        interpret(parse(text))["f"](None)
