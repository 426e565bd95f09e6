"""Compiled objects on disk, found by what they were compiled from.

The folder is `$XDSL_TVM_CACHE`, or `~/.cache/xdsl-tvm` if that is not set. The values
`off`, `0` and the empty string switch the cache off. An entry holds a checksum: one that
does not match is removed and compiled again. Writers put a complete file in place at
once, so any number of processes may share a folder. Nothing here fails a compilation:
a folder that cannot be read or written is no cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "XDSL_TVM_CACHE"
"""The environment variable that moves the cache or switches it off."""

_MAGIC = b"xdsl-tvm object 1\n"
_DIGEST_SIZE = hashlib.sha256().digest_size


def cache_folder() -> Path | None:
    """Where compiled objects are kept now; None if the cache is off."""
    value = os.environ.get(VARIABLE)
    if value is None:
        try:
            return Path.home() / ".cache" / "xdsl-tvm"
        except RuntimeError:
            return None
    return None if value in ("", "0", "off") else Path(value).expanduser()


def cache_key(*parts: str) -> str:
    """A name for what `parts` determine, the same in every process."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


@dataclass(frozen=True)
class ObjectCache:
    """A folder of compiled objects; `folder=None` keeps nothing."""

    folder: Path | None

    @staticmethod
    def default() -> ObjectCache:
        """The cache that the environment names."""
        return ObjectCache(cache_folder())

    def path(self, key: str) -> Path | None:
        """The file of an entry, whether it exists or not."""
        return None if self.folder is None else self.folder / key[:2] / f"{key}.o"

    def get(self, key: str) -> bytes | None:
        """The object kept under `key`; None if there is none or it is damaged."""
        path = self.path(key)
        if path is None:
            return None
        try:
            entry = path.read_bytes()
        except OSError:
            return None
        data = _checked(entry)
        if data is None:
            with contextlib.suppress(OSError):
                path.unlink()
        return data

    def put(self, key: str, data: bytes) -> bool:
        """Keeps an object under `key`; False if that was not possible."""
        path = self.path(key)
        if path is None:
            return False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _replace(path, _MAGIC + hashlib.sha256(data).digest() + data)
        except OSError:
            return False
        return True

    def get_or_make(self, key: str, make: Callable[[], bytes]) -> bytes:
        """The object kept under `key`, made and kept if it is not there."""
        data = self.get(key)
        if data is None:
            data = make()
            self.put(key, data)
        return data


def _checked(entry: bytes) -> bytes | None:
    start = len(_MAGIC) + _DIGEST_SIZE
    if len(entry) < start or not entry.startswith(_MAGIC):
        return None
    data = entry[start:]
    digest = entry[len(_MAGIC) : start]
    return data if hashlib.sha256(data).digest() == digest else None


def _replace(path: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
