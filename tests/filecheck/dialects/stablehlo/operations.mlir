// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s --check-prefix=GENERIC

// The custom syntax is that of texts that JAX prints, and the generic one is read, too.

// CHECK-LABEL: func.func @shapes
// GENERIC-LABEL: func.func @shapes
func.func @shapes(%x: tensor<2x4xf32>, %s: tensor<f32>, %i: tensor<i32>, %u: tensor<1x2xf32>) {
  // CHECK: stablehlo.constant dense<[0xff800000, 1.000000e+00]> : tensor<2xf32>
  %0 = stablehlo.constant dense<[0xFF800000, 1.0]> : tensor<2xf32>
  // CHECK-NEXT: stablehlo.iota dim = 1 : tensor<2x4xi32>
  // GENERIC: stablehlo.iota dim = 1 : tensor<2x4xi32>
  %1 = stablehlo.iota dim = 1 : tensor<2x4xi32>
  // CHECK-NEXT: stablehlo.broadcast_in_dim %x, dims = [2, 0] : (tensor<2x4xf32>) -> tensor<4x3x2xf32>
  // GENERIC-NEXT: stablehlo.broadcast_in_dim %x, dims = [2, 0] : (tensor<2x4xf32>) -> tensor<4x3x2xf32>
  %2 = stablehlo.broadcast_in_dim %x, dims = [2, 0] : (tensor<2x4xf32>) -> tensor<4x3x2xf32>
  // CHECK-NEXT: stablehlo.reshape %x : (tensor<2x4xf32>) -> tensor<8xf32>
  %3 = stablehlo.reshape %x : (tensor<2x4xf32>) -> tensor<8xf32>
  // CHECK-NEXT: stablehlo.transpose %x, dims = [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %4 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32>
  // CHECK-NEXT: stablehlo.reverse %x, dims = [0] : tensor<2x4xf32>
  %5 = stablehlo.reverse %x, dims = [0] : tensor<2x4xf32>
  // CHECK-NEXT: stablehlo.slice %x [0:2, 1:4:2] : (tensor<2x4xf32>) -> tensor<2x2xf32>
  %6 = stablehlo.slice %x [0:2, 1:4:2] : (tensor<2x4xf32>) -> tensor<2x2xf32>
  // CHECK-NEXT: stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 2] : (tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
  %7 = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 2] : (tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
  // CHECK-NEXT: stablehlo.dynamic_update_slice %x, %u, %i, %i : (tensor<2x4xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
  %8 = stablehlo.dynamic_update_slice %x, %u, %i, %i : (tensor<2x4xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
  // CHECK-NEXT: stablehlo.pad %x, %s, low = [1, 0], high = [0, -1], interior = [0, 0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<3x3xf32>
  %9 = stablehlo.pad %x, %s, low = [1, 0], high = [0, -1], interior = [0, 0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<3x3xf32>
  // CHECK-NEXT: stablehlo.concatenate %x, %x, dim = 0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %10 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  return
}

// CHECK-LABEL: func.func @elements
func.func @elements(%x: tensor<4xf32>, %y: tensor<4xf32>, %p: tensor<4xi1>, %s: tensor<f32>) {
  // CHECK: stablehlo.add %x, %y : tensor<4xf32>
  %0 = stablehlo.add %x, %y : tensor<4xf32>
  // CHECK-NEXT: stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi32>
  %1 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi32>
  // CHECK-NEXT: stablehlo.convert %x : tensor<4xf32>
  %2 = stablehlo.convert %x : tensor<4xf32>
  // CHECK-NEXT: stablehlo.compare LT, %x, %y, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %3 = stablehlo.compare LT, %x, %y, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK-NEXT: stablehlo.select %p, %x, %y : tensor<4xi1>, tensor<4xf32>
  %4 = stablehlo.select %p, %x, %y : tensor<4xi1>, tensor<4xf32>
  // CHECK-NEXT: stablehlo.clamp %s, %x, %s : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %5 = stablehlo.clamp %s, %x, %s : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK-NEXT: stablehlo.reduce_precision %x, format = e5m10 : tensor<4xf32>
  %6 = stablehlo.reduce_precision %x, format = e5m10 : tensor<4xf32>
  // CHECK-NEXT: stablehlo.is_finite %x : (tensor<4xf32>) -> tensor<4xi1>
  %7 = stablehlo.is_finite %x : (tensor<4xf32>) -> tensor<4xi1>
  // CHECK-NEXT: chlo.erf %x : tensor<4xf32> -> tensor<4xf32>
  %8 = chlo.erf %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: chlo.top_k(%x, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
  %9, %10 = chlo.top_k(%x, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
  return
}

// CHECK-LABEL: func.func @contractions
func.func @contractions(%x: tensor<1x8x8x3xf32>, %w: tensor<3x3x3x4xf32>, %a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>) {
  // CHECK: stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  // CHECK-NEXT: stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = {{\[\[}}1, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x4x7x4xf32>
  %1 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x4x7x4xf32>
  return
}

// CHECK-LABEL: func.func @bodies
func.func @bodies(%x: tensor<2x4xf32>, %i: tensor<2x4xi32>, %s: tensor<f32>, %n: tensor<i32>, %p: tensor<i1>) {
  // CHECK: stablehlo.reduce(%x init: %s) applies stablehlo.add across dimensions = [1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
  %0 = stablehlo.reduce(%x init: %s) applies stablehlo.add across dimensions = [1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
  // CHECK: stablehlo.reduce(%x init: %s), (%i init: %n) across dimensions = [1] : (tensor<2x4xf32>, tensor<2x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>) reducer(%a: tensor<f32>, %b: tensor<f32>) (%j: tensor<i32>, %k: tensor<i32>) {
  %1:2 = stablehlo.reduce(%x init: %s), (%i init: %n) across dimensions = [1] : (tensor<2x4xf32>, tensor<2x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%j: tensor<i32>, %k: tensor<i32>) {
    stablehlo.return %a, %k : tensor<f32>, tensor<i32>
  }
  // CHECK: = stablehlo.while(%c = %n, %d = %x) : tensor<i32>, tensor<2x4xf32> cond {
  // CHECK: } do {
  // CHECK-NEXT: stablehlo.return %c, %d : tensor<i32>, tensor<2x4xf32>
  %2:2 = stablehlo.while(%c = %n, %d = %x) : tensor<i32>, tensor<2x4xf32>
  cond {
    stablehlo.return %p : tensor<i1>
  } do {
    stablehlo.return %c, %d : tensor<i32>, tensor<2x4xf32>
  }
  // CHECK: stablehlo.custom_call @f(%x) {api_version = 2 : i32} : (tensor<2x4xf32>) -> tensor<4xf32>
  %3 = stablehlo.custom_call @f(%x) {api_version = 2 : i32} : (tensor<2x4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: stablehlo.composite "a.b" %x {decomposition = @bodies} : (tensor<2x4xf32>) -> tensor<4xf32>
  %4 = stablehlo.composite "a.b" %x {decomposition = @bodies} : (tensor<2x4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: stablehlo.optimization_barrier %x, %s : tensor<2x4xf32>, tensor<f32>
  %5:2 = stablehlo.optimization_barrier %x, %s : tensor<2x4xf32>, tensor<f32>
  return
}

// CHECK-LABEL: func.func @random_bits
func.func @random_bits(%s: tensor<2xui64>, %x: tensor<4xf32>) {
  // CHECK: stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
  %0, %1 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
  // CHECK-NEXT: stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui64>)
  %2, %3 = "stablehlo.rng_bit_generator"(%s) <{rng_algorithm = #stablehlo<rng_algorithm PHILOX>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui64>)
  // CHECK-NEXT: chlo.erf_inv %x : tensor<4xf32> -> tensor<4xf32>
  %4 = chlo.erf_inv %x : tensor<4xf32> -> tensor<4xf32>
  return
}
