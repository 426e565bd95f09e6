// RUN: xdsl-opt %s -p relax-winograd-convolutions | filecheck %s
// TOLERANCE: 0.0001

!data = tensor<1x8x12x12x4xf32>
!odd = tensor<2x8x8x7x4xf32>

// Tiles that cover the result.
// CHECK-LABEL: relax.func @whole
// CHECK: %[[U:.*]] = relax.constant {{.*}} : tensor<16x8x8x4x4xf32>
// CHECK-NEXT: %[[T:.*]] = relax.call_tir @winograd_conv2d(%x, %[[U]]) : (tensor<1x8x12x12x4xf32>, tensor<16x8x8x4x4xf32>) -> tensor<1x8x1x6x2x6x2x4xf32>
// CHECK-NEXT: %[[S:.*]] = relax.shape
// CHECK-NEXT: %[[R:.*]] = relax.reshape %[[T]], %[[S]]
// CHECK-NEXT: relax.return %[[R]]
relax.func @whole(%x: !data) -> !data attributes {global_symbol = "whole"} {
  %w = relax.constant dense<0.25> : tensor<8x8x3x3x4x4xf32>
  %y = relax.nn.conv2d %x, %w strides [1, 1] padding [1, 1, 1, 1] dilation [1, 1] groups 1 layout "NCHW4c" kernel "OIHW4i4o" : (!data, tensor<8x8x3x3x4x4xf32>) -> !data
  %z = relax.nn.relu %y : (!data) -> !data
  relax.return %z : !data
}

// Tiles that reach over the edge on one axis, with padding on one side.
// CHECK-LABEL: relax.func @cut
// CHECK: relax.call_tir @winograd_conv2d1(
// CHECK: relax.reshape
// CHECK: relax.strided_slice {{.*}} -> tensor<2x8x8x7x4xf32>
relax.func @cut(%x: !odd) -> !odd attributes {global_symbol = "cut"} {
  %w = relax.constant dense<-0.5> : tensor<8x8x3x3x4x4xf32>
  %y = relax.nn.conv2d %x, %w strides [1, 1] padding [2, 0, 0, 2] dilation [1, 1] groups 1 layout "NCHW4c" kernel "OIHW4i4o" : (!odd, tensor<8x8x3x3x4x4xf32>) -> !odd
  relax.return %y : !odd
}

// A bias, another tensor and relu are applied where results are computed.
// CHECK-LABEL: relax.func @with_operators
// CHECK: %[[T:.*]] = relax.call_tir @winograd_conv2d2(%x, %{{.*}}, %b, %z) : (tensor<1x8x12x12x4xf32>, tensor<16x8x8x4x4xf32>, tensor<8x1x1x4xf32>, tensor<1x8x12x12x4xf32>) -> tensor<1x8x1x6x2x6x2x4xf32>
// CHECK: %[[R:.*]] = relax.reshape %[[T]]
// CHECK-NEXT: relax.return %[[R]]
relax.func @with_operators(%x: !data, %b: tensor<8x1x1x4xf32>, %z: !data) -> !data attributes {global_symbol = "with_operators"} {
  %w = relax.constant dense<0.25> : tensor<8x8x3x3x4x4xf32>
  %y = relax.nn.conv2d %x, %w strides [1, 1] padding [1, 1, 1, 1] dilation [1, 1] groups 1 layout "NCHW4c" kernel "OIHW4i4o" : (!data, tensor<8x8x3x3x4x4xf32>) -> !data
  %s = relax.add %y, %b : (!data, tensor<8x1x1x4xf32>) -> !data
  %t = relax.add %z, %s : (!data, !data) -> !data
  %r = relax.nn.relu %t : (!data) -> !data
  relax.return %r : !data
}

// Where tiles reach over the edge, only what has one row and column; a result with two
// uses ends them.
// CHECK-LABEL: relax.func @some_operators
// CHECK: relax.call_tir @{{.*}}(%x, %{{.*}}, %b) :
// CHECK: %[[S:.*]] = relax.strided_slice
// CHECK-NEXT: %[[A:.*]] = relax.add %[[S]], %z
// CHECK: relax.call_tir @{{.*}}(%x, %{{.*}}, %b) :
// CHECK: %[[R:.*]] = relax.strided_slice
// CHECK-NEXT: relax.multiply %[[R]], %[[R]]
relax.func @some_operators(%x: !odd, %b: tensor<1x8x1x1x4xf32>, %z: !odd) -> !relax.tuple<!odd, !odd> attributes {global_symbol = "some_operators"} {
  %w = relax.constant dense<-0.5> : tensor<8x8x3x3x4x4xf32>
  %y = relax.nn.conv2d %x, %w strides [1, 1] padding [2, 0, 0, 2] dilation [1, 1] groups 1 layout "NCHW4c" kernel "OIHW4i4o" : (!odd, tensor<8x8x3x3x4x4xf32>) -> !odd
  %s = relax.multiply %b, %y : (tensor<1x8x1x1x4xf32>, !odd) -> !odd
  %t = relax.add %s, %z : (!odd, !odd) -> !odd
  %u = relax.nn.conv2d %x, %w strides [1, 1] padding [2, 0, 0, 2] dilation [1, 1] groups 1 layout "NCHW4c" kernel "OIHW4i4o" : (!odd, tensor<8x8x3x3x4x4xf32>) -> !odd
  %v = relax.add %u, %b : (!odd, tensor<1x8x1x1x4xf32>) -> !odd
  %r = relax.multiply %v, %v : (!odd, !odd) -> !odd
  %p = relax.tuple(%t, %r) : !odd, !odd
  relax.return %p : !relax.tuple<!odd, !odd>
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
