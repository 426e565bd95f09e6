"""Matrices in the registers of a warp: `ldmatrix`, `mma` and `mma.sp`.

A register holds 32 bits, or 64 of f64: `vector<2xf16>`, `f32`, `f64`, and `i32` for
all other formats. Several registers that are one result are a struct. Which element is in
which register is what the PTX ISA says of the shape.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    Float16Type,
    Float32Type,
    Float64Type,
    IntAttr,
    IntegerAttr,
    IntegerType,
    i32,
)
from xdsl.dialects.llvm import LLVMPointerType, LLVMStructType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.dtypes import element_of
from xdsl_tvm.dialects.nvvm.attributes import (
    LdStMatrixEltTypeAttr,
    LdStMatrixShapeAttr,
    MMAB1OpAttr,
    MMAIntOverflowAttr,
    MMALayoutAttr,
    MMAShapeAttr,
    MMATypeAttr,
    mma_shape,
)
from xdsl_tvm.dialects.nvvm.formats import (
    B1,
    F16,
    F32,
    F64,
    FORMATS,
    QUADS,
    S32,
    Format,
    Shape,
    family_of,
    product_problem,
    registers_of,
    shape_text,
)
from xdsl_tvm.dialects.nvvm.types import (
    SHARED_SPACE,
    IntrinsicOperation,
    verify_pointer,
)
from xdsl_tvm.dialects.tvm_llvm import ReadWriteEffect


def registers_type(type: Attribute, count: int) -> Attribute:
    """The type of `count` registers together."""
    return type if count == 1 else LLVMStructType.from_type_list([type] * count)


def result_registers(op: Operation) -> list[Attribute]:
    """The types of the registers that the result of an operation holds."""
    type = op.results[0].type
    return list(type.types) if isinstance(type, LLVMStructType) else [type]


def expect_result(op: Operation, expected: Attribute) -> None:
    if op.results[0].type != expected:
        raise VerifyException(f"expected the result {expected}, got {op.results[0].type}")


# -------------------------------------------------------------------- ldmatrix


@irdl_op_definition
class LdMatrixOp(IntrinsicOperation):
    """Loads 1, 2 or 4 matrices of 8 rows of 16 bytes from shared memory (sm_75).

    `nvvm.ldmatrix %p {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout =
    #nvvm.mma_layout<row>, num = 4 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>}
    : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>`. Lane `8 * j + i` has the
    address of row `i` of matrix `j`, a multiple of 16. Lane `l` receives the elements
    `2 * (l % 4)` and the next one of row `l / 4` of each matrix, or of column `l / 4`
    with the layout `col`.
    """

    name = "nvvm.ldmatrix"

    ptr = operand_def(LLVMPointerType)
    num = prop_def(IntegerAttr[IntegerType])
    layout = prop_def(MMALayoutAttr)
    shape = prop_def(LdStMatrixShapeAttr)
    elt_type = prop_def(LdStMatrixEltTypeAttr, prop_name="eltType")
    res = result_def()

    irdl_options = (ParsePropInAttrDict(),)

    traits = traits_def(ReadWriteEffect())

    assembly_format = "$ptr attr-dict `:` functional-type($ptr, $res)"

    def __init__(
        self, ptr: SSAValue | Operation, count: int, *, transposed: bool = False
    ) -> None:
        super().__init__(
            operands=[ptr],
            result_types=[registers_type(i32, count)],
            properties={
                "eltType": LdStMatrixEltTypeAttr("b16"),
                "layout": MMALayoutAttr("col" if transposed else "row"),
                "num": IntegerAttr(count, i32),
                "shape": LdStMatrixShapeAttr(IntAttr(8), IntAttr(8)),
            },
        )

    @property
    def transposed(self) -> bool:
        """Whether lanes receive columns."""
        return self.layout.data == "col"

    @property
    def intrinsic(self) -> str:
        """`llvm.nvvm.ldmatrix.sync.aligned.m8n8.….b16.p3`."""
        trans = ".trans" if self.transposed else ""
        count = self.num.value.data
        return f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x{count}{trans}.b16.p3"

    def verify_(self) -> None:
        verify_pointer(self.ptr, SHARED_SPACE)
        count = self.num.value.data
        if count not in (1, 2, 4):
            raise VerifyException(f"1, 2 or 4 matrices are loaded, not {count}")
        if (self.shape.m.data, self.shape.n.data) != (8, 8):
            raise VerifyException("the matrices have 8 rows and 8 columns")
        expect_result(self, registers_type(i32, count))


# ------------------------------------------------------------------------- mma


def _format_of_register(type: Attribute, given: MMATypeAttr | None) -> Format:
    """The format of a factor: that of its registers, or the one that is given."""
    if given is not None:
        return FORMATS[given.data]
    element = element_of(type)
    if isinstance(element, Float16Type):
        return F16
    if isinstance(element, Float64Type):
        return F64
    raise VerifyException(
        f"registers of {type} do not tell a format; give multiplicandAPtxType and "
        "multiplicandBPtxType"
    )


def _sum_format(type: Attribute) -> Format:
    element = element_of(type)
    for kind, form in ((Float16Type, F16), (Float32Type, F32), (Float64Type, F64)):
        if isinstance(element, kind):
            return form
    return S32


class _ProductOperation(IntrinsicOperation, ABC):
    """`D = A * B + C` of matrices in registers: A by row and B by column."""

    shape = prop_def(MMAShapeAttr)
    a_type = opt_prop_def(MMATypeAttr, prop_name="multiplicandAPtxType")
    b_type = opt_prop_def(MMATypeAttr, prop_name="multiplicandBPtxType")
    int_overflow = opt_prop_def(MMAIntOverflowAttr, prop_name="intOverflowBehavior")
    res = result_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    traits = traits_def(ReadWriteEffect())

    SPARSE: ClassVar[bool] = False

    @property
    @abstractmethod
    def matrices(self) -> tuple[Sequence[SSAValue], ...]:
        """The registers of A, of B and of C."""

    @property
    def formats(self) -> tuple[Format, Format, Format]:
        """Those of A, B and C. Raises VerifyException where they are not known."""
        a, b, c = (registers[0].type for registers in self.matrices)
        return (
            _format_of_register(a, self.a_type),
            _format_of_register(b, self.b_type),
            _sum_format(c),
        )

    @property
    def saturates(self) -> bool:
        """Whether sums of integers saturate."""
        overflow = self.int_overflow
        return overflow is not None and overflow.data == "satfinite"

    def _signature(self, layouts: str) -> str:
        """The end of the name of the intrinsic."""
        a, b, c = self.formats
        if a == F16:
            types = f"{c.name}.{c.name}"
        elif a.name in ("e4m3", "e5m2"):
            types = f"{c.name}.{a.name}.{b.name}.{c.name}"
        else:
            types = a.name if a == b else f"{a.name}.{b.name}"
        satfinite = ".satfinite" * self.saturates
        return f"{shape_text(self.shape.extents)}.{layouts}{satfinite}.{types}"

    def verify_(self) -> None:
        if not all(self.matrices):
            raise VerifyException("each of A, B and C has at least one register")
        a, b, c = self.formats
        shape = self.shape.extents
        problem = product_problem(shape, a, b, c, sparse=self.SPARSE)
        if problem is not None:
            raise VerifyException(problem)
        family = family_of(a)
        if self.saturates and (family is None or not family.saturates):
            raise VerifyException("only products of integers saturate")
        counts = registers_of(shape, a, b, c, sparse=self.SPARSE)
        for name, form, count, registers in zip(
            "ABC", (a, b, c), counts, self.matrices, strict=True
        ):
            if [each.type for each in registers] != [form.register] * count:
                found = ", ".join(str(each.type) for each in registers)
                raise VerifyException(
                    f"{name} of {shape_text(shape)} has {count} registers of "
                    f"{form.register}, not {found}"
                )
        expect_result(self, registers_type(c.register, counts[2]))

    # ---- syntax

    def _print_groups(
        self, printer: Printer, *more: tuple[str, Sequence[SSAValue]]
    ) -> None:
        for name, values in (*zip("ABC", self.matrices, strict=True), *more):
            printer.print_string(f" {name}[")
            printer.print_list(values, printer.print_operand)
            printer.print_string("]")
        attributes = {
            key: value
            for key, value in (*self.properties.items(), *self.attributes.items())
            if key != "operandSegmentSizes"
        }
        printer.print_op_attributes(dict(sorted(attributes.items())))
        printer.print_string(" : (")
        types = [values[0].type for values in self.matrices]
        printer.print_list(types, printer.print_attribute)
        printer.print_string(") -> ")
        printer.print_attribute(self.res.type)

    @classmethod
    def _parse_groups(cls, parser: Parser, *more: str) -> Operation:
        groups = [_parse_group(parser, name) for name in ("A", "B", "C", *more)]
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(
            Parser.Delimiter.PAREN, parser.parse_type
        )
        parser.parse_punctuation("->")
        result = parser.parse_type()
        if len(types) != 3:
            parser.raise_error("expected the types of registers of A, B and C")
        types += [i32] * len(more)
        operands = [
            parser.resolve_operands(group, [type] * len(group), parser.pos)
            for group, type in zip(groups, types, strict=True)
        ]
        known = cls.get_irdl_definition().properties
        properties = {
            key: attributes.pop(key) for key in list(attributes) if key in known
        }
        return cls.build(
            operands=operands,
            result_types=[result],
            properties=properties,
            attributes=attributes,
        )


def _parse_group(parser: Parser, name: str) -> list[UnresolvedOperand]:
    parser.parse_keyword(name)
    return parser.parse_comma_separated_list(
        Parser.Delimiter.SQUARE, parser.parse_unresolved_operand
    )


def _marked(form: Format) -> MMATypeAttr | None:
    """The attribute of a format that the type of its registers does not tell."""
    return MMATypeAttr(form.name) if form.register == i32 else None


@irdl_op_definition
class MmaOp(_ProductOperation):
    """`D = A * B + C` on tensor cores, of matrices in registers.

    `nvvm.mma.sync A[%a0, %a1] B[%b0] C[%c0, %c1] {layoutA = #nvvm.mma_layout<row>,
    layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 8>} :
    (vector<2xf16>, vector<2xf16>, vector<2xf16>) -> !llvm.struct<…>`. In parentheses are
    the types of one register of A, B and C. `multiplicandAPtxType` and
    `multiplicandBPtxType` give formats in registers that are `i32`.
    """

    name = "nvvm.mma.sync"

    a = var_operand_def()
    b = var_operand_def()
    c = var_operand_def()

    b1_op = opt_prop_def(MMAB1OpAttr, prop_name="b1Op")
    layout_a = prop_def(MMALayoutAttr, prop_name="layoutA")
    layout_b = prop_def(MMALayoutAttr, prop_name="layoutB")

    def __init__(
        self,
        shape: Shape,
        formats: tuple[Format, Format, Format],
        registers: tuple[Sequence[SSAValue], Sequence[SSAValue], Sequence[SSAValue]],
        *,
        layouts: tuple[str, str] = ("row", "col"),
        saturate: bool = False,
        operator: str | None = None,
    ) -> None:
        """`operator` is `xor` or `and`, for bits."""
        super().__init__(
            operands=registers,
            result_types=[_result_type(shape, formats)],
            properties={
                **_product_properties(shape, formats, saturate=saturate),
                "b1Op": None if operator is None else MMAB1OpAttr(f"{operator}_popc"),
                "layoutA": MMALayoutAttr(layouts[0]),
                "layoutB": MMALayoutAttr(layouts[1]),
            },
        )

    @property
    def matrices(self) -> tuple[Sequence[SSAValue], ...]:
        """The registers of A, of B and of C."""
        return self.a, self.b, self.c

    @property
    def operator(self) -> str | None:
        """How bits are combined, `xor` or `and`; None for other formats."""
        return None if self.b1_op is None else self.b1_op.data.removesuffix("_popc")

    @property
    def intrinsic(self) -> str:
        """`llvm.nvvm.mma.…`, with shape, layouts and formats."""
        operator = "" if self.operator is None else f"{self.operator}.popc."
        layouts = f"{self.layout_a.data}.{self.layout_b.data}"
        return f"llvm.nvvm.mma.{operator}{self._signature(layouts)}"

    def verify_(self) -> None:
        super().verify_()
        a, _, _ = self.formats
        if (a == B1) != (self.b1_op is not None):
            raise VerifyException("b1Op goes with bits, and with nothing else")
        layouts = (self.layout_a.data, self.layout_b.data)
        in_quads = a == F16 and self.shape.extents == QUADS
        if layouts != ("row", "col") and not in_quads:
            raise VerifyException(
                f"{shape_text(self.shape.extents)} has A by row and B by column, not "
                f"{layouts[0]} and {layouts[1]}"
            )

    def print(self, printer: Printer) -> None:
        self._print_groups(printer)

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        return cls._parse_groups(parser)


@irdl_op_definition
class MmaSpOp(_ProductOperation):
    """`D = A * B + C` on tensor cores where half of A is zero (sm_80).

    `nvvm.mma.sp.sync A[…] B[…] C[…] sparseMetadata[%m] selector[%s] {…} : …`. A holds two
    of each four columns, of tf32 one of each two, of 4 bits two pairs of each four;
    `metadata` tells which, ascending, by two bits each, of tf32 by four. The selector, a
    constant, tells which lanes give it.
    """

    name = "nvvm.mma.sp.sync"

    a = var_operand_def()
    b = var_operand_def()
    c = var_operand_def()
    metadata = operand_def(i32)
    selector = operand_def(i32)

    SPARSE: ClassVar = True

    def __init__(
        self,
        shape: Shape,
        formats: tuple[Format, Format, Format],
        registers: tuple[Sequence[SSAValue], Sequence[SSAValue], Sequence[SSAValue]],
        metadata: SSAValue,
        selector: SSAValue,
        *,
        saturate: bool = False,
    ) -> None:
        super().__init__(
            operands=[*registers, metadata, selector],
            result_types=[_result_type(shape, formats)],
            properties=_product_properties(shape, formats, saturate=saturate),
        )

    @property
    def intrinsic(self) -> str:
        """`llvm.nvvm.mma.sp.…`, with shape and formats."""
        return f"llvm.nvvm.mma.sp.{self._signature('row.col')}"

    @property
    def matrices(self) -> tuple[Sequence[SSAValue], ...]:
        """The registers of A, of B and of C."""
        return self.a, self.b, self.c

    @property
    def selected(self) -> int | None:
        """The selector, where it is a constant."""
        owner = self.selector.owner
        value = owner.value if isinstance(owner, llvm.ConstantOp) else None
        return value.value.data if isinstance(value, IntegerAttr) else None

    def print(self, printer: Printer) -> None:
        more = (("sparseMetadata", (self.metadata,)), ("selector", (self.selector,)))
        self._print_groups(printer, *more)

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        return cls._parse_groups(parser, "sparseMetadata", "selector")


def _result_type(shape: Shape, formats: tuple[Format, Format, Format]) -> Attribute:
    total = formats[2]
    return registers_type(total.register, registers_of(shape, *formats)[2])


def _product_properties(
    shape: Shape, formats: tuple[Format, Format, Format], *, saturate: bool
) -> dict[str, Attribute | None]:
    return {
        "intOverflowBehavior": MMAIntOverflowAttr("satfinite") if saturate else None,
        "multiplicandAPtxType": _marked(formats[0]),
        "multiplicandBPtxType": _marked(formats[1]),
        "shape": mma_shape(shape),
    }
