"""Integer and float arithmetic, to the llvm dialect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    StringAttr,
    VectorType,
    f32,
    f64,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation

from xdsl_tvm.analysis.all_ops import ops_with
from xdsl_tvm.dialects import tvm_llvm
from xdsl_tvm.dialects.dtypes import element_of
from xdsl_tvm.lowering.to_llvm._conversion import (
    NO_FASTMATH,
    Conversion,
    convert_type,
    fail,
    fastmath,
    gets_own_forms,
    require_convertible,
    splat,
    vector_of,
    works_on_tensors,
)
from xdsl_tvm.lowering.to_llvm._math.arith_float import (
    FloatCasts,
    compare_floats,
    compare_integers,
    comparison_of_floats,
    is_bf16,
    select,
    selection,
)
from xdsl_tvm.passes.infra import CompilerPass

_Handler = Callable[["_Lowering", Operation], "list[SSAValue]"]


@dataclass(frozen=True)
class ConvertArithToLLVM(CompilerPass):
    """Summary: Turns arith operations on scalars and 1-D vectors into llvm ones.

    TVM name: none (ours)
    Input form: any verified IR
    Output form: no arith operation, except on tensors
    Options: none
    Rewrites:
            arith.addi %a, %b overflow<nsw> : index → llvm.add %a, %b overflow<nsw> : i64
            arith.addf %a, %b fastmath<contract>    → llvm.fadd … {contract}
            arith.maximumf, maxnumf     → intrinsic maximum (NaN wins), maxnum
            arith.floordivsi            → sdiv, then one less if the remainder is not
                                          zero and the signs differ
            arith.index_cast            → sext, trunc or nothing
        bf16 arithmetic is done in f32; casts from and to bf16 are integer shifts with
        rounding to nearest even; f64 to f16 or bf16 rounds once. Flags are kept.
    Leaves alone: foreign operations; operations on tensors
    Errors: element types that LLVM has not (f8…, tf32, si/ui integers), vectors of more
        than one dimension, constants in a resource
    Attributes: read: none; created: none; removed: none
    Differs from TVM: TVM's bf16 legalisation is a pass on TIR (BF16ComputeLegalize)
    """

    name = "tvm-convert-arith-to-llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lowering = _Lowering()
        for inner in ops_with(op, _HANDLERS):
            if not works_on_tensors(inner):
                lowering.lower(inner, _HANDLERS[type(inner)])
        lowering.at.finish()


def _is_lowered(op: Operation) -> bool:
    """Whether this pass makes an LLVM operation of `op`."""
    return type(op) in _HANDLERS and not works_on_tensors(op)


class _Lowering:
    """State of one run: where to insert, and the float casts."""

    def __init__(self) -> None:
        self.at = Conversion()
        self.floats = FloatCasts(self.at)

    def lower(self, op: Operation, handler: _Handler) -> None:
        renaming = _RENAMINGS.get(type(op))
        if renaming is not None and gets_own_forms(op):
            self.at.convert_in_place(op, *renaming(op), _is_lowered)
            return
        if not isinstance(op.results[0].type, MemRefType):
            require_convertible(op)
        self.at.start(op)
        self.at.replace_later(op, handler(self, op))

    # -- builders

    def emit(
        self, kind: type[IRDLOperation], *operands: SSAValue, **properties: Attribute
    ) -> SSAValue:
        """An operation whose result has the type of its first operand."""
        return self.at.emit(kind, operands, operands[0].type, **properties)

    def constant(self, value: int, like: SSAValue) -> SSAValue:
        return self.at.constant(value, like.type)

    def cast(self, kind: type[IRDLOperation], value: SSAValue, to: Attribute) -> SSAValue:
        return self.at.emit(kind, [value], to)

    def intrinsic(
        self, name: str, *operands: SSAValue, flags: Attribute | None = None
    ) -> SSAValue:
        return self.at.insert(
            tvm_llvm.CallIntrinsicOp(
                f"llvm.{name}", operands, operands[0].type, fastmath(flags)
            )
        )

    def widen(self, op: Operation, value: SSAValue) -> SSAValue:
        """A bf16 as f32; any other value as it is."""
        if not is_bf16(value.type):
            return value
        return self.floats.extend(op, value, vector_of(f32, value.type))


def _operands(run: _Lowering, op: Operation) -> list[SSAValue]:
    return run.at.operands(op.operands)


# ------------------------------------------------------------------------ integers


def _integer(kind: type[IRDLOperation]) -> _Handler:
    def lower(run: _Lowering, op: Operation) -> list[SSAValue]:
        return [run.emit(kind, *_operands(run, op))]

    return lower


_OVERFLOW_BITS = {
    arith.IntegerOverflowFlag.NSW: 1,
    arith.IntegerOverflowFlag.NUW: 2,
}
_OVERFLOW = [IntegerAttr(bits, i32) for bits in range(4)]


def _overflowing(kind: type[IRDLOperation]) -> _Handler:
    def lower(run: _Lowering, op: Operation) -> list[SSAValue]:
        return [run.emit(kind, *_operands(run, op), overflowFlags=_overflow(op))]

    return lower


def _overflow(op: Operation) -> Attribute:
    flags = op.properties.get("overflowFlags")
    if not isinstance(flags, arith.IntegerOverflowAttr):
        return _OVERFLOW[0]
    return _OVERFLOW[sum(_OVERFLOW_BITS[flag] for flag in flags.data)]


def _integer_intrinsic(name: str) -> _Handler:
    def lower(run: _Lowering, op: Operation) -> list[SSAValue]:
        return [run.intrinsic(name, *_operands(run, op))]

    return lower


def _is_nonzero(run: _Lowering, value: SSAValue) -> SSAValue:
    return compare_integers(run.at, "ne", value, run.constant(0, value))


def _signs_differ(run: _Lowering, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    mixed = run.emit(llvm.XOrOp, lhs, rhs)
    return compare_integers(run.at, "slt", mixed, run.constant(0, lhs))


def _divide(run: _Lowering, lhs: SSAValue, rhs: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The quotient rounded towards zero, and whether the remainder is not zero."""
    quotient = run.emit(llvm.SDivOp, lhs, rhs)
    return quotient, _is_nonzero(run, run.emit(llvm.SRemOp, lhs, rhs))


def _floordivsi(run: _Lowering, op: Operation) -> list[SSAValue]:
    lhs, rhs = _operands(run, op)
    quotient, inexact = _divide(run, lhs, rhs)
    below = run.emit(llvm.AndOp, inexact, _signs_differ(run, lhs, rhs))
    # An i1 is all ones as a signed number: adding it subtracts one.
    step = _extend(run, llvm.SExtOp, below, lhs)
    return [run.emit(llvm.AddOp, quotient, step, overflowFlags=_OVERFLOW[0])]


def _ceildivsi(run: _Lowering, op: Operation) -> list[SSAValue]:
    lhs, rhs = _operands(run, op)
    quotient, inexact = _divide(run, lhs, rhs)
    differ = _signs_differ(run, lhs, rhs)
    agree = run.emit(llvm.XOrOp, differ, run.constant(1, differ))
    above = run.emit(llvm.AndOp, inexact, agree)
    step = _extend(run, llvm.ZExtOp, above, lhs)
    return [run.emit(llvm.AddOp, quotient, step, overflowFlags=_OVERFLOW[0])]


def _ceildivui(run: _Lowering, op: Operation) -> list[SSAValue]:
    lhs, rhs = _operands(run, op)
    quotient = run.emit(llvm.UDivOp, lhs, rhs)
    remainder = run.emit(llvm.URemOp, lhs, rhs)
    step = _extend(run, llvm.ZExtOp, _is_nonzero(run, remainder), lhs)
    return [run.emit(llvm.AddOp, quotient, step, overflowFlags=_OVERFLOW[0])]


def _extend(
    run: _Lowering, kind: type[IRDLOperation], bit: SSAValue, like: SSAValue
) -> SSAValue:
    """An i1 (or a vector of them) in the type of `like`, which may be i1 itself."""
    return bit if bit.type == like.type else run.cast(kind, bit, like.type)


def _addui_extended(run: _Lowering, op: Operation) -> list[SSAValue]:
    lhs, rhs = _operands(run, op)
    total = run.emit(llvm.AddOp, lhs, rhs, overflowFlags=_OVERFLOW[0])
    return [total, compare_integers(run.at, "ult", total, lhs)]


def _mul_extended(extend: type[IRDLOperation]) -> _Handler:
    def lower(run: _Lowering, op: Operation) -> list[SSAValue]:
        lhs, rhs = _operands(run, op)
        element = element_of(lhs.type)
        assert isinstance(element, IntegerType)
        width = element.bitwidth
        wide = vector_of(IntegerType(2 * width), lhs.type)
        product = run.emit(
            llvm.MulOp,
            run.cast(extend, lhs, wide),
            run.cast(extend, rhs, wide),
            overflowFlags=_OVERFLOW[0],
        )
        high = run.emit(llvm.LShrOp, product, run.constant(width, product))
        return [
            run.cast(llvm.TruncOp, product, lhs.type),
            run.cast(llvm.TruncOp, high, lhs.type),
        ]

    return lower


def _cmpi(run: _Lowering, op: Operation) -> list[SSAValue]:
    assert isinstance(op, arith.CmpiOp)
    lhs, rhs = _operands(run, op)
    return [compare_integers(run.at, op.predicate.value.data, lhs, rhs)]


def _integer_cast(kind: type[IRDLOperation]) -> _Handler:
    def lower(run: _Lowering, op: Operation) -> list[SSAValue]:
        (value,) = _operands(run, op)
        return [run.cast(kind, value, op.results[0].type)]

    return lower


def _index_cast(run: _Lowering, op: Operation) -> list[SSAValue]:
    (value,) = _operands(run, op)
    target = convert_type(op.results[0].type)
    source_element, target_element = element_of(value.type), element_of(target)
    assert isinstance(source_element, IntegerType)
    assert isinstance(target_element, IntegerType)
    if source_element.bitwidth == target_element.bitwidth:
        return [value]
    narrower = target_element.bitwidth < source_element.bitwidth
    return [run.cast(llvm.TruncOp if narrower else llvm.SExtOp, value, target)]


# -------------------------------------------------------------------------- floats


def _float(kind: type[IRDLOperation]) -> _Handler:
    def lower(run: _Lowering, op: Operation) -> list[SSAValue]:
        flags = fastmath(op.properties.get("fastmath"))
        wide = [run.widen(op, value) for value in op.operands]
        result = run.emit(kind, *wide, fastmathFlags=flags)
        return [run.floats.truncate(op, result, op.results[0].type)]

    return lower


def _float_intrinsic(name: str) -> _Handler:
    def lower(run: _Lowering, op: Operation) -> list[SSAValue]:
        wide = [run.widen(op, value) for value in op.operands]
        result = run.intrinsic(name, *wide, flags=op.properties.get("fastmath"))
        return [run.floats.truncate(op, result, op.results[0].type)]

    return lower


def _cmpf(run: _Lowering, op: Operation) -> list[SSAValue]:
    assert isinstance(op, arith.CmpfOp)
    lhs, rhs = (run.widen(op, value) for value in op.operands)
    flags = fastmath(op.properties.get("fastmath"))
    return [compare_floats(run.at, op.predicate.value.data, lhs, rhs, flags)]


def _extf(run: _Lowering, op: Operation) -> list[SSAValue]:
    return [run.floats.extend(op, op.operands[0], op.results[0].type)]


def _truncf(run: _Lowering, op: Operation) -> list[SSAValue]:
    return [run.floats.truncate(op, op.operands[0], op.results[0].type)]


def _to_float(kind: type[IRDLOperation]) -> _Handler:
    def lower(run: _Lowering, op: Operation) -> list[SSAValue]:
        (value,) = _operands(run, op)
        target = op.results[0].type
        if not is_bf16(target):
            return [run.cast(kind, value, target)]
        # Through f64, which holds 53 bits: the integer is rounded once, unless it is
        # larger than that.
        wide = run.cast(kind, value, vector_of(f64, target))
        return [run.floats.truncate(op, wide, target)]

    return lower


def _to_integer(kind: type[IRDLOperation]) -> _Handler:
    def lower(run: _Lowering, op: Operation) -> list[SSAValue]:
        value = run.widen(op, op.operands[0])
        return [run.cast(kind, value, op.results[0].type)]

    return lower


# --------------------------------------------------------------------------- values


def _constant(run: _Lowering, op: Operation) -> list[SSAValue]:
    target = convert_type(op.results[0].type)
    value = _constant_value(op, op.properties["value"], target)
    return [run.at.emit(llvm.ConstantOp, [], target, value=value)]


def _constant_value(op: Operation, value: Attribute, target: Attribute) -> Attribute:
    if isinstance(value, DenseIntOrFPElementsAttr):
        dense = cast("DenseIntOrFPElementsAttr[IntegerType]", value)
        return _dense_constant(dense, target)
    if isinstance(value, IntegerAttr):
        number = cast("IntegerAttr[IntegerType | IndexType]", value)
        if isinstance(number.type, IndexType):
            return splat(number.value.data, i64)
        return number
    if not isinstance(value, FloatAttr):
        raise fail(op, f"a constant cannot be {value.name}; use a dense attribute")
    return cast(Attribute, value)


def _dense_constant(
    value: DenseIntOrFPElementsAttr[IntegerType], target: Attribute
) -> Attribute:
    if cast(Attribute, value.type) == target:
        return value
    # index elements are stored as 64 bits already.
    return DenseIntOrFPElementsAttr(cast("VectorType[IntegerType]", target), value.data)


def _select(run: _Lowering, op: Operation) -> list[SSAValue]:
    condition, true, false = _operands(run, op)
    return [select(run.at, condition, true, false)]


def _bitcast(run: _Lowering, op: Operation) -> list[SSAValue]:
    (value,) = _operands(run, op)
    target = convert_type(op.results[0].type)
    if value.type == target:
        return [value]
    if isinstance(element_of(target), llvm.LLVMPointerType):
        raise fail(op, f"it changes the address space of {op.operands[0].type}")
    return [run.cast(llvm.BitcastOp, value, target)]


_HANDLERS: dict[type[Operation], _Handler] = {
    arith.ConstantOp: _constant,
    arith.AddiOp: _overflowing(llvm.AddOp),
    arith.SubiOp: _overflowing(llvm.SubOp),
    arith.MuliOp: _overflowing(llvm.MulOp),
    arith.ShLIOp: _overflowing(llvm.ShlOp),
    arith.ShRSIOp: _integer(llvm.AShrOp),
    arith.ShRUIOp: _integer(llvm.LShrOp),
    arith.DivSIOp: _integer(llvm.SDivOp),
    arith.DivUIOp: _integer(llvm.UDivOp),
    arith.RemSIOp: _integer(llvm.SRemOp),
    arith.RemUIOp: _integer(llvm.URemOp),
    arith.AndIOp: _integer(llvm.AndOp),
    arith.OrIOp: _integer(llvm.OrOp),
    arith.XOrIOp: _integer(llvm.XOrOp),
    arith.FloorDivSIOp: _floordivsi,
    arith.CeilDivSIOp: _ceildivsi,
    arith.CeilDivUIOp: _ceildivui,
    arith.AddUIExtendedOp: _addui_extended,
    arith.MulSIExtendedOp: _mul_extended(llvm.SExtOp),
    arith.MulUIExtendedOp: _mul_extended(llvm.ZExtOp),
    arith.MinSIOp: _integer_intrinsic("smin"),
    arith.MaxSIOp: _integer_intrinsic("smax"),
    arith.MinUIOp: _integer_intrinsic("umin"),
    arith.MaxUIOp: _integer_intrinsic("umax"),
    arith.CmpiOp: _cmpi,
    arith.ExtSIOp: _integer_cast(llvm.SExtOp),
    arith.ExtUIOp: _integer_cast(llvm.ZExtOp),
    arith.TruncIOp: _integer_cast(llvm.TruncOp),
    arith.IndexCastOp: _index_cast,
    arith.AddfOp: _float(llvm.FAddOp),
    arith.SubfOp: _float(llvm.FSubOp),
    arith.MulfOp: _float(llvm.FMulOp),
    arith.DivfOp: _float(llvm.FDivOp),
    arith.NegfOp: _float(llvm.FNegOp),
    arith.MaximumfOp: _float_intrinsic("maximum"),
    arith.MinimumfOp: _float_intrinsic("minimum"),
    arith.MaxnumfOp: _float_intrinsic("maxnum"),
    arith.MinnumfOp: _float_intrinsic("minnum"),
    arith.CmpfOp: _cmpf,
    arith.ExtFOp: _extf,
    arith.TruncFOp: _truncf,
    arith.SIToFPOp: _to_float(llvm.SIToFPOp),
    arith.UIToFPOp: _to_float(tvm_llvm.UIToFPOp),
    arith.FPToSIOp: _to_integer(tvm_llvm.FPToSIOp),
    arith.FPToUIOp: _to_integer(tvm_llvm.FPToUIOp),
    arith.SelectOp: _select,
    arith.BitcastOp: _bitcast,
}


# -------------------------------------------------------- what only has another name

_Named: TypeAlias = tuple[type[Operation], dict[str, Attribute]]
"""The class and the properties of the LLVM operation with the same values."""
_Renaming: TypeAlias = Callable[[Operation], _Named]


def _renamed(kind: type[Operation]) -> _Renaming:
    return lambda op: (kind, {})


def _renamed_overflowing(kind: type[Operation]) -> _Renaming:
    return lambda op: (kind, {"overflowFlags": _overflow(op)})


def _renamed_float(kind: type[Operation]) -> _Renaming:
    return lambda op: (kind, {"fastmathFlags": fastmath(op.properties.get("fastmath"))})


def _renamed_constant(op: Operation) -> _Named:
    target = convert_type(op.results[0].type)
    value = _constant_value(op, op.properties["value"], target)
    return llvm.ConstantOp, {"value": value}


def _renamed_cmpi(op: Operation) -> _Named:
    return llvm.ICmpOp, {"predicate": op.properties["predicate"]}


def _renamed_cmpf(op: Operation) -> _Named:
    flags = fastmath(op.properties.get("fastmath"))
    kind = comparison_of_floats(op.results[0].type, flags)
    return kind, {"predicate": op.properties["predicate"], "fastmathFlags": flags}


def _renamed_select(op: Operation) -> _Named:
    return selection(op.operands[0].type), {"fastmathFlags": NO_FASTMATH}


def _renamed_intrinsic(name: str) -> _Renaming:
    intrinsic = StringAttr(f"llvm.{name}")

    def rename(op: Operation) -> _Named:
        flags = fastmath(op.properties.get("fastmath"))
        return tvm_llvm.CallIntrinsicOp, {"intrin": intrinsic, "fastmathFlags": flags}

    return rename


_RENAMINGS: dict[type[Operation], _Renaming] = {
    arith.ConstantOp: _renamed_constant,
    arith.AddiOp: _renamed_overflowing(llvm.AddOp),
    arith.SubiOp: _renamed_overflowing(llvm.SubOp),
    arith.MuliOp: _renamed_overflowing(llvm.MulOp),
    arith.ShLIOp: _renamed_overflowing(llvm.ShlOp),
    arith.ShRSIOp: _renamed(llvm.AShrOp),
    arith.AndIOp: _renamed(llvm.AndOp),
    arith.OrIOp: _renamed(llvm.OrOp),
    arith.XOrIOp: _renamed(llvm.XOrOp),
    arith.ExtSIOp: _renamed(llvm.SExtOp),
    arith.ExtUIOp: _renamed(llvm.ZExtOp),
    arith.TruncIOp: _renamed(llvm.TruncOp),
    arith.AddfOp: _renamed_float(llvm.FAddOp),
    arith.SubfOp: _renamed_float(llvm.FSubOp),
    arith.MulfOp: _renamed_float(llvm.FMulOp),
    arith.DivfOp: _renamed_float(llvm.FDivOp),
    arith.NegfOp: _renamed_float(llvm.FNegOp),
    arith.CmpiOp: _renamed_cmpi,
    arith.CmpfOp: _renamed_cmpf,
    arith.SelectOp: _renamed_select,
    arith.MaximumfOp: _renamed_intrinsic("maximum"),
    arith.MinimumfOp: _renamed_intrinsic("minimum"),
    arith.MaxnumfOp: _renamed_intrinsic("maxnum"),
    arith.MinnumfOp: _renamed_intrinsic("minnum"),
}
"""Frequent ones; all of them are in `_HANDLERS`, for values of other types."""
