// RUN: xdsl-opt %s -p relax-to-mixed-precision --split-input-file --allow-unregistered-dialect | filecheck %s
// RUN: xdsl-opt %s -p 'relax-to-mixed-precision{out_dtype=float16}' --split-input-file --allow-unregistered-dialect | filecheck %s --check-prefix HALF
// TOLERANCE: 0.05

// A convolution reads f16 and accumulates in f32; what follows it stays in f16, and the
// block's result is what was written. A tensor is cast once.

!x = tensor<1x2x6x6xf32>
!w = tensor<2x2x3x3xf32>
!y = tensor<1x2x4x4xf32>
!z = tensor<1x2x2x2xf32>

// CHECK-LABEL: relax.func @convolutions
// HALF-LABEL: relax.func @convolutions
relax.func @convolutions(%x: !x, %w: !w) -> !z {
  // CHECK: relax.dataflow
  // CHECK-NEXT: %[[X:.*]] = relax.astype %x dtype f16
  // CHECK-NEXT: %[[W:.*]] = relax.astype %w dtype f16
  // CHECK-NEXT: %[[C:.*]] = relax.nn.conv2d %[[X]], %[[W]] {{.*}} out_dtype f32{{.*}} -> tensor<1x2x4x4xf32>
  // CHECK-NEXT: %[[D:.*]] = relax.astype %[[C]] dtype f16
  // CHECK-NEXT: %[[R:.*]] = relax.nn.relu %[[D]] : (tensor<1x2x4x4xf16>) -> tensor<1x2x4x4xf16>
  // CHECK-NEXT: %[[E:.*]] = relax.nn.conv2d %[[R]], %[[W]] {{.*}} out_dtype f32{{.*}} -> tensor<1x2x2x2xf32>
  // CHECK-NEXT: relax.output %[[E]]
  // HALF: %[[C:.*]] = relax.nn.conv2d {{.*}} out_dtype f16{{.*}} -> tensor<1x2x4x4xf16>
  // HALF-NEXT: %[[R:.*]] = relax.nn.relu %[[C]]
  // HALF-NEXT: %[[E:.*]] = relax.nn.conv2d %[[R]]{{.*}} -> tensor<1x2x2x2xf16>
  // HALF-NEXT: %[[F:.*]] = relax.astype %[[E]] dtype f32
  // HALF-NEXT: relax.output %[[F]]
  %r = relax.dataflow -> (!z) {
    %c = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!x, !w) -> !y
    %d = relax.nn.relu %c : (!y) -> !y
    %e = relax.nn.conv2d %d, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!y, !w) -> !z
    relax.output %e : !z
  }
  relax.return %r : !z
}

// -----

// Softmax never reads f16; a follower of f16 and f32 computes as it was written.

!m = tensor<4x4xf32>

// CHECK-LABEL: relax.func @never
relax.func @never(%x: !m) -> !m {
  // CHECK: %[[M:.*]] = relax.matmul
  // CHECK-NEXT: %[[H:.*]] = relax.astype %[[M]] dtype f16
  // CHECK-NEXT: %[[F:.*]] = relax.astype %[[H]] dtype f32
  // CHECK-NEXT: %[[S:.*]] = relax.nn.softmax %[[F]] axis 1 : (tensor<4x4xf32>)
  // CHECK-NEXT: %[[A:.*]] = relax.add %[[S]], %[[F]] : (tensor<4x4xf32>, tensor<4x4xf32>)
  // CHECK-NEXT: relax.output %[[A]]
  %r = relax.dataflow -> (!m) {
    %c = relax.matmul %x, %x : (!m, !m) -> !m
    %s = relax.nn.softmax %c axis 1 : (!m) -> !m
    %a = relax.add %s, %c : (!m, !m) -> !m
    relax.output %a : !m
  }
  relax.return %r : !m
}

// -----

// Constants that f16 has are read as f16, too large ones are not. So are numbers.

!m = tensor<2x2xf32>

// CHECK-LABEL: relax.func @constants
relax.func @constants(%x: !m) -> !relax.tuple<!m, !m> {
  // CHECK: %[[H:.*]] = relax.astype {{.*}} dtype f16
  // CHECK: %[[K:.*]] = relax.astype %{{.*}} dtype f16 : (tensor<2xf32>) -> tensor<2xf16>
  // CHECK-NEXT: relax.add %{{.*}}, %[[K]] : (tensor<2x2xf16>, tensor<2xf16>) -> tensor<2x2xf16>
  // CHECK: relax.prim_value {{.*}} : f16
  // CHECK-NEXT: relax.multiply %{{.*}} : (tensor<2x2xf16>, !relax.prim<f16>) -> tensor<2x2xf16>
  // CHECK: relax.add %{{.*}} : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %r:2 = relax.dataflow -> (!m, !m) {
    %c = relax.matmul %x, %x : (!m, !m) -> !m
    %k = relax.constant dense<[1.0, 65504.0]> : tensor<2xf32>
    %a = relax.add %c, %k : (!m, tensor<2xf32>) -> !m
    %half = relax.prim_value 0.5 : f32
    %b = relax.multiply %a, %half : (!m, !relax.prim<f32>) -> !m
    %large = relax.constant dense<[1.0, 70000.0]> : tensor<2xf32>
    %d = relax.add %c, %large : (!m, tensor<2xf32>) -> !m
    relax.output %b, %d : !m, !m
  }
  %t = relax.tuple(%r#0, %r#1) : !m, !m
  relax.return %t : !relax.tuple<!m, !m>
}

// -----

// Fields of tuples are cast one by one; split and concat follow.

!m = tensor<4x4xf32>
!h = tensor<2x4xf32>

// CHECK-LABEL: relax.func @tuples
relax.func @tuples(%x: !m) -> !relax.tuple<!m, !h> {
  // CHECK: %[[S:.*]] = relax.split %{{.*}} -> !relax.tuple<tensor<2x4xf16>, tensor<2x4xf16>>
  // CHECK: relax.concat %{{.*}} : (!relax.tuple<tensor<2x4xf16>, tensor<2x4xf16>>) -> tensor<4x4xf16>
  // CHECK: relax.concat %{{.*}} : (!relax.tuple<tensor<2x4xf32>, tensor<2x4xf32>>) -> tensor<4x4xf32>
  // CHECK-NOT: relax.tuple
  // CHECK: relax.output
  %r:3 = relax.dataflow -> (!m, !h, !m) {
    %c = relax.matmul %x, %x : (!m, !m) -> !m
    %s = relax.split %c sections 2 axis 0 : (!m) -> !relax.tuple<!h, !h>
    %a = relax.get_item %s[0] : !relax.tuple<!h, !h> -> !h
    %b = relax.get_item %s[1] : !relax.tuple<!h, !h> -> !h
    %t = relax.tuple(%b, %a) : !h, !h
    %d = relax.concat %t axis 0 : (!relax.tuple<!h, !h>) -> !m
    %f = relax.sum %x axis [0] keepdims : (!m) -> tensor<1x4xf32>
    %g = relax.add %a, %f : (!h, tensor<1x4xf32>) -> !h
    %u = relax.tuple(%g, %a) : !h, !h
    %v = relax.concat %u axis 0 : (!relax.tuple<!h, !h>) -> !m
    relax.output %d, %b, %v : !m, !h, !m
  }
  %t = relax.tuple(%r#0, %r#1) : !m, !h
  relax.return %t : !relax.tuple<!m, !h>
}

// -----

// What is outside of dataflow blocks stays, and so do unknown and other dtypes, foreign
// operations, and memory that something writes.

!m = tensor<4x4xf32>
!d = tensor<4x4xf64>

// CHECK-LABEL: relax.func @others
relax.func @others(%x: !m, %y: !d, %z: tensor<4x4x!relax.any>, %i: tensor<4x4xi32>) -> !m {
  // CHECK-NEXT: relax.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = relax.matmul %x, %x : (!m, !m) -> !m
  // CHECK: relax.matmul %y, %y : (tensor<4x4xf64>
  // CHECK-NEXT: relax.matmul %z, %z
  // CHECK-NEXT: relax.matmul %i, %i
  // CHECK-NEXT: %[[M:.*]] = relax.matmul %{{.*}} : (tensor<4x4xf32>
  // CHECK-NEXT: "test.foreign"(%[[M]])
  // CHECK: %[[F:.*]] = relax.astype %{{.*}} dtype f32
  // CHECK-NEXT: relax.call_pure_packed "my.f"(%[[F]])
  %r = relax.dataflow -> (!m) {
    %p = relax.matmul %y, %y : (!d, !d) -> !d
    %q = relax.matmul %z, %z : (tensor<4x4x!relax.any>, tensor<4x4x!relax.any>) -> tensor<4x4x!relax.any>
    %j = relax.matmul %i, %i : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
    %m = relax.matmul %c, %x : (!m, !m) -> !m
    %n = "test.foreign"(%m) : (!m) -> !m
    %k = relax.matmul %c, %x : (!m, !m) -> !m
    %l = relax.exp %k : (!m) -> !m
    %o = relax.call_pure_packed "my.f"(%l) : (!m) -> !m
    relax.output %o : !m
  }
  relax.return %r : !m
}

// -----

// Precision that the program asks for stays: an explicit cast to f32 is followed as f32.

!h = tensor<4x4xf16>
!m = tensor<4x4xf32>

// CHECK-LABEL: relax.func @explicit
relax.func @explicit(%x: !h, %w: !h) -> !relax.tuple<!m, !m> {
  // CHECK: %[[X:.*]] = relax.astype %x dtype f32
  // CHECK-NEXT: relax.exp %[[X]] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK-NOT: relax.wrap_param
  // CHECK: relax.matmul %x, %w out_dtype f32
  %r:2 = relax.dataflow -> (!m, !m) {
    %f = relax.astype %x dtype f32 : (!h) -> !m
    %e = relax.exp %f : (!m) -> !m
    %p = relax.wrap_param %w dtype f32 : (!h) -> !m
    %c = relax.matmul %f, %p : (!m, !m) -> !m
    relax.output %e, %c : !m, !m
  }
  %t = relax.tuple(%r#0, %r#1) : !m, !m
  relax.return %t : !relax.tuple<!m, !m>
}

// -----

// A function literal gets what was written; attention keeps its bias.

!q = tensor<1x2x1x4xf32>
!b = tensor<1x1x2x2xf32>

// CHECK-LABEL: relax.func @attention
relax.func @attention(%q: !q, %b: !b) -> !q {
  // CHECK: relax.nn.attention_bias %{{.*}} : (tensor<1x2x1x4xf16>, tensor<1x2x1x4xf16>, tensor<1x2x1x4xf16>, tensor<1x1x2x2xf16>) -> tensor<1x2x1x4xf16>
  // CHECK-NEXT: %[[F:.*]] = relax.astype %{{.*}} dtype f32
  // CHECK-NEXT: relax.lambda
  // CHECK-NEXT: relax.add %{{.*}}, %[[F]] : (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>)
  %r = relax.dataflow -> (!q) {
    %a = relax.nn.attention_bias %q, %q, %q, %b : (!q, !q, !q, !b) -> !q
    %f = relax.lambda "inner"(%y: !q) -> !q {
      %z = relax.add %y, %a : (!q, !q) -> !q
      relax.return %z : !q
    }
    %c = relax.call_indirect %f(%q) : !relax.func<(!q) -> !q>, (!q) -> !q
    relax.output %c : !q
  }
  relax.return %r : !q
}
