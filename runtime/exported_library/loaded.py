"""Libraries that `export_library` has made, called with numpy arrays.

Any program that has `tvm_ffi` loads them by `tvm_ffi.load_module`; this is for the
command line, which makes up arguments by what the library says of its functions.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.runtime.exported_library.archive import unpacked
from xdsl_tvm.runtime.exported_library.c_source import DESCRIPTION
from xdsl_tvm.runtime.exported_library.description import signatures_of
from xdsl_tvm.runtime.ndarray import host_value
from xdsl_tvm.runtime.runtime_module import RuntimeModule
from xdsl_tvm.runtime.signature import ResultTree


class LoadedLibrary(RuntimeModule):
    """The functions of a library, by name."""

    def __init__(self, path: str | Path) -> None:
        """Loads a library; its code runs with the rights of this process.

        Raises DiagnosticException where `tvm_ffi` is missing, or the file is no library
        of `export_library`.
        """
        ffi = _tvm_ffi()
        try:
            file = unpacked(Path(path).absolute(), self)
            start = ctypes.c_char.in_dll(ctypes.CDLL(str(file)), DESCRIPTION)
            text = ctypes.string_at(ctypes.addressof(start)).decode()
            self.signatures = signatures_of(text)
        except (OSError, ValueError) as error:
            raise DiagnosticException(
                f"{path}: no library of export_library: {error}"
            ) from None
        """How functions are called; None where their code checks their arguments."""
        self._module = ffi.load_module(str(file))

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """The function, which takes numpy arrays, numbers and tuples.

        Raises KeyError if there is none.
        """
        signature = self.signatures[name]
        function = self._module[name]

        def call(*args: Any) -> Any:
            result = function(*map(_argument, map(host_value, args)))
            if signature is None or signature.result is None:
                return result
            return _result(signature.result, result)

        return call

    def __iter__(self) -> Iterator[str]:
        return iter(self.signatures)

    def __len__(self) -> int:
        return len(self.signatures)

    def __repr__(self) -> str:
        """The functions with their parameters and results, each in a line."""
        lines = [
            f"  @{name}(*args)" if signature is None else f"  {signature}"
            for name, signature in self.signatures.items()
        ]
        return "\n".join([f"<{type(self).__name__}", *lines]) + ">"


def _tvm_ffi() -> Any:
    try:
        return importlib.import_module("tvm_ffi")
    except ImportError:
        raise DiagnosticException(
            'libraries are loaded by tvm_ffi: pip install "xdsl-tvm[ffi]"'
        ) from None


def _argument(value: object) -> object:
    if not isinstance(value, np.ndarray):
        return value
    array = cast("npt.NDArray[Any]", value)
    if array.dtype.kind == "V":
        raise TypeError(
            f"arrays of {array.dtype} cannot be passed from numpy, which has no DLPack "
            "type for them; pass those of another library"
        )
    return array


def _result(tree: ResultTree, value: Any) -> Any:
    if isinstance(tree, tuple):
        return tuple(_result(t, v) for t, v in zip(tree, value, strict=True))
    match tree.form:
        case "array":
            return np.from_dlpack(value)
        case "shape":
            return tuple(int(extent) for extent in value)
        case "scalar":
            return value
        case "object":
            raise AssertionError("not exported")


def load_library(path: str | Path, fmt: str = "") -> LoadedLibrary:
    """The functions of a library, TVM's `tvm.runtime.load_module`.

    Raises ValueError for another format than a shared library, alone or in an archive
    .tar, and DiagnosticException where `tvm_ffi` is missing, or the file is no library of
    `export_library`.
    """
    if fmt not in ("", "so", "tar"):
        raise ValueError(f"load_module loads shared libraries, so or tar, not '{fmt}'")
    return LoadedLibrary(path)
