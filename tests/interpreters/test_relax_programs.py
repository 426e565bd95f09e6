"""Relax functions on arrays: control flow, symbols, calls, memory, and their errors."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support import paths
from support.ir import parse
from support.relax_programs import function
from xdsl.utils.exceptions import InterpretationError

import xdsl_tvm
from xdsl_tvm.interpreters.errors import (
    ArgumentError,
    AssertionFailedError,
    OutOfBoundsError,
    StepLimitError,
    TypeCheckError,
    UninitializedReadError,
    UseAfterKillError,
)
from xdsl_tvm.interpreters.relax import interpret
from xdsl_tvm.runtime.executable import load_module
from xdsl_tvm.tools.cli import main as command

DIGITS = paths.EXAMPLES / "digits" / "model.mlir"


def floats(*values: float) -> Any:
    return np.array(values, np.float32)


def test_digits_agree_with_the_compiled_model():
    compiled = xdsl_tvm.compile(DIGITS)["main"]
    interpreted = interpret(load_module(DIGITS))["main"]
    rng = np.random.default_rng(0)
    for batch in (1, 7):
        images = rng.random((batch, 64), np.float32)
        np.testing.assert_allclose(interpreted(images), compiled(images), atol=1e-5)


# ---- leaves ----


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dense<[1.5, -2.0]> : tensor<2xf32>", np.array([1.5, -2], np.float32)),
        ("dense<1.5> : tensor<2x2xf64>", np.full((2, 2), 1.5)),
        ("dense<[1.5, 3.0]> : tensor<2xbf16>", np.array([1.5, 3], ml_dtypes.bfloat16)),
        ("dense<[true, false]> : tensor<2xi1>", np.array([True, False])),
        ("dense<[200, 3]> : tensor<2xui8>", np.array([200, 3], np.uint8)),
        ("dense<[-8, 7]> : tensor<2xi4>", np.array([-8, 7], np.int8)),
        ("dense<-3> : tensor<i64>", np.array(-3)),
    ],
)
def test_constant(text: str, expected: Any):
    kind = text.split(" : ")[1]
    found = function(
        f"relax.func @main() -> {kind} {{\n%c = relax.constant {text}\n"
        f"relax.return %c : {kind}\n}}"
    )()
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_shapes_scalars_and_tuples():
    result = (
        "!relax.tuple<!relax.shape<[n * 2, 3]>, !relax.prim<i64, n floordiv 2>, "
        "!relax.prim<f32>, !relax.tuple<>>"
    )
    run = function(f"""
    relax.func @main<n>(%x: tensor<?xf32, #relax.dims<[n]>>) -> {result} {{
      %s = relax.shape [n * 2, 3]
      %i = relax.prim_value n floordiv 2 : i64
      %f = relax.prim_value 0.1 : f32
      %v = relax.tuple()
      %t = relax.tuple(%s, %i, %f, %v) : !relax.shape<[n * 2, 3]>,
        !relax.prim<i64, n floordiv 2>, !relax.prim<f32>, !relax.tuple<>
      relax.return %t : {result}
    }}""")
    assert run(floats(1, 2, 3, 4, 5)) == ((10, 3), 2, np.float32(0.1), ())


def test_fields_of_tuples_are_the_same_tensors():
    pair = "!relax.tuple<tensor<2xf32>, tensor<2xf32>>"
    run = function(f"""
    relax.func @main(%t: {pair}) -> {pair} {{
      %a = relax.get_item %t[1] : {pair} -> tensor<2xf32>
      %b = relax.alias %a : tensor<2xf32> -> tensor<2xf32>
      %r = relax.tuple(%b, %a) : tensor<2xf32>, tensor<2xf32>
      relax.return %r : {pair}
    }}""")
    x, y = floats(1, 2), floats(3, 4)
    first, second = run((x, y))
    assert first is second is y


# ---- control flow ----

CHOICE = """
relax.func @main(%c: tensor<i1>, %x: tensor<?xf32>) -> tensor<?xf32> {
  %r = relax.if %c : tensor<i1> -> tensor<?xf32> {
    %m = relax.match_cast %x defines [k] :
      tensor<?xf32> -> tensor<?xf32, #relax.dims<[k]>>
    %s = relax.add %m, %m :
      (tensor<?xf32, #relax.dims<[k]>>, tensor<?xf32, #relax.dims<[k]>>) ->
      tensor<?xf32, #relax.dims<[k]>>
    relax.yield %s : tensor<?xf32, #relax.dims<[k]>>
  } else {
    %m = relax.match_cast %x : tensor<?xf32> -> tensor<3xf32>
    relax.yield %m : tensor<3xf32>
  }
  relax.return %r : tensor<?xf32>
}
"""


def test_only_the_chosen_branch_runs():
    run = function(CHOICE)
    np.testing.assert_array_equal(run(np.array(True), floats(1, 2)), floats(2, 4))
    np.testing.assert_array_equal(run(np.array(False), floats(1, 2, 3)), floats(1, 2, 3))
    with pytest.raises(
        TypeCheckError, match=r"dimension 0 of x is 2, not 3, in: .*match_cast"
    ):
        run(np.array(False), floats(1, 2))


RECURSION = """
relax.func @main(%c: !relax.prim<i1>, %x: tensor<f32>) -> tensor<f32> {
  %r = relax.if %c : !relax.prim<i1> -> tensor<f32> {
    %zero = relax.prim_value 0 : i1
    %no = relax.alias %zero : !relax.prim<i1, 0> -> !relax.prim<i1>
    %one = relax.constant dense<1.0> : tensor<f32>
    %y = relax.add %x, %one : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %z = relax.call @main(%CONDITION, %y) : (!relax.prim<i1>, tensor<f32>) -> tensor<f32>
    relax.yield %z : tensor<f32>
  } else {
    relax.yield %x : tensor<f32>
  }
  relax.return %r : tensor<f32>
}
"""


def test_recursion():
    run = function(RECURSION.replace("%CONDITION", "%no"))
    assert run(True, np.float32(2)) == 3
    assert run(False, np.float32(2)) == 2


def test_endless_recursion():
    text = RECURSION.replace("%CONDITION", "%c")
    run = interpret(load_module(text), step_limit=1000)["main"]
    with pytest.raises(StepLimitError, match="@main called itself 1000 times"):
        run(True, np.float32(0))
    assert run(False, np.float32(2)) == 2


def test_symbols_of_a_dataflow_block_stay_visible():
    run = function("""
    relax.func @main(%x: tensor<?xf32>) -> !relax.shape<[?]> {
      %o = relax.dataflow -> (tensor<?xf32, #relax.dims<[k]>>) {
        %m = relax.match_cast %x defines [k] :
          tensor<?xf32> -> tensor<?xf32, #relax.dims<[k]>>
        relax.output %m : tensor<?xf32, #relax.dims<[k]>>
      }
      %s = relax.shape [k + 1]
      relax.return %s : !relax.shape<[k + 1]>
    }""")
    assert run(floats(1, 2, 3)) == (4,)


# ---- arguments ----

PAIR = """
!m = tensor<?x?xf32, #relax.dims<[n + 1, m]>>
relax.func @main<n, m>(%x: !m, %y: tensor<?x?xi32, #relax.dims<[n, m]>>) -> !m {
  relax.return %x : !m
}
"""


def test_symbols_bind_before_any_is_compared():
    x, y = np.zeros((3, 4), np.float32), np.zeros((2, 4), np.int32)
    assert function(PAIR)(x, y) is x


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ((2, 4), (2, 4), r"main: dimension 0 of parameter x is 2, not n \+ 1 = 3"),
        ((3, 4), (2, 5), "main: dimension 1 of parameter y is 5, not m = 4"),
        ((3,), (2, 4), "main: the rank of parameter x is 1, not 2"),
    ],
)
def test_shapes_that_do_not_fit(x: Any, y: Any, message: str):
    with pytest.raises(ArgumentError, match=message):
        function(PAIR)(np.zeros(x, np.float32), np.zeros(y, np.int32))


def test_arguments_that_do_not_fit():
    run = function(PAIR)
    x = np.zeros((3, 4), np.float32)
    with pytest.raises(ArgumentError, match="main: expects 2 arguments, got 1"):
        run(x)
    with pytest.raises(ArgumentError, match="dtype of parameter y is float32, not int32"):
        run(x, x)
    with pytest.raises(
        ArgumentError, match="parameter y expects a numpy array, got list"
    ):
        run(x, [1])
    run = function("""
    relax.func @main(%n: !relax.prim<i8>, %s: !relax.shape<[?]>,
                     %t: !relax.tuple<!relax.prim<i64>>) -> !relax.prim<i8> {
      relax.return %n : !relax.prim<i8>
    }""")
    assert run(3, [1], [2]) == 3
    with pytest.raises(
        ArgumentError, match="main: parameter n expects dtype int8, got 300"
    ):
        run(300, (1,), (2,))
    with pytest.raises(ArgumentError, match="the rank of parameter s is 2, not 1"):
        run(3, (1, 2), (2,))
    with pytest.raises(
        ArgumentError, match="parameter t expects a tuple of 1 values, got 2"
    ):
        run(3, (1,), (2, 3))
    with pytest.raises(ArgumentError, match="parameter t expects a tuple, got int"):
        run(3, (1,), 2)


def test_arrays_in_any_layout():
    run = function("""
    relax.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
      %y = relax.nn.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
      relax.return %y : tensor<2x3xf32>
    }""")
    x = np.arange(6, dtype=np.float32).reshape(3, 2).T
    np.testing.assert_array_equal(run(x), x)


# ---- calls ----


def test_results_and_calls_are_checked():
    run = function("""
    relax.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
      %y = relax.add %x, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<3xf32>
      relax.return %y : tensor<3xf32>
    }""")
    assert run(floats(1, 2, 3)).tolist() == [2, 4, 6]
    with pytest.raises(
        TypeCheckError, match=r"dimension 0 of the result is 2, not 3, in: .*add"
    ):
        run(floats(1, 2))
    run = function("""
    relax.func @main(%x: tensor<?xf32>) -> tensor<3xf32> {
      %y = relax.call @three(%x) : (tensor<?xf32>) -> tensor<3xf32>
      relax.return %y : tensor<3xf32>
    }
    relax.func @three(%x: tensor<3xf32>) -> tensor<3xf32> {
      relax.return %x : tensor<3xf32>
    }""")
    assert run(floats(1, 2, 3)).tolist() == [1, 2, 3]
    with pytest.raises(
        TypeCheckError, match="dimension 0 of parameter x of three is 2, not 3"
    ):
        run(floats(1, 2))


SCALE = """
tir.func @scale(%a: !tir.handle, %b: !tir.handle, %by: i64) {
  %n = tir.shape_var "n" : i64
  %A = tir.match_buffer %a [%n] : !tir.buffer<?xf32>
  %B = tir.match_buffer %b [%n] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i64
  tir.for %i = %c0 to %n {
    %x = tir.load %A[%i] : f32
    %f = tir.cast %by : i64 to f32
    %y = tir.mul %x, %f : f32
    tir.store %y, %B[%i] : f32
  }
}
!v = tensor<?xf32, #relax.dims<[n]>>
"""


def test_call_tir():
    run = function(
        SCALE
        + """
    relax.func @main<n>(%x: !v) -> !v {
      %y = relax.call_tir @scale(%x) [n] : (!v) -> !v
      %z = relax.call_tir @scale(%y) [n + 1] : (!v) -> !v
      relax.return %z : !v
    }"""
    )
    x = floats(1, 2)
    np.testing.assert_array_equal(run(x), floats(6, 12))
    np.testing.assert_array_equal(x, floats(1, 2))


def test_destinations_are_written_in_place():
    run = function(
        SCALE
        + """
    relax.func impure @main<n>(%x: !v) -> !v {
      %y = relax.builtin.alloc_tensor on 0 scope "global" : !v
      %k = relax.prim_value 3 : i64
      relax.call impure @scale(%x, %y, %k) : (!v, !v, !relax.prim<i64, 3>) -> ()
      relax.call impure @scale(%y, %x, %k) : (!v, !v, !relax.prim<i64, 3>) -> ()
      relax.return %y : !v
    }"""
    )
    x = floats(1, 2)
    np.testing.assert_array_equal(run(x), floats(3, 6))
    np.testing.assert_array_equal(x, floats(9, 18))


def test_several_results():
    pair = "!relax.tuple<tensor<2xf32>, tensor<3xi32>>"
    run = function(f"""
    tir.func @both(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {{
      %A = tir.match_buffer %a [] : !tir.buffer<2xf32>
      %B = tir.match_buffer %b [] : !tir.buffer<2xf32>
      %C = tir.match_buffer %c [] : !tir.buffer<3xi32>
      %c0 = tir.const 0 : i32
      %c2 = tir.const 2 : i32
      %c3 = tir.const 3 : i32
      tir.for %i = %c0 to %c2 {{
        %x = tir.load %A[%i] : f32
        tir.store %x, %B[%i] : f32
      }}
      tir.for %i = %c0 to %c3 {{
        tir.store %i, %C[%i] : i32
      }}
    }}
    relax.func @main(%x: tensor<2xf32>) -> {pair} {{
      %t = relax.call_tir @both(%x) : (tensor<2xf32>) -> {pair}
      relax.return %t : {pair}
    }}""")
    first, second = run(floats(5, 6))
    assert first.tolist() == [5, 6]
    assert second.tolist() == [0, 1, 2]


def test_reading_what_was_never_written():
    text = """
    relax.func @main() -> tensor<2xf32> {
      %y = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
      %z = relax.nn.relu %y : (tensor<2xf32>) -> tensor<2xf32>
      relax.return %z : tensor<2xf32>
    }"""
    with pytest.raises(
        UninitializedReadError, match=r"never written, in: .*relax.nn.relu"
    ):
        function(text)()


def test_external_functions():
    text = """
    tir.func private @outside(%a: !tir.handle, %b: !tir.handle)
    relax.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %y = relax.call_tir @outside(%x) : (tensor<2xf32>) -> tensor<2xf32>
      relax.return %y : tensor<2xf32>
    }"""

    def outside(a: Any, b: Any) -> None:
        b[...] = a[::-1]

    assert function(text, outside=outside)(floats(1, 2)).tolist() == [2, 1]
    with pytest.raises(
        InterpretationError, match="no function outside is known; pass it"
    ):
        function(text)(floats(1, 2))


def test_call_tir_with_grad_computes_the_same():
    run = function(
        SCALE
        + """
    relax.func @main<n>(%x: !v) -> !v {
      %y = relax.call_tir_with_grad @scale(%x) [4] grad "scale_grad" {} : (!v) -> !v
      relax.return %y : !v
    }"""
    )
    assert run(floats(1, 2)).tolist() == [4, 8]


INPLACE = """
tir.func @twice(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer %a [] : !tir.buffer<2xf32>
  %B = tir.match_buffer %b [] : !tir.buffer<2xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  tir.for %i = %c0 to %c2 {
    %x = tir.load %A[%i] : f32
    tir.store %x, %B[%i] : f32
    %y = tir.add %x, %x : f32
    tir.store %y, %A[%i] : f32
  }
}
!t = tensor<2xf32>
!p = !relax.tuple<!t, !t>
relax.func @main(%x: !t) -> !p attributes {relax.force_pure} {
  %y = relax.nn.relu %x : (!t) -> !t
  %r = relax.call_tir_inplace @twice(%y) inplace [0, -1] : (!t) -> !p
  AFTER
  relax.return %r : !p
}
"""


def test_call_in_place():
    x = floats(1, 2)
    for after in ("", "relax.memory.kill_tensor %y : !t"):
        first, second = function(INPLACE.replace("AFTER", after))(x)
        assert (first.tolist(), second.tolist()) == ([2, 4], [1, 2])
        assert x.tolist() == [1, 2]
    with pytest.raises(UseAfterKillError, match="life of value y was ended before"):
        function(INPLACE.replace("AFTER", "%u = relax.nn.relu %y : (!t) -> !t"))(x)


PACKED = """
!t = tensor<2xf32>
relax.func impure @main(%x: !t) -> RESULT {
  %r = relax.OP
  relax.return %r : RESULT
}
"""


def packed(op: str, callee: Any, result: str = "!t") -> Any:
    text = PACKED.replace("OP", f"{op} : (!t) -> {result}").replace("RESULT", result)
    return function(text, f=callee)(floats(1, 2))


def test_packed_functions():
    def double(x: Any) -> Any:
        return x * np.float32(2)

    def fill(x: Any, out: Any) -> None:
        out[...] = x + 1

    def negate(x: Any) -> Any:
        x[...] = -x
        return x

    assert packed('call_packed "f"(%x)', double).tolist() == [2, 4]
    assert packed('call_pure_packed "f"(%x)', double).tolist() == [2, 4]
    assert packed('call_dps_packed "f"(%x)', fill).tolist() == [2, 3]
    assert packed('call_inplace_packed "f"(%x) inplace [0]', negate).tolist() == [-1, -2]


def test_results_of_packed_functions():
    def giving(value: Any) -> Any:
        def call(*_: Any) -> Any:
            return value

        return call

    def first(x: Any) -> Any:
        return x[0]

    def machine(vm: Any, _: Any) -> Any:
        return vm

    call = 'call_pure_packed "f"(%x)'
    assert packed(call, giving(None), "!relax.tuple<>") == ()
    assert packed(call, giving([3, 4]), "!relax.shape<[?, ?]>") == (3, 4)
    assert packed(call, giving(3), "!relax.prim<i8>") == 3
    with pytest.raises(
        ArgumentError, match="the result of f expects dtype int8, got 300"
    ):
        packed(call, giving(300), "!relax.prim<i8>")
    with pytest.raises(TypeCheckError, match=r"the result is 0, not 1, in: .*packed"):
        packed(call, first)
    call = 'call_builtin_with_ctx "f"(%x)'
    assert list(packed(call, machine, "!relax.object")) == ["main"]


def test_functions_of_the_runtime():
    run = function("""
    relax.func impure @main(%x: tensor<2x2xf32>) -> tensor<4xf32> {
      %s = relax.shape [4]
      %y = relax.call_packed "vm.builtin.reshape"(%x, %s) :
        (tensor<2x2xf32>, !relax.shape<[4]>) -> tensor<4xf32>
      relax.return %y : tensor<4xf32>
    }""")
    x = np.arange(4, dtype=np.float32).reshape(2, 2)
    assert np.may_share_memory(run(x), x)
    assert run(x).tolist() == [0, 1, 2, 3]


def test_closures():
    run = function("""
    !t = tensor<2xf32>
    relax.func @minus(%a: !t, %b: !t) -> !t {
      %r = relax.subtract %a, %b : (!t, !t) -> !t
      relax.return %r : !t
    }
    relax.func impure @main(%x: !t, %y: !t) -> !relax.tuple<!t, !t> {
      %c = relax.make_closure @minus(%x) : (!t) -> !relax.object
      %u = relax.invoke_closure %c(%y) : !relax.object, (!t) -> !t
      %v = relax.invoke_pure_closure %c(%u) : !relax.object, (!t) -> !t
      %r = relax.tuple(%u, %v) : !t, !t
      relax.return %r : !relax.tuple<!t, !t>
    }""")
    first, second = run(floats(1, 2), floats(10, 20))
    assert (first.tolist(), second.tolist()) == ([9, 18], [8, 16])


def test_invoking_no_closure():
    run = function("""
    relax.func @main() -> tensor<2xf32> {
      %c = relax.null_value : !relax.object
      %r = relax.invoke_pure_closure %c() : !relax.object, () -> tensor<2xf32>
      relax.return %r : tensor<2xf32>
    }""")
    with pytest.raises(TypeCheckError, match=r"a NoneType is no closure, in: .*invoke"):
        run()


CHECKED = """
relax.func impure @main(%c: tensor<i1>, %n: !relax.prim<i64>) -> !relax.tuple<> {
  relax.print "n is {}, {}"(%n) : (!relax.prim<i64>) -> ()
  relax.assert_op %c, "n was {}"(%n) : tensor<i1>, (!relax.prim<i64>) -> ()
  %v = relax.tuple()
  relax.return %v : !relax.tuple<>
}
"""


def test_print_and_assert(capsys: pytest.CaptureFixture[str]):
    run = function(CHECKED)
    assert run(np.array(True), 3) == ()
    assert capsys.readouterr().out == "n is 3, {}\n"
    with pytest.raises(
        AssertionFailedError, match=r"does not hold: n was 4, in: .*assert"
    ):
        run(np.array(False), 4)


def test_shapes_as_values():
    result = "!relax.tuple<!relax.shape<[2, 3]>, tensor<2xi64>, !relax.shape<[?, ?]>>"
    run = function(f"""
    relax.func @main(%x: tensor<2x3xf32>, %y: tensor<2xi32>) -> {result} {{
      %s = relax.shape_of %x : (tensor<2x3xf32>) -> !relax.shape<[2, 3]>
      %t = relax.shape_to_tensor %s : (!relax.shape<[2, 3]>) -> tensor<2xi64>
      %u = relax.tensor_to_shape %y : (tensor<2xi32>) -> !relax.shape<[?, ?]>
      %r = relax.tuple(%s, %t, %u) : !relax.shape<[2, 3]>, tensor<2xi64>,
        !relax.shape<[?, ?]>
      relax.return %r : {result}
    }}""")
    shape, numbers, found = run(np.zeros((2, 3), np.float32), np.array([5, 7], np.int32))
    assert (shape, numbers.tolist(), found) == ((2, 3), [2, 3], (5, 7))


# ---- explicit memory ----

PLANNED = (
    SCALE
    + """
relax.func impure @main<n>(%x: !v) -> !v {
  %s = relax.memory.alloc_storage n * 8 on 0 scope "global" dtype f32 :
    !relax.object
  %k = relax.prim_value 2 : i64
  %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> !v
  relax.call impure @scale(%x, %a, %k) : (!v, !v, !relax.prim<i64, 2>) -> ()
  %b = relax.memory.alloc_tensor %s at OFFSET : !relax.object -> !v
  relax.memory.kill_storage %s : !relax.object
  relax.call impure @scale(%a, %b, %k) : (!v, !v, !relax.prim<i64, 2>) -> ()
  KILL
  %c = relax.add %a, %b : (!v, !v) -> !v
  relax.return %c : !v
}
"""
)


def planned(offset: str = "n * 4", kill: str = "") -> Any:
    return function(PLANNED.replace("OFFSET", offset).replace("KILL", kill))


def test_tensors_share_a_storage():
    assert planned()(floats(1, 2)).tolist() == [6, 12]
    # The second tensor is over the first one, of which elements are lost.
    assert planned("0")(floats(1, 2)).tolist() == [8, 16]


def test_tensor_outside_of_its_storage():
    message = r"from byte 12 to 20 of a storage of 16 bytes, in: .*alloc_tensor"
    with pytest.raises(OutOfBoundsError, match=message):
        planned("n * 6")(floats(1, 2))


@pytest.mark.parametrize(
    "kill",
    ["relax.memory.kill_tensor %a : !v", "relax.vm.kill_object %a : !v"],
)
def test_use_after_kill(kill: str):
    with pytest.raises(UseAfterKillError, match=r"life of value a was ended .*relax.add"):
        planned(kill=kill)(floats(1, 2))
    with pytest.raises(UseAfterKillError, match="life of value a was ended before, in"):
        planned(kill=kill + "\n" + kill)(floats(1, 2))


def test_reading_a_new_tensor_of_a_storage():
    text = """
    relax.func @main() -> tensor<2xf32> {
      %s = relax.memory.alloc_storage 8 on 0 scope "global" dtype f32 :
        !relax.object
      %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> tensor<2xf32>
      %b = relax.nn.relu %a : (tensor<2xf32>) -> tensor<2xf32>
      relax.return %b : tensor<2xf32>
    }"""
    with pytest.raises(UninitializedReadError, match="never written"):
        function(text)()


def test_memory_of_the_virtual_machine():
    run = function(
        SCALE
        + """
    relax.func impure @main<n>(%x: !v) -> !v {
      %size = relax.shape [n * 4 + 4]
      %s = relax.vm.alloc_storage %size on 0 scope "global" dtype f32 :
        !relax.shape<[n * 4 + 4]> -> !relax.object
      %four = relax.prim_value 4 : i64
      %shape = relax.shape [n]
      %a = relax.vm.alloc_tensor %s at %four shape %shape dtype f32 :
        (!relax.object, !relax.prim<i64, 4>, !relax.shape<[n]>) -> !v
      relax.vm.kill_object %s : !relax.object
      %by = relax.shape [n + 1]
      relax.vm.call_tir_dyn @scale(%x, %a, %by) : !v, !v, !relax.shape<[n + 1]>
      relax.return %a : !v
    }"""
    )
    assert run(floats(1, 2)).tolist() == [3, 6]


def test_views_share_memory():
    run = function("""
    relax.func @main(%x: tensor<4xf32>) -> tensor<2x2xi16> {
      %s = relax.shape [2, 2]
      %o = relax.prim_value 8 : i64
      %v = relax.memory.view %x shape %s : !relax.shape<[2, 2]>
        at %o : !relax.prim<i64, 8> dtype i16 : tensor<4xf32> -> tensor<2x2xi16>
      %r = relax.memory.ensure_zero_offset %v : (tensor<2x2xi16>) -> tensor<2x2xi16>
      relax.return %r : tensor<2x2xi16>
    }""")
    x = floats(0, 0, 1, 2)
    found = run(x)
    np.testing.assert_array_equal(found, x[2:].view(np.int16).reshape(2, 2))
    assert np.may_share_memory(found, x)


# ---- finding functions ----


def test_functions_of_a_module():
    module = interpret(
        parse(
            SCALE
            + """
    relax.func @f() -> !relax.tuple<> attributes {global_symbol = "public"} {
      %v = relax.tuple()
      relax.return %v : !relax.tuple<>
    }"""
        )
    )
    assert list(module) == ["f", "scale"]
    assert len(module) == 2
    assert module["public"]() == module["f"]() == ()
    out = floats(0, 0)
    module["scale"](floats(1, 2), out, 4)
    assert out.tolist() == [4, 8]
    with pytest.raises(KeyError, match="no function named g, there are: f, scale"):
        module["g"]


def test_constants_in_resources():
    text = """
    relax.func @main() -> tensor<2xf32> {
      %c = relax.constant dense_resource<weights> : tensor<2xf32>
      relax.return %c : tensor<2xf32>
    }"""
    with pytest.raises(
        InterpretationError, match=r"relax.constant: the value is in a resource"
    ):
        function(text)()


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    images = np.random.default_rng(4).random((2, 64), np.float32)
    np.save(tmp_path / "images.npy", images)
    command([
        "run", str(DIGITS), "--interpret", "--input", str(tmp_path / "images.npy"),
        "--output-dir", str(tmp_path),
    ])  # fmt: skip
    assert capsys.readouterr().out.endswith("\nresult: float32[2, 10]\n")
    expected = interpret(load_module(DIGITS))["main"](images)
    np.testing.assert_array_equal(np.load(tmp_path / "result.npy"), expected)
