// RUN: xdsl-opt %s -p 'relax-update-param-struct-info{types="main 0 = tensor<4x9xf32>"}' --split-input-file --verify-diagnostics | filecheck %s
// RUN: xdsl-opt %s -p 'relax-update-param-struct-info{types="main 5 = tensor<4x9xf32>"}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix TEXT

// CHECK: relax-update-param-struct-info: relax.matmul: the summed dimensions must be equal, not 9 and 8; give parameters types that fit together
// TEXT: relax-update-param-struct-info: 'main 5 = tensor<4x9xf32>' is no type of a parameter of a function; write it as "main 0 = tensor<4xf32>"
relax.func @main(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>) -> tensor<4x2xf32> {
  %m = relax.matmul %x, %w : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  relax.return %m : tensor<4x2xf32>
}
