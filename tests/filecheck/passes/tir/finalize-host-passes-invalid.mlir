// RUN: xdsl-opt %s -p tir-finalize-host-passes --split-input-file --verify-diagnostics | filecheck %s

// What a pass of the list refuses.

// CHECK: tir.call in @f: the context of a thread must be a handle, got i32; let a call that returns a handle compute it
tir.func @f(%x: i32) attributes {target = #tir.target<"llvm">} {
  %c = tir.call "tvm_thread_context"(%x) : (i32) -> i32
  tir.evaluate %c : i32
}
