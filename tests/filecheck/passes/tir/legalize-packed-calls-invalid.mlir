// RUN: xdsl-opt %s -p tir-legalize-packed-calls --split-input-file --verify-diagnostics | filecheck %s

// CASE: LegalizePackedCalls.5
tir.func @main(%a: !tir.handle) {
  %s = tir.string "nowhere"
  %r = tir.call "tvm_call_cpacked"(%s, %a, %a) : (!tir.handle, !tir.handle, !tir.handle) -> i32
}
// CHECK: tir.call in @main: calls 'nowhere', which cannot be found in the module; define it as a tir.func

// -----

tir.func @main(%a: !tir.handle) {
  %s = tir.string "other"
  %r = tir.call "tvm_call_cpacked"(%s, %a, %a) : (!tir.handle, !tir.handle, !tir.handle) -> i32
}
func.func @other() {
  func.return
}
// CHECK: tir.call in @main: calls 'other', which is no TIR function in the module

// -----

tir.func @main(%a: !tir.handle) {
  %p = tir.allocate [16] : !tir.ptr<f32>
  %s = tir.string "callee"
  %r = tir.call "tvm_call_cpacked"(%s, %p, %a) : (!tir.handle, !tir.ptr<f32>, !tir.handle) -> i32
}
tir.func @callee(%x: !tir.handle) {
  %n = tir.shape_var "n" : i32
  %X = tir.match_buffer "X" %x [%n] : !tir.buffer<?xf32>
}
// CHECK: tir.call in @main: the shape of a buffer of 'callee' depends on 'n', which the caller does not know

// -----

tir.func @main(%a: !tir.handle) {
  %p = tir.allocate [16] : !tir.ptr<f32>
  %s = tir.string "callee"
  %r = tir.call "tvm_call_cpacked"(%s, %p, %p, %a) : (!tir.handle, !tir.ptr<f32>, !tir.ptr<f32>, !tir.handle) -> i32
}
tir.func @callee(%x: !tir.handle) {
}
// CHECK: tir.call in @main: passes 2 arguments to 'callee', which has 1 parameters; pass as many
