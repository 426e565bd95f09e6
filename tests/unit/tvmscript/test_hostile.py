"""A text that is read runs nothing: neither as text, nor as the input of a tool."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support import paths
from support.hostile_scripts import marked, place

from xdsl_tvm.tvmscript import ScriptError, ir, parse, relax, tir

_PROGRAM = paths.TESTS / "support" / "hostile_scripts.py"
_TEXTS = dict(marked())


def _child(arguments: list[str], folder: Path) -> str:
    """What a child says that may use 8 GiB; one that hangs is a failure."""
    limited = (
        "import resource, runpy, sys\n"
        "resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))\n"
        "sys.argv = sys.argv[1:]\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", limited, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@cache
def _records(folder: Path) -> dict[str, dict[str, object]]:
    lines = _child([str(_PROGRAM)], folder).splitlines()
    return {record["name"]: record for record in map(json.loads, lines)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile")


def test_there_are_many() -> None:
    assert len(_TEXTS) > 150


@pytest.mark.parametrize("name", _TEXTS)
def test_refused(name: str, folder: Path) -> None:
    record = _records(folder)[name]
    assert "crash" not in record, record
    assert record["events"] == []
    text, line, column = place(_TEXTS[name])
    assert 1 <= int(str(record["line"])) <= text.count("\n") + 1
    if line is not None:
        assert (record["line"], record["column"]) == (line, column), record
    assert list(folder.iterdir()) == []


SAMPLE = (
    "expression: import",
    "expression: class walk",
    "expression: power",
    "expression: buffer as arguments",
    "body: doubled expression",
    "text: decorator",
    "text: macro calling itself twice",
    "text: Relax call",
)


def test_tools(tmp_path: Path) -> None:
    """`opt`, `translate` and `run` read a file as `parse` does."""
    commands: list[list[str]] = []
    for number, name in enumerate(SAMPLE):
        file = tmp_path / f"script_{number}.py"
        file.write_text(place(_TEXTS[name])[0], encoding="utf-8")
        commands += [
            ["opt", str(file)],
            ["translate", str(file)],
            ["run", str(file), "--interpret"],
        ]
    program = tmp_path / "tools.py"
    program.write_text(
        "import sys\n"
        "from xdsl_tvm.tools.cli import main\n"
        f"for command in {commands!r}:\n"
        "    sys.stderr = sys.stdout\n"
        "    print('status', main(command), flush=True)\n",
        encoding="utf-8",
    )
    found = _child([str(program)], tmp_path)
    assert found.count("status 1\n") == len(commands), found
    assert "Traceback" not in found
    for command in commands:
        assert f"{command[1]}:" in found
    assert Counter(path.suffix for path in tmp_path.iterdir()) == {".py": len(SAMPLE) + 1}


def test_vocabularies_hold_nothing_else() -> None:
    """Texts see every public name of a vocabulary, so no other module lends it one."""
    for space in (tir, ir, relax):
        for name in vars(space):
            if name.startswith("_") or name == "annotations":
                continue
            value = getattr(space, name)
            module = getattr(value, "__module__", None) or type(value).__module__
            assert module.startswith("xdsl_tvm.tvmscript"), (space.__name__, name)


_HEADER = '@T.prim_func\ndef main(A: T.Buffer((4,), "int32")):\n'


_VALUES = {
    "len([1, 2]) + sum((3, 4)) + max(1, 2) + min([3, 4])": 14,
    "abs(-3) + int('7') + int(float('2')) + round(2.4)": 14,
    "sorted([3, 1])[0] + list(reversed([1, 2]))[0]": 3,
    "dict(zip(['a'], [3]))['a'] + enumerate([1, 2])[1][0]": 4,
    "int(any([0, 1])) + int(all((1, 0))) + int(str(5)) + int(bool(2))": 7,
    "(lambda x, *y, k=2, **z: x * k + len(y) + len(z))(3, 4, 5, m=1)": 9,
    "(lambda xs: sum(x * y for x in xs for y in xs if y > 1))([1, 2])": 6,
    "(lambda xs: len({x % 2 for x in xs}) + {x: x for x in xs}[2])([1, 2, 3])": 4,
    "(lambda x: 1 if 0 < x < 3 and not x == 1 else 1 // 0)(2)": 1,
    "{**{'a': 1}, 'b': 2}.get('b') + len({'a': 1}.items())": 3,
    "int(f'{12:>4}') + int(f'{3!s}')": 15,
    "1 << 10 if True else 0": 1024,
    "N + ARRAY.shape[0] + int(ARRAY[1])": 12,
    "TWICE(N)": 10,
}


def _twice(value: int) -> int:
    return 2 * value


@pytest.mark.parametrize("expression", _VALUES)
def test_what_texts_compute(expression: str) -> None:
    names: dict[str, object] = {"N": 5, "ARRAY": np.arange(3, 6), "TWICE": _twice}
    module = parse(f"{_HEADER}    A[0] = {expression}\n", names)
    again = parse(f"{_HEADER}    A[0] = {_VALUES[expression]}\n")
    assert str(module) == str(again)


def test_live_definitions_see_python(tmp_path: Path) -> None:
    """A live function is code of its process: what it names is what Python gives it."""
    file = tmp_path / "live.py"
    file.write_text(
        "from xdsl_tvm.tvmscript import tir as T\n"
        "class Config:\n"
        "    _size = 7\n"
        "def make(config):\n"
        "    @T.prim_func\n"
        "    def main(A: T.Buffer((4,), 'int32')):\n"
        "        A[0] = config._size + vars(type(config))['_size'] + divmod(9, 4)[0]\n"
        "    return main\n"
        "main = make(Config())\n"
    )
    names: dict[str, object] = {"__name__": "live"}
    exec(compile(file.read_text(), str(file), "exec"), names)
    assert "16 : i32" in str(names["main"])


def test_errors_say_where_and_what() -> None:
    with pytest.raises(ScriptError) as caught:
        parse(f"{_HEADER}    A[0] = open('x')\n", file="a.py")
    assert str(caught.value).startswith(
        "a.py:3:12: error: undefined variable 'open', a function of Python that a text "
        "cannot call: a text is read, not run\n"
    )
