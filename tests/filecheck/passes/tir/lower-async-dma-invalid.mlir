// RUN: xdsl-opt %s -p tir-lower-async-dma --verify-diagnostics | filecheck %s

// CHECK: tir.attr in @f: the queue of async_commit_queue_scope is not an integer constant; use one, as groups are counted for each queue
tir.func @f(%q: i32) {
  %c0 = tir.const 0 : i32
  tir.attr "async_commit_queue_scope" (%c0) = %q {
  }
}
