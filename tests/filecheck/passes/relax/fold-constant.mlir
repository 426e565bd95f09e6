// RUN: xdsl-opt %s -p relax-fold-constant --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'relax-fold-constant{max_elements=2}' --split-input-file | filecheck %s --check-prefix=SMALL

// CASE: FoldConstant.1, FoldConstant.2, FoldConstant.6
// Calls of TIR functions, one after the other, in and outside of dataflow blocks. One
// argument that is no constant keeps a call.

// CHECK-LABEL: relax.func @chain
// CHECK-NEXT: relax.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]>
// CHECK-NEXT: %[[A:.*]] = relax.constant dense<[2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<3xf32>
// CHECK-NEXT: %[[R:.*]], %[[S:.*]] = relax.dataflow
// CHECK-NEXT:   %[[B:.*]] = relax.constant dense<[3.000000e+00, 4.000000e+00, 5.000000e+00]> : tensor<3xf32>
// CHECK-NEXT:   %[[C:.*]] = relax.call_tir @add_one(%x)
// CHECK-NEXT:   relax.output %[[B]], %[[C]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[D:.*]] = relax.constant dense<[4.000000e+00, 5.000000e+00, 6.000000e+00]> : tensor<3xf32>
// CHECK-NEXT: relax.add %[[D]], %[[S]]
// SMALL-LABEL: relax.func @chain
// SMALL-COUNT-4: relax.call_tir
relax.func @chain(%x: tensor<3xf32>) -> tensor<3xf32> {
  %c = relax.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %a = relax.call_tir @add_one(%c) : (tensor<3xf32>) -> tensor<3xf32>
  %r, %s = relax.dataflow -> (tensor<3xf32>, tensor<3xf32>) {
    %b = relax.call_tir @add_one(%a) : (tensor<3xf32>) -> tensor<3xf32>
    %c1 = relax.call_tir @add_one(%x) : (tensor<3xf32>) -> tensor<3xf32>
    relax.output %b, %c1 : tensor<3xf32>, tensor<3xf32>
  }
  %d = relax.call_tir @add_one(%r) : (tensor<3xf32>) -> tensor<3xf32>
  %e = relax.add %d, %s : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  relax.return %e : tensor<3xf32>
}
tir.func @add_one(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<3xf32>
  %B = tir.match_buffer %b : !tir.buffer<3xf32>
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  tir.for %i = %c0 to %c3 {
    %x = tir.load %A[%i] : f32
    %one = tir.const 1.0 : f32
    %y = tir.add %x, %one : f32
    tir.store %y, %B[%i] : f32
  }
}

// -----

// CASE: FoldConstant.3, FoldConstant.4
// Results of unknown shape, and several results, are left; so is a function that reads
// out of bounds, and a result that is written in place.

// CHECK-LABEL: relax.func @kept
// CHECK: relax.call_tir @dynamic
// CHECK: relax.call_tir @two
// CHECK: relax.call_tir @bad
// CHECK: relax.call_tir @fill
// CHECK: relax.call_tir_inplace @fill
relax.func @kept<n>(%n: !relax.shape<[n]>) -> tensor<2xf32> {
  %c = relax.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %a = relax.call_tir @dynamic(%c) : (tensor<2xf32>) -> tensor<?xf32, #relax.dims<[n]>>
  %b = relax.call_tir @two(%c) : (tensor<2xf32>) -> !relax.tuple<tensor<2xf32>, tensor<2xf32>>
  %d = relax.call_tir @bad(%c) : (tensor<2xf32>) -> tensor<2xf32>
  %e = relax.call_tir @fill() : () -> tensor<2xf32>
  %f = relax.call_tir_inplace @fill(%e) inplace [0] : (tensor<2xf32>) -> tensor<2xf32>
  relax.return %f : tensor<2xf32>
}
tir.func @dynamic(%a: !tir.handle, %b: !tir.handle) {
}
tir.func @two(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
}
tir.func @bad(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<2xf32>
  %B = tir.match_buffer %b : !tir.buffer<2xf32>
  %c2 = tir.const 2 : i32
  %x = tir.load %A[%c2] : f32
  tir.store %x, %B[%c2] : f32
}
tir.func @fill(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<2xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  tir.for %i = %c0 to %c2 {
    %one = tir.const 1.0 : f32
    tir.store %one, %A[%i] : f32
  }
}

// -----

// CASE: FoldConstant.5
// Operators are folded in dataflow blocks only, whatever kind their operands are.

// CHECK-LABEL: relax.func @operators
// CHECK: relax.add
// CHECK: relax.dataflow
// CHECK: %[[A:.*]] = relax.constant dense<[2.000000e+00, 4.000000e+00]> : tensor<2xf32>
// CHECK: %[[Z:.*]] = relax.constant dense<0.000000e+00> : tensor<1x2xf32>
// CHECK: %[[T:.*]] = relax.constant dense<[[2.000000e+00, 4.000000e+00], [0.000000e+00, 0.000000e+00]]> : tensor<2x2xf32>
// CHECK: relax.output %[[T]]
relax.func @operators() -> !relax.tuple<tensor<2xf32>, tensor<2x2xf32>> {
  %c = relax.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %o = relax.add %c, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %r = relax.dataflow -> (tensor<2x2xf32>) {
    %a = relax.add %c, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %s = relax.shape [1, 2]
    %z = relax.zeros %s dtype f32 : (!relax.shape<[1, 2]>) -> tensor<1x2xf32>
    %b = relax.reshape %a, %s : (tensor<2xf32>, !relax.shape<[1, 2]>) -> tensor<1x2xf32>
    %p = relax.tuple(%b, %z) : tensor<1x2xf32>, tensor<1x2xf32>
    %t = relax.concat %p axis 0 : (!relax.tuple<tensor<1x2xf32>, tensor<1x2xf32>>) -> tensor<2x2xf32>
    relax.output %t : tensor<2x2xf32>
  }
  %q = relax.tuple(%o, %r) : tensor<2xf32>, tensor<2x2xf32>
  relax.return %q : !relax.tuple<tensor<2xf32>, tensor<2x2xf32>>
}

// -----

// Shapes and tensors of integers turn into each other. Operators use the shape that has
// become known; a symbolic shape and a type that promises less are left.

// CHECK-LABEL: relax.func @shapes
// CHECK: relax.dataflow
// CHECK: %[[S:.*]] = relax.shape [2, 3]
// CHECK-NEXT: %[[N:.*]] = relax.alias %[[S]] : !relax.shape<[2, 3]> -> !relax.shape<[?, ?]>
// CHECK-NEXT: relax.reshape %x, %[[S]] : (tensor<6xf32>, !relax.shape<[2, 3]>) -> tensor<?x?xf32>
// CHECK-NEXT: relax.constant dense<[2, 3]> : tensor<2xi64>
// CHECK-NEXT: relax.tuple(%[[N]])
// CHECK-NEXT: %{{.*}} = relax.shape [n]
// CHECK-NEXT: relax.shape_to_tensor
// CHECK-NEXT: relax.add
relax.func @shapes<n>(%x: tensor<6xf32>, %y: tensor<?xf32, #relax.dims<[n]>>) -> !relax.object {
  %r = relax.dataflow -> (!relax.object) {
    %c = relax.constant dense<[2, 3]> : tensor<2xi64>
    %s = relax.tensor_to_shape %c : (tensor<2xi64>) -> !relax.shape<[?, ?]>
    %a = relax.reshape %x, %s : (tensor<6xf32>, !relax.shape<[?, ?]>) -> tensor<?x?xf32>
    %t = relax.shape_to_tensor %s : (!relax.shape<[?, ?]>) -> tensor<2xi64>
    %p = relax.tuple(%s) : !relax.shape<[?, ?]>
    %m = relax.shape [n]
    %u = relax.shape_to_tensor %m : (!relax.shape<[n]>) -> tensor<1xi64>
    %w = relax.add %c, %c : (tensor<2xi64>, tensor<2xi64>) -> tensor<?xi64>
    %o = relax.alias %a : tensor<?x?xf32> -> !relax.object
    relax.output %o : !relax.object
  }
  relax.return %r : !relax.object
}

// -----

// An operator that no shape fits fails when it runs.

// CHECK-LABEL: relax.func @fails
// CHECK: %[[S:.*]] = relax.shape [2, 4]
// CHECK-NEXT: %[[N:.*]] = relax.alias %[[S]]
// CHECK-NEXT: relax.reshape %x, %[[N]]
relax.func @fails(%x: tensor<6xf32>) -> tensor<?x?xf32> {
  %r = relax.dataflow -> (tensor<?x?xf32>) {
    %c = relax.constant dense<[2, 4]> : tensor<2xi64>
    %s = relax.tensor_to_shape %c : (tensor<2xi64>) -> !relax.shape<[?, ?]>
    %a = relax.reshape %x, %s : (tensor<6xf32>, !relax.shape<[?, ?]>) -> tensor<?x?xf32>
    relax.output %a : tensor<?x?xf32>
  }
  relax.return %r : tensor<?x?xf32>
}
