"""What compiling costs: every pass, all together, and how that grows.

    python benchmarks/compile_time.py                    all three parts
    python benchmarks/compile_time.py --parts kernels    the kernels of cpu_kernels.py
    python benchmarks/compile_time.py --parts modules --sizes 1000 10000 100000
    python benchmarks/compile_time.py --parts ops --shapes line --sizes 1000 10000
    python benchmarks/compile_time.py --write            and into docs/performance.md

The passes are those that `xdsl_tvm.compile` runs. `kernels` and `modules` print
milliseconds beside those of TVM's default pipeline, if `tvm` can be imported; it gets the
same programs as TVMScript. `modules` are many functions of a few statements each; the
growth is that of the time against n log n from one size to the next.

`ops` divides by the number of ops that a pass finds, for modules of several shapes.
Beside that stand the growth from one size to the next, marked `!` above 1.5, and the
ratio to copying the same module, the cheapest thing that touches every op. xDSL's own
passes are measured on the same modules.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

import _cpu_kernel_sources as sources
from _page import write_section
from _synthetic import RELAX_SHAPES, SHAPES
from _tvm import tvm_module, tvm_tir
from cpu_kernels import HEADER, kernels
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.transforms.common_subexpression_elimination import (
    CommonSubexpressionElimination,
)
from xdsl.transforms.convert_scf_to_cf import ConvertScfToCf
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from xdsl_tvm.lowering.llvm_ir import llvm_ir
from xdsl_tvm.lowering.llvm_text.emitter import emit_llvm_ir
from xdsl_tvm.lowering.pipelines import llvm_pipeline
from xdsl_tvm.passes.infra import pipeline_text
from xdsl_tvm.passes.infra.pipeline_runner import parse_passes
from xdsl_tvm.registry import all_passes, new_context
from xdsl_tvm.runtime import llvm_jit
from xdsl_tvm.tvmscript.parser import parse

GROWTH = 1.5
SLOW = 5.0
NEGLIGIBLE = 2.0
"""In microseconds per op: growth below is noise."""
QUADRATIC_LIMIT = 20000
"""xDSL's convert-scf-to-cf grows with the square of the blocks; no larger modules."""
SHORT = 0.01
"""Passes with less than this share of the total are summed up in one line."""
PARTS = ("kernels", "modules", "ops")


def road(relax: bool) -> tuple[ModulePass, ...]:
    """The passes that `xdsl_tvm.compile` runs."""
    text = llvm_pipeline(relax=relax, vector_bytes=llvm_jit.host_vector_bytes())
    passes = parse_passes(all_passes(), text)
    return parse_passes(all_passes(), pipeline_text(passes))


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


# ---- milliseconds ----

Times = dict[str, float]
"""Seconds by the name of a pass or a step, in order."""


def compile_once(module: ModuleOp) -> Times:
    """The seconds of each step from a module to an object file; it is lowered."""
    context = new_context()
    times: Times = {}

    def step(name: str, work: Callable[[], object]) -> None:
        times[name] = times.get(name, 0.0) + timed(work)

    step("verify", module.verify)
    for each in road(relax=False):
        step(each.name, lambda each=each: each.apply(context, module))
    text: list[str] = []
    emit = lambda: text.append(llvm_ir(context, module))  # noqa: E731
    step("emit LLVM IR", emit)
    step("LLVM", lambda: llvm_jit.compile_object(text[0], 2))
    return times


def tvm_times(module: ModuleOp) -> Times:
    """TVM's seconds: its default pipeline for TIR, and all down to machine code.

    Empty where there is no TVM.
    """
    try:
        tvm: Any = importlib.import_module("tvm")
    except ImportError:
        return {}
    found, tir = tvm_module(module), tvm_tir()
    target = tvm.target.Target("llvm")
    bound = tir.transform.BindTarget(target.with_host(target))(found)
    with target:
        pipeline: Any = tir.get_tir_pipeline("default")
        if isinstance(pipeline, tuple):
            # Later versions give it together with what follows the split of devices.
            pipeline = cast("tuple[Any, ...]", pipeline)[0]
        passes = timed(lambda: pipeline(bound))
    return {"passes": passes, "all": timed(lambda: tvm.compile(found, target=target))}


def least(runs: int, measure: Callable[[], Times]) -> Times:
    """The least of several measurements, step by step."""
    found = [measure() for _ in range(runs)]
    return {name: min(times[name] for times in found) for name in found[0]}


def milliseconds(columns: Sequence[str], times: Sequence[Times]) -> list[str]:
    """A Markdown table with a row a step, the quick ones summed up, and the total."""
    names = list(dict.fromkeys(name for each in times for name in each))
    totals = [sum(each.values()) for each in times]
    long = [
        name
        for name in names
        if any(
            each.get(name, 0.0) >= SHORT * total
            for each, total in zip(times, totals, strict=True)
        )
    ]

    def line(name: str, values: Sequence[float]) -> str:
        return f"| {name} | {' | '.join(f'{1e3 * value:.1f}' for value in values)} |"

    rest = [
        sum(seconds for name, seconds in each.items() if name not in long)
        for each in times
    ]
    passes = [
        sum(s for name, s in each.items() if name.startswith(("tir-", "tvm-")))
        for each in times
    ]
    return [
        f"| milliseconds | {' | '.join(columns)} |",
        f"|---|{'---|' * len(columns)}",
        *(line(name, [each.get(name, 0.0) for each in times]) for name in long),
        line(f"{len(names) - len(long)} others", rest),
        line("**all passes**", passes),
        line("**total**", totals),
    ]


def beside_tvm(ours: Sequence[Times], theirs: Sequence[Times]) -> list[str]:
    """Lines of the table with TVM's times, if there are any."""
    if not any(theirs):
        return []
    lines: list[str] = []
    for title, key in (("TVM's default pipeline", "passes"), ("TVM, total", "all")):
        cells = [f"{1e3 * each[key]:.1f}" if each else "" for each in theirs]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    ratios = [
        f"{sum(o.values()) / t['all']:.1f}" if t else ""
        for o, t in zip(ours, theirs, strict=True)
    ]
    lines.append(f"| ours against TVM, total | {' | '.join(ratios)} |")
    return lines


def kernel_part(runs: int) -> list[str]:
    """The kernels of `cpu_kernels.py`."""
    found = kernels()
    ours = [
        least(runs, lambda one=one: compile_once(parse(HEADER + one.source)))
        for one in found
    ]
    theirs = [
        least(runs, lambda one=one: tvm_times(parse(HEADER + one.source)))
        for one in found
    ]
    table = milliseconds([one.name for one in found], ours)
    return ["Kernels:", "", *table, *beside_tvm(ours, theirs), ""]


def module_part(sizes: Sequence[int], runs: int, tvm_limit: int) -> list[str]:
    """Modules of many functions."""
    make = SHAPES["functions"]
    ours = [least(runs, lambda size=size: compile_once(make(size))) for size in sizes]
    theirs: list[Times] = []
    for size in sizes:
        # Reading a script takes TVM longer than anything it does with it.
        theirs.append(tvm_times(make(size)) if size <= tvm_limit else {})
    table = milliseconds([f"{size} ops" for size in sizes], ours)
    return ["Modules:", "", *table, *beside_tvm(ours, theirs), "", *growth(sizes, ours)]


def growth(sizes: Sequence[int], times: Sequence[Times]) -> list[str]:
    """How the total and the worst pass grow, compared with n log n."""
    lines: list[str] = []
    for (small, before), (large, after) in pairwise(zip(sizes, times, strict=True)):
        expected = large * math.log(large) / (small * math.log(small))
        total = sum(after.values()) / sum(before.values()) / expected
        grows = {
            name: after[name] / before[name] / expected
            for name in after
            if after[name] >= SHORT * sum(after.values()) and before.get(name)
        }
        worst = max(grows, key=grows.__getitem__)
        lines.append(
            f"From {small} to {large} ops the total grows {total:.2f} times as much as "
            f"n log n; most of all passes does {worst}, {grows[worst]:.2f} times."
        )
    return lines


# ---- microseconds per op ----


@dataclass
class Row:
    """Per size: microseconds per op, and the ratio to a copy."""

    cost: dict[int, float] = field(default_factory=dict[int, float])
    ratio: dict[int, float] = field(default_factory=dict[int, float])


Table = dict[str, Row]


class Measurement:
    """Times of one shape of module, at several sizes."""

    def __init__(self, passes: Sequence[ModulePass], runs: int) -> None:
        self.passes = passes
        self.runs = runs
        self.table: Table = {}
        self.context = new_context()

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


def ops_part(shapes: Sequence[str], sizes: Sequence[int], runs: int) -> None:
    """Print the cost per op for modules of the shapes."""
    makers = {**SHAPES, **RELAX_SHAPES}
    found: list[str] = []
    for shape in shapes:
        measurement = Measurement(road(shape in RELAX_SHAPES), runs)
        for size in sizes:
            measurement.at(size, makers[shape](size))
        found += show(shape, sizes, measurement.table)
    print("\n" + "\n".join(found or ["nothing grows, nothing is slow"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    shapes = [*SHAPES, *RELAX_SHAPES]
    add("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    add("--sizes", type=int, nargs="+", default=[1000, 10000])
    add("--shapes", nargs="+", choices=shapes, default=shapes)
    add("--runs", type=int, default=1, help="the least of them counts")
    add("--tvm-limit", type=int, default=10000, help="no larger modules for TVM")
    add("--write", action="store_true", help="write docs/performance.md")
    options = parser.parse_args()
    sizes: list[int] = sorted(options.sizes)
    compile_once(parse(HEADER + sources.softmax(4, 8)))  # imports
    lines: list[str] = []
    if "kernels" in options.parts:
        lines += kernel_part(options.runs)
        print("\n".join(lines), flush=True)
    if "modules" in options.parts:
        part = module_part(sizes, options.runs, options.tvm_limit)
        print("\n".join(part), flush=True)
        lines += part
    if options.write:
        write_section("compile_time.py", "Compile time", lines)
    if "ops" in options.parts:
        ops_part(options.shapes, sizes, options.runs)


if __name__ == "__main__":
    main()
