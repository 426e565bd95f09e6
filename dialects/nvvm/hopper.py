"""Tensor copies and products of warpgroups, of Hopper GPUs.

A tensor copy moves a box of a tensor to shared memory: a *tensor map*, 128 bytes that the
driver makes, holds the tensor's address, extents and strides, the box, and how its rows
are permuted. A product of a warpgroup, four warps, reads both operands from shared memory
while its threads go on:

    nvvm.wgmma.fence.aligned
    %d = nvvm.wgmma.mma_async %c, %a, %b {shape = #nvvm.shape<m = 64, n = 16, k = 16>, …}
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0

All but the copies are of `sm_90a` only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from xdsl.dialects.builtin import IntegerAttr, IntegerType, f32, i32, i64
from xdsl.dialects.llvm import LLVMPointerType, LLVMStructType
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.nvvm.attributes import (
    MMALayoutAttr,
    MMAShapeAttr,
    WGMMAScaleInAttr,
    WGMMAScaleOutAttr,
    WGMMATypesAttr,
    mma_shape,
)
from xdsl_tvm.dialects.nvvm.types import (
    CLUSTER_SPACE,
    SHARED_SPACE,
    GroupWaitOperation,
    IntrinsicOperation,
    pointer,
    verify_pointer,
)
from xdsl_tvm.dialects.tvm_llvm import ReadWriteEffect

_MOST_DIMENSIONS: Final = 5

# --------------------------------------------------------------- tensor copies


@irdl_op_definition
class CpAsyncBulkTensorOp(IntrinsicOperation):
    """Starts a copy of a box of a tensor to shared memory of the cluster (sm_90).

    `nvvm.cp.async.bulk.tensor.shared.cluster.global %dst, %map, %mbar, box[%x, %y] :
    !llvm.ptr<7>, !llvm.ptr`. The box begins at the coordinates, the innermost first; what
    is outside of the tensor is zero. The bytes of the box count as arrived at the barrier
    `mbar` in shared memory when they have landed. The target is aligned to 128 bytes.
    """

    name = "nvvm.cp.async.bulk.tensor.shared.cluster.global"

    dst = operand_def(LLVMPointerType)
    descriptor = operand_def(LLVMPointerType)
    mbar = operand_def(LLVMPointerType)
    coordinates = var_operand_def(i32)

    traits = traits_def(ReadWriteEffect())

    def __init__(
        self,
        dst: SSAValue | Operation,
        descriptor: SSAValue | Operation,
        mbar: SSAValue | Operation,
        coordinates: Sequence[SSAValue | Operation],
    ):
        super().__init__(operands=[dst, descriptor, mbar, coordinates])

    @property
    def intrinsic(self) -> str:
        """`llvm.nvvm.cp.async.bulk.tensor.g2s.tile.…d`."""
        return f"llvm.nvvm.cp.async.bulk.tensor.g2s.tile.{len(self.coordinates)}d"

    def verify_(self) -> None:
        verify_pointer(self.dst, CLUSTER_SPACE)
        verify_pointer(self.descriptor, 0)
        verify_pointer(self.mbar, SHARED_SPACE)
        if not 1 <= len(self.coordinates) <= _MOST_DIMENSIONS:
            raise VerifyException(
                f"a tensor has 1 to {_MOST_DIMENSIONS} dimensions, not "
                f"{len(self.coordinates)}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> CpAsyncBulkTensorOp:
        operands = [parser.parse_unresolved_operand()]
        for _ in range(2):
            parser.parse_punctuation(",")
            operands.append(parser.parse_unresolved_operand())
        parser.parse_punctuation(",")
        parser.parse_keyword("box")
        places = parser.parse_comma_separated_list(
            Parser.Delimiter.SQUARE, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(
            Parser.Delimiter.NONE, parser.parse_type
        )
        types.append(pointer(SHARED_SPACE))
        dst, descriptor, mbar = parser.resolve_operands(operands, types, parser.pos)
        coordinates = parser.resolve_operands(places, [i32] * len(places), parser.pos)
        op = cls(dst, descriptor, mbar, coordinates)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list((self.dst, self.descriptor, self.mbar), printer.print_operand)
        printer.print_string(", box[")
        printer.print_list(self.coordinates, printer.print_operand)
        printer.print_string("]")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list((self.dst.type, self.descriptor.type), printer.print_attribute)


# ------------------------------------------------------ products of warpgroups


@irdl_op_definition
class WgmmaFenceOp(IntrinsicOperation):
    """Orders what threads did with registers before products after it (sm_90a)."""

    name = "nvvm.wgmma.fence.aligned"
    INTRINSIC: ClassVar = "llvm.nvvm.wgmma.fence.sync.aligned"

    traits = traits_def(ReadWriteEffect())

    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class WgmmaCommitGroupOp(IntrinsicOperation):
    """Closes the group of the products begun so far (sm_90a)."""

    name = "nvvm.wgmma.commit.group.sync.aligned"
    INTRINSIC: ClassVar = "llvm.nvvm.wgmma.commit_group.sync.aligned"

    traits = traits_def(ReadWriteEffect())

    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class WgmmaWaitGroupOp(GroupWaitOperation):
    """Waits until at most `group` groups of products are pending (sm_90a)."""

    name = "nvvm.wgmma.wait.group.sync.aligned"
    INTRINSIC: ClassVar = "llvm.nvvm.wgmma.wait_group.sync.aligned"
    COUNT: ClassVar = "group"
    COUNT_TYPE: ClassVar = i64

    group = prop_def(IntegerAttr[IntegerType])

    traits = traits_def(ReadWriteEffect())


_ROWS: Final = 64
_TERMS: Final = 16
_MOST_COLUMNS: Final = 256


@irdl_op_definition
class WgmmaMmaAsyncOp(IntrinsicOperation):
    """Begins `D = A * B + C` of a warpgroup (sm_90a): 64 rows, n columns, 16 terms.

    `nvvm.wgmma.mma_async %c, %a, %b {…} : !llvm.struct<(f32, …)>`. C and D are n / 2 sums
    of each thread: of the lane l of warp w, the sum `4 * j + 2 * h + e` is in row
    `16 * w + l / 4 + 8 * h` and column `8 * j + 2 * (l % 4) + e`. A and B are of f16 or
    bf16, in shared memory with terms next to each other, or columns where layoutB is
    `row`, which the descriptors tell of: bits 0-13 are the address / 16, 32-45 the bytes
    / 16 from 8 rows of memory to the next 8, 16-29 those from 64 columns to the next 64
    where layoutB is `row`, 62-63 how rows are permuted: 1 is by 128 bytes. D is not to be
    used, and A and B are not to be written, before the group of the product is waited
    for. Where scaleD is `zero`, D is `A * B`.
    """

    name = "nvvm.wgmma.mma_async"

    inouts = operand_def(LLVMStructType)
    descriptor_a = operand_def(i64)
    descriptor_b = operand_def(i64)
    shape = prop_def(MMAShapeAttr)
    type_a = prop_def(WGMMATypesAttr, prop_name="typeA")
    type_b = prop_def(WGMMATypesAttr, prop_name="typeB")
    type_d = prop_def(WGMMATypesAttr, prop_name="typeD")
    scale_d = prop_def(WGMMAScaleOutAttr, prop_name="scaleD")
    scale_a = prop_def(WGMMAScaleInAttr, prop_name="scaleA")
    scale_b = prop_def(WGMMAScaleInAttr, prop_name="scaleB")
    layout_a = prop_def(MMALayoutAttr, prop_name="layoutA")
    layout_b = prop_def(MMALayoutAttr, prop_name="layoutB")
    res = result_def(LLVMStructType)

    irdl_options = (ParsePropInAttrDict(),)

    traits = traits_def(ReadWriteEffect())

    assembly_format = (
        "$inouts `,` $descriptor_a `,` $descriptor_b attr-dict `:` type($inouts) "
        "`->` type($res)"
    )

    def __init__(
        self,
        inouts: SSAValue | Operation,
        descriptor_a: SSAValue | Operation,
        descriptor_b: SSAValue | Operation,
        columns: int,
        dtype: str,
        *,
        from_zero: bool = False,
        b_layout: str = "col",
    ):
        kind = WGMMATypesAttr(dtype)
        super().__init__(
            operands=[inouts, descriptor_a, descriptor_b],
            result_types=[SSAValue.get(inouts).type],
            properties={
                "shape": mma_shape((_ROWS, columns, _TERMS)),
                "typeA": kind,
                "typeB": kind,
                "typeD": WGMMATypesAttr("f32"),
                "scaleD": WGMMAScaleOutAttr("zero" if from_zero else "one"),
                "scaleA": WGMMAScaleInAttr("one"),
                "scaleB": WGMMAScaleInAttr("one"),
                "layoutA": MMALayoutAttr("row"),
                "layoutB": MMALayoutAttr(b_layout),
            },
        )

    @property
    def columns(self) -> int:
        """How many columns D has."""
        return self.shape.n.data

    @property
    def is_transposed(self) -> bool:
        """Whether columns of B, and not terms, are next to each other."""
        return self.layout_b.data == "row"

    @property
    def begins_with_zero(self) -> bool:
        """Whether C does not count."""
        return self.scale_d.data == "zero"

    @property
    def instruction(self) -> str:
        """The instruction of PTX, without operands."""
        kind = self.type_a.data
        shape = f"m{_ROWS}n{self.columns}k{_TERMS}"
        return f"wgmma.mma_async.sync.aligned.{shape}.f32.{kind}.{kind}"

    @property
    def intrinsic(self) -> str:
        """The name in the table of what GPUs have; LLVM has no intrinsic for it."""
        return f"llvm.nvvm.{self.instruction}"

    def verify_(self) -> None:
        m, n, k = self.shape.extents
        if (m, k) != (_ROWS, _TERMS) or n % 8 or not 8 <= n <= _MOST_COLUMNS:
            raise VerifyException(
                f"a product has {_ROWS} rows, a multiple of 8 columns up to "
                f"{_MOST_COLUMNS} and {_TERMS} terms, not m{m}n{n}k{k}"
            )
        types = (self.type_a.data, self.type_b.data, self.type_d.data)
        if types not in (("f16", "f16", "f32"), ("bf16", "bf16", "f32")):
            raise VerifyException(
                f"A and B are of f16 or of bf16 and D is of f32, not {', '.join(types)}"
            )
        if self.layout_a.data != "row":
            raise VerifyException("A is by row")
        if "neg" in (self.scale_a.data, self.scale_b.data):
            raise VerifyException("A and B are not negated")
        sums = [f32] * (n // 2)
        for value in (self.inouts, self.res):
            assert isinstance(value.type, LLVMStructType)
            if list(value.type.types) != sums:
                raise VerifyException(f"expected a struct of {n // 2} f32 for C and D")
