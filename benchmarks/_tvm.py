"""What the benchmarks ask of TVM, of several versions, where it is installed."""

from __future__ import annotations

import importlib
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.tvmscript.printer import print_script


def tvm_module(module: ModuleOp) -> Any:
    """A module of TIR, read by TVM from its script. ImportError where there is no TVM."""
    tvm: Any = importlib.import_module("tvm")
    script: Any = importlib.import_module("tvm.script")
    version = "0.20" if hasattr(script, "tir") else "0.27"
    found = script.from_source(print_script(module, version=version))
    if isinstance(found, tvm.IRModule):
        return found
    return tvm.IRModule({str(found.attrs["global_symbol"]): found})


def tvm_tir() -> Any:
    """TVM's Python module of TIR, whose name is another one in later versions."""
    tvm: Any = importlib.import_module("tvm")
    return tvm.tir if hasattr(tvm, "tir") else importlib.import_module("tvm.tirx")
