// RUN: xdsl-opt %s -p relax-vm-shape-lower --split-input-file --verify-diagnostics | filecheck %s

!t = tensor<4xf32>

// CHECK: relax-vm-shape-lower: relax.dataflow in @block cannot be lowered; run relax-to-non-dataflow first
relax.func @block(%x: !t) -> !t {
  %r = relax.dataflow -> (!t) {
    relax.output %x : !t
  }
  relax.return %r : !t
}

// -----

!t = tensor<4xf32>

// CHECK: relax-vm-shape-lower: relax.lambda in @literal cannot be lowered; run relax-lambda-lift first
relax.func @literal(%x: !t) -> !relax.func<(!t) -> !t> {
  %f = relax.lambda "inner"(%y: !t) -> !t {
    relax.return %y : !t
  }
  relax.return %f : !relax.func<(!t) -> !t>
}

// -----

// CHECK: relax-vm-shape-lower: num_input of @main is 2 : i64; give an integer from 0 to 1, the number of its parameters
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {num_input = 2 : i64} {
  relax.return %x : tensor<4xf32>
}
