"""The code of statements: loops, branches, blocks, assertions."""

from __future__ import annotations

from typing import cast

from xdsl.ir import Operation, SSAValue

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.codegen import async_code as _async_code
from xdsl_tvm.interpreters.codegen import thread_code as _thread_code
from xdsl_tvm.interpreters.codegen.code_writer import Handler, Mode
from xdsl_tvm.interpreters.codegen.emitter import Emitter
from xdsl_tvm.interpreters.errors import (
    unsupported,
)


def _for(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.ForOp)
    tag = None if op.thread_tag is None else op.thread_tag.data
    if tag in tir.VIRTUAL_THREAD_TAGS:
        tag = None
    _iterate(e, op, op.min, op.extent, tag)


def _iterate(
    e: Emitter,
    op: tir.ForOp | tir.LaunchThreadOp,
    low: SSAValue | None,
    extent: SSAValue,
    tag: str | None,
) -> None:
    """Run the body for every index; virtual threads of an axis one after the other."""
    if tag is not None and tag == _thread_code.axis_tag(op):
        _thread_code.thread_axis(e, op, low, extent, tag)
        return
    variable = op.body.block.args[0]
    start = "0" if low is None else e[low]
    count = e[extent]
    if tag is not None and tag in e.axes:
        outer, size = e.axes[tag]
        e.line(f"check_axis({tag!r}, {size}, {count})")
        e.names[variable] = outer
        e.block(op.body.block)
        return
    first = (0, 0) if low is None else e.interval(low)
    e.ranges[variable] = (first[0], first[1] + max(0, e.interval(extent)[1] - 1))
    if start == "0":
        e.below[variable] = count
    name = e.name_value(variable)
    end = count if start == "0" else f"{start} + {count}"
    if tag is not None:
        e.axes[tag] = (name, count)
    header = f"for {name} in range({'' if start == '0' else start + ', '}{end}):"
    with e.loop(header):
        e.block(op.body.block)
    if tag is not None:
        del e.axes[tag]


def _launch_thread(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.LaunchThreadOp)
    virtual = op.virtual is not None or op.tag.data in tir.VIRTUAL_THREAD_TAGS
    tag = op.tag.data
    if virtual:
        tag = None if op.env is None else f"{tag} {op.env.data}"
    _iterate(e, op, None, op.extent, tag)


def _while(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.WhileOp)
    with e.loop("while True:"):
        e.block(op.condition.block)
        last = op.condition.block.last_op
        assert isinstance(last, tir.YieldOp)
        with e.nest(f"if not {e[last.value]}:"):
            e.line("break")
        e.line("tick()")
        e.block(op.body.block)


def _if(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.IfOp)
    with e.nest(f"if {e[op.condition]}:"):
        e.block(op.then_region.block)
    if op.else_region is not None:
        with e.nest("else:"):
            e.block(op.else_region.block)


def _attr(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.AttrOp)
    _async_code.attribute(e, op)


def _transparent(e: Emitter, op: Operation) -> None:
    e.block(op.regions[0].block)


def _nothing(e: Emitter, op: Operation) -> None:
    """For ops that only declare, and values that are bound where they are used."""


def _block(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.BlockOp)
    if op.predicate is None:
        block_body(e, op)
        return
    with e.nest(f"if {e[op.predicate]}:"):
        block_body(e, op)


def block_body(e: Emitter, op: tir.BlockOp) -> None:
    """The statements of a block, whose predicate holds."""
    for variable, it in zip(op.iter_vars, op.iters, strict=True):
        e.rename(variable, it.binding)
        value, low = e.interval(it.binding), e.interval(it.min)
        extent = e.interval(it.extent)
        if low == (0, 0) and e[it.extent] == e.below.get(it.binding):
            e.below[variable] = e[it.extent]
        elif value[0] < low[1] or value[1] >= low[0] + extent[0]:
            if low == (0, 0):
                e.below[variable] = e[it.extent]
            e.check_iteration(it)
        end = max(low[0], low[1] + extent[1] - 1)
        e.ranges[variable] = (max(value[0], low[0]), min(value[1], end))
    outer = e.unwatched
    if e.mode is not Mode.HOST and _thread_code.reduces_across_threads(op):
        e.unwatched = True
    e.block(op.body.block)
    e.unwatched = outer


def _init(e: Emitter, op: Operation) -> None:
    block = op.parent_op()
    assert isinstance(op, tir.InitOp)
    assert isinstance(block, tir.BlockOp)
    tests = [
        f"{e[variable]} == {e[it.min]}"
        for variable, it in zip(block.iter_vars, block.iters, strict=True)
        if it.kind is tir.IterKind.REDUCE
    ]
    with e.nest(f"if {' and '.join(tests) or 'True'}:"):
        e.block(op.body.block)


def _let(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.LetOp)
    e.rename(op.result, op.value)
    if op.value in e.ranges:
        e.ranges[op.result] = e.ranges[op.value]
    if op.value in e.below:
        e.below[op.result] = e.below[op.value]


def _assert(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.AssertOp)
    message = (
        repr(op.message.data)
        if op.message is not None
        else e[cast(SSAValue, op.message_value)]
    )
    with e.nest(f"if not {e[op.condition]}:"):
        e.line(f"raise_assertion({message})")


def _ret(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.RetOp)
    if (e.mode is Mode.THREAD and op.value is not None and not e.device) or (
        e.cooperative and e.mode is not Mode.THREAD
    ):
        raise unsupported(op, "a thread returns no value", "return after the kernel")
    e.line("return None" if op.value is None else f"return {e[op.value]}")


HANDLERS: dict[type[Operation], Handler] = {
    tir.PrefetchOp: _nothing,
    tir.ShapeVarOp: _nothing,
    tir.BlockOp: _block,
    tir.InitOp: _init,
    tir.ReadsOp: _nothing,
    tir.WritesOp: _nothing,
    tir.AssertOp: _assert,
    tir.AttrOp: _attr,
    tir.EvaluateOp: _nothing,
    tir.ForOp: _for,
    tir.IfOp: _if,
    tir.LaunchThreadOp: _launch_thread,
    tir.LetOp: _let,
    tir.RetOp: _ret,
    tir.ScopeOp: _transparent,
    tir.WhileOp: _while,
    tir.YieldOp: _nothing,
    tir.ReducerOp: _nothing,
}
