"""Executes the inputs of FileCheck tests before and after the passes of their lines.

A line `// TOLERANCE: 0.02` in a file says by how much floats may differ, relative to the
larger magnitude or to 1, where a pass computes in a wider float.

Of pipelines that differ in options alone the first is run, with `XDSL_TVM_FUZZ` all are:
what options change is in the text that FileCheck reads.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.exceptions import DiagnosticException, ParseError, PassFailedException

from support.ir import uses_outside
from support.run_lines import RunLineError, parse_script
from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.interpreters.semantics import SemanticsChecker, SemanticsError
from xdsl_tvm.passes.infra.pipeline_runner import parse_passes
from xdsl_tvm.registry import new_context

_OPT = re.compile(r"(?:^|&&|\|)\s*(?:xdsl-opt|xdsl-tvm opt)\s+(?P<arguments>[^|&]*)")
_EXECUTABLE = (tir.FuncOp, relax.FuncOp)
_TOLERANCE = re.compile(r"^// TOLERANCE: (?P<number>\S+)$", re.MULTILINE)
_RUNS = 1
_MANY = "XDSL_TVM_FUZZ" in os.environ
_SPECIALIZE = frozenset(
    {
        "relax-bind-params",
        "relax-bind-symbolic-vars",
        "relax-bundle-model-params",
        "relax-lazy-get-input",
        "relax-lazy-set-output",
        "relax-lazy-transform-params",
        "relax-lift-transform-params",
        "relax-update-param-struct-info",
        "tir-bf16-storage-legalize",
        "tir-fp8-storage-legalize",
        "tir-pointer-value-type-rewrite",
    }
)
"""Passes after which functions take other arguments; their own tests run them."""


def pipelines(path: Path) -> list[str]:
    """The pipelines that the RUN lines of `path` apply and expect to succeed."""
    if path.stem.endswith("-invalid"):
        return []
    try:
        commands = parse_script(path).commands
    except RunLineError:
        # The test of the RUN lines reports it.
        return []
    found: list[str] = []
    for command in commands:
        for match in _OPT.finditer(command):
            words = shlex.split(match["arguments"])
            for word, following in pairwise(words):
                if word == "-p" and following not in found:
                    found.append(following)
    return found


def check_pipelines(path: Path) -> int:
    """Runs every executable function of `path` before and after the passes of each
    pipeline, and gives the number of those that were compared.

    Fails the test at a difference. A pass that refuses a part of the file, or needs a
    package that is missing, ends its pipeline there: whether it should is what the RUN
    lines test.
    """
    executed = 0
    universe = Universe.get_multiverse()
    found = _TOLERANCE.search(path.read_text())
    tolerance = None if found is None else float(found["number"])
    programs = [
        (module, SemanticsChecker(module, runs=_RUNS, tolerance=tolerance))
        for module in modules(path)
    ]
    every = [parse_passes(universe.all_passes, each) for each in pipelines(path)]
    if not _MANY:
        # Of those with the same names, the first: later ones come first and give way.
        by_names = {tuple(one.name for one in each): each for each in reversed(every)}
        every = list(reversed(by_names.values()))
    for passes in every:
        if any(len(e) > len(passes) and e[: len(passes)] == passes for e in every):
            # The longer one is checked after each of these passes.
            continue
        for module, checker in programs:
            executed += _check(path, module.clone(), passes, checker.fresh())
    return executed


def modules(path: Path) -> Iterator[ModuleOp]:
    """The modules of a file that verify and hold executable functions."""
    for text in re.split(r"^// -----.*$", path.read_text(), flags=re.MULTILINE):
        try:
            module = Parser(new_context(allow_unregistered=True), text).parse_module()
            module.verify()
        except (ParseError, DiagnosticException):
            continue
        if any(isinstance(op, _EXECUTABLE) for op in module.body.block.ops):
            yield module


def _check(
    path: Path,
    module: ModuleOp,
    passes: tuple[ModulePass, ...],
    checker: SemanticsChecker,
) -> int:
    compared: set[str] = set()
    context = new_context(allow_unregistered=True)
    for one in passes:
        if not checker.report.checked or one.name in _SPECIALIZE:
            break
        try:
            one.apply(context, module)
            module.verify()
        except (DiagnosticException, PassFailedException):
            break
        for op, user in uses_outside(module):
            pytest.fail(
                f"{path.name}: {one.name} leaves a use of {op.name} by {user.name}, "
                "which is not in the module",
                pytrace=False,
            )
        try:
            checker.check(one.name, module)
        except SemanticsError as error:
            pytest.fail(f"{path.name}: {error}", pytrace=False)
        compared |= set(checker.report.checked)
    return len(compared)
