"""TVM's Relax and TIR as xDSL dialects, passes over them, and a road to CPU and PTX.

Importing this package imports neither a dialect nor a code generator: each part
is loaded when it is first used. `transform` is `xdsl_tvm.passes.infra`, so that
`xdsl_tvm.transform.Sequential` reads like TVM's.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xdsl_tvm.dialects.ir_module import IRModule as IRModule
    from xdsl_tvm.runtime.executable import Executable as Executable
    from xdsl_tvm.runtime.executable import compile as compile
    from xdsl_tvm.runtime.interpreted import interpret as interpret

    __version__: str

_HOMES = {
    "Executable": "xdsl_tvm.runtime.executable",
    "IRModule": "xdsl_tvm.dialects.ir_module",
    "compile": "xdsl_tvm.runtime.executable",
    "interpret": "xdsl_tvm.runtime.interpreted",
}


def __getattr__(name: str) -> Any:
    if name == "transform":
        return importlib.import_module("xdsl_tvm.passes.infra")
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("xdsl-tvm")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
