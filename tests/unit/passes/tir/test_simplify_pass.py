"""Simplify where FileCheck tests do not reach: options, embeddings, time."""

from __future__ import annotations

import pytest
from support.effort import calls
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.passes.tir.renormalize_split_pattern import RenormalizeSplitPattern
from xdsl_tvm.passes.tir.simplify import Simplify, simplify
from xdsl_tvm.registry import new_context

CHAIN = """
  tir.func @main(%a: !tir.handle, %i: i32, %j: i32, %k: i32) {
    %A = tir.match_buffer "A" %a : !tir.buffer<4xi1>
    %c0 = tir.const 0 : i32
    %p = tir.cmp lt %i, %j : i32
    %q = tir.cmp lt %j, %k : i32
    %r = tir.cmp lt %i, %k : i32
    tir.assert %p, "first"
    tir.assert %q, "second"
    tir.store %r, %A[%c0] : i1
  }
"""


def parsed(text: str) -> ModuleOp:
    module = Parser(new_context(), text).parse_module()
    module.verify()
    return module


def stored(module: ModuleOp) -> list[object]:
    """The constants that are stored; None for another value."""
    stores = (op for op in module.walk() if isinstance(op, tir.StoreOp))
    return [tir.constant_value(store.value) for store in stores]


def test_options_come_from_the_context() -> None:
    config = {"tir.Simplify": {"transitively_prove_inequalities": True}}
    assert stored(Simplify()(parsed(CHAIN))) == [None]
    with PassContext(config=config):
        assert stored(Simplify()(parsed(CHAIN))) == [1]
        assert stored(Simplify(transitively_prove_inequalities=False)(parsed(CHAIN))) == [
            None
        ]


def test_it_is_a_function_for_other_passes() -> None:
    module = parsed(CHAIN.replace("%i, %k : i32", "%i, %j : i32"))
    (func,) = module.ops
    simplify(func)
    module.verify()
    assert stored(module) == [1]


def test_constants_of_another_function_are_not_used() -> None:
    module = parsed(
        """
        builtin.module {
          %c7 = tir.const 7 : i32
          tir.func @main(%a: !tir.handle, %n: i32) {
            %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
            %c0 = tir.const 0 : i32
            %c3 = tir.const 3 : i32
            %c4 = tir.const 4 : i32
            %s = tir.add %c3, %c4 : i32
            tir.store %s, %A[%c0] : i32
          }
        }
        """
    )
    Simplify().apply(new_context(), module)
    module.verify()
    assert stored(module) == [7]


def test_programs_of_other_dialects_keep_their_ops() -> None:
    module = parsed(
        """
        func.func @main(%a: !tir.handle, %n: i32) {
          %c0 = tir.const 0 : i32
          %x = tir.add %n, %c0 : i32
          %y = "test.op"(%x) ({
            %z = tir.add %x, %c0 : i32
            tir.evaluate %z : i32
            "test.termop"(%z) : (i32) -> ()
          }) : (i32) -> i32
          %w = tir.mul %y, %c0 : i32
          tir.evaluate %w : i32
          func.return
        }
        """
    )
    Simplify().apply(new_context(), module)
    module.verify()
    text = str(module)
    assert text.count("tir.add") == 2
    assert "tir.mul" not in text
    assert "tir.evaluate %n" in text


def chain(length: int) -> ModuleOp:
    """A function with as many branches after each other, each with its facts."""
    branches = "\n".join(
        f"""
        %p{k} = tir.cmp lt %n, %c{k % 3} : i32
        tir.if %p{k} {{
          %x{k} = tir.add %n, %c1 : i32
          %y{k} = tir.sub %x{k}, %c1 : i32
          tir.store %y{k}, %A[%c{k % 3}] : i32
        }}"""
        for k in range(length)
    )
    return parsed(
        f"""
        tir.func @main(%a: !tir.handle, %n: i32) {{
          %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
          %c0 = tir.const 0 : i32
          %c1 = tir.const 1 : i32
          %c2 = tir.const 2 : i32
          {branches}
        }}"""
    )


@pytest.mark.parametrize(
    "one",
    [
        Simplify(),
        Simplify(propagate_knowns_to_prove_conditional=True),
        RenormalizeSplitPattern(),
    ],
    ids=str,
)
def test_time_is_linear(one: Simplify | RenormalizeSplitPattern) -> None:
    def effort(length: int) -> int:
        module = chain(length)
        context = new_context()
        return calls(lambda: one.apply(context, module))

    assert effort(80) < 5 * effort(20)


def sums(length: int) -> ModuleOp:
    """As many nests that add to what is zero, and conditions on equal loads."""
    nests = "\n".join(
        """
        tir.for %i = %c0 to %c8 {
          tir.for %f = %c0 to %c2 {
            %k = tir.add %i, %f : i32
            %x = tir.load %B[%k] : i32
            %y = tir.load %A[%i] : i32
            %s = tir.add %x, %y : i32
            %m = tir.cmp lt %x, %c2 : i32
            tir.if %m {
              tir.store %s, %B[%k] : i32
            }
          }
          %z = tir.load %B[%i] : i32
          %w = tir.load %A[%i] : i32
          %v = tir.load %A[%i] : i32
          %d = tir.sub %w, %v : i32
          %p = tir.cmp lt %z, %d : i32
          tir.if %p {
            tir.store %c0, %B[%i] : i32
          }
        }"""
        for _ in range(length)
    )
    return parsed(
        f"""
        tir.func @main(%a: !tir.handle, %b: !tir.handle)
            attributes {{tir.noalias = true}} {{
          %A = tir.match_buffer "A" %a : !tir.buffer<10xi32>
          %B = tir.match_buffer "B" %b : !tir.buffer<10xi32>
          %c0 = tir.const 0 : i32
          %c2 = tir.const 2 : i32
          %c8 = tir.const 8 : i32
          %c10 = tir.const 10 : i32
          tir.for %i = %c0 to %c10 {{
            tir.store %c0, %A[%i] : i32
            tir.store %c0, %B[%i] : i32
          }}
          {nests}
        }}"""
    )


def test_time_is_linear_in_loops() -> None:
    one = Simplify(propagate_knowns_to_prove_conditional=True)

    def effort(length: int) -> int:
        module = sums(length)
        context = new_context()
        return calls(lambda: one.apply(context, module))

    assert effort(12) < 5 * effort(3)


def test_time_is_linear_in_a_growing_sum_of_loads() -> None:
    def effort(length: int) -> int:
        sums = "\n".join(
            f"""
            %x{k} = tir.load %A[%c0] : i32
            %s{k + 1} = tir.add %s{k}, %x{k} : i32
            tir.evaluate %s{k + 1} : i32"""
            for k in range(length)
        )
        module = parsed(
            f"""
            tir.func @main(%a: !tir.handle, %s0: i32) {{
              %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
              %c0 = tir.const 0 : i32
              {sums}
            }}"""
        )
        context = new_context()
        return calls(lambda: Simplify().apply(context, module))

    short, long = effort(40), effort(160)
    assert long < 5 * short
