"""The TIR functions that LegalizeOps makes, interpreted and compared with numpy."""

from collections.abc import Callable
from dataclasses import dataclass
from math import erf, sqrt
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from xdsl_tvm import interpret
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.relax import LegalizeOps
from xdsl_tvm.registry import new_context

Array = NDArray[Any]
N = 3
"""The value of the symbolic dimension `n` in the tests."""


@dataclass(frozen=True)
class Case:
    """An operator on operands, and what numpy makes of it."""

    body: str
    """`op` with operands `%0`, `%1`..., and what follows them up to the types."""
    operands: tuple[str, ...]
    result: str
    expected: Callable[[list[Array]], Array]
    symbols: tuple[int, ...] = ()
    """Values of the parameters that the function has for symbols, if any."""


def tensor(shape: str, dtype: str = "f32") -> str:
    """`4xnx8` as a tensor type; letters are symbols, `n * 2` is one as well."""
    dims = [dim for dim in shape.split("x") if dim]
    sizes = "".join(f"{dim if dim.isdigit() else '?'}x" for dim in dims)
    if all(dim.isdigit() for dim in dims):
        return f"tensor<{sizes}{dtype}>"
    return f"tensor<{sizes}{dtype}, #relax.dims<[{', '.join(dims)}]>>"


def softmax(x: Array, axis: int) -> Array:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def layer_norm(x: Array, gamma: Array, beta: Array, axes: tuple[int, ...]) -> Array:
    wide = x.astype(np.float64)
    mean = wide.mean(axes, keepdims=True)
    variance = wide.var(axes, keepdims=True)
    return (wide - mean) / np.sqrt(variance + 1e-5) * gamma + beta


def gelu(x: Array) -> Array:
    wide = [erf(value / sqrt(2)) for value in x.ravel().tolist()]
    return x * (0.5 + 0.5 * np.reshape(wide, x.shape))


CASES = {
    "add": Case("relax.add", ("4x8", "8"), "4x8", lambda v: v[0] + v[1]),
    "add symbolic": Case("relax.add", ("nx4", "1x4"), "nx4", lambda v: v[0] + v[1]),
    "add of scalars": Case("relax.add", ("", ""), "", lambda v: v[0] + v[1]),
    "subtract": Case("relax.subtract", ("4x1", "1x8"), "4x8", lambda v: v[0] - v[1]),
    "multiply": Case("relax.multiply", ("2x3", "2x3"), "2x3", lambda v: v[0] * v[1]),
    "divide": Case("relax.divide", ("2x3", ""), "2x3", lambda v: v[0] / v[1]),
    "matmul": Case("relax.matmul", ("3x4", "4x5"), "3x5", lambda v: v[0] @ v[1]),
    "matmul batch": Case(
        "relax.matmul", ("2x1x3x4", "5x4x2"), "2x5x3x2", lambda v: np.matmul(v[0], v[1])
    ),
    "matmul row": Case(
        "relax.matmul", ("4", "2x4x5"), "2x5", lambda v: np.matmul(v[0], v[1])
    ),
    "matmul column": Case(
        "relax.matmul", ("2x3x4", "4"), "2x3", lambda v: np.matmul(v[0], v[1])
    ),
    "matmul dot": Case("relax.matmul", ("4", "4"), "", lambda v: np.matmul(v[0], v[1])),
    "matmul symbolic": Case(
        "relax.matmul", ("nx4", "4xn"), "nxn", lambda v: np.matmul(v[0], v[1])
    ),
    "permute_dims": Case(
        "relax.permute_dims", ("2x3x4",), "4x3x2", lambda v: np.transpose(v[0])
    ),
    "permute_dims axes": Case(
        "relax.permute_dims {0} axes [1, -1, 0]",
        ("2x3x4",),
        "3x4x2",
        lambda v: v[0].transpose(1, 2, 0),
    ),
    "relu": Case("relax.nn.relu", ("nx5",), "nx5", lambda v: np.maximum(v[0], 0)),
    "gelu": Case("relax.nn.gelu", ("4x5",), "4x5", lambda v: gelu(v[0])),
    "softmax": Case(
        "relax.nn.softmax {0} axis -1", ("nx5",), "nx5", lambda v: softmax(v[0], -1)
    ),
    "softmax axis": Case(
        "relax.nn.softmax {0} axis 0", ("4x5",), "4x5", lambda v: softmax(v[0], 0)
    ),
    "layer_norm": Case(
        "relax.nn.layer_norm {0}, {1}, {2} axes [-1] epsilon 1.0e-05",
        ("nx8", "8", "8"),
        "nx8",
        lambda v: layer_norm(v[0], v[1], v[2], (1,)),
    ),
    "layer_norm axes": Case(
        "relax.nn.layer_norm {0}, {1}, {2} axes [1, 2] epsilon 1.0e-05",
        ("2x3x4", "3x4", "3x4"),
        "2x3x4",
        lambda v: layer_norm(v[0], v[1], v[2], (1, 2)),
    ),
    "sum": Case("relax.sum", ("3x4",), "", lambda v: np.asarray(v[0].sum())),
    "sum axis": Case("relax.sum {0} axis [0]", ("nx4",), "4", lambda v: v[0].sum(0)),
    "max": Case(
        "relax.max {0} axis [1, -1] keepdims",
        ("2x3x4",),
        "2x1x1",
        lambda v: v[0].max((1, 2), keepdims=True),
    ),
    "mean": Case("relax.mean {0} axis [-1]", ("3x4",), "3", lambda v: v[0].mean(-1)),
    "mean symbolic": Case(
        "relax.mean {0} axis [0]", ("nx4",), "4", lambda v: v[0].mean(0)
    ),
    "reshape": Case(
        "relax.reshape {0}, %shape",
        ("4x6",),
        "2x3x4",
        lambda v: v[0].reshape(2, 3, 4),
    ),
    "reshape symbolic": Case(
        "relax.reshape {0}, %shape",
        ("nx6",),
        "n * 2x3",
        lambda v: v[0].reshape(-1, 3),
    ),
    "parameter": Case(
        "relax.nn.relu", ("n * 2x3",), "n * 2x3", lambda v: np.maximum(v[0], 0), (N,)
    ),
}


def build(case: Case, dtype: str) -> ModuleOp:
    types = [tensor(shape, dtype) for shape in case.operands]
    names = [f"%{i}" for i in range(len(types))]
    body = case.body if "{" in case.body else f"{case.body} {', '.join(names)}"
    shape = ""
    if "%shape" in body:
        dims = f"[{', '.join(case.result.split('x'))}]"
        shape = f"%shape = relax.shape {dims}"
        types_of_operands = [*types, f"!relax.shape<{dims}>"]
    else:
        types_of_operands = types
    result = tensor(case.result, dtype)
    if case.symbols:
        # A symbol is bound by a parameter that has it as a bare dimension.
        names, types = [*names, "%n"], [*types, tensor("n", dtype)]
    parameters = ", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=True))
    symbols = "<n>" if "#relax" in parameters + result else ""
    module = Parser(
        new_context(),
        f"""relax.func @main{symbols}({parameters}) -> {result} {{
          {shape}
          %r = {body.format(*names)} : ({", ".join(types_of_operands)}) -> {result}
          relax.return %r : {result}
        }}""",
    ).parse_module()
    module.verify()
    return module


def shape_of(shape: str) -> tuple[int, ...]:
    return tuple(eval(dim, {"n": N}) for dim in shape.split("x") if dim)


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16"])
@pytest.mark.parametrize("name", CASES)
def test_operator_agrees_with_numpy(name: str, dtype: str):
    case = CASES[name]
    module = LegalizeOps()(build(case, dtype))
    module.verify()
    (function,) = [op for op in module.ops if isinstance(op, tir.FuncOp)]
    kind, tolerance = {
        "f16": (np.float16, 1e-2),
        "f32": (np.float32, 2e-6),
        "f64": (np.float64, 1e-14),
    }[dtype]
    rng = np.random.default_rng(0)
    inputs = [
        rng.uniform(0.5, 2.0, shape_of(shape)).astype(kind) * rng.choice([-1, 1])
        for shape in case.operands
    ]
    inputs = [np.asarray(array, kind) for array in inputs]
    expected = np.asarray(case.expected(inputs))
    result = np.empty(shape_of(case.result), kind)
    assert expected.shape == result.shape
    interpret(module)[function.sym_name.data](*inputs, result, *case.symbols)
    np.testing.assert_allclose(
        result.astype(np.float64), expected.astype(np.float64), tolerance, tolerance
    )


def test_integers():
    case = CASES["max"]
    module = LegalizeOps()(build(case, "i32"))
    data = np.arange(-12, 12, dtype=np.int32).reshape(2, 3, 4)
    result = np.empty((2, 1, 1), np.int32)
    interpret(module)["max"](data, result)
    assert result.ravel().tolist() == [-1, 11]


def test_a_large_mean_does_not_spoil_layer_norm():
    case = CASES["layer_norm"]
    module = LegalizeOps()(build(case, "f32"))
    rng = np.random.default_rng(1)
    data = (rng.standard_normal((N, 8)) + 10_000).astype(np.float32)
    one, zero = np.ones(8, np.float32), np.zeros(8, np.float32)
    result = np.empty((N, 8), np.float32)
    interpret(module)["layer_norm"](data, one, zero, result)
    expected = layer_norm(data, one, zero, (1,))
    np.testing.assert_allclose(result, expected, rtol=0, atol=2e-3)
