// RUN: xdsl-opt %s -p relax-legalize-ops --split-input-file | filecheck %s

// Padding is a stage that reads under a condition; windows follow each other by strides.

// CHECK-LABEL: relax.func @padded
relax.func @padded(%a: tensor<1x2x5x5xf32>, %b: tensor<3x2x3x3xf32>) -> tensor<1x3x3x3xf32> {
  // CHECK: relax.call_tir @conv2d(%a, %b)
  %r = relax.nn.conv2d %a, %b strides [2, 2] padding [1, 1, 1, 1] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (tensor<1x2x5x5xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x3x3xf32>
  relax.return %r : tensor<1x3x3x3xf32>
}
// CHECK-LABEL: tir.func @conv2d(
// CHECK: %pad_temp = tir.alloc_buffer "pad_temp" {{.*}} : !tir.buffer<1x2x7x7xf32>
// CHECK: tir.block "pad_temp" (%[[N:.*]] : S {{.*}}, %[[C:.*]] : S {{.*}}, %[[Y:.*]] : S {{.*}}, %[[X:.*]] : S
// CHECK: %[[P:.*]] = tir.sub %[[Y]], %c1 : i64
// CHECK: %[[Q:.*]] = tir.sub %[[X]], %c1 : i64
// CHECK: tir.reads %A[%[[N]], %[[C]], %[[P]], %[[Q]]]
// CHECK: tir.cmp ge %[[P]], %c0 : i64
// CHECK: tir.cmp lt %[[P]], %c5 : i64
// CHECK: tir.if_then_else
// CHECK-NEXT: tir.load %A[%[[N]], %[[C]], %[[P]], %[[Q]]]
// CHECK: tir.block "conv2d_nchw" (%[[N:.*]] : S {{.*}}, %[[F:.*]] : S {{.*}}, %[[Y:.*]] : S {{.*}}, %[[X:.*]] : S {{.*}}, %[[C:.*]] : R {{.*}}, %[[P:.*]] : R {{.*}}, %[[Q:.*]] : R
// CHECK: %[[YS:.*]] = tir.mul %[[Y]], %c2 : i64
// CHECK: %[[V:.*]] = tir.add %[[YS]], %[[P]] : i64
// CHECK: %[[XS:.*]] = tir.mul %[[X]], %c2 : i64
// CHECK: %[[W:.*]] = tir.add %[[XS]], %[[Q]] : i64
// CHECK: tir.reads %pad_temp[%[[N]], %[[C]], %[[V]], %[[W]]], %B[%[[F]], %[[C]], %[[P]], %[[Q]]]

// -----

// Nothing is padded without need; a group of one channel needs no sum over channels.

// CHECK-LABEL: relax.func @depthwise
relax.func @depthwise<n>(%a: tensor<?x4x5x5xf32, #relax.dims<[n, 4, 5, 5]>>, %b: tensor<4x1x3x3xf32>) -> tensor<?x4x3x3xf32, #relax.dims<[n, 4, 3, 3]>> {
  %r = relax.nn.conv2d %a, %b strides [1] padding [0, 0] dilation [1] groups 4 layout "NCHW" kernel "OIHW" : (tensor<?x4x5x5xf32, #relax.dims<[n, 4, 5, 5]>>, tensor<4x1x3x3xf32>) -> tensor<?x4x3x3xf32, #relax.dims<[n, 4, 3, 3]>>
  relax.return %r : tensor<?x4x3x3xf32, #relax.dims<[n, 4, 3, 3]>>
}
// CHECK-LABEL: tir.func @conv2d(
// CHECK-NOT: pad_temp
// CHECK: tir.block "conv2d_nchw" (%[[N:.*]] : S {{.*}}, %[[F:.*]] : S {{.*}}, %[[Y:.*]] : S {{.*}}, %[[X:.*]] : S {{.*}}, %[[P:.*]] : R {{.*}}, %[[Q:.*]] : R
// CHECK: tir.reads %A[%[[N]], %[[F]], %{{.*}}, %{{.*}}], %B[%[[F]], %c0, %[[P]], %[[Q]]]

// -----

// Groups of several channels.

// CHECK-LABEL: relax.func @groups
relax.func @groups(%a: tensor<1x4x5xf32>, %b: tensor<6x2x3xf32>) -> tensor<1x6x3xf32> {
  %r = relax.nn.conv1d %a, %b strides [1] padding [0] dilation [1] groups 2 layout "NCW" kernel "OIW" : (tensor<1x4x5xf32>, tensor<6x2x3xf32>) -> tensor<1x6x3xf32>
  relax.return %r : tensor<1x6x3xf32>
}
// CHECK-LABEL: tir.func @conv1d(
// CHECK: tir.block "conv1d_ncw" (%[[N:.*]] : S {{.*}}, %[[F:.*]] : S {{.*}}, %[[X:.*]] : S {{.*}}, %[[C:.*]] : R {{.*}}, %[[Q:.*]] : R
// CHECK: %[[G:.*]] = tir.floordiv %[[F]], %c3 : i64
// CHECK: %[[B:.*]] = tir.mul %[[G]], %c2 : i64
// CHECK: %[[S:.*]] = tir.add %[[B]], %[[C]] : i64
// CHECK: tir.reads %A[%[[N]], %[[S]], %{{.*}}], %B[%[[F]], %[[C]], %[[Q]]]

// -----

// Any order of dimensions is computed as it is; blocks are joined before and made after.

// CHECK-LABEL: relax.func @layouts
relax.func @layouts(%a: tensor<1x4x4x3xf32>, %b: tensor<3x3x3x5xf32>, %c: tensor<1x2x4x4x2xf32>, %d: tensor<6x4x3x3xf32>) -> tensor<1x2x2x2x4xf32> {
  %0 = relax.nn.conv2d %a, %b strides [1] padding [0] dilation [1] groups 1 layout "NHWC" kernel "HWIO" out_layout "NCHW" : (tensor<1x4x4x3xf32>, tensor<3x3x3x5xf32>) -> tensor<1x5x2x2xf32>
  %1 = relax.nn.conv2d %c, %d strides [1] padding [0] dilation [1] groups 1 layout "NCHW2c" kernel "OIHW" out_layout "NCHW4c" : (tensor<1x2x4x4x2xf32>, tensor<6x4x3x3xf32>) -> tensor<1x2x2x2x4xf32>
  relax.return %1 : tensor<1x2x2x2x4xf32>
}
// CHECK-LABEL: tir.func @conv2d(
// CHECK: tir.block "conv2d_nchw" (%[[N:.*]] : S {{.*}}, %[[F:.*]] : S {{.*}}, %[[Y:.*]] : S {{.*}}, %[[X:.*]] : S {{.*}}, %[[P:.*]] : R {{.*}}, %[[Q:.*]] : R {{.*}}, %[[C:.*]] : R
// CHECK: tir.reads %A[%[[N]], %{{.*}}, %{{.*}}, %[[C]]], %B[%[[P]], %[[Q]], %[[C]], %[[F]]]
// CHECK-LABEL: tir.func @conv2d1(
// CHECK: tir.alloc_buffer "unblocked" {{.*}} : !tir.buffer<1x4x4x4xf32>
// CHECK: tir.alloc_buffer "conv2d_nchw" {{.*}} : !tir.buffer<1x6x2x2xf32>
// CHECK: tir.block "blocked"
// CHECK: tir.if_then_else

// -----

// A transposed convolution is one of the data with zeros in between.

// CHECK-LABEL: relax.func @transposed
relax.func @transposed(%a: tensor<1x2x3xf32>, %b: tensor<2x4x3xf32>) -> tensor<1x4x5xf32> {
  %r = relax.nn.conv1d_transpose %a, %b strides [2] padding [1, 1] output_padding [0] dilation [1] groups 1 layout "NCW" kernel "IOW" : (tensor<1x2x3xf32>, tensor<2x4x3xf32>) -> tensor<1x4x5xf32>
  relax.return %r : tensor<1x4x5xf32>
}
// CHECK-LABEL: tir.func @conv1d_transpose(
// CHECK: tir.alloc_buffer "data_spread" {{.*}} : !tir.buffer<1x2x7xf32>
// CHECK: tir.floormod
// CHECK: tir.block "conv1d_transpose_ncw" (%[[N:.*]] : S {{.*}}, %[[F:.*]] : S {{.*}}, %[[X:.*]] : S {{.*}}, %[[C:.*]] : R {{.*}}, %[[Q:.*]] : R
// CHECK: %[[R:.*]] = tir.sub %c2, %[[Q]] : i64
// CHECK: tir.reads %data_spread[%[[N]], %[[C]], %{{.*}}], %B[%[[C]], %[[F]], %[[R]]]
