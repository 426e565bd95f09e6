"""Matrices in the registers of a warp: `ptx_ldmatrix`, `ptx_mma`, `ptx_mma_sp`.

Registers are elements of a thread's own memory, which LLVM keeps in registers. A register
has 32 bits, or 64 for f64, and holds neighbouring elements. Shapes, formats and registers
are those of the PTX ISA. `mma_fill` and `mma_store` are loads and stores of elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i8, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_tvm.analysis.tir.builtin_offsets import transposes_bytes
from xdsl_tvm.dialects import nvvm, tir
from xdsl_tvm.dialects.nvvm.formats import (
    B1,
    BF16,
    E4M3,
    E5M2,
    F16,
    F32,
    F64,
    FORMATS,
    QUADS,
    S4,
    S8,
    S32,
    U4,
    U8,
    Format,
    Shape,
    family_of,
    product_problem,
    registers_of,
    shape_of,
)
from xdsl_tvm.lowering.tir.conversion.body import BodyConverter
from xdsl_tvm.lowering.tir.conversion.device_calls.addresses import (
    address_at,
    constant_operand,
    element_width,
    require_space,
    text_operand,
)
from xdsl_tvm.lowering.tir.conversion.emitter import INDEX
from xdsl_tvm.lowering.tir.conversion.types import signless

_COUNTS = (1, 2, 4)
_MAX_FILL = 1024
_STORED = 8
"""The elements of a lane that `mma_store` stores."""


_SPELLINGS: dict[str, Format] = {
    **FORMATS,
    "fp16": F16,
    "float16": F16,
    "fp32": F32,
    "float32": F32,
    "fp64": F64,
    "float64": F64,
    "bfloat16": BF16,
    "float8_e4m3fn": E4M3,
    "float8_e5m2": E5M2,
    "int8": S8,
    "uint8": U8,
    "int4": S4,
    "uint4": U4,
    "int1": B1,
    "int32": S32,
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
    require_space(cv, op, 5, nvvm.SHARED_SPACE, "shared")
    if transposes_bytes(op):
        _load_bytes(cv, op, count)
        return
    row = address_at(cv, op, 5, op.args[6])
    loaded = cv.emit(nvvm.LdMatrixOp(row, count, transposed=transposed != 0))
    _store_registers(cv, op, 3, registers_in(cv, loaded), 32)


def multiply(cv: BodyConverter, op: tir.CallOp) -> None:
    """`ptx_mma`: adds a product to the registers of C."""
    shape, layouts, formats = _product(cv, op, sparse=False)
    operator = text_operand(cv, op, 13) if len(op.args) == 14 else None
    if operator not in (("xor", "and") if formats[0] == B1 else (None,)):
        raise cv.fail(
            "an operator, xor or and, goes with products of bits and with nothing else"
        )
    registers = _registers(cv, op, shape, formats, sparse=False)
    product = nvvm.MmaOp(
        shape,
        formats,
        registers,
        layouts=layouts,
        saturate=_saturates(cv, op, 12, formats[0]),
        operator=operator,
    )
    _store_registers(
        cv, op, 10, registers_in(cv, cv.emit(product)), formats[2].register_bits
    )


def multiply_sparse(cv: BodyConverter, op: tir.CallOp) -> None:
    """`ptx_mma_sp`: adds a product with half of A zero to the registers of C."""
    shape, _, formats = _product(cv, op, sparse=True)
    registers = _registers(cv, op, shape, formats, sparse=True)
    (metadata,) = _load_registers(cv, op, 12, S32, 1)
    selector = llvm.ConstantOp(IntegerAttr(constant_operand(cv, op, 14), i32), i32)
    product = nvvm.MmaSpOp(
        shape,
        formats,
        registers,
        metadata,
        cv.emit(selector).result,
        saturate=_saturates(cv, op, 15, formats[0]),
    )
    _store_registers(
        cv, op, 10, registers_in(cv, cv.emit(product)), formats[2].register_bits
    )


_Formats: TypeAlias = tuple[Format, Format, Format]


def _product(
    cv: BodyConverter, op: tir.CallOp, *, sparse: bool
) -> tuple[Shape, tuple[str, str], _Formats]:
    """The shape, the layouts of A and B, and the formats that a call multiplies."""
    text, *layouts = (text_operand(cv, op, position) for position in range(3))
    a, b, c = (_format(cv, text_operand(cv, op, position)) for position in (3, 4, 5))
    try:
        shape = shape_of(text)
    except ValueError as error:
        raise cv.fail(str(error)) from None
    problem = product_problem(shape, a, b, c, sparse=sparse)
    if problem is not None:
        raise cv.fail(problem)
    free = shape == QUADS and a == F16
    if layouts != ["row", "col"] and not (free and set(layouts) <= {"row", "col"}):
        raise cv.fail(
            f"{text} has A by row and B by column, not {layouts[0]} and {layouts[1]}"
        )
    return shape, (layouts[0], layouts[1]), (a, b, c)


def _saturates(cv: BodyConverter, op: tir.CallOp, position: int, factor: Format) -> bool:
    family = family_of(factor)
    saturates = constant_operand(cv, op, position) != 0
    if saturates and (family is None or not family.saturates):
        raise cv.fail("only products of integers saturate")
    return saturates


def _registers(
    cv: BodyConverter, op: tir.CallOp, shape: Shape, formats: _Formats, *, sparse: bool
) -> tuple[list[SSAValue], list[SSAValue], list[SSAValue]]:
    """The registers of A, B and C."""
    counts = registers_of(shape, *formats, sparse=sparse)
    a, b, c = (
        _load_registers(cv, op, position, form, count)
        for position, form, count in zip((6, 8, 10), formats, counts, strict=True)
    )
    return a, b, c


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


def store(cv: BodyConverter, op: tir.CallOp) -> None:
    """`mma_store`: each lane stores its 8 elements of a tile of 16 rows and columns."""
    extents = (constant_operand(cv, op, 0), constant_operand(cv, op, 1))
    if extents != (16, 16):
        raise cv.fail(
            f'"mma_store" stores 16 rows and columns, not {extents[0]} and {extents[1]}'
        )
    if _pointee(op, 2) != _pointee(op, 3):
        raise cv.fail('"mma_store" stores registers in memory of the same dtype')
    element = signless(tir.element_of(_pointee(op, 3)))
    width = element_width(cv, op, 3)
    row, pair = _lane_in_rows(cv)
    stride = cv.index(op.args[5])
    start = cv.add_index(
        cv.mul_index(row, stride), cv.mul_index(pair, cv.number(2, INDEX))
    )
    below = cv.add_index(start, cv.mul_index(stride, cv.number(8, INDEX)))
    for slot in range(_STORED):
        value = cv.build(
            llvm.LoadOp,
            [address_at(cv, op, 3, op.args[4], slot)],
            element,
            {"alignment": IntegerAttr(width, i64), "ordering": IntegerAttr(0, i64)},
        )
        # Slots 2 and 3, 6 and 7 are of the row that is 8 further down.
        column = slot // 4 * 8 + slot % 2
        place = below if slot % 4 // 2 else start
        address = address_at(cv, op, 2, None, column, moved=place)
        cv.emit(llvm.StoreOp(value, address, width))


def _load_bytes(cv: BodyConverter, op: tir.CallOp, count: int) -> None:
    """Transposed bytes, which no instruction loads: 16 for each lane, one by one.

    The last operand is the distance of rows, as in TVM's code.
    """
    if count != 4:
        raise cv.fail(f'"ptx_ldmatrix" loads 4 transposed matrices of bytes, not {count}')
    column, quarter = _lane_in_rows(cv)
    stride = cv.index(op.args[6])
    first = cv.mul_index(quarter, cv.mul_index(stride, cv.number(4, INDEX)))
    for slot in range(16):
        below = cv.mul_index(stride, cv.number(slot % 8 // 4 * 16 + slot % 4, INDEX))
        place = cv.add_index(cv.add_index(first, below), column)
        value = cv.build(
            llvm.LoadOp,
            [address_at(cv, op, 5, None, slot // 8 * 8, moved=place)],
            i8,
            {"alignment": IntegerAttr(1, i64), "ordering": IntegerAttr(0, i64)},
        )
        cv.emit(llvm.StoreOp(value, address_at(cv, op, 3, op.args[4], slot), 1))


def _lane_in_rows(cv: BodyConverter) -> tuple[SSAValue, SSAValue]:
    """The number of the lane divided by 4, and the remainder."""
    lane = cv.index_of(cv.emit(nvvm.LaneIdOp()).res)
    four = cv.number(4, INDEX)
    return cv.binary(arith.DivUIOp, lane, four), cv.binary(arith.RemUIOp, lane, four)


def _pointee(op: tir.CallOp, position: int) -> Attribute:
    type_ = op.args[position].type
    return type_.element_type if isinstance(type_, tir.PtrType) else type_


def _format(cv: BodyConverter, text: str) -> Format:
    found = _SPELLINGS.get(text.removeprefix("."))
    if found is None:
        raise cv.fail(
            f'products of "{text}" are not supported; use one of {", ".join(FORMATS)}'
        )
    return found


def registers_in(cv: BodyConverter, op: Operation) -> list[SSAValue]:
    """The registers in the result of an operation."""
    whole, types = op.results[0], nvvm.result_registers(op)
    if len(types) == 1:
        return [whole]
    return [
        cv.emit(
            llvm.ExtractValueOp(DenseArrayBase.from_list(i64, [place]), whole, type_)
        ).res
        for place, type_ in enumerate(types)
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
    cv: BodyConverter, op: tir.CallOp, position: int, form: Format, count: int
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
        for register in range(count)
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
