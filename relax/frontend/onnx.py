"""ONNX models as Relax by TVM's name: `relax.frontend.onnx.from_onnx(model)`."""

from xdsl_tvm.frontend.onnx import OnnxError, detach_params, from_onnx

__all__ = ["OnnxError", "detach_params", "from_onnx"]
