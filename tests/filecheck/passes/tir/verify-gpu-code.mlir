// RUN: xdsl-opt %s -p 'tir-verify-gpu-code{max_threads_per_block=64 max_thread_x=16 max_thread_y=4 max_thread_z=2 max_vthread=2 max_shared_memory_per_block=256 max_local_memory_per_block=32 max_vector_bytes=16 max_kernels=2}' --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p tir-verify-gpu-code --split-input-file | filecheck %s

// All limits are reached and none is passed: 16 * 2 * 2 threads, 128 + 128 bytes of
// shared memory, 32 of local.

// CHECK-LABEL: tir.func @limits
tir.func @limits(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a [%n] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c16 = tir.const 16 : i32
  // The grid has no limit and may be symbolic.
  // CHECK: tir.launch_thread %{{.*}} = "blockIdx.x" to
  tir.launch_thread %b = "blockIdx.x" to %n {
    // CHECK: tir.allocate [2, 16]
    %s = tir.allocate [2, 16] : !tir.ptr<f32, "shared">
    %d = tir.allocate [8] : !tir.ptr<vector<4xf32>, "shared.dyn">
    %l = tir.allocate [32] : !tir.ptr<i1, "local">
    // Memory of dynamic size counts as 0, and global memory not at all.
    %u = tir.allocate [%n, 4096] : !tir.ptr<f32, "shared">
    %g = tir.allocate [4096] : !tir.ptr<f32>
    tir.launch_thread %v = "vthread.x" to %c2 virtual {
      tir.launch_thread %x = "threadIdx.x" to %c16 {
        tir.launch_thread %y = "threadIdx.y" to %c2 {
          %r = tir.ramp %c0, %c1 : vector<4xi32>
          %w = tir.load %A[%r] : vector<4xf32>
          tir.store %w, %A[%r] : vector<4xf32>
        }
      }
      // The same axis, opened again.
      tir.launch_thread %x = "threadIdx.x" to %c16 {
      }
    }
  }
  // The counts start again with the second kernel.
  tir.launch_thread %x = "threadIdx.x" to %c16 {
    %s = tir.allocate [64] : !tir.ptr<f32, "shared">
  }
}

// -----

// What is outside of a kernel counts for none.

// CHECK-LABEL: tir.func @host
tir.func @host(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %l = tir.allocate [4096] : !tir.ptr<f32, "shared">
  // CHECK: tir.load {{.*}} : vector<8xf32>
  %r = tir.ramp %c0, %c1 : vector<8xi32>
  %w = tir.load %A[%r] : vector<8xf32>
}
