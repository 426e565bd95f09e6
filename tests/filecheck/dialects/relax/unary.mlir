// RUN: xdsl-opt %s --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file | xdsl-opt --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file --print-op-generic | xdsl-opt --split-input-file | filecheck %s

// Functions of one tensor.

// CHECK-LABEL: func.func @unary
func.func @unary(%x: tensor<4x?xf32, #relax.dims<[4, n]>>, %p: !relax.prim<f32>) {
  // CHECK-NEXT: relax.exp %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r0 = relax.exp %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.log %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r1 = relax.log %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.sqrt %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r2 = relax.sqrt %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.rsqrt %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r3 = relax.rsqrt %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.sigmoid %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r4 = relax.sigmoid %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.erf %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r5 = relax.erf %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.sin %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r6 = relax.sin %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.cos %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r7 = relax.cos %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.tan %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r8 = relax.tan %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.asin %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r9 = relax.asin %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.acos %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r10 = relax.acos %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.atan %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r11 = relax.atan %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.sinh %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r12 = relax.sinh %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.cosh %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r13 = relax.cosh %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.tanh %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r14 = relax.tanh %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.asinh %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r15 = relax.asinh %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.acosh %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r16 = relax.acosh %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.atanh %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r17 = relax.atanh %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.negative %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r18 = relax.negative %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.abs %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r19 = relax.abs %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.square %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r20 = relax.square %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.ceil %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r21 = relax.ceil %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.floor %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r22 = relax.floor %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.round %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r23 = relax.round %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.sign %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r24 = relax.sign %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.logical_not %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r25 = relax.logical_not %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.bitwise_not %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r26 = relax.bitwise_not %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.nn.gelu_tanh %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r27 = relax.nn.gelu_tanh %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.nn.silu %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r28 = relax.nn.silu %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.nn.selu %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r29 = relax.nn.selu %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.isfinite %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xi1, #relax.dims<[4, n]>>
  %r30 = relax.isfinite %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xi1, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.isinf %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xi1, #relax.dims<[4, n]>>
  %r31 = relax.isinf %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xi1, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.isnan %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xi1, #relax.dims<[4, n]>>
  %r32 = relax.isnan %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xi1, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.clip %x, %p, %p : (tensor<4x?xf32, #relax.dims<[4, n]>>, !relax.prim<f32>, !relax.prim<f32>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r33 = relax.clip %x, %p, %p : (tensor<4x?xf32, #relax.dims<[4, n]>>, !relax.prim<f32>, !relax.prim<f32>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.nn.leakyrelu %x alpha 2.000000e-01 {note} : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r34 = relax.nn.leakyrelu %x alpha 2.000000e-01 {note} : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.nn.softplus %x beta 1.000000e+00 threshold 2.000000e+01 : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r35 = relax.nn.softplus %x beta 1.000000e+00 threshold 2.000000e+01 : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  func.return
}
