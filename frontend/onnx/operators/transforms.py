"""Operators of signals and matrices: Fourier transforms, windows, blocks, bits."""

from __future__ import annotations

import math

import numpy as np

from xdsl_tvm import relax
from xdsl_tvm.frontend.fourier import transformed
from xdsl_tvm.frontend.onnx.node import Node, converts
from xdsl_tvm.frontend.onnx.values import Known, Value
from xdsl_tvm.relax import op


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
    return transformed(node.expr(), axis, length, inverse=inverse, one_sided=one_sided)


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
    return transformed(frames, 2, length, inverse=False, one_sided=one_sided)


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
