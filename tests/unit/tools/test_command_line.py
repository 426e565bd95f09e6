"""The command `xdsl-tvm`: dumps, reproducer, timings, and one line for every error."""

import asyncio
import io
import re
import sys
from pathlib import Path

import pytest
from support import paths
from support.error_texts import first_line
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.passes.infra.error_lines import UserError, error_line
from xdsl_tvm.passes.infra.pipeline_runner import PipelineError, PipelineRunner
from xdsl_tvm.tools.cli import main

MODULE = """func.func @f() {
  %a = arith.constant 1 : i32
  %b = arith.constant 1 : i32
  "test.op"(%a, %b) : (i32, i32) -> ()
  func.return
}
"""


@pytest.fixture
def module(tmp_path: Path) -> str:
    path = tmp_path / "input.mlir"
    path.write_text(MODULE)
    return str(path)


def test_opt_is_xdsl_opt(module: str, capsys: pytest.CaptureFixture[str]):
    assert main(["opt", module, "-p", "cse"]) == 0
    captured = capsys.readouterr()
    assert captured.out.count("arith.constant") == 1
    assert captured.err == ""


def test_opt_dumps_go_to_stderr(module: str, capsys: pytest.CaptureFixture[str]):
    arguments = ["--print-ir-before=cse", "--print-ir-after=cse,dce"]
    assert main(["opt", module, "-p", "cse,dce,canonicalize", *arguments]) == 0
    captured = capsys.readouterr()
    headers = [line for line in captured.err.splitlines() if "-----" in line]
    assert headers == [
        "// ----- IR before cse -----",
        "// ----- IR after cse -----",
        "// ----- IR after dce -----",
    ]
    assert captured.err.count("arith.constant") == 2 + 1 + 1
    assert "-----" not in captured.out


def test_opt_dumps_what_a_composite_pass_runs(
    module: str, capsys: pytest.CaptureFixture[str]
):
    composite = "relax-canonicalize-bindings"
    inner = ["relax-canonicalize-tir-variables", "relax-canonicalize-relax-bindings"]
    cases = {
        ("--print-ir-after-all",): ["after cse", *(f"after {name}" for name in inner)],
        ("--print-ir-before-all",): ["before cse", *(f"before {name}" for name in inner)],
        ("--print-between-passes",): ["after cse", f"after {inner[0]}"],
        ("--print-ir-after", inner[0]): [f"after {inner[0]}"],
        ("--print-ir-after", composite): [f"after {composite}"],
        ("--print-ir-after", "relax.CanonicalizeTIRVariables"): [f"after {inner[0]}"],
    }
    for options, expected in cases.items():
        assert main(["opt", module, "-p", f"cse,{composite}", *options]) == 0
        error = capsys.readouterr().err
        headers = re.findall(r"^// ----- IR (.*) -----$", error, re.MULTILINE)
        assert headers == expected
    for option in ("--timing", "--time-passes"):
        assert main(["opt", module, "-p", composite, option]) == 0
        rows = [line.split()[2] for line in capsys.readouterr().err.splitlines()]
        assert rows == [*inner, "total"]
    assert main(["opt", module, "-p", "cse", "--print-ir-after", composite]) == 1
    assert "-p does not run it" in capsys.readouterr().err


def test_opt_diagnostics_of_chunks(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "input.mlir"
    broken = 'func.func @f() -> i32 {\n  "func.return"() : () -> ()\n}\n'
    texts = (broken, "func.func @f(\n", MODULE, "tir.func @f(%A: i32) {}\n" + broken)
    path.write_text("// -----\n".join(texts))
    options = ("--split-input-file", "--verify-diagnostics", "--parsing-diagnostics")
    assert main(["opt", str(path), *options]) == 0
    captured = capsys.readouterr()
    chunks = captured.out.split("// -----\n")
    assert captured.err == ""
    assert f"{path}:2:4: error: func.return: " in chunks[0]
    assert f"{path}:6:1" in chunks[1]
    assert "arith.constant" in chunks[2]
    assert "error: func.return: " in chunks[3]
    assert main(["opt", str(path), *options[:2]]) == 1


@pytest.mark.parametrize("caller", ["tir.call_func", "func.return"])
def test_operations_that_verifiers_read(
    caller: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """The one that does not verify is named, not the one whose verifier reads it."""
    path = tmp_path / "input.mlir"
    family = caller.partition(".")[0]
    end = {"tir": "tir.ret", "func": "func.return"}[family]
    call = f'"{caller}"() <{{callee = @f}}> : () -> ()\n' if caller != end else ""
    path.write_text(
        f"""\
"builtin.module"() ({{
"{family}.func"() <{{sym_name = "g", function_type = () -> ()}}> ({{
  {call}"{end}"() : () -> ()
}}) : () -> ()
"{family}.func"() <{{sym_name = "f", function_type = i32}}> ({{
  "{end}"() : () -> ()
}}) : () -> ()
}}) : () -> ()
"""
    )
    for command in (["opt", str(path)], ["run", str(path), "--interpret"]):
        assert main(command) == 1
        error = capsys.readouterr().err
        assert f": error: {family}.func: i32 should be of base attr" in error


def test_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    scale = (paths.ROOT / "examples" / "scale.mlir").read_bytes()
    call = ["run", "-", "--interpret", "--symbol", "n=3"]
    cases = {
        ("opt", "-"): (scale, 0, "tir.func @scale"),
        ("opt",): (scale, 0, "tir.func @scale"),
        ("translate", "-"): (scale, 0, "def scale(a: T.handle"),
        ("translate", "-", "-o", "folder"): (scale, 1, "standard input has no name"),
        tuple(call): (scale, 0, "called @scale"),
        (*call, "--print"): (b"tir.fnc @f()", 1, "stdin:1:1: error: tir.fnc: "),
        (*call, "--execute"): (scale, 1, "--execute runs a .py file, which is named"),
    }
    for arguments, (text, status, expected) in cases.items():
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        assert main(arguments) == status
        assert expected in "".join(capsys.readouterr())


def test_opt_timing(module: str, capsys: pytest.CaptureFixture[str]):
    assert main(["opt", module, "-p", "cse,dce", "--timing"]) == 0
    rows = [line.split() for line in capsys.readouterr().err.splitlines()]
    assert [row[-1] for row in rows] == ["cse", "dce", "total"]
    assert float(rows[2][0]) == pytest.approx(
        float(rows[0][0]) + float(rows[1][0]), abs=0.002
    )


def test_opt_reproducer(module: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """The reproducer starts where the failing pass starts, and fails like it."""
    reproducer = tmp_path / "reproducer.mlir"
    # apply-pdl needs a pattern file that is not there.
    pipeline = 'cse,apply-pdl{pdl-file="none.mlir"},dce'
    arguments = ["--reproducer", str(reproducer), "--print-ir-after-failure"]
    assert main(["opt", module, "-p", pipeline, *arguments]) == 1
    captured = capsys.readouterr()
    assert "// ----- IR after failure of apply-pdl -----" in captured.err
    error = captured.err.splitlines()[-1]
    assert error.startswith("error: pass 'apply-pdl' failed: ")
    assert error.endswith(f"(reproducer: {reproducer})")
    text = reproducer.read_text()
    run_line = text.splitlines()[0]
    remaining = 'apply-pdl{pdl_file="none.mlir"},dce'
    assert run_line == f"// RUN: xdsl-tvm opt %s -p '{remaining}'"
    assert text.count("arith.constant") == 1
    assert main(["opt", str(reproducer), "-p", remaining]) == 1
    again = capsys.readouterr().err.strip()
    assert again == error.removesuffix(f" (reproducer: {reproducer})")


BAD_INPUTS: dict[str, tuple[str, list[str], str]] = {
    "syntax": (
        "func.func @f( -> ",
        [],
        "input.mlir:1:15: error: Expected argument or type",
    ),
    "verify": (
        "func.func @f() -> i32 {\n  func.return\n}\n",
        [],
        "input.mlir:2:3: error: func.return: Expected arguments to have the same types",
    ),
    "dialect": ('"nope.op"() : () -> ()', [], "nope.op"),
    "pass": (MODULE, ["-p", "csee"], "unknown pass 'csee'; did you mean cse?"),
    "pipeline": (MODULE, ["-p", "cse{"], "pipeline 'cse{': Expected argument name"),
    "option": (MODULE, ["-p", "cse{a=1}"], "pass 'cse': "),
    "option type": (
        MODULE,
        ["-p", "apply-pdl{pdl-file=3}"],
        "pass 'apply-pdl': Incompatible types",
    ),
    "dump": (MODULE, ["--print-ir-after=csee"], "unknown pass 'csee'"),
    "target": (MODULE, ["-t", "nope"], "nope"),
    "target option": (MODULE, ["-t", "ptx{arch=3}"], "target 'ptx': Incompatible types"),
    "flag": (MODULE, ["--nope"], "unrecognized arguments: --nope"),
}


@pytest.mark.parametrize("case", BAD_INPUTS)
def test_bad_input_is_one_line(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    text, arguments, message = BAD_INPUTS[case]
    path = tmp_path / "input.mlir"
    path.write_text(text)
    assert main(["opt", str(path), *arguments]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    line = first_line(captured.err)
    assert line.startswith(("error: ", f"{path}:"))
    assert message in line


def test_code_for_a_gpu_is_a_folder(
    module: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    for name in ("kernels.ptx", "model.so"):
        output = tmp_path / name
        assert main(["compile", module, "--target", "cuda", "-o", str(output)]) == 1
        error = capsys.readouterr().err
        assert error.startswith(f"error: {output}: for the target cuda the output is a")
        assert not output.exists()


def test_unreadable_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    missing = tmp_path / "missing.mlir"
    assert main(["opt", str(missing)]) == 1
    assert capsys.readouterr().err == (f"error: {missing}: No such file or directory\n")
    binary = tmp_path / "binary.mlir"
    binary.write_bytes(b"\xff\xfe\x00\x01")
    assert main(["opt", str(binary)]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    strange = tmp_path / "model.tflite"
    strange.write_text("")
    assert main(["opt", str(strange)]) == 1
    assert "'.tflite'" in capsys.readouterr().err


def test_traceback_on_request(module: str):
    with pytest.raises(UserError, match="nope"):
        main(["opt", module, "-p", "cse{nope=1}", "--traceback"])


def test_unexpected_errors_name_the_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def broken() -> None:
        raise KeyError("x")

    monkeypatch.setattr("xdsl_tvm.tools.list_passes.all_contracts", broken)
    assert main(["passes"]) == 1
    line = "error: KeyError: 'x' (--traceback shows where)\n"
    assert capsys.readouterr().err == line


def test_unknown_command(capsys: pytest.CaptureFixture[str]):
    assert main(["optt"]) == 1
    assert capsys.readouterr().err.startswith("error: unknown command 'optt'")
    assert main(["--help"]) == 0
    assert "passes" in capsys.readouterr().out


def test_passes_lists_every_pass(capsys: pytest.CaptureFixture[str]):
    from xdsl_tvm.registry import pass_modules

    assert main(["passes"]) == 0
    plain = capsys.readouterr().out
    assert main(["passes", "--markdown"]) == 0
    table = capsys.readouterr().out
    for name in pass_modules():
        assert f"\n{name}  [TVM: " in f"\n{plain}"
        assert f"| `{name}` |" in table
    assert main(["passes", "tir.Simplify", "relax-dead-code-elimination"]) == 0
    text = capsys.readouterr().out
    assert re.findall("^# (.*)", text, re.MULTILINE) == [
        "tir-simplify",
        "relax-dead-code-elimination",
    ]
    assert "## Leaves alone" in text
    assert main(["passes", "tir-simplfy"]) == 1
    assert "did you mean tir-simplify" in capsys.readouterr().err
    assert main(["passes", "--nope"]) == 1


class Breaks(ModulePass):
    """Leaves a module that does not verify."""

    name = "breaks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = next(iter(op.ops))
        block = function.regions[0].block
        assert block.last_op is not None
        block.erase_op(block.last_op)


class Repairs(ModulePass):
    """Makes of what Breaks leaves a module that verifies."""

    name = "repairs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from xdsl.dialects.func import ReturnOp

        next(iter(op.ops)).regions[0].block.add_op(ReturnOp())


class Nothing(ModulePass):
    """Leaves the module as it is."""

    name = "nothing"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


class Fails(ModulePass):
    """Refuses every module."""

    name = "fails"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise PassFailedException("no reason")


def empty_function() -> ModuleOp:
    from xdsl.builder import ImplicitBuilder
    from xdsl.dialects.func import FuncOp, ReturnOp

    function = FuncOp("f", ((), ()))
    with ImplicitBuilder(function.body):
        ReturnOp()
    return ModuleOp([function])


def test_verify_each_names_the_pass_that_broke_the_module():
    passes = (Breaks(), Repairs())
    with pytest.raises(PipelineError, match="pass 'breaks' failed"):
        PipelineRunner(passes).run(Context(), empty_function())
    module = empty_function()
    PipelineRunner(passes, verify_each=False).run(Context(), module)
    module.verify()
    # The end of the pipeline is verified nevertheless, and the right pass is named.
    for more in ((), (Nothing(),), (Fails(),)):
        runner = PipelineRunner((Nothing(), Breaks(), *more), verify_each=False)
        with pytest.raises(PipelineError, match="pass 'breaks' made IR that does"):
            runner.run(Context(), empty_function())
    with pytest.raises(PipelineError, match="pass 'fails' failed: no reason"):
        PipelineRunner((Nothing(), Fails()), verify_each=False).run(
            Context(), empty_function()
        )


def test_log_of_the_runner():
    log = io.StringIO()
    runner = PipelineRunner(
        (Breaks(),), print_after_failure=True, print_before=frozenset({"breaks"})
    )
    runner.log = log
    with pytest.raises(PipelineError):
        runner.run(Context(), empty_function())
    assert "IR before breaks" in log.getvalue()
    assert "IR after failure of breaks" in log.getvalue()


def test_error_line_of_a_bug_names_its_class():
    assert error_line(KeyError("x")) == "KeyError: 'x'"
    assert error_line(AssertionError()) == "AssertionError"


def test_names_of_tvm(module: str, capsys: pytest.CaptureFixture[str]):
    pipeline = "cse,tir.UnrollLoop{auto_max_step=3},relax.LegalizeOps"
    assert main(["opt", "-p", pipeline, "--print-pipeline"]) == 0
    own = "cse,tir-unroll-loop{auto_max_step=3},relax-legalize-ops"
    assert capsys.readouterr().out == f"{own}\n"
    assert main(["opt", module, "-p", "tir.Simplfy"]) == 1
    error = capsys.readouterr().err
    assert (
        error == "error: unknown pass of TVM 'tir.Simplfy'; did you mean tir.Simplify?\n"
    )
    # A name in the text of an option is no pass.
    pipeline = 'apply-pdl{pdl_file="tir.Simplify"}'
    assert main(["opt", "-p", pipeline, "--print-pipeline"]) == 0
    assert capsys.readouterr().out == f"{pipeline}\n"


def test_composite_passes_are_written_out(capsys: pytest.CaptureFixture[str]):
    example = str(paths.EXAMPLES / "scale.mlir")
    assert main(["opt", "-p", "tvm-lower-to-llvm", "--print-pipeline"]) == 0
    pipeline = capsys.readouterr().out.strip()
    assert pipeline.endswith(",tvm-verify-llvm-legal")
    results: list[str] = []
    for text in ("tvm-lower-to-llvm", pipeline):
        assert main(["opt", example, "-p", text]) == 0
        results.append(capsys.readouterr().out)
    assert results[0] == results[1]


def test_help_of_opt_is_readable(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["opt", "--help"])
    text = capsys.readouterr().out
    assert len(text.splitlines()) < 80
    assert max(map(len, text.splitlines())) < 90
    # What xdsl-opt lacks comes first, and names are not broken at hyphens.
    assert text.index("--print-pipeline") < text.index("--split-input-file")
    assert not re.search(r"\w-$", text, re.MULTILINE)
    for name in ("upstream-mlir", "tir.Simplify", "--reproducer FILE"):
        assert name in text


def test_names_that_are_close(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "input.mlir"
    cases = {
        "tir.fnc @f() {\n}": "1:1: error: tir.fnc: there is no such operation (did you",
        "func.func @f() {\n  %0 = tri.add %a, %b : i32\n}": "2:8: error: tri.add: "
        "there is no dialect 'tri' (did you mean 'tir'?)",
        "nonsense": "1:1: error: nonsense: there is no such operation",
    }
    for text, message in cases.items():
        path.write_text(text)
        for command in ("opt", "run", "translate"):
            assert main([command, str(path)]) == 1
            error = capsys.readouterr().err
            assert first_line(error).startswith(f"{path}:{message}")


def test_places_of_chunks(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "input.mlir"
    wrong = 'func.func @f() -> i32 {\n  "func.return"() : () -> ()\n}\n'
    for text, place in ((wrong, "5:4"), ("func.func @f(\n", "5:1")):
        path.write_text(f"// one\nfunc.func @g() {{ func.return }}\n// -----\n{text}")
        assert main(["opt", str(path), "--split-input-file"]) == 1
        assert capsys.readouterr().err.startswith(f"{path}:{place}: error: ")


def test_gui_without_its_extra(
    module: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "textual", None)
    monkeypatch.delitem(sys.modules, "xdsl.interactive.app", raising=False)
    monkeypatch.setitem(sys.modules, "pyclip", None)
    assert main(["gui", module]) == 1
    error = capsys.readouterr().err
    assert re.fullmatch(
        r'error: xdsl-tvm gui needs \w+: pip install "xdsl-tvm\[gui\]"\n', error
    )
    assert main(["gui", module, "-p", "csee"]) == 1
    assert "did you mean cse?" in capsys.readouterr().err


def test_gui_knows_our_passes(tmp_path: Path):
    pytest.importorskip("textual")
    pytest.importorskip("pyclip")
    from xdsl_tvm.tools.gui import application

    path = tmp_path / "twice.py"
    path.write_text(
        '@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    A[0] = A[1]\n'
    )
    app = application(path, "tir.Simplify")

    async def shown() -> str:
        async with app.run_test() as pilot:
            await pilot.pause()
            return app.output_text_area.text

    assert "tir.func @f" in asyncio.run(shown())
    assert "tir-unroll-loop" in dict(app.all_passes)


def test_python_beside_scripts_is_executed_by_a_word(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A file that is not run says how it would be."""
    file = str(paths.EXAMPLES / "models" / "bert.py")
    assert main(["compile", file, "--target", "cuda", "-o", "never"]) == 1
    error = capsys.readouterr().err
    assert "(--execute runs a file with Python beside its scripts)" in error
