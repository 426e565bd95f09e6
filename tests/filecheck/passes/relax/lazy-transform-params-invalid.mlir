// RUN: xdsl-opt %s -p relax-lazy-transform-params --split-input-file --verify-diagnostics | filecheck %s

// CHECK: relax-lazy-transform-params: num_input of @transform_params is -1 : i64; give an integer from 0 to 1, the number of its parameters
relax.func @transform_params(%x: tensor<4xf32>) -> tensor<4xf32> attributes {num_input = -1 : i64} {
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: relax-lazy-transform-params: relax.call uses @transform_params, which would take no weights; call it from outside only
relax.func @transform_params(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.return %x : tensor<4xf32>
}
relax.func @user(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = relax.call @transform_params(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}
