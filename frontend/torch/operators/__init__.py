"""The converters of operators, a module a family. Importing them fills the table."""

from xdsl_tvm.frontend.torch.operators import (
    activations,
    convolution,
    creation,
    elementwise,
    gradients,
    indexing,
    layout,
    linear,
    normalization,
    pooling,
    reductions,
    sampling,
    scatter,
    sorting,
)

__all__ = [
    "activations",
    "convolution",
    "creation",
    "elementwise",
    "gradients",
    "indexing",
    "layout",
    "linear",
    "normalization",
    "pooling",
    "reductions",
    "sampling",
    "scatter",
    "sorting",
]
