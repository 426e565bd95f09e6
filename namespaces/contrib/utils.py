"""TVM's `tvm.contrib.utils`: a temporary folder for files that programs make."""

from __future__ import annotations

import os
import tempfile

__all__ = ["TempDirectory", "tempdir"]


class TempDirectory:
    """A folder that is removed with its content when nothing refers to it any more."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.temp_dir = self._folder.name

    @property
    def path(self) -> str:
        """The path of the folder."""
        return self.temp_dir

    def relpath(self, name: str) -> str:
        """The path of a file in the folder."""
        return os.path.join(self.temp_dir, name)

    def listdir(self) -> list[str]:
        """The names of what is in the folder."""
        return os.listdir(self.temp_dir)

    def remove(self) -> None:
        """Remove the folder now."""
        self._folder.cleanup()

    def __truediv__(self, name: str) -> str:
        return self.relpath(name)


def tempdir() -> TempDirectory:
    """A new temporary folder."""
    return TempDirectory()
