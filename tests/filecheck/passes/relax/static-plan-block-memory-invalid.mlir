// RUN: xdsl-opt %s -p relax-static-plan-block-memory --split-input-file --verify-diagnostics | filecheck %s

// CASE: StaticPlanBlockMemory.18

// CHECK: relax-static-plan-block-memory: relax.func @main: tir_var_upper_bound of 'n' is [4 : i64]; write an integer larger than 0
relax.func @main<n>(%x: tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32> attributes {tir_var_upper_bound = {n = [4 : i64]}} {
  relax.return %x : tensor<?xf32, #relax.dims<[n]>>
}

// -----

// CHECK: relax-static-plan-block-memory: relax.func @main: tir_var_upper_bound of 'n' is 0 : i64; write an integer larger than 0
relax.func @main<n>(%x: tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32> attributes {tir_var_upper_bound = {n = 0 : i64}} {
  relax.return %x : tensor<?xf32, #relax.dims<[n]>>
}

// -----

// A name that no parameter defines is checked as well.

// CHECK: relax-static-plan-block-memory: relax.func @main: tir_var_upper_bound of 'k' is 4.000000e+00 : f32; write an integer larger than 0
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tir_var_upper_bound = {k = 4.0 : f32}} {
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: relax-static-plan-block-memory: relax.func @main: tir_var_upper_bound of 'k' is true; write an integer larger than 0
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tir_var_upper_bound = {k = true}} {
  relax.return %x : tensor<4xf32>
}

// -----

// Keys of a dictionary are strings; pairs with other keys are not taken.

// CHECK: relax-static-plan-block-memory: relax.func @main: tir_var_upper_bound is [[1 : i64, 4 : i64]]; write a dictionary from names of symbols to integers
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tir_var_upper_bound = [[1 : i64, 4 : i64]]} {
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: relax-static-plan-block-memory: relax.func @main: tir_non_negative_var is ["n", 4 : i64]; write an array of strings
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tir_non_negative_var = ["n", 4 : i64]} {
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: relax-static-plan-block-memory: relax.builtin.alloc_tensor makes a tensor<4xindex>, whose elements have no size in bytes; use an integer or a float type
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xindex>
  relax.return %x : tensor<4xf32>
}
