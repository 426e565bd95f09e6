"""Rules of targets, their registry, and what lowered functions compute."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.tir.intrinsics import (
    IntrinsicCall,
    Rule,
    register_intrin_lowering,
    unregister_intrin_lowering,
)
from xdsl_tvm.passes.tir.lower_intrin import LowerIntrin
from xdsl_tvm.tvmscript import print_script

TARGETS = (
    *("llvm", "c", "hexagon", "cuda", "nvptx", "rocm"),
    *("opencl", "metal", "vulkan", "webgpu"),
)
UNARY = (
    *("exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "erf"),
    *("rsqrt", "sqrt", "sigmoid", "tanh", "sin", "cos", "tan", "sinh"),
    *("cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "floor"),
    *("ceil", "trunc", "round", "nearbyint", "fabs"),
)
POINTS = (0.3, 0.9, -0.5, 0.5, 1.5, 2.5, -2.25, 3.0, -1000.0)
TOLERANCES = {"f16": 4e-3, "f32": 3e-6, "f64": 1e-12}


def lowered(module: ModuleOp) -> ModuleOp:
    result = LowerIntrin()(module)
    result.verify()
    return result


def unary_functions(target: str, dtype: str, names: Sequence[str]) -> ModuleOp:
    text = "".join(
        f"""
tir.func @f_{name}(%x: {dtype}) -> {dtype}
    attributes {{target = #tir.target<"{target}">}} {{
  %y = tir.call "{name}"(%x) : ({dtype}) -> {dtype}
  tir.ret %y : {dtype}
}}"""
        for name in names
    )
    return parse(text)


@pytest.mark.parametrize("target", TARGETS)
def test_every_function_of_a_float(target: str) -> None:
    # CASE: LowerIntrin.10
    for dtype, tolerance in TOLERANCES.items():
        if target == "nvptx" and dtype == "f16":
            continue
        inexact = target in ("rocm", "metal", "vulkan", "webgpu")
        names = [n for n in UNARY if not (n == "erf" and inexact and dtype == "f64")]
        module = unary_functions(target, dtype, names)
        before, after = interpret(module), interpret(lowered(module))
        for name, x in itertools.product(names, POINTS):
            wanted, found = float(before[f"f_{name}"](x)), float(after[f"f_{name}"](x))
            if np.array_equal(wanted, found, equal_nan=True):
                continue
            assert abs(wanted - found) <= tolerance * max(1, abs(wanted)), (
                name,
                dtype,
                x,
                wanted,
                found,
            )


BINARY = """
tir.func @f(%x: f32, %y: f32, %k: i32) -> f32
    attributes {{target = #tir.target<"{0}">}} {{
  %a = tir.call "atan2"(%x, %y) : (f32, f32) -> f32
  %b = tir.call "nextafter"(%a, %x) : (f32, f32) -> f32
  %c = tir.call "copysign"(%b, %y) : (f32, f32) -> f32
  %d = tir.call "hypot"(%c, %x) : (f32, f32) -> f32
  %e = tir.call "ldexp"(%d, %k) : (f32, i32) -> f32
  %f = tir.call "fmod"(%e, %y) : (f32, f32) -> f32
  %g = tir.call "fabs"(%x) : (f32) -> f32
  %h = tir.call "pow"(%g, %y) : (f32, f32) -> f32
  %r = tir.add %f, %h : f32
  tir.ret %r : f32
}}
tir.func @zeros(%x: i32, %y: i64, %u: ui32) -> i32
    attributes {{target = #tir.target<"{0}">}} {{
  %a = tir.call "clz"(%x) : (i32) -> i32
  %b = tir.call "clz"(%y) : (i64) -> i32
  %c = tir.call "popcount"(%u) : (ui32) -> ui32
  %d = tir.cast %c : ui32 to i32
  %e = tir.add %a, %b : i32
  %f = tir.mul %e, %d : i32
  %g = tir.call "floor"(%f) : (i32) -> i32
  tir.ret %g : i32
}}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_functions_of_two_numbers_and_of_bits(target: str) -> None:
    # CASE: LowerIntrin.10
    module = parse(BINARY.format(target))
    inputs = {
        "f": [(0.7, 1.3, 2), (-2.0, -0.25, -1), (5.5, 3.0, 0)],
        "zeros": [(0, 0, 0), (-1, 1 << 40, 2**32 - 1), (17, -3, 12345), (1, 0, 7)],
    }
    report = check_semantics(module, [LowerIntrin()], inputs, tolerance=1e-6)
    assert report.checked == ["f", "zeros"]
    if target not in ("c", "hexagon", "webgpu", "nvptx", "rocm"):
        assert 'tir.call "clz"' not in str(lowered(module))


def test_functions_of_vectors() -> None:
    text = """
tir.func @f(%a: !tir.handle) attributes {target = #tir.target<"llvm">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<1xvector<4xf32>>
  %c0 = tir.const 0 : i32
  %x = tir.load %A[%c0] : vector<4xf32>
  %y = tir.call "tanh"(%x) : (vector<4xf32>) -> vector<4xf32>
  %z = tir.call "sigmoid"(%y) : (vector<4xf32>) -> vector<4xf32>
  %e = tir.call "exp10"(%z) : (vector<4xf32>) -> vector<4xf32>
  %p = tir.mul %e, %x : vector<4xf32>
  %s = tir.add %p, %x : vector<4xf32>
  tir.store %s, %A[%c0] : vector<4xf32>
}
"""
    for target in ("llvm", "opencl", "metal", "vulkan", "rocm"):
        module = parse(text.replace('"llvm"', f'"{target}"'))
        assert check_semantics(module, [LowerIntrin()], tolerance=1e-5).checked


def test_all_small_pairs() -> None:
    # CASE: LowerIntrin.1
    numbers = [n for n in range(-10, 10) if n]
    for dtype in ("i16", "i32", "i64"):
        module = parse(f"""
tir.func @f(%x: {dtype}, %y: {dtype}) -> {dtype}
    attributes {{target = #tir.target<"llvm">}} {{
  %a = tir.floordiv %x, %y : {dtype}
  %b = tir.floormod %x, %y : {dtype}
  %c = tir.const 100 : {dtype}
  %d = tir.mul %a, %c : {dtype}
  %e = tir.add %d, %b : {dtype}
  tir.ret %e : {dtype}
}}
""")
        result = lowered(module)
        assert "tir.floor" not in str(result)
        run = interpret(result)["f"]
        for x, y in itertools.product(range(-10, 10), numbers):
            assert run(x, y) == x // y * 100 + x % y, (x, y, dtype)


SIGNED = [(-12, -12), (-11, -1), (-11, 0), (0, 0), (12, 12), (1, 11), (0, 11), (-11, 11)]
SIGNED_DIVISORS = [
    *((-11, -1), (-11, 1), (-4, -4), (-2, -2)),
    *((1, 11), (0, 11), (4, 4), (2, 2), (-11, 11)),
]
UNSIGNED = [(0, 0), (12, 12), (1, 11), (0, 11), (0, 255)]
UNSIGNED_DIVISORS = [(1, 11), (0, 11), (4, 4), (2, 2), (1, 255)]


def _clipped(dtype: str) -> Iterator[tuple[tuple[int, int], tuple[int, int], str]]:
    signed = not dtype.startswith("u")
    ranges = SIGNED if signed else UNSIGNED
    for a, b in itertools.product(
        ranges, SIGNED_DIVISORS if signed else UNSIGNED_DIVISORS
    ):
        yield a, b, dtype


@pytest.mark.parametrize("dtype", ["i8", "i32", "ui8", "ui32"])
def test_clipped_operands(dtype: str) -> None:
    # CASE: LowerIntrin.6
    # Strides of 4 pass all ranges, and all divisors.
    chosen = slice(None, None, 1 if "XDSL_TVM_FUZZ" in os.environ else 4)
    for index, (a, b, _) in [*enumerate(_clipped(dtype))][chosen]:
        limits = "\n".join(
            f"  %{name}{end} = tir.const {limit} : {dtype}"
            for name, ends in (("a", a), ("b", b))
            for end, limit in enumerate(ends)
        )
        module = parse(f"""
tir.func @f(%x: {dtype}, %y: {dtype}) -> i64 attributes {{target = #tir.target<"c">}} {{
{limits}
  %p = tir.max %x, %a0 : {dtype}
  %q = tir.min %p, %a1 : {dtype}
  %r = tir.max %y, %b0 : {dtype}
  %s = tir.min %r, %b1 : {dtype}
  %d = tir.floordiv %q, %s : {dtype}
  %m = tir.floormod %q, %s : {dtype}
  %t = tir.div %q, %s : {dtype}
  %o = tir.mod %q, %s : {dtype}
  %w0 = tir.cast %d : {dtype} to i64
  %w1 = tir.cast %m : {dtype} to i64
  %w2 = tir.cast %t : {dtype} to i64
  %w3 = tir.cast %o : {dtype} to i64
  %k = tir.const 1000 : i64
  %e = tir.mul %w0, %k : i64
  %f = tir.add %e, %w1 : i64
  %g = tir.mul %f, %k : i64
  %h = tir.add %g, %w2 : i64
  %i = tir.mul %h, %k : i64
  %j = tir.add %i, %w3 : i64
  tir.ret %j : i64
}}
""")
        before, after = interpret(module)["f"], interpret(lowered(module))["f"]
        points = [*{*a, (a[0] + a[1]) // 2}], [n for n in {*b, b[0] + 1} if n]
        for x, y in itertools.product(*points):
            if min(max(y, b[0]), b[1]):
                assert before(x, y) == after(x, y), (index, a, b, x, y)


def test_a_value_divides_where_its_select_takes_the_other() -> None:
    """A quotient that is wrong in the other case must not become a divisor of zero."""
    module = parse("""
tir.func @f(%x: i32) -> i32 attributes {target = #tir.target<"llvm">} {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c3 = tir.const 3 : i32
  %px = tir.cmp ge %x, %c0 : i32
  %a = tir.floordiv %x, %c3 : i32
  %b = tir.add %a, %c1 : i32
  %d = tir.div %c3, %b : i32
  %e = tir.select %px, %d, %c0 : i1, i32
  tir.ret %e : i32
}
""")
    run = interpret(lowered(module))["f"]
    assert [run(x) for x in (-5, -4, 0, 6)] == [0, 0, 3, 1]


Q_MULTIPLY = """
tir.func @f(%x: i32, %y: i32, %s: i32) -> i32 attributes {target = #tir.target<"llvm">} {
  %q = tir.const 31 : i32
  %half = tir.const 1073741824 : i32
  %two = tir.const 2 : i32
  %zero = tir.const 0 : i32
  %four = tir.const -4 : i32
  %yes = tir.const true
  %no = tir.const false
  %a = tir.call "q_multiply_shift"(%x, %y, %q, %s) : (i32, i32, i32, i32) -> i32
  %b = tir.call "q_multiply_shift"(%x, %half, %q, %four) : (i32, i32, i32, i32) -> i32
  %c = tir.call "q_multiply_shift"(%x, %half, %q, %two) : (i32, i32, i32, i32) -> i32
  %d = tir.call "q_multiply_shift_per_axis"(%x, %y, %two, %zero, %q, %yes, %no)
      : (i32, i32, i32, i32, i32, i1, i1) -> i32
  %e = tir.call "q_multiply_shift"(%x, %y, %s, %two) : (i32, i32, i32, i32) -> i32
  %f = tir.call "bitwise_xor"(%a, %b) : (i32, i32) -> i32
  %g = tir.call "bitwise_xor"(%c, %d) : (i32, i32) -> i32
  %h = tir.call "bitwise_xor"(%e, %f) : (i32, i32) -> i32
  %i = tir.call "bitwise_xor"(%h, %g) : (i32, i32) -> i32
  tir.ret %i : i32
}
"""


def test_fixed_point_products() -> None:
    # CASE: LowerIntrin.18
    module = parse(Q_MULTIPLY)
    numbers = (0, 1, -1, 5, 2**31 - 1, -(2**31), 123456789)
    points = [
        (x, y, s) for x in numbers for y in (1 << 30, 77, 2**31 - 1) for s in (0, 3)
    ]
    check_semantics(module, [LowerIntrin()], {"f": points}, tolerance=0.0)
    assert "q_multiply" not in str(lowered(module))


# ---- shuffles ----

SHUFFLE = """
tir.func @f(%a: !tir.handle, %b: !tir.handle)
    attributes {{target = #tir.target<"{target}">}} {{
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<64xf32>
  %c3 = tir.const 3 : i32
  %w = tir.const {width} : i32
  %c32 = tir.const 32 : i32
  %c64 = tir.const 64 : i32
  tir.launch_thread %x = "threadIdx.x" to %c64 {{
    %v = tir.load %A[%x] : f32
    %m = tir.call "tvm_warp_activemask"() : () -> {mask}
    %s = tir.call "tvm_warp_shuffle{kind}"(%m, %v, %c3, %w, %c32)
        : ({mask}, f32, i32, i32, i32) -> f32
    tir.store %s, %B[%x] : f32
  }}
}}
"""


@pytest.mark.parametrize("target", ["cuda", "metal", "rocm", "opencl"])
@pytest.mark.parametrize("kind", ["", "_up", "_down"])
def test_shuffles(target: str, kind: str) -> None:
    # CASE: LowerIntrin.17
    if target == "opencl" and kind:
        return
    for width in (8, 32) if target in ("cuda", "rocm") else (32,):
        text = SHUFFLE.format(target=target, kind=kind, width=width, mask="ui32")
        module = parse(text)
        a = np.arange(64, dtype=np.float32)
        before, after = np.zeros((2, 64), np.float32)
        interpret(module)["f"](a, before)
        interpret(lowered(module))["f"](a, after)
        lanes = np.arange(64) % 32
        valid = np.full(64, True)
        if target == "metal" and kind:
            # Lanes that the shuffle names no lane for.
            valid = lanes >= 3 if kind == "_up" else lanes < 29
        assert np.array_equal(before[valid], after[valid]), (before, after)


# ---- rules of users ----


def test_rules_of_users() -> None:
    # CASE: LowerIntrin.13
    module = unary_functions("llvm", "f32", ["exp"])

    @register_intrin_lowering("tir.exp", "llvm", level=11)
    def _fast(call: IntrinsicCall) -> Expr | IntrinsicCall:
        return (
            call
            if call.dtype != tir.parse_dtype("float32")
            else call.extern("my_exp", *call.args)
        )

    try:
        assert 'tir.string "my_exp"' in str(lowered(module))
        other = unary_functions("llvm", "f64", ["exp"])
        assert '"llvm.exp"' not in str(lowered(other))
        assert '"exp"' in str(lowered(other))
        with pytest.raises(ValueError, match="has a rule of level 11"):
            register_intrin_lowering("exp", "llvm", f=_fast, level=11)
        with pytest.raises(ValueError, match="has a rule of level 10"):
            register_intrin_lowering("exp", "llvm", f=_fast)
    finally:
        unregister_intrin_lowering("tir.exp", "llvm", level=11)
    assert '"llvm.exp"' in str(lowered(module))
    with pytest.raises(KeyError, match="no rule of level 11"):
        unregister_intrin_lowering("tir.exp", "llvm", level=11)


def _none(call: IntrinsicCall) -> Expr | IntrinsicCall | None:
    return None


def _wide(call: IntrinsicCall) -> Expr:
    return smart.cast(tir.parse_dtype("float64"), call.args[0])


def _again(call: IntrinsicCall) -> Expr:
    return smart.call("exp", [smart.mul(2, call.args[0])], call.dtype)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (_none, "must always return a valid expression"),
        (_wide, "returned an expression of type f64 for f32"),
        (_again, "makes calls of 'exp' without an end"),
    ],
)
def test_wrong_rules(rule: Rule, message: str) -> None:
    # CASE: LowerIntrin.13
    register_intrin_lowering("tir.exp", "llvm", f=rule, level=12)
    try:
        with pytest.raises(PassFailedException, match=message):
            lowered(unary_functions("llvm", "f32", ["exp"]))
    finally:
        unregister_intrin_lowering("tir.exp", "llvm", level=12)


def test_builtins_that_only_calls_by_name_have() -> None:
    text = """
tir.func @f(%x: f32) -> i1 attributes {target = #tir.target<"c">} {
  %a = tir.call "isinf"(%x) : (f32) -> i1
  %b = tir.call "isfinite"(%x) : (f32) -> i1
  %c = tir.or %a, %b : i1
  tir.ret %c : i1
}
tir.func @g(%x: i32) -> i1 attributes {target = #tir.target<"c">} {
  %a = tir.call "isfinite"(%x) : (i32) -> i1
  tir.ret %a : i1
}
"""
    run = interpret(lowered(parse(text)))
    assert [run["f"](x) for x in (1.0, np.inf, -np.inf, np.nan)] == [1, 1, 1, 0]
    assert run["g"](3)


def test_functions_of_the_user_and_of_the_module_come_first() -> None:
    module = parse("""
tir.func @expf(%x: f32) -> f32 {
  tir.ret %x : f32
}
tir.func @f(%x: f32) -> f32 attributes {target = #tir.target<"c">} {
  %s = tir.string "expf"
  %y = tir.call "call_pure_extern"(%s, %x) : (!tir.handle, f32) -> f32
  %t = tir.string "sqrtf"
  %z = tir.call "call_pure_extern"(%t, %y) : (!tir.handle, f32) -> f32
  tir.ret %z : f32
}
""")
    assert interpret(module)["f"](4.0) == 2.0
    assert interpret(module, externs={"sqrtf": np.negative})["f"](4.0) == -4.0


def test_a_sum_that_fits_is_rounded_by_a_shift() -> None:
    # CASE: LowerIntrin.18
    module = parse("""
tir.func @f(%a: !tir.handle) attributes {target = #tir.target<"llvm">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %y = tir.const 1073741824 : i32
  %q = tir.const 31 : i32
  %s = tir.const -2 : i32
  tir.for "i" %i = %c0 to %c8 {
    %j = tir.mul %i, %c8 : i32
    %p = tir.call "q_multiply_shift"(%j, %y, %q, %s) : (i32, i32, i32, i32) -> i32
    tir.store %p, %A[%i] : i32
  }
}
""")
    assert "T.shift_right(i * 8 + 4, 3)" in print_script(lowered(module))
    assert check_semantics(module, [LowerIntrin()]).checked


def test_prefetch_and_scripts() -> None:
    module = parse("""
tir.func @f(%a: !tir.handle) attributes {target = #tir.target<"llvm">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  %c1 = tir.const 1 : i32
  %p = tir.address_of %A[%c0] : !tir.ptr<f32>
  tir.call "prefetch"(%p, %c0, %c3, %c1) : (!tir.ptr<f32>, i32, i32, i32) -> ()
  %x = tir.load %A[%c0] : f32
  %y = tir.call "exp"(%x) : (f32) -> f32
  tir.store %y, %A[%c1] : f32
}
""")
    text = print_script(lowered(module))
    assert 'T.call_llvm_pure_intrin("float32", "llvm.exp", T.uint32(1), A[0])' in text
    assert '"llvm.prefetch", T.uint32(4), T.address_of(A[0]), 0, 3, 1' in text
    assert check_semantics(module, [LowerIntrin()]).checked
