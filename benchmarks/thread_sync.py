"""How many barriers `tir-thread-sync` inserts, how many TVM's rule, and which are needed.

Kernels without barriers get them; then each is left out alone, and the simulator looks
for a race on one input. `--count N` kernels of each scope are random ones; `--write` puts
the table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
from _page import write_section
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from support.barriers import barriers, erase
from support.sync_kernels import barriers_of_tvm, random_sync_kernel, runs

from xdsl_tvm.interpreters.errors import RaceError
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.lowering.pipelines import TIR_BLOCKS_TO_LAUNCHES, run_pipeline
from xdsl_tvm.passes.tir import ThreadSync
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse as parse_script

ROOT = Path(__file__).parents[1]
SCOPES = ("shared", "shared.dyn", "warp", "global")
EXAMPLES = {"matmul_tile": (256, 256), "vector_add": (1000,)}
"""The shape of the arrays of each example."""
Case: TypeAlias = tuple[ModuleOp, Callable[[ModuleOp], bool], int | None]
"""A module, whether one runs without a race, and the barriers of TVM's rule."""


@dataclass
class Counts:
    """What is counted over the kernels of a row."""

    kernels: int = 0
    races: int = 0
    left: int = 0
    inserted: int = 0
    redundant: int = 0
    comparable: int = 0
    of_tvm: int = 0
    refused: int = 0

    def row(self, name: str) -> str:
        return (
            f"| {name} | {self.kernels} | {self.races} | {self.left} | {self.inserted} | "
            f"{self.redundant} | {self.comparable} | {self.of_tvm} | {self.refused} |"
        )


def random_cases(scope: str, count: int) -> Iterator[Case]:
    for seed in range(count):
        kernel = random_sync_kernel(seed, scope)
        yield (
            parse_script(kernel.script),
            partial(runs, kernel),
            barriers_of_tvm(kernel),
        )


def example_cases() -> Iterator[Case]:
    """The kernels of `examples/kernels`, whose own barriers are those of TVM's rule."""
    for path in sorted((ROOT / "examples" / "kernels").glob("*.mlir")):
        module = Parser(new_context(), path.read_text()).parse_module()
        run_pipeline(new_context(), module, ",".join(TIR_BLOCKS_TO_LAUNCHES))
        found = barriers(module)
        for barrier in found:
            erase(barrier)
        yield module, partial(_runs_example, EXAMPLES[path.stem]), len(found)


def _runs_example(shape: tuple[int, ...], module: ModuleOp) -> bool:
    (function,) = interpret(module).values()
    try:
        function(*(np.ones(shape, np.float32) for _ in range(3)))
    except RaceError:
        return False
    return True


def count(cases: Iterator[Case], scope: str) -> Counts:
    found = Counts()
    for module, run, of_tvm in cases:
        found.kernels += 1
        found.races += not run(module)
        ThreadSync(scope).apply(Context(), module)
        found.left += not run(module)
        inserted = len(barriers(module))
        found.inserted += inserted
        if of_tvm is None:
            found.refused += 1
        else:
            found.comparable += inserted
            found.of_tvm += of_tvm
        for number in range(inserted):
            other = module.clone()
            erase(barriers(other)[number])
            found.redundant += run(other)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    lines = [
        "Kernels without barriers get them; then each barrier is left out alone.",
        "*Redundant* are those without which the simulator finds no race on one input.",
        "TVM's rule is computed from its specification: it inserts none between two",
        "writes, within a statement, or for rows of other threads, and refuses barriers",
        "under conditions; *of these* are the barriers of the pass for the kernels that",
        "it does not refuse.",
        "",
        "| kernels | number | race without | race with | barriers | redundant "
        "| of these | TVM's rule | refused by TVM |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines.append(count(example_cases(), "shared").row("examples, `shared`"))
    for scope in SCOPES:
        cases = random_cases(scope, arguments.count)
        lines.append(count(cases, scope).row(f"random, `{scope}`"))
    print("\n".join(lines))
    if arguments.write:
        write_section("thread_sync.py", "Barriers", lines)


if __name__ == "__main__":
    main()
