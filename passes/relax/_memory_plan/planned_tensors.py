"""The tensors that a function allocates: where they are, how large, and how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import SSAValue

from xdsl_tvm.analysis.relax.dataflow_inplace import same_value
from xdsl_tvm.analysis.relax.live_ranges import tensor_live_ranges
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.symbolic import provably_covers
from xdsl_tvm.passes.relax._memory_plan.sizes import UpperBounds, tensor_bytes

Allocation: TypeAlias = (
    relax.AllocTensorOp | relax.AllocTensorFromStorageOp | relax.VMAllocTensorOp
)


Storage: TypeAlias = relax.AllocStorageOp | relax.VMAllocStorageOp


def storage_bytes(op: Storage) -> relax.Dim | None:
    """How large a storage is, None if that is not known."""
    if isinstance(op, relax.AllocStorageOp):
        return op.size.data
    type_ = op.size.type
    values = type_.values if isinstance(type_, relax.ShapeType) else None
    return values[0] if values else None


@dataclass(frozen=True, eq=False)
class PlannedTensor:
    """A tensor on a storage or by itself."""

    op: Allocation
    storage: SSAValue | None
    """The storage it is on, None for one of its own."""
    low: relax.Dim | None
    """The first byte in the storage, None if that is not known."""
    size: relax.Dim | None
    """Its bytes, None if they are not known."""
    most: relax.Dim | None
    """Its bytes where symbols have their upper bounds."""
    start: int
    end: int

    def ends_before(self, limit: relax.Dim) -> bool:
        """Whether the tensor provably ends at byte `limit` or before it."""
        if self.low is None or self.size is None or self.most is None:
            return False
        low = self.low
        return any(provably_covers(limit, low + size) for size in (self.size, self.most))

    @property
    def name(self) -> str:
        """The tensor in messages."""
        result = self.op.results[0]
        return f"%{result.name_hint}" if result.name_hint else f"a {result.type}"

    @property
    def bytes_text(self) -> str:
        """The bytes in messages."""
        if self.low is None or self.size is None:
            return "unknown bytes"
        return f"bytes {self.low} to {self.low + self.size}"


def planned_tensors(func: relax.FuncOp, upper: UpperBounds) -> list[PlannedTensor]:
    """The tensors that a function allocates, in the order of execution."""
    tensors = list[PlannedTensor]()
    for value, (start, end) in tensor_live_ranges(func).items():
        op = value.owner
        if not isinstance(op, Allocation):
            continue
        info = relax.TensorInfo.of(value.type)
        size = info and tensor_bytes(info)
        most = info and tensor_bytes(info, upper)
        storage = None if isinstance(op, relax.AllocTensorOp) else same_value(op.storage)
        tensors.append(PlannedTensor(op, storage, _offset(op), size, most, start, end))
    return tensors


def _offset(op: Allocation) -> relax.Dim | None:
    match op:
        case relax.AllocTensorOp():
            return relax.Dim.constant(0)
        case relax.AllocTensorFromStorageOp():
            return op.offset.data
        case _:
            type_ = op.offset.type
            return type_.dim if isinstance(type_, relax.PrimType) else None
