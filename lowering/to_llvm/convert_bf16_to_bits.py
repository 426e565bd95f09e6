"""bf16 values as 16-bit integers, in the llvm dialect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import gpu, llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    Float32Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    VectorType,
    bf16,
    i16,
)
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import Rewriter

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import tvm_llvm
from xdsl_tvm.dialects.quick_accessors import distinct, types_in, types_of
from xdsl_tvm.dialects.quick_operation import erase
from xdsl_tvm.lowering.to_llvm._conversion import NO_FASTMATH, Conversion, fail
from xdsl_tvm.lowering.to_llvm._math.arith_float import FloatCasts
from xdsl_tvm.passes.infra import CompilerPass

_MOVES: frozenset[type[Operation]] = frozenset(
    {
        llvm.AllocaOp,
        llvm.BitcastOp,
        llvm.BrOp,
        llvm.CallOp,
        llvm.CondBrOp,
        llvm.ConstantOp,
        llvm.ExtractValueOp,
        llvm.FuncOp,
        llvm.GEPOp,
        llvm.GlobalOp,
        llvm.InsertElementOp,
        llvm.InsertValueOp,
        llvm.LoadOp,
        llvm.MaskedStoreOp,
        llvm.ReturnOp,
        llvm.SelectOp,
        llvm.ShuffleVectorOp,
        llvm.StoreOp,
        llvm.UndefOp,
        llvm.ZeroOp,
        tvm_llvm.ExtractElementOp,
        tvm_llvm.FreezeOp,
        tvm_llvm.LoadOp,
        tvm_llvm.PoisonOp,
        tvm_llvm.SelectOp,
        tvm_llvm.StoreOp,
        tvm_llvm.SwitchOp,
    }
)
"""Operations that move values without computing with them."""

_MOVING_INTRINSICS = ("llvm.masked.", "llvm.vector.insert", "llvm.vector.extract")


@dataclass(frozen=True)
class ConvertBF16ToBits(CompilerPass):
    """Summary: Represents bf16 values of CPU functions as 16-bit integers.

    TVM name: none (ours)
    Input form: any verified IR; run after the conversions to the llvm dialect
    Output form: no bf16 in an operation of the llvm dialects outside of gpu.modules
    Options: none
    Rewrites: operations that move values (load, store, select, shuffle, insert and
        extract, branch, call, constant, global, masked access…) move integers
            %x = tvm_llvm.load %p : !llvm.ptr -> vector<16xbf16>
          →
            %x = tvm_llvm.load %p : !llvm.ptr -> vector<16xi16>
        and `llvm.fpext` from and `llvm.fptrunc` to bf16 become shifts, with rounding to
        nearest even. LLVM's code generators
        for CPUs without bf16 registers end the process on some of these operations. The
        parameters and results of functions change alike: callers pass the bits.
    Leaves alone: foreign operations, the contents of gpu.modules, whose target has bf16
    Errors: an operation of the llvm dialects that computes in bf16
        (`tvm-convert-arith-to-llvm` computes in f32)
    Attributes: read: none; created: none; removed: the fast-math flags of a converted
        select
    Differs from TVM: TVM's BF16StorageLegalize does this on TIR, for buffers
    """

    name = "tvm-convert-bf16-to-bits"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        retyping = _Retyping()
        ops = _host_operations(op)
        if not retyping.concerns_any(ops):
            return
        affected = [
            inner
            for inner in ops
            if inner.name.startswith(("llvm.", "tvm_llvm.")) and retyping.concerns(inner)
        ]
        if not affected:
            return
        conversion = Conversion()
        floats = FloatCasts(conversion)
        moves: list[Operation] = []
        for inner in affected:
            if isinstance(inner, llvm.FPExtOp | llvm.FPTruncOp):
                moves += _spelled_out(conversion, floats, inner)
            else:
                _require_move(inner)
                moves.append(inner)
        for inner in moves:
            retyping.convert(inner)
            if (
                isinstance(inner, llvm.BitcastOp)
                and inner.arg.type == inner.results[0].type
            ):
                inner.results[0].replace_all_uses_with(inner.arg)
                erase(inner)


def _host_operations(module: ModuleOp) -> list[Operation]:
    """The operations that are compiled for the CPU."""
    found: list[Operation] = []
    for op in module.body.ops:
        if isinstance(op, ModuleOp):
            found += _host_operations(op)
        elif not isinstance(op, gpu.ModuleOp):
            found += all_ops(op)
    return found


def _spelled_out(
    conversion: Conversion, floats: FloatCasts, op: llvm.FPExtOp | llvm.FPTruncOp
) -> list[Operation]:
    """Replaces a cast by integer operations; gives those that have bf16 in them."""
    conversion.start(op)
    first = op.prev_op
    cast_to = floats.extend if isinstance(op, llvm.FPExtOp) else floats.truncate
    result = cast_to(op, op.arg, op.results[0].type)
    found: list[Operation] = []
    inserted = op.prev_op
    while inserted is not None and inserted is not first:
        if isinstance(inserted, llvm.BitcastOp):
            found.append(inserted)
        inserted = inserted.prev_op
    conversion.replace(op, [result])
    return found


def _require_move(op: Operation) -> None:
    if op.__class__ in _MOVES:
        return
    if isinstance(op, llvm.CallIntrinsicOp | tvm_llvm.CallIntrinsicOp):
        if op.intrin.data.startswith(_MOVING_INTRINSICS):
            return
        raise fail(op, f"'{op.intrin.data}' computes in bf16; compute in f32 instead")
    raise fail(
        op, "it computes in bf16; run tvm-convert-arith-to-llvm, which computes in f32"
    )


_WITHOUT_PARTS = frozenset(
    {
        DenseArrayBase,
        Float32Type,
        IntegerAttr,
        IntegerType,
        StringAttr,
        SymbolRefAttr,
        UnitAttr,
        llvm.CallingConventionAttr,
        llvm.FastMathAttr,
        llvm.LinkageAttr,
        llvm.LLVMPointerType,
        llvm.LLVMVoidType,
        llvm.TailCallKindAttr,
    }
)
"""Classes of most attributes, in which there are no others."""


_properties: Callable[[Operation], dict[str, Attribute]] = attrgetter("properties")
_attributes: Callable[[Operation], dict[str, Attribute]] = attrgetter("attributes")


class _Retyping:
    """Attributes with i16 for bf16, each converted once."""

    def __init__(self) -> None:
        # By identity: hashing a type takes longer than everything else here. The
        # attribute is kept, so that its identity stays its own.
        self._known: dict[int, tuple[Attribute, Attribute]] = {}

    def concerns_any(self, ops: Sequence[Operation]) -> bool:
        """Whether there is bf16 in a type or attribute of one of `ops`."""
        tables = chain(map(_properties, ops), map(_attributes, ops))
        values = chain.from_iterable(map(dict[str, Attribute].values, tables))
        return any(map(self._changes, chain(types_in(ops), distinct(values))))

    def concerns(self, op: Operation) -> bool:
        """Whether a type or attribute of `op` has bf16 in it."""
        attributes = types_of(op)
        attributes += op.properties.values()
        attributes += op.attributes.values()
        for region in op.regions:
            for block in region.blocks:
                attributes += [argument.type for argument in block.args]
        return any(map(self._changes, attributes))

    def _changes(self, attribute: Attribute) -> bool:
        return self.attribute(attribute) is not attribute

    def convert(self, op: Operation) -> None:
        """Converts the results, block arguments and attributes of `op`."""
        for properties in (op.properties, op.attributes):
            for key, value in properties.items():
                properties[key] = self.attribute(value)
        changed = [result for result in op.results if self._changes(result.type)]
        for result in changed:
            Rewriter.replace_value_with_new_type(result, self.attribute(result.type))
        if changed and isinstance(op, llvm.SelectOp | tvm_llvm.SelectOp):
            op.properties["fastmathFlags"] = NO_FASTMATH
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    if self._changes(argument.type):
                        type_ = self.attribute(argument.type)
                        Rewriter.replace_value_with_new_type(argument, type_)

    def attribute(self, attribute: Attribute) -> Attribute:
        """The attribute with i16 for bf16; the same object where it has none."""
        known = self._known.get(id(attribute))
        if known is None:
            known = self._known[id(attribute)] = (attribute, self._converted(attribute))
        return known[1]

    def _converted(self, attribute: Attribute) -> Attribute:
        if type(attribute) in _WITHOUT_PARTS:
            return attribute
        if isinstance(attribute, BFloat16Type):
            return i16
        if isinstance(attribute, FloatAttr):
            return _bits_of(cast("FloatAttr[Any]", attribute))
        if isinstance(attribute, DenseIntOrFPElementsAttr):
            dense = cast("DenseIntOrFPElementsAttr[IntegerType]", attribute)
            type_ = cast(Attribute, dense.type)
            new_type = self.attribute(type_)
            if new_type is type_:
                return cast(Attribute, dense)
            integers = cast("TensorType[IntegerType]", new_type)
            return cast(Attribute, DenseIntOrFPElementsAttr(integers, dense.data))
        if isinstance(attribute, DictionaryAttr):
            items = {key: self.attribute(v) for key, v in attribute.data.items()}
            same = all(items[key] is v for key, v in attribute.data.items())
            return attribute if same else DictionaryAttr(items)
        parts = self._parts(attribute)
        new_parts = [self.attribute(part) for part in parts]
        if all(old is new for old, new in zip(parts, new_parts, strict=True)):
            return attribute
        return _rebuilt(attribute, new_parts)

    def _parts(self, attribute: Attribute) -> Sequence[Attribute]:
        """The attributes that types in `attribute` are made of."""
        match attribute:
            case ArrayAttr():
                return attribute.data
            case VectorType() | TensorType():
                return (cast("VectorType[Attribute]", attribute).element_type,)
            case llvm.LLVMArrayType():
                return (attribute.type,)
            case llvm.LLVMStructType():
                return attribute.types.data
            case llvm.LLVMFunctionType():
                return (*attribute.inputs.data, attribute.output)
            case _:
                return ()


def _rebuilt(attribute: Attribute, parts: Sequence[Attribute]) -> Attribute:
    match attribute:
        case VectorType():
            return VectorType(parts[0], attribute.shape, attribute.scalable_dims)
        case TensorType():
            return TensorType(parts[0], attribute.get_shape(), attribute.encoding)
        case llvm.LLVMArrayType():
            return llvm.LLVMArrayType(attribute.size, parts[0])
        case llvm.LLVMStructType():
            return llvm.LLVMStructType(attribute.struct_name, ArrayAttr(parts))
        case llvm.LLVMFunctionType():
            return llvm.LLVMFunctionType(parts[:-1], parts[-1], attribute.is_variadic)
        case _:
            return cast(Attribute, ArrayAttr(parts))


def _bits_of(number: FloatAttr[Any]) -> Attribute:
    if not isinstance(number.type, BFloat16Type):
        return number
    packed = bf16.pack((number.value.data,))
    return IntegerAttr(int.from_bytes(packed, "little", signed=True), i16)
