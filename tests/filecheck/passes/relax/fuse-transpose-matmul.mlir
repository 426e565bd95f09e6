// RUN: xdsl-opt %s -p relax-fuse-transpose-matmul --split-input-file | filecheck %s

// Equal products share a function; constants are operands as any other. Batches are
// broadcast.

// CHECK-LABEL: relax.func @main
relax.func @main(%x: tensor<4x8xf32>, %w: tensor<6x8xf32>, %b: tensor<2x1x4x8xf32>, %v: tensor<3x6x8xf32>) -> !relax.tuple<tensor<4x6xf32>, tensor<4x6xf32>, tensor<2x3x4x6xf32>, tensor<8x6xf32>> {
  %r, %s, %t, %u = relax.dataflow -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<2x3x4x6xf32>, tensor<8x6xf32>) {
    // CHECK: %[[C:.*]] = relax.constant
    %c = relax.constant dense<1.5> : tensor<6x8xf32>
    // CHECK: relax.permute_dims %w
    // CHECK-NOT: relax.permute_dims
    // CHECK: relax.call_tir @NT_matmul(%x, %w) : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
    // CHECK: relax.call_tir @NT_matmul(%x, %[[C]])
    // CHECK: relax.call_tir @NT_matmul1(%b, %v) : (tensor<2x1x4x8xf32>, tensor<3x6x8xf32>) -> tensor<2x3x4x6xf32>
    %wt = relax.permute_dims %w axes [1, 0] : (tensor<6x8xf32>) -> tensor<8x6xf32>
    %ct = relax.permute_dims %c : (tensor<6x8xf32>) -> tensor<8x6xf32>
    %vt = relax.permute_dims %v axes [0, -1, 1] : (tensor<3x6x8xf32>) -> tensor<3x8x6xf32>
    %m = relax.matmul %x, %wt : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    %n = relax.matmul %x, %ct : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    %o = relax.matmul %b, %vt : (tensor<2x1x4x8xf32>, tensor<3x8x6xf32>) -> tensor<2x3x4x6xf32>
    // CHECK: relax.output
    relax.output %m, %n, %o, %wt : tensor<4x6xf32>, tensor<4x6xf32>, tensor<2x3x4x6xf32>, tensor<8x6xf32>
  }
  %z = relax.tuple(%r, %s, %t, %u) : tensor<4x6xf32>, tensor<4x6xf32>, tensor<2x3x4x6xf32>, tensor<8x6xf32>
  relax.return %z : !relax.tuple<tensor<4x6xf32>, tensor<4x6xf32>, tensor<2x3x4x6xf32>, tensor<8x6xf32>>
}
// CHECK: tir.func @NT_matmul(
// CHECK: tir.reads %A[%[[I:.*]], %[[K:.*]]], %B[%[[J:.*]], %[[K]]]
// CHECK: tir.writes %NT_matmul[%[[I]], %[[J]]]

// -----

// Symbols; a product with a vector; what the type says less of stays typed so.

!x = tensor<?x?xf32, #relax.dims<[n, k]>>

// CHECK-LABEL: relax.func @symbolic
relax.func @symbolic<n, k>(%x: !x, %v: tensor<?xf32, #relax.dims<[k]>>) -> tensor<?xf32> {
  // CHECK: relax.call_tir @NT_matmul(%v, %x)
  // CHECK-NEXT: relax.alias
  %t = relax.permute_dims %x : (!x) -> tensor<?x?xf32, #relax.dims<[k, n]>>
  %r = relax.matmul %v, %t : (tensor<?xf32, #relax.dims<[k]>>, tensor<?x?xf32, #relax.dims<[k, n]>>) -> tensor<?xf32>
  relax.return %r : tensor<?xf32>
}

// -----

// Left alone: other permutations, the left operand, unknown ranks and shapes.

// CHECK-LABEL: relax.func @alone
relax.func @alone(%x: tensor<4x8xf32>, %b: tensor<8x3x6xf32>, %u: tensor<*xf32>, %s: tensor<?x8xf32>) -> tensor<4x4xf32> {
  // CHECK-NOT: relax.call_tir
  %bt = relax.permute_dims %b axes [1, 0, 2] : (tensor<8x3x6xf32>) -> tensor<3x8x6xf32>
  %m = relax.matmul %x, %bt : (tensor<4x8xf32>, tensor<3x8x6xf32>) -> tensor<3x4x6xf32>
  %ut = relax.permute_dims %u : (tensor<*xf32>) -> tensor<*xf32>
  %n = relax.matmul %x, %ut : (tensor<4x8xf32>, tensor<*xf32>) -> tensor<*xf32>
  %st = relax.permute_dims %s : (tensor<?x8xf32>) -> tensor<8x?xf32>
  %o = relax.matmul %x, %st : (tensor<4x8xf32>, tensor<8x?xf32>) -> tensor<4x?xf32>
  %xt = relax.permute_dims %x : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %i = relax.matmul %xt, %x : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %w = relax.constant dense<0.5> : tensor<8x4xf32>
  %p = relax.matmul %x, %w : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  relax.return %p : tensor<4x4xf32>
}

// -----

// The matrix is overwritten between the two.

!x = tensor<2x2xf32>

// CHECK-LABEL: relax.func @overwritten
relax.func @overwritten(%x: !x) -> !relax.tuple<!x, !x> {
  // CHECK-NOT: NT_matmul
  %w = relax.add %x, %x : (!x, !x) -> !x
  %t = relax.permute_dims %w axes [1, 0] : (!x) -> !x
  %z = relax.call_tir_inplace @clear(%w) inplace [0] : (!x) -> !x
  // CHECK: relax.matmul %x, %t
  %m = relax.matmul %x, %t : (!x, !x) -> !x
  %r = relax.tuple(%z, %m) : !x, !x
  relax.return %r : !relax.tuple<!x, !x>
}
tir.func @clear(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<2x2xf32>
  %c0 = tir.const 0 : i32
  %zero = tir.const 0.0 : f32
  tir.store %zero, %A[%c0, %c0] : f32
}

// -----

// A module inside would not see the function.

!x = tensor<2x2xf32>

// CHECK-LABEL: relax.func @outer
relax.func @outer(%x: !x) -> !x attributes {global_symbol = "outer"} {
  // CHECK: relax.call_tir @NT_matmul(%x, %x)
  %t = relax.permute_dims %x axes [1, 0] : (!x) -> !x
  %m = relax.matmul %x, %t : (!x, !x) -> !x
  relax.return %m : !x
}
builtin.module {
  // CHECK-LABEL: relax.func @inner
  relax.func @inner(%x: !x) -> !x attributes {global_symbol = "inner"} {
    // CHECK: relax.matmul %x, %t
    %t = relax.permute_dims %x axes [1, 0] : (!x) -> !x
    %m = relax.matmul %x, %t : (!x, !x) -> !x
    relax.return %m : !x
  }
}
