"""Compiled objects on disk, found by what they were compiled from.

The folder is `$XDSL_TVM_CACHE`, or `~/.cache/xdsl-tvm` if that is not set. The values
`off`, `0` and the empty string switch the cache off. Entries are code that runs, so they
are used under these conditions only, and compiled again otherwise:

- The folder belongs to the user or to root, and nobody else may write to it. A sticky
  folder is taken for one like that, and so is one that the user's private group may write
  to: a group of the user's name without other members. New folders are for the user only.
- The entry is a regular file, no link, under the same conditions, and of at most 1 GiB.
- Its checksum is right, which covers the key: an entry that was moved or copied to the
  place of another one is none.

Writers put a complete file in place at once, so any number of processes may share a
folder. Nothing here fails a compilation, prints or warns: a folder that cannot be read,
written or trusted, or on a full disk, is no cache. `ObjectCache.problem` says why.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "XDSL_TVM_CACHE"
"""The environment variable that moves the cache or switches it off."""

LARGEST = 1 << 30
"""The size of the largest object that is kept, in bytes."""

_MAGIC = b"xdsl-tvm object 2\n"
_DIGEST_SIZE = hashlib.sha256().digest_size
_HEADER_SIZE = len(_MAGIC) + _DIGEST_SIZE
_READ = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    # A pipe without a writer is opened at once, and then found to be none of ours.
    | getattr(os, "O_NONBLOCK", 0)
)


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
        """The file of an entry, whether it exists or not.

        Raises ValueError if `key` is none that `cache_key` makes.
        """
        if len(key) != 2 * _DIGEST_SIZE or not (key.isascii() and key.isalnum()):
            raise ValueError(f"'{key}' is no key of the object cache; use cache_key")
        return None if self.folder is None else self.folder / key[:2] / f"{key}.o"

    @property
    def is_empty(self) -> bool:
        """Whether nothing can be found; it is not known of a folder that is not read."""
        if self.folder is None:
            return True
        try:
            with os.scandir(self.folder) as entries:
                return next(entries, None) is None
        except FileNotFoundError:
            return True
        except OSError:
            return False

    @property
    def problem(self) -> str | None:
        """Why nothing is kept, in one line; None if the folder can be used."""
        if self.folder is None:
            return "the cache is switched off"
        try:
            return _distrust(self.folder, os.stat(self.folder))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            return f"{self.folder}: {error}"

    def get(self, key: str) -> bytes | None:
        """The object kept under `key`; None if there is none that can be used."""
        path = self.path(key)
        if path is None or not self._is_trusted(path):
            return None
        try:
            entry = _read(path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            entry = b""
        data = _checked(key, entry)
        if data is None:
            with contextlib.suppress(OSError):
                path.unlink()
        return data

    def put(self, key: str, data: bytes) -> bool:
        """Keeps an object under `key`; False if that was not possible."""
        path = self.path(key)
        if path is None or len(data) > LARGEST:
            return False
        try:
            for folder in (path.parents[1], path.parent):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._is_trusted(path):
                return False
            _replace(path, _MAGIC + _digest(key, data) + data)
        except (OSError, ValueError):
            return False
        return True

    def get_or_make(self, key: str, make: Callable[[], bytes]) -> bytes:
        """The object kept under `key`, made and kept if it is not there."""
        data = self.get(key)
        if data is None:
            data = make()
            self.put(key, data)
        return data

    def _is_trusted(self, path: Path) -> bool:
        """Whether nobody else may put or replace the file of an entry."""
        top, inner = path.parents[1], path.parent
        try:
            # The folder may be a link, as where the home has little space.
            return (
                _distrust(top, os.stat(top)) is None
                and _distrust(inner, os.lstat(inner)) is None
            )
        except (OSError, ValueError):
            return False


def _distrust(folder: Path, status: os.stat_result) -> str | None:
    """Why a folder is not used, in one line."""
    if not stat.S_ISDIR(status.st_mode):
        return f"{folder} is no folder"
    if not _belongs_to_user(status):
        return f"{folder} belongs to another user"
    if _may_be_written_by_others(status) and not status.st_mode & stat.S_ISVTX:
        return f"{folder} can be written by other users; chmod go-w it"
    return None


def _belongs_to_user(status: os.stat_result) -> bool:
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid in (0, os.geteuid())


def _may_be_written_by_others(status: os.stat_result) -> bool:
    if not hasattr(os, "geteuid"):
        return False
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _is_private_group(status.st_gid)


def _is_private_group(group: int) -> bool:
    """Whether a group is that of this user alone, by its name and its members."""
    import grp
    import pwd

    try:
        user = pwd.getpwuid(os.geteuid()).pw_name
        found = grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name == user and set(found.gr_mem) <= {user}


def _read(path: Path) -> bytes:
    """The content of an entry; empty if the file is none that is used."""
    # Before it is opened, for systems that cannot refuse links and wait at pipes.
    if not stat.S_ISREG(os.lstat(path).st_mode):
        return b""
    with os.fdopen(os.open(path, _READ), "rb") as file:
        status = os.fstat(file.fileno())
        if (
            not stat.S_ISREG(status.st_mode)
            or not _belongs_to_user(status)
            or _may_be_written_by_others(status)
            or status.st_size > _HEADER_SIZE + LARGEST
        ):
            return b""
        return file.read(status.st_size)


def _digest(key: str, data: bytes) -> bytes:
    """A checksum of an object and of what it was compiled from."""
    digest = hashlib.sha256(_MAGIC + key.encode())
    digest.update(data)
    return digest.digest()


def _checked(key: str, entry: bytes) -> bytes | None:
    if len(entry) < _HEADER_SIZE or not entry.startswith(_MAGIC):
        return None
    data = entry[_HEADER_SIZE:]
    return data if entry[len(_MAGIC) : _HEADER_SIZE] == _digest(key, data) else None


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
