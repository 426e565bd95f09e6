// RUN: xdsl-opt %s -p 'relax-pad-channels{lanes=2}' | filecheck %s
// TOLERANCE: 0.0001

!data = tensor<1x3x4x4xf32>
!result = tensor<1x17x4x4xf32>

// CHECK-LABEL: relax.func @averaged
// CHECK: %[[Z:.*]] = relax.constant dense<{{.*}}> : tensor<3x3x1x1xf32>
// CHECK: %[[T:.*]] = relax.tuple(%w, %[[Z]])
// CHECK: %[[W:.*]] = relax.concat %[[T]] axis 0 {{.*}} -> tensor<20x3x1x1xf32>
// CHECK: %[[Y:.*]] = relax.nn.conv2d %x, %[[W]] {{.*}} -> tensor<1x20x4x4xf32>
// CHECK: %[[B:.*]] = relax.concat {{.*}} axis 0 {{.*}} -> tensor<20x1x1xf32>
// CHECK: %[[S:.*]] = relax.add %[[B]], %[[Y]]
// CHECK: %[[M:.*]] = relax.multiply %[[S]], %f
// CHECK: %[[R:.*]] = relax.nn.relu %[[M]]
// CHECK: %[[N:.*]] = relax.mean %[[R]] axis [2, 3] {{.*}} -> tensor<1x20xf32>
// CHECK: %[[C:.*]] = relax.strided_slice %[[N]], {{.*}} -> tensor<1x17xf32>
// CHECK: relax.add %[[C]], %[[C]]
relax.func @averaged(%x: !data, %f: tensor<1x1xf32>) -> tensor<1x17xf32> attributes {global_symbol = "averaged"} {
  %w = relax.constant dense<0.5> : tensor<17x3x1x1xf32>
  %b = relax.constant dense<0.25> : tensor<17x1x1xf32>
  %y = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!data, tensor<17x3x1x1xf32>) -> !result
  %s = relax.add %b, %y : (tensor<17x1x1xf32>, !result) -> !result
  %t = relax.multiply %s, %f : (!result, tensor<1x1xf32>) -> !result
  %r = relax.nn.relu %t : (!result) -> !result
  %m = relax.mean %r axis [2, 3] : (!result) -> tensor<1x17xf32>
  %o = relax.add %m, %m : (tensor<1x17xf32>, tensor<1x17xf32>) -> tensor<1x17xf32>
  relax.return %o : tensor<1x17xf32>
}

// An operand with channels that is no constant, a mean over one axis, few channels, full
// blocks.
// CHECK-LABEL: relax.func @left_alone
// CHECK-NOT: relax.concat
relax.func @left_alone(%x: !data, %b: tensor<17x1x1xf32>) -> !relax.tuple<tensor<1x17xf32>, tensor<1x17x4xf32>, tensor<1x3xf32>, tensor<1x16xf32>> attributes {global_symbol = "left_alone"} {
  %w = relax.constant dense<0.5> : tensor<17x3x1x1xf32>
  %few = relax.constant dense<0.5> : tensor<3x3x1x1xf32>
  %full = relax.constant dense<0.5> : tensor<16x3x1x1xf32>
  %a = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!data, tensor<17x3x1x1xf32>) -> !result
  %s = relax.add %a, %b : (!result, tensor<17x1x1xf32>) -> !result
  %p = relax.mean %s axis [2, 3] : (!result) -> tensor<1x17xf32>
  %c = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!data, tensor<17x3x1x1xf32>) -> !result
  %q = relax.mean %c axis [3] : (!result) -> tensor<1x17x4xf32>
  %d = relax.nn.conv2d %x, %few strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!data, tensor<3x3x1x1xf32>) -> tensor<1x3x4x4xf32>
  %r = relax.mean %d axis [2, 3] : (tensor<1x3x4x4xf32>) -> tensor<1x3xf32>
  %e = relax.nn.conv2d %x, %full strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!data, tensor<16x3x1x1xf32>) -> tensor<1x16x4x4xf32>
  %u = relax.mean %e axis [2, 3] : (tensor<1x16x4x4xf32>) -> tensor<1x16xf32>
  %t = relax.tuple(%p, %q, %r, %u) : tensor<1x17xf32>, tensor<1x17x4xf32>, tensor<1x3xf32>, tensor<1x16xf32>
  relax.return %t : !relax.tuple<tensor<1x17xf32>, tensor<1x17x4xf32>, tensor<1x3xf32>, tensor<1x16xf32>>
}
