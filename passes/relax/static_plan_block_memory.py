"""Tensors that do not live at the same time share storages."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i1,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.hints import isa

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.functions import VAR_UPPER_BOUND, is_set
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax._memory_lives import Event, Leave, Node, Token, Use, lives
from xdsl_tvm.passes.relax._memory_sizes import (
    UpperBounds,
    allocated_bytes,
    allocated_info,
)
from xdsl_tvm.passes.relax._storage_pool import Kind, Storage, StoragePool
from xdsl_tvm.passes.relax._storages import new_storage, place_on

_NON_NEGATIVE = "tir_non_negative_var"
_DYNAMIC_OUTPUT = "relax.memory_plan_dynamic_func_output"


@dataclass(frozen=True)
class StaticPlanBlockMemory(CompilerPass):
    """Summary: Puts the intermediate tensors of Relax functions on storages that tensors
        share whose lives do not overlap.

    TVM name: relax.StaticPlanBlockMemory (v0.20)
    Input form: calls in destination-passing style on tensors of
        `relax.builtin.alloc_tensor` (`relax-call-tir-rewrite`); others are not planned
    Output form: planned tensors are `relax.memory.alloc_tensor` at byte 0 of a
        `relax.memory.alloc_storage`
    Options: none
    Rewrites: before

            %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x4xf32>
            relax.call impure @exp(%x, %a) : (tensor<2x4xf32>, tensor<2x4xf32>) -> ()
            %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x4xf32>
            relax.call impure @exp(%a, %b) : (tensor<2x4xf32>, tensor<2x4xf32>) -> ()
            %c = relax.builtin.alloc_tensor on 0 scope "global" : tensor<10xf32>
            relax.call impure @pad(%b, %c) : (tensor<2x4xf32>, tensor<10xf32>) -> ()
            relax.call impure @show(%c) : (tensor<10xf32>) -> ()

        after

            %s = relax.memory.alloc_storage 40 on 0 scope "global" dtype f32
              : !relax.object
            %a = relax.memory.alloc_tensor %s at 0
              : !relax.object -> tensor<2x4xf32>
            relax.call impure @exp(%x, %a) : (tensor<2x4xf32>, tensor<2x4xf32>) -> ()
            %t = relax.memory.alloc_storage 32 on 0 scope "global" dtype f32
              : !relax.object
            %b = relax.memory.alloc_tensor %t at 0
              : !relax.object -> tensor<2x4xf32>
            relax.call impure @exp(%a, %b) : (tensor<2x4xf32>, tensor<2x4xf32>) -> ()
            %c = relax.memory.alloc_tensor %s at 0
              : !relax.object -> tensor<10xf32>
            relax.call impure @pad(%b, %c) : (tensor<2x4xf32>, tensor<10xf32>) -> ()
            relax.call impure @show(%c) : (tensor<10xf32>) -> ()

        A tensor is planned if all that uses it, or a view of it, are calls of external
        or TIR functions among the bindings of the block that allocates it, a dataflow
        block ending a block. Views are `relax.reshape`, `relax.memory.view`,
        `relax.memory.ensure_zero_offset`, `relax.alias`, `relax.match_cast`, fields of
        tuples, and what external calls return. After the last use its storage is free
        for the next tensor of the same scope, dtype and device: the smallest of those
        large enough, or else the largest, which grows; sizes that differ by more than a
        factor of 16 do not share. A size is bounded with the upper bounds of the
        symbols; one that is not constant shares only with provably equal ones. A tensor
        without uses has a storage to itself. Time is that of sorting the storages of a
        function by size, and linear otherwise; storages are placed in front of the first
        tensor on them, or of the `relax.if` around it where tensors in several branches
        share.
    Leaves alone: tensors that a function or a branch returns, that are a condition, or
        that anything else than such a call uses, as calls of Relax functions and
        operators; tensors used in another block than theirs, or in regions of other
        operations than `relax.if` and `relax.dataflow`; what is on a storage already.
        Nothing is freed: `relax-kill-after-last-use` does that.
    Errors: an upper bound that is no positive integer; `tir_var_upper_bound` that is no
        dictionary; `tir_non_negative_var` that is no array of strings; a planned tensor
        whose element type has no size in bytes
    Attributes: read: `tir_var_upper_bound`, the greatest values, inclusive, of symbols
        that the parameters define, by name; `tir_non_negative_var`;
        `relax.memory_plan_dynamic_func_output`, which gives each tensor that is not
        planned and whose shape is not constant a storage of its own of the bounded size;
        created: none; removed: `relax.memory_plan_dynamic_func_output`
    Differs from TVM: a `relax.match_cast` and what an external call returns count as
        uses of the memory that they may be views of. Devices do not share storages. A
        storage for tensors in several branches is made in front of them, where TVM makes
        it in the first, out of sight of the others; a size with symbols that a branch
        defines is not used after the branch. Symbols are never negative here, so that
        `tir_non_negative_var` is only checked. That symbols stay within their upper
        bounds is trusted, as in TVM.
    """

    name = "relax-static-plan-block-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [func for func in op.walk() if isinstance(func, relax.FuncOp)]
        names = {func.sym_name.data for func in functions}
        # All attributes are checked before anything changes.
        bounds = [UpperBounds(_upper_bounds(func)) for func in functions]
        for func, upper in zip(functions, bounds, strict=True):
            self._plan(func, names, upper)
            if _DYNAMIC_OUTPUT in func.attributes:
                if is_set(func.attributes[_DYNAMIC_OUTPUT]):
                    self._place_dynamic(func, upper)
                del func.attributes[_DYNAMIC_OUTPUT]

    def _plan(
        self, func: relax.FuncOp, names: AbstractSet[str], upper: UpperBounds
    ) -> None:
        planner = _Planner(self.name, upper)
        for event in lives(func, names):
            planner.advance(event)
        for storage in planner.storages:
            _emit(storage)

    def _place_dynamic(self, func: relax.FuncOp, upper: UpperBounds) -> None:
        for alloc in [op for op in func.walk() if isinstance(op, relax.AllocTensorOp)]:
            info = allocated_info(alloc)
            if info.dtype is None or all(
                dim.value is not None for dim in info.shape or ()
            ):
                continue
            size = allocated_bytes(alloc, self.name, upper)
            place_on(alloc, new_storage(alloc, size, info.dtype))


# ---- attributes ----


def _upper_bounds(func: relax.FuncOp) -> dict[str, int]:
    """The greatest values of the symbols that the parameters define."""
    _check_non_negative(func)
    given = func.attributes.get(VAR_UPPER_BOUND, DictionaryAttr({}))
    if not isinstance(given, DictionaryAttr):
        raise PassFailedException(
            f"{_where(func)}: {VAR_UPPER_BOUND} is {given}; write a dictionary from "
            "names of symbols to integers"
        )
    bounds = {key: _upper_bound(func, key, value) for key, value in given.data.items()}
    return {key: bounds[key] for key in func.symbol_names if key in bounds}


def _upper_bound(func: relax.FuncOp, key: str, value: Attribute) -> int:
    if isa(value, IntegerAttr) and value.type != i1 and (number := value.value.data) > 0:
        return number
    raise PassFailedException(
        f"{_where(func)}: {VAR_UPPER_BOUND} of '{key}' is {value}; write an integer "
        "larger than 0"
    )


def _check_non_negative(func: relax.FuncOp) -> None:
    given = func.attributes.get(_NON_NEGATIVE)
    if given is None or isa(given, ArrayAttr[StringAttr]):
        return
    raise PassFailedException(
        f"{_where(func)}: {_NON_NEGATIVE} is {given}; write an array of strings"
    )


def _where(func: relax.FuncOp) -> str:
    return f"{StaticPlanBlockMemory.name}: {func.name} @{func.sym_name.data}"


# ---- planning ----


class _Planner:
    """Gives the tensors of one function storages, in the order of execution."""

    def __init__(self, name: str, upper: UpperBounds) -> None:
        self.storages: list[Storage] = []
        self._name = name
        self._upper = upper
        self._pool = StoragePool()
        self._storage_of: dict[Node, Storage] = {}

    def advance(self, event: Event) -> None:
        """Take the next event into account."""
        match event:
            case Token():
                if not event.escaped:
                    self._allocate(event)
            case Use():
                self._release(event.node)
            case Leave():
                self._pool.forget(event.symbols)

    def _allocate(self, token: Token) -> None:
        alloc = token.alloc
        size = allocated_bytes(alloc, self._name, self._upper)
        kind = _kind(alloc)
        storage = self._pool.take(kind, size) if token.refs else None
        if storage is None:
            storage = Storage(kind, size)
            self.storages.append(storage)
        storage.tensors.append(alloc)
        self._storage_of[token] = storage

    def _release(self, first: Node) -> None:
        pending: list[Node | None] = [first]
        while pending:
            node = pending.pop()
            if node is None or node.escaped:
                continue
            node.refs -= 1
            if node.refs:
                continue
            if isinstance(node, Token):
                self._pool.release(self._storage_of[node])
            pending += reversed(node.parts)


def _kind(alloc: relax.AllocTensorOp) -> Kind:
    dtype = allocated_info(alloc).dtype
    assert dtype is not None, "verified"
    return alloc.storage_scope, dtype, alloc.device_index


# ---- rewriting ----


def _emit(storage: Storage) -> None:
    first = storage.tensors[0]
    dtype = storage.kind[1]
    anchor = _common_anchor(storage.tensors)
    memory = new_storage(first, storage.size, dtype, anchor)
    for alloc in storage.tensors:
        place_on(alloc, memory)


def _common_anchor(allocs: list[relax.AllocTensorOp]) -> Operation:
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
