// RUN: xdsl-opt %s -p 'tir-verify-form{form="host-device"}' --split-input-file --verify-diagnostics | filecheck %s
// RUN: xdsl-opt %s -p 'tir-verify-form{form="tensor"}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix UNKNOWN

// UNKNOWN: there is no form 'tensor'; the forms are blocks, opaque-blocks, loops-and-buffers, flat, vector, host-device, packed

tir.func @iters(%n: i32) {
  %c0 = tir.const 0 : i32
  tir.block "B" (%v : S in [%c0 to %n] = %c0) {
  }
}
// CHECK: tir.block "B" in @iters is not of the form 'host-device', nor even 'opaque-blocks': it has iteration variables; run tir-convert-blocks-to-opaque first

// -----

tir.func @block() {
  tir.block {
  }
}
// CHECK: tir.block in @block is not of the form 'host-device', nor even 'loops-and-buffers': it is left over; run tir-lower-opaque-block first

// -----

tir.func @buffer() {
  %B = tir.alloc_buffer : !tir.buffer<4xf32>
}
// CHECK: tir.alloc_buffer in @buffer is not of the form 'host-device', nor even 'loops-and-buffers': it is left over; run tir-lower-opaque-block first

// -----

tir.func @thread(%n: i32) {
  %c0 = tir.const 0 : i32
  tir.for %t = %c0 to %n thread_binding "threadIdx.x" {
  }
}
// CHECK: tir.for in @thread is not of the form 'host-device', nor even 'loops-and-buffers': it is bound to a thread axis and not launched by tir.launch_thread; run tir-lower-opaque-block first

// -----

tir.func @rank(%p: !tir.ptr<f32>) {
  %B = tir.decl_buffer %p : !tir.buffer<4x4xf32>
}
// CHECK: tir.decl_buffer in @rank is not of the form 'host-device', nor even 'flat': it declares a buffer of rank 2, where flat ones have rank 1

// -----

tir.func @strides(%a: !tir.handle) {
  %A = tir.match_buffer %a strides [2] : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %x = tir.load %A[%c0] : f32
}
// CHECK: tir.load in @strides is not of the form 'host-device', nor even 'flat': it indexes a buffer with strides

// -----

tir.func @loop(%n: i32) {
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n vectorized {
  }
}
// CHECK: tir.for in @loop is not of the form 'host-device', nor even 'vector': it is a vectorized loop

// -----

tir.func @virtual(%n: i32) attributes {tir.is_global_func = true} {
  tir.launch_thread %v = "vthread" to %n virtual {
  }
}
// CHECK: tir.launch_thread in @virtual is not of the form 'host-device', nor even 'vector': it launches virtual threads

// -----

tir.func @host(%n: i32) {
  tir.launch_thread %t = "threadIdx.x" to %n {
  }
}
// CHECK: tir.launch_thread in @host is not of the form 'host-device': it launches threads in a function without the attribute tir.is_global_func

// -----

tir.func @region() {
  tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
  }
}
// CHECK: tir.attr in @region is not of the form 'host-device': it is a device region inside a function of the host
