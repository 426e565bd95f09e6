"""Allocations of tensors become storages and tensors on them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.symbolic import DimLike


def new_storage(
    alloc: relax.AllocTensorOp,
    size: relax.Dim,
    dtype: Attribute,
    before: Operation | None = None,
) -> SSAValue:
    """A storage of `size` bytes where `alloc` allocates, made before `before`.

    Without `before` it is made before the allocation.
    """
    storage = storage_of(alloc, size, dtype)
    Rewriter.insert_op(storage, InsertPoint.before(before or alloc))
    return storage.result


def storage_of(
    alloc: relax.AllocTensorOp, size: relax.Dim, dtype: Attribute
) -> relax.AllocStorageOp:
    """A storage of `size` bytes where `alloc` allocates, not inserted."""
    storage = relax.AllocStorageOp.create(
        result_types=[relax.OBJECT],
        properties={
            "size": relax.DimAttr(size),
            "device_index": alloc.device_index,
            "storage_scope": alloc.storage_scope,
            "dtype": dtype,
        },
    )
    storage.location = alloc.location
    storage.result.name_hint = "storage"
    return storage


def place_on(alloc: relax.AllocTensorOp, storage: SSAValue, offset: DimLike = 0) -> None:
    """Replace an allocation by a tensor on a storage, `offset` bytes from its start."""
    Rewriter.replace_op(alloc, tensor_on(alloc, storage, offset))


def tensor_on(
    alloc: relax.AllocTensorOp, storage: SSAValue, offset: DimLike = 0
) -> relax.AllocTensorFromStorageOp:
    """The tensor that `place_on` replaces an allocation by, not inserted."""
    tensor = relax.AllocTensorFromStorageOp.create(
        operands=[storage],
        result_types=[alloc.result.type],
        properties={"offset": relax.DimAttr(relax.Dim.of(offset))},
    )
    tensor.attributes.update(alloc.attributes)
    tensor.location = alloc.location
    tensor.result.name_hint = alloc.result.name_hint
    return tensor


def common_anchor(allocs: Sequence[Operation]) -> Operation:
    """The first allocation, or the operation around it that is visible to all others."""
    anchor: Operation = allocs[0]
    for alloc in allocs[1:]:
        while (block := anchor.parent) is not None:
            if block.find_ancestor_op_in_block(alloc) is not None:
                break
            parent = anchor.parent_op()
            assert parent is not None, "allocations of one function"
            anchor = parent
    return anchor
