// RUN: xdsl-opt %s -p relax-to-non-dataflow --split-input-file | filecheck %s

// Bindings stay in order, in the place of the block; uses of results are renamed.

// CHECK-LABEL: relax.func @main
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[A:.*]] = relax.nn.relu %x
  // CHECK-NEXT: %[[B:.*]] = relax.add %[[A]], %x
  // CHECK-NEXT: %[[C:.*]] = relax.multiply %[[B]], %[[A]]
  // CHECK-NEXT: relax.return %[[C]]
  %u, %v = relax.dataflow -> (tensor<4xf32>, tensor<4xf32>) {
    %a = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    %b = relax.add %a, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    relax.output %b, %a : tensor<4xf32>, tensor<4xf32>
  }
  %c = relax.multiply %u, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relax.return %c : tensor<4xf32>
}

// -----

// Two blocks in a row; a value given twice; one from outside; a block without results.

// CHECK-LABEL: relax.func @several
relax.func @several(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[A:.*]] = relax.nn.relu %x
  // CHECK-NEXT: %[[B:.*]] = relax.add %[[A]], %[[A]]
  // CHECK-NEXT: relax.match_cast %x
  // CHECK-NEXT: %[[C:.*]] = relax.add %x, %[[B]]
  // CHECK-NEXT: relax.return %[[C]]
  %u, %v, %w = relax.dataflow -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %a = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    relax.output %a, %a, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  %s = relax.dataflow -> (tensor<4xf32>) {
    %b = relax.add %u, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    relax.output %b : tensor<4xf32>
  }
  relax.dataflow -> () {
    %m = relax.match_cast %x : tensor<4xf32> -> tensor<4xf32>
    relax.output
  }
  %c = relax.add %w, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relax.return %c : tensor<4xf32>
}

// -----

// In a branch; a symbol defined inside stays visible after it.

// CHECK-LABEL: relax.func @branch
relax.func @branch(%c: tensor<i1>, %x: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK: relax.match_cast %x defines [k]
  // CHECK-NEXT: relax.nn.relu
  // CHECK-NEXT: relax.yield
  // CHECK-NOT: relax.dataflow
  %r = relax.if %c : tensor<i1> -> tensor<?xf32> {
    %o = relax.dataflow -> (tensor<?xf32, #relax.dims<[k]>>) {
      %m = relax.match_cast %x defines [k] : tensor<?xf32> -> tensor<?xf32, #relax.dims<[k]>>
      relax.output %m : tensor<?xf32, #relax.dims<[k]>>
    }
    %p = relax.nn.relu %o : (tensor<?xf32, #relax.dims<[k]>>) -> tensor<?xf32, #relax.dims<[k]>>
    relax.yield %p : tensor<?xf32, #relax.dims<[k]>>
  } else {
    relax.yield %x : tensor<?xf32>
  }
  relax.return %r : tensor<?xf32>
}

// -----

// Nothing to do, and dataflow blocks in functions of other dialects.

// CHECK-LABEL: relax.func @plain
relax.func @plain(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[A:.*]] = relax.nn.relu %x
  // CHECK-NEXT: relax.return %[[A]]
  %a = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %a : tensor<4xf32>
}

// CHECK-LABEL: func.func @foreign
func.func @foreign(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[A:.*]] = relax.nn.relu %x
  // CHECK-NEXT: func.return %[[A]]
  %r = relax.dataflow -> (tensor<4xf32>) {
    %a = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    relax.output %a : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
