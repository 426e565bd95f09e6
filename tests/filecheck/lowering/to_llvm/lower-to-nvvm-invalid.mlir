// RUN: xdsl-opt %s -p tvm-lower-to-nvvm --split-input-file --verify-diagnostics | filecheck %s

tir.func @f(%n: i32) {
  %c2 = tir.const 2 : i32
  tir.launch_thread %t = "threadIdx.x" to %c2 {
    tir.launch_thread %v = "vthread.x" to %n virtual {
      tir.evaluate %v : i32
    }
  }
}
// CHECK: tir.launch_thread in @f: virtual threads need an extent that is a constant

// -----

tir.func @f(%n: i32) {
  %c2 = tir.const 2 : i32
  tir.launch_thread %t = "threadIdx.x" to %c2 {
    "test.op"(%n) : (i32) -> ()
  }
}
// CHECK: test.op

// -----

func.func @host() {
  func.return
}
// CHECK: the module has no GPU kernel: bind loops to threads, as in 'thread_binding "threadIdx.x"', or mark an llvm.func as 'nvvm.kernel'
