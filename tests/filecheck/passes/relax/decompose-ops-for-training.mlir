// RUN: xdsl-opt %s -p relax-decompose-ops-for-training --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'relax-decompose-ops-for-training{func_name=other}' --split-input-file | filecheck %s --check-prefix OTHER
// TOLERANCE: 0.001

// OTHER: relax.nn.batch_norm

!x = tensor<2x3x4x4xf32>
!v = tensor<3xf32>
!r = !relax.tuple<!x, !v, !v>

// CHECK-LABEL: relax.func @images
relax.func @images(%x: !x, %g: !v, %b: !v, %m: !v, %v: !v) -> !r {
  // CHECK-NEXT: %[[M:.*]] = relax.mean %x axis [0, 2, 3]
  // CHECK-NEXT: %[[V:.*]] = relax.variance %x axis [0, 2, 3]
  // CHECK-NEXT: %[[N:.*]] = relax.expand_dims %[[M]] axis [0, 2, 3]
  // CHECK: relax.sqrt
  // CHECK: relax.subtract %x, %[[N]]
  // CHECK: %[[Y:.*]] = relax.add
  // CHECK-NEXT: relax.prim_value 9.0{{.*}}e-01 : f32
  // CHECK-NEXT: relax.multiply %{{.*}}, %m
  // CHECK-NEXT: relax.prim_value 1.0{{.*}}e-01 : f32
  // CHECK-NEXT: relax.multiply %{{.*}}, %[[M]]
  // CHECK-NEXT: %[[A:.*]] = relax.add
  // CHECK: %[[B:.*]] = relax.add
  // CHECK-NEXT: relax.tuple(%[[Y]], %[[A]], %[[B]])
  %r = relax.nn.batch_norm %x, %g, %b, %m, %v axis 1 epsilon 1.0e-03 momentum 1.0e-01 : (!x, !v, !v, !v, !v) -> !r
  relax.return %r : !r
}

// -----

// For inference the moving statistics are used; layers are normalized along their axes.

!x = tensor<2x3xf32>
!v = tensor<3xf32>
!r = !relax.tuple<!x, !v, !v>

// CHECK-LABEL: relax.func @inference
relax.func @inference(%x: !x, %g: !v, %b: !v, %m: !v, %w: !v) -> !r {
  // CHECK-NOT: relax.mean
  // CHECK: relax.tuple(%{{.*}}, %m, %{{.*}})
  %v = relax.nn.relu %w : (!v) -> !v
  %r = relax.nn.batch_norm %x, %g, %b, %m, %v axis 1 epsilon 1.0e-03 momentum 1.0e-01 inference : (!x, !v, !v, !v, !v) -> !r
  relax.return %r : !r
}

// CHECK-LABEL: relax.func @layers
relax.func @layers(%x: tensor<2x3x4xf32>, %g: tensor<2x4xf32>, %b: tensor<2x4xf32>) -> tensor<2x3x4xf32> {
  // CHECK-NEXT: %[[M:.*]] = relax.mean %x axis [0, 2] keepdims : {{.*}} -> tensor<1x3x1xf32>
  // CHECK-NEXT: %[[V:.*]] = relax.variance %x axis [0, 2] keepdims
  // CHECK: relax.subtract %x, %[[M]]
  // CHECK: relax.expand_dims %g axis [1]
  // CHECK: relax.expand_dims %b axis [1]
  // CHECK-NOT: relax.nn.layer_norm
  %r = relax.nn.layer_norm %x, %g, %b axes [0, -1] epsilon 1.0e-05 : (tensor<2x3x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x3x4xf32>
  relax.return %r : tensor<2x3x4xf32>
}

// CHECK-LABEL: relax.func @unordered
relax.func @unordered(%x: tensor<2x3x4xf32>, %g: tensor<4x2xf32>, %b: tensor<4x2xf32>) -> tensor<2x3x4xf32> {
  // CHECK-NEXT: relax.nn.layer_norm
  %r = relax.nn.layer_norm %x, %g, %b axes [2, 0] epsilon 1.0e-05 : (tensor<2x3x4xf32>, tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<2x3x4xf32>
  relax.return %r : tensor<2x3x4xf32>
}

// CHECK-LABEL: relax.func @shapes
relax.func @shapes(%t: tensor<2xi64>) -> !relax.shape<[?, ?]> {
  // CHECK: relax.match_cast %{{.*}} defines [x, x1]
  %a = relax.abs %t : (tensor<2xi64>) -> tensor<2xi64>
  %s = relax.tensor_to_shape %a : (tensor<2xi64>) -> !relax.shape<[?, ?]>
  relax.return %s : !relax.shape<[?, ?]>
}
