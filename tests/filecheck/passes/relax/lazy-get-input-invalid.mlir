// RUN: xdsl-opt %s -p relax-lazy-get-input --split-input-file --verify-diagnostics | filecheck %s

// CHECK: relax-lazy-get-input: @main is public and relax.call uses it, which does not know its new parameter; call a private function there
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "main"} {
  relax.return %x : tensor<4xf32>
}
relax.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = relax.call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}

// -----

// CHECK: relax-lazy-get-input: num_input of @main is "one"; give an integer from 0 to 1, the number of its parameters
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "main", num_input = "one"} {
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: relax-lazy-get-input: parameter 0 of @symbol, tensor<?xf32, #relax.dims<[n + 1]>>, uses the symbol 'n', which only weights define; let a parameter before them define it
relax.func @symbol<n>(%x: tensor<?xf32, #relax.dims<[n + 1]>>, %w: tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32> attributes {global_symbol = "symbol", num_input = 1} {
  relax.return %x : tensor<?xf32, #relax.dims<[n + 1]>>
}
