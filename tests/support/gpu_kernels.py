"""Kernels for the tests of the thread-grid simulator."""

from typing import Any

import numpy as np

from support.ir import parse
from xdsl_tvm.interpreters.tir import interpret

SYNC = 'tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()'

CONSTANTS = "\n".join(
    [
        *(f"%c{n} = tir.const {n} : i32" for n in (0, 1, 2, 3, 4, 8, 16, 32, 63, 64)),
        "%one = tir.const 1.0 : f32",
        "%zero = tir.const 0.0 : f32",
        '%shared = tir.string "shared"',
        '%warp = tir.string "warp"',
    ]
)


def kernel(
    body: str,
    *,
    threads: int = 64,
    blocks: int = 1,
    size: int = 64,
    dtype: str = "f32",
    functions: str = "",
) -> Any:
    """A kernel on `%O`, `%I` of one dtype with `%t` and `%b`, called with two arrays."""
    return interpret(
        parse(f"""
{functions}
tir.func @f(%o: !tir.handle, %i: !tir.handle) {{
  %O = tir.match_buffer "O" %o : !tir.buffer<{size}x{dtype}>
  %I = tir.match_buffer "I" %i : !tir.buffer<{size}x{dtype}>
  {CONSTANTS}
  %blocks = tir.const {blocks} : i32
  %threads = tir.const {threads} : i32
  tir.launch_thread %b = "blockIdx.x" to %blocks {{
    tir.launch_thread %t = "threadIdx.x" to %threads {{
      {body}
    }}
  }}
}}""")
    )["f"]


def arrays(size: int = 64) -> tuple[Any, Any]:
    return np.zeros(size, np.float32), np.arange(size, dtype=np.float32)
