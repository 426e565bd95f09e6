// RUN: xdsl-opt %s -p relax-legalize-ops --split-input-file | filecheck %s

// Identities, and integers whose number of terms need not fit their type.

// CHECK-LABEL: relax.func @reductions
relax.func @reductions(%a: tensor<4x8xf32>, %b: tensor<4x8xui8>, %c: tensor<4x8xf16>) -> tensor<4xf32> {
  %0 = relax.prod %a axis [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  %1 = relax.min %b axis [1] keepdims : (tensor<4x8xui8>) -> tensor<4x1xui8>
  %2 = relax.mean %b : (tensor<4x8xui8>) -> tensor<ui8>
  %3 = relax.sum %c axis [0] : (tensor<4x8xf16>) -> tensor<8xf16>
  %4 = relax.std %a axis [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  relax.return %0 : tensor<4xf32>
}
// CHECK-LABEL: tir.func @prod(
// CHECK: tir.init {
// CHECK-NEXT: tir.const 1.000000e+00 : f32
// CHECK-LABEL: tir.func @min(
// CHECK: !tir.buffer<4x1xui8>
// CHECK: tir.const 255 : ui8
// CHECK-LABEL: tir.func @mean(
// CHECK: tir.div %{{.*}}, %{{.*}} : i64
// CHECK-LABEL: tir.func @sum(
// CHECK: tir.alloc_buffer "sum" {{.*}} : !tir.buffer<8xf32>
// CHECK: tir.block "T_cast"
// CHECK-LABEL: tir.func @std(
// CHECK: tir.block "squares"
// CHECK: tir.call "sqrt"

// -----

// The element is found before its place.

// CHECK-LABEL: relax.func @search
relax.func @search(%a: tensor<4x8xf32>) -> tensor<4xi64> {
  %r = relax.argmax %a axis 1 : (tensor<4x8xf32>) -> tensor<4xi64>
  relax.return %r : tensor<4xi64>
}
// CHECK-LABEL: tir.func @argmax(
// CHECK: tir.block "argmax_value"
// CHECK: tir.max
// CHECK: tir.block "argmax_place"
// CHECK: tir.min
// CHECK: tir.block "argmax"

// -----

// A scan goes through a row from front to back; rows are independent.

// CHECK-LABEL: relax.func @scan
relax.func @scan(%a: tensor<4x8x2xf32>) -> tensor<4x8x2xf32> {
  %r = relax.cumsum %a axis 1 exclusive : (tensor<4x8x2xf32>) -> tensor<4x8x2xf32>
  relax.return %r : tensor<4x8x2xf32>
}
// CHECK-LABEL: tir.func @cumsum(
// CHECK: tir.block "cumsum" (%[[I:.*]] : S {{.*}}, %[[J:.*]] : S
// CHECK-NEXT: tir.reads %A[%[[I]], %c0 to 8, %[[J]]]
// CHECK-NEXT: tir.writes %cumsum[%[[I]], %c0 to 8, %[[J]]]
// CHECK: tir.for "k" %[[K:.*]] = %c0 to %c8
// CHECK: tir.load %A[%[[I]], %[[K]], %[[J]]]
// CHECK: tir.store %{{.*}}, %cumsum[%[[I]], %[[K]], %[[J]]]

// -----

// Bools have no sum that fits them.

// CHECK-LABEL: relax.func @bools
relax.func @bools(%a: tensor<4xi1>) -> tensor<i1> {
  // CHECK: relax.sum %a
  %r = relax.sum %a : (tensor<4xi1>) -> tensor<i1>
  relax.return %r : tensor<i1>
}
