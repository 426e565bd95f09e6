"""Exported libraries, loaded by programs that have `tvm_ffi` and not this package."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from support.packed_cases import packed_cases
from support.processes import memory_in_use
from xdsl.utils.exceptions import DiagnosticException, PassFailedException

from xdsl_tvm.dialects.tir.data_types import Abi
from xdsl_tvm.passes.tir.bind_target import BindTarget
from xdsl_tvm.passes.tir.lower_tvm_builtin import LowerTVMBuiltin
from xdsl_tvm.passes.tir.make_packed_api import MakePackedAPI
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.executable import NativeExecutable, compile
from xdsl_tvm.runtime.exported_library.c_source import c_string
from xdsl_tvm.runtime.exported_library.description import described, signatures_of
from xdsl_tvm.runtime.exported_library.linker import c_compiler
from xdsl_tvm.runtime.exported_library.loaded import LoadedLibrary
from xdsl_tvm.tools.cli import main
from xdsl_tvm.tvmscript import parse

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("tvm_ffi") is None,
    reason='tvm_ffi is not installed: pip install "xdsl-tvm[ffi]"',
)

SCRIPT = """
from tvm.script import ir as I, tir as T, relax as R

@I.ir_module
class Module:
    @R.function
    def pair(
        x: R.Tensor(("n", 4), "float32"),
        p: R.Tuple(R.Tensor(("n", 4), "float32"), R.Tuple(R.Tensor((4,), "float32"))),
    ) -> R.Tuple(R.Tensor(("n", 4), "float32"), R.Tuple(R.Tensor(("2*n+1",), "float32"))):
        n = T.int64()
        q = p[1]
        sums = R.add(R.add(x, p[0]), q[0])
        return (sums, (R.zeros(R.shape([2 * n + 1]), "float32"),))

    @R.function
    def sized(
        s: R.Shape(["a", "b"]), x: R.Tensor(("a // 3 + b % 4",), "int64")
    ) -> R.Tuple(
        R.Shape(["a // 3 + b % 4", "a"]), R.Tensor(("a // 3 + b % 4",), "int64")
    ):
        a = T.int64()
        b = T.int64()
        return (R.shape([a // 3 + b % 4, a]), R.add(x, x))

    @T.prim_func
    def scale(a: T.handle, b: T.handle, f: T.float32):
        n = T.int32()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in T.parallel(n):
            B[i] = A[i] * f

    @T.prim_func
    def checked(a: T.handle, i: T.int32, flag: T.bool, k: T.uint8) -> T.int64:
        A = T.match_buffer(a, (8, 8), "float32", strides=[16, 1])
        assert i < 8, "the index is out of bounds"
        if flag:
            A[i, 0] = T.Cast("float32", k)
        T.ret(T.Cast("int64", i) * T.int64(2))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("library") / "model.so"
    exported(SCRIPT, path)
    return path


@pytest.fixture(scope="module")
def loaded(library: Path) -> Mapping[str, Callable[..., Any]]:
    return LoadedLibrary(library)


def exported(source: Any, path: Path) -> NativeExecutable:
    executable = compile(source)
    assert isinstance(executable, NativeExecutable)
    executable.export_library(path)
    return executable


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


def test_a_process_without_this_package(library: Path) -> None:
    """Arrays are not copied, and results are new ones; nothing of ours is imported."""
    program = dedent("""
        import json, sys
        import numpy as np
        import tvm_ffi

        module = tvm_ffi.load_module(sys.argv[1])
        x, y = np.arange(6, dtype=np.float32), np.zeros(6, np.float32)
        nothing = module["scale"](x, y, 2.0)
        tensor = tvm_ffi.from_dlpack(np.zeros(6, np.float32))
        module["scale"](tvm_ffi.from_dlpack(x), tensor, 3)
        z = np.arange(8, dtype=np.float32).reshape(2, 4)
        a, (b,) = module["pair"](z, (z, (np.ones(4, np.float32),)))
        result = [
            nothing, y.tolist(), np.from_dlpack(tensor).tolist(),
            np.from_dlpack(a).tolist(), np.from_dlpack(b).shape,
        ]
        try:
            module["scale"](x, y[:3], 2.0)
        except ValueError as error:
            result.append(str(error))
        ours = [name for name in sys.modules if name.startswith("xdsl")]
        print(json.dumps([*result, ours]))
    """)
    done = subprocess.run(
        [sys.executable, "-c", program, str(library)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    z = floats(2, 4)
    assert json.loads(done.stdout) == [
        None,
        (floats(6) * 2).tolist(),
        (floats(6) * 3).tolist(),
        (z + z + 1).tolist(),
        [5],
        "@scale: argument 'B' must have extent n = 6 on axis 0, got shape (3,)",
        [],
    ]


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch")
def test_torch(library: Path) -> None:
    torch: Any = importlib.import_module("torch")
    module: Any = importlib.import_module("tvm_ffi").load_module(str(library))
    x, y = torch.arange(6, dtype=torch.float32), torch.zeros(6)
    module["scale"](x, y, 2.0)
    assert y.tolist() == [0, 2, 4, 6, 8, 10]


_ONES = np.ones(4, np.float32)
_BASE = np.zeros((8, 16), np.float32)[:, :8]
WRONG: list[tuple[str, tuple[Any, ...], type[Exception], str]] = [
    ("scale", (1,), TypeError, "@scale takes 3 arguments, got 1"),
    (
        "scale",
        (floats(5), floats(5), "x"),
        TypeError,
        "'f' must be a number (float32), got str",
    ),
    (
        "scale",
        (np.zeros(5), floats(5), 1.0),
        TypeError,
        "'A' must have dtype float32, got float64",
    ),
    (
        "scale",
        (np.zeros(5, np.bool_), floats(5), 1.0),
        TypeError,
        "'A' must have dtype float32, got bool",
    ),
    ("scale", (3, floats(5), 1.0), TypeError, "'A' must be an array float32[n], got int"),
    ("scale", (None, floats(5), 1.0), TypeError, "must be an array float32[n], got None"),
    ("scale", (floats(5, 1), floats(5), 1.0), ValueError, "'A' must have rank 1, got 2"),
    ("scale", (floats(5)[::2], floats(3), 1.0), ValueError, "'A' must be C-contiguous"),
    (
        "scale",
        (floats(5), floats(4), 1.0),
        ValueError,
        "'B' must have extent n = 5 on axis 0, got shape (4,)",
    ),
    (
        "scale",
        (floats(5), floats(5), 1e300),
        ValueError,
        "'f' must be within +-3.40282e+38",
    ),
    ("checked", (_BASE, 9, True, 0), RuntimeError, "the index is out of bounds"),
    ("checked", (_BASE, 1, 1, 0), TypeError, "'flag' must be a bool, got int"),
    ("checked", (_BASE, 1.0, True, 0), TypeError, "'i' must be an integer (int32), got"),
    (
        "checked",
        (_BASE, 2**31, True, 0),
        ValueError,
        "'i' must be within -2147483648 and",
    ),
    (
        "checked",
        (_BASE, 1, True, 256),
        ValueError,
        "'k' must be within 0 and 255, got 256",
    ),
    (
        "checked",
        (floats(8, 8), 1, True, 0),
        ValueError,
        "'A' must have the stride 16 on axis 0, got strides (8, 1)",
    ),
    (
        "pair",
        (floats(2, 4), floats(2, 4)),
        TypeError,
        "'p' must be a tuple of 2, got array",
    ),
    (
        "pair",
        (floats(2, 4), (floats(2, 4),)),
        TypeError,
        "'p' must be a tuple of 2, got Array of 1",
    ),
    (
        "pair",
        (floats(2, 4), (floats(3, 4), (_ONES,))),
        ValueError,
        "'p[0]' must have extent n = 2 on axis 0, got shape (3, 4)",
    ),
    (
        "sized",
        ((7, 6, 5), floats(4)),
        TypeError,
        "'s' must be a tuple of 2, got Array of 3",
    ),
    ("sized", ((7, -6), floats(4)), ValueError, "'s' must be within 0 and"),
    ("sized", (5, floats(4)), TypeError, "'s' must be a tuple of 2, got int"),
    (
        "sized",
        ((7, 6), np.zeros(5, np.int64)),
        ValueError,
        "'x' must have extent a floordiv 3 + b floormod 4 = 4 on axis 0, got shape (5,)",
    ),
]


@pytest.mark.parametrize(("name", "arguments", "kind", "text"), WRONG)
def test_wrong_arguments(
    loaded: Mapping[str, Callable[..., Any]],
    name: str,
    arguments: tuple[Any, ...],
    kind: type[Exception],
    text: str,
) -> None:
    with pytest.raises(kind) as error:
        loaded[name](*arguments)
    assert text in str(error.value)


def test_arrays_that_overlap(loaded: Mapping[str, Callable[..., Any]]) -> None:
    memory = floats(10)
    with pytest.raises(ValueError, match=re.escape("'A' and 'B' must not overlap")):
        loaded["scale"](memory[:6], memory[4:], 1.0)
    with pytest.raises(ValueError, match=re.escape("'A' and 'B' must not overlap")):
        loaded["scale"](memory, memory, 1.0)
    loaded["scale"](memory[:5], memory[5:], 2.0)
    np.testing.assert_array_equal(memory[5:], floats(5) * 2)


def test_misaligned_arrays(loaded: Mapping[str, Callable[..., Any]]) -> None:
    ffi: Any = importlib.import_module("tvm_ffi")
    memory = np.zeros(41, np.uint8)
    odd = memory[1:].view(np.float32)
    try:
        passed = ffi.from_dlpack(odd)
    except Exception:
        pytest.skip("numpy does not give it away")
    with pytest.raises(ValueError, match="'B' must be aligned to 4 bytes"):
        loaded["scale"](floats(10), passed, 1.0)


def test_results_of_all_forms(loaded: Mapping[str, Callable[..., Any]]) -> None:
    (extent, a), doubled = loaded["sized"]((7, 6), np.arange(4))
    assert (extent, a) == (4, 7)
    np.testing.assert_array_equal(doubled, 2 * np.arange(4))
    assert loaded["checked"](_BASE, 3, True, 200) == 6
    assert _BASE[3, 0] == 200
    empty, (rest,) = loaded["pair"](floats(0, 4), (floats(0, 4), (_ONES,)))
    assert (empty.shape, rest.shape) == ((0, 4), (1,))


def test_calls_from_threads(loaded: Mapping[str, Callable[..., Any]]) -> None:
    """Some fail and some do not; each gets its own error."""
    found: list[int] = []

    def work(number: int) -> None:
        memory = np.zeros((8, 16), np.float32)[:, :8]
        for each in range(200):
            index = (number + each) % 16
            try:
                if loaded["checked"](memory, index, True, 1) == 2 * index and index < 8:
                    found.append(1)
            except RuntimeError as error:
                if index >= 8 and "out of bounds" in str(error):
                    found.append(1)

    threads = [threading.Thread(target=work, args=(each,)) for each in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 800


def test_memory_is_given_back(loaded: Mapping[str, Callable[..., Any]]) -> None:
    x, ones = floats(1000, 4), (floats(1000, 4), (_ONES,))

    def call(number: int) -> None:
        for _ in range(number):
            loaded["pair"](x, ones)
            with pytest.raises(ValueError, match="extent"):
                loaded["pair"](x, (x[:3], (_ONES,)))

    call(200)
    before = memory_in_use()
    call(2000)
    assert memory_in_use() - before < 4 << 20


def test_every_case_of_packed_arguments(tmp_path: Path) -> None:
    """Functions of MakePackedAPI with abi=ffi, in one library."""
    cases = [
        case
        for case in packed_cases(Abi.FFI)
        if all(isinstance(each, np.ndarray | int | float) for each in case.arguments())
    ]
    functions = dict.fromkeys(case.function for case in cases)
    names = {function: f"f{place}" for place, function in enumerate(functions)}
    module = parse(
        "from tvm.script import ir as I\n@I.ir_module\nclass Module:\n    pass\n"
    )
    for function, name in names.items():
        parsed = parse(re.sub(r"\bdef f\(", f"def {name}(", function))
        for op in list(parsed.body.ops):
            op.detach()
            module.body.block.add_op(op)
    packing = (BindTarget("llvm", "llvm"), MakePackedAPI(abi="ffi"), LowerTVMBuiltin())
    for each in packing:
        each.apply(new_context(), module)
    exported(module, tmp_path / "packed.so")
    library = LoadedLibrary(tmp_path / "packed.so")
    assert set(library.signatures.values()) == {None}
    for case in cases:
        name, arguments = names[case.function], case.arguments()
        if case.failure is None:
            assert library[name](*arguments) == case.result, case.name
            for place, first in case.results:
                assert arguments[place].flat[0] == first
            continue
        with pytest.raises(RuntimeError) as error:
            library[name](*arguments)
        expected = re.sub(r"\bf(?=[:._])", name, case.failure)
        assert expected in str(error.value)


# ---- what cannot be exported ----


def function(parameters: str, body: str, name: str = "f") -> str:
    head = "from tvm.script import ir as I, tir as T\n@I.ir_module\nclass Module:\n"
    return f"{head}    @T.prim_func\n    def {name}({parameters}):\n        {body}\n"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            function("x: T.float16, A: T.Buffer(1, 'float16')", "A[0] = x"),
            "@f cannot be exported: parameter 'x' is a number of type float16",
        ),
        (
            function("A: T.Buffer(1, 'int32')", "A[0] = 1", "größe"),
            "@größe cannot be exported: its name is no identifier of C; rename it",
        ),
        ("builtin.module {}", "the module has no public function"),
    ],
)
def test_refused(source: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(PassFailedException) as error:
        exported(source, tmp_path / "model.so")
    assert text in str(error.value)
    assert not list(tmp_path.iterdir())


def test_functions_of_the_older_convention_are_refused(tmp_path: Path) -> None:
    module = parse(function("x: T.int32", "T.evaluate(x)"))
    for each in (BindTarget("llvm", "llvm"), MakePackedAPI(), LowerTVMBuiltin()):
        each.apply(new_context(), module)
    with pytest.raises(PassFailedException, match=r"tir-make-packed-api\{abi=ffi\}"):
        exported(module, tmp_path / "model.so")


def test_calls_of_python_are_refused(tmp_path: Path) -> None:
    module = parse(function("x: T.int32", "T.evaluate(T.call_packed('note', x))"))
    packing = (BindTarget("llvm", "llvm"), MakePackedAPI(abi="ffi"), LowerTVMBuiltin())
    for each in packing:
        each.apply(new_context(), module)
    executable = compile(module, externs={"note": print})
    assert isinstance(executable, NativeExecutable)
    with pytest.raises(PassFailedException, match="calls Python functions by name"):
        executable.export_library(tmp_path / "model.so")


# ---- the compiler of C ----


def test_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = function("A: T.Buffer(1, 'int32')", "A[0] = 1")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    found: str | None = None

    def find_spec(name: str) -> str | None:
        return found

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    with pytest.raises(DiagnosticException, match=r"'cc'.*pip install ziglang"):
        exported(source, tmp_path / "model.so")
    found = "ziglang"
    assert c_compiler() == [sys.executable, "-m", "ziglang", "cc"]
    monkeypatch.setenv("CC", "/no/such/compiler")
    with pytest.raises(DiagnosticException, match="cannot run the C compiler /no/such"):
        exported(source, tmp_path / "model.so")


@pytest.mark.parametrize(
    ("compiler", "text"),
    [
        ("false", "the C compiler false failed with status 1"),
        ("sh -c 'echo bad >&2; exit 3' -", "failed with status 3: bad"),
    ],
)
def test_a_compiler_that_fails(
    compiler: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", compiler)
    with pytest.raises(DiagnosticException, match=re.escape(text)):
        exported(function("A: T.Buffer(1, 'int32')", "A[0] = 1"), tmp_path / "model.so")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ['"); system("x', "%s%n", "a\\", "??/", "\n\0é", "0 9"])
def test_strings_of_c(text: str) -> None:
    """What a program says stays inside of the string, and comes out of it."""
    literal = c_string(text)
    assert re.fullmatch(
        r'"([\w .,:;+\-*/()\[\]={}<>@\']|\\[0-7]{3})*"', literal, re.ASCII
    )
    plain = re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), literal[1:-1])
    assert plain.encode("latin-1").decode() == text


# ---- descriptions ----


def test_descriptions_read_back() -> None:
    signatures = compile(SCRIPT).signatures
    assert signatures_of(described(signatures)) == signatures


@pytest.mark.parametrize("text", ["", "[]", "3", '{"f": {}}', '{"f": 3}', "[" * 10_000])
def test_other_descriptions(text: str) -> None:
    with pytest.raises(ValueError, match="no description of exported functions"):
        signatures_of(text)


# ---- commands ----


def test_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], library: Path
) -> None:
    source, output = tmp_path / "model.py", tmp_path / "made.so"
    source.write_text(SCRIPT)
    assert main(["compile", str(source), "-o", str(output), "--no-progress"]) == 0
    assert (
        "@scale(A: float32[n], B: out float32[n], f: float32)" in capsys.readouterr().out
    )
    arguments = ["--function", "pair", "--symbol", "n=2", "--repeat", "2"]
    assert main(["run", str(output), *arguments]) == 0
    shown = capsys.readouterr().out
    assert "called @pair(" in shown
    assert "result_1_0: float32[5]" in shown
    assert main(["run", str(output), "--interpret"]) == 1
    assert "is machine code; leave it out" in capsys.readouterr().err
    assert main(["run", str(output)]) == 1
    assert "say which --function to call" in capsys.readouterr().err
    assert main(["compile", str(source), "-o", str(tmp_path / "made.exe")]) == 1
    assert "use one of .so, .dylib, .o, .ll" in capsys.readouterr().err
    assert main(["compile", str(source), "-o", str(tmp_path / "no" / "made.so")]) == 1
    assert "made.so: No such file or directory" in capsys.readouterr().err
    source.rename(tmp_path / "source.so")
    assert main(["run", str(tmp_path / "source.so")]) == 1
    assert "no library of export_library" in capsys.readouterr().err


def test_other_outputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "f.py"
    source.write_text(function("A: T.Buffer(1, 'int32')", "A[0] = 1"))
    for ending, part in ((".o", b"f\0"), (".ll", b"define void @f(")):
        output = tmp_path / f"f{ending}"
        assert main(["compile", str(source), "-o", str(output)]) == 0
        assert part in output.read_bytes()
    capsys.readouterr()


def test_symbols(library: Path) -> None:
    """Nothing else is visible: a `main` of the library is not that of the program."""
    code = ctypes.CDLL(str(library))
    assert hasattr(code, "__tvm_ffi_scale")
    assert not hasattr(code, "scale")
    assert not hasattr(code, "tvm_failed_assert")
