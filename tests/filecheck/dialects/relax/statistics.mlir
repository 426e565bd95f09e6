// RUN: xdsl-opt %s --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file | xdsl-opt --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file --print-op-generic | xdsl-opt --split-input-file | filecheck %s

// Reductions, searches and scans.

// CHECK-LABEL: func.func @statistics
func.func @statistics(%x: tensor<4x8xf32>) {
  // CHECK-NEXT: relax.min %x axis [1] keepdims : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %r0 = relax.min %x axis [1] keepdims : (tensor<4x8xf32>) -> tensor<4x1xf32>
  // CHECK-NEXT: relax.prod %x axis [1] keepdims : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %r1 = relax.prod %x axis [1] keepdims : (tensor<4x8xf32>) -> tensor<4x1xf32>
  // CHECK-NEXT: relax.variance %x axis [1] keepdims : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %r2 = relax.variance %x axis [1] keepdims : (tensor<4x8xf32>) -> tensor<4x1xf32>
  // CHECK-NEXT: relax.std %x axis [1] keepdims : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %r3 = relax.std %x axis [1] keepdims : (tensor<4x8xf32>) -> tensor<4x1xf32>
  // CHECK-NEXT: relax.min %x : (tensor<4x8xf32>) -> tensor<f32>
  %r4 = relax.min %x : (tensor<4x8xf32>) -> tensor<f32>
  // CHECK-NEXT: relax.argmax %x axis -1 : (tensor<4x8xf32>) -> tensor<4xi64>
  %r5 = relax.argmax %x axis -1 : (tensor<4x8xf32>) -> tensor<4xi64>
  // CHECK-NEXT: relax.argmin %x keepdims : (tensor<4x8xf32>) -> tensor<1x1xi64>
  %r6 = relax.argmin %x keepdims : (tensor<4x8xf32>) -> tensor<1x1xi64>
  // CHECK-NEXT: relax.cumsum %x axis 1 dtype f64 exclusive : (tensor<4x8xf32>) -> tensor<4x8xf64>
  %r7 = relax.cumsum %x axis 1 dtype f64 exclusive : (tensor<4x8xf32>) -> tensor<4x8xf64>
  // CHECK-NEXT: relax.cumsum %x : (tensor<4x8xf32>) -> tensor<32xf32>
  %r8 = relax.cumsum %x : (tensor<4x8xf32>) -> tensor<32xf32>
  // CHECK-NEXT: relax.cumprod %x exclusive : (tensor<4x8xf32>) -> tensor<32xf32>
  %r9 = relax.cumprod %x exclusive : (tensor<4x8xf32>) -> tensor<32xf32>
  func.return
}

// -----

// Sorting, sampling and sets.

// CHECK-LABEL: func.func @sorting
func.func @sorting(%x: tensor<4x8xf32>, %u: tensor<6x1xf32>, %i: tensor<6x1xi64>, %t: !relax.prim<i64, 1>, %z: !relax.prim<i64, 0>) {
  // CHECK-NEXT: relax.sort %x axis -1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %r0 = relax.sort %x axis -1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: relax.sort %x axis 0 descending : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %r1 = relax.sort %x axis 0 descending : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: relax.argsort %x axis -1 dtype i32 : (tensor<4x8xf32>) -> tensor<4x8xi32>
  %r2 = relax.argsort %x axis -1 dtype i32 : (tensor<4x8xf32>) -> tensor<4x8xi32>
  // CHECK-NEXT: relax.argsort %x axis -1 descending dtype i64 : (tensor<4x8xf32>) -> tensor<4x8xi64>
  %r3 = relax.argsort %x axis -1 descending dtype i64 : (tensor<4x8xf32>) -> tensor<4x8xi64>
  // CHECK-NEXT: relax.argsort %x axis -1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %r4 = relax.argsort %x axis -1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: relax.topk %x k 2 axis -1 ret "both" dtype i32 : (tensor<4x8xf32>) -> !relax.tuple<tensor<4x2xf32>, tensor<4x2xi32>>
  %r5 = relax.topk %x k 2 axis -1 ret "both" dtype i32 : (tensor<4x8xf32>) -> !relax.tuple<tensor<4x2xf32>, tensor<4x2xi32>>
  // CHECK-NEXT: relax.topk %x k 2 axis 0 ret "indices" smallest dtype i64 : (tensor<4x8xf32>) -> tensor<2x8xi64>
  %r6 = relax.topk %x k 2 axis 0 ret "indices" smallest dtype i64 : (tensor<4x8xf32>) -> tensor<2x8xi64>
  // CHECK-NEXT: relax.multinomial_from_uniform %x, %u, %i dtype i64 : (tensor<4x8xf32>, tensor<6x1xf32>, tensor<6x1xi64>) -> tensor<6x1xi64>
  %r7 = relax.multinomial_from_uniform %x, %u, %i dtype i64 : (tensor<4x8xf32>, tensor<6x1xf32>, tensor<6x1xi64>) -> tensor<6x1xi64>
  // CHECK-NEXT: relax.unique %x, %t, %z, %z, %z : (tensor<4x8xf32>, !relax.prim<i64, 1>, !relax.prim<i64, 0>, !relax.prim<i64, 0>, !relax.prim<i64, 0>) -> tensor<?xf32>
  %r8 = relax.unique %x, %t, %z, %z, %z : (tensor<4x8xf32>, !relax.prim<i64, 1>, !relax.prim<i64, 0>, !relax.prim<i64, 0>, !relax.prim<i64, 0>) -> tensor<?xf32>
  // CHECK-NEXT: relax.unique %x, %t, %t, %z, %z, %z : (tensor<4x8xf32>, !relax.prim<i64, 1>, !relax.prim<i64, 1>, !relax.prim<i64, 0>, !relax.prim<i64, 0>, !relax.prim<i64, 0>) -> !relax.tuple<tensor<?x8xf32>, tensor<?xi64>>
  %r9 = relax.unique %x, %t, %t, %z, %z, %z : (tensor<4x8xf32>, !relax.prim<i64, 1>, !relax.prim<i64, 1>, !relax.prim<i64, 0>, !relax.prim<i64, 0>, !relax.prim<i64, 0>) -> !relax.tuple<tensor<?x8xf32>, tensor<?xi64>>
  // CHECK-NEXT: relax.nonzero %x : (tensor<4x8xf32>) -> tensor<?x?xi64>
  %r10 = relax.nonzero %x : (tensor<4x8xf32>) -> tensor<?x?xi64>
  func.return
}
