// RUN: xdsl-opt %s -p stablehlo-to-relax --split-input-file | filecheck %s

// Public functions become functions of Relax; calls are inlined, and private functions
// are erased. A constant initial value that changes nothing is left out.

// CHECK-LABEL: relax.func @main(%{{.*}}: tensor<2x4xf32>, %{{.*}}: tensor<4x3xf32>) -> tensor<2x3xf32> attributes {global_symbol = "main"} {
// CHECK: relax.dataflow -> (tensor<2x3xf32>) {
// CHECK-NEXT: %[[P:.*]] = relax.matmul %{{.*}}, %{{.*}} :
// CHECK-NEXT: %[[Z:.*]] = relax.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[S:.*]] = relax.shape [2, 3]
// CHECK-NEXT: %[[B:.*]] = relax.broadcast_to %[[Z]], %[[S]]
// CHECK-NEXT: %[[R:.*]] = relax.maximum %[[P]], %[[B]]
// CHECK-NEXT: relax.output %[[R]]
// CHECK-NOT: func.func
func.func public @main(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %1 = func.call @relu(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}
func.func private @relu(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
  %2 = stablehlo.maximum %x, %1 : tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}

// -----

// Several results become a tuple. What is not used is not there.

// CHECK-LABEL: relax.func @two
// CHECK: %[[T:.*]] = relax.tuple
// CHECK-NEXT: relax.output %[[T]]
// CHECK-NOT: relax.exp
func.func @two(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
  %i = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.maximum across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.exponential %x : tensor<4xf32>
  return %x, %0 : tensor<4xf32>, tensor<f32>
}

// -----

// The greatest element with its index is recognized by what the body computes.

// CHECK-LABEL: relax.func @best
// CHECK: %[[I:.*]] = relax.argmax %{{.*}} axis 1
// CHECK: relax.astype %[[I]] dtype i32
func.func @best(%x: tensor<3x4xf32>) -> tensor<3xi32> {
  %0 = stablehlo.iota dim = 1 : tensor<3x4xi32>
  %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %1:2 = stablehlo.reduce(%x init: %cst), (%0 init: %c) across dimensions = [1] : (tensor<3x4xf32>, tensor<3x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>)  {
    %2 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = stablehlo.or %2, %3 : tensor<i1>
    %5 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %6 = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %7 = stablehlo.and %5, %6 : tensor<i1>
    %8 = stablehlo.or %4, %7 : tensor<i1>
    %9 = stablehlo.select %4, %a, %b : tensor<i1>, tensor<f32>
    %10 = stablehlo.select %8, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %9, %10 : tensor<f32>, tensor<i32>
  }
  return %1#1 : tensor<3xi32>
}

// -----

// Rows of a table are a relax.take of indices that are moved into it.

// CHECK-LABEL: relax.func @rows
// CHECK: relax.minimum
// CHECK: relax.take %{{.*}}, %{{.*}} axis 0
func.func @rows(%t: tensor<10x4xf32>, %i: tensor<2x3x1xi32>) -> tensor<2x3x4xf32> {
  %0 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// -----

// A branch on what is not known is a relax.if, with dataflow blocks in and around it.

// CHECK-LABEL: relax.func @branch
// CHECK: relax.if
// CHECK: relax.yield
func.func @branch(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.if"(%p) ({
    %1 = stablehlo.abs %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A loop of which the number of steps is not known is a function that calls itself.

// CHECK-LABEL: relax.func @loop
// CHECK: %[[R:.*]] = relax.call @while_0(%x) : (tensor<i32>) -> tensor<i32>
// CHECK-NEXT: relax.return %[[R]]
// CHECK-LABEL: relax.func @while_0(%0: tensor<i32>) -> tensor<i32> {
// CHECK: relax.less
// CHECK: relax.if
// CHECK: relax.add
// CHECK: %[[A:.*]] = relax.call @while_0(
// CHECK-NEXT: relax.yield %[[A]]
// CHECK: } else {
// CHECK-NEXT: relax.yield %0
func.func @loop(%x: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.while(%i = %x) : tensor<i32>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %i : tensor<i32>
    stablehlo.return %j : tensor<i32>
  }
  return %0 : tensor<i32>
}

// -----

// Functions without operations of StableHLO stay.

// CHECK-LABEL: func.func @other
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
