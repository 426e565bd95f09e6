"""What the `check` of CombineParallelMatmul is asked."""

from collections.abc import Mapping, Sequence

from support.ir import parse
from xdsl.ir import Operation, SSAValue

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.relax.combine_parallel_matmul import CombineParallelMatmul

TEXT = """
!x = tensor<4x8xf32>
!w = tensor<8x2xf32>
!y = tensor<4x2xf32>
relax.func @main(%x: !x, %v: !w, %b: tensor<2xf32>) -> !relax.tuple<!y, !y> {
  %w = relax.constant dense<1.0> : !w
  %r, %s = relax.dataflow -> (!y, !y) {
    %m = relax.matmul %x, %v : (!x, !w) -> !y
    %ms = relax.add %m, %b : (!y, tensor<2xf32>) -> !y
    %n = relax.matmul %x, %w : (!x, !w) -> !y
    %ns = relax.add %n, %b : (!y, tensor<2xf32>) -> !y
    relax.output %ms, %ns : !y, !y
  }
  %t = relax.tuple(%r, %s) : !y, !y
  relax.return %t : !relax.tuple<!y, !y>
}
"""


def products(module: Operation) -> int:
    return sum(isinstance(op, relax.MatmulOp) for op in module.walk())


def test_the_check_may_refuse_a_group() -> None:
    asked = list[tuple[int, int, int, int]]()

    def check(
        lhs: SSAValue,
        rights: Sequence[SSAValue],
        biases: Sequence[SSAValue],
        bindings: Mapping[SSAValue, Operation],
    ) -> bool:
        assert lhs.name_hint == "x"
        constants = sum(isinstance(op, relax.ConstantOp) for op in bindings.values())
        asked.append((len(rights), len(biases), len(bindings), constants))
        return False

    assert products(CombineParallelMatmul(check=check)(parse(TEXT))) == 2
    # With the sums, which are there for both, then without.
    assert asked == [(2, 2, 1, 1), (2, 2, 1, 1), (2, 0, 1, 1)]


def test_the_check_may_agree() -> None:
    module = CombineParallelMatmul(lambda lhs, rights, biases, bindings: True)(
        parse(TEXT)
    )
    assert products(module) == 1
