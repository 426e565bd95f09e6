"""TVM's Relax and TIR as xDSL dialects, passes over them, and a road to CPU and PTX.

Importing this package imports neither a dialect nor a code generator: each part
is loaded when it is first used. Programs of TVM v0.20 import it in the place of TVM:

    import xdsl_tvm as tvm
    from xdsl_tvm import relax, tir
    from xdsl_tvm.script import ir as I, relax as R, tir as T
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xdsl_tvm.dialects.ir_module import IRModule as IRModule
    from xdsl_tvm.runtime.building import build_tir
    from xdsl_tvm.runtime.compile import compile as compile
    from xdsl_tvm.runtime.device import cpu as cpu
    from xdsl_tvm.runtime.device import cuda as cuda
    from xdsl_tvm.runtime.device import device as device
    from xdsl_tvm.runtime.executable import Executable as Executable
    from xdsl_tvm.runtime.global_functions import get_global_func as get_global_func
    from xdsl_tvm.runtime.global_functions import register_func as register_func
    from xdsl_tvm.runtime.interpreted import interpret as interpret

    build = build_tir
    register_global_func = register_func
    __version__: str

_HOMES = {
    "Executable": "xdsl_tvm.runtime.executable",
    "IRModule": "xdsl_tvm.dialects.ir_module",
    "compile": "xdsl_tvm.runtime.compile",
    "cpu": "xdsl_tvm.runtime.device",
    "cuda": "xdsl_tvm.runtime.device",
    "device": "xdsl_tvm.runtime.device",
    "get_global_func": "xdsl_tvm.runtime.global_functions",
    "interpret": "xdsl_tvm.runtime.interpreted",
    "register_func": "xdsl_tvm.runtime.global_functions",
}
_OTHERS = {
    "build": ("xdsl_tvm.runtime.building", "build_tir"),
    "register_global_func": ("xdsl_tvm.runtime.global_functions", "register_func"),
}
"""Names that are others where they are defined."""
_NAMESPACES = (
    "contrib",
    "dlight",
    "instrument",
    "ir",
    "nd",
    "relax",
    "rpc",
    "runtime",
    "script",
    "target",
    "testing",
    "tir",
    "transform",
)


def __getattr__(name: str) -> Any:
    if name in _NAMESPACES:
        return importlib.import_module(f"{__name__}.{name}")
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("xdsl-tvm")
    if name in _HOMES or name in _OTHERS:
        home, own = _OTHERS.get(name) or (_HOMES[name], name)
        return getattr(importlib.import_module(home), own)
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise importlib.import_module("xdsl_tvm.tvm_words").missing("", name)
