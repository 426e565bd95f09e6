"""Pytest plugin: each `tests/filecheck/**/*.mlir` is one test, run by its RUN lines.

A file whose RUN lines apply passes is a second test, `<name>::semantics`: every function
of it that can be executed is, before and after each of the passes.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from support.filecheck_semantics import check_pipelines, pipelines
from support.run_lines import RunLineError, RunLineFailure, parse_script, run_script

FOLDER = Path("tests", "filecheck")
DATA_FOLDER = "Inputs"
EXECUTED = "functions executed"
"""The property of a test that counts what it executed before and after passes."""


def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> pytest.Collector | None:
    root = parent.config.rootpath / FOLDER
    if file_path.suffix != ".mlir" or not file_path.is_relative_to(root):
        return None
    name = file_path.relative_to(root)
    if DATA_FOLDER in name.parts:
        return None
    return _child(RunLineFile, parent, path=file_path)


def _child(kind: Any, parent: pytest.Collector, **arguments: Any) -> Any:
    """`kind.from_parent`, whose signature pytest leaves untyped."""
    return kind.from_parent(parent, **arguments)


class RunLineFile(pytest.File):
    """A test file; its items are named by its path below the test folder."""

    def collect(self) -> Iterator[pytest.Item]:
        name = self.path.relative_to(self.config.rootpath / FOLDER).as_posix()
        yield _child(RunLineItem, self, name=name)
        if pipelines(self.path):
            yield _child(SemanticsItem, self, name=f"{name}::semantics")


class SemanticsItem(pytest.Item):
    """The passes of one file's RUN lines, checked on the functions of the file."""

    def runtest(self) -> None:
        self.user_properties.append((EXECUTED, check_pipelines(self.path)))

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name


class RunLineItem(pytest.Item):
    """The RUN lines of one file."""

    def runtest(self) -> None:
        script = parse_script(self.path)
        if reason := script.skip_reason():
            pytest.skip(reason)
        with TemporaryDirectory(prefix="run-lines-") as scratch:
            run_script(script, self.path, Path(scratch))

    def repr_failure(
        self,
        excinfo: pytest.ExceptionInfo[BaseException],
        style: object = None,
    ) -> str:
        if isinstance(excinfo.value, RunLineError | RunLineFailure):
            return str(excinfo.value)
        return "".join(traceback.format_exception(excinfo.value))

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    executed = sum(
        int(str(value))
        for report in terminalreporter.getreports("passed")
        for name, value in report.user_properties
        if name == EXECUTED
    )
    if executed:
        terminalreporter.write_line(
            f"{executed} functions of FileCheck inputs executed before and after passes"
        )
