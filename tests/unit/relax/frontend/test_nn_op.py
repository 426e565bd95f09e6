"""The operators of `nn.op`, compared with numpy on small tensors."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
import pytest
from models import layers
from support.nn_models import Array, Computation, computed, computed_of_two
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm import IRModule, interpret
from xdsl_tvm.relax.frontend import nn
from xdsl_tvm.relax.frontend.nn import op

RNG = np.random.default_rng(0)
A = RNG.uniform(0.5, 2, (2, 3, 4)).astype(np.float32)
S = RNG.standard_normal((2, 3, 4)).astype(np.float32)
B = RNG.standard_normal((3, 1)).astype(np.float32)
M = RNG.standard_normal((4, 2)).astype(np.float32)
E = np.array([[1, 2, 3], [3, 2, 1]], np.float32)
F = np.array([[1, 1, 4], [3, 2, 1]], np.float32)
ROW = RNG.standard_normal(4).astype(np.float32)
NEAREST = [0, 1, 1, 2, 2, 3, 3, 3]
"""Pixels of an image that is twice as large: halves are rounded up, as TVM does."""
IMAGE = RNG.standard_normal((1, 2, 4, 4)).astype(np.float32)


def close(got: Any, expected: Any) -> None:
    """Tensors, or tuples of them, are equal up to rounding, of one dtype and shape."""
    if isinstance(expected, tuple | list):
        fields = cast("Sequence[Any]", expected)
        assert len(got) == len(fields)
        for each, wanted in zip(got, fields, strict=True):
            close(each, wanted)
        return
    expected = np.asarray(expected)
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


UNARY: dict[str, tuple[Callable[[nn.Tensor], Any], Callable[[Any], Any], Array]] = {
    "unsqueeze": (lambda x: op.unsqueeze(x, 1), lambda x: x[:, None], A),
    "squeeze": (lambda x: op.squeeze(x), lambda x: x[:, 0], B),
    "squeeze all": (lambda x: op.squeeze(x, None), lambda x: x[:, 0], B),
    "reshape": (lambda x: op.reshape(x, (4, -1)), lambda x: x.reshape(4, 6), A),
    "x.reshape": (lambda x: x.reshape(6, 4), lambda x: x.reshape(6, 4), A),
    "broadcast_to": (
        lambda x: op.broadcast_to(x, (2, 3, 4)),
        lambda x: np.broadcast_to(x, (2, 3, 4)),
        B,
    ),
    "permute_dims": (lambda x: op.permute_dims(x), np.transpose, A),
    "x.permute_dims": (
        lambda x: x.permute_dims(0, 2, 1),
        lambda x: x.transpose(0, 2, 1),
        A,
    ),
    "permute": (lambda x: op.permute(x, [1, 0, 2]), lambda x: x.transpose(1, 0, 2), A),
    "repeat": (lambda x: op.repeat(x, 2), lambda x: np.repeat(x, 2), B),
    "x.repeat": (lambda x: x.repeat(2, 1), lambda x: np.repeat(x, 2, 1), B),
    "pad": (
        lambda x: op.pad(x, [1, 0, 0, 2], value=3),
        lambda x: np.pad(x, ((1, 0), (0, 2)), constant_values=3),
        B,
    ),
    "triu": (lambda x: op.triu(x, 1), lambda x: np.triu(x, 1), A),
    "tril": (lambda x: op.tril(x), np.tril, A),
    "concat": (
        lambda x: op.concat([x, x * 2], 1),
        lambda x: np.concatenate([x, x * 2], 1),
        A,
    ),
    "split": (lambda x: op.split(x, [1, 3], 2), lambda x: np.split(x, [1, 3], 2), A),
    "chunk": (lambda x: op.chunk(x, 2, 2), lambda x: np.split(x, 2, 2), A),
    "sum": (lambda x: op.sum(x), np.sum, A),
    "sum axes": (
        lambda x: op.sum(x, [0, 2], True),
        lambda x: x.sum((0, 2), keepdims=True),
        A,
    ),
    "max": (lambda x: op.max(x, 1), lambda x: x.max(1), S),
    "min": (lambda x: op.min(x, -1), lambda x: x.min(-1), S),
    "cumsum": (lambda x: op.cumsum(x, 1), lambda x: np.cumsum(x, 1), S),
    "cumsum exclusive": (
        lambda x: op.cumsum(x, exclusive=True),
        lambda x: np.cumsum(x).astype(np.float32) - x.ravel(),
        S,
    ),
    "negative": (lambda x: op.negative(x), np.negative, S),
    "-x": (lambda x: -x, np.negative, S),
    "exp": (lambda x: op.exp(x), np.exp, S),
    "log": (lambda x: op.log(x), np.log, A),
    "floor": (lambda x: op.floor(x), np.floor, S),
    "sqrt": (lambda x: op.sqrt(x), np.sqrt, A),
    "square": (lambda x: op.square(x), np.square, S),
    "tanh": (lambda x: op.tanh(x), np.tanh, S),
    "sigmoid": (lambda x: op.sigmoid(x), lambda x: 1 / (1 + np.exp(-x)), S),
    "relu": (lambda x: op.relu(x), lambda x: np.maximum(x, 0), S),
    "relu6": (lambda x: op.relu6(x * 9), lambda x: np.clip(x * 9, 0, 6), S),
    "silu": (lambda x: op.silu(x), lambda x: x / (1 + np.exp(-x)), S),
    "softplus": (lambda x: op.softplus(x, 2), lambda x: np.log1p(np.exp(2 * x)) / 2, S),
    "gelu": (lambda x: op.gelu(x), layers.gelu, S),
    "gelu tanh": (lambda x: op.gelu(x, "tanh"), layers.gelu_tanh, S),
    "softmax": (lambda x: op.softmax(x), layers.softmax, S),
    "astype": (lambda x: op.astype(x, "int32"), lambda x: x.astype(np.int32), A),
    "astype same": (lambda x: x.astype("float32"), lambda x: x, A),
    "where": (lambda x: op.where(x > 0, x, 0), lambda x: np.where(x > 0, x, 0), S),
    "full": (lambda x: x + op.full([4], 2), lambda x: x + 2, A),
    "full of x": (lambda x: op.full([2], op.max(x)), lambda x: np.full(2, x.max()), A),
    "zeros": (lambda x: op.zeros([2]), lambda x: np.zeros(2), A),
    "ones": (lambda x: op.ones([2], "int8"), lambda x: np.ones(2), A),
    "arange": (lambda x: op.arange(1, 7, 2, "int64"), lambda x: np.arange(1, 7, 2), A),
    "arange to": (lambda x: op.arange(3), lambda x: np.arange(3), A),
    "sort": (lambda x: op.sort(x, descending=True), lambda x: -np.sort(-x), S),
    "argsort": (lambda x: op.argsort(x, 0), lambda x: np.argsort(x, 0), S),
    "topk": (
        lambda x: op.topk(x, 2),
        lambda x: (-np.sort(-x)[..., :2], np.argsort(-x)[..., :2]),
        S,
    ),
    "topk values": (
        lambda x: op.topk(x, 1, 0, "values", largest=False),
        lambda x: x.min(0, keepdims=True),
        S,
    ),
    "layer_norm": (
        lambda x: op.layer_norm(x, 4),
        lambda x: (
            (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        ),
        S,
    ),
    "group_norm": (
        lambda x: op.group_norm(x, 3, None, None),
        lambda x: (
            (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        ),
        S,
    ),
    "interpolate": (
        lambda x: op.interpolate(x, scale_factor=2),
        lambda x: x[:, :, NEAREST][:, :, :, NEAREST],
        IMAGE,
    ),
    "interpolate corners": (
        lambda x: op.interpolate(x, 2, mode="bilinear", align_corners=True),
        lambda x: x[:, :, ::3, ::3],
        IMAGE,
    ),
    "from_const": (lambda x: x + nn.Tensor.from_const(A), lambda x: x + A, A),
    "2 - x": (lambda x: 2 - x, lambda x: 2 - x, A),
    "2 / x": (lambda x: 2 / x, lambda x: 2 / x, A),
    "2 * x + 1": (lambda x: 1 + 2 * x, lambda x: 1 + 2 * x, A),
}


@pytest.mark.parametrize("name", UNARY)
def test_operators_of_one_tensor(name: str):
    compute, expected, array = UNARY[name]
    close(computed(compute, array), expected(array))


Binary: TypeAlias = Callable[[nn.Tensor, nn.Tensor], Any]


def prelu(x: Array, alpha: Array) -> Array:
    """Negative elements times the number of their channel."""
    return np.where(x >= 0, x, x * alpha.reshape(-1, *(1,) * (x.ndim - 2)))


BINARY: dict[str, tuple[Binary, Callable[[Any, Any], Any], Array, Array]] = {
    "add": (op.add, np.add, A, B),
    "subtract": (op.subtract, np.subtract, A, B),
    "multiply": (op.multiply, np.multiply, A, B),
    "divide": (op.divide, np.divide, B, A),
    "maximum": (op.maximum, np.maximum, A, B),
    "minimum": (op.minimum, np.minimum, A, B),
    "x.maximum": (
        lambda a, b: a.maximum(1) + b.minimum(1),
        lambda a, b: np.maximum(a, 1) + np.minimum(b, 1),
        A,
        B,
    ),
    "less": (op.less, np.less, E, F),
    "less_equal": (op.less_equal, np.less_equal, E, F),
    "greater": (op.greater, np.greater, E, F),
    "greater_equal": (op.greater_equal, np.greater_equal, E, F),
    "equal": (op.equal, np.equal, E, F),
    "not_equal": (op.not_equal, np.not_equal, E, F),
    "<": (lambda a, b: a < b, np.less, E, F),
    "<=": (lambda a, b: a <= b, np.less_equal, E, F),
    ">=": (lambda a, b: a >= b, np.greater_equal, E, F),
    "where int": (
        lambda a, b: op.where(a, 1.0, b),
        lambda a, b: np.where(a, 1, b),
        np.array([0, 2, 0], np.int32),
        F,
    ),
    "matmul": (op.matmul, np.matmul, A, M),
    "@": (lambda a, b: a @ b, np.matmul, A, M),
    "matmul wide": (
        lambda a, b: op.matmul(a, b, "float64"),
        lambda a, b: np.matmul(a.astype(float), b),
        A,
        M,
    ),
    "take": (
        lambda a, b: op.take(a, b, axis=2),
        lambda a, b: np.take(a, b, 2),
        A,
        np.array([3, 0], np.int64),
    ),
    "rms_norm": (
        lambda a, b: op.rms_norm(a, b, -1, 0.1),
        lambda a, b: a / np.sqrt((a**2).mean(-1, keepdims=True) + 0.1) * b,
        S,
        ROW,
    ),
    "prelu": (
        op.prelu,
        prelu,
        S,
        np.array([0.5, -1, 2], np.float32),
    ),
    "prelu of rows": (op.prelu, prelu, M, ROW[:1]),
    "multinomial": (
        op.multinomial_from_uniform,
        lambda a, b: [[1], [2]],
        np.array([[0.2, 0.3, 0.5], [0.3, 0.4, 0.3]], np.float32),
        np.array([[0.4], [0.9]], np.float32),
    ),
}


@pytest.mark.parametrize("name", BINARY)
def test_operators_of_two_tensors(name: str):
    compute, expected, a, b = BINARY[name]
    close(computed_of_two(compute, a, b), np.asarray(expected(a, b)))


def sampled(
    limits: nn.Tensor, uniform: nn.Tensor, *, rows: Sequence[int] | None = None
) -> nn.Tensor:
    """Tokens of two distributions: tokens 3, 2, 1, 0 have 0.4, 0.3, 0.2, 0.1 of one."""
    prob = nn.Tensor.from_const(SORTED)
    token = nn.Tensor.from_const(np.array([[3, 2, 1, 0], [0, 1, 2, 3]], np.int32))
    top_p, top_k = op.split(limits, 2, 1)
    given = None if rows is None else nn.Tensor.from_const(np.array(rows)[:, None])
    return op.sample_top_p_top_k_from_sorted_prob(
        prob, token, top_p, top_k.astype("int64"), uniform, given
    )


SORTED = np.array([[0.4, 0.3, 0.2, 0.1], [0.7, 0.1, 0.1, 0.1]], np.float32)


@pytest.mark.parametrize(
    ("limits", "uniform", "rows", "expected"),
    [
        # Of the first row 0.4 and 0.3 are kept, of the second the first token.
        ([[0.5, 4], [0.5, 4]], [[0.56], [0.99]], None, [3, 0]),
        ([[0.5, 4], [0.5, 4]], [[0.58], [0.0]], None, [2, 0]),
        ([[1.0, 3], [1.0, 2]], [[0.99], [0.88]], None, [1, 1]),
        ([[1.0, 1], [0.0, 0]], [[0.99], [0.99]], None, [3, 0]),
        # Past all, and in another order of the rows.
        ([[2.0, 9], [2.0, 9]], [[1.0], [0.75], [0.75]], [1, 0, 1], [3, 1, 1]),
    ],
)
def test_sampling_of_the_most_likely(
    limits: Any, uniform: Any, rows: Any, expected: Any
) -> None:
    got = computed_of_two(
        lambda a, b: sampled(a, b, rows=rows),
        np.array(limits, np.float32),
        np.array(uniform, np.float32),
    )
    assert got.dtype == np.int32
    assert got.tolist() == [[token] for token in expected]


def test_renormalized_probabilities():
    prob = SORTED[:, [2, 0, 3, 1]]
    top = np.array([[0.6, 4], [1.0, 1]], np.float32)

    def compute(a: nn.Tensor, limits: nn.Tensor):
        top_p, top_k = op.split(limits, 2, 1)
        ordered = op.sort(a, 1, descending=True)
        return op.renormalize_top_p_top_k_prob(a, ordered, top_p, top_k)

    expected = [[0, 0.4 / 0.7, 0, 0.3 / 0.7], [0, 1, 0, 0]]
    close(computed_of_two(compute, prob, top), np.array(expected))


def test_sampling_of_symbolic_numbers_of_tokens():
    class Sampler(nn.Module):
        def forward(self, prob: nn.Tensor, token: nn.Tensor, limits: nn.Tensor):
            top_p, top_k = op.split(limits, 2, 1)
            return op.sample_top_p_top_k_from_sorted_prob(
                prob,
                token,
                top_p,
                top_k,
                nn.Tensor.from_const(np.array([[0.99]], np.float32)),
            )

    spec = {
        "prob": nn.spec.Tensor([1, "v"], "float32"),
        "token": nn.spec.Tensor([1, "v"], "int32"),
        "limits": nn.spec.Tensor([1, 2], "float32"),
    }
    run = interpret(Sampler().export_tvm({"forward": spec})[0])["forward"]
    token = np.array([[5, 6, 7, 8]], np.int32)
    for top_p, top_k, expected in ((2, 9, 8), (1, 2, 6)):
        assert run(SORTED[:1], token, np.array([[top_p, top_k]], np.float32)) == expected


@pytest.mark.parametrize(("stride", "padding", "groups"), [(1, 0, 1), (2, 1, 2)])
def test_convolutions(stride: int, padding: int, groups: int):
    x = RNG.standard_normal((2, 4, 5, 5)).astype(np.float32)
    w = RNG.standard_normal((6, 4 // groups, 3, 3)).astype(np.float32)
    wide = x.astype(np.float64)

    def image(a: nn.Tensor, b: nn.Tensor) -> nn.Tensor:
        return op.conv2d(a, b, None, stride, padding, 1, groups)

    def signal(a: nn.Tensor, b: nn.Tensor) -> nn.Tensor:
        return op.conv1d(a, b, None, stride, groups=groups)

    def film(a: nn.Tensor, b: nn.Tensor) -> nn.Tensor:
        return op.conv3d(a, b, None, (1, stride, stride), groups=groups)

    expected = layers.conv2d(wide, w, stride, padding, groups)
    close(computed_of_two(image, x, w), expected)
    # A row of an image is a signal, and one image a film.
    expected = layers.conv2d(wide[:, :, :1], w[:, :, :1], stride, 0, groups)
    close(computed_of_two(signal, x[:, :, 0], w[:, :, 0]), expected[:, :, 0])
    expected = layers.conv2d(wide, w, stride, 0, groups)
    got = computed_of_two(film, x[:, :, None], w[:, :, None])
    close(got[:, :, 0], expected)


def test_bias_and_layout_of_a_convolution():
    x = RNG.standard_normal((1, 4, 4, 2)).astype(np.float32)
    w = RNG.standard_normal((3, 2, 2, 2)).astype(np.float32)

    def compute(a: nn.Tensor, b: nn.Tensor) -> nn.Tensor:
        bias = nn.Tensor.from_const(ROW[:3])
        return op.conv2d(a, b, bias, data_layout="NHWC")

    expected = layers.conv2d(x.astype(float).transpose(0, 3, 1, 2), w)
    close(computed_of_two(compute, x, w), expected.transpose(0, 2, 3, 1) + ROW[:3])


def test_transposed_convolution():
    x = RNG.standard_normal((1, 2, 3)).astype(np.float32)
    w = RNG.standard_normal((2, 3, 2)).astype(np.float32)
    expected = np.zeros((1, 3, 7))
    for position, tap in np.ndindex(3, 2):
        expected[0, :, 2 * position + tap] += x[0, :, position] @ w[:, :, tap]
    got = computed_of_two(
        lambda a, b: op.conv1d_transpose(a, b, stride=2, output_padding=1), x, w
    )
    close(got, expected)


@pytest.mark.parametrize("is_causal", [False, True])
def test_attention(is_causal: bool):
    q = RNG.standard_normal((2, 3, 2, 4)).astype(np.float32)
    k = RNG.standard_normal((2, 3, 2, 4)).astype(np.float32)
    mask = RNG.standard_normal((2, 1, 3, 3)).astype(np.float32)

    def compute(a: nn.Tensor, b: nn.Tensor) -> nn.Tensor:
        added = nn.Tensor.from_const(mask)
        return op.scaled_dot_product_attention(a, b, b * 2, added, is_causal)

    heads_q, heads_k = (each.astype(float).transpose(0, 2, 1, 3) for each in (q, k))
    hidden = np.triu(np.full((3, 3), -np.inf), 1) if is_causal else 0
    added = mask.astype(np.float64) + hidden
    expected = layers.attention(heads_q, heads_k, heads_k * 2, added)
    close(computed_of_two(compute, q, k), expected.transpose(0, 2, 1, 3))


@pytest.mark.parametrize("flip", [False, True])
def test_embedding_of_time_steps(flip: bool):
    steps = np.array([0, 1, 7], np.int32)
    frequencies = np.exp(-math.log(10000) * np.arange(2) / (2 - 1))
    angles = 3 * steps[:, None] * frequencies
    waves = [np.sin(angles), np.cos(angles)]
    columns = [*(waves[::-1] if flip else waves), np.zeros((3, 1))]
    got = computed(lambda x: op.get_timestep_embedding(x, 5, flip, scale=3), steps)
    assert got.dtype == np.float32
    close(got, np.concatenate(columns, 1))


def test_operators_of_several_machines():
    """They are not evaluated here, so the text of the function is compared."""

    def compute(x: nn.Tensor) -> nn.Tensor:
        x = op.ccl_allreduce(x, "max", in_group=False)
        return op.ccl_broadcast_from_worker0(op.ccl_allgather(x, 2))

    a = nn.spec.Tensor([2], "float32")
    module, _ = Computation(compute).export_tvm({"forward": {"a": a}})
    calls = re.findall(r"relax\.ccl\.(\w+ %\w+) ", str(module))
    assert calls == [
        "allreduce %a",
        "allgather %ccl_allreduce",
        "broadcast_from_worker0 %ccl_allgather",
    ]


def test_empty_has_its_type():
    got = computed(lambda x: op.empty((2, 3), "int8"), A)
    assert (got.shape, got.dtype) == ((2, 3), np.int8)


REFUSED: dict[str, tuple[Callable[[nn.Tensor], Any], type[Exception], str]] = {
    "dtype": (lambda x: op.astype(x, "float33"), VerifyException, "float33"),
    "shape": (lambda x: op.add(x, op.zeros([5])), VerifyException, "relax.add"),
    "gelu": (lambda x: op.gelu(x, "erf"), ValueError, "approximate is None or 'tanh'"),
    "layout": (
        lambda x: op.conv2d(x, op.ones([1, 1, 1, 1, 1]), x, data_layout="NCHW4c"),
        VerifyException,
        "relax.nn.conv2d",
    ),
    "mask": (
        lambda x: op.scaled_dot_product_attention(x, x, x, x > 0),
        TypeError,
        "attn_mask is added to the scores, and cannot be bool",
    ),
    "sizes": (lambda x: op.interpolate(x), ValueError, "one of size and scale_factor"),
    "antialias": (
        lambda x: op.interpolate(x, 2, antialias=True),
        ValueError,
        "antialias are not supported",
    ),
    "samples": (
        lambda x: op.multinomial_from_uniform(x, op.ones((3, 1))),
        ValueError,
        "3 samples of 2 distributions need sample_indices",
    ),
    "truth": (lambda x: x or x, TypeError, "has no truth value"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_arguments_are_refused(name: str):
    compute, error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        computed(compute, A)


def exported(compute: Callable[[nn.Tensor], Any]) -> IRModule:
    """The module of a function of images `[1, c, h, 4]`."""
    a = nn.spec.Tensor([1, "c", "h", 4], "float32")
    return Computation(compute).export_tvm({"forward": {"a": a}})[0]


def test_symbolic_dimensions():
    run = interpret(exported(lambda x: op.interpolate(x, scale_factor=2)))["forward"]
    assert run(IMAGE).shape == (1, 2, 8, 8)
    run = interpret(exported(lambda x: op.reshape(x, [x.shape[1] * 4, -1])))["forward"]
    assert run(IMAGE).shape == (8, 4)
    with pytest.raises(ValueError, match=r"h \* 1\.5 is no dimension"):
        exported(lambda x: op.interpolate(x, scale_factor=1.5))
    with pytest.raises(ValueError, match="c channels need a weight and a bias"):
        exported(lambda x: op.group_norm(x, 2, None, None))
    with pytest.raises(ValueError, match="the number of samples, h, is not known"):
        exported(
            lambda x: op.multinomial_from_uniform(op.max(x, [0, 1]), op.max(x, [0, 1]))
        )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tensor_expr_op", "there are no tensor expressions; write T.prim_func"),
        ("debug_func", "use print_, or extern"),
        ("no_such_op", "nn.op' has no attribute 'no_such_op'"),
    ],
)
def test_operators_that_are_not_here_say_why(name: str, text: str):
    for namespace in (op, nn):
        with pytest.raises(AttributeError, match=text):
            getattr(namespace, name)


def test_operators_are_names_of_nn():
    assert all(getattr(nn, name) is getattr(op, name) for name in op.__all__)
