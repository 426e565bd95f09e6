// RUN: not xdsl-opt %s -p 'relax-pad-channels{lanes=0}' 2>&1 | filecheck %s

// CHECK: relax-pad-channels: lanes must be positive, got 0
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.return %x : tensor<4xf32>
}
