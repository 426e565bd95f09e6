"""Matrices in the registers of a warp: `ptx_ldmatrix`, `ptx_mma`, `mma_fill`.

Registers are elements of a thread's own memory, which LLVM keeps in registers. A register
has 32 bits, or 64 for f64, and holds neighbouring elements. Shapes, formats and registers
are those of the PTX ISA.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    VectorType,
    f16,
    f32,
    f64,
    i32,
    i64,
)
from xdsl.dialects.llvm import LLVMStructType
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.dialects import nvvm, tir, tvm_llvm
from xdsl_tvm.lowering.tir.conversion.body import BodyConverter
from xdsl_tvm.lowering.tir.conversion.device_calls.addresses import (
    address_at,
    constant_operand,
    element_width,
    require_space,
    text_operand,
)

_LANES = 32
_HALVES = VectorType(f16, [2])
_COUNTS = (1, 2, 4)
_MAX_FILL = 1024


class _Format(NamedTuple):
    """A format of elements: its name in intrinsics, bits and type of a register."""

    name: str
    bits: int
    register: Attribute

    @property
    def register_bits(self) -> int:
        return 64 if self.bits == 64 else 32


_F16 = _Format("f16", 16, _HALVES)
_F32 = _Format("f32", 32, f32)
_F64 = _Format("f64", 64, f64)
_S32 = _Format("s32", 32, i32)
_BF16 = _Format("bf16", 16, i32)
_TF32 = _Format("tf32", 32, i32)
_S8 = _Format("s8", 8, i32)
_U8 = _Format("u8", 8, i32)

_SPELLINGS = {
    **dict.fromkeys(("fp16", "f16", "float16"), _F16),
    **dict.fromkeys(("fp32", "f32", "float32"), _F32),
    **dict.fromkeys(("fp64", "f64", "float64"), _F64),
    **dict.fromkeys(("bf16", "bfloat16"), _BF16),
    "tf32": _TF32,
    **dict.fromkeys(("s8", "int8"), _S8),
    **dict.fromkeys(("u8", "uint8"), _U8),
    **dict.fromkeys(("s32", "int32"), _S32),
}
_SHAPES = {
    _F16: ("m16n8k8", "m16n8k16"),
    _BF16: ("m16n8k8", "m16n8k16"),
    _TF32: ("m16n8k4", "m16n8k8"),
    _F64: ("m8n8k4",),
    _S8: ("m8n8k16", "m16n8k16", "m16n8k32"),
    _U8: ("m8n8k16", "m16n8k16", "m16n8k32"),
}
_SUMS = {
    _F16: (_F16, _F32),
    _BF16: (_F32,),
    _TF32: (_F32,),
    _F64: (_F64,),
    _S8: (_S32,),
    _U8: (_S32,),
}


def load_matrices(cv: BodyConverter, op: tir.CallOp) -> None:
    """`ptx_ldmatrix` of 1, 2 or 4 matrices of 8 rows of 16 bytes."""
    transposed = constant_operand(cv, op, 0)
    count = constant_operand(cv, op, 1)
    kind = text_operand(cv, op, 2)
    if count not in _COUNTS or kind.removeprefix(".") != "b16":
        raise cv.fail(
            f'"ptx_ldmatrix" loads 1, 2 or 4 matrices of ".b16", not {count} of "{kind}"'
        )
    if transposed and element_width(cv, op, 3) == 1:
        raise cv.fail(
            'transposed bytes have no "ptx_ldmatrix"; load the elements one by one'
        )
    require_space(cv, op, 5, nvvm.SHARED_SPACE, "shared")
    name = f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x{count}"
    name += ".trans.b16.p3" if transposed else ".b16.p3"
    row = address_at(cv, op, 5, op.args[6])
    _store_registers(cv, op, 3, _call(cv, name, [row], [i32] * count), 32)


def multiply(cv: BodyConverter, op: tir.CallOp) -> None:
    """`ptx_mma`: adds a product to the registers of C."""
    shape, *layouts = (text_operand(cv, op, position) for position in range(3))
    a, b, c = (_format(cv, text_operand(cv, op, position)) for position in (3, 4, 5))
    if len(op.args) == 14:
        raise cv.fail("products of bits are not supported; use int8")
    if shape not in _SHAPES.get(a, ()):
        raise cv.fail(
            f"the product {shape} of {a.name} is not supported; use one of "
            f"{', '.join(_SHAPES.get(a, ())) or 'f16, bf16, tf32, f64 and int8'}"
        )
    bytes_ = {_S8, _U8}
    if (a != b and not {a, b} <= bytes_) or c not in _SUMS[a]:
        raise cv.fail(
            f"{a.name} and {b.name} do not multiply to {c.name} on tensor cores"
        )
    if layouts != ["row", "col"]:
        raise cv.fail(
            f"{shape} has A by row and B by column, not {layouts[0]} and {layouts[1]}"
        )
    saturates = constant_operand(cv, op, 12) != 0
    if saturates and a not in bytes_:
        raise cv.fail("only products of integers saturate")
    m, n, k = (int(extent) for extent in re.findall(r"\d+", shape))
    operands: list[SSAValue] = []
    for position, form, elements in ((6, a, m * k), (8, b, k * n), (10, c, m * n)):
        operands += _load_registers(cv, op, position, form, elements // _LANES)
    if a == _F16:
        types = f"{c.name}.{c.name}"
    else:
        types = a.name if a == b else f"{a.name}.{b.name}"
    name = f"llvm.nvvm.mma.{shape}.row.col{'.satfinite' * saturates}.{types}"
    count = m * n // _LANES * c.bits // c.register_bits
    results = _call(cv, name, operands, [c.register] * count)
    _store_registers(cv, op, 10, results, c.register_bits)


def fill(cv: BodyConverter, op: tir.CallOp) -> None:
    """`mma_fill`: zeroes a constant number of elements."""
    count = constant_operand(cv, op, 0)
    if not 0 < count <= _MAX_FILL:
        raise cv.fail(f'"mma_fill" zeroes 1 to {_MAX_FILL} elements, not {count}')
    element = tir.element_of(_pointee(op, 1))
    zero = cv.number(0, element)
    alignment = element_width(cv, op, 1)
    for place in range(count):
        address = address_at(cv, op, 1, op.args[2], place)
        cv.emit(llvm.StoreOp(zero, address, alignment))


def _pointee(op: tir.CallOp, position: int) -> Attribute:
    type_ = op.args[position].type
    return type_.element_type if isinstance(type_, tir.PtrType) else type_


def _format(cv: BodyConverter, text: str) -> _Format:
    found = _SPELLINGS.get(text.removeprefix("."))
    if found is None:
        raise cv.fail(
            f'products of "{text}" are not supported; use fp16, bf16, tf32, fp64 or int8'
        )
    return found


def _call(
    cv: BodyConverter, name: str, operands: Sequence[SSAValue], results: list[Attribute]
) -> list[SSAValue]:
    """The registers that an intrinsic returns."""
    if len(results) == 1:
        call = tvm_llvm.CallIntrinsicOp(name, operands, results[0])
        return [cv.emit(call).results[0]]
    struct = LLVMStructType.from_type_list(results)
    whole = cv.emit(tvm_llvm.CallIntrinsicOp(name, operands, struct)).results[0]
    return [
        cv.emit(
            llvm.ExtractValueOp(DenseArrayBase.from_list(i64, [place]), whole, type_)
        ).res
        for place, type_ in enumerate(results)
    ]


def _step(cv: BodyConverter, op: tir.CallOp, position: int, bits: int) -> int:
    """Elements of the pointer at an operand that a register of `bits` holds."""
    width = element_width(cv, op, position) * 8
    if bits % width:
        raise cv.fail(
            f'operand {position} of "{op.callee.data}" points to elements of {width} '
            f"bits, which are no part of a register of {bits}"
        )
    return bits // width


def _load_registers(
    cv: BodyConverter, op: tir.CallOp, position: int, form: _Format, elements: int
) -> list[SSAValue]:
    width = element_width(cv, op, position)
    step = _step(cv, op, position, form.register_bits)
    return [
        cv.build(
            llvm.LoadOp,
            [address_at(cv, op, position, op.args[position + 1], register * step)],
            form.register,
            {"alignment": IntegerAttr(width, i64), "ordering": IntegerAttr(0, i64)},
        )
        for register in range(elements * form.bits // form.register_bits)
    ]


def _store_registers(
    cv: BodyConverter,
    op: tir.CallOp,
    position: int,
    registers: Sequence[SSAValue],
    bits: int,
) -> None:
    width, step = element_width(cv, op, position), _step(cv, op, position, bits)
    for number, register in enumerate(registers):
        address = address_at(cv, op, position, op.args[position + 1], number * step)
        cv.emit(llvm.StoreOp(register, address, width))
