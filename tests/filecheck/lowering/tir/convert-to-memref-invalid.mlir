// RUN: xdsl-opt %s -p tir-convert-to-memref --split-input-file --verify-diagnostics | filecheck %s

tir.func @f() {
  tir.block "B" {
  }
}
// CHECK: cannot lower 'tir.block': functions must be loops and buffers here; run tir-lower-init-block,tir-convert-blocks-to-opaque,tir-lower-opaque-block

// -----

tir.func @f() {
  %c4 = tir.const 4 : i32
  tir.launch_thread %t = "threadIdx.x" to %c4 {
  }
}
// CHECK: cannot lower 'tir.launch_thread': "threadIdx.x" is a thread axis; run tir-convert-to-gpu, or compile for the target cuda

// -----

tir.func @f(%x: f32) {
  %0 = tir.call "nextafter"(%x, %x) : (f32, f32) -> f32
}
// CHECK: cannot lower 'tir.call': the builtin "nextafter" has no lowering

// -----

tir.func @f(%x: f32) {
  %name = tir.string "f"
  %0 = tir.call "tvm_call_packed"(%name, %x) : (!tir.handle, f32) -> i32
}
// CHECK: cannot lower 'tir.call': the builtin "tvm_call_packed" has no lowering; rewrite it in terms of others, or run the pass that lowers it, LowerTVMBuiltin

// -----

tir.func @f(%p: !tir.ptr<f32>, %n: i32) {
  %q = tir.access_ptr r %p[%n to %n + %n] : !tir.ptr<f32>
}
// CHECK: cannot lower 'tir.access_ptr': the builtin "tvm_access_ptr" has no lowering; rewrite it in terms of others, or run the pass that lowers it, LowerDeviceStorageAccessInfo

// -----

tir.func @f(%p: !tir.ptr<f32>, %x: f32, %t: i32) {
  %c0 = tir.const 0 : i32
  %A = tir.decl_buffer %p : !tir.buffer<1xf32>
  tir.thread_allreduce [%x] into [%A[%c0]] over [%t]
}
// CHECK: cannot lower 'tir.thread_allreduce': the builtin "tvm_thread_allreduce" has no lowering; rewrite it in terms of others, or run the pass that lowers it, LowerThreadAllreduce

// -----

tir.func @f(%a: f8E4M3FN) -> f8E4M3FN {
  %x = tir.add %a, %a : f8E4M3FN
  tir.ret %x : f8E4M3FN
}
// CHECK: cannot lower 'tir.add': there is no arithmetic on f8E4M3FN; run tir-fp8-compute-legalize

// -----

tir.func @f(%x: i32) -> i32 {
  tir.ret %x : i32
  tir.evaluate %x : i32
}
// CHECK: cannot lower 'tir.ret': a return must be the last statement of the function

// -----

tir.func @f() -> i32 {
}
// CHECK: cannot lower 'tir.func': function @f ends without a tir.ret

// -----

tir.func @f(%x: i64) -> f64 {
  tir.ret %x : i64
}
// CHECK: cannot lower 'tir.func': function @f has a result of f64, but its tir.ret has i64; cast the value

// -----

tir.func @f(%a: !tir.handle) {
  %n = tir.shape_var "n" : i32
  %c2 = tir.const 2 : i32
  %m = tir.mul %n, %c2 : i32
  %A = tir.match_buffer %a [%m] : !tir.buffer<?xf32>
}
// CHECK: cannot lower 'tir.mul': the symbolic extent 'n' is bound by no buffer of a parameter

// -----

tir.func @f() {
  %s = tir.string "shared"
  tir.call "tvm_storage_sync"(%s) : (!tir.handle) -> ()
}
// CHECK: cannot lower 'tir.call': "tvm_storage_sync" is GPU code; run tir-convert-to-gpu

// -----

tir.func @f(%a: !tir.handle) {
  %c0 = tir.const 0 : i32
  %p = tir.allocate [4] : !tir.ptr<f32>
  tir.attr "volatile_scope" (%p) = %c0 {
  }
}
// CHECK: cannot lower 'tir.attr': the attribute "volatile_scope" has no meaning here

// -----

tir.func @f() {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %r = tir.ramp %c0, %c1 : vector<[4]xi32>
}
// CHECK: cannot lower 'tir.ramp': scalable vectors such as vector<[4]xi32> are not supported

// -----

tir.func @f() {
  %m = tir.call "tvm_warp_activemask"() : () -> ui32
}
// CHECK: cannot lower 'tir.call': "tvm_warp_activemask" is GPU code; run tir-convert-to-gpu

// -----

// expected-error@+1 {{"prefetch" takes constants up to (1, 3, 1), got [0, 4, 1]}}
tir.func @far(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %p = tir.address_of %A[%c0] : !tir.ptr<f32>
  %n = tir.call "prefetch"(%p, %c0, %c4, %c1) : (!tir.ptr<f32>, i32, i32, i32) -> i32
}
