// RUN: xdsl-opt %s -p relax-reorder-take-after-matmul --split-input-file | filecheck %s
// TOLERANCE: 0.001

// Columns of a table.

!x = tensor<2x4xf32>
!w = tensor<4x6xf32>
!i = tensor<3xi64>

// CHECK-LABEL: relax.func @columns
relax.func @columns(%x: !x, %w: !w) -> tensor<2x3xf32> {
  // CHECK-NEXT: %[[I:.*]] = relax.constant
  // CHECK-NEXT: %[[P:.*]] = relax.matmul %x, %w : {{.*}} -> tensor<2x6xf32>
  // CHECK-NEXT: %[[R:.*]] = relax.take %[[P]], %[[I]] axis 1
  // CHECK-NEXT: relax.return %[[R]]
  %i = relax.constant dense<[5, 0, 2]> : !i
  %t = relax.take %w, %i axis -1 : (!w, !i) -> tensor<4x3xf32>
  %r = relax.matmul %x, %t : (!x, tensor<4x3xf32>) -> tensor<2x3xf32>
  relax.return %r : tensor<2x3xf32>
}

// -----

// Matrices of a table, one for each batch.

!x = tensor<3x2x4xf32>
!w = tensor<5x4x6xf32>
!i = tensor<3xi64>

// CHECK-LABEL: relax.func @matrices
relax.func @matrices(%x: !x, %w: !w) -> tensor<3x2x6xf32> {
  // CHECK: %[[W:.*]] = relax.permute_dims %w axes [1, 0, 2]
  // CHECK: %[[S:.*]] = relax.reshape %[[W]], %{{.*}} -> tensor<4x30xf32>
  // CHECK-NEXT: %[[P:.*]] = relax.matmul %x, %[[S]] : {{.*}} -> tensor<3x2x30xf32>
  // CHECK: %[[Q:.*]] = relax.reshape %[[P]], %{{.*}} -> tensor<3x2x5x6xf32>
  // CHECK-NEXT: %[[T:.*]] = relax.take %[[Q]], %{{.*}} axis 2 : {{.*}} -> tensor<3x2x3x6xf32>
  // CHECK-NEXT: %[[U:.*]] = relax.tuple(%[[T]])
  // CHECK-NEXT: relax.einsum %[[U]] subscripts "ijik->ijk"
  %i = relax.constant dense<[4, 0, 4]> : !i
  %t = relax.take %w, %i axis 0 : (!w, !i) -> tensor<3x4x6xf32>
  %r = relax.matmul %x, %t : (!x, tensor<3x4x6xf32>) -> tensor<3x2x6xf32>
  relax.return %r : tensor<3x2x6xf32>
}

// -----

// Rows of a matrix, other ranks of indices, and batches of another number.

!w = tensor<4x6xf32>

// CHECK-LABEL: relax.func @left_alone
relax.func @left_alone(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>, %w: !w, %v: tensor<5x4x6xf32>) -> !relax.tuple<tensor<2x6xf32>, tensor<2xf32>, tensor<1x2x6xf32>> {
  // CHECK: relax.take %w
  // CHECK-NEXT: relax.matmul
  // CHECK: relax.take %w
  // CHECK-NEXT: relax.matmul
  // CHECK: relax.take %v
  // CHECK-NEXT: relax.matmul
  %i = relax.constant dense<[2, 0, 2]> : tensor<3xi64>
  %t = relax.take %w, %i axis 0 : (!w, tensor<3xi64>) -> tensor<3x6xf32>
  %r = relax.matmul %x, %t : (tensor<2x3xf32>, tensor<3x6xf32>) -> tensor<2x6xf32>
  %j = relax.constant dense<1> : tensor<i64>
  %u = relax.take %w, %j axis 1 : (!w, tensor<i64>) -> tensor<4xf32>
  %s = relax.matmul %y, %u : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2xf32>
  %k = relax.constant dense<3> : tensor<1xi64>
  %z = relax.take %v, %k axis 0 : (tensor<5x4x6xf32>, tensor<1xi64>) -> tensor<1x4x6xf32>
  %q = relax.matmul %y, %z : (tensor<2x4xf32>, tensor<1x4x6xf32>) -> tensor<1x2x6xf32>
  %p = relax.tuple(%r, %s, %q) : tensor<2x6xf32>, tensor<2xf32>, tensor<1x2x6xf32>
  relax.return %p : !relax.tuple<tensor<2x6xf32>, tensor<2xf32>, tensor<1x2x6xf32>>
}
