"""Programs with many allocations compute the same where these share memory."""

from __future__ import annotations

import os
import random

from support.scripted import scripted
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.analysis.tir.storage_events import StorageEvents
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.passes.tir._storage.relocation import constant_bytes
from xdsl_tvm.passes.tir.merge_shared_memory_allocations import (
    MergeSharedMemoryAllocations,
)
from xdsl_tvm.passes.tir.storage_rewrite import StorageRewrite

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "4"))
FROM = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
SIZES = {"int8": 32, "int16": 16, "int32": 16, "float32": 16, "int64": 8}
N = 16


class Program:
    """A random function of statements that pass values from buffer to buffer."""

    def __init__(self, seed: int, scopes: tuple[str, ...]) -> None:
        self.random = random.Random(seed)
        self.scopes = scopes
        self.lines: list[str] = []
        self.count = 0
        self.live: list[tuple[str, str, int]] = []

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def emit(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def allocate(self, depth: int) -> tuple[str, str, int]:
        name = f"B{self.count}"
        self.count += 1
        dtype = self.random.choice(list(SIZES))
        size = N * self.random.choice((1, 1, 1, 2, 4))
        scope = self.pick(*self.scopes)
        self.emit(depth, f"{name}_p = T.allocate([{size}], '{dtype}', '{scope}')")
        self.emit(
            depth,
            f"{name} = T.Buffer(({size},), '{dtype}', data={name}_p, scope='{scope}')",
        )
        found = name, dtype, size
        self.live.append(found)
        return found

    def fill(self, depth: int, target: tuple[str, str, int], sources: str) -> None:
        name, dtype, size = target
        values = " + ".join(sources.split("|"))
        at = f"T.Cast('{dtype}', {values})"
        shape = self.random.randrange(5)
        if shape == 0 and size % 4 == 0:
            self.emit(depth, f"for i, j in T.grid({size // 4}, 4):")
            inner = at.replace("[i]", "[i * 4 + j]").replace("[i % ", "[(i * 4 + j) % ")
            self.emit(depth + 1, f"{name}[i * 4 + j] = {inner}")
        elif shape == 1:
            self.emit(depth, f"for r, i in T.grid(2, {size}):")
            self.emit(depth + 1, f"{name}[i] = {at}")
        elif shape == 2:
            self.emit(depth, f"for i in range({size}):")
            self.emit(depth + 1, f"{name}[i] = {at}")
            self.emit(depth + 1, f"{name}[i] = {at} + T.Cast('{dtype}', 1)")
        else:
            self.emit(depth, f"for i in range({size}):")
            self.emit(depth + 1, f"{name}[i] = {at}")

    def read(self, source: tuple[str, str, int], size: int) -> str:
        name, _, own = source
        index = "i" if own >= size else f"i % {own}"
        if self.random.random() < 0.3:
            index = f"{own - 1} - i % {own}"
        return f"T.Cast('int32', {name}[{index}])"

    def statements(self, depth: int, budget: int) -> None:
        """Some statements; what they allocate ends with them."""
        before = list(self.live)
        for _ in range(budget):
            kind = self.random.randrange(8)
            if kind == 0 and depth < 4:
                self.emit(depth, self.pick("for k in range(2):", "if X[0] > 3:"))
                self.statements(depth + 1, 2)
                continue
            sources = self.random.sample(self.live, min(len(self.live), 2))
            target = self.allocate(depth)
            texts = [self.read(source, target[2]) for source in sources]
            self.fill(depth, target, "|".join(texts or [f"X[i % {N}]"]))
            if self.random.random() < 0.5:
                self.emit(depth, f"for i in range({N}):")
                self.emit(depth + 1, f"Y[i] = Y[i] + {self.read(target, N)}")
            if len(self.live) > 3:
                self.live.pop(self.random.randrange(len(self.live)))
        self.live = [each for each in before if each in self.live]

    def module(self) -> ModuleOp:
        for name, dtype, size in self.live:
            self.emit(0, f"for i in range({N}):")
            self.emit(1, f"Y[i] = Y[i] + {self.read((name, dtype, size), N)}")
        shape = f"T.Buffer(({N},), 'int32')"
        return scripted(f"X: {shape}, Y: {shape}", "\n".join(self.lines))


def planned_bytes(module: ModuleOp) -> int:
    """The bytes of all allocations of a module."""
    return sum(
        constant_bytes(op) for op in module.walk() if isinstance(op, tir.AllocateOp)
    )


def live_bytes(module: ModuleOp) -> int:
    """The most bytes that are live at once."""
    (func,) = module.body.block.ops
    return StorageEvents(func).most_live(constant_bytes)


def test_allocations_share_memory() -> None:
    before = after = bound = 0
    for seed in range(FROM, FROM + COUNT):
        program = Program(seed, ("global", "global", "global.workspace", "local.L0A"))
        program.statements(0, 8)
        module = program.module()
        check_semantics(module, (StorageRewrite(),), seed=seed, tolerance=0.0)
        result = StorageRewrite()(module)
        result.verify()
        # Merged memory of a tag is aligned to the largest element.
        padding = 8 * program.count
        assert planned_bytes(result) <= planned_bytes(module) + padding
        before += planned_bytes(module)
        after += planned_bytes(result)
        bound += live_bytes(module)
    assert after <= 0.9 * before
    print(f"{before} bytes allocated, {after} planned, {bound} live at once")


THREADS = 16


class Kernel(Program):
    """A random kernel: each thread writes its element, some read those of others."""

    def kernel(self, budget: int) -> ModuleOp:
        self.emit(0, f"with T.launch_thread('threadIdx.x', {THREADS}) as t:")
        self.body(1, budget)
        for name, _, _ in self.live:
            self.emit(1, f"Y[t] = Y[t] + T.Cast('int32', {name}[t])")
        shape = f"T.Buffer(({N},), 'int32')"
        return scripted(f"X: {shape}, Y: {shape}", "\n".join(self.lines))

    def body(self, depth: int, budget: int) -> None:
        before = list(self.live)
        for _ in range(budget):
            if self.random.randrange(6) == 0 and depth < 3:
                self.emit(depth, "for k in range(2):")
                self.body(depth + 1, 3)
                # Writes of the next iteration wait for reads of this one.
                self.emit(depth + 1, "T.tvm_storage_sync('shared')")
                continue
            name, dtype, _ = self.allocate(depth)
            value = "X[t]"
            barrier = self.random.random() < 0.6
            if len(self.live) > 1:
                source = self.random.choice(self.live[:-1])[0]
                index = "15 - t" if barrier and self.random.random() < 0.5 else "t"
                value = f"T.Cast('int32', {source}[{index}])"
            if barrier:
                self.emit(depth, "T.tvm_storage_sync('shared')")
            self.emit(depth, f"{name}[t] = T.Cast('{dtype}', {value} + t)")
            if self.random.random() < 0.5:
                self.emit(depth, f"Y[t] = Y[t] + T.Cast('int32', {name}[t])")
            if len(self.live) > 2:
                self.live.pop(self.random.randrange(len(self.live) - 1))
        self.live = [each for each in before if each in self.live]


def test_shared_memory_of_kernels() -> None:
    before = after = 0
    for seed in range(FROM, FROM + COUNT):
        program = Kernel(seed, ("shared.dyn", "shared.dyn", "shared"))
        module = program.kernel(7)
        with PassContext(config={"tir.merge_static_smem": True}):
            passes = (MergeSharedMemoryAllocations(),)
            check_semantics(module, passes, seed=seed, tolerance=0.0)
            result = MergeSharedMemoryAllocations()(module)
        result.verify()
        kinds = [op for op in result.walk() if isinstance(op, tir.AllocateOp)]
        assert len(kinds) <= 2
        # Pieces are aligned to 16 bytes.
        assert planned_bytes(result) <= planned_bytes(module) + 16 * program.count
        before += planned_bytes(module)
        after += planned_bytes(result)
    assert after <= before
