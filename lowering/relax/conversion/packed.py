"""Calls of functions that the module does not define, in lowered Relax functions.

All go through one function of the runtime, `tvm_call_packed`. It is given the address of
a text that says what is called and how (`packed_call.py`), and that of 64-bit cells: for
a tensor its address and extents, for a shape its extents, for a scalar its bits, for a
float those of the f64, for an object the number that stands for it, for a function
nothing. Cells for what comes back follow; 0 is returned if all went well.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from xdsl.dialects import arith, func, llvm, memref, scf
from xdsl.dialects.builtin import IntegerType, SymbolRefAttr, f64, i1, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.packed import PackedCallOp
from xdsl_tvm.dialects.relax.types import (
    ObjectType,
    PrimType,
    ShapeType,
    TensorInfo,
    TupleType,
)
from xdsl_tvm.lowering.relax.conversion.calls import CallCode
from xdsl_tvm.lowering.relax.conversion.extents import EQUAL, Scope
from xdsl_tvm.lowering.relax.conversion.packed_call import (
    CALL_PACKED,
    PRINT,
    FunctionSlot,
    ObjectSlot,
    PackedCall,
    ScalarSlot,
    ShapeSlot,
    Slot,
    TensorSlot,
    TupleSlot,
)
from xdsl_tvm.lowering.relax.conversion.values import (
    Closure,
    Leaf,
    Object,
    Path,
    Scalar,
    Shape,
    Tensor,
    Value,
    kind,
)
from xdsl_tvm.lowering.tir.conversion.emitter import NO_FAST_MATH
from xdsl_tvm.lowering.tir.conversion.types import signless


class PackedCode(CallCode):
    """Calls the runtime, which calls functions that Python knows."""

    def packed(
        self, op: PackedCallOp, values: Sequence[Value], inplace: Sequence[int] = ()
    ) -> Value:
        """Call a function of the runtime; gives its result, () for none."""
        if op.result is None or op.result.type == relax.VOID:
            self._call(PackedCall("call", op.callee.data), values, [])
            return ()
        type_ = op.result.type
        is_tuple = isinstance(type_, TupleType)
        fields = type_.fields.data if isinstance(type_, TupleType) else (type_,)
        places = tuple(inplace) or (-1,) * len(fields)
        results: list[Leaf] = []
        for index, (place, field) in enumerate(zip(places, fields, strict=True)):
            path = (index,) if is_tuple else ()
            if place < 0 or isinstance(field, ObjectType):
                results.append(self._place(op, op.result, path, field))
                continue
            written = values[place]
            if not isinstance(written, Tensor):
                raise self.cv.fail(f"a {kind(written)} cannot be written in place")
            results.append(written)
        # What is returned for an object is the object afterwards.
        taken = tuple(
            -1 if isinstance(field, ObjectType) else place
            for place, field in zip(places, fields, strict=True)
        )
        call = PackedCall("call", op.callee.data, inplace=taken)
        made = self._call(call, values, results)
        return tuple(made) if is_tuple else made[0]

    def _place(
        self, op: PackedCallOp, result: SSAValue, path: Path, type_: Attribute
    ) -> Leaf:
        """Where the runtime puts a field of a result: memory, or cells."""
        info = TensorInfo.of(type_)
        if info is not None and info.shape is not None and info.dtype is not None:
            dims, dtype = self.allocated_info(type_)
            return self.allocate(result, path, dims, dtype)
        if isinstance(type_, PrimType):
            return Scalar(self.cv.number(0, type_.dtype), type_.dtype)
        if isinstance(type_, ObjectType):
            return Object(self.cv.number(0, i64))
        if isinstance(type_, ShapeType) and type_.values is not None:
            zero = self.new_symbol(self.cv.number(0, i64))
            return Shape((zero,) * len(type_.values))
        raise self.cv.fail(
            f'"{op.callee.data}" returns {type_}, for which no memory can be made before '
            "the call; declare shape and dtype"
        )

    def packed_dps(self, op: relax.CallDPSPackedOp, values: Sequence[Value]) -> Value:
        """Call a function of the runtime that writes its results."""
        assert op.result is not None, "verified"
        type_ = op.result.type
        is_tuple = isinstance(type_, TupleType)
        fields = type_.fields.data if isinstance(type_, TupleType) else (type_,)
        outputs: list[Tensor] = []
        for index, field in enumerate(fields):
            dims, dtype = self.allocated_info(field)
            path = (index,) if is_tuple else ()
            outputs.append(self.allocate(op.result, path, dims, dtype))
        self._call(PackedCall("call", op.callee.data), [*values, *outputs], [])
        return tuple(outputs) if is_tuple else outputs[0]

    def print(self, op: relax.PrintOp, values: Sequence[Value]) -> None:
        """Write values."""
        call = PackedCall("print", PRINT, format=op.format.data)
        self._call(call, values, [])

    def assert_op(
        self, op: relax.AssertOp, condition: SSAValue, values: Sequence[Value]
    ) -> None:
        """Fail with a text unless a condition holds."""
        text = op.format.data or f"{self.place} does not hold"
        if values:
            holds, fails = Block(), Block()
            with self.inside(holds, Scope()):
                self.cv.emit(scf.YieldOp())
            with self.inside(fails, Scope()):
                call = PackedCall("assert", "relax.assert_op", format=text)
                self._call(call, values, [])
                self.cv.emit(scf.YieldOp())
            self.cv.emit(scf.IfOp(condition, [], Region(holds), Region(fails)))
        self.require(condition, text)

    # -- cells

    def _call(
        self, call: PackedCall, values: Sequence[Value], results: Sequence[Leaf]
    ) -> list[Leaf]:
        """Call the runtime; gives `results` as they are after the call."""
        cells: list[SSAValue] = []
        arguments = [self._slot(value, cells) for value in values]
        first = len(cells)
        call = call.on(arguments, [self._slot(value, cells) for value in results])
        buffer = self.cv.emit(memref.AllocaOp.get(i64, shape=[max(len(cells), 1)]))
        for position, cell in enumerate(cells):
            self.store(cell, buffer.memref, position)
        name, type_ = self.view.text(call.text)
        text = self.cv.build(memref.GetGlobalOp, [], type_, {"name": name})
        callee = self.view.declare(CALL_PACKED, [llvm.LLVMPointerType()] * 2, [i64])
        operands = [self.pointer(text), self.pointer(buffer.memref)]
        status = self.cv.build(func.CallOp, operands, i64, {"callee": callee})
        succeeded = self.cv.compare(arith.CmpiOp, EQUAL, status, self.cv.number(0, i64))
        self.require(succeeded, f'{self.place}: the call of "{call.callee}" failed')
        starts = accumulate((slot.cells for slot in call.results), initial=first)
        return [
            self._after(leaf, buffer.memref, start)
            for leaf, start in zip(results, starts, strict=False)
        ]

    def _slot(self, value: Value, cells: list[SSAValue]) -> Slot:
        """How a value is passed; adds to the cells."""
        match value:
            case tuple():
                return TupleSlot(tuple(self._slot(part, cells) for part in value))
            case Tensor():
                address = llvm.PtrToIntOp(self.pointer(value.memref))
                cells.append(self.cv.emit(address).output)
                cells += [self.integer(dim, i64) for dim in value.dims]
                return TensorSlot(str(value.dtype), len(value.dims), value.is_constant)
            case Shape():
                cells += [self.integer(dim, i64) for dim in value.dims]
                return ShapeSlot(len(value.dims))
            case Scalar():
                cells.append(self._bits(value))
                return ScalarSlot(str(value.dtype))
            case Object():
                cells.append(value.value)
                return ObjectSlot()
            case Closure(captured=()):
                return FunctionSlot(self._public_name(value.callee))
            case _:
                raise self.cv.fail(f"a {kind(value)} cannot be passed to the runtime")

    def _public_name(self, name: str) -> str:
        """The name of a function of the module, which the runtime is to find."""
        callee = self.callee_of(SymbolRefAttr(name))
        if "global_symbol" not in callee.attributes:
            raise self.cv.fail(
                f"@{name} is passed to the runtime, which calls public functions only; "
                "give it the attribute global_symbol"
            )
        return name

    def _bits(self, value: Scalar) -> SSAValue:
        """A number in 64 bits."""
        number = value.value
        type_ = number.type
        if not isinstance(type_, IntegerType):
            if type_ != f64:
                number = self.cv.build(
                    arith.ExtFOp, [number], f64, {"fastmath": NO_FAST_MATH}
                )
            return self.cv.build(arith.BitcastOp, [number], i64)
        if type_ == i64:
            return number
        is_signed = type_ != i1 and not tir.is_uint(value.dtype)
        extension = arith.ExtSIOp if is_signed else arith.ExtUIOp
        return self.cv.build(extension, [number], i64)

    def _number(self, bits: SSAValue, dtype: Attribute) -> SSAValue:
        """A number from 64 bits."""
        type_ = signless(dtype)
        if type_ == i64:
            return bits
        if tir.is_integer(type_):
            return self.cv.build(arith.TruncIOp, [bits], type_)
        number = self.cv.build(arith.BitcastOp, [bits], f64)
        if type_ == f64:
            return number
        return self.cv.build(arith.TruncFOp, [number], type_, {"fastmath": NO_FAST_MATH})

    def _after(self, leaf: Leaf, buffer: SSAValue, start: int) -> Leaf:
        """What the runtime has put into the cells of a result."""
        match leaf:
            case Scalar():
                value = self._number(self.load(buffer, start), leaf.dtype)
                return Scalar(value, leaf.dtype)
            case Object():
                return Object(self.load(buffer, start))
            case Shape():
                return Shape(
                    tuple(
                        self.new_symbol(self.load(buffer, start + axis))
                        for axis in range(len(leaf.dims))
                    )
                )
            case _:
                return leaf
