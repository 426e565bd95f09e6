// RUN: xdsl-opt %s -p tir-finalize-host-passes --split-input-file | filecheck %s

// Functions of the host lose their contexts; those of a device stay as they are.

tir.func @host(%h: !tir.handle) attributes {target = #tir.target<"llvm">} {
  %c = tir.call "tvm_thread_context"(%h) : (!tir.handle) -> !tir.handle
  %s = tir.string "use"
  %r = tir.call "call_extern"(%s, %c) : (!tir.handle, !tir.handle) -> i32
}
tir.func @kernel(%h: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %c = tir.call "tvm_thread_context"(%h) : (!tir.handle) -> !tir.handle
  %s = tir.string "use"
  %r = tir.call "call_extern"(%s, %c) : (!tir.handle, !tir.handle) -> i32
}

// CHECK-LABEL: tir.func @host
// CHECK:         %[[C:.*]] = tir.let "ctx_cache_" %h
// CHECK:         tir.call "call_extern"(%{{.*}}, %[[C]])
// CHECK-LABEL: tir.func @kernel
// CHECK:         tir.call "tvm_thread_context"
