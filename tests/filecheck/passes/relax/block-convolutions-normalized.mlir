// RUN: xdsl-opt %s -p 'relax-combine-channel-scaling,relax-block-convolutions{lanes=2}' | filecheck %s
// TOLERANCE: 0.0001

// A dense block: what is normalized is no result of a convolution alone, and is used
// twice. Only the data of the first and the result of the last have other layouts.

!x = tensor<1x2x4x4xf32>
!y = tensor<1x4x4x4xf32>
!v = tensor<4xf32>

// CHECK-LABEL: relax.func @dense
// CHECK: relax.layout_transform %x
// CHECK: %[[A:.*]] = relax.nn.conv2d {{.*}} layout "NCHW2c"
// CHECK: %[[T:.*]] = relax.tuple(%[[A]], %{{.*}})
// CHECK: relax.concat %[[T]] axis 1
// CHECK-NOT: relax.layout_transform %c
// CHECK: %[[M:.*]] = relax.multiply %{{.*}} : (tensor<1x2x4x4x2xf32>, tensor<2x1x1x2xf32>)
// CHECK: %[[S:.*]] = relax.add %[[M]], %{{.*}} : (tensor<1x2x4x4x2xf32>, tensor<2x1x1x2xf32>)
// CHECK-NEXT: %[[R:.*]] = relax.nn.relu %[[S]]
// CHECK: relax.nn.conv2d %[[R]], {{.*}} layout "NCHW2c"
// CHECK: relax.layout_transform
// CHECK-NOT: relax.layout_transform
relax.func @dense(%x: !x) -> !y attributes {global_symbol = "dense"} {
  %w = relax.constant dense<0.5> : tensor<2x2x1x1xf32>
  %u = relax.constant dense<0.25> : tensor<4x4x1x1xf32>
  %g = relax.constant dense<[1.0, 2.0, 3.0, 4.0]> : !v
  %s = relax.constant dense<2.0> : tensor<4x1x1xf32>
  %y = relax.dataflow -> (!y) {
    %a = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!x, tensor<2x2x1x1xf32>) -> !x
    %b = relax.nn.relu %a : (!x) -> !x
    %t = relax.tuple(%a, %b) : !x, !x
    %c = relax.concat %t axis 1 : (!relax.tuple<!x, !x>) -> !y
    %n = relax.nn.batch_norm %c, %g, %g, %g, %g axis 1 epsilon 1.0e-05 momentum 1.0e-01 inference : (!y, !v, !v, !v, !v) -> !relax.tuple<!y, !v, !v>
    %d = relax.get_item %n[0] : !relax.tuple<!y, !v, !v> -> !y
    %e = relax.multiply %d, %s : (!y, tensor<4x1x1xf32>) -> !y
    %f = relax.nn.relu %e : (!y) -> !y
    %h = relax.nn.conv2d %f, %u strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!y, tensor<4x4x1x1xf32>) -> !y
    %i = relax.add %c, %h : (!y, !y) -> !y
    relax.output %i : !y
  }
  relax.return %y : !y
}
