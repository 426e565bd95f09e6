// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// CHECK: stablehlo.add: the result must have the shape [3], not [4]
%0 = "test.op"() : () -> tensor<3xf32>
%1 = "stablehlo.add"(%0, %0) : (tensor<3xf32>, tensor<3xf32>) -> tensor<4xf32>

// -----

// CHECK: stablehlo.compare: elements must be i1, not f32
%0 = "test.op"() : () -> tensor<3xf32>
%1 = stablehlo.compare EQ, %0, %0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>

// -----

// CHECK: stablehlo.transpose: dims must be different dimensions from 0 to 1, not [1, 1]
%0 = "test.op"() : () -> tensor<3x3xf32>
%1 = stablehlo.transpose %0, dims = [1, 1] : (tensor<3x3xf32>) -> tensor<3x3xf32>

// -----

// CHECK: stablehlo.slice: 1:9:1 is no slice of 3 elements
%0 = "test.op"() : () -> tensor<3xf32>
%1 = stablehlo.slice %0 [1:9] : (tensor<3xf32>) -> tensor<8xf32>

// -----

// CHECK: stablehlo.dot_general: an extent of 3 is not one of 4
%0 = "test.op"() : () -> tensor<3xf32>
%1 = "test.op"() : () -> tensor<4xf32>
%2 = stablehlo.dot_general %0, %1, contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<4xf32>) -> tensor<f32>

// -----

// CHECK: stablehlo.reduce: the parameters of its body must be tensor<f32>, tensor<f32>
%0 = "test.op"() : () -> tensor<3xf32>
%1 = "test.op"() : () -> tensor<f32>
%2 = "stablehlo.reduce"(%0, %1) <{dimensions = array<i64: 0>}> ({
^bb0(%a: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<3xf32>, tensor<f32>) -> tensor<f32>

// -----

// CHECK: stablehlo.conv: a layout must hold b, f and the numbers of 1 spatial dimensions, not ['b', 'b', 0]
"test.op"() {a = #stablehlo.conv<[b, b, 0]x[o, i, 0]->[b, f, 0]>} : () -> ()

// -----

// CHECK: stablehlo.gather: 'x' is not one of offset_dims, collapsed_slice_dims, operand_batching_dims, start_indices_batching_dims, start_index_map, index_vector_dim, once
"test.op"() {a = #stablehlo.gather<x = [0]>} : () -> ()

// -----

// CHECK: stablehlo.while: its bodies must end in a stablehlo.return of tensor<i1>
%0 = "test.op"() : () -> tensor<i32>
%1 = stablehlo.while(%a = %0) : tensor<i32> cond {
  stablehlo.return %a : tensor<i32>
} do {
  stablehlo.return %a : tensor<i32>
}

// -----

// CHECK: stablehlo.constant: the value must be dense<…>, not string
%0 = stablehlo.constant "a"

// -----

// CHECK: stablehlo.rng_bit_generator: the state must be a vector of ui64
%0 = "test.op"() : () -> tensor<2xui32>
%1, %2 = stablehlo.rng_bit_generator %0, algorithm = PHILOX : (tensor<2xui32>) -> (tensor<2xui32>, tensor<8xui32>)

// -----

// CHECK: stablehlo.rng_bit_generator: the state must have 2 elements, not 3
%0 = "test.op"() : () -> tensor<3xui64>
%1, %2 = stablehlo.rng_bit_generator %0, algorithm = THREE_FRY : (tensor<3xui64>) -> (tensor<3xui64>, tensor<8xui32>)

// -----

// CHECK: stablehlo.rng_bit_generator: the next state has shape [3], not [2]
%0 = "test.op"() : () -> tensor<2xui64>
%1, %2 = stablehlo.rng_bit_generator %0, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<3xui64>, tensor<8xui32>)
