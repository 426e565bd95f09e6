// RUN: xdsl-opt %s -p relax-normalize --split-input-file | filecheck %s

// CASE: Normalize.6
// Blocks side by side become one; a constant between them is moved in front, and an empty
// block between them is no obstacle. Outputs are what is used after.

// CHECK-LABEL: relax.func @merged
// CHECK-NEXT: %[[C:.*]] = relax.constant
// CHECK-NEXT: %[[R:.*]], %[[S:.*]] = relax.dataflow -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:   %[[A:.*]] = relax.nn.relu %x
// CHECK-NEXT:   %[[B:.*]] = relax.add %[[A]], %[[C]]
// CHECK-NEXT:   relax.output %[[A]], %[[B]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[T:.*]] = relax.add %[[R]], %[[S]]
// CHECK-NEXT: %[[U:.*]] = relax.add %[[T]], %x
// CHECK-NEXT: relax.return %[[U]]
relax.func @merged(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = relax.dataflow -> (tensor<4xf32>) {
    %a1 = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    relax.output %a1 : tensor<4xf32>
  }
  %c = relax.constant dense<1.0> : tensor<4xf32>
  %e = relax.dataflow -> (tensor<4xf32>) {
    relax.output %x : tensor<4xf32>
  }
  %b = relax.dataflow -> (tensor<4xf32>) {
    %b1 = relax.add %a, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    relax.output %b1 : tensor<4xf32>
  }
  %t = relax.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %u = relax.add %t, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relax.return %u : tensor<4xf32>
}

// -----

// CASE: Normalize.2
// A block in a block becomes a part of it, also in a branch and in a function literal.

// CHECK-LABEL: relax.func @nested
// CHECK-NEXT: %[[F:.*]] = relax.lambda
// CHECK-NEXT:   %[[R:.*]] = relax.dataflow -> (tensor<4xf32>) {
// CHECK-NEXT:     %[[A:.*]] = relax.nn.relu
// CHECK-NEXT:     %[[B:.*]] = relax.exp %[[A]]
// CHECK-NEXT:     relax.output %[[B]]
// CHECK-NEXT:   }
// CHECK-NEXT:   relax.return %[[R]]
// CHECK-NEXT: }
// CHECK-NEXT: relax.if
// CHECK-NEXT:   relax.yield %x
// CHECK-NEXT: } else {
// CHECK-NEXT:   relax.yield %x
relax.func @nested(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %f = relax.lambda(%y: tensor<4xf32>) -> tensor<4xf32> {
    %r = relax.dataflow -> (tensor<4xf32>) {
      %a = relax.nn.relu %y : (tensor<4xf32>) -> tensor<4xf32>
      %b = relax.dataflow -> (tensor<4xf32>) {
        %b1 = relax.exp %a : (tensor<4xf32>) -> tensor<4xf32>
        relax.output %b1 : tensor<4xf32>
      }
      relax.output %b : tensor<4xf32>
    }
    relax.return %r : tensor<4xf32>
  }
  %i = relax.if %c : tensor<i1> -> tensor<4xf32> {
    %e = relax.dataflow -> (tensor<4xf32>) {
      relax.output %x : tensor<4xf32>
    }
    relax.yield %e : tensor<4xf32>
  } else {
    relax.yield %x : tensor<4xf32>
  }
  relax.return %i : tensor<4xf32>
}

// -----

// CASE: Normalize.8
// A binding between two blocks keeps them apart.

// CHECK-LABEL: relax.func @normal
// CHECK: relax.dataflow
// CHECK: relax.negative
// CHECK: relax.dataflow
relax.func @normal(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = relax.dataflow -> (tensor<4xf32>) {
    %a1 = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    relax.output %a1 : tensor<4xf32>
  }
  %n = relax.negative %a : (tensor<4xf32>) -> tensor<4xf32>
  %b = relax.dataflow -> (tensor<4xf32>) {
    %b1 = relax.exp %n : (tensor<4xf32>) -> tensor<4xf32>
    relax.output %b1 : tensor<4xf32>
  }
  relax.return %b : tensor<4xf32>
}
