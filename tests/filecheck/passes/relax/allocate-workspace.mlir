// RUN: xdsl-opt %s -p relax-allocate-workspace --split-input-file | filecheck %s

!t = tensor<4xf32>
!f = !relax.func<(!t) -> !t>

// The memory is as large as the largest need; literals inside get it, too.

// CHECK: relax.func @main(%x: tensor<4xf32>)
relax.func @main(%x: !t) -> !t attributes {global_symbol = "main"} {
  // CHECK-NEXT: %[[W:.*]] = relax.builtin.alloc_tensor on 0 scope "global" : tensor<64xui8>
  // CHECK-NEXT: relax.dataflow
  // CHECK-NEXT: %[[Y:.*]] = relax.call @external(%x, %[[W]]) : (tensor<4xf32>, tensor<64xui8>) -> tensor<4xf32>
  // CHECK-NEXT: relax.call @other(%[[Y]], %[[W]])
  %r = relax.dataflow -> (!t) {
    %y = relax.call @external(%x) : (!t) -> !t
    %z = relax.call @other(%y) : (!t) -> !t
    relax.output %z : !t
  }
  relax.return %r : !t
}
// CHECK: relax.func @external(%x: tensor<4xf32>, %[[V:.*]]: tensor<64xui8>) -> tensor<4xf32> attributes {Codegen = "lib"}
relax.func @external(%x: !t) -> !t attributes {Codegen = "lib", WorkspaceSize = 64 : i64} {
  // CHECK-NEXT: %[[F:.*]] = relax.lambda "composite"(%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<64xui8>) -> tensor<4xf32> attributes {Composite = "lib.exp"}
  // CHECK: relax.call_indirect %[[F]](%x, %[[V]])
  %f = relax.lambda "composite"(%y: !t) -> !t attributes {Composite = "lib.exp", WorkspaceSize = 64 : i64} {
    %e = relax.exp %y : (!t) -> !t
    relax.return %e : !t
  }
  %r = relax.call_indirect %f(%x) : !f, (!t) -> !t
  relax.return %r : !t
}
// One that calls another one passes its own.
// CHECK: relax.func @other(%x: tensor<4xf32>, %[[V:.*]]: tensor<64xui8>)
relax.func @other(%x: !t) -> !t attributes {WorkspaceSize = 16 : i64} {
  // CHECK-NEXT: relax.call @external(%x, %[[V]])
  %r = relax.call @external(%x) : (!t) -> !t
  relax.return %r : !t
}

// -----

// CHECK: relax.func @none(%x: tensor<4xf32>)
// CHECK-NEXT: relax.return
relax.func @none(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.return %x : tensor<4xf32>
}
