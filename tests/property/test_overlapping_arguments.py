"""Compiled functions on arrays that overlap: what the interpreter computes.

Functions that do not promise `tir.noalias` may be called with one array twice, and with
views that share elements, in place. `XDSL_TVM_FUZZ` sets the number of random programs,
`XDSL_TVM_FUZZ_FROM` the first of them.
"""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest

import xdsl_tvm
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.runtime.executable import load_module

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "4"))
EXTENT = 20
BASE = 44


def statement(rng: random.Random, names: list[str], number: int) -> str:
    """A loop that combines elements of two buffers into a third."""
    count = rng.randint(4, EXTENT - 8)
    kind = rng.choice(["", "", " parallel", " vectorized", " unrolled"])
    target, left, right = (rng.choice(names) for _ in range(3))
    shifts = [rng.randint(0, 8) for _ in range(3)]
    op = rng.choice(["add", "sub", "max"])
    block = rng.random() < 0.5
    # Within one buffer the iterations are independent, as a parallel loop promises.
    for position, source in enumerate((left, right), 1):
        if source == target:
            shifts[position] = shifts[0]
    v = "v" if block else "i"
    lines = [
        *(
            f"%s{k} = tir.const {shift} : i32\n%p{k} = tir.add %{v}, %s{k} : i32"
            for k, shift in enumerate(shifts)
        ),
        *([f"tir.reads %{left}[%p1], %{right}[%p2]"] if block else []),
        *([f"tir.writes %{target}[%p0]"] if block else []),
        f"%x = tir.load %{left}[%p1] : i32",
        f"%y = tir.load %{right}[%p2] : i32",
        f"%z = tir.{op} %x, %y : i32",
        f"tir.store %z, %{target}[%p0] : i32",
    ]
    body = "\n".join(lines)
    if block:
        domain = f"[%first{number} to %count{number}]"
        body = f'tir.block "B{number}" (%v : S in {domain} = %i) {{\n{body}\n}}'
    return f"""
      %first{number} = tir.const 0 : i32
      %count{number} = tir.const {count} : i32
      tir.for %i = %first{number} to %count{number}{kind} {{
        {body}
      }}"""


def program(seed: int) -> str:
    rng = random.Random(seed)
    names = ["A", "B", "C"][: rng.randint(2, 3)]
    parameters = ", ".join(f"%{name.lower()}: !tir.handle" for name in names)
    buffers = "\n".join(
        f'%{n} = tir.match_buffer "{n}" %{n.lower()} : !tir.buffer<{EXTENT}xi32>'
        for n in names
    )
    body = "".join(statement(rng, names, k) for k in range(rng.randint(1, 3)))
    return f"""
    tir.func @f({parameters}) attributes {{global_symbol = "f"}} {{
      {buffers}{body}
    }}"""


def views(rng: random.Random, base: Any, count: int) -> list[Any]:
    starts = [rng.randint(0, BASE - EXTENT) for _ in range(count)]
    if rng.random() < 0.4:
        starts[1:] = starts[:1] * (count - 1)
    return [base[start : start + EXTENT] for start in starts]


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_overlapping_views(seed: int) -> None:
    text = program(seed)
    compiled = xdsl_tvm.compile(text)["f"]
    interpreted = interpret(load_module(text))["f"]
    for call in range(6):
        outcomes: list[Any] = []
        for function in (compiled, interpreted):
            rng = random.Random(1000 * seed + call)
            base = np.arange(BASE, dtype=np.int32) * 3 % 31
            function(*views(rng, base, text.count("!tir.handle")))
            outcomes.append(base)
        assert outcomes[0].tolist() == outcomes[1].tolist(), text
