"""Functions verify that values are defined before their uses."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.registry import new_context

# What is in a function whose parameter is %x; `test.op` may hold any blocks.
GOOD = {
    "in a region of its own": """
      %a = "test.op"() ({
        %b = "test.op"(%x) : (i32) -> i32
        "test.termop"(%b, %x) : (i32, i32) -> ()
      }) : () -> i32
      "test.op"(%a) : (i32) -> ()""",
    "in a block that dominates": """
      "test.op"() ({
        %a = "test.op"() : () -> i32
        "test.termop"() [^bb1, ^bb2] : () -> ()
      ^bb1:
        "test.op"(%a) : (i32) -> ()
        "test.termop"() [^bb2] : () -> ()
      ^bb2:
        "test.op"() ({ "test.termop"(%a) : (i32) -> () }) : () -> ()
        "test.termop"() : () -> ()
      }) : () -> ()""",
}
BAD = {
    "after the use": """
      "test.op"(%a) : (i32) -> ()
      %a = "test.op"() : () -> i32""",
    "by the op itself": """
      %a = "test.op"(%a) : (i32) -> i32""",
    "by the op around the use": """
      %a = "test.op"() ({ "test.termop"(%a) : (i32) -> () }) : () -> i32""",
    "in a block that may be skipped": """
      "test.op"() ({
        "test.termop"() [^bb1, ^bb2] : () -> ()
      ^bb1:
        %a = "test.op"() : () -> i32
        "test.termop"() [^bb2] : () -> ()
      ^bb2:
        "test.op"(%a) : (i32) -> ()
        "test.termop"() : () -> ()
      }) : () -> ()""",
}


def _parse(body: str) -> ModuleOp:
    text = f"tir.func @f(%x: i32) {{\n{body}\n}}"
    return Parser(new_context(), text).parse_module()


@pytest.mark.parametrize("place", GOOD)
def test_defined(place: str) -> None:
    _parse(GOOD[place]).verify()


@pytest.mark.parametrize("place", BAD)
def test_not_defined(place: str) -> None:
    with pytest.raises(VerifyException, match=r"@f: operand 0 of test\.\w+, %a of test"):
        _parse(BAD[place]).verify()


@pytest.mark.parametrize("number", [0, 1])
def test_values_of_other_regions(number: int) -> None:
    """The parser knows these values only where they are defined, so the use is moved."""
    module = _parse("""
      "test.op"() ({
      ^bb0(%a: i32):
        %b = "test.op"() : () -> i32
        "test.op"(%a) : (i32) -> ()
        "test.op"(%b) : (i32) -> ()
        "test.termop"() : () -> ()
      }) : () -> ()
      "test.op"() : () -> ()""")
    module.verify()
    use = [op for op in module.walk() if op.operands][number]
    last = list(module.walk())[-1]
    use.detach()
    Rewriter.insert_op(use, InsertPoint.after(last))
    origin = ["%a of another block", "%b of test.op"][number]
    with pytest.raises(VerifyException, match=f"@f: operand 0 of test.op, {origin}"):
        module.verify()
