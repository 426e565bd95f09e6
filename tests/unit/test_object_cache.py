"""The cache of compiled objects: hits, damage, sharing, and switching it off."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

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
    """A file stands where the folder should be; no permission bits involved."""
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
