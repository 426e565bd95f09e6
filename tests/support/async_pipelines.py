"""Software pipelines that stage memory through shared memory or VTCM, as scripts.

`kernel` is a kernel whose threads copy rows into shared memory some iterations ahead, and
`host_pipeline` a loop that copies rows into VTCM. Both are modules before
InjectSoftwarePipeline; `without` takes one statement out of a lowered module.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from xdsl_tvm import tvmscript
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra.pipeline_runner import parse_passes
from xdsl_tvm.passes.tir.rewriting.statements import replace_by_body
from xdsl_tvm.registry import all_passes, new_context

PIPELINE = (
    "tir-unify-thread-binding,tir-inject-software-pipeline,tir-lower-opaque-block,"
    "tir-flatten-buffer,tir-vectorize-loop,tir-unroll-loop,tir-simplify"
)
"""From blocks to flat code with asynchronous scopes."""


def parsed(script: str) -> ModuleOp:
    module = tvmscript.parse("from tvm.script import tir as T\n@T.prim_func\n" + script)
    assert isinstance(module, ModuleOp)
    return module


def lowered(module: ModuleOp, pipeline: str) -> ModuleOp:
    """A copy of a module after passes, verified."""
    result = module.clone()
    for one in parse_passes(all_passes(), pipeline):
        one.apply(new_context(), result)
    result.verify()
    return result


def kernel(
    dtype: str = "float32",
    lanes: int = 1,
    ahead: int = 3,
    *,
    padded: bool = False,
    order: tuple[int, int, int] = (0, 2, 1),
    iterations: int = 10,
    threads: int = 8,
    scope: str = "shared",
) -> ModuleOp:
    """Threads that add rows of two matrices, which they copy `ahead` iterations before.

    An iteration copies `lanes` elements of each matrix for each thread; with `padded`,
    the first and the last iteration copy zeros instead, which are outside of the rows.
    """
    rows = iterations - 2 if padded else iterations
    shift = 1 if padded else 0
    zero = f"T.{dtype}(0)"

    def copied(source: str) -> str:
        value = f"{source}[(i - {shift}) * {threads * lanes} + tx * {lanes} + v]"
        if not padded:
            return value
        guard = f"1 <= i and i < {iterations - 1}"
        return f"T.if_then_else({guard}, {value}, {zero}, dtype='{dtype}')"

    size, row = rows * threads * lanes, threads * lanes
    annotations = (
        f"{{'software_pipeline_stage': [0, 0, {ahead}], "
        f"'software_pipeline_order': {list(order)}, "
        "'software_pipeline_async_stages': [0]}"
    )

    def block(name: str, reads: str, writes: str, body: str) -> str:
        return (
            f"                with T.block('{name}'):\n"
            f"                    T.reads({reads})\n"
            f"                    T.writes({writes})\n"
            f"                    for v in T.vectorized({lanes}):\n"
            f"                        {body}\n"
        )

    def copy(name: str) -> str:
        place = f"{name}S[tx, 0:{lanes}]"
        return block(name, f"{name}[0:{size}]", place, f"{name}S[tx, v] = {copied(name)}")

    total = f"C[i * {row} + tx * {lanes} + v] = AS[tx, v] + BS[tx, v]"
    alloc = f"T.alloc_buffer(({threads}, {lanes}), '{dtype}', scope='{scope}')"
    return parsed(
        f"def f(A: T.Buffer({size}, '{dtype}'), B: T.Buffer({size}, '{dtype}'), "
        f"C: T.Buffer({iterations * row}, '{dtype}')):\n"
        f"    for tx in T.thread_binding({threads}, thread='threadIdx.x'):\n"
        f"        for i in T.serial({iterations}, annotations={annotations}):\n"
        "            with T.block('compute'):\n"
        f"                T.reads(A[0:{size}], B[0:{size}])\n"
        f"                T.writes(C[0:{iterations * row}])\n"
        f"                AS = {alloc}\n"
        f"                BS = {alloc}\n"
        + copy("A")
        + copy("B")
        + block(
            "C",
            f"AS[tx, 0:{lanes}], BS[tx, 0:{lanes}]",
            f"C[0:{iterations * row}]",
            total,
        )
    )


def host_pipeline(
    dtype: str = "int8", width: int = 16, ahead: int = 1, *, inputs: int = 1
) -> ModuleOp:
    """A loop that doubles rows of one matrix, or adds those of two, staged in VTCM."""
    names = ("A", "B")[:inputs]
    rows = 8
    size = rows * width
    stages = [0] * inputs + [ahead]
    annotations = (
        f"{{'software_pipeline_stage': {stages}, "
        f"'software_pipeline_order': {list(range(inputs + 1))}, "
        "'software_pipeline_async_stages': [0]}"
    )
    parameters = ", ".join(f"{name}: T.Buffer({size}, '{dtype}')" for name in names)
    text = (
        f"def f({parameters}, C: T.Buffer({size}, '{dtype}')):\n"
        f"    for i in T.serial({rows}, annotations={annotations}):\n"
        "        with T.block('compute'):\n"
        f"            T.reads({', '.join(f'{name}[0:{size}]' for name in names)})\n"
        f"            T.writes(C[0:{size}])\n"
    )
    for name in names:
        text += (
            f"            {name}V = T.alloc_buffer({width}, '{dtype}', "
            "scope='global.vtcm')\n"
        )
    for name in names:
        text += (
            f"            with T.block('{name}'):\n"
            f"                T.reads({name}[0:{size}])\n"
            f"                T.writes({name}V[0:{width}])\n"
            f"                for j in range({width}):\n"
            f"                    {name}V[j] = {name}[i * {width} + j]\n"
        )
    last = names[-1]
    return parsed(
        text + "            with T.block('C'):\n"
        f"                T.reads({', '.join(f'{n}V[0:{width}]' for n in names)})\n"
        f"                T.writes(C[0:{size}])\n"
        f"                for j in range({width}):\n"
        f"                    C[i * {width} + j] = AV[j] + {last}V[j]\n"
    )


WAITING = (
    "async_commit_queue_scope",
    "async_wait_queue_scope",
)
"""Attributes that commit copies or wait for them."""
SYNCHRONIZING = (
    "dma_wait",
    "ptx_wait_group",
    "ptx_wait_barrier",
    "ptx_commit_group",
    "tvm_storage_sync",
)
"""Calls that commit copies, wait for them, or for other threads."""


def synchronizing(module: ModuleOp) -> Iterator[str]:
    """What the statements that `without` counts are."""
    for op in module.walk():
        if isinstance(op, tir.AttrOp) and op.key.data in WAITING:
            yield op.key.data
        elif isinstance(op, tir.CallOp) and op.callee.data in SYNCHRONIZING:
            yield op.callee.data


def without(module: ModuleOp, number: int) -> ModuleOp:
    """A copy of a module that lacks one commit, wait or barrier."""
    result = module.clone()
    found: list[Operation] = [
        op
        for op in result.walk()
        if (isinstance(op, tir.AttrOp) and op.key.data in WAITING)
        or (isinstance(op, tir.CallOp) and op.callee.data in SYNCHRONIZING)
    ]
    op = found[number]
    if not isinstance(op, tir.AttrOp):
        Rewriter.erase_op(op)
        return result
    inner = [each for each in op.body.block.ops if isinstance(each, tir.AttrOp)]
    for each in inner:
        if each.key.data == "async_wait_inflight_count":
            replace_by_body(each, each.body.block)
    replace_by_body(op, op.body.block)
    return result
