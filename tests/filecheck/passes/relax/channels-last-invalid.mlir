// RUN: not xdsl-opt %s -p 'relax-channels-last{target="cuda -arch"}' 2>&1 | filecheck %s

relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "main"} {
  relax.return %x : tensor<4xf32>
}
// CHECK: relax-channels-last: 
