"""Address spaces, attributes of functions, and what operations of `nvvm` share."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar, Self

from xdsl.dialects.builtin import IntAttr, IntegerAttr, IntegerType, StringAttr
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

KERNEL = "nvvm.kernel"
"""Unit attribute of an `llvm.func` that is a kernel entry point."""

MAXNTID = "nvvm.maxntid"
"""Attribute of a kernel: the largest block it is launched with, x, y, z."""

REQNTID = "nvvm.reqntid"
"""Attribute of a kernel: the only block size it may be launched with, x, y, z."""

GLOBAL_SPACE = 1
SHARED_SPACE = 3
CLUSTER_SPACE = 7
"""Shared memory of the blocks of a cluster; one of 3 is cast to it."""


def pointer(space: int) -> LLVMPointerType:
    """The pointer type of an address space; space 0 is the plain `!llvm.ptr`."""
    return LLVMPointerType(IntAttr(space)) if space else LLVMPointerType()


def verify_kind(kind: StringAttr, kinds: tuple[str, ...]) -> None:
    """Raises VerifyException for a kind that is none of `kinds`."""
    if kind.data not in kinds:
        raise VerifyException(f"kind must be one of {', '.join(kinds)}, got {kind}")


def verify_pointer(operand: SSAValue, space: int) -> None:
    """Raises VerifyException for a value that is no pointer to an address space."""
    if operand.type != pointer(space):
        raise VerifyException(f"expected {pointer(space)}, got {operand.type}")


class IntrinsicOperation(IRDLOperation, ABC):
    """An operation that is a call of one LLVM intrinsic."""

    INTRINSIC: ClassVar[str] = ""
    """Its name, where it is neither that of the operation nor tells of properties."""

    @property
    def intrinsic(self) -> str:
        """The name of the intrinsic, such as `llvm.nvvm.mbarrier.init.shared`."""
        return self.INTRINSIC or f"llvm.{self.name}"


class GroupWaitOperation(IntrinsicOperation, ABC):
    """Waits until at most so many groups are pending: the number follows the name."""

    COUNT: ClassVar[str]
    """The property that holds the number."""
    COUNT_TYPE: ClassVar[IntegerType]

    def __init__(self, count: int):
        super().__init__(properties={self.COUNT: IntegerAttr(count, self.COUNT_TYPE)})

    @property
    def count(self) -> int:
        """The most groups that stay pending."""
        found = self.properties[self.COUNT]
        assert isinstance(found, IntegerAttr)
        return found.value.data

    def verify_(self) -> None:
        if self.count < 0:
            raise VerifyException(f"cannot wait for {self.count} groups")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        op = cls(parser.parse_integer())
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.count}")
        printer.print_op_attributes(self.attributes)
