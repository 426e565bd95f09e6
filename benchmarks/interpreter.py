"""Operations that the interpreter executes per second, on loops and on GPU threads.

An operation is one expression, load or store for one element or thread. Ratios are
against the same arithmetic written as a plain Python loop, in the same run. The least
time of several runs is taken. The last line compares threads that run together with
threads that run one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from xdsl.parser import Parser

from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.registry import new_context

RUNS = 3
LOOP = """
tir.func @main(%a: !tir.handle) {{
  %A = tir.match_buffer "A" %a : !tir.buffer<100000x{dtype}>
  %c0 = tir.const 0 : i32
  %n = tir.const 100000 : i32
  %three = tir.const {three} : {dtype}
  tir.for %i = %c0 to %n {{
    %0 = tir.load %A[%i] : {dtype}
    %1 = tir.mul %0, %three : {dtype}
    %2 = tir.add %1, %0 : {dtype}
    %3 = tir.sub %2, %three : {dtype}
    %4 = tir.max %3, %0 : {dtype}
    tir.store %4, %A[%i] : {dtype}
  }}
}}
"""
LOOP_OPERATIONS = 100000 * 6
TILE = 64
TILE_OPERATIONS = TILE**3 * 6
"""Two loads, a product, a load, a sum and a store in the innermost loop."""
KERNEL = Path(__file__).parents[1] / "examples" / "kernels" / "matmul_tile.mlir"


def best(run: Callable[[], object]) -> float:
    """The least time of a call in seconds, after a first one that translates."""
    run()
    times: list[float] = []
    for _ in range(RUNS):
        start = perf_counter()
        run()
        times.append(perf_counter() - start)
    return min(times)


def interpreted(text: str, *arguments: Any, together: bool = True) -> float:
    module = Parser(new_context(), text).parse_module()
    (function,) = interpret(module, vectorize_threads=together).values()
    return best(lambda: function(*arguments))


def python_loop() -> float:
    values = [1] * 100000

    def run() -> None:
        for i in range(100000):
            x = values[i]
            y = x * 3 + x - 3
            values[i] = y if y < x else x

    return best(run)


def tile_kernel(*, together: bool) -> float:
    """The example kernel of 256x256 tiles cut down to TILE x TILE."""
    text = KERNEL.read_text().replace("256x256", f"{TILE}x{TILE}")
    for axis in ("%by", "%bx"):
        text = text.replace(f'{axis} = "blockIdx.{axis[2]}" to %c16', f"{axis} = XX")
    text = text.replace("XX", '"blockIdx.y" to %blocks', 1)
    text = text.replace("XX", '"blockIdx.x" to %blocks', 1)
    text = text.replace("%ko = %c0 to %c16", "%ko = %c0 to %blocks")
    constant = f"  %blocks = tir.const {TILE // 16} : i32\n  %c16 ="
    text = text.replace("  %c16 =", constant, 1)
    a, b = (np.ones((TILE, TILE), np.float32) for _ in range(2))
    c = np.zeros((TILE, TILE), np.float32)
    return interpreted(text, a, b, c, together=together)


def main() -> None:
    base = LOOP_OPERATIONS / python_loop()
    rows = {"plain Python loop": base}
    for dtype, three, numpy_dtype in (("i32", "3", np.int32), ("f32", "3.0", np.float32)):
        array = np.ones(100000, numpy_dtype)
        text = LOOP.format(dtype=dtype, three=three)
        rows[f"loop on {dtype}"] = LOOP_OPERATIONS / interpreted(text, array)
    alone = TILE_OPERATIONS / tile_kernel(together=False)
    together = TILE_OPERATIONS / tile_kernel(together=True)
    rows["tile kernel, thread after thread"] = alone
    rows["tile kernel, threads together"] = together
    for name, rate in rows.items():
        print(f"{name:34}{1e-6 * rate:10.2f} M op/s{rate / base:8.2f} x")
    print(f"threads together are {together / alone:.0f} x as fast")


if __name__ == "__main__":
    main()
