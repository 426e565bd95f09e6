"""What communication between workers becomes (docs/spec/relax-ops.md §12, `ccl`)."""

from __future__ import annotations

from xdsl.dialects.builtin import UnitAttr, i1
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.passes.relax.legalize.registry import Bindings, rewrite
from xdsl_tvm.passes.relax.legalize.signature import proven_result_type

_KINDS = ("sum", "prod", "min", "max", "avg")
"""The runtime's numbers of the ways to combine elements."""


def _call(
    bindings: Bindings, name: str, arguments: list[SSAValue], result_type: Attribute
) -> SSAValue:
    call = relax.CallDPSPackedOp(f"runtime.disco.{name}", arguments, result_type)
    return bindings.emit(call)


def _truth(bindings: Bindings, value: bool) -> SSAValue:
    return bindings.emit(relax.PrimValueOp(int(value), i1))


def _is_in_group(all_groups: UnitAttr | None) -> bool:
    return all_groups is None


@rewrite(relax.AllReduceOp)
def allreduce(op: relax.AllReduceOp, bindings: Bindings) -> SSAValue | None:
    """The runtime's reduction; a shape holds the number of its kind."""
    if (type_ := proven_result_type(op)) is None:
        return None
    kind = bindings.emit(relax.ShapeOp([_KINDS.index(op.op_type.data)]))
    in_group = _truth(bindings, _is_in_group(op.all_groups))
    return _call(bindings, "allreduce", [op.data, kind, in_group], type_)


@rewrite(relax.AllGatherOp)
def allgather(op: relax.AllGatherOp, bindings: Bindings) -> SSAValue | None:
    """The runtime's gathering."""
    if (type_ := proven_result_type(op)) is None:
        return None
    in_group = _truth(bindings, _is_in_group(op.all_groups))
    return _call(bindings, "allgather", [op.data, in_group], type_)


@rewrite(relax.BroadcastFromWorker0Op)
def broadcast(op: relax.BroadcastFromWorker0Op, bindings: Bindings) -> SSAValue | None:
    """The runtime's broadcast."""
    if (type_ := proven_result_type(op)) is None:
        return None
    in_group = _truth(bindings, False)
    return _call(bindings, "broadcast_from_worker0", [op.data, in_group], type_)


@rewrite(relax.ScatterFromWorker0Op)
def scatter(op: relax.ScatterFromWorker0Op, bindings: Bindings) -> SSAValue | None:
    """The runtime sends out what is along the first dimension: parts become that."""
    type_, info = proven_result_type(op), TensorInfo.of(op.data.type)
    if type_ is None or info is None or info.shape is None:
        return None
    workers, rank = op.num_workers.value.data, len(info.shape)
    axis = op.axis.value.data % rank
    parts = (Dim.constant(workers), info.shape[axis] // workers)
    dims = (*info.shape[:axis], *parts, *info.shape[axis + 1 :])
    shape = bindings.emit(relax.ShapeOp(dims))
    data = bindings.emit(relax.ReshapeOp(op.data, shape))
    if axis:
        order = [axis, *range(axis), *range(axis + 1, rank + 1)]
        data = bindings.emit(relax.PermuteDimsOp(data, order))
    in_group = _truth(bindings, False)
    return _call(bindings, "scatter_from_worker0", [data, in_group], type_)
