"""Operators of models that rearrange, reduce and make tensors, and that sort.

Names, parameters and defaults are TVM's; `name` is that of the variable of the result.
All raise VerifyException for arguments that do not fit. What has several results returns
a tuple.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from xdsl_tvm.dialects.relax.symbolic import DimLike
from xdsl_tvm.relax.expr import Var, const
from xdsl_tvm.relax.frontend.nn.tensor import (
    Scalar,
    Tensor,
    operate,
    operate_nested,
    wrap_nested,
)
from xdsl_tvm.relax.runtime import alloc_tensor

Axes: TypeAlias = "int | Sequence[int] | None"
Shape: TypeAlias = "Sequence[DimLike]"
Tensors: TypeAlias = "tuple[Tensor, ...]"

# ---- other shapes ----


def unsqueeze(x: Tensor, dim: int, name: str = "unsqueeze") -> Tensor:
    """The tensor with a new dimension of 1 at `dim`."""
    return operate("expand_dims", x, dim, name=name)


def squeeze(x: Tensor, axis: Axes = -1, name: str = "squeeze") -> Tensor:
    """The tensor without dimensions that are 1; without all such for None."""
    return operate("squeeze", x, axis, name=name)


def reshape(x: Tensor, shape: Shape, name: str = "reshape") -> Tensor:
    """The elements in another shape; -1 stands for the dimension that is left."""
    return operate("reshape", x, shape, name=name)


def broadcast_to(x: Tensor, shape: Shape, name: str = "broadcast_to") -> Tensor:
    """The elements repeated along new dimensions, and along those of 1."""
    return operate("broadcast_to", x, shape, name=name)


def permute_dims(
    x: Tensor, axes: Sequence[int] | None = None, name: str | None = None
) -> Tensor:
    """The dimensions in another order, reversed without one.

    Without `name`, the transposed `…linear…` is called `…matmul…`, as in TVM.
    """
    if name is None:
        hint = x.expr.name_hint if isinstance(x.expr, Var) else ""
        name = hint.replace("linear", "matmul") if "linear" in hint else "permute_dims"
    return operate("permute_dims", x, axes, name=name)


def permute(x: Tensor, axes: Sequence[int] | None, name: str = "permute") -> Tensor:
    """The dimensions in another order, reversed for None."""
    return operate("permute_dims", x, axes, name=name)


def repeat(
    x: Tensor, repeats: int, axis: int | None = None, name: str = "repeat"
) -> Tensor:
    """Every element several times, along an axis or of the flattened tensor."""
    return operate("repeat", x, repeats, axis, name=name)


def pad(
    x: Tensor,
    pad: Sequence[int],
    mode: str = "constant",
    value: float = 0.0,
    name: str = "pad",
) -> Tensor:
    """The tensor with elements around it; `pad` has both widths of every axis."""
    return operate("nn.pad", x, list(pad), mode, value, name=name)


def triu(x: Tensor, diagonal: int = 0, name: str = "triu") -> Tensor:
    """The elements on and above a diagonal of every matrix, 0 elsewhere."""
    return operate("triu", x, diagonal, name=name)


def tril(x: Tensor, diagonal: int = 0, name: str = "tril") -> Tensor:
    """The elements on and below a diagonal of every matrix, 0 elsewhere."""
    return operate("tril", x, diagonal, name=name)


# ---- several tensors ----


def concat(x: Sequence[Tensor], dim: int, name: str = "concat") -> Tensor:
    """Tensors one after the other along an axis."""
    return operate("concat", list(x), dim, name=name)


def split(
    ary: Tensor,
    indices_or_sections: int | Sequence[int],
    axis: int = 0,
    name: str = "split",
) -> Tensors:
    """Parts of a tensor: a number of equal ones, or those between indices."""
    return cast(
        "Tensors", operate_nested("split", ary, indices_or_sections, axis, name=name)
    )


def chunk(x: Tensor, chunks: int, dim: int = 0, name: str = "chunk") -> Tensors:
    """A number of equal parts of a tensor."""
    return split(x, chunks, dim, name)


def take(
    x: Tensor, indices: Tensor, axis: int | None = None, name: str = "take"
) -> Tensor:
    """The elements at indices along an axis, which only a vector can be without."""
    return operate("take", x, indices, axis, name=name)


# ---- reductions ----


def sum(
    x: Tensor, axis: Axes = None, keepdims: bool = False, name: str = "sum"
) -> Tensor:
    """The sum over axes, over all for None."""
    return operate("sum", x, axis, keepdims, name=name)


def max(
    x: Tensor, axis: Axes = None, keepdims: bool = False, name: str = "max"
) -> Tensor:
    """The largest element over axes, over all for None."""
    return operate("max", x, axis, keepdims, name=name)


def min(
    x: Tensor, axis: Axes = None, keepdims: bool = False, name: str = "min"
) -> Tensor:
    """The smallest element over axes, over all for None."""
    return operate("min", x, axis, keepdims, name=name)


def cumsum(
    data: Tensor,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: bool | None = None,
    name: str = "cumsum",
) -> Tensor:
    """The sums up to every element, without itself if `exclusive`, along an axis.

    Of the flattened tensor for None; in the tensor's dtype without `dtype`.
    """
    return operate("cumsum", data, axis, dtype, exclusive, name=name)


# ---- new tensors ----


def full(
    shape: Shape, fill_value: Tensor | Scalar, dtype: str = "float32", name: str = "full"
) -> Tensor:
    """A tensor of equal elements; `fill_value` is a number or a tensor of rank 0."""
    value = fill_value if isinstance(fill_value, Tensor) else const(fill_value, dtype)
    return operate("full", shape, value, dtype, name=name)


def zeros(shape: Shape, dtype: str = "float32", name: str = "zeros") -> Tensor:
    """A tensor of zeros."""
    return operate("zeros", shape, dtype, name=name)


def ones(shape: Shape, dtype: str = "float32", name: str = "ones") -> Tensor:
    """A tensor of ones."""
    return operate("ones", shape, dtype, name=name)


def empty(shape: Shape, dtype: str = "float32", name: str = "empty") -> Tensor:
    """A tensor whose elements are not set."""
    return cast("Tensor", wrap_nested(alloc_tensor(list(shape), dtype, 0), name))


def arange(
    start: DimLike,
    end: DimLike | None = None,
    step: DimLike = 1,
    dtype: str = "float32",
    name: str = "arange",
) -> Tensor:
    """The numbers from `start` to before `end`; from 0 to before `start` without one."""
    first, last = (0, start) if end is None else (start, end)
    return operate("arange", first, last, step, dtype, name=name)


# ---- order ----


def sort(
    x: Tensor, axis: int = -1, descending: bool = False, name: str = "sort"
) -> Tensor:
    """The elements in order along an axis."""
    return operate("sort", x, axis, descending, name=name)


def argsort(
    data: Tensor,
    axis: int = -1,
    descending: bool = False,
    dtype: str = "int32",
    name: str = "argsort",
) -> Tensor:
    """The indices of the elements in order along an axis."""
    return operate("argsort", data, axis, descending, dtype, name=name)


def topk(
    data: Tensor,
    k: int = 1,
    axis: int = -1,
    ret_type: str = "both",
    largest: bool = True,
    dtype: str = "int32",
    name: str = "topk",
) -> Tensor | tuple[Any, ...]:
    """The `k` largest or smallest elements along an axis, and their indices.

    `ret_type` is `both`, `values` or `indices`.
    """
    return operate_nested("topk", data, k, axis, ret_type, largest, dtype, name=name)


def multinomial_from_uniform(
    prob: Tensor,
    uniform_sample: Tensor,
    sample_indices: Tensor | None = None,
    dtype: str = "int64",
    name: str = "multinomial_from_uniform",
) -> Tensor:
    """For samples `[n, 1]` from 0 to 1, indices drawn from the rows of `prob`.

    Sample `i` is drawn from row `sample_indices[i, 0]`, from row `i` without them. Raises
    ValueError if it is not known how many samples that are.
    """
    count = uniform_sample.shape[0]
    if sample_indices is None:
        if prob.shape[0] != count:
            raise ValueError(
                f"nn.op.{name}: {count} samples of {prob.shape[0]} distributions need "
                "sample_indices"
            )
        if not isinstance(count, int):
            raise ValueError(
                f"nn.op.{name}: the number of samples, {count}, is not known; give "
                "sample_indices"
            )
        sample_indices = Tensor.from_const(np.arange(count)[:, None])
    return operate(
        "multinomial_from_uniform", prob, uniform_sample, sample_indices, dtype, name=name
    )
