"""Every kind of fault is reported by its class, with the op and what to do."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.ir import parse
from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin, ModuleOp, i32
from xdsl.ir import Block, Region
from xdsl.parser import Parser
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import TIR
from xdsl_tvm.interpreters.tir import (
    ArgumentError,
    AssertionFailedError,
    DivisionByZeroError,
    OutOfBoundsError,
    SimulationError,
    StepLimitError,
    UninitializedReadError,
    interpret,
)


def function(params: str, body: str, **options: Any) -> Any:
    context = Context()
    for dialect in (Builtin, Arith, TIR):
        context.load_dialect(dialect)
    text = f"tir.func @f({params}) {{\n{body}\n}}"
    module = Parser(context, text).parse_module()
    module.verify()
    return interpret(module, **options)["f"]


COPY = """
%n = tir.shape_var "n" : i32
%A = tir.match_buffer "A" %a [%n] : !tir.buffer<?x4xf32>
%B = tir.match_buffer "B" %b [%n] : !tir.buffer<?xf32>
%c3 = tir.const 3 : i32
%x = tir.load %A[%i, %c3] : f32
tir.store %x, %B[%i] : f32
"""


def copy() -> Any:
    return function("%a: !tir.handle, %b: !tir.handle, %i: i32", COPY)


def arrays() -> tuple[Any, Any]:
    return np.zeros((2, 4), np.float32), np.zeros(2, np.float32)


@pytest.mark.parametrize("index", [-1, 2])
def test_index_out_of_bounds(index: int) -> None:
    message = rf"index 0 is {index}, the extent of the dimension is 2, in: .*tir\.load"
    with pytest.raises(OutOfBoundsError, match=message) as info:
        copy()(*arrays(), index)
    assert info.value.op is not None


def test_an_inner_index_cannot_reach_the_next_row() -> None:
    run = function(
        "%a: !tir.handle, %i: i32",
        """%A = tir.match_buffer "A" %a : !tir.buffer<2x4xf32>
        %c0 = tir.const 0 : i32
        %x = tir.load %A[%c0, %i] : f32""",
    )
    run(arrays()[0], 3)
    with pytest.raises(OutOfBoundsError, match="index 1 is 4"):
        run(arrays()[0], 4)


def test_vector_lane_out_of_bounds() -> None:
    run = function(
        "%a: !tir.handle, %i: i32",
        """%A = tir.match_buffer "A" %a : !tir.buffer<6xf32>
        %c1 = tir.const 1 : i32
        %r = tir.ramp %i, %c1 : vector<4xi32>
        %x = tir.load %A[%r] : vector<4xf32>""",
    )
    run(np.zeros(6, np.float32), 2)
    with pytest.raises(OutOfBoundsError, match="lane 3 of the last index is 6"):
        run(np.zeros(6, np.float32), 3)


def test_view_beyond_its_memory() -> None:
    run = function(
        "",
        """%p = tir.allocate [4] : !tir.ptr<f32>
        %V = tir.decl_buffer "V" %p : !tir.buffer<8xf32>
        %c5 = tir.const 5 : i32
        %z = tir.const 0.0 : f32
        tir.store %z, %V[%c5] : f32""",
    )
    with pytest.raises(OutOfBoundsError, match=r"outside of the memory, in: tir\.store"):
        run()


def test_region_out_of_bounds() -> None:
    run = function(
        "%a: !tir.handle, %i: i32",
        """%A = tir.match_buffer "A" %a : !tir.buffer<8xf32>
        tir.block "b" {
          %V = tir.match_region "V" %A[%i to %i + 4] : !tir.buffer<4xf32>
        }""",
    )
    run(np.zeros(8, np.float32), 4)
    with pytest.raises(OutOfBoundsError, match=r"dimension 0 of the region is \[5, 9\)"):
        run(np.zeros(8, np.float32), 5)


def test_iteration_variable_outside_of_its_domain() -> None:
    run = function(
        "%i: i32",
        """%c0 = tir.const 0 : i32
        %c4 = tir.const 4 : i32
        tir.block "b" (%v : S in [%c0 to %c4] = %i) {
        }""",
    )
    run(3)
    with pytest.raises(OutOfBoundsError, match=r"its domain is \[0, 4\), in: tir\.block"):
        run(4)


def test_read_of_memory_that_was_not_written() -> None:
    body = """%T = tir.alloc_buffer "T" : !tir.buffer<4xf32>
        %c0 = tir.const 0 : i32
        %z = tir.const 0.0 : f32
        tir.store %z, %T[%c0] : f32
        %x = tir.load %T[%i] : f32"""
    run = function("%i: i32", body)
    run(0)
    with pytest.raises(UninitializedReadError, match=r"element 2 .*, in: .*tir\.load"):
        run(2)


def test_partly_written_element() -> None:
    run = function(
        "",
        """%p = tir.allocate [4] : !tir.ptr<i8>
        %A = tir.decl_buffer "A" %p : !tir.buffer<4xi8>
        %B = tir.decl_buffer "B" %p : !tir.buffer<1xi32>
        %c0 = tir.const 0 : i32
        %c3 = tir.const 3 : i32
        %z = tir.const 1 : i8
        tir.store %z, %A[%c0] : i8
        tir.store %z, %A[%c3] : i8
        %x = tir.load %B[%c0] : i32""",
    )
    with pytest.raises(UninitializedReadError):
        run()


@pytest.mark.parametrize("op", ["div", "mod", "floordiv", "floormod"])
def test_integer_division_by_zero(op: str) -> None:
    run = function("%i: i32", f"%r = tir.{op} %i, %i : i32")
    run(1)
    with pytest.raises(DivisionByZeroError, match=rf"in: .*tir\.{op}"):
        run(0)


def test_assertion() -> None:
    run = function(
        "%i: i32",
        """%c0 = tir.const 0 : i32
        %p = tir.cmp gt %i, %c0 : i32
        tir.assert %p, "i must be positive" """,
    )
    run(1)
    with pytest.raises(AssertionFailedError, match="i must be positive"):
        run(0)


def test_assumption() -> None:
    run = function("%p: i1", 'tir.call "assume"(%p) : (i1) -> ()')
    run(True)
    with pytest.raises(AssertionFailedError, match="assumption"):
        run(False)


def test_endless_while() -> None:
    body = """tir.while {
          %p = tir.const true
          tir.yield %p : i1
        } do {
        }"""
    with pytest.raises(StepLimitError, match="more than 100 iterations"):
        function("", body, step_limit=100)()


Change = Callable[[Any, Any], tuple[Any, Any]]

UNFIT: list[tuple[Change, str]] = [
    (lambda a, b: (a.astype(np.float64), b), "A expects dtype float32, got float64"),
    (lambda a, b: (a[0], b), "A expects rank 2, got 1"),
    (lambda a, b: (a[:, :3].copy(), b), "A expects extent 1 to be 4, got 3"),
    (lambda a, b: (a, b[:1]), "B expects extent 0 to be 2, got 1"),
    (lambda a, b: (np.zeros((4, 2), np.float32).T, b), "A expects compact row-major"),
    (lambda a, b: ([1, 2], b), "A expects a numpy array, .* got list"),
]


@pytest.mark.parametrize(("change", "message"), UNFIT)
def test_arrays_that_do_not_fit(change: Change, message: str) -> None:
    with pytest.raises(ArgumentError, match=f"f: parameter {message}"):
        copy()(*change(*arrays()), 0)


@pytest.mark.parametrize(
    ("dtype", "value"), [("i8", 128), ("ui8", -1), ("i32", 1.5), ("f32", "x")]
)
def test_scalars_that_do_not_fit(dtype: str, value: Any) -> None:
    with pytest.raises(ArgumentError, match="f: parameter x expects"):
        function(f"%x: {dtype}", "")(value)


def test_number_of_arguments() -> None:
    with pytest.raises(ArgumentError, match="f: expects 3 arguments, got 1"):
        copy()(1)


def test_read_only_array() -> None:
    a, b = arrays()
    b.flags.writeable = False
    with pytest.raises(ArgumentError, match="the memory cannot be written"):
        copy()(a, b, 0)


def test_extent_that_nothing_binds() -> None:
    body = """%n = tir.shape_var "n" : i32
    %m = tir.add %n, %n : i32"""
    with pytest.raises(InterpretationError, match="no buffer binds the variable"):
        function("", body)()


def test_barrier_needs_threads() -> None:
    body = """%s = tir.string "shared"
    tir.call "tvm_storage_sync"(%s) : (!tir.handle) -> ()"""
    with pytest.raises(InterpretationError, match="outside of the threads of a kernel"):
        function("", body)()


def test_unknown_builtin() -> None:
    body = 'tir.call "tvm_static_handle"() : () -> !tir.handle'
    with pytest.raises(InterpretationError, match="no meaning for the builtin"):
        function("", body)()


def test_missing_external_function() -> None:
    body = """%s = tir.string "printf"
    %r = tir.call "call_extern"(%s) : (!tir.handle) -> i32"""
    with pytest.raises(InterpretationError, match="no external function printf is known"):
        function("", body)()


def test_op_of_another_dialect() -> None:
    with pytest.raises(InterpretationError, match=r"arith\.constant: an op of another"):
        function("", "%c = arith.constant 4 : i32")()


def test_errors_of_external_functions_pass_through() -> None:
    def fail() -> int:
        empty: list[int] = []
        return empty[0]

    body = """%s = tir.string "fail"
    %r = tir.call "call_extern"(%s) : (!tir.handle) -> i32"""
    with pytest.raises(IndexError):
        function("", body, externs={"fail": fail})()


def test_faults_are_interpretation_errors() -> None:
    assert issubclass(SimulationError, InterpretationError)
    assert issubclass(OutOfBoundsError, SimulationError)


def test_null_pointer() -> None:
    view = """%V = tir.decl_buffer "V" %p : !tir.buffer<4xf32>"""
    function("%p: !tir.ptr<f32>", view)(None)
    load = f"""{view}
    %c1 = tir.const 1 : i32
    %x = tir.load %V[%c1] : f32"""
    with pytest.raises(OutOfBoundsError, match="null pointer"):
        function("%p: !tir.ptr<f32>", load)(None)
    access = """%c0 = tir.const 0 : i32
    %q = tir.access_ptr r %p[%c0 to %c0] : !tir.ptr<f32>"""
    with pytest.raises(SimulationError, match=r"a null pointer.*, in: .*tir.access_ptr"):
        function("%p: !tir.ptr<f32>", access)(None)


def test_functions_that_call_themselves() -> None:
    module = parse("""
    tir.func @f(%n: i32) -> i32 {
      %x = tir.call_func @g(%n) : (i32) -> i32
      tir.ret %x : i32
    }
    tir.func private @g(%n: i32) -> i32 {
      %x = tir.call_func @f(%n) : (i32) -> i32
      tir.ret %x : i32
    }
    """)
    functions = interpret(module)
    with pytest.raises(SimulationError, match=r"@[fg]: functions call each other more"):
        functions["f"](3)
    # The next call begins anew.
    with pytest.raises(SimulationError, match=r"@[fg]: functions call each other more"):
        functions["g"](3)


def test_external_functions_that_call_themselves() -> None:
    def forever() -> int:
        return forever()

    body = """
    %name = tir.string "forever"
    %x = tir.call "call_extern"(%name) : (!tir.handle) -> i32
    """
    with pytest.raises(RecursionError):
        function("", body, externs={"forever": forever})()


@pytest.mark.parametrize("depth", [120, 400])
def test_functions_that_nest_too_deeply(depth: int) -> None:
    zero, one = tir.ConstOp.of(0, i32), tir.ConstOp.of(1, i32)
    block = Block([tir.ConstOp.of(2, i32)], arg_types=[i32])
    for _ in range(depth):
        block = Block([tir.ForOp(zero, one, Region(block))], arg_types=[i32])
    outermost = block.first_op
    assert outermost is not None
    outermost.detach()
    func = tir.FuncOp("f", ((), ()), Region(Block([zero, one, outermost])))
    module = ModuleOp([func])
    with pytest.raises(InterpretationError, match="nests too deeply for Python") as found:
        interpret(module)["f"]()
    assert not isinstance(found.value, SimulationError)


def test_memory_that_there_is_not() -> None:
    run = function("", "%p = tir.allocate [9223372036854775807] : !tir.ptr<f32>")
    with pytest.raises(SimulationError, match=r"no memory for 36893488147419103228 byt"):
        run()


def test_buffers_that_other_operations_define() -> None:
    context = Context(allow_unregistered=True)
    for dialect in (Builtin, TIR):
        context.load_dialect(dialect)
    text = """tir.func @f() {
      %B = "test.op"() : () -> !tir.buffer<4xf32>
      %p = tir.data %B : !tir.ptr<f32>
    }"""
    module = Parser(context, text).parse_module()
    with pytest.raises(InterpretationError, match=r"it defines a buffer of unknown memo"):
        interpret(module)["f"]()
