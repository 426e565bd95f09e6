"""What the LLVM IR emitter refuses, and that equal modules give equal text."""

from __future__ import annotations

from io import StringIO

import pytest
from support.llvm_modules import read_module
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.lowering.llvm_text.emitter import emit_llvm_ir
from xdsl_tvm.targets.llvm_ir import LLVMIRTarget


def body(text: str) -> str:
    """A function around some operations."""
    return (
        "llvm.func @f(%i: i32, %p: !llvm.ptr, %x: f32) {\n" + text + "\n  llvm.return\n}"
    )


REFUSED = {
    "arith.addi": (
        body("%0 = arith.addi %i, %i : i32"),
        "cannot write 'arith.addi' as LLVM IR: lower it to the llvm dialect",
    ),
    "top level": (
        "func.func private @g()",
        "cannot write 'func.func' at the top level of an LLVM module",
    ),
    "index": (
        body("%0 = llvm.mlir.undef : index\n  %1 = tvm_llvm.freeze %0 : index"),
        "type index has no LLVM form",
    ),
    "2-D vector": (
        body(
            "%0 = llvm.mlir.undef : vector<2x2xf32>\n"
            "  %1 = tvm_llvm.freeze %0 : vector<2x2xf32>"
        ),
        "type vector<2x2xf32> has no LLVM form: only 1-D vectors do",
    ),
    "signed integer": (
        body("%0 = llvm.mlir.undef : ui8\n  %1 = tvm_llvm.freeze %0 : ui8"),
        "integers below tir are signless",
    ),
    "entry jumped to": (
        "llvm.func @g() {\n^entry:\n  llvm.br ^entry\n}",
        "'llvm.br' jumps to the entry block of its function",
    ),
    "internal declaration": (
        "llvm.func internal @g()",
        "function '@g' has no body and cannot be 'internal'",
    ),
    "missing global": (
        body("%0 = llvm.mlir.addressof @nothing : !llvm.ptr"),
        "'llvm.mlir.addressof' refers to '@nothing', which is not there",
    ),
    "wrong address space": (
        "llvm.mlir.global internal @s() {addr_space = 3 : i32} : i32\n"
        + body("%0 = llvm.mlir.addressof @s : !llvm.ptr"),
        "'@s' is in address space 3, but its address is !llvm.ptr",
    ),
    "parameter attribute": (
        "llvm.func @g(%p: !llvm.ptr {llvm.strange})",
        "cannot write parameter attribute 'llvm.strange' of '@g'",
    ),
    "function attribute": (
        "llvm.func @g() attributes {memory_effects = 1 : i32}",
        "cannot write attribute 'memory_effects' of function '@g'",
    ),
    "intrinsic with two signatures": (
        body(
            '%0 = tvm_llvm.call_intrinsic "llvm.some.i32"(%i) : (i32) -> i32\n'
            '  %1 = tvm_llvm.call_intrinsic "llvm.some.i32"(%x) : (f32) -> i32'
        ),
        "intrinsic 'llvm.some.i32' is called with two signatures",
    ),
    "overload of a struct": (
        body(
            "%0 = llvm.mlir.undef : !llvm.struct<(i32)>\n"
            '  %1 = tvm_llvm.call_intrinsic "llvm.abs"(%0)'
            " : (!llvm.struct<(i32)>) -> !llvm.struct<(i32)>"
        ),
        "no intrinsic is overloaded on !llvm.struct<(i32)>",
    ),
    "wrong number of values": (
        body("%0 = llvm.mlir.constant(dense<[1, 2]> : vector<2xi32>) : vector<4xi32>"),
        "2 numbers cannot make a constant of type vector<4xi32>",
    ),
    "global of another type": (
        "llvm.mlir.global internal @g(dense<[1, 2]> : tensor<2xi32>)"
        " : !llvm.array<2 x f32>",
        "a global of !llvm.array<2 x f32> cannot hold elements of i32",
    ),
    "global of another size": (
        "llvm.mlir.global internal @g(dense<0> : tensor<2xi32>) : !llvm.array<3 x i32>",
        "a global of !llvm.array<3 x i32> cannot hold 2 elements",
    ),
    "computed initializer": (
        "llvm.mlir.global internal @g() : i32 {\n"
        "  %0 = llvm.mlir.constant(1 : i32) : i32\n"
        "  %1 = llvm.add %0, %0 : i32\n  llvm.return %1 : i32\n}",
        "cannot write 'llvm.add' in the initializer of '@g'",
    ),
    "loop attribute": (
        "llvm.func @g() {\n  llvm.br ^bb1 {tvm_llvm.loop = 1 : i32}\n^bb1:\n"
        "  llvm.return\n}",
        "'tvm_llvm.loop' of 'llvm.br' must be #tvm_llvm.loop",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    text, message = REFUSED[case]
    module = read_module(text)[1]
    with pytest.raises(DiagnosticException) as error:
        emit_llvm_ir(module)
    assert message in str(error.value)


def test_symbols_of_nested_modules_must_differ() -> None:
    text = "builtin.module {\n  llvm.func @g()\n}\nbuiltin.module {\n  llvm.func @g()\n}"
    with pytest.raises(DiagnosticException, match="symbol '@g' is defined twice"):
        emit_llvm_ir(read_module(text)[1])


def test_equal_modules_give_equal_text() -> None:
    text = body(
        "%0 = llvm.add %i, %i : i32\n"
        '  %1 = tvm_llvm.call_intrinsic "llvm.smax"(%0, %i) : (i32, i32) -> i32\n'
        '  %2 = tvm_llvm.call_intrinsic "llvm.abs.i32"(%1) : (i32) -> i32'
    )
    renamed = text.replace("%0", "%sum").replace("%1", "%max")
    assert emit_llvm_ir(read_module(text)[1]) == emit_llvm_ir(read_module(renamed)[1])


def test_emission_leaves_the_module_alone() -> None:
    context, module = read_module(body("%0 = llvm.add %i, %i : i32"))
    before = str(module)
    LLVMIRTarget().emit(context, module, StringIO())
    assert str(module) == before


def test_unknown_triple_kind() -> None:
    context, module = read_module(body(""))
    with pytest.raises(DiagnosticException, match="triple-kind must be 'cpu' or 'nvptx'"):
        LLVMIRTarget(triple_kind="amdgpu").emit(context, module, StringIO())
