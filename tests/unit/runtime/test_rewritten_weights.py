"""Parameters that passes rearrange."""

from __future__ import annotations

import pytest

from xdsl_tvm.runtime.load import load_module
from xdsl_tvm.runtime.rewritten_weights import rewritten_weights

_MAIN = """
!x = tensor<{rows}x32xf32>
!w = tensor<32x32xf32>
relax.func @main(%x: !x, %w: !w, %b: tensor<32xf32>) -> !x
    attributes {{global_symbol = "main"}} {{
  %y = relax.matmul %x, %w : (!x, !w) -> !x
  %z = relax.add %y, {other} : (!x, {type}) -> !x
  relax.return %z : !x
}}
"""
_BIAS = {"other": "%b", "type": "tensor<32xf32>"}


def test_weights_of_products_are_found_by_position_and_name() -> None:
    module = load_module(_MAIN.format(rows=8, **_BIAS))
    assert rewritten_weights(module) == {1, "w"}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(_MAIN.format(rows=2, **_BIAS), id="few rows"),
        pytest.param(
            _MAIN.format(rows=32, other="%w", type="!w"), id="read elsewhere, too"
        ),
        pytest.param(
            _MAIN.format(rows=8, **_BIAS) + "relax.func @f(%x: !x) -> !x attributes "
            '{global_symbol = "f"} { relax.return %x : !x }',
            id="several functions",
        ),
        pytest.param("builtin.module {}", id="no function"),
    ],
)
def test_others_stay_where_they_are(text: str) -> None:
    module = load_module(text)
    assert rewritten_weights(module) <= {2, "b"}


def test_kernels_of_convolutions_are_weights() -> None:
    module = load_module("""
    !x = tensor<1x3x8x8xf32>
    !w = tensor<3x3x1x1xf32>
    relax.func @main(%x: !x, %w: !w) -> !x attributes {global_symbol = "main"} {
      %y = relax.nn.conv2d %x, %w strides [1] padding [0] dilation [1] groups 1
        layout "NCHW" kernel "OIHW" : (!x, !w) -> !x
      relax.return %y : !x
    }
    """)
    assert rewritten_weights(module) == {1, "w"}
