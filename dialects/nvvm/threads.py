"""What threads of a GPU are, and what they exchange: registers, barriers, shuffles."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import Float32Type, StringAttr, UnitAttr, i1, i32
from xdsl.dialects.llvm import LLVMStructType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.nvvm.types import IntrinsicOperation, verify_kind
from xdsl_tvm.dialects.tvm_llvm import ReadWriteEffect


class SpecialRegisterOp(IntrinsicOperation, ABC):
    """Reads a special register that never changes within a thread; gives `i32`.

    The intrinsic is `llvm.` plus the operation's name.
    """

    res = result_def(i32)

    traits = traits_def(Pure())

    assembly_format = "attr-dict `:` type($res)"

    def __init__(self) -> None:
        super().__init__(result_types=[i32])


@irdl_op_definition
class ThreadIdXOp(SpecialRegisterOp):
    """The thread's number in its block, x."""

    name = "nvvm.read.ptx.sreg.tid.x"


@irdl_op_definition
class ThreadIdYOp(SpecialRegisterOp):
    """The thread's number in its block, y."""

    name = "nvvm.read.ptx.sreg.tid.y"


@irdl_op_definition
class ThreadIdZOp(SpecialRegisterOp):
    """The thread's number in its block, z."""

    name = "nvvm.read.ptx.sreg.tid.z"


@irdl_op_definition
class BlockIdXOp(SpecialRegisterOp):
    """The block's number in the grid, x."""

    name = "nvvm.read.ptx.sreg.ctaid.x"


@irdl_op_definition
class BlockIdYOp(SpecialRegisterOp):
    """The block's number in the grid, y."""

    name = "nvvm.read.ptx.sreg.ctaid.y"


@irdl_op_definition
class BlockIdZOp(SpecialRegisterOp):
    """The block's number in the grid, z."""

    name = "nvvm.read.ptx.sreg.ctaid.z"


@irdl_op_definition
class BlockDimXOp(SpecialRegisterOp):
    """Threads per block, x."""

    name = "nvvm.read.ptx.sreg.ntid.x"


@irdl_op_definition
class BlockDimYOp(SpecialRegisterOp):
    """Threads per block, y."""

    name = "nvvm.read.ptx.sreg.ntid.y"


@irdl_op_definition
class BlockDimZOp(SpecialRegisterOp):
    """Threads per block, z."""

    name = "nvvm.read.ptx.sreg.ntid.z"


@irdl_op_definition
class GridDimXOp(SpecialRegisterOp):
    """Blocks per grid, x."""

    name = "nvvm.read.ptx.sreg.nctaid.x"


@irdl_op_definition
class GridDimYOp(SpecialRegisterOp):
    """Blocks per grid, y."""

    name = "nvvm.read.ptx.sreg.nctaid.y"


@irdl_op_definition
class GridDimZOp(SpecialRegisterOp):
    """Blocks per grid, z."""

    name = "nvvm.read.ptx.sreg.nctaid.z"


@irdl_op_definition
class LaneIdOp(SpecialRegisterOp):
    """The thread's number in its warp, 0 to 31."""

    name = "nvvm.read.ptx.sreg.laneid"


@irdl_op_definition
class WarpSizeOp(SpecialRegisterOp):
    """Threads per warp: 32."""

    name = "nvvm.read.ptx.sreg.warpsize"


# -------------------------------------------------------------------- barriers


@irdl_op_definition
class Barrier0Op(IntrinsicOperation):
    """Waits for all threads of the block and orders their memory accesses.

    Every thread of the block must reach it.
    """

    name = "nvvm.barrier0"
    INTRINSIC: ClassVar = "llvm.nvvm.barrier.cta.sync.aligned.all"

    traits = traits_def(ReadWriteEffect())

    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class SyncWarpOp(IntrinsicOperation):
    """Waits for the threads of the warp whose bits are set in `mask`."""

    name = "nvvm.bar.warp.sync"

    mask = operand_def(i32)

    traits = traits_def(ReadWriteEffect())

    assembly_format = "$mask attr-dict `:` type($mask)"

    def __init__(self, mask: SSAValue | Operation):
        super().__init__(operands=[mask])


# ---------------------------------------------------- exchange between threads

SHUFFLE_KINDS: tuple[str, ...] = ("bfly", "up", "down", "idx")
REDUX_KINDS: tuple[str, ...] = ("add", "max", "min", "umax", "umin", "and", "or", "xor")
VOTE_KINDS: tuple[str, ...] = ("any", "all", "ballot", "uni")


@irdl_op_definition
class ShflOp(IntrinsicOperation):
    """Reads `val` of another thread of the warp.

    `nvvm.shfl.sync bfly %mask, %val, %offset, %clamp : f32 -> f32`. The other thread is
    this one's lane number xor (`bfly`), minus (`up`), plus (`down`) `offset`, or
    `offset` itself (`idx`); `clamp` is the PTX operand `c`. `i32` and `f32` only. With
    `return_value_and_is_valid` the result is `!llvm.struct<(T, i1)>`.
    """

    T: ClassVar = VarConstraint("T", AnyAttr())

    name = "nvvm.shfl.sync"

    thread_mask = operand_def(i32)
    val = operand_def(T)
    offset = operand_def(i32)
    mask_and_clamp = operand_def(i32)
    kind = prop_def(StringAttr)
    return_value_and_is_valid = opt_prop_def(UnitAttr)
    res = result_def()

    traits = traits_def(ReadWriteEffect())

    def __init__(
        self,
        kind: str,
        thread_mask: SSAValue | Operation,
        val: SSAValue | Operation,
        offset: SSAValue | Operation,
        mask_and_clamp: SSAValue | Operation,
    ):
        val = SSAValue.get(val)
        super().__init__(
            operands=[thread_mask, val, offset, mask_and_clamp],
            result_types=[val.type],
            properties={"kind": StringAttr(kind)},
        )

    @property
    def intrinsic(self) -> str:
        """`llvm.nvvm.shfl.sync.….i32`, with `p` for a result that says whether it is."""
        suffix = "i32" if self.val.type == i32 else "f32"
        valid = "p" if self.return_value_and_is_valid is not None else ""
        return f"llvm.nvvm.shfl.sync.{self.kind.data}.{suffix}{valid}"

    def verify_(self) -> None:
        verify_kind(self.kind, SHUFFLE_KINDS)
        type = self.val.type
        if type != i32 and not isinstance(type, Float32Type):
            raise VerifyException(f"a shuffle moves i32 or f32, not {type}")
        expected = type
        if self.return_value_and_is_valid is not None:
            expected = LLVMStructType.from_type_list([type, i1])
        if self.res.type != expected:
            raise VerifyException(f"expected the result {expected}, got {self.res.type}")

    @classmethod
    def parse(cls, parser: Parser) -> ShflOp:
        kind = parser.parse_identifier(context_msg=" for the kind of shuffle")
        operands = parser.parse_comma_separated_list(
            Parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        parser.parse_punctuation("->")
        result = parser.parse_type()
        properties: dict[str, Attribute] = {"kind": StringAttr(kind)}
        if "return_value_and_is_valid" in attributes:
            properties["return_value_and_is_valid"] = attributes.pop(
                "return_value_and_is_valid"
            )
        return cls.create(
            operands=parser.resolve_operands(operands, [i32, type, i32, i32], parser.pos),
            result_types=[result],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind.data} ")
        printer.print_list(self.operands, printer.print_operand)
        attributes = dict(self.attributes)
        if self.return_value_and_is_valid is not None:
            attributes["return_value_and_is_valid"] = self.return_value_and_is_valid
        printer.print_op_attributes(attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.val.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.res.type)


class _KindOperation(IntrinsicOperation, ABC):
    """`name <kind> %a, %b -> type` on a warp.

    With `PRINTS_VALUE_TYPE` the type of the first operand is before the arrow.
    """

    kind = prop_def(StringAttr)
    res = result_def()

    traits = traits_def(ReadWriteEffect())

    KINDS: ClassVar[tuple[str, ...]]
    OPERAND_TYPES: ClassVar[tuple[Attribute, ...]]
    PRINTS_VALUE_TYPE: ClassVar[bool] = False

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        kind = parser.parse_identifier(context_msg=" for the kind")
        operands = parser.parse_comma_separated_list(
            Parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        types = list(cls.OPERAND_TYPES)
        if cls.PRINTS_VALUE_TYPE:
            parser.parse_punctuation(":")
            types[0] = parser.parse_type()
        parser.parse_punctuation("->")
        return cls.create(
            operands=parser.resolve_operands(operands, types, parser.pos),
            result_types=[parser.parse_type()],
            properties={"kind": StringAttr(kind)},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind.data} ")
        printer.print_list(self.operands, printer.print_operand)
        printer.print_op_attributes(self.attributes)
        if self.PRINTS_VALUE_TYPE:
            printer.print_string(" : ")
            printer.print_attribute(self.operands[0].type)
        printer.print_string(" -> ")
        printer.print_attribute(self.res.type)


@irdl_op_definition
class VoteSyncOp(_KindOperation):
    """Combines a predicate of the warp's threads: `nvvm.vote.sync any %mask, %p -> i1`.

    `ballot` gives an `i32` of one bit per thread, the others an `i1`.
    """

    name = "nvvm.vote.sync"

    mask = operand_def(i32)
    pred = operand_def(i1)

    KINDS: ClassVar = VOTE_KINDS
    OPERAND_TYPES: ClassVar = (i32, i1)

    def __init__(self, kind: str, mask: SSAValue | Operation, pred: SSAValue | Operation):
        super().__init__(
            operands=[mask, pred],
            result_types=[i32 if kind == "ballot" else i1],
            properties={"kind": StringAttr(kind)},
        )

    @property
    def intrinsic(self) -> str:
        """`llvm.nvvm.vote.….sync`."""
        return f"llvm.nvvm.vote.{self.kind.data}.sync"

    def verify_(self) -> None:
        verify_kind(self.kind, self.KINDS)
        expected = i32 if self.kind.data == "ballot" else i1
        if self.res.type != expected:
            raise VerifyException(f"expected the result {expected}, got {self.res.type}")


@irdl_op_definition
class ReduxOp(_KindOperation):
    """Reduces an `i32` over a warp (sm_80).

    `nvvm.redux.sync add %v, %mask : i32 -> i32`.
    """

    name = "nvvm.redux.sync"

    val = operand_def(i32)
    mask_and_clamp = operand_def(i32)

    KINDS: ClassVar = REDUX_KINDS
    OPERAND_TYPES: ClassVar = (i32, i32)
    PRINTS_VALUE_TYPE: ClassVar = True

    def __init__(self, kind: str, val: SSAValue | Operation, mask: SSAValue | Operation):
        super().__init__(
            operands=[val, mask],
            result_types=[i32],
            properties={"kind": StringAttr(kind)},
        )

    @property
    def intrinsic(self) -> str:
        """`llvm.nvvm.redux.sync.…`."""
        return f"llvm.{self.name}.{self.kind.data}"

    def verify_(self) -> None:
        verify_kind(self.kind, self.KINDS)
        if self.res.type != i32:
            raise VerifyException(f"expected the result i32, got {self.res.type}")
