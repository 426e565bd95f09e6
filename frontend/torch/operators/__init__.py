"""The converters of operators, a module a family. Importing them fills the table."""

from xdsl_tvm.frontend.torch.operators import (
    activations,
    complex_numbers,
    convolution,
    creation,
    elementwise,
    gradients,
    indexing,
    layout,
    linear,
    normalization,
    pooling,
    random,
    reductions,
    sampling,
    scatter,
    sorting,
)

__all__ = [
    "activations",
    "complex_numbers",
    "convolution",
    "creation",
    "elementwise",
    "gradients",
    "indexing",
    "layout",
    "linear",
    "normalization",
    "pooling",
    "random",
    "reductions",
    "sampling",
    "scatter",
    "sorting",
]
