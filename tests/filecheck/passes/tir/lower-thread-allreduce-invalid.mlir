// RUN: xdsl-opt %s -p tir-lower-thread-allreduce --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tir.func @no_target: Require the target attribute, to know the warps of the device; run tir-bind-target before
tir.func @no_target(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %sum = tir.reducer (%x : f32, %y : f32) identity [0.0 : f32] {
    %z = tir.add %x, %y : f32
    tir.yield %z : f32
  }
  tir.launch_thread %tx = "threadIdx.x" to %c4 {
    %p = tir.allocate "R" [1] : !tir.ptr<f32, "local">
    %R = tir.decl_buffer "R" %p : !tir.buffer<1xf32, "local">
    %v = tir.load %A[%tx] : f32
    tir.attr "reduce_scope" (%sum) = 0 : i32 {
      tir.thread_allreduce [%v] into [%R[%c0]] over [%tx]
    }
  }
}
