"""Realized buffers and prefetches: compared, and refused where nothing runs them."""

import numpy as np
import pytest
from support.ir import parse
from xdsl.utils.exceptions import InterpretationError, PassFailedException

from xdsl_tvm.analysis.structural_equal import structural_equal, structural_hash
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.lowering.pipelines import lower_to_llvm
from xdsl_tvm.registry import new_context

PROGRAM = """
tir.func @f(%a: !tir.handle, %p: i1) attributes {{global_symbol = "f"}} {{
  %A = tir.match_buffer %a : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %x = tir.load %A[%c0] : f32
  {0}
}}"""
REALIZE = "%B = tir.buffer_realize bounds [%c0 to 16] : !tir.buffer<16xf32>"
PREFETCH = "tir.prefetch %A[%c0 to 4]"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (REALIZE, REALIZE.replace("to 16", "to 8")),
        (REALIZE, REALIZE.replace("%c0", "%c1").replace("to 16", "to %c1 + 16")),
        (REALIZE, REALIZE.replace("]", "] if %p")),
        (REALIZE, REALIZE.replace("]", "] annotations {rolling_buffer_scope}")),
        (REALIZE, REALIZE.replace("f32>", 'f32, "shared">')),
        (REALIZE, REALIZE.replace("16xf32", "8xf32")),
        (PREFETCH, "tir.prefetch %A[%c0 to 5]"),
        (PREFETCH, "tir.prefetch %A[%c1 to %c1 + 4]"),
        (PREFETCH, "tir.prefetch %A[%c0]"),
    ],
)
def test_fields_are_compared(one: str, other: str):
    left, right = parse(PROGRAM.format(one)), parse(PROGRAM.format(other))
    assert structural_equal(left, parse(PROGRAM.format(one)))
    assert not structural_equal(left, right)
    assert structural_hash(left) != structural_hash(right)


def test_names_and_sharing_are_not_compared():
    left = parse(PROGRAM.format(REALIZE))
    named = REALIZE.replace("%B", "%C").replace("realize", 'realize "C"')
    named = f"%z = tir.const 0 : i32\n{named.replace('%c0', '%z')}"
    assert structural_equal(left, parse(PROGRAM.format(named)))
    full = REALIZE.replace("]", "] if %t")
    assert structural_equal(left, parse(PROGRAM.format(f"%t = tir.const true\n{full}")))


def test_accessors():
    module = parse(PROGRAM.format(f"{REALIZE}\n{PREFETCH}"))
    (realize,) = [op for op in module.walk() if isinstance(op, tir.BufferRealizeOp)]
    (prefetch,) = [op for op in module.walk() if isinstance(op, tir.PrefetchOp)]
    assert realize.bounds == ((realize.bound_mins[0], 16),)
    assert prefetch.region == ((prefetch.mins[0], 4),)
    assert tir.buffer_definition(realize.buffer) is realize
    again = tir.BufferRealizeOp(realize.bounds, realize.type)
    assert again.is_structurally_equivalent(realize)
    copy = tir.PrefetchOp(prefetch.buffer, prefetch.region)
    assert copy.properties == prefetch.properties


def test_a_realized_buffer_is_not_run():
    module = parse(PROGRAM.format(REALIZE))
    with pytest.raises(InterpretationError, match=r"tir\.buffer_realize: .* legacy"):
        interpret(module)["f"](np.zeros(16, np.float32), True)
    with pytest.raises(PassFailedException, match=r"cannot lower 'tir\.buffer_realize'"):
        lower_to_llvm(new_context(), module)


def test_a_prefetch_changes_nothing():
    module = parse(PROGRAM.format(PREFETCH))
    data = np.arange(16, dtype=np.float32)
    interpret(module)["f"](data, True)
    assert (data == np.arange(16)).all()


def test_custom_dtypes_are_not_run():
    module = parse("""
    tir.func @f(%x: !tir.custom<"p", 8>) -> f32 attributes {global_symbol = "f"} {
      %y = tir.add %x, %x : !tir.custom<"p", 8>
      %z = tir.cast %y : !tir.custom<"p", 8> to f32
      tir.ret %z : f32
    }""")
    with pytest.raises(InterpretationError, match="has no value that can be computed"):
        interpret(module)["f"](1.0)
    with pytest.raises(PassFailedException, match="custom"):
        lower_to_llvm(new_context(), module)


def test_constants_of_custom_dtypes_are_not_lowered():
    module = parse("""
    tir.func @f() -> f32 attributes {global_symbol = "f"} {
      %y = tir.const #tir.custom_value<1.5 : f64, !tir.custom<"p", 8>>
      %z = tir.cast %y : !tir.custom<"p", 8> to f32
      tir.ret %z : f32
    }""")
    message = r"cannot lower 'tir\.const': the custom dtype .* has no lowering"
    with pytest.raises(PassFailedException, match=message):
        lower_to_llvm(new_context(), module)
