"""Threads that run together: what they compute, and every fault with its repair."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import paths
from support.gpu_kernels import SYNC, arrays, kernel
from support.ir import parse
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.interpreters.tir import (
    DivergenceError,
    InterpretedModule,
    OutOfBoundsError,
    RaceError,
    StepLimitError,
    UninitializedReadError,
    interpret,
)
from xdsl_tvm.tools.cli import main

pytestmark = pytest.mark.usefixtures("each_way")
KERNELS = paths.EXAMPLES / "kernels"


def small_matmul() -> str:
    """The tiled matmul on 32x32 matrices."""
    text = (KERNELS / "matmul_tile.mlir").read_text().replace("256x256", "32x32")
    for axis in ('%by = "blockIdx.y"', '%bx = "blockIdx.x"', "%ko = %c0"):
        assert axis in text
        text = text.replace(f"{axis} to %c16", f"{axis} to %c2")
    return text.replace("%c0 =", "%c2 = tir.const 2 : i32\n  %c0 =", 1)


def without_barrier(text: str, which: int) -> str:
    pieces = text.split(SYNC)
    assert len(pieces) == 3
    return (
        (pieces[0] + pieces[1] + SYNC + pieces[2])
        if which == 0
        else (pieces[0] + SYNC + pieces[1] + pieces[2])
    )


# ---- the examples ----


def test_vector_add_agrees_with_numpy() -> None:
    module = interpret(parse((KERNELS / "vector_add.mlir").read_text()))
    a, b = np.random.default_rng(0).normal(size=(2, 600)).astype(np.float32)
    c = np.zeros_like(a)
    module["vector_add"](a, b, c)
    np.testing.assert_array_equal(c, a + b)


def run_matmul(text: str) -> tuple[Any, Any]:
    a, b = np.random.default_rng(0).normal(size=(2, 32, 32)).astype(np.float32)
    c = np.zeros_like(a)
    interpret(parse(text))["matmul_tile"](a, b, c)
    return c, a @ b


def test_tiled_matmul_agrees_with_numpy() -> None:
    found, expected = run_matmul(small_matmul())
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("which", "message"),
    [
        (
            0,
            r"A_tile\[0, 1\]: thread \(0, 0, 0\) of block \(0, 0, 0\) reads it and "
            r"thread \(1, 0, 0\) of block \(0, 0, 0\) writes it",
        ),
        (
            1,
            r"A_tile\[0, 0\]: thread \(0, 0, 0\) of block \(0, 0, 0\) writes it and "
            r"thread \(1, 0, 0\) of block \(0, 0, 0\) reads it",
        ),
    ],
)
def test_removed_barrier_is_a_race(which: int, message: str) -> None:
    with pytest.raises(RaceError, match=message) as info:
        run_matmul(without_barrier(small_matmul(), which))
    assert "tir.load %At" in str(info.value)
    assert "tir.store %x, %At" in str(info.value)
    assert info.value.op is not None


def test_the_command_line_runs_and_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "good.mlir", tmp_path / "bad.mlir"
    good.write_text(small_matmul())
    bad.write_text(without_barrier(small_matmul(), 0))
    assert main(["run", str(good), "--interpret"]) == 0
    assert capsys.readouterr().out.endswith("\nC: float32[32, 32]\n")
    assert main(["run", str(bad), "--interpret"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    error, source, caret = captured.err.splitlines()
    assert error.startswith(f"{bad}:34:13: error: race on A_tile[0, 1]: thread (0, 0, 0)")
    assert source.strip() == "tir.store %x, %At[%ty, %tx] : f32"
    assert caret.lstrip() == "^" * len("tir.store")


def test_the_command_line_interprets_tir_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "empty.mlir"
    file.write_text("builtin.module {}")
    assert main(["run", str(file), "--interpret"]) == 1
    assert "no public tir.func" in capsys.readouterr().err


# ---- memory ----

REVERSE = f"""
%m = tir.allocate [64] : !tir.ptr<f32, "shared">
%S = tir.decl_buffer "S" %m : !tir.buffer<64xf32, "shared">
%x = tir.load %I[%t] : f32
tir.store %x, %S[%t] : f32
{SYNC}
%r = tir.sub %c63, %t : i32
%y = tir.load %S[%r] : f32
tir.store %y, %O[%t] : f32
"""


def test_shared_memory_is_of_the_block() -> None:
    out, given = arrays()
    kernel(REVERSE)(out, given)
    assert (out == given[::-1]).all()


def test_local_memory_is_of_the_thread() -> None:
    body = f"""
    %m = tir.allocate [1] : !tir.ptr<f32, "local">
    %L = tir.decl_buffer "L" %m : !tir.buffer<1xf32, "local">
    %x = tir.load %I[%t] : f32
    tir.store %x, %L[%c0] : f32
    {SYNC}
    %y = tir.load %L[%c0] : f32
    tir.store %y, %O[%t] : f32"""
    out, given = arrays()
    kernel(body)(out, given)
    assert (out == given).all()
    with pytest.raises(RaceError, match=r"race on L\[0\]"):
        kernel(body.replace('"local"', '"shared"'))(out, given)


def test_warp_memory_is_of_the_warp() -> None:
    out, given = arrays()
    body = """
    %m = tir.allocate [32] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %m : !tir.buffer<32xf32, "warp">
    %lane = tir.floormod %t, %c32 : i32
    %x = tir.load %I[%t] : f32
    tir.store %x, %W[%lane] : f32
    tir.call "tvm_storage_sync"(%warp) : (!tir.handle) -> ()
    %next = tir.add %lane, %c1 : i32
    %n = tir.floormod %next, %c32 : i32
    %y = tir.load %W[%n] : f32
    tir.store %y, %O[%t] : f32"""
    kernel(body)(out, given)
    assert (out == np.roll(given.reshape(2, 32), -1, axis=1).ravel()).all()
    without = re.sub(r'tir.call "tvm_storage_sync".*', "", body)
    with pytest.raises(RaceError, match=r"race on W\[1\]"):
        kernel(without)(out, given)


def test_barrier_of_a_warp_orders_its_lanes_only() -> None:
    body = REVERSE.replace(SYNC, SYNC.replace("%shared", "%warp"))
    with pytest.raises(RaceError, match=r"race on S\[63\]: thread \(63, 0, 0\)"):
        kernel(body)(*arrays())
    within = body.replace("%r = tir.sub %c63, %t", "%r = tir.bitwise %t").replace(
        "%r = tir.bitwise %t : i32",
        '%r = tir.call "bitwise_xor"(%t, %c1) : (i32, i32) -> i32',
    )
    out, given = arrays()
    kernel(within)(out, given)
    assert (out == given.reshape(32, 2)[:, ::-1].ravel()).all()


def test_vectors_in_shared_memory() -> None:
    body = """
    %m = tir.allocate [64] : !tir.ptr<f32, "shared">
    %S = tir.decl_buffer "S" %m : !tir.buffer<64xf32, "shared">
    %at = tir.mul %t, %c4 : i32
    %r = tir.ramp %at, %c1 : vector<4xi32>
    %x = tir.load %I[%r] : vector<4xf32>
    tir.store %x, %S[%r] : vector<4xf32>
    {sync}
    %far = tir.sub %c63, %t : i32
    %y = tir.load %S[%far] : f32
    tir.store %y, %O[%t] : f32"""
    out, given = arrays()
    kernel(body.format(sync=SYNC), threads=16)(out, given)
    assert (out[:16] == given[:47:-1]).all()
    with pytest.raises(
        RaceError, match=r"S\[52\]: .*\(11, 0, 0\).* reads .*\(13, 0, 0\)"
    ):
        kernel(body.format(sync=""), threads=16)(out, given)


def test_views_of_other_widths_meet_in_bytes() -> None:
    body = """
    %m = tir.allocate [64] : !tir.ptr<f32, "shared">
    %S = tir.decl_buffer "S" %m : !tir.buffer<64xf32, "shared">
    %H = tir.decl_buffer "H" %m : !tir.buffer<128xi16, "shared">
    %first = tir.cmp eq %t, %c0 : i32
    %short = tir.const 1 : i16
    tir.if %first {
      tir.store %one, %S[%c1] : f32
    } else {
      tir.store %short, %H[%place] : i16
    }"""
    for place in (3, 4):
        text = body.replace("%short =", f"%place = tir.const {place} : i32\n%short =")
        if place == 4:
            kernel(text, threads=2)(*arrays())
            continue
        with pytest.raises(RaceError, match=r"race on H\[3\]"):
            kernel(text, threads=2)(*arrays())


def test_virtual_threads_have_an_index() -> None:
    out, given = arrays()
    kernel(
        """tir.launch_thread %v = "vthread" to %c4 {
          %p = tir.mul %v, %c16 : i32
          %q = tir.add %p, %t : i32
          %x = tir.load %I[%q] : f32
          tir.store %x, %O[%q] : f32
        }""",
        threads=16,
    )(out, given)
    assert (out == given).all()


# ---- faults, and the same kernels repaired ----


def test_divergent_barrier() -> None:
    guarded = f"""%p = tir.cmp lt %t, %c32 : i32
    tir.if %p {{ {SYNC} }}"""
    message = (
        r"thread \(0, 0, 0\) of block \(0, 0, 0\) waits for thread \(32, 0, 0\) of block "
        r"\(0, 0, 0\), which has ended, in: tir\.call \"tvm_storage_sync\""
    )
    with pytest.raises(DivergenceError, match=message):
        kernel(guarded)(*arrays())
    kernel(guarded, threads=32)(*arrays())


def test_barriers_of_two_branches() -> None:
    text = f"""%p = tir.cmp lt %t, %c32 : i32
    tir.if %p {{ {SYNC} }} else {{ {SYNC} }}"""
    with pytest.raises(DivergenceError, match="which waits at"):
        kernel(text)(*arrays())
    kernel(SYNC)(*arrays())


def test_index_out_of_bounds_names_the_thread() -> None:
    text = """%n = tir.add %t, %c1 : i32
    %x = tir.load %I[%n] : f32
    tir.store %x, %O[%t] : f32"""
    with pytest.raises(
        OutOfBoundsError,
        match=r"index 0 is 64, .*, by thread \(63, 0, 0\) of block .*, in: .*load",
    ):
        kernel(text)(*arrays())
    out, given = arrays()
    kernel(text, threads=63)(out, given)
    assert out[0] == 1


def test_uninitialized_shared_read_names_the_thread() -> None:
    half = REVERSE.replace(
        "tir.store %x, %S[%t] : f32",
        """%p = tir.cmp lt %t, %c32 : i32
        tir.if %p { tir.store %x, %S[%t] : f32 }""",
    )
    with pytest.raises(
        UninitializedReadError,
        match=r"S\[63\] is read, but was never written, by thread \(0, 0, 0\)",
    ):
        kernel(half)(*arrays())
    kernel(REVERSE)(*arrays())


def test_blocks_race_in_global_memory() -> None:
    text = "tir.store %one, %O[%where] : f32"
    with pytest.raises(
        RaceError,
        match=r"O\[0\]: thread \(0, 0, 0\) of block \(0, 0, 0\) writes it and thread "
        r"\(0, 0, 0\) of block \(1, 0, 0\) writes it",
    ):
        kernel(text.replace("%where", "%t"), blocks=2, threads=4)(*arrays())
    repaired = "%p = tir.mul %b, %c4 : i32\n%w = tir.add %p, %t : i32\n"
    out, given = arrays()
    kernel(repaired + text.replace("%where", "%w"), blocks=2, threads=4)(out, given)
    assert out.sum() == 8


def test_a_barrier_does_not_order_blocks() -> None:
    text = f"""%first = tir.cmp eq %b, %c0 : i32
    tir.if %first {{ {{body}} }}
    {SYNC}
    %x = tir.load %I[%t] : f32"""
    write = "tir.store %one, %I[%t] : f32"
    with pytest.raises(RaceError, match=r"of block \(1, 0, 0\) reads it"):
        kernel(text.replace("{body}", write), blocks=2)(*arrays())
    kernel(text.replace("{body}", write), blocks=1)(*arrays())


def test_two_launches_do_not_race() -> None:
    out, given = arrays()
    run = kernel("tir.store %one, %O[%t] : f32")
    run(out, given)
    run(out, given)
    assert out.sum() == 64


def test_atomic_updates_do_not_race() -> None:
    text = """%p = tir.address_of %O[%c0] : !tir.ptr<f32>
    %old = tir.call "atomic_add"(%p, %one) : (!tir.ptr<f32>, f32) -> f32"""
    out, given = arrays()
    kernel(text, blocks=2)(out, given)
    assert out[0] == 128
    plain = """%x = tir.load %O[%c0] : f32
    %y = tir.add %x, %one : f32
    tir.store %y, %O[%c0] : f32"""
    with pytest.raises(RaceError, match=r"race on O\[0\]"):
        kernel(plain)(out, given)
    with pytest.raises(RaceError, match=r"O\[0\]: .* reads it and .* updates it"):
        kernel(f"{text}\n%x = tir.load %O[%c0] : f32")(out, given)


def test_error_does_not_stick() -> None:
    run = kernel(
        """%x = tir.load %I[%t] : f32
        %p = tir.cmp lt %x, %zero : f32
        tir.if %p { tir.store %one, %O[%c0] : f32 }"""
    )
    out, given = arrays()
    with pytest.raises(RaceError):
        run(out, given - 10)
    run(out, given)


# ---- shuffles ----

REDUCTION = """
%mask = tir.call "tvm_warp_activemask"() : () -> ui32
%s0 = tir.load %I[%t] : f32
{steps}
%lane = tir.floormod %t, %c32 : i32
%first = tir.cmp eq %lane, %c0 : i32
%w = tir.floordiv %t, %c32 : i32
tir.if %first {{ tir.store %s5, %O[%w] : f32 }}
"""
CALL = '"tvm_warp_shuffle_down"(%mask, {value}, %c{delta}, %c32, %c32)'


def reduction() -> str:
    lines: list[str] = []
    deltas = (16, 8, 4, 2, 1)
    for step, delta in enumerate(deltas):
        call = CALL.format(value=f"%s{step}", delta=delta)
        lines += [
            f"%d{step} = tir.call {call} : (ui32, f32, i32, i32, i32) -> f32",
            f"%s{step + 1} = tir.add %s{step}, %d{step} : f32",
        ]
    return REDUCTION.format(steps="\n".join(lines))


def test_reduction_by_shuffles() -> None:
    out, given = arrays()
    kernel(reduction())(out, given)
    assert out[:2].tolist() == [given[:32].sum(), given[32:].sum()]


@pytest.mark.parametrize(
    ("name", "operand", "width", "expected"),
    [
        ("tvm_warp_shuffle", 3, 8, [3] * 8 + [11] * 8),
        ("tvm_warp_shuffle_up", 2, 8, [0, 1, *range(6), 8, 9, *range(8, 14)]),
        ("tvm_warp_shuffle_down", 2, 4, [2, 3, 2, 3, 6, 7, 6, 7, 10, 11, 10, 11]),
        ("cuda.__shfl_sync", 1, 32, [1] * 16),
    ],
)
def test_shuffle_within_a_width(
    name: str, operand: int, width: int, expected: list[int]
) -> None:
    width_operands = "%width" if name.startswith("cuda") else "%width, %c32"
    types = "i32, i32" if name.startswith("cuda") else "i32, i32, i32"
    out, given = arrays()
    kernel(f"""%mask = tir.const 4294967295 : ui32
    %width = tir.const {width} : i32
    %k = tir.const {operand} : i32
    %x = tir.load %I[%t] : f32
    %y = tir.call "{name}"(%mask, %x, %k, {width_operands}) : (ui32, f32, {types}) -> f32
    tir.store %y, %O[%t] : f32""")(out, given)
    assert out[: len(expected)].tolist() == expected


SHUFFLE = """%x = tir.load %I[%t] : f32
%mask = tir.const {mask} : ui32
%p = tir.cmp lt %t, %c16 : i32
tir.if %p {{
  %y = tir.call "tvm_warp_shuffle"(%mask, %x, %c{lane}, %c32, %c32)
      : (ui32, f32, i32, i32, i32) -> f32
  tir.store %y, %O[%t] : f32
}}
{sync}"""


def test_lanes_that_do_not_come_to_a_shuffle() -> None:
    out, given = arrays()
    waiting = SHUFFLE.format(mask=0xFFFFFFFF, lane=3, sync=SYNC)
    with pytest.raises(
        DivergenceError,
        match=r"thread \(0, 0, 0\) .* waits for thread \(16, 0, 0\) .*, which waits at",
    ):
        kernel(waiting, threads=32)(out, given)
    kernel(SHUFFLE.format(mask=0xFFFF, lane=3, sync=SYNC), threads=32)(out, given)
    assert out[:16].tolist() == [3] * 16


def test_lane_that_is_not_in_its_mask() -> None:
    with pytest.raises(
        DivergenceError, match=r"\(8, 0, 0\).* is not in the mask 0x000000ff"
    ):
        kernel(SHUFFLE.format(mask=0xFF, lane=3, sync=""), threads=32)(*arrays())


def test_lane_outside_of_the_mask_gives_no_value() -> None:
    out, given = arrays()
    kernel(SHUFFLE.format(mask=0xFFFF, lane=16, sync=""), threads=32)(out, given)
    assert np.isnan(out[:16]).all()


# ---- loops bound to threads ----

LOOPS = """
tir.func @f(%i: !tir.handle, %o: !tir.handle) {
  %I = tir.match_buffer "I" %i : !tir.buffer<2x8xf32>
  %O = tir.match_buffer "O" %o : !tir.buffer<2x8xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c7 = tir.const 7 : i32
  %c8 = tir.const 8 : i32
  tir.for %b = %c0 to %c2 thread_binding "blockIdx.x" {
    %S = tir.alloc_buffer "S" : !tir.buffer<8xf32, "shared">
    tir.for %t = %c0 to %c8 thread_binding "threadIdx.x" {
      %x = tir.load %I[%b, %t] : f32
      tir.store %x, %S[%t] : f32
    }
    tir.for %t = %c0 to %c8 thread_binding "threadIdx.x" {
      %r = tir.sub %c7, %t : i32
      %y = tir.load %S[%r] : f32
      tir.store %y, %O[%b, %t] : f32
    }
  }
}
"""


def test_a_loop_over_threads_is_complete_before_the_next() -> None:
    given = np.arange(16, dtype=np.float32).reshape(2, 8)
    out = np.zeros_like(given)
    interpret(parse(LOOPS))["f"](given, out)
    assert (out == given[:, ::-1]).all()


def test_local_memory_outside_of_the_loops_is_of_the_thread() -> None:
    text = LOOPS.replace('!tir.buffer<8xf32, "shared">', '!tir.buffer<1xf32, "local">')
    text = text.replace("%S[%t]", "%S[%c0]").replace("%S[%r]", "%S[%c0]")
    given = np.arange(16, dtype=np.float32).reshape(2, 8)
    out = np.zeros_like(given)
    interpret(parse(text))["f"](given, out)
    assert (out == given).all()


def test_iterations_of_a_loop_over_threads_race() -> None:
    text = LOOPS.replace("tir.store %x, %S[%t]", "tir.store %x, %S[%c0]")
    with pytest.raises(RaceError, match=r"race on S\[0\]"):
        interpret(parse(text))["f"](*np.zeros((2, 2, 8), np.float32))


def test_threads_take_turns_at_a_reduction() -> None:
    text = """
    tir.func @f(%i: !tir.handle, %o: !tir.handle) {
      %I = tir.match_buffer "I" %i : !tir.buffer<8xf32>
      %O = tir.match_buffer "O" %o : !tir.buffer<1xf32>
      %c0 = tir.const 0 : i32
      %c8 = tir.const 8 : i32
      %z = tir.const 0.0 : f32
      tir.for %t = %c0 to %c8 thread_binding "threadIdx.x" {
        tir.block "sum" (%vk : R in [%c0 to %c8] = %t) {
          tir.reads %I[%vk]
          tir.writes %O[%c0]
          tir.init { tir.store %z, %O[%c0] : f32 }
          %x = tir.load %I[%vk] : f32
          %s = tir.load %O[%c0] : f32
          %y = tir.add %s, %x : f32
          tir.store %y, %O[%c0] : f32
        }
      }
    }"""
    out = np.zeros(1, np.float32)
    interpret(parse(text))["f"](np.arange(8, dtype=np.float32), out)
    assert out[0] == 28


# ---- what is refused ----


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('call "tvm_storage_sync"(%global) : (!tir.handle) -> ()', "not 3"),
    ],
)
def test_refused_builtins(call: str, message: str) -> None:
    with pytest.raises(InterpretationError, match=message):
        kernel(f'%global = tir.string "global"\ntir.{call}')(*arrays())


def test_threads_return_no_value() -> None:
    text = """tir.func @f() -> i32 {
      %c2 = tir.const 2 : i32
      tir.launch_thread %t = "threadIdx.x" to %c2 { tir.ret %c2 : i32 }
      tir.ret %c2 : i32
    }"""
    with pytest.raises(InterpretationError, match="a thread returns no value"):
        interpret(parse(text))["f"]()


def test_extent_that_the_kernel_computes() -> None:
    text = """
    %x = tir.load %I[%t] : f32
    %n = tir.cast %x : f32 to i32
    tir.launch_thread %u = "threadIdx.y" to %n {
      tir.evaluate %u : i32
    }"""
    with pytest.raises(InterpretationError, match="compute it before the kernel"):
        kernel(text)(*arrays())


def test_waiting_for_ever_ends() -> None:
    text = """
    tir.while {
      %x = tir.load %I[%c0] : f32
      %p = tir.cmp eq %x, %zero : f32
      tir.yield %p : i1
    } do {
    }"""
    run = kernel(text, threads=1)
    module = InterpretedModule(run.owner.module, step_limit=100)
    with pytest.raises(StepLimitError):
        module["f"](*arrays())
