"""How addresses are aligned, from what parameters promise and indices are multiples of.

LLVM finds out the same, but not through sums of more than a few terms, as the indices of
kernels are; without it a vector in memory is accessed element by element.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, llvm, memref
from xdsl.dialects.builtin import (
    IntegerAttr,
    UnrealizedConversionCastOp,
)
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.hints import isa

_ALIGN = "llvm.align"
_MOST = 64
"""No greater power of two is told apart from it."""
_KEEP_LOW_BITS = (
    arith.IndexCastOp,
    arith.ExtSIOp,
    arith.ExtUIOp,
    arith.TruncIOp,
)
_SUMS = (arith.AddiOp, arith.SubiOp, arith.OrIOp, arith.XOrIOp)


def known_alignment(
    base: SSAValue, indices: Sequence[SSAValue], strides: Sequence[int], size: int
) -> int:
    """A power of two, at most 64, that divides the address of an element.

    `strides` counts elements of `size` bytes. It is 1 where nothing is known.
    """
    found = _base_alignment(base)
    known: dict[SSAValue, int] = {}
    for index, stride in zip(indices, strides, strict=True):
        if found == 1:
            break
        found = min(found, _low_bit(_divisor(index, known) * _low_bit(stride * size)))
    return found


def _low_bit(number: int) -> int:
    """The greatest power of two that divides a number, at most `_MOST`."""
    return number & -number if number % _MOST else _MOST


def _base_alignment(base: SSAValue) -> int:
    """How the start of a memref is aligned."""
    while isinstance(base.owner, UnrealizedConversionCastOp | memref.CastOp):
        if len(base.owner.operands) != 1:
            return 1
        base = base.owner.operands[0]
    block = base.owner
    if not isinstance(block, Block):
        return 1
    function = block.parent_op()
    if not isinstance(function, llvm.FuncOp) or function.body.blocks.first is not block:
        return 1
    if function.arg_attrs is None:
        return 1
    given = function.arg_attrs.data[block.args.index(base)].data.get(_ALIGN)
    return _low_bit(given.value.data) if isa(given, IntegerAttr) else 1


def _divisor(root: SSAValue, known: dict[SSAValue, int]) -> int:
    """A power of two, at most `_MOST`, that divides an integer."""
    pending = [root]
    while pending:
        value = pending[-1]
        operands = () if value in known else _operands(value)
        missing = [each for each in operands if each not in known]
        if missing:
            pending += missing
            continue
        pending.pop()
        if value not in known:
            known[value] = _combined(value, [known[each] for each in operands])
    return known[root]


def _operands(value: SSAValue) -> Sequence[SSAValue]:
    """What the divisor of an integer follows from."""
    owner = value.owner
    if isinstance(owner, (*_KEEP_LOW_BITS, *_SUMS, arith.MuliOp, arith.AndIOp)):
        return owner.operands
    return owner.operands[1:] if isinstance(owner, arith.SelectOp) else ()


def _combined(value: SSAValue, divisors: Sequence[int]) -> int:
    owner = value.owner
    match owner:
        case arith.ConstantOp(value=IntegerAttr(value=number)):
            return _low_bit(number.data)
        case arith.MuliOp():
            return _low_bit(divisors[0] * divisors[1])
        case arith.AndIOp():
            return max(divisors)
        case Operation() if divisors:
            return min(divisors)
        case _:
            return 1
