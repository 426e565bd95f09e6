"""Runs the standard's tests: python -m xdsl_tvm.tools.onnx_conformance.

Each test is a model, inputs and expected outputs, from `onnx.backend.test`. `--kind`
chooses the suite; the default is that of operators. The models are compiled, or
interpreted with `--interpret`. `--write` renews the tables of a page, docs/onnx.md: the
counts of the suite, and a column of the operators or a row for each light model. Tests of
other domains than the standard's are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import select
import signal
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from onnx import TensorProto, defs, helper, numpy_helper
from onnx.backend.test.case.test_case import TestCase

from xdsl_tvm.frontend.onnx import OnnxError
from xdsl_tvm.frontend.onnx.errors import one_line
from xdsl_tvm.frontend.onnx.node import CONVERTERS
from xdsl_tvm.frontend.onnx.schemas import has_body
from xdsl_tvm.frontend.onnx.values import Array
from xdsl_tvm.runtime.unit_objects import PROCESSES_VARIABLE
from xdsl_tvm.tools.onnx_backend import prepare
from xdsl_tvm.tools.onnx_suites import KINDS, has_supported_types, suite

_LONGEST = 4000
"""Characters of the longest reason that is kept."""

_MOST_SECONDS = 300
"""How long one compiled test may take."""


@dataclass(frozen=True)
class Outcome:
    """What came of one test."""

    name: str
    operator: str
    failure: str = ""
    """Why it failed, empty where it passed."""
    bound: tuple[str, ...] = ()
    """The inputs that had to be known when the model was converted."""


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


ROADS = ("compiled", "interpreted")
"""The columns of the table, for tests that pass."""


def table(page: str, outcomes: Sequence[Outcome], how: str) -> str:
    """The rows of the operators, with the column `how` of these outcomes.

    The other column is that of the page. The reasons are those of compiled tests, and of
    interpreted ones where all compiled tests pass.
    """
    names = {outcome.name: outcome.operator for outcome in outcomes}
    by_operator: defaultdict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        base = outcome.name.partition("_expanded")[0]
        by_operator[outcome.operator or names.get(base, "")].append(outcome)
    bodies = _bodies()
    first: dict[str, int] = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == "":
            known = first.get(schema.name, schema.since_version)
            first[schema.name] = min(known, schema.since_version)
    old = _rows(page)
    lines = [
        "| Operator | Converted by | Compiled | Interpreted | What fails |",
        "|---|---|---|---|---|",
    ]
    for operator in sorted({*_standard(), *by_operator} - {""}):
        tests = by_operator.get(operator, [])
        good = sum(not test.failure for test in tests)
        if operator in CONVERTERS:
            since = max(
                min(version for version, _ in CONVERTERS[operator]), first[operator]
            )
            by = f"converter, from opset {since}"
        else:
            by = "the standard's body" if operator in bodies else "not converted"
        columns, reason = dict(old.get(operator, {})), _reason(tests)
        other = columns.get("reason", "")
        columns[how] = f"{good} of {len(tests)}"
        if how != ROADS[0] and (other or not reason):
            reason = other
        cells = [operator, by, *(columns.get(road, "") for road in ROADS), reason]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _rows(page: str) -> dict[str, dict[str, str]]:
    """The columns of the page's table of operators, by the operator."""
    found: dict[str, dict[str, str]] = {}
    for line in _parts(page, "operators")[1].strip().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5:
            found[cells[0]] = dict(zip((*ROADS, "reason"), cells[2:], strict=True))
    return found


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


def with_table(page: str, text: str, what: str = "operators") -> str:
    """The page with another table. Raises ValueError for one without the marks."""
    before, _, after = _parts(page, what)
    return f"{before}{_marks(what)[0]}\n{text}\n{_marks(what)[1]}{after}"


def with_rows(page: str, rows: Sequence[str], what: str) -> str:
    """The page with rows in place of those with the same two first cells.

    Rows that the table has not are added. Raises ValueError for a page without the marks.
    """
    found = {_key(row): row for row in _parts(page, what)[1].strip().splitlines()}
    found |= {_key(row): row for row in rows}
    return with_table(page, "\n".join(found.values()), what)


def _key(row: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in row.split("|")[1:3])


def _marks(what: str) -> tuple[str, str]:
    return f"<!-- {what}: begin -->", f"<!-- {what}: end -->"


def _parts(page: str, what: str) -> tuple[str, str, str]:
    """What is before, between and after the marks of a table."""
    first, last = _marks(what)
    before, begin, rest = page.partition(first)
    between, end, after = rest.partition(last)
    if not (begin and end):
        raise ValueError(f"the page has no table between {first} and {last}")
    return before, between, after


def counts(kind: str, how: str, outcomes: Sequence[Outcome], among: set[str]) -> str:
    """The row of a suite: how many tests pass, of all and of supported types."""
    passed = [outcome.name for outcome in outcomes if not outcome.failure]
    good = len(among.intersection(passed))
    share = f" ({100 * good / len(among):.1f} %)" if among else ""
    return (
        f"| {kind} | {how} | {len(passed)} of {len(outcomes)} "
        f"| {good} of {len(among)}{share} |"
    )


def main(arguments: Sequence[str]) -> int:
    """Runs the tests; the exit status is 0 if none ends the process."""
    parser = argparse.ArgumentParser("onnx_conformance", description=__doc__)
    parser.add_argument("pattern", nargs="?", default="", help="of names of tests")
    parser.add_argument("--kind", choices=KINDS, default="node", help="of tests")
    parser.add_argument("--interpret", action="store_true", help="without a compiler")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="at a time")
    parser.add_argument("--write", metavar="PAGE", type=Path, help="renew its tables")
    options = parser.parse_args(arguments)
    if options.write is not None and options.pattern:
        parser.error("--write renews the counts of whole suites; leave out the pattern")
    warnings.simplefilter("ignore")
    kind: str = options.kind
    cases = suite(kind, options.pattern)
    outcomes: list[Outcome] = []
    if options.interpret or not hasattr(os, "fork"):
        found = (run_test(case, interpreted=options.interpret) for case in cases)
    else:
        _warm_up()
        found = separately(cases, options.jobs)
    for outcome in found:
        outcomes.append(outcome)
        if outcome.failure:
            print(f"{outcome.name}: {outcome.failure}", flush=True)
    how = "interpreted" if options.interpret else "compiled"
    among = {
        case.name for case in cases if case.model and has_supported_types(case.model)
    }
    row = counts(kind, how, outcomes, among)
    print(row)
    if options.write is not None:
        page: Path = options.write
        text = with_rows(page.read_text(), [row], "suites")
        if kind == "node":
            text = with_table(text, table(text, outcomes, how))
        if kind == "light":
            rows = [
                f"| {outcome.name} | {how} | {_reason([outcome]) or 'passes'} |"
                for outcome in outcomes
            ]
            text = with_rows(text, rows, "light models")
        page.write_text(text)
    return 0


def _warm_up() -> None:
    """Compile a small model, so that processes that begin later import nothing."""
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    other = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])
    node = helper.make_node("Neg", ["x"], ["y"])
    graph = helper.make_graph([node], "negation", [value], [other])
    prepare(helper.make_model(graph)).run([np.zeros(1, np.float32)])


@dataclass
class _Worker:
    """A process that runs tests one after the other, and writes a line after each."""

    cases: list[TestCase]
    """Those that it has not finished."""
    process: int = 0
    reading: int = -1
    """The end of a pipe."""
    rest: bytes = b""
    """The begin of a line."""
    until: float = 0.0
    """When it is ended, on the clock of `time.monotonic`."""

    def start(self) -> None:
        """Run the tests that are left in a new process."""
        self.reading, writing = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            os.close(self.reading)
            for case in self.cases:
                outcome = run_test(case, interpreted=False)
                line = json.dumps([outcome.failure[:_LONGEST], outcome.bound])
                os.write(writing, line.encode() + b"\n")
            os._exit(0)
        os.close(writing)
        self.rest = b""
        self.until = time.monotonic() + _MOST_SECONDS

    def outcomes(self) -> Iterator[Outcome]:
        """What can be read: the outcomes of tests, or of one that ended the process."""
        data = os.read(self.reading, 1 << 16)
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            failure, bound = json.loads(line)
            case = self.cases.pop(0)
            yield Outcome(case.name, _operator(case), failure, tuple(bound))
        if lines:
            self.until = time.monotonic() + _MOST_SECONDS
        if not data or not self.cases:
            yield from self.ended("compiled code ended the process")

    def ended(self, why: str) -> Iterator[Outcome]:
        """The outcome of the test that is running, and a new process for those after."""
        os.close(self.reading)
        os.waitpid(self.process, 0)
        if self.cases:
            case = self.cases.pop(0)
            yield Outcome(case.name, _operator(case), why)
        if self.cases:
            self.start()


def separately(cases: Sequence[TestCase], jobs: int) -> Iterator[Outcome]:
    """The outcomes of compiled tests, in `jobs` processes, which compiled code may end.

    They begin from this one, which has one thread only, and compile without further
    processes.
    """
    os.environ.setdefault(PROCESSES_VARIABLE, "1")
    workers = [_Worker(list(cases[index::jobs])) for index in range(jobs)]
    for worker in workers:
        if worker.cases:
            worker.start()
    while running := [worker for worker in workers if worker.cases]:
        ready, _, _ = select.select([worker.reading for worker in running], [], [], 1)
        for worker in running:
            if worker.reading in ready:
                yield from worker.outcomes()
            elif time.monotonic() > worker.until:
                os.kill(worker.process, signal.SIGKILL)
                yield from worker.ended(f"it takes more than {_MOST_SECONDS} seconds")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
