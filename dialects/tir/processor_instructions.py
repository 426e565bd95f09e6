"""Instructions of processors that programs name, and the features that they need.

`call_llvm_pure_intrin` names them as LLVM does, which is TVM's way, too:

    T.call_llvm_pure_intrin(
        "int32x16", "llvm.x86.avx512.vpdpbusd.512", c, a, b
    )

adds to each of the 16 numbers of `c` four products of bytes: lane `i` of the result is
`c[i] + sum(a[4 * i + k] * b[4 * i + k] for k in range(4))` modulo 2^32, where `a` is
unsigned and `b` signed. `a` and `b` are `uint8x64` and `int8x64`, or the same bits as
`int32x16`, lane `i` holding byte `4 * i` in its lowest bits.

A processor that lacks the instruction has no other code for it, and LLVM ends the process
when it is asked for some: `tvm-verify-llvm-legal` refuses the program before, and the
default CPU schedule names instructions of given features only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from xdsl.dialects.builtin import IntegerType, Signedness, i8, i32
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.dialects.tir.intrinsics import CallOp
from xdsl_tvm.dialects.tir.target_functions import callee_symbol
from xdsl_tvm.dialects.tir.types import with_lanes

_UI8 = IntegerType(8, Signedness.UNSIGNED)
BYTES_OF_DOT: Final = 4
"""Products that a lane of a dot product of bytes adds."""


class ByteDot(NamedTuple):
    """A dot product of unsigned and signed bytes."""

    name: str
    lanes: int
    """Sums, of 32 bits."""
    features: tuple[frozenset[str], ...]
    """Sets of features of processors, each of which suffices."""

    def is_of(self, features: Iterable[str]) -> bool:
        """Whether a processor of these features has the instruction."""
        return any(needed.issubset(features) for needed in self.features)

    def problem(self, types: Sequence[Attribute]) -> str | None:
        """What is wrong with the types of the operands and the result, in this order."""
        sums, size = with_lanes(i32, self.lanes), BYTES_OF_DOT * self.lanes
        bytes_ = (with_lanes(_UI8, size), with_lanes(i8, size))
        allowed = [(sums, *pair, sums) for pair in (bytes_, (sums, sums))]
        if tuple(types) in allowed:
            return None
        return (
            f'"{self.name}" takes {sums}, {bytes_[0]} and {bytes_[1]}, or three of '
            f"{sums}, and returns {sums}"
        )


_NARROW = (frozenset(("avxvnni",)), frozenset(("avx512vnni", "avx512vl")))
BYTE_DOTS: Final[Mapping[str, ByteDot]] = {
    dot.name: dot
    for dot in (
        ByteDot("llvm.x86.avx512.vpdpbusd.512", 16, (frozenset(("avx512vnni",)),)),
        ByteDot("llvm.x86.avx512.vpdpbusd.256", 8, _NARROW),
        ByteDot("llvm.x86.avx512.vpdpbusd.128", 4, _NARROW),
    )
}

FEATURES: Final = frozenset(
    name for dot in BYTE_DOTS.values() for features in dot.features for name in features
)
"""All features of processors, by LLVM's names, that programs depend on."""


def is_byte(dtype: Attribute | None) -> bool:
    """Whether a dtype is int8 or uint8."""
    return dtype in (i8, _UI8)


def byte_dot(lanes: int, features: Iterable[str]) -> ByteDot | None:
    """The dot product with so many sums that a processor of these features has."""
    given = frozenset(features)
    for dot in BYTE_DOTS.values():
        if dot.lanes == lanes and dot.is_of(given):
            return dot
    return None


def called_byte_dot(op: CallOp) -> ByteDot | None:
    """The dot product that a call names, None for other calls."""
    symbol = callee_symbol(op)
    return None if symbol is None else BYTE_DOTS.get(symbol)


def operands_of_dot(op: CallOp) -> tuple[SSAValue, ...]:
    """The sums and the two vectors of bytes of a call that `called_byte_dot` knows.

    Before them are the name, and in some programs how many there are.
    """
    return tuple(op.args[-3:])
