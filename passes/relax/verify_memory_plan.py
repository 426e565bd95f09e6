"""Tensors on one storage that live at once do not overlap: a check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.relax.functions import relax_functions
from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax._memory_plan.planned_tensors import (
    PlannedTensor,
    Storage,
    planned_tensors,
    storage_bytes,
)
from xdsl_tvm.passes.relax._memory_plan.upper_bounds import upper_bounds_of


@dataclass(frozen=True)
class VerifyMemoryPlan(CompilerPass):
    """Summary: Proves that tensors which live at once do not overlap in their storages,
        or names two that may.

    TVM name: none (ours)
    Input form: any; meant for after `relax-static-plan-block-memory`, with any strategy
    Output form: the same
    Options: none
    Rewrites: nothing. A tensor is alive from its allocation to the last use of any value
        that may be the same memory: views, names, tuples, what calls return. A view, name
        or tuple that is not used itself is no use, as for the planner. What a function
        returns, what other dialects see, and what is used in a region other
        than a branch or a dataflow block is alive to the end of the function. Tensors in
        different branches of one `relax.if` are not alive at once. Two tensors on one
        storage are apart if one provably ends where the other starts, or before; the
        bounds of symbols in `tir_var_upper_bound` are trusted. Each tensor must provably
        end within its storage. Time is linear in the size of the module times the number
        of tensors that are alive at once.
    Leaves alone: everything
    Errors: two tensors that may overlap while both are alive; a tensor that may end
        after its storage; attributes that `relax-static-plan-block-memory` refuses
    Attributes: read: `tir_var_upper_bound`, `tir_non_negative_var`; created: none;
        removed: none
    Differs from TVM: TVM has no such pass
    """

    name = "relax-verify-memory-plan"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            if func.body.blocks:
                _verify(func)


def _verify(func: relax.FuncOp) -> None:
    where = f"{VerifyMemoryPlan.name}: in @{func.sym_name.data}"
    upper = upper_bounds_of(func, VerifyMemoryPlan.name)
    on_storage = dict[SSAValue | None, list[PlannedTensor]]()
    for tensor in planned_tensors(func, upper):
        if tensor.storage is None:
            continue
        owner = tensor.storage.owner
        # Storages that come from elsewhere may all be the same one.
        key = tensor.storage if isinstance(owner, Storage) else None
        on_storage.setdefault(key, []).append(tensor)
        if isinstance(owner, Storage):
            _verify_end(where, tensor, owner)
    for tensors in on_storage.values():
        _verify_apart(where, tensors)


def _verify_end(where: str, tensor: PlannedTensor, storage: Storage) -> None:
    size = storage_bytes(storage)
    if size is None or not tensor.ends_before(size):
        text = "unknown size" if size is None else f"{size} bytes"
        raise PassFailedException(
            f"{where}, the tensor {tensor.name} takes {tensor.bytes_text} of a storage "
            f"of {text}; make the storage larger"
        )


def _verify_apart(where: str, tensors: Sequence[PlannedTensor]) -> None:
    alive = list[PlannedTensor]()
    for tensor in tensors:
        alive = [each for each in alive if each.end >= tensor.start]
        for other in alive:
            if not _are_apart(other, tensor) and not _exclude(other.op, tensor.op):
                raise PassFailedException(
                    f"{where}, the tensors {other.name} and {tensor.name} may overlap in "
                    f"their storage while both are alive: {other.bytes_text} and "
                    f"{tensor.bytes_text}; give one of them another offset or storage"
                )
        alive.append(tensor)


def _are_apart(one: PlannedTensor, other: PlannedTensor) -> bool:
    if one.storage is not other.storage:
        return False
    return any(
        second.low is not None and first.ends_before(second.low)
        for first, second in ((one, other), (other, one))
    )


def _exclude(one: Operation, other: Operation) -> bool:
    """Whether two operations are in different branches of one `relax.if`."""
    regions = dict[Operation, object]()
    for op, is_first in ((one, True), (other, False)):
        inner = op
        while (parent := inner.parent_op()) is not None:
            if isinstance(parent, relax.IfOp):
                region = inner.parent_region()
                if is_first:
                    regions[parent] = region
                elif regions.get(parent, region) is not region:
                    return True
            inner = parent
    return False
