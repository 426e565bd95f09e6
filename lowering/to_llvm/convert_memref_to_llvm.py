"""Memory, to pointers of the llvm dialect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FixedBitwidthType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    NoneAttr,
    StridedLayoutAttr,
    UnitAttr,
    UnrankedMemRefType,
    VectorType,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.dialects.memref import (
    AllocaOp,
    AllocOp,
    AssumeAlignmentOp,
    AtomicRMWOp,
    CastOp,
    CopyOp,
    DeallocOp,
    DimOp,
    GetGlobalOp,
    GlobalOp,
    LoadOp,
    MemorySpaceCastOp,
    ReinterpretCastOp,
    StoreOp,
    SubviewOp,
    ViewOp,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import tvm_llvm
from xdsl_tvm.dialects.quick_operation import create
from xdsl_tvm.lowering.to_llvm._conversion import (
    Conversion,
    convert_type,
    fail,
    gep_index,
    identity_strides,
    is_cast,
    is_convertible,
    pointer_type,
)
from xdsl_tvm.lowering.to_llvm._device_memory import ALLOCATE, FREE, ON_DEVICE
from xdsl_tvm.lowering.to_llvm._symbols import Symbols, new_call, symbol_table
from xdsl_tvm.passes.infra import CompilerPass

_MemRef = MemRefType[Attribute]
_ALIGNMENT = 64
"""Bytes; a cache line and the widest vector."""


@dataclass(frozen=True)
class ConvertMemRefToLLVM(CompilerPass):
    """Summary: Turns memory operations into loads and stores through bare pointers.

    TVM name: none (ours)
    Input form: any verified IR whose memrefs have static strides: identity layout with
        at most the leading extent dynamic, or a strided layout with static strides
    Output form: no memref operation
    Options: none
    Rewrites:
            %v = memref.load %m[%i, %j] : memref<?x8xf32>
          →
            %p = llvm.getelementptr inbounds %m[%i * 8 + %j] : …, f32
            %v = llvm.load %p {alignment = 4} : !llvm.ptr -> f32
        alloc and dealloc call `aligned_alloc(64, size rounded up)` and `free`, and with
        the attribute `tvm.on_device` `tvm_gpu_alloc` and `tvm_gpu_free`; a static
        alloca moves to the entry block of its function; globals, get_global, subview,
        reinterpret_cast, view, cast, copy (memcpy), dim of static extents, atomic_rmw
        (monotonic), assume_alignment and tvm_llvm.element_address likewise. A memref
        is the address of its element at index zero, so a subview's offset is part of
        the pointer. i1 elements are bytes that hold 0 or 1.
    Leaves alone: foreign operations
    Errors: dynamic strides, the dynamic extent of a memref (it is not passed with the
        pointer), element types without an LLVM form, alloc in a memory space, dealloc
        of an unranked memref, every other memref operation
    Attributes: read: `nontemporal` of memref.store, which the llvm.store gets; created:
        none; removed: none
    Differs from TVM: TVM calls TVMBackendAllocWorkspace; memory here comes from libc
    """

    name = "tvm-convert-memref-to-llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lowering = _Lowering()
        for inner in all_ops(op):
            handler = _HANDLERS.get(type(inner))
            if handler is not None:
                lowering.at.start(inner)
                lowering.at.replace(inner, handler(lowering, inner))
            elif is_cast(inner):
                lowering.at.note_cast(inner)
            elif inner.name.startswith("memref."):
                raise fail(inner, "this pass does not know it; rewrite it as loads")
        lowering.at.finish()


class _Lowering:
    def __init__(self) -> None:
        self.at = Conversion()
        self.symbols = Symbols()

    # -- addresses

    def scaled(
        self, values: Sequence[SSAValue | int], steps: Sequence[int]
    ) -> SSAValue | int:
        """The sum of `values` times `steps`: a number if all values are, else an i64."""
        known = 0
        total: SSAValue | None = None
        for value, step in zip(values, steps, strict=True):
            if isinstance(value, int):
                known += value * step
                continue
            term = self.at.operand(value)
            if step != 1:
                term = self.arith(llvm.MulOp, term, self.at.constant(step, i64))
            total = term if total is None else self.arith(llvm.AddOp, total, term)
        if total is None:
            return known
        if known:
            total = self.arith(llvm.AddOp, total, self.at.constant(known, i64))
        return total

    def arith(
        self, kind: type[llvm.ArithmeticBinOpOverflow], lhs: SSAValue, rhs: SSAValue
    ) -> SSAValue:
        # An index into memory cannot overflow: the object would not fit the machine.
        return self.at.emit(kind, [lhs, rhs], i64, overflowFlags=_NSW)

    def offset(
        self, base: SSAValue, element: Attribute, index: SSAValue | int
    ) -> SSAValue:
        """The address of element `index` of the array at `base`."""
        if isinstance(index, int):
            if index == 0:
                return base
            dynamic, raw = [], index
        else:
            dynamic, raw = [index], llvm.GEP_USE_SSA_VAL
        return self.at.emit(
            llvm.GEPOp,
            [base, *dynamic],
            base.type,
            elem_type=element,
            rawConstantIndices=gep_index(raw),
            noWrapFlags=_PLAIN,
            inbounds=UnitAttr(),
        )

    def element(
        self, op: Operation, base: SSAValue, indices: Sequence[SSAValue | int]
    ) -> SSAValue:
        type = _memref_type(base)
        index = self.scaled(indices, strides_of(op, type))
        return self.offset(self.at.operand(base), storage_type(op, type), index)

    def size_in_bytes(
        self, op: Operation, type: _MemRef, dynamic: Sequence[SSAValue]
    ) -> SSAValue | int:
        sizes = iter(dynamic)
        known = byte_size(op, storage_type(op, type))
        factors: list[SSAValue] = []
        for extent in type.get_shape():
            if extent == DYNAMIC_INDEX:
                factors.append(self.at.operand(next(sizes)))
            else:
                known *= extent
        if not factors:
            return known
        total = self.at.constant(known, i64)
        for factor in factors:
            total = self.arith(llvm.MulOp, total, factor)
        return total


_NSW = IntegerAttr(1, i32)
_PLAIN = IntegerAttr(0, i32)


def _memref_type(value: SSAValue) -> _MemRef:
    assert isinstance(value.type, MemRefType)
    return cast(_MemRef, value.type)


def strides_of(op: Operation, type: _MemRef) -> tuple[int, ...]:
    """The static strides of `type`; raises PassFailedException if it has none."""
    strides = identity_strides(type)
    if strides is None:
        raise fail(
            op,
            f"{type} has strides that are not static; give it static trailing "
            "extents, or linearise it to one dimension",
        )
    return strides


def storage_type(op: Operation, type: _MemRef) -> Attribute:
    """The LLVM type of an element in memory: a byte for i1, i64 for index."""
    element = type.element_type
    if element == i1:
        return i8
    if isinstance(element, MemRefType) or not is_convertible(element):
        raise fail(op, f"elements of type {element} have no LLVM form")
    return convert_type(element)


@lru_cache(maxsize=256)
def _scalar_bytes(type: Attribute) -> int | None:
    if isinstance(type, llvm.LLVMPointerType):
        return 8
    if not isinstance(type, FixedBitwidthType):
        return None
    size = (type.bitwidth + 7) // 8
    return 1 << (size - 1).bit_length()


def byte_size(op: Operation, type: Attribute) -> int:
    """The distance in bytes of array elements of an LLVM type."""
    if isinstance(type, VectorType):
        vector = cast("VectorType[Attribute]", type)
        size = byte_size(op, vector.element_type) * prod(vector.get_shape())
        return 1 << (size - 1).bit_length()
    size = _scalar_bytes(type)
    if size is None:
        raise fail(op, f"the size of {type} is not known")
    return size


def alignment_of(op: Operation, type: Attribute) -> IntegerAttr:
    """The natural alignment; a vector is only as aligned as its elements."""
    if isinstance(type, VectorType):
        return alignment_of(op, cast("VectorType[Attribute]", type).element_type)
    return _alignment(byte_size(op, type))


@lru_cache(maxsize=64)
def _alignment(size: int) -> IntegerAttr:
    return IntegerAttr(size, i64)


_ORDER_NONE = IntegerAttr(0, i64)
_Handler = Callable[[_Lowering, Operation], "Sequence[SSAValue]"]


# ---------------------------------------------------------------------------- access


def _load(run: _Lowering, op: Operation) -> Sequence[SSAValue]:
    assert isinstance(op, LoadOp)
    source, *indices = op.operands
    stored = storage_type(op, _memref_type(source))
    value = run.at.emit(
        llvm.LoadOp,
        [run.element(op, source, indices)],
        stored,
        ordering=_ORDER_NONE,
        alignment=alignment_of(op, stored),
    )
    if op.results[0].type == i1:
        value = run.at.emit(llvm.TruncOp, [value], i1)
    return [value]


def _store(run: _Lowering, op: Operation) -> Sequence[SSAValue]:
    assert isinstance(op, StoreOp)
    value, target, *indices = op.operands
    stored = storage_type(op, _memref_type(target))
    address = run.element(op, target, indices)
    value = run.at.operand(value)
    if value.type == i1:
        value = run.at.emit(llvm.ZExtOp, [value], i8)
    run.at.insert_op(plain_store(op, value, address, stored))
    return []


def plain_store(
    op: Operation, value: SSAValue, address: SSAValue, stored: Attribute
) -> llvm.StoreOp:
    """The store that `op` becomes; `stored` is the type of an element in memory."""
    properties: dict[str, Attribute] = {
        "ordering": _ORDER_NONE,
        "alignment": alignment_of(op, stored),
    }
    hint = op.properties.get("nontemporal")
    if isinstance(hint, IntegerAttr) and hint.value.data:
        properties["nontemporal"] = UnitAttr()
    return create(llvm.StoreOp, operands=[value, address], properties=properties)


_ATOMICS: tuple[str | None, ...] = (
    "fadd",
    "add",
    "xchg",
    None,
    None,
    "max",
    "umax",
    None,
    None,
    "min",
    "umin",
    None,
    None,
    "_or",
    "_and",
    "_xor",
)
"""By the value of arith.AtomicRMWKind: addf, addi, assign, maximumf, maxnumf, maxs,
maxu, minimumf, minnumf, mins, minu, mulf, muli, ori, andi, xori."""


def _atomic_rmw(run: _Lowering, op: Operation) -> Sequence[SSAValue]:
    assert isinstance(op, AtomicRMWOp)
    value, target, *indices = op.operands
    kind = op.kind.value.data
    name = _ATOMICS[kind] if 0 <= kind < len(_ATOMICS) else None
    if name is None:
        raise fail(
            op,
            f"no atomic instruction does kind {kind}; use a compare-and-swap loop",
        )
    if value.type == i1:
        raise fail(op, "i1 has no atomic instruction; use i8")
    stored = storage_type(op, _memref_type(target))
    address = run.element(op, target, indices)
    atomic = tvm_llvm.AtomicRMWOp(
        name,
        address,
        run.at.operand(value),
        alignment=alignment_of(op, stored).value.data,
    )
    return [run.at.insert(atomic)]


# ------------------------------------------------------------------------ allocation


def _alloc(run: _Lowering, op: Operation) -> Sequence[SSAValue]:
    assert isinstance(op, AllocOp)
    _require_heap(op)
    type = _allocated_type(op, op.symbol_operands)
    if ON_DEVICE in op.attributes:
        bytes_ = run.size_in_bytes(op, type, op.dynamic_sizes)
        value = run.at.constant(bytes_, i64) if isinstance(bytes_, int) else bytes_
        return [run.at.insert(func.CallOp(ALLOCATE, [value], [llvm.LLVMPointerType()]))]
    if pointer_type(type.memory_space) != llvm.LLVMPointerType():
        raise fail(
            op,
            f"memory space {type.memory_space} has no heap; use memref.global or "
            "memref.alloca",
        )
    alignment = _ALIGNMENT
    if op.alignment is not None:
        alignment = max(alignment, op.alignment.value.data)
    size = run.size_in_bytes(op, type, op.dynamic_sizes)
    if isinstance(size, int):
        # aligned_alloc wants a multiple of the alignment, and zero bytes may be null.
        size = max(-(-size // alignment), 1) * alignment
        rounded = run.at.constant(size, i64)
    else:
        mask = run.at.constant(alignment - 1, i64)
        padded = run.arith(llvm.AddOp, size, mask)
        rounded = run.at.emit(llvm.AndOp, [padded, run.at.constant(-alignment, i64)], i64)
    callee = run.symbols.declare_function(
        op, "aligned_alloc", [i64, i64], llvm.LLVMPointerType(), allocates=True
    )
    arguments = [run.at.constant(alignment, i64), rounded]
    call = new_call(callee, arguments, llvm.LLVMPointerType())
    return [run.at.insert(call)]


def _dealloc(run: _Lowering, op: Operation) -> Sequence[SSAValue]:
    if isinstance(op.operands[0].type, UnrankedMemRefType):
        raise fail(op, "the memref is unranked; cast it to a ranked one")
    _require_heap(op)
    if ON_DEVICE in op.attributes:
        run.at.insert_op(func.CallOp(FREE, [run.at.operand(op.operands[0])], []))
        return []
    callee = run.symbols.declare_function(op, "free", [llvm.LLVMPointerType()], None)
    run.at.insert_op(new_call(callee, [run.at.operand(op.operands[0])], None))
    return []


def _require_heap(op: Operation) -> None:
    if symbol_table(op).name == "gpu.module":
        raise fail(
            op,
            "GPU code has no heap; allocate on the host, or use memref.alloca or a "
            "memref.global in memory space 3",
        )


def _allocated_type(op: Operation, symbols: Sequence[SSAValue]) -> _MemRef:
    type = _memref_type(op.results[0])
    if symbols or not isinstance(type.layout, NoneAttr):
        raise fail(op, f"{type} has a layout; allocate with the identity layout")
    strides_of(op, type)
    return type


def _alloca(run: _Lowering, op: Operation) -> Sequence[SSAValue]:
    assert isinstance(op, AllocaOp)
    type = _allocated_type(op, op.symbol_operands)
    element = storage_type(op, type)
    alignment = max(
        alignment_of(op, element).value.data,
        op.alignment.value.data if op.alignment is not None else 0,
    )
    pointer = pointer_type(type.memory_space)
    static = [extent for extent in type.get_shape() if extent != DYNAMIC_INDEX]
    if op.dynamic_sizes:
        count = run.at.constant(prod(static), i64)
        for size in op.dynamic_sizes:
            count = run.arith(llvm.MulOp, count, run.at.operand(size))
        address = run.at.emit(
            llvm.AllocaOp,
            [count],
            llvm.LLVMPointerType(),
            elem_type=element,
            alignment=_alignment(alignment),
        )
    else:
        address = _static_alloca(op, element, prod(static), alignment)
    if pointer != address.type:
        # Stack memory is in the generic address space on all our targets.
        address = run.at.emit(tvm_llvm.AddrSpaceCastOp, [address], pointer)
    return [address]


def _static_alloca(
    op: Operation, element: Attribute, count: int, alignment: int
) -> SSAValue:
    """An alloca in the entry block of the function, where it costs no stack in loops."""
    region = op.parent_region()
    assert region is not None
    entry = region.first_block
    parent = region.parent_op()
    while parent is not None and not _is_function(parent):
        outer = parent.parent_region()
        if outer is None:
            break
        entry, parent = outer.first_block, outer.parent_op()
    assert entry is not None
    number = llvm.ConstantOp(IntegerAttr(count, i64), i64)
    alloca = create(
        llvm.AllocaOp,
        operands=[number.result],
        result_types=[llvm.LLVMPointerType()],
        properties={"elem_type": element, "alignment": _alignment(alignment)},
        location=op.location,
    )
    number.location = op.location
    first = entry.first_op
    assert first is not None
    entry.insert_op_before(number, first)
    entry.insert_op_before(alloca, first)
    return alloca.results[0]


def _is_function(op: Operation) -> bool:
    return "function_type" in op.properties or "function_type" in op.attributes


# --------------------------------------------------------------------------- globals


def _global(run: _Lowering, op: Operation) -> Sequence[SSAValue]:
    assert isinstance(op, GlobalOp)
    type = op.type
    if DYNAMIC_INDEX in type.get_shape() or not isinstance(type.layout, NoneAttr):
        raise fail(op, f"{type} is not static with the identity layout")
    element = storage_type(op, type)
    space = pointer_type(type.memory_space)
    number = 0 if isinstance(space.addr_space, NoneAttr) else space.addr_space.data
    count = prod(type.get_shape())
    value = op.initial_value
    # Memory without initial value has no definition that other modules could see. An
    # array without elements is GPU shared memory, whose size the launch decides.
    external = op.sym_visibility.data != "private" and (
        count == 0 or not isinstance(value, UnitAttr)
    )
    properties: dict[str, Attribute] = {
        "global_type": llvm.LLVMArrayType(count, element),
        "sym_name": op.sym_name,
        "linkage": llvm.LinkageAttr("external" if external else "internal"),
        "addr_space": IntegerAttr(number, i32),
        "alignment": op.alignment or _alignment(_natural_or_line(op, element)),
    }
    if op.constant is not None:
        properties["constant"] = UnitAttr()
    if isinstance(value, DenseIntOrFPElementsAttr):
        data = cast("DenseIntOrFPElementsAttr[IntegerType]", value).data.data
        if type.element_type == i1:
            data = bytes(byte & 1 for byte in data)
        properties["value"] = _initial_value(data, element, count)
    run.at.insert_op(create(llvm.GlobalOp, properties=properties, regions=[Region()]))
    return []


def _natural_or_line(op: Operation, element: Attribute) -> int:
    return max(16, alignment_of(op, element).value.data)


def _initial_value(data: bytes, element: Attribute, count: int) -> Attribute:
    """The initial bytes as an attribute of a one-dimensional array."""
    type = cast("VectorType[IntegerType]", VectorType(element, [count]))
    return DenseIntOrFPElementsAttr(type, BytesAttr(data))


def _get_global(run: _Lowering, op: Operation) -> Sequence[SSAValue]:
    assert isinstance(op, GetGlobalOp)
    pointer = convert_type(op.results[0].type)
    return [run.at.emit(llvm.AddressOfOp, [], pointer, global_name=op.name_)]


# ----------------------------------------------------------------------------- views


def _merge(
    static: DenseArrayBase[IntegerType], dynamic: Sequence[SSAValue]
) -> list[SSAValue | int]:
    values = iter(dynamic)
    return [
        next(values) if number == DYNAMIC_INDEX else int(number)
        for number in static.get_values()
    ]


def _subview(run: _Lowering, op: Operation) -> Sequence[SSAValue]:
    assert isinstance(op, SubviewOp)
    source = _memref_type(op.source)
    strides_of(op, _memref_type(op.result))
    offsets = _merge(op.static_offsets, op.offsets)
    index = run.scaled(offsets, strides_of(op, source))
    base = run.at.operand(op.source)
    return [run.offset(base, storage_type(op, source), index)]


def _reinterpret_cast(run: _Lowering, op: Operation) -> Sequence[SSAValue]:
    assert isinstance(op, ReinterpretCastOp)
    source = _memref_type(op.source)
    strides_of(op, _memref_type(op.result))
    if not isinstance(source.layout, NoneAttr):
        # Its offset counts from the allocation, which a bare pointer does not know.
        raise fail(op, f"the layout of {source} may have an offset; use memref.subview")
    (offset,) = _merge(op.static_offsets, op.offsets)
    index = run.scaled([offset], [1])
    return [run.offset(run.at.operand(op.source), storage_type(op, source), index)]


def _view(run: _Lowering, op: Operation) -> Sequence[SSAValue]:
    assert isinstance(op, ViewOp)
    strides_of(op, _memref_type(op.result))
    index = run.scaled([op.byte_shift], [1])
    return [run.offset(run.at.operand(op.source), i8, index)]


def _same_pointer(run: _Lowering, op: Operation) -> Sequence[SSAValue]:
    for value in (op.operands[0], op.results[0]):
        if isinstance(value.type, UnrankedMemRefType):
            raise fail(op, "an unranked memref carries its shape; use a ranked one")
    source, result = _memref_type(op.operands[0]), _memref_type(op.results[0])
    if strides_of(op, source) != strides_of(op, result):
        raise fail(op, f"{source} and {result} have different strides")
    return [run.at.operand(op.operands[0])]


def _memory_space_cast(run: _Lowering, op: Operation) -> Sequence[SSAValue]:
    pointer = run.at.operand(op.operands[0])
    target = convert_type(op.results[0].type)
    if pointer.type == target:
        return [pointer]
    return [run.at.emit(tvm_llvm.AddrSpaceCastOp, [pointer], target)]


def _element_address(run: _Lowering, op: Operation) -> Sequence[SSAValue]:
    assert isinstance(op, tvm_llvm.ElementAddressOp)
    return [run.element(op, op.memref, op.indices)]


def _dim(run: _Lowering, op: Operation) -> Sequence[SSAValue]:
    assert isinstance(op, DimOp)
    index = _constant_index(op.index)
    if index is None or isinstance(op.source.type, UnrankedMemRefType):
        raise fail(op, "the dimension is not a constant, or the memref is unranked")
    shape = _memref_type(op.source).get_shape()
    if not 0 <= index < len(shape):
        raise fail(op, f"there is no dimension {index}")
    if shape[index] == DYNAMIC_INDEX:
        raise fail(
            op,
            f"extent {index} of {op.source.type} is dynamic and a bare pointer does "
            "not carry it; pass the extent as an argument",
        )
    return [run.at.constant(shape[index], i64)]


def _constant_index(value: SSAValue) -> int | None:
    """The value of a constant, seen through the cast of another pass."""
    owner = value.owner
    if isinstance(owner, Operation) and len(owner.operands) == 1:
        owner = owner.operands[0].owner
    if not isinstance(owner, Operation):
        return None
    attribute = owner.properties.get("value")
    return attribute.value.data if isinstance(attribute, IntegerAttr) else None


def _copy(run: _Lowering, op: Operation) -> Sequence[SSAValue]:
    assert isinstance(op, CopyOp)
    source, target = _memref_type(op.source), _memref_type(op.destination)
    for type in (source, target):
        if not _is_contiguous(type):
            raise fail(op, f"{type} is not contiguous and static; copy it by a loop")
    size = run.size_in_bytes(op, target, ())
    assert isinstance(size, int)
    # memref.copy allows equal source and destination, as memmove does.
    run.at.insert_op(
        tvm_llvm.CallIntrinsicOp(
            "llvm.memmove",
            [
                run.at.operand(op.destination),
                run.at.operand(op.source),
                run.at.constant(size, i64),
                run.at.constant(0, i1),
            ],
        )
    )
    return []


def _is_contiguous(type: _MemRef) -> bool:
    shape = type.get_shape()
    if DYNAMIC_INDEX in shape:
        return False
    if isinstance(type.layout, NoneAttr):
        return True
    if not isinstance(type.layout, StridedLayoutAttr):
        return False
    expected = 1
    for extent, stride in zip(
        reversed(shape), reversed(type.layout.get_strides()), strict=True
    ):
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return True


_HANDLERS: dict[type[Operation], _Handler] = {
    LoadOp: _load,
    StoreOp: _store,
    AtomicRMWOp: _atomic_rmw,
    AllocOp: _alloc,
    AllocaOp: _alloca,
    DeallocOp: _dealloc,
    GlobalOp: _global,
    GetGlobalOp: _get_global,
    SubviewOp: _subview,
    ReinterpretCastOp: _reinterpret_cast,
    ViewOp: _view,
    CastOp: _same_pointer,
    AssumeAlignmentOp: _same_pointer,
    MemorySpaceCastOp: _memory_space_cast,
    DimOp: _dim,
    CopyOp: _copy,
    tvm_llvm.ElementAddressOp: _element_address,
}
