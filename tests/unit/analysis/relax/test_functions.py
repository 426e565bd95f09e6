"""The Relax functions of a module."""

from support.ir import parse

from xdsl_tvm.analysis.relax.functions import relax_functions
from xdsl_tvm.dialects import relax

MODULE = """
relax.func @a(%x: tensor<4xf32>) -> tensor<4xf32> {
  %f = relax.lambda(%y: tensor<4xf32>) -> tensor<4xf32> {
    relax.return %y : tensor<4xf32>
  }
  relax.return %x : tensor<4xf32>
}
tir.func @t(%n: i32) {
  tir.evaluate %n : i32
}
func.func @g() {
  func.return
}
builtin.module @inner {
  relax.func @b(%x: tensor<4xf32>) -> tensor<4xf32> {
    relax.return %x : tensor<4xf32>
  }
  tir.func @t() {
  }
}
relax.func @c(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.return %x : tensor<4xf32>
}
"""


def test_they_come_in_the_order_of_the_text() -> None:
    module = parse(MODULE)
    found = relax_functions(module)
    assert [func.sym_name.data for func in found] == ["a", "b", "c"]
    assert found == [op for op in module.walk() if isinstance(op, relax.FuncOp)]
    assert relax_functions(found[0]) == [found[0]]
