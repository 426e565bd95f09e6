"""Packed functions: slots, DLTensors and calls by name, on raw memory.

docs/spec/tir-passes-d-abi-and-pipelines.md III.1. A handle is an `!llvm.ptr`; memory
behind it is a memref by a cast, since memrefs become bare pointers. A call by name goes
to `CALL_WITH_SLOTS` of the runtime, with the addresses of name, arguments, type codes,
result and its type code; it returns 0, or another status where the function failed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from xdsl.dialects import arith, cf, func, llvm, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    NoneType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    UnrealizedConversionCastOp,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_tvm.dialects import tir, tvm_llvm
from xdsl_tvm.dialects.quick_operation import create
from xdsl_tvm.dialects.tir.builtin_rules import StructField
from xdsl_tvm.dialects.tir.data_types import TypeCode, TypeIndex
from xdsl_tvm.lowering.runtime_symbols import CALL_FAILED, CALL_WITH_SLOTS, failed_number
from xdsl_tvm.lowering.tir.conversion.emitter import Emitter
from xdsl_tvm.lowering.tir.conversion.expressions import convert
from xdsl_tvm.lowering.tir.conversion.types import memref_of, signless
from xdsl_tvm.lowering.tir.conversion.views import Memory, memref_type

_POINTER: Final = llvm.LLVMPointerType()
_SLOT: Final = 8
_CODE: Final = 4
_ANY: Final = 16
_ANY_FIELDS: Final[Mapping[StructField, int]] = {
    StructField.ANY_TYPE_INDEX: 0,
    StructField.ANY_PADDING: 4,
    StructField.ANY_VALUE: 8,
    StructField.ANY_POINTER: 8,
}
"""Offsets in bytes of the fields of a value of `tvm-ffi`."""
_OBJECT: Final = 24
"""The bytes of what objects of `tvm-ffi` begin with; a Tensor is a DLTensor after it."""
_DLTENSOR: Final = 48
_FIELDS: Final[Mapping[StructField, tuple[int, Attribute]]] = {
    StructField.ARRAY_DATA: (0, _POINTER),
    StructField.ARRAY_DEVICE_TYPE: (8, i32),
    StructField.ARRAY_DEVICE_ID: (12, i32),
    StructField.ARRAY_NDIM: (16, i32),
    StructField.ARRAY_TYPE_CODE: (20, i8),
    StructField.ARRAY_TYPE_BITS: (21, i8),
    StructField.ARRAY_TYPE_LANES: (22, i16),
    StructField.ARRAY_SHAPE: (24, _POINTER),
    StructField.ARRAY_STRIDES: (32, _POINTER),
    StructField.ARRAY_BYTE_OFFSET: (40, i64),
}
"""Offsets in bytes, and types, of the fields of a DLTensor on a machine of 64 bits."""
_EQUAL: Final = IntegerAttr(0, i64)
_NO_OPERANDS: Final = DenseArrayBase.from_list(i32, [0, 0])
_ONE_OPERAND: Final = DenseArrayBase.from_list(i32, [1, 0])
_STACKS: Final[Mapping[str, int]] = {
    "shape": 8,
    "arg_value": _SLOT,
    "arg_tcode": _CODE,
    "array": _DLTENSOR,
}


class PackedEmitter(Emitter, ABC):
    """What the code of packed functions needs of the converter of a body."""

    space: int
    constant_space: int
    function: str

    @abstractmethod
    def memory(self, pointer: SSAValue) -> Memory:
        """The memory that stands for a pointer."""

    @abstractmethod
    def require_element(self, dtype: Attribute) -> Attribute:
        """The element type of memory for elements of `dtype`."""

    @abstractmethod
    def on_stack(self, op: Operation) -> Operation:
        """Puts an allocation where it serves a whole call, or one parallel iteration."""

    @abstractmethod
    def free(self, value: SSAValue) -> Operation:
        """The op that frees memory."""

    @abstractmethod
    def insert_global(self, op: Operation) -> None:
        """Puts a global into the module."""

    @abstractmethod
    def store_numbers(self, holds: SSAValue, numbers: Mapping[str, SSAValue]) -> None:
        """Stores integers of 64 bits in globals, unless a condition holds."""

    @abstractmethod
    def unique_symbol(self, stem: str) -> str:
        """A symbol that the module does not have."""

    @abstractmethod
    def declare(
        self, name: str, inputs: Sequence[Attribute], outputs: Sequence[Attribute]
    ) -> SymbolRefAttr:
        """The symbol of a function of the runtime."""

    @abstractmethod
    def function_of_symbol(self, symbol: str) -> str | None:
        """The name of the function that has a `global_symbol`."""


def cast_to(cv: Emitter, value: SSAValue, type_: Attribute) -> SSAValue:
    """An address as a memref of elements from there on, or the other way around."""
    if value.type == type_:
        return value
    cast = create(UnrealizedConversionCastOp, operands=[value], result_types=[type_])
    return cv.emit(cast).results[0]


def memory_at(cv: PackedEmitter, address: SSAValue, pointer: tir.PtrType) -> Memory:
    """The memory at an address, in elements of the type of a pointer; bytes for void."""
    element: Attribute = i8
    if not isinstance(pointer.element_type, NoneType):
        element = cv.require_element(pointer.element_type)
    return Memory(cast_to(cv, address, memref_of((DYNAMIC_INDEX,), element, cv.space)))


def address_of_memory(cv: PackedEmitter, memory: Memory) -> SSAValue:
    """The address of what a pointer names."""
    base = cast_to(cv, memory.memref, _POINTER)
    if memory.offset is None:
        return base
    element = memref_type(memory.memref).element_type
    offset = cv.build(arith.IndexCastOp, [memory.offset], i64)
    step = llvm.GEPOp(base, [llvm.GEP_USE_SSA_VAL], _storage(element), [offset])
    return cv.emit(step).result


def _storage(element: Attribute) -> Attribute:
    return i8 if element == i1 else element


class PackedCode:
    """Writes the code of one function of the packed convention."""

    def __init__(self, cv: PackedEmitter) -> None:
        self._cv = cv

    # ---- pointers ----

    def pointer(self, value: SSAValue) -> SSAValue:
        """The address that a handle, a string or a typed pointer is."""
        cv = self._cv
        if isinstance(value.type, tir.PtrType):
            return address_of_memory(cv, cv.memory(value))
        owner = value.owner
        if isinstance(owner, tir.StringOp):
            return self._text(owner.value.data)
        return cv.value(value)

    def _text(self, text: str) -> SSAValue:
        """The address of a text, with a zero after it."""
        cv = self._cv
        data = text.encode() + b"\0"
        contents = DenseIntOrFPElementsAttr.from_list(
            TensorType(i8, [len(data)]), [each - 256 * (each > 127) for each in data]
        )
        type_ = memref_of((len(data),), i8, cv.constant_space)
        name = cv.unique_symbol(f"{cv.function}_text")
        cv.insert_global(
            memref.GlobalOp.get(
                StringAttr(name),
                type_,
                contents,
                constant=UnitAttr(),
                alignment=IntegerAttr(8, i64),
            )
        )
        get = create(
            memref.GetGlobalOp,
            result_types=[type_],
            properties={"name": SymbolRefAttr(name)},
        )
        return cast_to(cv, cv.hoist(get).results[0], _POINTER)

    def _after(self, base: SSAValue, offset: int) -> SSAValue:
        """The address so many bytes after another."""
        if offset == 0:
            return base
        return self._cv.emit(llvm.GEPOp(base, [offset], i8)).result

    def _element(self, base: SSAValue, index: SSAValue, size: int) -> SSAValue:
        """The address of an element of an array of so many bytes each."""
        cv = self._cv
        number = tir.constant_value(index)
        if isinstance(number, int):
            return self._after(base, number * size)
        wide = convert(cv, cv.value(index), index.type, i64)
        offset = cv.build(arith.MuliOp, [wide, cv.number(size, i64)], i64)
        step = llvm.GEPOp(base, [llvm.GEP_USE_SSA_VAL], i8, [offset])
        return cv.emit(step).result

    # ---- fields ----

    def struct_get(self, op: tir.CallOp) -> None:
        """Read a field of a DLTensor, or a slot."""
        assert op.result is not None, "verified"
        if tir.is_constant(op.args[2], StructField.ANY_POINTER):
            self._cv.values[op.result] = self._any_pointer(op)
            return
        address, stored = self._place(op)
        if stored is None:
            self._cv.values[op.result] = address
            return
        dtype = _POINTER if tir.is_handle(op.result.type) else signless(op.result.type)
        if dtype != stored:
            raise self._cv.fail(
                f"a field of type {stored} cannot be read as {op.result.type}"
            )
        value = self._cv.emit(llvm.LoadOp(address, stored)).dereferenced_value
        self._cv.values[op.result] = value

    def _any_pointer(self, op: tir.CallOp) -> SSAValue:
        """The handle in a value, and the DLTensor of one that is a Tensor."""
        cv = self._cv
        value = self._element(self.pointer(op.args[0]), op.args[1], _ANY)
        kind = cv.emit(llvm.LoadOp(value, i32)).dereferenced_value
        handle = cv.emit(llvm.LoadOp(self._after(value, 8), _POINTER)).dereferenced_value
        is_tensor = cv.build(
            arith.CmpiOp,
            [kind, cv.number(int(TypeIndex.TENSOR), i32)],
            i1,
            {"predicate": _EQUAL},
        )
        header, none = cv.number(_OBJECT, i64), cv.number(0, i64)
        offset = cv.build(arith.SelectOp, [is_tensor, header, none], i64)
        return cv.emit(llvm.GEPOp(handle, [llvm.GEP_USE_SSA_VAL], i8, [offset])).result

    def struct_set(self, op: tir.CallOp) -> None:
        """Write a field of a DLTensor, or a slot."""
        cv = self._cv
        address, stored = self._place(op, op.args[3].type)
        given = op.args[3]
        is_handle = tir.is_handle(given.type)
        value = self.pointer(given) if is_handle else cv.value(given)
        if stored != value.type:
            raise cv.fail(f"a field of type {stored} cannot hold a {given.type}")
        cv.emit(llvm.StoreOp(value, address))
        self._status(op)

    def _place(
        self, op: tir.CallOp, stored: Attribute | None = None
    ) -> tuple[SSAValue, Attribute | None]:
        """The address of a field and its type; None for the array itself."""
        number = tir.constant_value(op.args[2])
        kinds = [kind for kind in StructField if kind == number]
        if not kinds:
            raise self._cv.fail("the field must be a constant of the structure")
        kind = kinds[0]
        base = self.pointer(op.args[0])
        if kind is StructField.VALUE_CONTENT:
            found = self._content(op, stored)
            return self._element(base, op.args[1], _SLOT), found
        if kind in _ANY_FIELDS:
            is_value = kind is StructField.ANY_VALUE
            found = self._content(op, stored) if is_value else i32
            value = self._element(base, op.args[1], _ANY)
            return self._after(value, _ANY_FIELDS[kind]), found
        tensor = self._element(base, op.args[1], _DLTENSOR)
        if kind is StructField.ARRAY_ADDRESS:
            return tensor, None
        offset, found = _FIELDS[kind]
        return self._after(tensor, offset), found

    def _content(self, op: tir.CallOp, stored: Attribute | None) -> Attribute:
        """The type of the number or handle of a slot that a call reads or stores."""
        dtype = stored if stored is not None else op.results[0].type
        if tir.is_handle(dtype):
            return _POINTER
        if dtype in (i64, f64):
            return dtype
        raise self._cv.fail(f"a slot holds i64, f64 and handles, no {dtype}")

    def _status(self, op: tir.CallOp) -> None:
        """The result of a call that always succeeds."""
        if op.result is not None:
            self._cv.values[op.result] = self._cv.number(0, signless(op.result.type))

    # ---- memory ----

    def stack_alloca(self, op: tir.CallOp) -> None:
        """Memory on the stack, for a whole call or an iteration of a parallel loop."""
        assert op.result is not None, "verified"
        cv = self._cv
        kind, count = op.args[0].owner, tir.constant_value(op.args[1])
        assert isinstance(kind, tir.StringOp), "verified"
        if not isinstance(count, int) or count < 0:
            raise cv.fail("the size of a stack must be a constant that is not negative")
        size = max(1, count) * _STACKS[kind.value.data]
        alloca = create(
            memref.AllocaOp,
            result_types=[memref_of((size,), i8, cv.space)],
            properties={
                "operandSegmentSizes": _NO_OPERANDS,
                "alignment": IntegerAttr(8, i64),
            },
        )
        memory = cv.on_stack(alloca).results[0]
        cv.values[op.result] = cast_to(cv, memory, _POINTER)

    def alloc_workspace(self, op: tir.CallOp) -> None:
        """Memory of the host, which is released where the function fails, too."""
        assert op.result is not None, "verified"
        cv = self._cv
        if tir.constant_value(op.args[0]) != 1:
            raise cv.fail("memory of a device other than the CPU is not supported")
        size = cv.index_of(cv.value(op.args[2]), unsigned=True)
        alloc = create(
            memref.AllocOp,
            operands=[size],
            result_types=[memref_of((DYNAMIC_INDEX,), i8, cv.space)],
            properties={"operandSegmentSizes": _ONE_OPERAND},
        )
        memory = cv.emit(alloc).results[0]
        cv.values[op.result] = cast_to(cv, memory, _POINTER)

    def free_workspace(self, op: tir.CallOp) -> None:
        """Release memory of the host."""
        cv = self._cv
        type_ = memref_of((DYNAMIC_INDEX,), i8, cv.space)
        cv.emit(cv.free(cast_to(cv, self.pointer(op.args[2]), type_)))
        self._status(op)

    # ---- calls ----

    def isnullptr(self, op: tir.CallOp) -> None:
        """Whether an address is null."""
        assert op.result is not None, "verified"
        null = self._null()
        test = tvm_llvm.ICmpOp("eq", self.pointer(op.args[0]), null)
        self._cv.values[op.result] = self._cv.emit(test).results[0]

    def _null(self) -> SSAValue:
        return self._cv.emit(create(llvm.ZeroOp, result_types=[_POINTER])).results[0]

    def reinterpret(self, op: tir.CallOp) -> None:
        """The null handle."""
        assert op.result is not None, "verified"
        if not tir.is_constant(op.args[0], 0):
            raise self._cv.fail("only zero becomes a handle; pass handles as parameters")
        self._cv.values[op.result] = self._null()

    def throw_last_error(self, op: tir.CallOp) -> None:
        """Leave the function, which has failed."""
        self._require(self._cv.number(0, i1), "a function of the runtime failed")
        self._status(op)

    def _require(self, condition: SSAValue, message: str) -> None:
        check = create(
            cf.AssertOp, operands=[condition], properties={"msg": StringAttr(message)}
        )
        self._cv.emit(check)

    def call_with_slots(self, op: tir.CallOp) -> None:
        """Call a function by name, or a symbol of the module."""
        cv = self._cv
        values, codes = self.pointer(op.args[1]), self.pointer(op.args[2])
        begin, end = op.args[3], op.args[4]
        first, last = tir.constant_value(begin), tir.constant_value(end)
        if not isinstance(first, int) or not isinstance(last, int):
            raise cv.fail("the slots of a call must be constants")
        name = op.args[0].owner
        assert isinstance(name, tir.StringOp), "verified"
        operands = [
            self._after(values, first * _SLOT),
            self._after(codes, first * _CODE),
            cv.number(last - first, i32),
            self._after(values, last * _SLOT),
            self._after(codes, last * _CODE),
        ]
        if op.callee.data == "tvm_call_cpacked_lowered":
            self._call_symbol(op, name.value.data, operands)
        else:
            self._call_name(name.value.data, operands)
        if op.result is not None:
            cv.values[op.result] = self._result(op, operands[3], operands[4])

    def _call_name(self, name: str, operands: list[SSAValue]) -> None:
        cv = self._cv
        types = [_POINTER, _POINTER, _POINTER, i32, _POINTER, _POINTER]
        callee = cv.declare(CALL_WITH_SLOTS, types, [i32])
        arguments = [self._text(name), *operands]
        status = cv.build(func.CallOp, arguments, i32, {"callee": callee})
        self._succeeded(status, name, is_reported=True)

    def _call_symbol(self, op: tir.CallOp, symbol: str, operands: list[SSAValue]) -> None:
        cv = self._cv
        found = cv.function_of_symbol(symbol)
        if found is None:
            raise cv.fail(f"the module has no packed function '{symbol}'; define it")
        resource = op.args[5]
        handle = self.pointer(resource) if tir.is_handle(resource.type) else self._null()
        values, codes, count, result, code = operands
        codes_type = memref_of((DYNAMIC_INDEX,), i32, cv.space)
        arguments = [
            values,
            cast_to(cv, codes, codes_type),
            count,
            result,
            cast_to(cv, code, codes_type),
            handle,
        ]
        callee = SymbolRefAttr(found)
        status = cv.build(func.CallOp, arguments, i32, {"callee": callee})
        self._succeeded(status, symbol)

    def _succeeded(
        self, status: SSAValue, name: str, *, is_reported: bool = False
    ) -> None:
        cv = self._cv
        zero = cv.number(0, i32)
        same = cv.build(arith.CmpiOp, [status, zero], i1, {"predicate": _EQUAL})
        if is_reported:
            wide = cv.build(arith.ExtSIOp, [status], i64)
            cv.store_numbers(same, {failed_number(0): wide})
        self._require(same, f'{CALL_FAILED}{name}" failed')

    def _result(self, op: tir.CallOp, place: SSAValue, code: SSAValue) -> SSAValue:
        """What a call returned, or the value for a traced call that returned nothing."""
        assert op.result is not None, "asked by the caller"
        cv, dtype = self._cv, op.result.type
        if tir.is_handle(dtype):
            return cv.emit(llvm.LoadOp(place, _POINTER)).dereferenced_value
        given = cv.emit(llvm.LoadOp(code, i32)).dereferenced_value
        value = self._number(place, given, dtype)
        if op.callee.data != "tvm_call_trace_packed_lowered":
            return value
        is_null = self._has_code(given, TypeCode.NULL)
        otherwise = cv.value(op.args[5])
        return cv.build(arith.SelectOp, [is_null, otherwise, value], value.type)

    def _number(self, place: SSAValue, code: SSAValue, dtype: Attribute) -> SSAValue:
        """The number in a slot, which its type code says to be an integer or a float."""
        cv = self._cv
        integer = cv.emit(llvm.LoadOp(place, i64)).dereferenced_value
        real = cv.emit(llvm.LoadOp(place, f64)).dereferenced_value
        found = [convert(cv, v, t, dtype) for v, t in ((real, f64), (integer, i64))]
        is_real = self._has_code(code, TypeCode.FLOAT)
        return cv.build(arith.SelectOp, [is_real, *found], found[0].type)

    def _has_code(self, code: SSAValue, kind: TypeCode) -> SSAValue:
        number = self._cv.number(int(kind), i32)
        return self._cv.build(arith.CmpiOp, [code, number], i1, {"predicate": _EQUAL})


_HANDLERS: Final[Mapping[str, Callable[[PackedCode, tir.CallOp], None]]] = {
    "tvm_struct_get": PackedCode.struct_get,
    "tvm_struct_set": PackedCode.struct_set,
    "tvm_stack_alloca": PackedCode.stack_alloca,
    "tvm_call_packed_lowered": PackedCode.call_with_slots,
    "tvm_call_cpacked_lowered": PackedCode.call_with_slots,
    "tvm_call_trace_packed_lowered": PackedCode.call_with_slots,
    "tvm_throw_last_error": PackedCode.throw_last_error,
    "TVMBackendAllocWorkspace": PackedCode.alloc_workspace,
    "TVMBackendFreeWorkspace": PackedCode.free_workspace,
    "isnullptr": PackedCode.isnullptr,
}


def lower_packed_call(cv: PackedEmitter, op: tir.CallOp) -> bool:
    """Write the code of a builtin that packed functions are made of, if it is one."""
    name = op.callee.data
    handler = _HANDLERS.get(name)
    if name == "reinterpret" and op.result is not None and tir.is_handle(op.result.type):
        handler = PackedCode.reinterpret
    if handler is None:
        return False
    handler(PackedCode(cv), op)
    return True
