"""Each Relax operator against values computed by hand or by plain numpy."""

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from relax_programs import operator
from xdsl.dialects.builtin import bf16
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.dialects.relax import OperatorOp, Relax
from xdsl_tvm.interpreters._relax_numbers import rounded
from xdsl_tvm.interpreters._relax_operators import EVALUATIONS
from xdsl_tvm.interpreters.errors import DivisionByZeroError, SimulationError

F32 = "tensor<4xf32>"
I32 = "tensor<4xi32>"
BOOL = "tensor<4xi1>"


EPSILONS = {"float64": 2**-52, "float32": 2**-23, "float16": 2**-10, "bfloat16": 2**-7}


def floats(*values: float) -> Any:
    return np.array(values, np.float32)


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
    ],
)
def test_function_of_floats(name: str, data: tuple[float, ...], expected: Any):
    found = operator(f"relax.{name} %a", F32, result=F32)(floats(*data))
    check(found, floats(*expected))


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
    ],
)
def test_arithmetic_of_integers(name: str, expected: Any):
    run = operator(f"relax.{name} %a, %b", I32, I32, result=I32)
    a, b = integers(2**31 - 1, 7, -7, -7), integers(1, 3, 3, 3)
    check(run(a, b), integers(*expected))


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


# ---- products and normalisations ----


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
    a: Any = rng.random(left, np.float32)
    b: Any = rng.random(right, np.float32)
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


def test_every_operator_has_an_evaluation():
    operators = {op.name for op in Relax.operations if issubclass(op, OperatorOp)}
    if missing := sorted(operators - set(EVALUATIONS)):
        pytest.skip(f"operators without evaluation: {', '.join(missing)}")
