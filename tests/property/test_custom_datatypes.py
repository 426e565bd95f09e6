"""Random programs in a custom dtype, lowered, and in the native dtype of its bits.

`XDSL_TVM_FUZZ` sets the number of programs.
"""

from __future__ import annotations

import os
import random

import numpy as np
from support.tiny_dtype import functions, registered

from xdsl_tvm.dialects.dtypes import numpy_float
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.tir import LowerCustomDatatypes
from xdsl_tvm.tvmscript import parse

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "6"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))


def expression(choose: random.Random, depth: int) -> str:
    """A value of the dtype."""
    if depth == 0 or choose.random() < 0.15:
        number = choose.choice((0.5, 1.0, -3.25, 100.0))
        leaves = ("A[i]", "B[i]", "D[0]", f'T.FloatImm("DTYPE", {number})')
        return choose.choice((*leaves, 'T.Cast("DTYPE", F[i])'))
    a, b = (expression(choose, depth - 1) for _ in range(2))
    kind = choose.randrange(7)
    if kind < 3:
        return f"({a} {choose.choice('+-*')} {b})"
    if kind < 5:
        return f"T.{choose.choice(('min', 'max'))}({a}, {b})"
    if kind == 5:
        return f'T.Cast("DTYPE", T.Cast("float32", {a}) * F[i])'
    chosen = choose.choice(("if_then_else", "Select"))
    return f"T.{chosen}(A[i] < {b}, {a}, {b})"


def program(seed: int) -> str:
    choose = random.Random(seed)
    statements = [
        f"D[0] = {expression(choose, 2)}",
        f"B[i] = {expression(choose, 3)}",
        f'F[i] = T.Cast("float32", {expression(choose, 2)})',
    ]
    choose.shuffle(statements)
    body = "\n        ".join(statements)
    return f"""
@T.prim_func
def f(A: T.Buffer((12,), "DTYPE"), B: T.Buffer((12,), "DTYPE"),
      F: T.Buffer((12,), "float32")):
    T.func_attr({{"target": T.target("llvm")}})
    C = T.allocate([1], "DTYPE", "local")
    D = T.Buffer((1,), "DTYPE", data=C, scope="local")
    D[0] = A[0]
    for i in range(12):
        {body}
"""


def test_random_programs() -> None:
    narrow = numpy_float("bfloat16")
    for seed in range(FIRST, FIRST + COUNT):
        text = program(seed)
        rng = np.random.default_rng(seed)
        a, b = rng.normal(size=(2, 12)).astype(narrow)
        f = rng.normal(size=12).astype(np.float32)
        native = a.copy(), b.copy(), f.copy()
        interpret(parse(text.replace("DTYPE", "bfloat16")))["f"](*native)
        with registered():
            custom = parse(text.replace("DTYPE", "custom[tiny16]16"))
            lowered = LowerCustomDatatypes()(custom)
        lowered.verify()
        run = interpret(lowered, externs=functions())["f"]
        run(a.view(np.uint16), b.view(np.uint16), f)
        for found, wanted in zip((a, b, f), native, strict=True):
            wide = found.astype(np.float32), wanted.astype(np.float32)
            assert np.array_equal(*wide, equal_nan=True), (seed, text)
