"""Calls of builtins for the threads of a warp as operations of the nvvm dialect.

A shuffle of PTX moves 32 bits. Narrower values travel in the low bits of a word, and
wider ones as two words, which are the results of two shuffles.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    i32,
    i64,
)
from xdsl.ir import SSAValue

from xdsl_tvm.dialects import nvvm, tir, tvm_llvm
from xdsl_tvm.lowering.tir.conversion.emitter import Emitter
from xdsl_tvm.lowering.tir.conversion.types import signless

WARP = 32
_LAST_LANE = WARP - 1
_WORD = 32
_KINDS = {
    "tvm_warp_shuffle": "idx",
    "tvm_warp_shuffle_up": "up",
    "tvm_warp_shuffle_down": "down",
    "cuda.__shfl_sync": "idx",
    "cuda.__shfl_up_sync": "up",
    "cuda.__shfl_down_sync": "down",
}
"""Shuffles, and what tir-lower-intrin makes of them, which are of warps of 32."""
_ACTIVE_MASKS = ("tvm_warp_activemask", "cuda.__activemask")

_REDUX = "ptx_redux_sync"

WARP_CALLS = frozenset((*_KINDS, *_ACTIVE_MASKS, _REDUX))
"""The builtins that `warp_call` knows."""


def warp_call(cv: Emitter, op: tir.CallOp) -> SSAValue:
    """The value of a call of one of `WARP_CALLS` in a kernel.

    Raises PassFailedException for a shuffle that PTX does not have.
    """
    if op.callee.data in _ACTIVE_MASKS:
        return cv.emit(tvm_llvm.CallIntrinsicOp("llvm.nvvm.activemask", [], i32)).results[
            0
        ]
    return _redux(cv, op) if op.callee.data == _REDUX else _shuffle(cv, op)


def _redux(cv: Emitter, op: tir.CallOp) -> SSAValue:
    """One instruction, of integers of 32 bits; `umin` and `umax` are of unsigned ones."""
    operator, mask, source = op.args
    assert isinstance(operator.owner, tir.StringOp)
    if signless(source.type) != i32:
        raise cv.fail(
            f'"{_REDUX}" combines integers of 32 bits, not {source.type}; use shuffles'
        )
    kind = operator.owner.value.data
    if kind != "add" and tir.is_uint(source.type):
        kind = f"u{kind}"
    return cv.emit(nvvm.ReduxOp(kind, cv.value(source), _word(cv, mask))).res


def _shuffle(cv: Emitter, op: tir.CallOp) -> SSAValue:
    name = op.callee.data
    mask, source, lane, width, *warp = op.args
    if warp and tir.constant_value(warp[0]) != WARP:
        raise cv.fail(
            f'"{name}" is for warps of another size than {WARP}; compile for the target '
            "cuda from the start"
        )
    lanes = tir.constant_value(width)
    if not isinstance(lanes, int) or not 1 <= lanes <= WARP or lanes & (lanes - 1):
        raise cv.fail(
            f'the width of "{name}" must be a constant power of two of at most {WARP}'
        )
    if tir.constant_value(mask) == 0:
        raise cv.fail(
            f'"{name}" has the mask 0, which is Metal\'s; compile for the target cuda '
            "from the start"
        )
    # Operand c of PTX: the lanes of a segment, and the last lane that is read.
    clamp = (WARP - lanes) << 8 | (0 if _KINDS[name] == "up" else _LAST_LANE)
    numbers = [_word(cv, value) for value in (mask, lane)]
    step = cv.number(clamp, i32)

    def move(word: SSAValue) -> SSAValue:
        moved = nvvm.ShflOp(_KINDS[name], numbers[0], word, numbers[1], step)
        return cv.emit(moved).res

    value = cv.value(source)
    return _moved(cv, name, value, signless(source.type), move)


def _word(cv: Emitter, source: SSAValue) -> SSAValue:
    """A mask or a lane number as 32 bits."""
    value = cv.value(source)
    if value.type == i32:
        return value
    if value.type == i64:
        return cv.build(arith.TruncIOp, [value], i32)
    raise cv.fail(
        f"a mask or a lane of type {source.type} is not supported; cast it to 32 bits"
    )


def _moved(
    cv: Emitter,
    name: str,
    value: SSAValue,
    dtype: object,
    move: Callable[[SSAValue], SSAValue],
) -> SSAValue:
    if dtype == i32 or isinstance(dtype, Float32Type):
        return move(value)
    if isinstance(dtype, Float16Type):
        bits = IntegerType(16)
        word = cv.build(arith.ExtUIOp, [cv.build(arith.BitcastOp, [value], bits)], i32)
        low = cv.build(arith.TruncIOp, [move(word)], bits)
        return cv.build(arith.BitcastOp, [low], dtype)
    if isinstance(dtype, Float64Type):
        whole = cv.build(arith.BitcastOp, [value], i64)
        return cv.build(arith.BitcastOp, [_moved_halves(cv, whole, move)], dtype)
    if dtype == i64:
        return _moved_halves(cv, value, move)
    raise cv.fail(
        f'"{name}" moves integers of 32 and 64 bits and f16, f32 and f64, not {dtype}; '
        "cast the value first"
    )


def _moved_halves(
    cv: Emitter, value: SSAValue, move: Callable[[SSAValue], SSAValue]
) -> SSAValue:
    """64 bits by two shuffles of 32."""
    distance = cv.number(_WORD, i64)
    shifted = cv.binary(arith.ShRUIOp, value, distance)
    low, high = (
        cv.build(arith.ExtUIOp, [move(cv.build(arith.TruncIOp, [half], i32))], i64)
        for half in (value, shifted)
    )
    return cv.binary(arith.OrIOp, cv.binary(arith.ShLIOp, high, distance), low)
