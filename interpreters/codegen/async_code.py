"""The code of asynchronous copies: builtins, and the attributes around statements.

Inside of an attribute `async_scope` stores are asynchronous: what they write, and what
the stored values were loaded from, is in flight until the thread waits for the group
that `async_commit_queue_scope` closes after its body. `ptx_commit_group` and
`ptx_wait_group` are queue 0, as in TVM's CUDA back end. Outside of threads the same holds
for the program as a whole, with the `dma_*` builtins in addition. Transfers by `dma_copy`
have groups of their own: a commit scope around them closes no other one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.codegen.pointer_code import (
    access_of,
    behind,
    integer_attribute,
    pointee,
    require_operands,
)
from xdsl_tvm.interpreters.errors import AsyncCopyError, unsupported
from xdsl_tvm.interpreters.gpu.grid_memory import SyncPoint
from xdsl_tvm.interpreters.gpu.warpgroups import TiledTensor

if TYPE_CHECKING:
    from xdsl_tvm.interpreters.codegen.emitter import Emitter

_SCOPE = "async_scope"
_COMMIT = "async_commit_queue_scope"
_WAIT = "async_wait_queue_scope"
_INFLIGHT = "async_wait_inflight_count"


def begins_copies(op: Operation) -> bool:
    """Whether an op may begin a copy in code outside of threads."""
    if isinstance(op, tir.AttrOp):
        return op.key.data == _SCOPE
    return _is_transfer(op)


def _is_transfer(op: Operation) -> bool:
    return isinstance(op, tir.CallOp) and op.callee.data == "dma_copy"


def is_asynchronous(op: tir.AttrOp) -> bool:
    """Whether an attribute begins copies, or closes or awaits a group of them."""
    return op.key.data in (_SCOPE, _COMMIT, _WAIT)


# ---- attributes ----


def attribute(e: Emitter, op: tir.AttrOp) -> None:
    """An attribute around statements; those that this module does not know do nothing."""
    key = op.key.data
    body = op.body.block
    if key == _SCOPE:
        outer, e.deferred = e.deferred, True
        e.block(body)
        e.deferred = outer
    elif key == _COMMIT:
        e.block(body)
        e.op = op
        transfers = any(_is_transfer(each) for each in op.walk())
        e.line(f"grid.commit_scope({_integer(e, op)}, {transfers})")
    elif key == _WAIT:
        _wait_queue(e, op)
    else:
        e.block(body)


def _wait_queue(e: Emitter, op: tir.AttrOp) -> None:
    for inner in op.body.block.ops:
        if not (isinstance(inner, tir.AttrOp) and inner.key.data == _INFLIGHT):
            e.statement(inner)
            continue
        e.op = inner
        e.line(f"grid.wait({_integer(e, op)}, {_integer(e, inner)})")
        e.block(inner.body.block)
    if not any(
        isinstance(inner, tir.AttrOp) and inner.key.data == _INFLIGHT
        for inner in op.body.block.ops
    ):
        raise unsupported(
            op,
            "it does not tell how many groups stay in flight",
            f"put a tir.attr {_INFLIGHT!r} directly inside",
        )


def _integer(e: Emitter, op: tir.AttrOp) -> str:
    if op.value is not None:
        return e[op.value]
    value = integer_attribute(op.value_attr)
    if value is None:
        raise unsupported(op, "its value is no integer", "use an integer")
    return str(value)


def access_verb(e: Emitter, op: tir.LoadOp | tir.StoreOp) -> str:
    """What an access is noted as: `read` or `write`, asynchronous in `async_scope`."""
    verb = "read" if isinstance(op, tir.LoadOp) else "write"
    if not e.deferred or (isinstance(op, tir.LoadOp) and not _is_stored(op.result)):
        return verb
    return f"begin_{verb}"


def _is_stored(value: SSAValue) -> bool:
    """Whether a value is, or is part of, what is stored somewhere."""
    pending, seen = [value], set[SSAValue]()
    while pending:
        one = pending.pop()
        if one in seen:
            continue
        seen.add(one)
        for use in one.uses:
            user = use.operation
            if isinstance(user, tir.StoreOp) and user.value is one:
                return True
            if isinstance(user, tir.YieldOp):
                parent = user.parent_op()
                pending.extend(() if parent is None else parent.results)
            elif not isinstance(user, tir.LoadOp):
                pending.extend(user.results)
    return False


# ---- builtins ----


def _copy(e: Emitter, op: tir.CallOp) -> None:
    require_operands(op, 5, 6)
    wanted = e[op.args[5]] if len(op.args) == 6 else "True"
    e.settings.grid.bank_site(op, op.args[0], writes=True)
    e.line(f"grid.copy({_operands(e, op)}, {e[op.args[4]]}, {wanted}, {_sites(e, op)})")


def _copy_bulk(e: Emitter, op: tir.CallOp) -> None:
    require_operands(op, 6)
    count, barrier = e[op.args[4]], e[op.args[5]]
    e.line(f"grid.copy_bulk({_operands(e, op)}, {count}, {barrier}, {_sites(e, op)})")


def _operands(e: Emitter, op: tir.CallOp) -> str:
    """Destination and source, each a pointer and an offset."""
    for position, what, scopes in (
        (0, "destination", ("shared",)),
        (2, "source", ("global", "")),
    ):
        scope = pointee(op, position).scope
        known = isinstance(op.args[position].type, tir.PtrType)
        if known and scope.split(".")[0] not in scopes:
            raise AsyncCopyError(
                f"the {what} of the copy is in scope {scope!r}, not in {scopes[0]}", op
            )
    target = behind(e, op, 0, e[op.args[1]])
    source = behind(e, op, 2, e[op.args[3]])
    return f"{target}, {source}"


def _sites(e: Emitter, op: tir.CallOp, target: int = 0, source: int = 2) -> str:
    site = e.settings.grid.site
    return f"{site(op, op.args[target])}, {site(op, op.args[source])}"


def _plain(method: str, count: int) -> Callable[[Emitter, tir.CallOp], None]:
    """A builtin that is a method of the grid on its operands."""

    def emit(e: Emitter, op: tir.CallOp) -> None:
        require_operands(op, count)
        e.line(f"grid.{method}({', '.join(e[arg] for arg in op.args)})")

    return emit


def _commit(e: Emitter, op: tir.CallOp) -> None:
    e.line("grid.commit(0)")


def _wait(e: Emitter, op: tir.CallOp) -> None:
    require_operands(op, 1)
    e.line(f"grid.wait(0, {e[op.args[0]]})")


def _arrive(e: Emitter, op: tir.CallOp) -> None:
    require_operands(op, 1)
    e.line(f"grid.arrive({e[op.args[0]]}, 0)")


def _wait_barrier(e: Emitter, op: tir.CallOp) -> None:
    require_operands(op, 1, 2)
    meeting = e.constant(SyncPoint("count", op))
    parity = e[op.args[1]] if len(op.args) > 1 else "0"
    e.line(f"yield ({meeting}, grid.counting({e[op.args[0]]}), {parity})")


def _copy_tensor(e: Emitter, op: tir.CallOp) -> None:
    scope = pointee(op, 0).scope
    if scope.split(".")[0] != "shared":
        raise AsyncCopyError(
            f"the destination of the copy is in scope {scope!r}, not in shared", op
        )
    target, tensor = behind(e, op, 0, e[op.args[1]]), e[op.args[2]]
    given = ", ".join(e[each] for each in (op.args[3], op.args[4]))
    places = ", ".join(e[each] for each in op.args[5:])
    sites = f"{e.settings.grid.site(op, op.args[0])}, {e.settings.grid.site(op)}"
    e.line(f"grid.copy_tensor({target}, {tensor}, {given}, {sites}, {places})")


def _encode_map(e: Emitter, op: tir.CallOp) -> None:
    assert op.result is not None
    size = pointee(op, 0).element.size
    encode = e.constant(TiledTensor.encode)
    pointer, *rest = (e[each] for each in op.args)
    e.define(op.result, f"{encode}({pointer}, {size}, {', '.join(rest)})")


def _load_guarded(e: Emitter, op: tir.CallOp) -> None:
    target, source = e.constant(access_of(e, op, 0)), e.constant(access_of(e, op, 2))
    place = behind(e, op, 0, e[op.args[3]])
    guard, pointer = e[op.args[1]], e[op.args[2]]
    e.line(f"{target}.load_guarded(grid, {source}, {place}, {guard}, {pointer})")


def _dma_copy(e: Emitter, op: tir.CallOp) -> None:
    require_operands(op, 5)
    queue, target, source, count, _ = (e[arg] for arg in op.args)
    sites = _sites(e, op, 1, 2)
    e.line(f"grid.copy_dma({queue}, {target}, {source}, {count}, {sites})")


CALLS: dict[str, Callable[[Emitter, tir.CallOp], None]] = {
    "ptx_cp_async": _copy,
    "ptx_cp_async_bulk": _copy_bulk,
    "ptx_cp_async_bulk_tensor": _copy_tensor,
    "ptx_fence_proxy_async": _plain("fence_proxy", 0),
    "ptx_commit_group": _commit,
    "ptx_wait_group": _wait,
    "create_barriers": _plain("create_barriers", 1),
    "ptx_init_barrier_thread_count": _plain("init_barrier", 2),
    "ptx_arrive_barrier": _arrive,
    "ptx_arrive_barrier_expect_tx": _plain("arrive", 2),
    "ptx_cp_async_barrier": _plain("track", 1),
    "ptx_wait_barrier": _wait_barrier,
    "ptx_ldg32": _load_guarded,
}
"""Builtins of threads."""

HOST_CALLS: dict[str, Callable[[Emitter, tir.CallOp], None]] = {
    "dma_copy": _dma_copy,
    "dma_wait": _plain("wait", 2),
    "dma_start_group": _plain("start_group", 1),
    "dma_end_group": _plain("end_group", 1),
    "tensormap_encode_tiled": _encode_map,
}
"""Builtins that stand anywhere."""
