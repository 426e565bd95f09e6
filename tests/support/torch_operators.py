"""Calls of torch's operators with small arguments, and what comes of converting them.

The arguments are numpy arrays, so that this module is imported without torch, which
`run` needs. `torch_table.py` makes the table of docs/torch.md of the outcomes.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

import xdsl_tvm
from xdsl_tvm.frontend.torch import TorchError, detach_params
from xdsl_tvm.frontend.torch.convert import from_graph
from xdsl_tvm.frontend.torch.node import COMPLEX, CONVERTERS
from xdsl_tvm.frontend.torch.reading import read

Array = np.ndarray[Any, Any]
NAN, INF = float("nan"), float("inf")


@dataclass(frozen=True)
class Dtype:
    """A dtype of torch by its name, as an argument."""

    name: str


@dataclass(frozen=True)
class Case:
    """A call of an operator; arrays among the arguments are inputs of the program."""

    target: str
    """The operator and its overload, without `aten.`."""
    args: Sequence[object]
    kwargs: Mapping[str, object] = field(default_factory=dict[str, object])
    tolerance: float = 1e-5
    results: Sequence[int] | None = None
    """The results that are returned; all of them for None."""
    is_random: bool = False
    """Whether results are random, of which dtypes and shapes are compared."""


@dataclass(frozen=True)
class Outcome:
    """What came of a case."""

    case: Case
    failure: str = ""
    """Why it failed, empty where it passed."""
    is_direct: bool = True
    """Whether the operator was converted, and not decomposed by torch."""


# ---- arguments ----

_rng = np.random.default_rng(7)


def f(*shape: int) -> Array:
    """Normal numbers, of either sign."""
    return _rng.standard_normal(shape).astype(np.float32)


def p(*shape: int) -> Array:
    """Positive numbers, from 0.1 to 2."""
    return (_rng.random(shape) * 1.9 + 0.1).astype(np.float32)


def u(*shape: int) -> Array:
    """Numbers from -0.95 to 0.95."""
    return (_rng.random(shape) * 1.9 - 0.95).astype(np.float32)


def n(low: int, high: int, *shape: int, dtype: str = "int64") -> Array:
    """Integers from `low` to before `high`."""
    return _rng.integers(low, high, shape).astype(dtype)


def b(*shape: int) -> Array:
    """Truth values."""
    return _rng.random(shape) < 0.5


def a(*elements: object, dtype: str = "float32") -> Array:
    """A vector of these elements."""
    return np.array(elements, dtype)


def scalar() -> Array:
    """A number as a tensor without axes."""
    return np.array(2, "float32")


def case(
    target: str,
    *args: object,
    tolerance: float = 1e-5,
    results: Sequence[int] | None = None,
    is_random: bool = False,
    **kwargs: object,
) -> Case:
    """A case, with the keyword arguments of the operator."""
    return Case(target, args, kwargs, tolerance, results, is_random)


SPECIAL = a(0.0, -0.0, 1.5, -2.5, INF, -INF, NAN)


def _elementwise() -> Iterable[Case]:
    for name in ("abs", "neg", "relu", "sign", "square", "ceil", "floor", "round"):
        yield case(name, f(3, 4) * 3)
    for name in ("abs", "neg", "sign", "ceil", "trunc", "round", "relu"):
        yield case(name, n(-9, 9, 5))
    for name in ("acos", "asin", "atanh", "erf", "expm1", "log1p"):
        yield case(name, u(3, 4))
    for name in ("atan", "asinh", "cos", "cosh", "exp", "sigmoid", "sin", "sinh", "tan"):
        yield case(name, f(3, 4))
    for name in ("log", "log10", "log2", "rsqrt", "sqrt", "reciprocal"):
        yield case(name, p(3, 4))
    for name in ("exp", "sin", "sqrt", "sigmoid", "reciprocal", "log2"):
        # Integers become float32.
        yield case(name, n(1, 9, 5))
    yield case("acosh", p(3, 4) + 1)
    yield case("tanh", f(3, 4))
    yield case("trunc", f(3, 4) * 3)
    yield case("expm1", a(1e-6, -1e-7, 0.0, 90.0, -50.0, INF, -INF))
    yield case("log1p", a(1e-6, -1e-7, 0.0, -1.0, 1e30, INF, -0.5))
    yield case("round.decimals", f(5) * 10, decimals=1)
    yield case("round.decimals", f(5) * 100, decimals=-1)
    for name in ("isinf", "isnan", "isfinite"):
        yield case(name, SPECIAL)
    yield case("isnan", n(0, 5, 3))
    yield case("isinf", n(0, 5, 3))
    for name in ("eq", "ge", "gt", "le", "lt", "ne"):
        yield case(f"{name}.Tensor", n(0, 3, 3, 4), n(0, 3, 4))
        yield case(f"{name}.Scalar", n(0, 3, 3, 4), 1)
    yield case("lt.Tensor", n(0, 5, 4, dtype="int32"), f(4))
    yield case("lt.Tensor", n(0, 5, 4, dtype="uint8"), n(-5, 5, 4, dtype="int8"))
    yield case("gt.Scalar", n(0, 5, 4), 1.5)
    yield case("eq.Tensor", b(4), b(4))
    for name in ("logical_and", "logical_or", "logical_xor"):
        yield case(name, b(3, 4), b(4))
        yield case(name, n(0, 2, 4), f(4))
    yield case("logical_not", b(4))
    yield case("logical_not", n(0, 2, 4))
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        yield case(f"{name}.Tensor", n(0, 9, 3, 4), n(0, 9, 4))
        yield case(f"{name}.Tensor", b(4), b(4))
        yield case(f"{name}.Scalar", n(0, 9, 4), 6)
        short = name.removeprefix("bitwise_")
        yield case(f"__{short}__.Tensor", n(0, 9, 4), n(0, 9, 4))
        yield case(f"__{short}__.Scalar", n(0, 9, 4), 6)
    for name in ("__lshift__", "__rshift__"):
        yield case(f"{name}.Tensor", n(0, 99, 4), n(0, 5, 4))
        yield case(f"{name}.Scalar", n(0, 99, 4), 2)
    yield case("bitwise_not", n(-9, 9, 4))
    yield case("bitwise_not", b(4))
    yield case("bitwise_left_shift.Tensor", n(0, 9, 4), n(0, 5, 4))
    yield case("bitwise_left_shift.Tensor_Scalar", n(0, 9, 4), 2)
    yield case("bitwise_right_shift.Tensor", n(-99, 99, 4), n(0, 5, 4))
    yield case("bitwise_right_shift.Tensor_Scalar", n(-99, 99, 4), 2)


def _arithmetic() -> Iterable[Case]:
    for name in ("add", "sub", "mul", "div"):
        yield case(f"{name}.Tensor", f(3, 4), p(4))
        yield case(f"{name}.Scalar", f(3, 4), 2.5)
        yield case(f"{name}.Tensor", n(1, 9, 4), n(1, 9, 4, dtype="int32"))
    yield case("add.Tensor", f(3, 4), f(3, 1), alpha=2)
    yield case("add.Tensor", n(0, 5, 4), f(4))
    yield case("add.Tensor", b(4), b(4))
    yield case("sub.Tensor", f(3, 4), f(4), alpha=0.5)
    yield case("mul.Tensor", b(4), b(4))
    yield case("mul.Scalar", n(0, 5, 4), 1.5)
    yield case("add.Tensor", f(4).astype("float16"), f(4).astype("float16"))
    yield case("div.Tensor", n(-9, 9, 5), n(1, 5, 5))
    yield case("div.Tensor", f(3), a(0.0, -0.0, INF))
    yield case("rsub.Scalar", f(4), 2.0)
    yield case("rsub.Tensor", f(4), f(4))
    for mode in (None, "floor", "trunc"):
        yield case("div.Tensor_mode", f(8) * 5, p(8), rounding_mode=mode)
        yield case("div.Scalar_mode", f(8) * 5, 0.7, rounding_mode=mode)
        yield case("div.Tensor_mode", n(-9, 9, 8), n(1, 5, 8), rounding_mode=mode)
    yield case("floor_divide", n(-9, 9, 8), n(1, 5, 8))
    yield case("fmod.Tensor", f(8) * 5, p(8))
    yield case("fmod.Tensor", n(-9, 9, 8), n(1, 5, 8))
    yield case("fmod.Scalar", f(8) * 5, -1.5)
    yield case("remainder.Tensor", f(8) * 5, f(8))
    yield case("remainder.Tensor", n(-9, 9, 8), n(-5, 0, 8))
    yield case("remainder.Scalar", f(8) * 5, -1.5)
    yield case("remainder.Scalar_Tensor", 7, n(1, 5, 4))
    yield case("pow.Tensor_Tensor", p(5), f(5))
    yield case("pow.Tensor_Tensor", n(0, 5, 5), n(0, 4, 5))
    for exponent in (2, 3, 0.5, -1, 1.7):
        yield case("pow.Tensor_Scalar", p(5), exponent)
    yield case("pow.Tensor_Scalar", n(-3, 3, 5), 3)
    yield case("pow.Scalar", 2, f(5))
    for name in ("maximum", "minimum"):
        yield case(name, f(3, 4), f(4))
        yield case(name, SPECIAL, SPECIAL[::-1].copy())
        yield case(name, b(4), b(4))
    yield case("clamp", f(8), -0.5, 0.5)
    yield case("clamp", f(8), 0.1)
    yield case("clamp", n(-5, 5, 8), max=2)
    yield case("clamp", n(-5, 5, 8), -1.5, 2.5)
    yield case("clamp.Tensor", f(3, 4), f(4) - 1, f(4) + 1)
    yield case("atan2", f(12), f(12))
    grid = np.array(np.meshgrid(SPECIAL, SPECIAL)).reshape(2, -1).astype(np.float32)
    yield case("atan2", grid[0], grid[1])
    yield case("copysign.Tensor", f(7), SPECIAL[:6].repeat(2)[:7])
    yield case("copysign.Scalar", n(-5, 5, 4), -2.0)
    yield case("signbit", SPECIAL[:6])
    yield case("signbit", n(-5, 5, 4))
    yield case("hypot", f(12), f(12))
    yield case("hypot", a(0, 3e30, INF, NAN, 3), a(0, 4e30, 1, 1, -INF))
    yield case("exp2", f(5))
    yield case("where.self", b(3, 4), f(4), f(3, 1))
    yield case("where.self", b(4), n(0, 4, 4), f(4))
    yield case("where.ScalarOther", b(4), f(4), 2.0)
    yield case("where.ScalarSelf", b(4), 2.0, f(4))
    yield case("where.Scalar", b(4), 2.0, 3.0)
    yield case("masked_fill.Scalar", f(3, 4), b(4), -INF)
    yield case("masked_fill.Tensor", f(3, 4), b(4), scalar())
    yield case("fill.Scalar", f(3, 4), 2.5)
    yield case("fill.Tensor", f(3, 4), scalar())
    yield case("copy", f(3, 4), n(0, 4, 4))
    yield case("type_as", f(3, 4), n(0, 4, 3))
    for name in ("alias", "clone", "detach", "detach_copy", "lift_fresh_copy"):
        yield case(name, f(3, 4))
    yield case("dropout", f(3, 4), 0.5, False)
    for dtype in ("int32", "bool", "float64", "float16", "uint8"):
        yield case("_to_copy", p(5) * 3 - 1 * (dtype != "uint8"), dtype=Dtype(dtype))
    yield case("to.dtype", n(0, 5, 4), Dtype("float32"))
    yield case("view.dtype", f(4), Dtype("int32"))


def _activations() -> Iterable[Case]:
    yield case("gelu", f(3, 4))
    yield case("gelu", f(3, 4), approximate="tanh")
    yield case("silu", f(3, 4))
    yield case("leaky_relu", f(3, 4), 0.2)
    yield case("softplus", f(3, 4) * 20)
    yield case("softplus", f(3, 4), 2.0, 1.0)
    yield case("hardtanh", f(3, 4))
    yield case("hardtanh", f(3, 4), -0.2, 0.3)
    yield case("relu6", f(3, 4) * 5)
    yield case("elu", f(3, 4))
    yield case("elu", f(3, 4) * 50, 1.5, 2.0, 0.5)
    yield case("prelu", f(2, 3, 4), f(3))
    yield case("_prelu_kernel", f(2, 3, 4), f(1, 3, 1))
    # What torch decomposes.
    for name in (
        "hardsigmoid",
        "hardswish",
        "mish",
        "selu",
        "celu",
        "log_sigmoid_forward",
    ):
        yield case(name, f(3, 4) * 3)
    yield case("threshold", f(3, 4), 0.1, 20.0)
    yield case("glu", f(3, 4))
    for name in ("_softmax", "_log_softmax"):
        yield case(name, f(3, 4), -1, False)
        yield case(name, f(2, 3, 4), 1, False)
        yield case(name, scalar(), 0, False)
    yield case("softmax.int", f(3, 4), 0)
    yield case("softmax.int", f(3, 4).astype("float16"), 0, Dtype("float32"))
    yield case("log_softmax.int", f(3, 4), 1)
    rows = f(3, 4)
    rows[1] = -INF
    yield case("_safe_softmax", rows, -1)


def _reductions() -> Iterable[Case]:
    for name in ("amax", "amin"):
        yield case(name, f(2, 3, 4))
        yield case(name, f(2, 3, 4), [0, -1], True)
        yield case(name, n(0, 9, 3, 4), [1])
    for name in ("any", "all"):
        yield case(name, b(3, 4))
        yield case(f"{name}.dim", b(3, 4), 1)
        yield case(f"{name}.dim", n(0, 2, 3, 4), 0, True)
        yield case(f"{name}.dims", b(2, 3, 4), [0, 2])
        yield case(f"{name}.dim", b(3, 0), 1)
    for name in ("argmax", "argmin"):
        yield case(name, f(3, 4))
        yield case(name, f(3, 4), 1)
        yield case(name, f(3, 4), 0, True)
        yield case(name, a(1, NAN, 3))
        yield case(name, scalar())
    for name in ("max", "min"):
        yield case(name, f(3, 4))
        yield case(f"{name}.dim", f(3, 4), 1)
        yield case(f"{name}.dim", n(0, 99, 3, 4), 0, True)
        yield case(f"{name}.dim", b(3, 4), 1, results=[0])
        yield case(f"{name}.dim", scalar(), 0)
    for name in ("mean", "sum", "prod"):
        yield case(name, f(3, 4))
        yield case(name, scalar())
    yield case("mean.dim", f(2, 3, 4), [0, 2], True)
    yield case("mean.dim", n(0, 9, 3, 4), [1], dtype=Dtype("float32"))
    yield case("sum.dim_IntList", f(2, 3, 4), [0, 2], True)
    yield case("sum.dim_IntList", n(0, 9, 3, 4, dtype="int32"), [1])
    yield case("sum.dim_IntList", b(3, 4), [1])
    yield case("sum.dim_IntList", f(3, 4), None)
    yield case("prod.dim_int", f(3, 4), 1)
    yield case("prod.dim_int", n(1, 4, 3, 4, dtype="int32"), 0, True)
    yield case("var.dim", f(3, 4), [1])
    yield case("var.dim", f(3, 4), [0, 1], False, True)
    yield case("var.correction", f(3, 4), [1])
    yield case("var.correction", f(3, 4), None, correction=0)
    yield case("var.correction", f(3, 4), [0], correction=2, keepdim=True)
    yield case("var_mean.correction", f(3, 4), [1], correction=1)
    yield case("std.correction", f(3, 4), [1], correction=1)
    yield case("cumsum", f(3, 4), 1)
    yield case("cumsum", n(0, 9, 3, 4, dtype="int32"), 0)
    yield case("cumsum", b(4), 0)
    yield case("cumprod", f(3, 4), -1)
    for power in (0.0, 1.0, 2.0, 3.0, INF):
        yield case("_cdist_forward", f(2, 3, 4), f(2, 5, 4), power, None)
        yield case("_pdist_forward", f(4, 3), power)
    yield case("logsumexp", f(3, 4), [1])
    yield case("linalg_vector_norm", f(3, 4), 2, [1])


def _creation() -> Iterable[Case]:
    x = f(3, 4)
    yield case("full", [2, 3], 1.5)
    yield case("full", [2, 3], 7)
    yield case("full", [], 1.5)
    yield case("full", [2], True)
    yield case("full_like", x, 2)
    yield case("new_full", x, [2], 3)
    for name in ("ones_like", "zeros_like"):
        yield case(name, x)
    yield case("ones", [2, 3])
    yield case("zeros", [2, 3], dtype=Dtype("int32"))
    yield case("new_ones", x, [2])
    yield case("new_zeros", x, [2])
    yield case("scalar_tensor", 2.5)
    yield case("scalar_tensor", 3, dtype=Dtype("int64"))
    yield case("arange.start_step", 2, 20, 3)
    yield case("arange.start_step", 5, -5, -2, dtype=Dtype("float32"))
    yield case("arange.start_step", 0.5, 3.0, 0.5)
    yield case("arange", 5)
    yield case("arange.start", 1, 5)
    for name in ("empty.memory_format", "new_empty"):
        yield case(name, *([x] if "new" in name else []), [0, 3])
    for name in ("empty_strided", "new_empty_strided"):
        yield case(name, *([x] if "new" in name else []), [0, 3], [3, 1])
    yield case("empty_like", f(0, 3))
    yield case("empty_permuted", [0, 3], [0, 1])
    yield case("eye", 3)
    yield case("eye.m", 3, 4)
    for name in ("tril", "triu"):
        yield case(name, f(4, 5))
        yield case(name, f(2, 4, 5), 1)
        yield case(name, b(4, 4), -1)
    yield case("linspace", 0.0, 1.0, 5)


def _layout() -> Iterable[Case]:
    x = f(2, 3, 4)
    yield case("view", x, [6, 4])
    yield case("view", x, [-1])
    yield case("_unsafe_view", x, [4, 6])
    yield case("_reshape_alias", x, [4, 6], [6, 1])
    yield case("expand_copy", f(3, 1), [3, 4])
    yield case("permute_copy", x, [2, 0, 1])
    yield case("select_copy.int", x, 1, 0)
    yield case("slice_copy.Tensor", x, 1, 0, 2)
    yield case("diagonal_copy", f(3, 4))
    yield case("as_strided_copy", f(8), [3, 4], [2, 1])
    yield case("concat", [f(2, 3), f(1, 3)])
    yield case("view_copy", x, [4, 6])
    yield case("unsqueeze", x, 1)
    yield case("unsqueeze", scalar(), 0)
    yield case("squeeze.dim", f(2, 1, 4), 1)
    yield case("squeeze.dim", x, 1)
    yield case("squeeze.dims", f(1, 2, 1), [0, 2])
    yield case("squeeze", f(1, 2, 1))
    yield case("expand", f(3, 1), [2, 3, 4])
    yield case("expand", f(3, 1), [-1, 4])
    yield case("permute", x, [2, 0, 1])
    yield case("transpose.int", x, 0, -1)
    yield case("t", f(3, 4))
    yield case("flip", x, [0, 2])
    yield case("roll", f(3, 4), [1, -2], [0, 1])
    yield case("roll", f(3, 4), [5])
    yield case("repeat", f(3, 4), [2, 1, 3])
    yield case("repeat", f(3), [0])
    yield case("cat", [f(2, 3), f(4, 3)])
    yield case("cat", [f(2, 3), n(0, 4, 2, 2)], 1)
    yield case("cat", [f(0), f(2, 3)])
    yield case("stack", [f(2, 3), f(2, 3)], -1)
    yield case("split_with_sizes", f(6, 2), [1, 2, 3])
    yield case("split_with_sizes", f(2, 6), [4, 2], 1, results=[1])
    yield case("split.Tensor", f(5, 2), 2)
    yield case("unbind.int", f(3, 4), 1)
    yield case("slice.Tensor", x, 1, 1)
    yield case("slice.Tensor", x, 2, 0, 9223372036854775807, 2)
    yield case("slice.Tensor", x, -1, -3, -1)
    yield case("slice.Tensor", x, 2, -9, 2)
    yield case("slice.Tensor", x, 2, 3, 1)
    yield case("select.int", x, 1, 2)
    yield case("select.int", x, -1, -2)
    yield case("slice_scatter", f(5, 4), f(2, 4), 0, 1, 3)
    yield case("slice_scatter", f(5, 4), f(5, 2), 1, 0, 4, 2)
    yield case("slice_scatter", f(5, 4), f(5, 4), 1)
    yield case("select_scatter", f(3, 4), f(3), 1, -1)
    yield case("diagonal", f(3, 4))
    yield case("diagonal", f(2, 3, 4), 1, 1, 2)
    yield case("diagonal", f(4, 2, 3), -1, 0, 2)
    yield case("as_strided", f(4, 4), [2, 3], [4, 1], 5)
    yield case("as_strided", f(8), [3, 4], [2, 1])
    yield case("unfold", f(3, 7), 1, 3, 2)
    yield case("unfold_copy", f(3, 7), 0, 2, 1)


def _indexing() -> Iterable[Case]:
    yield case("embedding", f(5, 4), n(0, 5, 2, 3))
    bags = n(0, 5, 6), a(0, 2, 5, dtype="int64")
    for mode in (0, 1, 2):
        yield case("_embedding_bag", f(5, 4), *bags, False, mode, results=[0])
    yield case("_embedding_bag", f(5, 4), *bags, per_sample_weights=f(6), results=[0])
    bags = a(1, 2, 1, 3, dtype="int64"), a(0, 2, 4, dtype="int64")
    yield case(
        "_embedding_bag", f(5, 4), *bags, False, 1,
        include_last_offset=True, padding_idx=1, results=[0],
    )  # fmt: skip
    yield case("_embedding_bag_forward_only", f(5, 4), *bags, results=[0])
    yield case("index_select", f(3, 4), 1, n(0, 4, 5))
    yield case("gather", f(3, 4), 1, n(0, 4, 3, 2))
    yield case("gather", f(3, 4), 0, n(0, 3, 2, 3))
    yield case("take", f(3, 4), n(-12, 12, 5))
    yield case("nonzero", n(0, 2, 3, 4))
    yield case("nonzero", b(5))
    yield case("index.Tensor", f(3, 4), [n(-3, 3, 5)])
    yield case("index.Tensor", f(3, 4), [None, n(-4, 4, 2, 2)])
    yield case("index.Tensor", f(3, 4, 5), [n(0, 3, 2), n(-4, 4, 2)])
    yield case("index.Tensor", f(3, 4, 5), [None, n(0, 4, 2, 1), n(0, 5, 3)])
    yield case("index.Tensor", f(3, 4, 5), [n(0, 3, 2), None, n(0, 5, 2)])
    yield case("index.Tensor", f(3, 4), [b(3, 4)])
    yield case("index.Tensor", f(3, 4), [b(3)])
    yield case("index.Tensor", f(3, 4), [None, b(4)])
    yield case("_unsafe_index.Tensor", f(3, 4), [n(0, 3, 5)])
    yield case("_unsafe_index_put", f(3, 4), [a(0, 2, dtype="int64")], f(2, 4))
    yield case("index_put", f(3, 4), [n(-3, 3, 5)], f(5, 4), True)
    yield case("index_put", f(5, 4), [a(0, 3, -1, dtype="int64")], f(3, 4))
    yield case("index_put", f(3, 4), [None, a(1, 3, dtype="int64")], f(3, 2))
    yield case(
        "index_put", f(3, 4), [a(0, 2, dtype="int64"), a(1, 3, dtype="int64")], f(1)
    )
    yield case(
        "index_put", f(3, 4, 5), [a(0, 2, dtype="int64"), None, n(0, 5, 2)], f(2, 4)
    )
    yield case("index_put", f(3, 4), [b(3, 4)], f(1))
    yield case("index_put", f(3, 4), [b(3)], f(4))
    yield case("index_add", f(3, 4), 1, n(0, 4, 5), f(3, 5), alpha=2)
    yield case("scatter.src", f(3, 4), 1, a([0, 3], [2, 1], dtype="int64"), f(3, 4))
    yield case("scatter.value", f(3, 4), 0, a([0, 1, 2, 0], dtype="int64"), 2.5)
    yield case("scatter.reduce", f(3, 4), 1, n(0, 4, 3, 4), f(3, 4), reduce="add")
    yield case("scatter.value_reduce", f(3, 4), 1, n(0, 4, 3, 4), 2.0, reduce="multiply")
    yield case("scatter_add", f(3, 4), 1, n(0, 4, 3, 6), f(3, 6))
    for kind in ("sum", "prod", "mean", "amax", "amin"):
        for include in (True, False):
            yield case(
                "scatter_reduce.two", f(3, 4), 1, n(0, 4, 3, 5), f(3, 5), kind,
                include_self=include,
            )  # fmt: skip
    yield case("masked_scatter", f(3, 4), b(3, 4), f(12))
    yield case("sort", f(3, 4))
    yield case("sort", f(3, 4), 0, True)
    yield case("sort.stable", n(0, 3, 9), stable=True, dim=0)
    yield case("sort", b(1, 2), -1, results=[0])
    yield case("argsort", f(5))
    yield case("argsort.stable", n(0, 3, 9), stable=True, dim=0)
    yield case("topk", f(3, 5), 2)
    yield case("topk", f(5, 3), 2, 0, False)
    yield case("topk", f(3, 5), 0)


def _linear() -> Iterable[Case]:
    yield case("mm", f(3, 4), f(4, 5))
    yield case("bmm", f(2, 3, 4), f(2, 4, 5))
    yield case("mv", f(3, 4), f(4))
    yield case("dot", f(4), f(4))
    yield case("vdot", f(4), f(4))
    yield case("matmul", f(2, 3, 4), f(4, 5))
    yield case("matmul", f(4), f(2, 4, 5))
    yield case("matmul", f(2, 1, 3, 4), f(3, 4, 5))
    yield case("linear", f(2, 3, 4), f(5, 4), f(5))
    yield case("linear", f(4), f(5, 4))
    yield case("addmm", f(5), f(3, 4), f(4, 5))
    yield case("addmm", f(3, 5), f(3, 4), f(4, 5), beta=0.5, alpha=2)
    yield case("addmm", f(3, 5) * NAN, f(3, 4), f(4, 5), beta=0)
    yield case("addmv", f(3), f(3, 4), f(4))
    yield case("baddbmm", f(2, 3, 5), f(2, 3, 4), f(2, 4, 5))
    yield case("addbmm", f(3, 5), f(2, 3, 4), f(2, 4, 5))
    yield case("einsum", "bij,bkj->bik", [f(2, 3, 4), f(2, 5, 4)])
    yield case("einsum", "...i,i", [f(2, 3), f(3)])
    q, k, v = f(1, 2, 3, 4), f(1, 2, 5, 4), f(1, 2, 5, 4)
    name = "scaled_dot_product_attention"
    yield case(name, q, k, v)
    yield case(name, q, k, v, None, 0.0, True)
    yield case(name, q, k, v, f(3, 5))
    yield case(name, q, k, v, a([1, 0, 1, 0, 1], [0] * 5, [1] * 5, dtype="bool"))
    yield case(name, q, k, v, scale=0.3)
    yield case(name, f(1, 4, 3, 4), k, v, enable_gqa=True)
    yield case(name, f(2, 3, 4), f(2, 5, 4), f(2, 5, 4), None, 0.0, True)


def _convolutions() -> Iterable[Case]:
    def convolution(*args: object) -> Case:
        return case("convolution", *args, tolerance=1e-4)

    x1, x2, x3 = f(2, 4, 9), f(1, 4, 7, 6), f(1, 2, 4, 5, 3)
    yield convolution(x1, f(6, 4, 3), f(6), [2], [1], [1], False, [0], 1)
    yield convolution(x2, f(6, 4, 3, 3), f(6), [2, 1], [1, 0], [1, 2], False, [0, 0], 1)
    yield convolution(x2, f(4, 1, 3, 3), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 4)
    yield convolution(
        x3, f(3, 2, 2, 2, 2), f(3), [1] * 3, [1] * 3, [1] * 3, False, [0] * 3, 1
    )
    yield convolution(x1, f(4, 3, 3), f(6), [2], [1], [1], True, [1], 2)
    yield convolution(x2, f(4, 6, 3, 3), f(6), [2, 1], [1, 0], [1, 2], True, [1, 0], 1)
    yield convolution(x2, f(4, 3, 3, 3), None, [2, 2], [1, 1], [1, 1], True, [1, 1], 2)
    yield convolution(
        x3, f(2, 3, 2, 3, 2), f(3), [2] * 3, [1, 0, 1], [1] * 3, True, [1] * 3, 1
    )
    yield convolution(
        x3, f(2, 2, 2, 3, 1), None, [1, 2, 1], [0, 1, 0], [1] * 3, True, [0] * 3, 2
    )
    plain = [False] * 4
    yield convolution(x1, f(6, 4, 3), f(6), [2], [1], [1], False, [0], 1)
    yield case("_convolution", x1, f(6, 4, 3), None, [1], [0], [1], False, [0], 1, *plain)
    yield case("avg_pool1d", f(2, 3, 8), [3], [2], [1], tolerance=1e-5)
    yield case("avg_pool2d", x2, [3, 2], [2, 2], [1, 1])
    yield case("avg_pool2d", x2, [3, 2], [2, 2], [1, 1], True, False)
    yield case("avg_pool2d", x2, [2, 2], [3, 3], [1, 1], True)
    yield case("avg_pool2d", x2, [2, 2], [], 0, False, True, 3)
    yield case("avg_pool2d", f(4, 6, 6), [2, 2])
    yield case("avg_pool3d", x3, [2, 2, 2], [1, 2, 1])
    yield case("max_pool1d", f(2, 3, 8), [3], [2], [1])
    yield case("max_pool2d", x2, [3, 3], [2, 2], [1, 1])
    yield case("max_pool3d", x3, [2, 2, 2], [1, 2, 1])
    name = "max_pool2d_with_indices"
    yield case(name, x2, [3, 3], [2, 2], [1, 1], results=[0])
    yield case(name, x2, [3, 3], [2, 2], [1, 1])
    yield case(name, x2, [2, 3], [2, 2], [0, 1], [2, 1], True)
    yield case(name, f(3, 6, 6), [2, 2])
    yield case("max_pool3d_with_indices", x3, [2, 2, 2], [1, 2, 1])
    yield case("adaptive_avg_pool1d", f(2, 3, 7), [3])
    for prefix in ("", "_"):
        yield case(f"{prefix}adaptive_avg_pool2d", x2, [3, 2])
        yield case(f"{prefix}adaptive_avg_pool3d", x3, [2, 3, 2])
    yield case("adaptive_max_pool2d", x2, [3, 2], results=[0])
    yield case("adaptive_max_pool3d", x3, [2, 3, 2], results=[0])
    yield case("adaptive_max_pool1d", f(2, 3, 7), [3], results=[0])


def _normalization() -> Iterable[Case]:
    x = f(2, 4, 5)
    name = "_native_batch_norm_legit_no_training"
    yield case(name, x, f(4), f(4), f(4), p(4), 0.1, 1e-5)
    yield case(name, f(2, 4), None, None, f(4), p(4), 0.1, 1e-3)
    yield case("_native_batch_norm_legit.no_stats", x, f(4), f(4), True, 0.1, 1e-5)
    yield case("native_layer_norm", x, [5], f(5), f(5), 1e-5)
    yield case("native_layer_norm", x, [4, 5], None, None, 1e-5, results=[0])
    yield case("layer_norm", x, [4, 5], f(4, 5), f(4, 5))
    yield case("layer_norm", x, [5])
    yield case("native_group_norm", x, f(4), f(4), 2, 4, 5, 2, 1e-5)
    yield case("native_group_norm", x, None, None, 2, 4, 5, 2, 1e-5, results=[0])
    yield case("group_norm", x, 2, f(4), f(4))
    yield case("rms_norm", x, [5], f(5))
    yield case("rms_norm", x, [4, 5], None, 1e-5)
    yield case("instance_norm", x, f(4), f(4), None, None, True, 0.1, 1e-5, False)


def _sampling() -> Iterable[Case]:
    x = f(1, 2, 4, 5)
    yield case("constant_pad_nd", x, [1, 2, 0, 1], 1.5)
    yield case("constant_pad_nd", x, [-1, 2, 1, -2])
    yield case("constant_pad_nd", n(0, 5, 3, 4), [1, 1], 7)
    yield case("constant_pad_nd", b(3, 4), [1, 1, 2, 0], 1)
    for name in ("reflection", "replication"):
        yield case(f"{name}_pad1d", f(2, 3, 6), [2, 1])
        yield case(f"{name}_pad2d", x, [2, 1, 0, 3])
        yield case(f"{name}_pad3d", f(1, 2, 3, 4, 5), [1, 2, 0, 1, 2, 1])
    yield case("upsample_nearest2d.vec", x, [7, 5], None)
    yield case("upsample_nearest2d.vec", x, None, [2.0, 3.0])
    yield case("upsample_nearest2d", x, [3, 9])
    yield case("upsample_bilinear2d.vec", x, [7, 9], False, None)
    yield case("upsample_bilinear2d.vec", x, None, True, [2.0, 2.0])
    yield case("upsample_bilinear2d", x, [3, 4], False)
    yield case("upsample_bicubic2d.vec", x, [7, 9], False, None, tolerance=1e-4)
    yield case("upsample_bicubic2d", x, [3, 8], True, tolerance=1e-4)
    yield case("upsample_nearest1d.vec", f(1, 2, 5), [8], None)
    yield case("upsample_linear1d.vec", f(1, 2, 5), [8], False, None)
    yield case("upsample_trilinear3d.vec", f(1, 1, 2, 3, 2), [3, 4, 4], False, None)
    yield case("pixel_shuffle", f(1, 8, 2, 3), 2)
    yield case("pixel_unshuffle", f(1, 2, 4, 6), 2)
    yield case("col2im", f(1, 8, 9), [4, 4], [2, 2], [1, 1], [0, 0], [1, 1])
    yield case("col2im", f(8, 15), [5, 6], [2, 2], [2, 1], [1, 0], [2, 1])
    yield case("im2col", f(1, 2, 4, 4), [2, 2], [1, 1], [0, 0], [1, 1])
    grid = u(1, 3, 2, 2) * 1.2
    for mode in (0, 1, 2):
        for padding in (0, 1, 2):
            yield case(
                "grid_sampler_2d", x, grid, mode, padding, padding == 1, tolerance=1e-4
            )


def _backward() -> Iterable[Case]:
    """Operators of training, which torch decomposes."""
    x, grad = f(2, 4, 5), f(2, 4, 5)
    stats = f(2, 4, 1), p(2, 4, 1)
    yield case("native_layer_norm_backward", grad, x, [5], *stats, f(5), f(5), [True] * 3)
    groups = f(2, 2), p(2, 2)
    yield case(
        "native_group_norm_backward", grad, x, *groups, f(4), 2, 4, 5, 2, [True] * 3
    )
    yield case("embedding_dense_backward", f(2, 3, 4), n(0, 5, 2, 3), 5, -1, False)
    images = f(1, 2, 4, 4)
    window = [[2, 2], [2, 2], [0, 0]]
    name = "avg_pool2d_backward"
    yield case(name, f(1, 2, 2, 2), images, *window, False, True, None)
    for counts in (True, False):
        over = [[3, 2], [2, 1], [1, 0]]
        yield case(name, f(2, 4, 5), f(2, 7, 6), *over, True, counts, None)
    yield case(name, f(1, 2, 2, 2), images, [2, 3], [2, 1], [0, 0], False, True, 5)
    yield case("_adaptive_avg_pool2d_backward", f(1, 2, 2, 2), images)
    yield case("_adaptive_avg_pool2d_backward", f(2, 3, 5), f(2, 7, 3))
    places = a([[0, 2], [8, 10]], [[5, 7], [13, 15]], dtype="int64").reshape(1, 2, 2, 2)
    yield case(
        "max_pool2d_with_indices_backward",
        f(1, 2, 2, 2), images, *window, [1, 1], False, places,
    )  # fmt: skip
    name = "convolution_backward"
    plain = [1, 1], [0, 0], [1, 1], False, [0, 0]
    yield case(name, f(1, 3, 2, 2), images, f(3, 2, 3, 3), [3], *plain, 1, [True] * 3)
    uneven = [2, 3], [1, 2], [2, 1], False, [0, 0]
    yield case(
        name, f(2, 6, 4, 3), f(2, 4, 8, 7), f(6, 2, 2, 3), [6], *uneven, 2, [True] * 3
    )
    over = [2], [1], [1], True, [1]
    yield case(name, f(2, 6, 11), f(2, 4, 6), f(4, 3, 2), [6], *over, 2, [True] * 3)
    deep = [2, 1, 1], [1, 0, 1], [1, 1, 2], False, [0, 0, 0]
    data, weight = f(1, 2, 4, 3, 4), f(2, 2, 2, 2, 2)
    yield case(name, f(1, 2, 3, 2, 4), data, weight, [2], *deep, 1, [True] * 3)
    yield case(
        name, f(1, 3, 2, 2), images, f(3, 2, 3, 3), [0], *plain, 1, [False, True, False],
        results=[1],
    )  # fmt: skip
    stats = f(4), p(4)
    yield case("_native_batch_norm_legit", x, f(4), f(4), *stats, True, 0.1, 1e-5)
    yield case("_native_batch_norm_legit", x, None, None, *stats, False, 0.1, 1e-3)
    yield case("native_dropout", f(3, 4), 0.5, False)
    yield case("native_dropout", f(3, 4), 0.0, True)
    yield case("native_dropout", f(3, 4), 1.0, True)
    yield case("atan2.out", f(5), f(5), out=f(5))
    yield case("resize_", f(3, 4), [2, 6])


def c(*shape: int) -> Array:
    """Complex numbers."""
    return f(*shape) + np.complex64(1j) * f(*shape)


def _complex() -> Iterable[Case]:
    """Complex numbers, that programs are passed and return as pairs of real ones."""
    yield case("_fft_r2c", f(3, 4), [1], 0, True)
    yield case("_fft_r2c", f(3, 5, 2), [0, 1], 1, False)
    yield case("_fft_r2c", f(3, 5).astype("float64"), [0], 2, True)
    yield case("_fft_c2r", c(3, 3), [1], 0, 4)
    yield case("_fft_c2r", c(4, 3, 2), [0, 1], 2, 5)
    yield case("_fft_c2c", c(3, 6), [1], 0, True)
    yield case("_fft_c2c", c(3, 5), [0, 1], 1, False)
    yield case("view_as_real", c(3, 4))
    yield case("view_as_complex", f(3, 2))
    for name in ("alias", "clone", "detach", "neg", "abs"):
        yield case(name, c(3, 4))
    for name in ("mul", "add", "sub"):
        yield case(f"{name}.Tensor", c(3, 4), c(4))
        yield case(f"{name}.Tensor", c(4), f(3, 4))
        yield case(f"{name}.Tensor", f(3, 4), c(4))
    yield case("mul.Scalar", c(3, 4), 2.5)
    yield case("permute", c(2, 3, 4), [2, 0, -2])
    yield case("transpose.int", c(2, 3, 4), 0, -1)
    yield case("view", c(3, 4), [2, 6])
    yield case("unsqueeze", c(3, 4), -1)
    yield case("squeeze.dim", c(3, 1), 1)
    yield case("squeeze.dims", c(1, 3, 1), [0, 2])
    yield case("slice.Tensor", c(3, 9), 1, -7, 8, 3)
    yield case("select.int", c(3, 4), -2, -1)
    yield case("_to_copy", f(3), dtype=Dtype("complex64"))


def _random() -> Iterable[Case]:
    def random(target: str, *args: object, **kwargs: object) -> Case:
        return Case(target, args, kwargs, is_random=True)

    for name in ("rand", "randn"):
        yield random(name, [2, 3])
        yield random(name, [5], dtype=Dtype("float64"))
        yield random(name, [5], dtype=Dtype("float16"))
        yield random(f"{name}_like", f(3, 4))
    yield random("randperm", 4)
    yield random("randint", 9, [3])
    yield random("randint.low", -5, 9, [3], dtype=Dtype("int32"))
    yield random("randint_like", f(3), 9)
    yield random("randint_like.low_dtype", n(0, 5, 3), 2, 9)
    yield random("bernoulli.p", f(3, 4), 0.3)
    yield random("native_dropout", f(3, 4), 0.5, True)
    yield random("normal.float_float", 1.0, 2.0, [3])
    yield random("normal_functional", f(3), 1.0, 2.0)
    yield random("uniform", f(3), 1.0, 2.0)
    yield random("exponential", f(3), 2.0)
    yield random("multinomial", p(2, 5), 3)
    yield random("multinomial", p(5), 7, True)


def all_cases() -> list[Case]:
    """All cases, the same in every run."""
    families: Sequence[Callable[[], Iterable[Case]]] = (
        _elementwise,
        _arithmetic,
        _activations,
        _reductions,
        _creation,
        _layout,
        _indexing,
        _linear,
        _convolutions,
        _normalization,
        _sampling,
        _backward,
        _complex,
        _random,
    )
    return [each for family in families for each in family()]


# ---- what is run ----


def run(given: Case, *, compiled: bool) -> Outcome:
    """The outcome of a case. Errors of any class are failures, which the table shows."""
    try:
        program, expected, inputs, after = exported(given)
        target = full_name(given.target)
        graph = read(program, {*CONVERTERS, *COMPLEX})
        is_direct = any(node.target == target for node in graph.nodes)
        # What the program changes follows its results.
        names = [each.name for each in graph.inputs]
        expected += [after[names.index(name)] for name, _ in graph.mutations]
        module = from_graph(graph, seed=1 if given.is_random else None)
        if given.is_random:
            module, params = detach_params(module)
            inputs += params["main"]
        roads = [xdsl_tvm.interpret, *([xdsl_tvm.compile] if compiled else [])]
        all_found = [road(module)["main"](*inputs) for road in roads]
        for found in all_found:
            if given.is_random:
                # Of random numbers both roads have the same.
                wanted = all_found[0]
                _compare(found[: len(expected)], wanted[: len(expected)], 1e-5)
                _compare_types(found, expected)
            else:
                _compare(found, expected, given.tolerance)
    except TorchError as error:
        return Outcome(given, str(error), False)
    except Exception as error:
        text = str(error).strip().partition("\n")[0]
        return Outcome(given, f"{type(error).__name__}: {text}", False)
    return Outcome(given, "", is_direct)


def full_name(target: str) -> str:
    """The name of an operator with its overload."""
    return f"aten.{target}" if "." in target else f"aten.{target}.default"


def exported(given: Case) -> tuple[Any, list[Array], list[Array], list[Array]]:
    """The program of a case, what torch computes, and the inputs before and after."""
    torch: Any = importlib.import_module("torch")
    name, _, overload = given.target.partition(".")
    function = getattr(getattr(torch.ops.aten, name), overload or "default")
    inputs: list[Array] = []

    def prepared(value: object) -> object:
        """The argument with the numbers of inputs instead of arrays."""
        if isinstance(value, np.ndarray):
            array = cast("Array", value)
            is_complex = array.dtype.kind == "c"
            inputs.append(_parts(array) if is_complex else array)
            return _Input(len(inputs) - 1, is_complex)
        if isinstance(value, Dtype):
            return getattr(torch, value.name)
        if isinstance(value, list):
            return [prepared(each) for each in cast("list[object]", value)]
        return value

    args = [prepared(each) for each in given.args]
    kwargs = {key: prepared(each) for key, each in given.kwargs.items()}

    def forward(_self: object, *tensors: object) -> object:
        def filled(value: object) -> object:
            if isinstance(value, _Input):
                tensor: Any = tensors[value.index]
                if given.target == "resize_":
                    # Of an input torch refuses it.
                    return tensor.clone()
                return torch.view_as_complex(tensor) if value.is_complex else tensor
            if isinstance(value, list):
                return [filled(each) for each in cast("list[object]", value)]
            return value

        result: Any = function(
            *map(filled, args), **{key: filled(each) for key, each in kwargs.items()}
        )
        is_one = not isinstance(result, tuple | list)
        parts: Sequence[Any] = [result] if is_one else cast("Sequence[Any]", result)
        chosen = range(len(parts)) if given.results is None else given.results
        return tuple(
            torch.view_as_real(part) if part.is_complex() else part
            for part in (parts[index] for index in chosen)
        )

    module = type("Program", (torch.nn.Module,), {"forward": forward})()
    tensors = tuple(torch.from_numpy(np.array(each)) for each in inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        changed = tuple(each.clone() for each in tensors)
        expected = [each.numpy() for each in module(*changed)]
        after = [each.numpy() for each in changed]
        program = torch.export.export(module, tensors)
    return program, expected, inputs, after


@dataclass(frozen=True)
class _Input:
    index: int
    is_complex: bool


def _parts(array: Array) -> Array:
    """Complex numbers as real and imaginary parts, along one more axis."""
    return np.stack([array.real, array.imag], -1)


def _compare_types(found: object, expected: Sequence[Array]) -> None:
    """Raises ValueError where a result has another dtype or shape than it must."""
    for index, (result, want) in enumerate(
        zip(cast("Any", found), expected, strict=False)
    ):
        got = np.asarray(result)
        if got.dtype != want.dtype or got.shape != want.shape:
            raise ValueError(
                f"result {index} is {got.dtype}{list(got.shape)}, not "
                f"{want.dtype}{list(want.shape)}"
            )


def _compare(found: object, expected: Sequence[Array], tolerance: float) -> None:
    results = cast("Sequence[object]", found)
    if len(results) != len(expected):
        raise ValueError(f"{len(results)} results, not {len(expected)}")
    _compare_types(results, expected)
    for index, (result, want) in enumerate(zip(results, expected, strict=True)):
        got = np.asarray(result)
        if want.dtype.kind in "iub":
            is_equal = bool((got == want).all())
        else:
            wide, exact = got.astype(np.float64), want.astype(np.float64)
            close = 2e-3 if want.dtype == np.float16 else tolerance
            is_equal = np.allclose(wide, exact, rtol=close, atol=close, equal_nan=True)
        if not is_equal:
            raise ValueError(f"result {index} differs from torch's")
