// RUN: xdsl-opt %s -p tir-merge-shared-memory-allocations --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tir.store in @dimensions uses a buffer of 2 dimensions whose memory is merged with others; run tir-flatten-buffer first, and access it by tir.load and tir.store
tir.func @dimensions(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<32xf32>
  %c0 = tir.const 0 : i32
  %c32 = tir.const 32 : i32
  tir.launch_thread %t = "threadIdx.x" to %c32 {
    %p = tir.allocate "P" [32] : !tir.ptr<f32, "shared.dyn">
    %P = tir.decl_buffer "P" %p : !tir.buffer<32xf32, "shared.dyn">
    %q = tir.allocate "Q" [64] : !tir.ptr<f32, "shared.dyn">
    %Q = tir.decl_buffer "Q" %q : !tir.buffer<2x32xf32, "shared.dyn">
    %x = tir.load %A[%t] : f32
    tir.store %x, %P[%t] : f32
    tir.store %x, %Q[%c0, %t] : f32
    %y = tir.load %P[%t] : f32
    tir.store %y, %A[%t] : f32
  }
}
