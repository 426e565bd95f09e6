"""DMA transfers compute what copies do, and each of their waits is needed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from support.async_pipelines import (
    PIPELINE,
    host_pipeline,
    lowered,
    synchronizing,
    without,
)
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.random_inputs import random_arguments
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.interpreters.tir import AsyncCopyError, interpret
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.passes.tir import DefaultPipeline, LowerAsyncDMA
from xdsl_tvm.registry import new_context


def transferred(module: ModuleOp) -> ModuleOp:
    result = module.clone()
    LowerAsyncDMA().apply(new_context(), result)
    result.verify()
    return result


def calls(module: ModuleOp, name: str) -> list[tir.CallOp]:
    found = [op for op in module.walk() if isinstance(op, tir.CallOp)]
    return [op for op in found if op.callee.data == name]


def fault(module: ModuleOp) -> type[Exception] | None:
    """The class of the error that a run on random arguments ends with."""
    found = interpret(module)["f"]
    try:
        found(*random_arguments(found.func, np.random.default_rng(0)))
    except InterpretationError as error:
        return type(error)
    return None


# CASE: LowerAsyncDMA.7
@pytest.mark.parametrize("inputs", [1, 2])
@pytest.mark.parametrize(("dtype", "ahead"), [("int8", 1), ("float32", 1), ("int16", 3)])
def test_pipelines(dtype: str, ahead: int, inputs: int) -> None:
    """Without one wait the interpreter reports the transfer in flight that is read."""
    flat = lowered(host_pipeline(dtype, 16, ahead, inputs=inputs), PIPELINE)
    with PassContext(config={"tir.experimental_dma_bypass_cache": True}):
        assert check_semantics(flat, (LowerAsyncDMA(),), tolerance=0.0).checked == ["f"]
        result = transferred(flat)
    found = calls(result, "dma_copy")
    assert len(found) == inputs * (ahead + 1)
    size = 16 * {"int8": 1, "int16": 2, "float32": 4}[dtype]
    for copy in found:
        assert [tir.constant_value(arg) for arg in copy.args[3:]] == [size, 1]
    assert len(calls(result, "dma_start_group")) == len(calls(result, "dma_end_group"))
    assert len(calls(result, "dma_start_group")) == ahead + 1
    assert "async_wait" not in str(result)
    missing: Counter[tuple[str, type[Exception] | None]] = Counter()
    for number, kind in enumerate(synchronizing(result)):
        missing[kind, fault(without(result, number))] += 1
    assert missing["dma_wait", AsyncCopyError] == ahead + 1
    assert missing["dma_wait", None] == 0


def test_bypass_is_off_by_default() -> None:
    flat = lowered(host_pipeline(), PIPELINE)
    (first, _) = calls(transferred(flat), "dma_copy")
    assert tir.constant_value(first.args[4]) == 0


LOOP = """
tir.func @f(%a: !tir.handle, %b: !tir.handle, %n: i32, %m: i32) {{
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %zero = tir.const 0.0 : f32
  tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {{
    {body}
  }}
  tir.attr "async_wait_queue_scope" (%c0) = 0 : i32 {{
    tir.attr "async_wait_inflight_count" (%c0) = 0 : i32 {{
      tir.store %zero, %B[%c0] : f32
    }}
  }}
}}"""
COPY = """tir.for %i = %c0 to {extent} {{
  %x = tir.load %A[%i] : f32
  tir.store %x, %B[%i] : f32
}}"""


@pytest.mark.parametrize("count", [-3, 0, 1, 64])
def test_a_loop_that_may_not_run(count: int) -> None:
    module = parse(LOOP.format(body=COPY.format(extent="%n")))
    result = transferred(module)
    assert len(calls(result, "dma_copy")) == 1
    for each in (module, result):
        given, out = np.arange(64, dtype=np.float32), np.full(64, 7, np.float32)
        interpret(each)["f"](given, out, count, 1)
        wanted = np.full(64, 7, np.float32)
        wanted[: max(count, 0)] = given[: max(count, 0)]
        wanted[0] = 0
        assert (out == wanted).all()


def test_two_unknown_extents_have_a_product_of_unknown_sign() -> None:
    nest = """tir.for %i = %c0 to %n {
      tir.for %j = %c0 to %m {
        %r = tir.mul %i, %m : i32
        %k = tir.add %r, %j : i32
        %x = tir.load %A[%k] : f32
        tir.store %x, %B[%k] : f32
      }
    }"""
    result = transferred(parse(LOOP.format(body=nest)))
    loops = [op for op in result.walk() if isinstance(op, tir.ForOp)]
    # The inner loop is transferred, which is one loop.
    assert len(loops) == 1
    assert len(calls(result, "dma_copy")) == 1


def test_a_wait_before_the_commit_of_a_loop() -> None:
    """The queue is in use from the second iteration on."""
    ends = '{{\n tir.attr "async_wait_inflight_count" (%c0) = 0 : i32 {{\n }}\n }}\n'
    wait = f'  tir.attr "async_wait_queue_scope" (%c0) = 0 : i32 {ends}'
    commit = '  tir.attr "async_commit'
    text = LOOP.replace("{body}", COPY.replace("{extent}", "%c8"))
    text = text.replace(commit, f"  tir.for %k = %c0 to %c8 {{{{\n{wait}{commit}")
    text = text.replace(
        '  }}\n  tir.attr "async_wait', '  }}\n  }}\n  tir.attr "async_wait'
    )
    module = parse(text.format())
    result = transferred(module)
    assert len(calls(result, "dma_wait")) == 2
    assert check_semantics(module, (LowerAsyncDMA(),), tolerance=0.0).checked


def test_commit_scopes_that_hold_others_are_not_transferred() -> None:
    inner = (
        '    tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {\n'
        + COPY.format(extent="%c8")
        + "\n}\n"
    )
    again = COPY.format(extent="%c8").replace("%B[%i]", "%B[%j]")
    again = again.replace("tir.store", "%j = tir.add %i, %c8 : i32\n tir.store")
    module = parse(LOOP.format(body=inner + again))
    result = transferred(module)
    assert len(calls(result, "dma_copy")) == 1
    assert check_semantics(module, (LowerAsyncDMA(),), tolerance=0.0).checked


def test_default_pipeline() -> None:
    """The pass is in the default pipeline where asynchronous copies are asked for."""
    module = host_pipeline("int16", 16, 2, inputs=2)
    result = module.clone()
    with PassContext(config={"tir.use_async_copy": True}):
        one = DefaultPipeline()
        assert check_semantics(module, (one,), tolerance=0.0, runs=1).checked == ["f"]
        one.apply(new_context(), result)
    assert len(calls(result, "dma_copy")) == 6
