"""What comes out of a pass that fails: an exception that names it and the function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from support.ir import parse
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException, PassFailedException

from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass, Sequential, module_pass
from xdsl_tvm.registry import new_context

MODULE = """
tir.func @first() {
}
tir.func @second() {
  %c = tir.const 1 : i32
  tir.evaluate %c : i32
}
"""


def look_up(op: Operation) -> None:
    if isinstance(op, tir.EvaluateOp):
        raise KeyError("unknown")


@dataclass(frozen=True)
class FailsWithin(CompilerPass):
    name = "tir-fails-within"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.walk():
            look_up(inner)


@dataclass(frozen=True)
class Reports(CompilerPass):
    name = "tir-reports"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise PassFailedException("tir.for in @f: not so; do this")


@dataclass(frozen=True)
class Recurses(CompilerPass):
    name = "tir-recurses"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.apply(ctx, op)


def run_in_place(run: CompilerPass, module: ModuleOp) -> None:
    run.apply(new_context(), module)


def call(run: CompilerPass, module: ModuleOp) -> None:
    run(module)


def call_in_sequence(run: CompilerPass, module: ModuleOp) -> None:
    Sequential([run])(module)


Way = Callable[[CompilerPass, ModuleOp], None]


@pytest.mark.parametrize("way", [run_in_place, call, call_in_sequence])
def test_unexpected_exceptions_name_pass_and_function(way: Way):
    with pytest.raises(PassFailedException) as caught:
        way(FailsWithin(), parse(MODULE))
    assert str(caught.value) == (
        "tir-fails-within: internal error in @second: KeyError: 'unknown'; report it "
        "with the module, and leave the pass out"
    )
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize("way", [run_in_place, call, call_in_sequence])
def test_errors_of_passes_are_left_as_they_are(way: Way):
    with pytest.raises(PassFailedException, match=r"^tir\.for in @f: not so; do this$"):
        way(Reports(), parse(MODULE))


def test_endless_recursion_is_reported():
    with pytest.raises(PassFailedException, match="tir-recurses: internal error"):
        Recurses()(parse(MODULE))


def test_functions_of_users_raise_what_they_like():
    @module_pass(opt_level=0)
    def mine(module: ModuleOp, context: object) -> ModuleOp:
        raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        mine(parse(MODULE))
    assert not isinstance(caught.value, DiagnosticException)
