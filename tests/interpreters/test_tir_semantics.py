"""`check_semantics` accepts what keeps a program, and finds what does not."""

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, FloatAttr, ModuleOp, f32
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.transforms.common_subexpression_elimination import (
    CommonSubexpressionElimination,
)

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.random_inputs import random_arguments
from xdsl_tvm.interpreters.semantics import SemanticsError, check_semantics
from xdsl_tvm.passes.infra.pipeline_runner import PipelineError, PipelineRunner
from xdsl_tvm.tools.check_semantics import SemanticsPassCheck
from xdsl_tvm.tools.cli import main

PROGRAM = """
tir.func @scale(%a: !tir.handle, %b: !tir.handle, %s: f32) {
  %n = tir.shape_var "n" : i32
  %t = tir.shape_var "t" : i32
  %c2 = tir.const 2 : i32
  %n2 = tir.mul %n, %c2 : i32
  %A = tir.match_buffer "A" %a [%n] strides [%t, 1] : !tir.buffer<?x3xf32>
  %B = tir.match_buffer "B" %b [%n2] : !tir.buffer<?x3xf32>
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  tir.for %i = %c0 to %n {
    tir.for %j = %c0 to %c3 {
      %x = tir.load %A[%i, %j] : f32
      %k = tir.const 3.0 : f32
      %y = tir.mul %x, %k : f32
      %z = tir.add %y, %s : f32
      %ii = tir.add %i, %i : i32
      %jj = tir.add %i, %i : i32
      tir.store %z, %B[%ii, %j] : f32
    }
  }
}
tir.func @raw(%p: !tir.ptr<f32>) {
}
"""


def parse() -> ModuleOp:
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(tir.TIR)
    module = Parser(context, PROGRAM).parse_module()
    module.verify()
    return module


@dataclass(frozen=True)
class Nudge(ModulePass):
    """Adds to every f32 constant."""

    name = "nudge"
    by: float = 0.5

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.walk():
            if isinstance(inner, tir.ConstOp) and inner.result.type == f32:
                inner.value = FloatAttr(inner.literal + self.by, f32)


@dataclass(frozen=True)
class Widen(ModulePass):
    """Makes every loop one iteration longer."""

    name = "widen"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.walk():
            if isinstance(inner, tir.ConstOp) and inner.literal == 3:
                inner.value = tir.ConstOp.of(4, inner.result.type).value


@dataclass(frozen=True)
class Remove(ModulePass):
    """Removes all functions."""

    name = "remove"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.body.block.ops):
            inner.detach()
            inner.erase()


def test_passes_that_keep_the_program() -> None:
    module = parse()
    before = str(module)
    report = check_semantics(module, [CommonSubexpressionElimination()])
    assert report.checked == ["scale"]
    assert "pass inputs" in report.skipped["raw"]
    assert str(module) == before


def test_a_changed_value_is_found() -> None:
    with pytest.raises(
        SemanticsError,
        match=r"pass nudge changes function scale: buffer B differs first at index "
        r"\[0, 0\]: it was .*, is ",
    ):
        check_semantics(parse(), [CommonSubexpressionElimination(), Nudge()])


def test_tolerance_is_for_floats() -> None:
    check_semantics(parse(), [Nudge(1e-6)], tolerance=1e-4)
    with pytest.raises(SemanticsError):
        check_semantics(parse(), [Nudge(1e-6)], tolerance=0.0)


def test_a_new_fault_is_found() -> None:
    with pytest.raises(
        SemanticsError, match=r"pass widen .*: it fails now: index 1 is 3"
    ):
        check_semantics(parse(), [Widen()])


def test_a_lost_function_is_found() -> None:
    with pytest.raises(SemanticsError, match="not in the module any more"):
        check_semantics(parse(), [Remove()])


def test_given_inputs() -> None:
    inputs = {"raw": [[np.zeros(3, np.float32)]]}
    assert check_semantics(parse(), [], inputs).checked == ["scale", "raw"]
    wrong = {"scale": [[np.zeros((2, 3), np.float32), np.zeros((3, 3), np.float32), 1.0]]}
    with pytest.raises(SemanticsError, match="fails before any pass: scale: parameter B"):
        check_semantics(parse(), [], wrong)


def test_nothing_to_check_is_an_error() -> None:
    with pytest.raises(SemanticsError, match="no function could be run"):
        check_semantics(ModuleOp([]), [])


def parse_text(text: str) -> ModuleOp:
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(tir.TIR)
    return Parser(context, text).parse_module()


def test_a_failing_case_is_cut_down_and_saved(tmp_path: Path) -> None:
    path = tmp_path / "case.mlir"
    with pytest.raises(SemanticsError, match="changes function scale") as caught:
        check_semantics(parse(), [Nudge()], seed=3, save_to=path)
    assert (caught.value.pass_name, caught.value.function) == ("nudge", "scale")
    text = path.read_text()
    assert text.startswith(
        "// RUN: xdsl-tvm opt %s -p nudge --check-semantics=3\n// pass"
    )
    saved = parse_text(text)
    saved.verify()
    with pytest.raises(SemanticsError, match="changes function scale"):
        check_semantics(saved, [Nudge()], seed=3)
    # The loop over rows, the factor two of the extent and the other function are gone.
    names = [op.name for op in saved.walk()]
    assert len(names) < sum(1 for _ in parse().walk()) / 2
    assert names.count("tir.func") == names.count("tir.store") == 1
    assert "tir.for" not in names


def test_a_pass_that_keeps_the_program_saves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "case.mlir"
    check_semantics(parse(), [CommonSubexpressionElimination()], save_to=path)
    assert not path.exists()


def test_the_tolerance_is_that_of_the_dtype() -> None:
    check_semantics(parse(), [Nudge(1e-7)])
    with pytest.raises(SemanticsError, match="differs first at index"):
        check_semantics(parse(), [Nudge(1e-3)])


def test_a_runner_blames_the_pass_and_saves_the_case(tmp_path: Path) -> None:
    path = tmp_path / "case.mlir"
    check = SemanticsPassCheck(7)
    passes = [CommonSubexpressionElimination(), Nudge(), Remove()]
    runner = PipelineRunner(passes, check=check, reproducer=path, log=io.StringIO())
    with pytest.raises(PipelineError, match=r"pass 'nudge' failed: .*buffer B differs"):
        runner.run(Context(), parse())
    assert "-p nudge --check-semantics=7\n" in path.read_text()


def test_opt_checks_semantics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "input.mlir"
    path.write_text(PROGRAM)
    assert main(["opt", str(path), "-p", "cse,canonicalize", "--check-semantics"]) == 0
    captured = capsys.readouterr()
    assert "semantics checked: scale\n" in captured.err
    assert "not checked: raw: raw: no array can be made for the pointer p" in captured.err
    assert "tir.func @scale" in captured.out


ASSERTING = """
tir.func @f(%a: !tir.handle, %k: i32) {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %r = tir.floormod %n, %c8 : i32
  %p = tir.cmp eq %r, %c0 : i32
  tir.assert %p, "n must be a multiple of 8"
  %q = tir.cmp CMP %k, %n : i32
  tir.assert %q, "k out of range"
}
"""


def test_random_sizes_respect_assertions() -> None:
    module = parse_text(ASSERTING.replace("CMP", "gt"))
    func = module.body.block.first_op
    assert isinstance(func, tir.FuncOp)
    rng = np.random.default_rng(0)
    for _ in range(20):
        array, k = random_arguments(func, rng)
        assert array.shape[0] % 8 == 0
        assert k > array.shape[0]


def test_assertions_that_no_size_fulfils() -> None:
    text = ASSERTING.replace("tir.cmp CMP %k, %n", "tir.cmp lt %n, %c0")
    with pytest.raises(SemanticsError, match=r"no sizes found .* that its assertions"):
        check_semantics(parse_text(text), [])
