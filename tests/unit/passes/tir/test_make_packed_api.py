"""The packed signature: its text, what it refuses, and what its functions check."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.structural_equal import assert_structural_equal
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.errors import AssertionFailedError
from xdsl_tvm.interpreters.tir import DLTensor, interpret
from xdsl_tvm.passes.tir.bind_target import BindTarget
from xdsl_tvm.passes.tir.make_packed_api import MakePackedAPI
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse as parse_script

HEADER = "from tvm.script import ir as I\nfrom tvm.script import tir as T\n@I.ir_module\n"
SIGNATURE = """args: T.handle, arg_type_ids: T.handle("int32"), num_args: T.int32,
        out_ret_value: T.handle("void"), out_ret_tcode: T.handle("int32"),
        resource_handle: T.handle"""


def script(text: str) -> ModuleOp:
    return parse_script(HEADER + text.lstrip())


def packed(
    module: ModuleOp, target: str = "llvm", host: str = "llvm", abi: str = "packed"
) -> ModuleOp:
    BindTarget(target, host).apply(new_context(), module)
    MakePackedAPI(abi).apply(new_context(), module)
    module.verify()
    return module


def function(
    parameters: str, body: str, result: str = "", target: str = "llvm"
) -> ModuleOp:
    """The packed form of `f`."""
    lines = "".join(f"        {line}\n" for line in body.strip().splitlines())
    head = f"class Module:\n    @T.prim_func\n    def f({parameters}){result}:\n"
    return packed(script(head + lines), target)


def texts(module: ModuleOp) -> list[str]:
    """The messages of all assertions, in order."""
    return [
        op.message.data
        for op in module.walk()
        if isinstance(op, tir.AssertOp) and op.message is not None
    ]


def ops(module: ModuleOp, kind: type[Any]) -> list[Any]:
    return [op for op in module.walk() if isinstance(op, kind)]


def calls(module: ModuleOp, name: str) -> list[Any]:
    return [op for op in ops(module, tir.CallOp) if op.callee.data == name]


# ---- text ----


def get(base: str, field: int, dtype: str = "handle", index: int = 0) -> str:
    return f'T.tvm_struct_get({base}, {index}, {field}, "{dtype}")'


def _is_pointer(code: str, index: int) -> str:
    tests = " or ".join(f"{code} == {each}" for each in (3, 13, 7, 4))
    return f'assert {tests}, "main: Expect arg[{index}] to be pointer"'


def _defined(name: str, rank: int) -> list[str]:
    handle = f"{name}_handle"
    null = f"main.{handle} is expected to have non-NULL DLTensor* pointer"
    ndim = f"main.{handle}.ndim is expected to equal {rank}"
    return [
        f'assert not T.isnullptr({handle}), "{null}"',
        f'assert {rank} == {get(handle, 4, "int32")}, "{ndim}"',
        f's{name}: T.handle("int64") = {get(handle, 2)}',
        f's{name}_1 = T.decl_buffer(({rank},), "int64", data=s{name})',
    ]


def _strides(name: str, rank: int) -> list[str]:
    return [
        f't{name}: T.handle("int64") = {get(f"{name}_handle", 3)}',
        f't{name}_1 = T.decl_buffer(({rank},), "int64", data=t{name})',
    ]


def _data(name: str) -> list[str]:
    return [
        f'{name}: T.handle("float32") = {get(f"{name}_handle", 1)}',
        f'T.attr({name}, "storage_alignment", 64)',
    ]


def _has_dtype(name: str) -> str:
    fields = ((5, "uint8", 2), (6, "uint8", 32), (7, "uint16", 1))
    tests = " and ".join(
        f"{get(f'{name}_handle', field, dtype)} == T.{dtype}({value})"
        for field, dtype, value in fields
    )
    return f'assert {tests}, "main.{name}_handle.dtype is expected to be float32"'


def _extent(name: str, axis: int) -> tuple[str, str]:
    shape = f"main_{name}_handle_shape"
    return f"T.Cast('int32', s{name}_1[{axis}])", f'T.Cast("int32", {shape}[{axis}])'


def _field(name: str, field: int, dtype: str) -> tuple[str, str]:
    text = get(f"{name}_handle", field, dtype)
    return text, text


def _argument(name: str, what: str, test: str, said: str, value: tuple[str, str]) -> str:
    """A comparison, and the one that its message names."""
    constraint = said.format(value[1]).replace('"', '\\"')
    message = f"Argument main.{name}_handle.{what} has an unsatisfied constraint"
    return f'assert {test.format(value[0])}, "{message}: {constraint}"'


def _compact(name: str) -> str:
    return f'"main.{name}_handle.strides: expected to be compact array"'


def _has_data(name: str) -> str:
    return f'"main.{name}_handle is expected to have non-NULL data pointer"'


def _on_device(name: str) -> list[str]:
    offset, device = _field(name, 8, "uint64"), _field(name, 10, "int32")
    zero = "T.uint64(0) == {0}"
    return [
        _argument(name, "byte_offset", zero, zero, offset),
        _argument(name, "device_type", "{0} == 2", "2 == {0}", device),
    ]


def test_text_of_the_worked_example() -> None:
    """CASE: MakePackedAPI.1 CASE: MakePackedAPI.4 CASE: MakePackedAPI.13

    The strides are declared with as many elements as are read.
    """
    before = script("""
class Module:
    @T.prim_func
    def main(A_handle: T.handle, B_handle: T.handle, k: T.int32):
        n = T.int32()
        A = T.match_buffer(A_handle, (n, 16))
        B = T.match_buffer(B_handle, (n,))
        B[0] = A[0, 0] + T.Cast("float32", k)
""")
    body: list[str] = [
        'assert num_args == 3, "main: num_args should be 3"',
        'assert not T.isnullptr(args), "main: TVMValue* arg pointer was NULL"',
        'assert not T.isnullptr(arg_type_ids), "main: int* type_codes was NULL"',
        'ids = T.decl_buffer((3,), "int32", data=arg_type_ids)',
        "A_code: T.int32 = ids[0]",
        _is_pointer("A_code", 0),
        "B_code: T.int32 = ids[1]",
        _is_pointer("B_code", 1),
        "k_code: T.int32 = ids[2]",
        'assert k_code == 0 or k_code == 15, "main: Expect arg[2] to be int"',
        f"A_handle: T.handle = {get('args', 12, index=0)}",
        f"B_handle: T.handle = {get('args', 12, index=1)}",
        f"k: T.int32 = T.Cast('int32', {get('args', 12, 'int64', index=2)})",
        *_defined("A", 2),
        "n: T.int32 = T.Cast('int32', sA_1[0])",
        *_strides("A", 2),
        f"dev_id: T.int32 = {get('A_handle', 9, 'int32')}",
        *_data("A"),
        *_defined("B", 1),
        *_strides("B", 1),
        *_data("B"),
        'T.attr("default", "device_id", dev_id)',
        'T.attr("default", "device_type", 2)',
        _has_dtype("A"),
        _argument("A", "shape[1]", "{0} == 16", "16 == {0}", _extent("A", 1)),
        "if not T.isnullptr(tA):",
        "    assert 1 == T.Cast('int32', tA_1[1]) and (n == 1 or "
        f"16 == T.Cast('int32', tA_1[0])), {_compact('A')}",
        "    T.evaluate(0)",
        *_on_device("A"),
        f"assert n * 16 == 0 or not T.isnullptr(A), {_has_data('A')}",
        _has_dtype("B"),
        _argument("B", "shape[0]", "n == {0}", "n == {0}", _extent("B", 0)),
        "if not T.isnullptr(tB):",
        f"    assert n == 1 or 1 == T.Cast('int32', tB_1[0]), {_compact('B')}",
        "    T.evaluate(0)",
        *_on_device("B"),
        _argument(
            "B", "device_id", "dev_id == {0}", "dev_id == {0}", _field("B", 9, "int32")
        ),
        f"assert n == 0 or not T.isnullptr(B), {_has_data('B')}",
        "A_1 = T.decl_buffer((n, 16), data=A)",
        "B_1 = T.decl_buffer((n,), data=B)",
        'T.evaluate(T.tvm_call_packed("__tvm_set_device", 2, dev_id))',
        'with T.attr(0, "compute_scope", "main_compute_"):',
        "    B_1[0] = A_1[0, 0] + T.Cast('float32', k)",
        "T.ret(0)",
    ]
    lines = "".join(f"        {line}\n" for line in body)
    after = script(f"""
class Module:
    @T.prim_func
    def main({SIGNATURE}) -> T.int32:
        T.func_attr({{"calling_conv": 1, "target": T.target("llvm")}})
{lines}""")
    assert_structural_equal(packed(before, "cuda"), after)


def test_handle_of_the_resource() -> None:
    """CASE: MakePackedAPI.2"""
    body = "T.call_extern('int32', 'use', device_api_context)"
    parameters = "B: T.Buffer(1, 'float32'), device_api_context: T.handle"
    module = function(parameters, f"T.evaluate({body})")
    assert texts(module)[0] == "f: num_args should be 1"
    (call,) = calls(module, "call_extern")
    (func,) = ops(module, tir.FuncOp)
    assert call.args[1] is func.args[5]
    assert func.param_names.data[5].data == "device_api_context"
    # The place of the parameter does not matter; TVM reads the wrong argument then.
    module = function("device_api_context: T.handle, x: T.int32", "T.evaluate(x)")
    assert texts(module)[:4][-1] == "f: Expect arg[0] to be int"


PRIVATE = """
class Module:
    @T.prim_func
    def main(A: T.Buffer(4, "float32")):
        Module.sub(A.data)

    @T.prim_func(private=True)
    def sub(A_data: T.handle("float32")):
        A = T.decl_buffer(4, data=A_data)
        A[0] = 1.0
"""


def test_private_functions() -> None:
    """CASE: MakePackedAPI.3 CASE: MakePackedAPI.5"""
    module = packed(script(PRIVATE))
    main, sub = ops(module, tir.FuncOp)
    assert "calling_conv" in main.attributes
    assert "calling_conv" not in sub.attributes
    assert len(sub.args) == 1
    (call,) = ops(module, tir.CallFuncOp)
    assert call.callee.string_value() == "sub"
    array = np.zeros(4, np.float32)
    interpret(module)["main"](array)
    assert array[0] == 1


def test_public_functions_call_each_other() -> None:
    """CASE: MakePackedAPI.6"""
    module = packed(script(PRIVATE.replace("(private=True)", "")))
    assert all(
        f.attributes["calling_conv"].value.data == 1 for f in ops(module, tir.FuncOp)
    )
    (call,) = calls(module, "tvm_call_cpacked")
    assert call.args[0].owner.value.data == "sub"
    assert call.args[2].owner.callee.data == "reinterpret"
    assert not ops(module, tir.CallFuncOp)


def test_calls_of_functions_for_tvm_ffi() -> None:
    """Calls of private functions stay; those of public ones are refused by name."""
    assert len(ops(packed(script(PRIVATE), abi="ffi"), tir.CallFuncOp)) == 1
    public = script(PRIVATE.replace("(private=True)", ""))
    with pytest.raises(PassFailedException, match=r"abi=ffi are not supported; let @sub"):
        packed(public, abi="ffi")


def test_unknown_convention() -> None:
    with pytest.raises(PassFailedException, match="abi is 'C'; use one of packed, ffi"):
        packed(script(PRIVATE), abi="C")


def test_function_without_parameters() -> None:
    """CASE: MakePackedAPI.7"""
    module = function("", "T.evaluate(0)")
    assert texts(module) == ["f: num_args should be 0"]
    (codes,) = ops(module, tir.DeclBufferOp)
    assert codes.type.get_shape() == (0,)
    assert interpret(module)["f"]() is None


def test_scalar_parameters() -> None:
    """CASE: MakePackedAPI.8 CASE: MakePackedAPI.18"""
    parameters = (
        "x: T.float32, i: T.int8, p: T.bool, h: T.handle, A: T.Buffer(1, 'float32')"
    )
    body = "A[0] = x + T.Cast('float32', i) + T.Select(p, T.float32(8), T.float32(0))"
    module = function(parameters, body)
    expected = ["float", "int", "boolean", "pointer", "pointer"]
    assert [t.rpartition(" ")[2] for t in texts(module)[3:8]] == expected
    compared = [
        [tir.constant_value(op.rhs) for op in _comparisons(each.condition)]
        for each in ops(module, tir.AssertOp)[3:8]
    ]
    pointer = [3, 13, 7, 4]
    assert compared == [[2], [0, 15], [15, 0], pointer, pointer]
    found = [
        (
            str(call.result.type),
            [str(use.operation.result.type) for use in call.result.uses],
        )
        for call in calls(module, "tvm_struct_get")[:5]
    ]
    assert found == [
        ("f64", ["f32"]),
        ("i64", ["i8"]),
        ("i64", ["i1"]),
        ("!tir.handle", ["!tir.handle"]),
        ("!tir.handle", ["!tir.handle"]),
    ]
    array = np.zeros(1, np.float32)
    interpret(module)["f"](1.5, -3, True, None, array)
    assert array[0] == 6.5


def _comparisons(condition: Any) -> list[tir.CmpOp]:
    owner = condition.owner
    if isinstance(owner, tir.OrOp):
        return _comparisons(owner.lhs) + _comparisons(owner.rhs)
    return [owner]


RETURNS = """
class Module:
    @T.prim_func
    def f(n: T.int32) -> T.{dtype}:
        if n < 3:
            T.ret({first})
        else:
            T.ret({second})
"""


def test_text_of_returns() -> None:
    """CASE: MakePackedAPI.9 CASE: MakePackedAPI.10 CASE: MakePackedAPI.17

    The literal 0 has its cast, too.
    """
    before = script(
        RETURNS.format(dtype="int64", first="T.int64(42)", second="T.int64(0)")
    )
    after = script(f"""
class Module:
    @T.prim_func
    def f({SIGNATURE}) -> T.int32:
        T.func_attr({{"calling_conv": 1, "target": T.target("llvm")}})
        assert num_args == 1, "f: num_args should be 1"
        assert not T.isnullptr(args), "f: TVMValue* arg pointer was NULL"
        assert not T.isnullptr(arg_type_ids), "f: int* type_codes was NULL"
        ids = T.decl_buffer((1,), "int32", data=arg_type_ids)
        code: T.int32 = ids[0]
        assert code == 0 or code == 15, "f: Expect arg[0] to be int"
        n: T.int32 = T.Cast("int32", {get("args", 12, "int64")})
        value = T.Buffer((1,), "int64", data=out_ret_value, strides=(1,))
        kind = T.Buffer((1,), "int32", data=out_ret_tcode, strides=(1,))
        with T.attr(0, "compute_scope", "f_compute_"):
            if n < 3:
                value[0] = T.Cast("int64", T.int64(42))
                kind[0] = 0
                T.ret(0)
            else:
                value[0] = T.Cast("int64", T.int64(0))
                kind[0] = 0
                T.ret(0)
        T.ret(0)
""")
    assert_structural_equal(packed(before), after)


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("int32", (-7, 9)),
        ("uint8", (7, 255)),
        ("bool", (True, False)),
        ("float16", (1.5, -2.0)),
        ("float64", (0.5, 1e30)),
    ],
)
def test_returned_values(dtype: str, values: tuple[Any, Any]) -> None:
    first, second = (f"T.{dtype}({value})" for value in values)
    module = packed(script(RETURNS.format(dtype=dtype, first=first, second=second)))
    found = interpret(module)["f"]
    assert (found(1), found(5)) == values
    assert type(found(1)) is type(values[0])


def test_a_return_without_a_value() -> None:
    module = function("n: T.int32, A: T.Buffer(1, 'int32')", "A[0] = n")
    (store,) = ops(module, tir.StoreOp)
    text = str(module)
    assert text.count("tir.ret") == 1
    assert store.parent_op().key.data == "compute_scope"


def test_other_conventions_stay() -> None:
    """CASE: MakePackedAPI.11"""
    text = PRIVATE.replace("(private=True)", "").replace(
        "        A = T.decl",
        "        T.func_attr({'calling_conv': -1})\n        A = T.decl",
    )
    module = packed(script(text))
    _, sub = ops(module, tir.FuncOp)
    assert len(sub.args) == 1
    assert len(ops(module, tir.CallFuncOp)) == 1


def test_targets_without_a_host_stay() -> None:
    module = script(PRIVATE.replace("(private=True)", ""))
    _, sub = ops(module, tir.FuncOp)
    sub.attributes["target"] = tir.Target("cuda")
    main = ops(module, tir.FuncOp)[0]
    main.attributes["target"] = tir.Target("llvm").with_host("llvm")
    MakePackedAPI().apply(new_context(), module)
    module.verify()
    assert len(sub.args) == 1
    # The call stays, too: TVM calls it by a convention that it does not have.
    assert len(ops(module, tir.CallFuncOp)) == 1


# ---- sizes ----


def test_a_parameter_is_an_extent() -> None:
    """CASE: MakePackedAPI.14"""
    module = packed(
        script("""
class Module:
    @T.prim_func
    def f(a: T.handle, b: T.handle, n: T.int32):
        A = T.match_buffer(a, (n, 4))
        B = T.match_buffer(b, (n,))
        B[0] = A[0, 0]
""")
    )
    lets = [op for op in ops(module, tir.LetOp) if op.var_name.data == "n"]
    assert len(lets) == 1
    said = [t for t in texts(module) if "shape" in t]
    assert said == [
        "Argument f.a.shape[0] has an unsatisfied constraint: "
        'n == T.Cast("int32", f_a_shape[0])',
        "Argument f.a.shape[1] has an unsatisfied constraint: "
        '4 == T.Cast("int32", f_a_shape[1])',
        "Argument f.b.shape[0] has an unsatisfied constraint: "
        'n == T.Cast("int32", f_b_shape[0])',
    ]


def test_extents_of_64_bits() -> None:
    """CASE: MakePackedAPI.15"""
    module = packed(
        script("""
class Module:
    @T.prim_func
    def f(a: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, n * T.int64(2)))
        A[0, 0] = 1.0
""")
    )
    (let,) = [op for op in ops(module, tir.LetOp) if op.var_name.data == "n"]
    assert isinstance(let.value.owner, tir.LoadOp)
    shape = next(t for t in texts(module) if "shape" in t)
    assert shape.endswith("constraint: n * T.int64(2) == f_a_shape[1]")
    array = np.zeros((3, 6), np.float32)
    interpret(module)["f"](array)
    with pytest.raises(AssertionFailedError, match=r"n \* T.int64\(2\)"):
        interpret(module)["f"](array[:2].copy())


OFFSET = """
class Module:
    @T.prim_func
    def f(a: T.handle) -> T.int32:
        off = T.int32()
        A = T.match_buffer(a, (4,), elem_offset=off, offset_factor={factor})
        A[0] = 1.0
        return off
"""


def test_offsets() -> None:
    """CASE: MakePackedAPI.16"""
    module = packed(script(OFFSET.format(factor=1)))
    assert not any("offset" in text for text in texts(module))
    (let,) = [op for op in ops(module, tir.LetOp) if op.var_name.data == "off"]
    assert isinstance(let.value.owner, tir.CastOp)
    assert isinstance(let.value.owner.value.owner, tir.DivOp)
    memory = np.zeros(16, np.float32)
    part = DLTensor.of(memory)
    part.shape = DLTensor.of(memory[:4]).shape
    assert interpret(module)["f"](replace(part, byte_offset=16)) == 4
    assert memory.nonzero()[0].tolist() == [4]
    module = packed(script(OFFSET.format(factor=4)))
    assert interpret(module)["f"](replace(part, byte_offset=16)) == 4
    with pytest.raises(
        AssertionFailedError, match=r"f\.a\.elem_offset.*truncmod\(off, 4\)"
    ):
        interpret(module)["f"](replace(part, byte_offset=8))


def test_a_function_that_does_nothing() -> None:
    """CASE: MakePackedAPI.19"""
    module = function("A: T.Buffer(4, 'int8')", "T.evaluate(0)")
    (scope,) = [op for op in ops(module, tir.AttrOp) if op.key.data == "compute_scope"]
    assert not scope.body.block.ops
    assert len(texts(module)) == 12


@pytest.mark.parametrize("target", ["llvm", "cuda"])
@pytest.mark.parametrize("has_array", [True, False])
def test_devices(target: str, has_array: bool) -> None:
    """CASE: MakePackedAPI.13"""
    parameter = "A: T.Buffer(4, 'int8')" if has_array else "x: T.int32"
    module = function(parameter, "T.evaluate(0)", target=target)
    keys = [op.key.data for op in ops(module, tir.AttrOp)]
    assert ("device_id" in keys) is has_array
    assert ("device_type" in keys) is has_array
    sets = calls(module, "tvm_call_packed")
    assert bool(sets) is (has_array and target == "cuda")


# ---- errors ----


def test_missing_target() -> None:
    """CASE: MakePackedAPI.12"""
    module = script(PRIVATE)
    with pytest.raises(
        PassFailedException, match=r"@main: MakePackedAPI required the fun"
    ):
        MakePackedAPI().apply(new_context(), module)


REFUSED = {
    "in parallel scope": """tir.func @f(%n: i32) -> i32 {
      %c0 = tir.const 0 : i32
      tir.for %i = %c0 to %n parallel {
        tir.ret %i : i32
      }
    }""",
    "in parallel scope, where each thread": """tir.func @f(%n: i32) -> i32 {
      tir.launch_thread %i = "threadIdx.x" to %n {
        tir.ret %i : i32
      }
    }""",
    r"'x' is a bfloat16, which no packed argument is": """tir.func @f(%x: bf16)
      attributes {param_names = ["x"]} {
    }""",
    "'x' is a float32x4, which no packed argument is": """tir.func @f(%x: vector<4xf32>)
      attributes {param_names = ["x"]} {
    }""",
    "data type handle not supported yet": """tir.func @f(%h: !tir.handle) -> !tir.handle {
      tir.ret %h : !tir.handle
    }""",
    r"variables \[n\] are used, but are not passed in": """tir.func @f(%a: !tir.handle) {
      %n = tir.shape_var "n" : i32
      %c3 = tir.const 3 : i32
      %m = tir.add %n, %c3 : i32
      %A = tir.match_buffer %a [%m] : !tir.buffer<?xf32>
    }""",
    r"In PrimFunc f variables \[n\] are used": """tir.func @f(%a: !tir.handle) -> i32 {
      %n = tir.shape_var "n" : i32
      tir.ret %n : i32
    }""",
    r"unmet assertion: 5 == 0,  on argument f\.a\.strides\[0\]": """tir.func @f(
        %a: !tir.handle) {
      %c5 = tir.const 5 : i32
      %A = tir.match_buffer %a strides [%c5]
        {buffer_kind = #tir<buffer_kind auto_broadcast>} : !tir.buffer<1xf32>
    }""",
    "no type code in DLPack": """tir.func @f(%a: !tir.handle) {
      %A = tir.match_buffer "A" %a : !tir.buffer<4x!tir.custom<"posit", 16>>
    }""",
}


@pytest.mark.parametrize("reason", REFUSED)
def test_refused(reason: str) -> None:
    """CASE: MakePackedAPI.12"""
    module = parse(REFUSED[reason])
    for func in ops(module, tir.FuncOp):
        func.attributes["global_symbol"] = StringAttr("f")
    with pytest.raises(PassFailedException, match=reason):
        packed(module)


def test_a_variable_that_is_bound_after_its_use() -> None:
    """Chapter IV, cases 1 and 2: the order of the arrays does not matter."""
    for parameters in ("c: T.handle, a: T.handle", "a: T.handle, c: T.handle"):
        module = packed(
            script(f"""
class Module:
    @T.prim_func
    def f({parameters}):
        n = T.int32()
        A = T.match_buffer(a, (n,))
        C = T.match_buffer(c, (n + 2,))
        C[0] = A[0]
""")
        )
        assert [t for t in texts(module) if "shape[0]" in t] == [
            "Argument f.c.shape[0] has an unsatisfied constraint: "
            'n + 2 == T.Cast("int32", f_c_shape[0])'
        ]
