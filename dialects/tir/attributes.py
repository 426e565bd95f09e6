"""Enumerations of the `tir` dialect as attributes."""

from __future__ import annotations

from enum import auto

from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.str_enum import StrEnum


class ForKind(StrEnum):
    """How the iterations of a loop run (docs/spec/tir-ir.md §6.5)."""

    SERIAL = auto()
    PARALLEL = auto()
    VECTORIZED = auto()
    UNROLLED = auto()
    THREAD_BINDING = auto()


@irdl_attr_definition
class ForKindAttr(EnumAttribute[ForKind], SpacedOpaqueSyntaxAttribute):
    """The kind of a `tir.for`."""

    name = "tir.for_kind"


class IterKind(StrEnum):
    """What instances of a block along one axis may assume of each other.

    docs/spec/tir-ir.md §6.13.
    """

    SPATIAL = "S"
    """TVM's `DataPar`: independent of each other."""
    REDUCE = "R"
    """TVM's `CommReduce`: combined by a commutative reduction."""
    SCAN = "scan"
    """TVM's `Ordered`."""
    OPAQUE = "opaque"
    """Nothing is known."""


@irdl_attr_definition
class IterKindAttr(EnumAttribute[IterKind], SpacedOpaqueSyntaxAttribute):
    """The kind of one iteration variable of a `tir.block`."""

    name = "tir.iter_kind"


class LetKind(StrEnum):
    """Which of TVM's two binding nodes a `tir.let` stands for."""

    STMT = auto()
    """`LetStmt`: bound for the rest of the enclosing block."""
    EXPR = auto()
    """`Let`: bound for the expression that follows."""


@irdl_attr_definition
class LetKindAttr(EnumAttribute[LetKind], SpacedOpaqueSyntaxAttribute):
    """The kind of a `tir.let`."""

    name = "tir.let_kind"


class BufferKind(StrEnum):
    """How strides are bound (docs/spec/tir-ir.md §7.1)."""

    DEFAULT = auto()
    AUTO_BROADCAST = auto()


@irdl_attr_definition
class BufferKindAttr(EnumAttribute[BufferKind], SpacedOpaqueSyntaxAttribute):
    """The kind of a buffer."""

    name = "tir.buffer_kind"


class AccessMode(StrEnum):
    """What is done to memory of a pointer: TVM's `rw_mask`."""

    READ = "r"
    WRITE = "w"
    READ_WRITE = "rw"

    @property
    def mask(self) -> int:
        """TVM's number for it: bit 0 for reads, bit 1 for writes."""
        return 1 + list(AccessMode).index(self)

    @staticmethod
    def of(mask: int) -> AccessMode:
        """The mode of TVM's number. Raises ValueError for one that is not 1, 2 or 3."""
        for mode in AccessMode:
            if mode.mask == mask:
                return mode
        raise ValueError(
            f"an access mask is 1 to read, 2 to write or 3 for both, got {mask}"
        )


@irdl_attr_definition
class AccessModeAttr(EnumAttribute[AccessMode], SpacedOpaqueSyntaxAttribute):
    """The mode of a `tir.access_ptr`."""

    name = "tir.access_mode"


class CmpPredicate(StrEnum):
    """The six comparisons; signedness follows from the operand type."""

    EQ = auto()
    NE = auto()
    LT = auto()
    LE = auto()
    GT = auto()
    GE = auto()


@irdl_attr_definition
class CmpPredicateAttr(EnumAttribute[CmpPredicate], SpacedOpaqueSyntaxAttribute):
    """The predicate of a `tir.cmp`."""

    name = "tir.cmp_predicate"
