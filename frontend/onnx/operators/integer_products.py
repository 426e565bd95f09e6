"""Products and convolutions of quantized tensors, as products of their bytes.

A quantized tensor is bytes less a zero point. The sum of `(a - p) * (b - q)` over terms
is that of `a * b`, less `p` times the sum of `b`, less `q` times that of `a`, plus
`p * q` for each term, all modulo 2^32. So the product is one of bytes, which processors
have instructions for, and the rest are sums of one operand, those of weights known when
the model is compiled. Zero points of weights are taken away from weights that are known,
where the differences are bytes as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xdsl_tvm import relax
from xdsl_tvm.frontend.onnx.node import Node
from xdsl_tvm.frontend.onnx.operators.convolution import convolved
from xdsl_tvm.frontend.onnx.values import Known
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr

_BYTES = ("int8", "uint8")
Integers = NDArray[np.int32]


@dataclass(frozen=True)
class _Operand:
    """Bytes, and their zero point as it broadcasts with them; None for 0."""

    value: Expr
    zero: Expr | None
    known_zero: Integers | None
    """The zero point, where it is known."""

    @property
    def centred(self) -> Expr:
        """The operand less its zero point, in int32."""
        wide = op.astype(self.value, "int32")
        return wide if self.zero is None else op.subtract(wide, self.zero)


def _known(node: Node, index: int) -> Integers | None:
    """The elements of an input, integers, where they are known."""
    if not node.has(index):
        return None
    value = node.value(index)
    if not isinstance(value, Known) or value.is_symbolic:
        return None
    return value.array.astype(np.int32)


def _operand(node: Node, index: int, zero_index: int, axis: int | None) -> _Operand:
    """An operand whose zero point is one of all, or one for each index of an axis."""
    value = node.expr(index)
    if not node.has(zero_index):
        return _Operand(value, None, np.zeros((), np.int32))
    zero = op.astype(node.expr(zero_index), "int32")
    shape: list[int] = []
    if node.rank(zero_index) == 1 and node.sizes(zero_index) != (1,):
        shape = [1] * node.rank(index)
        shape[-1 if axis is None else axis] = node.sizes(zero_index)[0]
    if node.rank(zero_index) <= 1:
        zero = op.reshape(zero, shape)
    known = _known(node, zero_index)
    if known is None:
        return _Operand(value, zero, None)
    if node.rank(zero_index) <= 1:
        known = known.reshape(shape)
    if not known.any():
        return _Operand(value, None, known)
    array = _known(node, index)
    if array is not None:
        difference = array - known
        for dtype in map(np.dtype, _BYTES):
            if (difference == difference.astype(dtype)).all():
                return _Operand(relax.const(difference.astype(dtype)), None, known)
    return _Operand(value, zero, known)


def integer_product(node: Node, a: tuple[int, int], b: tuple[int, int]) -> Expr:
    """The matrix product of two quantized inputs, each given by its number and that of
    its zero point, in int32."""
    left = _operand(node, *a, axis=max(node.rank(a[0]) - 2, 0))
    right = _operand(node, *b, axis=None)
    terms = node.shape(a[0])[-1].value
    are_bytes = node.dtype(a[0]) in _BYTES and node.dtype(b[0]) in _BYTES
    is_plain = min(node.rank(a[0]), node.rank(b[0])) >= len("ij") and are_bytes
    has_both = left.zero is not None and right.zero is not None
    if not is_plain or (terms is None and has_both):
        return op.matmul(left.centred, right.centred)
    product: Expr = op.matmul(left.value, right.value, out_dtype="int32")
    if left.zero is not None:
        columns = op.sum(op.astype(right.value, "int32"), axis=[-2], keepdims=True)
        product = op.subtract(product, op.multiply(left.zero, columns))
    if right.zero is not None:
        rows = op.sum(op.astype(left.value, "int32"), axis=[-1], keepdims=True)
        product = op.subtract(product, op.multiply(right.zero, rows))
    if left.zero is not None and right.zero is not None and terms is not None:
        both = op.multiply(left.zero, right.zero)
        product = op.add(product, op.multiply(both, relax.const(np.int32(terms))))
    return product


def integer_convolution(
    node: Node, x: tuple[int, int], w: tuple[int, int], bias: Expr | None
) -> Expr:
    """The convolution of quantized data and weights, likewise, with a bias in int32.

    Data are padded with their zero point, which counts as zero.
    """
    data = _operand(node, *x, axis=1)
    weight = _operand(node, *w, axis=0)
    are_bytes = node.dtype(x[0]) in _BYTES and node.dtype(w[0]) in _BYTES
    zero = data.known_zero
    if not are_bytes or weight.zero is not None or zero is None or zero.ndim:
        return convolved(node, data.centred, weight.centred, bias, w[0])
    padding = float(zero)
    result = convolved(
        node, data.value, weight.value, bias, w[0], padding=padding, out_dtype="int32"
    )
    if not padding:
        return result
    axes = list(range(1, node.rank(w[0])))
    sums = op.sum(op.astype(weight.value, "int32"), axis=axes)
    excess = op.multiply(sums, relax.const(np.int32(zero)))
    return op.subtract(result, op.expand_dims(excess, axes[:-1]))
