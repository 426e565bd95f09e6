"""TVM's `tvm.rpc`, of which the session on this machine is here.

remote = rpc.LocalSession()
remote.upload("lib.so")
func = remote.load_module("lib.so")
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, NoReturn

from xdsl_tvm.contrib.utils import tempdir
from xdsl_tvm.runtime.device import Device, cpu, cuda, device
from xdsl_tvm.runtime.exported_library.loaded import LoadedLibrary, load_library
from xdsl_tvm.runtime.global_functions import get_global_func
from xdsl_tvm.tvm_words import missing

__all__ = ["LocalSession"]


class LocalSession:
    """A session on this machine: files are copied to a folder and loaded from there."""

    def __init__(self) -> None:
        self._folder = tempdir()

    def upload(
        self, data: str | os.PathLike[str] | bytearray | bytes, target: str | None = None
    ) -> None:
        """Copy a file to the folder under its name or `target`; or bytes, as `target`.

        Raises ValueError for bytes without a name, and OSError.
        """
        if isinstance(data, bytes | bytearray):
            if target is None:
                raise ValueError("upload: bytes need the name of a file, target")
            Path(self._path(target)).write_bytes(data)
        else:
            shutil.copyfile(data, self._path(target or os.path.basename(data)))

    def download(self, path: str) -> bytearray:
        """The bytes of a file of the folder."""
        return bytearray(Path(self._path(path)).read_bytes())

    def remove(self, path: str) -> None:
        """Remove a file of the folder."""
        os.remove(self._path(path))

    def listdir(self, path: str = "") -> list[str]:
        """The names of the files in the folder, or in a folder of it."""
        return os.listdir(self._path(path))

    def load_module(self, path: str) -> LoadedLibrary:
        """The functions of a library that was uploaded."""
        return load_library(self._path(path))

    def get_function(self, name: str) -> Any:
        """A function that `register_func` has registered. Raises ValueError."""
        return get_global_func(name)

    def device(self, dev_type: str, dev_id: int = 0) -> Device:
        """A device of this machine."""
        return device(dev_type, dev_id)

    def cpu(self, dev_id: int = 0) -> Device:
        """The processor."""
        return cpu(dev_id)

    def cuda(self, dev_id: int = 0) -> Device:
        """A GPU."""
        return cuda(dev_id)

    def _path(self, name: str) -> str:
        """The path of a file of the folder. Raises ValueError for one outside of it."""
        path = os.path.normpath(self._folder.relpath(name))
        if os.path.commonpath([path, self._folder.path]) != self._folder.path:
            raise ValueError(f"'{name}' is outside of the session's folder")
        return path


def __getattr__(name: str) -> NoReturn:
    raise missing("rpc", name)
