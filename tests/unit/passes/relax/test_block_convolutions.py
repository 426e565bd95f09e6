"""Weights of convolutions that are computed are no constants."""

from __future__ import annotations

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.relax.block_convolutions import BlockConvolutions
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.load import load_module

WEIGHT = "tensor<4x3x3x3xf32>"
MODULE = """
relax.func @main(%x: tensor<1x3x6x6xf32>) -> tensor<1x4x6x6xf32> {{
  %r = relax.dataflow -> (tensor<1x4x6x6xf32>) {{
    %w0 = relax.constant dense<0.5> : {weight}
    {products}
    %a = relax.nn.conv2d %x, %w{last} strides [1, 1] padding [1, 1, 1, 1] dilation [1, 1]
      groups 1 layout "NCHW" kernel "OIHW"
      : (tensor<1x3x6x6xf32>, {weight}) -> tensor<1x4x6x6xf32>
    relax.output %a : tensor<1x4x6x6xf32>
  }}
  relax.return %r : tensor<1x4x6x6xf32>
}}
"""


def layout(products: int) -> str:
    """The layout of a weight that is squared so often."""
    lines = [
        f"%w{n + 1} = relax.multiply %w{n}, %w{n} : ({WEIGHT}, {WEIGHT}) -> {WEIGHT}"
        for n in range(products)
    ]
    text = MODULE.format(weight=WEIGHT, products="\n    ".join(lines), last=products)
    module = load_module(text)
    BlockConvolutions(lanes=4).apply(new_context(), module)
    (found,) = (op for op in module.walk() if isinstance(op, relax.Conv2DOp))
    return found.kernel_layout.data


def test_weights_that_are_computed() -> None:
    """Operands of operands are as many as powers of two: they are not walked."""
    assert layout(0) == "OIHW4o"
    assert layout(64) == "OIHW"
