"""The layers of TVM's `nn`, each with TVM's name, parameters and defaults.

`dtype` is that of the parameters, without it the default one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from xdsl_tvm.relax.frontend.nn import op
from xdsl_tvm.relax.frontend.nn.core import Module, ModuleList, Parameter
from xdsl_tvm.relax.frontend.nn.effects import IOEffect as IOEffect
from xdsl_tvm.relax.frontend.nn.effects import KVCache as KVCache
from xdsl_tvm.relax.frontend.nn.tensor import Tensor

# ---- activations ----


class ReLU(Module):
    """`max(x, 0)`."""

    def forward(self, x: Tensor) -> Tensor:
        """The result, of the shape of `x`."""
        return op.relu(x)


class SiLU(Module):
    """`x * sigmoid(x)`."""

    def forward(self, x: Tensor) -> Tensor:
        """The result, of the shape of `x`."""
        return op.silu(x)


class GELU(Module):
    """The Gaussian error linear unit."""

    def forward(self, x: Tensor) -> Tensor:
        """The result, of the shape of `x`."""
        return op.gelu(x)


class Identity(Module):
    """Nothing, where a module is needed."""

    def forward(self, x: Tensor) -> Tensor:
        """`x` itself."""
        return x


# ---- products ----


class _Product(Module):
    """`x` times a transposed weight `[out_features, in_features]`, plus a bias."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool,
        dtype: str | None,
        out_dtype: str | None,
    ) -> None:
        self.in_features = in_features
        self.out_dtype = out_dtype
        self.weight = Parameter((out_features, in_features), dtype)
        self.bias = Parameter((out_features,), out_dtype or dtype) if bias else None

    def product(self, x: Tensor) -> Tensor:
        """`[…, in_features]` as `[…, out_features]`."""
        product = op.matmul(x, op.permute_dims(self.weight), out_dtype=self.out_dtype)
        return product if self.bias is None else product + self.bias

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype, but not that of a bias that `out_dtype` determines."""
        self.weight.to(dtype)
        if self.bias is not None and self.out_dtype is None:
            self.bias.to(dtype)


class Linear(_Product):
    """`x` times the transposed weight `[out_features, in_features]`, plus a bias.

    `out_dtype` is the dtype of the product and of the bias.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        dtype: str | None = None,
        out_dtype: str | None = None,
    ) -> None:
        super().__init__(in_features, out_features, bias, dtype, out_dtype)
        self.out_features = out_features

    def forward(self, x: Tensor) -> Tensor:
        """`[…, in_features]` as `[…, out_features]`."""
        return self.product(x)


class MultiLinear(_Product):
    """Several linear layers of one input, as one product that is split."""

    def __init__(
        self,
        in_features: int,
        out_features: Sequence[int],
        bias: bool = True,
        dtype: str | None = None,
        out_dtype: str | None = None,
    ) -> None:
        """Raises ValueError if there is no layer."""
        if not out_features:
            raise ValueError("nn.MultiLinear: out_features has no layer")
        super().__init__(in_features, sum(out_features), bias, dtype, out_dtype)
        self.out_features = out_features

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """`[…, in_features]` as one `[…, features]` of each layer."""
        ends = list(accumulate(self.out_features))[:-1]
        return op.split(self.product(x), ends, axis=-1)


# ---- convolutions ----


class _Convolution(Module):
    """What convolutions have in common: a weight, a bias, and how windows move."""

    def __init__(
        self,
        weight_shape: Sequence[int],
        out_channels: int,
        stride: int,
        padding: int,
        dilation: int,
        groups: int,
        bias: bool,
        dtype: str | None,
    ) -> None:
        self.out_channels = out_channels
        self.kernel_size = weight_shape[-1]
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.groups = groups
        self.weight = Parameter(weight_shape, dtype)
        self.bias = Parameter((out_channels,), dtype) if bias else None


class Conv1D(_Convolution):
    """The convolution of `[n, in_channels, w]`."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
    ) -> None:
        self.in_channels = in_channels
        shape = (out_channels, in_channels // groups, kernel_size)
        how = (stride, padding, dilation, groups, bias, dtype)
        super().__init__(shape, out_channels, *how)

    def forward(self, x: Tensor) -> Tensor:
        """The result `[n, out_channels, …]`."""
        moved = (self.stride, self.padding, self.dilation, self.groups)
        return op.conv1d(x, self.weight, self.bias, *moved)


class Conv2D(_Convolution):
    """The convolution of `[n, in_channels, h, w]`, or of another layout."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
        data_layout: str = "NCHW",
    ) -> None:
        self.in_channels = in_channels
        self.data_layout = data_layout
        sizes = _sizes(kernel_size, 2)
        shape = (out_channels, in_channels // groups, *sizes)
        how = (stride, padding, dilation, groups, bias, dtype)
        super().__init__(shape, out_channels, *how)

    def forward(self, x: Tensor) -> Tensor:
        """The result `[n, out_channels, …]`."""
        moved = (self.stride, self.padding, self.dilation, self.groups)
        return op.conv2d(x, self.weight, self.bias, *moved, self.data_layout)


class Conv3D(_Convolution):
    """The convolution of `[n, in_channels, d, h, w]`, or of another layout."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
        data_layout: str = "NCDHW",
    ) -> None:
        self.in_channels = in_channels
        self.data_layout = data_layout
        sizes = _sizes(kernel_size, 3)
        shape = (out_channels, in_channels // groups, *sizes)
        how = (stride, padding, dilation, groups, bias, dtype)
        super().__init__(shape, out_channels, *how)

    def forward(self, x: Tensor) -> Tensor:
        """The result `[n, out_channels, …]`."""
        moved = (self.stride, self.padding, self.dilation, self.groups)
        return op.conv3d(x, self.weight, self.bias, *moved, self.data_layout)


class ConvTranspose1D(_Convolution):
    """The gradient of a convolution, of `[n, in_channels, w]`."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        output_padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
    ) -> None:
        self.in_channels = in_channels
        self.output_padding = output_padding
        shape = (in_channels, out_channels // groups, kernel_size)
        how = (stride, padding, dilation, groups, bias, dtype)
        super().__init__(shape, out_channels, *how)

    def forward(self, x: Tensor) -> Tensor:
        """The result `[n, out_channels, …]`."""
        return op.conv1d_transpose(
            x,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self.output_padding,
            self.dilation,
            self.groups,
        )


def _sizes(size: int | Sequence[int], count: int) -> list[int]:
    return [size] * count if isinstance(size, int) else list(size)


# ---- normalisations ----


class LayerNorm(Module):
    """The last axes with mean 0 and variance 1, scaled if `elementwise_affine`."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        dtype: str | None = None,
    ) -> None:
        self.normalized_shape = normalized_shape
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        sizes = _sizes(normalized_shape, 1)
        self.weight = Parameter(sizes, dtype) if elementwise_affine else None
        self.bias = Parameter(sizes, dtype) if elementwise_affine else None

    def forward(self, x: Tensor) -> Tensor:
        """The result, of the shape of `x`."""
        return op.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """The elements divided by the root of their mean square over axes, scaled."""

    def __init__(
        self,
        hidden_size: int,
        axes: int | Sequence[int],
        epsilon: float = 1e-5,
        bias: bool = True,
        dtype: str | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.axes = axes
        self.weight = Parameter((hidden_size,), dtype)
        self.bias = Parameter((hidden_size,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """The result, of the shape of `x`."""
        result = op.rms_norm(x, self.weight, self.axes, self.epsilon)
        return result if self.bias is None else op.add(result, self.bias)


class GroupNorm(Module):
    """Groups of channels with mean 0 and variance 1, scaled if `affine`."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        dtype: str | None = None,
    ) -> None:
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.weight = Parameter((num_channels,), dtype) if affine else None
        self.bias = Parameter((num_channels,), dtype) if affine else None

    def forward(
        self, x: Tensor, channel_axis: int = 1, axes: Sequence[int] | None = None
    ) -> Tensor:
        """The result, of the shape of `x`; `axes` are all after the first two without."""
        scaled = (self.weight, self.bias, self.eps)
        return op.group_norm(x, self.num_groups, *scaled, channel_axis, axes)


# ---- embeddings ----


class Embedding(Module):
    """The rows `[dim]` of a table of `num` for indices of any shape."""

    def __init__(self, num: int | str, dim: int | str, dtype: str | None = None) -> None:
        self.num = num
        self.dim = dim
        self.weight = Parameter((num, dim), dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Indices `[…]` as rows `[…, dim]`."""
        if x.ndim == 1:
            return op.take(self.weight, x, axis=0)
        rows = op.take(self.weight, op.reshape(x, [-1]), axis=0)
        return op.reshape(rows, [*x.shape, self.dim])


class TimestepEmbedding(Module):
    """Two linear layers with an activation, of the embedding of a time step."""

    def __init__(
        self,
        in_channels: int,
        time_embed_dim: int,
        act_fn: str = "silu",
        out_dim: int | None = None,
        post_act_fn: str | None = None,
        cond_proj_dim: int | None = None,
    ) -> None:
        """Raises ValueError for another activation than `silu`."""
        for function in (act_fn, post_act_fn):
            if function not in ("silu", None):
                raise ValueError(
                    f"nn.TimestepEmbedding: an activation is 'silu', not {function!r}"
                )
        self.linear_1 = Linear(in_channels, time_embed_dim)
        self.cond_proj = (
            None
            if cond_proj_dim is None
            else Linear(cond_proj_dim, in_channels, bias=False)
        )
        self.act = SiLU()
        self.linear_2 = Linear(time_embed_dim, out_dim or time_embed_dim)
        self.post_act = None if post_act_fn is None else SiLU()

    def forward(self, sample: Tensor, condition: Tensor | None = None) -> Tensor:
        """`[…, in_channels]` as `[…, out_dim]`; the projected condition is added before.

        Raises ValueError for a condition, if there is no `cond_proj_dim`.
        """
        if condition is not None:
            if self.cond_proj is None:
                raise ValueError("nn.TimestepEmbedding: a condition needs cond_proj_dim")
            sample = sample + self.cond_proj(condition)
        result: Tensor = self.linear_2(self.act(self.linear_1(sample)))
        return result if self.post_act is None else self.post_act(result)


class Timesteps(Module):
    """Sines and cosines of time steps."""

    def __init__(
        self,
        num_channels: int,
        flip_sin_to_cos: bool = False,
        downscale_freq_shift: float = 1,
    ) -> None:
        self.num_channels = num_channels
        self.flip_sin_to_cos = flip_sin_to_cos
        self.downscale_freq_shift = downscale_freq_shift

    def forward(self, x: Tensor) -> Tensor:
        """`[n]` as `[n, num_channels]`."""
        return op.get_timestep_embedding(
            x, self.num_channels, self.flip_sin_to_cos, self.downscale_freq_shift
        )


class Attention(Module):
    """Attention of several heads, to the input itself or to another one.

    With `norm_num_groups` the input is normalised by groups before. Scores are divided
    by the root of `dim_head` if `scale_qk`.
    """

    def __init__(
        self,
        query_dim: int,
        cross_attention_dim: int | None = None,
        heads: int = 8,
        dim_head: int = 64,
        bias: bool = False,
        norm_num_groups: int | None = None,
        out_bias: bool = True,
        scale_qk: bool = True,
    ) -> None:
        self.query_dim = query_dim
        self.cross_attention_dim = cross_attention_dim or query_dim
        self.heads = heads
        self.dim_head = dim_head
        self.bias = bias
        self.norm_num_groups = norm_num_groups
        self.out_bias = out_bias
        self.scale_qk = scale_qk
        self.scale = dim_head**-0.5 if scale_qk else 1.0
        self.inner_dim = dim_head * heads
        self.to_q = Linear(query_dim, self.inner_dim, bias=bias)
        self.to_k = Linear(self.cross_attention_dim, self.inner_dim, bias=bias)
        self.to_v = Linear(self.cross_attention_dim, self.inner_dim, bias=bias)
        self.group_norm = (
            None
            if norm_num_groups is None
            else GroupNorm(num_channels=query_dim, num_groups=norm_num_groups)
        )
        self.to_out = ModuleList([Linear(self.inner_dim, query_dim, bias=out_bias)])

    def forward(
        self,
        hidden_states: Tensor,
        encoder_hidden_states: Tensor | None = None,
        attention_mask: Tensor | None = None,
    ) -> Tensor:
        """`[n, length, query_dim]` as the same; the mask is added to the scores."""
        if self.group_norm is not None:
            hidden_states = self.group_norm(hidden_states, channel_axis=2, axes=[1])
        other = hidden_states if encoder_hidden_states is None else encoder_hidden_states
        query, key, value = (
            self._heads(self.to_q(hidden_states)),
            self._heads(self.to_k(other)),
            self._heads(self.to_v(other)),
        )
        attended = op.scaled_dot_product_attention(
            query, key, value, attention_mask, scale=None if self.scale_qk else self.scale
        )
        result = op.reshape(attended, (0, -1, self.inner_dim))
        return self.to_out[0](result)

    def _heads(self, x: Tensor) -> Tensor:
        """`[n, length, inner_dim]` as `[n, length, heads, dim_head]`."""
        return op.reshape(x, (0, -1, self.heads, self.dim_head))
