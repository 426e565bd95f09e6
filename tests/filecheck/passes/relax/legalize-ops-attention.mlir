// RUN: xdsl-opt %s -p relax-legalize-ops --split-input-file | filecheck %s

// Operands are read as they lie; two heads of queries share one of keys.

// CHECK-LABEL: relax.func @masked
relax.func @masked(%q: tensor<1x2x4x8xf32>, %k: tensor<1x3x2x8xf32>) -> tensor<1x2x4x8xf32> {
  // CHECK: relax.call_tir @attention(%q, %k, %k)
  %r = relax.nn.attention %q, %k, %k scale 5.0e-01 causal "BottomRight" window 2 : (tensor<1x2x4x8xf32>, tensor<1x3x2x8xf32>, tensor<1x3x2x8xf32>) -> tensor<1x2x4x8xf32>
  relax.return %r : tensor<1x2x4x8xf32>
}
// CHECK-LABEL: tir.func @attention(
// CHECK: tir.block "attention_qk" (%[[B:.*]] : S {{.*}}, %[[H:.*]] : S {{.*}}, %[[I:.*]] : S {{.*}}, %[[J:.*]] : S {{.*}}, %[[D:.*]] : R
// CHECK: %[[G:.*]] = tir.floordiv %[[H]], %c2 : i64
// CHECK: tir.reads %B[%[[B]], %[[J]], %[[G]], %[[D]]], %A[%[[B]], %[[I]], %[[H]], %[[D]]]
// CHECK: tir.block "attention_scores" (%{{.*}} : S {{.*}}, %{{.*}} : S {{.*}}, %[[I:.*]] : S {{.*}}, %[[J:.*]] : S
// CHECK: tir.const 5.000000e-01 : f32
// CHECK: %[[P:.*]] = tir.add %[[I]], %c1 : i64
// CHECK: tir.cmp le %[[J]], %[[P]] : i64
// CHECK: tir.cmp gt %[[J]]
// CHECK: tir.const 0xff800000 : f32
// CHECK: tir.select
// CHECK: tir.block "softmax"
// CHECK: tir.block "attention" (

// -----

// CHECK-LABEL: relax.func @biased
relax.func @biased<n>(%q: tensor<1x?x2x8xf32, #relax.dims<[1, n, 2, 8]>>, %b: tensor<1x1x1x?xf32, #relax.dims<[1, 1, 1, n]>>) -> tensor<1x?x2x8xf32, #relax.dims<[1, n, 2, 8]>> {
  %r = relax.nn.attention_bias %q, %q, %q, %b : (tensor<1x?x2x8xf32, #relax.dims<[1, n, 2, 8]>>, tensor<1x?x2x8xf32, #relax.dims<[1, n, 2, 8]>>, tensor<1x?x2x8xf32, #relax.dims<[1, n, 2, 8]>>, tensor<1x1x1x?xf32, #relax.dims<[1, 1, 1, n]>>) -> tensor<1x?x2x8xf32, #relax.dims<[1, n, 2, 8]>>
  relax.return %r : tensor<1x?x2x8xf32, #relax.dims<[1, n, 2, 8]>>
}
// CHECK-LABEL: tir.func @attention_bias(
// CHECK: tir.block "attention_scores" ({{.*}}, %[[J:.*]] : S
// The first dimension is 1 on both sides, so it is read by the variable.
// CHECK: tir.load %D[%{{.*}}, %c0, %c0, %[[J]]]
// CHECK-NOT: tir.select
// CHECK: tir.block "attention" (

// -----

// Integers have no softmax.

relax.func @integers(%q: tensor<1x5x1x8xi8>, %k: tensor<1x3x1x8xi8>) -> tensor<1x5x1x8xi8> {
  %0 = relax.nn.attention %q, %k, %k : (tensor<1x5x1x8xi8>, tensor<1x3x1x8xi8>, tensor<1x3x1x8xi8>) -> tensor<1x5x1x8xi8>
  relax.return %0 : tensor<1x5x1x8xi8>
}

// CHECK-LABEL: relax.func @integers
// CHECK-NEXT:    relax.nn.attention
// CHECK-NEXT:    relax.return
