"""Calling compiled functions: what is checked, and how errors read."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.error_texts import first_line
from xdsl.utils.exceptions import PassFailedException

import xdsl_tvm
from xdsl_tvm.instrument import DumpIR, PassInstrument
from xdsl_tvm.interpreters.relax import interpret
from xdsl_tvm.passes.infra import PassContext, PassInfo
from xdsl_tvm.runtime.executable import NativeExecutable, load_module

ADD = """
tir.func @add(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle, %s: i8)
    attributes {global_symbol = "add", tir.noalias = true} {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?x4xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xf32>
  %C = tir.match_buffer "C" %c [%n] : !tir.buffer<?x4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %scale = tir.cast %s : i8 to f32
  tir.for %i = %c0 to %n {
    tir.for %j = %c0 to %c4 {
      %x = tir.load %A[%i, %j] : f32
      %y = tir.load %B[%j] : f32
      %p = tir.mul %y, %scale : f32
      %z = tir.add %x, %p : f32
      tir.store %z, %C[%i, %j] : f32
    }
  }
}
"""
PRIVATE = "tir.func @hidden() {\n}"


def one_line(error: pytest.ExceptionInfo[BaseException]) -> str:
    text = str(error.value)
    assert "\n" not in text
    return text


def arrays(n: int = 3) -> tuple[Any, Any, Any]:
    a = np.arange(n * 4, dtype="f4").reshape(n, 4)
    return a, np.ones(4, "f4"), np.zeros((n, 4), "f4")


@pytest.fixture(scope="module")
def add() -> Any:
    return xdsl_tvm.compile(ADD)["add"]


def test_call_writes_in_place(add: Any) -> None:
    a, b, c = arrays()
    a.flags.writeable = False
    assert add(a, b, c, -2) is None
    np.testing.assert_array_equal(c, a - 2)


def test_instruments_see_each_pass(tmp_path: Path) -> None:
    """Those that lower, too, and that an instrument may not leave out."""

    class Seen(PassInstrument):
        def __init__(self) -> None:
            self.names: list[str] = []

        def should_run(self, mod: Any, info: PassInfo) -> bool:
            return info.name != "tir.LoopPartition"

        def run_after_pass(self, mod: Any, info: PassInfo) -> None:
            self.names.append(info.name)

    seen = Seen()
    with PassContext(instruments=[seen, DumpIR(tmp_path)]):
        run = xdsl_tvm.compile(ADD)["add"]
    a, b, c = arrays()
    run(a, b, c, 1)
    np.testing.assert_array_equal(c, a + 1)
    names = ["DefaultCPUSchedule", "Simplify", "ConvertToMemref"]
    expected = [*(f"tir.{name}" for name in names), "tvm-convert-scf-to-cf"]
    assert [name for name in dict.fromkeys(seen.names) if name in expected] == expected
    assert "tir.LoopPartition" not in seen.names
    files = sorted(tmp_path.iterdir())
    assert len(files) == len(seen.names)
    assert "memref" not in files[0].read_text()
    assert "llvm.func @add" in files[-1].read_text()


def test_the_cache_is_of_a_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code that some passes were left out of is nobody else's."""
    monkeypatch.setenv("XDSL_TVM_CACHE", str(tmp_path))
    text = """
    !x = tensor<3xf32>
    relax.func @main(%x: !x) -> !x attributes {global_symbol = "main"} {
      %r = relax.dataflow -> (!x) {
        %y = relax.add %x, %x : (!x, !x) -> !x
        %z = relax.exp %y : (!x) -> !x
        relax.output %z : !x
      }
      relax.return %r : !x
    }"""

    class Skips(PassInstrument):
        def should_run(self, mod: Any, info: PassInfo) -> bool:
            return info.name != "FuseOps"

    def kernels(context: PassContext) -> int:
        with context:
            compiled = xdsl_tvm.compile(text, profile=True)
        assert isinstance(compiled, NativeExecutable)
        return len(compiled.kernel_times())

    contexts = (
        PassContext(disabled_pass=["FuseOps"]),
        PassContext(opt_level=0),
        PassContext(instruments=[Skips()]),
        PassContext(),
        PassContext(instruments=[Skips()]),
        PassContext(opt_level=0),
    )
    assert [kernels(each) for each in contexts] == [2, 2, 2, 1, 2, 2]


def test_what_is_lowered_later_is_of_the_same_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text of code from the cache, and code for arguments that overlap."""
    monkeypatch.setenv("XDSL_TVM_CACHE", str(tmp_path))
    text = ADD.replace(", tir.noalias = true", "").replace(
        "%c0 =", '%no = tir.const false\n  tir.assert %no, "refused"\n  %c0 =', 1
    )
    for _ in range(2):
        with PassContext(config={"tir.disable_assert": True}):
            compiled = xdsl_tvm.compile(text)
        assert isinstance(compiled, NativeExecutable)
        assert "refused" not in compiled.llvm_ir
        a, b, _ = arrays()
        compiled["add"](a, b, a, 1)
        np.testing.assert_array_equal(a, arrays()[0] + 1)
    with pytest.raises(RuntimeError, match="refused"):
        xdsl_tvm.compile(text)["add"](*arrays(), 1)


class Foreign:
    """An array of another library, as tensors of PyTorch are."""

    def __init__(
        self, array: Any, error: Exception | None = None, *, has_version: bool = True
    ) -> None:
        self.array, self.error, self.has_version = array, error, has_version

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **options: Any) -> Any:
        if self.error is not None:
            raise self.error
        if options and not self.has_version:
            raise TypeError("unexpected keywords")
        return self.array.__dlpack__(**options)


@pytest.mark.parametrize("run", [xdsl_tvm.compile, interpret], ids=lambda f: f.__name__)
def test_arrays_of_other_libraries(run: Any) -> None:
    add = run(load_module(ADD))["add"]
    a, b, c = arrays()
    add(Foreign(a), Foreign(b), c, 1)
    np.testing.assert_array_equal(c, a + 1)
    refused = Foreign(a, BufferError("Cannot pack tensors on meta"))
    for error in (refused.error, RuntimeError("Unsupported dtype in DLTensor.")):
        refused.error = error
        with pytest.raises(Exception, match=r"'?A'?: .*; pass a numpy array of its el"):
            add(refused, b, c, 1)
    x = Foreign(np.ones(3, "f4"))
    main = run(
        load_module("""
    relax.func @main(%x: tensor<3xf32>) -> tensor<3xf32>
        attributes {global_symbol = "main"} {
      %y = relax.add %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      relax.return %y : tensor<3xf32>
    }""")
    )["main"]
    np.testing.assert_array_equal(main(x), [2, 2, 2])
    for value in ([1.0, 2.0, 3.0], Foreign):
        with pytest.raises(Exception, match="numpy array"):
            main(value)


def test_arrays_of_other_libraries_are_written(add: Any) -> None:
    a, b, c = arrays()
    add(a, Foreign(b, has_version=False), c, 1)
    np.testing.assert_array_equal(c, a + 1)
    with pytest.raises(ValueError, match=r"'C' .* by DLPack is read-only; pass a numpy"):
        add(a, b, Foreign(c, has_version=False), 1)
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        add(a, b, Foreign(c), -2)
        np.testing.assert_array_equal(c, a - 2)


def test_empty_arrays(add: Any) -> None:
    add(*arrays(0), 1)


def test_the_module_stays_as_it_is() -> None:
    module = load_module(ADD)
    before = str(module)
    xdsl_tvm.compile(module)
    assert str(module) == before


Change = Callable[[Any, Any, Any], tuple[Any, ...]]
BAD_ARGUMENTS: list[tuple[Change, type[Exception], str]] = [
    (lambda a, b, c: (a, b, c), TypeError, "@add takes 4 arguments, got 3"),
    (
        lambda a, b, c: (a, [1.0], c, 1),
        TypeError,
        "@add: argument 'B' must be a numpy array float32[4], got list",
    ),
    (
        lambda a, b, c: (a.astype("f8"), b, c, 1),
        TypeError,
        "@add: argument 'A' must have dtype float32, got float64",
    ),
    (
        lambda a, b, c: (a, b[:3], c, 1),
        ValueError,
        "@add: argument 'B' must have shape (4,), got (3,)",
    ),
    (
        lambda a, b, c: (a[0], b, c, 1),
        ValueError,
        "@add: argument 'A' must have rank 2, got shape (4,)",
    ),
    (
        lambda a, b, c: (a, b, c[:2], 1),
        ValueError,
        "@add: argument 'C' must have extent n = 3 on axis 0, got shape (2, 4)",
    ),
    (
        lambda a, b, c: (np.asfortranarray(a), b, c, 1),
        ValueError,
        "@add: argument 'A' must be C-contiguous; pass numpy.ascontiguousarray",
    ),
    (
        lambda a, b, c: (a.astype(">f4"), b, c, 1),
        TypeError,
        "@add: argument 'A' must have dtype float32, got >f4",
    ),
    (
        lambda a, b, c: (a, b, np.broadcast_to(c[:1], (1, 4)), 1),
        ValueError,
        "@add: argument 'C'",
    ),
    (
        lambda a, b, c: (c, b, c, 1),
        ValueError,
        "@add: arguments 'A' and 'C' must not overlap; pass a copy of one",
    ),
    (
        lambda a, b, c: (a, b, c, 128),
        ValueError,
        "@add: argument 's' must be within -128 and 127, got 128",
    ),
    (
        lambda a, b, c: (a, b, c, 1.0),
        TypeError,
        "@add: argument 's' must be an integer (int8), got float",
    ),
]


@pytest.mark.parametrize(("change", "kind", "message"), BAD_ARGUMENTS)
def test_bad_arguments(
    add: Any, change: Change, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as error:
        add(*change(*arrays()))
    assert one_line(error).startswith(message)


def test_read_only_output(add: Any) -> None:
    a, b, c = arrays()
    c.flags.writeable = False
    with pytest.raises(ValueError, match="'C' is written") as error:
        add(a, b, c, 1)
    assert one_line(error) == (
        "@add: argument 'C' is written, but the array is read-only; pass a copy of it"
    )


def test_missing_and_private_functions() -> None:
    executable = xdsl_tvm.compile(ADD + PRIVATE)
    assert list(executable) == ["add"]
    with pytest.raises(KeyError, match="no public function 'hidden'; the module has 'ad"):
        executable["hidden"]


def test_compiling_a_file(tmp_path: Path) -> None:
    path = tmp_path / "add.mlir"
    path.write_text(ADD)
    for source in (path, str(path)):
        executable = xdsl_tvm.compile(source)
        assert isinstance(executable, NativeExecutable)
        assert "define void @add(" in executable.llvm_ir
    with pytest.raises(FileNotFoundError):
        xdsl_tvm.compile(tmp_path / "nothing.mlir")


def test_object_file(tmp_path: Path) -> None:
    executable = xdsl_tvm.compile(ADD)
    assert isinstance(executable, NativeExecutable)
    executable.object_file(tmp_path / "add.o")
    assert b"add\0" in (tmp_path / "add.o").read_bytes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("what is this", "<text>:1:1: error: what: there is no such operation"),
        ("\ntir.func @f(", "<text>:2:13: error: "),
        ("tir.func @f() {\n  %x = tir.nothing\n}", "<text>:2:8: error: "),
        (
            'tir.func @f(%a: !tir.handle) {\n  "tir.match_buffer"() : () -> ()\n}',
            "<text>:2:4: error: ",
        ),
    ],
)
def test_bad_text(text: str, message: str) -> None:
    with pytest.raises(ValueError, match="<text>") as error:
        xdsl_tvm.compile(text)
    assert first_line(str(error.value)).startswith(message)


def test_unknown_target() -> None:
    with pytest.raises(
        ValueError, match="unknown target kind 'tpu'; use one of llvm, c, cuda"
    ):
        xdsl_tvm.compile(ADD, target="tpu")


def test_threads_need_the_target_cuda() -> None:
    with pytest.raises(PassFailedException, match="compile for the target cuda") as error:
        xdsl_tvm.compile("""
        tir.func @f(%a: !tir.handle) attributes {global_symbol = "f"} {
          %A = tir.match_buffer %a : !tir.buffer<4xi32>
          %c4 = tir.const 4 : i32
          tir.launch_thread %t = "threadIdx.x" to %c4 {
            tir.store %t, %A[%t] : i32
          }
        }""")
    one_line(error)


def test_parameters_python_cannot_pass() -> None:
    executable = xdsl_tvm.compile("""
    tir.func @p(%p: !tir.ptr<f32>) attributes {global_symbol = "p"} {
    }
    tir.func @h(%x: i4) attributes {global_symbol = "h"} {
    }""")
    with pytest.raises(PassFailedException, match="@p cannot be called from Python: par"):
        executable["p"]
    with pytest.raises(
        PassFailedException, match="@h cannot be called from Python: numpy has"
    ):
        executable["h"]


@pytest.mark.parametrize(
    ("dtype", "kind"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)]
)
def test_scalars_of_16_bit_floats(dtype: str, kind: Any) -> None:
    """As parameters, more than there are registers for, and as result."""
    names = [f"x{i}" for i in range(12)]
    sums = "\n".join(
        f"%s{i + 1} = tir.add %s{i}, %x{i + 1} : {dtype}" for i in range(1, 11)
    )
    executable = xdsl_tvm.compile(f"""
    tir.func @f({", ".join(f"%{name}: {dtype}" for name in names)}) -> {dtype}
        attributes {{global_symbol = "f"}} {{
      %s1 = tir.sub %x0, %x1 : {dtype}
      {sums}
      tir.ret %s11 : {dtype}
    }}
    tir.func @store(%x: {dtype}, %c: !tir.handle)
        attributes {{global_symbol = "store"}} {{
      %C = tir.match_buffer %c : !tir.buffer<1x{dtype}>
      %c0 = tir.const 0 : i32
      tir.store %x, %C[%c0] : {dtype}
    }}""")
    function = executable["f"]
    assert function(*range(12)) == 64
    assert function(kind(0.5), 1.5, np.float32(0.25), *[0] * 9) == -0.75
    assert function(*[-0.0, 0.0], *[-0.0] * 10) == 0
    assert function(math.inf, *[0] * 11) == math.inf
    assert math.isnan(function(math.nan, *[0] * 11))
    out = np.zeros(1, kind)
    for value in (1 / 3, 1e-7, -0.0, kind(7), math.inf, -math.inf, math.nan):
        executable["store"](value, out)
        np.testing.assert_array_equal(out.view("u2"), np.array([value], kind).view("u2"))
    with pytest.raises(ValueError, match="must be within"):
        executable["store"](1e39, out)
    with pytest.raises(TypeError, match="must be a number"):
        executable["store"](True, out)


def test_symbols_must_fit_their_dtype() -> None:
    function = xdsl_tvm.compile("""
    tir.func @f(%a: !tir.handle) attributes {global_symbol = "f"} {
      %n = tir.shape_var "n" : i8
      %A = tir.match_buffer %a [%n] : !tir.buffer<?xf32>
    }""")["f"]
    function(np.zeros(127, "f4"))
    with pytest.raises(ValueError, match="'n' is 128, but its dtype holds at most 127"):
        function(np.zeros(128, "f4"))


def test_functions_on_memrefs() -> None:
    function = xdsl_tvm.compile("""
    func.func @f(%a: memref<?x2xf64>, %i: index) -> f64 {
      %c1 = arith.constant 1 : index
      %x = memref.load %a[%i, %c1] : memref<?x2xf64>
      func.return %x : f64
    }""")["f"]
    assert function(np.arange(8.0).reshape(4, 2), 3) == 7.0


def test_a_failed_assertion_is_an_error_of_the_call() -> None:
    executable = xdsl_tvm.compile(
        """
        tir.func @checked(%n: i32) -> i32 {
          %c0 = tir.const 0 : i32
          %p = tir.cmp gt %n, %c0 : i32
          tir.assert %p, "n must be positive"
          tir.ret %n : i32
        }
        tir.func @f(%a: !tir.handle, %n: i32) attributes {global_symbol = "f"} {
          %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
          %c0 = tir.const 0 : i32
          %c4 = tir.const 4 : i32
          tir.for %i = %c0 to %c4 {
            %m = tir.sub %n, %i : i32
            %r = tir.call_func @checked(%m) : (i32) -> i32
            tir.store %r, %A[%i] : i32
          }
        }"""
    )
    a = np.zeros(4, np.int32)
    with pytest.raises(RuntimeError, match=r"^assertion failed: n must be positive$"):
        executable["f"](a, 2)
    assert a.tolist() == [2, 1, 0, 0]
    executable["f"](a, 9)
    assert a.tolist() == [9, 8, 7, 6]


MODEL = """
!x = tensor<?x4xf32, #relax.dims<[n, 4]>>
!y = tensor<?x3xf32, #relax.dims<[n, 3]>>
relax.func @main<n>(%x: !x, %w: tensor<4x3xf32>, %b: !y) -> !y
    attributes {global_symbol = "main"} {
  %0 = relax.matmul %x, %w : (!x, tensor<4x3xf32>) -> !y
  %1 = relax.add %0, %b : (!y, !y) -> !y
  relax.return %1 : !y
}
"""


def test_bound_parameters() -> None:
    executable = xdsl_tvm.compile(MODEL)
    assert isinstance(executable, NativeExecutable)
    main = executable["main"]
    x, w, b = np.ones((2, 4), "f4"), np.ones((4, 3), "f4"), np.ones((2, 3), "f4")
    expected = main(x, w, b)
    np.testing.assert_array_equal(main.bind(w, b)(x), expected)
    np.testing.assert_array_equal(main.bind(w=w)(x, b), expected)
    np.testing.assert_array_equal(main.bind(b).bind(x=x)(w), expected)
    # The extent that a bound array gives a symbol holds for the others, too.
    with pytest.raises(ValueError, match="must have extent n = "):
        main.bind(w, b)(np.ones((3, 4), "f4"))
    # What is bound is used as it is at the call.
    bound = main.bind(w, b)
    w[...] = 2
    np.testing.assert_array_equal(bound(x), main(x, w, b))


def test_times_of_kernels() -> None:
    executable = xdsl_tvm.compile(MODEL, profile=True, optimize=False)
    assert isinstance(executable, NativeExecutable)
    x, w, b = np.ones((2, 4), "f4"), np.ones((4, 3), "f4"), np.ones((2, 3), "f4")
    for _ in range(3):
        np.testing.assert_array_equal(executable["main"](x, w, b), x @ w + b)
    times = executable.kernel_times()
    assert {time.name: time.calls for time in times} == {"matmul": 3, "add": 3}
    assert all(0 < time.seconds < 1 for time in times)
    assert times[0].seconds >= times[1].seconds
    executable.reset_kernel_times()
    assert [time.calls for time in executable.kernel_times()] == [0, 0]
    plain = xdsl_tvm.compile(MODEL, optimize=False)
    assert isinstance(plain, NativeExecutable)
    with pytest.raises(RuntimeError, match="compile with profile=True"):
        plain.kernel_times()


def test_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDSL_TVM_CACHE", "off")
    steps: list[tuple[str, int, int]] = []

    def note(name: str, number: int, count: int) -> None:
        steps.append((name, number, count))

    xdsl_tvm.compile(MODEL, progress=note, optimize=False)
    names = [name for name, _, _ in steps]
    assert names[0] == "relax-insert-operand-checks"
    assert "relax-legalize-ops" in names
    assert names[-1] == "machine code"
    numbers = [number for _, number, _ in steps[:-1]]
    assert numbers == list(range(len(steps) - 1))
    assert {count for _, _, count in steps[:-1]} == {len(steps) - 1}


def test_progress_of_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDSL_TVM_CACHE", "off")
    steps: list[tuple[str, int, int]] = []
    model = MODEL.replace("%0, %b", "%0, %0").replace(
        "relax.return %1",
        "%2 = relax.nn.softmax %1 axis 1 : (!y) -> !y\n  relax.return %2",
    )

    def note(name: str, number: int, count: int) -> None:
        steps.append((name, number, count))

    xdsl_tvm.compile(model, progress=note)
    machine_code = [step for step in steps if step[0].startswith("machine code")]
    passes = steps[: -len(machine_code)]
    assert passes[0][0] == "relax-insert-operand-checks"
    assert [step[1:] for step in passes] == [(n, len(passes)) for n in range(len(passes))]
    assert [name.removeprefix("machine code of ") for name, _, _ in machine_code] == [
        "matmul",
        "add",
        "softmax",
        "the functions that call kernels",
    ]
    assert [step[1:] for step in machine_code] == [(n, 4) for n in range(4)]


def test_names_that_compiled_code_has_itself() -> None:
    zero = ADD.replace("@add(", "@{}(")
    for name, owner in (
        ("memset", "the C library"),
        ("floorf", "the C library"),
        ("tvm_failed_assert", "the runtime"),
    ):
        with pytest.raises(PassFailedException) as error:
            xdsl_tvm.compile(zero.replace("{}", name))
        assert one_line(error) == (
            f"tir.func @{name}: compiled code calls the function of {owner} that has "
            "this name; rename it"
        )
    a, b, c = arrays()
    xdsl_tvm.compile(zero.replace("{}", "my_tvm_failed_assert"))["add"](a, b, c, 1)
    np.testing.assert_array_equal(c, a + 1)


def test_a_global_symbol_of_several_functions() -> None:
    first = ADD.replace("@add(", "@first(")
    second = ADD.replace("@add(", "@second(").replace("tir.mul %y", "tir.add %y")
    executable = xdsl_tvm.compile(first + second)
    with pytest.raises(PassFailedException, match=r"^several functions have"):
        executable["add"]
    a, b, c = arrays()
    executable["second"](a, b, c, 1)
    np.testing.assert_array_equal(c, a + 2)
    # A function's own name comes first.
    xdsl_tvm.compile(second + ADD)["add"](a, b, c, 2)
    np.testing.assert_array_equal(c, a + 2)


SHIFT = """
tir.func @shift(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "shift"} {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?xi32>
  %B = tir.match_buffer "B" %b [%n] : !tir.buffer<?xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.for %i = %c0 to %n parallel {
    %x = tir.load %A[%i] : i32
    %y = tir.add %x, %c1 : i32
    tir.store %y, %B[%i] : i32
  }
}
"""


def test_arguments_that_overlap() -> None:
    executable = xdsl_tvm.compile(SHIFT)
    assert isinstance(executable, NativeExecutable)
    shift = executable["shift"]
    whole = np.zeros(100, np.int32)
    shift(whole, whole)
    assert (whole == 1).all()
    # Every iteration reads what the one before it has written.
    shift(whole[:-1], whole[1:])
    assert whole.tolist() == list(range(1, 101))
    shift.bind(whole[1:])(whole[:-1])
    assert whole.tolist() == list(range(1, 101))
    # The text of the code is still that of the module as it is optimized.
    assert "xdsl_tvm_parallel_for" in executable.llvm_ir
    assert "xdsl_tvm_parallel_for" not in executable.overlapping.llvm_ir
    assert executable.overlapping is executable.overlapping
    before = executable.llvm_ir
    assert before == executable.llvm_ir


def test_overlap_of_a_module_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDSL_TVM_CACHE", str(tmp_path))
    for _ in range(2):
        whole = np.zeros(5, np.int32)
        xdsl_tvm.compile(SHIFT)["shift"](whole[:-1], whole[1:])
        assert whole.tolist() == [0, 1, 2, 3, 4]


STRIDED = """
tir.func @shift(%a: !tir.handle, %b: !tir.handle)
    attributes {global_symbol = "shift", tir.noalias} {
  %s = tir.shape_var "s" : i32
  %A = tir.match_buffer "A" %a strides [%s] : !tir.buffer<4xi32>
  %B = tir.match_buffer "B" %b strides [%s] : !tir.buffer<4xi32>
  %c2 = tir.const 2 : i32
  %x = tir.load %A[%c2] : i32
  tir.store %x, %B[%c2] : i32
}
"""


def test_views_that_interleave_do_not_overlap() -> None:
    shift = xdsl_tvm.compile(STRIDED)["shift"]
    whole = np.arange(10, dtype=np.int32)
    shift(whole[:8:2], whole[1:9:2])
    assert whole[5] == 4
    with pytest.raises(ValueError, match="overlap") as error:
        shift(whole[:8:2], whole[2::2])
    assert one_line(error) == (
        "@shift: arguments 'A' and 'B' must not overlap; pass a copy of one, or compile "
        "the function without tir.noalias"
    )


MANY = "".join(
    f'%B{k} = tir.match_buffer "B{k}" %p{k} : !tir.buffer<4xi32>\n' for k in range(8)
)
STORES = "".join(f"tir.store %c1, %B{k}[%c1] : i32\n" for k in range(8))


def test_overlap_among_many_arrays() -> None:
    parameters = ", ".join(f"%p{k}: !tir.handle" for k in range(8))
    many = xdsl_tvm.compile(
        f"""
        tir.func @many({parameters}) attributes {{global_symbol = "many", tir.noalias}} {{
          %c1 = tir.const 1 : i32
        {MANY}{STORES}
        }}"""
    )["many"]
    whole = np.zeros(40, np.int32)
    arrays = [whole[4 * k : 4 * k + 4] for k in (3, 1, 7, 0, 2, 9, 5, 4)]
    many(*arrays)
    assert whole.reshape(10, 4)[:, 1].tolist() == [1, 1, 1, 1, 1, 1, 0, 1, 0, 1]
    arrays[5] = whole[6:10]
    with pytest.raises(ValueError, match=r"'B1' and 'B5' must not overlap"):
        many(*arrays)


def test_overlap_of_arguments_of_a_relax_function() -> None:
    text = """
    tir.func private @step(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias} {
      %A = tir.match_buffer "A" %a : !tir.buffer<8xf32>
      %B = tir.match_buffer "B" %b : !tir.buffer<8xf32>
      %c0 = tir.const 0 : i32
      %c8 = tir.const 8 : i32
      tir.for %i = %c0 to %c8 {
        %x = tir.load %A[%i] : f32
        %y = tir.add %x, %x : f32
        tir.store %y, %B[%i] : f32
      }
    }
    !x = tensor<8xf32>
    relax.func @main(%x: !x, %y: !x) -> !x attributes {global_symbol = "main"} {
      %r = relax.call_tir_inplace @step(%x, %y) inplace [1] : (!x, !x) -> !x
      relax.return %r : !x
    }"""
    main = xdsl_tvm.compile(text)["main"]
    interpreted = interpret(load_module(text))["main"]
    outcomes: list[Any] = []
    for function in (main, interpreted):
        whole = np.ones(9, np.float32)
        result = function(whole[:-1], whole[1:])
        outcomes.append((whole.tolist(), np.asarray(result).tolist()))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0] == [2.0**k for k in range(9)]


@pytest.mark.parametrize("promise", ["", " {llvm.noalias}"])
def test_overlap_of_memrefs(promise: str) -> None:
    copy = xdsl_tvm.compile(
        f"""
        func.func @copy(%a: memref<4xi32>{promise}, %b: memref<4xi32>) {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c4 = arith.constant 4 : index
          scf.for %i = %c0 to %c4 step %c1 {{
            %x = memref.load %a[%i] : memref<4xi32>
            memref.store %x, %b[%i] : memref<4xi32>
          }}
          func.return
        }}"""
    )["copy"]
    whole = np.arange(5, dtype=np.int32)
    if promise:
        with pytest.raises(ValueError, match="must not overlap"):
            copy(whole[:-1], whole[1:])
    else:
        copy(whole[:-1], whole[1:])
        assert whole.tolist() == [0] * 5
