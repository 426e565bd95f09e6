"""Operations on 1-D vectors to LLVM ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import arith, func, llvm, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import tvm_llvm
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.dtypes import element_of
from xdsl_tvm.lowering.llvm_text.types import numbers_of
from xdsl_tvm.lowering.to_llvm._conversion import (
    NO_FASTMATH,
    Conversion,
    convert_type,
    fail,
    gep_index,
    zeros,
)
from xdsl_tvm.lowering.to_llvm._known_alignment import known_alignment
from xdsl_tvm.lowering.to_llvm._nontemporal import LINE_BYTES, store_past_caches
from xdsl_tvm.lowering.to_llvm._symbols import Symbols
from xdsl_tvm.lowering.to_llvm.convert_memref_to_llvm import (
    alignment_of,
    byte_size,
    plain_store,
    storage_type,
    strides_of,
)
from xdsl_tvm.passes.infra import CompilerPass

_ORDER_NONE = IntegerAttr(0, i64)
_NO_WRAP_FLAGS = IntegerAttr(0, i32)
_NSW = IntegerAttr(1, i32)
_STACK_BYTES = 16
"""The alignment of the stack in the calling conventions of processors with vectors."""
_PASSTHROUGH = "passthrough"
_REALIGN = StringAttr("stackrealign")


@dataclass(frozen=True)
class ConvertVectorToLLVM(CompilerPass):
    """Summary: Turns operations on 1-D vectors into LLVM ones.

    TVM name: none (ours)
    Input form: any verified IR; vectors have one dimension and fixed lanes, memrefs
        static strides
    Output form: no vector.load, store, broadcast, extract, insert, shuffle or fma
    Options: none
    Rewrites:
            %v = vector.load %m[%i] : memref<?xf32>, vector<4xf32>
          →
            %p = llvm.getelementptr inbounds %m[%i] : …, f32
            %v = llvm.load %p {alignment = 4} : !llvm.ptr -> vector<4xf32>
        where the alignment is that of an element, or a greater one that follows from
        `llvm.align` of a parameter and from what the index is a multiple of.
        A nontemporal store that is less aligned than its vector, and than a line of 64
        bytes, is a call of a private function, one for each type of vectors, which tests
        the address: at the beginning of a line the processor stores it at once.
        Where vectors of more than 16 bytes are loaded or stored, functions with a body
        get `passthrough` with "stackrealign". LLVM aligns the vectors that it keeps on
        the stack to their size only if it knows of this before it assigns registers;
        others may extend over two lines of the cache.
        vector.broadcast → insertelement and shufflevector; extract and insert at one
        position → extractelement, insertelement; shuffle → shufflevector; fma →
        llvm.intr.fma
    Leaves alone: foreign operations; the other vector operations, which
        tvm-verify-llvm-legal names
    Errors: vectors of i1 in memory, vectors of several dimensions, memrefs whose last
        stride is not 1
    Attributes: read: `nontemporal` of vector.store, which the llvm.store gets, and
        `llvm.align` of parameters; created: `passthrough` of functions; removed: none
    Differs from TVM: TVM generates LLVM vectors from TIR directly
    """

    name = "tvm-convert-vector-to-llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        conversion = _VectorConversion()
        functions: list[func.FuncOp | llvm.FuncOp] = []
        for inner in all_ops(op):
            if _is_function(inner):
                functions.append(inner)
            handler = _HANDLERS.get(type(inner))
            if handler is not None:
                conversion.start(inner)
                conversion.replace(inner, handler(conversion, inner))
        conversion.finish()
        if conversion.has_wide_vectors:
            # All of them: LLVM puts those with vectors into those that call them.
            for function in functions:
                _align_stack(function)


_is_function = of_classes(func.FuncOp, llvm.FuncOp)


class _VectorConversion(Conversion):
    """A conversion that may add functions."""

    def __init__(self) -> None:
        super().__init__()
        self.symbols = Symbols()
        self.has_wide_vectors = False
        """Whether vectors in memory are larger than the stack is aligned to."""


def _align_stack(function: func.FuncOp | llvm.FuncOp) -> None:
    before = function.attributes.get(_PASSTHROUGH)
    names = list(cast("ArrayAttr[Attribute]", before)) if before is not None else []
    if function.body.blocks and _REALIGN not in names:
        function.attributes[_PASSTHROUGH] = ArrayAttr([*names, _REALIGN])


def _require_simple(op: Operation, type: Attribute) -> None:
    if not isinstance(type, VectorType):
        return
    shaped = cast("VectorType[Attribute]", type)
    if shaped.get_num_dims() != 1 or any(map(bool, shaped.scalable_dims)):
        raise fail(op, f"{type} is no vector of one dimension with fixed lanes")


def _address(
    run: Conversion, op: Operation, base: SSAValue, indices: Sequence[SSAValue]
) -> tuple[SSAValue, Attribute]:
    """The address of an element, and its type."""
    assert isinstance(base.type, MemRefType)
    type = cast("MemRefType[Any]", base.type)
    element = storage_type(op, type)
    if type.element_type == i1:
        raise fail(op, "bools take a byte each in memory; load and store them one by one")
    strides = strides_of(op, type)
    if strides and strides[-1] != 1:
        raise fail(op, f"the last stride of {type} must be 1")
    linear: SSAValue | None = None
    for index, stride in zip(indices, strides, strict=True):
        term = run.operand(index)
        if stride != 1:
            step = run.constant(stride, i64)
            term = run.emit(llvm.MulOp, [term, step], i64, overflowFlags=_NSW)
        if linear is not None:
            term = run.emit(llvm.AddOp, [linear, term], i64, overflowFlags=_NSW)
        linear = term
    pointer = run.operand(base)
    if linear is None:
        return pointer, element
    address = run.emit(
        llvm.GEPOp,
        [pointer, linear],
        pointer.type,
        elem_type=element,
        rawConstantIndices=gep_index(llvm.GEP_USE_SSA_VAL),
        noWrapFlags=_NO_WRAP_FLAGS,
        inbounds=UnitAttr(),
    )
    return address, element


def _load(run: _VectorConversion, op: vector.LoadOp) -> list[SSAValue]:
    _require_simple(op, op.result.type)
    address, element = _address(run, op, op.base, op.indices)
    return [
        run.emit(
            llvm.LoadOp,
            [address],
            convert_type(op.result.type),
            ordering=_ORDER_NONE,
            alignment=_alignment(run, op, element),
        )
    ]


def _store(run: _VectorConversion, op: vector.StoreOp) -> list[SSAValue]:
    _require_simple(op, op.vector.type)
    address, element = _address(run, op, op.base, op.indices)
    store = plain_store(op, run.operand(op.vector), address, element)
    source = op.vector.owner
    if "nontemporal" in store.properties and isinstance(source, arith.BitcastOp):
        # Vectors of integers can always be stored at once.
        store.operands[0] = run.operand(source.input)
    alignment = _alignment(run, op, element)
    store.properties["alignment"] = alignment
    size = byte_size(op, convert_type(op.vector.type))
    if "nontemporal" in store.properties and alignment.value.data < min(size, LINE_BYTES):
        store_past_caches(run, run.symbols, op, store, size)
    else:
        run.insert_op(store)
    return []


def _alignment(
    run: _VectorConversion, op: vector.LoadOp | vector.StoreOp, element: Attribute
) -> IntegerAttr:
    """That of an element, or what is known beyond that, up to the whole vector."""
    type = cast("MemRefType[Any]", op.base.type)
    vector_type = (op.result if isinstance(op, vector.LoadOp) else op.vector).type
    strides, size = strides_of(op, type), byte_size(op, element)
    whole = byte_size(op, convert_type(vector_type))
    run.has_wide_vectors |= whole > _STACK_BYTES
    known = min(known_alignment(op.base, op.indices, strides, size), whole)
    natural = alignment_of(op, element)
    return IntegerAttr(known, i64) if known > natural.value.data else natural


def _broadcast(run: Conversion, op: vector.BroadcastOp) -> list[SSAValue]:
    result = op.vector.type
    _require_simple(op, result)
    if isinstance(op.source.type, VectorType):
        raise fail(op, "only scalars are broadcast")
    target = cast("VectorType[Attribute]", convert_type(result))
    undefined = run.emit(llvm.UndefOp, [], target)
    zero = run.constant(0, i64)
    first = run.emit(
        llvm.InsertElementOp, [undefined, run.operand(op.source), zero], target
    )
    mask = zeros(target.get_shape()[0])
    return [run.emit(llvm.ShuffleVectorOp, [first, undefined], target, mask=mask)]


def _position(run: Conversion, op: vector.ExtractOp | vector.InsertOp) -> SSAValue:
    static = numbers_of(op.static_position)
    if len(static) != 1:
        raise fail(op, "exactly one position is supported")
    if static[0] == DYNAMIC_INDEX:
        return run.operand(op.dynamic_position[0])
    return run.constant(static[0], i64)


def _extract(run: Conversion, op: vector.ExtractOp) -> list[SSAValue]:
    _require_simple(op, op.vector.type)
    source = run.operand(op.vector)
    position = _position(run, op)
    return [
        run.emit(tvm_llvm.ExtractElementOp, [source, position], element_of(source.type))
    ]


def _insert(run: Conversion, op: vector.InsertOp) -> list[SSAValue]:
    _require_simple(op, op.dest.type)
    if isinstance(op.source.type, VectorType):
        raise fail(op, "only scalars are inserted")
    target = run.operand(op.dest)
    operands = [target, run.operand(op.source), _position(run, op)]
    return [run.emit(llvm.InsertElementOp, operands, target.type)]


def _shuffle(run: Conversion, op: vector.ShuffleOp) -> list[SSAValue]:
    _require_simple(op, op.v1.type)
    _require_simple(op, op.v2.type)
    if op.v1.type != op.v2.type:
        raise fail(op, "the vectors must have one type")
    mask = DenseArrayBase.from_list(i32, [int(lane) for lane in op.mask.get_values()])
    operands = [run.operand(op.v1), run.operand(op.v2)]
    result = convert_type(op.result.type)
    return [run.emit(llvm.ShuffleVectorOp, operands, result, mask=mask)]


def _fma(run: Conversion, op: vector.FMAOp) -> list[SSAValue]:
    _require_simple(op, op.res.type)
    operands = run.operands(op.operands)
    return [run.emit(llvm.FMAOp, operands, op.res.type, fastmathFlags=NO_FASTMATH)]


_HANDLERS: dict[type[Operation], Callable[[_VectorConversion, Any], list[SSAValue]]] = {
    vector.BroadcastOp: _broadcast,
    vector.ExtractOp: _extract,
    vector.FMAOp: _fma,
    vector.InsertOp: _insert,
    vector.LoadOp: _load,
    vector.ShuffleOp: _shuffle,
    vector.StoreOp: _store,
}
