// RUN: xdsl-opt %s --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file | xdsl-opt --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file --print-op-generic | xdsl-opt --split-input-file | filecheck %s

// Functions of two and three tensors.

// CHECK-LABEL: func.func @binary
func.func @binary(%x: tensor<4x?xi32, #relax.dims<[4, n]>>, %v: tensor<?xi32, #relax.dims<[n]>>, %c: tensor<4x1xi1>, %p: !relax.prim<i32>, %u: tensor<*x!relax.any>) {
  // CHECK-NEXT: relax.power %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  %r0 = relax.power %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.maximum %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  %r1 = relax.maximum %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.minimum %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  %r2 = relax.minimum %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.floor_divide %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  %r3 = relax.floor_divide %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.mod %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  %r4 = relax.mod %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.floor_mod %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  %r5 = relax.floor_mod %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.logical_and %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  %r6 = relax.logical_and %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.logical_or %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  %r7 = relax.logical_or %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.logical_xor %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  %r8 = relax.logical_xor %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.bitwise_and %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  %r9 = relax.bitwise_and %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.bitwise_or %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  %r10 = relax.bitwise_or %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.bitwise_xor %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  %r11 = relax.bitwise_xor %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.left_shift %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  %r12 = relax.left_shift %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.right_shift %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  %r13 = relax.right_shift %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.equal %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi1, #relax.dims<[4, n]>>
  %r14 = relax.equal %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi1, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.not_equal %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi1, #relax.dims<[4, n]>>
  %r15 = relax.not_equal %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi1, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.less %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi1, #relax.dims<[4, n]>>
  %r16 = relax.less %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi1, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.less_equal %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi1, #relax.dims<[4, n]>>
  %r17 = relax.less_equal %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi1, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.greater %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi1, #relax.dims<[4, n]>>
  %r18 = relax.greater %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi1, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.greater_equal %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi1, #relax.dims<[4, n]>>
  %r19 = relax.greater_equal %x, %v : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi1, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.less %p, %p : (!relax.prim<i32>, !relax.prim<i32>) -> !relax.prim<i1>
  %r20 = relax.less %p, %p : (!relax.prim<i32>, !relax.prim<i32>) -> !relax.prim<i1>
  // CHECK-NEXT: relax.ewise_fma %x, %x, %x : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<4x?xi32, #relax.dims<[4, n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  %r21 = relax.ewise_fma %x, %x, %x : (tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<4x?xi32, #relax.dims<[4, n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.where %c, %x, %v : (tensor<4x1xi1>, tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  %r22 = relax.where %c, %x, %v : (tensor<4x1xi1>, tensor<4x?xi32, #relax.dims<[4, n]>>, tensor<?xi32, #relax.dims<[n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.maximum %u, %x : (tensor<*x!relax.any>, tensor<4x?xi32, #relax.dims<[4, n]>>) -> tensor<*x!relax.any>
  %r23 = relax.maximum %u, %x : (tensor<*x!relax.any>, tensor<4x?xi32, #relax.dims<[4, n]>>) -> tensor<*x!relax.any>
  func.return
}
