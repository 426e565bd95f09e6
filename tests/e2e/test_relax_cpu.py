"""Relax functions, compiled for this machine and compared with numpy."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import xdsl_tvm

Array = NDArray[Any]

SYMBOLIC = """
!x = tensor<?x4xf32, #relax.dims<[n, 4]>>
!y = tensor<?x3xf32, #relax.dims<[n, 3]>>
relax.func @main<n>(%x: !x, %w: tensor<4x3xf32>) -> !y
    attributes {global_symbol = "main"} {
  %b = relax.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %0 = relax.dataflow -> (!y) {
    %1 = relax.matmul %x, %w : (!x, tensor<4x3xf32>) -> !y
    %2 = relax.add %1, %b : (!y, tensor<3xf32>) -> !y
    relax.output %2 : !y
  }
  relax.return %0 : !y
}
"""


def random(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("batch", [0, 1, 7])
def test_symbolic_batch(batch: int):
    x, w = random(batch, 4), random(4, 3)
    found = xdsl_tvm.compile(SYMBOLIC)["main"](x, w)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, x @ w + [1, 2, 3], rtol=1e-5, atol=1e-6)


def test_every_call_makes_new_results():
    main = xdsl_tvm.compile(SYMBOLIC)["main"]
    x, w = random(2, 4), random(4, 3)
    first = main(x, w)
    second = main(x * 2, w)
    assert not np.shares_memory(first, second)
    np.testing.assert_allclose(first, x @ w + [1, 2, 3], rtol=1e-5, atol=1e-6)


TUPLES = """
!t = tensor<?x2xf32, #relax.dims<[n, 2]>>
!r = !relax.tuple<!t, !relax.tuple<!t, !t>, tensor<2xf32>, tensor<2xf32>, !t>
relax.func @main<n>(%x: !t, %y: !t) -> !r
    attributes {global_symbol = "main"} {
  %c = relax.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %c1 = relax.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %0 = relax.add %x, %y : (!t, !t) -> !t
  %1 = relax.multiply %0, %c : (!t, tensor<2xf32>) -> !t
  %2 = relax.tuple(%0, %x) : !t, !t
  %3 = relax.get_item %2[0] : !relax.tuple<!t, !t> -> !t
  %4 = relax.tuple(%1, %2, %c, %c1, %3)
    : !t, !relax.tuple<!t, !t>, tensor<2xf32>, tensor<2xf32>, !t
  relax.return %4 : !r
}
"""


def test_tuples_inputs_constants_and_values_returned_twice():
    x, y = random(3, 2), random(3, 2) + 1
    product, (total, same), c, c1, again = xdsl_tvm.compile(TUPLES)["main"](x, y)
    np.testing.assert_array_equal(total, x + y)
    np.testing.assert_array_equal(again, x + y)
    np.testing.assert_array_equal(same, x)
    np.testing.assert_array_equal(product, (x + y) * np.array([0.5, 0.25], np.float32))
    np.testing.assert_array_equal(c, np.array([0.5, 0.25], np.float32))
    np.testing.assert_array_equal(c1, c)
    arrays = (product, total, same, c, c1, again, x)
    for i, a in enumerate(arrays):
        assert not any(np.shares_memory(a, b) for b in arrays[:i])


CALLS = """
!t = tensor<?x?xf32, #relax.dims<[a, b]>>
!u = tensor<?x?xf32, #relax.dims<[b, a]>>
!n = tensor<?x4xf32, #relax.dims<[n, 4]>>
relax.func @transposed<a, b>(%x: !t) -> !u {
  %0 = relax.permute_dims %x : (!t) -> !u
  relax.return %0 : !u
}
relax.func @twice<a, b>(%x: !t) -> !t {
  %0 = relax.call @transposed(%x) : (!t) -> !u
  %1 = relax.add %0, %0 : (!u, !u) -> !u
  %2 = relax.call @transposed(%1) : (!u) -> !t
  relax.return %2 : !t
}
relax.func @static(%x: tensor<3x4xf32>) -> tensor<4x3xf32>
    attributes {global_symbol = "static"} {
  %0 = relax.call @twice(%x) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %1 = relax.call @transposed(%0) : (tensor<3x4xf32>) -> tensor<4x3xf32>
  relax.return %1 : tensor<4x3xf32>
}
relax.func @symbolic<n>(%x: !n) -> !n attributes {global_symbol = "symbolic"} {
  %0 = relax.call @twice(%x) : (!n) -> !n
  relax.return %0 : !n
}
"""


def test_functions_that_call_functions():
    executable = xdsl_tvm.compile(CALLS)
    assert list(executable) == ["static", "symbolic"]
    x = random(3, 4)
    np.testing.assert_array_equal(executable["static"](x), (x + x).T)
    np.testing.assert_array_equal(executable["symbolic"](x), x + x)


IF = """
!t = tensor<?xf32, #relax.dims<[n]>>
!m = tensor<?xf32, #relax.dims<[m]>>
!k = tensor<?xf32, #relax.dims<[k]>>
relax.func @main<n, m>(%c: tensor<i1>, %x: !t, %y: !m)
    -> !relax.tuple<!t, !t> attributes {global_symbol = "main"} {
  %0 = relax.if %c : tensor<i1> -> !relax.tuple<!t, !t> {
    %1 = relax.add %x, %x : (!t, !t) -> !t
    %2 = relax.multiply %1, %1 : (!t, !t) -> !t
    %3 = relax.tuple(%2, %2) : !t, !t
    relax.yield %3 : !relax.tuple<!t, !t>
  } else {
    %1 = relax.add %x, %x : (!t, !t) -> !t
    %2 = relax.tuple(%x, %1) : !t, !t
    relax.yield %2 : !relax.tuple<!t, !t>
  }
  relax.return %0 : !relax.tuple<!t, !t>
}
relax.func @either<n, m>(%c: !relax.prim<i1>, %x: !t, %y: !m) -> tensor<6xf32>
    attributes {global_symbol = "either"} {
  %0 = relax.if %c : !relax.prim<i1> -> tensor<?xf32> {
    relax.yield %x : !t
  } else {
    relax.yield %y : !m
  }
  %1 = relax.match_cast %0 defines [k] : tensor<?xf32> -> !k
  %2 = relax.add %1, %1 : (!k, !k) -> !k
  %3 = relax.match_cast %2 : !k -> tensor<6xf32>
  relax.return %3 : tensor<6xf32>
}
"""


def test_if():
    executable = xdsl_tvm.compile(IF)
    x, y = random(5), random(6)
    first, second = executable["main"](np.array(True), x, y)
    np.testing.assert_array_equal(first, (x + x) ** 2)
    np.testing.assert_array_equal(second, first)
    first, second = executable["main"](np.array(False), x, y)
    np.testing.assert_array_equal(first, x)
    np.testing.assert_array_equal(second, x + x)


def test_branches_of_different_shape():
    either = xdsl_tvm.compile(IF)["either"]
    np.testing.assert_array_equal(either(False, random(5), random(6)), random(6) * 2)
    np.testing.assert_array_equal(either(True, random(6), random(5)), random(6) * 2)


MATCH = """
!k = tensor<?x?xf32, #relax.dims<[k, k + 1]>>
relax.func @main(%x: tensor<?x?xf32>, %s: !relax.prim<i64>) -> tensor<f32>
    attributes {global_symbol = "main"} {
  %y = relax.match_cast %x defines [k] : tensor<?x?xf32> -> !k
  %0 = relax.sum %y : (!k) -> tensor<f32>
  relax.return %0 : tensor<f32>
}
"""


def test_match_cast_binds_symbols():
    x = random(3, 4)
    np.testing.assert_allclose(xdsl_tvm.compile(MATCH)["main"](x, 3), x.sum(), rtol=1e-5)


def test_a_failed_match_cast_is_an_error_of_the_call():
    main = xdsl_tvm.compile(MATCH)["main"]
    expected = (
        r"^assertion failed: relax.match_cast in @main: the value is no tensor<\?x\?x"
    )
    with pytest.raises(RuntimeError, match=expected):
        main(np.zeros((3, 5), np.float32), 3)
    assert main(np.zeros((5, 6), np.float32), 5) == 0


def test_scalars_in_and_out():
    text = """
    relax.func @main<n>(%n: !relax.prim<i64, n>, %x: tensor<?xf32, #relax.dims<[n * 2]>>)
        -> !relax.prim<i64, n> attributes {global_symbol = "main"} {
      relax.return %n : !relax.prim<i64, n>
    }
    """
    main = xdsl_tvm.compile(text)["main"]
    assert main(3, random(6)) == 3
    with pytest.raises(ValueError, match="must have extent n \\* 2 = 8 on axis 0"):
        main(4, random(6))


@pytest.mark.parametrize("dtype", ["f64", "i32", "ui8", "f16", "i1"])
def test_constants_of_all_dtypes(dtype: str):
    text = f"""
    relax.func @main() -> !relax.tuple<tensor<2x2x{dtype}>, tensor<3x{dtype}>>
        attributes {{global_symbol = "main"}} {{
      %a = relax.constant dense<[[1, 0], [0, 1]]> : tensor<2x2x{dtype}>
      %b = relax.constant dense<1> : tensor<3x{dtype}>
      %c = relax.tuple(%a, %b) : tensor<2x2x{dtype}>, tensor<3x{dtype}>
      relax.return %c : !relax.tuple<tensor<2x2x{dtype}>, tensor<3x{dtype}>>
    }}
    """
    if dtype in ("f64", "f16"):
        text = text.replace("[[1, 0], [0, 1]]", "[[1.0, 0.0], [0.0, 1.0]]")
        text = text.replace("dense<1>", "dense<1.0>")
    a, b = xdsl_tvm.compile(text)["main"]()
    np.testing.assert_array_equal(a, np.eye(2))
    np.testing.assert_array_equal(b, np.ones(3))


def test_expressions_of_symbols():
    text = """
    !x = tensor<?x?xf32, #relax.dims<[n, m]>>
    !y = tensor<?xf32, #relax.dims<[n * m]>>
    relax.func @main<n, m>(%x: !x) -> !y attributes {global_symbol = "main"} {
      %s = relax.shape [n * m]
      %0 = relax.reshape %x, %s : (!x, !relax.shape<[n * m]>) -> !y
      %1 = relax.add %0, %0 : (!y, !y) -> !y
      relax.return %1 : !y
    }
    """
    x = random(3, 5)
    np.testing.assert_array_equal(xdsl_tvm.compile(text)["main"](x), x.ravel() * 2)
