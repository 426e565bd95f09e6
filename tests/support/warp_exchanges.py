"""Kernels whose lanes exchange elements through memory of their warp."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]
NUMPY = {"f32": np.float32, "f16": np.float16, "i32": np.int32}


@dataclass(frozen=True)
class Read:
    """Lane `tx` reads element `slot` of period `period` of lane
    `(tx * factor + shift) % threads`."""

    factor: int
    shift: int
    period: int
    slot: int


@dataclass(frozen=True)
class Exchange:
    """Each lane stores `step` elements in each of the periods; then lanes read."""

    threads: int
    groups: int
    step: int
    periods: int
    reads: tuple[Read, ...]
    inside: bool
    """Whether the allocation is inside of the launches."""
    dtype: str = "f32"
    """That of the elements."""

    @staticmethod
    def random(rng: random.Random) -> Exchange:
        threads = rng.choice((8, 16, 32))
        step, periods = rng.choice((1, 2, 3, 4)), rng.choice((1, 2, 3))
        reads = tuple(
            Read(
                rng.choice((0, 1, 1, 3, 5)),
                rng.randrange(threads),
                rng.randrange(periods),
                rng.randrange(step),
            )
            for _ in range(rng.randrange(1, 4))
        )
        inside = rng.random() < 0.7
        groups, dtype = rng.choice((1, 2)), rng.choice(("f32", "f16", "i32"))
        return Exchange(threads, groups, step, periods, reads, inside, dtype)

    @property
    def size(self) -> int:
        return self.threads * self.step * self.periods

    def text(self) -> str:
        memory = f"""%p = tir.allocate [{self.size}] : !tir.ptr<{self.dtype}, "warp">
          %W = tir.decl_buffer "W" %p : !tir.buffer<{self.size}x{self.dtype}, "warp">"""
        total, count = self.size * self.groups, self.threads * self.groups
        reads: list[str] = []
        for n, read in enumerate(self.reads):
            at = read.period * self.threads * self.step + read.slot
            reads += [
                f"%f{n} = tir.const {read.factor} : i32",
                f"%h{n} = tir.const {read.shift} : i32",
                f"%a{n} = tir.const {at} : i32",
                f"%o{n} = tir.const {n * count} : i32",
                f"%q{n} = tir.mul %tx, %f{n} : i32",
                f"%r{n} = tir.add %q{n}, %h{n} : i32",
                f"%l{n} = tir.floormod %r{n}, %w : i32",
                f"%m{n} = tir.mul %l{n}, %s : i32",
                f"%k{n} = tir.add %m{n}, %a{n} : i32",
                f"%x{n} = tir.load %W[%k{n}] : {self.dtype}",
                f"%g{n} = tir.add %me, %o{n} : i32",
                f"tir.store %x{n}, %O[%g{n}] : {self.dtype}",
            ]
        return f"""
tir.func @f(%o: !tir.handle, %i: !tir.handle)
    attributes {{target = #tir.target<"cuda">}} {{
  %O = tir.match_buffer "O" %o : !tir.buffer<{count * len(self.reads)}x{self.dtype}>
  %I = tir.match_buffer "I" %i : !tir.buffer<{total}x{self.dtype}>
  %c0 = tir.const 0 : i32
  %w = tir.const {self.threads} : i32
  %s = tir.const {self.step} : i32
  %t = tir.const {self.groups} : i32
  %u = tir.const {self.periods} : i32
  %size = tir.const {self.size} : i32
  %warp = tir.string "warp"
  {"" if self.inside else memory}
  tir.launch_thread %ty = "threadIdx.y" to %t {{
    tir.launch_thread %tx = "threadIdx.x" to %w {{
      {memory if self.inside else ""}
      %above = tir.mul %ty, %w : i32
      %me = tir.add %above, %tx : i32
      %start = tir.mul %ty, %size : i32
      tir.for %gi = %c0 to %u {{
        tir.for %i0 = %c0 to %s {{
          %e0 = tir.mul %gi, %w : i32
          %e1 = tir.add %e0, %tx : i32
          %e2 = tir.mul %e1, %s : i32
          %e3 = tir.add %e2, %i0 : i32
          %e4 = tir.add %start, %e3 : i32
          %x = tir.load %I[%e4] : {self.dtype}
          tir.store %x, %W[%e3] : {self.dtype}
        }}
      }}
      tir.call "tvm_storage_sync"(%warp) : (!tir.handle) -> ()
      {chr(10).join(reads)}
    }}
  }}
}}"""

    def expected(self, given: Array) -> Array:
        stored = given.reshape(self.groups, self.periods, self.threads, self.step)
        lane = np.arange(self.threads)
        return np.concatenate(
            [
                stored[:, read.period, (lane * read.factor + read.shift) % self.threads][
                    ..., read.slot
                ].reshape(-1)
                for read in self.reads
            ]
        )
