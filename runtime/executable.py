"""Modules as callables on numpy arrays.

`compile` lowers a module of Relax and TIR functions and returns an `Executable`;
`executable["name"](…)` calls a function. A TIR function writes to arrays that it is
passed; a Relax function returns new arrays.

The names of this module are defined by role: sources in `load`, compilation in `compile`,
code for the processor in `native` and for GPUs in `cuda`, calls in `call`.
"""

from __future__ import annotations

from xdsl_tvm.lowering.progress import Progress
from xdsl_tvm.runtime.call import CompiledFunction
from xdsl_tvm.runtime.compilation import TARGETS
from xdsl_tvm.runtime.compile import compile
from xdsl_tvm.runtime.executable_base import Executable
from xdsl_tvm.runtime.load import Source, load_module, load_text
from xdsl_tvm.runtime.native import KernelTime, NativeExecutable, Settings

__all__ = [
    "TARGETS",
    "CompiledFunction",
    "Executable",
    "KernelTime",
    "NativeExecutable",
    "Progress",
    "Settings",
    "Source",
    "compile",
    "load_module",
    "load_text",
]
