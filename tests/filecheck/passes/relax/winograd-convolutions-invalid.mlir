// RUN: xdsl-opt %s -p 'relax-winograd-convolutions{tile=3}' --verify-diagnostics | filecheck %s

relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "main"} {
  relax.return %x : tensor<4xf32>
}
// CHECK: relax-winograd-convolutions: tile must be 2 or 4, got 3
