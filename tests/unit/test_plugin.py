"""This package inside xDSL's tools: the entry point, and its neighbours."""

import subprocess
import sys
from pathlib import Path

import pytest
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import XDSL_UNIVERSE, Universe
from xdsl.utils.target import Target

from xdsl_tvm.universe import XDSL_TVM_UNIVERSE

PREFIXES = ("tir-", "relax-", "tvm-", "stablehlo-to-")


def test_multiverse_holds_us():
    multiverse = Universe.get_multiverse()
    for ours, everything in (
        (XDSL_TVM_UNIVERSE.all_dialects, multiverse.all_dialects),
        (XDSL_TVM_UNIVERSE.all_passes, multiverse.all_passes),
        (XDSL_TVM_UNIVERSE.all_targets, multiverse.all_targets),
    ):
        assert ours
        assert ours.keys() <= everything.keys()


@pytest.mark.parametrize("name", XDSL_TVM_UNIVERSE.all_dialects)
def test_dialect_loads(name: str):
    dialect = XDSL_TVM_UNIVERSE.all_dialects[name]()
    assert isinstance(dialect, Dialect)
    assert dialect.name == name


@pytest.mark.parametrize("name", XDSL_TVM_UNIVERSE.all_passes)
def test_pass_loads(name: str):
    kind = XDSL_TVM_UNIVERSE.all_passes[name]()
    assert issubclass(kind, ModulePass)
    assert kind.name == name
    assert name.startswith(PREFIXES)


@pytest.mark.parametrize("name", XDSL_TVM_UNIVERSE.all_targets)
def test_target_loads(name: str):
    kind = XDSL_TVM_UNIVERSE.all_targets[name]()
    assert issubclass(kind, Target)
    assert kind.name == name


def test_no_name_of_ours_is_xdsls():
    assert not XDSL_TVM_UNIVERSE.all_dialects.keys() & XDSL_UNIVERSE.all_dialects.keys()
    assert not XDSL_TVM_UNIVERSE.all_passes.keys() & XDSL_UNIVERSE.all_passes.keys()
    assert not XDSL_TVM_UNIVERSE.all_targets.keys() & XDSL_UNIVERSE.all_targets.keys()


PLUGIN = """
from dataclasses import dataclass
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe

@dataclass(frozen=True)
class Nothing(ModulePass):
    name = "neighbour-nothing"

    def apply(self, ctx, op):
        pass

UNIVERSE = Universe(
    all_dialects={"neighbour": lambda: Dialect("neighbour", [], [])},
    all_passes={"neighbour-nothing": lambda: Nothing},
)
"""


def write_neighbour(folder: Path, text: str) -> None:
    """Installs a second plugin into `folder`, as pip would lay it out."""
    (folder / "neighbour.py").write_text(text)
    information = folder / "neighbour-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: neighbour\nVersion: 1.0\n"
    )
    (information / "entry_points.txt").write_text(
        "[xdsl.universe]\nneighbour = neighbour:UNIVERSE\n"
    )


def run_opt(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = (
        f"import sys; sys.path.insert(0, {str(folder)!r}); "
        "from xdsl.tools.xdsl_opt import main; main()"
    )
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        input="builtin.module {}",
        capture_output=True,
        text=True,
        check=False,
    )


def test_xdsl_opt_lists_and_runs_us_next_to_another_plugin(tmp_path: Path):
    write_neighbour(tmp_path, PLUGIN)
    ours = next(iter(XDSL_TVM_UNIVERSE.all_passes))
    done = run_opt(tmp_path, "-p", f"neighbour-nothing,{ours}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["builtin.module", "{", "}"]
    listing = "".join(run_opt(tmp_path, "--help").stdout.split())
    for name in XDSL_TVM_UNIVERSE.all_passes:
        assert name in listing
    for name in XDSL_TVM_UNIVERSE.all_targets:
        assert name in listing
    assert "neighbour-nothing" in listing


def test_a_plugin_that_takes_our_name_is_noticed(tmp_path: Path):
    """The test above would pass if the second plugin were never looked at."""
    ours = next(iter(XDSL_TVM_UNIVERSE.all_passes))
    write_neighbour(tmp_path, PLUGIN.replace("neighbour-nothing", ours))
    done = run_opt(tmp_path)
    assert done.returncode != 0
    assert f"Duplicate definition of {ours}" in done.stderr
