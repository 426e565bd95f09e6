"""Random numbers, of a generator that counts.

The key is the seed of the program. The counter of an element is its place and the number
of the call, which goes on from one run to the next. So numbers are those of no generator
of torch, and the same wherever they are computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl_tvm import relax
from xdsl_tvm.analysis.random_bits import threefry
from xdsl_tvm.dialects.relax.symbolic import Dim, product
from xdsl_tvm.frontend.torch.node import Node, Results, Value, cast_to, converts
from xdsl_tvm.frontend.torch.operators.layout import reshaped
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr

_MOST = 1 << 32
"""How many elements a call may have, whose places are words of 32 bits."""

_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24}
"""The digits of a dtype, so that no number below 1 is rounded to it."""


@dataclass(frozen=True)
class _Tensors:
    """Words of 32 bits that are tensors of Relax."""

    node: Node

    def constant(self, value: int) -> Expr:
        """A word for all elements."""
        return self.node.constant(value, "uint32")

    def add(self, lhs: Expr, rhs: Expr) -> Expr:
        """The sum, modulo 2^32."""
        return self.node.emit(op.add(lhs, rhs))

    def xor(self, lhs: Expr, rhs: Expr) -> Expr:
        """The bits that differ."""
        return self.node.emit(op.bitwise_xor(lhs, rhs))

    def rotated(self, word: Expr, distance: int) -> Expr:
        """The bits moved to the left, those that fall out coming in at the right."""
        left = op.left_shift(word, self.constant(distance))
        return op.bitwise_or(left, op.right_shift(word, self.constant(32 - distance)))

    def product(self, word: Expr, factor: int) -> tuple[Expr, Expr]:
        """The high and the low word of the product of 64 bits."""
        wide = op.multiply(
            op.astype(word, "uint64"), self.node.constant(factor, "uint64")
        )
        wide = self.node.emit(wide)
        high = op.right_shift(wide, self.node.constant(32, "uint64"))
        return op.astype(high, "uint32"), op.astype(wide, "uint32")


def _words(node: Node, dims: Sequence[Dim]) -> tuple[Expr, Expr]:
    """Two random words for each element of a shape."""
    state, number = node.random_state()
    low, high, calls = (
        node.emit(op.take(state, relax.const(index, "int64"), 0)) for index in range(3)
    )
    count = product(dims)
    if count.value is not None and count.value > _MOST:
        raise node.error(f"a result of {count} elements is larger than {_MOST}")
    places = op.arange(relax.PrimValue(count, "int64"), dtype="int64")
    places = reshaped(op.astype(places, "uint32"), dims)
    words = _Tensors(node)
    call = words.add(calls, words.constant(number))
    call = op.broadcast_to(call, list(dims)) if dims else call
    x, y = threefry(words, (low, high), (node.emit(call), node.emit(places)))
    return x, y


def _uniform(node: Node, dims: Sequence[Dim], dtype: str) -> Expr:
    """Numbers from 0 to before 1, multiples of a power of two."""
    x, y = _words(node, dims)
    if dtype == "float64":
        # 53 bits, 27 of one word and 26 of the other.
        high, low = (
            op.astype(op.right_shift(word, node.constant(shift, "uint32")), dtype)
            for word, shift in ((x, 5), (y, 6))
        )
        whole = op.add(op.multiply(high, node.constant(2.0**26, dtype)), low)
        return op.multiply(whole, node.constant(2.0**-53, dtype))
    if (digits := _DIGITS.get(dtype)) is None:
        raise node.error(f"random numbers of {dtype} are not converted")
    bits = op.right_shift(x, node.constant(32 - digits, "uint32"))
    step = node.constant(2.0**-digits, "float32")
    return cast_to(op.multiply(op.astype(bits, "float32"), step), dtype)


def _open(node: Node, word: Expr, dtype: str) -> Expr:
    """Numbers greater than 0 and at most 1, as finely as they come near to 0."""
    wide = "float64" if dtype == "float64" else "float32"
    shifted = op.add(op.astype(word, wide), node.constant(0.5, wide))
    return op.multiply(shifted, node.constant(2.0**-32, wide))


def _normal(node: Node, dims: Sequence[Dim], dtype: str) -> Expr:
    """Numbers of mean 0 and variance 1, by the method of Box and Muller."""
    if dtype != "float64" and dtype not in _DIGITS:
        raise node.error(f"random numbers of {dtype} are not converted")
    x, y = _words(node, dims)
    radius, turn = _open(node, x, dtype), _open(node, y, dtype)
    length = op.sqrt(op.multiply(op.log(radius), node.constant(-2, radius.dtype)))
    angle = op.multiply(turn, node.constant(2 * math.pi, radius.dtype))
    return cast_to(op.multiply(length, op.cos(angle)), dtype)


def _exponential(node: Node, dims: Sequence[Dim], dtype: str) -> Expr:
    """Positive numbers of mean 1."""
    x, _ = _words(node, dims)
    number = op.negative(op.log(_open(node, x, dtype)))
    # The logarithm of what is rounded to 1 is 0, which torch leaves out.
    return op.maximum(number, node.constant(2.0**-33, number.dtype))


def _moved(node: Node, x: Expr, scale: float, offset: float) -> Expr:
    """The elements times a number, plus another."""
    if scale != 1:
        x = op.multiply(x, node.constant(scale, x.dtype))
    return x if offset == 0 else op.add(x, node.constant(offset, x.dtype))


@converts("rand", "rand_like")
def _rand(node: Node) -> Value:
    return _uniform(node, node.dims, node.dtype)


@converts("uniform")
def _uniform_between(node: Node) -> Value:
    low, high = node.number("from"), node.number("to")
    return _moved(node, _uniform(node, node.dims, node.dtype), high - low, low)


@converts("randn", "randn_like")
def _randn(node: Node) -> Value:
    return _normal(node, node.dims, node.dtype)


@converts("normal.float_float", "normal_functional")
def _normal_between(node: Node) -> Value:
    numbers = _normal(node, node.dims, node.dtype)
    return _moved(node, numbers, node.number("std"), node.number("mean"))


@converts("exponential")
def _exponential_of_rate(node: Node) -> Value:
    numbers = _exponential(node, node.dims, node.dtype)
    return cast_to(_moved(node, numbers, 1 / node.number("lambd"), 0), node.dtype)


@converts("randint", "randint.low", "randint_like", "randint_like.low_dtype")
def _randint(node: Node) -> Value:
    """A word times the number of integers, of which the high 32 bits are one."""
    low = node.integer("low") if node.has("low") else 0
    count = node.integer("high") - low
    if not 0 < count <= 1 << 31:
        raise node.error(f"there are {count} integers to choose from, not 1 to 2^31")
    x, _ = _words(node, node.dims)
    wide = op.multiply(op.astype(x, "int64"), node.constant(count, "int64"))
    numbers = op.right_shift(wide, node.constant(32, "int64"))
    return cast_to(_moved(node, numbers, 1, low), node.dtype)


@converts("randperm")
def _randperm(node: Node) -> Value:
    """The order of random numbers of 63 bits, of which hardly any two are equal."""
    x, y = (op.astype(word, "int64") for word in _words(node, node.dims))
    high = op.left_shift(x, node.constant(31, "int64"))
    key = op.bitwise_or(high, op.right_shift(y, node.constant(1, "int64")))
    return cast_to(op.argsort(key, 0, False, "int64"), node.dtype)


@converts("bernoulli.p")
def _bernoulli(node: Node) -> Value:
    return cast_to(_is_less(node, node.number("p")), node.dtype)


def _is_less(node: Node, probability: float) -> Expr:
    """Truth values, of which a share is true."""
    numbers = _uniform(node, node.dims, "float32")
    return op.less(numbers, node.constant(probability, "float32"))


@converts("native_dropout")
def _dropout(node: Node) -> Results:
    """The elements, of which a share is zero, and whether they are kept."""
    x, p = node.expr("input"), node.number("p")
    if node.arguments.get("train") is False or p == 0:
        return [x, op.ones(node.dims, "bool")]
    if p == 1:
        return [op.zeros(node.dims, node.dtype), op.zeros(node.dims, "bool")]
    kept = node.emit(_is_less(node, 1 - p))
    zero = node.constant(0, node.dtype)
    return [op.where(kept, _moved(node, x, 1 / (1 - p), 0), zero), kept]


@converts("multinomial")
def _multinomial(node: Node) -> Value:
    """The indices that come first in a race whose times are of the weights' rates."""
    weights, count = node.expr(), node.integer("num_samples")
    dtype = "float64" if weights.dtype == "float64" else "float32"
    weights = cast_to(weights, dtype)
    if node.flag("replacement"):
        shape = [*weights.shape[:-1], Dim.constant(count), weights.shape[-1]]
        times = _exponential(node, shape, dtype)
        speeds = op.divide(op.expand_dims(weights, [-2]), times)
        return op.astype(op.argmax(speeds, -1), "int64")
    speeds = op.divide(weights, _exponential(node, weights.shape, dtype))
    return op.topk(speeds, count, -1, "indices", True, "int64")
