"""Translates the launches of kernels whose threads can run together, as numpy arrays.

It is the translation of `emitter.py` once more, where a value is the same for all
threads, and then computed as there, or an array with one item for each. Loops run while
any thread does, branches where any thread goes there, both under a mask. Expressions
without an array form (`fma`, `clz`, unsigned 64-bit integers…) are computed thread by
thread, statement by statement.

A launch with anything else keeps its threads one after the other, which is decided here,
before it runs: calls of functions, atomics, shuffles and other meetings of a warp, of
the grid or in reductions, matrix fragments, asynchronous copies, `tir.while`, returns,
pointers into buffers, broadcasting buffers, extents and strides that differ between
threads, launches whose thread loops have different extents, stores by a block outside
of its threads. What such code does on a fault is in `lockstep_threads.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.codegen import thread_code as _thread_code
from xdsl_tvm.interpreters.codegen.emitter import Emitter
from xdsl_tvm.interpreters.codegen.lockstep_emitter import (
    LockstepEmitter,
    NotLockstepError,
    begins_team,
)
from xdsl_tvm.interpreters.codegen.lockstep_ops import LOCKSTEP_HANDLERS
from xdsl_tvm.interpreters.codegen.thread_code import (
    BLOCK_TAGS,
    THREAD_TAGS,
    AxisOp,
    axis_tag,
)
from xdsl_tvm.interpreters.gpu import lockstep_threads as _lockstep_threads
from xdsl_tvm.interpreters.gpu.lockstep_threads import LaunchCounts

_BLOCK_TAGS = tuple(reversed(BLOCK_TAGS))


class LockstepLaunches(LaunchCounts):
    """Writes launches whose threads run together."""

    def __call__(self, e: Emitter, root: Operation) -> str | None:
        """The condition that the launch ran, None if it cannot run so."""
        assert isinstance(root, tir.ForOp | tir.LaunchThreadOp)
        if e.device or e.settings.copies:
            return None
        try:
            return _launch(e, root, e.constant(self))
        except (NotLockstepError, InterpretationError):
            # What is wrong with the program is told by the other translation.
            return None


def _launch(e: Emitter, root: AxisOp, counts: str) -> str:
    extents, repeated = _axes(root)
    texts: dict[str, str] = {}
    for tag, op in extents.items():
        texts[tag] = _thread_code.hoisted(e, op, op.extent)
    v = LockstepEmitter.inside(e, LOCKSTEP_HANDLERS, root, texts, repeated)
    name = e.fresh("together")
    v.op = root
    v.line(f"def {name}(V):")
    v.indent += 1
    v.kernel(root)
    v.line("return")
    e.lines.extend(v.lines)
    e.ops.extend(v.ops)
    e.count = v.count
    e.namespace.update(_lockstep_threads.NAMES)
    sizes = [
        "".join(f"{texts.get(tag, '1')}, " for tag in tags)
        for tags in (_BLOCK_TAGS, THREAD_TAGS)
    ]
    written = "".join(f"{pointer}, " for pointer in v.written)
    read = "".join(f"{pointer}, " for pointer in v.outer)
    return (
        f"v_run_lockstep(grid, {name}, ({sizes[0]}), ({sizes[1]}), ({written}), "
        f"({read}), {counts})"
    )


def _axes(root: AxisOp) -> tuple[dict[str, AxisOp], set[str]]:
    """The axes of a launch, and those that several loops of a block bind.

    Every part of a block that begins threads has to begin the same ones.
    """
    extents: dict[str, AxisOp] = {}
    repeated: set[str] = set()
    teams: set[frozenset[str]] = set()
    for team in _teams(root):
        found: dict[str, int] = {}
        for op in team.walk():
            tag = axis_tag(op)
            if tag is None:
                continue
            assert isinstance(op, tir.ForOp | tir.LaunchThreadOp)
            first = extents.setdefault(tag, op)
            if not _same(first.extent, op.extent):
                raise NotLockstepError
            if tag in found and isinstance(op, tir.ForOp):
                repeated.add(tag)
            found[tag] = 1
        teams.add(frozenset(tag for tag in found if tag in THREAD_TAGS))
    for op in _around_teams(root):
        tag = axis_tag(op)
        assert tag is not None
        assert isinstance(op, tir.ForOp | tir.LaunchThreadOp)
        if not _same(extents.setdefault(tag, op).extent, op.extent):
            raise NotLockstepError
    if len(teams) != 1:
        raise NotLockstepError
    return extents, repeated


def _teams(root: Operation) -> Iterable[Operation]:
    """The outermost ops that begin threads."""
    if begins_team(root):
        yield root
        return
    for region in root.regions:
        for block in region.blocks:
            for op in block.ops:
                yield from _teams(op)


def _around_teams(root: Operation) -> Iterable[Operation]:
    """The loops over blocks outside of them."""
    if begins_team(root):
        return
    if axis_tag(root) is not None:
        yield root
    for region in root.regions:
        for block in region.blocks:
            for op in block.ops:
                yield from _around_teams(op)


def _same(a: SSAValue, b: SSAValue) -> bool:
    if a is b:
        return True
    value = tir.constant_value(a)
    return value is not None and value == tir.constant_value(b)
