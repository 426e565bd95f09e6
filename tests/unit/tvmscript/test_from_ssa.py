"""Ops as the trees of scripts: sharing, bindings, turns of effects, and refusals."""

from __future__ import annotations

import os
import textwrap
from dataclasses import dataclass

import numpy as np
import pytest
from support.printed_scripts import unchecked
from support.tir_programs import random_module
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.analysis.structural_equal import assert_structural_equal
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.random_inputs import random_arguments
from xdsl_tvm.interpreters.semantics import SemanticsError, check_semantics
from xdsl_tvm.passes.tir import UnrollLoop
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.nodes import statements as st
from xdsl_tvm.tvmscript.printer import print_script
from xdsl_tvm.tvmscript.ssa.from_ssa import function_script, module_script, script_of
from xdsl_tvm.tvmscript.ssa.to_ssa import module_to_ssa
from xdsl_tvm.tvmscript.ssa.trees import MAX_NODES

CONTEXT = new_context()
HEAD = """
    tir.func @callee(%n: i32) -> i32 attributes {global_symbol = "callee"} {
      tir.ret %n : i32
    }
    tir.func @main(%a: !tir.handle, %b: !tir.handle, %n: i32, %p: i1) attributes {
        global_symbol = "main", param_names = ["a", "b", "n", "p"]} {
      %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
      %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
      %c0 = tir.const 0 : i32
      %c1 = tir.const 1 : i32
"""


def module_of(text: str) -> ModuleOp:
    module = Parser(CONTEXT, text).parse_module()
    module.verify()
    return module


def main_of(body: str) -> tir.FuncOp:
    """The function `main` with a body, in a module with another function."""
    last = module_of(f"{HEAD}{body}\n}}").body.ops.last
    assert isinstance(last, tir.FuncOp)
    return last


def expect(body: str, expected: str) -> None:
    """The script of the body is this one, and reads back as the same nodes."""
    func = main_of(body)
    lines = print_script(func).splitlines()
    script = textwrap.dedent("\n".join(lines[4:]))
    assert script == textwrap.dedent(expected).strip("\n")
    module = func.parent_op()
    assert isinstance(module, ModuleOp)
    again = parse(unchecked(print_script(module)))
    assert_structural_equal(module_to_ssa(module_script(module)), again)


# ---- values, reads and effects ----


def test_a_shared_value_is_part_of_every_tree():
    expect(
        """
        %x = tir.add %n, %c1 : i32
        %y = tir.mul %x, %x : i32
        tir.store %y, %A[%x] : i32
        """,
        "A[n + 1] = (n + 1) * (n + 1)",
    )


def test_a_read_is_bound_where_a_write_lies_before_a_use():
    expect(
        """
        %x = tir.load %A[%n] : i32
        %unused = tir.load %B[%n] : i32
        tir.store %x, %B[%x] : i32
        tir.store %x, %A[%n] : i32
        %y = tir.load %A[%c0] : i32
        tir.for %i = %c0 to %n {
          tir.store %y, %A[%i] : i32
        }
        """,
        """
        x: T.int32 = A[n]
        B[x] = x
        A[n] = x
        y: T.int32 = A[0]
        for i in range(n):
            A[i] = y
        """,
    )


def test_a_call_stays_in_the_next_statement_if_it_keeps_its_turn():
    expect(
        """
        %f = tir.call_func @callee(%n) : (i32) -> i32
        %x = tir.load %A[%n] : i32
        %y = tir.add %f, %x : i32
        tir.store %y, %A[%c0] : i32
        %g = tir.call_func @callee(%n) : (i32) -> i32
        %h = tir.call_func @callee(%g) : (i32) -> i32
        tir.store %h, %A[%c0] : i32
        %i = tir.call_func @callee(%n) : (i32) -> i32
        tir.evaluate %n : i32
        """,
        """
        A[0] = Module.callee(n) + A[n]
        A[0] = Module.callee(Module.callee(n))
        Module.callee(n)
        T.evaluate(n)
        """,
    )


TURNS = {
    "two uses": (
        """
        %f = tir.call_func @callee(%n) : (i32) -> i32
        tir.store %f, %A[%f] : i32
        """,
        "f: T.int32 = Module.callee(n)\nA[f] = f",
    ),
    "a read in front": (
        """
        %f = tir.call_func @callee(%n) : (i32) -> i32
        %x = tir.load %A[%n] : i32
        %y = tir.add %x, %f : i32
        tir.store %y, %A[%c0] : i32
        """,
        "f: T.int32 = Module.callee(n)\nA[0] = A[n] + f",
    ),
    "calls in the other order": (
        """
        %f = tir.call_func @callee(%n) : (i32) -> i32
        %g = tir.call_func @callee(%c1) : (i32) -> i32
        %y = tir.add %g, %f : i32
        tir.store %y, %A[%c0] : i32
        """,
        "f: T.int32 = Module.callee(n)\ng: T.int32 = Module.callee(1)\nA[0] = g + f",
    ),
    "a statement between": (
        """
        %f = tir.call_func @callee(%n) : (i32) -> i32
        tir.store %n, %A[%c0] : i32
        tir.store %f, %A[%c1] : i32
        """,
        "f: T.int32 = Module.callee(n)\nA[0] = n\nA[1] = f",
    ),
    "a use in a body": (
        """
        %f = tir.call_func @callee(%n) : (i32) -> i32
        tir.if %p {
          tir.store %f, %A[%c1] : i32
        }
        """,
        "f: T.int32 = Module.callee(n)\nif p:\n    A[1] = f",
    ),
    "a use under a condition": (
        """
        %f = tir.call_func @callee(%n) : (i32) -> i32
        %x = tir.if_then_else %p -> i32 {
          tir.yield %f : i32
        } else {
          tir.yield %n : i32
        }
        tir.store %x, %A[%c0] : i32
        """,
        "f: T.int32 = Module.callee(n)\nA[0] = T.if_then_else(p, f, n)",
    ),
    "the start of a range": (
        """
        %f = tir.call_func @callee(%n) : (i32) -> i32
        tir.for %i = %f to %f + %n {
          tir.evaluate %i : i32
        }
        %g = tir.call_func @callee(%n) : (i32) -> i32
        tir.for %i = %c0 to %g {
          tir.evaluate %i : i32
        }
        """,
        "f: T.int32 = Module.callee(n)\nfor i in range(f, f + n):\n    T.evaluate(i)\n"
        "for i in range(Module.callee(n)):\n    T.evaluate(i)",
    ),
}


@pytest.mark.parametrize("name", TURNS)
def test_a_call_is_bound(name: str):
    expect(*TURNS[name])


def test_lazy_operands_with_effects():
    expect(
        """
        %x = tir.if_then_else %p -> i32 {
          %f = tir.call_func @callee(%n) : (i32) -> i32
          %y = tir.load %A[%f] : i32
          tir.yield %y : i32
        } else {
          %g = tir.call_func @callee(%n) : (i32) -> i32
          %z = tir.mul %g, %g : i32
          tir.yield %z : i32
        }
        tir.evaluate %x : i32
        """,
        """
        g = T.int32()
        T.if_then_else(p, A[Module.callee(n)], T.Let(g * g, where={g: Module.callee(n)}))
        """,
    )


def test_while_condition():
    expect(
        """
        tir.while {
          %f = tir.call_func @callee(%n) : (i32) -> i32
          %q = tir.cmp lt %f, %f : i32
          tir.yield %q : i1
        } do {
        }
        """,
        """
        f = T.int32()
        while T.Let(f < f, where={f: Module.callee(n)}):
            T.evaluate(0)
        """,
    )


# ---- lets ----


def test_lets_of_expressions():
    expect(
        """
        %x = tir.let expr "x" %n : i32
        %y = tir.let expr "y" %x : i32
        %z = tir.add %x, %y : i32
        tir.store %z, %A[%c0] : i32
        """,
        """
        x = T.int32()
        y = T.int32()
        A[0] = T.Let(T.Let(x + y, where={y: x}), where={x: n})
        """,
    )


def test_lets_of_expressions_that_several_have_are_statements():
    expect(
        """
        %x = tir.let expr "x" %n : i32
        tir.store %x, %A[%x] : i32
        %y = tir.let expr "y" %n : i32
        tir.evaluate %y : i32
        tir.store %y, %A[%c0] : i32
        %z = tir.let expr "z" %n : i32
        """,
        """
        x: T.int32 = n
        A[x] = x
        y: T.int32 = n
        T.evaluate(y)
        A[0] = y
        z: T.int32 = n
        """,
    )


def test_lets_in_lazy_operands():
    expect(
        """
        %x = tir.if_then_else %p -> i32 {
          %y = tir.let "y" %n : i32
          %z = tir.mul %y, %y : i32
          tir.yield %z : i32
        } else {
          tir.yield %n : i32
        }
        tir.store %x, %A[%c0] : i32
        """,
        """
        y = T.int32()
        A[0] = T.if_then_else(p, T.Let(y * y, where={y: n}), n)
        """,
    )


def test_every_use_of_a_shared_let_has_a_variable_of_its_own():
    expect(
        """
        %x = tir.if_then_else %p -> i32 {
          %y = tir.let "y" %n : i32
          %z = tir.mul %y, %y : i32
          tir.yield %z : i32
        } else {
          tir.yield %n : i32
        }
        %s = tir.add %x, %x : i32
        tir.evaluate %s : i32
        """,
        """
        y = T.int32()
        y_1 = T.int32()
        T.evaluate(@ + T.if_then_else(p, T.Let(y_1 * y_1, where={y_1: n}), n))
        """.replace("@", "T.if_then_else(p, T.Let(y * y, where={y: n}), n)"),
    )


# ---- scopes, blocks and declarations ----


def test_scopes_keep_what_they_bound():
    expect(
        """
        tir.scope {
          tir.store %n, %A[%c0] : i32
          %x = tir.let "x" %n : i32
          tir.store %x, %A[%c0] : i32
        }
        tir.scope {
          tir.evaluate %n : i32
        }
        tir.evaluate
        tir.scope {
          %y = tir.let "y" %n : i32
          tir.evaluate %y : i32
        }
        """,
        """
        A[0] = n
        with T.LetStmt(n) as x:
            A[0] = x
        T.evaluate(n)
        y: T.int32 = n
        T.evaluate(y)
        """,
    )


def test_allocations_move_to_the_block_around():
    expect(
        """
        tir.block "outer" {
          tir.for %i = %c0 to %n {
            %m = tir.add %n, %c1 : i32
            %C = tir.alloc_buffer "C" [%m] : !tir.buffer<?xi32, "local">
            tir.store %i, %C[%c0] : i32
          }
        }
        %D = tir.alloc_buffer "D" : !tir.buffer<4xi32>
        """,
        """
        # with T.block("root"):
        D = T.alloc_buffer((4,), "int32")
        with T.block("outer"):
            T.reads()
            T.writes()
            C = T.alloc_buffer((n + 1,), "int32", scope="local")
            for i in range(n):
                C[0] = i
        """,
    )


def test_blocks_get_a_root():
    expect(
        """
        tir.for %i = %c0 to %n {
          tir.block "B" (%v : S in [%c0 to %n] = %i) {
          }
        }
        """,
        """
        # with T.block("root"):
        for i in range(n):
            with T.block("B"):
                v = T.axis.spatial(n, i)
                T.reads()
                T.writes()
                T.evaluate(0)
        """,
    )


def test_bindings_in_front_of_an_init_that_it_does_not_change():
    expect(
        """
        %L = tir.alloc_buffer "L" : !tir.buffer<4xi32>
        tir.block "B" {
          %x = tir.let "x" %n : i32
          %y = tir.load %A[%n] : i32
          %z = tir.mul %x, %y : i32
          %e = tir.call "clz"(%n) : (i32) -> i32
          tir.init {
            tir.store %c0, %L[%c0] : i32
          }
          tir.store %y, %A[%x] : i32
          tir.store %z, %A[%e] : i32
        }
        """,
        """
        # with T.block("root"):
        L = T.alloc_buffer((4,), "int32")
        with T.block("B"):
            T.reads()
            T.writes()
            with T.init():
                L[0] = 0
            x: T.int32 = n
            y: T.int32 = A[n]
            A[x] = y
            A[T.clz(n)] = x * y
        """,
    )


def test_iteration_variables_of_other_dtypes():
    """TVM has int32 and int64; a signed one that just is a loop variable stays."""
    expect(
        """
        %s0 = tir.const 0 : i8
        %s4 = tir.const 4 : i8
        %u0 = tir.const 0 : ui32
        %u4 = tir.const 4 : ui32
        tir.block "root" {
          tir.for %i = %s0 to %s4 {
            tir.for %j = %u0 to %u4 {
              tir.block "B" (%v : S in [%s0 to %s4] = %i, %w : S in [%u0 to %u4] = %j) {
                tir.store %c0, %A[%w] : i32
                tir.store %c0, %A[%v] : i32
              }
            }
          }
        }
        """,
        """
        # with T.block("root"):
        for i, j in T.grid(T.int8(4), T.uint32(4)):
            with T.block("B"):
                v = T.axis.remap("S", [i])
                w = T.axis.spatial(T.int64(4), T.Cast("int64", j))
                T.reads()
                T.writes()
                A[T.Cast("uint32", w)] = 0
                A[v] = 0
        """,
    )


def test_pointers_that_are_no_variables_are_bound():
    expect(
        """
        %q = tir.address_of %A[%n] : !tir.ptr<i32>
        %C = tir.decl_buffer "C" %q : !tir.buffer<4xi32>
        %r = tir.data %A : !tir.ptr<i32>
        %D = tir.decl_buffer "D" %r : !tir.buffer<4xi32>
        tir.store %c0, %C[%c0] : i32
        tir.store %c0, %D[%c0] : i32
        """,
        """
        C: T.handle("int32", "global") = T.address_of(A[n])
        C_1 = T.decl_buffer((4,), "int32", data=C)
        D = T.decl_buffer((4,), "int32", data=A.data)
        C_1[0] = 0
        D[0] = 0
        """,
    )


def test_threads_that_share_a_variable():
    expect(
        """
        tir.launch_thread %x = "threadIdx.x" to %n env "tx" {
          tir.launch_thread %y = "threadIdx.x" to %n env "tx" {
            %z = tir.add %x, %y : i32
            tir.evaluate %z : i32
          }
        }
        tir.launch_thread %by = "blockIdx.y" to %n annotations {
            pragma_b = 1 : i32, pragma_a = "s"} {
        }
        """,
        """
        tx = T.env_thread("threadIdx.x")
        with T.launch_thread(tx, n):
            T.launch_thread(tx, n)
            T.evaluate(tx + tx)
        by = T.env_thread("blockIdx.y")
        T.attr(by, "pragma_a", "s")
        T.attr(by, "pragma_b", 1)
        T.launch_thread(by, n)
        T.evaluate(0)
        """,
    )


def test_reductions_over_threads():
    expect(
        """
        %r = tir.reducer (%x : i32, %y : i32) identity [0 : i32] {
          %t = tir.let "t" %x : i32
          %s = tir.add %t, %y : i32
          tir.yield %s : i32
        }
        tir.attr "reduce_scope" (%r) = 0 : i32 {
          tir.thread_allreduce [%n] if %p into [%A[%c0]] over [%c0]
        }
        """,
        """
        t = T.int32()
        T.attr(@, "reduce_scope", 0)
        T.tvm_thread_allreduce(T.uint32(1), n, p, A[0], 0)
        """.replace("@", "T.comm_reducer(lambda x, y: T.Let(t + y, where={t: x}), [0])"),
    )


def test_realized_buffers_hold_what_follows():
    expect(
        """
        %R = tir.buffer_realize "R" bounds [%c0 to 16, %n] annotations {
            rolling_buffer_scope = true} : !tir.buffer<16x32xi32, "shared">
        tir.prefetch %R[%c0 to 16, %n to %n + 2]
        tir.store %n, %R[%c0, %n] : i32
        """,
        """
        R = T.Buffer((16, 32), "int32", scope="shared")
        T.realize(R[0:16, n], "shared")
        T.attr(R, "rolling_buffer_scope", T.bool(True))
        T.prefetch(R, [T.Range(0, 16), T.Range(n, n + 2)])
        R[0, n] = n
        """,
    )


# ---- functions and modules ----


def test_function_fields():
    module = module_of(
        """
        module attributes {tir.module_attrs = {mod_name = "m"},
            tir.global_infos = {a = ["x"]}} {
          tir.func @f(%0: i32, %x: f32) -> f32 attributes {tir.noalias, list = [1 : i32,
              2 : i64, 1.5 : f32, 2.5 : f16], map = {a = "b", c = true}} {
            tir.ret %x : f32
          }
        }
        """
    )
    script = script_of(module)
    assert isinstance(script, st.IRModule)
    assert (script.attrs, script.global_infos) == ({"mod_name": "m"}, {"a": ["x"]})
    function = script.functions["f"]
    assert [var.name for var in function.params] == ["arg", "x"]
    assert function.private
    assert function.ret_type == function.params[1].type
    assert function.attrs["tir.noalias"] is True
    assert function.attrs["map"] == {"a": "b", "c": True}
    items = function.attrs["list"]
    assert isinstance(items, list)
    assert items[:1] + items[2:3] == [1, 1.5]
    assert isinstance(items[1], ex.IntImm)
    assert isinstance(items[3], ex.FloatImm)
    assert (items[1].dtype, items[3].dtype) == ("int64", "float16")


def test_constants_in_memory():
    func = main_of(
        """
        %c = tir.allocate_const "c" dense<[[true, false]]> : tensor<1x2xi1> : !tir.ptr<i1>
        %u = tir.allocate_const dense<[255]> : tensor<1xui8> : !tir.ptr<ui8>
        %f = tir.allocate_const dense<[0.5]> : tensor<1xbf16> : !tir.ptr<bf16>
        """
    )
    found = [s for s in function_script(func).body if isinstance(s, st.AllocateConst)]
    assert [(s.extents, s.data.tolist()) for s in found] == [
        ((1, 2), [[True, False]]),
        ((1,), [255]),
        ((1,), [0.5]),
    ]


REFUSED = {
    "foreign op": (
        '"test.op"() : () -> ()',
        "test.op: has no form in TVMScript; lower or remove it first",
    ),
    "foreign value": (
        "%x = arith.constant 1 : i32\ntir.store %x, %A[%c0] : i32",
        "arith.constant: has no form in TVMScript; lower or remove it first",
    ),
    "discardable attribute": (
        "tir.for %i = %c0 to %n attributes {mine} {\n}",
        "tir.for: the attribute 'mine' has no place in TVMScript; remove it",
    ),
    "attribute on a value": (
        "%x = tir.add %n, %n {mine} : i32\ntir.evaluate %x : i32",
        "tir.add: the attribute 'mine' has no place in TVMScript; remove it",
    ),
    "annotation": (
        "tir.for %i = %c0 to %n annotations {k = f32} {\n}",
        "tir.for: the attribute f32 has no spelling in TVMScript; use numbers, strings, "
        "lists and dictionaries",
    ),
    "statement in an expression": (
        """
        %x = tir.if_then_else %p -> i32 {
          tir.store %n, %A[%c0] : i32
          tir.yield %n : i32
        } else {
          tir.yield %n : i32
        }
        tir.evaluate %x : i32
        """,
        "tir.store: a statement in tir.if_then_else, which is an expression in "
        "TVMScript; move it out",
    ),
    "region outside of a block": (
        """
        tir.for %i = %c0 to %n {
          %V = tir.match_region %A[%i] : !tir.buffer<1xi32>
        }
        """,
        "tir.match_region: TVMScript matches buffers at the start of a block only; move "
        "it into the tir.block around",
    ),
    "size of an allocation": (
        """
        tir.for %i = %c0 to %n {
          %C = tir.alloc_buffer [%i] : !tir.buffer<?xi32>
        }
        """,
        "tir.alloc_buffer: its size is computed inside of the block that has to allocate "
        "it in TVMScript; wrap it into a tir.block of its own",
    ),
    "init with a binding": (
        """
        tir.block "B" {
          %x = tir.let "x" %n : i32
          tir.init {
            tir.store %x, %A[%c0] : i32
          }
        }
        """,
        "tir.let: its result is used by what TVMScript has before it; declarations "
        "of functions and blocks use parameters, symbolic sizes and variables of loops "
        "and blocks only",
    ),
    "read before an init": (
        """
        tir.block "B" {
          %x = tir.load %A[%c0] : i32
          tir.init {
            tir.store %c0, %A[%c0] : i32
          }
          tir.store %x, %B[%c0] : i32
        }
        """,
        "tir.load: is before a tir.init, which TVMScript runs first; move it "
        "after, or into a tir.block around",
    ),
    "call before an init": (
        """
        tir.block "B" {
          %x = tir.call_func @callee(%n) : (i32) -> i32
          tir.init {
            tir.store %c0, %A[%c0] : i32
          }
          tir.store %x, %B[%c0] : i32
        }
        """,
        "tir.call_func: is before a tir.init, which TVMScript runs first; move "
        "it after, or into a tir.block around",
    ),
    "region of a buffer declared after": (
        """
        %r = tir.data %A : !tir.ptr<i32>
        tir.block "B" {
          %D = tir.decl_buffer %r : !tir.buffer<4xi32>
          tir.reads %D[%c0]
        }
        """,
        "tir.decl_buffer: its buffer is used by what TVMScript has before it; "
        "declare the buffer in a block around",
    ),
    "constant condition": (
        """
        tir.while {
          %t = tir.const true
          tir.yield %t : i1
        } do {
        }
        """,
        "tir.while: the condition is a constant, which TVM takes for a mistake; load it "
        "from a buffer",
    ),
    "index of contents": (
        "%c = tir.allocate_const 3 : i32 : !tir.ptr<f32>",
        "tir.allocate_const: an index into the module's constants has no form in "
        "TVMScript; give the contents",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_scripts_cannot_say_is_refused(name: str):
    body, message = REFUSED[name]
    with pytest.raises(DiagnosticException) as error:
        script_of(main_of(body))
    assert str(error.value) == message


def test_modules_with_more_than_functions_are_refused():
    with pytest.raises(DiagnosticException, match=r"^func\.func: has no form in TVM"):
        module_script(module_of("func.func @f() {\n  func.return\n}"))
    with pytest.raises(DiagnosticException, match=r"^tir\.func @f: a declaration has no"):
        module_script(module_of("tir.func @f(i32)"))


# ---- sizes ----


def doubled(times: int, dtype: Attribute = i32) -> tir.FuncOp:
    """A function on a value that is added to itself again and again."""
    block = Block(arg_types=[dtype])
    value: SSAValue = block.args[0]
    for _ in range(times):
        op = tir.AddOp(value, value)
        block.add_op(op)
        value = op.result
    block.add_op(tir.EvaluateOp(value))
    return tir.FuncOp("f", ([dtype], []), Region(block))


def test_trees_have_a_largest_size():
    assert print_script(doubled(15)).count("+") == 2**15 - 1
    with pytest.raises(DiagnosticException) as error:
        print_script(doubled(60))
    assert str(error.value) == (
        f"tir.add: as a tree it has more than {MAX_NODES} nodes, since values in it are "
        "shared; bind one of them with tir.let"
    )


def test_deep_trees_do_not_recurse():
    block = Block(arg_types=[i64])
    value: SSAValue = block.args[0]
    for _ in range(5000):
        op = tir.SubOp(block.args[0], value)
        block.add_op(op)
        value = op.result
    block.add_op(tir.EvaluateOp(value))
    func = tir.FuncOp("f", ([i64], []), Region(block), param_names=["n"])
    assert print_script(func).count("n - (") == 4999


# ---- meaning ----


@dataclass(frozen=True)
class ThroughScript(ModulePass):
    """Prints the module as a script and reads it back."""

    name = "test-through-script"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        read = parse(unchecked(print_script(op)))
        for func in list(op.body.ops):
            func.detach()
            func.erase()
        for func in list(read.body.ops):
            func.detach()
            op.body.block.add_op(func)


def has_script(module: ModuleOp) -> bool:
    try:
        print_script(module)
    except DiagnosticException:
        return False
    return True


def arguments_of(module: ModuleOp, seed: int) -> dict[str, list[tuple[object, ...]]]:
    rng = np.random.default_rng(seed)
    return {
        func.sym_name.data: [random_arguments(func, rng)]
        for func in module.body.ops
        if isinstance(func, tir.FuncOp) and "global_symbol" in func.attributes
    }


COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "6"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))


@pytest.mark.parametrize("seed", range(FIRST + 1000, FIRST + 1000 + COUNT))
def test_scripts_compute_what_the_program_computes(seed: int):
    module = random_module(seed).module
    if not has_script(module):
        return
    inputs = arguments_of(module, seed)
    try:
        check_semantics(module, [ThroughScript()], inputs, tolerance=0.0)
    except SemanticsError as error:
        if "race on" not in str(error):
            raise


def test_equal_buffers_without_statements_are_one() -> None:
    """Copies of a loop share the buffer that each of them declares anew."""
    module = parse(
        """
        @T.prim_func
        def main(A: T.Buffer((4, 8), "float32")):
            for i in T.unroll(3):
                B = T.Buffer((32,), data=A.data)
                B[i] = B[i + 8]
        """
    )
    text = print_script(UnrollLoop()(module))
    assert text.count("T.Buffer((32,), data=A.data)") == 1
