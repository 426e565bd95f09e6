"""Random sequences of TIR passes on random programs.

`random_case` makes a program and passes with random options, stock xDSL passes among
them; `failure` runs them one after the other and says what went wrong, `shrunk` cuts the
program down. Run as a module, it does so many times:

    python -m tests.property.fuzz_pipelines --n 200 --seed 0
"""

from __future__ import annotations

import argparse
import random
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from io import StringIO
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.common_subexpression_elimination import (
    CommonSubexpressionElimination,
)
from xdsl.transforms.dead_code_elimination import DeadCodeElimination
from xdsl.utils.exceptions import DiagnosticException, PassFailedException

from support.rewriting_passes import LOWERING, rewriting_passes
from support.tir_programs import random_module
from support.varied_programs import varied_module
from xdsl_tvm.interpreters.semantics import SemanticsChecker, SemanticsError
from xdsl_tvm.interpreters.shrink import shrink
from xdsl_tvm.passes.infra.pipeline_runner import parse_passes
from xdsl_tvm.passes.tir import VerifyWellFormed
from xdsl_tvm.registry import all_passes, new_context

STOCK = (
    CanonicalizePass,
    CommonSubexpressionElimination,
    DeadCodeElimination,
)
NUMBERS: dict[str, tuple[int, ...]] = {
    "target_bits": (8, 16, 32),
    "hoisted_conditionals": (0, 1, 2, 4, 8, 15, 31),
    "hoisted_let_bindings": (0, 1, 2, 4, 7),
    "auto_max_step": (0, 1, 16, 64),
    "auto_max_depth": (0, 2, 8),
    "auto_max_extent": (0, 1, 4),
}
"""For an option that is a number, what it may be; others keep their default."""
TEXTS: dict[str, tuple[str, ...]] = {"target": ("llvm", "cuda -host=llvm")}
"""The same for an option that is a text."""


@dataclass(frozen=True)
class Case:
    """A program, and the passes to run on it."""

    seed: int
    module: ModuleOp
    passes: tuple[ModulePass, ...]

    @property
    def pipeline(self) -> str:
        return ",".join(str(one.pipeline_pass_spec()) for one in self.passes)


@cache
def rewrites() -> tuple[tuple[str, type[ModulePass]], ...]:
    """The passes from TIR to TIR, by name."""
    known = all_passes()
    return tuple((name, known[name]()) for name in rewriting_passes())


def random_pass(rng: random.Random, skipped: frozenset[str] = frozenset()) -> ModulePass:
    if rng.random() < 0.2:
        return rng.choice(STOCK)()
    _, kind = rng.choice([p for p in rewrites() if p[0] not in skipped])
    assert is_dataclass(kind)
    options: dict[str, Any] = {}
    for field in fields(kind):
        required = field.default is MISSING and field.default_factory is MISSING
        if field.init and (required or rng.random() < 0.5):
            options.update(_option(field, rng))
    return kind(**options)


def _option(field: Field[Any], rng: random.Random) -> dict[str, Any]:
    if field.name in NUMBERS:
        return {field.name: rng.choice(NUMBERS[field.name])}
    if field.name in TEXTS:
        return {field.name: rng.choice(TEXTS[field.name])}
    if "bool" in str(field.type):
        return {field.name: rng.random() < 0.6}
    return {}


def random_case(seed: int, skipped: frozenset[str] = frozenset()) -> Case:
    """The case of this number: the same one as long as the passes are."""
    rng = random.Random(f"pipeline {seed}")
    if rng.random() < 0.7:
        module = varied_module(seed).module
    else:
        program = random_module(seed, isolated=True)
        module = varied_module(seed).module if program.foreign else program.module
    passes = tuple(random_pass(rng, skipped) for _ in range(rng.randint(3, 8)))
    if rng.random() < 0.6:
        lowering = parse_passes(all_passes(), LOWERING)
        at = rng.choice([0, 0, rng.randint(0, len(passes))])
        passes = (*passes[:at], *lowering, *passes[at:])
    return Case(seed, module, passes)


class PipelineRun:
    """Runs passes on a module, and says what is wrong with what they make.

    `refused` holds the passes that did not take what they got.
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        self.refused: list[str] = []
        self.ran: list[str] = []
        self.position = -1
        self.before = case.module

    def failure(self) -> str | None:
        """What the first pass at fault does; None where all is well."""
        module = self.case.module.clone()
        try:
            checker = SemanticsChecker(module, seed=self.case.seed, tolerance=0.0)
        except SemanticsError:
            return None
        context = new_context()
        well_formed = is_well_formed(module)
        for position, one in enumerate(self.case.passes):
            before = module.clone()
            try:
                one.apply(context, module)
            except PassFailedException as error:
                # A refusal may come late, and leave a module half done.
                self.refused.append(f"{one.name}: {error}")
                module = before
                continue
            except Exception as error:
                self.position, self.before = position, before
                return f"{one.name} raises {_described(error)}"
            found = self._wrong(one, module, checker, well_formed)
            if found is not None:
                self.position, self.before = position, before
                return found
            if one.name == "tir-lower-init-block":
                # Its guards may use loop variables until blocks are opaque.
                well_formed = is_well_formed(module)
            self.ran.append(one.name)
        return None

    def _wrong(
        self,
        one: ModulePass,
        module: ModuleOp,
        checker: SemanticsChecker,
        well_formed: bool,
    ) -> str | None:
        try:
            module.verify()
        except DiagnosticException as error:
            return f"{one.name} makes what does not verify: {_line(error)}"
        reason = ill_formed(module) if well_formed else None
        if reason is not None and one.name != "tir-lower-init-block":
            return f"{one.name} makes what is not well-formed: {reason}"
        try:
            if not is_printed_and_parsed(module):
                return f"{one.name} makes what is not equal after print and parse"
        except DiagnosticException as error:
            return f"{one.name} makes what does not parse: {_line(error)}"
        try:
            checker.check(one.name, module)
        except SemanticsError as error:
            return None if "race on" in str(error) else str(error)
        return None


def _described(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {_line(error)} ({frame.name}, line {frame.lineno})"


def _line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1].strip() if lines else type(error).__name__


def ill_formed(module: ModuleOp) -> str | None:
    """What VerifyWellFormed says of a module."""
    try:
        VerifyWellFormed().apply(Context(), module)
    except PassFailedException as error:
        return str(error)
    return None


def is_well_formed(module: ModuleOp) -> bool:
    return ill_formed(module) is None


def text_of(module: ModuleOp) -> str:
    output = StringIO()
    Printer(output).print_op(module)
    return output.getvalue()


def is_printed_and_parsed(module: ModuleOp) -> bool:
    """Whether the text of a module is that of the same module."""
    again = Parser(new_context(), text_of(module)).parse_module()
    again.verify()
    return again.is_structurally_equivalent(module)


def shrunk(
    case: Case, run: PipelineRun, trials: int = 400
) -> tuple[ModuleOp, ModulePass, str]:
    """A small module on which the pass at fault is at fault in the same way."""
    one = case.passes[run.position]
    kind = _kind(PipelineRun(Case(case.seed, run.before, (one,))).failure())

    def fails(candidate: ModuleOp) -> bool:
        try:
            candidate.verify()
        except DiagnosticException:
            return False
        found = PipelineRun(Case(case.seed, candidate, (one,))).failure()
        return found is not None and _kind(found) == kind

    if kind is None:
        return run.before, one, "(needs the whole pipeline)"
    small = shrink(run.before, fails, trials=trials)
    return small, one, PipelineRun(Case(case.seed, small, (one,))).failure() or ""


def _kind(failure: str | None) -> str | None:
    """A failure without its particulars, of which there may be others while shrinking."""
    if failure is None:
        return None
    for word in (
        " raises ",
        " verify: ",
        " well-formed: ",
        " print and parse",
        " parse: ",
    ):
        if word in failure:
            return failure.partition(":")[0] + word
    return "differs" if "differs" in failure else "fails"


def report(seed: int, skipped: frozenset[str] = frozenset()) -> str | None:
    """Text on the failure of a case, with a small module; None where all is well."""
    case = random_case(seed, skipped)
    run = PipelineRun(case)
    found = run.failure()
    if found is None:
        return None
    small, one, again = shrunk(case, run)
    return (
        f"seed {seed}: {found}\n  pipeline: {case.pipeline}\n  alone: "
        f"{one.pipeline_pass_spec()}: {again}\n{text_of(small)}"
    )


def run_many(seeds: Sequence[int], skipped: frozenset[str]) -> int:
    """The number of failing cases, each of them said with its report."""
    failures = 0
    ran, refused = Counter[str](), Counter[str]()
    started = time.perf_counter()
    for seed in seeds:
        case = random_case(seed, skipped)
        run = PipelineRun(case)
        if run.failure() is not None:
            failures += 1
            say(report(seed, skipped) or "")
        ran.update(run.ran)
        refused.update(text.partition(":")[0] for text in run.refused)
    for name in sorted({*ran, *refused}):
        say(f"{name}: ran {ran[name]}, refused {refused[name]}")
    seconds = time.perf_counter() - started
    say(f"{len(seeds)} pipelines, failures {failures}, {seconds:.0f} s")
    return failures


def say(text: str) -> None:
    print(text, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--n", type=int, default=200, help="how many pipelines")
    parser.add_argument("--seed", type=int, default=0, help="the first one's number")
    parser.add_argument("--skip", action="append", default=[], help="a pass to leave out")
    options = parser.parse_args(arguments)
    seeds = range(options.seed, options.seed + options.n)
    return int(run_many(seeds, frozenset(options.skip)) > 0)


if __name__ == "__main__":
    raise SystemExit(main())
