"""Operations on user-defined dtypes, and what is registered for them."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.ir import parse as parse_ir
from support.tiny_dtype import functions, registered
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import InterpretationError, PassFailedException

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import numpy_float
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.tir import LowerCustomDatatypes, datatype
from xdsl_tvm.tvmscript import parse, print_script

EXAMPLE = Path(__file__).parents[4] / "examples" / "datatypes" / "tiny16.py"
TINY = '!tir.custom<"tiny16", 16>'


@pytest.fixture(autouse=True)
def tiny() -> Iterator[None]:
    with registered():
        yield


def lowered(module: ModuleOp) -> ModuleOp:
    result = LowerCustomDatatypes()(module)
    result.verify()
    return result


def body(text: str) -> str:
    """The script of the statements of a lowered function of A and B."""
    module = parse(f"""
@T.prim_func
def f(A: T.Buffer((8,), "custom[tiny16]16"), B: T.Buffer((8,), "custom[tiny16]16"),
      F: T.Buffer((8,), "float32")):
    T.func_attr({{"target": T.target("llvm")}})
    for i in range(8):
        {text}
""")
    return print_script(lowered(module))


def test_addition() -> None:
    # CASE: LowerCustomDatatypes.1
    script = body("B[i] = A[i] + A[i]")
    call = 'T.call_pure_extern("uint16", "Tiny16Add", A_1[i], A_1[i])'
    assert f"B_1[i] = {call}" in script


def test_casts() -> None:
    # CASE: LowerCustomDatatypes.2
    script = body('F[i] = T.Cast("float32", A[i] * T.Cast("custom[tiny16]16", F[i]))')
    there = 'T.call_pure_extern("uint16", "float32Totiny16", F[i])'
    product = f'T.call_pure_extern("uint16", "Tiny16Mul", A_1[i], {there})'
    assert f'T.call_pure_extern("float32", "tiny16Tofloat32", {product})' in script


def test_constants() -> None:
    # CASE: LowerCustomDatatypes.3
    script = body('B[i] = T.FloatImm("custom[tiny16]16", 3.0)')
    assert 'T.call_pure_extern("uint16", "FloatToTiny16", T.float32(3.0))' in script


def test_parameters_keep_their_type() -> None:
    # CASE: LowerCustomDatatypes.9
    script = body('B[i] = A[i] + T.Cast("custom[tiny16]16", T.float32(1.5))')
    there = 'T.call_pure_extern("uint16", "float32Totiny16", T.float32(1.5))'
    sum_ = f'T.call_pure_extern("uint16", "Tiny16Add", A_1[i], {there})'
    assert f"B_1[i] = {sum_}" in script
    assert 'A: T.Buffer((8,), "custom[tiny16]16")' in script
    assert 'A_1 = T.decl_buffer((8,), "uint16", data=A.data)' in script


def test_nested_operations() -> None:
    # CASE: LowerCustomDatatypes.10
    script = body("B[i] = T.max(A[i], B[i]) / A[i]")
    inner = 'T.call_pure_extern("uint16", "Tiny16Max", A_1[i], B_1[i])'
    assert f'T.call_pure_extern("uint16", "Tiny16Div", {inner}, A_1[i])' in script
    script = body("B[i] = A[i] * B[i] - A[i]")
    inner = 'T.call_pure_extern("uint16", "Tiny16Mul", A_1[i], B_1[i])'
    assert f'T.call_pure_extern("uint16", "Tiny16Sub", {inner}, A_1[i])' in script


def test_memory_and_its_attributes() -> None:
    # CASE: LowerCustomDatatypes.4
    # CASE: LowerCustomDatatypes.5. The memory keeps its scope, which TVM drops.
    module = parse_ir(
        f"""
tir.func @f(%a: !tir.ptr<{TINY}>, %b: !tir.ptr<vector<2x{TINY}>>)
    attributes {{target = #tir.target<"llvm">}} {{
  %A = tir.decl_buffer %a : !tir.buffer<4x{TINY}>
  %B = tir.decl_buffer %b : !tir.buffer<4xvector<2x{TINY}>>
  %c0 = tir.const 0 : i32
  %m = tir.allocate "M" [4] : !tir.ptr<{TINY}, "local">
  tir.attr "storage_alignment" (%m) = 32 : i32 {{
    %M = tir.decl_buffer %m : !tir.buffer<4x{TINY}, "local">
    %x = tir.load %A[%c0] : {TINY}
    tir.store %x, %M[%c0] : {TINY}
    %y = tir.load %M[%c0] : {TINY}
    %z = tir.let "z" %y : {TINY}
    %v = tir.broadcast %z : vector<2x{TINY}>
    tir.store %v, %B[%c0] : vector<2x{TINY}>
  }}
}}
"""
    )
    text = str(lowered(module))
    assert f"@f(%a: !tir.ptr<{TINY}>, %b: !tir.ptr<vector<2x{TINY}>>)" in text
    assert text.count("tir.custom") == 2
    for expected in (
        "tir.decl_buffer %a : !tir.buffer<4xui16>",
        "tir.decl_buffer %b : !tir.buffer<4xvector<2xui16>>",
        '!tir.ptr<ui16, "local">',
        'tir.attr "storage_alignment" (%m)',
        '!tir.buffer<4xui16, "local">',
        "tir.store %v, %B[%c0] : vector<2xui16>",
    ):
        assert expected in text, text


def test_builtins_and_choices() -> None:
    # CASE: LowerCustomDatatypes.6. The choice needs no function.
    lower = datatype.create_lower_func({16: "Tiny16Exp"})
    datatype.register_op(lower, "Call", "llvm", "tiny16", intrinsic_name="tir.exp")
    script = body("B[i] = T.if_then_else(A[i] < B[i], T.exp(A[i]), B[i])")
    less = 'T.call_pure_extern("bool", "Tiny16LT", A_1[i], B_1[i])'
    other = 'T.call_pure_extern("uint16", "Tiny16Exp", A_1[i])'
    assert f"T.if_then_else({less}, {other}, B_1[i])" in script


def test_what_tvm_calls_by_pure_extern_calls() -> None:
    datatype.register_op(
        datatype.lower_call_pure_extern,
        "Call",
        "llvm",
        "tiny16",
        intrinsic_name="tir.call_pure_extern",
    )
    least = datatype.create_min_lower_func({16: "Tiny16Min_"}, "tiny16")
    datatype.register_min_func(least, "tiny16")
    ops = datatype.minimum_of(tir.parse_dtype("custom[tiny16]16"))
    assert ops[-1].results[0].type == tir.parse_dtype("custom[tiny16]16")
    with pytest.raises(RuntimeError, match="missing minimum function"):
        least(8)
    script = body('B[i] = T.call_pure_extern("custom[tiny16]16", "Tiny16Min_")')
    assert 'B_1[i] = T.call_pure_extern("uint16", "Tiny16Min_")' in script


MISSING = [
    ("B[i] = A[i] + B[i]", "Add lowering function for target cuda type tiny16 not found"),
    (
        "F[i] = T.Cast('float32', A[i])",
        "Cast lowering function for target cuda destination type float source type "
        "tiny16 not found",
    ),
    (
        "B[i] = T.FloatImm('custom[tiny16]16', 1.0)",
        "FloatImm lowering function for target cuda type tiny16 not found",
    ),
    (
        "B[i] = T.exp(A[i])",
        "Intrinsic lowering function for target cuda, intrinsic name tir.exp, type "
        "tiny16 not found",
    ),
    (
        "F[i] = T.Select(A[i] < B[i], F[i], F[i])",
        "LT lowering function for target cuda type tiny16 not found",
    ),
    (
        "B[i] = T.FloorDiv(A[i], B[i])",
        "FloorDiv lowering function for target cuda type tiny16 not found",
    ),
]


@pytest.mark.parametrize(("text", "message"), MISSING)
def test_missing_functions(text: str, message: str) -> None:
    # CASE: LowerCustomDatatypes.8
    module = parse(f"""
@T.prim_func
def f(A: T.Buffer((8,), "custom[tiny16]16"), B: T.Buffer((8,), "custom[tiny16]16"),
      F: T.Buffer((8,), "float32")):
    T.func_attr({{"target": T.target("cuda")}})
    for i in range(8):
        {text}
""")
    with pytest.raises(PassFailedException, match=message):
        lowered(module)


def test_a_width_without_a_symbol() -> None:
    module = parse_ir("""
tir.func @f(%x: !tir.custom<"tiny16", 8>) -> !tir.custom<"tiny16", 8>
    attributes {target = #tir.target<"llvm">} {
  %y = tir.add %x, %x : !tir.custom<"tiny16", 8>
  tir.ret %y : !tir.custom<"tiny16", 8>
}
""")
    with pytest.raises(PassFailedException, match="missing key 8 in extern_func_map"):
        lowered(module)


def test_calls_offunctions() -> None:
    module = parse_ir(f"""
tir.func private @g(%x: {TINY}) -> {TINY} attributes {{target = #tir.target<"llvm">}} {{
  tir.ret %x : {TINY}
}}
tir.func @f(%x: {TINY}) -> {TINY} attributes {{target = #tir.target<"llvm">}} {{
  %y = tir.call_func @g(%x) : ({TINY}) -> {TINY}
  tir.ret %y : {TINY}
}}
""")
    with pytest.raises(PassFailedException, match="non-intrinsic Calls not implemented"):
        lowered(module)


def test_pointers_forfunctions() -> None:
    module = parse_ir(f"""
tir.func private @g(%p: !tir.ptr<{TINY}>) attributes {{target = #tir.target<"llvm">}} {{
}}
tir.func @f() attributes {{target = #tir.target<"llvm">}} {{
  %m = tir.allocate [4] : !tir.ptr<{TINY}>
  tir.call_func @g(%m) : (!tir.ptr<{TINY}>) -> ()
}}
""")
    assert f'"reinterpret"(%m) : (!tir.ptr<ui16>) -> !tir.ptr<{TINY}>' in str(
        lowered(module)
    )


def test_scalar_parameters() -> None:
    module = parse_ir(f"""
tir.func @f(%x: {TINY}, %n: i32) -> {TINY} attributes {{target = #tir.target<"llvm">}} {{
  %y = tir.sub %x, %x : {TINY}
  tir.ret %y : {TINY}
}}
""")
    text = str(lowered(module))
    assert f"(%x: {TINY}, %n: i32) -> ui16" in text
    assert f'"reinterpret"(%x) : ({TINY}) -> ui16' in text


def test_operations_without_a_lowering() -> None:
    module = parse_ir(f"""
tir.func @f(%x: {TINY}) attributes {{target = #tir.target<"llvm">}} {{
  "test.op"(%x) : ({TINY}) -> ()
}}
""")
    with pytest.raises(PassFailedException, match=r"test\.op in @f: it has no lowering"):
        lowered(module)


def test_a_function_in_python() -> None:
    """A lowering function may return any expression of the integers."""

    def negated(operation: datatype.CustomOperation) -> Expr:
        sign = smart.const(1 << 15, operation.dtype)
        return smart.call("bitwise_xor", [operation.args[0], sign], operation.dtype)

    datatype.register_op(negated, "Call", "llvm", "tiny16", intrinsic_name="tir.fabs")
    assert "B_1[i] = T.bitwise_xor(A_1[i], T.uint16(32768))" in body("B[i] = T.abs(A[i])")


def test_the_registry() -> None:
    assert datatype.get_type_code("tiny16") == 131
    assert datatype.get_type_name(131) == "tiny16"
    assert datatype.get_type_registered(131)
    assert not datatype.get_type_registered(132)
    datatype.register("tiny16", 131)
    with pytest.raises(ValueError, match="at least 129"):
        datatype.register("other", 128)
    with pytest.raises(ValueError, match="has the code 131 already"):
        datatype.register("tiny16", 132)
    with pytest.raises(ValueError, match="that of the custom dtype 'tiny16'"):
        datatype.register("other", 131)
    with pytest.raises(KeyError, match="not registered"):
        datatype.get_type_code("other")
    with pytest.raises(KeyError, match="no custom dtype has the code 140"):
        datatype.get_type_name(140)
    lower = datatype.create_lower_func({})
    with pytest.raises(ValueError, match="no operation 'Pow'"):
        datatype.register_op(lower, "Pow", "llvm", "tiny16")
    with pytest.raises(ValueError, match="dest_type_name"):
        datatype.register_op(lower, "Cast", "llvm", "tiny16")
    with pytest.raises(ValueError, match="intrinsic_name"):
        datatype.register_op(lower, "Call", "llvm", "tiny16")


# ---- execution ----


STATEMENTS = (
    "B[i] = A[i] * B[i] - A[i]",
    "B[i] = T.max(A[i], B[i]) / (A[i] * A[i] + T.FloatImm('DTYPE', 1.0))",
    "B[i] = T.if_then_else(A[i] < B[i], A[i] + B[i], T.min(A[i], B[i]))",
    "B[i] = T.Select(A[i] == B[i], A[i], T.Cast('DTYPE', T.Cast('float32', A[i])))",
    "F[i] = T.Cast('float32', A[i] / T.FloatImm('DTYPE', 3.0))",
)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_execution(statement: str) -> None:
    """The lowered program computes what that on the native dtype of the format does."""
    text = f"""
@T.prim_func
def f(A: T.Buffer((16,), "DTYPE"), B: T.Buffer((16,), "DTYPE"),
      F: T.Buffer((16,), "float32")):
    T.func_attr({{"target": T.target("llvm")}})
    for i in range(16):
        {statement}
"""
    rng = np.random.default_rng(3)
    narrow = numpy_float("bfloat16")
    a, b = rng.normal(size=(2, 16)).astype(narrow)
    b[3] = a[3]
    wide = rng.normal(size=16).astype(np.float32)
    native = a.copy(), b.copy(), wide.copy()
    interpret(parse(text.replace("DTYPE", "bfloat16")))["f"](*native)
    custom = a.view(np.uint16), b.view(np.uint16), wide
    module = parse(text.replace("DTYPE", "custom[tiny16]16"))
    with pytest.raises(InterpretationError):
        interpret(module)["f"](*(array.copy() for array in custom))
    interpret(lowered(module), externs=functions())["f"](*custom)
    for found, expected in zip((a, b, wide), native, strict=True):
        assert np.array_equal(found.astype(np.float32), expected.astype(np.float32))


def test_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert '"TinyMul"' in capsys.readouterr().out
