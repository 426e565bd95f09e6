// RUN: xdsl-opt %s -p tir-verify-thread-sync --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tir.store in @reversed and tir.load in @reversed may access one element of buffer 'S' in different threads, with no barrier between them; insert T.tvm_storage_sync("shared")
tir.func @reversed(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<64xf32>
  %c63 = tir.const 63 : i32
  %c64 = tir.const 64 : i32
  tir.launch_thread %t = "threadIdx.x" to %c64 {
    %S = tir.alloc_buffer "S" : !tir.buffer<64xf32, "shared">
    %x = tir.load %A[%t] : f32
    tir.store %x, %S[%t] : f32
    %r = tir.sub %c63, %t : i32
    %y = tir.load %S[%r] : f32
    tir.store %y, %B[%t] : f32
  }
}

// -----

// The barrier is before the loads; the next iteration stores without waiting for them.
// CHECK: tir.load in @next_iteration and tir.store in @next_iteration of the next iteration may access one element of buffer 'S' in different threads
tir.func @next_iteration(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x64xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x64xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c63 = tir.const 63 : i32
  %c64 = tir.const 64 : i32
  %shared = tir.string "shared"
  tir.launch_thread %t = "threadIdx.x" to %c64 {
    %S = tir.alloc_buffer "S" : !tir.buffer<64xf32, "shared">
    tir.for %k = %c0 to %c8 {
      %x = tir.load %A[%k, %t] : f32
      tir.store %x, %S[%t] : f32
      tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
      %r = tir.sub %c63, %t : i32
      %y = tir.load %S[%r] : f32
      tir.store %y, %B[%k, %t] : f32
    }
  }
}

// -----

// CHECK: tir.store in @sum may store one element of buffer 'B' in several threads; let one of them store it, as under a condition on the thread
tir.func @sum(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<1xf32>
  %c0 = tir.const 0 : i32
  %c64 = tir.const 64 : i32
  tir.launch_thread %t = "threadIdx.x" to %c64 {
    %x = tir.load %A[%t] : f32
    tir.store %x, %B[%c0] : f32
  }
}

// -----

// Vectors of neighbouring threads overlap by half.
// CHECK: tir.store in @vector_indices may store one element of buffer 'A' in several threads
tir.func @vector_indices(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<96xi32>
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c12 = tir.const 12 : i32
  %twelve = tir.broadcast %c12 : vector<8xi32>
  tir.launch_thread %t = "threadIdx.x" to %c12 {
    %from = tir.mul %t, %c4 : i32
    %x = tir.ramp %from, %c1 : vector<8xi32>
    %q = tir.floordiv %x, %twelve : vector<8xi32>
    %r = tir.floormod %x, %twelve : vector<8xi32>
    %p = tir.mul %q, %twelve : vector<8xi32>
    %i = tir.add %p, %r : vector<8xi32>
    %v = tir.broadcast %t : vector<8xi32>
    tir.store %v, %A[%i] : vector<8xi32>
  }
}
