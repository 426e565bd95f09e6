"""Emitted LLVM IR, compiled and run: results against Python and numpy."""

from __future__ import annotations

import ctypes
import math
import operator
import re
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from support.llvm_modules import read_module
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.lowering.llvm_text.emitter import emit_llvm_ir
from xdsl_tvm.lowering.llvm_text.vectorized_loops import is_vectorized
from xdsl_tvm.lowering.to_llvm.convert_bf16_to_bits import ConvertBF16ToBits
from xdsl_tvm.lowering.to_llvm.verify_llvm_legal import check_llvm_legal, rules_for
from xdsl_tvm.runtime import llvm_jit
from xdsl_tvm.runtime.object_cache import ObjectCache

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

NO_CACHE = ObjectCache(None)


def to_llvm(text: str) -> str:
    """LLVM IR of a module of the llvm dialect, verified and checked."""
    context, module = read_module(text)
    ConvertBF16ToBits().apply(context, module)
    check_llvm_legal(module.body.ops, rules_for("cpu"))
    return emit_llvm_ir(module)


def compiled(text: str, result: Any, *arguments: Any, name: str = "f") -> Any:
    """Function `@f` of a module, as a ctypes function."""
    code = llvm_jit.load(to_llvm(text), [name], cache=NO_CACHE)
    return code.function(name, result, *arguments)


def binary(op: str, type: str, ctype: Any) -> Any:
    """A function that applies `op` to two values of one type."""
    return compiled(
        f"""llvm.func @f(%a: {type}, %b: {type}) -> {type} {{
          %0 = {op} %a, %b : {type}
          llvm.return %0 : {type}
        }}""",
        ctype,
        ctype,
        ctype,
    )


def wrap(value: int, bits: int) -> int:
    """`value` as a signed number of that many bits."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


INTS = {8: ctypes.c_int8, 16: ctypes.c_int16, 32: ctypes.c_int32, 64: ctypes.c_int64}


@pytest.mark.parametrize("bits", INTS)
def test_integers_wrap(bits: int) -> None:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    add = binary("llvm.add", f"i{bits}", INTS[bits])
    mul = binary("llvm.mul", f"i{bits}", INTS[bits])
    sub = binary("llvm.sub", f"i{bits}", INTS[bits])
    for a, b in [(high, 1), (low, -1), (high, high), (low, low), (-7, 3)]:
        assert add(a, b) == wrap(a + b, bits)
        assert mul(a, b) == wrap(a * b, bits)
        assert sub(a, b) == wrap(a - b, bits)


def test_division_truncates() -> None:
    sdiv = binary("llvm.sdiv", "i32", ctypes.c_int32)
    srem = binary("llvm.srem", "i32", ctypes.c_int32)
    udiv = binary("llvm.udiv", "i32", ctypes.c_uint32)
    urem = binary("llvm.urem", "i32", ctypes.c_uint32)
    for a, b in [(7, 2), (-7, 2), (7, -2), (-7, -2)]:
        assert sdiv(a, b) == int(a / b)
        assert srem(a, b) == a - int(a / b) * b
    assert udiv(2**32 - 1, 3) == (2**32 - 1) // 3
    assert urem(2**32 - 1, 7) == (2**32 - 1) % 7


def test_shifts() -> None:
    shl = binary("llvm.shl", "i32", ctypes.c_int32)
    lshr = binary("llvm.lshr", "i32", ctypes.c_int32)
    ashr = binary("llvm.ashr", "i32", ctypes.c_int32)
    for amount in (0, 1, 31):
        assert shl(-5, amount) == wrap(-5 << amount, 32)
        assert ashr(-5, amount) == -5 >> amount
        assert lshr(-5, amount) == wrap((-5 & 0xFFFFFFFF) >> amount, 32)


ORDERED = {
    "oeq": operator.eq,
    "ogt": operator.gt,
    "oge": operator.ge,
    "olt": operator.lt,
    "ole": operator.le,
}


@pytest.mark.parametrize("dialect", ["llvm", "tvm_llvm"])
@pytest.mark.parametrize("predicate", ORDERED)
def test_float_compares_with_nan(dialect: str, predicate: str) -> None:
    ordered, unordered = (
        compiled(
            f"""llvm.func @f(%a: f32, %b: f32) -> i8 {{
              %0 = {dialect}.fcmp "{name}" %a, %b : f32
              %1 = llvm.zext %0 : i1 to i8
              llvm.return %1 : i8
            }}""",
            ctypes.c_int8,
            ctypes.c_float,
            ctypes.c_float,
        )
        for name in (predicate, "u" + predicate[1:])
    )
    values = [0.0, -0.0, 1.0, math.inf, -math.inf]
    for a in values:
        for b in values:
            expected = ORDERED[predicate](a, b)
            assert ordered(a, b) == unordered(a, b) == expected
        assert ordered(a, math.nan) == ordered(math.nan, a) == 0
        assert unordered(a, math.nan) == unordered(math.nan, a) == 1


def intrinsic(name: str, type: str, ctype: Any, count: int = 2) -> Any:
    """A function that calls an intrinsic on `count` values of one type."""
    parameters = ", ".join(f"%a{index}: {type}" for index in range(count))
    arguments = ", ".join(f"%a{index}" for index in range(count))
    types = ", ".join([type] * count)
    return compiled(
        f"""llvm.func @f({parameters}) -> {type} {{
          %0 = tvm_llvm.call_intrinsic "{name}"({arguments}) : ({types}) -> {type}
          llvm.return %0 : {type}
        }}""",
        ctype,
        *[ctype] * count,
    )


def test_integer_min_max() -> None:
    assert intrinsic("llvm.smin", "i32", ctypes.c_int32)(-3, 2) == -3
    assert intrinsic("llvm.smax", "i32", ctypes.c_int32)(-3, 2) == 2
    assert intrinsic("llvm.umin", "i32", ctypes.c_uint32)(2**32 - 3, 2) == 2
    assert intrinsic("llvm.umax", "i32", ctypes.c_uint32)(2**32 - 3, 2) == 2**32 - 3


def test_float_min_max() -> None:
    minimum = intrinsic("llvm.minimum", "f32", ctypes.c_float)
    minnum = intrinsic("llvm.minnum", "f32", ctypes.c_float)
    assert minimum(1.0, 2.0) == minnum(1.0, 2.0) == 1.0
    assert math.isnan(minimum(1.0, math.nan))
    assert minnum(1.0, math.nan) == 1.0
    assert math.copysign(1.0, minimum(0.0, -0.0)) == -1.0


def test_rounding_and_fma() -> None:
    for name, reference in [
        ("floor", math.floor),
        ("ceil", math.ceil),
        ("trunc", math.trunc),
        ("roundeven", round),
    ]:
        function = intrinsic(f"llvm.{name}", "f64", ctypes.c_double, 1)
        for value in (-2.5, -1.5, -0.25, 0.5, 1.5, 2.75):
            assert function(value) == reference(value)
    fma = intrinsic("llvm.fma", "f64", ctypes.c_double, 3)
    tiny = 2.0**-60
    # The product is 1 + 2**-59 + 2**-120: rounding it first would give 2**-59.
    assert fma(1 + 2.0**-52, 1 - 2.0**-52, -1.0) == -(2.0**-104)
    assert fma(tiny, tiny, 1.0) == 1.0


def test_casts() -> None:
    def cast(op: str, source: str, target: str, result: Any, argument: Any) -> Any:
        return compiled(
            f"""llvm.func @f(%a: {source}) -> {target} {{
              %0 = {op} %a : {source} to {target}
              llvm.return %0 : {target}
            }}""",
            result,
            argument,
        )

    assert (
        cast("tvm_llvm.fptosi", "f32", "i32", ctypes.c_int32, ctypes.c_float)(-2.75) == -2
    )
    assert (
        cast("tvm_llvm.fptoui", "f64", "i32", ctypes.c_uint32, ctypes.c_double)(3e9)
        == 3000000000
    )
    assert (
        cast("tvm_llvm.uitofp", "i32", "f64", ctypes.c_double, ctypes.c_int32)(-1)
        == 2**32 - 1
    )
    assert cast("llvm.sitofp", "i32", "f64", ctypes.c_double, ctypes.c_int32)(-1) == -1
    assert cast("llvm.sext", "i8", "i64", ctypes.c_int64, ctypes.c_int8)(-5) == -5
    assert cast("llvm.zext", "i8", "i64", ctypes.c_int64, ctypes.c_int8)(-5) == 251


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("f32", "0.1"),
        ("f32", "-0.0"),
        ("f32", "1.0e-45"),
        ("f32", "3.4028234663852886e38"),
        ("f64", "0.1"),
        ("f64", "5.0e-324"),
        ("f16", "65504.0"),
        ("f16", "6.0e-8"),
    ],
)
def test_float_constants_are_exact(type: str, value: str) -> None:
    dtype = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[type]
    function = compiled(
        f"""llvm.func @f(%p: !llvm.ptr) {{
          %0 = llvm.mlir.constant({value} : {type}) : {type}
          llvm.store %0, %p : {type}, !llvm.ptr
          llvm.return
        }}""",
        None,
        ctypes.c_void_p,
    )
    out = np.zeros(1, dtype)
    function(out.ctypes.data)
    assert out.tobytes() == dtype(float(value)).tobytes()


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        ("1.00390625", 0x3F80),  # half way: to even
        ("1.01171875", 0x3F82),  # half way: to even, upwards
        ("1.0039063", 0x3F81),  # just above half way
        ("0x7F80", 0x7F80),
        ("-0.0", 0x8000),
        ("3.4e38", 0x7F80),
    ],
)
def test_bf16_constants_round_to_even(value: str, bits: int) -> None:
    function = compiled(
        f"""llvm.func @f(%p: !llvm.ptr) {{
          %0 = llvm.mlir.constant({value} : bf16) : bf16
          llvm.store %0, %p : bf16, !llvm.ptr
          llvm.return
        }}""",
        None,
        ctypes.c_void_p,
    )
    out = np.zeros(1, np.uint16)
    function(out.ctypes.data)
    assert out[0] == bits


def test_nan_and_infinity_constants() -> None:
    function = compiled(
        """llvm.func @f(%p: !llvm.ptr) {
          %0 = llvm.mlir.constant(dense<"0x0000C07F000080FF0000807F">
            : vector<3xf32>) : vector<3xf32>
          llvm.store %0, %p {alignment = 4 : i64} : vector<3xf32>, !llvm.ptr
          llvm.return
        }""",
        None,
        ctypes.c_void_p,
    )
    out = np.zeros(3, np.float32)
    function(out.ctypes.data)
    assert math.isnan(out[0])
    assert list(out[1:]) == [-math.inf, math.inf]


def test_vectors() -> None:
    function = compiled(
        """llvm.func @f(%p: !llvm.ptr, %q: !llvm.ptr, %i: i32) -> f32 {
          %a = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
          %zero = llvm.mlir.constant(dense<0.0> : vector<4xf32>) : vector<4xf32>
          %negative = tvm_llvm.fcmp "olt" %a, %zero : vector<4xf32>
          %relu = tvm_llvm.select %negative, %zero, %a : vector<4xi1>, vector<4xf32>
          %x = llvm.mlir.constant(10.0 : f32) : f32
          %inserted = llvm.insertelement %x, %relu[%i : i32] : vector<4xf32>
          %reversed = llvm.shufflevector %inserted, %inserted [3, 2, 1, 0] : vector<4xf32>
          llvm.store %reversed, %q {alignment = 4 : i64} : vector<4xf32>, !llvm.ptr
          %y = tvm_llvm.extractelement %a[%i : i32] : vector<4xf32>
          llvm.return %y : f32
        }""",
        ctypes.c_float,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_int32,
    )
    a, out = np.array([-1, 2, -3, 4], np.float32), np.zeros(4, np.float32)
    assert function(a.ctypes.data, out.ctypes.data, 2) == -3
    assert list(out) == [4, 10, 2, 0]


def test_reductions() -> None:
    function = compiled(
        """llvm.func @f(%p: !llvm.ptr) -> i32 {
          %v = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> vector<8xi32>
          %0 = tvm_llvm.call_intrinsic "llvm.vector.reduce.add"(%v)
            : (vector<8xi32>) -> i32
          %1 = tvm_llvm.call_intrinsic "llvm.vector.reduce.smax"(%v)
            : (vector<8xi32>) -> i32
          %2 = llvm.mul %0, %1 : i32
          llvm.return %2 : i32
        }""",
        ctypes.c_int32,
        ctypes.c_void_p,
    )
    data = np.array([3, -4, 5, 6, -7, 8, 9, 10], np.int32)
    assert function(data.ctypes.data) == data.sum() * data.max()


def test_loop_carried_values_swap() -> None:
    """Phis of one block read their operands at once, not one after another."""
    function = compiled(
        """llvm.func @f(%n: i32, %x: i32, %y: i32) -> i32 {
          %zero = llvm.mlir.constant(0 : i32) : i32
          %one = llvm.mlir.constant(1 : i32) : i32
          llvm.br ^head(%zero, %x, %y : i32, i32, i32)
        ^head(%i: i32, %a: i32, %b: i32):
          %more = llvm.icmp "slt" %i, %n : i32
          %next = llvm.add %i, %one : i32
          llvm.cond_br %more, ^head(%next, %b, %a : i32, i32, i32), ^exit(%a : i32)
        ^exit(%r: i32):
          llvm.return %r : i32
        }""",
        ctypes.c_int32,
        *[ctypes.c_int32] * 3,
    )
    assert [function(n, 7, 9) for n in range(4)] == [7, 9, 7, 9]


def test_two_edges_to_one_block() -> None:
    function = compiled(
        """llvm.func @f(%c: i8, %a: i32, %b: i32) -> i32 {
          %0 = llvm.trunc %c : i8 to i1
          llvm.cond_br %0, ^join(%a : i32), ^join(%b : i32)
        ^join(%x: i32):
          llvm.return %x : i32
        }""",
        ctypes.c_int32,
        ctypes.c_int8,
        ctypes.c_int32,
        ctypes.c_int32,
    )
    assert (function(1, 3, 4), function(0, 3, 4)) == (3, 4)


def test_both_edges_back_to_the_loop_head() -> None:
    """The split edge of a self-loop keeps the loop's values apart."""
    function = compiled(
        """llvm.func @f(%n: i32) -> i32 {
          %zero = llvm.mlir.constant(0 : i32) : i32
          %one = llvm.mlir.constant(1 : i32) : i32
          %two = llvm.mlir.constant(2 : i32) : i32
          llvm.br ^head(%zero, %zero : i32, i32)
        ^head(%i: i32, %sum: i32):
          %done = llvm.icmp "sge" %i, %n : i32
          llvm.cond_br %done, ^exit, ^body
        ^body:
          %next = llvm.add %i, %one : i32
          %bit = llvm.and %i, %one : i32
          %odd = llvm.icmp "eq" %bit, %one : i32
          %more = llvm.add %sum, %two : i32
          llvm.cond_br %odd, ^head(%next, %more : i32, i32), ^head(%next, %sum : i32, i32)
        ^exit:
          llvm.return %sum : i32
        }""",
        ctypes.c_int32,
        ctypes.c_int32,
    )
    assert [function(n) for n in range(6)] == [0, 0, 2, 2, 4, 4]


def test_switch() -> None:
    function = compiled(
        """llvm.func @f(%v: i32) -> i32 {
          %a = llvm.mlir.constant(10 : i32) : i32
          %b = llvm.mlir.constant(20 : i32) : i32
          %c = llvm.mlir.constant(30 : i32) : i32
          tvm_llvm.switch %v : i32, ^join(%a : i32) [-1: ^join(%b : i32), 4: ^other]
        ^other:
          llvm.br ^join(%c : i32)
        ^join(%x: i32):
          llvm.return %x : i32
        }""",
        ctypes.c_int32,
        ctypes.c_int32,
    )
    assert [function(v) for v in (-1, 0, 4)] == [20, 10, 30]


def test_atomics() -> None:
    function = compiled(
        """llvm.func @f(%p: !llvm.ptr, %v: i32) -> i32 {
          %0 = tvm_llvm.atomicrmw add %p, %v seq_cst : !llvm.ptr, i32
          tvm_llvm.fence seq_cst
          llvm.return %0 : i32
        }
        llvm.func @swap(%p: !llvm.ptr, %old: i32, %new: i32) -> i8 {
          %0 = tvm_llvm.cmpxchg %p, %old, %new acq_rel monotonic : !llvm.ptr, i32
          %1 = llvm.extractvalue %0[1] : !llvm.struct<(i32, i1)>
          %2 = llvm.zext %1 : i1 to i8
          llvm.return %2 : i8
        }""",
        ctypes.c_int32,
        ctypes.c_void_p,
        ctypes.c_int32,
    )
    cell = np.zeros(1, np.int32)

    def work() -> None:
        for _ in range(500):
            function(cell.ctypes.data, 2)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cell[0] == 4000


def test_compare_and_exchange() -> None:
    swap = compiled(
        """llvm.func @f(%p: !llvm.ptr, %old: i32, %new: i32) -> i8 {
          %0 = tvm_llvm.cmpxchg %p, %old, %new acq_rel monotonic : !llvm.ptr, i32
          %1 = llvm.extractvalue %0[1] : !llvm.struct<(i32, i1)>
          %2 = llvm.zext %1 : i1 to i8
          llvm.return %2 : i8
        }""",
        ctypes.c_int8,
        ctypes.c_void_p,
        ctypes.c_int32,
        ctypes.c_int32,
    )
    cell = np.array([5], np.int32)
    assert (swap(cell.ctypes.data, 5, 6), cell[0]) == (1, 6)
    assert (swap(cell.ctypes.data, 5, 7), cell[0]) == (0, 6)


def test_globals_hold_their_values_and_alignment() -> None:
    numbers = np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32)
    dense = ", ".join(f"[{', '.join(map(repr, row))}]" for row in numbers.tolist())
    function = compiled(
        f"""llvm.mlir.global private constant @w(dense<[{dense}]> : tensor<5x7xf32>)
            {{alignment = 64 : i64}} : !llvm.array<5 x !llvm.array<7 x f32>>
        llvm.mlir.global internal @count(3 : i64) : i64
        llvm.func @f(%i: i64, %j: i64, %out: !llvm.ptr) -> i64 {{
          %w = llvm.mlir.addressof @w : !llvm.ptr
          %p = llvm.getelementptr inbounds %w[0, %i, %j]
            : (!llvm.ptr, i64, i64) -> !llvm.ptr, !llvm.array<5 x !llvm.array<7 x f32>>
          %x = llvm.load %p : !llvm.ptr -> f32
          llvm.store %x, %out : f32, !llvm.ptr
          %c = llvm.mlir.addressof @count : !llvm.ptr
          %n = llvm.load %c : !llvm.ptr -> i64
          %address = llvm.ptrtoint %w : !llvm.ptr to i64
          %mask = llvm.mlir.constant(63 : i64) : i64
          %low = llvm.and %address, %mask : i64
          %sum = llvm.add %low, %n : i64
          llvm.return %sum : i64
        }}""",
        ctypes.c_int64,
        ctypes.c_int64,
        ctypes.c_int64,
        ctypes.c_void_p,
    )
    out = np.zeros(1, np.float32)
    for i, j in [(0, 0), (2, 3), (4, 6)]:
        assert function(i, j, out.ctypes.data) == 3
        assert out[0] == numbers[i, j]


def plus_hundred(value: int) -> int:
    return value + 100


def test_calls_between_functions_and_through_pointers() -> None:
    function = compiled(
        """llvm.func internal fastcc @half(%x: i32) -> i32 {
          %one = llvm.mlir.constant(1 : i32) : i32
          %0 = llvm.ashr %x, %one : i32
          llvm.return %0 : i32
        }
        llvm.func @f(%callback: !llvm.ptr, %x: i32) -> i32 {
          %0 = llvm.call fastcc @half(%x) : (i32) -> i32
          %1 = llvm.call %callback(%0) : !llvm.ptr, (i32) -> i32
          llvm.return %1 : i32
        }""",
        ctypes.c_int32,
        ctypes.c_void_p,
        ctypes.c_int32,
    )
    callback = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(plus_hundred)
    assert function(ctypes.cast(callback, ctypes.c_void_p), -10) == 95


def test_memory_intrinsics() -> None:
    function = compiled(
        """llvm.func @f(%p: !llvm.ptr, %n: i64) {
          %zero = llvm.mlir.constant(7 : i8) : i8
          %false = llvm.mlir.constant(false) : i1
          tvm_llvm.call_intrinsic "llvm.memset"(%p, %zero, %n, %false)
            : (!llvm.ptr, i8, i64, i1) -> ()
          llvm.return
        }""",
        None,
        ctypes.c_void_p,
        ctypes.c_int64,
    )
    data = np.zeros(10, np.int8)
    function(data.ctypes.data, 4)
    assert list(data) == [7] * 4 + [0] * 6


def test_half_precision_storage() -> None:
    function = compiled(
        """llvm.func @f(%p: !llvm.ptr) {
          %0 = llvm.load %p : !llvm.ptr -> f16
          %1 = llvm.fpext %0 : f16 to f32
          %2 = llvm.fadd %1, %1 : f32
          %3 = llvm.fptrunc %2 : f32 to f16
          llvm.store %3, %p : f16, !llvm.ptr
          llvm.return
        }""",
        None,
        ctypes.c_void_p,
    )
    data = np.array([1.2345], np.float16)
    expected = data + data
    function(data.ctypes.data)
    assert data == expected


def test_bf16_widens_exactly() -> None:
    function = compiled(
        """llvm.func @f(%p: !llvm.ptr) -> f32 {
          %0 = llvm.load %p : !llvm.ptr -> bf16
          %1 = llvm.fpext %0 : bf16 to f32
          llvm.return %1 : f32
        }""",
        ctypes.c_float,
        ctypes.c_void_p,
    )
    data = np.array([0x4049], np.uint16)
    assert function(data.ctypes.data) == struct.unpack("<f", b"\0\0\x49\x40")[0]


@pytest.mark.parametrize("type", ["float", "<8 x float>"])
def test_loops_of_scalars_and_of_vectors(type: str) -> None:
    """LLVM makes vectors of the former, interleaved, and unrolls both."""
    text = f"""define void @f(ptr noalias %a, ptr noalias %b) {{
b0:
  br label %b1
b1:
  %i = phi i64 [ 0, %b0 ], [ %j, %b1 ]
  %p = getelementptr inbounds {type}, ptr %a, i64 %i
  %q = getelementptr inbounds {type}, ptr %b, i64 %i
  %x = load {type}, ptr %p, align 4
  %y = fadd {type} %x, %x
  store {type} %y, ptr %q, align 4
  %j = add nsw i64 %i, 1
  %c = icmp slt i64 %j, 1024
  br i1 %c, label %b1, label %b2
b2:
  ret void
}}
"""
    assert is_vectorized(text) == (type != "float")
    code = llvm_jit.assembly(text, triple="x86_64-linux-gnu", cpu="x86-64-v3")
    assert len(re.findall(r"vaddps\s+%ymm", code)) > 1


# ---------------------------------------------------------------- what is refused


def refused(text: str, exports: Sequence[str] = ("f",)) -> str:
    """The message with which LLVM IR text is refused."""
    with pytest.raises(DiagnosticException) as error:
        llvm_jit.load(text, exports, cache=NO_CACHE)
    return str(error.value)


def test_unresolved_call_is_an_error() -> None:
    text = "declare float @expf(float)\ndefine float @f(float %x) {\n"
    text += "  %y = call float @expf(float %x)\n  ret float %y\n}\n"
    assert "'expf', which nobody defines: run tvm-expand-math" in refused(text)


def test_given_symbols_are_linked() -> None:
    callback = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(plus_hundred)
    text = "declare i32 @twice(i32)\ndefine i32 @f(i32 %x) {\n"
    text += "  %y = call i32 @twice(i32 %x)\n  %z = add i32 %y, 1\n  ret i32 %z\n}\n"
    address = ctypes.cast(callback, ctypes.c_void_p).value
    assert address is not None
    code = llvm_jit.load(text, ["f"], symbols={"twice": address}, cache=NO_CACHE)
    assert code.function("f", ctypes.c_int32, ctypes.c_int32)(20) == 121


def test_missing_export_is_an_error() -> None:
    assert "does not define '@f'" in refused("define i32 @g() {\n  ret i32 1\n}\n")


def test_rejected_text_is_an_error() -> None:
    message = refused("define i32 @f() {\n  ret i64 1\n}\n")
    assert message.startswith("LLVM rejects the module: ")
    assert "\n" not in message


def test_invalid_ssa_is_an_error() -> None:
    text = "define i32 @f(i1 %c) {\na:\n  br i1 %c, label %b, label %d\nb:\n"
    text += "  %x = add i32 1, 2\n  br label %d\nd:\n  ret i32 %x\n}\n"
    assert "dominate" in refused(text)


def test_thread_local_global_is_an_error() -> None:
    text = "@x = thread_local global i32 7\ndefine i32 @f() {\n"
    text += "  %y = load i32, ptr @x\n  ret i32 %y\n}\n"
    assert "thread_local" in refused(text)


def test_unknown_processor_and_target() -> None:
    text = "define void @f() {\n  ret void\n}\n"
    with pytest.raises(DiagnosticException, match="unknown x86-64 processor 'i386'"):
        llvm_jit.assembly(text, triple="x86_64-linux-gnu", cpu="i386")
    with pytest.raises(DiagnosticException, match="no code generation for 'sparc'"):
        llvm_jit.assembly(text, triple="sparc")


def test_missing_llvmlite_is_one_sentence() -> None:
    program = (
        "import sys; sys.modules['llvmlite'] = None; "
        "sys.modules['llvmlite.binding'] = None\n"
        "from xdsl_tvm.runtime import llvm_jit\n"
        "llvm_jit.assembly('')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stderr.rstrip().endswith(
        'DiagnosticException: native code needs llvmlite: pip install "xdsl-tvm[cpu]"'
    )


# -------------------------------------------------------------- threads, lifetime


def test_compiling_and_loading_from_many_threads() -> None:
    results: list[int] = []

    def work(number: int) -> None:
        text = f"define i32 @f() {{\n  ret i32 {number}\n}}\n"
        code = llvm_jit.load(text, ["f"], cache=NO_CACHE)
        results.append(code.function("f", ctypes.c_int32)())

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == list(range(8))


def test_function_keeps_its_code_alive_until_exit() -> None:
    program = (
        "import ctypes, gc\n"
        "from xdsl_tvm.runtime import llvm_jit\n"
        "from xdsl_tvm.runtime.object_cache import ObjectCache\n"
        "text = 'define i32 @f() {\\n  ret i32 42\\n}\\n'\n"
        "load = lambda: llvm_jit.load(text, ['f'], cache=ObjectCache(None))\n"
        "f = load().function('f', ctypes.c_int32)\n"
        "for _ in range(20): load()\n"
        "gc.collect()\n"
        "print(f())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "42\n"), done.stderr
