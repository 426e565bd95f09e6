// RUN: xdsl-opt %s -p tir-lower-device-kernel-launch --split-input-file | filecheck %s

// CASE: LowerDeviceKernelLaunch.1
tir.func @main(%a: !tir.handle) attributes {global_symbol = "main", target = #tir.target<"llvm">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<1xf32>
  %p = tir.data %A : !tir.ptr<f32>
  tir.call_func @kernel(%p) : (!tir.ptr<f32>) -> ()
}
tir.func @kernel(%p: !tir.ptr<f32>) attributes {target = #tir.target<"cuda">} {
  %A = tir.decl_buffer "A" %p : !tir.buffer<1xf32>
  %c0 = tir.const 0 : i32
  %x = tir.const 0.0 : f32
  tir.store %x, %A[%c0] : f32
}
// CHECK-LABEL: tir.func @main(
// CHECK:         %[[P:.*]] = tir.data
// CHECK-NEXT:    %[[S:.*]] = tir.string "kernel"
// CHECK-NEXT:    %{{.*}} = tir.call "tvm_call_packed"(%[[S]], %[[P]]) : (!tir.handle, !tir.ptr<f32>) -> i32
// CHECK-NEXT:  }
// CHECK-NEXT:  tir.func @kernel(%{{.*}}: !tir.ptr<f32>) attributes {target = #tir.target<"cuda">, tir.is_global_func = true, global_symbol = "kernel", calling_conv = 2 : i32, tir.kernel_launch_params = []} {

// -----

// CASE: LowerDeviceKernelLaunch.2
// CASE: LowerDeviceKernelLaunch.3
tir.func @main(%a: !tir.handle) attributes {global_symbol = "main", target = #tir.target<"llvm">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %p = tir.data %A : !tir.ptr<i32>
  tir.call_func @kernel(%p) : (!tir.ptr<i32>) -> ()
}
tir.func @kernel(%p: !tir.ptr<i32>) attributes {target = #tir.target<"cuda">, global_symbol = "kernel_by_another_name"} {
  %A = tir.decl_buffer "A" %p : !tir.buffer<16xi32>
  %c16 = tir.const 16 : i32
  tir.launch_thread %t = "threadIdx.x" to %c16 {
    tir.store %t, %A[%t] : i32
  }
}
// CHECK-LABEL: tir.func @main(
// CHECK:         %[[S:.*]] = tir.string "kernel_by_another_name"
// CHECK-NEXT:    %{{.*}} = tir.call "tvm_call_packed"(%[[S]], %{{.*}}, %[[C:.*]]) : (!tir.handle, !tir.ptr<i32>, i32) -> i32
// CHECK:       tir.func @kernel(
// CHECK-SAME:    global_symbol = "kernel_by_another_name", tir.is_global_func = true, calling_conv = 2 : i32, tir.kernel_launch_params = ["threadIdx.x"]}
// CHECK:         tir.launch_thread %{{.*}} = "threadIdx.x"

// -----

// CASE: LowerDeviceKernelLaunch.4
// CASE: LowerDeviceKernelLaunch.5
tir.func @main(%a: !tir.handle) attributes {global_symbol = "main", target = #tir.target<"llvm">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<1xf32>
  %p = tir.data %A : !tir.ptr<f32>
  tir.call_func @other(%p) : (!tir.ptr<f32>) -> ()
  tir.call_func @same(%p) : (!tir.ptr<f32>) -> ()
  tir.call_func @named(%p) : (!tir.ptr<f32>) -> ()
}
tir.func @other(%p: !tir.ptr<f32>) attributes {target = #tir.target<"c">} {
  %A = tir.decl_buffer "A" %p : !tir.buffer<1xf32>
  %c0 = tir.const 0 : i32
  %x = tir.const 1.0 : f32
  tir.store %x, %A[%c0] : f32
}
tir.func @same(%p: !tir.ptr<f32>) attributes {target = #tir.target<"llvm", host = #tir.target<"c">>} {
}
tir.func @named(%p: !tir.ptr<f32>) attributes {target = #tir.target<"c">, global_symbol = "by_name"} {
}
// The symbol is called, not the name, since it is what is linked.
// CHECK-LABEL: tir.func @main(
// CHECK:         %[[S:.*]] = tir.string "other"
// CHECK-NEXT:    tir.call "call_extern"(%[[S]], %{{.*}}) : (!tir.handle, !tir.ptr<f32>) -> ()
// CHECK-NEXT:    tir.call_func @same(%{{.*}}) : (!tir.ptr<f32>) -> ()
// CHECK-NEXT:    %[[N:.*]] = tir.string "by_name"
// CHECK-NEXT:    tir.call "call_extern"(%[[N]], %{{.*}}) : (!tir.handle, !tir.ptr<f32>) -> ()
// CHECK:       tir.func @other(%{{.*}}: !tir.ptr<f32>) attributes {target = #tir.target<"c">, tir.is_global_func = true, global_symbol = "other"} {
// CHECK:       tir.func @same(%{{.*}}: !tir.ptr<f32>) attributes {target = #tir.target<"llvm", host = #tir.target<"c">>} {
// CHECK:       tir.func @named(%{{.*}}: !tir.ptr<f32>) attributes {target = #tir.target<"c">, global_symbol = "by_name", tir.is_global_func = true} {

// -----

// CASE: LowerDeviceKernelLaunch.6
// CASE: LowerDeviceKernelLaunch.7
// CASE: LowerDeviceKernelLaunch.10
// CASE: LowerDeviceKernelLaunch.12
tir.func @main(%a: !tir.handle, %e: i32) attributes {global_symbol = "main", target = #tir.target<"llvm">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %p = tir.data %A : !tir.ptr<i32>
  %c2 = tir.const 2 : i32
  %c1 = tir.const 1 : i32
  %q = tir.cmp eq %e, %c1 : i32
  tir.if %q {
    tir.call_func @kernel(%p, %e) : (!tir.ptr<i32>, i32) -> ()
    tir.call_func @kernel(%p, %c2) : (!tir.ptr<i32>, i32) -> ()
  }
}
tir.func @kernel(%p: !tir.ptr<i32>, %n: i32) attributes {target = #tir.target<"cuda">} {
  %A = tir.decl_buffer "A" %p : !tir.buffer<16xi32>
  %c7 = tir.const 7 : i32
  %c8 = tir.const 8 : i32
  %0 = tir.add %n, %c7 : i32
  %b = tir.let "b" %0 : i32
  %1 = tir.floordiv %b, %c8 : i32
  tir.launch_thread %y = "blockIdx.y" to %n {
    tir.launch_thread %x = "blockIdx.x" to %1 {
      tir.launch_thread %t = "threadIdx.x" to %c8 {
        %s = tir.allocate [1024] : !tir.ptr<f32, "shared.dyn">
        %S = tir.decl_buffer "S" %s : !tir.buffer<1024xf32, "shared.dyn">
        tir.launch_thread %v = "vthread.x" to %c8 virtual {
          tir.store %v, %A[%t] : i32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @main(
// CHECK-SAME:    %[[E:[^:]*]]: i32)
// CHECK:         tir.if
// CHECK-NEXT:      %[[C7:.*]] = tir.const 7 : i32
// CHECK-NEXT:      %[[SUM:.*]] = tir.add %[[E]], %[[C7]] : i32
// CHECK-NEXT:      %[[B:.*]] = tir.let "b" %[[SUM]] : i32
// CHECK-NEXT:      %[[C8:.*]] = tir.const 8 : i32
// CHECK-NEXT:      %[[X:.*]] = tir.floordiv %[[B]], %[[C8]] : i32
// CHECK-NEXT:      %[[BYTES:.*]] = tir.const 4096 : i32
// CHECK-NEXT:      %[[S:.*]] = tir.string "kernel"
// CHECK-NEXT:      tir.call "tvm_call_packed"(%[[S]], %{{.*}}, %[[E]], %[[E]], %[[X]], %[[C8]], %[[BYTES]])
// CHECK:           tir.call "tvm_call_packed"
// CHECK:       tir.func @kernel(
// CHECK-SAME:    tir.kernel_launch_params = ["blockIdx.y", "blockIdx.x", "threadIdx.x", "tir.use_dyn_shared_memory"]}

// -----

// CASE: LowerDeviceKernelLaunch.8
// The first kernel ends some threads early, which they still do.
tir.func @main(%a: !tir.handle) attributes {global_symbol = "main", target = #tir.target<"llvm">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
  %p = tir.data %A : !tir.ptr<i32>
  %e = tir.call_func @kernel(%p) : (!tir.ptr<i32>) -> i32
  %code = tir.let "kernel_error_code" %e : i32
  %c0 = tir.const 0 : i32
  %q = tir.cmp eq %code, %c0 : i32
  tir.assert %q, "Error executing compute kernel"
}
tir.func @kernel(%p: !tir.ptr<i32>) -> i32 attributes {target = #tir.target<"cuda">} {
  %A = tir.decl_buffer "A" %p : !tir.buffer<4xi32>
  %c4 = tir.const 4 : i32
  %c2 = tir.const 2 : i32
  tir.launch_thread %t = "threadIdx.x" to %c4 {
    %q = tir.cmp lt %t, %c2 : i32
    tir.if %q {
      tir.ret
    }
    tir.store %t, %A[%t] : i32
  }
  %c0 = tir.const 0 : i32
  %p1 = tir.cmp lt %c0, %c2 : i32
  tir.if %p1 {
    tir.ret %c0 : i32
  }
  %z = tir.const 0 : i32
  tir.ret %z : i32
}
// CHECK-LABEL: tir.func @main(
// CHECK:         %[[R:.*]] = tir.call "tvm_call_packed"(%{{.*}}, %{{.*}}, %{{.*}}) : (!tir.handle, !tir.ptr<i32>, i32) -> i32
// CHECK-NEXT:    tir.let "kernel_error_code" %[[R]] : i32
// CHECK:         tir.assert
// CHECK:       tir.func @kernel(%{{.*}}: !tir.ptr<i32>) attributes
// CHECK:         tir.launch_thread
// CHECK:             tir.ret
// CHECK:         tir.if %{{.*}} {
// CHECK-NEXT:      tir.ret
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// CASE: LowerDeviceKernelLaunch.11
tir.func @main(%a: !tir.handle) attributes {global_symbol = "main", target = #tir.target<"llvm">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
  %p = tir.data %A : !tir.ptr<i32>
  tir.call_func @kernel(%p) : (!tir.ptr<i32>) -> ()
}
tir.func @kernel(%p: !tir.ptr<i32>) attributes {target = #tir.target<"cuda", arch = "sm_80">} {
  %A = tir.decl_buffer "A" %p : !tir.buffer<4xi32>
  %c4 = tir.const 4 : i32
  tir.launch_thread %t = "threadIdx.x" to %c4 {
    %x = tir.call_func @twice(%t) : (i32) -> i32
    tir.store %x, %A[%t] : i32
  }
}
tir.func @twice(%x: i32) -> i32 attributes {target = #tir.target<"cuda", arch = "sm_90">} {
  %y = tir.add %x, %x : i32
  tir.ret %y : i32
}
// CHECK-LABEL: tir.func @main(
// CHECK:         tir.call "tvm_call_packed"
// CHECK:       tir.func @kernel(
// CHECK:         %[[S:.*]] = tir.string "twice"
// CHECK-NEXT:    %{{.*}} = tir.call "call_extern"(%[[S]], %{{.*}}) : (!tir.handle, i32) -> i32
// CHECK:       tir.func @twice(%{{.*}}: i32) -> i32 attributes {target = #tir.target<"cuda", arch = "sm_90">, tir.is_global_func = true, global_symbol = "twice"} {

// -----

// An axis that is opened twice with one extent counts once. Sizes are multiplied from left
// to right.
tir.func @main(%n: i32, %m: i64) attributes {target = #tir.target<"llvm">} {
  tir.call_func @kernel(%n, %m) : (i32, i64) -> ()
}
tir.func @kernel(%n: i32, %m: i64) attributes {target = #tir.target<"cuda">} {
  tir.launch_thread %t = "threadIdx.x" to %n {
    %s = tir.allocate [2, %n, 3, %m] : !tir.ptr<vector<4xf16>, "shared.dyn">
    tir.evaluate %t : i32
  }
  tir.launch_thread %u = "threadIdx.x" to %n {
    tir.evaluate %u : i32
  }
}
tir.func private @declared(i32)
// CHECK-LABEL: tir.func @main(
// CHECK-SAME:    %[[N:.*]]: i32, %[[M:.*]]: i64)
// CHECK:         %[[A:.*]] = tir.mul %{{.*}}, %[[N]] : i32
// CHECK:         %[[B:.*]] = tir.mul %[[A]], %{{.*}} : i32
// CHECK:         %[[C:.*]] = tir.cast %[[B]] : i32 to i64
// CHECK-NEXT:    %[[D:.*]] = tir.mul %[[C]], %[[M]] : i64
// CHECK:         %[[E:.*]] = tir.mul %[[D]], %{{.*}} : i64
// CHECK:         tir.call "tvm_call_packed"(%{{.*}}, %[[N]], %[[M]], %[[N]], %[[E]])
