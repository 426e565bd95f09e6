"""TVM's plan: tensors take over whole storages, one after the other.

Rules: docs/spec/relax-passes-headline.md, StaticPlanBlockMemory §3.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import Attribute

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.relax._memory_plan.live_ranges import (
    Begin,
    End,
    Leave,
    Result,
    Step,
    Token,
)
from xdsl_tvm.passes.relax._memory_plan.sizes import allocated_info
from xdsl_tvm.passes.relax._memory_plan.storage_pool import Kind, Storage, StoragePool

_BYTES = IntegerType(8, Signedness.UNSIGNED)


def token_plan(steps: Iterable[Step], sizes: Mapping[Token, relax.Dim]) -> list[Storage]:
    """The storages of one function, in the order in which they are first needed."""
    pool = StoragePool()
    storages = list[Storage]()
    storage_of = dict[Token, Storage]()
    for step in steps:
        match step:
            case Begin(token, is_used):
                kind, size = kind_of(token.alloc), sizes[token]
                storage = pool.take(kind, size) if is_used else None
                if storage is None:
                    storage = Storage(kind, size)
                    storages.append(storage)
                storage.tensors.append((token.alloc, relax.Dim.constant(0)))
                storage_of[token] = storage
            case End(token):
                pool.release(storage_of[token])
            case Leave(symbols):
                pool.forget(symbols)
            case Result():
                pass
    return storages


def kind_of(alloc: relax.AllocTensorOp) -> Kind:
    """Scope, dtype and device of an allocation."""
    dtype = allocated_info(alloc).dtype
    assert dtype is not None, "verified"
    return alloc.storage_scope, dtype, alloc.device_index


def shared_kind(
    scope: Attribute, device: Attribute, tensors: Iterable[relax.AllocTensorOp]
) -> Kind:
    """The kind of a storage for several tensors: of their dtype, or of bytes."""
    dtypes = {kind_of(alloc)[1] for alloc in tensors}
    return scope, dtypes.pop() if len(dtypes) == 1 else _BYTES, device
