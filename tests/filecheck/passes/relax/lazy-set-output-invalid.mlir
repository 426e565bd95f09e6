// RUN: xdsl-opt %s -p relax-lazy-set-output --split-input-file --verify-diagnostics | filecheck %s

// CHECK: relax-lazy-set-output: @main is public and relax.call uses it, which does not know its new parameter; call a private function there
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "main"} {
  relax.return %x : tensor<4xf32>
}
relax.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = relax.call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}

// -----

// CHECK: relax-lazy-set-output: num_input of @main is "one"; give an integer from 0 to 1, the number of its parameters
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "main", num_input = "one"} {
  relax.return %x : tensor<4xf32>
}
