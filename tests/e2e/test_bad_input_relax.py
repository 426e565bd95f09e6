"""What users of Relax get wrong: each mistake is one line that says what and where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.error_texts import first_line
from xdsl.utils.exceptions import PassFailedException, VerifyException

import xdsl_tvm
from xdsl_tvm.interpreters.errors import SimulationError
from xdsl_tvm.interpreters.relax import interpret
from xdsl_tvm.runtime.executable import load_module

pytest.importorskip("llvmlite")

KERNEL = """
tir.func @scale(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xf32>
}
"""


def main_of(body: str, signature: str = "(%x: tensor<4xf32>) -> tensor<4xf32>") -> str:
    return (
        f"{KERNEL}relax.func @main{signature} "
        f'attributes {{global_symbol = "main"}} {{\n{body}\n}}'
    )


def call_tir(name: str, argument: str, result: str) -> str:
    return main_of(
        f"%0 = relax.call_tir @{name}(%x) : ({argument}) -> {result}\n"
        f"%1 = relax.match_cast %0 : {result} -> tensor<4xf32>\n"
        "relax.return %1 : tensor<4xf32>",
        f"(%x: {argument}) -> tensor<4xf32>",
    )


MODULES = {
    "ill-typed argument of call_tir": (
        call_tir("scale", "tensor<5xf32>", "tensor<4xf32>"),
        "argument 0 of tir.func @scale must be tensor<4xf32>, tensor<5xf32> is given",
    ),
    "dtype of call_tir": (
        call_tir("scale", "tensor<4xi32>", "tensor<4xf32>"),
        "argument 0 of tir.func @scale must be tensor<4xf32>, tensor<4xi32> is given",
    ),
    "missing kernel": (
        call_tir("scales", "tensor<4xf32>", "tensor<4xf32>"),
        "relax.call_tir: @scales is not defined in the module",
    ),
    "shape mismatch": (
        main_of(
            "%0 = relax.add %x, %y : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>\n"
            "relax.return %0 : tensor<4xf32>",
            "(%x: tensor<4xf32>, %y: tensor<3xf32>) -> tensor<4xf32>",
        ),
        "relax.add",
    ),
    "unknown symbol": (
        main_of("%s = relax.shape [k]\nrelax.return %x : tensor<4xf32>"),
        "relax.shape in @main uses the symbol 'k', which neither a parameter nor a "
        "relax.match_cast above defines",
    ),
    "impure operation in a dataflow block": (
        main_of(
            "%0 = relax.dataflow -> (tensor<4xf32>) {\n"
            'relax.print "{}"(%x) : (tensor<4xf32>) -> ()\n'
            "relax.output %x : tensor<4xf32>\n}\n"
            "relax.return %0 : tensor<4xf32>"
        ),
        "relax.print in @main is impure and is in a dataflow block",
    ),
    "impure operation in a pure function": (
        main_of(
            'relax.print "{}"(%x) : (tensor<4xf32>) -> ()\n'
            "relax.return %x : tensor<4xf32>"
        ),
        "relax.print in @main is impure; mark the function impure",
    ),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules_that_are_not_valid(name: str) -> None:
    text, message = MODULES[name]
    with pytest.raises((ValueError, VerifyException)) as error:
        xdsl_tvm.compile(text)
    assert message in first_line(str(error.value))


def test_a_function_of_python_that_is_not_given() -> None:
    text = main_of(
        '%0 = relax.call_pure_packed "my.f"(%x) : (tensor<4xf32>) -> tensor<4xf32>\n'
        "relax.return %0 : tensor<4xf32>"
    )
    with pytest.raises(PassFailedException) as error:
        xdsl_tvm.compile(text)
    assert str(error.value) == (
        "relax.call_pure_packed: no function 'my.f' is known; pass it, as in "
        "compile(module, externs={'my.f': …})"
    )


# ---- calls ----

MODEL = """
!x = tensor<?x4xf32, #relax.dims<[n, 4]>>
!y = tensor<?x3xf32, #relax.dims<[n, 3]>>
relax.func @main<n>(%x: !x, %w: tensor<4x3xf32>, %b: tensor<3xf32>) -> !y
    attributes {global_symbol = "main"} {
  %0 = relax.matmul %x, %w : (!x, tensor<4x3xf32>) -> !y
  %1 = relax.add %0, %b : (!y, tensor<3xf32>) -> !y
  relax.return %1 : !y
}
"""


def zeros(*shape: int, dtype: Any = np.float32) -> Any:
    return np.zeros(shape, dtype)


@pytest.fixture(scope="module")
def model() -> Any:
    return xdsl_tvm.compile(MODEL)["main"]


X, W, B = zeros(2, 4), zeros(4, 3), zeros(3)
CALLS = {
    "too few": ((X, W), "@main takes 3 arguments, got 2"),
    "too many": ((X, W, B, B), "@main takes 3 arguments, got 4"),
    "dtype": (
        (X, zeros(4, 3, dtype=np.float64), B),
        "@main: argument 'w' must have dtype float32, got float64",
    ),
    "shape": (
        (X, W.T.copy(), B),
        "@main: argument 'w' must have shape (4, 3), got (3, 4)",
    ),
    "extent": (
        (zeros(2, 5), W, B),
        "@main: argument 'x' must have extent 4 on axis 1, got shape (2, 5)",
    ),
    "list": (
        ([[0.0] * 4], W, B),
        "@main: argument 'x' must be a numpy array float32[n, 4], got list",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str, model: Any) -> None:
    arguments, message = CALLS[name]
    with pytest.raises((TypeError, ValueError)) as error:
        model(*arguments)
    assert str(error.value) == message


def test_scalars_that_must_be_an_expression() -> None:
    text = main_of(
        "relax.return %x : tensor<4xf32>",
        "<n>(%n: !relax.prim<i64, n>, %m: !relax.prim<i64, n * 2>, "
        "%k: !relax.prim<i32, 7>, %x: tensor<4xf32>) -> tensor<4xf32>",
    )
    main = xdsl_tvm.compile(text)["main"]
    np.testing.assert_array_equal(main(2, 4, 7, zeros(4)), zeros(4))
    for arguments, message in (
        ((2, 3, 7), "@main: argument 'm' must be n * 2 = 4, got 3"),
        ((2, 4, 8), "@main: argument 'k' must be 7, got 8"),
    ):
        with pytest.raises(ValueError, match="must be") as error:
            main(*arguments, zeros(4))
        assert str(error.value) == message


EXTENTS = """
!n = tensor<?xf32, #relax.dims<[n]>>
relax.func @made<n>(%s: !relax.shape<[n]>) -> tensor<f32>
    attributes {global_symbol = "made"} {
  %c = relax.constant dense<1.0> : tensor<f32>
  %0 = relax.full %s, %c : (!relax.shape<[n]>, tensor<f32>) -> !n
  %1 = relax.sum %0 : (!n) -> tensor<f32>
  relax.return %1 : tensor<f32>
}
relax.func @read(%x: tensor<1xi64>) -> tensor<f32> attributes {global_symbol = "read"} {
  %s = relax.tensor_to_shape %x : (tensor<1xi64>) -> !relax.shape<[?]>
  %t = relax.match_cast %s defines [n] : !relax.shape<[?]> -> !relax.shape<[n]>
  %0 = relax.call @made(%t) : (!relax.shape<[n]>) -> tensor<f32>
  relax.return %0 : tensor<f32>
}
relax.func @less<n>(%n: !relax.prim<i64, n>) -> tensor<f32>
    attributes {global_symbol = "less"} {
  %s = relax.shape [n - 5]
  %0 = relax.call @made(%s) : (!relax.shape<[n - 5]>) -> tensor<f32>
  relax.return %0 : tensor<f32>
}
relax.func @quotient<n, m>(%n: !relax.prim<i64, n>, %m: !relax.prim<i64, m>)
    -> !relax.prim<i64, n floordiv m> attributes {global_symbol = "quotient"} {
  %0 = relax.prim_value n floordiv m : i64
  relax.return %0 : !relax.prim<i64, n floordiv m>
}
relax.func @part<n, m>(%n: !relax.prim<i64, n>, %m: !relax.prim<i64, m>)
    -> tensor<?xf32, #relax.dims<[n floordiv m]>> attributes {global_symbol = "part"} {
  %s = relax.shape [n floordiv m]
  %c = relax.constant dense<1.0> : tensor<f32>
  %0 = relax.full %s, %c : (!relax.shape<[n floordiv m]>, tensor<f32>)
    -> tensor<?xf32, #relax.dims<[n floordiv m]>>
  relax.return %0 : tensor<?xf32, #relax.dims<[n floordiv m]>>
}
relax.func @reshaped<n, m>(%x: !n, %s: !relax.shape<[m, m]>) -> tensor<f32>
    attributes {global_symbol = "reshaped"} {
  %0 = relax.reshape %x, %s
    : (!n, !relax.shape<[m, m]>) -> tensor<?x?xf32, #relax.dims<[m, m]>>
  %1 = relax.sum %0 : (tensor<?x?xf32, #relax.dims<[m, m]>>) -> tensor<f32>
  relax.return %1 : tensor<f32>
}
relax.func @narrow<n>(%n: !relax.prim<i64, n>) -> !relax.tuple<!relax.prim<i32, n>,
    !relax.prim<ui8, n floordiv 8388608>> attributes {global_symbol = "narrow"} {
  %0 = relax.prim_value n : i32
  %1 = relax.prim_value n floordiv 8388608 : ui8
  %2 = relax.tuple(%0, %1)
    : !relax.prim<i32, n>, !relax.prim<ui8, n floordiv 8388608>
  relax.return %2
    : !relax.tuple<!relax.prim<i32, n>, !relax.prim<ui8, n floordiv 8388608>>
}
relax.func @from(%x: tensor<8xf32>, %o: !relax.prim<i64>) -> tensor<2xf32>
    attributes {global_symbol = "from"} {
  %s = relax.shape [2]
  %0 = relax.memory.view %x shape %s : !relax.shape<[2]> at %o : !relax.prim<i64>
    : tensor<8xf32> -> tensor<2xf32>
  relax.return %0 : tensor<2xf32>
}
"""
MOST = 2**63 - 1
LOST: dict[str, tuple[str, tuple[Any, ...], str]] = {
    "a negative extent": (
        "made",
        ((-1,),),
        f"@made: argument 's' must hold extents from 0 to {MOST}, got (-1,)",
    ),
    "more than 64 bits": (
        "made",
        ((2**64 + 4,),),
        f"@made: argument 's' must hold extents from 0 to {MOST}, got ({2**64 + 4},)",
    ),
    "no integer": (
        "made",
        ((2.0,),),
        "@made: argument 's' must be a tuple of integers (n), got (2.0,)",
    ),
    "a number that does not fit": (
        "narrow",
        (2**31,),
        "assertion failed: relax.prim_value in @narrow: n is no i32",
    ),
    "a negative number": (
        "less",
        (-1,),
        f"@less: argument 'n' must be within 0 and {MOST}, got -1",
    ),
    "negative in a tensor": (
        "read",
        (np.array([-1]),),
        "assertion failed: relax.match_cast in @read: an extent or offset is negative",
    ),
    "negative difference": (
        "less",
        (4,),
        "assertion failed: relax.call in @less: the extent n - 5 is negative",
    ),
    "division by zero": (
        "quotient",
        (4, 0),
        "assertion failed: relax.prim_value in @quotient: an extent is divided by zero",
    ),
    "result divided by zero": (
        "part",
        (4, 0),
        "@part: the extent n floordiv m divides by zero",
    ),
    # 2^64 elements, which are 0 modulo 2^64.
    "a number of elements that wraps around": (
        "reshaped",
        (zeros(0), (2**32, 2**32)),
        "assertion failed: relax.reshape in @reshaped: the shapes have different numbers "
        "of elements",
    ),
    "negative offset": (
        "from",
        (zeros(8), -4),
        "assertion failed: relax.memory.view in @from: an extent or offset is negative",
    ),
    "an offset whose end wraps around": (
        "from",
        (zeros(8), 2**63 - 4),
        "assertion failed: relax.memory.view in @from: a tensor ends after its 32 bytes",
    ),
}


@pytest.fixture(scope="module")
def extents() -> Any:
    return xdsl_tvm.compile(EXTENTS, optimize=False)


@pytest.mark.parametrize("name", LOST)
def test_numbers_that_no_extent_can_be(name: str, extents: Any) -> None:
    function, arguments, message = LOST[name]
    with pytest.raises((ValueError, RuntimeError, TypeError)) as error:
        extents[function](*arguments)
    assert str(error.value) == message
    with pytest.raises((SimulationError, MemoryError)):
        interpret(load_module(EXTENTS))[function](*arguments)


def test_numbers_that_an_extent_can_be(extents: Any) -> None:
    assert extents["made"]((3,)) == extents["read"](np.array([3])) == 3
    assert extents["less"](7) == extents["less"](5) + 2 == 2
    assert extents["quotient"](7, 2) == len(extents["part"](7, 2)) == 3
    assert extents["reshaped"](zeros(4) + 1, (2, 2)) == 4
    assert extents["narrow"](2**31 - 1) == (2**31 - 1, 255)
    x = np.arange(8, dtype=np.float32)
    np.testing.assert_array_equal(extents["from"](x, 24), [6, 7])


BINDINGS: dict[str, tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...], str]] = {
    "unknown name": ((), {"v": W}, (), "@main has no parameter 'v'; it has x, w, b"),
    "too many": ((X, X, W, B), {}, (), "@main has 3 parameters to bind, got 4"),
    "dtype": (
        (W.astype(np.float64), B),
        {},
        (),
        "@main: argument 'w' must have dtype float32, got float64",
    ),
    "bound already": (
        (W, B),
        {},
        (X, W, B),
        "@main takes 1 argument besides the 2 bound ones, got 3",
    ),
    "extent of what is not bound": (
        (B,),
        {"x": X},
        (zeros(4, 2),),
        "@main: argument 'w' must have shape (4, 3), got (4, 2)",
    ),
}


@pytest.mark.parametrize("name", BINDINGS)
def test_bindings(name: str, model: Any) -> None:
    trailing, named, rest, message = BINDINGS[name]
    with pytest.raises((TypeError, ValueError)) as error:
        model.bind(*trailing, **named)(*rest)
    assert str(error.value) == message


def test_out_of_memory() -> None:
    text = """
    !n = tensor<?xf32, #relax.dims<[n * 1048576]>>
    relax.func @main<n>(%n: !relax.prim<i64, n>) -> tensor<f32>
        attributes {global_symbol = "main"} {
      %s = relax.shape [n * 1048576]
      %c = relax.constant dense<2.0> : tensor<f32>
      %0 = relax.full %s, %c : (!relax.shape<[n * 1048576]>, tensor<f32>) -> !n
      %1 = relax.exp %0 : (!n) -> !n
      %2 = relax.cumsum %1 {axis = 0 : i64} : (!n) -> !n
      %3 = relax.sum %2 : (!n) -> tensor<f32>
      relax.return %3 : tensor<f32>
    }
    """
    main = xdsl_tvm.compile(text)["main"]
    with pytest.raises(MemoryError) as error:
        main(1 << 40)
    assert str(error.value).startswith("out of memory: ")
    assert "in @main needs n * 8388608 bytes" in str(error.value)
    np.testing.assert_allclose(main(1) / (2**39 + 2**19), np.exp(2), rtol=0.01)


def test_text_that_does_not_parse_names_its_line() -> None:
    with pytest.raises(ValueError, match=r"^<text>:3:8: error: relax\.ad: ") as error:
        load_module(
            "\nrelax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n  %0 = relax.ad %x\n}"
        )
    assert "did you mean 'relax.add'" in first_line(str(error.value))
