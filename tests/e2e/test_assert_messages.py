"""Messages of assertions with numbers in them."""

from __future__ import annotations

import numpy as np
import pytest

import xdsl_tvm
from xdsl_tvm.analysis.structural_equal import structural_equal
from xdsl_tvm.interpreters.errors import AssertionFailedError
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.runtime.executable import load_module
from xdsl_tvm.tvmscript.parser import parse
from xdsl_tvm.tvmscript.printer import print_script

SOURCE = """
tir.func @check(%a: !tir.handle, %n: i32) attributes {global_symbol = "check"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<100000xi64>
  %zero = tir.const 0 : i32
  %extent = tir.const 100000 : i32
  tir.for "i" %i = %zero to %extent KIND {
    %x = tir.load %A[%i] : i64
    %limit = tir.const 100 : i64
    %p = tir.cmp lt %x, %limit : i64
    %f = tir.string "tvm_assert_message"
    %t = tir.string "{} at {} of {} {}"
    %m = tir.call "call_pure_extern"(%f, %t, %x, %i, %n)
      : (!tir.handle, !tir.handle, i64, i32, i32) -> i32
    tir.assert %p, %m
  }
  %q = tir.cmp gt %n, %zero : i32
  tir.assert %q, "{} {tvm_failed_number}"
}
"""
VALUES = np.zeros(100000, np.int64)
WRONG = VALUES.copy()
WRONG[[700, 90000]] = 2**40, 101


@pytest.mark.parametrize("kind", ["", "parallel"])
def test_compiled(kind: str) -> None:
    pytest.importorskip("llvmlite")
    run = xdsl_tvm.compile(SOURCE.replace("KIND", kind), optimize=False)["check"]
    run(VALUES, 1)
    with pytest.raises(RuntimeError) as error:
        run(WRONG, -7)
    said = [f"{2**40} at 700 of -7 {{}}", "101 at 90000 of -7 {}"]
    # In a parallel loop the numbers are those of any iteration that fails.
    assert str(error.value) in [f"assertion failed: {each}" for each in said]
    assert kind or said[0] in str(error.value)
    # Braces in a message without numbers are what they are.
    with pytest.raises(RuntimeError) as error:
        run(VALUES, 0)
    assert str(error.value) == "assertion failed: {} {tvm_failed_number}"


def test_interpreted() -> None:
    run = interpret(load_module(SOURCE.replace("KIND", "")))["check"]
    with pytest.raises(AssertionFailedError, match=rf"{2**40} at 700 of -7 \{{\}}"):
        run(WRONG, -7)


def test_script() -> None:
    module = load_module(SOURCE.replace("KIND", ""))
    text = print_script(module)
    assert 'T.call_pure_extern("int32", "tvm_assert_message", "{} at {} of {} {}"' in text
    assert structural_equal(parse(text), module)
