// RUN: xdsl-opt %s -p tir-unify-thread-binding --split-input-file --verify-diagnostics | filecheck %s

// CASE: UnifyThreadBinding.7
tir.func @extents() {
  %c64 = tir.const 64 : i32
  %c128 = tir.const 128 : i32
  tir.launch_thread %b = "blockIdx.x" to %c64 {
    tir.launch_thread %t = "threadIdx.x" to %c128 {
    }
    tir.launch_thread %t = "threadIdx.x" to %c64 {
    }
  }
}
// CHECK: tir.launch_thread in @extents: "threadIdx.x" has the extent 128 and the extent 64 in one kernel; give the axis one range

// -----

tir.func @minima() {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c64 = tir.const 64 : i32
  tir.launch_thread %b = "blockIdx.x" to %c64 {
    tir.launch_thread %t = "threadIdx.x" to %c64 {
    }
    tir.for %t = %c1 to %c1 + %c64 thread_binding "threadIdx.x" {
    }
  }
}
// CHECK: tir.for in @minima: "threadIdx.x" has the minimum 0 and the minimum 1 in one kernel; give the axis one range

// -----

tir.func @inside() {
  %c0 = tir.const 0 : i32
  %c64 = tir.const 64 : i32
  tir.launch_thread %b = "blockIdx.x" to %c64 {
    tir.for %i = %c0 to %c64 {
      tir.launch_thread %t = "threadIdx.x" to %i {
      }
    }
  }
}
// CHECK: tir.launch_thread in @inside: the range of "threadIdx.x" is computed inside of its kernel; compute it before it
