// RUN: xdsl-opt %s -p relax-expand-matmul-of-sum --split-input-file --verify-diagnostics | filecheck %s

!m = tensor<4x4xf32>

// CHECK: relax-expand-matmul-of-sum: num_input of @main is 3 : i64; give an integer from 0 to 1, the number of its parameters
relax.func @main(%x: !m) -> !m attributes {num_input = 3 : i64} {
  %p = relax.matmul %x, %x : (!m, !m) -> !m
  relax.return %p : !m
}
