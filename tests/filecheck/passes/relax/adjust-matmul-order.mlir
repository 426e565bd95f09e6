// RUN: xdsl-opt %s -p relax-adjust-matmul-order --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p relax-adjust-matmul-order,relax-adjust-matmul-order --split-input-file | filecheck %s
// TOLERANCE: 0.001

// Numbers decide, and symbols as far as they are at least 1.

!x = tensor<2x8xf32>
!a = tensor<8x6xf32>
!b = tensor<6x4xf32>

// CHECK-LABEL: relax.func @numbers
relax.func @numbers(%x: !x, %a: !a, %b: !b) -> tensor<2x4xf32> {
  // CHECK-NEXT: %[[P:.*]] = relax.matmul %x, %a
  // CHECK-NEXT: %[[R:.*]] = relax.matmul %[[P]], %b
  // CHECK-NEXT: relax.return %[[R]]
  %p = relax.matmul %a, %b : (!a, !b) -> tensor<8x4xf32>
  %r = relax.matmul %x, %p : (!x, tensor<8x4xf32>) -> tensor<2x4xf32>
  relax.return %r : tensor<2x4xf32>
}

// CHECK-LABEL: relax.func @symbols
relax.func @symbols<n>(%x: tensor<?x16xf32, #relax.dims<[n, 16]>>, %a: tensor<16x1xf32>, %b: tensor<1x16xf32>) -> tensor<?x16xf32> {
  // CHECK-NEXT: %[[P:.*]] = relax.matmul %x, %a
  // CHECK-NEXT: %[[R:.*]] = relax.matmul %[[P]], %b
  // CHECK-NEXT: relax.alias %[[R]]
  %p = relax.matmul %a, %b : (tensor<16x1xf32>, tensor<1x16xf32>) -> tensor<16x16xf32>
  %r = relax.matmul %x, %p : (tensor<?x16xf32, #relax.dims<[n, 16]>>, tensor<16x16xf32>) -> tensor<?x16xf32>
  relax.return %r : tensor<?x16xf32>
}

// CHECK-LABEL: relax.func @unknown
relax.func @unknown<n>(%x: tensor<?x16xf32, #relax.dims<[n, 16]>>, %a: tensor<16x16xf32>, %b: tensor<16x16xf32>) -> tensor<?x16xf32> {
  // CHECK-NEXT: relax.matmul %a, %b
  %p = relax.matmul %a, %b : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %r = relax.matmul %x, %p : (tensor<?x16xf32, #relax.dims<[n, 16]>>, tensor<16x16xf32>) -> tensor<?x16xf32>
  relax.return %r : tensor<?x16xf32>
}

// -----

// What is known before inputs are is multiplied with each other, unless all is.

!m = tensor<4x4xf32>

// CHECK-LABEL: relax.func @weights
relax.func @weights(%x: !m, %a: !m, %b: !m) -> !relax.tuple<!m, !m> attributes {num_input = 1 : i64} {
  // CHECK: relax.dataflow
  // CHECK-NEXT: %[[W:.*]] = relax.exp %b
  // CHECK-NEXT: %[[P:.*]] = relax.matmul %a, %[[W]]
  // CHECK-NEXT: relax.matmul %x, %[[P]]
  // CHECK-NEXT: %[[Q:.*]] = relax.matmul %a, %b
  // CHECK-NEXT: relax.matmul %[[Q]], %b
  %r:2 = relax.dataflow -> (!m, !m) {
    %w = relax.exp %b : (!m) -> !m
    %p = relax.matmul %x, %a : (!m, !m) -> !m
    %q = relax.matmul %p, %w : (!m, !m) -> !m
    %s = relax.matmul %a, %b : (!m, !m) -> !m
    %t = relax.matmul %s, %b : (!m, !m) -> !m
    relax.output %q, %t : !m, !m
  }
  %t = relax.tuple(%r#0, %r#1) : !m, !m
  relax.return %t : !relax.tuple<!m, !m>
}

// -----

// A transposed product is one of transposed factors; batches of the first are rows.

!x = tensor<2x3x8xf32>

// CHECK-LABEL: relax.func @transposed
relax.func @transposed(%x: !x, %a: tensor<1x8xf32>, %b: tensor<7x1xf32>) -> tensor<2x3x7xf32> {
  // CHECK-NEXT: %[[A:.*]] = relax.permute_dims %a axes [1, 0]
  // CHECK-NEXT: %[[B:.*]] = relax.permute_dims %b axes [1, 0]
  // CHECK-NEXT: %[[P:.*]] = relax.matmul %x, %[[A]]
  // CHECK-NEXT: relax.matmul %[[P]], %[[B]]
  // CHECK-NOT: relax.permute_dims
  %p = relax.matmul %b, %a : (tensor<7x1xf32>, tensor<1x8xf32>) -> tensor<7x8xf32>
  %t = relax.permute_dims %p axes [1, 0] : (tensor<7x8xf32>) -> tensor<8x7xf32>
  %r = relax.matmul %x, %t : (!x, tensor<8x7xf32>) -> tensor<2x3x7xf32>
  relax.return %r : tensor<2x3x7xf32>
}

// -----

// Products with other uses, vectors, and out_dtype stay.

!x = tensor<2x8xf32>
!a = tensor<8x6xf32>
!b = tensor<6x4xf32>

// CHECK-LABEL: relax.func @left_alone
relax.func @left_alone(%x: !x, %a: !a, %b: !b, %v: tensor<8xf32>) -> !relax.tuple<tensor<8x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<2x4xf32>> {
  // CHECK-NEXT: %[[P:.*]] = relax.matmul %a, %b
  // CHECK-NEXT: relax.matmul %x, %[[P]]
  // CHECK-NEXT: %[[Q:.*]] = relax.matmul %a, %b
  // CHECK-NEXT: relax.matmul %v, %[[Q]]
  // CHECK-NEXT: %[[O:.*]] = relax.matmul %a, %b out_dtype f32
  // CHECK-NEXT: relax.matmul %x, %[[O]]
  %p = relax.matmul %a, %b : (!a, !b) -> tensor<8x4xf32>
  %r = relax.matmul %x, %p : (!x, tensor<8x4xf32>) -> tensor<2x4xf32>
  %q = relax.matmul %a, %b : (!a, !b) -> tensor<8x4xf32>
  %s = relax.matmul %v, %q : (tensor<8xf32>, tensor<8x4xf32>) -> tensor<4xf32>
  %o = relax.matmul %a, %b out_dtype f32 : (!a, !b) -> tensor<8x4xf32>
  %u = relax.matmul %x, %o : (!x, tensor<8x4xf32>) -> tensor<2x4xf32>
  %t = relax.tuple(%p, %r, %s, %u) : tensor<8x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<2x4xf32>
  relax.return %t : !relax.tuple<tensor<8x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<2x4xf32>>
}
