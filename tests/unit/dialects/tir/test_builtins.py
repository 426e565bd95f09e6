"""The table of builtins: look-up, result types, and what `tir.call` accepts by it."""

from __future__ import annotations

import pytest
from support.effort import calls
from support.ir import parse
from xdsl.dialects import test
from xdsl.dialects.builtin import f32, f64, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.transforms.common_subexpression_elimination import (
    CommonSubexpressionElimination,
)
from xdsl.transforms.dead_code_elimination import DeadCodeElimination
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.analysis.tir.side_effect import side_effect
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import CallEffect
from xdsl_tvm.dialects.tir.builtin_rules import KINDS, parse_operand, parse_result
from xdsl_tvm.registry import new_context

CALLS = [name for name, row in tir.INTRINSICS.items() if row.op is None]
DTYPES = {
    "any": "float32",
    "number": "float32",
    "int": "int32",
    "index": "int32",
    "int32": "int32",
    "int8x4": "int8x4",
    "float": "float32",
    "bool": "bool",
    "bools": "bool",
    "vector": "float32x8",
    "handle": "handle",
    "nullable": "handle",
    "resource": "handle",
}
WRONG = tir.BufferType([4], f32)
"""A type that no operand of a builtin has."""


def value(dtype: Attribute) -> SSAValue:
    return test.TestOp(result_types=[dtype]).results[0]


def constant(number: int) -> SSAValue:
    return tir.ConstOp.of(number, i32).result


def sample(operand: tir.Operand, known: dict[str, SSAValue]) -> SSAValue:
    """A value that an operand accepts."""
    if operand.like:
        return value(known[operand.like].type)
    if operand.kind in ("string", "name"):
        return tir.StringOp(operand.choices[0] if operand.choices else "f").result
    if operand.kind in ("const", "field"):
        return constant(int(operand.choices[0]) if operand.choices else 4)
    if operand.kind == "pointer":
        return value(tir.PtrType(f32))
    return value(tir.parse_dtype(DTYPES[operand.kind]))


def operands_of(row: tir.Intrinsic) -> list[SSAValue]:
    """All operands of a call, two for a list of them."""
    known: dict[str, SSAValue] = {}
    found: list[SSAValue] = []
    for operand in row.operands:
        for _ in range(2 if operand.is_variadic else 1):
            known[operand.name] = sample(operand, known)
            found.append(known[operand.name])
    return found


EXPLICIT = {"reinterpret": i32, "get_active_lane_mask": tir.parse_dtype("uint1x4")}


def result_of(row: tir.Intrinsic, args: list[SSAValue]) -> Attribute | None:
    if row.result.rule is tir.ResultRule.EXPLICIT:
        return EXPLICIT.get(row.name, f32)
    return tir.infer_result_type(row.name, [arg.type for arg in args])


def refused(name: str, args: list[SSAValue], result: Attribute | None) -> str:
    """Why a call does not verify, in one line."""
    with pytest.raises(VerifyException) as found:
        tir.CallOp(name, args, result).verify_()
    message = str(found.value)
    assert "\n" not in message
    assert message.startswith(f'tir.call "{name}": ')
    return message


@pytest.mark.parametrize("name", CALLS)
def test_each_builtin_can_be_called(name: str) -> None:
    row = tir.INTRINSICS[name]
    args = operands_of(row)
    call = tir.CallOp(name, args, result_of(row, args))
    call.verify_()
    assert row.error(args, result_of(row, args)) is None
    required = [
        arg
        for arg, operand in zip(args, row.layout(len(args)), strict=True)
        if not operand.is_optional
    ]
    tir.CallOp(name, required, result_of(row, required)).verify_()
    assert tir.builtin_name(call) == name
    if row.may_drop_result and row.check is None:
        tir.CallOp(name, args).verify_()


@pytest.mark.parametrize("name", CALLS)
def test_each_builtin_refuses_wrong_operands(name: str) -> None:
    row = tir.INTRINSICS[name]
    args = operands_of(row)
    result = result_of(row, args)
    for index, operand in enumerate(row.layout(len(args))):
        changed = [*args[:index], value(WRONG), *args[index + 1 :]]
        message = refused(name, changed, result)
        assert f": operand {operand.name} must be " in message
        assert message.endswith(f"got a value of type {WRONG}")


@pytest.mark.parametrize("name", CALLS)
def test_each_builtin_refuses_a_wrong_number_of_operands(name: str) -> None:
    row = tir.INTRINSICS[name]
    args = operands_of(row)
    result = result_of(row, args)
    if row.most is not None:
        assert " takes " in refused(name, [*args, constant(0)], result)
    if row.least > 0:
        short = args[: row.least - 1]
        assert f", got {row.least - 1}" in refused(name, short, result)


@pytest.mark.parametrize("name", CALLS)
def test_each_builtin_refuses_a_wrong_result(name: str) -> None:
    row = tir.INTRINSICS[name]
    args = operands_of(row)
    if row.result.rule is not tir.ResultRule.EXPLICIT:
        found = tir.parse_dtype("float64x3")
        message = refused(name, args, found)
        assert message.endswith(f"got {found}")
    if not (row.may_drop_result or row.result.is_void):
        assert "gives a value" in refused(name, args, None)


# ---- rows that the specification singles out ----


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("fmod", 2),
        ("q_multiply_shift", 4),
        ("lookup_param", 1),
        ("TVMBackendAnyListMoveFromPackedReturn", 5),
        ("ptx_mma_sp", 16),
    ],
)
def test_operands_are_those_that_the_code_takes(name: str, count: int) -> None:
    row = tir.INTRINSICS[name]
    assert (row.least, row.most) == (count, count)


def test_numbers_of_operands() -> None:
    mma = tir.INTRINSICS["ptx_mma"]
    assert (mma.least, mma.most) == (13, 14)
    scope = tir.StringOp("global").result
    lead, blocks = value(i1), value(i32)
    tir.CallOp("tvm_storage_sync", [scope, lead, blocks]).verify_()
    assert refused("tvm_storage_sync", [scope, lead], None).endswith(
        "takes 1 or 3 operands (scope, is_lead, num_blocks), got 2"
    )
    assert refused("exp", [], f32).endswith("takes 1 operand (x), got 0")
    assert refused("call_extern", [], f32).endswith(
        "takes 1 or more operands (name, args...), got 0"
    )
    assert refused("vscale", [blocks], i32).endswith("takes 0 operands, got 1")


def test_errors_name_operand_and_expectation() -> None:
    x, y = value(f32), value(f64)
    assert refused("pow", [x, y], f32) == (
        'tir.call "pow": operand b must be f32, the type of a, got a value of type f64'
    )
    assert refused("exp", [x], f64) == (
        'tir.call "exp": the result must be f32, of the type of x, got f64'
    )
    scope = tir.StringOp("block").result
    assert refused("tvm_storage_sync", [scope], i32) == (
        'tir.call "tvm_storage_sync": operand scope must be a tir.string, one of shared, '
        'shared.dyn, warp, global, got the tir.string "block"'
    )
    handle, zero = value(tir.HandleType()), constant(0)
    assert refused("tvm_struct_get", [handle, zero, constant(11)], i32) == (
        'tir.call "tvm_struct_get": operand field must be a constant that is a field '
        "number of tir.StructField, got the constant 11 : i32"
    )
    assert refused("reinterpret", [x], i64) == (
        'tir.call "reinterpret": f32 has 32 bits and i64 has 64; they must be as many'
    )
    assert "vector of i1" in refused("get_active_lane_mask", [zero, zero], i1)


def test_strings_are_no_pointers() -> None:
    text = tir.StringOp("f").result
    assert "operand h must be a handle" in refused("isnullptr", [text], i1)
    tir.CallOp("call_extern", [text, text], i32).verify_()


def test_null_pointers() -> None:
    data, shape = value(tir.PtrType(f32)), value(tir.HandleType())
    for strides in (constant(0), shape):
        args = [data, shape, strides, constant(1), value(f32), constant(0)]
        tir.CallOp("tvm_stack_make_array", args, tir.HandleType()).verify_()
    args = [data, shape, constant(1), constant(1), value(f32), constant(0)]
    message = refused("tvm_stack_make_array", args, tir.HandleType())
    assert "operand strides must be a handle or the constant 0" in message
    null = tir.ConstOp.of(0, tir.parse_dtype("uint64"))
    tir.CallOp("reinterpret", [null], tir.HandleType()).verify_()


def test_handles_may_be_typed() -> None:
    space = [constant(n) for n in (1, 0, 64, 2, 32)]
    for result in (tir.HandleType(), tir.PtrType(f32)):
        tir.CallOp("TVMBackendAllocWorkspace", space, result).verify_()


def test_unknown_builtins_are_opaque() -> None:
    call = tir.CallOp("my_intrinsic", [value(f32)], f32)
    call.verify_()
    assert tir.builtin_name(call) == "my_intrinsic"
    assert side_effect(call) is CallEffect.UPDATE_STATE


@pytest.mark.parametrize("name", sorted(tir.NAMED_OPS.values()))
def test_builtins_with_an_op_of_their_own(name: str) -> None:
    op = tir.INTRINSICS[name].op
    assert op in {definition.name for definition in tir.TIR.operations}
    assert f"the op {op} stands for this builtin" in refused(name, [], None)
    with pytest.raises(ValueError, match=f"the op {op} stands for"):
        tir.CallOp.of(name, [])


# ---- look-up ----


def test_look_up() -> None:
    assert tir.builtin("exp") is tir.INTRINSICS["exp"]
    assert tir.builtin("tir.exp") is tir.INTRINSICS["exp"]
    assert tir.builtin("call_packed") is tir.INTRINSICS["tvm_call_packed"]
    assert tir.builtin("tir.cuda.__shfl_sync").name == "cuda.__shfl_sync"
    with pytest.raises(KeyError, match=r"^there is no builtin 'sgimoid', did you mean"):
        tir.builtin("sgimoid")
    with pytest.raises(tir.UnknownBuiltinError, match=r"'zzz'; INTRINSICS lists all$"):
        tir.builtin("zzz")


def test_script_names_and_places_of_dtypes() -> None:
    def facts(name: str) -> tuple[tuple[str, ...], tir.DtypePlace]:
        row = tir.builtin(name)
        return row.script_names, row.dtype_place

    first, last, nowhere = (
        tir.DtypePlace.FIRST,
        tir.DtypePlace.LAST,
        tir.DtypePlace.NOWHERE,
    )
    assert facts("tvm_call_cpacked_lowered") == (
        ("call_cpacked_lowered", "tvm_call_cpacked_lowered"),
        nowhere,
    )
    assert facts("call_extern") == (("call_extern",), first)
    assert facts("tvm_struct_get") == (("tvm_struct_get",), last)
    assert facts("atomic_add") == ((), nowhere)
    names = [name for row in tir.INTRINSICS.values() for name in row.script_names]
    assert len(names) == len(set(names))


def test_effects_that_differ_from_tvm() -> None:
    different = {
        name: (row.tvm_effect, row.effect)
        for name, row in tir.INTRINSICS.items()
        if row.tvm_effect is not None
    }
    pure, read, update = (
        CallEffect.PURE,
        CallEffect.READ_STATE,
        CallEffect.UPDATE_STATE,
    )
    assert different == {
        "tvm_check_return": (pure, update),
        "start_profile_intrinsic": (pure, update),
        "end_profile_intrinsic": (pure, update),
        "cuda.__activemask": (pure, update),
        "tvm_load_matrix_sync": (read, update),
        "ptx_ldg32": (pure, update),
    }


@pytest.mark.parametrize(
    ("name", "operands", "result"),
    [
        ("exp", "float16x4", "float16x4"),
        ("isnan", "float32x4", "uint1x4"),
        ("isnan", "float32", "bool"),
        ("clz", "int64", "int32"),
        ("q_multiply_shift", "int32x2 int32x2 int32x2 int32x2", "int32x2"),
        ("tvm_warp_shuffle", "uint32 float32 int32 int32 int32", "float32"),
        ("tvm_warp_activemask", "", "uint32"),
        ("ptx_commit_group", "", "void"),
        ("tvm_call_packed", "handle int32", "int32"),
        ("tvm_call_trace_packed", "handle int32 float64", "float64"),
        ("undef", "", "int32"),
        ("vectorlow", "float32x8", "float32x4"),
        ("vectorhigh", "float32x2", "float32"),
        ("vectorhigh", "float32xvscalex4", "float32xvscalex2"),
        ("vectorcombine", "int8x4 int8x12", "int8x16"),
        ("large_uint_imm", "uint32 uint32", "uint64"),
    ],
)
def test_inferred_result_types(name: str, operands: str, result: str) -> None:
    types = [tir.parse_dtype(dtype) for dtype in operands.split()]
    expected = None if result == "void" else tir.parse_dtype(result)
    assert tir.infer_result_type(name, types) == expected


@pytest.mark.parametrize(
    ("name", "operands", "message"),
    [
        ("reinterpret", "float32", "has no rule for its dtype; give the type"),
        ("vectorlow", "int8x3", "vector<3xi8> has no halves"),
        ("vectorcombine", "int8x4 int16x4", "have no concatenation"),
        ("exp", "", r"takes 1 operand \(x\), got 0"),
    ],
)
def test_no_result_type(name: str, operands: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tir.infer_result_type(name, [tir.parse_dtype(d) for d in operands.split()])


def test_calls_by_operands() -> None:
    call = tir.CallOp.of("tir.exp", [value(f64)])
    assert (call.callee.data, call.result and call.result.type) == ("exp", f64)
    assert tir.CallOp.of("ptx_wait_group", [constant(0)]).result is None
    with pytest.raises(ValueError, match="operand x must be a float, got"):
        tir.CallOp.of("exp", [value(i32)])
    with pytest.raises(KeyError, match="did you mean 'exp"):
        tir.CallOp.of("expp", [])


def test_operands_by_name() -> None:
    values = [value(f32) for _ in range(3)]
    name, handle = tir.StringOp("f").result, value(tir.HandleType())
    call = tir.CallOp("tvm_call_cpacked", [name, *values, handle], i32)
    assert call.arg("name") is name
    assert call.arg("resource_handle") is handle
    assert call.args_of("args") == tuple(values)
    with pytest.raises(KeyError, match="has 3 operands args"):
        call.arg("args")
    with pytest.raises(KeyError, match="no operand extent; its operands are name, args"):
        call.arg("extent")
    sync = tir.CallOp("tvm_storage_sync", [tir.StringOp("shared")])
    assert sync.args_of("is_lead") == ()
    with pytest.raises(KeyError, match="has 0 operands is_lead"):
        sync.arg("is_lead")


def test_names_of_builtins() -> None:
    module = parse("""
    tir.func @f(%p: i1, %x: f32, %q: !tir.ptr<f32>, %n: i32) -> f32 {
      %y = tir.if_then_else %p -> f32 {
        tir.yield %x : f32
      } else {
        tir.yield %x : f32
      }
      %a = tir.access_ptr w %q[%n to %n + %n] : !tir.ptr<f32>
      %e = tir.call "exp"(%y) : (f32) -> f32
      tir.ret %e : f32
    }""")
    ops = [op for op in module.walk() if tir.builtin_name(op) is not None]
    names = [tir.builtin_name(op) for op in ops]
    assert names == ["if_then_else", "tvm_access_ptr", "exp", "ret"]
    assert tir.builtin_name(ops[2].results[0]) == "exp"
    assert tir.builtin_name(ops[2].operands[0]) == "if_then_else"
    assert tir.builtin_name(module.body.block.first_op or module) is None
    assert tir.builtin_name(value(f32)) is None


def test_access_modes() -> None:
    assert [tir.AccessMode.of(mask).value for mask in (1, 2, 3)] == ["r", "w", "rw"]
    assert [mode.mask for mode in tir.AccessMode] == [1, 2, 3]
    with pytest.raises(ValueError, match="an access mask is 1 to read, 2 to write"):
        tir.AccessMode.of(0)


def test_reductions_by_constructor() -> None:
    zero = constant(0)
    buffer = tir.AllocBufferOp(tir.BufferType([1], f32)).results[0]
    source = value(f32)
    op = tir.ThreadAllreduceOp([source], [(buffer, [zero])], [zero])
    op.verify_()
    assert op.places == (tir.WrittenElement(buffer, (zero,)),)
    assert op.condition is None


def test_stock_passes_on_calls_and_reducers() -> None:
    reducer = """tir.reducer (%l : f32, %q : f32) identity [0.0 : f32] {
      %s = tir.add %l, %q : f32
      tir.yield %s : f32
    }"""
    module = parse(f"""
    tir.func @f(%c: i1) {{
      %a = tir.call "tvm_static_handle"() : () -> !tir.handle
      %b = tir.call "tvm_static_handle"() : () -> !tir.handle
      %d = tir.call "assume"(%c) : (i1) -> i1
      %r = {reducer}
      %r2 = {reducer}
      %unused = {reducer}
      tir.attr "reduce_scope" (%r) = 0 : i32 {{
        tir.evaluate %a : !tir.handle
      }}
      tir.attr "reduce_scope" (%r2) = 0 : i32 {{
        tir.evaluate %b : !tir.handle
      }}
    }}""")
    CommonSubexpressionElimination().apply(new_context(), module)
    DeadCodeElimination().apply(new_context(), module)
    calls = [tir.builtin_name(op) for op in module.walk() if isinstance(op, tir.CallOp)]
    assert calls == ["tvm_static_handle", "tvm_static_handle", "assume"]
    assert sum(isinstance(op, tir.ReducerOp) for op in module.walk()) == 1
    module.verify()


@pytest.mark.parametrize("text", ["a", "a:", "a:what", "a:=b:int", "a:int??", "a:int*?"])
def test_rows_that_are_no_operands(text: str) -> None:
    with pytest.raises(ValueError, match="is no operand of a builtin"):
        parse_operand(text)


@pytest.mark.parametrize("text", ["", "=", "int32*", "third(x)", "a b"])
def test_rows_that_are_no_results(text: str) -> None:
    with pytest.raises(ValueError, match="is no result of a builtin"):
        parse_result(text)


def test_every_kind_of_operand_is_used() -> None:
    used = {o.kind for row in tir.INTRINSICS.values() for o in row.operands if o.kind}
    assert used == set(KINDS)


# ---- effects of expressions ----

PROGRAM = """
tir.func @f(%h: !tir.handle, %p: !tir.ptr<f32>, %c: i1, %x: f32, %n: i32) {{
  %A = tir.match_buffer %h : !tir.buffer<4xf32>
  {body}
  tir.evaluate %r : {dtype}
}}
tir.func private @callee(f32) -> f32
"""
LOAD = "%y = tir.load %A[%n] : f32\n"
UPDATE = 'tir.call "my_own"(%x) : (f32) -> f32'


def choice(branch: str) -> str:
    return f"""
    %r = tir.if_then_else %c -> f32 {{
      {branch}
      tir.yield %y : f32
    }} else {{
      tir.yield %x : f32
    }}
    """


EFFECTS = {
    "arithmetic": ("%r = tir.add %x, %x : f32", "f32", "PURE"),
    "load": ("%r = tir.load %A[%n] : f32", "f32", "READ_STATE"),
    "computed from a load": (f"{LOAD}%r = tir.add %y, %x : f32", "f32", "READ_STATE"),
    "pure call": ('%r = tir.call "exp"(%x) : (f32) -> f32', "f32", "PURE"),
    "hint": ('%r = tir.call "likely"(%c) : (i1) -> i1', "i1", "PURE"),
    "reading call": (
        """
        %k = tir.const 4 : i32
        %r = tir.call "tvm_struct_get"(%h, %n, %k) : (!tir.handle, i32, i32) -> i32
        """,
        "i32",
        "READ_STATE",
    ),
    "unknown call": (f"%r = {UPDATE}", "f32", "UPDATE_STATE"),
    "fact": ('%r = tir.call "assume"(%c) : (i1) -> i1', "i1", "UPDATE_STATE"),
    "special operand": (
        "%r = tir.access_ptr r %p[%n to %n + %n] : !tir.ptr<f32>",
        "!tir.ptr<f32>",
        "UPDATE_STATE",
    ),
    "function": (
        "%r = tir.call_func @callee(%x) : (f32) -> f32",
        "f32",
        "UPDATE_STATE",
    ),
    "address": ("%r = tir.address_of %A[%n] : !tir.ptr<f32>", "!tir.ptr<f32>", "PURE"),
    "data": ("%r = tir.data %A : !tir.ptr<f32>", "!tir.ptr<f32>", "PURE"),
    "choice": (choice("%y = tir.add %x, %x : f32"), "f32", "PURE"),
    "choice that loads": (choice(LOAD), "f32", "READ_STATE"),
    "choice that updates": (choice(f"%y = {UPDATE}"), "f32", "UPDATE_STATE"),
    "unused in a choice": (choice(f"{LOAD}%u = {UPDATE}"), "f32", "UPDATE_STATE"),
    "variable": (f"{LOAD}%r = tir.let %y : f32", "f32", "PURE"),
    "let expression": (f"{LOAD}%r = tir.let expr %y : f32", "f32", "READ_STATE"),
    "allocation": ("%r = tir.allocate [4] : !tir.ptr<f32>", "!tir.ptr<f32>", "PURE"),
    "predicate": (
        """
        %d = tir.load %A[%n] : f32
        %e = tir.cast %d : f32 to i1
        %r = tir.load %A[%n] if %e : f32
        """,
        "f32",
        "READ_STATE",
    ),
    "foreign": ('%r = "test.op"(%x) : (f32) -> f32', "f32", "UPDATE_STATE"),
    "foreign and pure": ("%r = arith.addf %x, %x : f32", "f32", "PURE"),
    "pure on a foreign one": (
        '%y = "test.op"() : () -> f32\n%r = arith.addf %y, %x : f32',
        "f32",
        "UPDATE_STATE",
    ),
}


@pytest.mark.parametrize("rule", EFFECTS)
def test_side_effect(rule: str) -> None:
    body, dtype, expected = EFFECTS[rule]
    module = parse(PROGRAM.format(body=body, dtype=dtype))
    (op,) = (op for op in module.walk() if isinstance(op, tir.EvaluateOp))
    assert op.value is not None
    assert side_effect(op.value) is CallEffect[expected]
    assert side_effect(op) is CallEffect[expected]


def test_side_effect_of_arguments() -> None:
    module = parse("tir.func @f(%x: f32) {\n}")
    (func,) = (op for op in module.walk() if isinstance(op, tir.FuncOp))
    assert side_effect(func.body.block.args[0]) is CallEffect.PURE


def test_side_effect_of_statements() -> None:
    module = parse("""
    tir.func @f(%h: !tir.handle, %n: i32) {
      %A = tir.match_buffer %h : !tir.buffer<4xf32>
      %x = tir.load %A[%n] : f32
      %y = tir.let "y" %x : f32
      tir.evaluate %x : f32
      tir.evaluate %y : f32
      tir.store %x, %A[%n] : f32
      tir.ret
    }""")
    found = {
        op: side_effect(op).name
        for op in module.walk()
        if isinstance(op, tir.LetOp | tir.EvaluateOp | tir.StoreOp | tir.RetOp)
    }
    assert list(found.values()) == [
        "READ_STATE",
        "READ_STATE",
        "PURE",
        "UPDATE_STATE",
        "UPDATE_STATE",
    ]


def test_side_effect_of_shared_values_is_linear() -> None:
    total: Operation = tir.ConstOp.of(1, i32)
    for _ in range(10_000):
        total = tir.AddOp(total, total)
    effects: list[CallEffect] = []
    assert calls(lambda: effects.append(side_effect(total.results[0]))) < 1_000_000
    assert effects == [CallEffect.PURE]
