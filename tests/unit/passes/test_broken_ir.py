"""What a row of passes says when one of them makes IR that does not verify."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import tir
from xdsl_tvm.lowering import pipelines
from xdsl_tvm.passes.infra import (
    BrokenIRError,
    CompilerPass,
    CompositePass,
    PassContext,
    PassInfo,
    PassInstrument,
    Sequential,
    module_pass,
)
from xdsl_tvm.passes.tir import RemoveNoOp, Simplify
from xdsl_tvm.registry import find_pass, new_context

TEXT = """
tir.func @f(%a: !tir.handle) attributes {global_symbol = "f"} {
  %A = tir.match_buffer %a : !tir.buffer<8xi8>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %one = tir.const 1 : i8
  tir.for %i = %c0 to %c8 {
    tir.store %one, %A[%i] : i8
  }
}
"""


def parse() -> ModuleOp:
    return Parser(new_context(), TEXT).parse_module()


@dataclass(frozen=True)
class Breaks(CompilerPass):
    """Moves the store out of the loop whose variable it uses."""

    name = "tir-breaks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for store in [each for each in op.walk() if isinstance(each, tir.StoreOp)]:
            loop = store.parent_op()
            assert isinstance(loop, tir.ForOp)
            assert loop.parent is not None
            store.detach()
            loop.parent.insert_op_before(store, loop)


@dataclass(frozen=True)
class Fails(CompilerPass):
    """Refuses all programs."""

    name = "tir-fails"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise PassFailedException("no reason")


@dataclass(frozen=True)
class Composite(CompositePass):
    """Simplifies, breaks and simplifies."""

    name = "tir-composite"

    def passes(self) -> tuple[ModulePass, ...]:
        return (Simplify(), Breaks(), Simplify())


BROKEN = "pass 'tir-breaks' made IR that does not verify: .*tir.store"


@pytest.mark.parametrize(
    "row",
    [
        Sequential([Simplify(), Breaks()]),
        Sequential([Simplify(), Breaks(), Simplify()]),
        Sequential([Simplify(), Breaks(), Fails()]),
        Sequential([Sequential([Simplify(), Sequential([Breaks()])]), Simplify()]),
        Sequential([Simplify(), Composite(), Simplify()]),
        Composite(),
    ],
)
def test_the_first_pass_whose_result_is_broken_is_named(row: CompilerPass):
    module, instruments = parse(), [PassInstrument()]
    with pytest.raises(BrokenIRError, match=BROKEN):
        row(module)
    assert str(module) == str(parse())
    with PassContext(instruments=instruments), pytest.raises(BrokenIRError, match=BROKEN):
        row(module)
    with pytest.raises(BrokenIRError, match=BROKEN):
        row.apply(new_context(), module)


def test_a_callable_is_named_as_it_is_called():
    @module_pass(opt_level=0, name="mine")
    def mine(module: ModuleOp, context: PassContext) -> ModuleOp:
        Breaks().apply(new_context(), module)
        return module

    with pytest.raises(BrokenIRError, match="pass 'mine' made IR"):
        Sequential([Simplify(), mine, RemoveNoOp()])(parse())


def test_a_refusal_stays_what_it_is():
    with pytest.raises(PassFailedException, match=r"^no reason$"):
        Sequential([Simplify(), Fails()])(parse())


def test_an_input_that_does_not_verify_is_no_fault_of_the_passes():
    module = parse()
    Breaks().apply(new_context(), module)
    with pytest.raises(BrokenIRError, match="the input of the passes does not verify"):
        Sequential([Simplify()])(module)


def test_passes_run_once_where_nothing_is_wrong():
    ran: list[str] = []

    class Names(PassInstrument):
        def run_before_pass(self, mod: ModuleOp, info: PassInfo) -> None:
            ran.append(info.name)

    with PassContext(instruments=[Names()]):
        Sequential([Simplify(), RemoveNoOp()])(parse())
    assert ran == ["sequential", "tir.Simplify", "tir.RemoveNoOp"]


def test_the_roads_to_machine_code_name_the_pass(monkeypatch: pytest.MonkeyPatch):
    ours: dict[str, type[ModulePass]] = {"tir-breaks": Breaks, "tir-composite": Composite}

    def with_ours(name: str) -> type[ModulePass] | None:
        return ours.get(name) or find_pass(name)

    monkeypatch.setattr(pipelines, "find_pass", with_ours)
    for text in (
        "tir-simplify,tir-breaks,tir-simplify",
        "tir-simplify,tir-composite,tir-convert-to-memref",
    ):
        with pytest.raises(BrokenIRError, match=BROKEN):
            pipelines.run_pipeline(new_context(), parse(), text)
