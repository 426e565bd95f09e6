"""Relax convolutions and poolings against loops over single elements."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.relax_programs import operator


def random(shape: tuple[int, ...]) -> Any:
    return np.random.default_rng(0).uniform(-2, 2, shape).astype(np.float32)


def tensor(array: Any) -> str:
    return f"tensor<{''.join(f'{n}x' for n in array.shape)}f32>"


def close(found: Any, expected: Any) -> None:
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, 1e-6, 1e-6)


def convolution(
    x: Any, w: Any, stride: int, padding: tuple[int, int], dilation: int, groups: int
) -> Any:
    """`x` [n, c, …], `w` [o, c / groups, …], the same parameters in every dimension."""
    rank = x.ndim - 2
    counts = [
        (n + sum(padding) - dilation * (k - 1) - 1) // stride + 1
        for n, k in zip(x.shape[2:], w.shape[2:], strict=True)
    ]
    result = np.zeros((x.shape[0], w.shape[0], *counts))
    each = w.shape[0] // groups
    for n, o, *at in np.ndindex(result.shape):
        for c, *k in np.ndindex(w.shape[1:]):
            place = [at[d] * stride - padding[0] + k[d] * dilation for d in range(rank)]
            if all(0 <= p < e for p, e in zip(place, x.shape[2:], strict=True)):
                channel = o // each * w.shape[1] + c
                result[(n, o, *at)] += float(x[(n, channel, *place)]) * float(
                    w[(o, c, *k)]
                )
    return result


LETTERS = {1: "W", 2: "HW", 3: "DHW"}


@pytest.mark.parametrize(
    ("rank", "stride", "padding", "dilation", "groups"),
    [
        (1, 2, (1, 2), 1, 1),
        (2, 1, (0, 0), 2, 1),
        (2, 2, (1, 1), 1, 2),
        (3, 2, (0, 1), 1, 1),
    ],
)
def test_convolution(
    rank: int, stride: int, padding: tuple[int, int], dilation: int, groups: int
):
    x = random((2, 4, *range(5, 5 + rank)))
    w = random((6, 4 // groups, *range(2, 2 + rank)))
    expected = convolution(x, w, stride, padding, dilation, groups)
    pads = [padding[0]] * rank + [padding[1]] * rank
    letters = LETTERS[rank]
    run = operator(
        f"relax.nn.conv{rank}d %a, %b strides [{stride}] padding {pads} "
        f'dilation [{dilation}] groups {groups} layout "NC{letters}" '
        f'kernel "OI{letters}"',
        *(tensor(x), tensor(w)),
        result=tensor(expected),
    )
    close(run(x, w), expected)


def test_convolution_in_other_layouts():
    x, w = random((1, 4, 5, 5)), random((8, 4, 3, 3))
    expected = convolution(x, w, 1, (0, 0), 1, 1)
    blocks = expected.reshape(1, 2, 4, 3, 3).transpose(0, 1, 3, 4, 2)
    nhwc, hwio = x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0)
    run = operator(
        "relax.nn.conv2d %a, %b strides [1] padding [0] dilation [1] groups 1 "
        'layout "NHWC" kernel "HWIO" out_layout "NCHW4c"',
        *(tensor(nhwc), tensor(hwio)),
        result=tensor(blocks),
    )
    close(run(nhwc, hwio), blocks)
    found = run(*(np.ascontiguousarray(array) for array in (nhwc, hwio)))
    close(found, blocks)


def test_convolution_into_a_wider_dtype():
    run = operator(
        "relax.nn.conv1d %a, %b strides [1] padding [0] dilation [1] groups 1 "
        'layout "NCW" kernel "OIW" out_dtype i32',
        *("tensor<1x1x2xi8>", "tensor<1x1x2xi8>"),
        result="tensor<1x1x1xi32>",
    )
    data = np.full((1, 1, 2), 100, np.int8)
    assert run(data, data).tolist() == [[[20000]]]


@pytest.mark.parametrize(
    ("rank", "stride", "padding", "more", "dilation", "groups"),
    [(1, 2, (1, 0), 1, 1, 1), (1, 1, (0, 0), 0, 2, 2), (2, 2, (1, 1), 1, 1, 2)],
)
def test_transposed_convolution(
    rank: int,
    stride: int,
    padding: tuple[int, int],
    more: int,
    dilation: int,
    groups: int,
):
    x = random((2, 4, *range(3, 3 + rank)))
    w = random((4, 3, *range(2, 2 + rank)))
    extents = [
        (n - 1) * stride - sum(padding) + dilation * (k - 1) + more + 1
        for n, k in zip(x.shape[2:], w.shape[2:], strict=True)
    ]
    expected = np.zeros((2, 3 * groups, *extents))
    each = 4 // groups
    for n, i, *at in np.ndindex(x.shape):
        for o, *k in np.ndindex(w.shape[1:]):
            place = [
                a * stride + b * dilation - padding[0] for a, b in zip(at, k, strict=True)
            ]
            if all(0 <= p < e for p, e in zip(place, extents, strict=True)):
                channel = i // each * 3 + o
                expected[(n, channel, *place)] += float(x[(n, i, *at)]) * float(
                    w[(i, o, *k)]
                )
    pads = [padding[0]] * rank + [padding[1]] * rank
    letters = LETTERS[rank]
    run = operator(
        f"relax.nn.conv{rank}d_transpose %a, %b strides [{stride}] padding {pads} "
        f"output_padding [{more}] dilation [{dilation}] groups {groups} "
        f'layout "NC{letters}" kernel "IO{letters}"',
        *(tensor(x), tensor(w)),
        result=tensor(expected),
    )
    close(run(x, w), expected)


def pooling(
    x: Any,
    size: int,
    stride: int,
    padding: tuple[int, int],
    ceil: bool,
    reduce: Callable[[list[float], int], float],
) -> Any:
    """`reduce` gets the elements of a window and how many padded ones it covers."""
    counts = [
        (n + sum(padding) - size + (stride - 1 if ceil else 0)) // stride + 1
        for n in x.shape[2:]
    ]
    result = np.zeros((*x.shape[:2], *counts))
    for n, c, *at in np.ndindex(result.shape):
        elements: list[float] = []
        covered = 0
        for k in product(range(size), repeat=len(at)):
            place = [a * stride - padding[0] + b for a, b in zip(at, k, strict=True)]
            covered += all(
                p < e + padding[1] for p, e in zip(place, x.shape[2:], strict=True)
            )
            if all(0 <= p < e for p, e in zip(place, x.shape[2:], strict=True)):
                elements.append(float(x[(n, c, *place)]))
        result[(n, c, *at)] = reduce(elements, covered)
    return result


@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_pooling(rank: int, ceil: bool):
    x = random((1, 2, *range(4, 4 + rank)))
    reductions: dict[str, Callable[[list[float], int], float]] = {
        "max": lambda elements, _: max(elements),
        "avg": lambda elements, _: sum(elements) / len(elements),
        "avg count": lambda elements, covered: sum(elements) / covered,
    }
    for name, reduce in reductions.items():
        expected = pooling(x, 3, 2, (1, 1), ceil, reduce)
        flags = (" ceil_mode" if ceil else "") + (
            " count_include_pad" if "count" in name else ""
        )
        run = operator(
            f"relax.nn.{name[:3]}_pool{rank}d %a size [3] strides [2] padding [1] "
            f'dilation [1]{flags} layout "NC{LETTERS[rank]}"',
            tensor(x),
            result=tensor(expected),
        )
        close(run(x), expected)


def test_pooling_of_integers():
    data = np.array([[[-5, -2, 0, 7]]], np.int32)
    for name, expected in (("max", [-2, 7]), ("avg", [-3, 3])):
        run = operator(
            f"relax.nn.{name}_pool1d %a size [2] strides [2] padding [0] dilation [1] "
            'layout "NCW"',
            "tensor<1x1x4xi32>",
            result="tensor<1x1x2xi32>",
        )
        assert run(data).tolist() == [[expected]]


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_adaptive_pooling(rank: int):
    x = random((1, 2, *range(5, 5 + rank)))
    expected = np.zeros((1, 2, *([3] * rank)))
    for n, c, *at in np.ndindex(expected.shape):
        window = [
            slice(int(np.floor(i * e / 3)), int(np.ceil((i + 1) * e / 3)))
            for i, e in zip(at, x.shape[2:], strict=True)
        ]
        expected[(n, c, *at)] = x[(n, c, *window)].astype(np.float64).mean()
    letters = LETTERS[rank]
    run = operator(
        f'relax.nn.adaptive_avg_pool{rank}d %a size [3] layout "NC{letters}"',
        tensor(x),
        result=tensor(expected),
    )
    close(run(x), expected)
    run = operator(
        f'relax.nn.adaptive_avg_pool{rank}d %a layout "NC{letters}"',
        tensor(x),
        result=tensor(x),
    )
    close(run(x), x)
