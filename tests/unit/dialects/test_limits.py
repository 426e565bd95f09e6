"""Programs that would become too much code are refused, and those near it are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException, PassFailedException

import xdsl_tvm
from xdsl_tvm.dialects import tir
from xdsl_tvm.lowering.tir.conversion.types import MAX_VECTOR_LANES
from xdsl_tvm.passes.relax.legalize.manipulate import MAX_CONCATENATED
from xdsl_tvm.passes.tir.rewriting.limits import MAX_COPIED_OPS
from xdsl_tvm.tvmscript.errors import ScriptError
from xdsl_tvm.tvmscript.parser import parse

SCRIPT = """
@T.prim_func
def main(A: T.Buffer(({size},), "float32")):
    T.func_attr({{"global_symbol": "main"}})
    {body}
"""


def script(size: int, body: str) -> Any:
    return parse(SCRIPT.format(size=size, body=body))


def test_vectors_of_more_lanes_than_a_dtype_has() -> None:
    lanes = tir.MAX_LANES
    for body in (
        f"A[T.Ramp(0, 1, {lanes + 1})] = T.Broadcast(T.float32(1), {lanes + 1})",
        "A[T.Ramp(0, 1, T.vscale() * 65536)] = T.float32(1)",
    ):
        message = "65536 lanes are more than the 65535 that a vector can have"
        with pytest.raises(ScriptError, match=message):
            script(lanes + 1, body)
    with pytest.raises(ValueError, match="a vector has at most 65535 lanes"):
        tir.parse_dtype("float32x65536")


@pytest.mark.parametrize(
    "body",
    [
        "A[T.Ramp(0, 1, {n})] = T.Broadcast(T.float32(1), {n})",
        "for i in T.vectorized({n}):\n        A[i] = T.float32(1)",
    ],
)
def test_vectors_of_more_lanes_than_are_compiled(body: str) -> None:
    pytest.importorskip("llvmlite")
    count = MAX_VECTOR_LANES + 1
    module = script(count, body.format(n=count))
    message = "has more than the 4096 lanes that vectors are compiled with; use a loop"
    with pytest.raises(PassFailedException, match=message):
        xdsl_tvm.compile(module)


def test_unrolling_of_as_many_ops_as_there_may_be() -> None:
    from xdsl_tvm.passes.tir.unroll_loop import UnrollLoop
    from xdsl_tvm.registry import new_context

    count = 2000
    assert count < MAX_COPIED_OPS
    module = script(16, f"for i in T.unroll({count}):\n        T.evaluate(i)")
    UnrollLoop().apply(new_context(), module)
    assert sum(isinstance(op, tir.EvaluateOp) for op in module.walk()) == count


def joined(count: int) -> str:
    """The tensors x and y in turn, `count` in all."""
    operands = ", ".join("%x" if n % 2 == 0 else "%y" for n in range(count))
    types = ", ".join(["tensor<1xf32>"] * count)
    return f"""
relax.func @main(%x: tensor<1xf32>, %y: tensor<1xf32>) -> tensor<{count}xf32>
    attributes {{global_symbol = "main"}} {{
  %t = relax.tuple({operands}) : {types}
  %0 = relax.concat %t axis 0 : (!relax.tuple<{types}>) -> tensor<{count}xf32>
  relax.return %0 : tensor<{count}xf32>
}}"""


def test_concat_of_many_tensors() -> None:
    """The kernel is no deeper than Python can follow."""
    pytest.importorskip("llvmlite")
    main = xdsl_tvm.compile(joined(35), optimize=False)["main"]
    result = main(np.array([1], "f4"), np.array([2], "f4"))
    np.testing.assert_array_equal(result, [1 + n % 2 for n in range(35)])


def test_concat_of_too_many_tensors() -> None:
    message = "5000 tensors are more than the 4096 that one kernel concatenates"
    assert MAX_CONCATENATED == 4096
    with pytest.raises(PassFailedException, match=f"relax.concat: {message}"):
        xdsl_tvm.compile(joined(5000), optimize=False)


def test_constants_of_too_many_elements() -> None:
    dtype = "tensor<1000000x1000000xf32>"
    constant = f"relax.constant dense<1.0> : {dtype}"
    text = f"relax.func @f() -> {dtype} {{\n  %0 = {constant}\n}}"
    message = "^<text>:2:36: error: a constant of 1000000000000 elements, more than the"
    with pytest.raises(ValueError, match=message):
        xdsl_tvm.compile(text)


def test_vectors_in_text() -> None:
    text = "tir.func @f(%x: f32) {\n  %0 = tir.broadcast %x : vector<65536xf32>\n}"
    with pytest.raises((ValueError, DiagnosticException), match="of 2 to 65535 lanes"):
        xdsl_tvm.compile(text)


def test_partition_of_nested_loops_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of parts double for every loop; beyond the limit loops stay whole."""
    from xdsl_tvm.passes.tir import _loop_partition as _partition
    from xdsl_tvm.passes.tir.loop_partition import LoopPartition
    from xdsl_tvm.registry import new_context

    monkeypatch.setattr(_partition, "MAX_COPIED_OPS", 1000)
    depth = 10
    lines = [f"{' ' * (n + 4)}for i{n} in T.serial(100):\n" for n in range(depth)]
    inner = " " * (depth + 4)
    lines += [
        f"{inner}if T.likely(i{n} < 50):\n{inner} A[0] = A[0] + T.float32(1)\n"
        for n in range(depth)
    ]
    module = script(16, "".join(lines).strip())
    before = sum(1 for _ in module.walk())
    LoopPartition(partition_const_loop=True).apply(new_context(), module)
    module.verify()
    after = sum(1 for _ in module.walk())
    assert before < after < 2500


def test_modules_that_are_nested_too_deeply() -> None:
    """Built in Python, too."""
    module = ModuleOp([])
    for _ in range(2000):
        module = ModuleOp([module])
    with pytest.raises(ValueError, match="the module: nesting is deeper than Python's"):
        xdsl_tvm.compile(module)
