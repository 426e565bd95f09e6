"""ONNX models as Relax, TVM's `relax.frontend.onnx`; docs/onnx.md describes it.

    module = from_onnx(onnx.load("model.onnx"))

`model.py` reads a file and its header, `graph.py` converts node after node,
`operators/` holds the converters, a file a family, and `folding.py` the arithmetic of
values that are known while a model is converted, such as shapes.
"""

import importlib.util

if importlib.util.find_spec("onnx") is None:
    raise ImportError('ONNX models need the package onnx: pip install "xdsl-tvm[onnx]"')

from xdsl_tvm.frontend.onnx.convert import detach_params, from_onnx
from xdsl_tvm.frontend.onnx.errors import OnnxError

__all__ = ["OnnxError", "detach_params", "from_onnx"]
