"""Layers as operators of models: products, convolutions, normalisations, attention.

Names, parameters and defaults are TVM's; `name` is that of the variable of the result.
All raise VerifyException for arguments that do not fit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.relax.expr import Expr, call, const
from xdsl_tvm.relax.frontend.nn.tensor import (
    Tensor,
    argument,
    get_default_dtype,
    operate,
    wrap_nested,
)

Sizes: TypeAlias = "int | Sequence[int]"
Number: TypeAlias = "int | float"


def matmul(
    a: Tensor, b: Tensor, out_dtype: str | None = None, name: str = "matmul"
) -> Tensor:
    """The matrix product, broadcast over the other dimensions."""
    return operate("matmul", a, b, out_dtype, name=name)


def softmax(x: Tensor, axis: int = -1, name: str = "softmax") -> Tensor:
    """Probabilities along an axis; a float dtype."""
    return operate("nn.softmax", x, axis, name=name)


# ---- convolutions ----


def conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
    name: str = "conv1d",
) -> Tensor:
    """The convolution of `[n, c, w]` with `[o, c / groups, kw]`, plus a bias `[o]`."""
    options = _options(stride, padding, dilation, groups)
    result = call("nn.conv1d", x.expr, weight.expr, **options)
    return _with_bias(result, bias, "NCW", name)


def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
    data_layout: str = "NCHW",
    name: str = "conv2d",
) -> Tensor:
    """The convolution of `[n, c, h, w]` with `[o, c / groups, kh, kw]`, plus `[o]`.

    The weight has this layout whatever the layout of data is.
    """
    options = _options(stride, padding, dilation, groups, data_layout=data_layout)
    result = call("nn.conv2d", x.expr, weight.expr, **options)
    return _with_bias(result, bias, data_layout, name)


def conv3d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
    data_layout: str = "NCDHW",
    name: str = "conv3d",
) -> Tensor:
    """The convolution of `[n, c, d, h, w]` with `[o, c / groups, kd, kh, kw]`."""
    options = _options(stride, padding, dilation, groups, data_layout=data_layout)
    result = call("nn.conv3d", x.expr, weight.expr, **options)
    return _with_bias(result, bias, data_layout, name)


def conv1d_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
    name: str = "conv1d_transpose",
) -> Tensor:
    """The gradient of a convolution: `[n, c, w]` with `[c, o / groups, kw]`."""
    options = _options(stride, padding, dilation, groups, output_padding=output_padding)
    result = call("nn.conv1d_transpose", x.expr, weight.expr, **options)
    return _with_bias(result, bias, "NCW", name)


def _options(
    stride: Sizes, padding: Sizes, dilation: Sizes, groups: int, **others: object
) -> dict[str, object]:
    common = {"padding": padding, "dilation": dilation, "groups": groups}
    return {"strides": stride, **common, **others}


def _with_bias(result: Expr, bias: Tensor | None, layout: str, name: str) -> Tensor:
    """The bias is added to the channels. Raises ValueError for a layout without them."""
    if bias is not None:
        if layout.count("C") != 1 or not layout.isalpha():
            raise ValueError(
                f"nn.op.{name}: a bias has one axis, and the layout '{layout}' not one "
                "axis of channels; add the bias after the convolution"
            )
        shape = [-1 if axis == "C" else 1 for axis in layout]
        result = call("add", result, call("reshape", bias.expr, shape))
    tensor = wrap_nested(result, name)
    assert isinstance(tensor, Tensor), "a convolution has one result"
    return tensor


# ---- normalisations ----


def layer_norm(
    x: Tensor,
    normalized_shape: Sizes,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    name: str = "layer_norm",
) -> Tensor:
    """The last axes, those of `normalized_shape`, with mean 0 and variance 1, scaled.

    A weight or bias that is absent is 1 or 0.
    """
    sizes = (
        [normalized_shape] if isinstance(normalized_shape, int) else [*normalized_shape]
    )
    gamma = const(np.ones(sizes), x.dtype) if weight is None else weight.expr
    beta = const(np.zeros(sizes), x.dtype) if bias is None else bias.expr
    axes = list(range(-len(sizes), 0))
    return operate(
        "nn.layer_norm", x, gamma=gamma, beta=beta, axes=axes, epsilon=eps, name=name
    )


def rms_norm(
    x: Tensor,
    weight: Tensor,
    axes: Sizes,
    epsilon: float = 1e-5,
    name: str = "rms_norm",
) -> Tensor:
    """The elements divided by the root of their mean square over axes, scaled."""
    return operate("nn.rms_norm", x, weight, axes, epsilon, name=name)


def group_norm(
    x: Tensor,
    num_groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float = 1e-5,
    channel_axis: int = 1,
    axes: Sequence[int] | None = None,
    name: str = "group_norm",
) -> Tensor:
    """Groups of channels, over `axes`, with mean 0 and variance 1, scaled.

    `axes` are all after the first two without them. A weight or bias that is absent is
    1 or 0. Raises ValueError if it is absent and the number of channels is symbolic.
    """
    if weight is None or bias is None:
        channels = x.shape[channel_axis]
        if not isinstance(channels, int):
            raise ValueError(
                f"nn.op.{name}: {channels} channels need a weight and a bias"
            )
        gamma = const(np.ones(channels), x.dtype) if weight is None else weight.expr
        beta = const(np.zeros(channels), x.dtype) if bias is None else bias.expr
    else:
        gamma, beta = weight.expr, bias.expr
    return operate(
        "nn.group_norm",
        x,
        gamma,
        beta,
        num_groups,
        channel_axis=channel_axis,
        axes=list(range(2, x.ndim)) if axes is None else list(axes),
        epsilon=eps,
        name=name,
    )


# ---- attention, embeddings, images ----


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool | None = False,
    scale: float | None = None,
    name: str = "scaled_dot_product_attention",
) -> Tensor:
    """Attention of `[batch, length, heads, size]`; `attn_mask` is added to the scores.

    In contrast to TVM's, a mask of floats is accepted. Raises TypeError for one of bools.
    """
    if attn_mask is not None and "float" not in attn_mask.dtype:
        raise TypeError(
            f"nn.op.{name}: attn_mask is added to the scores, and cannot be "
            f"{attn_mask.dtype}; give 0 where there is attention and -inf elsewhere"
        )
    causal = "TopLeft" if is_causal else None
    return operate(
        "nn.attention",
        query,
        key,
        value,
        attn_mask,
        causal_mask=causal,
        scale=scale,
        name=name,
    )


def get_timestep_embedding(
    x: Tensor,
    embedding_dim: int,
    flip_sin_to_cos: bool = False,
    downscale_freq_shift: float = 1,
    scale: float = 1,
    max_period: int = 10000,
    name: str = "get_timestep_embedding",
) -> Tensor:
    """Sines and cosines of the steps `[n]` at falling frequencies, `[n, embedding_dim]`.

    The result has the default dtype; an odd dimension ends with a column of zeros.
    """
    half = embedding_dim // 2
    steps = call("expand_dims", call("astype", x.expr, "float32"), 1)
    exponent = const(-math.log(max_period), "float32") * call(
        "arange", 0, half, dtype="float32"
    )
    exponent = exponent / const(half - downscale_freq_shift, "float32")
    angles = steps * call("expand_dims", call("exp", exponent), 0)
    if scale != 1:
        angles = const(scale, "float32") * angles
    waves = [call("sin", angles), call("cos", angles)]
    result = call("concat", waves[::-1] if flip_sin_to_cos else waves, axis=-1)
    if embedding_dim % 2:
        result = call("nn.pad", result, (0, 0, 0, 1))
    return operate("astype", Tensor(_expr=result), get_default_dtype(), name=name)


def interpolate(
    x: Tensor,
    size: Sizes | None = None,
    scale_factor: Number | Sequence[Number] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool | None = None,
    data_layout: str = "NCHW",
    name: str = "interpolate",
) -> Tensor:
    """Images of another size, or that of `scale_factor`, by `nearest`, `bilinear`, ….

    Raises ValueError for neither or both of them, for a symbolic dimension and a factor
    that is no integer, and for the options that are not supported.
    """
    if recompute_scale_factor is not None or antialias is not None:
        raise ValueError(
            f"nn.op.{name}: recompute_scale_factor and antialias are not supported; "
            "leave them out"
        )
    if (size is None) == (scale_factor is None):
        raise ValueError(f"nn.op.{name}: give one of size and scale_factor")
    if scale_factor is not None:
        extents = [
            extent
            for extent, axis in zip(x.shape, data_layout, strict=True)
            if axis not in "NC"
        ]
        factors = (
            [scale_factor] if isinstance(scale_factor, int | float) else scale_factor
        )
        factors = list(factors) * (len(extents) if len(factors) == 1 else 1)
        target: object = [
            _scaled(name, extent, factor)
            for extent, factor in zip(extents, factors, strict=True)
        ]
    else:
        target = [size, size] if isinstance(size, int) else size
    if mode.startswith("nearest"):
        method, coordinates = "nearest_neighbor", "asymmetric"
    else:
        method = mode.removeprefix("bi")
        coordinates = "align_corners" if align_corners else "half_pixel"
    return operate(
        "image.resize2d",
        x,
        argument(target),
        layout=data_layout,
        method=method,
        coordinate_transformation_mode=coordinates,
        name=name,
    )


def _scaled(name: str, extent: int | Dim, factor: Number) -> int | Dim:
    if isinstance(extent, int):
        return int(extent * factor)
    if factor != int(factor):
        raise ValueError(
            f"nn.op.{name}: {extent} * {factor} is no dimension; give a factor that is "
            "an integer, or a size"
        )
    return extent * int(factor)


# ---- several machines ----


def ccl_allreduce(
    x: Tensor, op_type: str = "sum", in_group: bool = True, name: str = "ccl_allreduce"
) -> Tensor:
    """The sum, product, minimum, maximum or average over all workers."""
    return operate("ccl.allreduce", x, op_type, in_group, name=name)


def ccl_allgather(x: Tensor, num_workers: int, name: str = "ccl_allgather") -> Tensor:
    """The tensors of all workers one after the other."""
    return operate("ccl.allgather", x, num_workers, name=name)


def ccl_broadcast_from_worker0(x: Tensor, name: str = "broadcast_from_worker") -> Tensor:
    """The tensor of the first worker."""
    return operate("ccl.broadcast_from_worker0", x, name=name)
