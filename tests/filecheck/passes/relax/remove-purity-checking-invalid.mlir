// RUN: xdsl-opt %s -p relax-remove-purity-checking --verify-diagnostics | filecheck %s

// CASE: RemovePurityChecking.4
// CHECK: relax-remove-purity-checking: relax.dataflow in @main holds no impure call; run relax-to-non-dataflow first
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = relax.dataflow -> (tensor<4xf32>) {
    relax.output %x : tensor<4xf32>
  }
  relax.return %r : tensor<4xf32>
}
