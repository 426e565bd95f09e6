// RUN: xdsl-opt %s -p relax-legalize-ops --split-input-file | filecheck %s

// One block per operator, which reads and writes at its own point.

// CHECK-LABEL: relax.func @unary
relax.func @unary(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: relax.call_tir @tir_exp(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %x = relax.exp %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
  relax.return %x : tensor<4x8xf32>
}
// CHECK: tir.func @tir_exp
// CHECK: tir.block "compute" (%[[I:.*]] : S {{.*}}, %[[J:.*]] : S
// CHECK-NEXT: tir.reads %A[%[[I]], %[[J]]]
// CHECK-NEXT: tir.writes %compute[%[[I]], %[[J]]]
// CHECK-NEXT: tir.load
// CHECK-NEXT: tir.call "exp"
// CHECK-NEXT: tir.store

// -----

// The error function is computed in single precision.

// CHECK-LABEL: relax.func @half
relax.func @half(%a: tensor<4xf16>) -> tensor<4xf16> {
  // CHECK: relax.call_tir @erf(%a)
  %x = relax.erf %a : (tensor<4xf16>) -> tensor<4xf16>
  relax.return %x : tensor<4xf16>
}
// CHECK: tir.func @erf
// CHECK: tir.cast %{{.*}} : f16 to f32
// CHECK-NEXT: tir.call "erf"
// CHECK-NEXT: tir.cast %{{.*}} : f32 to f16

// -----

// A constant of rank 0 becomes a number of the code, the right one if both are.

// CHECK-LABEL: relax.func @immediate
relax.func @immediate(%a: tensor<4xf32>) -> tensor<f32> {
  %c = relax.constant dense<2.0> : tensor<f32>
  // CHECK: relax.call_tir @multiply(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %x = relax.multiply %a, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: relax.call_tir @subtract(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %y = relax.subtract %c, %a : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: relax.call_tir @subtract1(%c) : (tensor<f32>) -> tensor<f32>
  %z = relax.subtract %c, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  relax.return %z : tensor<f32>
}
// CHECK: tir.func @multiply
// CHECK: tir.const 2.000000e+00 : f32
// CHECK-NEXT: tir.mul

// -----

// Scalars: a symbolic one is computed in the function, one of run time is an argument.

// CHECK-LABEL: relax.func @scalars
relax.func @scalars<n>(%a: tensor<?xi64, #relax.dims<[n]>>, %p: !relax.prim<i64>) -> tensor<?xi64, #relax.dims<[n]>> {
  %n = relax.prim_value n + 1 : i64
  // CHECK: %[[X:.*]] = relax.call_tir @add(%a) :
  %x = relax.add %a, %n : (tensor<?xi64, #relax.dims<[n]>>, !relax.prim<i64, n + 1>) -> tensor<?xi64, #relax.dims<[n]>>
  // CHECK: relax.call_tir @add1(%[[X]], %p) :
  %y = relax.add %x, %p : (tensor<?xi64, #relax.dims<[n]>>, !relax.prim<i64>) -> tensor<?xi64, #relax.dims<[n]>>
  relax.return %y : tensor<?xi64, #relax.dims<[n]>>
}
// CHECK: tir.func @add(
// CHECK: %[[N:.*]] = tir.shape_var "n" : i64
// CHECK: tir.add %[[N]], %{{.*}} : i64
// CHECK: tir.func @add1(%{{.*}}: !tir.handle, %B: i64, %{{.*}}: !tir.handle)
// CHECK: tir.add %{{.*}}, %B : i64

// -----

// Whole numbers: `divide` truncates, `floor_divide` rounds down.

// CHECK-LABEL: relax.func @quotients
relax.func @quotients(%a: tensor<4xi32>, %b: tensor<4xi32>) -> tensor<4xi32> {
  %x = relax.divide %a, %b : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %y = relax.floor_divide %x, %b : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %z = relax.mod %y, %b : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %w = relax.floor_mod %z, %b : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  relax.return %w : tensor<4xi32>
}
// CHECK: tir.func @divide
// CHECK: tir.div
// CHECK: tir.func @floor_divide
// CHECK: tir.floordiv
// CHECK: tir.func @mod
// CHECK: tir.mod
// CHECK: tir.func @floor_mod
// CHECK: tir.floormod

// -----

// CHECK-LABEL: relax.func @choice
relax.func @choice(%c: tensor<4x1xi1>, %a: tensor<4x8xf32>, %b: tensor<f32>) -> tensor<4x8xf32> {
  // CHECK: relax.call_tir @where(%c, %a, %b)
  %r = relax.where %c, %a, %b : (tensor<4x1xi1>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  relax.return %r : tensor<4x8xf32>
}
// CHECK: tir.func @where
// CHECK: tir.reads %A[%[[I:.*]], %c0], %B[%[[I]], %{{.*}}], %C[]
// CHECK: tir.select

// -----

// Floats have no bits, and TVM's sum of bools is another one than ours: both stay.

// CHECK-LABEL: relax.func @stay
relax.func @stay(%a: tensor<4xf32>, %b: tensor<4xi1>) -> tensor<4xi1> {
  // CHECK: relax.bitwise_and
  %x = relax.bitwise_and %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: relax.add
  %y = relax.add %b, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  relax.return %y : tensor<4xi1>
}
// CHECK-NOT: tir.func

// -----

// An operand of extent 1 is read at 0 where it is repeated, and at its index where the
// result has extent 1 as well.

// CHECK-LABEL: relax.func @extents_of_one
relax.func @extents_of_one(%a: tensor<1x8xf32>, %b: tensor<1x1xf32>) -> tensor<1x1x8xf32> {
  %s = relax.shape [1, 1, 8]
  %x = relax.add %a, %b : (tensor<1x8xf32>, tensor<1x1xf32>) -> tensor<1x8xf32>
  %y = relax.broadcast_to %x, %s : (tensor<1x8xf32>, !relax.shape<[1, 1, 8]>) -> tensor<1x1x8xf32>
  relax.return %y : tensor<1x1x8xf32>
}
// CHECK: tir.block "T_add" (%[[I:.*]] : S {{.*}}, %[[J:.*]] : S
// CHECK-NEXT: tir.reads %A[%[[I]], %[[J]]], %B[%[[I]], %c0]
// CHECK: tir.block "T_broadcast_to" (%{{.*}} : S {{.*}}, %[[I:.*]] : S {{.*}}, %[[J:.*]] : S
// CHECK-NEXT: tir.reads %A[%[[I]], %[[J]]]
