"""The passes that separate host and device, and launches in the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import effort
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.structural_equal import assert_structural_equal
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.errors import ArgumentError, SimulationError
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.annotate_device_regions import AnnotateDeviceRegions
from xdsl_tvm.passes.tir.combine_context_call import CombineContextCall
from xdsl_tvm.passes.tir.inline_private_functions import InlinePrivateFunctions
from xdsl_tvm.passes.tir.legalize_packed_calls import LegalizePackedCalls
from xdsl_tvm.passes.tir.lower_device_kernel_launch import LowerDeviceKernelLaunch
from xdsl_tvm.passes.tir.simplify import Simplify
from xdsl_tvm.passes.tir.split_host_device import SplitHostDevice
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse as parse_script

HEADER = "from tvm.script import ir as I\nfrom tvm.script import tir as T\n@I.ir_module\n"


def script(text: str) -> ModuleOp:
    return parse_script(HEADER + text.lstrip())


def run(each: CompilerPass, module: ModuleOp) -> ModuleOp:
    each.apply(new_context(), module)
    module.verify()
    return module


# ---- TVM's text ----


def test_text_of_a_launch() -> None:
    """CASE: SplitHostDevice.6, with an array that is only read."""
    before = script("""
class Module:
    @T.prim_func
    def main(var_A: T.handle, var_B: T.handle, seq_len: T.int32):
        T.func_attr({"target": T.target("cuda"), "tir.noalias": True})
        A = T.match_buffer(var_A, [seq_len], "int32")
        B = T.match_buffer(var_B, [seq_len], "int32")
        num_blocks: T.int32 = (seq_len + 127) // 128
        with T.attr(T.target("cuda"), "target", 0):
            b = T.launch_thread("blockIdx.x", num_blocks)
            t = T.launch_thread("threadIdx.x", 128)
            if b * 128 + t < seq_len:
                B[b * 128 + t] = A[b * 128 + t]
""")
    after = script("""
class Module:
    @T.prim_func
    def main(var_A: T.handle, var_B: T.handle, seq_len: T.int32):
        T.func_attr({"target": T.target("cuda"), "tir.noalias": True})
        A = T.match_buffer(var_A, [seq_len], "int32")
        B = T.match_buffer(var_B, [seq_len], "int32")
        num_blocks: T.int32 = (seq_len + 127) // 128
        Module.main_kernel(A.data, B.data, num_blocks, seq_len)

    @T.prim_func(private=True)
    def main_kernel(
        A_data: T.handle("int32"), B_data: T.handle("int32"),
        num_blocks: T.int32, seq_len: T.int32,
    ):
        T.func_attr({
            "target": T.target("cuda"), "tir.is_global_func": True, "tir.noalias": True
        })
        A = T.decl_buffer(seq_len, "int32", data=A_data)
        B = T.decl_buffer(seq_len, "int32", data=B_data)
        b = T.launch_thread("blockIdx.x", num_blocks)
        t = T.launch_thread("threadIdx.x", 128)
        if b * 128 + t < seq_len:
            B[b * 128 + t] = A[b * 128 + t]
""")
    assert_structural_equal(run(SplitHostDevice(), before), after)


def test_text_of_a_kernel_that_can_fail() -> None:
    """CASE: SplitHostDevice.2"""
    before = script("""
class Module:
    @T.prim_func
    def main(n: T.int32):
        T.func_attr({"target": T.target("cuda", host="llvm")})
        T.attr(T.target("llvm"), "target", 0)
        T.evaluate(n)
""")
    after = script("""
class Module:
    @T.prim_func
    def main(n: T.int32):
        T.func_attr({"target": T.target("cuda", host="llvm")})
        kernel_error_code: T.int32 = Module.main_kernel(n)
        assert kernel_error_code == 0, "Error executing compute kernel"

    @T.prim_func(private=True)
    def main_kernel(n: T.int32) -> T.int32:
        T.func_attr({
            "target": T.target("llvm"), "tir.is_global_func": True, "tir.noalias": True
        })
        T.evaluate(n)
        T.ret(0)
""")
    assert_structural_equal(run(SplitHostDevice(), before), after)


def test_text_of_launches() -> None:
    """CASE: LowerDeviceKernelLaunch.7"""
    before = script("""
class Module:
    @T.prim_func
    def main(A: T.Buffer(16, "float32")):
        T.func_attr({"target": T.target("llvm")})
        Module.kernel(A.data)

    @T.prim_func(private=True)
    def kernel(A_data: T.handle("float32")):
        T.func_attr({"target": T.target("cuda")})
        A = T.decl_buffer(16, data=A_data)
        b = T.launch_thread("blockIdx.x", 1)
        t = T.launch_thread("threadIdx.x", 16)
        S = T.allocate([1024], "float32", "shared.dyn")
        A[t] = T.float32(0.0)
""")
    after = script("""
class Module:
    @T.prim_func
    def main(A: T.Buffer(16, "float32")):
        T.func_attr({"target": T.target("llvm")})
        T.call_packed("kernel", A.data, 1, 16, 4096)

    @T.prim_func
    def kernel(A_data: T.handle("float32")):
        T.func_attr({
            "target": T.target("cuda"), "calling_conv": 2, "tir.is_global_func": True,
            "tir.kernel_launch_params":
                ["blockIdx.x", "threadIdx.x", "tir.use_dyn_shared_memory"],
        })
        A = T.decl_buffer(16, data=A_data)
        b = T.launch_thread("blockIdx.x", 1)
        t = T.launch_thread("threadIdx.x", 16)
        S = T.allocate([1024], "float32", "shared.dyn")
        A[t] = T.float32(0.0)
""")
    assert_structural_equal(run(LowerDeviceKernelLaunch(), before), after)


def test_text_of_inlined_pointers() -> None:
    """CASE: InlinePrivateFunctions.1"""
    before = script("""
class Module:
    @T.prim_func
    def main(A: T.Buffer([80, 16], "float32"), B: T.Buffer([64, 16], "float32")):
        for i in range(64):
            Module.subroutine(T.address_of(A[i, 0]), T.address_of(B[i, 0]))

    @T.prim_func(private=True)
    def subroutine(A_data: T.handle("float32"), B_data: T.handle("float32")):
        A = T.decl_buffer([16, 16], "float32", data=A_data)
        B = T.decl_buffer([16], "float32", data=B_data)
        for i in range(16):
            B[i] = 0.0
            for j in range(16):
                B[i] = B[i] + A[i, j]
""")
    after = script("""
class Module:
    @T.prim_func
    def main(A: T.Buffer([80, 16], "float32"), B: T.Buffer([64, 16], "float32")):
        for i in range(64):
            A_view_data: T.handle("float32") = T.address_of(A[i, 0])
            Aview = T.decl_buffer([16, 16], "float32", data=A_view_data)
            B_view_data: T.handle("float32") = T.address_of(B[i, 0])
            Bview = T.decl_buffer([16], "float32", data=B_view_data)
            for j in range(16):
                Bview[j] = 0.0
                for k in range(16):
                    Bview[j] = Bview[j] + Aview[j, k]
""")
    assert_structural_equal(run(InlinePrivateFunctions(), before), after)


def test_sizes_stay_not_negative() -> None:
    """CASE: SplitHostDevice.7: what is known of a size of the host is known of the
    parameter."""
    module = parse("""
tir.func @main(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %m = tir.shape_var "m" size_var : i32
  %A = tir.match_buffer "A" %a [%m] : !tir.buffer<?xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
    %n = tir.max %m, %c0 : i32
    tir.launch_thread %t = "threadIdx.x" to %n {
      tir.store %c1, %A[%t] : i32
    }
  }
}
""")
    run(SplitHostDevice(), module)
    run(Simplify(), module)
    kernel = module.body.block.last_op
    assert isinstance(kernel, tir.FuncOp)
    (launch,) = (op for op in kernel.walk() if isinstance(op, tir.LaunchThreadOp))
    assert launch.extent is kernel.args[1]


# ---- errors that the verifier finds first, where it runs ----


def wrong_call(target: str) -> ModuleOp:
    module = parse(f"""
tir.func @main(%n: i32) attributes {{{target}}} {{
  tir.call_func @kernel(%n) : (i32) -> ()
}}
tir.func @kernel(%n: i32) {{
}}
""")
    main, kernel = module.ops
    assert isinstance(main, tir.FuncOp)
    assert isinstance(kernel, tir.FuncOp)
    call = main.body.block.last_op
    assert isinstance(call, tir.CallFuncOp)
    call.operands = [main.args[0], main.args[0]]
    return module


def test_number_of_arguments_of_a_launch() -> None:
    """CASE: LowerDeviceKernelLaunch.9"""
    module = wrong_call('target = #tir.target<"llvm">')
    kernel = module.body.block.last_op
    assert isinstance(kernel, tir.FuncOp)
    kernel.attributes["target"] = tir.Target("cuda")
    with pytest.raises(PassFailedException, match="accepts 1 arguments as input, but is"):
        LowerDeviceKernelLaunch().apply(new_context(), module)


def test_number_of_arguments_of_an_inlined_call() -> None:
    """CASE: InlinePrivateFunctions.11"""
    module = wrong_call('global_symbol = "main"')
    with pytest.raises(PassFailedException, match="@kernel has 1 parameters, but"):
        InlinePrivateFunctions().apply(new_context(), module)


# ---- launches in the interpreter ----

LAUNCH = """
tir.func @main(%a: !tir.handle, %blocks: i32, %bytes: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %p = tir.data %A : !tir.ptr<i32>
  %s = tir.string "the_kernel"
  %c4 = tir.const 4 : i32
  %c2 = tir.const 2 : i32
  %r = tir.call "tvm_call_packed"(%s, %p, %c2, %blocks, %c4, %bytes)
    : (!tir.handle, !tir.ptr<i32>, i32, i32, i32, i32) -> i32
  %q = tir.cmp eq %r, %r : i32
  tir.assert %q, "a code"
}
tir.func @kernel(%p: !tir.ptr<i32>, %n: i32) attributes {
  target = #tir.target<"cuda">, tir.is_global_func = true, calling_conv = 2 : i32,
  tir.kernel_launch_params = ["blockIdx.x", "threadIdx.x", "tir.use_dyn_shared_memory"],
  global_symbol = "the_kernel"
} {
  %A = tir.decl_buffer "A" %p : !tir.buffer<8xi32>
  %c4 = tir.const 4 : i32
  tir.launch_thread %b = "blockIdx.x" to %n {
    tir.launch_thread %t = "threadIdx.x" to %c4 {
      %m = tir.allocate [4] : !tir.ptr<i32, "shared.dyn">
      %M = tir.decl_buffer "M" %m : !tir.buffer<4xi32, "shared.dyn">
      tir.store %b, %M[%t] : i32
      %x = tir.load %M[%t] : i32
      %0 = tir.mul %b, %c4 : i32
      %1 = tir.add %0, %t : i32
      %s = tir.string "device"
      %y = tir.call "call_extern"(%s, %x) : (!tir.handle, i32) -> i32
      tir.store %y, %A[%1] : i32
    }
  }
}
tir.func @device(%x: i32) -> i32 {
  %y = tir.add %x, %x : i32
  tir.ret %y : i32
}
"""


@pytest.mark.parametrize("together", [True, False])
def test_a_launch_by_symbol(together: bool) -> None:
    array = np.full(8, -1, np.int32)
    interpret(parse(LAUNCH), vectorize_threads=together)["main"](array, 2, 16)
    assert array.tolist() == [0, 0, 0, 0, 2, 2, 2, 2]


@pytest.mark.parametrize(
    ("blocks", "size", "message"),
    [
        (3, 16, "the kernel is launched with 3 for blockIdx.x, and needs 2"),
        (2, 8, "launched with 8 for tir.use_dyn_shared_memory, and needs 16"),
    ],
)
def test_sizes_of_a_launch_are_compared(blocks: int, size: int, message: str) -> None:
    module = interpret(parse(LAUNCH))
    array = np.zeros(8, np.int32)
    with pytest.raises(SimulationError, match=message):
        module["main"](array, blocks, size)
    # Neither is the fault remembered, nor does a direct call have sizes.
    module["the_kernel"](array, 1)
    module["main"](array, 2, 16)


def test_arguments_of_a_launch_are_counted() -> None:
    text = LAUNCH.replace('["blockIdx.x", ', '["blockIdx.x", "blockIdx.y", ')
    with pytest.raises(ArgumentError, match="expects 2 arguments and 4 launch sizes"):
        interpret(parse(text))["main"](np.zeros(8, np.int32), 2, 16)


def test_functions_of_the_caller_come_first() -> None:
    seen: list[Any] = []

    def kernel(*values: object) -> int:
        seen.append(values[1:])
        return 0

    array = np.zeros(8, np.int32)
    module = interpret(parse(LAUNCH), externs={"the_kernel": kernel})
    module["main"](array, 3, 1)
    assert seen == [(2, 3, 4, 1)]


def test_a_thread_launches_no_kernel() -> None:
    text = (
        LAUNCH.replace('tir.string "device"', 'tir.string "nested"')
        + """
tir.func @nested(%x: i32) -> i32 attributes {calling_conv = 2 : i32} {
  tir.launch_thread %t = "threadIdx.x" to %x {
    tir.evaluate %t : i32
  }
  tir.ret %x : i32
}
"""
    )
    with pytest.raises(SimulationError):
        interpret(parse(text))["main"](np.zeros(8, np.int32), 2, 16)


# ---- effort ----


def regions(count: int) -> str:
    lines = [
        "tir.func @main(%a: !tir.handle, %n: i32) attributes {tir.noalias,",
        'target = #tir.target<"cuda", host = #tir.target<"llvm">>} {',
        '%A = tir.match_buffer "A" %a : !tir.buffer<8xi32>',
        "%c8 = tir.const 8 : i32",
    ]
    for i in range(count):
        lines += [
            f'%p{i} = tir.allocate [8] : !tir.ptr<i32, "shared">',
            f'%P{i} = tir.decl_buffer "P" %p{i} : !tir.buffer<8xi32, "shared">',
            f'tir.launch_thread %t{i} = "threadIdx.x" to %c8 {{',
            f"  %x{i} = tir.load %A[%t{i}] : i32",
            f"  tir.store %x{i}, %P{i}[%t{i}] : i32",
            "}",
        ]
    return "\n".join([*lines, "}"])


def calls(count: int) -> str:
    lines = ['tir.func @f0(%n: i32) attributes {global_symbol = "f0"} {']
    for i in range(1, count):
        lines += [
            f"%x{i} = tir.add %n, %n : i32",
            f"tir.call_func @f{i}(%x{i}) : (i32) -> ()",
            "}",
            f"tir.func @f{i}(%n: i32) {{",
        ]
    return "\n".join([*lines, "}"])


def contexts(count: int) -> str:
    lines = [
        "tir.func @main(%h: !tir.handle, %n: i32) attributes {tir.is_host_func} {",
        '%s = tir.string "f"',
    ]
    for i in range(count):
        lines += [
            f"%c{i} = tir.const {i} : i32",
            f'%h{i} = tir.call "call_extern"(%s, %c{i}) : (!tir.handle, i32)',
            "  -> !tir.handle",
            f'%t{i} = tir.call "tvm_thread_context"(%h{i}) : (!tir.handle)',
            "  -> !tir.handle",
            f"tir.evaluate %t{i} : !tir.handle",
        ]
    return "\n".join([*lines, "}"])


def packed(count: int) -> str:
    lines = ["tir.func @main(%h: !tir.handle) {", '%s = tir.string "f"']
    for i in range(count):
        lines += [
            f"%p{i} = tir.allocate [8] : !tir.ptr<i32>",
            f'%r{i} = tir.call "tvm_call_cpacked"(%s, %p{i}, %h)',
            "  : (!tir.handle, !tir.ptr<i32>, !tir.handle) -> i32",
        ]
    callee = "tir.func @f(%x: !tir.handle) {\n"
    callee += "%X = tir.match_buffer %x : !tir.buffer<8xi32>\n}"
    return "\n".join([*lines, "}", callee])


SPLIT = (AnnotateDeviceRegions(), SplitHostDevice(), LowerDeviceKernelLaunch())


@pytest.mark.parametrize(
    ("passes", "program"),
    [
        (SPLIT, regions),
        ((InlinePrivateFunctions(),), calls),
        ((CombineContextCall(),), contexts),
        ((LegalizePackedCalls(),), packed),
    ],
)
def test_time_is_linear(passes: tuple[CompilerPass, ...], program: Any) -> None:
    def work(count: int) -> int:
        module, context = parse(program(count)), new_context()

        def apply() -> None:
            for each in passes:
                each.apply(context, module)

        return effort.calls(apply)

    assert work(60) < 2.6 * work(30)
