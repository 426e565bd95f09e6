"""TVM's `tvm.runtime`: names of this folder's modules, imported when they are used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xdsl_tvm.dialects.scriptable import Scriptable as Scriptable
    from xdsl_tvm.runtime.conversion import convert as convert
    from xdsl_tvm.runtime.device import Device as Device
    from xdsl_tvm.runtime.device import cpu as cpu
    from xdsl_tvm.runtime.device import cuda as cuda
    from xdsl_tvm.runtime.device import device as device
    from xdsl_tvm.runtime.executable_base import Executable as Executable
    from xdsl_tvm.runtime.exported_library.loaded import load_library
    from xdsl_tvm.runtime.ndarray import NDArray as NDArray
    from xdsl_tvm.runtime.ndarray import array
    from xdsl_tvm.runtime.param_files import load_param_dict as load_param_dict
    from xdsl_tvm.runtime.param_files import (
        load_param_dict_from_file as load_param_dict_from_file,
    )
    from xdsl_tvm.runtime.param_files import save_param_dict as save_param_dict
    from xdsl_tvm.runtime.param_files import (
        save_param_dict_to_file as save_param_dict_to_file,
    )
    from xdsl_tvm.runtime.runtime_module import RuntimeModule

    Module = RuntimeModule
    ShapeTuple = tuple[int, ...]
    load_module = load_library
    tensor = array

_HOMES = {
    "Device": "xdsl_tvm.runtime.device",
    "Executable": "xdsl_tvm.runtime.executable_base",
    "NDArray": "xdsl_tvm.runtime.ndarray",
    "Scriptable": "xdsl_tvm.dialects.scriptable",
    "convert": "xdsl_tvm.runtime.conversion",
    "cpu": "xdsl_tvm.runtime.device",
    "cuda": "xdsl_tvm.runtime.device",
    "device": "xdsl_tvm.runtime.device",
    "load_param_dict": "xdsl_tvm.runtime.param_files",
    "load_param_dict_from_file": "xdsl_tvm.runtime.param_files",
    "save_param_dict": "xdsl_tvm.runtime.param_files",
    "save_param_dict_to_file": "xdsl_tvm.runtime.param_files",
}
_OTHERS = {
    "Module": ("xdsl_tvm.runtime.runtime_module", "RuntimeModule"),
    "ShapeTuple": ("builtins", "tuple"),
    "load_module": ("xdsl_tvm.runtime.exported_library.loaded", "load_library"),
    "tensor": ("xdsl_tvm.runtime.ndarray", "array"),
}
"""Names that are others where they are defined; `tensor` is newer TVM's."""
_MODULES = {"ndarray": "ndarray", "relax_vm": "virtual_machine", "vm": "virtual_machine"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"xdsl_tvm.runtime.{_MODULES[name]}")
    if name in _HOMES or name in _OTHERS:
        home, own = _OTHERS.get(name) or (_HOMES[name], name)
        return getattr(importlib.import_module(home), own)
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise importlib.import_module("xdsl_tvm.tvm_words").missing("runtime", name)
