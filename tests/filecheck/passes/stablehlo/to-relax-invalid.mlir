// RUN: xdsl-opt %s -p stablehlo-to-relax --split-input-file --verify-diagnostics | filecheck %s

// CHECK: stablehlo-to-relax: stablehlo.custom_call: there is no function 'cholesky' here; export the program without calls of the platform's own functions
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = stablehlo.custom_call @cholesky(%x) {api_version = 2 : i32} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----

// CHECK: stablehlo-to-relax: stablehlo.atan2: the operation is not converted; docs/stablehlo.md lists those that are
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.atan2 %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK: stablehlo-to-relax: func.func: the shape of tensor<?xf32> is not known; export the program for one shape, without symbolic dimensions
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.abs %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// CHECK: stablehlo-to-relax: stablehlo.while: the condition always holds; the loop never ends
func.func @main() -> tensor<i32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.while(%i = %z) : tensor<i32>
  cond {
    %c = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    stablehlo.return %i : tensor<i32>
  }
  return %0 : tensor<i32>
}

// -----

// CHECK: stablehlo-to-relax: func.call: @main calls itself; recursion is not converted
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.abs %x : tensor<4xf32>
  %1 = func.call @main(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// CHECK: stablehlo-to-relax: stablehlo.reduce: its body is not converted; it must be one of add, multiply, maximum, minimum, of bools and, or, or keep the greatest or least element with its index
func.func @main(%x: tensor<4xf32>, %i: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.subtract across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// CHECK: stablehlo-to-relax: stablehlo.convert: relax.astype: dtype must be an integer or float, not complex<f32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xcomplex<f32>>
  return %x : tensor<4xf32>
}

// -----

// CHECK: stablehlo-to-relax: stablehlo.power: it is not converted for elements of i1
func.func @main(%x: tensor<4xi1>) -> tensor<4xi1> {
  %0 = stablehlo.power %x, %x : tensor<4xi1>
  return %0 : tensor<4xi1>
}

// -----

// CHECK: stablehlo-to-relax: stablehlo.rng_bit_generator: a state of three elements is not converted, only of two
func.func @main(%s: tensor<3xui64>) -> tensor<4xui32> {
  %0, %1 = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  return %1 : tensor<4xui32>
}

// -----

// CHECK: stablehlo-to-relax: chlo.erf_inv: it is not converted for elements of f64
func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = chlo.erf_inv %x : tensor<4xf64> -> tensor<4xf64>
  return %0 : tensor<4xf64>
}
