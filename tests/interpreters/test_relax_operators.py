"""Each Relax operator against values computed by hand or by plain numpy."""

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.relax_programs import operator
from xdsl.dialects.builtin import bf16
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.dialects.relax import FuncOp, OutputOp, Relax, ReturnOp, YieldOp
from xdsl_tvm.interpreters.errors import (
    DivisionByZeroError,
    OutOfBoundsError,
    SimulationError,
)
from xdsl_tvm.interpreters.relax import EVALUATED
from xdsl_tvm.interpreters.relax.numbers import rounded
from xdsl_tvm.interpreters.relax.operators import EVALUATIONS

F32 = "tensor<4xf32>"
I32 = "tensor<4xi32>"
BOOL = "tensor<4xi1>"


EPSILONS = {"float64": 2**-52, "float32": 2**-23, "float16": 2**-10, "bfloat16": 2**-7}


def floats(*values: float) -> Any:
    return np.array(values, np.float32)


def random_floats(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return rng.random(shape, np.float32)


def integers(*values: int, dtype: str = "int32") -> Any:
    return np.array(values, dtype)


def check(found: Any, expected: Any) -> None:
    """Equal, floats up to one unit in the last place, of one dtype and shape."""
    expected = np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if found.dtype.kind in "biu":
        np.testing.assert_array_equal(found, expected)
    else:
        epsilon = EPSILONS[found.dtype.name]
        np.testing.assert_allclose(
            found.astype(np.float64), expected.astype(np.float64), epsilon, epsilon / 8
        )


# ---- element by element ----


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("nn.relu", (-1.5, 0.0, 2.0, -0.0), (0, 0, 2, 0)),
        ("nn.gelu", (0.0, 1.0, -1.0, 3.0), (0, 0.8413447, -0.15865526, 2.9959502)),
        ("nn.gelu_tanh", (0.0, 1.0, -1.0, 3.0), (0, 0.841192, -0.158808, 2.9963627)),
        ("nn.silu", (0.0, 1.0, -1.0, 4.0), (0, 0.7310586, -0.26894143, 3.9280552)),
        ("nn.selu", (0.0, 1.0, -1.0, 2.0), (0, 1.050701, -1.1113307, 2.101402)),
        ("abs", (-1.5, 0.0, 2.0, -0.5), (1.5, 0, 2, 0.5)),
        ("acos", (1.0, 0.0, -1.0, 0.5), (0, math.pi / 2, math.pi, math.pi / 3)),
        ("acosh", (1.0, math.cosh(2), 1.0, 1.0), (0, 2, 0, 0)),
        ("asin", (1.0, 0.0, -1.0, 0.5), (math.pi / 2, 0, -math.pi / 2, math.pi / 6)),
        ("asinh", (0.0, math.sinh(2), 0.0, 0.0), (0, 2, 0, 0)),
        ("atan", (0.0, 1.0, -1.0, math.inf), (0, 0.7853982, -0.7853982, math.pi / 2)),
        ("atanh", (0.0, 0.5, -0.5, 1.0), (0, 0.54930615, -0.54930615, math.inf)),
        ("ceil", (1.2, -1.2, 3.0, 0.5), (2, -1, 3, 1)),
        ("cos", (0.0, math.pi, 1.0, -1.0), (1, -1, 0.5403023, 0.5403023)),
        ("cosh", (0.0, 1.0, -1.0, 2.0), (1, 1.5430806, 1.5430806, 3.7621956)),
        ("erf", (0.0, 1.0, -1.0, 3.0), (0, 0.8427008, -0.8427008, 0.9999779)),
        ("exp", (0.0, 1.0, -1.0, 200.0), (1, math.e, 1 / math.e, math.inf)),
        ("floor", (1.2, -1.2, 3.0, 0.5), (1, -2, 3, 0)),
        ("log", (1.0, math.e, 0.0, 2.0), (0, 1, -math.inf, math.log(2))),
        ("negative", (1.0, -2.0, 0.5, 3.0), (-1, 2, -0.5, -3)),
        ("round", (0.5, 1.5, -2.5, 2.6), (0, 2, -2, 3)),
        ("rsqrt", (1.0, 4.0, 0.25, 16.0), (1, 0.5, 2, 0.25)),
        ("sigmoid", (0.0, 1.0, -1.0, 4.0), (0.5, 0.7310586, 0.26894143, 0.9820138)),
        ("sign", (3.0, -2.0, 0.0, 0.1), (1, -1, 0, 1)),
        ("sin", (0.0, 1.0, -1.0, 2.0), (0, 0.84147096, -0.84147096, 0.9092974)),
        ("sinh", (0.0, 1.0, -1.0, 2.0), (0, 1.1752012, -1.1752012, 3.6268604)),
        ("sqrt", (0.0, 1.0, 4.0, 2.0), (0, 1, 2, math.sqrt(2))),
        ("square", (0.0, -1.0, 4.0, 0.5), (0, 1, 16, 0.25)),
        ("tan", (0.0, 1.0, -1.0, 2.0), (0, 1.5574077, -1.5574077, -2.1850398)),
        ("tanh", (0.0, 1.0, -1.0, 20.0), (0, 0.7615942, -0.7615942, 1)),
    ],
)
def test_function_of_floats(name: str, data: tuple[float, ...], expected: Any):
    found = operator(f"relax.{name} %a", F32, result=F32)(floats(*data))
    check(found, floats(*expected))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("abs", (3, 0, 7, -(2**31))),
        ("negative", (3, 0, -7, -(2**31))),
        ("square", (9, 0, 49, 0)),
        ("sign", (-1, 0, 1, -1)),
        ("bitwise_not", (2, -1, -8, 2**31 - 1)),
        ("logical_not", (0, 1, 0, 0)),
    ],
)
def test_function_of_integers(name: str, expected: Any):
    run = operator(f"relax.{name} %a", I32, result=I32)
    check(run(integers(-3, 0, 7, -(2**31))), integers(*expected))


def test_function_of_bools():
    data = np.array([True, False, True, True])
    for name in ("logical_not", "bitwise_not"):
        check(operator(f"relax.{name} %a", BOOL, result=BOOL)(data), ~data)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("isfinite", (True, False, False, False)),
        ("isinf", (False, True, True, False)),
        ("isnan", (False, False, False, True)),
    ],
)
def test_predicate(name: str, expected: Any):
    run = operator(f"relax.{name} %a", F32, result=BOOL)
    check(run(floats(1, math.inf, -math.inf, math.nan)), np.array(expected))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("nn.leakyrelu %a alpha 0.5", (-1, 0, 1, 3)),
        ("nn.softplus %a beta 2.0 threshold 4.0", (0.00907496, 0.3465736, 1.0634640, 3)),
    ],
)
def test_activation_with_parameters(line: str, expected: Any):
    run = operator(f"relax.{line}", F32, result=F32)
    check(run(floats(-2, 0, 1, 3)), floats(*expected))


def test_clip():
    bound = "!relax.prim<i64>"
    run = operator("relax.clip %a, %b, %c", F32, bound, bound, result=F32)
    check(run(floats(-2, 0.5, 1, 3), -1, 1), floats(-1, 0.5, 1, 1))
    # The lower bound has the last word.
    check(run(floats(-2, 0.5, 1, 3), 2, 1), floats(2, 2, 2, 2))


def test_three_tensors():
    run = operator("relax.ewise_fma %a, %b, %c", F32, F32, F32, result=F32)
    found = run(floats(1, 2, 3, 4), floats(2, 2, 0, -1), floats(1, 0, 5, 1))
    check(found, floats(3, 4, 5, -3))
    run = operator(
        "relax.where %a, %b, %c", BOOL, F32, "tensor<1xf32>", result="tensor<4xf32>"
    )
    found = run(np.array([True, False, True, False]), floats(1, 2, 3, 4), floats(9))
    check(found, floats(1, 9, 3, 9))


def test_relu_of_integers():
    run = operator("relax.nn.relu %a", I32, result=I32)
    check(run(integers(-3, 0, 7, -(2**31))), integers(0, 0, 7, 0))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("add", (2.5, 1.0, -4.0, 8.0)),
        ("subtract", (0.5, -5.0, 0.0, 4.0)),
        ("multiply", (1.5, -6.0, 4.0, 12.0)),
        ("divide", (1.5, -0.6666667, 1.0, 3.0)),
        ("floor_divide", (1, -1, 1, 3)),
        ("mod", (0.5, -2, 0, 0)),
        ("floor_mod", (0.5, 1, 0, 0)),
        ("maximum", (1.5, 3, -2, 6)),
        ("minimum", (1, -2, -2, 2)),
        ("power", (1.5, -8, 0.25, 36)),
    ],
)
def test_arithmetic_of_floats(name: str, expected: Any):
    run = operator(f"relax.{name} %a, %b", F32, F32, result=F32)
    a, b = floats(1.5, -2.0, -2.0, 6.0), floats(1.0, 3.0, -2.0, 2.0)
    check(run(a, b), floats(*expected))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("add", (-(2**31), 10, -4, -4)),
        ("subtract", (2**31 - 2, 4, -10, -10)),
        ("multiply", (2**31 - 1, 21, -21, -21)),
        ("divide", (2**31 - 1, 2, -2, -2)),
        ("floor_divide", (2**31 - 1, 2, -3, -3)),
        ("mod", (0, 1, -1, -1)),
        ("floor_mod", (0, 1, 2, 2)),
        ("maximum", (2**31 - 1, 7, 3, 3)),
        ("minimum", (1, 3, -7, -7)),
        ("power", (2**31 - 1, 343, -343, -343)),
        ("bitwise_and", (1, 3, 1, 1)),
        ("bitwise_or", (2**31 - 1, 7, -5, -5)),
        ("bitwise_xor", (2**31 - 2, 4, -6, -6)),
        ("left_shift", (-2, 56, -56, -56)),
        ("right_shift", (2**30 - 1, 0, -1, -1)),
        ("logical_and", (1, 1, 1, 1)),
    ],
)
def test_arithmetic_of_integers(name: str, expected: Any):
    run = operator(f"relax.{name} %a, %b", I32, I32, result=I32)
    a, b = integers(2**31 - 1, 7, -7, -7), integers(1, 3, 3, 3)
    check(run(a, b), integers(*expected))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("logical_and", (True, False, False, False)),
        ("logical_or", (True, True, True, False)),
        ("logical_xor", (False, True, True, False)),
        ("bitwise_and", (True, False, False, False)),
        ("add", (False, True, True, False)),
    ],
)
def test_arithmetic_of_bools(name: str, expected: Any):
    run = operator(f"relax.{name} %a, %b", BOOL, BOOL, result=BOOL)
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    check(run(a, b), np.array(expected))
    one = "tensor<i1>"
    run = operator(f"relax.{name} %a, %b", one, one, result=one)
    check(run(a[:1].reshape(()), b[:1].reshape(())), np.array(expected[0]))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("equal", (False, True, False, False)),
        ("not_equal", (True, False, True, True)),
        ("less", (True, False, False, False)),
        ("less_equal", (True, True, False, False)),
        ("greater", (False, False, True, False)),
        ("greater_equal", (False, True, True, False)),
    ],
)
def test_comparison(name: str, expected: Any):
    run = operator(f"relax.{name} %a, %b", F32, I32, result=BOOL)
    found = run(floats(0.5, 2, 3, math.nan), integers(1, 2, 2, 2))
    check(found, np.array(expected))


def test_signs_of_truncated_quotients():
    run = operator("relax.divide %a, %b", I32, I32, result=I32)
    found = run(integers(7, 7, -7, -6), integers(2, -2, -2, 3))
    check(found, integers(3, -3, 3, -2))


def test_narrow_integers_wrap():
    small = "tensor<3xi4>"
    run = operator("relax.add %a, %b", small, small, result=small)
    found = run(integers(7, -8, 3, dtype="int8"), integers(1, -1, 2, dtype="int8"))
    check(found, integers(-8, 7, 5, dtype="int8"))
    bytes_ = "tensor<2xui8>"
    run = operator("relax.multiply %a, %b", bytes_, bytes_, result=bytes_)
    found = run(integers(200, 16, dtype="uint8"), integers(2, 16, dtype="uint8"))
    check(found, integers(144, 0, dtype="uint8"))


def test_broadcast():
    run = operator(
        "relax.subtract %a, %b",
        "tensor<2x1xf32>",
        "tensor<3xf32>",
        result="tensor<2x3xf32>",
    )
    found = run(floats(10, 20).reshape(2, 1), floats(1, 2, 3))
    check(found, np.array([[9, 8, 7], [19, 18, 17]], np.float32))


def test_scalar_counts_as_one_element():
    run = operator(
        "relax.multiply %a, %b",
        "tensor<2xf32>",
        "!relax.prim<f32>",
        result="tensor<2xf32>",
    )
    check(run(floats(3, 4), 0.5), floats(1.5, 2))


def test_two_scalars_make_a_scalar():
    kind = "!relax.prim<i32>"
    run = operator("relax.divide %a, %b", kind, kind, result=kind)
    assert run(-7, 2) == -3
    kind = "!relax.prim<f32>"
    assert operator("relax.add %a, %b", kind, kind, result=kind)(0.1, 0.2) == np.float32(
        np.float32(0.1) + np.float32(0.2)
    )


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f8E4M3FN", "f8E5M2"])
def test_narrow_floats_round_once(dtype: str):
    kinds = {
        "f16": np.float16,
        "bf16": ml_dtypes.bfloat16,
        "f8E4M3FN": ml_dtypes.float8_e4m3fn,
        "f8E5M2": ml_dtypes.float8_e5m2,
    }
    kind = kinds[dtype]
    tensor = f"tensor<200x{dtype}>"
    run = operator("relax.multiply %a, %b", tensor, tensor, result=tensor)
    rng = np.random.default_rng(0)
    a, b = (rng.uniform(-4, 4, 200).astype(kind) for _ in range(2))
    # Products of narrow floats are exact in f32, so that one cast rounds once.
    expected = (a.astype(np.float32) * b.astype(np.float32)).astype(kind)
    found = run(a, b)
    assert found.dtype == kind
    np.testing.assert_array_equal(found.view(np.uint8), expected.view(np.uint8))


def test_f64_to_bf16_is_not_rounded_twice():
    # 1 + 2^-8 is the middle of two bf16, and what f32 makes of all three numbers.
    values = np.array([1 + 2**-8 + 2**-30, 1 + 2**-8 - 2**-30, 1 + 2**-8])
    found = rounded(values, bf16).astype(np.float64)
    assert found.tolist() == [1 + 2**-7, 1.0, 1.0]


# ---- reductions ----

MATRIX = np.array([[1, -2, 4], [0.5, 8, -1]], np.float32)


@pytest.mark.parametrize(
    ("name", "along", "shape", "expected"),
    [
        ("sum", "", "f32", 10.5),
        ("sum", " axis [0]", "3xf32", [1.5, 6, 3]),
        ("sum", " axis [-1] keepdims", "2x1xf32", [[3], [7.5]]),
        ("max", "", "f32", 8),
        ("max", " axis [1]", "2xf32", [4, 8]),
        ("max", " axis [0, 1] keepdims", "1x1xf32", [[8]]),
        ("mean", "", "f32", 1.75),
        ("mean", " axis [1]", "2xf32", [1, 2.5]),
        ("min", " axis [0]", "3xf32", [0.5, -2, -1]),
        ("prod", " axis [1]", "2xf32", [-8, -4]),
        ("variance", " axis [0]", "3xf32", [0.0625, 25, 6.25]),
        ("std", " axis [0] keepdims", "1x3xf32", [[0.25, 5, 2.5]]),
    ],
)
def test_reduction(name: str, along: str, shape: str, expected: Any):
    run = operator(
        f"relax.{name} %a{along}", "tensor<2x3xf32>", result=f"tensor<{shape}>"
    )
    check(run(MATRIX), np.array(expected, np.float32))


def test_reduction_of_integers():
    kind = "tensor<3xi8>"
    data = integers(100, 100, -3, dtype="int8")
    found = operator("relax.sum %a", kind, result="tensor<i8>")(data)
    check(found, np.array(197 - 256, np.int8))
    found = operator("relax.mean %a", kind, result="tensor<i8>")(
        integers(-5, -3, 0, dtype="int8")
    )
    check(found, np.array(-2, np.int8))
    found = operator("relax.max %a", kind, result="tensor<i8>")(data)
    check(found, np.array(100, np.int8))


def test_reduction_of_nothing():
    kind = "tensor<0x2xf32>"
    nothing = np.zeros((0, 2), np.float32)
    run = operator("relax.max %a axis [0]", kind, result="tensor<2xf32>")
    check(run(nothing), floats(-math.inf, -math.inf))
    run = operator("relax.sum %a axis [0]", kind, result="tensor<2xf32>")
    check(run(nothing), floats(0, 0))


@pytest.mark.parametrize(
    ("line", "shape", "expected"),
    [
        ("argmax %a", "i64", 4),
        ("argmax %a axis 0", "3xi64", [0, 1, 0]),
        ("argmin %a axis -1 keepdims", "2x1xi64", [[1], [2]]),
        ("argmin %a keepdims", "1x1xi64", [[1]]),
    ],
)
def test_place_of_an_element(line: str, shape: str, expected: Any):
    run = operator(f"relax.{line}", "tensor<2x3xf32>", result=f"tensor<{shape}>")
    check(run(MATRIX), np.array(expected))


@pytest.mark.parametrize(
    ("line", "shape", "expected"),
    [
        ("cumsum %a", "6xf32", [1, -1, 3, 3.5, 11.5, 10.5]),
        ("cumsum %a axis 1 exclusive", "2x3xf32", [[0, 1, -1], [0, 0.5, 8.5]]),
        ("cumprod %a axis 0", "2x3xf32", [[1, -2, 4], [0.5, -16, -4]]),
        ("cumprod %a axis 1 exclusive", "2x3xf32", [[1, 1, -2], [1, 0.5, 4]]),
    ],
)
def test_scan(line: str, shape: str, expected: Any):
    run = operator(f"relax.{line}", "tensor<2x3xf32>", result=f"tensor<{shape}>")
    check(run(MATRIX), np.array(expected, np.float32))


def test_scan_into_another_dtype():
    run = operator("relax.cumsum %a axis 0 dtype i8", I32, result="tensor<4xi8>")
    check(run(integers(100, 27, 1, 1)), integers(100, 127, -128, -127, dtype="int8"))


# ---- moving elements ----


def test_permute_dims():
    data = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    source = "tensor<2x3x4xi32>"
    run = operator(
        "relax.permute_dims %a axes [2, 0, 1]", source, result="tensor<4x2x3xi32>"
    )
    found = run(data)
    assert found.flags.c_contiguous
    assert all(
        found[k, i, j] == data[i, j, k]
        for i in range(2)
        for j in range(3)
        for k in range(4)
    )
    run = operator("relax.permute_dims %a", source, result="tensor<4x3x2xi32>")
    assert run(data)[3, 2, 1] == data[1, 2, 3]


def test_reshape():
    run = operator(
        "relax.reshape %a, %b",
        "tensor<2x3xf32>",
        "!relax.shape<[3, 2]>",
        result="tensor<3x2xf32>",
    )
    found = run(MATRIX, (3, 2))
    check(found, np.array([[1, -2], [4, 0.5], [8, -1]], np.float32))
    assert not np.may_share_memory(found, MATRIX)


def test_reshape_to_another_size():
    run = operator(
        "relax.reshape %a, %b",
        "tensor<?xf32>",
        "!relax.shape<[?, ?]>",
        result="tensor<?x?xf32>",
    )
    with pytest.raises(
        SimulationError, match=r"4 elements cannot have the shape \[3, 2\]"
    ):
        run(floats(1, 2, 3, 4), (3, 2))


@pytest.mark.parametrize(
    ("line", "shape", "expected"),
    [
        ("flatten %a", "6xf32", [1, -2, 4, 0.5, 8, -1]),
        ("expand_dims %a axis [0, -1]", "1x2x3x1xf32", MATRIX.reshape(1, 2, 3, 1)),
        ("repeat %a repeats 2", "12xf32", [1, 1, -2, -2, 4, 4, 0.5, 0.5, 8, 8, -1, -1]),
        ("repeat %a repeats 2 axis 0", "4x3xf32", MATRIX[[0, 0, 1, 1]]),
        ("tile %a repeats [2, 1, 2]", "2x2x6xf32", [MATRIX[:, [0, 1, 2, 0, 1, 2]]] * 2),
        ("tile %a repeats [2]", "2x6xf32", MATRIX[:, [0, 1, 2, 0, 1, 2]]),
        ("flip %a axis 1", "2x3xf32", [[4, -2, 1], [-1, 8, 0.5]]),
        ("permute_dims %a", "3x2xf32", [[1, 0.5], [-2, 8], [4, -1]]),
    ],
)
def test_moved_elements(line: str, shape: str, expected: Any):
    run = operator(f"relax.{line}", "tensor<2x3xf32>", result=f"tensor<{shape}>")
    check(run(MATRIX), np.array(expected, np.float32))


def test_squeeze():
    data = MATRIX.reshape(1, 2, 1, 3)
    source = "tensor<1x2x1x3xf32>"
    check(operator("relax.squeeze %a", source, result="tensor<2x3xf32>")(data), MATRIX)
    run = operator("relax.squeeze %a axis [-2]", source, result="tensor<1x2x3xf32>")
    check(run(data), MATRIX[None])


def test_broadcast_to_and_collapse_sum():
    shape = "!relax.shape<[2, 2, 3]>"
    run = operator(
        "relax.broadcast_to %a, %b", "tensor<2x1xf32>", shape, result="tensor<2x2x3xf32>"
    )
    found = run(floats(1, 2).reshape(2, 1), (2, 2, 3))
    check(found, np.array([[[1] * 3, [2] * 3]] * 2, np.float32))
    data = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    expected = np.array([[0 + 1 + 2 + 6 + 7 + 8], [3 + 4 + 5 + 9 + 10 + 11]], np.float32)
    run = operator(
        "relax.collapse_sum_to %a, %b",
        *("tensor<2x2x3xf32>", "!relax.shape<[2, 1]>"),
        result="tensor<2x1xf32>",
    )
    check(run(data, (2, 1)), expected)
    run = operator(
        "relax.collapse_sum_like %a, %b",
        *("tensor<2x2x3xf32>", "tensor<2x1xf32>"),
        result="tensor<2x1xf32>",
    )
    check(run(data, expected), expected)


def test_concat():
    pair = "!relax.tuple<tensor<1x2xi32>, tensor<2x2xi32>>"
    run = operator("relax.concat %a axis 0", pair, result="tensor<3x2xi32>")
    found = run((integers(1, 2).reshape(1, 2), integers(3, 4, 5, 6).reshape(2, 2)))
    check(found, integers(1, 2, 3, 4, 5, 6).reshape(3, 2))


@pytest.mark.parametrize(
    ("how", "parts"),
    [
        ("sections 2", [[0, 1, 2], [3, 4]]),
        ("sections 3", [[0, 1], [2, 3], [4]]),
        ("at [1, 4]", [[0], [1, 2, 3], [4]]),
        ("at [3, 2, 9]", [[0, 1, 2], [], [2, 3, 4], []]),
    ],
)
def test_split(how: str, parts: list[list[int]]):
    kinds = ", ".join(f"tensor<{len(part)}xi32>" for part in parts)
    run = operator(
        f"relax.split %a {how} axis 0", "tensor<5xi32>", result=f"!relax.tuple<{kinds}>"
    )
    for found, part in zip(run(integers(0, 1, 2, 3, 4)), parts, strict=True):
        check(found, np.array(part, np.int32))


# ---- making tensors ----

SHAPE = "!relax.shape<[2, 2]>"
SQUARE = "tensor<2x2xi32>"


@pytest.mark.parametrize(
    ("line", "params", "arguments", "expected"),
    [
        ("ones %a dtype i32", (SHAPE,), ((2, 2),), [[1, 1], [1, 1]]),
        ("zeros %a dtype i32", (SHAPE,), ((2, 2),), [[0, 0], [0, 0]]),
        (
            "full %a, %b dtype i32",
            (SHAPE, "tensor<f32>"),
            ((2, 2), np.array(-2.7, np.float32)),
            [[-2, -2], [-2, -2]],
        ),
        (
            "full_like %a, %b",
            (SQUARE, "tensor<f32>"),
            (np.zeros((2, 2), np.int32), np.array(3.5, np.float32)),
            [[3, 3], [3, 3]],
        ),
        ("ones_like %a dtype i32", ("tensor<2x2xf32>",), (MATRIX[:, :2],), [[1] * 2] * 2),
        ("zeros_like %a", (SQUARE,), (np.ones((2, 2), np.int32),), [[0] * 2] * 2),
        (
            "eye %a, %b, %c dtype i32",
            ("!relax.prim<i64, 2>", "!relax.prim<i64, 2>", "!relax.prim<i64>"),
            (2, 2, 1),
            [[0, 1], [0, 0]],
        ),
        (
            "eye_like %a, %b",
            (SQUARE, "!relax.prim<i64>"),
            (np.zeros((2, 2), np.int32), -1),
            [[0, 0], [1, 0]],
        ),
        (
            "tril %a, %b",
            (SQUARE, "!relax.prim<i64>"),
            (np.full((2, 2), 7, np.int32), 0),
            [[7, 0], [7, 7]],
        ),
        (
            "triu %a, %b",
            (SQUARE, "!relax.prim<i64>"),
            (np.full((2, 2), 7, np.int32), 1),
            [[0, 7], [0, 0]],
        ),
    ],
)
def test_made_tensor(line: str, params: Any, arguments: Any, expected: Any):
    run = operator(f"relax.{line}", *params, result=SQUARE)
    check(run(*arguments), np.array(expected, np.int32))


@pytest.mark.parametrize(
    ("bounds", "kind", "dtype", "expected"),
    [
        ((1, 8, 3), "i64", "i64", np.array([1, 4, 7])),
        ((5, 0, -2), "i64", "f32", floats(5, 3, 1)),
        ((3, 3, 1), "i64", "i32", np.zeros(0, np.int32)),
        ((0.0, 1.0, 0.25), "f32", "f32", floats(0, 0.25, 0.5, 0.75)),
        ((0.0, 1.1, 0.5), "f32", "f64", np.array([0, 0.5, 1])),
    ],
)
def test_arange(bounds: Any, kind: str, dtype: str, expected: Any):
    prim = f"!relax.prim<{kind}>"
    result = f"tensor<?x{dtype}>"
    line = f"relax.arange %a, %b, %c dtype {dtype}"
    run = operator(line, prim, prim, prim, result=result)
    check(run(*bounds), expected)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (floats(1.9, -1.9, 300, math.nan), "i8", integers(1, -1, 127, 0, dtype="int8")),
        (floats(1.9, -1.9, 1e20, -1e20), "i64", np.array([1, -1, 2**63 - 1, -(2**63)])),
        (floats(0, 0.5, -1, 2), "i1", np.array([False, True, True, True])),
        (integers(256, -1, 127, 128), "ui8", integers(0, 255, 127, 128, dtype="uint8")),
        (integers(1, 0, 2049, -3), "f16", np.array([1, 0, 2048, -3], np.float16)),
    ],
)
def test_astype(source: Any, target: str, expected: Any):
    kind = F32 if source.dtype == np.float32 else I32
    result = f"tensor<4x{target}>"
    for name in ("astype", "wrap_param"):
        run = operator(f"relax.{name} %a dtype {target}", kind, result=result)
        check(run(source), expected)


def test_markers_keep_the_elements():
    for line in ("hint_on_device %a device 2, 0", "builtin.stop_lift_params %a"):
        run = operator(f"relax.{line}", I32, result=I32)
        check(run(integers(1, 2, 3, 4)), integers(1, 2, 3, 4))


# ---- reading at places, sorting ----


def test_take():
    run = operator(
        "relax.take %a, %b axis 1",
        *("tensor<2x3xf32>", "tensor<2x2xi64>"),
        result="tensor<2x2x2xf32>",
    )
    places = np.array([[0, 2], [2, 1]])
    expected = [[[1, 4], [4, -2]], [[0.5, -1], [-1, 8]]]
    check(run(MATRIX, places), np.array(expected, np.float32))
    with pytest.raises(
        OutOfBoundsError, match="index 3 is out of range for axis 1 with extent 3"
    ):
        run(MATRIX, places + 1)
    run = operator("relax.take %a, %b", F32, "!relax.prim<i64>", result="tensor<f32>")
    check(run(floats(1, 2, 3, 4), 2), np.float32(3))
    with pytest.raises(OutOfBoundsError, match="index -1 is out of range"):
        run(floats(1, 2, 3, 4), -1)


@pytest.mark.parametrize(
    ("begin", "end", "stride"),
    [(1, 3, 1), (-3, 100, 2), (-100, -1, 3), (4, 0, -2), (100, -100, -1), (3, 1, 1)],
)
def test_slices(begin: int, end: int, stride: int):
    one = "!relax.tuple<!relax.prim<i64>>"
    run = operator(
        "relax.strided_slice %a, %b, %c, %d, %e",
        *("tensor<2x5xi32>", "!relax.tuple<!relax.prim<i64, 1>>", one, one, one),
        result="tensor<2x?xi32>",
    )
    data = np.arange(10, dtype=np.int32).reshape(2, 5)
    expected = np.array([list(row)[begin:end:stride] for row in data], np.int32)
    check(run(data, (1,), (begin,), (end,), (stride,)), expected)
    bounds = "tensor<2xi64>"
    run = operator(
        "relax.dynamic_strided_slice %a, %b, %c, %d",
        *("tensor<2x5xi32>", bounds, bounds, bounds),
        result="tensor<?x?xi32>",
    )
    found = run(data, np.array([0, begin]), np.array([9, end]), np.array([1, stride]))
    check(found, expected)


def test_sorting():
    data = floats(2, 1, 2, -1)
    check(operator("relax.sort %a axis 0", F32, result=F32)(data), floats(-1, 1, 2, 2))
    run = operator("relax.sort %a axis -1 descending", F32, result=F32)
    check(run(data), floats(2, 2, 1, -1))
    run = operator("relax.argsort %a axis 0 dtype i32", F32, result=I32)
    check(run(data), integers(3, 1, 0, 2))
    run = operator("relax.argsort %a axis 0 descending dtype i32", F32, result=I32)
    check(run(data), integers(0, 2, 1, 3))


def test_topk():
    kind = "!relax.tuple<tensor<2xf32>, tensor<2xi32>>"
    run = operator('relax.topk %a k 2 axis 0 ret "both" dtype i32', F32, result=kind)
    values, indices = run(floats(1, 5, 3, 5))
    check(values, floats(5, 5))
    check(indices, integers(1, 3))
    run = operator(
        'relax.topk %a k 0 axis 0 ret "indices" smallest dtype i32', F32, result=I32
    )
    check(run(floats(1, 5, 3, 5)), integers(0, 2, 1, 3))


def test_multinomial():
    run = operator(
        "relax.multinomial_from_uniform %a, %b, %c dtype i64",
        *("tensor<2x3xf32>", "tensor<4x1xf32>", "tensor<4x1xi64>"),
        result="tensor<4x1xi64>",
    )
    prob = np.array([[0.5, 0.25, 0.25], [0, 1, 0]], np.float32)
    samples, rows = floats(0.1, 0.6, 1, 0), np.array([0, 0, 0, 1])
    found = run(prob, samples.reshape(4, 1), rows.reshape(4, 1))
    check(found, np.array([[0], [1], [2], [1]]))


def test_sets():
    flag = "!relax.prim<i64, {}>"
    run = operator(
        "relax.unique %a, %b, %c, %d, %e",
        *("tensor<2x3xi32>", *(flag.format(v) for v in (1, 0, 1, 1))),
        result="!relax.tuple<tensor<?xi32>, tensor<?xi64>, tensor<?xi64>>",
    )
    data = np.array([[3, 1, 3], [2, 1, 3]], np.int32)
    values, inverse, counts = run(data, 1, 0, 1, 1)
    check(values, integers(1, 2, 3))
    check(inverse, np.array([2, 0, 2, 1, 0, 2]))
    check(counts, np.array([2, 1, 3]))
    run = operator("relax.nonzero %a", "tensor<2x3xi32>", result="tensor<2x?xi64>")
    found = run(np.array([[0, 5, 0], [1, 0, 2]], np.int32))
    check(found, np.array([[0, 1, 1], [1, 0, 2]]))


# ---- products and normalisations ----


def test_einsum():
    pair = "!relax.tuple<tensor<2x3xf32>, tensor<2x3xf32>>"
    line = 'relax.einsum %a subscripts "ij,kj->ik"'
    run = operator(line, pair, result="tensor<2x2xf32>")
    found = run((MATRIX, MATRIX))
    check(found, np.array([[21, -19.5], [-19.5, 65.25]], np.float32))


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ((2, 3), (3, 4), (2, 4)),
        ((3,), (3, 4), (4,)),
        ((2, 3), (3,), (2,)),
        ((3,), (3,), ()),
        ((5, 1, 2, 3), (6, 3, 4), (5, 6, 2, 4)),
    ],
)
def test_matmul(left: Any, right: Any, result: Any):
    def tensor(shape: Any) -> str:
        return f"tensor<{''.join(f'{n}x' for n in shape)}f32>"

    rng = np.random.default_rng(2)
    a = random_floats(rng, left)
    b = random_floats(rng, right)
    run = operator(
        "relax.matmul %a, %b", tensor(left), tensor(right), result=tensor(result)
    )
    rows = a.reshape(1, -1) if a.ndim == 1 else a
    columns = b.reshape(-1, 1) if b.ndim == 1 else b
    expected = (rows[..., :, :, None].astype(np.float64) * columns[..., None, :, :]).sum(
        -2
    )
    check(run(a, b), expected.astype(np.float32).reshape(result))


def test_matmul_into_a_wider_dtype():
    run = operator(
        "relax.matmul %a, %b out_dtype i32",
        "tensor<2xi8>",
        "tensor<2xi8>",
        result="tensor<i32>",
    )
    data = integers(100, -100, dtype="int8")
    check(run(data, data), np.array(20000, np.int32))


def test_softmax():
    run = operator(
        "relax.nn.softmax %a axis 0", "tensor<2x2xf32>", result="tensor<2x2xf32>"
    )
    data = np.array([[1000, 0], [1000, math.log(3)]], np.float32)
    check(run(data), np.array([[0.5, 0.25], [0.5, 0.75]], np.float32))


@pytest.mark.parametrize("flags", ["", " no_center", " no_scale", " no_center no_scale"])
def test_layer_norm(flags: str):
    kind, axis = "tensor<2x3x4xf32>", "tensor<4x3xf32>"
    run = operator(
        f"relax.nn.layer_norm %a, %b, %c axes [2, 1] epsilon 1.0e-02{flags}",
        *(kind, axis, axis),
        result=kind,
    )
    rng = np.random.default_rng(3)
    x = rng.random((2, 3, 4), np.float32)
    gamma, beta = (rng.random((4, 3), np.float32) for _ in range(2))
    expected = np.empty_like(x)
    for i in range(2):
        rows = x[i].astype(np.float64)
        normal = (rows - rows.mean()) / math.sqrt(rows.var() + 0.01)
        for j in range(3):
            for k in range(4):
                value = normal[j, k]
                value *= 1 if "no_scale" in flags else gamma[k, j]
                value += 0 if "no_center" in flags else beta[k, j]
                expected[i, j, k] = value
    check(run(x, gamma, beta), expected)


# ---- errors, and what is missing ----


def test_integer_division_by_zero():
    run = operator("relax.divide %a, %b", I32, I32, result=I32)
    with pytest.raises(DivisionByZeroError, match=r"divided by zero, in: .*relax.divide"):
        run(integers(1, 2, 3, 4), integers(1, 0, 1, 1))


def test_shapes_that_do_not_broadcast():
    free = "tensor<?xf32>"
    run = operator("relax.add %a, %b", free, free, result=free)
    with pytest.raises(SimulationError, match=r"shapes \[2\] and \[3\] do not broadcast"):
        run(floats(1, 2), floats(1, 2, 3))
    run = operator("relax.matmul %a, %b", free, free, result="tensor<f32>")
    with pytest.raises(SimulationError, match=r"\[2\] and \[3\] cannot be multiplied"):
        run(floats(1, 2), floats(1, 2, 3))


def test_operator_without_evaluation(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(EVALUATIONS, "relax.add")
    run = operator("relax.add %a, %b", F32, F32, result=F32)
    with pytest.raises(
        InterpretationError, match=r"relax.add: the Relax interpreter has no"
    ):
        run(floats(1, 2, 3, 4), floats(1, 2, 3, 4))


WITHOUT_EVALUATION = {
    # Several processes compute them.
    "relax.ccl.allgather",
    "relax.ccl.allreduce",
    "relax.ccl.broadcast_from_worker0",
    "relax.ccl.scatter_from_worker0",
    # They ask how code stores a tensor.
    "relax.inspect.tensor_byte_offset",
    "relax.inspect.tensor_dtype_bits",
    "relax.inspect.tensor_dtype_code",
    "relax.inspect.tensor_dtype_lanes",
    "relax.inspect.tensor_elem_offset",
    "relax.inspect.tensor_ndim",
    "relax.inspect.tensor_shape_i",
    "relax.inspect.tensor_stride_i",
}


def test_every_operation_has_an_evaluation_or_a_reason():
    structure = {FuncOp, OutputOp, ReturnOp, YieldOp}
    wanted = {op.name for op in Relax.operations if op not in structure}
    assert set(EVALUATIONS) < EVALUATED
    assert wanted - EVALUATED == WITHOUT_EVALUATION
