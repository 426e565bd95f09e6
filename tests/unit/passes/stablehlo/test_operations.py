"""Operations of StableHLO, converted to Relax and interpreted, against numpy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xdsl_tvm

Array = np.ndarray[Any, Any]

X = np.array([[0.5, -1.25, 2.5, 0.0], [-3.5, 1.5, -0.5, 4.0]], np.float32)
Y = np.array([[2.0, 0.75, -2.5, 1.0], [0.5, -1.5, 3.0, 4.0]], np.float32)
K = np.array([[5, -7, 0, 3], [9, 2, -4, 31]], np.int32)
L = np.array([[2, 3, 40, -2], [-5, 1, 3, 4]], np.int32)
P = np.array([[True, False, True, True], [False, False, True, False]])
Q = P[::-1]
T, U, V = "tensor<2x4xf32>", "tensor<2x4xi32>", "tensor<2x4xi1>"

Numpy = Callable[..., Any]


def _logistic(x: Array) -> Any:
    return 1 / (1 + np.exp(-x))


def _away(x: Array) -> Any:
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


def _quotient(a: Array, b: Array) -> Any:
    return np.trunc(a / b)


def _left(a: Array, b: Array) -> Any:
    return np.where((b < 0) | (b > 31), 0, a << (b & 31))


def _arithmetic(a: Array, b: Array) -> Any:
    return a >> np.where((b < 0) | (b > 31), 31, b)


def _logical(a: Array, b: Array) -> Any:
    shifted = a.view(np.uint32) >> (b & 31).astype(np.uint32)
    return np.where((b < 0) | (b > 31), 0, shifted)


UNARY: list[tuple[str, Numpy]] = [
    ("stablehlo.abs", np.abs),
    ("stablehlo.cbrt", np.cbrt),
    ("stablehlo.ceil", np.ceil),
    ("stablehlo.cosine", np.cos),
    ("stablehlo.exponential", np.exp),
    ("stablehlo.exponential_minus_one", np.expm1),
    ("stablehlo.floor", np.floor),
    ("stablehlo.logistic", _logistic),
    ("stablehlo.negate", np.negative),
    ("stablehlo.round_nearest_even", np.round),
    ("stablehlo.round_nearest_afz", _away),
    ("stablehlo.sign", np.sign),
    ("stablehlo.sine", np.sin),
    ("stablehlo.tan", np.tan),
    ("stablehlo.tanh", np.tanh),
]


@pytest.mark.parametrize(("name", "reference"), UNARY)
def test_unary(name: str, reference: Numpy) -> None:
    _compare(f"%r = {name} %a : {T}", T, [X], reference(X))


BINARY: list[tuple[str, str, Array, Array, Numpy]] = [
    ("add", T, X, Y, np.add),
    ("add", V, P, Q, np.logical_or),
    ("and", V, P, Q, np.logical_and),
    ("and", U, K, L, np.bitwise_and),
    ("divide", T, X, Y, np.divide),
    ("divide", U, K, L, _quotient),
    ("maximum", T, X, Y, np.maximum),
    ("minimum", U, K, L, np.minimum),
    ("multiply", V, P, Q, np.logical_and),
    ("or", U, K, L, np.bitwise_or),
    ("power", T, np.abs(X), Y, np.power),
    ("remainder", T, X, Y, np.fmod),
    ("remainder", U, K, L, np.fmod),
    ("shift_left", U, K, L, _left),
    ("shift_right_arithmetic", U, K, L, _arithmetic),
    ("shift_right_logical", U, K, L, _logical),
    ("subtract", T, X, Y, np.subtract),
    ("xor", V, P, Q, np.logical_xor),
]


@pytest.mark.parametrize(("name", "type_", "a", "b", "reference"), BINARY)
def test_binary(name: str, type_: str, a: Array, b: Array, reference: Numpy) -> None:
    _compare(f"%r = stablehlo.{name} %a, %b : {type_}", type_, [a, b], reference(a, b))


def _log1p(x: Array) -> Array:
    return np.log1p(x.astype(np.float64))


SMALL = np.array([1e-8, -0.5, np.inf, -1.0], np.float32)


def test_functions_near_zero_and_at_limits() -> None:
    type_ = "tensor<4xf32>"
    with np.errstate(divide="ignore"):
        expected = _log1p(SMALL)
    _compare(f"%r = stablehlo.log_plus_one %a : {type_}", type_, [SMALL], expected)
    tiny = np.array([1e-8, -1e-4, np.inf, -np.inf], np.float32)
    text = f"%r = stablehlo.exponential_minus_one %a : {type_}"
    _compare(text, type_, [tiny], np.expm1(tiny.astype(np.float64)))


# The operation, the type of its result, operands, and what numpy says.
ROWS: list[tuple[str, str, list[Any], Any]] = [
    (f"%r = stablehlo.compare LE, %a, %b : ({T}, {T}) -> {V}", V, [X, Y], X <= Y),
    (
        f"%r = stablehlo.compare GT, %a, %b : ({V}, {V}) -> {V}",
        V,
        [P, Q],
        Q < P,
    ),
    (f"%r = stablehlo.select %a, %b, %c : {V}, {T}", T, [P, X, Y], np.where(P, X, Y)),
    (f"%r = stablehlo.convert %a : ({T}) -> {U}", U, [X], np.trunc(X)),
    (f"%r = stablehlo.convert %a : ({T}) -> {V}", V, [X], X != 0),
    (f"%r = stablehlo.convert %a : ({V}) -> {T}", T, [P], P),
    (
        f"%r = stablehlo.is_finite %a : ({T}) -> {V}",
        V,
        [np.where(Y > 2, np.inf, X)],
        Y <= 2,
    ),
    (f"%r = stablehlo.not %a : {V}", V, [P], ~P),
    (f"%r = stablehlo.not %a : {U}", U, [K], ~K),
    (f"%r = chlo.erfc %a : {T} -> {T}", T, [X * 0], X * 0 + 1),
    (f"%r = chlo.is_neg_inf %a : {T} -> {V}", V, [X - np.inf], X < 9),
    (f"%r = stablehlo.reduce_precision %a, format = e8m7 : {T}", T, [X], X),
    (f"%r = stablehlo.iota dim = 1 : {U}", U, [], np.tile(np.arange(4), (2, 1))),
    (
        "%r = stablehlo.broadcast_in_dim %a, dims = [2, 0] : "
        "(tensor<2x4xf32>) -> tensor<4x3x2xf32>",
        "tensor<4x3x2xf32>",
        [X],
        np.broadcast_to(X.T[:, None], (4, 3, 2)),
    ),
    (
        f"%r = stablehlo.transpose %a, dims = [1, 0] : ({T}) -> tensor<4x2xf32>",
        "tensor<4x2xf32>",
        [X],
        X.T,
    ),
    (
        "%r = stablehlo.reshape %a : (tensor<2x4xf32>) -> tensor<4x2x1xf32>",
        "tensor<4x2x1xf32>",
        [X],
        X.reshape(4, 2, 1),
    ),
    (f"%r = stablehlo.reverse %a, dims = [0, 1] : {T}", T, [X], X[::-1, ::-1]),
    (
        "%r = stablehlo.slice %a [1:2, 0:4:3] : (tensor<2x4xf32>) -> tensor<1x2xf32>",
        "tensor<1x2xf32>",
        [X],
        X[1:2, ::3],
    ),
    (
        "%r = stablehlo.concatenate %a, %b, dim = 1 : "
        "(tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>",
        "tensor<2x8xf32>",
        [X, Y],
        np.concatenate([X, Y], 1),
    ),
    (
        # Negative padding cuts off, and one element is between neighbours.
        "%r = stablehlo.pad %a, %b, low = [1, -1], high = [0, 2], interior = [0, 1] : "
        "(tensor<2x4xf32>, tensor<f32>) -> tensor<3x8xf32>",
        "tensor<3x8xf32>",
        [X, np.float32(9)],
        np.array(
            [
                [9] * 8,
                [9, -1.25, 9, 2.5, 9, 0, 9, 9],
                [9, 1.5, 9, -0.5, 9, 4, 9, 9],
            ]
        ),
    ),
    (
        f"%r = stablehlo.clamp %a, %b, %c : (tensor<f32>, {T}, tensor<f32>) -> {T}",
        T,
        [np.float32(-1), X, np.float32(1)],
        np.clip(X, -1, 1),
    ),
    (
        # The start is moved back into the tensor.
        "%r = stablehlo.dynamic_slice %a, %b, %c, sizes = [1, 3] : "
        "(tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>",
        "tensor<1x3xf32>",
        [X, np.int32(-5), np.int32(7)],
        X[:1, 1:],
    ),
    (
        "%r = stablehlo.dynamic_update_slice %a, %b, %c, %d : "
        f"({T}, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> {T}",
        T,
        [X, np.ones((1, 2), np.float32), np.int32(1), np.int32(1)],
        np.array([X[0], [-3.5, 1, 1, 4]]),
    ),
    (
        "%r = stablehlo.dot_general %a, %b, contracting_dims = [0, 1] x [0, 1] : "
        f"({T}, {T}) -> tensor<f32>",
        "tensor<f32>",
        [X, Y],
        (X * Y).sum(),
    ),
    (
        "%r = stablehlo.dot_general %a, %b, batching_dims = [1] x [1], "
        f"contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : ({T}, {T}) -> "
        "tensor<4xf32>",
        "tensor<4xf32>",
        [X, Y],
        (X * Y).sum(0),
    ),
    (
        f"%r = stablehlo.reduce(%a init: %b) applies stablehlo.minimum across "
        f"dimensions = [0] : ({T}, tensor<f32>) -> tensor<4xf32>",
        "tensor<4xf32>",
        [X, np.float32(-1)],
        np.minimum(X.min(0), -1),
    ),
    (
        f"%r = stablehlo.reduce(%a init: %b) applies stablehlo.and across "
        f"dimensions = [1, 0] : ({V}, tensor<i1>) -> tensor<i1>",
        "tensor<i1>",
        [P, np.bool_(True)],
        P.all(),
    ),
    (
        f"%r:2 = stablehlo.optimization_barrier %a, %b : {T}, {T}",
        T,
        [X, Y],
        X,
    ),
]


def _name(row: tuple[str, str, list[Any], Any]) -> str:
    return row[0].split()[2].partition("(")[0]


@pytest.mark.parametrize("row", ROWS, ids=_name)
def test_operation(row: tuple[str, str, list[Any], Any]) -> None:
    _compare(*row)


def _types(values: list[Array]) -> list[str]:
    names = {"float32": "f32", "int32": "i32", "bool": "i1", "int8": "i8"}
    found: list[str] = []
    for value in values:
        dims = "".join(f"{extent}x" for extent in value.shape)
        found.append(f"tensor<{dims}{names[value.dtype.name]}>")
    return found


def _run(body: str, type_: str, values: list[Array]) -> Any:
    letters = "abcdef"[: len(values)]
    types = _types(values)
    params = ", ".join(f"%{a}: {t}" for a, t in zip(letters, types, strict=True))
    result = "%r#0" if "%r:" in body else "%r"
    text = (
        f"func.func public @main({params}) -> {type_} {{\n  {body}\n"
        f"  return {result} : {type_}\n}}\n"
    )
    return xdsl_tvm.interpret(text)["main"](*values)


def _compare(body: str, type_: str, values: list[Array], expected: Any) -> None:
    found = np.asarray(_run(body, type_, values))
    assert found.shape == np.shape(expected)
    exact = found.dtype.kind in "iub"
    np.testing.assert_allclose(
        found, expected, rtol=0 if exact else 1e-5, atol=0 if exact else 1e-6
    )


# ---- windows, positions and bodies ----


def _window(body: str, sizes: str, padding: str, more: str = "") -> str:
    return (
        '%r = "stablehlo.reduce_window"(%a, %i) <{'
        f"window_dimensions = array<i64: {sizes}>, padding = "
        f"dense<{padding}> : tensor<2x2xi64>{more}}}> ({{\n"
        "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
        f"  %z = stablehlo.{body} %x, %y : tensor<f32>\n"
        "  stablehlo.return %z : tensor<f32>\n"
        "}) : (tensor<2x4xf32>, tensor<f32>) -> "
    )


def _windows(x: Array, size: int, stride: int, dilation: int) -> Array:
    reach = (size - 1) * dilation + 1
    starts = range(0, x.shape[1] - reach + 1, stride)
    return np.stack([x[:, s : s + reach : dilation] for s in starts], 1)


@pytest.mark.parametrize(
    ("body", "init", "reduce"),
    [
        ("add", "0.0", np.sum),
        ("multiply", "1.0", np.prod),
        ("minimum", "0x7F800000", np.min),
    ],
)
@pytest.mark.parametrize(
    ("size", "stride", "dilation"), [(3, 1, 1), (2, 2, 1), (2, 1, 2)]
)
def test_windows(
    body: str, init: str, reduce: Numpy, size: int, stride: int, dilation: int
) -> None:
    value = np.float32(np.inf if init.startswith("0x") else float(init))
    padded = np.pad(X, ((0, 0), (1, 0)), constant_values=value)
    expected = reduce(_windows(padded, size, stride, dilation), -1)
    more = (
        f", window_strides = array<i64: 1, {stride}>"
        f", window_dilations = array<i64: 1, {dilation}>"
    )
    type_ = f"tensor<2x{expected.shape[1]}xf32>"
    text = f"%i = stablehlo.constant dense<{init}> : tensor<f32>\n"
    text += _window(body, f"1, {size}", "[[0, 0], [1, 0]]", more) + type_
    _compare(text, type_, [X], expected)


@pytest.mark.parametrize("before", [True, False])
def test_a_window_of_a_whole_dimension_is_a_scan(before: bool) -> None:
    pads = "[[0, 0], [3, 0]]" if before else "[[0, 0], [0, 3]]"
    text = "%i = stablehlo.constant dense<0.0> : tensor<f32>\n"
    text += _window("add", "1, 4", pads) + T
    reverse = X[:, ::-1].cumsum(1)[:, ::-1]
    _compare(text, T, [X], X.cumsum(1) if before else reverse)


def _gather(numbers: str, sizes: str, indices: str, result: str) -> str:
    return (
        '%r = "stablehlo.gather"(%a, %b) <{dimension_numbers = '
        f"#stablehlo.gather<{numbers}>, indices_are_sorted = false, slice_sizes = "
        f"array<i64: {sizes}>}}> : ({T}, {indices}) -> {result}"
    )


def test_gather_of_columns_puts_their_dimension_where_it_is_said() -> None:
    numbers = (
        "offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], "
        "index_vector_dim = 1"
    )
    text = _gather(numbers, "2, 1", "tensor<3xi32>", "tensor<2x3xf32>")
    indices = np.array([3, -1, 9], np.int32)
    _compare(text, "tensor<2x3xf32>", [X, indices], X[:, [3, 0, 3]])


def test_gather_of_windows_moves_them_into_the_tensor() -> None:
    numbers = "offset_dims = [1, 2], start_index_map = [1, 0], index_vector_dim = 1"
    text = _gather(numbers, "1, 2", "tensor<2x2xi32>", "tensor<2x1x2xf32>")
    indices = np.array([[1, 1], [3, 0]], np.int32)
    expected = np.stack([X[1:2, 1:3], X[0:1, 2:4]])
    _compare(text, "tensor<2x1x2xf32>", [X, indices], expected)


def test_gather_with_a_batching_dimension() -> None:
    numbers = (
        "collapsed_slice_dims = [1], operand_batching_dims = [0], "
        "start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1"
    )
    text = _gather(numbers, "1, 1", "tensor<2x1xi32>", "tensor<2xf32>")
    indices = np.array([[2], [3]], np.int32)
    _compare(text, "tensor<2xf32>", [X, indices], X[[0, 1], [2, 3]])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", [[7, 7, 2.5, 0], [-3.5, 1.5, -0.5, 4]]),
        ("add", [[7.5, 5.75, 2.5, 0], [-3.5, 1.5, -0.5, 4]]),
        ("maximum", [[7, 7, 2.5, 0], [-3.5, 1.5, -0.5, 4]]),
    ],
)
def test_scatter_leaves_out_what_is_beyond(body: str, expected: Any) -> None:
    combine = f"%z = stablehlo.{body} %x, %y : tensor<f32>\n" if body else ""
    result = "%z" if body else "%y"
    text = (
        '%r = "stablehlo.scatter"(%a, %b, %c) <{indices_are_sorted = false, '
        "scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], "
        "scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, "
        "unique_indices = false}> ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
        f"{combine}stablehlo.return {result} : tensor<f32>\n}}) : "
        f"({T}, tensor<4x2xi32>, tensor<4xf32>) -> {T}"
    )
    indices = np.array([[0, 0], [0, 1], [0, 4], [-1, 0]], np.int32)
    _compare(text, T, [X, indices, np.full(4, 7, np.float32)], np.array(expected))


def _sort(direction: str, compared: str = "%x, %y") -> str:
    return (
        '%r:2 = "stablehlo.sort"(%a, %b) <{dimension = 1 : i64, is_stable = true}> ({\n'
        "^bb0(%x: tensor<f32>, %y: tensor<f32>, %u: tensor<i32>, %v: tensor<i32>):\n"
        f"  %z = stablehlo.compare {direction}, {compared} : "
        "(tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "  stablehlo.return %z : tensor<i1>\n"
        f"}}) : ({T}, {U}) -> ({T}, {U})"
    )


def test_sort_by_the_first_tensor() -> None:
    _compare(_sort("LT"), T, [X, K], np.sort(X, 1))
    _compare(_sort("GT"), T, [X, K], -np.sort(-X, 1))
    _compare(_sort("GT", "%y, %x"), T, [X, K], np.sort(X, 1))


_COUNTED = """
%0 = stablehlo.constant dense<0> : tensor<i32>
%r:2 = stablehlo.while(%x = %a, %i = %0) : tensor<2x4xf32>, tensor<i32>
cond {
  %n = stablehlo.constant dense<3> : tensor<i32>
  %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
} do {
  %1 = stablehlo.constant dense<1> : tensor<i32>
  %j = stablehlo.add %i, %1 : tensor<i32>
  %y = stablehlo.add %x, %x : tensor<2x4xf32>
  stablehlo.return %y, %j : tensor<2x4xf32>, tensor<i32>
}
"""


def test_a_counted_loop_is_unrolled() -> None:
    _compare(_COUNTED, T, [X], X * 8)


_BRANCHES = """
%r = "stablehlo.case"(%b) ({
  stablehlo.return %a : tensor<2x4xf32>
}, {
  %y = stablehlo.add %a, %a : tensor<2x4xf32>
  stablehlo.return %y : tensor<2x4xf32>
}, {
  %y = stablehlo.negate %a : tensor<2x4xf32>
  stablehlo.return %y : tensor<2x4xf32>
}) : (tensor<i32>) -> tensor<2x4xf32>
"""


@pytest.mark.parametrize(
    ("index", "factor"), [(0, 1), (1, 2), (2, -1), (7, -1), (-1, -1)]
)
def test_a_case_beyond_the_bodies_is_the_last_one(index: int, factor: int) -> None:
    _compare(_BRANCHES, T, [X, np.array(index, np.int32)], X * factor)


def _convolution(numbers: str, window: str, groups: str, types: str) -> str:
    return (
        f"%r = stablehlo.convolution(%a, %b) dim_numbers = {numbers}, window = "
        f"{{{window}}} {{{groups}}} : {types}"
    )


def test_a_convolution_of_dilated_data_with_a_reversed_kernel() -> None:
    x = np.array([[[1, 2, 3]]], np.float32)
    w = np.array([[[1, 10]]], np.float32)
    text = _convolution(
        "[b, f, 0]x[o, i, 0]->[b, f, 0]",
        "stride = [1], pad = [[1, 1]], lhs_dilate = [2], rhs_dilate = [1], "
        "reverse = [true]",
        "batch_group_count = 1 : i64, feature_group_count = 1 : i64",
        "(tensor<1x1x3xf32>, tensor<1x1x2xf32>) -> tensor<1x1x6xf32>",
    )
    expected = np.array([[[1, 10, 2, 20, 3, 30]]])
    _compare(text, "tensor<1x1x6xf32>", [x, w], expected)


def test_groups_of_batches() -> None:
    x = np.arange(4, dtype=np.float32).reshape(4, 1, 1)
    w = np.array([[[1]], [[10]]], np.float32)
    text = _convolution(
        "[b, f, 0]x[o, i, 0]->[b, f, 0]",
        "",
        "batch_group_count = 2 : i64, feature_group_count = 1 : i64",
        "(tensor<4x1x1xf32>, tensor<2x1x1xf32>) -> tensor<2x2x1xf32>",
    )
    expected = np.array([[[0], [20]], [[1], [30]]])
    _compare(text, "tensor<2x2x1xf32>", [x, w], expected)


@pytest.mark.parametrize("pad", [0, 1])
def test_the_gradient_of_a_pool_goes_to_the_first_greatest_element(pad: int) -> None:
    x = np.array([[-1, -1, -3, -2, -5, -4]], np.float32)
    count = 3 + pad
    source = np.arange(1, count + 1, dtype=np.float32).reshape(1, count)
    text = (
        "%c = stablehlo.constant dense<0.0> : tensor<f32>\n"
        '%r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = '
        "array<i64: 1, 2>, window_strides = array<i64: 1, 2>, padding = "
        f"dense<[[0, 0], [{pad}, {pad}]]> : tensor<2x2xi64>}}> ({{\n"
        "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
        "  %z = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "  stablehlo.return %z : tensor<i1>\n}, {\n"
        "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
        "  %z = stablehlo.add %x, %y : tensor<f32>\n"
        "  stablehlo.return %z : tensor<f32>\n}) : "
        f"(tensor<1x6xf32>, tensor<1x{count}xf32>, tensor<f32>) -> tensor<1x6xf32>"
    )
    expected = [[1, 2, 0, 3, 0, 4]] if pad else [[1, 0, 0, 2, 0, 3]]
    _compare(text, "tensor<1x6xf32>", [x, source], np.array(expected))


RELATIONS: list[tuple[str, Numpy]] = [
    ("EQ", np.equal),
    ("NE", np.not_equal),
    ("LT", np.less),
    ("LE", np.less_equal),
    ("GT", np.greater),
    ("GE", np.greater_equal),
]


@pytest.mark.parametrize(("direction", "relation"), RELATIONS)
def test_the_total_order(direction: str, relation: Numpy) -> None:
    ordered = np.array([-np.inf, -1, -0.0, 0.0, 1, np.inf, np.nan], np.float32)
    ranks = np.arange(7)
    a, b = np.repeat(ordered, 7), np.tile(ordered, 7)
    expected = relation(np.repeat(ranks, 7), np.tile(ranks, 7))
    text = (
        f"%r = stablehlo.compare {direction}, %a, %b, TOTALORDER : "
        "(tensor<49xf32>, tensor<49xf32>) -> tensor<49xi1>"
    )
    with np.errstate(divide="ignore"):
        _compare(text, "tensor<49xi1>", [a, b], expected)


def test_sort_by_two_tensors() -> None:
    text = (
        '%r:2 = "stablehlo.sort"(%a, %b) <{dimension = 1 : i64, is_stable = true}> ({\n'
        "^bb0(%x: tensor<i32>, %y: tensor<i32>, %u: tensor<f32>, %v: tensor<f32>):\n"
        "  %0 = stablehlo.compare GT, %u, %v : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "  %1 = stablehlo.compare EQ, %x, %y : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "  %2 = stablehlo.compare GT, %x, %y : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "  %3 = stablehlo.select %1, %0, %2 : tensor<i1>, tensor<i1>\n"
        "  stablehlo.return %3 : tensor<i1>\n"
        f"}}) : ({U}, {T}) -> ({U}, {T})"
    )
    keys = np.array([[1, 0, 1, 0], [2, 2, 2, 2]], np.int32)
    order = np.lexsort((-X, -keys), axis=1)
    _compare(text, U, [keys, X], np.take_along_axis(keys, order, 1))
    second = text.replace("%r:2", "%s:2") + f"\n%r = stablehlo.add %s#1, %s#1 : {T}"
    _compare(second, T, [keys, X], 2 * np.take_along_axis(X, order, 1))
