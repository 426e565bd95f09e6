"""Operators of Relax against TVM 0.27: how they are called, their types, their values.

Needs the `[tvm]` extra. A case is a call, written in the words that `tvm.relax.op` and
`xdsl_tvm.relax.op` share, and evaluated by both. What differs is in a table with its
reason; it must differ, so that the table stays true.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, cast

import numpy as np
import pytest
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm import relax
from xdsl_tvm.dialects import relax as dialect
from xdsl_tvm.dialects.relax.signatures import OPERATORS
from xdsl_tvm.dialects.tir.types import dtype_name
from xdsl_tvm.interpreters.relax import interpret

tvm: Any = pytest.importorskip("tvm", reason="pip install 'xdsl-tvm[tvm]'")
tvm_relax: Any = pytest.importorskip("tvm.relax")
tvm_op: Any = pytest.importorskip("tvm.relax.op")

# `t` is a tensor of a dtype and dimensions, its elements between `low` and `high`; `u` is
# one of an unknown shape, `s` a shape, `p` a scalar, `c` a constant, `n` and `m` symbols.

SMALL = ", low=0.1, high=0.9"
FLOAT_UNARY = """
    acos asin asinh atan atanh cos cosh erf exp log rsqrt sigmoid sin sinh sqrt tan tanh
    nn.gelu nn.gelu_tanh nn.selu nn.silu nn.leakyrelu nn.softplus
"""
ANY_UNARY = """
    abs ceil floor isfinite isinf isnan logical_not negative nn.relu round sign square
    builtin.stop_lift_params flatten grad.end_checkpoint grad.no_grad
    grad.start_checkpoint memory.ensure_zero_offset ones_like zeros_like tril triu
    nn.dropout wrap_param ccl.allreduce ccl.broadcast_from_worker0
"""
ARITHMETIC = "add divide floor_divide floor_mod maximum minimum mod multiply subtract"
COMPARISONS = "equal greater greater_equal less less_equal not_equal"
BITS = "bitwise_and bitwise_or bitwise_xor left_shift right_shift"
REDUCTIONS = "max mean min prod std sum variance"

CASES = """
    acosh(t("float32", 4, low=1.1, high=3))
    add(t("float32", n, 1), t("float32", n + 1))
    add(t("float32", n), t("float32", m))
    add(t("float32"), p(2.5, "float32"))
    add(p(1), p(2))
    add(u("float32", 2), t("float32", 4))
    add(u(None), t("float32", 4))
    arange(4)
    arange(1, n * 3, 2)
    arange(0.0, 2.0, 0.25)
    argmax(t("float32", n, 4), axis=1)
    argmin(t("float32", 2, n), axis=0, keepdims=True)
    argmax(u("float32", 2), axis=-1)
    argsort(t("float32", 3, 5), axis=0, descending=True)
    argsort(t("float32", 3, n), dtype="int64")
    astype(t("float32", n, 4), "int32")
    astype(t("int8", 4), "float16")
    bitwise_not(t("int32", 3, n))
    broadcast_to(t("float32", n, 1), s(2, n, 4))
    broadcast_to(t("float32", 4), [n, 4])
    ccl.allgather(t("float32", n, 4), 2)
    ccl.scatter_from_worker0(t("float32", 4, n), 2)
    clip(t("float32", n), 0.0, 0.5)
    collapse_sum_like(t("float32", 2, n, 4), t("float32", n, 1))
    collapse_sum_to(t("float32", 2, n, 4), s(n, 1))
    concat([t("float32", n, 4), t("float32", 2, 4)])
    concat([t("float32", 2, n), t("float32", 2, m), t("float32", 2, 1)], axis=-1)
    concat([t("float32", n), t("float32", n)], axis=None)
    concat([t("float32", 4)], axis=0)
    cumprod(t("float32", 2, n), axis=-1)
    cumsum(t("float32", 2, n))
    cumsum(t("float32", 2, n), axis=0, exclusive=True)
    cumsum(t("float32", 2, 3), axis=1, dtype="float64")
    cumsum(u("float32", 2))
    dequantize(t("int8", n, 4), t("float32"), t("int8"))
    dequantize(t("int8", 3, 4), t("float32", 4), t("int8", 4), axis=1)
    dynamic_strided_slice(u("float32", 2), t("int64", 2), t("int64", 2), t("int64", 2))
    dynamic_strided_slice(u("float32"), t("int64", 2), t("int64", 2), t("int64", 2))
    einsum([t("float32", 3, n), t("float32", n, 4)], "ij,jk->ki")
    einsum([t("float32", 3, 3)], "ii->i")
    einsum([t("float32", 2, 3, n), t("float32", n, 4)], "...ij,jk->...ik")
    einsum([u("float32", 2)], "ij->i")
    ewise_fma(t("float32", n), t("float32", n), t("float32", n))
    expand_dims(t("float32", n, 4), [0, -1])
    expand_dims(t("float32", n), 1)
    eye(3, n, 1)
    eye_like(t("float32", n, 4), dtype="int32")
    flatten(t("float32", n, 4))
    flip(t("float32", n, 4), axis=-1)
    full([n, 2], c(1.5, "float32"))
    full(s(2), t("float32"), "float64")
    full_like(t("float32", n, 4), c(2, "int32"))
    gather_elements(t("float32", 3, n), t("int64", 2, n, low=0, high=2), axis=0)
    gather_nd(t("float32", 3, n), t("int64", 4, 1, low=0, high=2))
    gather_nd(t("float32", 2, 3, n), t("int64", 2, 1, low=0, high=2), batch_dims=1)
    image.resize2d(t("float32", 1, 3, 8, n), 4)
    image.resize2d(t("float32", 1, 3, 8, 8), (4, n), roi=0.0)
    image.resize2d(t("float32", 1, 5, 6, 2), [3, 4], layout="NHWC", out_dtype="float16")
    image.resize2d(t("float32", 1, 2, 4, 4), (8, 6), method="nearest_neighbor", \
coordinate_transformation_mode="asymmetric", rounding_method="floor")
    image.resize2d(t("float32", 1, 1, 4, 5), (7, 8), method="cubic", cubic_alpha=-0.75)
    layout_transform(t("float32", n, 4), lambda i, j: (j, i))
    logical_and(t("bool", n, 4), t("bool", 4))
    logical_or(t("bool", n, 4), t("bool", 1, 4))
    logical_xor(t("bool", n), t("bool", n))
    matmul(t("float32", n, 4), t("float32", 4, 3))
    matmul(t("float32", 4), t("float32", 2, 4, n))
    matmul(t("float32", 2, 1, n, 4), t("float32", 4, 3), out_dtype="float64")
    matmul(t("float32", n, 4), u("float32", 2))
    matmul(u("float32"), t("float32", 4, 3))
    max(t("float32", n, 4), axis=[0, -1], keepdims=True)
    layout_transform(t("float32", 7), lambda i: (i // 4, i % 4), 2)
    memory.view(t("float32", 2, 6), s(3, 4))
    memory.view(t("float32", n, 4), None, "int32")
    memory.view(u("uint8"), u_shape(), "int32")
    multinomial_from_uniform(t("float32", 2, 5, low=0.1, high=1), \
t("float32", 4, 1, low=0, high=1), t("int64", 4, 1, low=0, high=1))
    nn.adaptive_avg_pool1d(t("float32", 2, 3, 7), 3)
    nn.adaptive_avg_pool2d(t("float32", 1, 3, 7, 8), [2, 4])
    nn.adaptive_avg_pool2d(t("float32", 1, 8, 8, n), 1, layout="NHWC")
    nn.adaptive_avg_pool3d(t("float32", 1, 2, 5, 6, 7), 2)
    nn.adaptive_avg_pool2d(u("float32", 4))
    nn.attention(t("float32", 2, 3, 2, 8), t("float32", 2, 4, 2, 8), \
t("float32", 2, 4, 2, 5), scale=0.5)
    nn.attention(t("float32", 1, 4, 2, 8), t("float32", 1, 4, 2, 8), \
t("float32", 1, 4, 2, 8), causal_mask="TopLeft")
    nn.attention(t("float32", 1, 3, 2, 8), t("float32", 1, 4, 2, 8), \
t("float32", 1, 4, 2, 8), bias=t("float32", 1, 2, 3, 4), causal_mask="BottomRight")
    nn.attention_bias(t("float32", 1, 3, 2, 8), t("float32", 1, 4, 2, 8), \
t("float32", 1, 4, 2, 8), t("float32", 1, 2, 3, 4))
    nn.attention_var_len(t("float32", 1, 4, 2, 8), t("float32", 1, 4, 2, 8), \
t("float32", 1, 4, 2, 8), t("int32", 3), t("int32"))
    nn.avg_pool1d(t("float32", 2, 3, 8), 2, 2, count_include_pad=False)
    nn.avg_pool2d(t("float32", 1, 3, 8, n + 5), 3, 2, 1)
    nn.avg_pool2d(t("float32", 1, 8, 7, 3), [2, 3], [1, 2], [1, 0], \
count_include_pad=True, layout="NHWC")
    nn.avg_pool3d(t("float32", 1, 2, 5, 5, 5), 2, count_include_pad=False)
    nn.batch_norm(t("float32", 2, 3, n, 4), t("float32", 3), t("float32", 3), \
t("float32", 3), t("float32", 3, low=0.5, high=2), axis=1, training=False)
    nn.batch_norm(t("float32", 4, 5, 3), t("float32", 3), t("float32", 3), \
t("float32", 3), t("float32", 3, low=0.5, high=2), axis=-1)
    nn.conv1d(t("float32", 2, 3, n + 4), t("float32", 4, 3, 3), 2, 1)
    nn.conv1d_transpose(t("float32", 2, 3, 5), t("float32", 3, 4, 3), 2, 1, 1)
    nn.conv2d(t("float32", 1, 4, 8, 9), t("float32", 6, 4, 3, 3), [2, 1], [1, 0, 2, 1])
    nn.conv2d(t("float32", 1, 4, 8, 8), t("float32", 4, 1, 3, 3), padding=1, groups=4)
    nn.conv2d(t("float32", 1, 8, 8, 3), t("float32", 3, 3, 3, 4), dilation=2, \
data_layout="NHWC", kernel_layout="HWIO", out_dtype="float32")
    nn.conv2d(t("float32", n, 3, 8, m), t("float32", 4, 3, 3, 3), padding=1)
    nn.conv2d(t("float32", 1, 3, 8, 8), u("float32", 4))
    nn.conv2d_transpose(t("float32", 1, 3, 4, 5), t("float32", 3, 2, 3, 3), 2, 1, 1)
    nn.conv3d(t("float32", 1, 2, 5, 5, 5), t("float32", 3, 2, 2, 2, 2), padding=1)
    nn.cross_entropy_with_logits(t("float32", 3, n), t("float32", 3, n))
    nn.group_norm(t("float32", 2, 4, n, 3), \
t("float32", 4), t("float32", 4), 2, 1, [2, 3])
    nn.layer_norm(t("float32", 2, n, 4), t("float32", 4), t("float32", 4), axes=[-1])
    nn.layer_norm(t("float32", 2, 3, 4), t("float32", 3, 4), t("float32", 3, 4), [1, 2])
    nn.log_softmax(t("float32", n, 4))
    nn.max_pool1d(t("float32", 2, 3, 8), 3, 2)
    nn.max_pool2d(t("float32", 1, 3, 8, n + 5), [3, 2], 2, 1)
    nn.max_pool3d(t("float32", 1, 2, 5, 5, 5), 2, dilation=2)
    nn.max_pool2d(u("float32", 4), 2)
    nn.nll_loss(t("float32", 3, 4), t("int64", 3, low=0, high=3), t("float32", 4, low=1))
    nn.nll_loss(t("float32", 3, 4, n), t("int64", 3, n, low=0, high=3), reduction="none")
    nn.pad(t("float32", n, 4), [1, 0, 2, 1], pad_value=1.5)
    nn.rms_norm(t("float32", 2, n, 4), t("float32", 4), -1)
    nn.softmax(t("float32", n, 4), axis=0)
    nn.softmax(u("float32"))
    nonzero(t("int32", n, 4, low=0, high=1))
    one_hot(t("int64", n, 2, low=0, high=3), p(2.0, "float32"), p(0.5, "float32"), 4, 1)
    ones((n, 4), "float32")
    permute_dims(t("float32", n, 4, 2), [-1, 0, 1])
    permute_dims(t("float32", n, 4))
    power(t("float32", n, 4, low=0.5), t("float32", 4))
    quantize(t("float32", n, 4), t("float32", low=0.1, high=0.2), t("int8"))
    repeat(t("float32", n, 4), 3, axis=1)
    repeat(t("float32", n, 4), 2)
    reshape(t("float32", n, 4), (2, -1))
    reshape(t("float32", n, 4, 3), (0, -1))
    reshape(t("float32", n, 4), s(n * 2, 2))
    scatter_elements(t("float32", 3, n), t("int64", 2, n, low=0, high=2), \
t("float32", 2, n), reduction="add")
    scatter_nd(t("float32", 5, n), t("int64", 2, 1, low=0, high=4), t("float32", 2, n))
    shape_of(t("float32", n, 4))
    shape_of(u("float32", 3))
    shape_to_tensor(s(n, 4))
    sort(t("float32", 2, n), axis=0, descending=True)
    split(t("float32", 7, n), 3)
    split(t("float32", n, 7), [2, 5], axis=1)
    split(t("float32", n, 4), 2, axis=0)
    split(u("float32", 2), 2)
    squeeze(t("float32", 1, n, 1), [0, -1])
    squeeze(t("float32", 1, 3, 1))
    squeeze(t("float32", 1, n))
    strided_slice(t("float32", 8, n), [0], [1], [7], [2])
    strided_slice(t("float32", 8, n), [1, 0], [0, -1], [n, -9], [1, -2])
    strided_slice(t("float32", n + 2), [0], [1], [-1])
    strided_slice(t("float32", 9), [0], [m], [m + 4], assume_inbound=True)
    take(t("float32", 4, n), t("int64", 3, 2, low=0, high=3), axis=0)
    take(t("float32", 8), t("int32", 5, low=0, high=7))
    take(t("float32", 4, n), p(2), axis=0)
    take(u("float32"), t("int64", 3), axis=0)
    tensor_to_shape(t("int64", 3, low=1))
    tile(t("float32", n, 4), 2)
    tile(t("float32", n), [2, 1, 3])
    topk(t("float32", 3, 5), 2, axis=1, ret_type="both")
    topk(t("float32", n, 5), 9, ret_type="values", largest=False)
    tril(t("float32", 4, n), -1)
    triu(t("float32", 2, 4, n), k=1)
    unique(t("int64", n, 4), return_counts=True)
    unique(t("int64", n, 4), axis=0)
    where(t("bool", n, 1), t("float32", 4), t("float32", n, 4))
    zeros([2, n], "int8")
    full_like(t("float32", n), c(1, "float32"), "float16")
"""
ERRORS = """
    add(t("float32", 4), t("float32", 3))
    add(t("float32", 4), t("int32", 4))
    argmax(t("float32", 4), axis=1)
    broadcast_to(t("float32", 3), s(2, 4))
    concat([t("float32", 4, 2), t("float32", 4, 2)], axis=None)
    concat([t("float32", 4), t("int32", 4)])
    concat([t("float32", 4, 2), t("float32", 4, 3)])
    dynamic_strided_slice(t("float32", 4), t("int32", 1), t("int64", 1), t("int64", 1))
    exp(t("int32", 4))
    expand_dims(t("float32", 4), [0, 0])
    flip(t("float32", 4), 2)
    matmul(t("float32", 2, 3), t("float32", 4, 2))
    matmul(t("float32"), t("float32", 2))
    memory.view(t("float32", 4), s(5))
    nn.attention(t("float32", 1, 4, 2, 8), t("float32", 2, 4, 2, 8), \
t("float32", 2, 4, 2, 8))
    nn.conv2d(t("float32", 1, 3, 8, 8), t("float32", 4, 4, 3, 3))
    nn.conv2d(t("float32", 1, 3, 8, 8), t("float32", 4, 3, 3, 3), groups=0)
    nn.conv2d(t("float32", 3, 8, 8), t("float32", 4, 3, 3, 3))
    nn.layer_norm(t("float32", 2, 4), t("float32", 3), t("float32", 4), [-1])
    nn.pad(t("float32", 4), [1])
    nn.softmax(t("int32", 4))
    one_hot(t("int64", 4), p(1), p(0.5, "float32"), 4)
    permute_dims(t("float32", 4, 2), [0, 0])
    reshape(t("float32", 4, 2), (3, 3))
    reshape(t("float32", 4, 2), (-1, -1))
    scatter_nd(t("float32", 4), t("int64", 2, 2), t("float32", 2))
    split(t("float32", 4), 0)
    squeeze(t("float32", 4, 2), [2])
    strided_slice(t("float32", 4), [0], [0, 1], [1])
    take(t("float32", 4, 2), t("int64", 3))
    take(t("float32", 4), t("float32", 3), axis=0)
    where(t("int32", 4), t("float32", 4), t("float32", 4))
"""
DIFFERENT: Mapping[str, tuple[str, ...]] = {
    "an unranked result has one axis, which TVM's rule forgets": (
        'cumsum(u("float32", 2))',
    ),
    "TVM gives the rank of the operand to what einsum makes of it": (
        'einsum([u("float32", 2)], "ij->i")',
    ),
}
OTHER_VALUES: Mapping[str, tuple[str, ...]] = {
    "TVM does not legalize it": (
        "add(p(1), p(2))",
        'add(t("float32", n), t("float32", m))',
        'builtin.stop_lift_params(t("float32", n, 4))',
        'concat([t("float32", n), t("float32", n)], axis=None)',
        'ewise_fma(t("float32", n), t("float32", n), t("float32", n))',
        'logical_not(t("float32", n, 4))',
        'squeeze(t("float32", 1, n))',
        'wrap_param(t("float32", n, 4))',
    ),
    "it is computed by several devices": (
        'ccl.allgather(t("float32", n, 4), 2)',
        'ccl.allreduce(t("float32", n, 4))',
        'ccl.broadcast_from_worker0(t("float32", n, 4))',
        'ccl.scatter_from_worker0(t("float32", 4, n), 2)',
    ),
    "TVM gives another shape or dtype than its own rule": (
        'add(t("float32"), p(2.5, "float32"))',
        'eye_like(t("float32", n, 4), dtype="int32")',
        'image.resize2d(t("float32", 1, 5, 6, 2), [3, 4], layout="NHWC", '
        'out_dtype="float16")',
        'topk(t("float32", n, 5), 9, ret_type="values", largest=False)',
    ),
}
NO_VALUES = ("nn.attention_var_len", 'nn.batch_norm(t("float32", 4', "u(", "u_shape(")
"""What starts calls, or is in them, that TVM cannot compute."""
OTHER_CALLS: Mapping[str, tuple[str, ...]] = {
    "0.20 has a device and no scope, which are two numbers here": ("hint_on_device",),
    "0.20 has axis separators": ("layout_transform",),
    "there is one mode": ("take",),
    "0.20 leaves padding out of the mean": ("nn.avg_pool1d", "nn.avg_pool3d"),
    "0.20 has another coefficient": ("image.resize2d",),
}
WITHOUT_TVM: Mapping[str, frozenset[str]] = {
    "TVM has no Python function": frozenset(
        name for name in OPERATORS if name.startswith("inspect.")
    ),
    "the arguments are devices": frozenset(("hint_on_device", "to_vdevice")),
}


def _cases() -> list[str]:
    unary = [f'{name}(t("float32", n, 4{SMALL}))' for name in FLOAT_UNARY.split()]
    unary += [f'{name}(t("float32", n, 4))' for name in ANY_UNARY.split()]
    binary = [
        f"{name}({one}, {other})"
        for names, dtype, limits in (
            (ARITHMETIC, "float32", "low=0.5"),
            (COMPARISONS, "int32", "low=0"),
            (BITS, "int32", "low=0"),
        )
        for name in names.split()
        for one in (f't("{dtype}", n, 4, {limits})',)
        for other in (f't("{dtype}", 4, {limits})', f't("{dtype}", n, 1, {limits})')
    ]
    reductions = [
        f"{name}({argument})"
        for name in REDUCTIONS.split()
        for argument in (
            't("float32", n, 4)',
            't("float32", n, 4), axis=-1, keepdims=True',
            'u("float32", 3), [0, 1]',
        )
    ]
    return [*unary, *binary, *reductions, *_lines(CASES)]


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


SYMBOLS = {"n": 3, "m": 2}


class Side(ABC):
    """One of the two: makes what is in a case, and keeps the parameters."""

    def __init__(self) -> None:
        self.params: list[Any] = []
        self.inputs: list[Any] = []
        """Random arguments of tensors whose shape is known."""

    @abstractmethod
    def names(self) -> dict[str, Any]:
        """What the names in a case mean."""

    def _input(self, dtype: str, shape: Sequence[int], low: float, high: float) -> None:
        rng = np.random.default_rng(len(self.inputs))
        if dtype == "bool":
            self.inputs.append(rng.integers(0, 2, shape).astype(bool))
        elif dtype.startswith("float"):
            self.inputs.append(rng.uniform(low, high, shape).astype(dtype))
        else:
            numbers = rng.integers(int(low), int(high) + 1, shape)
            self.inputs.append(np.asarray(numbers, dtype))


class Ours(Side):
    """`xdsl_tvm.relax`."""

    def _var(self, type_: Attribute) -> relax.Var:
        self.params.append(relax.Var(f"v{len(self.params)}", type_))
        return self.params[-1]

    def _t(self, dtype: str, *dims: Any, low: float = -2, high: float = 2) -> relax.Var:
        shape = [dialect.Dim.of(dim).evaluate(SYMBOLS) for dim in dims]
        self._input(dtype, shape, low, high)
        return self._var(relax.TensorStructInfo(dims, dtype))

    def _u(self, dtype: str | None, ndim: int = -1) -> relax.Var:
        return self._var(relax.TensorStructInfo(None, dtype, ndim=ndim))

    def _s(self, *dims: Any) -> relax.Expr:
        return relax.ShapeExpr(dims)

    def names(self) -> dict[str, Any]:
        found = {name: getattr(relax.op, name) for name in dir(relax.op)}
        return found | {
            **{name: relax.sym(name) for name in SYMBOLS},
            "t": self._t,
            "u": self._u,
            "u_shape": lambda: self._var(relax.ShapeStructInfo()),
            "s": self._s,
            "p": relax.PrimValue,
            "c": relax.const,
        }


class Theirs(Side):
    """`tvm.relax`."""

    def __init__(self) -> None:
        super().__init__()
        self.symbols = {name: tvm.tirx.Var(name, "int64") for name in SYMBOLS}

    def _var(self, type_: Any) -> Any:
        self.params.append(tvm_relax.Var(f"v{len(self.params)}", type_))
        return self.params[-1]

    def dims(self, dims: Sequence[Any]) -> list[Any]:
        return [tvm.tirx.IntImm("int64", d) if isinstance(d, int) else d for d in dims]

    def size(self, dim: Any, values: Mapping[str, int]) -> int:
        """A dimension, given the symbols."""
        analyzer = tvm.sym.Analyzer()
        for name, variable in self.symbols.items():
            analyzer.bind(variable, tvm.tirx.IntImm("int64", values[name]))
        return int(analyzer.simplify(dim))

    def _t(self, dtype: str, *dims: Any, low: float = -2, high: float = 2) -> Any:
        given = self.dims(dims)
        self._input(dtype, [self.size(dim, SYMBOLS) for dim in given], low, high)
        return self._var(tvm_relax.TensorType(given, dtype))

    def _u(self, dtype: str | None, ndim: int = -1) -> Any:
        return self._var(tvm_relax.TensorType(None, dtype, ndim=ndim))

    def _s(self, *dims: Any) -> Any:
        return tvm_relax.ShapeExpr(self.dims(dims))

    def names(self) -> dict[str, Any]:
        found = {name: getattr(tvm_op, name) for name in dir(tvm_op)}
        return found | {
            **self.symbols,
            "t": self._t,
            "u": self._u,
            "u_shape": lambda: self._var(tvm_relax.ShapeType()),
            "s": self._s,
            "p": tvm_relax.prim_value,
            "c": tvm_relax.const,
        }

    def bound(self, builder: Any, name: str, case: str) -> Any:
        """The variable of a case in a function of its own."""
        call = eval(case, self.names())
        symbols = tvm_relax.Var("symbols", tvm_relax.TensorType([*self.symbols.values()]))
        with builder.function(name, [*self.params, symbols]):
            result = builder.emit(call)
            builder.emit_func_output(result)
        return result


# ---- types ----

_SIZES = [
    dict(zip(SYMBOLS, sizes, strict=True)) for sizes in product((1, 3, 8), repeat=2)
]


def _agree(theirs: Theirs, type_: Any, ours: Attribute) -> bool:
    """Whether ours says what TVM's says; of unknown shapes, it may know parts."""
    if isinstance(ours, dialect.TupleType):
        pairs = zip(type_.fields, ours.fields.data, strict=True)
        return all(_agree(theirs, *pair) for pair in pairs)
    if isinstance(ours, dialect.PrimType):
        return str(type_.dtype) == dtype_name(ours.dtype)
    if isinstance(ours, dialect.ShapeType):
        known = None if type_.values is None else list(type_.values)
        return _dims_agree(theirs, known, type_.ndim, ours.values)
    info = dialect.TensorInfo.of(ours)
    assert info is not None
    known = None if type_.shape is None else list(type_.shape.values)
    dtype = "None" if info.dtype is None else dtype_name(info.dtype)
    given = "None" if type_.dtype is None else str(type_.dtype.dtype)
    return given == dtype and _dims_agree(theirs, known, type_.ndim, info.dims)


def _dims_agree(theirs: Theirs, known: list[Any] | None, rank: int, dims: Any) -> bool:
    if dims is None:
        return rank == -1
    if known is None:
        return rank in (-1, len(dims))
    if len(known) != len(dims) or None in dims:
        return False
    return all(
        dim.evaluate(sizes) == theirs.size(other, sizes)
        for other, dim in zip(known, dims, strict=True)
        for sizes in _SIZES
    )


def _in(table: Mapping[str, Iterable[str]]) -> set[str]:
    return {each for several in table.values() for each in several}


@pytest.mark.parametrize("case", _cases())
def test_types(case: str) -> None:
    theirs = Theirs()
    found = theirs.bound(tvm_relax.BlockBuilder(), "main", case)
    ours = eval(case, Ours().names()).struct_info
    is_same = _agree(theirs, found.ty, ours)
    assert is_same == (case not in _in(DIFFERENT)), f"{found.ty} and {ours}"


_REFUSALS = (TypeError, ValueError, RuntimeError)


@pytest.mark.parametrize("case", _lines(ERRORS))
def test_errors(case: str) -> None:
    with pytest.raises(_REFUSALS):
        Theirs().bound(tvm_relax.BlockBuilder(), "main", case)
    with pytest.raises(VerifyException):
        eval(case, Ours().names())


# ---- values ----


def _computed() -> list[str]:
    cases = [case for case in _cases() if not any(part in case for part in NO_VALUES)]
    return [case for case in cases if case not in _in(OTHER_VALUES)]


_SYMBOL_VALUES = np.zeros(tuple(SYMBOLS.values()), np.float32)


@pytest.fixture(scope="module")
def machine() -> Any:
    """TVM's virtual machine, all cases compiled."""
    builder = tvm_relax.BlockBuilder()
    for index, case in enumerate(_computed()):
        Theirs().bound(builder, f"f{index}", case)
    executable = tvm.compile(builder.get(), target="llvm")
    return tvm_relax.VirtualMachine(executable, tvm.cpu())


@pytest.mark.parametrize(("index", "case"), list(enumerate(_computed())))
def test_values(machine: Any, index: int, case: str) -> None:
    ours = Ours()
    result, builder = eval(case, ours.names()), relax.BlockBuilder()
    symbols = relax.Var("symbols", relax.TensorStructInfo(tuple(SYMBOLS)))
    with builder.function("main", [*ours.params, symbols]):
        builder.emit_func_output(builder.emit(result))
    arguments = [*ours.inputs, _SYMBOL_VALUES]
    found = _arrays(interpret(builder.get())["main"](*arguments))
    expected = _arrays(machine[f"f{index}"](*map(tvm.runtime.tensor, arguments)))
    for one, other in zip(found, expected, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def _arrays(value: Any) -> list[np.ndarray[Any, Any]]:
    """The tensors of a result; numbers of a shape are some, too."""
    if isinstance(value, np.ndarray | int):
        return [np.asarray(value)]
    if isinstance(value, tvm.runtime.Tensor):
        return [value.numpy()]
    return [array for field in value for array in _arrays(field)]


# ---- calls ----


def _function(name: str) -> Any:
    found = tvm_op
    for part in name.split("."):
        found = getattr(found, part)
    return found


_NAMES = sorted(set(OPERATORS) - _in(WITHOUT_TVM))


@pytest.mark.parametrize("name", _NAMES)
def test_calls(name: str) -> None:
    given = inspect.signature(_function(name)).parameters.values()
    theirs = {each.name: _default(each.default) for each in given}
    ours = {
        each.name: inspect.Parameter.empty if each.is_required else _default(each.default)
        for each in OPERATORS[name].parameters
    }
    is_same = list(theirs.items()) == list(ours.items())
    assert is_same == (name not in _in(OTHER_CALLS)), f"{theirs} and {ours}"


def _default(value: object) -> object:
    """A default; a number stands for several equal ones."""
    if not isinstance(value, tuple):
        return value
    numbers = list(cast("tuple[object, ...]", value))
    if numbers and numbers.count(numbers[0]) == len(numbers):
        return numbers[0]
    return numbers


def test_every_operator_has_a_case() -> None:
    called = {case.partition("(")[0] for case in _cases()}
    assert set(OPERATORS) - called == _in(WITHOUT_TVM)


def test_tables_name_cases() -> None:
    assert _in(DIFFERENT) | _in(OTHER_VALUES) <= set(_cases())
