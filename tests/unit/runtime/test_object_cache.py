"""The cache of compiled objects: hits, damage, sharing, and switching it off."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from xdsl_tvm.runtime import object_cache
from xdsl_tvm.runtime.object_cache import (
    VARIABLE,
    ObjectCache,
    cache_folder,
    cache_key,
)

KEY = cache_key("some", "parts")


def fail() -> bytes:
    raise AssertionError("the object was made again")


def test_second_request_is_a_hit(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path)
    assert cache.get(KEY) is None
    assert cache.get_or_make(KEY, lambda: b"object") == b"object"
    assert cache.get_or_make(KEY, fail) == b"object"
    assert ObjectCache(tmp_path).get(KEY) == b"object"


def test_key_depends_on_every_part_and_its_borders() -> None:
    keys = {cache_key("ab", "c"), cache_key("a", "bc"), cache_key("abc"), KEY}
    assert len(keys) == 4
    assert cache_key("ab", "c") == cache_key("ab", "c")


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "foreign"])
def test_damaged_entry_is_made_again(tmp_path: Path, damage: str) -> None:
    cache = ObjectCache(tmp_path)
    cache.put(KEY, b"object code")
    path = cache.path(KEY)
    assert path is not None
    entry = bytearray(path.read_bytes())
    entry[-1] ^= 1
    path.write_bytes(
        {
            "flip": bytes(entry),
            "cut": path.read_bytes()[:-3],
            "empty": b"",
            "foreign": b"something else entirely, and longer than a header" * 3,
        }[damage]
    )
    assert cache.get(KEY) is None
    assert not path.exists()
    assert cache.get_or_make(KEY, lambda: b"new") == b"new"
    assert cache.get(KEY) == b"new"


def test_concurrent_writers_leave_one_whole_entry(tmp_path: Path) -> None:
    objects = [bytes([number]) * 200_000 for number in range(8)]
    seen: list[bytes | None] = []

    def work(data: bytes) -> None:
        cache = ObjectCache(tmp_path)
        for _ in range(20):
            assert cache.put(KEY, data)
            seen.append(cache.get(KEY))

    threads = [threading.Thread(target=work, args=(data,)) for data in objects]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 160
    assert all(data in objects for data in seen)
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".o"]


def test_writers_of_several_processes(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from xdsl_tvm.runtime.object_cache import ObjectCache\n"
        "cache = ObjectCache(Path(sys.argv[1]))\n"
        "data = sys.argv[2].encode() * 100_000\n"
        "for _ in range(50):\n"
        "    assert cache.put('k' * 64, data)\n"
        "    assert len(set(cache.get('k' * 64))) == 1\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), letter])
        for letter in "ab"
    ]
    assert [process.wait() for process in processes] == [0, 0]


@pytest.mark.parametrize("value", ["", "0", "off"])
def test_switched_off(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(VARIABLE, value)
    cache = ObjectCache.default()
    assert cache.folder is None
    assert not cache.put(KEY, b"object")
    assert cache.get(KEY) is None
    assert cache.get_or_make(KEY, lambda: b"object") == b"object"


def test_folder_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "here"))
    assert cache_folder() == tmp_path / "here"
    monkeypatch.setenv(VARIABLE, "~/mine")
    assert cache_folder() == Path.home() / "mine"
    monkeypatch.delenv(VARIABLE)
    assert cache_folder() == Path.home() / ".cache" / "xdsl-tvm"


def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """A file is where the folder should be; no permission bits involved."""
    (tmp_path / "file").write_text("")
    cache = ObjectCache(tmp_path / "file" / "folder")
    assert not cache.put(KEY, b"object")
    assert cache.get_or_make(KEY, lambda: b"object") == b"object"


def test_compilations_share_the_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("llvmlite", reason="native code needs llvmlite")
    from xdsl_tvm.runtime import llvm_jit

    monkeypatch.setenv(VARIABLE, str(tmp_path))
    text = "define i32 @f() {\n  ret i32 1\n}\n"
    first = llvm_jit.object_file(text)
    entries = [path for path in tmp_path.rglob("*.o") if path.is_file()]
    assert len(entries) == 1
    stamp = os.stat(entries[0]).st_mtime_ns
    assert llvm_jit.object_file(text) == first
    assert os.stat(entries[0]).st_mtime_ns == stamp
    llvm_jit.object_file(text, opt_level=0)
    llvm_jit.object_file(text.replace("i32 1", "i32 2"))
    assert len([path for path in tmp_path.rglob("*.o") if path.is_file()]) == 3
    entries[0].write_bytes(b"broken")
    assert llvm_jit.object_file(text) == first


OTHER = cache_key("other", "parts")
NEEDS_POSIX = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs POSIX")


def entry_of(cache: ObjectCache, key: str) -> Path:
    path = cache.path(key)
    assert path is not None
    return path


@pytest.mark.parametrize("way", ["move", "link", "symbolic link"])
def test_entry_in_the_place_of_another(tmp_path: Path, way: str) -> None:
    cache = ObjectCache(tmp_path)
    assert cache.put(KEY, b"one")
    assert cache.put(OTHER, b"two")
    source, target = entry_of(cache, KEY), entry_of(cache, OTHER)
    target.unlink()
    if way == "move":
        source.rename(target)
    elif way == "link":
        target.hardlink_to(source)
    else:
        target.symlink_to(source)
    assert cache.get(OTHER) is None
    assert cache.get_or_make(OTHER, lambda: b"two") == b"two"
    assert cache.get(OTHER) == b"two"
    assert cache.get_or_make(KEY, lambda: b"one") == b"one"


@pytest.mark.parametrize("key", ["", "../../evil", "k" * 63, "k" * 63 + "/", "\0" * 64])
def test_key_is_no_path(tmp_path: Path, key: str) -> None:
    cache = ObjectCache(tmp_path / "cache")
    with pytest.raises(ValueError, match="is no key of the object cache"):
        cache.get(key)
    with pytest.raises(ValueError, match="is no key of the object cache"):
        cache.put(key, b"object")
    assert not list(tmp_path.iterdir())


def test_link_with_the_right_content(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path / "cache")
    cache.put(KEY, b"object")
    entry_of(cache, KEY).rename(tmp_path / "elsewhere")
    entry_of(cache, KEY).symlink_to(tmp_path / "elsewhere")
    assert cache.get(KEY) is None
    assert (tmp_path / "elsewhere").exists()


@NEEDS_POSIX
def test_pipe_in_the_place_of_an_entry(tmp_path: Path) -> None:
    """In a process of its own, which a pipe without a writer would make hang."""
    program = (
        "import os, sys; from pathlib import Path\n"
        "from xdsl_tvm.runtime import object_cache\n"
        "cache = object_cache.ObjectCache(Path(sys.argv[1]))\n"
        "cache.put('k' * 64, b'object')\n"
        "os.unlink(cache.path('k' * 64))\n"
        "os.mkfifo(cache.path('k' * 64))\n"
        "assert cache.get_or_make('k' * 64, lambda: b'new') == b'new'\n"
        "assert cache.get('k' * 64) == b'new'\n"
        # A pipe that takes the place of a file after the first look at it.
        "path = cache.path('k' * 64)\n"
        "regular = os.lstat(path)\n"
        "os.unlink(path)\n"
        "os.mkfifo(path)\n"
        "object_cache.os.lstat = lambda path: regular\n"
        "assert object_cache._read(path) == b''\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    subprocess.run(command, check=True, timeout=30)


@NEEDS_POSIX
def test_folder_is_of_the_user_only(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path / "new" / "cache")
    assert cache.put(KEY, b"object")
    for path in (entry_of(cache, KEY).parent, tmp_path / "new" / "cache"):
        assert path.stat().st_mode & 0o777 == 0o700
    assert cache.problem is None


def set_group(monkeypatch: pytest.MonkeyPatch, name: str, *members: str) -> None:
    """Lets every group have this name and these members."""
    import grp

    def found(group: int) -> SimpleNamespace:
        return SimpleNamespace(gr_name=name, gr_mem=list(members))

    monkeypatch.setattr(grp, "getgrgid", found)


@NEEDS_POSIX
@pytest.mark.parametrize("which", ["folder", "inner", "entry"])
@pytest.mark.parametrize("mode", [0o020, 0o002])
def test_what_others_can_write_is_no_cache(
    tmp_path: Path, which: str, mode: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = ObjectCache(tmp_path)
    assert cache.put(KEY, b"object")
    entry = entry_of(cache, KEY)
    path = {"folder": tmp_path, "inner": entry.parent, "entry": entry}[which]
    path.chmod(path.stat().st_mode | mode)
    # That the group is the user's own is another case.
    set_group(monkeypatch, "others")
    assert cache.get(KEY) is None
    if which == "folder":
        assert cache.problem == (
            f"{tmp_path} can be written by other users; chmod go-w it"
        )
        assert not cache.put(KEY, b"object")
        path.chmod(0o1777)
        assert cache.problem is None
        assert cache.get(KEY) == b"object"
    if mode == 0o020 and which != "entry":
        import pwd

        user = pwd.getpwuid(os.geteuid()).pw_name
        set_group(monkeypatch, user, "someone")
        path.chmod(0o770)
        assert cache.get(KEY) is None
        set_group(monkeypatch, user, user)
        path.chmod(0o770)
        assert cache.get(KEY) == b"object"


@NEEDS_POSIX
@pytest.mark.parametrize("which", ["folder", "inner", "entry"])
def test_what_belongs_to_others_is_no_cache(
    tmp_path: Path, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = ObjectCache(tmp_path)
    assert cache.put(KEY, b"object")
    entry = entry_of(cache, KEY)
    path = {"folder": tmp_path, "inner": entry.parent, "entry": entry}[which]
    if os.geteuid() == 0:
        os.chown(path, 4321, -1)
    else:
        other = os.geteuid() + 1
        monkeypatch.setattr(os, "geteuid", lambda: other)
    assert cache.get(KEY) is None
    assert cache.get_or_make(KEY, lambda: b"made") == b"made"
    if which == "folder":
        assert cache.problem == f"{tmp_path} belongs to another user"


def test_entry_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ObjectCache(tmp_path)
    assert cache.put(KEY, b"12345")
    monkeypatch.setattr(object_cache, "LARGEST", 4)
    assert cache.get(KEY) is None
    assert not cache.put(KEY, b"12345")
    assert cache.put(KEY, b"1234")


def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ObjectCache(tmp_path)

    def full(source: object, target: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert cache.get_or_make(KEY, lambda: b"object") == b"object"
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_folder_that_is_no_path() -> None:
    cache = ObjectCache(Path("a\0b"))
    assert cache.get_or_make(KEY, lambda: b"object") == b"object"
    assert cache.problem is not None
