// RUN: xdsl-opt %s -p relax-lower-alloc-tensor --split-input-file --allow-unregistered-dialect | filecheck %s

// Constant and symbolic shapes, small elements, no dimensions, devices and scopes.

// CHECK-LABEL: relax.func @main<n, m>
relax.func @main<n, m>(%x: tensor<?x?xf32, #relax.dims<[n, m]>>) -> tensor<?x?xf32> {
  // CHECK-NEXT: %[[S:.*]] = relax.memory.alloc_storage 24 on 0 scope "global" dtype ui8
  // CHECK-NEXT: %[[A:.*]] = relax.memory.alloc_tensor %[[S]] at 0 : !relax.object -> tensor<2x3xf32>
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  // CHECK-NEXT: %[[S1:.*]] = relax.memory.alloc_storage m * n * 2 + n * 2 on 1 scope "shared" dtype ui8
  // CHECK-NEXT: %[[B:.*]] = relax.memory.alloc_tensor %[[S1]] at 0 {note = "kept"} : !relax.object -> tensor<?x?xf16, #relax.dims<[n, m + 1]>>
  %b = relax.builtin.alloc_tensor on 1 scope "shared" {note = "kept"} : tensor<?x?xf16, #relax.dims<[n, m + 1]>>
  // CHECK-NEXT: %[[S2:.*]] = relax.memory.alloc_storage 5 on -1 scope "global" dtype ui8
  // CHECK-NEXT: relax.memory.alloc_tensor %[[S2]] at 0 : !relax.object -> tensor<5xi1>
  %c = relax.builtin.alloc_tensor on -1 scope "global" : tensor<5xi1>
  // CHECK-NEXT: %[[S3:.*]] = relax.memory.alloc_storage 8 on 0 scope "global" dtype ui8
  // CHECK-NEXT: relax.memory.alloc_tensor %[[S3]] at 0 : !relax.object -> tensor<i64>
  %d = relax.builtin.alloc_tensor on 0 scope "global" : tensor<i64>
  // CHECK-NEXT: relax.add %[[A]], %[[A]]
  %e = relax.add %a, %a : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: relax.return %x
  relax.return %x : tensor<?x?xf32, #relax.dims<[n, m]>>
}

// -----

// In branches, in dataflow blocks, and in functions of other dialects.

// CHECK-LABEL: relax.func @regions
relax.func @regions(%c: tensor<i1>) -> tensor<4xf32> {
  // CHECK: relax.dataflow
  // CHECK-NEXT: %[[S:.*]] = relax.memory.alloc_storage 16
  // CHECK-NEXT: relax.memory.alloc_tensor %[[S]]
  // CHECK-NEXT: relax.output
  %a = relax.dataflow -> (tensor<4xf32>) {
    %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xf32>
    relax.output %b : tensor<4xf32>
  }
  // CHECK: relax.if
  // CHECK-NEXT: %[[T:.*]] = relax.memory.alloc_storage 16
  // CHECK-NEXT: relax.memory.alloc_tensor %[[T]]
  // CHECK-NEXT: relax.yield
  %r = relax.if %c : tensor<i1> -> tensor<4xf32> {
    %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xf32>
    relax.yield %b : tensor<4xf32>
  } else {
    relax.yield %a : tensor<4xf32>
  }
  relax.return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @foreign
func.func @foreign() -> tensor<4xf32> {
  // CHECK-NEXT: relax.memory.alloc_storage 16
  // CHECK-NEXT: relax.memory.alloc_tensor
  // CHECK-NEXT: func.return
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xf32>
  func.return %a : tensor<4xf32>
}

// -----

// After the plan: what it left alone has a storage of its own.

// CHECK-LABEL: relax.func @planned
relax.func @planned() -> tensor<4xf32> {
  // CHECK-NEXT: %[[S:.*]] = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32
  // CHECK-NEXT: relax.memory.alloc_tensor %[[S]] at 0
  %s = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32 : !relax.object
  %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> tensor<4xf32>
  // CHECK-NEXT: %[[T:.*]] = relax.memory.alloc_storage 16 on 0 scope "global" dtype ui8
  // CHECK-NEXT: %[[B:.*]] = relax.memory.alloc_tensor %[[T]] at 0
  // CHECK-NEXT: relax.return %[[B]]
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xf32>
  relax.return %b : tensor<4xf32>
}
