"""Atomic updates and fences."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import I64, IntegerAttr, StringAttr, UnitAttr, i1, i64
from xdsl.dialects.llvm import LLVMPointerType, LLVMStructType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
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
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.tvm_llvm.effects import ReadWriteEffect
from xdsl_tvm.dialects.tvm_llvm.orderings import (
    ORDERING_NAMES,
    ORDERINGS,
    access_properties,
    parse_ordering,
    parse_syncscope,
    print_syncscope,
    set_units,
    split_hints,
    verify_alignment,
    verify_atomic_type,
)
from xdsl_tvm.dialects.tvm_llvm.types import LLVM_FLOATS

__all__ = ["ATOMIC_BIN_OPS", "AtomicRMWOp", "CmpXchgOp", "FenceOp"]

ATOMIC_BIN_OPS: tuple[str, ...] = (
    "xchg",
    "add",
    "sub",
    "_and",
    "nand",
    "_or",
    "_xor",
    "max",
    "min",
    "umax",
    "umin",
    "fadd",
    "fsub",
    "fmax",
    "fmin",
    "uinc_wrap",
    "udec_wrap",
)
"""Names of `atomicrmw` operations; the position is the value of `bin_op` (MLIR's)."""

_FLOAT_ATOMICS = frozenset({"fadd", "fsub", "fmax", "fmin"})


@irdl_op_definition
class AtomicRMWOp(IRDLOperation):
    """Replaces a memory cell by a function of itself and gives the old value.

    `tvm_llvm.atomicrmw fadd %p, %v syncscope("device") monotonic
    {alignment = 4 : i64} : !llvm.ptr, f32`.
    """

    T: ClassVar = VarConstraint("T", AnyAttr())

    name = "tvm_llvm.atomicrmw"

    bin_op = prop_def(IntegerAttr[I64])
    ptr = operand_def(LLVMPointerType)
    val = operand_def(T)
    ordering = prop_def(IntegerAttr[I64])
    syncscope = opt_prop_def(StringAttr)
    alignment = opt_prop_def(IntegerAttr[I64])
    volatile_ = opt_prop_def(UnitAttr)
    res = result_def(T)

    traits = traits_def(ReadWriteEffect())

    def __init__(
        self,
        bin_op: str,
        ptr: SSAValue | Operation,
        val: SSAValue | Operation,
        ordering: str = "monotonic",
        *,
        syncscope: str | None = None,
        alignment: int | None = None,
        volatile: bool = False,
    ):
        val = SSAValue.get(val)
        properties = access_properties(alignment, ordering, syncscope)
        properties["bin_op"] = IntegerAttr(ATOMIC_BIN_OPS.index(bin_op), i64)
        set_units(properties, volatile_=volatile)
        super().__init__(
            operands=[ptr, val], result_types=[val.type], properties=properties
        )

    @property
    def bin_op_name(self) -> str:
        """The operation as LLVM spells it."""
        return ATOMIC_BIN_OPS[self.bin_op.value.data].lstrip("_")

    def verify_(self) -> None:
        verify_alignment(self.alignment)
        if not 0 <= self.bin_op.value.data < len(ATOMIC_BIN_OPS):
            raise VerifyException(f"no atomic operation {self.bin_op.value.data}")
        if self.ordering.value.data < ORDERINGS["monotonic"]:
            raise VerifyException("'atomicrmw' must be at least 'monotonic'")
        if self.ordering.value.data not in ORDERING_NAMES:
            raise VerifyException(f"no ordering number {self.ordering.value.data}")
        type = self.val.type
        verify_atomic_type(type)
        name = self.bin_op_name
        if name != "xchg" and isinstance(type, LLVM_FLOATS) != (name in _FLOAT_ATOMICS):
            raise VerifyException(f"'atomicrmw {name}' cannot take {type}")

    @classmethod
    def parse(cls, parser: Parser) -> AtomicRMWOp:
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("volatile") is not None:
            properties["volatile_"] = UnitAttr()
        bin_op = parser.parse_identifier(context_msg=" for the atomic operation")
        if bin_op not in ATOMIC_BIN_OPS:
            parser.raise_error(f"unknown atomic operation '{bin_op}'")
        properties["bin_op"] = IntegerAttr(ATOMIC_BIN_OPS.index(bin_op), i64)
        ptr = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        val = parser.parse_unresolved_operand()
        if (scope := parse_syncscope(parser)) is not None:
            properties["syncscope"] = scope
        properties["ordering"] = parse_ordering(parser)
        attributes = parser.parse_optional_attr_dict()
        split_hints(attributes, properties, ("alignment",))
        parser.parse_punctuation(":")
        ptr_operand = parser.resolve_operand(ptr, parser.parse_type())
        parser.parse_punctuation(",")
        type = parser.parse_type()
        return cls.create(
            operands=[ptr_operand, parser.resolve_operand(val, type)],
            result_types=[type],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        if self.volatile_ is not None:
            printer.print_string(" volatile")
        printer.print_string(f" {ATOMIC_BIN_OPS[self.bin_op.value.data]} ")
        printer.print_operand(self.ptr)
        printer.print_string(", ")
        printer.print_operand(self.val)
        print_syncscope(printer, self.syncscope)
        printer.print_string(f" {ORDERING_NAMES[self.ordering.value.data]}")
        attributes = dict(self.attributes)
        if self.alignment is not None:
            attributes["alignment"] = self.alignment
        printer.print_op_attributes(attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.ptr.type)
        printer.print_string(", ")
        printer.print_attribute(self.val.type)


@irdl_op_definition
class CmpXchgOp(IRDLOperation):
    """Replaces a memory cell if it holds `cmp`; gives the old value and an `i1`.

    `tvm_llvm.cmpxchg weak %p, %cmp, %new syncscope("device") acq_rel monotonic
    : !llvm.ptr, i32` has the result `!llvm.struct<(i32, i1)>`.
    """

    T: ClassVar = VarConstraint("T", AnyAttr())

    name = "tvm_llvm.cmpxchg"

    ptr = operand_def(LLVMPointerType)
    cmp = operand_def(T)
    val = operand_def(T)
    success_ordering = prop_def(IntegerAttr[I64])
    failure_ordering = prop_def(IntegerAttr[I64])
    syncscope = opt_prop_def(StringAttr)
    alignment = opt_prop_def(IntegerAttr[I64])
    weak = opt_prop_def(UnitAttr)
    volatile_ = opt_prop_def(UnitAttr)
    res = result_def(LLVMStructType)

    traits = traits_def(ReadWriteEffect())

    def __init__(
        self,
        ptr: SSAValue | Operation,
        cmp: SSAValue | Operation,
        val: SSAValue | Operation,
        success_ordering: str = "acq_rel",
        failure_ordering: str = "monotonic",
        *,
        syncscope: str | None = None,
        alignment: int | None = None,
        weak: bool = False,
        volatile: bool = False,
    ):
        val = SSAValue.get(val)
        properties = access_properties(alignment, success_ordering, syncscope)
        properties["success_ordering"] = properties.pop("ordering")
        properties["failure_ordering"] = IntegerAttr(ORDERINGS[failure_ordering], i64)
        set_units(properties, weak=weak, volatile_=volatile)
        super().__init__(
            operands=[ptr, cmp, val],
            result_types=[LLVMStructType.from_type_list([val.type, i1])],
            properties=properties,
        )

    def verify_(self) -> None:
        verify_alignment(self.alignment)
        success = self.success_ordering.value.data
        failure = self.failure_ordering.value.data
        if success not in ORDERING_NAMES or failure not in ORDERING_NAMES:
            raise VerifyException("unknown atomic ordering")
        if min(success, failure) < ORDERINGS["monotonic"]:
            raise VerifyException("'cmpxchg' orderings must be at least 'monotonic'")
        if ORDERING_NAMES[failure] in ("release", "acq_rel"):
            raise VerifyException(
                "the failure ordering of 'cmpxchg' cannot be 'release' or 'acq_rel'"
            )
        type = self.val.type
        if isinstance(type, LLVM_FLOATS):
            raise VerifyException(f"'cmpxchg' takes integers and pointers, not {type}")
        verify_atomic_type(type)
        if self.res.type != LLVMStructType.from_type_list([type, i1]):
            raise VerifyException(f"'cmpxchg' cannot have the result {self.res.type}")

    @classmethod
    def parse(cls, parser: Parser) -> CmpXchgOp:
        properties: dict[str, Attribute] = {}
        for keyword, name in (("weak", "weak"), ("volatile", "volatile_")):
            if parser.parse_optional_keyword(keyword) is not None:
                properties[name] = UnitAttr()
        ptr = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        cmp = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        val = parser.parse_unresolved_operand()
        if (scope := parse_syncscope(parser)) is not None:
            properties["syncscope"] = scope
        properties["success_ordering"] = parse_ordering(parser)
        properties["failure_ordering"] = parse_ordering(parser)
        attributes = parser.parse_optional_attr_dict()
        split_hints(attributes, properties, ("alignment",))
        parser.parse_punctuation(":")
        ptr_type = parser.parse_type()
        parser.parse_punctuation(",")
        type = parser.parse_type()
        return cls.create(
            operands=parser.resolve_operands(
                [ptr, cmp, val], [ptr_type, type, type], parser.pos
            ),
            result_types=[LLVMStructType.from_type_list([type, i1])],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        if self.weak is not None:
            printer.print_string(" weak")
        if self.volatile_ is not None:
            printer.print_string(" volatile")
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        print_syncscope(printer, self.syncscope)
        printer.print_string(
            f" {ORDERING_NAMES[self.success_ordering.value.data]}"
            f" {ORDERING_NAMES[self.failure_ordering.value.data]}"
        )
        attributes = dict(self.attributes)
        if self.alignment is not None:
            attributes["alignment"] = self.alignment
        printer.print_op_attributes(attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.ptr.type)
        printer.print_string(", ")
        printer.print_attribute(self.val.type)


@irdl_op_definition
class FenceOp(IRDLOperation):
    """Orders the memory accesses around it: `tvm_llvm.fence syncscope("agent") …`."""

    name = "tvm_llvm.fence"

    ordering = prop_def(IntegerAttr[I64])
    syncscope = opt_prop_def(StringAttr)

    traits = traits_def(ReadWriteEffect())

    def __init__(self, ordering: str = "seq_cst", *, syncscope: str | None = None):
        super().__init__(properties=access_properties(None, ordering, syncscope))

    def verify_(self) -> None:
        if ORDERING_NAMES.get(self.ordering.value.data) not in (
            "acquire",
            "release",
            "acq_rel",
            "seq_cst",
        ):
            raise VerifyException(
                "a fence must be 'acquire', 'release', 'acq_rel' or 'seq_cst'"
            )

    @classmethod
    def parse(cls, parser: Parser) -> FenceOp:
        properties: dict[str, Attribute] = {}
        if (scope := parse_syncscope(parser)) is not None:
            properties["syncscope"] = scope
        properties["ordering"] = parse_ordering(parser)
        return cls.create(
            properties=properties, attributes=parser.parse_optional_attr_dict()
        )

    def print(self, printer: Printer) -> None:
        print_syncscope(printer, self.syncscope)
        printer.print_string(f" {ORDERING_NAMES[self.ordering.value.data]}")
        printer.print_op_attributes(self.attributes)
