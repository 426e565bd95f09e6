// RUN: xdsl-opt %s -p relax-combine-channel-scaling | filecheck %s
// TOLERANCE: 0.0001

!x = tensor<1x2x3x3xf32>
!v = tensor<2xf32>
!n = !relax.tuple<!x, !v, !v>

// (c + 1 - 3) * [1, 4] + 0.5, with c = 2 * x: no root of the variance is inexact.
// CHECK-LABEL: relax.func @into_the_weight
// CHECK: %[[W:.*]] = relax.constant dense<{{.*}}2.000000e+00{{.*}}, {{.*}}2.000000e+00{{.*}}, {{.*}}8.000000e+00{{.*}}, {{.*}}8.000000e+00{{.*}}> : tensor<2x2x1x1xf32>
// CHECK-NEXT: %[[C:.*]] = relax.nn.conv2d %x, %[[W]]
// CHECK-NEXT: %[[T:.*]] = relax.constant dense<{{.*}}-1.500000e+00{{.*}}, {{.*}}-7.500000e+00{{.*}}> : tensor<2x1x1xf32>
// CHECK-NEXT: %y = relax.add %[[C]], %[[T]]
// CHECK-NEXT: relax.return %y
relax.func @into_the_weight(%x: !x) -> !x attributes {global_symbol = "into_the_weight"} {
  %w = relax.constant dense<2.0> : tensor<2x2x1x1xf32>
  %one = relax.constant dense<1.0> : tensor<1x2x1x1xf32>
  %g = relax.constant dense<[1.0, 2.0]> : !v
  %b = relax.constant dense<0.5> : !v
  %m = relax.constant dense<3.0> : !v
  %s = relax.constant dense<[0.75, 0.0]> : !v
  %c = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!x, tensor<2x2x1x1xf32>) -> !x
  %a = relax.add %one, %c : (tensor<1x2x1x1xf32>, !x) -> !x
  %n = relax.nn.batch_norm %a, %g, %b, %m, %s axis 1 epsilon 2.5e-01 momentum 1.0e-01 inference : (!x, !v, !v, !v, !v) -> !n
  %y = relax.get_item %n[0] : !n -> !x
  relax.return %y : !x
}

// No convolution is before it: ((x / 2) - [1, 2]) * 4 * [3, 5], the last by normalization.
// CHECK-LABEL: relax.func @a_product_and_a_sum
// CHECK: %[[S:.*]] = relax.constant dense<{{.*}}6.000000e+00{{.*}}, {{.*}}1.000000e+01{{.*}}> : tensor<2x1x1xf32>
// CHECK-NEXT: %[[P:.*]] = relax.multiply %x, %[[S]]
// CHECK-NEXT: %[[T:.*]] = relax.constant dense<{{.*}}-1.200000e+01{{.*}}, {{.*}}-4.000000e+01{{.*}}> : tensor<2x1x1xf32>
// CHECK-NEXT: %f = relax.add %[[P]], %[[T]]
// CHECK-NEXT: relax.nn.relu %f
relax.func @a_product_and_a_sum(%x: !x) -> !x attributes {global_symbol = "a_product_and_a_sum"} {
  %two = relax.constant dense<2.0> : tensor<f32>
  %v = relax.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %four = relax.constant dense<4.0> : tensor<1x1xf32>
  %u = relax.constant dense<[3.0, 5.0]> : !v
  %z = relax.constant dense<0.0> : !v
  %c = relax.divide %x, %two : (!x, tensor<f32>) -> !x
  %d = relax.subtract %c, %v : (!x, tensor<2x1x1xf32>) -> !x
  %e = relax.multiply %four, %d : (tensor<1x1xf32>, !x) -> !x
  %n = relax.nn.batch_norm %e, %u, %z, %z, %z axis 1 epsilon 1.0 momentum 1.0e-01 inference : (!x, !v, !v, !v, !v) -> !n
  %f = relax.get_item %n[0] : !n -> !x
  %r = relax.nn.relu %f : (!x) -> !x
  relax.return %r : !x
}

// Without scale and center, and of a result that is used twice.
// CHECK-LABEL: relax.func @parts
// CHECK: %[[C:.*]] = relax.nn.conv2d %x, %w
// CHECK: %[[P:.*]] = relax.multiply %[[C]], %{{.*}} : (tensor<1x2x3x3xf32>, tensor<2x1x1xf32>)
// CHECK: relax.add %[[P]], %{{.*}} : (tensor<1x2x3x3xf32>, tensor<2x1x1xf32>)
relax.func @parts(%x: !x) -> !relax.tuple<!x, !x> attributes {global_symbol = "parts"} {
  %w = relax.constant dense<2.0> : tensor<2x2x1x1xf32>
  %g = relax.constant dense<[1.0, 2.0]> : !v
  %c = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!x, tensor<2x2x1x1xf32>) -> !x
  %n = relax.nn.batch_norm %c, %g, %g, %g, %g axis -3 epsilon 1.0e-05 momentum 1.0e-01 no_center no_scale inference : (!x, !v, !v, !v, !v) -> !n
  %y = relax.get_item %n[0] : !n -> !x
  %t = relax.tuple(%c, %y) : !x, !x
  relax.return %t : !relax.tuple<!x, !x>
}

// Arithmetic alone; constants along other axes; a constant minus the data; moments of the
// data; another field.
// CHECK-LABEL: relax.func @left_alone
// CHECK: relax.add %x, %v
// CHECK: relax.add %a, %v
// CHECK: relax.add %b, %rows
// CHECK: relax.subtract %v, %c
// CHECK: relax.multiply %d, %v
// CHECK: relax.divide %e, %v
// CHECK: relax.nn.batch_norm %f
// CHECK: relax.nn.batch_norm %f
relax.func @left_alone(%x: !x) -> !relax.tuple<!x, !n, !v> attributes {global_symbol = "left_alone"} {
  %v = relax.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %rows = relax.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %g = relax.constant dense<[1.0, 2.0]> : !v
  %a = relax.add %x, %v : (!x, tensor<2x1x1xf32>) -> !x
  %b = relax.add %a, %v : (!x, tensor<2x1x1xf32>) -> !x
  %c = relax.add %b, %rows : (!x, tensor<3xf32>) -> !x
  %d = relax.subtract %v, %c : (tensor<2x1x1xf32>, !x) -> !x
  %e = relax.multiply %d, %v : (!x, tensor<2x1x1xf32>) -> !x
  %f = relax.divide %e, %v : (!x, tensor<2x1x1xf32>) -> !x
  %n = relax.nn.batch_norm %f, %g, %g, %g, %g axis 1 epsilon 1.0e-05 momentum 1.0e-01 : (!x, !v, !v, !v, !v) -> !n
  %o = relax.nn.batch_norm %f, %g, %g, %g, %g axis 1 epsilon 1.0e-05 momentum 1.0e-01 inference : (!x, !v, !v, !v, !v) -> !n
  %p = relax.get_item %o[1] : !n -> !v
  %t = relax.tuple(%a, %n, %p) : !x, !n, !v
  relax.return %t : !relax.tuple<!x, !n, !v>
}
