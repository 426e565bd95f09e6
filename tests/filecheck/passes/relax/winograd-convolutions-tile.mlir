// RUN: xdsl-opt %s -p 'relax-winograd-convolutions{tile=4}' | filecheck %s
// TOLERANCE: 0.0001

!data = tensor<1x8x12x12x4xf32>
!odd = tensor<2x8x8x7x4xf32>

// Of tiles of 4 there are too few, and tiles are of 2.
// CHECK-LABEL: relax.func @cut
// CHECK: relax.call_tir {{.*}} tensor<16x8x8x4x4xf32>)
relax.func @cut(%x: !odd) -> !odd attributes {global_symbol = "cut"} {
  %w = relax.constant dense<-0.5> : tensor<8x8x3x3x4x4xf32>
  %y = relax.nn.conv2d %x, %w strides [1, 1] padding [2, 0, 0, 2] dilation [1, 1] groups 1 layout "NCHW4c" kernel "OIHW4i4o" : (!odd, tensor<8x8x3x3x4x4xf32>) -> !odd
  relax.return %y : !odd
}

// A weight that is no constant, another stride, another window, few channels.
// CHECK-LABEL: relax.func @left_alone
// CHECK-NOT: call_tir
relax.func @left_alone(%x: !data, %v: tensor<8x8x3x3x4x4xf32>, %few: tensor<1x1x12x12x4xf32>) -> !relax.tuple<!data, tensor<1x8x6x6x4xf32>, !data, tensor<1x1x12x12x4xf32>> attributes {global_symbol = "left_alone"} {
  %w = relax.constant dense<0.25> : tensor<8x8x3x3x4x4xf32>
  %point = relax.constant dense<0.25> : tensor<8x8x1x1x4x4xf32>
  %thin = relax.constant dense<0.25> : tensor<1x1x3x3x4x4xf32>
  %a = relax.nn.conv2d %x, %v strides [1, 1] padding [1, 1, 1, 1] dilation [1, 1] groups 1 layout "NCHW4c" kernel "OIHW4i4o" : (!data, tensor<8x8x3x3x4x4xf32>) -> !data
  %b = relax.nn.conv2d %x, %w strides [2, 2] padding [1, 1, 1, 1] dilation [1, 1] groups 1 layout "NCHW4c" kernel "OIHW4i4o" : (!data, tensor<8x8x3x3x4x4xf32>) -> tensor<1x8x6x6x4xf32>
  %c = relax.nn.conv2d %x, %point strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW4c" kernel "OIHW4i4o" : (!data, tensor<8x8x1x1x4x4xf32>) -> !data
  %d = relax.nn.conv2d %few, %thin strides [1, 1] padding [1, 1, 1, 1] dilation [1, 1] groups 1 layout "NCHW4c" kernel "OIHW4i4o" : (tensor<1x1x12x12x4xf32>, tensor<1x1x3x3x4x4xf32>) -> tensor<1x1x12x12x4xf32>
  %t = relax.tuple(%a, %b, %c, %d) : !data, tensor<1x8x6x6x4xf32>, !data, tensor<1x1x12x12x4xf32>
  relax.return %t : !relax.tuple<!data, tensor<1x8x6x6x4xf32>, !data, tensor<1x1x12x12x4xf32>>
}
