"""Runs the standard's tests of operators: python -m xdsl_tvm.tools.onnx_conformance.

Each test is a model, inputs and expected outputs, from `onnx.backend.test`. The models
are compiled, or interpreted with `--interpret`. `--write` renews the table of a page,
docs/onnx.md, with a row for each operator. Tests of other domains than the standard's are
left out.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from onnx import TensorProto, defs, numpy_helper
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests

from xdsl_tvm.frontend.onnx import OnnxError
from xdsl_tvm.frontend.onnx.errors import one_line
from xdsl_tvm.frontend.onnx.node import CONVERTERS
from xdsl_tvm.frontend.onnx.schemas import has_body
from xdsl_tvm.frontend.onnx.values import Array
from xdsl_tvm.tools.onnx_backend import prepare

_LONGEST = 4000
"""Bytes of the longest reason that is kept, which a pipe holds."""

BEGIN, END = "<!-- operators: begin -->", "<!-- operators: end -->"


@dataclass(frozen=True)
class Outcome:
    """What came of one test."""

    name: str
    operator: str
    failure: str = ""
    """Why it failed, empty where it passed."""
    bound: tuple[str, ...] = ()
    """The inputs that had to be known when the model was converted."""


def node_tests(pattern: str = "") -> list[TestCase]:
    """The tests of the standard's operators whose names match, in the order of names."""
    with warnings.catch_warnings():
        # What computes the expected results warns about overflows.
        warnings.simplefilter("ignore")
        cases = load_model_tests(kind="node")
    chosen: list[TestCase] = []
    for case in cases:
        if re.search(pattern, case.name) and case.model is not None:
            domains = {each.domain for each in case.model.opset_import}
            if domains <= {"", "ai.onnx"}:
                chosen.append(case)
    return sorted(chosen, key=lambda case: case.name)


def run_test(case: TestCase, *, interpreted: bool) -> Outcome:
    """The outcome of a test. Errors of any class are failures, which the table shows."""
    operator = _operator(case)
    bound: tuple[str, ...] = ()
    try:
        for inputs, outputs in case.data_sets or ():
            assert case.model is not None
            prepared = prepare(case.model, interpreted=interpreted)
            results = prepared.run(_arrays(inputs))
            bound = prepared.bound
            _compare(results, _arrays(outputs), case.rtol, case.atol)
    except Exception as error:
        kind = "" if isinstance(error, OnnxError) else f"{type(error).__name__}: "
        return Outcome(case.name, operator, f"{kind}{one_line(error)}")
    return Outcome(case.name, operator, "", bound)


def _operator(case: TestCase) -> str:
    """The operator of a test; that of a body in place of an operator is in its name."""
    assert case.model is not None
    nodes = case.model.graph.node
    if "_expanded" in case.name:
        return ""
    return nodes[-1].op_type if nodes else ""


def _arrays(values: Iterable[object]) -> list[Array]:
    found: list[Array] = []
    for value in values:
        if isinstance(value, TensorProto):
            found.append(numpy_helper.to_array(value))
        elif isinstance(value, np.ndarray | np.generic):
            found.append(np.asarray(cast("Any", value)))
        else:
            raise OnnxError("sequences and optional values are not converted")
    return found


def _compare(
    results: Sequence[Any], expected: Sequence[Array], rtol: float, atol: float
) -> None:
    if len(results) != len(expected):
        raise ValueError(f"{len(results)} outputs, not {len(expected)}")
    for index, (result, want) in enumerate(zip(results, expected, strict=True)):
        got = np.asarray(result)
        if got.dtype != want.dtype or got.shape != want.shape:
            raise ValueError(
                f"output {index} is {got.dtype}{list(got.shape)}, not "
                f"{want.dtype}{list(want.shape)}"
            )
        if want.dtype.kind in "iub":
            is_equal = bool((got == want).all())
        else:
            wide, exact = got.astype(np.float64), want.astype(np.float64)
            is_equal = np.allclose(wide, exact, rtol=rtol, atol=atol, equal_nan=True)
        if not is_equal:
            raise ValueError(f"output {index} differs from the expected one")


# ---- the table ----


def table(outcomes: Sequence[Outcome], how: str) -> str:
    """The rows of the operators, and how many tests pass."""
    names = {outcome.name: outcome.operator for outcome in outcomes}
    by_operator: defaultdict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        base = outcome.name.partition("_expanded")[0]
        by_operator[outcome.operator or names.get(base, "")].append(outcome)
    passed = sum(not outcome.failure for outcome in outcomes)
    bodies = _bodies()
    first: dict[str, int] = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == "":
            known = first.get(schema.name, schema.since_version)
            first[schema.name] = min(known, schema.since_version)
    lines = [
        f"{passed} of {len(outcomes)} tests pass, {how}.",
        "",
        "| Operator | Converted by | Tests | What fails |",
        "|---|---|---|---|",
    ]
    for operator in sorted({*_standard(), *by_operator} - {""}):
        tests = by_operator.get(operator, [])
        good = sum(not test.failure for test in tests)
        if operator in CONVERTERS:
            since = max(
                min(version for version, _ in CONVERTERS[operator]), first[operator]
            )
            how = f"converter, from opset {since}"
        else:
            how = "the standard's body" if operator in bodies else "not converted"
        lines.append(
            f"| {operator} | {how} | {good} of {len(tests)} | {_reason(tests)} |"
        )
    return "\n".join(lines)


def _reason(tests: Sequence[Outcome]) -> str:
    """Why the first of the failing tests fails, without the name of the node."""
    for test in tests:
        if test.failure:
            text = re.sub(r"^node '[^']*' \(\w+\): ", "", test.failure)
            text = text.replace("|", "/").replace("<", "less").replace("_", "\\_")
            return f"{text[:110]}…" if len(text) > 110 else text
    return ""


def _standard() -> set[str]:
    """The names of the operators of the newest opset."""
    newest = defs.onnx_opset_version()
    return {
        schema.name
        for schema in defs.get_all_schemas()
        if schema.domain == "" and schema.since_version <= newest
    }


def _bodies() -> set[str]:
    """The operators that the standard defines by others."""
    return {
        schema.name for schema in defs.get_all_schemas_with_history() if has_body(schema)
    }


def with_table(page: str, text: str) -> str:
    """The page with another table. Raises ValueError for one without the marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page has no table between {BEGIN} and {END}")
    return f"{before}{begin}\n{text}\n{end}{after}"


def main(arguments: Sequence[str]) -> int:
    """Runs the tests; the exit status is 0 if none ends the process."""
    parser = argparse.ArgumentParser("onnx_conformance", description=__doc__)
    parser.add_argument("pattern", nargs="?", default="", help="of names of tests")
    parser.add_argument("--interpret", action="store_true", help="without a compiler")
    parser.add_argument("--write", metavar="PAGE", type=Path, help="renew its table")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    outcomes: list[Outcome] = []
    run = partial(_separately, interpreted=options.interpret)
    with ThreadPoolExecutor(1 if options.interpret else os.cpu_count()) as pool:
        for outcome in pool.map(run, node_tests(options.pattern)):
            outcomes.append(outcome)
            if outcome.failure:
                print(f"{outcome.name}: {outcome.failure}", flush=True)
    passed = sum(not outcome.failure for outcome in outcomes)
    print(f"{passed} of {len(outcomes)} tests pass")
    if options.write is not None:
        page: Path = options.write
        how = "interpreted" if options.interpret else "compiled"
        page.write_text(with_table(page.read_text(), table(outcomes, how)))
    return 0


def _separately(case: TestCase, *, interpreted: bool) -> Outcome:
    """The outcome of a test in a process of its own, which compiled code may end."""
    if interpreted or not hasattr(os, "fork"):
        return run_test(case, interpreted=interpreted)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        outcome = run_test(case, interpreted=False)
        os.write(writing, outcome.failure.encode()[:_LONGEST] or b"\0")
        os._exit(0)
    os.close(writing)
    # Not until the end of the pipe, which children of other threads have open, too.
    os.waitpid(child, 0)
    os.set_blocking(reading, False)
    try:
        said = os.read(reading, _LONGEST)
    except BlockingIOError:
        said = b""
    os.close(reading)
    operator = _operator(case)
    if not said:
        return Outcome(case.name, operator, "compiled code ended the process")
    return Outcome(case.name, operator, said.strip(b"\0").decode(errors="replace"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
