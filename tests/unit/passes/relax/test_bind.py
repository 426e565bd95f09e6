"""BindParams and BindSymbolicVars: keys, values, and what bound functions compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.ir import parse
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.relax import interpret
from xdsl_tvm.passes.relax import BindParams, BindSymbolicVars

TEXT = """
!n = tensor<?xf32, #relax.dims<[n]>>
relax.func @main<n>(%x: !n, %w: !n, %b: tensor<f32>) -> !n
    attributes {global_symbol = "main"} {
  %y = relax.multiply %x, %w : (!n, !n) -> !n
  %z = relax.add %y, %b : (!n, tensor<f32>) -> !n
  relax.return %z : !n
}
"""
X = np.arange(4, dtype=np.float32)
W = np.array([3, 1, 4, 1], np.float32)
B = np.float32(0.5)


def main(module: Any) -> relax.FuncOp:
    (func,) = (op for op in module.ops if isinstance(op, relax.FuncOp))
    return func


def test_bound_functions_compute_the_same() -> None:
    """CASE: BindParams.1, BindParams.2, BindParams.4"""
    module = parse(TEXT)
    expected = interpret(module)["main"](X, W, B)
    func = main(module)
    for keys in (("w", "b"), (1, 2), func.args[1:], ("w", 2)):
        bound = BindParams("main", {keys[0]: W, keys[1]: B})(module)
        bound.verify()
        np.testing.assert_array_equal(interpret(bound)["main"](X), expected)
        assert len(main(bound).args) == 1
    some = BindParams("main", {"b": B})(module)
    np.testing.assert_array_equal(interpret(some)["main"](X, W), expected)
    assert main(some).symbol_names == ("n",)


def test_sizes_bound_or_not_compute_the_same() -> None:
    """CASE: BindSymbolicVars.5"""
    module = parse(TEXT)
    expected = interpret(module)["main"](X, W, B)
    bound = BindSymbolicVars({"n": 4}, "main")(module)
    bound.verify()
    np.testing.assert_array_equal(interpret(bound)["main"](X, W, B), expected)
    assert "relax.dims" not in str(bound)
    assert str(BindSymbolicVars({"n": relax.Dim.of(4)})(module)) == str(bound)


def test_a_function_that_is_not_there_changes_nothing() -> None:
    module = parse(TEXT)
    assert str(BindParams("other", {"w": W})(module)) == str(module)


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"v": W}, "there is no parameter v of @main"),
        ({"w": W, 1: W}, "parameter 1 is bound twice"),
        ({"w": object()}, "parameter w cannot be a object; give an array"),
        ({"w": np.zeros((4, 4), np.float32)}, "tensor<4x4xf32> is not"),
        ({"w": W, 0: np.zeros(3, np.float32)}, "is tensor<4xf32>, which tensor<3xf32>"),
        ({"w": W.astype(np.float64)}, "tensor<4xf64> is not"),
        ({"w": np.zeros(4, np.complex64)}, "parameter w: relax.constant"),
    ],
)
def test_bad_parameters(params: dict[Any, Any], reason: str) -> None:
    """CASE: BindParams.5, BindParams.6"""
    with pytest.raises(PassFailedException, match=reason):
        BindParams("main", params)(parse(TEXT))


def test_two_parameters_of_one_name() -> None:
    module = parse(TEXT)
    main(module).args[0].name_hint = "w"
    with pytest.raises(PassFailedException, match="there is more than one parameter w"):
        BindParams("main", {"w": W})(module)


def test_bad_texts() -> None:
    with pytest.raises(PassFailedException, match="'n' binds no symbol; write it as"):
        BindSymbolicVars(bindings=("n",))
    with pytest.raises(PassFailedException, match="'n' is given twice"):
        BindSymbolicVars({"n": 4}, bindings=("n = 5",))
    with pytest.raises(PassFailedException, match="no function has the symbol 'k'"):
        BindSymbolicVars({"k": 4})(parse(TEXT))
    with pytest.raises(PassFailedException, match="'w' binds no parameter; write it as"):
        BindParams("main", constants=("w",))


def test_dimensions_are_not_negative() -> None:
    module = parse(
        "relax.func @main<n, k>(%x: tensor<?xf32, #relax.dims<[n]>>, "
        "%k: !relax.prim<i64, k>) -> !relax.prim<i64, k> {\n"
        "  relax.return %k : !relax.prim<i64, k>\n}"
    )
    with pytest.raises(PassFailedException, match="'n' is a dimension in @main and can"):
        BindSymbolicVars({"n": -1})(module)
    assert "!relax.prim<i64, -1>" in str(BindSymbolicVars({"k": -1})(module))
