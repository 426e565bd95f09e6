"""Packed calls on stacks, arrays on the stack, and workspaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.structural_equal import assert_structural_equal
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.data.memory import memory_of
from xdsl_tvm.interpreters.errors import SimulationError
from xdsl_tvm.interpreters.tir import InterpretedModule, Pointer, interpret
from xdsl_tvm.passes.tir.lower_device_kernel_launch import LowerDeviceKernelLaunch
from xdsl_tvm.passes.tir.lower_tvm_builtin import LowerTVMBuiltin
from xdsl_tvm.passes.tir.lower_vtcm_alloc import LowerVtcmAlloc
from xdsl_tvm.passes.tir.make_packed_api import MakePackedAPI
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse as parse_script

HEADER = "from tvm.script import ir as I\nfrom tvm.script import tir as T\n@I.ir_module\n"
ON_CPU = 'T.func_attr({"target": T.target("llvm")})'


def script(text: str) -> ModuleOp:
    return parse_script(HEADER + text.lstrip())


def function(
    parameters: str, body: str, result: str = "", attributes: str = ON_CPU
) -> ModuleOp:
    """A function `f` of the host."""
    lines = "".join(f"        {each}\n" for each in (attributes, *body.splitlines()))
    head = f"class Module:\n    @T.prim_func\n    def f({parameters}){result}:\n"
    return script(head + lines)


def lowered(module: ModuleOp) -> ModuleOp:
    LowerTVMBuiltin().apply(new_context(), module)
    module.verify()
    return module


def ops(module: ModuleOp, kind: type[Any]) -> list[Any]:
    return [op for op in module.walk() if isinstance(op, kind)]


def calls(module: ModuleOp, name: str) -> list[Any]:
    return [op for op in ops(module, tir.CallOp) if op.callee.data == name]


def number(value: Any) -> int:
    found = tir.constant_value(value)
    assert isinstance(found, int)
    return found


def times(factor: int) -> Callable[[int], int]:
    return lambda x: factor * x


def numbers(call: Any) -> list[Any]:
    return [tir.constant_value(arg) for arg in call.args]


def slots(module: ModuleOp, name: str = "tvm_call_packed_lowered") -> list[Any]:
    """Names and slots of the calls."""
    return [
        (call.args[0].owner.value.data, *numbers(call)[3:5])
        for call in calls(module, name)
    ]


def codes(module: ModuleOp) -> dict[int, list[int]]:
    """The type codes that are stored to each slot."""
    found: dict[int, list[int]] = {}
    for store in ops(module, tir.StoreOp):
        if str(store.value.type) == "i32":
            found.setdefault(number(store.indices[0]), []).append(number(store.value))
    return found


def stacks(module: ModuleOp) -> list[tuple[str, int]]:
    return [
        (call.args[0].owner.value.data, number(call.args[1]))
        for call in calls(module, "tvm_stack_alloca")
    ]


class Calls:
    """A function of the host that remembers how it is called."""

    def __init__(self, result: Any = None) -> None:
        self.seen: list[tuple[Any, ...]] = []
        self._result = result

    def __call__(self, *values: Any) -> Any:
        copies = [getattr(value, "copy", None) for value in values]
        arrays = (v if c is None else c() for v, c in zip(values, copies, strict=True))
        self.seen.append(tuple(arrays))
        return self._result


# ---- calls ----


def test_text_of_a_call() -> None:
    """CASE: LowerTVMBuiltin.13 CASE: LowerTVMBuiltin.23"""
    before = function("x: T.int8, p: T.handle", 'T.call_packed("g", x, p)')
    after = script("""
class Module:
    @T.prim_func
    def f(x: T.int8, p: T.handle):
        T.func_attr({"target": T.target("llvm")})
        tcode: T.handle("int32") = T.tvm_stack_alloca("arg_tcode", 3)
        tcode_1 = T.decl_buffer((T.uint64(3),), "int32", data=tcode)
        value: T.handle = T.tvm_stack_alloca("arg_value", 3)
        T.tvm_struct_set(value, 0, 12, T.Cast("int64", x))
        tcode_1[0] = 0
        T.tvm_struct_set(value, 1, 12, p)
        if T.isnullptr(p):
            tcode_1[1] = 4
        else:
            tcode_1[1] = 3
        T.call_packed_lowered("g", value, tcode, 0, 2)
""")
    assert_structural_equal(lowered(before), after)


ARRAYS = """A = T.decl_buffer((4, 6), "float32", data=a, strides=(8, 1))
s = T.int32(8)
{loop}
    T.call_packed("g", {array}, {array}, {array})"""
STRIDED = (
    "T.tvm_stack_make_array(a, T.tvm_stack_make_shape(4, 6, dtype='handle'), "
    "T.tvm_stack_make_shape(s, 1, dtype='handle'), T.uint32(2), T.float32(0), 0, "
    "dtype='handle')"
)


@pytest.mark.parametrize("loop", ["T.parallel", "T.serial"])
def test_stacks_of_loops(loop: str) -> None:
    """CASE: LowerTVMBuiltin.1 CASE: LowerTVMBuiltin.2"""
    body = ARRAYS.format(loop=f"for i in {loop}(2):", array=STRIDED)
    body = f'T.attr("default", "device_id", 0)\n{body}'
    module = lowered(function('a: T.handle("float32")', body))
    expected = [("arg_tcode", 4), ("arg_value", 4), ("array", 3), ("shape", 12)]
    assert stacks(module) == expected
    first = calls(module, "tvm_stack_alloca")[0]
    parent = first.parent_op()
    assert isinstance(parent, tir.ForOp if loop == "T.parallel" else tir.FuncOp)
    seen = Calls()
    array = np.arange(32, dtype=np.float32)
    interpret(module, externs={"g": seen})["f"](array)
    assert len(seen.seen) == 2
    assert (seen.seen[1][2] == array.reshape(4, 8)[:, :6]).all()


RESULTS = """tir.func @f() attributes {target = #tir.target<"llvm">} {
  %g = tir.string "g"
  %h = tir.string "h"
  %x = tir.call "tvm_call_packed"(%g) : (!tir.handle) -> f32
  %1 = tir.call "tvm_call_packed"(%h, %x) : (!tir.handle, f32) -> i32
  %p = tir.call "tvm_call_packed"(%g) : (!tir.handle) -> !tir.handle
  %2 = tir.call "tvm_call_packed"(%h, %p) : (!tir.handle, !tir.handle) -> i32
}"""


def test_dtypes_of_results() -> None:
    """CASE: LowerTVMBuiltin.3"""
    module = lowered(parse(RESULTS))
    types = [
        str(c.result.type) for c in calls(module, "tvm_call_packed_lowered") if c.result
    ]
    assert types == ["f32", "i32", "!tir.handle", "i32"]
    seen, results = Calls(), iter((2.5, "text"))
    interpret(module, externs={"g": lambda: next(results), "h": seen})["f"]()
    assert seen.seen == [(2.5,), ("text",)]


def test_a_call_without_result_type() -> None:
    """CASE: LowerTVMBuiltin.4"""
    module = parse("""tir.func @f() attributes {target = #tir.target<"llvm">} {
      %s = tir.string "g"
      tir.call "tvm_call_packed"(%s) : (!tir.handle) -> ()
    }""")
    seen = Calls()
    interpret(lowered(module), externs={"g": seen})["f"]()
    assert seen.seen == [()]


def test_a_callee_that_is_no_string() -> None:
    """CASE: LowerTVMBuiltin.5: the dialect has strings as names of calls only."""
    with pytest.raises(Exception, match="string"):
        parse("""tir.func @f(%h: !tir.handle) attributes {target = #tir.target<"llvm">} {
          %r = tir.call "tvm_call_packed"(%h) : (!tir.handle) -> i32
        }""").verify()


def test_calls_within_calls() -> None:
    """CASE: LowerTVMBuiltin.12"""
    body = 'T.call_packed("f1", 1, T.call_packed("g", 2))'
    module = lowered(function("", body))
    assert slots(module) == [("g", 3, 4), ("f1", 0, 2)]
    assert stacks(module) == [("arg_tcode", 5), ("arg_value", 5)]
    seen = Calls()
    interpret(module, externs={"f1": seen, "g": times(10)})["f"]()
    assert seen.seen == [(1, 20)]


def test_siblings_do_not_overwrite_each_other() -> None:
    """Hazard: TVM stores the arguments of both calls before it calls either."""
    body = (
        'T.call_packed("h", T.call_packed("g", 1) + '
        'T.call_packed("g", 2), T.call_packed("g", 3))'
    )
    module = function("", body)
    seen = Calls(0)
    externs = {"h": seen, "g": times(10)}
    interpret(module, externs=externs)["f"]()
    interpret(lowered(module), externs=externs)["f"]()
    assert seen.seen == [(30, 30), (30, 30)]


CONDITION = """tir.func @f(%n: i32) -> i32 attributes {target = #tir.target<"llvm">} {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %p = tir.allocate [1] : !tir.ptr<i32>
  %P = tir.decl_buffer %p : !tir.buffer<1xi32>
  tir.store %c0, %P[%c0] : i32
  tir.while {
    %x = tir.load %P[%c0] : i32
    %s = tir.string "more"
    %r = tir.call "tvm_call_packed"(%s, %x, %n) : (!tir.handle, i32, i32) -> i32
    %b = tir.cmp ne %r, %c0 : i32
    tir.yield %b : i1
  } do {
    %x = tir.load %P[%c0] : i32
    %y = tir.add %x, %c1 : i32
    tir.store %y, %P[%c0] : i32
  }
  %z = tir.load %P[%c0] : i32
  tir.ret %z : i32
}"""


def test_a_call_in_a_condition() -> None:
    """Hazard: TVM stores the arguments once, before the loop."""
    module = parse(CONDITION)

    def more(x: int, n: int) -> int:
        return int(x < n)

    externs = {"more": more}
    assert interpret(module, externs=externs)["f"](5) == 5
    assert interpret(lowered(module), externs=externs)["f"](5) == 5


def test_a_call_in_a_branch_of_an_expression() -> None:
    """Hazard: TVM evaluates the arguments of calls in branches in any case."""
    body = 'T.evaluate(T.if_then_else(n > 0, T.call_packed("g", 8 // n), 0))'
    module = function("n: T.int32", body)
    seen = Calls(1)
    interpret(lowered(module), externs={"g": seen})["f"](0)
    assert seen.seen == []


def test_kinds_of_arguments() -> None:
    """CASE: LowerTVMBuiltin.13"""
    parameters = "b: T.bool, i: T.int8, u: T.uint32, h: T.float16, p: T.handle"
    array = (
        "T.tvm_stack_make_array(p, T.tvm_stack_make_shape(dtype='handle'), 0, "
        "T.uint32(0), T.int8(0), 0, dtype='handle')"
    )
    null = 'T.reinterpret("handle", T.uint64(0))'
    body = f"""T.attr("default", "device_id", 0)
T.call_packed("g", b, i, u, h, "text", p, {null}, {array})"""
    module = lowered(function(parameters, body))
    assert codes(module) == {
        0: [0],
        1: [0],
        2: [0],
        3: [2],
        4: [11],
        5: [4, 3],
        6: [4, 3],
        7: [7],
    }
    seen = Calls()
    memory = np.array(7, np.int8)
    externs = {"g": seen}
    interpret(module, externs=externs)["f"](
        True, -3, 4_000_000_000, 1.5, memory_of(memory)
    )
    (found,) = seen.seen
    assert found[:5] == (1, -3, 4_000_000_000, 1.5, "text")
    assert isinstance(found[5], Pointer)
    assert found[6] is None
    assert found[7].shape == ()
    assert found[7] == 7


def test_shape_of_a_scalar() -> None:
    """CASE: LowerTVMBuiltin.14"""
    body = 'T.call_packed("g", T.tvm_stack_make_shape(dtype="handle"))'
    module = lowered(function("", body))
    assert ("shape", 0) in stacks(module)
    (address,) = ops(module, tir.AddressOfOp)
    assert tir.constant_value(address.indices[0]) == 0


def test_sequential_calls_share_slots() -> None:
    """CASE: LowerTVMBuiltin.15 CASE: LowerTVMBuiltin.22"""
    body = 'T.call_packed("g", 1, 2, 3)\nT.call_packed("h")\nT.call_packed("g", 4)'
    module = lowered(function("", body))
    assert slots(module) == [("g", 0, 3), ("h", 0, 0), ("g", 0, 1)]
    assert stacks(module) == [("arg_tcode", 4), ("arg_value", 4)]
    assert stacks(lowered(function("", 'T.call_packed("h")'))) == [
        ("arg_tcode", 1),
        ("arg_value", 1),
    ]


def test_calls_of_c_symbols() -> None:
    """CASE: LowerTVMBuiltin.16"""
    body = """T.call_cpacked("g", 1, r)
T.call_cpacked("g", 2, T.reinterpret("handle", T.uint64(0)))"""
    module = lowered(function("r: T.handle", body))
    named, null = calls(module, "tvm_call_cpacked_lowered")
    assert named.args[5].owner.value.data == "r"
    assert null.args[5].owner.callee.data == "reinterpret"
    assert slots(module, "tvm_call_cpacked_lowered") == [("g", 0, 1), ("g", 0, 1)]


def test_traced_calls() -> None:
    text = """tir.func @f(%x: i32) -> i32 attributes {target = #tir.target<"llvm">} {
      %s = tir.string "g"
      %r = tir.call "tvm_call_trace_packed"(%s, %x, %x) : (!tir.handle, i32, i32) -> i32
      tir.ret %r : i32
    }"""
    module = lowered(parse(text))
    (call,) = calls(module, "tvm_call_trace_packed_lowered")
    assert len(call.args) == 6
    assert interpret(module, externs={"g": Calls(9)})["f"](4) == 9
    assert interpret(module, externs={"g": Calls()})["f"](4) == 4


@pytest.mark.parametrize(
    "attributes", ['T.func_attr({"target": T.target("cuda")})', "T.evaluate(0)"]
)
def test_functions_of_devices_stay(attributes: str) -> None:
    """CASE: LowerTVMBuiltin.17"""
    module = function("", 'T.call_packed("g", 1)', attributes=attributes)
    before = str(module)
    assert str(lowered(module)) == before


def test_registers() -> None:
    """CASE: LowerTVMBuiltin.18"""
    text = """tir.func @f(%l: !tir.handle) attributes {target = #tir.target<"llvm">} {
      %c3 = tir.const 3 : i32
      %s = tir.string "g"
      %i = tir.call "anylist_getitem"(%l, %c3) : (!tir.handle, i32) -> !tir.handle
      %r = tir.call "anylist_setitem_call_packed"(%l, %c3, %s, %i, %c3)
        : (!tir.handle, i32, !tir.handle, !tir.handle, i32) -> i32
    }"""
    module = lowered(parse(text))
    assert not calls(module, "anylist_getitem")
    (given,) = calls(module, "TVMBackendAnyListSetPackedArg")
    assert numbers(given)[1::3] == [3, 0]
    (moved,) = calls(module, "TVMBackendAnyListMoveFromPackedReturn")
    assert numbers(moved)[1::3] == [3, 2]
    assert slots(module) == [("g", 0, 2)]
    assert codes(module) == {1: [0]}


def test_order_of_stores() -> None:
    """CASE: LowerTVMBuiltin.19"""
    array = (
        "T.tvm_stack_make_array({0}, T.tvm_stack_make_shape({1}, dtype='handle'), {2}, "
        "T.uint32({3}), T.float32(0), 0, dtype='handle')"
    )
    first = array.format("b", "4, 4", "0", "2")
    second = array.format("a", "16", "T.tvm_stack_make_shape(1, dtype='handle')", "1")
    body = f"""T.attr("default", "device_id", 0)
T.call_packed("g", r, {first}, {second})"""
    parameters = 'r: T.int64, a: T.handle("float32"), b: T.handle("float32")'
    module = lowered(function(parameters, body))
    assert stacks(module) == [
        ("arg_tcode", 4),
        ("arg_value", 4),
        ("array", 2),
        ("shape", 4),
    ]
    fields = [tuple(numbers(call)[1:3]) for call in calls(module, "tvm_struct_set")]
    ten = list(range(1, 11))
    assert fields == [
        *((0, each) for each in ten),
        *((1, each) for each in ten),
        (0, 12),
        (1, 12),
        (2, 12),
    ]
    extents = [
        (tir.constant_value(s.indices[0]), tir.constant_value(s.value))
        for s in ops(module, tir.StoreOp)
        if str(s.value.type) == "i64"
    ]
    assert extents == [(0, 4), (1, 4), (2, 16), (3, 1)]
    places = [tir.constant_value(a.indices[0]) for a in ops(module, tir.AddressOfOp)]
    assert places == [0, 2, 3]
    assert codes(module) == {0: [0], 1: [7], 2: [7]}
    seen = Calls()
    interpret(module, externs={"g": seen})["f"](
        5, np.arange(16, dtype=np.float32), np.ones(16, np.float32)
    )
    (found,) = seen.seen
    assert found[0] == 5
    assert found[1].shape == (4, 4)
    assert found[2].tolist() == list(range(16))


def test_an_array_outside_of_calls() -> None:
    text = """tir.func @f() attributes {target = #tir.target<"llvm">} {
      %h = tir.call "tvm_stack_make_shape"() : () -> !tir.handle
      tir.evaluate %h : !tir.handle
    }"""
    with pytest.raises(PassFailedException, match=r"shape' is used by tir\.evaluate"):
        lowered(parse(text))


# ---- memory ----


def allocation(
    size: str, dtype: str = "float32", scope: str = "global", on: str = ""
) -> str:
    return f"""{on}
p = T.allocate({size}, "{dtype}", "{scope}")
P = T.decl_buffer({size}, "{dtype}", data=p, scope="{scope}")
P[0] = T.{dtype}(1)""".strip()


ON_CUDA = 'T.attr("default", "device_id", 0)\nT.attr("default", "device_type", 2)'


def test_text_of_a_workspace() -> None:
    """CASE: LowerTVMBuiltin.6"""
    after = script("""
class Module:
    @T.prim_func
    def f():
        T.func_attr({"target": T.target("llvm")})
        p: T.handle("float32") = T.TVMBackendAllocWorkspace(2, 0, T.uint64(64), 2, 32)
        T.attr(p, "storage_alignment", 64)
        if T.isnullptr(p):
            T.Call("int32", "tir.tvm_throw_last_error", [])
        P = T.decl_buffer((16,), data=p)
        P[0] = T.float32(1)
        if T.TVMBackendFreeWorkspace(2, 0, p) != 0:
            T.Call("int32", "tir.tvm_throw_last_error", [])
""")
    module = lowered(function("", allocation("(16,)", on=ON_CUDA)))
    assert_structural_equal(module, after)
    found = interpret(module)
    found["f"]()
    assert found.workspaces.count == 0


def test_small_memory_of_the_host_stays() -> None:
    """CASE: LowerTVMBuiltin.7"""
    on_cpu = ON_CUDA.replace("2)", "1)")
    module = lowered(function("", allocation("(16,)", on=on_cpu)))
    assert ops(module, tir.AllocateOp)
    assert not ops(module, tir.AttrOp)
    module = function("", allocation("(255,)"))
    before = str(module)
    assert str(lowered(module)) == before


HOST_ONLY = 'T.func_attr({"tir.is_host_func": 1})'


@pytest.mark.parametrize(
    ("on", "size", "attributes", "reason"),
    [
        (
            'T.attr("default", "device_type", 2)',
            "(16,)",
            ON_CPU,
            "device id",
        ),
        ("", "(256,)", ON_CPU, "device id"),
        ("", "(16,)", HOST_ONLY, "device type"),
    ],
)
def test_memory_of_an_unknown_device(
    on: str, size: str, attributes: str, reason: str
) -> None:
    """CASE: LowerTVMBuiltin.8"""
    module = function("", allocation(size, on=on), attributes=attributes)
    with pytest.raises(
        PassFailedException, match=f"allocate in @f: requires the {reason}"
    ):
        lowered(module)


def test_large_and_symbolic_memory() -> None:
    """CASE: LowerTVMBuiltin.9"""
    on = 'T.attr("default", "device_id", 0)'
    module = lowered(function("", allocation("(256,)", on=on)))
    (call,) = calls(module, "TVMBackendAllocWorkspace")
    assert numbers(call) == [1, 0, 1024, 2, 32]
    module = lowered(function("n: T.int32", allocation("(n,)", on=on)))
    (call,) = calls(module, "TVMBackendAllocWorkspace")
    size = call.args[2].owner
    assert isinstance(size, tir.MulOp)
    found = interpret(module)
    found["f"](3)
    assert found.workspaces.count == 0


def test_bytes_beyond_32_bits() -> None:
    """CASE: LowerTVMBuiltin.10"""
    module = lowered(function("", allocation("(822083584,)", on=ON_CUDA)))
    (call,) = calls(module, "TVMBackendAllocWorkspace")
    assert numbers(call)[2] == 4 * 822083584
    text = allocation("(1073741824, 8)", on=ON_CUDA).replace("P[0]", "P[0, 0]")
    module = lowered(function("", text))
    (call,) = calls(module, "TVMBackendAllocWorkspace")
    assert numbers(call)[2] == 1 << 35


def test_memory_that_is_to_stay() -> None:
    """CASE: LowerTVMBuiltin.11"""
    kept = '"global", annotations={"disable_lower_builtin": T.bool(True)})'
    body = allocation("(16,)", on=ON_CUDA).replace('"global")', kept, 1)
    module = lowered(function("", body))
    assert len(ops(module, tir.AllocateOp)) == 1


def test_other_scopes_of_the_host() -> None:
    """CASE: LowerTVMBuiltin.21"""
    on = 'T.attr("default", "device_id", 3)'
    module = lowered(function("", allocation("(16,)", "float64", "local", on)))
    (call,) = calls(module, "TVMBackendAllocWorkspace")
    assert numbers(call) == [1, 3, 128, 2, 64]
    assert [op.key.data for op in ops(module, tir.AttrOp)] == ["storage_alignment"]


RETURN = """tir.func @f(%n: i32) -> i32 attributes {target = #tir.target<"llvm">} {
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  tir.attr "device_id" ("default") = 0 : i32 {
    %p = tir.allocate [300] : !tir.ptr<i32>
    %P = tir.decl_buffer %p : !tir.buffer<300xi32>
    tir.store %n, %P[%c0] : i32
    %q = tir.allocate [300] : !tir.ptr<i32>
    %Q = tir.decl_buffer %q : !tir.buffer<300xi32>
    tir.store %n, %Q[%c0] : i32
    %x = tir.load %P[%c0] : i32
    %b = tir.cmp gt %n, %c3 : i32
    tir.if %b {
      tir.ret %x : i32
    }
    %y = tir.load %Q[%c0] : i32
    %z = tir.add %x, %y : i32
    tir.ret %z : i32
  }
}"""


def test_memory_is_freed_before_returns() -> None:
    """TVM leaks it."""
    module = lowered(parse(RETURN))
    found = interpret(module)
    assert (found["f"](5), found["f"](2)) == (5, 4)
    assert found.workspaces.count == 0
    assert len(calls(module, "TVMBackendFreeWorkspace")) == 4


def test_memory_of_a_failed_call() -> None:
    """What a failed call has taken, the runtime takes back."""
    body = allocation("(300,)", on='T.attr("default", "device_id", 0)')
    module = lowered(function("", f'{body}\nassert P[0] > 2.0, "small"'))
    found = interpret(module)
    with pytest.raises(SimulationError, match="small"):
        found["f"]()
    assert found.workspaces.count == 0


VTCM = """T.attr("default", "device_id", 7)
for i in range(2):
    V = T.allocate([16], "float32", "global.vtcm")
    B = T.decl_buffer(16, "float32", data=V, scope="global.vtcm")
    B[0] = T.float32(1)"""


def test_memory_of_several_dimensions() -> None:
    """CASE: LowerTVMBuiltin.20"""
    module = function("", VTCM)
    LowerVtcmAlloc().apply(new_context(), module)
    module = lowered(module)
    alloc, free = "device_api.cpu.alloc_nd", "device_api.cpu.free_nd"
    assert slots(module) == [(alloc, 0, 7), (free, 0, 4)]
    assert stacks(module) == [("arg_tcode", 8), ("arg_value", 8), ("shape", 1)]
    found = codes(module)
    assert found[4] == [11]
    assert found[6] == [4, 3]
    (let,) = [op for op in ops(module, tir.LetOp) if "vtcm" in str(op.result.type)]
    assert isinstance(let.parent_op(), tir.ForOp)
    assert len(calls(module, "tvm_throw_last_error")) == 2
    run = interpret(module)
    run["f"]()
    assert run.workspaces.count == 0


DMA = """tir.func @f(%a: !tir.ptr<i32>, %b: !tir.ptr<i32>) attributes {ATTRIBUTES} {
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %k = tir.const KIND : i32
  tir.attr "device_type" ("default") = %k {
    %1 = tir.call "dma_start_group"(%c0) : (i32) -> i32
    %2 = tir.call "dma_copy"(%c0, %b, %a, %c8, %c0)
      : (i32, !tir.ptr<i32>, !tir.ptr<i32>, i32, i32) -> i32
    %3 = tir.call "dma_end_group"(%c0) : (i32) -> i32
    %4 = tir.call "dma_wait"(%c0, %c0) : (i32, i32) -> i32
  }
}"""


def test_dma() -> None:
    """CASE: LowerTVMBuiltin.18"""
    text = DMA.replace("ATTRIBUTES", 'target = #tir.target<"llvm">')
    module = lowered(parse(text.replace("KIND", "1")))
    names = [name.removeprefix("device_api.cpu.") for name, *_ in slots(module)]
    assert names == ["dma_start_group", "dma_copy", "dma_end_group", "dma_wait"]
    a, b = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    interpret(module)["f"](a, b)
    assert b.tolist() == [0, 1, 0, 0]
    module = lowered(parse(text.replace("KIND", "16")))
    assert slots(module)[0][0] == "device_api.hexagon.dma_start_group"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            DMA.replace("ATTRIBUTES", "tir.is_host_func = 1 : i32")
            .replace('tir.attr "device_type" ("default") = %k', "tir.scope")
            .replace("KIND", "1"),
            "Method dma_start_group requires the device type, but occurred outside of a "
            '"device_type" annotation',
        ),
        (
            DMA.replace("ATTRIBUTES", 'target = #tir.target<"llvm">').replace(
                "KIND", "5"
            ),
            "to be a constant of DLDeviceType that has an API",
        ),
    ],
)
def test_dma_of_an_unknown_device(text: str, reason: str) -> None:
    """CASE: LowerTVMBuiltin.18"""
    with pytest.raises(PassFailedException, match=reason):
        lowered(parse(text))


def test_an_argument_that_no_slot_holds() -> None:
    text = """tir.func @f(%x: vector<4xf32>) attributes {target = #tir.target<"llvm">} {
      %s = tir.string "g"
      %r = tir.call "tvm_call_packed"(%s, %x) : (!tir.handle, vector<4xf32>) -> i32
    }"""
    with pytest.raises(PassFailedException, match="passes a float32x4, which no packed"):
        lowered(parse(text))


def test_context_of_a_thread() -> None:
    text = """tir.func @f() -> i32 attributes {target = #tir.target<"llvm">} {
      %x = tir.call "tvm_context_id"() : () -> i32
      tir.ret %x : i32
    }"""
    module = lowered(parse(text))
    assert not ops(module, tir.CallOp)
    assert interpret(module)["f"]() == 0


# ---- with the other passes of the host ----


LAUNCH = """
class Module:
    @T.prim_func
    def main(A: T.Buffer(256, "float32"), n: T.int32):
        T.func_attr({"target": T.target("cuda", host="llvm")})
        Module.kernel(A.data, n)

    @T.prim_func(private=True)
    def kernel(A_data: T.handle("float32"), n: T.int32):
        T.func_attr({"target": T.target("cuda")})
        A = T.decl_buffer(256, data=A_data)
        b = T.launch_thread("blockIdx.x", n)
        t = T.launch_thread("threadIdx.x", 128)
        A[b * 128 + t] = T.Cast("float32", b)
"""


def launched() -> ModuleOp:
    module = script(LAUNCH)
    for each in (MakePackedAPI(), LowerDeviceKernelLaunch(), LowerTVMBuiltin()):
        each.apply(new_context(), module)
    module.verify()
    return module


def test_launch_of_a_kernel() -> None:
    """CASE: LowerTVMBuiltin.22 CASE: LowerTVMBuiltin.23"""
    module = launched()
    assert slots(module) == [("__tvm_set_device", 0, 2), ("kernel", 0, 4)]
    assert stacks(module) == [("arg_tcode", 5), ("arg_value", 5)]
    main = ops(module, tir.FuncOp)[0]
    assert isinstance(main.body.block.first_op, tir.StringOp)
    array = np.zeros(256, np.float32)
    run: InterpretedModule = interpret(module)
    run["main"](array, 2)
    assert array.tolist() == [0] * 128 + [1] * 128
    keys = [op.key.data for op in ops(module, tir.AttrOp)]
    assert keys == ["storage_alignment", "compute_scope"]


def test_errors_of_external_functions_pass() -> None:
    class OwnError(Exception):
        pass

    def fail(*_: Any) -> None:
        raise OwnError

    module = lowered(function("", 'T.call_packed("g", 1)'))
    with pytest.raises(OwnError):
        interpret(module, externs={"g": fail})["f"]()
