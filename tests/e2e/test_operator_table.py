"""No operator of any dtype and vector length ends the process, and all results agree.

The programs are compiled and run in a process of their own, with the interpreter as the
reference (`tests/support/operator_table.py`). A few dtypes and lengths are tried, all of
them with `XDSL_TVM_FUZZ`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import operator_table

pytest.importorskip("llvmlite", reason="native code needs llvmlite")
pytest.importorskip("ml_dtypes", reason="bf16 numbers need ml_dtypes")

PROGRAM = Path(operator_table.__file__)
REFUSED = ("f4E2M1FN",)
SAMPLE = ("i1:17", "i64:3", "f4E2M1FN:1")
"""Floats of 8 bits are computed as bf16 is, and each of the others is cast to them."""
ALL = tuple(
    f"{dtype}:{lanes}"
    for dtype in (*operator_table.DTYPES, *REFUSED)
    for lanes in operator_table.LANES
)


def problems(levels: str, cpus: str, batches: tuple[str, ...]) -> str:
    """What the program prints, a line for each problem."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAM), levels, cpus, *batches],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.stdout.endswith("done\n"), done.stdout + done.stderr
    return done.stdout.removesuffix("done\n")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the program needs fork")
def test_every_operator_compiles_and_agrees_with_the_interpreter() -> None:
    if "XDSL_TVM_FUZZ" in os.environ:
        found = problems("0,2,3", ",".join(operator_table.CPUS), ALL)
    else:
        found = problems("2", "", SAMPLE)
        found += problems("2", "skylake-avx512,aarch64", ("bf16:16",))
    assert found == ""
