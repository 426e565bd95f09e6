// RUN: xdsl-opt %s -p relax-attach-attr-layout-free-buffers --split-input-file --verify-diagnostics | filecheck %s

// CASE: AttachAttrLayoutFreeBuffers.14

!t = tensor<4xf32>
relax.func @main(%x: !t, %w: !t) -> !t attributes {global_symbol = "main", num_input = 1 : i64} {
  // CHECK: relax-attach-attr-layout-free-buffers: relax.func in @main has num_input, but only functions of the module have weights; move it to the module or drop the attribute
  relax.func @inner(%y: !t) -> !t attributes {num_input = 0 : i64} {
    relax.return %y : !t
  }
  relax.return %w : !t
}

// -----

// CASE: AttachAttrLayoutFreeBuffers.15

!t = tensor<4xf32>
relax.func @main(%x: !t) -> !t attributes {global_symbol = "main"} {
  // CHECK: relax-attach-attr-layout-free-buffers: relax.call_tir calls @f, which is a func.func; it must be a tir.func
  %a = relax.call_tir @f(%x) : (!t) -> !t
  relax.return %a : !t
}
func.func private @f(memref<4xf32>, memref<4xf32>)

// -----

!t = tensor<4xf32>
// CHECK: relax-attach-attr-layout-free-buffers: relax.func @main has num_input = -1 : i64, which is no number of parameters; give an integer of at least 0
relax.func @main(%x: !t) -> !t attributes {global_symbol = "main", num_input = -1 : i64} {
  relax.return %x : !t
}

// -----

!t = tensor<4xf32>
// CHECK: relax-attach-attr-layout-free-buffers: relax.func @main has num_input = "one", which is no number of parameters; give an integer of at least 0
relax.func @main(%x: !t) -> !t attributes {global_symbol = "main", num_input = "one"} {
  relax.return %x : !t
}
