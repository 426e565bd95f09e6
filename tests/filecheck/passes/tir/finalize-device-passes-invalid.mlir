// RUN: xdsl-opt %s -p tir-finalize-device-passes --split-input-file --verify-diagnostics | filecheck %s

// What a pass of the list refuses.

// CHECK: tir.allocate in @nostore: nothing is stored in this memory of a warp; store before use
tir.func @nostore(%a: !tir.ptr<f32>) attributes {target = #tir.target<"cuda">} {
  %A = tir.decl_buffer "A" %a : !tir.buffer<64xf32>
  %threads = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %threads {
    %p = tir.allocate [32] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<32xf32, "warp">
    %x = tir.load %A[%tx] : f32
    %y = tir.load %W[%tx] : f32
  }
}
