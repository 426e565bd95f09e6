"""Symbolic dimensions, types and their lattice."""

from __future__ import annotations

import random
from functools import cache
from itertools import product as product_of

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, f32
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.integers import Bound
from xdsl_tvm.dialects.relax.algebra import Check
from xdsl_tvm.dialects.relax.symbolic import (
    Dim,
    bounds,
    ceildiv,
    maximum,
    minimum,
    product,
    provably_at_least,
    provably_covers,
    provably_different,
    provably_equal,
)
from xdsl_tvm.dialects.relax.types import (
    definable_symbols,
    substitute_symbols,
    used_symbols,
)


@cache
def _context() -> Context:
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(relax.Relax)
    return context


def _type(text: str) -> Attribute:
    return Parser(_context(), text).parse_type()


def _dim(text: str) -> Dim:
    attribute = Parser(_context(), f"#relax.dim<{text}>").parse_attribute()
    assert isinstance(attribute, relax.DimAttr)
    return attribute.data


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("2 * n + 1", "n * 2 + 1"),
        ("1 + n + n", "n * 2 + 1"),
        ("n - n", "0"),
        ("1 - n", "-n + 1"),
        ("-(n - 2) * 3", "-n * 3 + 6"),
        ("(n + 1) * (m + 2)", "m * n + m + n * 2 + 2"),
        ("n * n", "n * n"),
        ("(n + 3) floordiv 4 * 4", "((n + 3) floordiv 4) * 4"),
        ("n floordiv 1", "n"),
        ("(n * 4 + 5) floordiv 4", "n + 1"),
        ("(n * 4 + m) floordiv 4", "n + m floordiv 4"),
        ("n * m floordiv m", "n"),
        ("(n + 1) floordiv (n + 1)", "1"),
        ("n floordiv 2 floordiv 3", "n floordiv 6"),
        ("n floordiv m", "n floordiv m"),
        ("n floordiv (m * 2)", "n floordiv (m * 2)"),
        ("n floordiv 0", "n floordiv 0"),
        ("-(n floordiv 2)", "-(n floordiv 2)"),
        ("(-n) floordiv 2", "(-n) floordiv 2"),
        ("-n floordiv 2", "(-n) floordiv 2"),
        ("7 floordiv -2", "-4"),
        ("7 floormod -2", "-1"),
        ("n floormod 1", "0"),
        ("(n * 8 + 11) floormod 8", "3"),
        ("(n floormod 4) floordiv 4", "0"),
        ("(n floormod 4) floormod 8", "n floormod 4"),
        ("min(n, 0)", "0"),
        ("max(n, -1)", "n"),
        ("min(4, n)", "min(n, 4)"),
        ("max(n, n + 1)", "n + 1"),
        ("min(n, m) - min(m, n)", "0"),
    ],
)
def test_normal_form(text: str, normal: str):
    dim = _dim(text)
    assert str(dim) == normal
    assert _dim(str(dim)) == dim
    assert hash(_dim(str(dim))) == hash(dim)


@pytest.mark.parametrize("seed", range(200))
def test_normal_form_keeps_the_value(seed: int):
    """Random expressions have the value of the tree that they were built from."""
    rng = random.Random(seed)
    values = {"n": rng.randrange(9), "m": rng.randrange(9), "k": rng.randrange(9)}

    def build(depth: int) -> tuple[Dim, int]:
        if depth == 0 or rng.random() < 0.2:
            if rng.random() < 0.5:
                name = rng.choice("nmk")
                return Dim.symbol(name), values[name]
            number = rng.randrange(-4, 9)
            return Dim.constant(number), number
        (a, x), (b, y) = build(depth - 1), build(depth - 1)
        match rng.choice(("+", "-", "*", "floordiv", "floormod", "min", "max")):
            case "+":
                return a + b, x + y
            case "-":
                return a - b, x - y
            case "*":
                return a * b, x * y
            case "floordiv" if y != 0:
                return a // b, x // y
            case "floormod" if y != 0:
                return a % b, x % y
            case "min":
                return minimum(a, b), min(x, y)
            case _:
                return maximum(a, b), max(x, y)

    dim, value = build(4)
    assert dim.evaluate(values) == value, str(dim)
    assert bounds(dim).contains(Bound(value, value))
    assert _dim(str(dim)) == dim
    renamed = dim.substitute({"n": Dim.symbol("m"), "m": Dim.symbol("n")})
    assert renamed.evaluate(values | {"n": values["m"], "m": values["n"]}) == value


def test_provable():
    n, m = Dim.symbol("n"), Dim.symbol("m")
    assert provably_equal(n, n // 4 * 4 + n % 4)
    assert provably_equal((n + m) * 2, m * 2 + n + n)
    assert not provably_equal(n, m)
    assert provably_different(n, n + 1)
    assert not provably_different(n, m)
    assert not provably_different(n, 0)
    assert provably_different(n, -1)
    assert provably_at_least(n + m, n)
    assert not provably_at_least(n, 1)
    assert ceildiv(n * 4, 4) == n
    assert product([n, m, Dim.constant(2)]) == m * n * 2
    assert product([]) == Dim.constant(1)
    assert 3 - n == Dim.constant(3) - n
    assert 2 * n + 1 == 1 + 2 * n
    assert n != "n"
    assert repr(n + 1) == "Dim(n + 1)"


def test_rounded_dims_cover():
    """What is proved holds for all values; what fails for some is not."""
    n, m = Dim.symbol("n"), Dim.symbol("m")
    up = ceildiv(n, 8) * 8
    assert not provably_at_least(up, n)
    assert provably_covers(up, n)
    assert provably_covers(up * 3 + ceildiv(m, 4) * 4, n * 3 + m)
    assert provably_covers(n * m, (n // 8) * 8 * m)
    assert provably_covers(n + 7, up)
    assert not provably_covers(n + 6, up)
    assert not provably_covers(ceildiv(n, 8) * 7, n)
    assert not provably_covers((n // 8) * 8, n)
    rng = random.Random(0)
    proved = 0
    for _ in range(300):
        numbers = [rng.randrange(-3, 9) for _ in range(5)]
        a, b, c, d, e = numbers
        lhs = ((n + a) // 4) * b + (m // 3) * c + n * d
        if provably_covers(lhs, m * e):
            proved += 1
            for values in product_of(range(9), repeat=2):
                given = dict(zip("nm", values, strict=True))
                assert lhs.evaluate(given) >= (m * e).evaluate(given)
    assert proved > 10


def test_dim_accessors():
    n = Dim.symbol("n")
    assert (n + 1).value is None
    assert Dim.constant(0).value == 0
    assert n.symbol_name == "n"
    assert (n * 2).symbol_name is None
    assert (n // 2).symbol_name is None
    assert list((n * Dim.symbol("m") + n // 3).symbols()) == ["m", "n", "n"]
    for name in ("max", "a.b", ""):
        with pytest.raises(ValueError, match="cannot name a symbolic dimension"):
            Dim.symbol(name)
    with pytest.raises(KeyError):
        n.evaluate({})


@pytest.mark.parametrize(
    ("text", "used", "definable"),
    [
        ("tensor<?x?xf32, #relax.dims<[n + m, k]>>", ["m", "n", "k"], ["k"]),
        ("tensor<?xf32>", [], []),
        ("tensor<*xf32>", [], []),
        ("!relax.shape<[n, n, ?, m * 2]>", ["n", "m"], ["n"]),
        ("!relax.shape<*>", [], []),
        ("!relax.prim<i64, n>", ["n"], ["n"]),
        ("!relax.tuple<!relax.shape<[n]>, !relax.prim<i64, m>>", ["n", "m"], ["n", "m"]),
        ("!relax.func<(!relax.shape<[n]>) -> !relax.shape<[n]>>", [], []),
        ("!relax.object", [], []),
    ],
)
def test_symbols_of_types(text: str, used: list[str], definable: list[str]):
    assert used_symbols(_type(text)) == used
    assert definable_symbols(_type(text)) == definable


_CUDA = '#relax.vdevice<"cuda", 0, "global">'
_LLVM = '#relax.vdevice<"llvm", 0, "global">'
_ANY = '#relax.vdevice<any, 0, "global">'


def _on(device: str) -> str:
    return f"tensor<4xf32, #relax.placed<[4], {device}>>"


@pytest.mark.parametrize(
    ("base", "derived", "check"),
    [
        ("!relax.object", "tensor<4xf32>", Check.PASS),
        ("tensor<4xf32>", "!relax.object", Check.KIND_UNKNOWN),
        ("tensor<4xf32>", "!relax.shape<[4]>", Check.IMPOSSIBLE),
        # Prim
        ("!relax.prim<i64>", "!relax.prim<i64, n>", Check.PASS),
        ("!relax.prim<i64, n>", "!relax.prim<i64>", Check.VALUES_UNKNOWN),
        ("!relax.prim<i64, n>", "!relax.prim<i64, n>", Check.PASS),
        ("!relax.prim<i64, n>", "!relax.prim<i64, n + 1>", Check.VALUES_UNKNOWN),
        ("!relax.prim<i64, 2>", "!relax.prim<i64, 3>", Check.IMPOSSIBLE),
        ("!relax.prim<i64>", "!relax.prim<i32>", Check.IMPOSSIBLE),
        # Shape
        ("!relax.shape<*>", "!relax.shape<[n]>", Check.PASS),
        ("!relax.shape<[?]>", "!relax.shape<*>", Check.KIND_UNKNOWN),
        ("!relax.shape<[?]>", "!relax.shape<[n, m]>", Check.IMPOSSIBLE),
        ("!relax.shape<[?]>", "!relax.shape<[n]>", Check.PASS),
        ("!relax.shape<[n]>", "!relax.shape<[?]>", Check.VALUES_UNKNOWN),
        ("!relax.shape<[n, 4]>", "!relax.shape<[n, 5]>", Check.IMPOSSIBLE),
        # Tensor
        ("tensor<4xf32>", "tensor<4xf32>", Check.PASS),
        ("tensor<?xf32>", "tensor<4xf32>", Check.PASS),
        ("tensor<*xf32>", "tensor<4xf32>", Check.PASS),
        ("tensor<4x!relax.any>", "tensor<4xf32>", Check.PASS),
        ("tensor<4xf32>", "tensor<4x!relax.any>", Check.KIND_UNKNOWN),
        ("tensor<4xf32>", "tensor<4xf16>", Check.IMPOSSIBLE),
        ("tensor<4xf32>", "tensor<*xf32>", Check.KIND_UNKNOWN),
        ("tensor<4xf32>", "tensor<4x4xf32>", Check.IMPOSSIBLE),
        ("tensor<4xf32>", "tensor<?xf32>", Check.VALUES_UNKNOWN),
        ("tensor<?x4xf32>", "tensor<?x8xf32>", Check.IMPOSSIBLE),
        ("tensor<4xf32>", "tensor<?xf32, #relax.dims<[n]>>", Check.VALUES_UNKNOWN),
        # Virtual devices
        ("tensor<4xf32>", _on(_CUDA), Check.PASS),
        (_on(_CUDA), "tensor<4xf32>", Check.KIND_UNKNOWN),
        (_on(_CUDA), _on(_ANY), Check.KIND_UNKNOWN),
        (_on(_ANY), _on(_CUDA), Check.PASS),
        (_on(_CUDA), _on(_LLVM), Check.IMPOSSIBLE),
        # Tuple
        ("!relax.tuple<>", "!relax.tuple<>", Check.PASS),
        ("!relax.tuple<>", "!relax.tuple<!relax.object>", Check.IMPOSSIBLE),
        (
            "!relax.tuple<tensor<?xf32>, tensor<4xf32>>",
            "!relax.tuple<tensor<4xf32>, tensor<?xf32>>",
            Check.VALUES_UNKNOWN,
        ),
        # Func
        (
            "!relax.func<() -> tensor<4xf32>>",
            "!relax.func<() -> tensor<4xf32>, impure>",
            Check.IMPOSSIBLE,
        ),
        (
            "!relax.func<() -> tensor<?xf32>, impure>",
            "!relax.func<() -> tensor<4xf32>>",
            Check.PASS,
        ),
        (
            "!relax.func<? -> tensor<?xf32>>",
            "!relax.func<() -> tensor<4xf32>>",
            Check.PASS,
        ),
        (
            "!relax.func<() -> tensor<4xf32>>",
            "!relax.func<? -> tensor<4xf32>>",
            Check.VALUES_UNKNOWN,
        ),
        (
            "!relax.func<(tensor<4xf32>) -> tensor<4xf32>>",
            "!relax.func<(!relax.object) -> tensor<4xf32>>",
            Check.VALUES_UNKNOWN,
        ),
        (
            "!relax.func<(tensor<4xf32>) -> tensor<4xf32>>",
            "!relax.func<() -> tensor<4xf32>>",
            Check.IMPOSSIBLE,
        ),
    ],
)
def test_base_check(base: str, derived: str, check: Check):
    assert relax.base_check(_type(base), _type(derived)) == check
    assert relax.is_base_of(_type(base), _type(derived)) == (check == Check.PASS)


@pytest.mark.parametrize(
    ("lhs", "rhs", "expected"),
    [
        ("tensor<4xf32>", "!relax.shape<[4]>", "!relax.object"),
        ("tensor<4x8xf32>", "tensor<4x9xf32>", "tensor<4x?xf32>"),
        ("tensor<4xf32>", "tensor<4x4xf32>", "tensor<*xf32>"),
        ("tensor<4xf32>", "tensor<4xf16>", "tensor<4x!relax.any>"),
        ("tensor<*xf32>", "tensor<4xf32>", "tensor<*xf32>"),
        (_on(_CUDA), "tensor<4xf32>", "tensor<4xf32>"),
        ("!relax.prim<i64, 2>", "!relax.prim<i64, 3>", "!relax.prim<i64>"),
        ("!relax.prim<i64>", "!relax.prim<i32>", "!relax.object"),
        ("!relax.shape<[n]>", "!relax.shape<[m]>", "!relax.shape<[?]>"),
        ("!relax.shape<[n]>", "!relax.shape<[n, n]>", "!relax.shape<*>"),
        (
            "!relax.tuple<tensor<4xf32>, tensor<4xf32>>",
            "!relax.tuple<tensor<4xf32>, tensor<5xf32>>",
            "!relax.tuple<tensor<4xf32>, tensor<?xf32>>",
        ),
        ("!relax.tuple<>", "!relax.tuple<!relax.object>", "!relax.object"),
        (
            "!relax.func<(tensor<4xf32>) -> tensor<4xf32>>",
            "!relax.func<() -> tensor<5xf32>, impure>",
            "!relax.func<? -> tensor<?xf32>, impure>",
        ),
    ],
)
def test_common_base(lhs: str, rhs: str, expected: str):
    assert relax.common_base(_type(lhs), _type(rhs)) == _type(expected)
    assert relax.common_base(_type(rhs), _type(lhs)) == _type(expected)
    for side in (lhs, rhs):
        assert relax.common_base(_type(side), _type(side)) == _type(side)


def test_erase_and_substitute():
    type_ = _type(
        "!relax.tuple<tensor<?x?xf32, #relax.dims<[n, m]>>, !relax.prim<i64, n + m>,"
        " !relax.shape<[n * 2]>, !relax.object>"
    )
    assert relax.erase_symbols(type_, {"n"}) == _type(
        "!relax.tuple<tensor<?x?xf32, #relax.dims<[n, ?]>>, !relax.prim<i64>,"
        " !relax.shape<[n * 2]>, !relax.object>"
    )
    values = {"n": Dim.symbol("m"), "m": Dim.constant(3)}
    assert substitute_symbols(type_, values) == _type(
        "!relax.tuple<tensor<?x3xf32, #relax.dims<[m, 3]>>, !relax.prim<i64, m + 3>,"
        " !relax.shape<[m * 2]>, !relax.object>"
    )


def _func(text: str) -> relax.FuncType:
    type_ = _type(text)
    assert isinstance(type_, relax.FuncType)
    return type_


def test_infer_call():
    func = _func(
        "!relax.func<(!relax.shape<[n, m]>, tensor<?xf32, #relax.dims<[n]>>)"
        " -> tensor<?x?x?xf32, #relax.dims<[n + m, m, k]>>>"
    )
    args = [_type("!relax.shape<[m, 4]>"), _type("tensor<?xf32, #relax.dims<[j]>>")]
    # n is solved as m of the caller; that j is equal is checked when it runs.
    assert relax.infer_call("@f", func, args) == _type(
        "tensor<?x4x?xf32, #relax.dims<[m + 4, 4, ?]>>"
    )
    with pytest.raises(VerifyException, match="@f takes 2 arguments, 1 are given"):
        relax.infer_call("@f", func, args[:1])
    with pytest.raises(VerifyException, match="argument 0 of @f must be"):
        relax.infer_call("@f", func, [_type("!relax.object"), args[1]])
    opaque = _func("!relax.func<? -> !relax.object, impure>")
    assert relax.infer_call("@f", opaque, args) == relax.OBJECT


def test_tensor_info():
    info = relax.TensorInfo.shaped(["n", 4, None], f32)
    assert info.rank == 3
    assert info.shape is None
    assert str(info) == "tensor<?x4x?xf32, #relax.dims<[n, 4, ?]>>"
    assert relax.TensorInfo.of(info.type) == info
    assert relax.TensorInfo.shaped([4], f32).shape == (Dim.constant(4),)
    nothing = relax.TensorInfo.shaped(None, None)
    assert str(nothing) == "tensor<*x!relax.any>"
    assert (nothing.rank, nothing.shape, nothing.dtype) == (None, None, None)
    assert relax.TensorInfo.of(relax.OBJECT) is None
    device = relax.VDeviceAttr.of("cuda", 1)
    placed = relax.TensorInfo.shaped([4], f32, device)
    assert relax.TensorInfo.of(placed.type) == placed
    # A redundant encoding says nothing new.
    redundant = _type("tensor<4xf32, #relax.dims<[4]>>")
    assert relax.TensorInfo.of(redundant) == relax.TensorInfo.shaped([4], f32)
