"""Converters of torch's operators, against numpy, without torch.

`tests/e2e/test_torch_operators.py` compares many more calls with torch itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest

from xdsl_tvm import interpret
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.frontend.torch import TorchError
from xdsl_tvm.frontend.torch.convert import from_graph
from xdsl_tvm.frontend.torch.graph import Graph, GraphNode, Input, Ref, TensorMeta
from xdsl_tvm.frontend.torch.operators.elementwise import promoted

Array = np.ndarray[Any, Any]
NAN, INF = math.nan, math.inf
SPECIAL = np.array([0.0, -0.0, 1.5, -2.5, INF, -INF, NAN], np.float32)
X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
N = np.arange(12, dtype=np.int64).reshape(3, 4)


def meta_of(array: Array) -> TensorMeta:
    return TensorMeta(tuple(map(Dim.of, array.shape)), array.dtype.name)


def graph_of(
    target: str, expected: Array | Sequence[Array], arguments: dict[str, object]
) -> tuple[Graph, list[Array]]:
    """A graph of one node, and the arrays among its arguments, which are inputs."""
    inputs: list[Array] = []

    def filled(value: object) -> object:
        if isinstance(value, np.ndarray):
            inputs.append(cast("Array", value))
            return Ref(f"x{len(inputs) - 1}")
        if isinstance(value, list):
            return [filled(each) for each in cast("list[object]", value)]
        return value

    given = {name: filled(value) for name, value in arguments.items()}
    if isinstance(expected, np.ndarray):
        nodes = [GraphNode("y", target, given, meta_of(expected))]
        outputs = [Ref("y")]
    else:
        metas = [meta_of(each) for each in expected]
        nodes = [GraphNode("y", target, given, metas)]
        for index, each in enumerate(metas):
            arguments = {"self": Ref("y"), "index": index}
            nodes.append(GraphNode(f"y{index}", "getitem", arguments, each))
        outputs = [Ref(f"y{index}") for index in range(len(metas))]
    params = [Input(f"x{i}", "user", meta_of(each)) for i, each in enumerate(inputs)]
    return Graph(params, nodes, outputs), inputs


def check(
    target: str,
    expected: Array | Sequence[Array],
    tolerance: float = 1e-6,
    **args: object,
) -> None:
    graph, inputs = graph_of(target, expected, args)
    found = interpret(from_graph(graph))["main"](*inputs)
    wanted = [expected] if isinstance(expected, np.ndarray) else expected
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def f32(value: object) -> Array:
    return np.asarray(value, np.float32)


# ---- dtypes ----


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([("float32", 2), ("float64", 2)], "float64"),
        ([("float32", 2), ("float64", 1)], "float32"),
        ([("int32", 2), ("float64", 1)], "float64"),
        ([("int32", 2), ("float32", 0)], "float32"),
        ([("int8", 2), ("int64", 0)], "int8"),
        ([("bool", 2), ("int64", 0)], "int64"),
        ([("int8", 2), ("uint8", 2)], "int16"),
        ([("uint8", 2), ("int32", 2)], "int32"),
        ([("uint8", 2), ("uint16", 2)], "uint16"),
        ([("float16", 2), ("bfloat16", 2)], "float32"),
        ([("float16", 2), ("int64", 2)], "float16"),
        ([("bool", 2), ("bool", 0)], "bool"),
    ],
)
def test_operands_are_compared_in_the_dtype_of_torch(
    kinds: list[tuple[str, int]], expected: str
) -> None:
    assert promoted(kinds) == expected
    assert promoted(kinds[::-1]) == expected


def test_truth_values_are_added_as_truth_values() -> None:
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    check("aten.add.Tensor", a | b, self=a, other=b, alpha=1)
    check("aten.mul.Tensor", a & b, self=a, other=b)
    check("aten.bitwise_xor.Tensor", a ^ b, self=a, other=b)
    check("aten.maximum.default", a | b, self=a, other=b)


def test_integers_become_floats_where_torch_makes_them_floats() -> None:
    check("aten.div.Tensor", f32(N / 5), self=N, other=np.full(4, 5))
    check("aten.exp.default", f32(np.exp(N)), self=N)
    check("aten.mul.Scalar", f32(N * 1.5), self=N, other=1.5)
    check("aten._to_copy.default", N.astype(bool), self=N, dtype="bool")


# ---- elements ----


def test_angles_of_all_special_values() -> None:
    y, x = (each.reshape(-1).copy() for each in np.meshgrid(SPECIAL, SPECIAL))
    check("aten.atan2.default", np.arctan2(y, x), self=y, other=x)


def test_logarithms_and_exponentials_near_zero() -> None:
    x = f32([1e-7, -3e-6, 0, 0.3, 80, -0.99, INF])
    graph, inputs = graph_of("aten.log1p.default", x, {"self": x})
    (found,) = interpret(from_graph(graph))["main"](*inputs)
    np.testing.assert_allclose(found, np.log1p(x), rtol=1e-6)
    x = f32([1e-7, -3e-6, 0, 0.3, 80, -90, INF, -INF])
    graph, inputs = graph_of("aten.expm1.default", x, {"self": x})
    (found,) = interpret(from_graph(graph))["main"](*inputs)
    np.testing.assert_allclose(found, np.expm1(x), rtol=1e-6)


@pytest.mark.parametrize("divisor", [1.5, -1.5, INF, -INF])
def test_remainders_have_the_sign_of_the_divisor(divisor: float) -> None:
    x = f32([-4, -1, 0, 1, 4])
    expected = np.remainder(x, np.float32(divisor))
    check("aten.remainder.Scalar", expected, self=x, other=divisor)


def test_divisions_round_as_they_say() -> None:
    a, b = f32([-7, -5, 5, 7]), f32([2, 2, 2, -2])
    name = "aten.div.Tensor_mode"
    check(name, np.trunc(a / b), self=a, other=b, rounding_mode="trunc")
    check(name, np.floor(a / b), self=a, other=b, rounding_mode="floor")
    with pytest.raises(TorchError, match="rounding_mode must be floor or trunc, not up"):
        check(name, a, self=a, other=b, rounding_mode="up")


# ---- reductions ----


def test_statistics_are_corrected() -> None:
    for correction in (0, 1, 2):
        expected = f32(X.var(1, ddof=correction, keepdims=True))
        check(
            "aten.var.correction",
            expected,
            self=X,
            dim=[1],
            correction=correction,
            keepdim=True,
        )


def test_statistics_over_a_symbolic_extent() -> None:
    x = TensorMeta((Dim.symbol("n"), Dim.of(4)), "float32")
    arguments = {"self": Ref("x"), "dim": [0], "correction": 1, "keepdim": False}
    result = TensorMeta((Dim.of(4),), "float32")
    node = GraphNode("y", "aten.var.correction", arguments, result)
    module = from_graph(Graph([Input("x", "user", x)], [node], [Ref("y")]))
    (found,) = interpret(module)["main"](X)
    np.testing.assert_allclose(found, X.var(0, ddof=1), rtol=1e-6)


def test_reductions_of_nothing_and_of_truth_values() -> None:
    empty = np.zeros((2, 0), bool)
    for name, expected in (("any", False), ("all", True)):
        wanted = np.full(2, expected)
        check(f"aten.{name}.dim", wanted, self=empty, dim=1, keepdim=False)
    check("aten.all.default", np.array(False), self=X > 0)
    check("aten.sum.dim_IntList", np.array(N.sum()), self=N, dim=None, keepdim=False)


# ---- shapes and indices ----


@pytest.mark.parametrize(
    ("start", "end", "step"),
    [(1, 3, 1), (-2, 1 << 62, 1), (None, -1, 2), (-9, 2, 1), (3, 1, 1), (0, None, 1)],
)
def test_slices(start: int | None, end: int | None, step: int) -> None:
    expected = N[:, start:end:step]
    check("aten.slice.Tensor", expected, self=N, dim=1, start=start, end=end, step=step)
    source = -np.ones_like(expected)
    changed = N.copy()
    changed[:, start:end:step] = source
    check(
        "aten.slice_scatter.default",
        changed,
        self=N,
        src=source,
        dim=1,
        start=start,
        end=end,
        step=step,
    )  # fmt: skip


Index = tuple[Any, ...]
CUBE = np.arange(60, dtype=np.float32).reshape(3, 4, 5)


@pytest.mark.parametrize(
    "index",
    [
        (np.array([0, -1]),),
        (None, np.array([[0, -1], [2, 1]])),
        (np.array([0, 2]), np.array([1, -4])),
        (None, np.array([[1], [-1]]), np.array([0, 2, 4])),
        (np.array([0, 2]), None, np.array([1, -1])),
    ],
)
def test_indices_of_several_axes(index: Index) -> None:
    place = tuple(slice(None) if each is None else each for each in index)
    check("aten.index.Tensor", CUBE[place], self=CUBE, indices=list(index))
    values = -np.ones_like(CUBE[place])
    for accumulate in (False, True):
        changed = CUBE.copy()
        if accumulate:
            np.add.at(changed, cast("Any", place), values)
        else:
            changed[place] = values
        check(
            "aten.index_put.default",
            changed,
            self=CUBE,
            indices=list(index),
            values=values,
            accumulate=accumulate,
        )  # fmt: skip


def test_masks_choose_what_is_put() -> None:
    mask = X > 0
    changed = np.where(mask, f32(7), X)
    check(
        "aten.index_put.default",
        changed,
        self=X,
        indices=[mask],
        values=f32([7]),
        accumulate=False,
    )
    source = np.arange(12, dtype=np.float32)
    changed = X.copy()
    changed[mask] = source[: mask.sum()]
    check("aten.masked_scatter.default", changed, self=X, mask=mask, source=source)


@pytest.mark.parametrize("kind", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include", [True, False])
def test_reductions_where_indices_say(kind: str, include: bool) -> None:
    data, source = f32([5, 6, 7]), f32([2, -3, 4])
    index = np.array([0, 0, 2])
    reduced = {"sum": np.sum, "prod": np.prod, "mean": np.mean}
    function: Any = {**reduced, "amax": np.max, "amin": np.min}[kind]
    begin = data.tolist()
    expected = f32(
        [
            function([*begin[:1] * include, 2, -3]),
            begin[1],
            function([*begin[2:] * include, 4]),
        ]
    )
    check(
        "aten.scatter_reduce.two",
        expected,
        self=data,
        dim=0,
        index=index,
        src=source,
        reduce=kind,
        include_self=include,
    )  # fmt: skip


def test_memory_is_seen_under_other_strides() -> None:
    x = np.arange(8, dtype=np.float32)
    expected = np.lib.stride_tricks.as_strided(x[1:], (3, 3), (8, 4)).copy()
    name = "aten.as_strided.default"
    check(name, expected, self=x, size=[3, 3], stride=[2, 1], storage_offset=1)
    dims = (Dim.of(4), Dim.of(2))
    moved = Input("x", "user", TensorMeta(dims, "float32", is_contiguous=False))
    node = GraphNode("y", name, {"self": Ref("x")}, meta_of(expected))
    with pytest.raises(TorchError, match="its operand must be contiguous"):
        from_graph(Graph([moved], [node], [Ref("y")]))


# ---- networks ----


def test_greatest_elements_come_with_their_places() -> None:
    x = f32([[5, 5, 2, 1], [1, 4, NAN, 3]]).reshape(1, 1, 2, 4)
    shape = (1, 1, 1, 3)
    values, places = f32([5, NAN, NAN]), np.array([0, 6, 6])
    check(
        "aten.max_pool2d_with_indices.default",
        [values.reshape(shape), places.reshape(shape)],
        self=x,
        kernel_size=[2, 2],
        stride=[1, 1],
        padding=[0, 0],
        dilation=[1, 1],
        ceil_mode=False,
    )  # fmt: skip


def test_transposed_convolutions_of_three_axes() -> None:
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2, 1)
    weight = f32([1, 10, 100]).reshape(1, 1, 1, 3, 1)
    expected = np.zeros((1, 1, 3, 5, 1), np.float32)
    for i in range(2):
        for j in range(2):
            expected[0, 0, 2 * i, 2 * j : 2 * j + 3, 0] += (
                x[0, 0, i, j, 0] * weight.ravel()
            )
    check(
        "aten.convolution.default",
        expected,
        input=x,
        weight=weight,
        bias=None,
        stride=[2, 2, 1],
        padding=[0, 0, 0],
        dilation=[1, 1, 1],
        transposed=True,
        output_padding=[0, 0, 0],
        groups=1,
    )  # fmt: skip


def attention(mask: object, causal: bool, allowed: Array) -> None:
    rng = np.random.default_rng(3)
    q, k, v = (f32(rng.standard_normal((1, 2, n, 4))) for n in (3, 5, 5))
    scores = np.where(allowed, q @ k.swapaxes(-1, -2) / 2, -INF)
    with np.errstate(invalid="ignore"):
        shares = np.exp(scores - np.maximum(scores.max(-1, keepdims=True), -1e9))
        shares /= np.maximum(shares.sum(-1, keepdims=True), 1e-30)
    check(
        "aten.scaled_dot_product_attention.default",
        f32(shares @ v),
        1e-5,
        query=q,
        key=k,
        value=v,
        attn_mask=mask,
        dropout_p=0.0,
        is_causal=causal,
        scale=None,
        enable_gqa=False,
    )  # fmt: skip


def test_attention_looks_where_it_may() -> None:
    everywhere = np.ones((3, 5), bool)
    attention(None, False, everywhere)
    attention(None, True, np.tril(everywhere))
    mask = np.array([[1, 0, 1, 0, 1], [0] * 5, [1] * 5], bool)
    attention(mask, False, mask)


def test_images_keep_what_padding_cuts_off() -> None:
    expected = np.pad(N[:, 1:], ((0, 0), (0, 2)), constant_values=7)
    check("aten.constant_pad_nd.default", expected, self=N, pad=[-1, 2], value=7)
    wide = np.pad(X, ((2, 1), (1, 2)), "reflect")[None]
    name = "aten.reflection_pad2d.default"
    check(name, wide, self=X[None].copy(), padding=[1, 2, 2, 1])


def test_scales_that_make_no_whole_size_are_refused() -> None:
    x = np.zeros((1, 1, 3, 3), np.float32)
    with pytest.raises(TorchError, match=r"a scale of 1\.5 makes no whole size of 3"):
        check(
            "aten.upsample_nearest2d.vec",
            np.zeros((1, 1, 4, 4), np.float32),
            input=x,
            output_size=None,
            scale_factors=[1.5, 1.5],
        )
