"""Random bits, the same ones as XLA makes on a CPU."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.analysis.random_bits import philox, threefry
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.dtypes import is_integer_type
from xdsl_tvm.dialects.stablehlo import random as hlo
from xdsl_tvm.dialects.stablehlo.assembly import element_of, shape_of
from xdsl_tvm.dialects.stablehlo.attributes import RngAlgorithm
from xdsl_tvm.passes.stablehlo.conversion.emitter import Emitter
from xdsl_tvm.passes.stablehlo.conversion.rules import converts

_WORD = IntegerType(32, Signedness.UNSIGNED)


@dataclass(frozen=True)
class _Tensors:
    """Words of 32 bits that are tensors."""

    emitter: Emitter

    def constant(self, value: int) -> SSAValue:
        """A word for all elements."""
        return self.emitter.constant(value, _WORD)

    def add(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """The sum, modulo 2^32."""
        return self.emitter.op(relax.AddOp(lhs, rhs))

    def xor(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """The bits that differ."""
        return self.emitter.op(relax.BitwiseXorOp(lhs, rhs))

    def rotated(self, word: SSAValue, distance: int) -> SSAValue:
        """The bits moved to the left, those that fall out coming in at the right."""
        emitter = self.emitter
        left = emitter.op(relax.LeftShiftOp(word, self.constant(distance)))
        right = emitter.op(relax.RightShiftOp(word, self.constant(32 - distance)))
        return emitter.op(relax.BitwiseOrOp(left, right))

    def product(self, word: SSAValue, factor: int) -> tuple[SSAValue, SSAValue]:
        """The high and the low word of the product of 64 bits."""
        emitter = self.emitter
        wide = emitter.cast(word, hlo.UI64)
        by = emitter.constant(factor, hlo.UI64)
        low, high = _halves(emitter, emitter.op(relax.MultiplyOp(wide, by)))
        return high, low


def _halves(emitter: Emitter, value: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The low and the high words of numbers of 64 bits."""
    half = emitter.constant(32, hlo.UI64)
    high = emitter.op(relax.RightShiftOp(value, half))
    return emitter.cast(value, _WORD), emitter.cast(high, _WORD)


def _joined(emitter: Emitter, low: SSAValue, high: SSAValue) -> SSAValue:
    """Numbers of 64 bits of low and high words."""
    half = emitter.constant(32, hlo.UI64)
    wide = emitter.op(relax.LeftShiftOp(emitter.cast(high, hlo.UI64), half))
    return emitter.op(relax.BitwiseOrOp(wide, emitter.cast(low, hlo.UI64)))


@converts(hlo.RngBitGeneratorOp)
def _rng_bit_generator(
    emitter: Emitter, op: hlo.RngBitGeneratorOp, operands: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    (state,) = operands
    dtype, shape = element_of(op.output), shape_of(op.output)
    if not is_integer_type(dtype) or dtype.width.data not in (8, 16, 32, 64):
        raise VerifyException(f"random bits as {dtype} are not converted")
    if shape_of(state) != (2,):
        raise VerifyException("a state of three elements is not converted, only of two")
    is_wide = dtype.width.data == 64
    parts = [
        emitter.reshape(emitter.slice_axis(state, 0, index, index + 1), [])
        for index in range(shape_of(state)[0])
    ]
    key = _halves(emitter, parts[0])
    make = _philox if op.rng_algorithm.data is not RngAlgorithm.THREE_FRY else _threefry
    bits, following = make(emitter, key, parts[1:], shape, is_wide)
    flat = [emitter.reshape(each, [1]) for each in (parts[0], *following)]
    return [emitter.concat(flat, 0), emitter.cast(bits, dtype)]


def _added(emitter: Emitter, value: SSAValue, count: int) -> SSAValue:
    return emitter.op(relax.AddOp(value, emitter.constant(count, hlo.UI64)))


def _threefry(
    emitter: Emitter,
    key: Sequence[SSAValue],
    state: Sequence[SSAValue],
    shape: Sequence[int],
    is_wide: bool,
) -> tuple[SSAValue, list[SSAValue]]:
    """Each number of 64 bits is one of a counter; halves of them are neighbours."""
    (counter,) = state
    split, whole = 0, list(shape or [1])
    if not is_wide:
        # The first even extent is halved, otherwise the greatest, rounded up.
        even = [axis for axis, extent in enumerate(whole) if extent % 2 == 0]
        split = even[0] if even else whole.index(max(whole))
    half = list(whole)
    if not is_wide:
        half[split] = -(-whole[split] // 2)
    count = math.prod(half)
    places = emitter.reshape(emitter.count_up(count, hlo.UI64), half)
    counters = _halves(emitter, emitter.op(relax.AddOp(places, counter)))
    low, high = threefry(_Tensors(emitter), key, counters)
    following = [_added(emitter, counter, count)]
    if is_wide:
        return emitter.reshape(_joined(emitter, low, high), shape), following
    spread = [*half[: split + 1], 1, *half[split + 1 :]]
    pair = emitter.concat(
        [emitter.reshape(each, spread) for each in (low, high)], split + 1
    )
    half[split] *= 2
    both = emitter.reshape(pair, half)
    cut = emitter.slice_axis(both, split, 0, whole[split])
    return emitter.reshape(cut, shape), following


def _philox(
    emitter: Emitter,
    key: Sequence[SSAValue],
    state: Sequence[SSAValue],
    shape: Sequence[int],
    is_wide: bool,
) -> tuple[SSAValue, list[SSAValue]]:
    """Four words of each counter of 128 bits, one after the other.

    The upper 64 bits of the counter begin as the key.
    """
    total = math.prod(shape)
    count = -(-total * (2 if is_wide else 1) // 4)
    (low,) = state
    high = _joined(emitter, *key)

    places = emitter.count_up(count, hlo.UI64)
    lower = emitter.op(relax.AddOp(low, places))
    carry = emitter.cast(emitter.op(relax.LessOp(lower, places)), hlo.UI64)
    upper = emitter.op(relax.AddOp(high, carry))
    words = [*_halves(emitter, lower), *_halves(emitter, upper)]
    found = philox(_Tensors(emitter), key, words)
    columns = list(found)
    if is_wide:
        columns = [_joined(emitter, *found[:2]), _joined(emitter, *found[2:])]
    columns = [emitter.reshape(each, [count, 1]) for each in columns]
    flat = emitter.reshape(emitter.concat(columns, 1), [count * len(columns)])
    bits = emitter.reshape(emitter.slice_axis(flat, 0, 0, total), shape)
    return bits, [_added(emitter, low, count)]
