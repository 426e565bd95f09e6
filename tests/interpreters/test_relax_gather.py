"""Relax gathering, scattering, padding and losses against values computed by hand."""

from typing import Any

import numpy as np
import pytest
from support.relax_programs import operator

from xdsl_tvm.interpreters.errors import ArgumentError, OutOfBoundsError

DATA = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
KIND = "tensor<2x3xf32>"
F32 = np.float32


def same(found: Any, expected: Any) -> None:
    expected = np.asarray(expected, F32)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(found, expected, 1e-6)


def test_gather():
    run = operator(
        "relax.gather_elements %a, %b axis 1",
        *(KIND, "tensor<2x2xi64>"),
        result="tensor<2x2xf32>",
    )
    same(run(DATA, np.array([[2, 0], [1, -1]])), [[3, 1], [5, 6]])
    with pytest.raises(OutOfBoundsError, match="index 3 is out of range for axis 1 with"):
        run(DATA, np.array([[2, 0], [1, 3]]))
    run = operator(
        "relax.gather_nd %a, %b batch_dims 0",
        *(KIND, "tensor<2x2xi64>"),
        result="tensor<2xf32>",
    )
    same(run(DATA, np.array([[1, 0], [0, 2]])), [4, 3])
    run = operator(
        "relax.gather_nd %a, %b batch_dims 1",
        *(KIND, "tensor<2x1xi64>"),
        result="tensor<2xf32>",
    )
    same(run(DATA, np.array([[2], [0]])), [3, 4])
    run = operator(
        "relax.gather_nd %a, %b batch_dims 0",
        *(KIND, "tensor<2x0xi64>"),
        result="tensor<2x2x3xf32>",
    )
    same(run(DATA, np.zeros((2, 0), np.int64)), [DATA, DATA])


@pytest.mark.parametrize(
    ("reduction", "expected"),
    [
        ("update", [[20, 2, 3], [4, 5, 30]]),
        ("add", [[31, 2, 3], [4, 5, 36]]),
        ("mul", [[200, 2, 3], [4, 5, 180]]),
        ("min", [[1, 2, 3], [4, 5, 6]]),
        ("max", [[20, 2, 3], [4, 5, 30]]),
        ("mean", [[12.75, 2, 3], [4, 5, 18]]),
    ],
)
def test_scatter(reduction: str, expected: Any):
    updates = np.array([10, 20, 30], F32)
    run = operator(
        f'relax.scatter_nd %a, %b, %c reduction "{reduction}"',
        *(KIND, "tensor<3x2xi64>", "tensor<3xf32>"),
        result=KIND,
    )
    same(run(DATA, np.array([[0, 0], [0, 0], [1, 2]]), updates), expected)


def test_scatter_elements():
    run = operator(
        'relax.scatter_elements %a, %b, %c axis 1 reduction "add"',
        *(KIND, "tensor<2x2xi64>", "tensor<2x2xf32>"),
        result=KIND,
    )
    found = run(DATA, np.array([[0, 0], [2, -2]]), np.array([[1, 2], [3, 4]], F32))
    same(found, [[4, 2, 3], [4, 9, 9]])


def test_one_hot():
    prim = "!relax.prim<f32>"
    run = operator(
        "relax.one_hot %a, %b, %c depth 3 axis 0",
        *("tensor<2xi64>", prim, prim),
        result="tensor<3x2xf32>",
    )
    same(run(np.array([2, 0]), 5, -1), [[-1, 5], [-1, -1], [5, -1]])


def test_pad():
    run = operator(
        'relax.nn.pad %a width [0, 1, 2, 0] mode "constant" value 7.0',
        KIND,
        result="tensor<3x5xf32>",
    )
    same(run(DATA), [[7, 7, 1, 2, 3], [7, 7, 4, 5, 6], [7] * 5])
    scalar = "tensor<f32>"
    text = 'relax.nn.pad %a width [] mode "constant" value 7.0'
    same(operator(text, scalar, result=scalar)(np.array(2, F32)), 2)


@pytest.mark.parametrize(
    ("mode", "row"),
    [
        ("reflect", [3, 2, 1, 2, 3]),
        ("replicate", [1, 1, 1, 2, 3]),
        ("edge", [1, 1, 1, 2, 3]),
        ("circular", [2, 3, 1, 2, 3]),
    ],
)
def test_pad_modes(mode: str, row: list[int]):
    text = f'relax.nn.pad %a width [0, 0, 2, 0] mode "{mode}" value 0.0'
    run = operator(text, KIND, result="tensor<2x5xf32>")
    same(run(DATA)[0], row)


def test_unknown_pad_mode():
    text = 'relax.nn.pad %a width [0, 0, 2, 0] mode "random" value 0.0'
    run = operator(text, KIND, result="tensor<2x5xf32>")
    with pytest.raises(ArgumentError, match='pad mode "random" is not evaluated'):
        run(DATA)


def test_dropout_keeps_all():
    type_ = "tensor<2x3xf32>"
    result = f"!relax.tuple<{type_}, {type_}>"
    found, mask = operator("relax.nn.dropout %a rate 5.0e-01", KIND, result=result)(DATA)
    same(found, DATA)
    same(mask, np.ones((2, 3)))


def test_losses():
    name = "relax.nn.cross_entropy_with_logits %a, %b"
    run = operator(name, KIND, KIND, result="tensor<f32>")
    same(run(DATA, DATA), -91 / 2)
    row = "tensor<3xf32>"
    same(operator(name, row, row, result="tensor<f32>")(DATA[0], DATA[1]), -32)
    scalar = "tensor<f32>"
    same(operator(name, scalar, scalar, result=scalar)(DATA[0, 1], DATA[0, 2]), -6)
    weights, targets = np.array([1, 10, 100], F32), np.array([2, 1])
    for reduction, result, expected in (
        ("none", "tensor<2xf32>", [-300, -50]),
        ("sum", "tensor<f32>", -350),
        ("mean", "tensor<f32>", -350 / 110),
    ):
        run = operator(
            f'relax.nn.nll_loss %a, %b, %c reduction "{reduction}" ignore_index -100',
            *(KIND, "tensor<2xi64>", row),
            result=result,
        )
        same(run(DATA, targets, weights), expected)
    run = operator(
        'relax.nn.nll_loss %a, %b reduction "mean" ignore_index 1',
        *(KIND, "tensor<2xi64>"),
        result="tensor<f32>",
    )
    same(run(DATA, targets), -3)
