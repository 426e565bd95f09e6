"""Our own Relax programs: read, verified, printed and read again, they are the same.

`relax_corpus/` covers what the reader knows of Relax; the last tests hold it to that.
"""

from __future__ import annotations

import ast
import importlib.util
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from support.ir import parse as parse_dialect
from support.relax_corpus import FILES, PROGRAMS
from support.script_corpus import Script, scripts_of
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.analysis.structural_equal import assert_structural_equal
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.signatures import OPERATORS
from xdsl_tvm.interpreters.semantics import SemanticsChecker
from xdsl_tvm.tvmscript import parse, print_script
from xdsl_tvm.tvmscript import relax as namespace_r

ALL = list(PROGRAMS.values())


def all_scripts() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("script", ALL, ids=[script.id for script in ALL])


@dataclass(frozen=True)
class RoundTrip:
    """A program as it is read, its text, and that as it is read."""

    module: ModuleOp
    text: str
    again: ModuleOp


@cache
def round_trip(script: Script) -> RoundTrip:
    module = parse(script.text)
    text = print_script(module)
    header = "@I.ir_module\n"
    unchecked = text
    if script.unchecked:
        unchecked = text.replace(header, "@I.ir_module(check_well_formed=False)\n")
    return RoundTrip(module, text, parse(unchecked))


@all_scripts()
def test_round_trip(script: Script) -> None:
    found = round_trip(script)
    if not script.unchecked:
        found.module.verify()
    assert_structural_equal(found.module, found.again)
    assert print_script(found.again) == found.text


@all_scripts()
def test_bindings_stay_where_they_are(script: Script) -> None:
    """Stricter than structural equality: order and unused values are the same."""
    found = round_trip(script)
    assert bindings(found.module) == bindings(found.again)


LEAVES = relax.PrimValueOp | relax.ShapeOp | relax.ConstantOp | relax.TupleOp


def bindings(module: ModuleOp) -> dict[str, list[str]]:
    """Operations but leaves and tuples, which may be written where they are used."""
    return {
        function.sym_name.data: [
            op.name for op in function.walk() if not isinstance(op, LEAVES)
        ]
        for function in module.ops
        if isinstance(function, relax.FuncOp)
    }


@all_scripts()
def test_text_of_the_dialect_reads_back(script: Script) -> None:
    module = round_trip(script).module
    if script.unchecked or script.name == "special_constants":
        # xDSL reads the bits that it writes for what is not finite as a number.
        return
    again = parse_dialect(str(module))
    assert_structural_equal(module, again)
    assert print_script(again) == round_trip(script).text


def test_live_definitions_are_those_of_the_text() -> None:
    for file in FILES:
        live = imported(file)
        for script in scripts_of(file):
            value = getattr(live, script.name)
            if isinstance(value, relax.FuncOp):
                value = ModuleOp([value.clone()])
            assert_structural_equal(value, round_trip(script).module)


def imported(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"relax_corpus_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


NOT_RUN = {
    "it calls functions that are not there": {
        "calls.Externs",
        "calls.newer",
        "calls.packed",
        "calls.pure_packed",
        "calls.without_a_type",
    },
    "operators without an evaluation": {
        "operators.collectives",
        "operators.inspection",
    },
    "the caller gives functions and other objects": {
        "shapes.casts",
        "shapes.function_types",
        "shapes.nested_types",
    },
}
"""Programs that the interpreter does not run on random inputs, by reason."""


@all_scripts()
def test_same_results(script: Script) -> None:
    found = round_trip(script)
    checker = SemanticsChecker(found.module, runs=1)
    skipped = any(script.id in names for names in NOT_RUN.values())
    assert checker.report.checked or skipped, checker.report
    checker.check("printed and read", found.again)


# ---- coverage ----


def used_names() -> set[str]:
    """What the files take from R: `nn.relu` of `R.nn.relu`."""
    names = (
        ast.unparse(node).partition(".")
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute)
    )
    return {rest for head, _, rest in names if head == "R"}


def test_every_operator_occurs() -> None:
    assert not sorted(set(OPERATORS) - used_names())


def test_every_operation_occurs() -> None:
    used = {op.name for script in ALL for op in round_trip(script).module.walk()}
    assert not sorted({op.name for op in relax.Relax.operations} - used)


def test_every_name_of_R_occurs() -> None:
    first = {name.partition(".")[0] for name in used_names()}
    # Rewriters are read where they decorate a module, and are no part of one.
    others = {"annotations", "const_data", "rewriter"}
    assert not sorted(set(dir(namespace_r)) - first - others)


def test_there_are_enough_programs() -> None:
    assert len(ALL) >= 80
    assert len({script.id for script in ALL}) == len(ALL)
