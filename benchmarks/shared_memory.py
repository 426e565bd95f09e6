"""Bytes of shared memory that kernels need, merged and not.

    python benchmarks/shared_memory.py
    python benchmarks/shared_memory.py --write           and into docs/performance.md

For each kernel: the sum of its allocations, the array that
tir-merge-shared-memory-allocations makes of them, and the most bytes that are live at
once, which no array can be smaller than. Kernels run before and after in the simulator of
thread grids on the same inputs, so races that the overlap could make are found.
"""

from __future__ import annotations

import argparse
import random
import textwrap

from _page import write_section
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.analysis.tir.storage_events import StorageEvents
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.tir import MergeSharedMemoryAllocations
from xdsl_tvm.tvmscript import parse

THREADS = 32
SYNC = 'T.tvm_storage_sync("shared.dyn")'


def declared(name: str, size: int, dtype: str = "float32") -> list[str]:
    """An allocation of dynamic shared memory and its buffer."""
    return [
        f'{name}_p = T.allocate([{size}], "{dtype}", "shared.dyn")',
        f'{name} = T.Buffer(({size},), "{dtype}", data={name}_p, scope="shared.dyn")',
    ]


def kernel(lines: list[str]) -> ModuleOp:
    """A kernel of one block that has `lines` as its body."""
    body = textwrap.indent("\n".join(lines), " " * 8)
    return parse(
        "from tvm.script import tir as T\n"
        "@T.prim_func\n"
        'def main(X: T.Buffer((32,), "float32"), Y: T.Buffer((32,), "float32")):\n'
        f'    with T.launch_thread("threadIdx.x", {THREADS}) as t:\n{body}\n'
    )


def fill(name: str, size: int, value: str) -> list[str]:
    """Each thread writes every 32nd element."""
    return [
        f"for i in range({size // THREADS}):",
        f'    {name}[i * {THREADS} + t] = T.Cast("{{0}}", {value})'.replace(
            "{0}", "float32"
        ),
    ]


def stage(name: str, source: str, size: int) -> list[str]:
    """A stage of a chain: reads what other threads have written."""
    return [SYNC, *fill(name, size, f"{source}[{THREADS - 1} - t] * T.float32(0.5)")]


def matmul() -> ModuleOp:
    """Two tiles that a loop fills, then one for the results."""
    return kernel(
        [
            *declared("A", 1024),
            *declared("B", 1024),
            *declared("C", 2048),
            "for k in range(2):",
            *(
                f"    {line}"
                for line in (*fill("A", 1024, "X[t]"), *fill("B", 1024, "X[t]"))
            ),
            f"    {SYNC}",
            f"    Y[t] = Y[t] + A[{THREADS - 1} - t] * B[t]",
            f"    {SYNC}",
            *fill("C", 2048, "Y[t]"),
            SYNC,
            f"Y[t] = C[{THREADS - 1} - t]",
        ]
    )


def chain(stages: int) -> ModuleOp:
    """Stages, each of which reads the one before."""
    lines = [line for k in range(stages) for line in declared(f"S{k}", 512)]
    lines += fill("S0", 512, "X[t]")
    for k in range(1, stages):
        lines += stage(f"S{k}", f"S{k - 1}", 512)
    return kernel([*lines, SYNC, f"Y[t] = S{stages - 1}[{THREADS - 1} - t]"])


def attention() -> ModuleOp:
    """Tiles of queries, keys, scores, values and results, live one after another."""
    sizes = {"Q": 1024, "K": 1024, "S": 2048, "V": 1024, "O": 1024}
    lines = [line for name, size in sizes.items() for line in declared(name, size)]
    lines += [*fill("Q", 1024, "X[t]"), *fill("K", 1024, "X[t]"), SYNC]
    lines += fill("S", 2048, f"Q[{THREADS - 1} - t] * K[t]")
    lines += [SYNC, *fill("V", 1024, "X[t]"), SYNC]
    lines += fill("O", 1024, f"S[{THREADS - 1} - t] * V[t]")
    return kernel([*lines, SYNC, f"Y[t] = O[{THREADS - 1} - t]"])


def without_barriers() -> ModuleOp:
    """Live ranges are disjoint, but no barrier keeps threads apart."""
    lines = [*declared("A", 512), *declared("B", 512), *fill("A", 512, "X[t]"), SYNC]
    lines += [f"Y[t] = A[{THREADS - 1} - t]", *fill("B", 512, "X[t]"), SYNC]
    return kernel([*lines, f"Y[t] = Y[t] + B[{THREADS - 1} - t]"])


def copies() -> ModuleOp:
    """Asynchronous copies that are waited for, then other tiles."""
    lines = [*declared("A", 512), *declared("B", 512), *declared("C", 1024)]
    for name in "AB":
        lines.append(f'T.ptx_cp_async("float32", {name}_p, t, X.data, t, 4)')
    lines += ["T.ptx_commit_group()", "T.ptx_wait_group(0)", SYNC]
    lines += [f"Y[t] = A[{THREADS - 1} - t] + B[{THREADS - 1} - t]", SYNC]
    lines += [*fill("C", 1024, "X[t]"), SYNC, f"Y[t] = Y[t] + C[{THREADS - 1} - t]"]
    return kernel(lines)


def many(count: int, seed: int) -> ModuleOp:
    """Tiles of random sizes, of which a few are live at a time."""
    chosen = random.Random(seed)
    sizes = [32 * chosen.choice((1, 2, 3, 4, 6, 8, 16)) for _ in range(count)]
    lines = [line for k, size in enumerate(sizes) for line in declared(f"S{k}", size)]
    live = [0]
    lines += fill("S0", sizes[0], "X[t]")
    for k in range(1, count):
        lines += stage(f"S{k}", f"S{chosen.choice(live)}", sizes[k])
        live.append(k)
        if len(live) > 3:
            live.pop(chosen.randrange(3))
    lines += [SYNC, *(f"Y[t] = Y[t] + S{k}[{THREADS - 1} - t]" for k in live)]
    return kernel(lines)


KERNELS = {
    "matmul with epilogue": matmul,
    "chain of 4 stages": lambda: chain(4),
    "chain of 16 stages": lambda: chain(16),
    "attention": attention,
    "asynchronous copies": copies,
    "no barrier between": without_barriers,
    "16 tiles, 3 live": lambda: many(16, 0),
    "64 tiles, 3 live": lambda: many(64, 1),
}


def bytes_of(memory: tir.AllocateOp) -> int:
    """The size of an allocation of constant extents."""
    size = tir.bytes_of(memory.result.type.element_type)
    for extent in memory.shape:
        assert isinstance(extent, int)
        size *= extent
    return size


def allocated(module: ModuleOp) -> int:
    """The sum of the allocations of a module."""
    return sum(bytes_of(op) for op in module.walk() if isinstance(op, tir.AllocateOp))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="into docs/performance.md")
    options = parser.parse_args()
    lines = [
        "| kernel | allocated | merged | live at once | merged / live |",
        "|---|---|---|---|---|",
    ]
    for name, make in KERNELS.items():
        module = make()
        (func,) = module.body.block.ops
        check_semantics(module, (MergeSharedMemoryAllocations(),), tolerance=0.0)
        merged = allocated(MergeSharedMemoryAllocations()(module))
        bound = StorageEvents(func).most_live(bytes_of)
        ratio = f"{merged / bound:.2f}"
        lines.append(f"| {name} | {allocated(module)} | {merged} | {bound} | {ratio} |")
    lines += [
        "",
        "Bytes of dynamic shared memory. Live ranges are those of one thread: where no",
        "barrier is between, memory cannot overlap although it is not live at once.",
    ]
    print("\n".join(lines))
    if options.write:
        write_section("shared_memory.py", "Shared memory", lines)


if __name__ == "__main__":
    main()
