// RUN: xdsl-opt %s -p relax-bundle-model-params --split-input-file --verify-diagnostics | filecheck %s

// CHECK: relax-bundle-model-params: num_input of @main is 2 : i64; give an integer from 0 to 1, the number of its parameters
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {num_input = 2 : i64} {
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: relax-bundle-model-params: relax.global_ref uses @main without calling it, and its parameters would change; use another function there
!f = !relax.func<(tensor<4xf32>) -> tensor<4xf32>>
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {num_input = 0 : i64} {
  relax.return %x : tensor<4xf32>
}
relax.func @user() -> !f {
  %f = relax.global_ref @main : !f
  relax.return %f : !f
}
