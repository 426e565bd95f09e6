"""Relax programs, random ones and those of other tests, go through scripts unchanged.

The ordinary run takes a few random ones; `XDSL_TVM_FUZZ=1000` takes that many.
"""

from __future__ import annotations

import os

import pytest
from support import paths
from support.ir import parse as parse_dialect
from support.relax_bindings import RandomBindings
from support.relax_memory_programs import random_function
from support.relax_modules import EXTERNS, random_relax_module
from support.relax_scripts import as_scripts_say
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException, ParseError, VerifyException

from xdsl_tvm.analysis.structural_equal import assert_structural_equal
from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.semantics import SemanticsChecker
from xdsl_tvm.passes.relax import StaticPlanBlockMemory
from xdsl_tvm.tvmscript import parse, print_script

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "2"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
EVERY = 1 if "XDSL_TVM_FUZZ" in os.environ else 8
"""Which of the programs of other tests take part."""
FILES = paths.FILECHECK


def round_trip(module: ModuleOp) -> ModuleOp:
    """The module printed and read, equal to what scripts can say of it."""
    text = print_script(module)
    again = parse(text)
    again.verify()
    assert_structural_equal(as_scripts_say(module), as_scripts_say(again))
    assert print_script(again) == text
    return again


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_bindings_and_branches(seed: int) -> None:
    module = parse_dialect(RandomBindings(seed).text())
    again = round_trip(module)
    checker = SemanticsChecker(module, runs=1)
    checker.check("printed and read", again)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_modules(seed: int) -> None:
    module = random_relax_module(seed)
    checker = SemanticsChecker(module, runs=1, externs=EXTERNS)
    checker.check("printed and read", round_trip(module))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_allocations(seed: int) -> None:
    module = random_function(seed, is_bounded=bool(seed % 2))
    round_trip(module)
    round_trip(StaticPlanBlockMemory()(module))


WITHOUT_FORM = (
    "has no form in TVMScript",
    "has no place in TVMScript",
    "has no TVM dtype name",
)


def inputs() -> list[tuple[str, str]]:
    """The Relax modules of the FileCheck tests."""
    files = sorted(FILES.glob("**/relax/*.mlir"))
    return [
        (file.name, part)
        for file in files
        if not file.stem.endswith("-invalid")
        for part in file.read_text().split("// -----")
        # A function whose name is a keyword of Python gets another one.
        if "@from(" not in part
    ]


def test_programs_of_other_tests() -> None:
    chosen = inputs()[::EVERY]
    modules = [module for _, text in chosen if (module := _parsed(text)) is not None]
    assert len(modules) >= 100 / EVERY
    refused = [error for module in modules if (error := _refused(module)) is not None]
    assert len(refused) < len(modules) / 5
    for error in refused:
        assert any(each in str(error) for each in WITHOUT_FORM), error


def _parsed(text: str) -> ModuleOp | None:
    """The module of a text, None without Relax functions."""
    try:
        module = parse_dialect(text)
        module.verify()
    except (ParseError, VerifyException):
        return None
    is_relax = any(isinstance(op, relax.FuncOp) for op in module.ops)
    return module if is_relax else None


def _refused(module: ModuleOp) -> DiagnosticException | None:
    """The error of a module that has no text; the text of others is checked."""
    try:
        print_script(module)
    except DiagnosticException as error:
        return error
    round_trip(module)
    return None
