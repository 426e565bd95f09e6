"""Memory, shapes, control flow and calls of Relax functions in native code."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import xdsl_tvm

pytest.importorskip("llvmlite")
Array = NDArray[Any]

KERNELS = """
!s = tensor<4xf32>
!n = tensor<?xf32, #relax.dims<[n]>>
tir.func @twice(%a: !tir.handle, %b: !tir.handle) {
  %n = tir.shape_var "n" : i64
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?xf32>
  %B = tir.match_buffer "B" %b [%n] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i64
  tir.for %i = %c0 to %n {
    %x = tir.load %A[%i] : f32
    %y = tir.add %x, %x : f32
    tir.store %y, %B[%i] : f32
  }
}
tir.func @increment(%a: !tir.handle) {
  %n = tir.shape_var "n" : i64
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i64
  %one = tir.const 1.0 : f32
  tir.for %i = %c0 to %n {
    %x = tir.load %A[%i] : f32
    %y = tir.add %x, %one : f32
    tir.store %y, %A[%i] : f32
  }
}
tir.func @fill(%b: !tir.handle, %m: i64) {
  %n = tir.shape_var "n" : i64
  %B = tir.match_buffer "B" %b [%n] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i64
  %v = tir.cast %m : i64 to f32
  tir.for %i = %c0 to %n {
    tir.store %v, %B[%i] : f32
  }
}
"""


def values(*shape: int, dtype: Any = np.float32) -> Array:
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


def compiled(text: str, name: str = "main", **options: Any) -> Any:
    return xdsl_tvm.compile(KERNELS + text, **options)[name]


def body(text: str, signature: str, attributes: str = "relax.force_pure") -> str:
    return (
        f"relax.func @main{signature} attributes "
        f'{{global_symbol = "main", {attributes}}} {{{text}}}'
    )


# ---- memory ----

STORAGE = body(
    """
  %s = relax.memory.alloc_storage n * 8 + 16 on 0 scope "global" dtype f32
    : !relax.object
  %a = relax.memory.alloc_tensor %s at 16 : !relax.object -> !n
  relax.call impure @twice(%x, %a) : (!n, !n) -> ()
  %b = relax.memory.alloc_tensor %s at n * 4 + 16 : !relax.object -> !n
  relax.memory.kill_storage %s : !relax.object
  relax.call impure @twice(%a, %b) : (!n, !n) -> ()
  relax.memory.kill_tensor %a : !n
  %t = relax.memory.alloc_storage n * 4 on 0 scope "global" dtype f32 : !relax.object
  %r = relax.memory.alloc_tensor %t at 0 : !relax.object -> !n
  relax.memory.kill_storage %t : !relax.object
  relax.call impure @twice(%b, %r) : (!n, !n) -> ()
  relax.memory.kill_tensor %b : !n
  relax.return %r : !n
""",
    "<n>(%x: !n) -> !n",
)


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("size", [0, 1, 1000])
def test_tensors_on_storages(size: int, optimize: bool):
    main = compiled(STORAGE, optimize=optimize)
    np.testing.assert_array_equal(main(values(size)), values(size) * 8)


def test_the_memory_of_a_result_has_others_before():
    """Also where a caller passes it, at any address."""
    t = "tensor<1000xf32>"
    text = body(
        f"""
  %s = relax.memory.alloc_storage 4000 on 0 scope "global" dtype f32 : !relax.object
  %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> {t}
  relax.call impure @twice(%x, %a) : ({t}, {t}) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : {t}
  relax.call impure @twice(%a, %b) : ({t}, {t}) -> ()
  relax.memory.kill_tensor %a : {t}
  %r = relax.memory.alloc_tensor %s at 0 : !relax.object -> {t}
  relax.memory.kill_storage %s : !relax.object
  relax.call impure @twice(%b, %r) : ({t}, {t}) -> ()
  relax.return %r : {t}
""",
        f"(%x: {t}) -> {t}",
    )
    main = compiled(text)
    first, second = main(values(1000)), main(values(1000) + 1)
    np.testing.assert_array_equal(first, values(1000) * 8)
    np.testing.assert_array_equal(second, values(1000) * 8 + 8)
    out = np.zeros(1001, np.float32)[1:]
    main(values(1000), out=out)
    np.testing.assert_array_equal(out, first)


class MallocInfo(ctypes.Structure):
    """What `mallinfo2` of the GNU C library gives: ten numbers."""

    _fields_ = [(f"n{i}", ctypes.c_size_t) for i in range(10)]


def memory_in_use() -> int:
    """The bytes that the C library has handed out and not got back."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2"):
        pytest.skip("the C library does not count its allocations")
    library.mallinfo2.restype = MallocInfo
    info = library.mallinfo2()
    # hblkhd, which is mapped, and uordblks, which is in use of the rest.
    return info.n4 + info.n7


def calls_without_growth(call: Any, least: int) -> None:
    """Call often, and see that not even one piece of `least` bytes is lost each time."""
    for _ in range(3):
        call()
    before = memory_in_use()
    for _ in range(50):
        call()
    assert memory_in_use() - before < 25 * least


FAILS_LATE = body(
    """
  %a = relax.builtin.alloc_tensor on 0 scope "global" : !n
  relax.call impure @fill(%a, %k) : (!n, !relax.prim<i64>) -> ()
  %c = relax.if %z : tensor<i1> -> !n {
    %b = relax.builtin.alloc_tensor on 0 scope "global" : !n
    relax.call impure @twice(%a, %b) : (!n, !n) -> ()
    relax.yield %b : !n
  } else {
    %b = relax.builtin.alloc_tensor on 0 scope "global" : !n
    relax.call impure @fill(%b, %k) : (!n, !relax.prim<i64>) -> ()
    relax.assert_op %z, "the answer is {}"(%k) : tensor<i1>, (!relax.prim<i64>) -> ()
    relax.yield %b : !n
  }
  %d = relax.match_cast %c : !n -> tensor<3000xf32>
  relax.return %d : tensor<3000xf32>
""",
    "<n>(%n: !relax.prim<i64, n>, %k: !relax.prim<i64>, %z: tensor<i1>)"
    " -> tensor<3000xf32>",
)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (False, "^assertion failed: the answer is 42$"),
        (True, "^assertion failed: relax.match_cast in @main"),
    ],
)
def test_a_failed_assertion_releases_what_was_allocated(condition: bool, message: str):
    main = compiled(FAILS_LATE)

    def call() -> None:
        with pytest.raises(RuntimeError, match=message):
            main(4000, 42, np.array(condition))

    calls_without_growth(call, 16_000)
    assert main(3000, 2, np.array(True))[-1] == 4


def test_nothing_leaks():
    main = compiled(STORAGE)
    x = values(2000)
    calls_without_growth(lambda: main(x), 8000)


TOO_LARGE = body(
    """
  %a = relax.builtin.alloc_tensor on 0 scope "global"
    : tensor<?x?xf32, #relax.dims<[n, n * n]>>
  relax.call impure @nothing(%a)
    : (tensor<?x?xf32, #relax.dims<[n, n * n]>>) -> ()
  relax.return %n : !relax.prim<i64, n>
""",
    "<n>(%n: !relax.prim<i64, n>) -> !relax.prim<i64, n>",
)
NOTHING = """
tir.func @nothing(%a: !tir.handle) {
  %n = tir.shape_var "n" : i64
  %m = tir.shape_var "m" : i64
  %A = tir.match_buffer "A" %a [%n, %m] : !tir.buffer<?x?xf32>
}
"""


@pytest.mark.parametrize("optimize", [True, False])
def test_out_of_memory(optimize: bool):
    main = compiled(TOO_LARGE + NOTHING, optimize=optimize)
    # 2^52 bytes, more than the address space; 2^62 * 4 bytes, which wrap around to 0.
    for n in (1 << 17, 1 << 21, 1 << 62):
        with pytest.raises(MemoryError, match=r"^out of memory: .* in @main needs") as e:
            main(n)
        assert "n * n * n * 4 bytes" in str(e.value)
        assert "\n" not in str(e.value)
    assert main(3) == 3


# 2^64 + 40 bytes, which wrap around to 40.
HUGE = body(
    f"""
  %r = relax.if %c : tensor<i1> -> tensor<i64> {{
    %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<{2**62 + 10}xf32>
    %0 = relax.call_pure_packed "my.length"(%a)
      : (tensor<{2**62 + 10}xf32>) -> tensor<i64>
    relax.yield %0 : tensor<i64>
  }} else {{
    %0 = relax.constant dense<5> : tensor<i64>
    relax.yield %0 : tensor<i64>
  }}
  relax.return %r : tensor<i64>
""",
    "(%c: tensor<i1>) -> tensor<i64>",
)


def _length(a: Array) -> Array:
    return np.array(len(a))


def test_a_size_that_wraps_around_is_no_memory():
    main = compiled(HUGE, externs={"my.length": _length})
    assert main(np.array(False)) == 5
    with pytest.raises(MemoryError, match=f"in @main needs {2**64 + 40} bytes$"):
        main(np.array(True))


def test_result_out_of_memory():
    text = body(
        """
  %a = relax.builtin.alloc_tensor on 0 scope "global" : !n
  relax.call impure @fill(%a, %n) : (!n, !relax.prim<i64, n>) -> ()
  relax.return %a : !n
""",
        "<n>(%n: !relax.prim<i64, n>) -> !n",
    )
    main = compiled(text)
    np.testing.assert_array_equal(main(2), [2, 2])
    with pytest.raises(MemoryError, match=r"^@main: out of memory: result is float32\["):
        main(1 << 60)


def test_a_bound_that_is_exceeded_is_found():
    text = (
        body(
            """
  %s = relax.memory.alloc_storage 64 on 0 scope "global" dtype f32 : !relax.object
  %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> !n
  relax.call impure @twice(%x, %a) : (!n, !n) -> ()
  relax.return %a : !n
""",
            "<n>(%x: !n) -> !n",
            "relax.force_pure, tir_var_upper_bound = {n = 16 : i64}",
        )
        .replace("return %a", "return %b")
        .replace(
            "  relax.return",
            '  %b = relax.builtin.alloc_tensor on 0 scope "global" : !n\n'
            "  relax.call impure @twice(%a, %b) : (!n, !n) -> ()\n  relax.return",
        )
    )
    main = compiled(text)
    np.testing.assert_array_equal(main(values(16)), values(16) * 4)
    with pytest.raises(RuntimeError, match="64 bytes, which are planned for n <= 16"):
        main(values(17))


VIEWS = body(
    """
  %c = relax.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %sh = relax.shape [2, 2]
  %0 = relax.reshape %c, %sh
    : (tensor<4xf32>, !relax.shape<[2, 2]>) -> tensor<2x2xf32>
  %s2 = relax.shape [2]
  %o = relax.prim_value 8 : i64
  %1 = relax.memory.view %0 shape %s2 : !relax.shape<[2]> at %o : !relax.prim<i64, 8>
    dtype i32 : tensor<2x2xf32> -> tensor<2xi32>
  %2 = relax.memory.ensure_zero_offset %1 : (tensor<2xi32>) -> tensor<2xi32>
  %sx = relax.shape [m, n]
  %3 = relax.reshape %x, %sx
    : (tensor<?x?xf32, #relax.dims<[n, m]>>, !relax.shape<[m, n]>)
    -> tensor<?x?xf32, #relax.dims<[m, n]>>
  %4 = relax.tuple(%0, %2, %3)
    : tensor<2x2xf32>, tensor<2xi32>, tensor<?x?xf32, #relax.dims<[m, n]>>
  relax.return %4 : !relax.tuple<tensor<2x2xf32>, tensor<2xi32>,
    tensor<?x?xf32, #relax.dims<[m, n]>>>
""",
    "<n, m>(%x: tensor<?x?xf32, #relax.dims<[n, m]>>) -> !relax.tuple<"
    "tensor<2x2xf32>, tensor<2xi32>, tensor<?x?xf32, #relax.dims<[m, n]>>>",
)


@pytest.mark.parametrize("optimize", [True, False])
def test_views(optimize: bool):
    x = values(3, 5)
    first, second, third = compiled(VIEWS, optimize=optimize)(x)
    np.testing.assert_array_equal(first, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(second, np.array([3, 4], np.float32).view(np.int32))
    np.testing.assert_array_equal(third, x.reshape(5, 3))


# ---- calls ----

INPLACE = body(
    """
  %c = relax.constant dense<[1.0, 2.0, 3.0, 4.0]> : !s
  %0 = relax.call_tir_inplace @increment(%c) inplace [0] : (!s) -> !s
  %a = relax.builtin.alloc_tensor on 0 scope "global" : !s
  relax.call impure @twice(%0, %a) : (!s, !s) -> ()
  %1 = relax.call_tir_inplace @increment(%a) inplace [0] : (!s) -> !s
  %2 = relax.call_tir_inplace @increment(%x) inplace [0] : (!s) -> !s
  %3 = relax.tuple(%1, %2) : !s, !s
  relax.return %3 : !relax.tuple<!s, !s>
""",
    "(%x: !s) -> !relax.tuple<!s, !s>",
)


def test_calls_in_place():
    main = compiled(INPLACE)
    x = values(4)
    for _ in range(2):
        # The constant stays as it is.
        x[...] = values(4)
        first, second = main(x)
        np.testing.assert_array_equal(first, [5, 7, 9, 11])
        np.testing.assert_array_equal(second, values(4) + 1)
        np.testing.assert_array_equal(x, values(4) + 1)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="'x' is written, but the array is read-only"):
        main(x)


WRITTEN = """
relax.func @inner(%y: !s, %x: !s) -> !s {
  %0 = relax.call_tir_inplace @increment(%x) inplace [0] : (!s) -> !s
  %1 = relax.add %0, %y : (!s, !s) -> !s
  relax.return %1 : !s
}
relax.func @dataflow(%x: !s) -> !s attributes {global_symbol = "dataflow"} {
  %0 = relax.dataflow -> (!s) {
    %a = relax.alias %x : !s -> !s
    relax.output %a : !s
  }
  %1 = relax.call_tir_inplace @increment(%0) inplace [0] : (!s) -> !s
  relax.return %1 : !s
}
relax.func @closure(%y: !s, %x: !s) -> !s attributes {global_symbol = "closure"} {
  %f = relax.make_closure @inner(%x) : (!s) -> !relax.object
  %r = relax.invoke_pure_closure %f(%y) : !relax.object, (!s) -> !s
  relax.return %r : !s
}
relax.func @constant(%y: !s) -> !s attributes {global_symbol = "constant"} {
  %c = relax.constant dense<[0.0, 1.0, 2.0, 3.0]> : !s
  %f = relax.make_closure @inner(%c) : (!s) -> !relax.object
  %r = relax.invoke_pure_closure %f(%y) : !relax.object, (!s) -> !s
  relax.return %r : !s
}
"""


def test_what_is_written_under_another_name_must_be_writable():
    executable = xdsl_tvm.compile(KERNELS + WRITTEN)
    fixed = values(4)
    fixed.flags.writeable = False
    for name, others in (("dataflow", ()), ("closure", (fixed,))):
        x = values(4)
        expected = values(4) + 1 + sum(others)
        np.testing.assert_array_equal(executable[name](*others, x), expected)
        np.testing.assert_array_equal(x, values(4) + 1)
        with pytest.raises(ValueError, match="'x' is written, but the array is read-"):
            executable[name](*others, fixed)
    for _ in range(2):
        found = executable["constant"](fixed)
        np.testing.assert_array_equal(found, values(4) * 2 + 1)


DYN = body(
    """
  %a = relax.builtin.alloc_tensor on 0 scope "global" : !n
  %s = relax.shape [n * 3]
  relax.vm.call_tir_dyn @fill(%a, %s) : !n, !relax.shape<[n * 3]>
  relax.return %a : !n
""",
    "<n>(%x: !n) -> !n",
)


def test_call_tir_dyn():
    np.testing.assert_array_equal(compiled(DYN)(values(2)), [6, 6])


RECURSION = """
!n = tensor<?xf32, #relax.dims<[n]>>
!i = tensor<i64>
relax.func @power<n>(%x: !n, %k: !i) -> !n attributes {global_symbol = "main"} {
  %zero = relax.constant dense<0> : !i
  %one = relax.constant dense<1> : !i
  %done = relax.equal %k, %zero : (!i, !i) -> tensor<i1>
  %r = relax.if %done : tensor<i1> -> !n {
    relax.yield %x : !n
  } else {
    %less = relax.subtract %k, %one : (!i, !i) -> !i
    %y = relax.add %x, %x : (!n, !n) -> !n
    %z = relax.call @power(%y, %less) : (!n, !i) -> !n
    relax.yield %z : !n
  }
  relax.return %r : !n
}
"""


@pytest.mark.parametrize("optimize", [True, False])
def test_recursion(optimize: bool):
    main = xdsl_tvm.compile(RECURSION, optimize=optimize)["main"]
    np.testing.assert_array_equal(main(values(3), np.array(5)), values(3) * 32)


CLOSURE = """
!s = tensor<4xf32>
relax.func @inner(%x: !s, %y: !s) -> !s {
  %0 = relax.subtract %x, %y : (!s, !s) -> !s
  relax.return %0 : !s
}
relax.func @main(%x: !s, %y: !s) -> !s attributes {global_symbol = "main"} {
  %f = relax.make_closure @inner(%y) : (!s) -> !relax.object
  %r = relax.invoke_pure_closure %f(%x) : !relax.object, (!s) -> !s
  relax.return %r : !s
}
"""


def test_closures():
    main = xdsl_tvm.compile(CLOSURE)["main"]
    np.testing.assert_array_equal(main(values(4) * 3, values(4)), values(4) * 2)


# ---- shapes, scalars, tuples ----

SHAPES = body(
    """
  %s = relax.shape_of %x
    : (tensor<?x3x?xf32, #relax.dims<[n, 3, m]>>) -> !relax.shape<[n, 3, m]>
  %t = relax.shape_to_tensor %s : (!relax.shape<[n, 3, m]>) -> tensor<3xi64>
  %u = relax.tensor_to_shape %v : (tensor<1xi64>) -> !relax.shape<[?]>
  %w = relax.match_cast %u defines [k] : !relax.shape<[?]> -> !relax.shape<[k]>
  %p = relax.prim_value (k + n) floormod 5 : i64
  %f = relax.prim_value 0.5 : f32
  %i = relax.prim_value 2 : i64
  %e = relax.inspect.tensor_shape_i %x, %i
    : (tensor<?x3x?xf32, #relax.dims<[n, 3, m]>>, !relax.prim<i64, 2>)
    -> !relax.prim<i64, m>
  %r0 = relax.tuple(%p, %f, %e)
    : !relax.prim<i64, (k + n) floormod 5>, !relax.prim<f32>, !relax.prim<i64, m>
  %r = relax.tuple(%t, %r0, %s) : tensor<3xi64>, !relax.tuple<
    !relax.prim<i64, (k + n) floormod 5>, !relax.prim<f32>, !relax.prim<i64, m>>,
    !relax.shape<[n, 3, m]>
  relax.return %r : !relax.tuple<tensor<3xi64>, !relax.tuple<
    !relax.prim<i64, (k + n) floormod 5>, !relax.prim<f32>, !relax.prim<i64, m>>,
    !relax.shape<[n, 3, m]>>
""",
    "<n, m>(%x: tensor<?x3x?xf32, #relax.dims<[n, 3, m]>>, %v: tensor<1xi64>) ->"
    " !relax.tuple<tensor<3xi64>, !relax.tuple<!relax.prim<i64>, !relax.prim<f32>,"
    " !relax.prim<i64, m>>, !relax.shape<[n, 3, m]>>",
)


def test_shapes_and_scalars():
    tensor, scalars, shape = compiled(SHAPES)(values(2, 3, 7), np.array([11]))
    assert tensor.tolist() == [2, 3, 7]
    assert scalars == (3, 0.5, 7)
    assert shape == (2, 3, 7)


CALLED_FOR_NUMBERS = """
relax.func @of<n>(%x: tensor<?xf32, #relax.dims<[n]>>)
    -> !relax.tuple<!relax.prim<i64>, !relax.shape<[?]>> {
  %p = relax.prim_value n * 2 : i64
  %s = relax.shape [n + 1]
  %r = relax.tuple(%p, %s) : !relax.prim<i64, n * 2>, !relax.shape<[n + 1]>
  relax.return %r : !relax.tuple<!relax.prim<i64, n * 2>, !relax.shape<[n + 1]>>
}
relax.func @main<n>(%x: tensor<?xf32, #relax.dims<[n]>>)
    -> !relax.tuple<!relax.prim<i64>, !relax.shape<[?]>>
    attributes {global_symbol = "main"} {
  %r = relax.call @of(%x) : (tensor<?xf32, #relax.dims<[n]>>)
    -> !relax.tuple<!relax.prim<i64>, !relax.shape<[?]>>
  relax.return %r : !relax.tuple<!relax.prim<i64>, !relax.shape<[?]>>
}
"""


def test_numbers_from_calls():
    assert xdsl_tvm.compile(CALLED_FOR_NUMBERS)["main"](values(4)) == (8, (5,))


TUPLE_PARAMETERS = body(
    """
  %0 = relax.get_item %t[0] : !p -> !n
  %1 = relax.get_item %t[1] : !p -> !relax.tuple<!n, !relax.prim<i64, n>>
  %2 = relax.get_item %1[0] : !relax.tuple<!n, !relax.prim<i64, n>> -> !n
  %3 = relax.tuple(%2, %t) : !n, !p
  relax.return %3 : !relax.tuple<!n, !p>
""",
    "<n>(%t: !p) -> !relax.tuple<!n, !p>",
)


def test_tuples_as_parameters():
    main = compiled(
        "!p = !relax.tuple<!n, !relax.tuple<!n, !relax.prim<i64, n>>>\n"
        + TUPLE_PARAMETERS
    )
    x, y = values(3), values(3) + 1
    first, (second, (third, number)) = main((x, (y, 3)))
    for found, expected in ((first, y), (second, x), (third, y)):
        np.testing.assert_array_equal(found, expected)
    assert number == 3
    with pytest.raises(TypeError) as error:
        main((x,))
    assert str(error.value) == (
        "@main: argument 't' must be a tuple of 2, got tuple of 1"
    )
    with pytest.raises(TypeError) as error:
        main((x, (y.astype("f8"), 3)))
    assert str(error.value) == (
        "@main: argument 't[1][0]' must have dtype float32, got float64"
    )


SHAPE_PARAMETER = body(
    """
  %a = relax.builtin.alloc_tensor on 0 scope "global" : !n
  %v = relax.prim_value m : i64
  relax.call impure @fill(%a, %v) : (!n, !relax.prim<i64, m>) -> ()
  relax.return %a : !n
""",
    "<n, m>(%s: !relax.shape<[n, m]>) -> !n",
)


def test_shapes_as_parameters():
    np.testing.assert_array_equal(compiled(SHAPE_PARAMETER)((2, 7)), [7, 7])


@pytest.mark.parametrize("position", range(3))
def test_symbols_in_any_dimension(position: int):
    names = ["2", "3", "4"]
    names[position] = "n"
    static = ["2", "3", "4"]
    static[position] = "?"
    type_ = f"tensor<{'x'.join(static)}xf32, #relax.dims<[{', '.join(names)}]>>"
    text = f"""
    relax.func @main<n>(%x: {type_}) -> {type_} attributes {{global_symbol = "main"}} {{
      %0 = relax.add %x, %x : ({type_}, {type_}) -> {type_}
      %1 = relax.multiply %0, %x : ({type_}, {type_}) -> {type_}
      relax.return %1 : {type_}
    }}"""
    shape = [2, 3, 4]
    shape[position] = 5
    x = values(*shape)
    for optimize in (True, False):
        found = xdsl_tvm.compile(text, optimize=optimize)["main"](x)
        np.testing.assert_array_equal(found, 2 * x * x)


# ---- functions of Python ----

PACKED = body(
    """
  %0 = relax.call_pure_packed "my.square"(%x) : (!n) -> !n
  %1 = relax.call_dps_packed "my.add"(%0, %x) : (!n, !n) -> !n
  %k = relax.prim_value n : i64
  %f = relax.prim_value -1.5 : f32
  %t = relax.tuple(%k, %f) : !relax.prim<i64, n>, !relax.prim<f32>
  %s = relax.shape_of %x : (!n) -> !relax.shape<[n]>
  %2 = relax.call_packed "my.sum"(%t, %s)
    : (!relax.tuple<!relax.prim<i64, n>, !relax.prim<f32>>, !relax.shape<[n]>)
    -> !relax.prim<f32>
  %3 = relax.call_inplace_packed "my.negate"(%1) inplace [0] : (!n) -> !n
  relax.print "x = {}, {}"(%x, %k) : (!n, !relax.prim<i64, n>) -> ()
  %4 = relax.tuple(%0, %3, %2) : !n, !n, !relax.prim<f32>
  relax.return %4 : !relax.tuple<!n, !n, !relax.prim<f32>>
""",
    "<n>(%x: !n) -> !relax.tuple<!n, !n, !relax.prim<f32>>",
)


def _add(a: Array, b: Array, out: Array) -> None:
    out[...] = a + b


def _negate(a: Array) -> Array:
    a *= -1
    return a


def _square(a: Array) -> Array:
    return a * a


def _sum(numbers: tuple[int, float], shape: tuple[int, ...]) -> float:
    return sum(numbers) + sum(shape)


def _first(a: Array) -> Array:
    return a[:1]


EXTERNS: dict[str, Any] = {
    "my.square": _square,
    "my.add": _add,
    "my.sum": _sum,
    "my.negate": _negate,
}


def test_functions_of_python(capfd: pytest.CaptureFixture[str]):
    x = values(3)
    main = compiled(PACKED, externs=EXTERNS)
    square, negated, total = main(x)
    np.testing.assert_array_equal(square, x * x)
    np.testing.assert_array_equal(negated, -(x * x + x))
    assert total == 4.5
    assert capfd.readouterr().out == "x = [0. 1. 2.], 3\n"


def test_exceptions_of_python_pass_through():
    def refuse(_: Array) -> Array:
        raise KeyError("not today")

    main = compiled(PACKED, externs={**EXTERNS, "my.square": refuse})
    with pytest.raises(KeyError, match="not today"):
        main(values(3))


def test_results_of_python_are_checked():
    main = compiled(PACKED, externs={**EXTERNS, "my.square": _first})
    with pytest.raises(ValueError, match=r"result 0 of 'my.square' must be float32\[3\]"):
        main(values(3))


NUMBERS = body(
    """
  %k = relax.call_pure_packed "my.number"(%x) : (!s) -> !relax.prim<i8>
  %u = relax.call_pure_packed "my.shape"(%x) : (!s) -> !relax.shape<[?]>
  %t = relax.tuple(%k, %u) : !relax.prim<i8>, !relax.shape<[?]>
  relax.return %t : !relax.tuple<!relax.prim<i8>, !relax.shape<[?]>>
""",
    "(%x: !s) -> !relax.tuple<!relax.prim<i8>, !relax.shape<[?]>>",
)


@pytest.mark.parametrize(
    ("number", "shape", "message"),
    [
        (300, (1,), "^result 0 of 'my.number' must be within -128 and 127, got 300$"),
        (2.5, (1,), "^result 0 of 'my.number' must be an integer, got float$"),
        (1, (-1,), r"^result 0 of 'my.shape' must hold extents of 64 bits, got \(-1,\)$"),
        (1, (1 << 64,), "^result 0 of 'my.shape' must hold extents of 64 bits, got"),
        (
            1,
            (2.5,),
            "^an extent of result 0 of 'my.shape' must be an integer, got f",
        ),
    ],
)
def test_numbers_of_python_must_fit(number: Any, shape: Any, message: str):
    results: dict[str, Any] = {"my.number": 7, "my.shape": (3,)}

    def function(name: str) -> Callable[[Array], Any]:
        return lambda _: results[name]

    main = compiled(NUMBERS, externs={name: function(name) for name in results})
    assert main(values(4)) == (7, (3,))
    results.update({"my.number": number, "my.shape": shape})
    with pytest.raises((TypeError, ValueError), match=message):
        main(values(4))


def test_a_function_of_python_may_call_the_module_again():
    def again(a: Array) -> Array:
        if len(a) == 1:
            return a
        return np.repeat(main(a[:1])[0], len(a))

    main = compiled(PACKED, externs={**EXTERNS, "my.square": again})
    np.testing.assert_array_equal(main(values(3) + 7)[0], [7, 7, 7])


def test_a_failure_that_a_function_of_python_handles_is_over():
    def handled(a: Array) -> Array:
        with pytest.raises(RuntimeError, match="the value is no"):
            executable["narrow"](values(5))
        return a + 1

    text = """
    relax.func @narrow<n>(%x: !n) -> !s attributes {global_symbol = "narrow"} {
      %0 = relax.match_cast %x : !n -> !s
      relax.return %0 : !s
    }
    relax.func @main(%x: !s) -> !s attributes {global_symbol = "main"} {
      %0 = relax.call_pure_packed "my.handled"(%x) : (!s) -> !s
      %1 = relax.call @narrow(%0) : (!s) -> !s
      relax.return %1 : !s
    }
    """
    executable = xdsl_tvm.compile(KERNELS + text, externs={"my.handled": handled})
    np.testing.assert_array_equal(executable["main"](values(4)), values(4) + 1)
