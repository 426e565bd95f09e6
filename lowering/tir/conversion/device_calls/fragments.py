"""Fragments of WMMA: registers of a warp that stand for a matrix.

A fragment is an array of registers in each thread's own memory, which LLVM keeps in
registers. Shape and layout are what tir-infer-fragment notes on allocations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr, i64
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import SSAValue

from xdsl_tvm.analysis.derivation import origin
from xdsl_tvm.dialects import nvvm, tir, tvm_llvm
from xdsl_tvm.dialects.nvvm.formats import (
    B1,
    BF16,
    F16,
    F32,
    S4,
    S8,
    S32,
    U4,
    U8,
    Format,
    Shape,
    wmma_layout_problem,
    wmma_problem,
    wmma_registers,
)
from xdsl_tvm.dialects.nvvm.wmma import fragment_problem
from xdsl_tvm.lowering.tir.conversion.body import BodyConverter
from xdsl_tvm.lowering.tir.conversion.device_calls.addresses import (
    address_at,
    text_operand,
    word_operand,
)
from xdsl_tvm.lowering.tir.conversion.device_calls.matrices import registers_in
from xdsl_tvm.lowering.tir.conversion.emitter import INDEX
from xdsl_tvm.lowering.tir.conversion.types import product
from xdsl_tvm.lowering.tir.conversion.views import address_space

_SCOPE = "wmma."
_KINDS = {"wmma.matrix_a": "a", "wmma.matrix_b": "b", "wmma.accumulator": "c"}
_FACTORS = {
    "f16": F16,
    "bf16": BF16,
    "i8": S8,
    "ui8": U8,
    "i4": S4,
    "ui4": U4,
    "i1": B1,
}
_SUMS = {"f16": F16, "f32": F32, "i32": S32}
_WORDS = ("i32", "ui32")
"""What memory of fragments of less than 8 bits is made of."""
_LAYOUTS = {"row_major": "row", "col_major": "col"}
_REGISTER_BYTES = 4


def is_fragment(type_: object) -> bool:
    """Whether a pointer, or a buffer, is of fragments."""
    return isinstance(
        type_, tir.PtrType | tir.BufferType
    ) and type_.scope.data.startswith(_SCOPE)


@dataclass(frozen=True)
class Fragment:
    """What is known of the fragments of an allocation."""

    kind: str
    """`a`, `b` or `c`."""
    form: Format
    shape: Shape
    layout: str
    """`row`, `col`, or empty."""

    @property
    def registers(self) -> int:
        """The registers of a lane that hold one."""
        return wmma_registers(self.shape, self.kind, self.form)

    @property
    def bytes(self) -> int:
        """Of a lane."""
        return self.registers * _REGISTER_BYTES


def fragment_of(cv: BodyConverter, allocation: tir.AllocateOp) -> Fragment:
    """The fragments of an allocation.

    Raises PassFailedException for those that WMMA, or the lowering, does not have.
    """
    type_ = allocation.result.type
    scope, element = type_.scope.data, type_.element_type
    kind = _KINDS.get(scope)
    name = str(element)
    form = (_SUMS if kind == "c" else _FACTORS).get(name)
    if kind is None or form is None:
        raise cv.fail(
            f"fragments of {name} in {scope} are not supported; use f16, bf16, i8, "
            "ui8, i4, ui4 or i1 for factors and f16, f32 or i32 for sums",
            allocation,
        )
    shape, layout = _noted(cv, allocation)
    problem = fragment_problem(shape, kind, form)
    if problem is not None:
        raise cv.fail(problem, allocation)
    return Fragment(kind, form, shape, layout)


def _noted(cv: BodyConverter, allocation: tir.AllocateOp) -> tuple[Shape, str]:
    annotations = allocation.annotations or DictionaryAttr({})
    shape, layout = (
        annotations.data.get(f"fragment_{name}") for name in ("shape", "layout")
    )
    extents = shape.data.split(",") if isinstance(shape, StringAttr) else []
    if len(extents) != 3 or not all(extent.strip().isdecimal() for extent in extents):
        raise cv.fail(
            "fragments need their shape as an annotation; run tir-infer-fragment",
            allocation,
        )
    m, n, k = map(int, extents)
    text = layout.data if isinstance(layout, StringAttr) else ""
    return (m, n, k), _LAYOUTS.get(text, "")


def bytes_of_fragments(cv: BodyConverter, allocation: tir.AllocateOp) -> int:
    """The bytes of a lane that hold the fragments of an allocation."""
    fragment = fragment_of(cv, allocation)
    m, n, k = fragment.shape
    each = {"a": m * k, "b": k * n}.get(fragment.kind, m * n)
    extents = [extent for extent in allocation.shape if isinstance(extent, int)]
    size = product(extents) * tir.lanes_of(allocation.result.type.element_type)
    if len(extents) != len(allocation.shape) or size % each:
        raise cv.fail(
            f"memory of fragments of {each} elements has a constant multiple of them",
            allocation,
        )
    return size // each * fragment.bytes


@dataclass(frozen=True)
class _Place:
    """One fragment: what it is, and the address of its registers."""

    fragment: Fragment
    memory: SSAValue
    start: SSAValue

    def address(self, cv: BodyConverter, register: int) -> SSAValue:
        ahead = cv.number(register * _REGISTER_BYTES, INDEX)
        place = cv.add_index(self.start, ahead)
        pointer: LLVMPointerType = nvvm.pointer(0)
        return cv.emit(tvm_llvm.ElementAddressOp(self.memory, [place], pointer)).res

    def load(self, cv: BodyConverter) -> list[SSAValue]:
        """Its registers."""
        return [
            cv.build(
                llvm.LoadOp,
                [self.address(cv, register)],
                self.fragment.form.register,
                {
                    "alignment": IntegerAttr(_REGISTER_BYTES, i64),
                    "ordering": IntegerAttr(0, i64),
                },
            )
            for register in range(self.fragment.registers)
        ]

    def store(self, cv: BodyConverter, registers: Sequence[SSAValue]) -> None:
        """Gives it a value."""
        for number, register in enumerate(registers):
            cv.emit(llvm.StoreOp(register, self.address(cv, number), _REGISTER_BYTES))


def _place(
    cv: BodyConverter, op: tir.CallOp, position: int, index: int, kinds: str
) -> _Place:
    """The fragment whose pointer and index are operands."""
    allocation = origin(op.args[position]).owner
    if not isinstance(allocation, tir.AllocateOp) or not is_fragment(
        allocation.result.type
    ):
        raise cv.fail(
            f'operand {position} of "{op.callee.data}" must be memory that is allocated '
            "in wmma.matrix_a, matrix_b or accumulator"
        )
    fragment = fragment_of(cv, allocation)
    if fragment.kind not in kinds:
        raise cv.fail(
            f'operand {position} of "{op.callee.data}" cannot be in '
            f"{allocation.result.type.scope.data}"
        )
    memory = cv.memory(op.args[position])
    if memory.offset is not None:
        raise cv.fail("a pointer to fragments has no offset; use the index")
    start = cv.mul_index(cv.index(op.args[index]), cv.number(fragment.bytes, INDEX))
    return _Place(fragment, memory.memref, start)


def fill(cv: BodyConverter, op: tir.CallOp) -> None:
    """`tvm_fill_fragment`: all elements are one value."""
    place = _place(cv, op, 0, 4, "abc")
    form = place.fragment.form
    if form not in (F16, F32, S32):
        raise cv.fail(f"fragments of {form.name} are not filled; load them, or fill sums")
    value = cv.value(op.args[5])
    if form == F16:
        value = cv.gathered([value, value], form.register)
    place.store(cv, [value] * place.fragment.registers)


def _memory(cv: BodyConverter, op: tir.CallOp, fragment: Fragment) -> SSAValue:
    """The address of the matrix in global or shared memory."""
    type_ = op.args[5].type
    element = type_.element_type if isinstance(type_, tir.PtrType) else None
    table = _SUMS if fragment.kind == "c" else _FACTORS
    if fragment.form.bits < 8:
        if str(element) not in _WORDS:
            raise cv.fail(
                f"a fragment of {fragment.form.name} is loaded from words of 32 bits, "
                f"{32 // fragment.form.bits} elements in each, not from {element}; "
                "point to i32"
            )
    elif element is None or table.get(str(element)) != fragment.form:
        raise cv.fail(f"a fragment of {fragment.form.name} goes with memory of it")
    space = address_space(cv.memory(op.args[5]).memref)
    if space not in (nvvm.GLOBAL_SPACE, nvvm.SHARED_SPACE):
        raise cv.fail("fragments are in global or shared memory, not in a thread's own")
    return address_at(cv, op, 5, None)


def _layout(cv: BodyConverter, op: tir.CallOp) -> str:
    text = text_operand(cv, op, 7)
    if text not in _LAYOUTS:
        raise cv.fail(f"the layout is row_major or col_major, not {text}")
    return _LAYOUTS[text]


def load(cv: BodyConverter, op: tir.CallOp) -> None:
    """`tvm_load_matrix_sync`."""
    place = _place(cv, op, 0, 4, "abc")
    fragment = place.fragment
    address = _memory(cv, op, fragment)
    layout = _layout(cv, op)
    problem = wmma_layout_problem(fragment.form, fragment.kind, layout)
    if problem is not None:
        raise cv.fail(problem)
    loaded = nvvm.WMMALoadOp(
        address,
        word_operand(cv, op, 6),
        fragment.shape,
        fragment.kind,
        fragment.form,
        layout,
    )
    place.store(cv, registers_in(cv, cv.emit(loaded)))


def store(cv: BodyConverter, op: tir.CallOp) -> None:
    """`tvm_store_matrix_sync` of sums."""
    place = _place(cv, op, 0, 4, "c")
    fragment = place.fragment
    address = _memory(cv, op, fragment)
    cv.emit(
        nvvm.WMMAStoreOp(
            address,
            word_operand(cv, op, 6),
            place.load(cv),
            fragment.shape,
            fragment.form,
            _layout(cv, op),
        )
    )


def multiply(cv: BodyConverter, op: tir.CallOp) -> None:
    """`tvm_mma_sync`, of bits `tvm_bmma_sync`: `D = A * B + C`."""
    d, a, b, c = (
        _place(cv, op, position, position + 1, kind)
        for position, kind in zip((0, 2, 4, 6), "cabc", strict=True)
    )
    factor, total = a.fragment.form, c.fragment.form
    shapes = {each.fragment.shape for each in (a, b, c, d)}
    if b.fragment.form != factor or d.fragment.form != total or len(shapes) != 1:
        raise cv.fail("the fragments of a product have one shape, A and B one format")
    problem = wmma_problem(a.fragment.shape, factor, total)
    if problem is not None:
        raise cv.fail(problem)
    of_bits = op.callee.data == "tvm_bmma_sync"
    if of_bits != (factor == B1):
        raise cv.fail("fragments of bits are multiplied by tvm_bmma_sync, others are not")
    operator = None
    if of_bits:
        operator = text_operand(cv, op, 8) if len(op.args) > 8 else "xor"
    layouts = a.fragment.layout, b.fragment.layout
    if "" in layouts:
        raise cv.fail("A and B need a layout; load them, and run tir-infer-fragment")
    registers = [*a.load(cv), *b.load(cv), *c.load(cv)]
    made = nvvm.WMMAMmaOp(a.fragment.shape, (factor, total), layouts, registers, operator)
    d.store(cv, registers_in(cv, cv.emit(made)))
