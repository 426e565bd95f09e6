"""The converters of operators, a module a family. Importing them fills the table."""

from xdsl_tvm.frontend.onnx.operators import (
    constants,
    control,
    convolution,
    elementwise,
    indexing,
    layout,
    linear,
    normalization,
    pooling,
    quantization,
    recurrent,
    reductions,
    sampling,
    transforms,
)

__all__ = [
    "constants",
    "control",
    "convolution",
    "elementwise",
    "indexing",
    "layout",
    "linear",
    "normalization",
    "pooling",
    "quantization",
    "recurrent",
    "reductions",
    "sampling",
    "transforms",
]
