"""Reductions over threads, barriers of the grid, and functions that threads call."""

from typing import Any

import numpy as np
import pytest
from support.gpu_kernels import CONSTANTS, SYNC, arrays, kernel
from support.ir import parse
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.interpreters.tir import (
    DivergenceError,
    OutOfBoundsError,
    RaceError,
    SimulationError,
    UninitializedReadError,
    interpret,
)

# ---- reductions ----

SUM = """%sum = tir.reducer (%x : f32, %y : f32) identity [0.0 : f32] {
  %s = tir.add %x, %y : f32
  tir.yield %s : f32
}"""
LOCAL = """%m = tir.allocate [1] : !tir.ptr<f32, "SCOPE">
%R = tir.decl_buffer "R" %m : !tir.buffer<1xf32, "SCOPE">"""
REDUCE = "tir.thread_allreduce [%v] into [%R[%c0]] over [%t]"
RESULT = """%r = tir.load %R[%c0] : f32
tir.store %r, %O[%t] : f32"""


def reduction(
    call: str = REDUCE,
    *,
    scope: str = "local",
    reducer: str = SUM,
    name: str = "%sum",
    result: str = RESULT,
) -> str:
    return f"""
    {reducer}
    {LOCAL.replace("SCOPE", scope)}
    %v = tir.load %I[%t] : f32
    tir.attr "reduce_scope" ({name}) = 0 : i32 {{
      {call}
    }}
    {result}"""


@pytest.mark.parametrize("scope", ["local", "shared"])
def test_sum_over_a_block(scope: str) -> None:
    out, given = arrays()
    kernel(reduction(scope=scope))(out, given)
    assert (out == given.sum()).all()


def test_condition_contributes_the_identity() -> None:
    out, given = arrays()
    call = f"%p = tir.cmp lt %t, %c16 : i32\n{REDUCE.replace('[%v]', '[%v] if %p')}"
    kernel(reduction(call))(out, given)
    assert (out == given[:16].sum()).all()


def test_axes_that_are_not_reduced_over_are_apart() -> None:
    text = f"""
    tir.func @f(%o: !tir.handle, %i: !tir.handle) {{
      %O = tir.match_buffer "O" %o : !tir.buffer<4x8xf32>
      %I = tir.match_buffer "I" %i : !tir.buffer<4x8xf32>
      {CONSTANTS}
      {SUM}
      tir.launch_thread %y = "threadIdx.y" to %c4 {{
        tir.launch_thread %x = "threadIdx.x" to %c8 {{
          {LOCAL.replace("SCOPE", "local")}
          %v = tir.load %I[%y, %x] : f32
          tir.attr "reduce_scope" (%sum) = 0 : i32 {{
            tir.thread_allreduce [%v] into [%R[%c0]] over [%AXES]
          }}
          %r = tir.load %R[%c0] : f32
          tir.store %r, %O[%y, %x] : f32
        }}
      }}
    }}"""
    given = np.arange(32, dtype=np.float32).reshape(4, 8)
    for axes, axis in (("%x", 1), ("%y", 0), ("%x, %y", None), ("%x, %c0", 1)):
        out = np.zeros_like(given)
        interpret(parse(text.replace("%AXES", axes)))["f"](out, given)
        expected = given.sum(axis=axis, keepdims=True)
        np.testing.assert_array_equal(out, np.broadcast_to(expected, out.shape))
    shared = text.replace('"local"', '"shared"').replace("%AXES", "%x")
    with pytest.raises(RaceError, match="several groups of threads of block"):
        interpret(parse(shared))["f"](np.zeros_like(given), given)


ARGMAX = """%arg = tir.reducer (%x : f32, %k : i32, %y : f32, %l : i32)
    identity [-3.0e38 : f32, -1 : i32] {
  %left = tir.cmp ge %x, %y : f32
  %value = tir.select %left, %x, %y : i1, f32
  %place = tir.select %left, %k, %l : i1, i32
  tir.yield %value, %place : f32, i32
}
%mk = tir.allocate [1] : !tir.ptr<i32, "local">
%K = tir.decl_buffer "K" %mk : !tir.buffer<1xi32, "local">"""


def test_several_values_at_once() -> None:
    out, _ = arrays()
    given = np.random.default_rng(0).permutation(64).astype(np.float32)
    call = "tir.thread_allreduce [%v, %t] into [%R[%c0], %K[%c0]] over [%t]"
    result = """%r = tir.load %K[%c0] : i32
    %f = tir.cast %r : i32 to f32
    tir.store %f, %O[%t] : f32"""
    run = kernel(reduction(call, reducer=ARGMAX, name="%arg", result=result))
    run(out, given)
    assert (out == given.argmax()).all()


def test_thread_that_does_not_come_to_a_reduction() -> None:
    call = f"%p = tir.cmp lt %t, %c63 : i32\ntir.if %p {{\n{REDUCE}\n}}"
    message = (
        r"thread \(0, 0, 0\) .* waits for thread \(63, 0, 0\) .*, which has ended, in: "
        r"tir\.thread_allreduce"
    )
    with pytest.raises(DivergenceError, match=message):
        kernel(reduction(call, result=""))(*arrays())
    kernel(reduction(call, result=""), threads=63)(*arrays())


def test_result_needs_no_barrier_but_overwriting_it_does() -> None:
    again = f"{RESULT}\ntir.store %zero, %R[%c0] : f32"
    kernel(reduction(result=again))(*arrays())
    with pytest.raises(RaceError, match=r"race on R\[0\]: .*\(0, 0, 0\) .* writes it"):
        kernel(reduction(result=again, scope="shared"))(*arrays())


def test_reduction_over_what_others_still_read() -> None:
    twice = f"""{RESULT}
    tir.attr "reduce_scope" (%sum) = 0 : i32 {{ {REDUCE} }}"""
    kernel(reduction(result=twice))(*arrays())
    with pytest.raises(RaceError, match=r"race on R\[0\]"):
        kernel(reduction(result=twice, scope="shared"))(*arrays())
    ordered = twice.replace("tir.attr", f"{SYNC}\ntir.attr")
    kernel(reduction(result=ordered, scope="shared"))(*arrays())


def test_reduction_in_a_loop() -> None:
    out, given = arrays()
    call = f"tir.for %j = %c0 to %c3 {{\n{REDUCE}\n}}"
    kernel(reduction(call))(out, given)
    assert (out == given.sum()).all()


def test_reductions_that_mean_nothing() -> None:
    with pytest.raises(InterpretationError, match="no reducer is given"):
        kernel(
            f"{LOCAL.replace('SCOPE', 'local')}\n%v = tir.load %I[%t] : f32\n{REDUCE}"
        )(*arrays())
    with pytest.raises(InterpretationError, match="it reduces over no thread variable"):
        kernel(
            reduction(f"tir.for %j = %c0 to %c1 {{\n{REDUCE.replace('[%t]', '[%j]')}\n}}")
        )(*arrays())
    with pytest.raises(InterpretationError, match="put it in local or shared memory"):
        kernel(reduction(REDUCE.replace("%R", "%O"), result=""))(*arrays())
    with pytest.raises(InterpretationError, match="it reduces 1 values, its reducer 2"):
        kernel(reduction(reducer=ARGMAX, name="%arg"))(*arrays())


# ---- barriers of the grid ----

KINIT = '%ki = tir.call "tvm_global_barrier_kinit"() : () -> i32'
LEAD = "%lead = tir.cmp eq %t, %c0 : i32"
MEET = """%global = tir.string "global"
%gs = tir.call "tvm_storage_sync"(%global, %lead, %blocks)
  : (!tir.handle, i1, i32) -> i32"""
OWN = """%first = tir.mul %b, %c16 : i32
%own = tir.add %first, %t : i32"""
WRITE = """%x = tir.load %I[%own] : f32
%y = tir.add %x, %one : f32
tir.store %y, %I[%own] : f32"""
READ = """%far = tir.sub %c63, %own : i32
%z = tir.load %I[%far] : f32
tir.store %z, %O[%own] : f32"""


def met(*lines: str) -> str:
    return "\n".join((KINIT, LEAD, OWN, *lines))


def test_barrier_of_the_grid_orders_blocks() -> None:
    out, given = arrays()
    expected = given[::-1] + 1
    kernel(met(WRITE, MEET, READ), threads=16, blocks=4)(out, given)
    assert (out == expected).all()
    with pytest.raises(
        RaceError, match=r"race on I\[32\]: .* of block \(2, 0, 0\) writes"
    ):
        kernel(met(WRITE, READ), threads=16, blocks=4)(out, given)


def test_barrier_of_the_grid_in_a_loop() -> None:
    """Every step each element becomes the sum of itself and its right neighbour."""
    step = """tir.for %k = %c0 to %c3 {
      %next = tir.add %own, %c1 : i32
      %right = tir.floormod %next, %c64 : i32
      %p = tir.load %I[%own] : f32
      %q = tir.load %I[%right] : f32
      %s = tir.add %p, %q : f32
      MEET
      tir.store %s, %I[%own] : f32
      AGAIN
    }"""
    again = MEET.replace("%global", "%g2").replace("%gs", "%gs2")
    _, given = arrays()
    expected = given.copy()
    for _ in range(3):
        expected = expected + np.roll(expected, -1)
    text = step.replace("MEET", MEET)
    kernel(met(text.replace("AGAIN", again)), threads=16, blocks=4)(arrays()[0], given)
    assert (given == expected).all()
    with pytest.raises(RaceError, match=r"race on I\["):
        kernel(met(text.replace("AGAIN", "")), threads=16, blocks=4)(*arrays())


def test_shared_memory_lasts_over_a_barrier_of_the_grid() -> None:
    text = f"""%m = tir.allocate [16] : !tir.ptr<f32, "shared">
    %S = tir.decl_buffer "S" %m : !tir.buffer<16xf32, "shared">
    %v = tir.load %I[%own] : f32
    tir.store %v, %S[%t] : f32
    {MEET}
    %c15 = tir.sub %c16, %c1 : i32
    %r = tir.sub %c15, %t : i32
    %w = tir.load %S[%r] : f32
    tir.store %w, %O[%own] : f32"""
    out, given = arrays()
    kernel(met(text), threads=16, blocks=4)(out, given)
    assert (out.reshape(4, 16) == given.reshape(4, 16)[:, ::-1]).all()


def test_blocks_of_loops_over_block_indices() -> None:
    text = f"""
    tir.func @f(%o: !tir.handle, %i: !tir.handle) {{
      %O = tir.match_buffer "O" %o : !tir.buffer<64xf32>
      %I = tir.match_buffer "I" %i : !tir.buffer<64xf32>
      {CONSTANTS}
      %blocks = tir.const 4 : i32
      tir.for %b = %c0 to %c4 thread_binding "blockIdx.x" {{
        %S = tir.alloc_buffer "S" : !tir.buffer<16xf32, "shared">
        tir.for %t = %c0 to %c16 thread_binding "threadIdx.x" {{
          {met(WRITE, "tir.store %y, %S[%t] : f32", MEET, READ)}
        }}
        AGAIN
      }}
    }}"""
    out, given = arrays()
    expected = given[::-1] + 1
    interpret(parse(text.replace("AGAIN", "")))["f"](out, given)
    assert (out == expected).all()
    again = """tir.for %u = %c0 to %c16 thread_binding "threadIdx.x" {
      tir.store %zero, %S[%u] : f32
    }"""
    with pytest.raises(InterpretationError, match="begin more than once in a block"):
        interpret(parse(text.replace("AGAIN", again)))["f"](out, given)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "%p = tir.cmp lt %b, %c3 : i32\ntir.if %p {\nMEET\n}",
            r"block \(0, 0, 0\) waits for block \(3, 0, 0\), which has ended",
        ),
        (
            "%p = tir.cmp lt %b, %c2 : i32\ntir.if %p {\nMEET\n} else {\nMEET\n}",
            r"block \(0, 0, 0\) waits for block \(2, 0, 0\), which waits at %gs",
        ),
        (
            "%p = tir.cmp lt %t, %c3 : i32\ntir.if %p {\nMEET\n}",
            r"thread \(0, 0, 0\) .* waits for thread \(3, 0, 0\) of block \(0, 0, 0\)",
        ),
        (
            MEET.replace("%lead", "%all").join(("%all = tir.const true\n", "")),
            r"16 threads of block \(0, 0, 0\) lead at a barrier of the grid",
        ),
        (
            MEET.replace("%blocks", "%c3"),
            r"block \(0, 0, 0\) waits for 3 blocks at a barrier of the grid, which has 4",
        ),
    ],
)
def test_blocks_that_do_not_meet(lines: str, message: str) -> None:
    text = met(lines.replace("MEET", MEET))
    with pytest.raises(DivergenceError, match=message):
        kernel(text, threads=16, blocks=4)(*arrays())
    kernel(met(MEET), threads=16, blocks=4)(*arrays())


def test_barrier_of_the_grid_is_prepared() -> None:
    text = "\n".join((LEAD, MEET))
    with pytest.raises(DivergenceError, match="before tvm_global_barrier_kinit"):
        kernel(text, threads=16, blocks=4)(*arrays())


def test_host_prepares_the_barrier() -> None:
    text = """tir.func @f() {
      %name = tir.string "__tvm_prepare_global_barrier"
      %r = tir.call "tvm_call_packed"(%name) : (!tir.handle) -> i32
    }"""
    interpret(parse(text))["f"]()


# ---- functions that threads call ----

REVERSE = f"""
tir.func @reverse(%s: !tir.ptr<f32, "shared">, %t: i32) -> f32 {{
  %S = tir.decl_buffer "S" %s : !tir.buffer<64xf32, "shared">
  %shared = tir.string "shared"
  %c63 = tir.const 63 : i32
  {SYNC}
  %r = tir.sub %c63, %t : i32
  %x = tir.load %S[%r] : f32
  tir.ret %x : f32
}}"""
CALL = """%m = tir.allocate [64] : !tir.ptr<f32, "shared">
%T = tir.decl_buffer "T" %m : !tir.buffer<64xf32, "shared">
%v = tir.load %I[%t] : f32
tir.store %v, %T[%t] : f32
%y = tir.call_func @reverse(%m, %t) : (!tir.ptr<f32, "shared">, i32) -> f32
tir.store %y, %O[%t] : f32"""


def test_barrier_in_a_function() -> None:
    out, given = arrays()
    kernel(CALL, functions=REVERSE)(out, given)
    assert (out == given[::-1]).all()


def test_race_in_a_function() -> None:
    message = r"race on T\[32\]: thread \(31, 0, 0\) .* reads it .* in: %x = tir\.load %S"
    with pytest.raises(RaceError, match=message):
        kernel(CALL, functions=REVERSE.replace(SYNC, ""))(*arrays())


def test_faults_in_a_function_name_the_thread() -> None:
    far = REVERSE.replace("%r = tir.sub %c63, %t", "%r = tir.add %c63, %t")
    message = r"index 0 is 64, .*, by thread \(1, 0, 0\) .*, in: %x = tir\.load %S"
    with pytest.raises(OutOfBoundsError, match=message):
        kernel(CALL, functions=far)(*arrays())
    unwritten = CALL.replace("tir.store %v, %T[%t] : f32", "")
    with pytest.raises(UninitializedReadError, match=r"S\[63\]|element 63 .* buffer S"):
        kernel(unwritten, functions=REVERSE)(*arrays())


def test_divergence_in_a_function() -> None:
    text = (
        CALL.replace("%y =", "%p = tir.cmp lt %t, %c32 : i32\ntir.if %p {\n%y =") + "\n}"
    )
    with pytest.raises(DivergenceError, match=r"waits for thread \(32, 0, 0\)"):
        kernel(text, functions=REVERSE)(*arrays())


def test_functions_call_functions() -> None:
    outer = """tir.func @outer(%s: !tir.ptr<f32, "shared">, %t: i32) -> f32 {
      %x = tir.call_func @reverse(%s, %t) : (!tir.ptr<f32, "shared">, i32) -> f32
      %y = tir.add %x, %x : f32
      tir.ret %y : f32
    }"""
    out, given = arrays()
    kernel(CALL.replace("@reverse", "@outer"), functions=REVERSE + outer)(out, given)
    assert (out == 2 * given[::-1]).all()


def test_a_function_is_called_by_threads_and_by_the_host() -> None:
    double = """tir.func @double(%p: !tir.ptr<f32>, %n: i32) {
      %P = tir.decl_buffer "P" %p : !tir.buffer<64xf32>
      %x = tir.load %P[%n] : f32
      %y = tir.add %x, %x : f32
      tir.store %y, %P[%n] : f32
    }"""
    out, given = arrays()
    text = """%p = tir.data %I : !tir.ptr<f32>
    tir.call_func @double(%p, %WHERE) : (!tir.ptr<f32>, i32) -> ()"""
    run = kernel(text.replace("%WHERE", "%t"), functions=double)
    run(out, given)
    assert (given == 2 * np.arange(64)).all()
    run.owner["double"](given, 3)
    assert given[3] == 12
    with pytest.raises(
        RaceError, match=r"race on I\[0\]|race on .* 0 of .*buffer P|P\[0\]"
    ):
        kernel(text.replace("%WHERE", "%c0"), functions=double)(out, given)


def test_a_function_opens_the_axes_of_its_threads_again() -> None:
    inner = """tir.func @inner(%p: !tir.ptr<f32>) {
      %P = tir.decl_buffer "P" %p : !tir.buffer<64xf32>
      %n = tir.const COUNT : i32
      %one = tir.const 1.0 : f32
      tir.launch_thread %t = "AXIS" to %n {
        tir.store %one, %P[%t] : f32
      }
    }"""
    text = """%p = tir.data %O : !tir.ptr<f32>
    tir.call_func @inner(%p) : (!tir.ptr<f32>) -> ()"""

    def run(count: int, axis: str) -> Any:
        out, given = arrays()
        functions = inner.replace("COUNT", str(count)).replace("AXIS", axis)
        kernel(text, functions=functions)(out, given)
        return out

    assert (run(64, "threadIdx.x") == 1).all()
    with pytest.raises(SimulationError, match="opened with extent 8 inside of extent 64"):
        run(8, "threadIdx.x")
    with pytest.raises(SimulationError, match="launched by a thread of another one"):
        run(2, "blockIdx.x")


TENSOR = """
tir.func @fill(%a: !tir.handle, %t: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32, "shared">
  %one = tir.const 1.0 : f32
  tir.store %one, %A[%t] : f32
}"""
STACK = """%m = tir.allocate [64] : !tir.ptr<f32, "shared">
%T = tir.decl_buffer "T" %m : !tir.buffer<64xf32, "shared">
%shape = tir.call "tvm_stack_make_shape"(%c64) : (i32) -> !tir.handle
%array = tir.call "tvm_stack_make_array"(%m, %shape, %c0, %c1, %zero, %c0)
  : (!tir.ptr<f32, "shared">, !tir.handle, i32, i32, f32, i32) -> !tir.handle
tir.call_func @fill(%array, %WHERE) : (!tir.handle, i32) -> ()
SYNC
%y = tir.load %T[%t] : f32
tir.store %y, %O[%t] : f32"""


def test_tensors_of_the_stack_are_the_memory_they_view() -> None:
    out, given = arrays()
    text = STACK.replace("SYNC", SYNC)
    kernel(text.replace("%WHERE", "%t"), functions=TENSOR)(out, given)
    assert (out == 1).all()
    with pytest.raises(RaceError, match="writes it and thread"):
        kernel(text.replace("%WHERE", "%c0"), functions=TENSOR)(out, given)
