"""Marks around functions and loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.passes.tir.default_pipeline import DefaultPipeline
from xdsl_tvm.passes.tir.instrument_profile_intrinsics import (
    InstrumentProfileIntrinsics,
)
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse

HEADER = "from tvm.script import ir as I\nfrom tvm.script import tir as T\n@I.ir_module\n"
FIRST = {"tir.reset_start_id": True}
LOOPS_ONLY = {**FIRST, "tir.lwp_disable_func_prof": True}


def nest(*lines: str) -> str:
    """A function `f`; each line opens a loop, by its depth."""
    found: list[str] = []
    for index, line in enumerate(lines):
        depth = len(line) - len(line.lstrip())
        kind = "T.parallel" if line.strip().startswith("p") else "T.serial"
        indent = "    " * (2 + depth)
        found.append(f"{indent}for v{index} in {kind}(2):")
        following = lines[index + 1] if index + 1 < len(lines) else ""
        inner = len(following) - len(following.lstrip())
        if not following or inner <= depth:
            found.append(f"{indent}    A[0] = A[0] + 1")
    body = "\n".join(found)
    return f"""
class Module:
    @T.prim_func
    def f(A: T.Buffer(1, "int32")):
{body}
"""


TWICE = nest("i", " j", "  k", "   l", "  k", "   l")


def marked(text: str, config: dict[str, Any]) -> ModuleOp:
    module = parse(HEADER + text.lstrip())
    with PassContext(config=config):
        InstrumentProfileIntrinsics().apply(new_context(), module)
    module.verify()
    return module


def marks(module: ModuleOp, name: str = "start") -> list[Any]:
    return [
        tir.constant_value(op.args[0])
        for op in module.walk()
        if isinstance(op, tir.CallOp) and op.callee.data == f"{name}_profile_intrinsic"
    ]


def around(module: ModuleOp) -> dict[int, str]:
    """The loop that each mark is before, by its variable."""
    found: dict[int, str] = {}
    for op in module.walk():
        if isinstance(op, tir.CallOp) and op.callee.data == "start_profile_intrinsic":
            after = op.next_op
            assert isinstance(after, tir.ForOp)
            ends = after.next_op
            assert ends is not None
            assert isinstance(ends.next_op, tir.CallOp)
            number = tir.constant_value(op.args[0])
            assert number == tir.constant_value(ends.next_op.args[0])
            assert isinstance(number, int)
            found[number] = after.loop_var.name_hint or ""
    return found


def test_siblings() -> None:
    """CASE: InstrumentProfileIntrinsics.1"""
    assert around(marked(TWICE, LOOPS_ONLY)) == {3: "v2", 5: "v4"}


def test_the_depth_means_nothing_for_siblings() -> None:
    """CASE: InstrumentProfileIntrinsics.2"""
    assert marks(marked(TWICE, {**LOOPS_ONLY, "tir.lwp_max_depth": 3})) == [3, 5]


def test_loops_by_depth() -> None:
    """CASE: InstrumentProfileIntrinsics.3"""
    config = {**LOOPS_ONLY, "tir.instr_siblings": False, "tir.lwp_max_depth": 3}
    found = around(marked(TWICE, config))
    assert found == {1: "v0", 2: "v1", 3: "v2", 5: "v4"}


def test_siblings_of_two_depths() -> None:
    """CASE: InstrumentProfileIntrinsics.4"""
    text = nest(
        "i", " j", "  k", "   l", "  k", "   l", " j", "  k", "   l", "  k", "   l"
    )
    module = marked(text, LOOPS_ONLY)
    assert sorted(marks(module)) == [2, 3, 5, 7, 8, 10]


def test_height() -> None:
    """CASE: InstrumentProfileIntrinsics.5"""
    config = {
        **LOOPS_ONLY,
        "tir.instr_siblings": False,
        "tir.lwp_max_depth": 3,
        "tir.lwp_min_height": 2,
    }
    assert marks(marked(TWICE, config)) == [1, 2]


def test_parallel_loops() -> None:
    """CASE: InstrumentProfileIntrinsics.6"""
    text = nest(
        "i", " p", "  k", "   l", "  k", "   l", " j", "  p", "   l", "  p", "   l"
    )
    assert sorted(marks(marked(text, LOOPS_ONLY))) == [2, 7, 8, 10]


def test_parallel_loops_at_the_top() -> None:
    """TVM marks what their threads run."""
    text = nest("p", " j", "  k", "   l", "  k", "   l")
    assert marks(marked(text, LOOPS_ONLY)) == []


def test_functions() -> None:
    """CASE: InstrumentProfileIntrinsics.7 CASE: InstrumentProfileIntrinsics.9"""
    module = marked(nest("i"), FIRST)
    assert marks(module) == marks(module, "end") == [0]
    assert marks(marked(nest("i"), LOOPS_ONLY)) == []


TWO = """
class Module:
    @T.prim_func
    def f(A: T.Buffer(1, "int32")):
        for i in range(2):
            for j in range(2):
                A[0] = A[0] + 1

    @T.prim_func
    def g(A: T.Buffer(1, "int32")):
        A[0] = 3
"""


def test_numbers_go_on() -> None:
    """CASE: InstrumentProfileIntrinsics.8"""
    assert marks(marked(TWO, FIRST)) == [0, 3]
    assert marks(marked(TWO, {})) == [4, 7]
    assert marks(marked(TWO, FIRST)) == [0, 3]


def test_a_function_that_does_nothing() -> None:
    """CASE: InstrumentProfileIntrinsics.10"""
    text = """
class Module:
    @T.prim_func
    def f():
        T.evaluate(0)
"""
    module = marked(text, FIRST)
    names = [op.name for op in module.walk() if op.name.startswith("tir.")]
    assert names == ["tir.func", *2 * ["tir.const", "tir.call"]]


MANY = """
class Module:
    @T.prim_func
    def f(A: T.Buffer(1, "int32")):
        p = T.allocate((4,), "int32")
        P = T.decl_buffer(4, "int32", data=p)
        for i in range(2):
            for j in range(2):
                P[0] = i
        for i in range(2):
            for j in range(2):
                A[0] = P[0]
"""


def test_outermost_loops() -> None:
    """CASE: InstrumentProfileIntrinsics.11: below the declaration of a buffer, too."""
    config = {**FIRST, "tir.instr_siblings": False}
    module = marked(MANY, config)
    assert marks(module) == [0, 1, 3]
    (func,) = [op for op in module.walk() if isinstance(op, tir.FuncOp)]
    first = next(op for op in func.body.block.ops if isinstance(op, tir.CallOp))
    assert first.callee.data == "start_profile_intrinsic"
    position = [op.name for op in func.body.block.ops]
    assert position.index("tir.call") < position.index("tir.allocate")


RETURNS = """
class Module:
    @T.prim_func
    def f(A: T.Buffer(4, "int32")) -> T.int32:
        for i in range(4):
            for j in range(2):
                for k in range(2):
                    if A[i] == j * 2 + k:
                        T.ret(i)
            for j in range(2):
                for k in range(2):
                    A[i] = A[i] + 1
        T.ret(T.int32(-1))
"""


def test_returns_end_what_was_begun() -> None:
    """TVM skips the end marks."""
    module = marked(RETURNS, {**FIRST, "tir.instr_siblings": True})
    assert marks(module) == [0, 2, 4]
    assert marks(module, "end") == [2, 0, 2, 4, 0]
    assert interpret(module)["f"](np.array([9, 9, 1, 9], np.int32)) == 2


@pytest.mark.parametrize("on", [True, False])
def test_configuration_of_the_pipeline(on: bool) -> None:
    with PassContext(config={"tir.instrument_lwp": on}):
        names = [each.name for each in DefaultPipeline().passes()]
    assert ("tir-instrument-profile-intrinsics" in names) is on
