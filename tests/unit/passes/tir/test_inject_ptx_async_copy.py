"""Asynchronous copies compute what stores do, and each of their waits is needed."""

from __future__ import annotations

import os
from collections import Counter

import numpy as np
import pytest
from support.async_pipelines import PIPELINE, kernel, lowered, synchronizing, without
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.annotations import integer_of
from xdsl_tvm.interpreters.random_inputs import random_arguments
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.interpreters.tir import AsyncCopyError, RaceError, interpret
from xdsl_tvm.passes.tir import InjectPTXAsyncCopy
from xdsl_tvm.registry import new_context

CONSTANTS = "\n".join(
    f"%c{n} = tir.const {n} : i32" for n in (0, 1, 2, 4, 7, 8, 16, 31, 32, 128)
)
QUEUE = """
tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {{
  tir.attr "async_scope" (%c0) = 1 : i32 {{
    {copy}
  }}
}}
tir.attr "async_wait_queue_scope" (%c0) = 0 : i32 {{
  tir.attr "async_wait_inflight_count" (%c0) = 0 : i32 {{
    {use}
  }}
}}"""
BARRIER = """
tir.call "create_barriers"(%c1) : (i32) -> ()
tir.call "ptx_init_barrier_thread_count"(%c0, %c32) : (i32, i32) -> ()
tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
tir.attr "async_scope" (%c0) = 1 : i32 {{
  {copy}
}}
tir.call "ptx_cp_async_barrier"(%c0) : (i32) -> ()
tir.call "ptx_arrive_barrier"(%c0) : (i32) -> ()
tir.call "ptx_wait_barrier"(%c0) : (i32) -> ()
{use}"""
SIZES = (
    ("f16", 8),
    ("f16", 4),
    ("f32", 4),
    ("f32", 2),
    ("f32", 1),
    ("i8", 16),
    ("f64", 1),
)


def staged(
    dtype: str, lanes: int, waiting: str = QUEUE, *, crossing: bool = False
) -> str:
    """A kernel of 32 threads that copy `lanes` elements each through shared memory.

    With `crossing`, threads read what others copied, after a barrier.
    """
    size = 32 * lanes
    value = f"vector<{lanes}x{dtype}>" if lanes > 1 else dtype
    index = f"vector<{lanes}xi32>"
    ramps = (
        f"%r = tir.ramp %at, %c1 : {index}\n%w = tir.ramp %from, %c1 : {index}"
        if lanes > 1
        else ""
    )
    r, w = ("%r", "%w") if lanes > 1 else ("%at", "%from")
    sync = 'tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()'
    other = "tir.sub %c31, %t : i32" if crossing else "tir.add %t, %c0 : i32"
    body = waiting.format(
        copy=f"%x = tir.load %A[{r}] : {value}\ntir.store %x, %S[{r}] : {value}",
        use=(sync if crossing else "")
        + f"\n%y = tir.load %S[{w}] : {value}\ntir.store %y, %O[{r}] : {value}",
    )
    return f"""
tir.func @f(%a: !tir.handle, %o: !tir.handle) {{
  %A = tir.match_buffer "A" %a : !tir.buffer<{size}x{dtype}>
  %O = tir.match_buffer "O" %o : !tir.buffer<{size}x{dtype}>
  {CONSTANTS}
  %shared = tir.string "shared"
  tir.launch_thread %t = "threadIdx.x" to %c32 {{
    %m = tir.allocate [{size}] : !tir.ptr<{dtype}, "shared">
    %S = tir.decl_buffer "S" %m : !tir.buffer<{size}x{dtype}, "shared">
    %lanes = tir.const {lanes} : i32
    %at = tir.mul %t, %lanes : i32
    %q = {other}
    %from = tir.mul %q, %lanes : i32
    {ramps}
    {body}
  }}
}}"""


def injected(module: ModuleOp) -> ModuleOp:
    result = module.clone()
    InjectPTXAsyncCopy().apply(new_context(), result)
    result.verify()
    return result


def copies(module: ModuleOp) -> list[tir.CallOp]:
    calls = [op for op in module.walk() if isinstance(op, tir.CallOp)]
    return [op for op in calls if op.callee.data == "ptx_cp_async"]


def fault(module: ModuleOp) -> type[Exception] | None:
    """The class of the error that a run on random arguments ends with."""
    found = interpret(module)["f"]
    arguments = random_arguments(found.func, np.random.default_rng(0))
    try:
        found(*arguments)
    except InterpretationError as error:
        return type(error)
    return None


# CASE: InjectPTXAsyncCopy.1
# CASE: InjectPTXAsyncCopy.3
@pytest.mark.parametrize("waiting", [QUEUE, BARRIER], ids=["queue", "barrier"])
@pytest.mark.parametrize(("dtype", "lanes"), SIZES)
def test_each_size(dtype: str, lanes: int, waiting: str) -> None:
    module = parse(staged(dtype, lanes, waiting))
    result = injected(module)
    (copy,) = copies(result)
    assert tir.constant_value(copy.args[4]) in (4, 8, 16)
    assert "async_scope" not in str(result)
    report = check_semantics(module, (InjectPTXAsyncCopy(),), tolerance=0.0)
    assert report.checked == ["f"]


@pytest.mark.parametrize(
    ("dtype", "lanes"), [("f16", 1), ("i8", 2), ("f32", 3), ("f64", 4)]
)
def test_other_sizes_stay_stores(dtype: str, lanes: int) -> None:
    module = parse(staged(dtype, lanes))
    assert not copies(injected(module))
    assert check_semantics(module, (InjectPTXAsyncCopy(),), tolerance=0.0).checked


def test_pipeline_with_padding() -> None:
    """Guards of the loop stay, those of the prologue are decided before.

    The last iterations wait for 4, 2 and 0 groups, as each of them needs two of the
    oldest; TVM waits for 2, 1 and 0 there.
    """
    # CASE: InjectPTXAsyncCopy.4
    module = kernel(padded=True, iterations=16)
    result = injected(lowered(module, PIPELINE))
    guarded = [len(copy.args) == 6 for copy in copies(result)]
    assert guarded == [False] * 4 + [True] * 2
    stores = [
        op
        for op in result.walk()
        if isinstance(op, tir.StoreOp) and "shared" in str(op.buffer.type)
    ]
    assert len(stores) == 2
    assert all(tir.is_constant(op.value, 0.0) for op in stores)
    counts = [
        integer_of(op.value_attr) if op.value is None else tir.constant_value(op.value)
        for op in result.walk()
        if isinstance(op, tir.AttrOp) and op.key.data == "async_wait_inflight_count"
    ]
    assert counts == [5, 4, 2, 0]
    passes = f"{PIPELINE},tir-inject-ptx-async-copy"
    assert fault(lowered(module, passes)) is None


MANY = "XDSL_TVM_FUZZ" in os.environ
WAITS = (
    ("float32", 1, True, 1),
    ("float16", 4, False, 3),
    ("float32", 4, True, 1),
    ("int8", 16, False, 1),
)
MORE_WAITS = tuple((*one, 4 - ahead) for *one, ahead in WAITS)


@pytest.mark.parametrize(
    ("dtype", "lanes", "padded", "ahead"),
    [*WAITS, *(MORE_WAITS if MANY else ())],
)
def test_pipelines_need_each_of_their_waits(
    dtype: str, lanes: int, padded: bool, ahead: int
) -> None:
    """Without one wait the simulator reports the copy in flight that is read.

    The first commit may be left out, since its copies are then in the next group, which
    is waited for at the same time. The last wait of a padded pipeline is for zeros, which
    are stored at once.
    """
    flat = lowered(kernel(dtype, lanes, ahead, padded=padded), PIPELINE)
    assert check_semantics(flat, (InjectPTXAsyncCopy(),), tolerance=0.0).checked
    result = injected(flat)
    assert fault(result) is None
    found: Counter[tuple[str, type[Exception] | None]] = Counter()
    kinds = Counter(synchronizing(result))
    for number, kind in enumerate(synchronizing(result)):
        found[kind, fault(without(result, number))] += 1
    commit, wait = "async_commit_queue_scope", "async_wait_queue_scope"
    assert kinds == {commit: 2 * ahead + 2, wait: ahead + 1}
    assert found[commit, AsyncCopyError] >= kinds[commit] - (3 if padded else 1)
    assert found[wait, AsyncCopyError] == kinds[wait] - padded
    assert {error for _, error in found} <= {AsyncCopyError, None}


@pytest.mark.parametrize(("dtype", "lanes"), SIZES[:3])
def test_each_barrier_is_needed(dtype: str, lanes: int) -> None:
    result = injected(parse(staged(dtype, lanes, crossing=True)))
    assert fault(result) is None
    faults = {
        kind: fault(without(result, number))
        for number, kind in enumerate(synchronizing(result))
    }
    assert faults == {
        "async_commit_queue_scope": AsyncCopyError,
        "async_wait_queue_scope": AsyncCopyError,
        "tvm_storage_sync": RaceError,
    }


def test_a_counting_barrier_is_needed() -> None:
    result = injected(parse(staged("f32", 4, BARRIER)))
    (wait,) = [
        number
        for number, kind in enumerate(synchronizing(result))
        if kind == "ptx_wait_barrier"
    ]
    assert fault(without(result, wait)) is AsyncCopyError
