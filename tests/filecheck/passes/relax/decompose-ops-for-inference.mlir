// RUN: xdsl-opt %s -p relax-decompose-ops-for-inference --split-input-file --allow-unregistered-dialect | filecheck %s
// RUN: xdsl-opt %s -p 'relax-decompose-ops-for-inference{func_name=vectors}' --split-input-file --allow-unregistered-dialect | filecheck %s --check-prefix ONE

// ONE-LABEL: relax.func @images
// ONE: relax.nn.batch_norm

!x = tensor<2x3x4x4xf32>
!v = tensor<3xf32>
!r = !relax.tuple<!x, !v, !v>

// CHECK-LABEL: relax.func @images
relax.func @images(%x: !x, %g: !v, %b: !v, %m: !v, %v: !v) -> !r {
  // CHECK: %[[M:.*]] = relax.expand_dims %m axis [0, 2, 3] : (tensor<3xf32>) -> tensor<1x3x1x1xf32>
  // CHECK-NEXT: %[[V:.*]] = relax.expand_dims %v
  // CHECK-NEXT: %[[E:.*]] = relax.prim_value {{.*}} : f32
  // CHECK-NEXT: %[[S:.*]] = relax.add %[[V]], %[[E]]
  // CHECK-NEXT: %[[ROOT:.*]] = relax.sqrt %[[S]]
  // CHECK-NEXT: %[[C:.*]] = relax.subtract %x, %[[M]]
  // CHECK-NEXT: %[[D:.*]] = relax.divide %[[C]], %[[ROOT]]
  // CHECK-NEXT: %[[G:.*]] = relax.expand_dims %g
  // CHECK-NEXT: %[[P:.*]] = relax.multiply %[[D]], %[[G]]
  // CHECK-NEXT: %[[B:.*]] = relax.expand_dims %b
  // CHECK-NEXT: %[[Y:.*]] = relax.add %[[P]], %[[B]]
  // CHECK-NEXT: relax.tuple(%[[Y]], %m, %v)
  %w = relax.nn.relu %v : (!v) -> !v
  %r = relax.nn.batch_norm %x, %g, %b, %m, %v axis 1 epsilon 1.0e-03 momentum 1.0e-01 inference : (!x, !v, !v, !v, !v) -> !r
  relax.return %r : !r
}

// -----

// On vectors nothing is expanded; scale and center can be left out. A result whose type
// is known less of keeps it.

!v = tensor<3xf32>
!s = tensor<?xf32, #relax.dims<[n]>>
!r = !relax.tuple<tensor<?xf32>, !s, !s>

// CHECK-LABEL: relax.func @vectors
// ONE-LABEL: relax.func @vectors
// ONE-NOT: relax.nn.batch_norm
relax.func @vectors<n>(%x: !s, %g: !s, %b: !s, %m: !s, %v: !s) -> !r {
  // CHECK-NOT: relax.expand_dims
  // CHECK: relax.divide
  // CHECK-NOT: relax.multiply
  // CHECK: relax.alias %{{.*}} -> tensor<?xf32>
  %r = relax.nn.batch_norm %x, %g, %b, %m, %v axis 0 epsilon 1.0 momentum 1.0e-01 no_center no_scale inference : (!s, !s, !s, !s, !s) -> !r
  relax.return %r : !r
}

// -----

// Also what is said to be for training, which makes it another function.

!x = tensor<2x3xf16>
!v = tensor<3xf16>
!r = !relax.tuple<!x, !v, !v>

// CHECK-LABEL: relax.func @training
// ONE-LABEL: relax.func @training
relax.func @training(%x: !x, %g: !v, %b: !v, %m: !v, %v: !v) -> !r {
  // CHECK-NOT: relax.nn.batch_norm
  %y = "test.foreign"(%x) : (!x) -> !x
  %r = relax.nn.batch_norm %y, %g, %b, %m, %v axis -1 epsilon 1.0e-03 momentum 1.0e-01 : (!x, !v, !v, !v, !v) -> !r
  relax.return %r : !r
}

// -----

// Shapes that tensors hold: new symbols, unless they are cast already.

// CHECK-LABEL: relax.func @shapes
relax.func @shapes<x>(%s: tensor<2xi64>, %y: tensor<?xf32, #relax.dims<[x]>>) -> !relax.shape<[?, ?]> {
  // CHECK: %[[S:.*]] = relax.tensor_to_shape %s
  // CHECK-NEXT: relax.match_cast %[[S]] defines [x1, x2] : !relax.shape<[?, ?]> -> !relax.shape<[x1, x2]>
  // CHECK-NEXT: %[[T:.*]] = relax.shape [x1, x2]
  // CHECK-NEXT: relax.alias %[[T]] : !relax.shape<[x1, x2]> -> !relax.shape<[?, ?]>
  %t = relax.tensor_to_shape %s : (tensor<2xi64>) -> !relax.shape<[?, ?]>
  relax.return %t : !relax.shape<[?, ?]>
}
// CHECK-LABEL: relax.func @cast
relax.func @cast(%s: tensor<1xi64>) -> !relax.shape<[?]> {
  // CHECK: relax.tensor_to_shape
  // CHECK-NEXT: relax.match_cast
  // CHECK-NEXT: relax.shape [k]
  // CHECK-NEXT: relax.alias
  // CHECK-NEXT: relax.return
  %t = relax.tensor_to_shape %s : (tensor<1xi64>) -> !relax.shape<[?]>
  %u = relax.match_cast %t defines [k] : !relax.shape<[?]> -> !relax.shape<[k]>
  %v = relax.shape [k]
  %w = relax.alias %v : !relax.shape<[k]> -> !relax.shape<[?]>
  relax.return %w : !relax.shape<[?]>
}

// -----

// What is not known well enough stays.

!v = tensor<3xf32>
!r = !relax.tuple<tensor<*xf32>, !v, !v>

// CHECK-LABEL: relax.func @unknown
relax.func @unknown(%x: tensor<*xf32>, %v: !v, %s: tensor<?xi64>) -> !r {
  // CHECK: relax.nn.batch_norm
  // CHECK-NEXT: relax.tensor_to_shape
  // CHECK-NEXT: relax.return
  %r = relax.nn.batch_norm %x, %v, %v, %v, %v axis 1 epsilon 1.0e-05 momentum 1.0e-01 inference : (tensor<*xf32>, !v, !v, !v, !v) -> !r
  %t = relax.tensor_to_shape %s : (tensor<?xi64>) -> !relax.shape<*>
  relax.return %r : !r
}
