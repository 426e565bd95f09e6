// RUN: xdsl-opt %s -p relax-adjust-matmul-order --split-input-file --verify-diagnostics | filecheck %s

!m = tensor<4x4xf32>

// CHECK: relax-adjust-matmul-order: num_input of @main is 3 : i64; give an integer from 0 to 1, the number of its parameters
relax.func @main(%x: !m) -> !m attributes {num_input = 3 : i64} {
  %p = relax.matmul %x, %x : (!m, !m) -> !m
  relax.return %p : !m
}

// -----

!m = tensor<?x4xf32, #relax.dims<[n, 4]>>

// CHECK: relax-adjust-matmul-order: relax.func @main: tir_var_upper_bound of 'n' is 0 : i64; write an integer larger than 0
relax.func @main<n>(%x: !m, %w: tensor<4x4xf32>) -> !m attributes {tir_var_upper_bound = {n = 0 : i64}} {
  %p = relax.matmul %x, %w : (!m, tensor<4x4xf32>) -> !m
  relax.return %p : !m
}
