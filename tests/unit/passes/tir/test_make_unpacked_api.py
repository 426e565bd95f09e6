"""The signature of C functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.structural_equal import assert_structural_equal
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.tir.bind_target import BindTarget
from xdsl_tvm.passes.tir.make_unpacked_api import MakeUnpackedAPI
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse as parse_script

HEADER = "from tvm.script import ir as I\nfrom tvm.script import tir as T\n@I.ir_module\n"


def script(text: str) -> ModuleOp:
    return parse_script(HEADER + text.lstrip())


def unpacked(module: ModuleOp, target: str = "llvm", host: str = "llvm") -> ModuleOp:
    BindTarget(target, host).apply(new_context(), module)
    MakeUnpackedAPI().apply(new_context(), module)
    module.verify()
    return module


def ops(module: ModuleOp, kind: type[Any]) -> list[Any]:
    return [op for op in module.walk() if isinstance(op, kind)]


BUFFER = """
class Module:
    @T.prim_func
    def main(A: T.Buffer((4, 2), "float32"), k: T.int32):
        A[k, 1] = T.float32(3)
"""


@pytest.mark.parametrize(("target", "number"), [("c", 1), ("llvm", 1), ("cuda", 2)])
def test_text(target: str, number: int) -> None:
    """CASE: MakeUnpackedAPI.3 CASE: MakeUnpackedAPI.5 CASE: MakeUnpackedAPI.6"""
    after = script(f"""
class Module:
    @T.prim_func
    def main(A_data: T.handle("float32"), k: T.int32) -> T.int32:
        T.func_attr({{"target": T.target("llvm")}})
        A = T.Buffer((4, 2), data=A_data)
        T.attr("default", "device_id", 0)
        T.attr("default", "device_type", {number})
        A[k, 1] = T.float32(3)
        T.ret(0)
""")
    found = unpacked(script(BUFFER), target)
    assert_structural_equal(found, after)
    (func,) = ops(found, tir.FuncOp)
    assert [name.data for name in func.param_names] == ["A", "k"]
    array = np.zeros((4, 2), np.float32)
    assert interpret(found)["main"](array, 2) == 0
    assert array[2, 1] == 3


def test_pointers_have_no_device() -> None:
    """CASE: MakeUnpackedAPI.4"""
    module = unpacked(
        script("""
class Module:
    @T.prim_func
    def main(p: T.handle("float32"), h: T.handle):
        A = T.decl_buffer(4, data=p)
        A[0] = T.float32(1)
""")
    )
    assert not ops(module, tir.AttrOp)
    (func,) = ops(module, tir.FuncOp)
    types = [str(dtype) for dtype in func.function_type.inputs]
    assert types == ["!tir.ptr<f32>", "!tir.handle"]


def test_one_array_for_two_buffers() -> None:
    """CASE: MakeUnpackedAPI.5: each buffer has a parameter of its own."""
    module = unpacked(
        script("""
class Module:
    @T.prim_func
    def main(A: T.Buffer(4, "float32"), B: T.Buffer(4, "float32")):
        A[0] = B[0] + T.float32(1)
""")
    )
    array = np.full(4, 6, np.float32)
    assert interpret(module)["main"](array, array) == 0
    assert array.tolist() == [7, 6, 6, 6]


CALLS = """
class Module:
    @T.prim_func
    def main(A: T.Buffer(4, "float32")):
        Module.sub({argument})

    @T.prim_func{private}
    def sub({parameter}):
        {body}
"""
POINTER = {
    "argument": "A.data",
    "parameter": 'p: T.handle("float32")',
    "body": 'T.evaluate(T.call_extern("int32", "use", p))',
}


def test_private_functions() -> None:
    """CASE: MakeUnpackedAPI.1 CASE: MakeUnpackedAPI.7"""
    module = unpacked(script(CALLS.format(private="(private=True)", **POINTER)))
    main, sub = ops(module, tir.FuncOp)
    assert main.function_type.outputs.data
    assert not sub.function_type.outputs.data
    (call,) = ops(module, tir.CallFuncOp)
    assert call.result is None


def test_public_functions() -> None:
    """CASE: MakeUnpackedAPI.8"""
    module = unpacked(script(CALLS.format(private="", **POINTER)))
    _, sub = ops(module, tir.FuncOp)
    keys = [op.key.data for op in sub.walk() if isinstance(op, tir.AttrOp)]
    assert keys == []
    (call,) = ops(module, tir.CallFuncOp)
    assert str(call.result.type) == "i32"


def test_arrays_on_the_stack() -> None:
    """CASE: MakeUnpackedAPI.9"""
    array = (
        "T.tvm_stack_make_array(A.data, T.tvm_stack_make_shape(4, dtype='handle'), "
        "T.reinterpret('handle', T.uint64(0)), T.uint32(1), T.float32(0), 0, "
        "dtype='handle')"
    )
    text = CALLS.format(
        private="",
        argument=array,
        parameter='B: T.Buffer(4, "float32")',
        body="B[1] = T.float32(9)",
    )
    module = unpacked(script(text))
    (call,) = ops(module, tir.CallFuncOp)
    main = ops(module, tir.FuncOp)[0]
    assert call.args[0] is main.args[0]
    values = np.zeros(4, np.float32)
    assert interpret(module)["main"](values) == 0
    assert values.tolist() == [0, 9, 0, 0]


def test_targets_without_a_host_stay() -> None:
    """CASE: MakeUnpackedAPI.10"""
    module = script(CALLS.format(private="", **POINTER))
    for func in ops(module, tir.FuncOp):
        func.attributes["target"] = tir.Target("llvm")
    before = str(module)
    MakeUnpackedAPI().apply(new_context(), module)
    assert str(module) == before


def test_a_status_of_its_own() -> None:
    """CASE: MakeUnpackedAPI.11"""
    module = unpacked(
        script("""
class Module:
    @T.prim_func
    def main(A: T.Buffer(1, "int32"), k: T.int32) -> T.int32:
        A[0] = k
        T.ret(k + 1)
""")
    )
    assert len(ops(module, tir.RetOp)) == 2
    assert interpret(module)["main"](np.zeros(1, np.int32), 4) == 5


def test_missing_target() -> None:
    """CASE: MakeUnpackedAPI.2"""
    with pytest.raises(
        PassFailedException,
        match=r"MakeUnpackedAPI required the function to be annotated with "
        r"tvm::attr::kTarget",
    ):
        MakeUnpackedAPI().apply(new_context(), script(BUFFER))


REFUSED = {
    "the variable 'n' of a shape is no parameter": """tir.func @f(%a: !tir.handle) {
      %n = tir.shape_var "n" : i32
      %A = tir.match_buffer %a [%n] : !tir.buffer<?xf32>
    }""",
    "returns a float32, and the value": """tir.func @f(%x: f32) -> f32 {
      tir.ret %x : f32
    }""",
    "passes a !tir.handle for an array of @g, whose data": """
    tir.func @f(%h: !tir.handle) {
      tir.call_func @g(%h) : (!tir.handle) -> ()
    }
    tir.func @g(%a: !tir.handle) {
      %A = tir.match_buffer %a : !tir.buffer<4xf32>
    }""",
}


@pytest.mark.parametrize("reason", REFUSED)
def test_refused(reason: str) -> None:
    module = parse(REFUSED[reason])
    for func in ops(module, tir.FuncOp):
        func.attributes["global_symbol"] = StringAttr(func.sym_name.data)
    with pytest.raises(PassFailedException, match=reason):
        unpacked(module)
