// RUN: xdsl-opt %s -p tir-lower-device-kernel-launch --split-input-file --verify-diagnostics | filecheck %s

// CASE: LowerDeviceKernelLaunch.9
tir.func @no_target(%n: i32) {
}
// CHECK: tir.func @no_target: has no attribute target, so it is not known which calls are launches; bind one

// -----

tir.func @twice_dynamic(%n: i32) attributes {target = #tir.target<"cuda">} {
  %s = tir.allocate [16] : !tir.ptr<f32, "shared.dyn">
  %t = tir.allocate [16] : !tir.ptr<f32, "shared.dyn">
}
// CHECK: tir.allocate in @twice_dynamic: a function may have only one allocation in scope "shared.dyn", and this is the second; merge them

// -----

tir.func @main(%n: i32) attributes {target = #tir.target<"llvm">} {
  tir.call_func @kernel(%n) : (i32) -> ()
}
tir.func @also(%n: i32) attributes {target = #tir.target<"cuda", arch = "sm_80">} {
  tir.call_func @kernel(%n) : (i32) -> ()
}
tir.func @kernel(%n: i32) attributes {target = #tir.target<"cuda", arch = "sm_90">} {
}
// CHECK: tir.func @kernel: has multiple callers, and would need to be lowered into a call_extern at some call sites, and a device kernel launch at others (tir.call_func in @also, tir.call_func in @main)

// -----

tir.func @main(%n: i32) attributes {target = #tir.target<"llvm">} {
  %e = tir.call_func @kernel(%n) : (i32) -> i32
}
tir.func @kernel(%n: i32) -> i32 attributes {target = #tir.target<"cuda">} {
  %c1 = tir.const 1 : i32
  tir.ret %c1 : i32
}
// CHECK: tir.ret in @kernel: a device kernel may only contain successful return, tir.ret of the constant 0

// -----

tir.func @main(%n: i32) attributes {target = #tir.target<"llvm">} {
  %e = tir.call_func @kernel(%n) : (i32) -> i32
}
tir.func @device(%n: i32) attributes {target = #tir.target<"cuda">} {
  %e = tir.call_func @kernel(%n) : (i32) -> i32
}
tir.func @kernel(%n: i32) -> i32 attributes {target = #tir.target<"cuda">} {
  %c0 = tir.const 0 : i32
  tir.ret %c0 : i32
}
// CHECK: tir.call_func in @device: uses the result of @kernel, which is launched as a kernel elsewhere and so returns nothing

// -----

tir.func @main(%n: i32) attributes {target = #tir.target<"llvm">} {
  tir.call_func @kernel(%n) : (i32) -> ()
}
tir.func @kernel(%n: i32) attributes {target = #tir.target<"cuda">} {
  %c0 = tir.const 0 : i32
  %s = tir.allocate [16] : !tir.ptr<i32, "local">
  %S = tir.decl_buffer %s : !tir.buffer<16xi32, "local">
  %m = tir.load %S[%c0] : i32
  tir.launch_thread %t = "threadIdx.x" to %m {
    tir.evaluate %t : i32
  }
}
// CHECK: tir.launch_thread in @kernel: the size depends on what the kernel computes, which its caller, tir.call_func in @main, cannot know

// -----

tir.func @kernel(%n: i32, %m: i32) attributes {target = #tir.target<"cuda">} {
  tir.launch_thread %t = "threadIdx.x" to %n {
    tir.evaluate %t : i32
  }
  tir.launch_thread %u = "threadIdx.x" to %m {
    tir.evaluate %u : i32
  }
}
// CHECK: tir.launch_thread in @kernel: opens "threadIdx.x" with another extent than a launch before it

// -----

tir.func @main(%n: i32) attributes {target = #tir.target<"llvm">} {
  tir.call_func @kernel(%n) : (i32) -> ()
}
tir.func private @kernel(i32) attributes {target = #tir.target<"cuda">}
// CHECK: tir.call_func in @main: launches @kernel, whose thread axes are not known, since it has no body

// -----

tir.func @main(%n: i32) attributes {target = #tir.target<"llvm">} {
  tir.call_func @kernel(%n) : (i32) -> ()
}
tir.func @kernel(%n: i32) attributes {target = #tir.target<"cuda">} {
}
tir.func @other(%n: i32) attributes {target = #tir.target<"cuda">, global_symbol = "kernel"} {
}
// CHECK: tir.func @kernel: needs the symbol 'kernel', which is the global_symbol of @other; rename one of them
