"""Random programs call packed functions with the same arguments once they are lowered.

The ordinary run takes a few programs; `XDSL_TVM_FUZZ=1000` takes that many.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from support.packed_call_programs import random_packed_calls
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.data.memory import memory_of
from xdsl_tvm.interpreters.tir import Pointer, interpret
from xdsl_tvm.passes.tir.lower_tvm_builtin import LowerTVMBuiltin
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "4"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
HEAD = """from tvm.script import ir as I
from tvm.script import tir as T
@I.ir_module
class Module:
    @T.prim_func
    def f(n: T.int32, x: T.float32, p: T.handle, a: T.handle("float32")):
        T.func_attr({"target": T.target("llvm")})
"""
GONE = frozenset(("tvm_call_packed", "tvm_stack_make_array", "tvm_stack_make_shape"))


def program(seed: int, arrays: bool) -> ModuleOp:
    lines = random_packed_calls(seed, arrays).splitlines()
    return parse(HEAD + "".join(f"        {line}\n" for line in lines))


def recorded(module: ModuleOp, n: int) -> list[Any]:
    """All calls in order, with what they pass."""
    calls: list[Any] = []
    conditions = [0]

    def seen(value: Any) -> object:
        if isinstance(value, Pointer):
            return "handle"
        if getattr(value, "ndim", 0):
            return ("array", value.shape, value.tolist())
        return value

    def called(name: str) -> Any:
        def call(*values: Any) -> int:
            calls.append((name, *map(seen, values)))
            return len(calls) * 7 % 11 - 5

        return call

    def more(value: int) -> int:
        calls.append(("more", value))
        conditions[0] += 1
        # Loops within each other end as well.
        return int(conditions[0] % 3 != 0 and conditions[0] < 10)

    found = interpret(module, externs={"g": called("g"), "h": called("h"), "more": more})
    memory = np.arange(16, dtype=np.float32)
    found["f"](n, 1.5, memory_of(np.zeros(4, np.int32)), memory)
    assert found.workspaces.count == 0
    return calls


@pytest.mark.parametrize("arrays", [False, True])
def test_calls_pass_the_same(arrays: bool) -> None:
    workspaces = 0
    for seed in range(FIRST, FIRST + COUNT):
        module = program(seed, arrays)
        before = [recorded(module, n) for n in (-2, 3)]
        LowerTVMBuiltin().apply(new_context(), module)
        module.verify()
        names = [op.callee.data for op in module.walk() if isinstance(op, tir.CallOp)]
        assert GONE.isdisjoint(names)
        workspaces += "TVMBackendAllocWorkspace" in names
        assert [recorded(module, n) for n in (-2, 3)] == before, f"seed {seed}"
    assert workspaces >= COUNT // 6
