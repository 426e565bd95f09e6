// RUN: xdsl-opt %s -p relax-legalize-ops --split-input-file | filecheck %s

// The padding of a greatest element is less than all numbers.

// CHECK-LABEL: relax.func @greatest
relax.func @greatest(%a: tensor<1x2x5x5xf32>, %b: tensor<1x2x4xi8>) -> tensor<1x2x3x3xf32> {
  %r = relax.nn.max_pool2d %a size [3, 3] strides [2, 2] padding [1, 1, 1, 1] dilation [1, 1] layout "NCHW" : (tensor<1x2x5x5xf32>) -> tensor<1x2x3x3xf32>
  %s = relax.nn.max_pool1d %b size [2] strides [2] padding [0] dilation [1] layout "NCW" : (tensor<1x2x4xi8>) -> tensor<1x2x2xi8>
  relax.return %r : tensor<1x2x3x3xf32>
}
// CHECK-LABEL: tir.func @max_pool2d(
// CHECK: tir.alloc_buffer "pad_temp" {{.*}} : !tir.buffer<1x2x7x7xf32>
// CHECK: tir.const 0xff800000 : f32
// CHECK: tir.block "pool_max"
// CHECK: tir.max
// CHECK-LABEL: tir.func @max_pool1d(
// CHECK-NOT: pad_temp
// CHECK: tir.const -128 : i8

// -----

// What counts depends on the window only where it reaches over the data.

// CHECK-LABEL: relax.func @means
relax.func @means(%a: tensor<1x2x4xf32>) -> tensor<1x2x2xf32> {
  %r = relax.nn.avg_pool1d %a size [2] strides [2] padding [0, 0] dilation [1] layout "NCW" : (tensor<1x2x4xf32>) -> tensor<1x2x2xf32>
  %s = relax.nn.avg_pool1d %a size [2] strides [3] padding [1, 0] dilation [1] layout "NCW" : (tensor<1x2x4xf32>) -> tensor<1x2x2xf32>
  %t = relax.nn.avg_pool1d %a size [2] strides [3] padding [1, 0] dilation [1] count_include_pad layout "NCW" : (tensor<1x2x4xf32>) -> tensor<1x2x2xf32>
  relax.return %s : tensor<1x2x2xf32>
}
// CHECK-LABEL: tir.func @avg_pool1d(
// CHECK: tir.block "pool_avg"
// CHECK: %[[C:.*]] = tir.const 2.000000e+00 : f32
// CHECK: tir.div %{{.*}}, %[[C]] : f32
// CHECK-LABEL: tir.func @avg_pool1d1(
// CHECK: tir.block "pool_avg"
// CHECK: %[[C:.*]] = tir.cast %{{.*}} : i64 to f32
// CHECK: tir.div %{{.*}}, %[[C]] : f32
// CHECK-LABEL: tir.func @avg_pool1d2(
// CHECK: tir.block "pool_avg"
// CHECK: %[[C:.*]] = tir.const 2.000000e+00 : f32
// CHECK: tir.div %{{.*}}, %[[C]] : f32

// -----

// Windows of an adaptive pooling: of one size where that divides, else masked.

// CHECK-LABEL: relax.func @adaptive
relax.func @adaptive(%a: tensor<1x2x6xf32>) -> tensor<1x2x4xf32> {
  %r = relax.nn.adaptive_avg_pool1d %a size [3] layout "NCW" : (tensor<1x2x6xf32>) -> tensor<1x2x3xf32>
  %s = relax.nn.adaptive_avg_pool1d %a size [4] layout "NCW" : (tensor<1x2x6xf32>) -> tensor<1x2x4xf32>
  relax.return %s : tensor<1x2x4xf32>
}
// CHECK-LABEL: tir.func @adaptive_avg_pool1d(
// CHECK-NOT: tir.if_then_else
// CHECK: tir.block "adaptive_pool_avg"
// CHECK-LABEL: tir.func @adaptive_avg_pool1d1(
// CHECK: tir.block "adaptive_pool_sum"
// CHECK: tir.if_then_else
