"""What every pass costs per op, and whether that grows with the size of the module.

Modules of several shapes and sizes go down the roads to LLVM text, pass by pass. A time
is divided by the number of ops that the pass finds. Beside it stands the growth from one
size to the next, marked `!` above 1.5, and the ratio to copying the same module, the
cheapest thing that touches every op. xDSL's own passes are measured on the same modules.

    python benchmarks/compile_scaling.py                   10^3 and 10^4 ops
    python benchmarks/compile_scaling.py --sizes 1000 10000 100000 --shapes line
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from _synthetic import RELAX_SHAPES, SHAPES
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.transforms.common_subexpression_elimination import (
    CommonSubexpressionElimination,
)
from xdsl.transforms.convert_scf_to_cf import ConvertScfToCf
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from xdsl_tvm.lowering.pipelines import llvm_pipeline
from xdsl_tvm.registry import all_passes, new_context
from xdsl_tvm.targets._llvm_text import emit_llvm_ir

GROWTH = 1.5
SLOW = 5.0
NEGLIGIBLE = 2.0
"""In microseconds per op: growth below is noise."""
QUADRATIC_LIMIT = 20000
"""xDSL's convert-scf-to-cf grows with the square of the blocks; no larger modules."""


@dataclass
class Row:
    """Per size: microseconds per op, and the ratio to a copy."""

    cost: dict[int, float] = field(default_factory=dict[int, float])
    ratio: dict[int, float] = field(default_factory=dict[int, float])


Table = dict[str, Row]


def timed(work: Callable[[], object]) -> float:
    """Seconds of one call; the garbage of others is not collected in it."""
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start
    finally:
        gc.enable()


class Measurement:
    """Times of one shape of module, at several sizes."""

    def __init__(self, road: Sequence[str], runs: int) -> None:
        self.road = road
        self.runs = runs
        self.table: Table = {}
        self.context = new_context()
        passes = all_passes()
        self.passes: list[ModulePass] = [passes[name]()() for name in road]

    def record(self, name: str, size: int, ops: int, seconds: float, copy: float) -> None:
        row = self.table.setdefault(name, Row())
        row.cost[size] = 1e6 * seconds / ops
        row.ratio[size] = seconds / copy

    def at(self, size: int, module: ModuleOp) -> None:
        """Take `module` down the road."""
        self.peer("verify", size, module, lambda m: m.verify())
        self.peer("print", size, module, str)
        self.stock(CommonSubexpressionElimination(), size, module)
        for pass_ in self.passes:
            if pass_.name == "tvm-convert-scf-to-cf":
                self.stock(DeadCodeElimination(), size, module)
                if size <= QUADRATIC_LIMIT:
                    self.stock(ConvertScfToCf(), size, module)
            result = self.one(pass_.name, size, module, self.applied(pass_))
            module = result
        if any(op.name == "llvm.func" for op in module.body.ops):
            self.peer("emit LLVM text", size, module, emit_llvm_ir)

    def applied(self, pass_: ModulePass) -> Callable[[ModuleOp], object]:
        return lambda module: pass_.apply(self.context, module)

    def stock(self, pass_: ModulePass, size: int, module: ModuleOp) -> None:
        self.peer(f"xDSL {pass_.name}", size, module, self.applied(pass_))

    def peer(
        self, name: str, size: int, module: ModuleOp, work: Callable[[ModuleOp], object]
    ) -> None:
        self.one(name, size, module, work)

    def one(
        self, name: str, size: int, module: ModuleOp, work: Callable[[ModuleOp], object]
    ) -> ModuleOp:
        """Time `work` on copies of `module`; the last copy."""
        ops = sum(1 for _ in module.walk())
        copies: list[ModuleOp] = []
        copying = [timed(lambda: copies.append(module.clone())) for _ in range(self.runs)]
        spent = [timed(lambda copy=copy: work(copy)) for copy in copies]
        self.record(name, size, ops, min(spent), min(copying))
        return copies[-1]


def show(title: str, sizes: Sequence[int], table: Table) -> list[str]:
    """Print a table; the names of rows that grow or are slow."""
    width = max(map(len, table)) + 2
    head = "".join(f"{f'us/op at {size}':>18}{'x copy':>8}" for size in sizes)
    print(f"\n{title}\n{'':{width}}{head}{'growth':>10}")
    found: list[str] = []
    for name, row in table.items():
        known = [s for s in sizes if s in row.cost]
        if not known:
            continue
        cells = "".join(
            f"{row.cost[s]:18.2f}{row.ratio[s]:8.2f}" if s in row.cost else " " * 26
            for s in sizes
        )
        growth = max(
            (row.cost[b] / row.cost[a] for a, b in pairwise(known)),
            default=1.0,
        )
        grows = growth > GROWTH and row.cost[known[-1]] > NEGLIGIBLE
        mark = " !" if grows else ""
        print(f"{name:{width}}{cells}{growth:10.2f}{mark}", flush=True)
        if grows:
            found.append(f"{title}: {name} grows {growth:.2f} times per op")
        elif row.ratio[known[-1]] > SLOW and not name.startswith(("xDSL", "print")):
            found.append(f"{title}: {name} takes {row.ratio[known[-1]]:.1f} copies")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Cost of every pass per op.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10000])
    shapes = {**SHAPES, **RELAX_SHAPES}
    parser.add_argument("--shapes", nargs="+", choices=list(shapes), default=list(shapes))
    parser.add_argument("--runs", type=int, default=1, help="the least of them counts")
    options = parser.parse_args()
    sizes: list[int] = sorted(options.sizes)
    found: list[str] = []
    for shape in options.shapes:
        relax = shape in RELAX_SHAPES
        road = llvm_pipeline(relax=relax).split(",")
        measurement = Measurement(road, options.runs)
        for size in sizes:
            measurement.at(size, shapes[shape](size))
        found += show(shape, sizes, measurement.table)
    print("\n" + "\n".join(found or ["nothing grows, nothing is slow"]))


if __name__ == "__main__":
    main()
