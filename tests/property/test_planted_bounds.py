"""An access out of bounds, planted in a random program, is an error of the compiled call.

Compiled with `bound_checks`; a child process runs the programs, since one without checks
could end it. `XDSL_TVM_FUZZ` sets their number.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
from support.cpu_nests import random_nests
from xdsl.dialects.builtin import IntegerAttr, IntegerType, ModuleOp

import xdsl_tvm
from xdsl_tvm.dialects import tir
from xdsl_tvm.runtime.signature import ArraySpec, Signature
from xdsl_tvm.tvmscript.parser import parse

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "1"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
FAULT = 1 << 20
"""What is added to an index: more than any extent, and memory that may not be there."""


def plant(module: ModuleOp, rng: random.Random) -> None:
    """Shift one index of one access."""
    accesses = [
        op
        for op in module.walk()
        if isinstance(op, tir.LoadOp | tir.StoreOp) and op.indices
    ]
    op = rng.choice(accesses)
    axis = rng.randrange(len(op.indices))
    index = op.indices[axis]
    block = op.parent
    assert block is not None
    shift = tir.ConstOp(IntegerAttr(FAULT, cast(IntegerType, index.type)))
    moved = tir.AddOp(index, shift.result)
    block.insert_ops_before([shift, moved], op)
    position = list(op.operands).index(index)
    op.operands[position] = moved.result


def arguments(signature: Signature, rng: np.random.Generator) -> list[Any]:
    """Arrays that fit, with 5 for every symbol."""
    symbols = dict.fromkeys(signature.symbols, 5)
    found: list[Any] = []
    for spec in signature.params:
        assert isinstance(spec, ArraySpec)
        shape = [1 if dim is None else dim.evaluate(symbols) for dim in spec.shape]
        found.append(rng.integers(1, 4, shape).astype(spec.dtype))
    return found


def run(seed: int) -> str:
    """Compare a program with and without checks, then with a fault; what it raises."""
    module = parse(random_nests(seed))
    signature = next(iter(xdsl_tvm.compile(module).signatures.values()))
    given = arguments(signature, np.random.default_rng(seed))
    results: list[list[Any]] = []
    for checks in (False, True):
        copies = [each.copy() for each in given]
        xdsl_tvm.compile(module, optimize=False, bound_checks=checks)[signature.function](
            *copies
        )
        results.append(copies)
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
    plant(module, random.Random(seed))
    faulty = xdsl_tvm.compile(module, bound_checks=True)[signature.function]
    try:
        faulty(*given)
    except RuntimeError as error:
        return str(error)
    return "nothing"


def test_planted_faults() -> None:
    """An access that is never reached may raise nothing; nothing ends the process."""
    done = subprocess.run(
        [sys.executable, __file__, str(FIRST), str(COUNT)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert len(lines) == COUNT
    assert all(
        "is out of bounds in dimension" in line or line == "nothing" for line in lines
    )
    assert sum("is out of bounds" in line for line in lines) >= COUNT * 2 // 3


if __name__ == "__main__":
    first, count = map(int, sys.argv[1:])
    for number in range(first, first + count):
        print(run(number), flush=True)
