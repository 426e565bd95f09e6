"""What the bodies of reductions and sorts compute, found by computing it.

A body of comparisons and selections depends on the order of its parameters only. So what
it computes of all orders, NaN included, is what it computes.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Sequence
from typing import Any, cast

from xdsl.ir import Attribute, Block, Region, SSAValue

from xdsl_tvm.dialects.dtypes import is_bool, is_float, is_uint
from xdsl_tvm.dialects.stablehlo import elementwise as hlo
from xdsl_tvm.dialects.stablehlo.assembly import element_of
from xdsl_tvm.dialects.stablehlo.attributes import ComparisonType
from xdsl_tvm.dialects.stablehlo.control import ReturnOp
from xdsl_tvm.passes.stablehlo.conversion.elementwise import RELATIONS
from xdsl_tvm.passes.stablehlo.conversion.emitter import Number

_FLOATS = (-math.inf, -1.0, -0.0, 0.0, 1.0, math.inf, math.nan)
_MOST_OPERATIONS = 64


def samples(dtype: Attribute) -> tuple[Number, ...]:
    """Numbers that are in all orders to each other, and to 0."""
    if is_float(dtype):
        return _FLOATS
    if is_bool(dtype):
        return (0, 1)
    return (0, 1, 2) if is_uint(dtype) else (-1, 0, 1)


def computed(block: Block, values: Sequence[Number]) -> list[Number] | None:
    """What a body of comparisons and selections returns; None for other bodies."""
    found: dict[SSAValue, Any] = dict(zip(block.args, values, strict=True))
    if len(list(itertools.islice(block.ops, _MOST_OPERATIONS + 1))) > _MOST_OPERATIONS:
        return None
    for op in block.ops:
        if any(operand not in found for operand in op.operands):
            return None
        given = [found[operand] for operand in op.operands]
        match op:
            case ReturnOp():
                return given
            case hlo.ConstantOp():
                # A number other than 0 and NaN would need samples around it.
                number = cast("tuple[Number, ...]", op.value.get_values())[0]
                if number == number and number != 0:
                    return None
                found[op.output] = number
            case hlo.CompareOp():
                relation = RELATIONS[op.comparison_direction.data]
                kind = op.compare_type
                if kind is not None and kind.data is ComparisonType.TOTALORDER:
                    given = [_total(value, element_of(op.lhs)) for value in given]
                found[op.result] = int(relation(*given))
            case hlo.SelectOp():
                found[op.result] = given[1] if given[0] else given[2]
            case hlo.AndOp() if is_bool(element_of(op.result)):
                found[op.result] = given[0] & given[1]
            case hlo.OrOp() if is_bool(element_of(op.result)):
                found[op.result] = given[0] | given[1]
            case hlo.XorOp() if is_bool(element_of(op.result)):
                found[op.result] = given[0] ^ given[1]
            case hlo.NotOp() if is_bool(element_of(op.result)):
                found[op.result] = 1 - given[0]
            case _:
                return None
    return None


def _total(value: float, dtype: Attribute) -> float:
    """A number whose order is the total one, of floats."""
    if not is_float(dtype):
        return value
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    return bits if bits >= 0 else -(bits & ((1 << 63) - 1)) - 1


def arg_extreme(body: Region) -> bool | None:
    """Whether a body keeps the greatest value with its index, or the least one.

    True for the greatest, False for the least, None for other bodies. NaN is kept, and
    of equal numbers the lower index.
    """
    block = body.block
    if len(block.args) != 4:
        return None
    value, index = (element_of(block.args[position]) for position in (0, 1))
    if is_float(index) or is_bool(index):
        return None
    for greatest in (True, False):
        if all(
            _same(computed(block, [a, i, b, j]), _kept(a, i, b, j, greatest))
            # Of two NaN either may be kept: the order of a reduction is not specified.
            or (a != a and b != b)
            for a, b in itertools.product(samples(value), repeat=2)
            for i, j in itertools.product(samples(index), repeat=2)
        ):
            return greatest
    return None


def _kept(a: Number, i: Number, b: Number, j: Number, greatest: bool) -> list[Number]:
    if a != a or b != b:
        first = a != a
    elif a == b:
        first = i <= j
    else:
        first = (a > b) is greatest
    return [a, i] if first else [b, j]


def _same(found: list[Number] | None, expected: list[Number]) -> bool:
    return found is not None and all(
        a == b or (a != a and b != b) for a, b in zip(found, expected, strict=True)
    )


def sort_order(body: Region, dtype: Attribute, *, or_equal: bool = False) -> bool | None:
    """Whether a comparison of the first two parameters sorts down.

    False where it sorts up, None for other comparisons. NaN is after all numbers where
    the order is up, and before them where it is down; a comparison that knows no NaN is
    that of numbers, since what it makes of NaN is in no order. With `or_equal` the
    comparison holds of equal elements, too, and not of NaN.
    """
    block = body.block
    if any(arg.uses for arg in block.args[2:]):
        return None
    others: list[Number] = [0] * (len(block.args) - 2)
    for descending in (False, True):
        for knows_nan in (False,) if or_equal else (True, False):
            pairs = [
                (a, b)
                for a, b in itertools.product(samples(dtype), repeat=2)
                if knows_nan or (a == a and b == b)
            ]
            if all(
                computed(block, [a, b, *others])
                == [int(_before(a, b, descending) or (or_equal and a == b))]
                for a, b in pairs
            ):
                return descending
    return None


def _before(a: Number, b: Number, descending: bool) -> bool:
    if descending:
        a, b = b, a
    if a != a or b != b:
        return a == a and b != b
    return a < b


def two_keys(body: Region, dtypes: Sequence[Attribute]) -> bool | None:
    """Whether a comparison of two pairs of elements sorts down, by the first pair first.

    False where it sorts up, None for other comparisons. NaN is as in `sort_order`.
    """
    block = body.block
    if len(dtypes) < 2 or any(arg.uses for arg in block.args[4:]):
        return None
    others: list[Number] = [0] * (len(block.args) - 4)
    pairs = [list(itertools.product(samples(dtype), repeat=2)) for dtype in dtypes[:2]]
    for descending in (False, True):
        for knows_nan in (True, False):
            if all(
                computed(block, [a, b, c, d, *others])
                == [int(_first(a, b, c, d, descending))]
                for a, b in pairs[0]
                for c, d in pairs[1]
                if knows_nan or not any(each != each for each in (a, b, c, d))
            ):
                return descending
    return None


def _first(a: Number, b: Number, c: Number, d: Number, descending: bool) -> bool:
    if _before(a, b, descending) or _before(b, a, descending):
        return _before(a, b, descending)
    return _before(c, d, descending)
