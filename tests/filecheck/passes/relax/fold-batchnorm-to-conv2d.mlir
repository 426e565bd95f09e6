// RUN: xdsl-opt %s -p relax-fold-batchnorm-to-conv2d --split-input-file | filecheck %s

!x = tensor<1x2x4x4xf32>
!v = tensor<3xf32>
!y = tensor<1x3x4x4xf32>
!r = !relax.tuple<!y, !v, !v>

// CHECK-LABEL: relax.func @fold
relax.func @fold(%x: !x) -> !relax.tuple<!y, !v> {
  // CHECK: %[[W:.*]] = relax.constant dense<5.{{.*}} : tensor<3x2x1x1xf32>
  %w = relax.constant dense<0.5> : tensor<3x2x1x1xf32>
  %g = relax.constant dense<[1.0, 2.0, 3.0]> : !v
  %b = relax.constant dense<[0.5, 0.0, 1.0]> : !v
  %m = relax.constant dense<[0.1, 0.2, 0.3]> : !v
  // CHECK: %[[V:.*]] = relax.constant dense<[1.0{{.*}}, 4.0
  %v = relax.constant dense<[1.0, 4.0, 2.0]> : !v
  // CHECK: %[[ROOT:.*]] = relax.sqrt
  // CHECK-NEXT: %[[S:.*]] = relax.divide %g, %[[ROOT]]
  // CHECK: %[[F:.*]] = relax.reshape %[[S]], %{{.*}} -> tensor<3x1x1x1xf32>
  // CHECK-NEXT: %[[K:.*]] = relax.multiply %[[W]], %[[F]]
  // CHECK-NEXT: %[[C:.*]] = relax.nn.conv2d %x, %[[K]]
  // CHECK-NEXT: %[[MOVED:.*]] = relax.multiply %m, %[[S]]
  // CHECK-NEXT: %[[SHIFT:.*]] = relax.subtract %b, %[[MOVED]]
  // CHECK: %[[T:.*]] = relax.reshape %[[SHIFT]], %{{.*}} -> tensor<1x3x1x1xf32>
  // CHECK-NEXT: %[[R:.*]] = relax.add %[[C]], %[[T]]
  // CHECK-NEXT: relax.tuple(%[[R]], %[[V]])
  %c = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!x, tensor<3x2x1x1xf32>) -> !y
  %n = relax.nn.batch_norm %c, %g, %b, %m, %v axis 1 epsilon 1.0e-05 momentum 1.0e-01 inference : (!y, !v, !v, !v, !v) -> !r
  %r = relax.get_item %n[0] : !r -> !y
  %u = relax.get_item %n[2] : !r -> !v
  %t = relax.tuple(%r, %u) : !y, !v
  relax.return %t : !relax.tuple<!y, !v>
}

// -----

// The weight's layout decides where the factor goes; without scale and center.

!x = tensor<1x2x4x4xf32>
!v = tensor<3xf32>
!y = tensor<1x3x4x4xf32>
!r = !relax.tuple<!y, !v, !v>

// CHECK-LABEL: relax.func @other_layout
relax.func @other_layout(%x: !x) -> !y {
  %w = relax.constant dense<0.5> : tensor<2x3x1x1xf32>
  %g = relax.constant dense<[1.0, 2.0, 3.0]> : !v
  %v = relax.constant dense<[1.0, 4.0, 2.0]> : !v
  // CHECK: relax.divide %{{.*}} : (!relax.prim<f32>, tensor<3xf32>)
  // CHECK: relax.reshape %{{.*}} -> tensor<1x3x1x1xf32>
  // CHECK: relax.nn.conv2d
  // CHECK: relax.subtract
  // CHECK-NEXT: relax.return
  %c = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "IOHW" : (!x, tensor<2x3x1x1xf32>) -> !y
  %n = relax.nn.batch_norm %c, %g, %g, %v, %v axis -3 epsilon 1.0e-05 momentum 1.0e-01 no_center no_scale inference : (!y, !v, !v, !v, !v) -> !r
  %r = relax.get_item %n[0] : !r -> !y
  relax.return %r : !y
}

// -----

// Left alone: a weight that is no constant, a batch norm in training, another axis, and a
// result with other uses.

!x = tensor<1x3x3x3xf32>
!v = tensor<3xf32>
!k = tensor<3x3x1x1xf32>
!r = !relax.tuple<!x, !v, !v>

// CHECK-LABEL: relax.func @alone
relax.func @alone(%x: !x, %p: !k) -> !relax.tuple<!r, !x, !x, !x, !x> {
  // CHECK-NOT: relax.sqrt
  %w = relax.constant dense<0.5> : !k
  %g = relax.constant dense<[1.0, 2.0, 3.0]> : !v
  %a = relax.nn.conv2d %x, %p strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!x, !k) -> !x
  %b = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!x, !k) -> !x
  %c = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!x, !k) -> !x
  %d = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!x, !k) -> !x
  %na = relax.nn.batch_norm %a, %g, %g, %g, %g axis 1 epsilon 1.0e-05 momentum 1.0e-01 inference : (!x, !v, !v, !v, !v) -> !r
  %nb = relax.nn.batch_norm %b, %g, %g, %g, %g axis 1 epsilon 1.0e-05 momentum 1.0e-01 : (!x, !v, !v, !v, !v) -> !r
  %nc = relax.nn.batch_norm %c, %g, %g, %g, %g axis 2 epsilon 1.0e-05 momentum 1.0e-01 inference : (!x, !v, !v, !v, !v) -> !r
  %nd = relax.nn.batch_norm %d, %g, %g, %g, %g axis 1 epsilon 1.0e-05 momentum 1.0e-01 inference : (!x, !v, !v, !v, !v) -> !r
  %ra = relax.get_item %na[0] : !r -> !x
  %rb = relax.get_item %nb[0] : !r -> !x
  %rc = relax.get_item %nc[0] : !r -> !x
  %t = relax.tuple(%nd, %ra, %rb, %rc, %d) : !r, !x, !x, !x, !x
  relax.return %t : !relax.tuple<!r, !x, !x, !x, !x>
}

// -----

// The convolution cannot run later where its data is overwritten before, nor in a function
// literal in the place of once.

!x = tensor<1x2x4x4xf32>
!k = tensor<2x2x1x1xf32>
!v = tensor<2xf32>
!r = !relax.tuple<!x, !v, !v>

// CHECK-LABEL: relax.func @overwritten
relax.func @overwritten(%a: !x) -> !relax.tuple<!x, !x> {
  %w = relax.constant dense<2.0> : !k
  %g = relax.constant dense<1.0> : !v
  %x = relax.add %a, %a : (!x, !x) -> !x
  %c = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!x, !k) -> !x
  %z = relax.call_tir_inplace @clear(%x) inplace [0] : (!x) -> !x
  // CHECK: relax.nn.batch_norm %c
  %n = relax.nn.batch_norm %c, %g, %g, %g, %g axis 1 epsilon 1.0e-05 momentum 1.0e-01 inference : (!x, !v, !v, !v, !v) -> !r
  %y = relax.get_item %n[0] : !r -> !x
  %r = relax.tuple(%y, %z) : !x, !x
  relax.return %r : !relax.tuple<!x, !x>
}

// CHECK-LABEL: relax.func @literal
relax.func @literal(%x: !x) -> !x {
  %w = relax.constant dense<2.0> : !k
  %g = relax.constant dense<1.0> : !v
  // CHECK: %c = relax.nn.conv2d
  %c = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!x, !k) -> !x
  %f = relax.lambda() -> !x {
    // CHECK: relax.nn.batch_norm %c
    %n = relax.nn.batch_norm %c, %g, %g, %g, %g axis 1 epsilon 1.0e-05 momentum 1.0e-01 inference : (!x, !v, !v, !v, !v) -> !r
    %y = relax.get_item %n[0] : !r -> !x
    relax.return %y : !x
  }
  %r = relax.call_indirect %f() : !relax.func<() -> !x>, () -> !x
  relax.return %r : !x
}
tir.func @clear(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<1x2x4x4xf32>
  %c0 = tir.const 0 : i32
  %zero = tir.const 0.0 : f32
  tir.store %zero, %A[%c0, %c0, %c0, %c0] : f32
}
