"""TVM's `rpc.LocalSession`, `contrib.utils.tempdir`, libraries in archives."""

from __future__ import annotations

import os
import re
import tarfile
from pathlib import Path

import numpy as np
import pytest
from xdsl.utils.exceptions import DiagnosticException

import xdsl_tvm as tvm
from xdsl_tvm import rpc
from xdsl_tvm.contrib import utils
from xdsl_tvm.runtime.native import NativeExecutable
from xdsl_tvm.tvmscript import parse

ADD_ONE = """
@T.prim_func
def add_one(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[i] + T.float32(1)
"""


def test_a_library_is_sent_to_this_machine(tmp_path: Path) -> None:
    pytest.importorskip("llvmlite")
    pytest.importorskip("tvm_ffi")
    file = tmp_path / "lib.tar"
    compiled = tvm.compile(parse(ADD_ONE), optimize=False)
    assert isinstance(compiled, NativeExecutable)
    compiled.export_library(file)
    with tarfile.open(file) as archive:
        assert archive.getnames() == ["lib.so"]
    remote = rpc.LocalSession()
    remote.upload(str(file))
    func = remote.load_module("lib.tar")
    assert func.entry_name == "add_one"
    a = tvm.nd.array(np.arange(4, dtype="float32"), remote.cpu())
    b = tvm.nd.array(np.zeros(4, "float32"), remote.device("cpu"))
    func(a, b)
    assert b.numpy().tolist() == [1, 2, 3, 4]
    assert func.time_evaluator("add_one", remote.cpu(), number=2)(a, b).mean > 0


def test_archives_without_a_library(tmp_path: Path) -> None:
    pytest.importorskip("tvm_ffi")
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w"):
        pass
    for content in (None, b"no archive"):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(DiagnosticException, match=r"there is no lib\.so in it"):
            tvm.runtime.load_module(path)


def test_files_of_a_session() -> None:
    remote = rpc.LocalSession()
    remote.upload(b"text", "a.txt")
    assert remote.listdir() == ["a.txt"]
    assert remote.download("a.txt") == b"text"
    remote.remove("a.txt")
    assert remote.listdir() == []
    with pytest.raises(ValueError, match="bytes need the name of a file"):
        remote.upload(b"text")
    for name in ("../a", "/a"):
        with pytest.raises(ValueError, match=re.escape(f"'{name}' is outside of")):
            remote.download(name)
    with pytest.raises(ValueError, match="there is no function 'f'"):
        remote.get_function("f")
    with pytest.raises(AttributeError, match="no 'connect': code runs on this machine"):
        getattr(rpc, "con" + "nect")


def test_a_temporary_folder_is_removed() -> None:
    folder = utils.tempdir()
    path = folder.relpath("a")
    Path(path).write_text("")
    assert folder.listdir() == ["a"]
    assert folder / "a" == path
    del folder
    assert not os.path.exists(path)
    folder = utils.tempdir()
    folder.remove()
    assert not os.path.exists(folder.path)


def test_convert_and_reshape() -> None:
    assert tvm.runtime.convert([1, [2, "a"]]) == (1, (2, "a"))
    assert tvm.runtime.convert(abs) is abs
    reshape = tvm.get_global_func("vm.builtin.reshape")
    assert reshape is not None
    array = tvm.nd.array(np.arange(6, dtype="float32"))
    shaped = reshape(array, tvm.runtime.ShapeTuple([2, 3]))
    assert shaped.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match=r"no function 'vm\.builtin\.kv_state_begin'"):
        tvm.get_global_func("vm.builtin.kv_state_begin")
