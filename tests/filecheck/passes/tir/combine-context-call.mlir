// RUN: xdsl-opt %s -p tir-combine-context-call --split-input-file | filecheck %s

// CASE: CombineContextCall.1
// CASE: CombineContextCall.7
tir.func @main(%dev: i32, %n: i32) attributes {global_symbol = "main", target = #tir.target<"llvm">} {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %run = tir.string "run"
  %f = tir.string "device_context"
  tir.evaluate %n : i32
  tir.for %i = %c0 to %n {
    %h = tir.call "call_extern"(%f, %dev, %c0) : (!tir.handle, i32, i32) -> !tir.handle
    %c = tir.call "tvm_thread_context"(%h) : (!tir.handle) -> !tir.handle
    tir.call "call_extern"(%run, %c) : (!tir.handle, !tir.handle) -> ()
    tir.for %j = %c0 to %n {
      %g = tir.string "device_context"
      %h1 = tir.call "call_extern"(%g, %dev, %c0) : (!tir.handle, i32, i32) -> !tir.handle
      %d = tir.call "tvm_thread_context"(%h1) : (!tir.handle) -> !tir.handle
      tir.call "call_extern"(%run, %d) : (!tir.handle, !tir.handle) -> ()
      %h2 = tir.call "call_extern"(%f, %dev, %c1) : (!tir.handle, i32, i32) -> !tir.handle
      %e = tir.call "tvm_thread_context"(%h2) : (!tir.handle) -> !tir.handle
      tir.call "call_extern"(%run, %e) : (!tir.handle, !tir.handle) -> ()
    }
  }
}
// CHECK-LABEL: tir.func @main(
// CHECK:         %[[FN:.*]] = tir.string "run"
// CHECK:         %[[H:.*]] = tir.call "call_extern"(%{{.*}}, %{{.*}}, %{{.*}}) : (!tir.handle, i32, i32) -> !tir.handle
// CHECK-NEXT:    %[[C0:.*]] = tir.let "ctx_cache_" %[[H]] : !tir.handle
// CHECK-NEXT:    %[[H1:.*]] = tir.call "call_extern"(%{{.*}}, %{{.*}}, %{{.*}}) : (!tir.handle, i32, i32) -> !tir.handle
// CHECK-NEXT:    %[[C1:.*]] = tir.let "ctx_cache_" %[[H1]] : !tir.handle
// CHECK-NEXT:    tir.evaluate
// CHECK-NEXT:    tir.for
// CHECK-NEXT:      tir.call "call_extern"(%[[FN]], %[[C0]])
// CHECK-NEXT:      tir.for
// CHECK-NEXT:        tir.call "call_extern"(%[[FN]], %[[C0]])
// CHECK-NEXT:        tir.call "call_extern"(%[[FN]], %[[C1]])
// CHECK-NEXT:      }

// -----

// CASE: CombineContextCall.2
// CASE: CombineContextCall.3
tir.func @unknown(%h: !tir.handle) attributes {global_symbol = "unknown"} {
  %c = tir.call "tvm_thread_context"(%h) : (!tir.handle) -> !tir.handle
  tir.evaluate %c : !tir.handle
}
tir.func @device(%h: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %c = tir.call "tvm_thread_context"(%h) : (!tir.handle) -> !tir.handle
  tir.evaluate %c : !tir.handle
}
tir.func @host(%h: !tir.handle) attributes {tir.is_host_func = true} {
  %c = tir.call "tvm_thread_context"(%h) : (!tir.handle) -> !tir.handle
  tir.evaluate %c : !tir.handle
}
// CHECK-LABEL: tir.func @unknown
// CHECK-NEXT:    tir.call "tvm_thread_context"
// CHECK-LABEL: tir.func @device
// CHECK-NEXT:    tir.call "tvm_thread_context"
// CHECK-LABEL: tir.func @host(
// CHECK-NEXT:    %[[C:.*]] = tir.let "ctx_cache_" %{{.*}} : !tir.handle
// CHECK-NEXT:    tir.evaluate %[[C]]

// -----

// CASE: CombineContextCall.4
// CASE: CombineContextCall.5
// CASE: CombineContextCall.8
tir.func @main(%n: i32) attributes {target = #tir.target<"llvm">} {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %run = tir.string "run"
  %f = tir.string "device_context"
  %h = tir.call "call_extern"(%f, %c0) : (!tir.handle, i32) -> !tir.handle
  %c = tir.call "tvm_thread_context"(%h) : (!tir.handle) -> !tir.handle
  tir.call "call_extern"(%run, %c) : (!tir.handle, !tir.handle) -> ()
  tir.for %i = %c0 to %n {
    tir.for %j = %c0 to %n parallel {
      %h1 = tir.call "call_extern"(%f, %c0) : (!tir.handle, i32) -> !tir.handle
      %d = tir.call "tvm_thread_context"(%h1) : (!tir.handle) -> !tir.handle
      %h2 = tir.call "call_extern"(%f, %c1) : (!tir.handle, i32) -> !tir.handle
      %e = tir.call "tvm_thread_context"(%h2) : (!tir.handle) -> !tir.handle
      %h3 = tir.call "call_extern"(%f, %c0) : (!tir.handle, i32) -> !tir.handle
      %g = tir.call "tvm_thread_context"(%h3) : (!tir.handle) -> !tir.handle
      tir.call "call_extern"(%run, %d, %e, %g) : (!tir.handle, !tir.handle, !tir.handle, !tir.handle) -> ()
    }
    tir.evaluate %i : i32
  }
}
// CHECK-LABEL: tir.func @main(
// CHECK:         %[[H:.*]] = tir.call "call_extern"
// CHECK-NEXT:    %[[C:.*]] = tir.let "ctx_cache_" %[[H]] : !tir.handle
// CHECK-NEXT:    tir.call "call_extern"(%{{.*}}, %[[C]])
// CHECK-NEXT:    tir.for
// CHECK-NEXT:      tir.scope {
// CHECK-NEXT:        %[[H1:.*]] = tir.call "call_extern"
// CHECK-NEXT:        %[[D:.*]] = tir.let "ctx_cache_" %[[H1]] : !tir.handle
// CHECK-NEXT:        %[[H2:.*]] = tir.call "call_extern"
// CHECK-NEXT:        %[[E:.*]] = tir.let "ctx_cache_" %[[H2]] : !tir.handle
// CHECK-NEXT:        tir.for %{{.*}} parallel {
// CHECK-NEXT:          tir.call "call_extern"(%{{.*}}, %[[D]], %[[E]], %[[D]])
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      tir.evaluate

// -----

// CASE: CombineContextCall.6
tir.func @main(%h: !tir.handle, %n: i32) attributes {target = #tir.target<"llvm">} {
  tir.launch_thread %t = "threadIdx.x" to %n {
    %c = tir.call "tvm_thread_context"(%h) : (!tir.handle) -> !tir.handle
    tir.evaluate %c : !tir.handle
  }
  tir.attr "coproc_uop_scope" (0 : i32) = "x" {
    %c = tir.call "tvm_thread_context"(%h) : (!tir.handle) -> !tir.handle
    tir.evaluate %c : !tir.handle
  }
  tir.launch_thread %t = "vthread.x" to %n virtual {
    %c = tir.call "tvm_thread_context"(%h) : (!tir.handle) -> !tir.handle
    tir.evaluate %c : !tir.handle
  }
}
// CHECK-LABEL: tir.func @main(
// CHECK-NEXT:    tir.let "ctx_cache_"
// CHECK-NEXT:    tir.scope {
// CHECK-NEXT:      tir.let "ctx_cache_"
// CHECK-NEXT:      tir.launch_thread
// CHECK:         tir.scope {
// CHECK-NEXT:      tir.let "ctx_cache_"
// CHECK-NEXT:      tir.attr "coproc_uop_scope"
// CHECK:         tir.launch_thread
// CHECK-NEXT:      tir.evaluate

// -----

// What depends on the loop, or reads memory, stays; a context may be made of another one.
tir.func @main(%a: !tir.handle, %n: i32) attributes {target = #tir.target<"llvm">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %f = tir.string "device_context"
  tir.for %i = %c0 to %n parallel {
    %h = tir.call "call_extern"(%f, %i) : (!tir.handle, i32) -> !tir.handle
    %c = tir.call "tvm_thread_context"(%h) : (!tir.handle) -> !tir.handle
    %d = tir.call "tvm_thread_context"(%h) : (!tir.handle) -> !tir.handle
    tir.evaluate %c : !tir.handle
    tir.evaluate %d : !tir.handle
    %x = tir.load %A[%c0] : i32
    %h1 = tir.call "call_extern"(%f, %x) : (!tir.handle, i32) -> !tir.handle
    %e = tir.call "tvm_thread_context"(%h1) : (!tir.handle) -> !tir.handle
    tir.evaluate %e : !tir.handle
    %h2 = tir.call "call_extern"(%f, %n) : (!tir.handle, i32) -> !tir.handle
    %g = tir.call "tvm_thread_context"(%h2) : (!tir.handle) -> !tir.handle
    %h3 = tir.call "call_extern"(%f, %g) : (!tir.handle, !tir.handle) -> !tir.handle
    %k = tir.call "tvm_thread_context"(%h3) : (!tir.handle) -> !tir.handle
    tir.evaluate %k : !tir.handle
  }
}
// CHECK-LABEL: tir.func @main(
// CHECK:         %[[H2:.*]] = tir.call "call_extern"
// CHECK-NEXT:    %[[G:.*]] = tir.let "ctx_cache_" %[[H2]] : !tir.handle
// CHECK-NEXT:    %[[H3:.*]] = tir.call "call_extern"(%{{.*}}, %[[G]])
// CHECK-NEXT:    %[[K:.*]] = tir.let "ctx_cache_" %[[H3]] : !tir.handle
// CHECK-NEXT:    tir.for
// CHECK-NEXT:      %[[H:.*]] = tir.call "call_extern"
// CHECK-NEXT:      %[[C:.*]] = tir.let "ctx_cache_" %[[H]] : !tir.handle
// CHECK-NEXT:      tir.evaluate %[[C]]
// CHECK-NEXT:      tir.evaluate %[[C]]
// CHECK-NEXT:      tir.load
// CHECK-NEXT:      %[[H1:.*]] = tir.call "call_extern"
// CHECK-NEXT:      %[[E:.*]] = tir.let "ctx_cache_" %[[H1]] : !tir.handle
// CHECK-NEXT:      tir.evaluate %[[E]]
// CHECK-NEXT:      tir.evaluate %[[K]]
