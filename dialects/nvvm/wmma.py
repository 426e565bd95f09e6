"""Fragments of `wmma`: matrices in registers of a warp, in an order that PTX hides."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, IntegerType, i32
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.nvvm.attributes import (
    MMAB1OpAttr,
    MMAFragAttr,
    MMALayoutAttr,
    MMATypeAttr,
)
from xdsl_tvm.dialects.nvvm.formats import (
    B1,
    FORMATS,
    WMMA_SHAPES,
    Format,
    Shape,
    family_of,
    shape_text,
    wmma_layout_problem,
    wmma_problem,
    wmma_registers,
)
from xdsl_tvm.dialects.nvvm.matrices import expect_result, registers_type
from xdsl_tvm.dialects.nvvm.types import IntrinsicOperation
from xdsl_tvm.dialects.tvm_llvm import ReadWriteEffect


def _space_suffix(pointer: SSAValue) -> str:
    """The suffix of an overload: `.p3`."""
    type = pointer.type
    assert isinstance(type, LLVMPointerType)
    return f".p{getattr(type.addr_space, 'data', 0)}"


def _in_order(shape: Shape, **others: Attribute) -> dict[str, Attribute]:
    """The properties of a fragment, in the order of their names."""
    extents = zip("mnk", shape, strict=True)
    found = {**others, **{name: IntegerAttr(extent, i32) for name, extent in extents}}
    return dict(sorted(found.items()))


def fragment_problem(shape: Shape, fragment: str, form: Format) -> str | None:
    """Why there is no such fragment of a product, or None if there is."""
    if fragment in "ab":
        return wmma_problem(shape, form)
    factors = [
        factor
        for factor, shapes in WMMA_SHAPES.items()
        if shape in shapes
        and (family := family_of(factor)) is not None
        and form in family.sums
    ]
    if factors:
        return None
    return f"WMMA has no {shape_text(shape)} with sums of {form.name}"


class _Fragment(IntrinsicOperation):
    m = prop_def(IntegerAttr[IntegerType])
    n = prop_def(IntegerAttr[IntegerType])
    k = prop_def(IntegerAttr[IntegerType])

    irdl_options = (ParsePropInAttrDict(),)

    traits = traits_def(ReadWriteEffect())

    @property
    def extents(self) -> Shape:
        """m, n and k."""
        return self.m.value.data, self.n.value.data, self.k.value.data


def _expect_registers(
    name: str, values: Sequence[SSAValue], form: Format, count: int
) -> None:
    if [each.type for each in values] != [form.register] * count:
        found = ", ".join(str(each.type) for each in values)
        raise VerifyException(
            f"a fragment {name} has {count} registers of {form.register}, not {found}"
        )


@irdl_op_definition
class WMMALoadOp(_Fragment):
    """Loads a fragment; rows, or columns, are `stride` elements apart (sm_70).

    Elements of less than 8 bits are next to each other in bytes, the first one lowest,
    A by row and B by column (sm_75).

    `nvvm.wmma.load %p, %stride {eltype = #nvvm.mma_type<f16>, frag = #nvvm.mma_frag<a>,
    k = 16 : i32, layout = #nvvm.mma_layout<row>, m = 16 : i32, n = 16 : i32} :
    (!llvm.ptr<3>) -> !llvm.struct<…>`.
    """

    name = "nvvm.wmma.load"

    ptr = operand_def(LLVMPointerType)
    stride = operand_def(i32)
    layout = prop_def(MMALayoutAttr)
    eltype = prop_def(MMATypeAttr)
    frag = prop_def(MMAFragAttr)
    res = result_def()

    assembly_format = "$ptr `,` $stride attr-dict `:` functional-type($ptr, $res)"

    def __init__(
        self,
        ptr: SSAValue,
        stride: SSAValue,
        shape: Shape,
        fragment: str,
        form: Format,
        layout: str,
    ) -> None:
        count = wmma_registers(shape, fragment, form)
        super().__init__(
            operands=[ptr, stride],
            result_types=[registers_type(form.register, count)],
            properties=_in_order(
                shape,
                eltype=MMATypeAttr(form.name),
                frag=MMAFragAttr(fragment),
                layout=MMALayoutAttr(layout),
            ),
        )

    @property
    def format(self) -> Format:
        """That of the elements."""
        return FORMATS[self.eltype.data]

    @property
    def intrinsic(self) -> str:
        """`llvm.nvvm.wmma.….load.…`, with shape, fragment, layout and format."""
        return (
            f"llvm.nvvm.wmma.{shape_text(self.extents)}.load.{self.frag.data}."
            f"{self.layout.data}.stride.{self.eltype.data}{_space_suffix(self.ptr)}"
        )

    def verify_(self) -> None:
        fragment, form = self.frag.data, self.format
        problem = fragment_problem(self.extents, fragment, form) or wmma_layout_problem(
            form, fragment, self.layout.data
        )
        if problem is not None:
            raise VerifyException(problem)
        count = wmma_registers(self.extents, fragment, form)
        expect_result(self, registers_type(form.register, count))


@irdl_op_definition
class WMMAStoreOp(_Fragment):
    """Stores a fragment of sums; rows, or columns, are `stride` elements apart (sm_70).

    `nvvm.wmma.store %p, %stride, %d0, … {eltype = …, k = …, layout = …, m = …, n = …} :
    !llvm.ptr<1>, f32, …`.
    """

    name = "nvvm.wmma.store"

    ptr = operand_def(LLVMPointerType)
    stride = operand_def(i32)
    args = var_operand_def()
    layout = prop_def(MMALayoutAttr)
    eltype = prop_def(MMATypeAttr)

    assembly_format = (
        "$ptr `,` $stride `,` $args attr-dict `:` type($ptr) `,` type($args)"
    )

    def __init__(
        self,
        ptr: SSAValue,
        stride: SSAValue,
        registers: Sequence[SSAValue],
        shape: Shape,
        form: Format,
        layout: str,
    ) -> None:
        super().__init__(
            operands=[ptr, stride, registers],
            properties=_in_order(
                shape,
                eltype=MMATypeAttr(form.name),
                layout=MMALayoutAttr(layout),
            ),
        )

    @property
    def format(self) -> Format:
        """That of the elements."""
        return FORMATS[self.eltype.data]

    @property
    def intrinsic(self) -> str:
        """`llvm.nvvm.wmma.….store.d.…`, with shape, layout and format."""
        return (
            f"llvm.nvvm.wmma.{shape_text(self.extents)}.store.d."
            f"{self.layout.data}.stride.{self.eltype.data}{_space_suffix(self.ptr)}"
        )

    def verify_(self) -> None:
        problem = fragment_problem(self.extents, "d", self.format)
        if problem is not None:
            raise VerifyException(problem)
        count = wmma_registers(self.extents, "d", self.format)
        _expect_registers("d", self.args, self.format, count)


@irdl_op_definition
class WMMAMmaOp(_Fragment):
    """`D = A * B + C` of fragments: operands are the registers of A, of B and of C.

    `nvvm.wmma.mma %a0, … {eltypeA = #nvvm.mma_type<f16>, eltypeB = #nvvm.mma_type<f32>,
    k = …, layoutA = …, layoutB = …, m = …, n = …} : (…) -> …`. As upstream, `eltypeA` is
    the format of A and B, and `eltypeB` that of C and D. Bits are combined by
    `b1Op = #nvvm.mma_b1op<xor_popc>`, or `and_popc` (sm_80), and the ones are counted.
    """

    name = "nvvm.wmma.mma"

    args = var_operand_def()
    layout_a = prop_def(MMALayoutAttr, prop_name="layoutA")
    layout_b = prop_def(MMALayoutAttr, prop_name="layoutB")
    eltype_a = prop_def(MMATypeAttr, prop_name="eltypeA")
    eltype_b = prop_def(MMATypeAttr, prop_name="eltypeB")
    b1_op = opt_prop_def(MMAB1OpAttr, prop_name="b1Op")
    res = result_def()

    assembly_format = "$args attr-dict `:` functional-type($args, $res)"

    def __init__(
        self,
        shape: Shape,
        formats: tuple[Format, Format],
        layouts: tuple[str, str],
        registers: Sequence[SSAValue],
        operator: str | None = None,
    ) -> None:
        """`formats` are those of the factors and of the sums, `operator` of bits."""
        factor, total = formats
        of_bits = {} if operator is None else {"b1Op": MMAB1OpAttr(f"{operator}_popc")}
        count = wmma_registers(shape, "d", total)
        super().__init__(
            operands=[registers],
            result_types=[registers_type(total.register, count)],
            properties=_in_order(
                shape,
                **of_bits,
                eltypeA=MMATypeAttr(factor.name),
                eltypeB=MMATypeAttr(total.name),
                layoutA=MMALayoutAttr(layouts[0]),
                layoutB=MMALayoutAttr(layouts[1]),
            ),
        )

    @property
    def formats(self) -> tuple[Format, Format]:
        """Those of the factors and of the sums."""
        return FORMATS[self.eltype_a.data], FORMATS[self.eltype_b.data]

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many of the operands are of A, of B and of C."""
        factor, total = self.formats
        shape = self.extents
        return (
            wmma_registers(shape, "a", factor),
            wmma_registers(shape, "b", factor),
            wmma_registers(shape, "c", total),
        )

    @property
    def operator(self) -> str | None:
        """How bits are combined, `xor` or `and`; None for other formats."""
        return None if self.b1_op is None else self.b1_op.data.removesuffix("_popc")

    @property
    def intrinsic(self) -> str:
        """`llvm.nvvm.wmma.….mma.…`, with shape, layouts and formats."""
        factor, total = self.formats
        types = f"{total.name}.{total.name}" if factor.name == "f16" else factor.name
        operator = "" if self.operator is None else f"{self.operator}.popc."
        return (
            f"llvm.nvvm.wmma.{shape_text(self.extents)}.mma.{operator}"
            f"{self.layout_a.data}.{self.layout_b.data}.{types}"
        )

    def verify_(self) -> None:
        factor, total = self.formats
        problem = wmma_problem(self.extents, factor, total)
        for fragment, layout in (("a", self.layout_a), ("b", self.layout_b)):
            problem = problem or wmma_layout_problem(factor, fragment, layout.data)
        if problem is not None:
            raise VerifyException(problem)
        if (factor == B1) != (self.b1_op is not None):
            raise VerifyException("b1Op goes with bits, and with nothing else")
        start = 0
        for name, form, count in zip(
            "abc", (factor, factor, total), self.counts, strict=True
        ):
            _expect_registers(name, self.args[start : start + count], form, count)
            start += count
        if len(self.args) != start:
            raise VerifyException(f"expected {start} registers, got {len(self.args)}")
        expect_result(self, registers_type(total.register, self.counts[2]))
