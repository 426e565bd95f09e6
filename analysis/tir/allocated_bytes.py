"""How much memory functions allocate at a time.

TVM name: `tir.analysis.calculate_allocated_bytes`. Rules:
docs/spec/tir-passes-c-memory-and-gpu.md, VerifyVTCMLimit.
"""

from __future__ import annotations

import math
from collections import defaultdict

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import tir


def allocated_bytes(func: tir.FuncOp) -> dict[str, int]:
    """The largest number of bytes that a function has allocated at a time, by scope.

    An allocation lasts from its op to the end of the block that holds it. Sizes that are
    no constants count as 0, so a scope with such allocations only has the value 0. Linear
    in the number of ops.
    """
    peaks: dict[str, int] = defaultdict(int)
    current: dict[str, int] = defaultdict(int)
    pending: list[Operation | _End] = [func]
    while pending:
        item = pending.pop()
        if isinstance(item, _End):
            for scope, size in item.sizes:
                current[scope] -= size
            continue
        found = _size(item)
        if found is not None:
            scope, size = found
            current[scope] += size
            peaks[scope] = max(peaks[scope], current[scope])
        for region in reversed(item.regions):
            for block in reversed(region.blocks):
                pending.append(_End(block))
                pending.extend(reversed(list(block.ops)))
    return dict(peaks)


def allocated_bytes_of_functions(module: ModuleOp) -> dict[str, dict[str, int]]:
    """`allocated_bytes` of every TIR function of a module, by its symbol."""
    return {
        op.sym_name.data: allocated_bytes(op)
        for op in all_ops(module)
        if isinstance(op, tir.FuncOp)
    }


class _End:
    """The end of a block, where the memory that ops directly in it allocate is freed."""

    def __init__(self, block: Block) -> None:
        sizes = (_size(op) for op in block.ops)
        self.sizes = [found for found in sizes if found is not None]


def _size(op: Operation) -> tuple[str, int] | None:
    """Scope and bytes of an allocation, None for other ops."""
    if isinstance(op, tir.AllocateOp):
        pointer, shape = op.result.type, op.shape
    elif isinstance(op, tir.AllocBufferOp):
        pointer, shape = op.type.pointer_type, op.shape
    else:
        return None
    elements = math.prod(extent if isinstance(extent, int) else 0 for extent in shape)
    dtype = pointer.element_type
    size = elements * tir.lanes_of(dtype) * tir.bytes_of_lane(dtype)
    return pointer.scope.data, size
