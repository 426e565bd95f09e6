"""Whole programs, compared with numpy."""

from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func
from xdsl.dialects.builtin import i1, i32
from xdsl.interpreter import Interpreter
from xdsl.interpreters.arith import ArithFunctions
from xdsl.interpreters.func import FuncFunctions
from xdsl.parser import Parser

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.data.foreign_values import to_foreign
from xdsl_tvm.interpreters.tir import (
    ArgumentError,
    DivisionByZeroError,
    InterpretedModule,
    Pointer,
    TirFunctions,
    interpret,
)


def parse(text: str) -> builtin.ModuleOp:
    context = Context()
    for dialect in (builtin.Builtin, arith.Arith, func.Func, tir.TIR):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def load(text: str, **options: Any) -> InterpretedModule:
    return interpret(parse(text), **options)


MATMUL = """
tir.func @matmul(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle)
    attributes {global_symbol = "mm"} {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?x5xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<5x6xf32>
  %C = tir.match_buffer "C" %c [%n] : !tir.buffer<?x6xf32>
  %c0 = tir.const 0 : i32
  %c5 = tir.const 5 : i32
  %c6 = tir.const 6 : i32
  %z = tir.const 0.0 : f32
  tir.for %i = %c0 to %n parallel {
    tir.for %j = %c0 to %c6 thread_binding "threadIdx.x" {
      tir.for %k = %c0 to %c5 {
        tir.block "C" (%vi : S in [%c0 to %n] = %i, %vj : S in [%c0 to %c6] = %j,
                       %vk : R in [%c0 to %c5] = %k) {
          tir.reads %A[%vi, %vk], %B[%vk, %vj]
          tir.writes %C[%vi, %vj]
          tir.init {
            tir.store %z, %C[%vi, %vj] : f32
          }
          %x = tir.load %A[%vi, %vk] : f32
          %y = tir.load %B[%vk, %vj] : f32
          %s = tir.load %C[%vi, %vj] : f32
          %p = tir.mul %x, %y : f32
          %q = tir.add %s, %p : f32
          tir.store %q, %C[%vi, %vj] : f32
        }
      }
    }
  }
}
"""


def test_matmul_rounds_every_step_to_f32() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(4, 5)).astype(np.float32)
    b = rng.normal(size=(5, 6)).astype(np.float32)
    c = np.full((4, 6), np.nan, np.float32)
    assert load(MATMUL)["mm"](a, b, c) is None
    expected = np.zeros_like(c)
    for k in range(5):
        expected += a[:, k : k + 1] * b[k]
    np.testing.assert_array_equal(c, expected)


def test_an_empty_symbolic_extent_runs_nothing() -> None:
    c = np.zeros((0, 6), np.float32)
    load(MATMUL)["matmul"](np.zeros((0, 5), np.float32), np.ones((5, 6), np.float32), c)
    assert c.shape == (0, 6)


def test_symbolic_extents_may_be_bound_after_an_expression_of_them() -> None:
    run = load("""
tir.func @f(%b: !tir.handle, %a: !tir.handle) -> i32 {
  %n = tir.shape_var "n" : i32
  %c2 = tir.const 2 : i32
  %n2 = tir.mul %n, %c2 : i32
  %B = tir.match_buffer "B" %b [%n2] : !tir.buffer<?xi8>
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?xi8>
  tir.ret %n2 : i32
}
""")["f"]
    assert run(np.zeros(6, np.int8), np.zeros(3, np.int8)) == 6
    with pytest.raises(ArgumentError, match="B expects extent 0 to be 6"):
        run(np.zeros(5, np.int8), np.zeros(3, np.int8))


def test_symbolic_strides_are_those_of_the_array() -> None:
    run = load("""
tir.func @f(%a: !tir.handle, %b: !tir.handle) {
  %s = tir.shape_var "s" : i32
  %t = tir.shape_var "t" : i32
  %A = tir.match_buffer "A" %a strides [%s, %t] : !tir.buffer<3x4xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<3x4xi32>
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c3 {
    tir.for %j = %c0 to %c4 vectorized {
      %x = tir.load %A[%i, %j] : i32
      tir.store %x, %B[%i, %j] : i32
      tir.store %i, %A[%i, %j] : i32
    }
  }
}
""")["f"]
    whole = np.arange(64, dtype=np.int32).reshape(8, 8)
    view = whole.T[1:7:2, 2:6]
    before = view.copy()
    out = np.zeros((3, 4), np.int32)
    run(view, out)
    np.testing.assert_array_equal(out, before)
    np.testing.assert_array_equal(view, np.repeat(np.arange(3), 4).reshape(3, 4))
    assert whole[0, 0] == 0
    assert whole[7, 7] == 63


def test_views_offsets_and_regions_address_one_memory() -> None:
    out = np.zeros(8, np.int16)
    load("""
tir.func @f(%o: !tir.handle) {
  %O = tir.match_buffer "O" %o : !tir.buffer<8xi16>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c8 = tir.const 8 : i32
  %c9 = tir.const 9 : i32
  %p = tir.allocate [12] : !tir.ptr<i16>
  %V = tir.decl_buffer "V" %p strides [4, 1] offset %c2 : !tir.buffer<2x4xi16>
  tir.for %i = %c0 to %c2 {
    %s = tir.shape_var "s" : i32
    %e = tir.shape_var "e" : i32
    %R = tir.match_region "R" %V[%i, %c1 to %c1 + 3] strides [%s] offset %e
        : !tir.buffer<3xi16>
    tir.for %j = %c0 to %c3 {
      %x = tir.cast %e : i32 to i16
      tir.store %x, %R[%j] : i16
    }
  }
  %d = tir.data %V : !tir.ptr<i16>
  %q = tir.address_of %V[%c1, %c1] : !tir.ptr<i16>
  %W = tir.decl_buffer "W" %d : !tir.buffer<12xi16>
  %Q = tir.decl_buffer "Q" %q : !tir.buffer<3xi16>
  %y0 = tir.load %W[%c3] : i16
  %y1 = tir.load %Q[%c2] : i16
  tir.store %y0, %O[%c0] : i16
  tir.store %y1, %O[%c1] : i16
}
""")["f"](out)
    assert out[:2].tolist() == [3, 7]


def test_block_predicates_and_opaque_blocks() -> None:
    out = np.zeros(5, np.int32)
    load("""
tir.func @f(%o: !tir.handle) {
  %O = tir.match_buffer "O" %o : !tir.buffer<5xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c5 = tir.const 5 : i32
  tir.for %i = %c0 to %c3 {
    tir.for %j = %c0 to %c2 unrolled {
      %m = tir.mul %i, %c2 : i32
      %k = tir.add %m, %j : i32
      %p = tir.cmp lt %k, %c5 : i32
      tir.block "b" (%v : S in [%c0 to %c5] = %k) where %p {
        %T = tir.alloc_buffer "T" : !tir.buffer<i32>
        tir.store %v, %T[] : i32
        tir.block "inner" {
          %x = tir.load %T[] : i32
          tir.store %x, %O[%v] : i32
        }
      }
    }
  }
}
""")["f"](out)
    assert out.tolist() == [0, 1, 2, 3, 4]


def test_vectors_gather_shuffle_and_predicates() -> None:
    a = np.arange(8, dtype=np.float32)
    b = np.full(8, -1, np.float32)
    load("""
tir.func @f(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c6 = tir.const 6 : i32
  %c10 = tir.const 10 : i32
  %r = tir.ramp %c0, %c2 : vector<4xi32>
  %x = tir.load %A[%r] : vector<4xf32>
  %f = tir.const 10.0 : f32
  %w = tir.broadcast %f : vector<4xf32>
  %y = tir.add %x, %w : vector<4xf32>
  %m = tir.call "get_active_lane_mask"(%c6, %c10) : (i32, i32) -> vector<4xi1>
  %m2 = tir.call "get_active_lane_mask"(%c0, %c3) : (i32, i32) -> vector<4xi1>
  %z = tir.shuffle [%y, %x] [%c0, %c1, %c6, %c3] : vector<4xf32>
  %s = tir.select %m2, %z, %x : vector<4xi1>, vector<4xf32>
  %d = tir.ramp %c3, %c2 : vector<4xi32>
  tir.store %s, %B[%d] if %m2 : vector<4xf32>
}
""")["f"](a, b)
    assert b.tolist() == [-1, -1, -1, 10, -1, 12, -1, 4]


def test_vector_elements_are_one_more_dimension() -> None:
    a = np.arange(8, dtype=np.int8).reshape(2, 4)
    load("""
tir.func @f(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<2xvector<4xi8>>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %x = tir.load %A[%c0] : vector<4xi8>
  %y = tir.load %A[%c1] : vector<4xi8>
  %z = tir.add %x, %y : vector<4xi8>
  tir.store %z, %A[%c1] : vector<4xi8>
}
""")["f"](a)
    assert a.tolist() == [[0, 1, 2, 3], [4, 6, 8, 10]]


def test_scalable_vectors_take_vscale_from_the_caller() -> None:
    text = """
tir.func @f(%a: !tir.handle) -> i32 {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %r = tir.ramp %c0, %c1 : vector<[2]xi32>
  %b = tir.broadcast %c1 : vector<[2]xi32>
  tir.store %b, %A[%r] : vector<[2]xi32>
  %v = tir.call "vscale"() : () -> i32
  tir.ret %v : i32
}
"""
    for vscale in (1, 3):
        a = np.zeros(8, np.int32)
        assert load(text, vscale=vscale)["f"](a) == vscale
        assert a.sum() == 2 * vscale


def test_while_and_early_return() -> None:
    run = load("""
tir.func @collatz(%n: i64) -> i64 {
  %c0 = tir.const 0 : i32
  %one = tir.const 1 : i64
  %two = tir.const 2 : i64
  %three = tir.const 3 : i64
  %zero = tir.const 0 : i64
  %S = tir.alloc_buffer "S" : !tir.buffer<2xi64>
  %c1 = tir.const 1 : i32
  tir.store %n, %S[%c0] : i64
  tir.store %zero, %S[%c1] : i64
  tir.while {
    %t = tir.const true
    tir.yield %t : i1
  } do {
    %x = tir.load %S[%c0] : i64
    %k = tir.load %S[%c1] : i64
    %done = tir.cmp eq %x, %one : i64
    tir.if %done {
      tir.ret %k : i64
    }
    %r = tir.mod %x, %two : i64
    %odd = tir.cmp ne %r, %zero : i64
    %h = tir.div %x, %two : i64
    %m = tir.mul %x, %three : i64
    %u = tir.add %m, %one : i64
    %next = tir.select %odd, %u, %h : i1, i64
    tir.store %next, %S[%c0] : i64
    %k1 = tir.add %k, %one : i64
    tir.store %k1, %S[%c1] : i64
  }
}
""")["collatz"]
    assert run(27) == 111


def test_if_then_else_is_lazy_where_select_is_not() -> None:
    template = """
tir.func @f(%d: i32) -> i32 {{
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %p = tir.cmp ne %d, %c0 : i32
  {choice}
  tir.ret %r : i32
}}
"""
    lazy = load(
        template.format(
            choice="""%r = tir.if_then_else %p -> i32 {
    %q = tir.div %c8, %d : i32
    tir.yield %q : i32
  } else {
    tir.yield %c0 : i32
  }"""
        )
    )["f"]
    assert (lazy(0), lazy(3)) == (0, 2)
    eager = load(
        template.format(
            choice="""%q = tir.div %c8, %d : i32
  %r = tir.select %p, %q, %c0 : i1, i32"""
        )
    )["f"]
    assert eager(3) == 2
    with pytest.raises(DivisionByZeroError, match=r"tir\.div"):
        eager(0)


def test_launch_threads_of_one_axis_share_the_index() -> None:
    out = np.zeros((2, 3), np.int32)
    load("""
tir.func @f(%o: !tir.handle) {
  %O = tir.match_buffer "O" %o : !tir.buffer<2x3xi32>
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  tir.launch_thread %b = "blockIdx.x" to %c2 {
    tir.launch_thread %t = "threadIdx.x" to %c3 env "t" {
      tir.launch_thread %u = "threadIdx.x" to %c3 env "t" {
        %x = tir.load %O[%b, %u] : i32
        %y = tir.add %x, %c1 : i32
        tir.store %y, %O[%b, %t] : i32
      }
    }
  }
}
""")["f"](out)
    assert out.tolist() == [[1, 1, 1], [1, 1, 1]]


def test_more_nested_loops_than_python_allows() -> None:
    depth = 30
    lines = [f"tir.for %i{k} = %c0 to %c1 {{" for k in range(depth)]
    text = (
        "tir.func @f() -> i32 {\n%c0 = tir.const 0 : i32\n%c1 = tir.const 1 : i32\n"
        "%c7 = tir.const 7 : i32\n"
        + "\n".join(lines)
        + "\ntir.ret %c7 : i32\n"
        + "}\n" * depth
        + "tir.ret %c0 : i32\n}\n"
    )
    assert load(text)["f"]() == 7


CALLS = """
tir.func @helper(%p: !tir.ptr<i32>, %n: i32) -> i32 {
  %A = tir.decl_buffer "A" %p [%n] : !tir.buffer<?xi32>
  %c0 = tir.const 0 : i32
  %x = tir.load %A[%c0] : i32
  %y = tir.add %x, %n : i32
  tir.store %y, %A[%c0] : i32
  tir.ret %y : i32
}
tir.func @main(%a: !tir.handle) -> i32 {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
  %c2 = tir.const 2 : i32
  %p = tir.address_of %A[%c2] : !tir.ptr<i32>
  %r = tir.call_func @helper(%p, %c2) : (!tir.ptr<i32>, i32) -> i32
  %name = tir.string "twice"
  %s = tir.call "call_extern"(%name, %p, %r) : (!tir.handle, !tir.ptr<i32>, i32) -> i32
  tir.ret %s : i32
}
"""


def test_calls_of_functions_and_externals() -> None:
    def twice(pointer: Pointer, value: int) -> int:
        pointer.array()[1] = 2 * value
        return 2 * value

    a = np.array([0, 1, 5, 3], np.int32)
    assert load(CALLS, externs={"twice": twice})["main"](a) == 14
    assert a.tolist() == [0, 1, 7, 14]


def test_packed_calls_get_arrays() -> None:
    def fill(array: np.ndarray[Any, Any], value: float) -> int:
        array[...] = value
        return 0

    out = np.zeros(2, np.float32)
    load(
        """
tir.func @f(%o: !tir.handle) {
  %O = tir.match_buffer "O" %o : !tir.buffer<2xf32>
  %T = tir.alloc_buffer "T" : !tir.buffer<2x3xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %v = tir.const 2.5 : f32
  %d = tir.data %T : !tir.ptr<f32>
  %s = tir.call "tvm_stack_make_shape"(%c2, %c3) : (i32, i32) -> !tir.handle
  %a = tir.call "tvm_stack_make_array"(%d, %s, %c0, %c2, %v, %c0)
    : (!tir.ptr<f32>, !tir.handle, i32, i32, f32, i32) -> !tir.handle
  %n = tir.string "fill"
  %r = tir.call "tvm_call_packed"(%n, %a, %v) : (!tir.handle, !tir.handle, f32) -> i32
  %x = tir.load %T[%c1, %c2] : f32
  tir.store %x, %O[%c1] : f32
}
""",
        externs={"fill": fill},
    )["f"](out)
    assert out.tolist() == [0, 2.5]


def test_constants_allocated_in_the_program() -> None:
    out = np.zeros(1, np.float16)
    load("""
tir.func @f(%o: !tir.handle) {
  %O = tir.match_buffer "O" %o : !tir.buffer<1xf16>
  %w = tir.allocate_const dense<[1.0, 2.5]> : tensor<2xf16> : !tir.ptr<f16>
  %W = tir.decl_buffer "W" %w : !tir.buffer<2xf16>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %x = tir.load %W[%c1] : f16
  tir.store %x, %O[%c0] : f16
}
""")["f"](out)
    assert out.tolist() == [2.5]


MIXED = """
tir.func @small(%x: i32, %y: f32) -> i1 {
  %c = arith.constant 4 : i32
  %less = arith.cmpi slt, %x, %c : i32
  %one = arith.constant 1.0 : f32
  %sum = arith.addf %y, %one : f32
  %two = tir.const 2.0 : f32
  %more = tir.cmp gt %sum, %two : f32
  %z = tir.and %less, %more : i1
  tir.ret %z : i1
}
tir.func @inner(%x: i32) -> i32 {
  %c = arith.constant 4 : i32
  %y = arith.addi %x, %c : i32
  %z = tir.mul %y, %y : i32
  tir.ret %z : i32
}
"""


def test_ops_of_other_dialects_run_with_their_own_implementations() -> None:
    module = load(MIXED, functions=[ArithFunctions()])
    assert module["inner"](3) == 49
    assert module["small"](3, 1.5) is True
    assert module["small"](3, 0.5) is False


def test_xdsls_interpreter_calls_tir_functions() -> None:
    module = parse("""
tir.func @square(%x: i32) -> i32 {
  %z = tir.mul %x, %x : i32
  tir.ret %z : i32
}
tir.func @positive(%x: i32) -> i1 {
  %c0 = tir.const 0 : i32
  %z = tir.cmp gt %x, %c0 : i32
  tir.ret %z : i1
}
""")
    interpreter = Interpreter(module)
    interpreter.register_implementations(TirFunctions())
    interpreter.register_implementations(FuncFunctions())
    five, square = (to_foreign(number, i32) for number in (5, 25))
    assert interpreter.call_op("square", (five,)) == (square,)
    assert interpreter.call_op("positive", (five,)) == (to_foreign(True, i1),)


def test_the_module_is_a_mapping_by_symbol() -> None:
    module = load(MATMUL)
    assert list(module) == ["matmul"]
    assert len(module) == 1
    with pytest.raises(KeyError, match=r"no tir\.func named main, .*: matmul"):
        module["main"]
