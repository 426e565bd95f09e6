"""The digest by which a compiled module is found again."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.ir import parse

import xdsl_tvm
from xdsl_tvm.runtime.compiler_files import compiler_files
from xdsl_tvm.runtime.module_fingerprint import module_fingerprint

TEXT = """
tir.func @f(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "f"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {
    %x = tir.load %A[%i] : i32
    %y = tir.sub %x, %i : i32
    tir.store %y, %B[%i] : i32
  }
}
"""
CONSTANT = """
relax.func @g() -> tensor<4xf32> {
  %0 = relax.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  relax.return %0 : tensor<4xf32>
}
"""


def fingerprint(text: str) -> str:
    return module_fingerprint(parse(text))


def test_zeros_of_both_signs_are_told_apart():
    """The attributes are equal."""
    texts = [
        f"tir.func @f() {{\n %c = tir.const {zero} : f32\n}}" for zero in ("0.0", "-0.0")
    ]
    assert len(set(map(fingerprint, texts))) == 2


def test_names_of_values_do_not_count():
    renamed = TEXT.replace("%x", "%element").replace("%i", "%index")
    assert fingerprint(renamed) == fingerprint(TEXT)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tir.sub %x, %i", "tir.sub %i, %x"),
        ("tir.sub", "tir.add"),
        ("const 4", "const 3"),
        ('global_symbol = "f"', 'global_symbol = "g"'),
        ("buffer<4xi32>", "buffer<5xi32>"),
        ("to %c4 {", "to %c4 parallel {"),
        ("    tir.store %y, %B[%i] : i32\n  }", "  }\n  tir.scope {\n  }"),
    ],
)
def test_what_the_module_says_counts(old: str, new: str):
    assert old in TEXT
    assert fingerprint(TEXT.replace(old, new)) != fingerprint(TEXT)


@pytest.mark.parametrize(
    "new", ["[1.0, 2.0, 3.0, 5.0]", "[1.0, 2.0, 4.0, 3.0]", "2.0", '"0x00000000"']
)
def test_elements_of_constants_count(new: str):
    changed = CONSTANT.replace("[1.0, 2.0, 3.0, 4.0]", new)
    assert fingerprint(changed) != fingerprint(CONSTANT)


def test_it_is_the_same_in_every_process(tmp_path: Path):
    file = tmp_path / "module.mlir"
    file.write_text(TEXT)
    program = (
        "import sys; from xdsl_tvm.runtime.executable import load_module\n"
        "from xdsl_tvm.runtime.module_fingerprint import module_fingerprint\n"
        "print(module_fingerprint(load_module(sys.argv[1])))"
    )
    found = subprocess.run(
        [sys.executable, "-c", program, str(file)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == fingerprint(TEXT)


def test_the_compiler_is_all_that_a_compilation_imports(tmp_path: Path):
    file = tmp_path / "module.mlir"
    file.write_text(TEXT)
    program = (
        "import sys, xdsl_tvm\n"
        "xdsl_tvm.compile(sys.argv[1])\n"
        "for name, module in sys.modules.items():\n"
        "    if name.startswith('xdsl_tvm'): print(module.__file__)"
    )
    found = subprocess.run(
        [sys.executable, "-c", program, str(file)],
        env={**os.environ, "XDSL_TVM_CACHE": "off"},
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {Path(line).resolve() for line in found.stdout.splitlines()}
    known = {path.resolve() for path in compiler_files()}
    assert imported <= known, sorted(imported - known)
    assert any(path.suffix == ".ll" for path in known)


def test_a_second_compile_does_not_lower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDSL_TVM_CACHE", str(tmp_path))
    xdsl_tvm.compile(TEXT)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("lowered again")

    monkeypatch.setattr("xdsl_tvm.lowering.pipelines.lower_to_llvm", refuse)
    a, b = np.arange(4, dtype=np.int32) * 5, np.zeros(4, np.int32)
    xdsl_tvm.compile(TEXT)["f"](a, b)
    assert b.tolist() == [0, 4, 8, 12]
    with pytest.raises(AssertionError, match="lowered again"):
        xdsl_tvm.compile(TEXT.replace("const 4", "const 3"))
