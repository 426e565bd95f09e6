"""The code of threads: what `_emitter.py` writes for thread axes and their meetings.

A kernel begins at the outermost `tir.launch_thread`, or loop bound to a thread axis. All
that such a launch holds is run by every thread; a loop is complete before what follows
it, so loops over `blockIdx` run one iteration after the other, threads begin at a loop
over `threadIdx`, and where one axis is bound by several loops the threads wait for each
other before and behind each.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.types import is_handle, is_vector
from xdsl_tvm.interpreters._numbers import Number, number
from xdsl_tvm.interpreters.errors import unsupported
from xdsl_tvm.interpreters.gpu_simulator import Meeting

if TYPE_CHECKING:
    from xdsl_tvm.interpreters._emitter import Emitter

AxisOp: TypeAlias = "tir.ForOp | tir.LaunchThreadOp"

_BLOCK_TAGS = tuple(reversed(tir.BLOCK_TAGS))
_THREAD_TAGS = tir.THREAD_TAGS
_EXTENT_OPS = (tir.ConstOp, tir.BinaryOp, tir.CastOp, tir.LetOp)
_SHUFFLES = {
    "tvm_warp_shuffle": "shuffle",
    "tvm_warp_shuffle_up": "shuffle_up",
    "tvm_warp_shuffle_down": "shuffle_down",
    "cuda.__shfl_sync": "shuffle",
    "cuda.__shfl_up_sync": "shuffle_up",
    "cuda.__shfl_down_sync": "shuffle_down",
}


def axis_tag(op: Operation) -> str | None:
    """The axis of the GPU's grid that an op opens, None for other ops and tags."""
    tag = None
    if isinstance(op, tir.LaunchThreadOp) and op.virtual is None:
        tag = op.tag.data
    elif isinstance(op, tir.ForOp) and op.thread_tag is not None:
        tag = op.thread_tag.data
    return tag if tag in _BLOCK_TAGS or tag in _THREAD_TAGS else None


def has_threads(func: tir.FuncOp) -> bool:
    """Whether a function opens an axis of the GPU's grid."""
    return any(axis_tag(op) is not None for op in func.walk())


def is_watched(scope: str) -> bool:
    """Whether threads share the memory of a storage scope."""
    return scope.startswith(("global", "shared", "warp"))


def allocation(e: Emitter, op: Operation, scope: str, arguments: str) -> str:
    """The text of an allocation; what threads share is made by the first one."""
    if not (e.threads and scope.startswith(("shared", "warp"))):
        return f"allocate({arguments})"
    site = e.settings.grid.site(op)
    return f"grid.allocate({site}, {scope.startswith('warp')}, {arguments})"


# ---- axes ----


def thread_axis(
    e: Emitter, op: AxisOp, low: SSAValue | None, extent: SSAValue, tag: str
) -> None:
    """Run the body of an op that opens a thread axis."""
    if tag in e.axes:
        _reopen(e, op, low, extent, tag)
        return
    with _launch(e):
        if isinstance(op, tir.ForOp) and tag in _BLOCK_TAGS:
            _block_loop(e, tag, e[extent], lambda: _reopen(e, op, low, extent, tag))
        else:
            _threads(e, op, lambda: _reopen(e, op, low, extent, tag))


@contextmanager
def _launch(e: Emitter) -> Generator[None]:
    if e.launch:
        yield
        return
    e.line("grid.begin()")
    e.launch = True
    yield
    e.launch = False
    e.line("grid.end()")


def _block_loop(e: Emitter, tag: str, count: str, body: Callable[[], None]) -> None:
    name = e.fresh("v")
    e.axes[tag] = (name, count)
    with e.loop(f"for {name} in range({count}):"):
        e.line(f"grid.enter_block({'xyz'.index(tag[-1])}, {name})")
        body()
    del e.axes[tag]


def _reopen(
    e: Emitter, op: AxisOp, low: SSAValue | None, extent: SSAValue, tag: str
) -> None:
    """The body, with the index of the axis as its variable."""
    index, size = e.axes[tag]
    count = e[extent]
    if count != size:
        e.line(f"check_axis({tag!r}, {size}, {count})")
    variable = op.body.block.args[0]
    start = "0" if low is None else e[low]
    first = (0, 0) if low is None else e.interval(low)
    e.ranges[variable] = (first[0], first[1] + max(0, e.interval(extent)[1] - 1))
    if start == "0":
        e.names[variable] = index
        e.below[variable] = count
    else:
        e.define(variable, f"{start} + {index}")
    meets = e.threads and isinstance(op, tir.ForOp) and tag in e.repeated
    if meets:
        _wait(e, Meeting("loop", op))
    e.block(op.body.block)
    if meets:
        _wait(e, Meeting("loop", op))


def _threads(e: Emitter, root: AxisOp, body: Callable[[], None]) -> None:
    """Run `body` in every thread of the axes that `root` holds."""
    extents: dict[str, str] = {}
    e.repeated = set()
    for op in root.walk():
        tag = axis_tag(op)
        if tag is None:
            continue
        assert isinstance(op, tir.ForOp | tir.LaunchThreadOp)
        if tag not in extents:
            extents[tag] = _hoisted(e, op, op.extent)
        elif isinstance(op, tir.ForOp):
            e.repeated.add(tag)
    blocks = [tag for tag in _BLOCK_TAGS if tag in extents and tag not in e.axes]

    def nest(position: int) -> None:
        if position < len(blocks):
            tag = blocks[position]
            _block_loop(e, tag, extents[tag], lambda: nest(position + 1))
        else:
            _thread_function(e, root, extents, body)

    nest(0)


def _thread_function(
    e: Emitter, root: AxisOp, extents: dict[str, str], body: Callable[[], None]
) -> None:
    name = e.fresh("threads")
    params = [e.fresh("v") for _ in _THREAD_TAGS]
    counts = [extents.get(tag, "1") for tag in _THREAD_TAGS]
    loops, e.loops, e.threads = e.loops, 0, True
    for tag, param, count in zip(_THREAD_TAGS, params, counts, strict=True):
        e.axes[tag] = (param, count)
    with e.nest(f"def {name}({', '.join(params)}):"):
        outer = dict(e.buffers)
        _own_local_memory(e, root)
        body()
        e.buffers = outer
        e.line("return")
        e.line("yield")
    for tag in _THREAD_TAGS:
        del e.axes[tag]
    e.loops, e.threads = loops, False
    e.line(f"grid.run({name}, {', '.join(counts)})")


def _own_local_memory(e: Emitter, root: AxisOp) -> None:
    """Give a thread its own copies of local buffers that lie outside of its code."""
    for buffer, code in list(e.buffers.items()):
        if code.pointer not in e.block_local:
            continue
        if any(root.is_ancestor(use.operation) for use in buffer.uses):
            pointer = e.atom(f"grid.private({code.pointer})")
            skip = code.offset if code.lanes == 1 else f"{code.offset} * {code.lanes}"
            cells = e.reach(pointer, skip, code.element)
            e.buffers[buffer] = replace(code, pointer=pointer, cells=cells)


def _hoisted(e: Emitter, op: AxisOp, extent: SSAValue) -> str:
    """An extent that is known before the kernel begins."""
    if extent not in e.names:
        owner = extent.owner
        if not isinstance(owner, _EXTENT_OPS):
            raise unsupported(
                op,
                "the extent of a thread axis depends on what the kernel computes",
                "compute it before the kernel",
            )
        for operand in owner.operands:
            _hoisted(e, op, operand)
        e.statement(owner)
        e.op = op
    return e[extent]


def reduces_across_threads(block: tir.BlockOp) -> bool:
    """Whether threads take turns at a reduction, as before LowerCrossThreadReduction."""
    return any(
        it.kind is tir.IterKind.REDUCE and _of_threads(it.binding) for it in block.iters
    )


def _of_threads(value: SSAValue) -> bool:
    pending, seen = [value], set[SSAValue]()
    while pending:
        one = pending.pop()
        if one in seen:
            continue
        seen.add(one)
        owner = one.owner
        if not isinstance(owner, Block):
            pending.extend(owner.operands)
            continue
        parent = owner.parent_op()
        if parent is not None and axis_tag(parent) in _THREAD_TAGS:
            return True
        if isinstance(parent, tir.BlockOp):
            pending.extend(
                it.binding
                for variable, it in zip(parent.iter_vars, parent.iters, strict=True)
                if variable is one
            )
    return False


# ---- meetings ----


def meeting_call(e: Emitter, op: tir.CallOp) -> bool:
    """Write a call by which threads meet; whether it is one that can be run."""
    name = op.callee.data
    if name == "tvm_storage_sync":
        _barrier(e, op)
    elif name in _SHUFFLES:
        _shuffle(e, op)
    elif name in ("tvm_warp_activemask", "cuda.__activemask"):
        _require_threads(e, op)
        meeting = e.constant((Meeting("mask", op),))
        assert op.result is not None
        e.define(op.result, f"yield {meeting}")
    else:
        return False
    return True


def _wait(e: Emitter, meeting: Meeting) -> None:
    e.line(f"yield {e.constant((meeting,))}")


def _require_threads(e: Emitter, op: tir.CallOp) -> None:
    if not e.threads:
        raise unsupported(
            op,
            f"the builtin {op.callee.data} stands outside of the threads of a kernel",
            "put it inside of a tir.launch_thread, or interpret the callers of a device "
            "function after inlining it",
        )


def _barrier(e: Emitter, op: tir.CallOp) -> None:
    scope = op.args[0].owner if op.args else None
    if not isinstance(scope, tir.StringOp):
        raise unsupported(op, "the scope is not a string", "name it by a tir.string")
    kinds = {"shared": "block", "shared.dyn": "block", "warp": "warp"}
    kind = kinds.get(scope.value.data)
    if kind is None:
        raise unsupported(
            op,
            f"a barrier of scope {scope.value.data!r} cannot be simulated: blocks run "
            "one after the other",
            "split the kernel there",
        )
    if not e.launch:
        _require_threads(e, op)
    if e.threads:
        _wait(e, Meeting(kind, op))
    if op.result is not None:
        e.names[op.result] = "0"


def _shuffle(e: Emitter, op: tir.CallOp) -> None:
    _require_threads(e, op)
    assert op.result is not None
    if is_vector(op.result.type) or is_handle(op.result.type):
        raise unsupported(op, "only scalars are shuffled", "shuffle lane by lane")
    kind = _SHUFFLES[op.callee.data]
    meeting = Meeting(kind, op, _undefined(number(op.result.type)))
    mask, value, lane, width = (e[arg] for arg in op.args[:4])
    values = f"{e.constant(meeting)}, {mask}, {value}, {lane}, {width}"
    e.define(op.result, f"yield ({values})")


def _undefined(dtype: Number) -> object:
    """A value that shows, should anyone use it."""
    return dtype.convert(np.nan) if dtype.is_float else dtype.convert(dtype.high)
