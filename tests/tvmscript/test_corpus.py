"""Our own programs: read, verified, printed and read again, they are the same programs.

`corpus/` covers every construct that the reader knows; the last tests hold it to that.
"""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import ModuleType

import pytest
from support.ir import parse as parse_dialect
from support.script_corpus import CORPUS, LIVE, Script, files, scripts
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.analysis.structural_equal import assert_structural_equal
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import SemanticsChecker
from xdsl_tvm.passes.tir.verify_well_formed import VerifyWellFormed
from xdsl_tvm.tvmscript import ir as namespace_i
from xdsl_tvm.tvmscript import parse, parse_nodes
from xdsl_tvm.tvmscript import tir as namespace_t
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.nodes import statements as st
from xdsl_tvm.tvmscript.printer import print_script

ALL = scripts()


def all_scripts() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("script", ALL, ids=[script.id for script in ALL])


def read_again(text: str, *, unchecked: bool = False) -> ModuleOp:
    """The module of printed text. Printing does not keep what is not checked."""
    if unchecked:
        text = text.replace("@I.ir_module\n", "@I.ir_module(check_well_formed=False)\n")
    return parse(text)


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
    return RoundTrip(module, text, read_again(text, unchecked=script.unchecked))


@all_scripts()
def test_round_trip(script: Script) -> None:
    found = round_trip(script)
    found.module.verify()
    if not script.unchecked:
        VerifyWellFormed().apply(Context(), found.module)
    assert_structural_equal(found.module, found.again)
    assert print_script(found.again) == found.text
    long = print_script(found.module, sugar=False)
    again = read_again(long, unchecked=script.unchecked)
    assert_structural_equal(found.module, again)


@all_scripts()
def test_text_of_the_dialect_reads_back(script: Script) -> None:
    module = round_trip(script).module
    text = str(module)
    again = parse_dialect(text)
    assert_structural_equal(module, again)
    assert str(again) == text


NOT_RUN = {
    "it calls functions that are not there": {
        "buffers.access_pointers",
        "buffers.addresses",
        "buffers.data_as_argument",
        "dtypes.raw_constants",
        "intrinsics.arrays_on_the_stack",
        "intrinsics.extern_calls",
        "intrinsics.extern_calls_without_result",
        "intrinsics.packed_calls",
        "statements.conditional_allocation",
        "statements.strings",
    },
    "a pointer comes from the caller": {
        "functions.deprecated_pointers",
        "functions.explicit_variables",
        "functions.pointers",
        "intrinsics.lists",
        "intrinsics.structures",
    },
    "builtins of one compiler or device": {
        "intrinsics.contexts",
        "intrinsics.device_memory",
        "intrinsics.guarded_register_load",
        "intrinsics.grid_barrier",
        "intrinsics.lowered_calls",
        "intrinsics.results_of_calls",
        "intrinsics.traced_calls",
    },
    "buffers of tensor expressions": {
        "statements.realized",
        "statements.realized_on_condition",
        "statements.rolling_inside",
    },
    "custom dtypes have no values here": {"dtypes.custom_arithmetic"},
    "not meant to run: half of a kernel": {
        "statements.nodes_of_any_kind",
        "threads.bit_fragments",
        "threads.bulk_copy",
        "threads.counting_barriers",
        "threads.sparse_tensor_cores",
        "threads.tensor_cores",
    },
}
"""Programs that the interpreter does not run on random inputs, by reason."""
_SKIPPED = frozenset(name for names in NOT_RUN.values() for name in names)


@all_scripts()
def test_same_results(script: Script) -> None:
    found = round_trip(script)
    checker = SemanticsChecker(found.module, runs=1)
    assert bool(checker.report.checked) != (script.id in _SKIPPED), checker.report
    checker.check("printed and read", found.again)


def test_names_of_programs_that_are_not_run() -> None:
    assert not _SKIPPED - {script.id for script in ALL}


# ---- live files ----


def imported(stem: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"corpus_{stem}", CORPUS / f"{stem}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def as_module(definition: object) -> ModuleOp:
    if isinstance(definition, tir.FuncOp):
        return ModuleOp([definition.clone()])
    assert isinstance(definition, ModuleOp)
    return definition


@pytest.mark.parametrize("stem", ["functions", "modules", "newer", "statements"])
def test_live_definitions_are_those_of_the_text(stem: str) -> None:
    live = imported(stem)
    for script in ALL:
        if script.topic == stem:
            found = as_module(getattr(live, script.name))
            assert_structural_equal(found, round_trip(script).module)


LIVE_DEFINITIONS = {
    f"{stem}.{name}": value
    for stem in LIVE
    for name, value in vars(imported(stem)).items()
    if isinstance(value, tir.FuncOp | ModuleOp)
}


@pytest.mark.parametrize("name", LIVE_DEFINITIONS)
def test_round_trip_of_live_definitions(name: str) -> None:
    module = as_module(LIVE_DEFINITIONS[name])
    module.verify()
    text = print_script(module)
    again = parse(text)
    assert_structural_equal(module, again)
    assert print_script(again) == text
    checker = SemanticsChecker(module, runs=1)
    assert checker.report.checked
    checker.check("printed and read", again)


# ---- coverage ----


def test_there_are_enough_programs() -> None:
    assert len(ALL) + len(LIVE_DEFINITIONS) >= 150
    assert len({script.id for script in ALL}) == len(ALL)


def used_names(namespace: str) -> set[str]:
    """What the files take from a namespace: `axis.remap` of `T.axis.remap`."""
    found: set[str] = set()
    for file in files():
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Attribute):
                head, _, rest = ast.unparse(node).partition(".")
                if head == namespace and rest:
                    found.add(rest)
            # Builtins that T has no function for are named by their strings.
            if isinstance(node, ast.Constant) and str(node.value).startswith("tir."):
                found.add(str(node.value).removeprefix("tir."))
    return found


NOT_WRITTEN = {
    "only the builder has them": {"arg", "func_name", "func_ret"},
    "nodes of their own that other names make": {"CommReducer", "IterVar"},
    "modules of Python that a namespace shows": {"annotations", "Callable"},
    "their own name of what is written as T.call_intrin": {
        "tvm_call_packed_lowered",
        "tvm_call_cpacked_lowered",
    },
}


def test_every_name_of_T_occurs() -> None:
    known = set(dir(namespace_t)) - set().union(*NOT_WRITTEN.values())
    assert not sorted(known - used_names("T"))


def test_every_name_of_I_occurs() -> None:
    known = {"ir_module", "module_attrs", "module_global_infos", "vdevice"}
    assert known <= set(dir(namespace_i))
    assert not known - used_names("I")


def test_every_kind_of_axis_occurs() -> None:
    known = {name for name in dir(namespace_t.axis) if not name.startswith("_")}
    used = {name.removeprefix("axis.") for name in used_names("T")}
    assert not known - used


def parts(node: object) -> list[object]:
    """What a node holds."""
    slots = [getattr(each, "__slots__", ()) for each in type(node).__mro__]
    return [getattr(node, name, None) for names in slots for name in names]


def nodes_in(value: object) -> Iterator[object]:
    """All nodes of a tree, also those of types that share parts."""
    stack, seen = [value], set[int]()
    while stack:
        item = stack.pop()
        if isinstance(item, list | tuple):
            stack += item
        elif isinstance(item, dict):
            stack += [*item, *item.values()]
        elif type(item).__module__.startswith("xdsl_tvm.tvmscript"):
            if id(item) in seen:
                continue
            seen.add(id(item))
            yield item
            stack += parts(item)


@cache
def all_nodes() -> list[object]:
    """The nodes of all programs, which two tests look at."""
    return [node for script in ALL for node in nodes_in(parse_nodes(script.text))]


def leaves(*roots: type) -> set[str]:
    """The names of the classes below `roots` that have none below them."""
    found: set[str] = set()
    for root in roots:
        below = root.__subclasses__()
        found |= leaves(*below) if below else {root.__name__}
    return found


def test_every_node_class_occurs() -> None:
    found = {type(node).__name__ for node in all_nodes()}
    assert not leaves(st.Stmt, ex.Expr) - found


def test_every_operator_and_predicate_occurs() -> None:
    operators: set[str] = set()
    predicates: set[tir.CmpPredicate] = set()
    for node in all_nodes():
        if isinstance(node, ex.Binary):
            operators.add(node.op)
        if isinstance(node, ex.Compare):
            predicates.add(node.predicate)
    arithmetic = {"add", "sub", "mul", "div", "mod", "floordiv", "floormod"}
    assert operators == arithmetic | {"min", "max", "and", "or"}
    assert predicates == set(tir.CmpPredicate)


FREQUENT_KEYS = (
    "tir.noalias",
    "global_symbol",
    "target",
    "tir.is_scheduled",
    "op_pattern",
    "operator_name",
    "layout_free_buffers",
    "calling_conv",
    "reduce_scope",
    "async_scope",
    "thread_extent",
    "async_commit_queue_scope",
    "async_wait_queue_scope",
    "async_wait_inflight_count",
)
"""The keys of docs/spec/tvmscript.md §13."""


def test_frequent_keys_occur() -> None:
    text = "".join(file.read_text() for file in files())
    assert not [key for key in FREQUENT_KEYS if f'"{key}"' not in text]


def test_every_scope_and_thread_axis_occurs() -> None:
    text = "".join(file.read_text() for file in files())
    axes = re.findall(r'"((?:blockIdx|threadIdx|vthread)[.xyz]*)"', text)
    assert {*axes} == {
        *(f"{kind}.{axis}" for kind in ("blockIdx", "threadIdx") for axis in "xyz"),
        "vthread",
        "vthread.x",
        "vthread.y",
    }
    scopes = {"global", "shared", "shared.dyn", "local", "wmma.matrix_a"}
    assert not [scope for scope in scopes if f'"{scope}"' not in text]
