// RUN: xdsl-opt %s -p tvm-lower-to-nvvm --split-input-file --verify-diagnostics | filecheck %s

tir.func @f() {
  %c2 = tir.const 2 : i32
  tir.launch_thread %v = "vthread.x" to %c2 virtual {
  }
}
// CHECK: cannot lower 'tir.launch_thread': "vthread.x" is no axis of the hardware

// -----

tir.func @f(%n: i32) {
  %c2 = tir.const 2 : i32
  tir.launch_thread %t = "threadIdx.x" to %c2 {
    "test.op"(%n) : (i32) -> ()
  }
}
// CHECK: test.op
