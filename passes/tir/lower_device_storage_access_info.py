"""Special memory gets its address, and pointers with a region become addresses."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, Ramp, emit, view
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import MemoryInfo
from xdsl_tvm.dialects.tir.memory_info import MEMORY_INFO
from xdsl_tvm.dialects.tir.storage_scope import DYNAMIC_TAG
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.rewriting.device_memories import memory_infos_around
from xdsl_tvm.passes.tir.rewriting.statements import describe, erase_if_unused

_ANY_POINTER = ("call_extern", "call_pure_extern")
"""Calls that pass pointers on as they are, whatever they point to."""


@dataclass(frozen=True)
class LowerDeviceStorageAccessInfo(CompilerPass):
    """Summary: Replaces allocations in special scopes and pointers with regions.

    TVM name: tir.LowerDeviceStorageAccessInfo (v0.20)
    Input form: flat or vector code, on the host or a device
    Output form: the same, without `tir.access_ptr` and without `tir.allocate` in a scope
        with a tag other than `.dyn`
    Options: none
    Rewrites: before, where the memory info of `local.L1` has the head address "l1_base"

            %p = tir.allocate [16] : !tir.ptr<f32, "local.L1">
            %q = tir.access_ptr rw %p[%i to %i + %n] : !tir.ptr<f32, "local.L1">

        after

            %name = tir.string "l1_base"
            %h = tir.call "call_extern"(%name) : (!tir.handle) -> !tir.handle
            %p = tir.let %h : !tir.handle -> !tir.ptr<f32, "local.L1">
            %j = tir.add %i, %c1 : i32
            %V = tir.decl_buffer %p [%j] {implicit} : !tir.buffer<?xf32, "local.L1">
            %q = tir.address_of %V[%i] : !tir.ptr<f32, "local.L1">

        A head address that is a number is the `reinterpret` of it. An allocation in a
        scope without a head address is erased, with its declarations. A pointer to
        vectors of `n` lanes becomes the address of `n` elements from `i * n` on, in a
        buffer of scalars; where its type matters to a user, it is cast back. Memory infos
        are those of modules and of the registry (`dialects/tir/memory_info.py`). Time is
        linear in the size of the module.
    Leaves alone: allocations without a tag, and in `.dyn`
    Errors: an allocation in a tagged scope without memory info; a use of memory that has
        no head address; a malformed description of memory in the module
    Attributes: read: `tir.memory_info` of modules; created: none; removed: none
    Differs from TVM: what is erased has no uses left, where TVM leaves accesses of
        undefined variables. A `tir.access_ptr` is a pointer, so that it has no form as a
        number of units of the memory.
    """

    name = "tir-lower-device-storage-access-info"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in [each for each in op.walk() if isinstance(each, tir.FuncOp)]:
            _lower(func)


def _lower(func: tir.FuncOp) -> None:
    allocations: list[tir.AllocateOp] = []
    pointers: list[tir.AccessPtrOp] = []
    for op in func.walk():
        if isinstance(op, tir.AccessPtrOp):
            pointers.append(op)
        elif isinstance(op, tir.AllocateOp) and _is_special(op):
            allocations.append(op)
    infos = memory_infos_around(func) if allocations else dict[str, MemoryInfo]()
    for allocation in allocations:
        scope = str(allocation.result.type.storage_scope)
        info = infos.get(scope)
        if info is None:
            raise PassFailedException(
                f"{describe(allocation)}: Cannot find memory info of {scope}; describe "
                f"it in {MEMORY_INFO} of the module, or with register_memory_info"
            )
        if info.head_address is None:
            _erase(allocation)
        else:
            _bind(allocation, info.head_address)
    for pointer in pointers:
        if pointer.parent is not None:
            _replace(pointer)


def _is_special(op: tir.AllocateOp) -> bool:
    return op.result.type.storage_scope.tag not in ("", DYNAMIC_TAG)


# ---- memory ----


def _erase(allocation: tir.AllocateOp) -> None:
    """Erase memory without an address, and its declarations, which nothing may use."""
    views: list[Operation] = []
    pending: list[SSAValue] = [allocation.result]
    while pending:
        for user in dict.fromkeys(use.operation for use in pending.pop().uses):
            if not isinstance(user, tir.DeclBufferOp | tir.DataOp):
                raise PassFailedException(
                    f"{describe(user)}: memory of the scope "
                    f"{allocation.result.type.scope.data} is not addressable; give its "
                    "memory info a head_address"
                )
            views.append(user)
            pending += user.results
    operands = [value for op in (allocation, *views) for value in op.operands]
    for view_ in reversed(views):
        Rewriter.erase_op(view_)
    Rewriter.erase_op(allocation)
    erase_if_unused(value for value in operands if _is_alive(value))


def _is_alive(value: SSAValue) -> bool:
    owner = value.owner
    return not isinstance(owner, Operation) or owner.parent is not None


def _bind(allocation: tir.AllocateOp, head: int | str) -> None:
    """Bind the pointer of an allocation to an address."""
    ops: list[Operation] = []
    if isinstance(head, str):
        name = tir.StringOp(head)
        address = tir.CallOp("call_extern", [name], tir.HandleType())
        ops += (name, address)
    else:
        number = tir.ConstOp(IntegerAttr(head, i64))
        address = tir.CallOp("reinterpret", [number], tir.HandleType())
        ops += (number, address)
    binding = tir.LetOp(
        address, name=allocation.var_name, result_type=allocation.result.type
    )
    ops.append(binding)
    for op in ops:
        op.location = allocation.location
    operands = tuple(allocation.operands)
    hint = allocation.result.name_hint
    Rewriter.replace_op(allocation, ops, [binding.result])
    for op in ops:
        op.results[0].name_hint = hint if op is binding else None
    erase_if_unused(operands)


# ---- pointers ----


def _replace(pointer: tir.AccessPtrOp) -> None:
    """Put an address in the place of a pointer with a region."""
    builder = Builder(InsertPoint.before(pointer))
    first = pointer.prev_op
    element = pointer.element_type
    lanes = 1 if tir.is_scalable(element) else tir.lanes_of(element)
    scalar = element if lanes == 1 else tir.element_of(element)
    known = {view(pointer.offset): pointer.offset}
    offset = view(pointer.offset)
    if not tir.is_index_type(offset.dtype):
        offset = smart.cast(i64, offset)
    buffer = _viewed(pointer, scalar, smart.add(offset, 1), known, builder)
    index = offset
    if lanes > 1:
        one = smart.const(1, offset.dtype)
        vector = tir.with_lanes(offset.dtype, lanes)
        index = Ramp(vector, smart.mul(offset, lanes), one)
    address = tir.AddressOfOp(buffer, [emit(index, builder, known)])
    builder.insert(address)
    result = address.result
    if result.type != pointer.result.type:
        exact = [use for use in pointer.result.uses if _needs_type(use.operation)]
        if exact:
            cast = tir.CallOp("reinterpret", [result], pointer.result.type)
            builder.insert(cast)
            for use in exact:
                use.operation.operands[use.index] = cast.results[0]
    added = pointer.prev_op
    while added is not None and added is not first:
        added.location = pointer.location
        added = added.prev_op
    operands = tuple(pointer.operands)
    hint = pointer.result.name_hint
    Rewriter.replace_op(pointer, [], [result])
    result.name_hint = hint
    erase_if_unused(operands)


def _viewed(
    pointer: tir.AccessPtrOp,
    element: Attribute,
    extent: Expr,
    known: dict[Expr, SSAValue],
    builder: Builder,
) -> SSAValue:
    """A buffer of one dimension on the memory of a pointer, which no text declares."""
    data = pointer.data
    scope = pointer.result.type.scope
    if not isinstance(data.type, tir.PtrType):
        typed = tir.LetOp(data, result_type=tir.PtrType(element, scope))
        data = builder.insert(typed).result
    size = smart.literal(extent)
    if isinstance(size, int) and size >= 0:
        kind, extents = tir.BufferType([size], element, scope), list[SSAValue]()
    else:
        kind = tir.BufferType([DYNAMIC_INDEX], element, scope)
        extents = [emit(extent, builder, known)]
    buffer = builder.insert(tir.DeclBufferOp(data, kind, extents))
    buffer.properties["implicit"] = UnitAttr()
    if isinstance(name := _name_of(pointer.data), StringAttr):
        buffer.properties["name"] = name
    return buffer.buffer


def _name_of(data: SSAValue) -> Attribute | None:
    owner = data.owner
    return owner.properties.get("name") if isinstance(owner, Operation) else None


def _needs_type(op: Operation) -> bool:
    """Whether what a pointer points to matters to an op."""
    if isinstance(op, tir.CallOp):
        return op.callee.data not in _ANY_POINTER
    return not isinstance(op, tir.DeclBufferOp | tir.AccessPtrOp)
