"""Definitions that read themselves: no analysis and no pass walks them for ever."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.analysis.arith.expr import view
from xdsl_tvm.analysis.derivation import chain, derivation, origin
from xdsl_tvm.analysis.relax.dataflow_inplace import same_value
from xdsl_tvm.analysis.tir.access_regions import get_block_read_write_region
from xdsl_tvm.analysis.tir.memory_order import memory_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.registry import all_passes, new_context
from xdsl_tvm.tvmscript import print_script

VIEWS = """
tir.func @f(%a: !tir.handle, %n: i32) attributes {global_symbol = "f"} {
  %A = tir.match_buffer %a : !tir.buffer<4x4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %p = tir.data %A : !tir.ptr<f32>
  %q = tir.let "q" %p : !tir.ptr<f32>
  %B = tir.decl_buffer %q : !tir.buffer<4x4xf32>
  %r = tir.access_ptr rw %p[%c0 to %c0 + %c4] : !tir.ptr<f32>
  tir.for %i = %c0 to %c4 {
    tir.block "b" () {
      tir.reads %A[%c0 to %c4, %c0 to %c4]
      tir.writes %A[%c0 to %c4, %c0 to %c4]
      %V = tir.match_region %A[%c0 to %c4, %c0 to %c4] : !tir.buffer<4x4xf32>
      %W = tir.match_region %V[%c0 to %c4, %c0 to %c4] : !tir.buffer<4x4xf32>
      %s = tir.add %i, %n : i32
      %t = tir.add %s, %n : i32
      %x = tir.load %B[%t, %c0] : f32
      %y = tir.load %W[%i, %c0] : f32
      %z = tir.add %x, %y : f32
      tir.store %z, %B[%i, %i] : f32
    }
  }
  tir.evaluate %r : !tir.ptr<f32>
}
"""
ALIASES = """
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "main"} {
  %a = relax.alias %x : tensor<4xf32> -> tensor<4xf32>
  %b = relax.alias %a : tensor<4xf32> -> tensor<4xf32>
  %y = relax.add %b, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}
"""
RINGS = {
    "decl": (VIEWS, "p", "B"),
    "let": (VIEWS, "q", "q"),
    "pointer": (VIEWS, "r", "r"),
    "region": (VIEWS, "V", "W"),
    "expression": (VIEWS, "s", "t"),
    "alias": (ALIASES, "a", "b"),
}
"""A program, the value whose definition changes, and what it is made to read."""


def ring(name: str) -> tuple[ModuleOp, SSAValue]:
    """A program whose definitions go round, and a value among them."""
    text, first, last = RINGS[name]
    module = Parser(new_context(), text).parse_module()
    module.verify()
    values = {each.name_hint: each for op in module.walk() for each in op.results}
    owner = values[first].owner
    owner.operands[0] = values[last]
    return module, values[last]


@pytest.mark.parametrize("name", ["decl", "let", "pointer", "region"])
def test_walks_to_the_memory_end(name: str):
    module, value = ring(name)
    with pytest.raises(VerifyException, match="is derived from itself; define what"):
        memory_of(value)
    with pytest.raises(VerifyException, match="is derived from itself; define what"):
        origin(value)
    with pytest.raises(VerifyException, match="is derived from itself; define what"):
        list(derivation(value))
    if name != "pointer":
        (block,) = (op for op in module.walk() if isinstance(op, tir.BlockOp))
        with pytest.raises(VerifyException, match="is derived from itself"):
            get_block_read_write_region(block)


def test_other_walks_end():
    module, value = ring("expression")
    with pytest.raises(VerifyException, match=r"tir\.add: the result '%t' is derived"):
        view(value)
    with pytest.raises(VerifyException, match=r"tir\.add: the result '%[st]' is derived"):
        print_script(module)
    module, _ = ring("pointer")
    with pytest.raises(
        VerifyException, match=r"tir\.access_ptr: the result '%r' is deri"
    ):
        print_script(module)
    _, value = ring("alias")
    with pytest.raises(VerifyException, match=r"relax\.alias: the result '%a' is derive"):
        same_value(value)


def test_cycles_of_every_length_are_found_behind_tails_of_every_length():
    module = Parser(new_context(), VIEWS).parse_module()
    values = [each for op in module.walk() for each in op.results]
    assert len(values) > 12
    for tail in range(4):
        for length in range(1, 9):
            end = tail + length
            following: dict[SSAValue, SSAValue | None] = dict.fromkeys(values)
            following |= {values[i]: values[i + 1] for i in range(end - 1)}
            assert list(chain(values[0], following.__getitem__)) == values[:end]
            following[values[end - 1]] = values[tail]
            with pytest.raises(VerifyException):
                list(chain(values[0], following.__getitem__))


def run_all_passes() -> None:
    """Every pass on every ring, whatever it says of it."""
    ctx = new_context()
    chosen = slice(0, None, 1 if "XDSL_TVM_FUZZ" in os.environ else 16)
    for load in list(all_passes().values())[chosen]:
        try:
            one = load()()
        except TypeError:
            continue
        for name in RINGS:
            with suppress(Exception):
                one.apply(ctx, ring(name)[0])


def test_every_pass_ends():
    # A pass that does not end takes its process along, so it is not this one.
    subprocess.run([sys.executable, __file__], check=True, timeout=300)


if __name__ == "__main__":
    run_all_passes()
