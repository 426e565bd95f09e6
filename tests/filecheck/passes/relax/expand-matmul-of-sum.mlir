// RUN: xdsl-opt %s -p relax-expand-matmul-of-sum --split-input-file | filecheck %s
// TOLERANCE: 0.001

!x = tensor<2x4xf32>
!w = tensor<4x3xf32>
!y = tensor<2x3xf32>

// CHECK-LABEL: relax.func @sum
relax.func @sum(%x: !x, %a: !w, %b: !w) -> !y {
  // CHECK-NEXT: %[[P:.*]] = relax.matmul %x, %a
  // CHECK-NEXT: %[[Q:.*]] = relax.matmul %x, %b
  // CHECK-NEXT: %[[R:.*]] = relax.add %[[P]], %[[Q]]
  // CHECK-NEXT: relax.return %[[R]]
  %s = relax.add %a, %b : (!w, !w) -> !w
  %r = relax.matmul %x, %s : (!x, !w) -> !y
  relax.return %r : !y
}

// CHECK-LABEL: relax.func @transposed
relax.func @transposed(%x: !x, %a: tensor<3x4xf32>, %b: tensor<3x4xf32>) -> !y {
  // CHECK-NEXT: %[[A:.*]] = relax.permute_dims %a axes [1, 0]
  // CHECK-NEXT: %[[P:.*]] = relax.matmul %x, %[[A]]
  // CHECK-NEXT: %[[B:.*]] = relax.permute_dims %b axes [1, 0]
  // CHECK-NEXT: %[[Q:.*]] = relax.matmul %x, %[[B]]
  // CHECK-NEXT: relax.add %[[P]], %[[Q]]
  %s = relax.add %a, %b : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %t = relax.permute_dims %s axes [1, 0] : (tensor<3x4xf32>) -> !w
  %r = relax.matmul %x, %t : (!x, !w) -> !y
  relax.return %r : !y
}

// -----

// Terms that are broadcast, sums of weights, and sums that something else uses.

!x = tensor<2x4xf32>
!w = tensor<4x3xf32>
!y = tensor<2x3xf32>

// CHECK-LABEL: relax.func @broadcast
relax.func @broadcast(%x: !x, %a: !w, %b: tensor<3xf32>) -> !y {
  // CHECK-NEXT: relax.add
  %s = relax.add %a, %b : (!w, tensor<3xf32>) -> !w
  %r = relax.matmul %x, %s : (!x, !w) -> !y
  relax.return %r : !y
}
// CHECK-LABEL: relax.func @weights
relax.func @weights(%x: !x, %a: !w, %b: !w) -> !y attributes {num_input = 1 : i64} {
  // CHECK-NEXT: relax.add
  %s = relax.add %a, %b : (!w, !w) -> !w
  %r = relax.matmul %x, %s : (!x, !w) -> !y
  relax.return %r : !y
}
// CHECK-LABEL: relax.func @used
relax.func @used(%x: !x, %a: !w, %b: !w) -> !relax.tuple<!w, !y> {
  // CHECK-NEXT: relax.add
  %s = relax.add %a, %b : (!w, !w) -> !w
  %r = relax.matmul %x, %s : (!x, !w) -> !y
  %t = relax.tuple(%s, %r) : !w, !y
  relax.return %t : !relax.tuple<!w, !y>
}
