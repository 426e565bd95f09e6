"""Libraries in archives, `lib.tar`, which programs of TVM send to other machines."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ENDING: Final = ".tar"
_LIBRARY: Final = "lib.so"


@contextmanager
def packed(path: Path) -> Generator[Path]:
    """The file to write a library to, which is put in an archive if `path` is one."""
    if path.suffix != ENDING:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / _LIBRARY
        yield library
        with tarfile.open(path, "w") as archive:
            archive.add(library, _LIBRARY)


def unpacked(path: Path, user: object) -> Path:
    """The library of an archive, in a file for as long as `user` lives.

    It is `path` itself if that is no archive. Raises ValueError for an archive that holds
    no library, and OSError.
    """
    if path.suffix != ENDING:
        return path
    folder = tempfile.mkdtemp()
    weakref.finalize(user, shutil.rmtree, folder, ignore_errors=True)
    library = Path(folder) / _LIBRARY
    try:
        with tarfile.open(path) as archive:
            content = archive.extractfile(_LIBRARY)
            if content is None:
                raise KeyError
            library.write_bytes(content.read())
    except (KeyError, tarfile.TarError):
        raise ValueError(f"there is no {_LIBRARY} in it") from None
    return library
