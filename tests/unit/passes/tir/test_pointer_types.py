"""Pointer types next to ops of other dialects, with all settings of the two passes."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir.pointer_value_type_rewrite import PointerValueTypeRewrite
from xdsl_tvm.passes.tir.storage_rewrite import StorageRewrite
from xdsl_tvm.registry import new_context

PASSES = [PointerValueTypeRewrite(), StorageRewrite()]

# `%K` is always accessed by vectors, and `%L` but for what a case adds.
PROGRAM = """
tir.func @main(%a: !tir.handle, %n: i32) {{
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %one = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %p = tir.allocate "L" [16] : !tir.ptr<f32>
  %L = tir.decl_buffer "L" %p : !tir.buffer<16xf32>
  %q = tir.allocate "K" [16] : !tir.ptr<f32>
  %K = tir.decl_buffer "K" %q : !tir.buffer<16xf32>
  tir.for %i = %c0 to %c4 {{
    %i4 = tir.mul %i, %c4 : i32
    %r = tir.ramp %i4, %one : vector<4xi32>
    %x = tir.load %A[%r] : vector<4xf32>
    tir.store %x, %L[%r] : vector<4xf32>
    tir.store %x, %K[%r] : vector<4xf32>
    {inside}
    %y = tir.load %L[%r] : vector<4xf32>
    %z = tir.load %K[%r] : vector<4xf32>
    %s = tir.add %y, %z : vector<4xf32>
    tir.store %s, %A[%r] : vector<4xf32>
  }}
}}"""
KEPT = {
    "a buffer is an operand": '"other.use"(%L) : (!tir.buffer<16xf32>) -> ()',
    "a pointer is an operand": '"other.use"(%p) : (!tir.ptr<f32>) -> ()',
    "a pointer to the buffer": """
      %d = tir.data %L : !tir.ptr<f32>
      "other.use"(%d) : (!tir.ptr<f32>) -> ()
    """,
    "another name": """
      %d = "other.alias"(%p) : (!tir.ptr<f32>) -> !tir.ptr<f32>
      %D = tir.decl_buffer "D" %d : !tir.buffer<16xf32>
      %v = tir.load %D[%c0] : f32
      "other.use"(%v) : (f32) -> ()
    """,
    "a base that is not known": """
      %b = "other.index"(%i) : (i32) -> i32
      %t = tir.ramp %b, %one : vector<4xi32>
      %v = tir.load %L[%t] : vector<4xf32>
      "other.use"(%v) : (vector<4xf32>) -> ()
    """,
    "indices that are no ramp": """
      %t = "other.index"(%i) : (i32) -> vector<4xi32>
      %v = tir.load %L[%t] : vector<4xf32>
      "other.use"(%v) : (vector<4xf32>) -> ()
    """,
    "a scalar in a region": """
      "other.region"() ({
        %v = tir.const 1.0 : f32
        tir.store %v, %L[%n] : f32
        "other.end"() : () -> ()
      }) : () -> ()
    """,
    "a scalar whose lane is not known": """
      %b = "other.index"(%i) : (i32) -> i32
      %v = tir.load %L[%b] : f32
      "other.use"(%v) : (f32) -> ()
    """,
}
RETYPED = {
    "nothing": "",
    "values": '"other.use"(%r, %x) : (vector<4xi32>, vector<4xf32>) -> ()',
    "a region": """
      "other.region"() ({
        %v = tir.load %L[%r] : vector<4xf32>
        "other.use"(%v) : (vector<4xf32>) -> ()
      }) : () -> ()
    """,
    "a block with arguments": """
      "other.region"() ({
      ^bb0(%k: i32):
        %m = tir.mul %k, %c4 : i32
        %t = tir.ramp %m, %one : vector<4xi32>
        %v = tir.load %L[%t] : vector<4xf32>
        "other.use"(%v) : (vector<4xf32>) -> ()
      }) : () -> ()
    """,
    "a value and what it is made of": """
      %f = "other.first"(%i) : (i32) -> i32
      %m = tir.mul %f, %c4 : i32
      %t = tir.ramp %m, %one : vector<4xi32>
      %v = tir.load %L[%t] : vector<4xf32>
      "other.use"(%v) : (vector<4xf32>) -> ()
    """,
}


def rewritten(one: PointerValueTypeRewrite | StorageRewrite, inside: str) -> ModuleOp:
    context = new_context(allow_unregistered=True)
    module = Parser(context, PROGRAM.format(inside=inside)).parse_module()
    module.verify()
    one.apply(context, module)
    module.verify()
    return module


def types(module: ModuleOp) -> dict[str, str]:
    """The elements of allocations by name."""
    return {
        op.var_name.data: str(op.result.type.element_type)
        for op in module.walk()
        if isinstance(op, tir.AllocateOp) and op.var_name is not None
    }


@pytest.mark.parametrize("one", PASSES, ids=lambda one: one.name)
@pytest.mark.parametrize("inside", KEPT.values(), ids=KEPT)
def test_memory_that_is_kept(
    one: PointerValueTypeRewrite | StorageRewrite, inside: str
) -> None:
    assert types(rewritten(one, inside)) == {"L": "f32", "K": "vector<4xf32>"}


@pytest.mark.parametrize("one", PASSES, ids=lambda one: one.name)
@pytest.mark.parametrize("inside", RETYPED.values(), ids=RETYPED)
def test_memory_that_is_retyped(
    one: PointerValueTypeRewrite | StorageRewrite, inside: str
) -> None:
    module = rewritten(one, inside)
    assert types(module) == {"L": "vector<4xf32>", "K": "vector<4xf32>"}
    (match,) = [op for op in module.walk() if isinstance(op, tir.MatchBufferOp)]
    # Only the pass for pointers retypes parameters.
    is_scalar = isinstance(one, StorageRewrite)
    assert tir.is_scalar(match.type.element_type) == is_scalar


def test_scalar_reads() -> None:
    """A lane of a vector for one pass, an access of scalars for the other."""
    inside = """
      %k = tir.add %i4, %one : i32
      %v = tir.load %L[%k] : f32
      "other.use"(%v) : (f32) -> ()
    """
    assert types(rewritten(PASSES[0], inside))["L"] == "vector<4xf32>"
    assert types(rewritten(PASSES[1], inside))["L"] == "f32"


def test_untyped_pointers() -> None:
    """Only the pass for pointers refuses what a handle without a type is bound to."""
    inside = """
      %h = "other.handle"() : () -> !tir.handle
      %g = tir.let "g" %h : !tir.handle
      "other.use"(%g) : (!tir.handle) -> ()
    """
    with pytest.raises(PassFailedException, match="is missing a type annotation"):
        rewritten(PASSES[0], inside)
    assert set(types(rewritten(PASSES[1], inside)).values()) == {"vector<4xf32>"}
