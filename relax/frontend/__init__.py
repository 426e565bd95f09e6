"""Models as Relax, by TVM's names: of other formats, `onnx` and `torch`, and `nn`."""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if name == "detach_params":
        return importlib.import_module("xdsl_tvm.frontend.params").detach_params
    if name == "nn":
        return importlib.import_module("xdsl_tvm.relax.frontend.nn")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
