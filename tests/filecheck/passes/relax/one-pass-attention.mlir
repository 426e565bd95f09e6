// RUN: xdsl-opt %s -p 'relax-one-pass-attention{vector_bytes=8 least_queries=2}' | filecheck %s
// RUN: xdsl-opt %s -p 'relax-one-pass-attention{least_queries=16}' | filecheck %s --check-prefix=WIDE
// TOLERANCE: 0.0001

!q = tensor<1x5x2x3xf32>
!k = tensor<1x7x1x3xf32>
!v = tensor<1x7x1x4xf32>
!y = tensor<1x5x2x4xf32>
!w = tensor<1x2x1x257xf32>

// With fewer queries than the option says, the operator stays.
// CHECK-LABEL: relax.func @operator
// CHECK: relax.call_tir @one_pass_attention(%q, %k, %v) : (tensor<1x5x2x3xf32>, tensor<1x7x1x3xf32>, tensor<1x7x1x4xf32>) -> tensor<1x5x2x4xf32>
// WIDE-LABEL: relax.func @operator
// WIDE: relax.nn.attention
relax.func @operator(%q: !q, %k: !k, %v: !v) -> !y attributes {global_symbol = "operator"} {
  %y = relax.nn.attention %q, %k, %v causal "BottomRight" : (!q, !k, !v) -> !y
  relax.return %y : !y
}

// The number of keys is a symbol.
// CHECK-LABEL: relax.func @bias
// CHECK: relax.call_tir @one_pass_attention1(%q, %k, %v, %b)
relax.func @bias<n>(%q: !q, %k: tensor<1x?x2x3xf32, #relax.dims<[1, n, 2, 3]>>, %v: tensor<1x?x1x4xf32, #relax.dims<[1, n, 1, 4]>>, %b: tensor<1x1x5x?xf32, #relax.dims<[1, 1, 5, n]>>) -> !y attributes {global_symbol = "bias"} {
  %y = relax.nn.attention_bias %q, %k, %v, %b scale 5.0e-01 window 3 : (!q, tensor<1x?x2x3xf32, #relax.dims<[1, n, 2, 3]>>, tensor<1x?x1x4xf32, #relax.dims<[1, n, 1, 4]>>, tensor<1x1x5x?xf32, #relax.dims<[1, 1, 5, n]>>) -> !y
  relax.return %y : !y
}

// CHECK-LABEL: relax.func @spelled_out
// CHECK-NEXT: %scale = relax.constant
// CHECK-NEXT: %t = relax.permute_dims
// CHECK: relax.call_tir @one_pass_attention2(%q, %k, %v, %b)
// WIDE-LABEL: relax.func @spelled_out
// WIDE: relax.nn.softmax
relax.func @spelled_out(%q: tensor<1x2x5x3xf32>, %k: tensor<1x2x7x3xf32>, %v: tensor<1x2x7x4xf32>, %b: tensor<5x7xf32>) -> tensor<1x2x5x4xf32> attributes {global_symbol = "spelled_out"} {
  %scale = relax.constant dense<2.0> : tensor<f32>
  %t = relax.permute_dims %k axes [0, 1, 3, 2] : (tensor<1x2x7x3xf32>) -> tensor<1x2x3x7xf32>
  %s = relax.matmul %q, %t : (tensor<1x2x5x3xf32>, tensor<1x2x3x7xf32>) -> tensor<1x2x5x7xf32>
  %n = relax.divide %s, %scale : (tensor<1x2x5x7xf32>, tensor<f32>) -> tensor<1x2x5x7xf32>
  %m = relax.add %n, %b : (tensor<1x2x5x7xf32>, tensor<5x7xf32>) -> tensor<1x2x5x7xf32>
  %w = relax.nn.softmax %m axis -1 : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = relax.matmul %w, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x4xf32>) -> tensor<1x2x5x4xf32>
  relax.return %y : tensor<1x2x5x4xf32>
}

// Weights that are a result, too; another axis; many features.
// CHECK-LABEL: relax.func @left_alone
// CHECK-NOT: call_tir
relax.func @left_alone(%q: tensor<1x2x4x3xf32>, %k: tensor<1x2x4x3xf32>, %v: tensor<1x2x4x4xf32>, %x: !w, %u: !w) -> !relax.tuple<tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, !w> attributes {global_symbol = "left_alone"} {
  %t = relax.permute_dims %k axes [0, 1, 3, 2] : (tensor<1x2x4x3xf32>) -> tensor<1x2x3x4xf32>
  %s = relax.matmul %q, %t : (tensor<1x2x4x3xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x4x4xf32>
  %w = relax.nn.softmax %s axis 3 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %a = relax.matmul %w, %v : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %r = relax.matmul %q, %t : (tensor<1x2x4x3xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x4x4xf32>
  %p = relax.nn.softmax %r axis 2 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %b = relax.matmul %p, %v : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %c = relax.nn.attention %x, %u, %u : (!w, !w, !w) -> !w
  %z = relax.tuple(%a, %w, %b, %c) : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, !w
  relax.return %z : !relax.tuple<tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, !w>
}
