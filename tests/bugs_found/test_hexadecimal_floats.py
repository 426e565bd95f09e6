"""Infinities of constants are printed as bits, which were read as numbers."""

import numpy as np
import pytest

import xdsl_tvm
from xdsl_tvm.runtime.load import load_module

TEXT = """
relax.func @main() -> tensor<{}> attributes {{global_symbol = "main"}} {{
  %0 = relax.constant dense<{}> : tensor<{}>
  relax.return %0 : tensor<{}>
}}
"""


@pytest.mark.parametrize(
    ("type_", "text", "expected"),
    [
        ("2xf32", "[0xFF800000, 1.5]", [-np.inf, 1.5]),
        ("2xf32", "0x7F800000", [np.inf, np.inf]),
        ("1x2xf64", "[[0x7FF0000000000000, -2.0]]", [[np.inf, -2]]),
        ("2xf16", "[0xFC00, 0x7E00]", [-np.inf, np.nan]),
        ("2xi32", "[0x10, 3]", [16, 3]),
    ],
)
def test_bits_are_read_back(type_: str, text: str, expected: list[float]) -> None:
    module = load_module(TEXT.format(type_, text, type_, type_))
    again = load_module(str(module))
    for each in (module, again):
        np.testing.assert_array_equal(xdsl_tvm.interpret(each)["main"](), expected)
