// RUN: xdsl-opt %s -p relax-legalize-ops --split-input-file | filecheck %s

// CHECK-LABEL: relax.func @pads
relax.func @pads(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = relax.nn.pad %a width [1, 0, 0, 0] mode "constant" value 2.0 : (tensor<4x8xf32>) -> tensor<5x8xf32>
  %1 = relax.nn.pad %a width [0, 0, 2, 1] mode "circular" value 0.0 : (tensor<4x8xf32>) -> tensor<4x11xf32>
  // CHECK: relax.nn.pad %a width [0, 0, 2, 1] mode "random"
  %2 = relax.nn.pad %a width [0, 0, 2, 1] mode "random" value 0.0 : (tensor<4x8xf32>) -> tensor<4x11xf32>
  relax.return %a : tensor<4x8xf32>
}
// CHECK-LABEL: tir.func @pad(
// CHECK: tir.if_then_else
// CHECK: tir.const 2.000000e+00 : f32
// CHECK-LABEL: tir.func @pad1(
// CHECK: tir.block "pad" (%[[I:.*]] : S {{.*}}, %[[J:.*]] : S
// CHECK: %[[P:.*]] = tir.sub %[[J]], %c2 : i64
// CHECK: %[[Q:.*]] = tir.floormod %[[P]], %c8 : i64
// CHECK: tir.reads %A[%[[I]], %[[Q]]]

// -----

// CHECK-LABEL: relax.func @drops
relax.func @drops(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relax.nn.dropout %a rate 5.0e-01 : (tensor<4xf32>) -> !relax.tuple<tensor<4xf32>, tensor<4xf32>>
  %1 = relax.get_item %0[0] : !relax.tuple<tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>
  relax.return %1 : tensor<4xf32>
}
// CHECK-LABEL: tir.func @dropout(
// CHECK: tir.block "mask"
// CHECK: tir.const 1.000000e+00 : f32

// -----

// A prediction is read only for a target that counts.

// CHECK-LABEL: relax.func @losses
relax.func @losses(%a: tensor<2x4xf32>, %w: tensor<4xf32>) -> tensor<f32> {
  %t = relax.constant dense<[3, -100]> : tensor<2xi64>
  %0 = relax.nn.nll_loss %a, %t, %w reduction "mean" ignore_index -100 : (tensor<2x4xf32>, tensor<2xi64>, tensor<4xf32>) -> tensor<f32>
  %1 = relax.nn.cross_entropy_with_logits %a, %a : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<f32>
  relax.return %0 : tensor<f32>
}
// CHECK-LABEL: tir.func @nll_loss(
// CHECK: %[[T:.*]] = tir.load %B[%[[N:.*]]]
// CHECK: tir.if_then_else
// CHECK-NEXT: tir.load %A[%[[N]], %[[T]]]
// CHECK: tir.block "T_loss"
// CHECK: tir.div
// CHECK-LABEL: tir.func @cross_entropy_with_logits(
// CHECK: tir.block "product_sum"
// CHECK: tir.block "cross_entropy"
