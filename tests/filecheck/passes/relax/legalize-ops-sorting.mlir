// RUN: xdsl-opt %s -p relax-legalize-ops --split-input-file | filecheck %s

// A merge sort of places; elements are picked by them afterwards.

// CHECK-LABEL: relax.func @sorts
relax.func @sorts(%a: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %r = relax.sort %a axis -1 : (tensor<3x8xf32>) -> tensor<3x8xf32>
  %s = relax.topk %a k 2 axis -1 ret "both" dtype i32 : (tensor<3x8xf32>) -> !relax.tuple<tensor<3x2xf32>, tensor<3x2xi32>>
  relax.return %r : tensor<3x8xf32>
}
// CHECK-LABEL: tir.func @sort(
// CHECK: tir.alloc_buffer "order" {{.*}} : !tir.buffer<3x8xi64>
// CHECK: tir.block "order" (%[[I:.*]] : S
// CHECK-NEXT: tir.reads %A[%[[I]], %c0 to 8]
// CHECK-NEXT: tir.writes %order[%[[I]], %c0 to 8]
// CHECK: tir.while {
// CHECK: tir.block "values" (%[[I:.*]] : S {{.*}}, %[[J:.*]] : S
// CHECK: %[[P:.*]] = tir.load %order[%[[I]], %[[J]]]
// CHECK: tir.load %A[%[[I]], %[[P]]]
// CHECK-LABEL: tir.func @topk(
// CHECK: tir.match_buffer "values" {{.*}} : !tir.buffer<3x2xf32>
// CHECK: tir.match_buffer "indices" {{.*}} : !tir.buffer<3x2xi32>

// -----

// CHECK-LABEL: relax.func @draws
relax.func @draws(%p: tensor<2x4xf32>, %u: tensor<3x1xf32>) -> tensor<3x1xi64> {
  %i = relax.constant dense<[[0], [1], [1]]> : tensor<3x1xi64>
  %r = relax.multinomial_from_uniform %p, %u, %i dtype i64 : (tensor<2x4xf32>, tensor<3x1xf32>, tensor<3x1xi64>) -> tensor<3x1xi64>
  relax.return %r : tensor<3x1xi64>
}
// CHECK-LABEL: tir.func @multinomial_from_uniform(
// CHECK: tir.for "k"
// CHECK: tir.if
