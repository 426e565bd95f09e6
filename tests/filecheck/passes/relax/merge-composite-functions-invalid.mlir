// RUN: xdsl-opt %s -p relax-merge-composite-functions --verify-diagnostics | filecheck %s

relax.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.return %x : tensor<4xf32>
}

// CHECK: relax-merge-composite-functions: the module has no Relax function @main, whose calls are merged; name the function so
