"""Asynchronous copies from global to shared memory, and barriers that count them."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import (
    BoolAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    i1,
    i32,
    i64,
)
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.nvvm.attributes import ProxyKindAttr, SharedSpaceAttr
from xdsl_tvm.dialects.nvvm.types import (
    CLUSTER_SPACE,
    GLOBAL_SPACE,
    SHARED_SPACE,
    GroupWaitOperation,
    IntrinsicOperation,
    pointer,
    verify_kind,
    verify_pointer,
)
from xdsl_tvm.dialects.tvm_llvm import ReadWriteEffect

# ---------------------------------------------------------------------- copies


@irdl_op_definition
class CpAsyncOp(IntrinsicOperation):
    """Starts a copy of 4, 8 or 16 bytes from global to shared memory (sm_80).

    `nvvm.cp.async.shared.global %dst, %src, 16, cache = cg :
    !llvm.ptr<3>, !llvm.ptr<1>`. `ca` caches at all levels, `cg` (16 bytes only) past
    the first. Both addresses are aligned to the size. With `, %n` after the cache, only
    the first `n` bytes are read, and zeros are written for the others.
    """

    name = "nvvm.cp.async.shared.global"

    dst = operand_def(LLVMPointerType)
    src = operand_def(LLVMPointerType)
    cp_size = opt_operand_def(i32)
    size = prop_def(IntegerAttr[IntegerType])
    modifier = prop_def(StringAttr)

    traits = traits_def(ReadWriteEffect())

    def __init__(
        self,
        dst: SSAValue | Operation,
        src: SSAValue | Operation,
        size: int,
        modifier: str = "ca",
        cp_size: SSAValue | Operation | None = None,
    ):
        super().__init__(
            operands=[dst, src, cp_size],
            properties={
                "size": IntegerAttr(size, i32),
                "modifier": StringAttr(modifier),
            },
        )

    @property
    def intrinsic(self) -> str:
        """`llvm.nvvm.cp.async.….shared.global.…`, with `.s` for a size that is given."""
        some = "" if self.cp_size is None else ".s"
        size = self.size.value.data
        return f"llvm.nvvm.cp.async.{self.modifier.data}.shared.global.{size}{some}"

    def verify_(self) -> None:
        verify_kind(self.modifier, ("ca", "cg"))
        size = self.size.value.data
        if size not in (4, 8, 16):
            raise VerifyException(f"a copy has 4, 8 or 16 bytes, not {size}")
        if self.modifier.data == "cg" and size != 16:
            raise VerifyException(f"a 'cg' copy has 16 bytes, not {size}")
        verify_pointer(self.dst, SHARED_SPACE)
        verify_pointer(self.src, GLOBAL_SPACE)

    @classmethod
    def parse(cls, parser: Parser) -> CpAsyncOp:
        dst = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        src = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        size = parser.parse_integer()
        parser.parse_punctuation(",")
        parser.parse_keyword("cache")
        parser.parse_punctuation("=")
        modifier = parser.parse_identifier(context_msg=" for the cache modifier")
        operands = [dst, src]
        if parser.parse_optional_punctuation(",") is not None:
            operands.append(parser.parse_unresolved_operand())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(
            Parser.Delimiter.NONE, parser.parse_type
        )
        target, source, *some = parser.resolve_operands(operands, types, parser.pos)
        op = cls(target, source, size, modifier, *some)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list((self.dst, self.src), printer.print_operand)
        printer.print_string(f", {self.size.value.data}, cache = {self.modifier.data}")
        if self.cp_size is not None:
            printer.print_string(", ")
            printer.print_operand(self.cp_size)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list(
            [operand.type for operand in self.operands], printer.print_attribute
        )


@irdl_op_definition
class CpAsyncCommitGroupOp(IntrinsicOperation):
    """Closes the group of the copies started so far (sm_80)."""

    name = "nvvm.cp.async.commit.group"

    traits = traits_def(ReadWriteEffect())

    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class CpAsyncWaitGroupOp(GroupWaitOperation):
    """Waits until at most `n` of the thread's groups of copies are pending (sm_80)."""

    name = "nvvm.cp.async.wait.group"
    COUNT: ClassVar = "n"
    COUNT_TYPE: ClassVar = i32

    n = prop_def(IntegerAttr[IntegerType])

    traits = traits_def(ReadWriteEffect())


@irdl_op_definition
class CpAsyncBulkOp(IntrinsicOperation):
    """Starts a copy of `size` bytes to shared memory of the cluster (sm_90).

    `nvvm.cp.async.bulk.shared.cluster.global %dst, %src, %mbar, %size :
    !llvm.ptr<7>, !llvm.ptr<1>`. Size and addresses are multiples of 16. The bytes count
    as arrived at the barrier `mbar` in shared memory when they have landed.
    """

    name = "nvvm.cp.async.bulk.shared.cluster.global"
    INTRINSIC: ClassVar = "llvm.nvvm.cp.async.bulk.global.to.shared.cluster"

    dst = operand_def(LLVMPointerType)
    src = operand_def(LLVMPointerType)
    mbar = operand_def(LLVMPointerType)
    size = operand_def(i32)

    traits = traits_def(ReadWriteEffect())

    def __init__(
        self,
        dst: SSAValue | Operation,
        src: SSAValue | Operation,
        mbar: SSAValue | Operation,
        size: SSAValue | Operation,
    ):
        super().__init__(operands=[dst, src, mbar, size])

    def verify_(self) -> None:
        verify_pointer(self.dst, CLUSTER_SPACE)
        verify_pointer(self.src, GLOBAL_SPACE)
        verify_pointer(self.mbar, SHARED_SPACE)

    @classmethod
    def parse(cls, parser: Parser) -> CpAsyncBulkOp:
        operands = parser.parse_comma_separated_list(
            Parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(
            Parser.Delimiter.NONE, parser.parse_type
        )
        types += [pointer(SHARED_SPACE), i32]
        op = cls(*parser.resolve_operands(operands, types, parser.pos))
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list((self.dst.type, self.src.type), printer.print_attribute)


@irdl_op_definition
class FenceProxyOp(IntrinsicOperation):
    """Orders what was done before in shared memory before bulk copies after it (sm_90).

    `nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space =
    #nvvm.shared_space<cta>}`. Bulk copies access memory in another way than threads do.
    """

    name = "nvvm.fence.proxy"
    INTRINSIC: ClassVar = "llvm.nvvm.fence.proxy.async.shared_cta"

    kind = prop_def(ProxyKindAttr)
    space = prop_def(SharedSpaceAttr)

    irdl_options = (ParsePropInAttrDict(),)

    traits = traits_def(ReadWriteEffect())

    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__(
            properties={
                "kind": ProxyKindAttr("async.shared"),
                "space": SharedSpaceAttr("cta"),
            }
        )


# -------------------------------------------------------------------- barriers


class _BarrierOperation(IntrinsicOperation, ABC):
    """An operation on a counting barrier, 8 bytes of shared memory.

    Its address is the first operand.
    """

    traits = traits_def(ReadWriteEffect())

    def verify_(self) -> None:
        verify_pointer(self.operands[0], SHARED_SPACE)


@irdl_op_definition
class MBarrierInitOp(_BarrierOperation):
    """Makes a barrier whose phases end after `count` arrivals (sm_80)."""

    name = "nvvm.mbarrier.init"
    INTRINSIC: ClassVar = "llvm.nvvm.mbarrier.init.shared"

    addr = operand_def(LLVMPointerType)
    count = operand_def(i32)

    assembly_format = "$addr `,` $count attr-dict `:` type($addr) `,` type($count)"

    def __init__(self, addr: SSAValue | Operation, count: SSAValue | Operation):
        super().__init__(operands=[addr, count])


@irdl_op_definition
class MBarrierInvalOp(_BarrierOperation):
    """Ends a barrier, so that its memory has other uses (sm_80)."""

    name = "nvvm.mbarrier.inval"
    INTRINSIC: ClassVar = "llvm.nvvm.mbarrier.inval.shared"

    addr = operand_def(LLVMPointerType)

    assembly_format = "$addr attr-dict `:` type($addr)"

    def __init__(self, addr: SSAValue | Operation):
        super().__init__(operands=[addr])


@irdl_op_definition
class MBarrierArriveOp(_BarrierOperation):
    """Arrives at a barrier (sm_80). The result stands for the phase."""

    name = "nvvm.mbarrier.arrive"
    INTRINSIC: ClassVar = "llvm.nvvm.mbarrier.arrive.shared"

    addr = operand_def(LLVMPointerType)
    res = result_def(i64)

    assembly_format = "$addr attr-dict `:` type($addr) `->` type($res)"

    def __init__(self, addr: SSAValue | Operation):
        super().__init__(operands=[addr], result_types=[i64])


@irdl_op_definition
class MBarrierArriveExpectTxOp(_BarrierOperation):
    """Expects `txcount` more bytes of bulk copies in the phase, and arrives (sm_90)."""

    name = "nvvm.mbarrier.arrive.expect_tx"
    INTRINSIC: ClassVar = "llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta"

    addr = operand_def(LLVMPointerType)
    txcount = operand_def(i32)
    res = result_def(i64)

    assembly_format = (
        "$addr `,` $txcount attr-dict `:` type($addr) `,` type($txcount) `->` type($res)"
    )

    def __init__(self, addr: SSAValue | Operation, txcount: SSAValue | Operation):
        super().__init__(operands=[addr, txcount], result_types=[i64])


class _WaitOperation(_BarrierOperation, ABC):
    """Whether the phase of a barrier is complete.

    The phase is that of a result of `nvvm.mbarrier.arrive`, an `i64`, or the one that is
    current or before it with a parity, an `i32`.
    """

    addr = operand_def(LLVMPointerType)
    state_or_phase = operand_def()
    res = result_def(i1)

    assembly_format = (
        "$addr `,` $state_or_phase attr-dict `:` type($addr) `,` type($state_or_phase) "
        "`->` type($res)"
    )

    def __init__(self, addr: SSAValue | Operation, state_or_phase: SSAValue | Operation):
        super().__init__(operands=[addr, state_or_phase], result_types=[i1])

    @property
    def by_parity(self) -> bool:
        """Whether the phase is given by its parity."""
        return self.state_or_phase.type == i32

    def verify_(self) -> None:
        super().verify_()
        if self.state_or_phase.type not in (i32, i64):
            raise VerifyException(
                f"expected a state i64 or a parity i32, got {self.state_or_phase.type}"
            )


@irdl_op_definition
class MBarrierTestWaitOp(_WaitOperation):
    """Whether the phase of a barrier is complete, at once (sm_80)."""

    name = "nvvm.mbarrier.test.wait"

    @property
    def intrinsic(self) -> str:
        """That of the state has no scope in its name."""
        if not self.by_parity:
            return "llvm.nvvm.mbarrier.test.wait.shared"
        return "llvm.nvvm.mbarrier.test.wait.parity.scope.cta.space.cta"


@irdl_op_definition
class MBarrierTryWaitOp(_WaitOperation):
    """Whether the phase of a barrier is complete, perhaps after some time.

    GPUs before sm_90 answer at once.
    """

    name = "nvvm.mbarrier.try_wait"

    @property
    def intrinsic(self) -> str:
        """The instruction of sm_90."""
        parity = "parity." if self.by_parity else ""
        return f"llvm.nvvm.mbarrier.try.wait.{parity}scope.cta.space.cta"


@irdl_op_definition
class CpAsyncMBarrierArriveOp(_BarrierOperation):
    """Lets the thread's copies so far arrive at a barrier once they have landed (sm_80).

    `nvvm.cp.async.mbarrier.arrive %addr : !llvm.ptr<3>`. With `{noinc = true}` the
    barrier expects the arrival already; else it expects one more for it.
    """

    name = "nvvm.cp.async.mbarrier.arrive"

    addr = operand_def(LLVMPointerType)
    noinc = opt_prop_def(BoolAttr)

    irdl_options = (ParsePropInAttrDict(),)

    assembly_format = "$addr attr-dict `:` type($addr)"

    def __init__(self, addr: SSAValue | Operation, *, noinc: bool = False):
        properties = {"noinc": BoolAttr.from_bool(True)} if noinc else {}
        super().__init__(operands=[addr], properties=properties)

    @property
    def counted(self) -> bool:
        """Whether the barrier expects the arrival already."""
        return self.noinc is not None and self.noinc.value.data != 0

    @property
    def intrinsic(self) -> str:
        """`llvm.nvvm.cp.async.mbarrier.arrive….shared`."""
        noinc = ".noinc" if self.counted else ""
        return f"llvm.nvvm.cp.async.mbarrier.arrive{noinc}.shared"
