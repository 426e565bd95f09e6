// RUN: xdsl-opt %s -p tir-lower-tvm-builtin --split-input-file --verify-diagnostics | filecheck %s

// CASE: LowerTVMBuiltin.8
// CHECK: tir.allocate in @f: requires the device id, but occurred outside of a "device_id" annotation; put a tir.attr "device_id" around it
tir.func @f() attributes {target = #tir.target<"llvm">} {
  %p = tir.allocate [256] : !tir.ptr<f32>
}

// -----

// CHECK: tir.call in @f: Method dma_wait requires the device type, but occurred outside of a "device_type" annotation; bind a target, or put a tir.attr "device_type" around it
tir.func @f(%x: i32) attributes {tir.is_host_func = 1 : i32} {
  %r = tir.call "dma_wait"(%x, %x) : (i32, i32) -> i32
}

// -----

// CHECK: tir.call in @f: 'tvm_stack_make_shape' is used by tir.evaluate; arrays and shapes on the stack are arguments of packed calls only
tir.func @f() attributes {target = #tir.target<"llvm">} {
  %h = tir.call "tvm_stack_make_shape"() : () -> !tir.handle
  tir.evaluate %h : !tir.handle
}

// -----

// CHECK: tir.call in @f: passes a bfloat16, which no packed argument is; pass integers, floats of 16 to 64 bits, handles or arrays
tir.func @f(%x: bf16) attributes {target = #tir.target<"llvm">} {
  %g = tir.string "g"
  %r = tir.call "tvm_call_packed"(%g, %x) : (!tir.handle, bf16) -> i32
}
