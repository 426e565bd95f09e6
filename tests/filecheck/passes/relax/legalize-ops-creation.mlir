// RUN: xdsl-opt %s -p relax-legalize-ops --split-input-file | filecheck %s

// A constant fill value is a number of the code, and the tensor that lends its shape is
// not passed.

// CHECK-LABEL: relax.func @fill
relax.func @fill<n>(%v: tensor<f32>, %a: tensor<?xi32, #relax.dims<[n]>>) -> tensor<?xi32, #relax.dims<[n]>> {
  %c = relax.constant dense<3> : tensor<i64>
  // CHECK: relax.call_tir @full() : () -> tensor<?xi32, #relax.dims<[n]>>
  %x = relax.full_like %a, %c : (tensor<?xi32, #relax.dims<[n]>>, tensor<i64>) -> tensor<?xi32, #relax.dims<[n]>>
  // CHECK: relax.call_tir @full1(%v) : (tensor<f32>) -> tensor<?xi32, #relax.dims<[n]>>
  %y = relax.full_like %a, %v : (tensor<?xi32, #relax.dims<[n]>>, tensor<f32>) -> tensor<?xi32, #relax.dims<[n]>>
  relax.return %y : tensor<?xi32, #relax.dims<[n]>>
}
// CHECK: tir.func @full(
// CHECK: tir.const 3 : i32
// CHECK: tir.func @full1(
// CHECK: tir.cast %{{.*}} : f32 to i32

// -----

// Two operators that compute the same share one function.

// CHECK-LABEL: relax.func @nothing
relax.func @nothing(%a: tensor<4xf32>) -> tensor<4xf32> {
  %s = relax.shape [4]
  // CHECK: relax.call_tir @zeros()
  %x = relax.zeros %s dtype f32 : (!relax.shape<[4]>) -> tensor<4xf32>
  // CHECK: relax.call_tir @zeros()
  %y = relax.zeros_like %a : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}
// CHECK: tir.func @zeros(
// CHECK-NOT: tir.func

// -----

// CHECK-LABEL: relax.func @range
relax.func @range<n>(%a: tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xi64, #relax.dims<[n]>> {
  %0 = relax.prim_value 0 : i64
  %8 = relax.prim_value 8 : i64
  %2 = relax.prim_value 2 : i64
  // CHECK: relax.constant dense<[0, 2, 4, 6]> : tensor<4xi64>
  %x = relax.arange %0, %8, %2 dtype i64 : (!relax.prim<i64, 0>, !relax.prim<i64, 8>, !relax.prim<i64, 2>) -> tensor<4xi64>
  %n = relax.prim_value n : i64
  %1 = relax.prim_value 1 : i64
  // CHECK: relax.call_tir @arange() : () -> tensor<?xi64, #relax.dims<[n]>>
  %y = relax.arange %0, %n, %1 dtype i64 : (!relax.prim<i64, 0>, !relax.prim<i64, n>, !relax.prim<i64, 1>) -> tensor<?xi64, #relax.dims<[n]>>
  relax.return %y : tensor<?xi64, #relax.dims<[n]>>
}

// -----

// A diagonal of run time is an argument.

// CHECK-LABEL: relax.func @triangle
relax.func @triangle(%a: tensor<4x4xf32>, %k: !relax.prim<i64>) -> tensor<4x4xf32> {
  // CHECK: relax.call_tir @tril(%a, %k)
  %x = relax.tril %a, %k : (tensor<4x4xf32>, !relax.prim<i64>) -> tensor<4x4xf32>
  relax.return %x : tensor<4x4xf32>
}
// CHECK: tir.func @tril(%{{.*}}: !tir.handle, %B: i64, %{{.*}}: !tir.handle)
// CHECK: %[[D:.*]] = tir.sub %{{.*}}, %{{.*}} : i64
// CHECK-NEXT: tir.cmp le %[[D]], %B

// -----

// A constant is converted now where it fits; marks for gradients are gone.

// CHECK-LABEL: relax.func @convert
relax.func @convert(%a: tensor<4xf32>) -> tensor<i8> {
  %c = relax.constant dense<2.75> : tensor<f32>
  // CHECK: relax.constant dense<2> : tensor<i8>
  %x = relax.astype %c dtype i8 : (tensor<f32>) -> tensor<i8>
  %b = relax.constant dense<1000.0> : tensor<f32>
  // CHECK: relax.call_tir @cast(%{{.*}}) : (tensor<f32>) -> tensor<i8>
  %y = relax.astype %b dtype i8 : (tensor<f32>) -> tensor<i8>
  // CHECK: relax.call_tir @cast1(%a)
  %m = relax.grad.no_grad %a : (tensor<4xf32>) -> tensor<4xf32>
  %z = relax.astype %m dtype f16 : (tensor<4xf32>) -> tensor<4xf16>
  relax.return %y : tensor<i8>
}
