"""Operators of signals and matrices: Fourier transforms, windows, blocks, bits."""

from __future__ import annotations

import math

import numpy as np

from xdsl_tvm import relax
from xdsl_tvm.frontend.onnx.node import Node, converts
from xdsl_tvm.frontend.onnx.values import Array, Known, Value
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr

_LONGEST = 1 << 12
"""The longest transform, whose matrix has the square of it as its size."""


def _transformed(
    node: Node, x: Expr, axis: int, length: int, *, inverse: bool, one_sided: bool
) -> Expr:
    """The Fourier transform along an axis; the last axis holds real and imaginary parts.

    It is a product with the matrix of the transform, whose entries are constants.
    """
    if length > _LONGEST:
        raise node.error(f"a length of {length} is larger than {_LONGEST}")
    rank, dtype = len(x.shape), x.dtype
    extent = x.shape[axis].value
    assert extent is not None
    parts = x.shape[-1].value
    half = length // 2 + 1
    sign = 2j if inverse else -2j
    if inverse and one_sided:
        matrix = np.zeros((half, length), complex)
        frequency = np.arange(half)
        weight = np.where((frequency == 0) | (frequency * 2 == length), 1, 2)
        angle = np.outer(frequency, np.arange(length)) * np.pi * 2j / length
        matrix = weight[:, None] * np.exp(angle) / length
    else:
        columns = half if one_sided else length
        angle = np.outer(np.arange(length), np.arange(columns)) * np.pi * sign / length
        matrix = np.exp(angle) / (length if inverse else 1)
    rows = min(extent, matrix.shape[0])
    if extent > rows:
        x = op.strided_slice(x, [axis], [0], [rows])
    matrix = matrix[:rows]
    last = [index for index in range(rank - 1) if index != axis]
    moved = op.permute_dims(x, [rank - 1, *last, axis])
    real = op.take(moved, relax.const(0, "int64"), 0)
    cosines, sines = (_const(part, dtype) for part in (matrix.real, matrix.imag))
    if parts == 1:
        outputs = [op.matmul(real, cosines), op.matmul(real, sines)]
    else:
        imaginary = op.take(moved, relax.const(1, "int64"), 0)
        outputs = [
            op.subtract(op.matmul(real, cosines), op.matmul(imaginary, sines)),
            op.add(op.matmul(real, sines), op.matmul(imaginary, cosines)),
        ]
    if inverse and one_sided:
        outputs = outputs[:1]
    spread = [op.expand_dims(each, [0]) for each in outputs]
    joined = spread[0] if len(spread) == 1 else op.concat(spread, 0)
    now = [rank - 1, *last, axis]
    return op.permute_dims(joined, [now.index(index) for index in range(rank)])


def _const(array: Array, dtype: str) -> Expr:
    return relax.const(np.ascontiguousarray(array).astype(dtype))


@converts("DFT")
def _dft(node: Node) -> Value:
    rank = node.rank()
    if node.opset >= 20:
        axis = node.axis(node.integer(2) if node.has(2) else -2)
    else:
        axis = node.axis(node.int_of("axis", 1))
    if axis == rank - 1:
        raise node.error("the last axis holds the parts of numbers and has no transform")
    inverse = bool(node.int_of("inverse", 0))
    one_sided = bool(node.int_of("onesided", 0))
    extent = node.sizes()[axis]
    if node.has(1):
        length = node.integer(1)
    else:
        length = (extent - 1) * 2 if inverse and one_sided else extent
    if length < 1:
        raise node.error(f"its length must be positive, not {length}")
    return _transformed(
        node, node.expr(), axis, length, inverse=inverse, one_sided=one_sided
    )


@converts("STFT")
def _stft(node: Node) -> Value:
    signal, step = node.expr(0), node.integer(1)
    sizes = node.sizes()
    if node.has(3):
        length = node.integer(3)
    elif node.has(2):
        length = node.sizes(2)[0]
    else:
        raise node.error("it needs a window or a frame_length")
    if step < 1 or not 1 <= length <= sizes[1]:
        raise node.error(f"frames of {length} with steps of {step} are not possible")
    if len(sizes) == 2:
        signal = op.expand_dims(signal, [2])
    count = (sizes[1] - length) // step + 1
    node.places(count * length)
    places = np.arange(count)[:, None] * step + np.arange(length)[None, :]
    frames = op.take(signal, relax.const(places.astype(np.int64)), 1)
    if node.has(2):
        frames = op.multiply(frames, op.reshape(node.expr(2), [length, 1]))
    one_sided = bool(node.int_of("onesided", 1)) and (len(sizes) == 2 or sizes[2] == 1)
    return _transformed(node, frames, 2, length, inverse=False, one_sided=one_sided)


@converts("MelWeightMatrix")
def _mel_weight_matrix(node: Node) -> Value:
    bins, length, rate = (node.integer(index) for index in range(3))
    node.places(max(bins, 0) * max(length, 0))
    if bins < 1 or length < 1 or rate < 1:
        raise node.error("its first three inputs must be positive")
    low, high = node.number(3), node.number(4)
    spectrum = length // 2 + 1
    lowest, highest = (2595 * math.log10(1 + edge / 700) for edge in (low, high))
    step = (highest - lowest) / (bins + 2)
    places = [
        int((length + 1) * (700 * (10 ** ((lowest + i * step) / 2595) - 1)) // rate)
        for i in range(bins + 2)
    ]
    matrix = np.zeros((spectrum, bins))
    for index in range(bins):
        left, centre, right = places[index : index + 3]
        if centre == left:
            matrix[centre, index] = 1
        else:
            rise = np.arange(left, centre + 1)
            matrix[rise, index] = (rise - left) / (centre - left)
        if right > centre:
            fall = np.arange(centre, right)
            matrix[fall, index] = (right - fall) / (right - centre)
    dtype = (
        node.dtype_of("output_datatype") if node.is_set("output_datatype") else "float32"
    )
    return Known(matrix.astype(dtype))


@converts("BitCast")
def _bit_cast(node: Node) -> Value:
    dtype = node.dtype_of("to")
    if isinstance(value := node.value(), Known):
        return Known(value.array.view(dtype))
    if value.dtype == "bool" or dtype == "bool":
        return op.astype(value, dtype)
    return op.memory.view(value, dtype=dtype)


@converts("Det")
def _det(node: Node) -> Value:
    """Elimination, a column after the other, with the largest pivot of each."""
    x, sizes = node.expr(), node.sizes()
    count = sizes[-1]
    if sizes[-2:] != (count, count) or count > 16:
        raise node.error(f"determinants of {list(sizes[-2:])} are not converted")
    rank = len(sizes)
    result = node.scalar(1)
    for column in range(count):
        size = count - column
        first = op.take(x, relax.const(0, "int64"), rank - 1)
        pivot_row = op.astype(op.argmax(op.abs(first), -1, True), "int64")
        chosen = node.emit(
            op.astype(
                op.equal(pivot_row, relax.const(node.places(size))),
                x.dtype,
            )
        )
        pivot = node.emit(op.sum(op.multiply(first, chosen), [-1]))
        is_moved = op.greater(
            op.reshape(pivot_row, list(sizes[:-2])), relax.const(0, "int64")
        )
        sign = op.where(is_moved, node.scalar(-1), node.scalar(1))
        result = node.emit(op.multiply(result, op.multiply(pivot, sign)))
        if size == 1:
            break
        # The pivot's row comes first, and the first row takes its place.
        weights = op.expand_dims(chosen, [-1])
        row = node.emit(op.sum(op.multiply(x, weights), [-2], True))
        top = op.strided_slice(x, [rank - 2], [0], [1])
        swapped = op.add(
            op.multiply(x, op.subtract(node.scalar(1), weights)),
            op.multiply(top, weights),
        )
        below = op.strided_slice(swapped, [rank - 2], [1], [size])
        below = node.emit(below)
        head = op.strided_slice(below, [rank - 1], [0], [1])
        safe = op.where(op.equal(pivot, node.scalar(0)), node.scalar(1), pivot)
        factor = op.divide(head, op.expand_dims(safe, [-1, -2]))
        reduced = op.subtract(below, op.multiply(factor, row))
        x = node.emit(op.strided_slice(reduced, [rank - 1], [1], [size]))
    return result


@converts("Col2Im")
def _col2im(node: Node) -> Value:
    image, block = node.integers(1), node.integers(2)
    count = len(image)
    strides = node.ints_of("strides", [1] * count)
    dilations = node.ints_of("dilations", [1] * count)
    pads = node.ints_of("pads", [0] * 2 * count)
    batch, columns, length = node.sizes()
    volume = int(np.prod(block))
    channels = columns // volume
    whole = [size + pads[i] + pads[i + count] for i, size in enumerate(image)]
    steps = [
        (whole[i] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1
        for i in range(count)
    ]
    if int(np.prod(steps)) != length or columns % volume:
        raise node.error("its data does not have the blocks of the image")
    inside = np.indices(block).reshape(count, -1, 1)
    across = np.indices(steps).reshape(count, 1, -1)
    places = np.zeros((volume, length), np.int64)
    for i in range(count):
        place = inside[i] * dilations[i] + across[i] * strides[i]
        places = places * whole[i] + place
    total = int(np.prod(whole))
    x = op.reshape(node.expr(), [batch, channels, volume * length])
    index = np.broadcast_to(places.reshape(-1), (batch, channels, volume * length))
    zeros = op.zeros([batch, channels, total], node.dtype())
    summed = op.scatter_elements(
        zeros, relax.const(np.ascontiguousarray(index)), x, 2, "add"
    )
    padded = op.reshape(summed, [batch, channels, *whole])
    axes = list(range(2, 2 + count))
    ends = [pads[i] + image[i] for i in range(count)]
    return op.strided_slice(padded, axes, pads[:count], ends)
