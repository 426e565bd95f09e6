"""TVM's `tvm.contrib.utils`: a temporary folder for files that programs make."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref

__all__ = ["TempDirectory", "tempdir"]


class TempDirectory:
    """A folder that is removed with its content when nothing refers to it any more."""

    def __init__(self) -> None:
        self.temp_dir = tempfile.mkdtemp()
        self._removal = weakref.finalize(
            self, shutil.rmtree, self.temp_dir, ignore_errors=True
        )

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
        self._removal()

    def __truediv__(self, name: str) -> str:
        return self.relpath(name)


def tempdir() -> TempDirectory:
    """A new temporary folder."""
    return TempDirectory()
