// RUN: xdsl-opt %s -p relax-legalize-ops --split-input-file | filecheck %s

// Sums of 16-bit floats are held in f32.

// CHECK-LABEL: relax.func @halves
relax.func @halves(%a: tensor<4x8xf16>) -> tensor<4x8xf16> {
  %x = relax.nn.softmax %a axis -1 : (tensor<4x8xf16>) -> tensor<4x8xf16>
  %y = relax.nn.log_softmax %x axis -1 : (tensor<4x8xf16>) -> tensor<4x8xf16>
  relax.return %y : tensor<4x8xf16>
}
// CHECK-LABEL: tir.func @softmax(
// CHECK: tir.alloc_buffer "softmax_max" {{.*}} : !tir.buffer<4x1xf16>
// CHECK: tir.alloc_buffer "softmax_exp" {{.*}} : !tir.buffer<4x8xf32>
// CHECK: tir.alloc_buffer "softmax_sum" {{.*}} : !tir.buffer<4x1xf32>
// CHECK-LABEL: tir.func @log_softmax(
// CHECK: tir.block "softmax_max"
// CHECK: tir.block "softmax_sum"
// CHECK: tir.call "exp"
// CHECK: tir.block "log_softmax"
// CHECK: tir.call "log"

// -----

// Three stages; the second sums squares of distances from the mean.

// CHECK-LABEL: relax.func @layers
relax.func @layers(%a: tensor<4x8xf32>, %g: tensor<8xf32>) -> tensor<4x8xf32> {
  %x = relax.nn.layer_norm %a, %g, %g axes [-1] epsilon 1.0e-05 no_center : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %y = relax.nn.rms_norm %x, %g axes [-1] epsilon 1.0e-05 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  relax.return %y : tensor<4x8xf32>
}
// CHECK-LABEL: tir.func @layer_norm(
// CHECK: tir.block "sum"
// CHECK: tir.block "squares"
// CHECK: tir.sub
// CHECK: tir.mul
// CHECK: tir.block "layer_norm"
// CHECK: tir.reads %A[%[[I:.*]], %[[K:.*]]], %sum[%[[I]]], %squares[%[[I]]], %B[%[[K]]]
// CHECK-LABEL: tir.func @rms_norm(
// CHECK: tir.block "squares"
// CHECK: tir.block "rms_norm"
// CHECK: tir.call "rsqrt"

// -----

// In training the statistics are those of the data; for inference they are given.

// CHECK-LABEL: relax.func @batches
relax.func @batches(%a: tensor<2x3x4xf32>, %v: tensor<3xf32>) -> tensor<2x3x4xf32> {
  // CHECK: relax.call_tir @batch_norm(%a, %v, %v, %v, %v) : {{.*}} -> !relax.tuple<tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>>
  %x = relax.nn.batch_norm %a, %v, %v, %v, %v axis 1 epsilon 1.0e-05 momentum 1.0e-01 inference : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> !relax.tuple<tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>>
  %y = relax.nn.batch_norm %a, %v, %v, %v, %v axis 1 epsilon 1.0e-05 momentum 1.0e-01 : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> !relax.tuple<tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>>
  %r = relax.get_item %y[0] : !relax.tuple<tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>> -> tensor<2x3x4xf32>
  relax.return %r : tensor<2x3x4xf32>
}
// CHECK-LABEL: tir.func @batch_norm(
// CHECK-NOT: "squares"
// CHECK: tir.block "batch_norm"
// CHECK: tir.reads %A[%{{.*}}, %[[C:.*]], %{{.*}}], %D[%[[C]]], %E[%[[C]]], %B[%[[C]]], %C[%[[C]]]
// CHECK-LABEL: tir.func @batch_norm1(
// CHECK: tir.block "sum"
// CHECK: tir.block "squares"
// CHECK: tir.block "batch_norm"
// CHECK: tir.reads %A[%{{.*}}, %[[C:.*]], %{{.*}}], %sum[%[[C]]], %squares[%[[C]]], %B[%[[C]]], %C[%[[C]]]
// CHECK: tir.block "moving"
// CHECK: tir.block "moving"

// -----

// CHECK-LABEL: relax.func @groups
relax.func @groups(%a: tensor<2x6x4xf32>, %v: tensor<6xf32>) -> tensor<2x6x4xf32> {
  %x = relax.nn.group_norm %a, %v, %v groups 2 channel_axis 1 axes [2] epsilon 1.0e-05 : (tensor<2x6x4xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x4xf32>
  relax.return %x : tensor<2x6x4xf32>
}
// CHECK-LABEL: tir.func @group_norm(
// CHECK: tir.alloc_buffer "sum" {{.*}} : !tir.buffer<2x2xf32>
// CHECK: tir.block "group_norm" (%[[N:.*]] : S {{.*}}, %[[C:.*]] : S {{.*}}, %{{.*}} : S
// CHECK: %[[G:.*]] = tir.floordiv %[[C]], %c3 : i64
// CHECK: tir.reads {{.*}}, %sum[%[[N]], %[[G]]]
