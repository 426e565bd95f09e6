// RUN: xdsl-opt %s -p tir-thread-sync --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tir.load in @apart may access one element of memory of the scope "shared" with tir.store in @apart in different threads, both under conditions or loops that threads pass apart from each other, where no barrier can be; move one of them out, or mark a condition that is the same in all threads by T.tvm_thread_invariant
tir.func @apart(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c31 = tir.const 31 : i32
  %c32 = tir.const 32 : i32
  %c64 = tir.const 64 : i32
  tir.launch_thread %t = "threadIdx.x" to %c64 {
    %S = tir.alloc_buffer "S" : !tir.buffer<64xf32, "shared">
    %p = tir.cmp lt %t, %c32 : i32
    tir.if %p {
      %x = tir.load %A[%t] : f32
      tir.store %x, %S[%t] : f32
      %r = tir.sub %c31, %t : i32
      %y = tir.load %S[%r] : f32
      tir.store %y, %A[%t] : f32
    }
  }
}

// -----

// CHECK: tir.attr in @waits: what waits for copies needs a barrier
tir.func @waits(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c32 = tir.const 32 : i32
  %c64 = tir.const 64 : i32
  tir.launch_thread %t = "threadIdx.x" to %c64 {
    %S = tir.alloc_buffer "S" : !tir.buffer<64xf32, "shared">
    %p = tir.cmp lt %t, %c32 : i32
    tir.if %p {
      tir.attr "async_wait_queue_scope" (0 : i32) = 0 : i32 {
        tir.attr "async_wait_inflight_count" (0 : i32) = 0 : i32 {
          %y = tir.load %S[%t] : f32
          tir.store %y, %A[%t] : f32
        }
      }
    }
  }
}
