"""A product by tensor copies and warpgroups in TIR, and its faults.

A block has one thread that copies, in the last row of threads, and warpgroups that
multiply 64 rows each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.tvmscript import parse


@dataclass(frozen=True)
class RingProduct:
    """C `[m, n]` = A `[m, k]` * B, which is `[n, k]`, or `[k, n]` where `by_terms`."""

    m: int = 64
    n: int = 16
    k: int = 128
    columns: int = 16
    """Those of a tile."""
    groups: int = 1
    """Warpgroups that multiply."""
    stages: int = 2
    by_terms: bool = False
    dtype: str = "float16"
    faults: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    """What is written for lines of the script."""

    @property
    def rows(self) -> int:
        """The rows of a tile."""
        return 64 * self.groups

    @property
    def stage(self) -> int:
        """The elements of a stage."""
        return (self.rows + self.width) * 64

    @property
    def width(self) -> int:
        """The columns of a tile as they are in shared memory."""
        return -(-self.columns // 64) * 64 if self.by_terms else self.columns

    @property
    def blocks(self) -> tuple[int, int]:
        """Tiles along rows and columns."""
        return -(-self.m // self.rows), -(-self.n // self.columns)

    @property
    def script(self) -> str:
        """The function, in TVMScript."""
        m, n, k, columns, rows = self.m, self.n, self.k, self.columns, self.rows
        groups, stages, stage = self.groups, self.stages, self.stage
        steps, (down, across) = -(-k // 64), self.blocks
        if self.by_terms:
            shape, box = f"({k}, {n})", f"{k}, {n}, {n}, 64, 64"
            copies = [
                ("b", rows * 64 + 4096 * g, 8192, f"s * 64, n0 + {64 * g}")
                for g in range(self.width // 64)
            ]
            at_b = "t * 1024"
        else:
            shape, box = f"({n}, {k})", f"{n}, {k}, {k}, {columns}, 64"
            copies = [("b", rows * 64, columns * 128, "n0, s * 64")]
            at_b = "t * 16"
        copies.insert(0, ("a", 0, rows * 128, "m0, s * 64"))
        layout = "row" if self.by_terms else "col"
        kind = "fp16" if self.dtype == "float16" else "bf16"
        copied = "\n".join(
            "                T.ptx_cp_async_bulk_tensor(tiles.data, "
            f"s % {stages} * {stage} + {at}, {name}_map, {size}, s % {stages}, {where})"
            for name, at, size, where in copies
        )
        text = f'''
# from tvm.script import tir as T
@T.prim_func
def product(A: T.Buffer(({m}, {k}), "{self.dtype}"), B: T.Buffer({shape}, "{self.dtype}"),
            C: T.Buffer(({m}, {n}), "float32")):
    T.func_attr({{"global_symbol": "product", "tir.noalias": True}})
    a_map = T.tensormap_encode_tiled(A.data, 128, {m}, {k}, {k}, {rows}, 64)
    b_map = T.tensormap_encode_tiled(B.data, 128, {box})
    bx = T.launch_thread("blockIdx.x", {down * across})
    wg = T.launch_thread("threadIdx.y", {groups + 1})
    tx = T.launch_thread("threadIdx.x", 128)
    memory = T.allocate([{stages * stage}], "{self.dtype}", "shared.dyn")
    tiles = T.decl_buffer(({stages * stage},), "{self.dtype}", data=memory,
                          scope="shared.dyn")
    own = T.allocate([{columns // 2}], "float32", "local")
    sums = T.decl_buffer(({columns // 2},), "float32", data=own, scope="local")
    m0: T.int32 = bx // {across} * {rows}
    n0: T.int32 = bx % {across} * {columns}
    T.create_barriers({2 * stages})
    if wg == 0 and tx == 0:
        for s in range({stages}):
            T.ptx_init_barrier_thread_count(s, 1)
            T.ptx_init_barrier_thread_count({stages} + s, {4 * groups})
        T.ptx_fence_proxy_async()
    T.tvm_storage_sync("shared")
    if wg >= {groups}:
        if tx == 0:
            for s in range({steps}):
                T.ptx_wait_barrier({stages} + s % {stages}, (s // {stages} + 1) % 2)
                T.ptx_arrive_barrier_expect_tx(s % {stages}, {2 * stage})
{copied}
    else:
        for i in T.unroll({columns // 2}):
            sums[i] = T.float32(0)
        for s in range({steps}):
            T.ptx_wait_barrier(s % {stages}, s // {stages} % 2)
            T.ptx_wgmma_fence()
            for t in T.unroll(4):
                T.ptx_wgmma_mma_async("m64n{columns}k16", "row", "{layout}", "{kind}",
                    "{kind}", "fp32", tiles.data, s % {stages} * {stage} + wg * 4096
                    + t * 16, tiles.data, s % {stages} * {stage} + {rows * 64} + {at_b},
                    sums.data, 0)
            T.ptx_wgmma_commit_group()
            T.ptx_wgmma_wait_group(0)
            if tx % 32 == 0:
                T.ptx_arrive_barrier({stages} + s % {stages})
        for i in T.unroll({columns // 2}):
            if (m0 + wg * 64 + tx // 32 * 16 + tx % 32 // 4 + i // 2 % 2 * 8 < {m}
                    and n0 + i // 4 * 8 + tx % 4 * 2 + i % 2 < {n}):
                C[m0 + wg * 64 + tx // 32 * 16 + tx % 32 // 4 + i // 2 % 2 * 8,
                  n0 + i // 4 * 8 + tx % 4 * 2 + i % 2] = sums[i]
'''
        for old, new in self.faults.items():
            assert old in text, old
            text = text.replace(old, new)
        return text

    def module(self) -> ModuleOp:
        """The function, in a module."""
        return parse(self.script)

    def arguments(self) -> tuple[Any, Any, Any]:
        """A, B, and memory for C."""
        rng = np.random.default_rng(self.k)
        storage: Any = "f2"
        if self.dtype == "bfloat16":
            import ml_dtypes

            storage = ml_dtypes.bfloat16
        shape = (self.k, self.n) if self.by_terms else (self.n, self.k)
        a = rng.uniform(-1, 1, (self.m, self.k)).astype(storage)
        b = rng.uniform(-1, 1, shape).astype(storage)
        return a, b, np.full((self.m, self.n), np.nan, "f4")

    def expected(self, a: Any, b: Any) -> Any:
        """C, exactly."""
        right = b if self.by_terms else b.T
        return a.astype("f8") @ right.astype("f8")
