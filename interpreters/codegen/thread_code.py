"""The code of threads: what `emitter.py` writes for thread axes and their meetings.

A kernel begins at the outermost `tir.launch_thread`, or loop bound to a thread axis. All
that such a launch holds is run by every thread; a loop is complete before what follows
it, so loops over `blockIdx` run one iteration after the other, threads begin at a loop
over `threadIdx`, and where one axis is bound by several loops the threads wait for each
other before and after each. Where blocks meet at a barrier of the grid, the code of a
block is a function, and its threads run when all blocks have been set up.

A function that threads call is translated once more, as a generator that is part of the
calling thread.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import SymbolTable

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.target_functions import callee_symbol
from xdsl_tvm.dialects.tir.threads import Identity, WrittenElement
from xdsl_tvm.dialects.tir.types import is_handle, is_vector
from xdsl_tvm.interpreters.codegen import async_code as _async_code
from xdsl_tvm.interpreters.codegen import matrix_code as _matrix_code
from xdsl_tvm.interpreters.codegen.code_writer import Mode
from xdsl_tvm.interpreters.codegen.pointer_code import (
    is_private,
    require_operands,
    string_operand,
)
from xdsl_tvm.interpreters.data.numbers import Number, number
from xdsl_tvm.interpreters.errors import unsupported
from xdsl_tvm.interpreters.gpu.grid_memory import WARP, GridMemory, SyncPoint

if TYPE_CHECKING:
    from xdsl_tvm.interpreters.codegen.emitter import Emitter

AxisOp: TypeAlias = "tir.ForOp | tir.LaunchThreadOp"

BLOCK_TAGS = tuple(reversed(tir.BLOCK_TAGS))
THREAD_TAGS = tir.THREAD_TAGS
_EXTENT_OPS = (tir.ConstOp, tir.BinaryOp, tir.CastOp, tir.LetOp)
_SHUFFLES = {
    "tvm_warp_shuffle": "shuffle",
    "tvm_warp_shuffle_up": "shuffle_up",
    "tvm_warp_shuffle_down": "shuffle_down",
    "cuda.__shfl_sync": "shuffle",
    "cuda.__shfl_up_sync": "shuffle_up",
    "cuda.__shfl_down_sync": "shuffle_down",
    "metal.simd_shuffle": "shuffle",
    "metal.simd_shuffle_up": "shuffle_up",
    "metal.simd_shuffle_down": "shuffle_down",
}
_BARRIERS = {"shared": "block", "shared.dyn": "block", "warp": "warp", "global": "grid"}


def axis_tag(op: Operation) -> str | None:
    """The axis of the GPU's grid that an op opens, None for other ops and tags."""
    tag = None
    if isinstance(op, tir.LaunchThreadOp) and op.virtual is None:
        tag = op.tag.data
    elif isinstance(op, tir.ForOp) and op.thread_tag is not None:
        tag = op.thread_tag.data
    return tag if tag in BLOCK_TAGS or tag in THREAD_TAGS else None


def has_threads(func: tir.FuncOp) -> bool:
    """Whether a function opens an axis of the GPU's grid."""
    return any(axis_tag(op) is not None for op in func.walk())


def allocation(e: Emitter, op: Operation, scope: str, arguments: str) -> str:
    """The text of an allocation; what threads share is made by the first one."""
    if not (e.mode is Mode.THREAD and scope.startswith(("shared", "warp"))):
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
    if e.device:
        # Only reached where a thread launches a kernel, which the grid reports.
        e.line("grid.begin()")
        return
    _compare_with_launch(e, op)
    together = None if e.mode is not Mode.HOST else e.settings.together
    done = None if together is None else together(e, op)
    if done is None:
        _launched(e, op, low, extent, tag)
        return
    with e.nest(f"if not {done}:"):
        _launched(e, op, low, extent, tag)


def _compare_with_launch(e: Emitter, root: AxisOp) -> None:
    """Check that a kernel is launched with the extents of the axes that it opens."""
    if e.mode is not Mode.HOST or not is_launched(e.func):
        return
    seen: set[str] = set()
    for op in root.walk():
        tag = axis_tag(op)
        if tag is not None and tag not in seen:
            assert isinstance(op, tir.ForOp | tir.LaunchThreadOp)
            seen.add(tag)
            e.op = op
            e.line(f"grid.expect_launched({tag!r}, {hoisted(e, op, op.extent)})")
    e.op = root


def is_launched(func: tir.FuncOp) -> bool:
    """Whether calls of a function pass the sizes of a launch."""
    return "tir.kernel_launch_params" in func.attributes


def _launched(
    e: Emitter, op: AxisOp, low: SSAValue | None, extent: SSAValue, tag: str
) -> None:
    with _launch(e, op):
        if isinstance(op, tir.ForOp) and tag in BLOCK_TAGS:
            _block_loop(e, tag, e[extent], lambda: _reopen(e, op, low, extent, tag))
        else:
            _threads(e, op, lambda: _reopen(e, op, low, extent, tag))


@contextmanager
def _launch(e: Emitter, root: AxisOp) -> Generator[None]:
    if e.mode is not Mode.HOST:
        yield
        return
    e.cooperative = _meets_blocks(e, root, set())
    e.line(f"grid.begin({e.cooperative})")
    e.mode = Mode.BLOCK
    yield
    e.mode, e.cooperative = Mode.HOST, False
    e.line("grid.end()")


def _meets_blocks(e: Emitter, root: Operation, seen: set[str]) -> bool:
    """Whether a barrier of the grid is in an op, or in a function that it calls."""
    for op in root.walk():
        if isinstance(op, tir.CallOp) and op.callee.data == "tvm_storage_sync":
            if string_operand(op, 0) == "global":
                return True
        elif isinstance(op, tir.CallFuncOp):
            name = op.callee.string_value()
            callee = SymbolTable.lookup_symbol(e.settings.module, op.callee)
            if callee is not None and name not in seen:
                seen.add(name)
                if _meets_blocks(e, callee, seen):
                    return True
    return False


def device_axes(e: Emitter) -> None:
    """Let a function that threads call open their axes again."""
    for axis, tag in enumerate(THREAD_TAGS):
        e.axes[tag] = (e.atom(f"grid.index({axis})"), e.atom(f"grid.extent({axis})"))


def _block_loop(e: Emitter, tag: str, count: str, body: Callable[[], None]) -> None:
    name = e.fresh("v")
    e.axes[tag] = (name, count)
    header = f"for {name} in range({count}):"
    enter = f"grid.enter_block({'xyz'.index(tag[-1])}, {name})"
    if e.cooperative:
        # Its variables are seen by threads that run when the loop is over.
        function = e.fresh("block")
        loops, e.loops = e.loops, 0
        with e.nest(f"def {function}({name}):"):
            e.line(enter)
            body()
        e.loops = loops
        with e.loop(header):
            e.line(f"{function}({name})")
    else:
        with e.loop(header):
            e.line(enter)
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
    meets = e.mode is Mode.THREAD and isinstance(op, tir.ForOp) and tag in e.repeated
    if meets:
        _wait(e, SyncPoint("loop", op))
    e.block(op.body.block)
    if meets:
        _wait(e, SyncPoint("loop", op))


def _threads(e: Emitter, root: AxisOp, body: Callable[[], None]) -> None:
    """Run `body` in every thread of the axes that `root` holds."""
    extents: dict[str, str] = {}
    e.repeated = set()
    if e.cooperative:
        _require_one_team(root)
    for op in root.walk():
        tag = axis_tag(op)
        if tag is None:
            continue
        assert isinstance(op, tir.ForOp | tir.LaunchThreadOp)
        if tag not in extents:
            extents[tag] = hoisted(e, op, op.extent)
        elif isinstance(op, tir.ForOp):
            e.repeated.add(tag)
    blocks = [tag for tag in BLOCK_TAGS if tag in extents and tag not in e.axes]

    def nest(position: int) -> None:
        if position < len(blocks):
            tag = blocks[position]
            _block_loop(e, tag, extents[tag], lambda: nest(position + 1))
        else:
            _thread_function(e, root, extents, body)

    nest(0)


def _require_one_team(root: AxisOp) -> None:
    """Refuse blocks whose threads begin more than once: other blocks wait for them."""
    op: Operation | None = root
    while op is not None and not isinstance(op, tir.FuncOp):
        again = isinstance(op, tir.ForOp | tir.WhileOp | tir.IfOp) and not axis_tag(op)
        block = op.parent_block()
        if axis_tag(op) in THREAD_TAGS and block is not None:
            again |= sum(_opens_threads(other) for other in block.ops) > 1
        if again:
            raise unsupported(
                root,
                "threads that begin more than once in a block, or under a condition, "
                "cannot wait for those of other blocks",
                "bind the threads around it",
            )
        op = op.parent_op()


def _opens_threads(root: Operation) -> bool:
    return any(axis_tag(op) in THREAD_TAGS for op in root.walk())


def _thread_function(
    e: Emitter, root: AxisOp, extents: dict[str, str], body: Callable[[], None]
) -> None:
    name = e.fresh("threads")
    params = [e.fresh("v") for _ in THREAD_TAGS]
    counts = [extents.get(tag, "1") for tag in THREAD_TAGS]
    loops, e.loops, e.mode = e.loops, 0, Mode.THREAD
    for tag, param, count in zip(THREAD_TAGS, params, counts, strict=True):
        e.axes[tag] = (param, count)
    with e.nest(f"def {name}({', '.join(params)}):"):
        outer = e.buffers
        e.buffers = ChainMap({}, outer)
        _own_local_memory(e, root)
        body()
        e.buffers = outer
        e.line("return")
        e.line("yield")
    for tag in THREAD_TAGS:
        del e.axes[tag]
    e.loops, e.mode = loops, Mode.BLOCK
    e.line(f"grid.run({name}, {', '.join(counts)})")


def _own_local_memory(e: Emitter, root: AxisOp) -> None:
    """Give a thread its own copies of local buffers that are outside of its code.

    Threads that take turns at a reduction have a copy together.
    """
    together = _reduced_together(root)
    for buffer, code in list(e.buffers.items()):
        if code.pointer not in e.block_local:
            continue
        if any(root.is_ancestor(use.operation) for use in buffer.uses):
            axes = e.constant(together.get(buffer, frozenset[int]()))
            pointer = e.atom(f"grid.private({code.pointer}, {axes})")
            skip = code.offset if code.lanes == 1 else f"{code.offset} * {code.lanes}"
            cells = e.reach(pointer, skip, code.element)
            e.buffers[buffer] = replace(code, pointer=pointer, cells=cells, watched=False)


def hoisted(e: Emitter, op: AxisOp, extent: SSAValue) -> str:
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
            hoisted(e, op, operand)
        e.statement(owner)
        e.op = op
    return e[extent]


def reduces_across_threads(block: tir.BlockOp) -> bool:
    """Whether threads take turns at a reduction, as before LowerCrossThreadReduction.

    After it, a thread only writes its own memory there.
    """
    return bool(_axes_reduced_over(block)) and any(
        isinstance(op, tir.InitOp) or _stores_for_others(op) for op in block.walk()
    )


def _axes_reduced_over(block: tir.BlockOp) -> frozenset[int]:
    """The axes, as numbers, that the reduction variables of a block depend on."""
    return frozenset(
        axis
        for it in block.iters
        if it.kind is tir.IterKind.REDUCE
        for axis in _axes_of(it.binding)
    )


def _stores_for_others(op: Operation) -> bool:
    if not isinstance(op, tir.StoreOp):
        return False
    return not is_private(tir.buffer_definition(op.buffer).type.scope.data)


def _axes_of(value: SSAValue) -> Generator[int]:
    """The axes that a value is computed from."""
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
        tag = None if parent is None else axis_tag(parent)
        if tag in THREAD_TAGS:
            yield THREAD_TAGS.index(tag)
        if isinstance(parent, tir.BlockOp):
            pending.extend(
                it.binding
                for variable, it in zip(parent.iter_vars, parent.iters, strict=True)
                if variable is one
            )


def _reduced_together(root: AxisOp) -> dict[SSAValue, frozenset[int]]:
    """The buffers that threads take turns at, with the axes on which these differ."""
    found: dict[SSAValue, frozenset[int]] = {}
    for block in root.walk():
        if isinstance(block, tir.BlockOp) and reduces_across_threads(block):
            axes = _axes_reduced_over(block)
            for op in block.walk():
                if isinstance(op, tir.StoreOp):
                    found[op.buffer] = found.get(op.buffer, axes) | axes
    return found


# ---- meetings ----


Call = Callable[["Emitter", tir.CallOp], None]


def meeting_call(e: Emitter, op: tir.CallOp) -> bool:
    """Write a call of a builtin for threads; whether it is one."""
    name = callee_symbol(op) or op.callee.data
    if name in _async_code.HOST_CALLS:
        _async_code.HOST_CALLS[name](e, op)
    elif name in _CALLS:
        if name != "tvm_storage_sync" or e.mode is Mode.HOST:
            _require_threads(e, op)
        _CALLS[name](e, op)
    else:
        return False
    if op.result is not None and op.result not in e.names:
        e.names[op.result] = "0"
    return True


def _active_mask(e: Emitter, op: tir.CallOp) -> None:
    assert op.result is not None
    e.define(op.result, f"yield {e.constant((SyncPoint('mask', op),))}")


def _prepare_grid_barrier(e: Emitter, op: tir.CallOp) -> None:
    e.line("grid.prepare_grid_barrier()")


def _wait(e: Emitter, meeting: SyncPoint) -> None:
    e.line(f"yield {e.constant((meeting,))}")


def _require_threads(e: Emitter, op: Operation) -> None:
    if e.mode is not Mode.THREAD:
        name = op.callee.data if isinstance(op, tir.CallOp) else op.name
        raise unsupported(
            op,
            f"the builtin {name} is outside of the threads of a kernel",
            "put it inside of a tir.launch_thread, or interpret the callers of a device "
            "function after inlining it",
        )


def _barrier(e: Emitter, op: tir.CallOp) -> None:
    scope = string_operand(op, 0)
    kind = _BARRIERS.get(scope)
    if kind is None:
        raise unsupported(
            op, f"there is no barrier of scope {scope!r}", f"use one of {[*_BARRIERS]}"
        )
    if kind == "grid":
        require_operands(op, 3)
        lead, count = e[op.args[1]], e[op.args[2]]
        _require_threads(e, op)
        e.line(f"yield ({e.constant(SyncPoint(kind, op))}, {lead}, {count})")
    elif e.mode is Mode.THREAD:
        _wait(e, SyncPoint(kind, op))


_ALL_LANES = str((1 << WARP) - 1)


def _shuffle(e: Emitter, op: tir.CallOp) -> None:
    assert op.result is not None
    if is_vector(op.result.type) or is_handle(op.result.type):
        raise unsupported(op, "only scalars are shuffled", "shuffle lane by lane")
    kind = _SHUFFLES[op.callee.data]
    meeting = SyncPoint(kind, op, _undefined(number(op.result.type)))
    operands = [e[arg] for arg in op.args[:4]]
    if op.callee.data.startswith("metal."):
        require_operands(op, 2)
        operands = [_ALL_LANES, *operands, str(WARP)]
    elif op.args[0].type == i32 and tir.is_constant(op.args[0], 0):
        # What is written for devices without masks.
        operands[0] = _ALL_LANES
    e.define(op.result, f"yield ({e.constant(meeting)}, {', '.join(operands)})")


def _redux(e: Emitter, op: tir.CallOp) -> None:
    """Integers of 32 bits of the lanes of a mask, combined."""
    assert op.result is not None
    dtype = number(op.result.type)
    if dtype.is_float or dtype.bits != 32 or is_vector(op.result.type):
        raise unsupported(op, f"it combines no {op.result.type}", "use 32-bit integers")
    operator = op.args[0].owner
    assert isinstance(operator, tir.StringOp)
    meeting = SyncPoint(f"redux_{operator.value.data}", op, dtype)
    operands = f"{e[op.args[1]]}, {e[op.args[2]]}, 0, {WARP}"
    e.define(op.result, f"yield ({e.constant(meeting)}, {operands})")


def _exchange(e: Emitter, op: tir.CallOp, value: SSAValue, lane: str) -> None:
    """The value of any lane of the warp."""
    assert op.result is not None
    meeting = SyncPoint("shuffle", op, _undefined(number(op.result.type)))
    operands = f"{_ALL_LANES}, {e[value]}, {lane}, {WARP}"
    e.define(op.result, f"yield ({e.constant(meeting)}, {operands})")


def _subgroup_shuffle(e: Emitter, op: tir.CallOp) -> None:
    require_operands(op, 3)
    _exchange(e, op, op.args[1], e[op.args[2]])


def _bpermute(e: Emitter, op: tir.CallOp) -> None:
    """The bits of the lane whose number is the address, counted in bytes."""
    address, value = op.args[-2:]
    _exchange(e, op, value, f"({e[address]} >> 2) % {WARP}")


def _lanes_below(is_low: bool) -> Call:
    """The second operand and the number of lanes of a mask that are before the own."""

    def emit(e: Emitter, op: tir.CallOp) -> None:
        assert op.result is not None
        mask, start = op.args[-2:]
        count = f" + ({e[mask]} & (1 << grid.lane) - 1).bit_count()" if is_low else ""
        e.define(op.result, f"{e[start]}{count}")

    return emit


# ---- reductions ----


def allreduce(e: Emitter, op: tir.ThreadAllreduceOp) -> None:
    """Reduce over threads, in their order, and store the results in every one."""
    _require_threads(e, op)
    reducer = _innermost_reducer(op)
    if len(reducer.identities) != len(op.sources):
        raise unsupported(
            op,
            f"it reduces {len(op.sources)} values, its reducer {len(reducer.identities)}",
            "use a reducer of as many",
        )
    axes = frozenset(axis for v in op.threads if (axis := _axis_of(op, v)) is not None)
    combine = _combiner(e, reducer)
    values = "".join(
        f"{_contribution(e, op, source, identity)}, "
        for source, identity in zip(op.sources, reducer.identities, strict=True)
    )
    meeting = e.constant(SyncPoint("reduce", op, act=_reduce, axes=axes))
    results = e.atom(f"yield ({meeting}, ({combine}, ({values})))")
    for position, place in enumerate(op.places):
        code = e.buffers[place.buffer]
        result = f"{results}[{position}]"
        where = e.put(code, place.indices, result)
        if code.watched:
            _publish(e, op, place, where, axes)


def _publish(
    e: Emitter,
    op: tir.ThreadAllreduceOp,
    place: WrittenElement,
    where: str,
    axes: frozenset[int],
) -> None:
    assert isinstance(place.buffer.type, tir.BufferType)
    scope = place.buffer.type.scope.data
    if scope.startswith("global"):
        raise unsupported(
            op, f"a result is in scope {scope!r}", "put it in local or shared memory"
        )
    code = e.buffers[place.buffer]
    if e.is_watched(code):
        site = e.settings.grid.site(op, place.buffer)
        e.line(f"{code.cells}s.publish({where}, {e.constant(axes)}, {site})")


def _innermost_reducer(op: tir.ThreadAllreduceOp) -> tir.ReducerOp:
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, tir.AttrOp) and parent.key.data == "reduce_scope":
            reducer = None if parent.node is None else parent.node.owner
            if isinstance(reducer, tir.ReducerOp):
                return reducer
        parent = parent.parent_op()
    raise unsupported(
        op, "no reducer is given", 'put it into a tir.attr "reduce_scope" of one'
    )


def _axis_of(op: tir.ThreadAllreduceOp, value: SSAValue) -> int | None:
    """The axis of a thread variable, None for the constant that stands for none."""
    if isinstance(value.owner, tir.ConstOp):
        return None
    while not isinstance(value.owner, Block):
        if not isinstance(value.owner, tir.CastOp | tir.LetOp):
            raise unsupported(op, "it reduces over no thread variable", "name one")
        value = value.owner.value
    parent = value.owner.parent_op()
    if isinstance(parent, tir.BlockOp):
        bindings = zip(parent.iter_vars, parent.iters, strict=True)
        return _axis_of(op, next(it.binding for v, it in bindings if v is value))
    tag = None if parent is None else axis_tag(parent)
    if tag not in THREAD_TAGS:
        raise unsupported(op, "it reduces over no thread variable", "name one")
    return THREAD_TAGS.index(tag)


def _combiner(e: Emitter, reducer: tir.ReducerOp) -> str:
    """The name of a function of the values on the left and those on the right."""
    name = e.fresh("combine")
    params = [e.name_value(arg) for arg in (*reducer.lhs, *reducer.rhs)]
    with e.nest(f"def {name}({', '.join(params)}):"):
        e.block(reducer.combiner.block)
        e.line(f"return ({''.join(f'{e[value]}, ' for value in reducer.combined)})")
    return name


def _contribution(
    e: Emitter, op: tir.ThreadAllreduceOp, source: SSAValue, identity: Identity
) -> str:
    if op.condition is None:
        return e[source]
    dtype = number(identity.type)
    neutral = dtype.convert(identity.value.data)
    return f"{e[source]} if {e[op.condition]} else {e.constant(neutral)}"


def _reduce(
    grid: GridMemory, threads: Sequence[int], operands: list[Any]
) -> Sequence[tuple[Any, ...]]:
    combine, total = operands[0]
    for _, values in operands[1:]:
        total = combine(*total, *values)
    return [total] * len(threads)


def _undefined(dtype: Number) -> object:
    """A value that shows, should anyone use it."""
    return dtype.convert(np.nan) if dtype.is_float else dtype.convert(dtype.high)


_CALLS: dict[str, Call] = {
    "tvm_storage_sync": _barrier,
    "tvm_global_barrier_kinit": _prepare_grid_barrier,
    "tvm_warp_activemask": _active_mask,
    "cuda.__activemask": _active_mask,
    **dict.fromkeys(_SHUFFLES, _shuffle),
    "ptx_redux_sync": _redux,
    "intel_sub_group_shuffle": _subgroup_shuffle,
    "llvm.amdgcn.ds.bpermute": _bpermute,
    "llvm.amdgcn.mbcnt.lo": _lanes_below(is_low=True),
    "llvm.amdgcn.mbcnt.hi": _lanes_below(is_low=False),
    **_async_code.CALLS,
    **_matrix_code.CALLS,
}
