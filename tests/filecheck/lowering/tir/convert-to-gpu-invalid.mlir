// RUN: xdsl-opt %s -p tir-convert-to-gpu --split-input-file --verify-diagnostics | filecheck %s

tir.func @f() {
  %c2 = tir.const 2 : i32
  tir.launch_thread %v = "vthread.x" to %c2 virtual {
  }
}
// CHECK: cannot lower 'tir.launch_thread': "vthread.x" is no axis of the hardware; run the pass that lowers virtual threads

// -----

tir.func @f() {
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  tir.launch_thread %b = "blockIdx.x" to %c2 {
    tir.launch_thread %t = "threadIdx.x" to %c2 {
    }
    tir.launch_thread %t = "threadIdx.x" to %c4 {
    }
  }
}
// CHECK: cannot lower 'tir.launch_thread': the launches of threadIdx.x in one kernel have different extents

// -----

tir.func @f(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c2 = tir.const 2 : i32
  tir.launch_thread %b = "blockIdx.x" to %c2 {
    %n = tir.load %A[%b] : i32
    tir.launch_thread %t = "threadIdx.x" to %n {
    }
  }
}
// CHECK: cannot lower 'tir.launch_thread': the extent of "threadIdx.x" must be known before the launch

// -----

tir.func @f() {
  %c1024 = tir.const 1024 : i32
  %c2 = tir.const 2 : i32
  tir.launch_thread %s = "threadIdx.x" to %c1024 {
    tir.launch_thread %t = "threadIdx.y" to %c2 {
    }
  }
}
// CHECK: cannot lower 'tir.launch_thread': a block of 1024 * 2 * 1 threads is larger than 1024

// -----

tir.func @f() {
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %x = tir.const 0.0 : f32
  tir.launch_thread %t = "threadIdx.x" to %c2 {
    %p = tir.allocate [65536] : !tir.ptr<f32, "shared">
    %P = tir.decl_buffer %p : !tir.buffer<65536xf32, "shared">
    tir.store %x, %P[%c0] : f32
  }
}
// CHECK: cannot lower 'tir.allocate': the kernel's shared memory of 262144 bytes or more exceeds 49152

// -----

tir.func @f() {
  %c2 = tir.const 2 : i32
  tir.launch_thread %t = "threadIdx.x" to %c2 {
    %p = tir.allocate [4] : !tir.ptr<f32>
  }
}
// CHECK: cannot lower 'tir.allocate': a kernel cannot allocate memory in the scope "global"

// -----

tir.func @f() {
  %c2 = tir.const 2 : i32
  %s = tir.string "global"
  tir.launch_thread %t = "threadIdx.x" to %c2 {
    tir.call "tvm_storage_sync"(%s) : (!tir.handle) -> ()
  }
}
// CHECK: cannot lower 'tir.call': there is no barrier for the scope "global"

// -----

tir.func @f() {
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  tir.for %t = %c0 to %c2 thread_binding "threadIdx.x" {
  }
}
// CHECK: cannot lower 'tir.for': the loop is bound to "threadIdx.x"; run tir-lower-opaque-block and tir-convert-to-gpu
