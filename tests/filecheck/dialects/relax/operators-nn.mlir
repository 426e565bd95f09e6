// RUN: xdsl-opt %s | filecheck %s
// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

// Operators that move elements, of neural networks and of images, in a relax function;
// tests/unit has a table of the types of all.

!v = tensor<?x3x8x8xf32, #relax.dims<[n, 3, 8, 8]>>
// CHECK-LABEL: relax.func @operators<n>
relax.func @operators<n>(%x: !v, %w: tensor<4x3x3x3xf32>, %c: tensor<3xf32>, %q: tensor<1x4x2x8xf32>) -> !relax.object {
  // CHECK: relax.nn.conv2d %x, %w strides [1] padding [1] dilation [1] groups 1 layout "NCHW" kernel "OIHW" : (tensor<?x3x8x8xf32, #relax.dims<[n, 3, 8, 8]>>, tensor<4x3x3x3xf32>) -> tensor<?x4x8x8xf32, #relax.dims<[n, 4, 8, 8]>>
  %0 = relax.nn.conv2d %x, %w strides [1] padding [1] dilation [1] groups 1 layout "NCHW" kernel "OIHW" : (!v, tensor<4x3x3x3xf32>) -> tensor<?x4x8x8xf32, #relax.dims<[n, 4, 8, 8]>>
  // CHECK-NEXT: relax.nn.conv2d %x, %w strides [1] padding [1] dilation [1] groups 1 layout "NCHW" kernel "OIHW" out_layout "NHWC" out_dtype f64 {note} :
  %1 = relax.nn.conv2d %x, %w strides [1] padding [1] dilation [1] groups 1 layout "NCHW" kernel "OIHW" out_layout "NHWC" out_dtype f64 {note} : (!v, tensor<4x3x3x3xf32>) -> tensor<?x8x8x4xf64, #relax.dims<[n, 8, 8, 4]>>
  // CHECK-NEXT: relax.nn.max_pool2d %x size [2] strides [2] padding [0] dilation [1] ceil_mode count_include_pad layout "NCHW" :
  %2 = relax.nn.max_pool2d %x size [2] strides [2] padding [0] dilation [1] ceil_mode count_include_pad layout "NCHW" : (!v) -> tensor<?x3x4x4xf32, #relax.dims<[n, 3, 4, 4]>>
  // CHECK-NEXT: relax.nn.adaptive_avg_pool2d %x layout "NCHW" out_layout "NHWC" :
  %3 = relax.nn.adaptive_avg_pool2d %x layout "NCHW" out_layout "NHWC" : (!v) -> tensor<?x8x8x3xf32, #relax.dims<[n, 8, 8, 3]>>
  // CHECK-NEXT: %[[B:.*]] = relax.nn.batch_norm %x, %c, %c, %c, %c axis 1 epsilon 1.000000e-05 momentum 1.000000e-01 no_center no_scale inference :
  %4 = relax.nn.batch_norm %x, %c, %c, %c, %c axis 1 epsilon 1.0e-05 momentum 1.0e-01 no_center no_scale inference : (!v, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> !relax.tuple<!v, tensor<3xf32>, tensor<3xf32>>
  // CHECK-NEXT: relax.nn.attention %q, %q, %q scale 5.000000e-01 causal "TopLeft" window 2 :
  %5 = relax.nn.attention %q, %q, %q scale 0.5 causal "TopLeft" window 2 : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32>
  // CHECK-NEXT: %[[S:.*]] = relax.split %x at [1, 2] axis 1 :
  %6 = relax.split %x at [1, 2] axis 1 : (!v) -> !relax.tuple<tensor<?x1x8x8xf32, #relax.dims<[n, 1, 8, 8]>>, tensor<?x1x8x8xf32, #relax.dims<[n, 1, 8, 8]>>, tensor<?x1x8x8xf32, #relax.dims<[n, 1, 8, 8]>>>
  // CHECK-NEXT: relax.concat %[[S]] axis 0 :
  %7 = relax.concat %6 axis 0 : (!relax.tuple<tensor<?x1x8x8xf32, #relax.dims<[n, 1, 8, 8]>>, tensor<?x1x8x8xf32, #relax.dims<[n, 1, 8, 8]>>, tensor<?x1x8x8xf32, #relax.dims<[n, 1, 8, 8]>>>) -> tensor<?x1x8x8xf32, #relax.dims<[n * 3, 1, 8, 8]>>
  // CHECK-NEXT: relax.squeeze %c {note} : (tensor<3xf32>) -> tensor<3xf32>
  %8 = relax.squeeze %c {note} : (tensor<3xf32>) -> tensor<3xf32>
  // A declared type may be more general.
  // CHECK-NEXT: %[[O:.*]] = relax.flatten %x : (tensor<?x3x8x8xf32, #relax.dims<[n, 3, 8, 8]>>) -> !relax.object
  %9 = relax.flatten %x : (!v) -> !relax.object
  // CHECK-NEXT: relax.return %[[O]] : !relax.object
  relax.return %9 : !relax.object
}
