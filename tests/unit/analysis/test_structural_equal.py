"""Structural equality and hashing: each rule, and random programs."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from functools import cache

import pytest
from support import paths
from support.effort import calls
from support.ir import parse
from support.tir_programs import random_module
from xdsl.dialects.builtin import (
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    f32,
    i32,
    i64,
)
from xdsl.ir import Block, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.transforms.common_subexpression_elimination import (
    CommonSubexpressionElimination,
)
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from xdsl_tvm.analysis.structural_equal import (
    StructuralInequality,
    assert_structural_equal,
    structural_equal,
    structural_hash,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.registry import new_context

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "8"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))

PARAMETERS = "%a: !tir.handle, %b: !tir.handle, %x: i32, %y: i32"
BUFFERS = """
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
"""


LAZY = """
  %p = tir.cmp lt %x, %y : i32
  %v = tir.if_then_else %p -> i32 {
    %l = tir.load %A[%x] : i32
    tir.yield %l : i32
  } else {
    tir.yield %c0 : i32
  }
"""


def reduction(name: str = "r", before: str = "") -> str:
    """A reduction of one value over the threads of an axis."""
    return f"""
    tir.launch_thread %t = "threadIdx.x" to %c16 {{
      {before}
      tir.attr "reduce_scope" (%{name}) = 0 : i32 {{
        tir.thread_allreduce [%x] into [%A[%c0]] over [%t]
      }}
    }}
    """


def reducer(result: str = "%s", name: str = "r") -> str:
    """A reducer of one value, which is the left, the right, or their difference."""
    return f"""
    %{name} = tir.reducer (%l : i32, %q : i32) identity [0 : i32] {{
      %s = tir.sub %l, %q : i32
      tir.yield {result} : i32
    }}
    """


def test_order_of_matched_parameters():
    first, second = (
        parse(
            f"tir.func @f(%a: !tir.handle, %b: !tir.handle) {{{matches}}}"
        ).body.ops.first
        for matches in (
            "%A = tir.match_buffer %a : !tir.buffer<f32>\n"
            "%B = tir.match_buffer %b : !tir.buffer<i32>",
            "%B = tir.match_buffer %b : !tir.buffer<i32>\n"
            "%A = tir.match_buffer %a : !tir.buffer<f32>",
        )
    )
    assert first is not None
    assert second is not None
    assert structural_equal(first, second)
    assert structural_hash(first) == structural_hash(second)


def function(body: str, attributes: str = "{tir.noalias}") -> tir.FuncOp:
    """A function of two buffers A and B, two scalars x and y, and some constants."""
    text = f"tir.func @main({PARAMETERS}) attributes {attributes} {{{BUFFERS}{body}}}"
    found = parse(text).body.ops.first
    assert isinstance(found, tir.FuncOp)
    return found


def same(a: str, b: str, attributes: str = "{tir.noalias}") -> bool:
    """Whether functions with these bodies are equal; the hash must say the same."""
    f, g = function(a, attributes), function(b, attributes)
    equal = structural_equal(f, g)
    assert structural_equal(g, f) == equal
    assert (structural_hash(f) == structural_hash(g)) == equal
    return equal


EQUAL = {
    "shared or duplicated": (
        """
        %s = tir.add %x, %y : i32
        %m = tir.mul %s, %s : i32
        tir.store %m, %A[%c0] : i32
        """,
        """
        %s = tir.add %x, %y : i32
        %t = tir.add %x, %y : i32
        %m = tir.mul %s, %t : i32
        tir.store %m, %A[%c0] : i32
        """,
    ),
    "constants hoisted": (
        "tir.for %i = %c0 to %c16 { tir.store %c1, %A[%i] : i32 }",
        """
        %end = tir.const 16 : i32
        tir.for %i = %c0 to %end {
          %one = tir.const 1 : i32
          tir.store %one, %A[%i] : i32
        }
        """,
    ),
    "unused": (
        "tir.store %x, %A[%c0] : i32",
        """
        %u = tir.load %B[%c0] : i32
        %v = tir.add %u, %x : i32
        tir.store %x, %A[%c0] : i32
        """,
    ),
    "names": (
        """
        %D = tir.alloc_buffer "D" : !tir.buffer<4xi32>
        %l = tir.let "l" %x : i32
        tir.for "i" %i = %c0 to %c16 {
          tir.block "blk" (%v : S "v" in [%c0 to %c16] = %i) {
            tir.store %l, %D[%v] : i32
          }
        }
        """,
        """
        %E = tir.alloc_buffer "E" {offset_factor = 4 : i32} : !tir.buffer<4xi32>
        %m = tir.let "m" %x : i32
        tir.for "j" %j = %c0 to %c16 {
          tir.block "" (%w : S in [%c0 to %c16] = %j) {
            tir.store %m, %E[%w] : i32
          }
        }
        """,
    ),
    "defaults written": (
        """
        %D = tir.alloc_buffer : !tir.buffer<4xi32>
        tir.block { tir.store %x, %D[%c0] : i32 }
        tir.evaluate
        """,
        """
        %t = tir.const true
        %D = tir.alloc_buffer offset %c0 {data_alignment = 64 : i32} : !tir.buffer<4xi32>
        tir.block where %t annotations {} { tir.store %x, %D[%c0] : i32 }
        tir.evaluate %c0 : i32
        """,
    ),
    "no-op alone in a body": (
        "tir.scope {\n}\ntir.for %i = %c0 to %c16 {\n}",
        """
        tir.scope { tir.evaluate }
        tir.for %i = %c0 to %c16 { tir.evaluate %c0 : i32 }
        """,
    ),
    "regions that list nothing": (
        "tir.block { tir.store %x, %A[%c0] : i32 }",
        "tir.block {\ntir.reads\ntir.writes\ntir.store %x, %A[%c0] : i32\n}",
    ),
    "unit attribute": (
        "tir.for %i = %c0 to %c16 annotations {k} { tir.evaluate %i : i32 }",
        "tir.for %i = %c0 to %c16 annotations {k = true} { tir.evaluate %i : i32 }",
    ),
    "type of a call that is not used": (
        '%f = tir.string "f"\ntir.call "call_extern"(%f) : (!tir.handle) -> ()',
        '%f = tir.string "f"\n%r = tir.call "call_extern"(%f) : (!tir.handle) -> i32',
    ),
    "an extent as operand": (
        "%D = tir.alloc_buffer : !tir.buffer<16xi32>\ntir.store %x, %D[%c0] : i32",
        "%D = tir.alloc_buffer [%c16] : !tir.buffer<?xi32>\ntir.store %x, %D[%c0] : i32",
    ),
    "order of annotations": (
        'tir.for %i = %c0 to %c1 annotations {"a" = 1 : i32, "b" = "x"} { tir.evaluate }',
        'tir.for %i = %c0 to %c1 annotations {"b" = "x", "a" = 1 : i32} { tir.evaluate }',
    ),
    "order of the declarations of a block": (
        """
        tir.block {
          tir.reads %A[%c0]
          tir.writes %B[%c0]
          %D = tir.alloc_buffer : !tir.buffer<4xi32>
          tir.store %x, %B[%c0] : i32
        }
        """,
        """
        tir.block {
          %D = tir.alloc_buffer : !tir.buffer<4xi32>
          tir.writes %B[%c0]
          tir.reads %A[%c0]
          tir.store %x, %B[%c0] : i32
        }
        """,
    ),
    "a load before an unrelated write": (
        """
        %v = tir.load %A[%c0] : i32
        tir.store %x, %B[%c0] : i32
        tir.store %v, %B[%c1] : i32
        """,
        """
        tir.store %x, %B[%c0] : i32
        %v = tir.load %A[%c0] : i32
        tir.store %v, %B[%c1] : i32
        """,
    ),
    "a load used in a loop that does not write": (
        """
        %v = tir.load %A[%c0] : i32
        tir.for %i = %c0 to %c16 { tir.store %v, %B[%i] : i32 }
        """,
        """
        tir.for %i = %c0 to %c16 {
          %v = tir.load %A[%c0] : i32
          tir.store %v, %B[%i] : i32
        }
        """,
    ),
    "a load stored over itself": (
        """
        %v = tir.load %A[%c0] : i32
        %w = tir.load %A[%c0] : i32
        %s = tir.add %v, %w : i32
        tir.store %s, %A[%c0] : i32
        """,
        """
        %v = tir.load %A[%c0] : i32
        %s = tir.add %v, %v : i32
        tir.store %s, %A[%c0] : i32
        """,
    ),
    "a bound load is a let": (
        """
        %v = tir.load %A[%c0] : i32
        tir.store %x, %A[%c0] : i32
        tir.store %v, %B[%c0] : i32
        """,
        """
        %l = tir.load %A[%c0] : i32
        %v = tir.let "v" %l : i32
        tir.store %x, %A[%c0] : i32
        tir.store %v, %B[%c0] : i32
        """,
    ),
    "a load in a lazy choice": (
        f"""
        {LAZY}
        tir.evaluate
        tir.store %v, %A[%c0] : i32
        """,
        """
        tir.evaluate
        %p = tir.cmp lt %x, %y : i32
        %v = tir.if_then_else %p -> i32 {
          %l = tir.load %A[%x] : i32
          tir.yield %l : i32
        } else {
          %zero = tir.const 0 : i32
          tir.yield %zero : i32
        }
        tir.store %v, %A[%c0] : i32
        """,
    ),
    "thread variables by name": (
        """
        tir.launch_thread %t = "threadIdx.x" to %c16 env "tx" { tir.evaluate %t : i32 }
        tir.launch_thread %t2 = "threadIdx.x" to %c16 env "tx" { tir.evaluate %t2 : i32 }
        """,
        """
        tir.launch_thread %t = "threadIdx.x" to %c16 env "u" { tir.evaluate %t : i32 }
        tir.launch_thread %t2 = "threadIdx.x" to %c16 env "u" { tir.evaluate %t2 : i32 }
        """,
    ),
    "attributes or operands of tir.attr": (
        'tir.attr "key" (0 : i32) = 16 : i32 { tir.evaluate }',
        'tir.attr "key" (%c0) = %c16 { tir.evaluate }',
    ),
    "reducers anywhere": (
        reducer() + reduction(),
        reduction(before=reducer()),
    ),
    "shared reducers": (
        reducer() + reduction() + reduction(),
        reducer() + reduction() + reducer(name="r2") + reduction("r2"),
    ),
    "constants of reducers hoisted": (
        """
        %r = tir.reducer (%l : i32, %q : i32) identity [0 : i32] {
          %k = tir.const 1 : i32
          %s = tir.add %l, %k : i32
          tir.yield %s : i32
        }
        """
        + reduction(),
        """
        %r = tir.reducer (%l : i32, %q : i32) identity [0 : i32] {
          %s = tir.add %l, %c1 : i32
          tir.yield %s : i32
        }
        """
        + reduction(),
    ),
    "a condition that holds": (
        reducer() + reduction(),
        "%p = tir.const true\n" + reducer() + reduction().replace("[%x]", "[%x] if %p"),
    ),
    "a load captured by a reducer": (
        """
        %v = tir.load %A[%c0] : i32
        %r = tir.reducer (%l : i32, %q : i32) identity [0 : i32] {
          tir.yield %v : i32
        }
        """
        + reduction(),
        """
        %v = tir.load %A[%c0] : i32
        %w = tir.load %A[%c0] : i32
        %r = tir.reducer (%l : i32, %q : i32) identity [0 : i32] {
          tir.yield %w : i32
        }
        """
        + reduction(),
    ),
    "no-ops": (
        "tir.for %i = %c0 to %c16 { tir.evaluate }\ntir.evaluate",
        "tir.for %i = %c0 to %c16 {\n}",
    ),
    "scopes that bind nothing, or end a body": (
        """
        tir.scope {
          tir.store %x, %A[%c0] : i32
          %u = tir.let "u" %x : i32
          tir.store %u, %A[%c0] : i32
        }
        """,
        """
        tir.store %x, %A[%c0] : i32
        %u = tir.let "u" %x : i32
        tir.store %u, %A[%c0] : i32
        """,
    ),
    "what is before the bindings of a scope": (
        """
        tir.scope {
          tir.store %x, %A[%c0] : i32
          %u = tir.let "u" %x : i32
          tir.store %u, %A[%c0] : i32
        }
        tir.store %y, %A[%c0] : i32
        """,
        """
        tir.store %x, %A[%c0] : i32
        tir.scope {
          %u = tir.let "u" %x : i32
          tir.store %u, %A[%c0] : i32
        }
        tir.store %y, %A[%c0] : i32
        """,
    ),
    "implicit declarations": (
        """
        %p = tir.data %A : !tir.ptr<i32>
        %V = tir.decl_buffer "V" %p {implicit} : !tir.buffer<4x4xi32>
        tir.for %i = %c0 to %c1 { tir.store %x, %V[%i, %i] : i32 }
        tir.for %i = %c0 to %c1 { tir.store %y, %V[%i, %i] : i32 }
        """,
        """
        tir.for %i = %c0 to %c1 {
          %p = tir.data %A : !tir.ptr<i32>
          %V = tir.decl_buffer "V" %p {implicit} : !tir.buffer<4x4xi32>
          tir.store %x, %V[%i, %i] : i32
        }
        tir.for %i = %c0 to %c1 {
          %p = tir.data %A : !tir.ptr<i32>
          %q = tir.data %A : !tir.ptr<i32>
          %W = tir.decl_buffer "W" %q {implicit} : !tir.buffer<4x4xi32>
          tir.store %y, %W[%i, %i] : i32
        }
        """,
    ),
    "the pointer of a declared buffer": (
        """
        %p = tir.allocate "p" [4] : !tir.ptr<i32>
        %V = tir.decl_buffer "V" %p : !tir.buffer<4xi32>
        %q = tir.data %V : !tir.ptr<i32>
        %f = tir.string "f"
        %r = tir.call "call_extern"(%f, %q) : (!tir.handle, !tir.ptr<i32>) -> i32
        """,
        """
        %p = tir.allocate "p" [4] : !tir.ptr<i32>
        %V = tir.decl_buffer "V" %p : !tir.buffer<4xi32>
        %f = tir.string "f"
        %r = tir.call "call_extern"(%f, %p) : (!tir.handle, !tir.ptr<i32>) -> i32
        """,
    ),
    "foreign constants": (
        """
        %k = arith.constant 3 : i32
        %l = tir.add %k, %k : i32
        tir.store %l, %A[%c0] : i32
        """,
        """
        %k = arith.constant 3 : i32
        %m = arith.constant 3 : i32
        %l = tir.add %k, %m : i32
        tir.store %l, %A[%c0] : i32
        """,
    ),
    "foreign ops": (
        """
        "test.op"(%x) ({
          "test.op"(%y) {n = 1 : i32} : (i32) -> ()
          "test.termop"() : () -> ()
        }) : (i32) -> ()
        """,
        """
        "test.op"(%x) ({
          %u = tir.const 7 : i32
          "test.op"(%y) {n = 1 : i32} : (i32) -> ()
          "test.termop"() : () -> ()
        }) : (i32) -> ()
        """,
    ),
}


@pytest.mark.parametrize("rule", EQUAL)
def test_equal(rule: str) -> None:
    assert same(*EQUAL[rule])


_LOOP = "tir.for %i = %c0 to %c16 { tir.store %x, %A[%i] : i32 }"
_BLOCK = """
tir.for %i = %c0 to %c16 {
  tir.block (%v : S in [%c0 to %c16] = %i) {
    tir.reads %A[%v]
    tir.writes %B[%v]
    tir.store %x, %B[%v] : i32
  }
}
"""
_ALLOC = "%D = tir.alloc_buffer : !tir.buffer<4xi32>\ntir.store %x, %D[%c0] : i32"
_THREADS = """
tir.launch_thread %t = "threadIdx.x" to %c16 env "tx" { tir.evaluate %t : i32 }
tir.launch_thread %t2 = "threadIdx.x" to %c16 env "tx" { tir.evaluate %t2 : i32 }
"""
_CHOICE = """
%v = tir.let "v" %x : i32
%w = tir.let "w" %x : i32
tir.evaluate %v : i32
"""
REPLACED = {
    "operand": ("tir.store %x, %A[%c0] : i32", "%x", "%y"),
    "index": ("tir.store %x, %A[%c0] : i32", "%c0", "%c1"),
    "buffer": ("tir.store %x, %A[%c0] : i32", "%A", "%B"),
    "kind of loop": (_LOOP, " {", " parallel {"),
    "extent of loop": (_LOOP, "%c16", "%c1"),
    "annotation": (_LOOP, " {", ' annotations {"n" = 1 : i32} {'),
    "thread tag": (
        'tir.for %i = %c0 to %c16 thread_binding "threadIdx.x" { tir.evaluate }',
        "threadIdx.x",
        "threadIdx.y",
    ),
    "kind of iteration": (_BLOCK, ": S", ": R"),
    "reads": (_BLOCK, "tir.reads %A[%v]", "tir.reads %A[%c0]"),
    "writes": (_BLOCK, "tir.writes %B[%v]", "tir.writes %B[%c0 to 16]"),
    "predicate of block": (
        "%p = tir.cmp lt %x, %y : i32\ntir.block where %p { tir.evaluate }",
        "cmp lt",
        "cmp le",
    ),
    "scope of buffer": (_ALLOC, "<4xi32>", '<4xi32, "shared">'),
    "shape of buffer": (_ALLOC, "<4xi32>", "<5xi32>"),
    "strides of buffer": (
        _ALLOC,
        " :",
        " strides [2] :",
    ),
    "alignment of buffer": (_ALLOC, " : !", " {data_alignment = 16 : i32} : !"),
    "offset of buffer": (_ALLOC, " : !", " offset %c1 : !"),
    "dtype of extents": (_ALLOC, " : !", " {index_type = i64} : !"),
    "kind of let": (_CHOICE, 'let "v"', 'let expr "v"'),
    "which of two lets": (_CHOICE, "evaluate %v", "evaluate %w"),
    "sharing of thread variables": (
        _THREADS,
        '%t2 = "threadIdx.x" to %c16 env "tx"',
        '%t2 = "threadIdx.x" to %c16 env "ty"',
    ),
    "effectful calls": (
        'tir.call "f"(%x) : (i32) -> ()',
        '"f"',
        '"g"',
    ),
    "message": ('%p = tir.cmp lt %x, %y : i32\ntir.assert %p, "m"', '"m"', '"n"'),
    "foreign attribute": ('"test.op"() {n = 1 : i32} : () -> ()', "n = 1", "n = 2"),
    "foreign name": ('"test.op"() : () -> ()', "test.op", "test.pureop"),
    "foreign operand": ('"test.op"(%x) : (i32) -> ()', "%x", "%y"),
    "foreign region": (
        '"test.op"() ({ "test.termop"(%x) : (i32) -> () }) : () -> ()',
        "(%x)",
        "(%y)",
    ),
    "combiner": (reducer() + reduction(), "sub %l, %q", "add %l, %q"),
    "order in the combiner": (reducer() + reduction(), "sub %l, %q", "sub %q, %l"),
    "which side of a reducer": (reducer("%l") + reduction(), "yield %l", "yield %q"),
    "identity": (reducer() + reduction(), "[0 : i32]", "[1 : i32]"),
    "source of a reduction": (reducer() + reduction(), "[%x]", "[%y]"),
    "condition of a reduction": (
        "%p = tir.cmp lt %x, %y : i32" + reducer() + reduction(),
        "[%x]",
        "[%x] if %p",
    ),
    "destination of a reduction": (reducer() + reduction(), "%A[", "%B["),
    "place of a reduction": (reducer() + reduction(), "%A[%c0]", "%A[%c1]"),
    "threads of a reduction": (reducer() + reduction(), "[%t]", "[%c0]"),
    "mode of an access": (
        """
        %d = tir.data %A : !tir.ptr<i32>
        %q = tir.access_ptr r %d[%c0 to %c1] : !tir.ptr<i32>
        tir.evaluate %q : !tir.ptr<i32>
        """,
        "access_ptr r",
        "access_ptr rw",
    ),
    "else": (
        "%p = tir.cmp lt %x, %y : i32\ntir.if %p { tir.evaluate }",
        "evaluate }",
        "evaluate } else { }",
    ),
    "attribute of a load": (
        "%v = tir.load %A[%c0] : i32\ntir.store %v, %B[%c0] : i32",
        "%A[%c0]",
        "%A[%c0] {volatile}",
    ),
}


@pytest.mark.parametrize("rule", REPLACED)
def test_different(rule: str) -> None:
    text, old, new = REPLACED[rule]
    assert old in text
    assert same(text, text)
    assert not same(text, text.replace(old, new, 1))


DIFFERENT = {
    "order of statements": (
        "tir.store %x, %A[%c0] : i32\ntir.store %y, %B[%c0] : i32",
        "tir.store %y, %B[%c0] : i32\ntir.store %x, %A[%c0] : i32",
    ),
    "a statement more": (
        "tir.store %x, %A[%c0] : i32",
        "tir.store %x, %A[%c0] : i32\ntir.evaluate %x : i32",
    ),
    "nesting": (
        "tir.for %i = %c0 to %c16 { tir.evaluate %x : i32 }\ntir.evaluate %x : i32",
        "tir.for %i = %c0 to %c16 { tir.evaluate %x : i32\ntir.evaluate %x : i32 }",
    ),
    "what a binding is in force for": (
        """
        tir.scope {
          %u = tir.let "u" %x : i32
          tir.store %u, %A[%c0] : i32
        }
        tir.store %y, %A[%c0] : i32
        """,
        """
        %u = tir.let "u" %x : i32
        tir.store %u, %A[%c0] : i32
        tir.store %y, %A[%c0] : i32
        """,
    ),
    "a load before or after a write": (
        """
        %v = tir.load %A[%c0] : i32
        tir.store %x, %A[%c0] : i32
        tir.store %v, %B[%c0] : i32
        """,
        """
        tir.store %x, %A[%c0] : i32
        %v = tir.load %A[%c0] : i32
        tir.store %v, %B[%c0] : i32
        """,
    ),
    "a load before or in a loop that writes after it": (
        """
        %v = tir.load %A[%c0] : i32
        tir.for %i = %c0 to %c16 {
          tir.store %v, %B[%i] : i32
          tir.store %i, %A[%c0] : i32
        }
        """,
        """
        tir.for %i = %c0 to %c16 {
          %v = tir.load %A[%c0] : i32
          tir.store %v, %B[%i] : i32
          tir.store %i, %A[%c0] : i32
        }
        """,
    ),
    "a load before or in the condition of a while that writes": (
        """
        %v = tir.load %A[%c0] : i32
        tir.while {
          %p = tir.cmp lt %v, %x : i32
          tir.yield %p : i1
        } do { tir.store %x, %A[%c0] : i32 }
        """,
        """
        tir.while {
          %v = tir.load %A[%c0] : i32
          %p = tir.cmp lt %v, %x : i32
          tir.yield %p : i1
        } do { tir.store %x, %A[%c0] : i32 }
        """,
    ),
    "a choice that loads, before or after a write": (
        f"""
        {LAZY}
        tir.store %x, %A[%c0] : i32
        tir.store %v, %B[%c0] : i32
        """,
        f"""
        tir.store %x, %A[%c0] : i32
        {LAZY}
        tir.store %v, %B[%c0] : i32
        """,
    ),
    "a load before or after an opaque call": (
        """
        %v = tir.load %A[%c0] : i32
        tir.call "f"(%x) : (i32) -> ()
        tir.store %v, %B[%c0] : i32
        """,
        """
        tir.call "f"(%x) : (i32) -> ()
        %v = tir.load %A[%c0] : i32
        tir.store %v, %B[%c0] : i32
        """,
    ),
    "a load before or after a write through a view": (
        """
        %p = tir.data %A : !tir.ptr<i32>
        %V = tir.decl_buffer %p : !tir.buffer<16xi32>
        %v = tir.load %A[%c0] : i32
        tir.store %x, %V[%c0] : i32
        tir.store %v, %B[%c0] : i32
        """,
        """
        %p = tir.data %A : !tir.ptr<i32>
        %V = tir.decl_buffer %p : !tir.buffer<16xi32>
        tir.store %x, %V[%c0] : i32
        %v = tir.load %A[%c0] : i32
        tir.store %v, %B[%c0] : i32
        """,
    ),
    "a load captured by a reducer, before or after a write": (
        """
        %v = tir.load %A[%c0] : i32
        tir.store %x, %A[%c0] : i32
        %r = tir.reducer (%l : i32, %q : i32) identity [0 : i32] {
          tir.yield %v : i32
        }
        """
        + reduction(),
        """
        tir.store %x, %A[%c0] : i32
        %v = tir.load %A[%c0] : i32
        %r = tir.reducer (%l : i32, %q : i32) identity [0 : i32] {
          tir.yield %v : i32
        }
        """
        + reduction(),
    ),
    "which of two lets in a reducer": tuple(
        f"""
        %r = tir.reducer (%l : i32, %q : i32) identity [0 : i32] {{
          %u = tir.let expr "u" %l : i32
          %v = tir.let expr "v" %l : i32
          tir.yield %{name} : i32
        }}
        """
        + reduction()
        for name in "uv"
    ),
    "zeros of floats": (
        "%z = tir.const 0.0 : f32\ntir.evaluate %z : f32",
        "%z = tir.const -0.0 : f32\ntir.evaluate %z : f32",
    ),
    "dtypes of constants": (
        "%z = tir.const 1 : i32\ntir.evaluate %z : i32",
        "%z = tir.const 1 : ui32\ntir.evaluate %z : ui32",
    ),
}


@pytest.mark.parametrize("rule", DIFFERENT)
def test_different_programs(rule: str) -> None:
    assert not same(*DIFFERENT[rule])


def test_parameters_may_alias_unless_told() -> None:
    programs = EQUAL["a load before an unrelated write"]
    assert same(*programs)
    assert not same(*programs, attributes="{}")


def test_function_attributes_count() -> None:
    a = function(_LOOP, '{a = 1 : i32, global_symbol = "main"}')
    assert structural_equal(a, function(_LOOP, '{global_symbol = "main", a = 1 : i32}'))
    assert not structural_equal(a, function(_LOOP, '{global_symbol = "m", a = 1 : i32}'))


def test_floats_are_equal_as_rounded() -> None:
    def constant(value: float) -> SSAValue:
        return tir.ConstOp(FloatAttr(value, f32)).result

    assert structural_equal(constant(0.1), constant(0.10000000149011612))
    assert not structural_equal(constant(0.1), constant(0.1001))
    assert structural_equal(constant(float("nan")), constant(-float("nan")))
    assert structural_equal(constant(float("inf")), constant(float("inf")))


def test_symbolic_sizes_are_variables() -> None:
    def module(first: str, second: str, kind: str = "") -> ModuleOp:
        return parse(f"""
        tir.func @main(%a: !tir.handle, %b: !tir.handle) {{
          %m = tir.shape_var "m" {kind} : i32
          %n = tir.shape_var "n" {kind} : i32
          %A = tir.match_buffer %a [{first}] : !tir.buffer<?xf32>
          %B = tir.match_buffer %b [{second}] : !tir.buffer<?xf32>
        }}""")

    assert structural_equal(module("%m", "%n"), module("%n", "%m"))
    assert not structural_equal(module("%m", "%n"), module("%m", "%m"))
    assert not structural_equal(module("%m", "%n"), module("%m", "%n", "size_var"))


def test_free_variables() -> None:
    body = Block(arg_types=[i32, i32, i64])
    x, y, wide = body.args

    def sum_of(a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
        return tir.SubOp(tir.SubOp(a, b), c).result

    assert structural_equal(sum_of(x, y, x), sum_of(x, y, x))
    assert not structural_equal(sum_of(x, y, x), sum_of(y, x, y))
    assert structural_equal(sum_of(x, y, x), sum_of(y, x, y), map_free_vars=True)
    assert not structural_equal(sum_of(x, y, x), sum_of(x, y, y), map_free_vars=True)
    assert not structural_equal(sum_of(x, y, y), sum_of(x, x, x), map_free_vars=True)
    assert not structural_equal(x, wide, map_free_vars=True)
    assert structural_hash(sum_of(x, y, x), map_free_vars=True) == structural_hash(
        sum_of(y, x, y), map_free_vars=True
    )
    assert structural_hash(sum_of(x, y, x), map_free_vars=True) != structural_hash(
        sum_of(x, y, y), map_free_vars=True
    )


def test_reducers_are_values() -> None:
    func = function(reducer() + reducer(name="r2") + reducer("%l", name="r3"))
    first, second, third = (op for op in func.walk() if isinstance(op, tir.ReducerOp))
    assert structural_equal(first.result, second.result)
    assert structural_equal(first, second)
    assert structural_equal(first.combiner, second.combiner, map_free_vars=True)
    assert not structural_equal(first.result, third.result)
    assert not structural_equal(first, third)
    # Inside, the arguments are variables that are defined outside.
    assert not structural_equal(first.combined[0], second.combined[0])
    assert structural_equal(first.combined[0], second.combined[0], map_free_vars=True)
    assert not structural_equal(first.lhs[0], first.rhs[0])


def test_path_into_a_reducer() -> None:
    with pytest.raises(StructuralInequality) as found:
        assert_structural_equal(
            function(reducer() + reduction()), function(reducer("%q") + reduction())
        )
    assert found.value.path == "@main.body[2].body[0].node.result[0]"


def test_values_of_one_function_are_loads_at_their_time() -> None:
    func = function(
        """
        %u = tir.load %A[%c0] : i32
        tir.store %x, %B[%c0] : i32
        %v = tir.load %A[%c0] : i32
        tir.store %u, %A[%c1] : i32
        %w = tir.load %A[%c0] : i32
        tir.for %i = %c0 to %c16 {
          %k = tir.load %A[%c0] : i32
          tir.store %k, %A[%i] : i32
        }
        """
    )
    loads = [op.result for op in func.walk() if isinstance(op, tir.LoadOp)]
    u, v, w, k = loads
    assert structural_equal(u, v)
    assert not structural_equal(v, w)
    assert not structural_equal(w, k)
    copies = [op.result for op in func.clone().walk() if isinstance(op, tir.LoadOp)]
    sums = [tir.AddOp(u, v), tir.AddOp(v, u), tir.AddOp(u, w)]
    func.body.block.add_ops(sums)
    assert structural_equal(sums[0].result, sums[1].result)
    assert not structural_equal(sums[0].result, sums[2].result)
    for original, copy in zip(loads, copies, strict=True):
        assert not structural_equal(original, copy)
        assert structural_equal(original, copy, map_free_vars=True)


def test_blocks_and_regions_of_statements() -> None:
    func = function(f"{_LOOP}\n{_LOOP}\n{_LOOP.replace('%x', '%y')}")
    a, b, c = (op for op in func.body.block.ops if isinstance(op, tir.ForOp))
    assert structural_equal(a, b)
    assert structural_equal(a.body, b.body)
    assert structural_equal(a.body.block, b.body.block)
    assert not structural_equal(a, c)
    assert structural_equal(a.body, c.body, map_free_vars=True)
    with pytest.raises(ValueError, match="a region of 0 blocks"):
        structural_hash(Region())


def test_modules_match_functions_by_name() -> None:
    def module(*names: str) -> ModuleOp:
        return parse("\n".join(f"tir.func @{n}() {{ tir.evaluate }}" for n in names))

    assert structural_equal(module("f", "g"), module("g", "f"))
    assert not structural_equal(module("f", "g"), module("f", "h"))
    with pytest.raises(StructuralInequality, match="differ at @g: ") as caught:
        assert_structural_equal(module("f", "g"), module("f", "h"))
    assert caught.value.rhs == "tir.func @h() {"
    with pytest.raises(StructuralInequality, match="versus nothing"):
        assert_structural_equal(module("f", "g"), module("f"))
    f, g = module("f", "g").body.ops
    assert structural_equal(f, g)


def test_locations_do_not_count() -> None:
    a = function("tir.store %x, %A[%c0] : i32")
    b = parse(
        f"""tir.func @main({PARAMETERS}) attributes {{tir.noalias}} {{{BUFFERS}


        tir.store %x, %A[%c0] : i32
        }}"""
    ).body.ops.first
    assert b is not None
    assert_structural_equal(a, b)


def test_message_shows_path_and_both_programs() -> None:
    a = function(
        """
        tir.for %i = %c0 to %c16 {
          tir.evaluate
          %s = tir.add %x, %i : i32
          %t = tir.mul %s, %c1 : i32
          tir.store %t, %A[%i] : i32
        }
        """
    )
    text = """
        tir.for %i = %c0 to %c16 {
          tir.evaluate
          %two = tir.const 2 : i32
          %s = tir.add %x, %i : i32
          %t = tir.mul %s, %two : i32
          tir.store %t, %A[%i] : i32
        }
        """
    with pytest.raises(AssertionError) as caught:
        assert_structural_equal(a, function(text))
    error = caught.value
    assert isinstance(error, StructuralInequality)
    assert error.path == "@main.body[2].body[0].value.rhs"
    assert error.lhs.endswith("= tir.const 1 : i32")
    assert error.rhs.endswith("= tir.const 2 : i32")
    marked = [line for line in str(error).splitlines() if line.startswith(">")]
    assert [line.split("= ")[1] for line in marked] == [
        "tir.const 1 : i32",
        "tir.const 2 : i32",
    ]
    assert len(str(error).splitlines()) < 16


def nested(depth: int, leaf: int) -> ModuleOp:
    """A tree of 2^depth leaves, as a DAG."""
    block = Block()
    value = tir.ConstOp(IntegerAttr(leaf, i32)).result
    block.add_op(value.owner)
    for _ in range(depth):
        op = tir.AddOp(value, value)
        block.add_op(op)
        value = op.result
    block.add_op(tir.EvaluateOp(value))
    func = tir.FuncOp("f", ([], []))
    func.body.detach_block(0)
    func.body.add_block(block)
    return ModuleOp([func])


def test_shared_trees_cost_what_they_hold() -> None:
    twins = nested(60, 1), nested(60, 1)
    assert calls(lambda: assert_structural_equal(*twins)) < 200_000
    assert structural_hash(nested(60, 1)) != structural_hash(nested(60, 2))
    with pytest.raises(StructuralInequality) as caught:
        assert_structural_equal(nested(60, 1), nested(60, 2))
    assert caught.value.path == "@f.body[0].value" + ".lhs" * 60


def test_deep_trees_need_no_stack() -> None:
    assert structural_equal(nested(2_000, 1), nested(2_000, 1))
    assert not structural_equal(nested(2_000, 1), nested(2_000, 2))


def test_hash_is_the_same_in_every_process() -> None:
    module = random_module(3).module
    folder = paths.TESTS
    program = (
        f"import sys; sys.path.insert(0, {str(folder)!r})\n"
        "from support.tir_programs import random_module\n"
        "from xdsl_tvm.analysis.structural_equal import structural_hash\n"
        "print(structural_hash(random_module(3).module))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "77"},
    )
    assert int(printed.stdout) == structural_hash(module)


def test_values_in_a_cycle() -> None:
    def cycle(name: str) -> ModuleOp:
        return parse(f"""
        %a = "test.pureop"(%b) : (i32) -> i32
        %b = "test.{name}"(%a) : (i32) -> i32
        "test.op"(%a) : (i32) -> ()
        """)

    assert structural_equal(cycle("pureop"), cycle("pureop"))
    assert not structural_equal(cycle("pureop"), cycle("op"))


# ---- random programs ----


@cache
def random_program(seed: int) -> ModuleOp:
    return random_module(seed).module


def number_of_reads(module: ModuleOp) -> int:
    return sum(isinstance(op, tir.LoadOp | tir.IfThenElseOp) for op in module.walk())


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_stock_passes_keep_trees(seed: int) -> None:
    module = random_program(seed)
    stock: tuple[type[ModulePass], ...] = (
        DeadCodeElimination,
        CommonSubexpressionElimination,
    )
    clone = module.clone()
    assert_structural_equal(module, clone)
    for stock_pass in stock:
        before = number_of_reads(clone)
        stock_pass().apply(new_context(), clone)
        if stock_pass is CommonSubexpressionElimination and (
            number_of_reads(clone) != before
        ):
            # Merged reads may need one binding where one of them needed none.
            break
        assert_structural_equal(module, clone)
        assert structural_hash(module) == structural_hash(clone)


def rename(module: ModuleOp, rng: random.Random) -> None:
    for op in module.walk():
        blocks = [block for region in op.regions for block in region.blocks]
        for value in (*op.results, *(arg for block in blocks for arg in block.args)):
            value.name_hint = rng.choice(["a", "b", None])
        for key in ("name", "loop_name"):
            if key in op.properties:
                op.properties[key] = StringAttr(f"r{rng.randrange(100)}")


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_renamed_programs_are_equal(seed: int) -> None:
    module = random_program(seed)
    clone = module.clone()
    rename(clone, random.Random(seed))
    assert_structural_equal(module, clone)
    assert structural_hash(module) == structural_hash(clone)


def stores(module: ModuleOp) -> list[tir.StoreOp]:
    return [op for op in module.walk() if isinstance(op, tir.StoreOp)]


def change_constant(module: ModuleOp, rng: random.Random) -> bool:
    """Give a store the constant next to the one that it stores or indexes with."""
    found = [
        (op, index, operand.owner)
        for op in stores(module)
        for index, operand in enumerate(op.operands)
        if isinstance(operand.owner, tir.ConstOp)
    ]
    if not found:
        return False
    op, index, constant = rng.choice(found)
    number = constant.literal
    dtype = constant.result.type
    new = tir.ConstOp.of(1 if number == 0 else 0, dtype)
    assert op.parent is not None
    op.parent.insert_op_before(new, op)
    op.operands[index] = new.result
    return True


def move_statement(module: ModuleOp, rng: random.Random) -> bool:
    """Let a store change places with the statement after it, unless that is a no-op."""
    kinds = (tir.ForOp, tir.BlockOp, tir.IfOp, tir.LetOp, tir.AssertOp)
    found = [(op, op.next_op) for op in stores(module) if isinstance(op.next_op, kinds)]
    if not found:
        return False
    op, other = rng.choice(found)
    block = op.parent
    assert block is not None
    op.detach()
    block.insert_op_after(op, other)
    return True


def change_predicate(module: ModuleOp, rng: random.Random) -> bool:
    found = [
        operand.owner
        for op in module.walk()
        if isinstance(op, tir.IfOp | tir.BlockOp)
        for operand in op.operands
        if isinstance(operand.owner, tir.CmpOp)
    ]
    if not found:
        return False
    op = rng.choice(found)
    others = [p for p in tir.CmpPredicate if p is not op.predicate.data]
    op.predicate = tir.CmpPredicateAttr(rng.choice(others))
    return True


def change_buffer(module: ModuleOp, rng: random.Random) -> bool:
    """Let a store write to another buffer of the function, of the same type."""
    found: list[tuple[tir.StoreOp, tir.MatchBufferOp]] = []
    for func in module.body.ops:
        matches = [op for op in func.walk() if isinstance(op, tir.MatchBufferOp)]
        found += [
            (op, match)
            for op in func.walk()
            if isinstance(op, tir.StoreOp)
            for match in matches
            if match.buffer.type == op.buffer.type and match.buffer is not op.buffer
        ]
    if not found:
        return False
    op, match = rng.choice(found)
    op.operands[1] = match.buffer
    return True


def change_dtype(module: ModuleOp, rng: random.Random) -> bool:
    found = [
        op
        for op in module.walk()
        if isinstance(op, tir.LetOp | tir.EvaluateOp)
        and op.operands
        and op.operands[0].type == i32
        and (not op.results or not op.results[0].uses)
    ]
    if not found:
        return False
    op = rng.choice(found)
    cast = tir.CastOp(op.operands[0], i64)
    assert op.parent is not None
    op.parent.insert_op_before(cast, op)
    new = tir.EvaluateOp(cast) if not op.results else tir.LetOp(cast)
    op.parent.insert_op_before(new, op)
    op.detach()
    op.erase()
    return True


@pytest.mark.parametrize(
    "mutate",
    [change_constant, move_statement, change_predicate, change_buffer, change_dtype],
)
def test_a_mutation_makes_a_difference(
    mutate: Callable[[ModuleOp, random.Random], bool],
) -> None:
    applied = 0
    for seed in range(FIRST, FIRST + 6 * COUNT):
        if applied == COUNT:
            break
        module = random_program(seed)
        mutant = module.clone()
        if mutate(mutant, random.Random(seed)):
            applied += 1
            assert not structural_equal(module, mutant), seed
            assert structural_hash(module) != structural_hash(mutant), seed
    assert applied
