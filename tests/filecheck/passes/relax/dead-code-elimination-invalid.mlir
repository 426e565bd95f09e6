// RUN: xdsl-opt %s -p 'relax-dead-code-elimination{entry_functions="main","missing"}' --verify-diagnostics | filecheck %s

// CHECK: relax-dead-code-elimination: the module has no function @missing to keep; name one of its functions in entry_functions
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.return %x : tensor<4xf32>
}
