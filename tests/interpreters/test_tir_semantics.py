"""`check_semantics` accepts what keeps a program, and finds what does not."""

from dataclasses import dataclass

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
from xdsl_tvm.interpreters.semantics import SemanticsError, check_semantics

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
        check_semantics(parse(), [Nudge(1e-6)])


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
