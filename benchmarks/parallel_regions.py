"""What it costs to begin and end a parallel loop, and how much work pays for it.

An empty region is a launch whose chunks return at once: `warm` directly after another
one, `idle` after 20 ms of sleep. The peers are the other pools of this package, and
`ThreadPoolExecutor.map` over chunks in Python, which calls compiled code for each. Then
`y = 2x + x` on arrays of growing size, in order, on all threads, and by numpy. Every
number is the least of many, and ratios are within one run; other load on the machine
shows in regions first, since all threads have to be running at once.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

import xdsl_tvm
from xdsl_tvm.dialects.in_threads import available_processors
from xdsl_tvm.lowering.llvm_text.thread_pool import LAUNCH
from xdsl_tvm.runtime import llvm_jit, threads
from xdsl_tvm.runtime.threads import Chunk, ExecutorPool, NativePool, Pool

REGIONS = 1000

_EMPTY = f"""
declare i64 @{LAUNCH}(ptr, ptr, i64)
define i64 @chunk(i32 %t, i32 %n, ptr %c) {{
  ret i64 0
}}
define void @regions(i64 %count) {{
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %r = call i64 @{LAUNCH}(ptr @chunk, ptr null, i64 1000)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %body, label %end
end:
  ret void
}}
"""

_SCALE = """
tir.func @scale(%a: !tir.handle, %b: !tir.handle)
    attributes {{global_symbol = "scale", tir.noalias}} {{
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer %a [%n] : !tir.buffer<?xf32>
  %B = tir.match_buffer %b [%n] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i32
  %two = tir.const 2.0 : f32
  tir.for %i = %c0 to %n {kind} {{
    %x = tir.load %A[%i] : f32
    %y = tir.mul %x, %two : f32
    %z = tir.add %x, %y : f32
    tir.store %z, %B[%i] : f32
  }}
}}
"""


def least(function: Callable[[], object], runs: int, per_run: int = 1) -> float:
    """The least time of `function`, in microseconds for each of its `per_run` parts."""
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return 1e6 * best / per_run


def idle(function: Callable[[], object], runs: int = 20) -> float:
    """The least time of `function` after a pause, in microseconds."""
    best = float("inf")
    for _ in range(runs):
        time.sleep(0.02)
        best = min(best, least(function, 1))
    return best


def region_functions(pool: Pool) -> Any:
    """A native function that launches its argument's number of empty regions."""
    code = llvm_jit.load(_EMPTY, ["regions"], symbols={LAUNCH: pool.launch})
    return code.function("regions", None, ctypes.c_int64)


def pool_times(kind: str, count: int) -> tuple[float, float]:
    """Warm and idle time of an empty region of one pool."""
    pool = ExecutorPool() if kind == "executor" else NativePool(kind)
    pool.resize(count)
    regions = region_functions(pool)
    number = 20 if kind == "executor" else REGIONS
    times = least(lambda: regions(number), 20, number), idle(lambda: regions(1))
    pool.stop()
    return times


def mapped_chunks(count: int) -> tuple[float, float]:
    """Warm and idle time of calls of native chunks by Python's threads."""
    code = llvm_jit.load(_EMPTY, ["chunk"], symbols={LAUNCH: threads.launch_address()})
    chunk = Chunk(code.address("chunk"))

    def call(number: int) -> int:
        return chunk(number, count, None)

    with ThreadPoolExecutor(count) as executor:

        def region() -> list[int]:
            return list(executor.map(call, range(count)))

        region()
        return least(region, 200), idle(region)


def empty_regions(count: int) -> None:
    """Prints microseconds for an empty region of each kind of pool."""
    kinds = threads.POOLS[threads.POOLS.index(threads.pool_kind()) :]
    rows = {f"pool {kind}": pool_times(kind, count) for kind in kinds}
    rows["ThreadPoolExecutor.map"] = mapped_chunks(count)
    base = next(iter(rows.values()))
    print(f"{'empty region':28}{'warm us':>10}{'ratio':>8}{'idle us':>10}{'ratio':>8}")
    for name, (warm, cold) in rows.items():
        ratios = f"{warm / base[0]:8.1f}", f"{cold / base[1]:8.1f}"
        print(f"{name:28}{warm:10.2f}{ratios[0]}{cold:10.1f}{ratios[1]}")


def by_numpy(x: Any, y: Any) -> None:
    """What the compiled function does."""
    np.multiply(x, 2, out=y)
    np.add(x, y, out=y)


def call_times(functions: list[Callable[[Any, Any], object]], size: int) -> list[float]:
    """The least times of calls of functions on arrays of a size, taken in turns."""
    x = np.random.default_rng(0).random(size, np.float32)
    results = [np.empty_like(x) for _ in functions]
    best = [float("inf")] * len(functions)
    for _ in range(30):
        for number, (function, y) in enumerate(zip(functions, results, strict=True)):
            time_ = least(partial(function, x, y), 3)
            best[number] = min(best[number], time_)
    assert all(np.array_equal(results[0], y) for y in results)
    return best


def arrays(count: int) -> None:
    """Prints microseconds for arrays of growing size, in order and on all threads."""
    serial = xdsl_tvm.compile(_SCALE.format(kind=""))["scale"]
    parallel = xdsl_tvm.compile(_SCALE.format(kind="parallel"))["scale"]
    threads.set_num_threads(count)
    print(f"\n{'y = 2x + x':>12}{'in order':>12}{'threads':>12}{'ratio':>8}", end="")
    print(f"{'numpy':>12}{'ratio':>8}")
    for power in range(12, 25, 2):
        a, b, c = call_times([serial, parallel, by_numpy], 1 << power)
        print(f"{1 << power:12}{a:12.1f}{b:12.1f}{b / a:8.2f}{c:12.1f}{c / a:8.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=threads.num_threads())
    count: int = parser.parse_args().threads
    print(f"{count} threads on {available_processors()} processors")
    empty_regions(count)
    arrays(count)


if __name__ == "__main__":
    main()
