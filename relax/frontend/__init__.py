"""Models of other formats as Relax, by TVM's names: `onnx` and `torch`."""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if name == "detach_params":
        return importlib.import_module("xdsl_tvm.frontend.params").detach_params
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
