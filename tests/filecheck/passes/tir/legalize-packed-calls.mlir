// RUN: xdsl-opt %s -p tir-legalize-packed-calls --split-input-file | filecheck %s

// CASE: LegalizePackedCalls.1
// CASE: LegalizePackedCalls.2
// CASE: LegalizePackedCalls.3
// CASE: LegalizePackedCalls.7
tir.func @main(%a: !tir.handle) attributes {global_symbol = "main"} {
  %p = tir.allocate [16] : !tir.ptr<f32>
  %q = tir.allocate [8] : !tir.ptr<i8>
  %zero = tir.const 0 : ui64
  %null = tir.call "reinterpret"(%zero) : (ui64) -> !tir.handle
  %s = tir.string "callee"
  %r = tir.call "tvm_call_cpacked"(%s, %p, %a, %q, %null) : (!tir.handle, !tir.ptr<f32>, !tir.handle, !tir.ptr<i8>, !tir.handle) -> i32
}
tir.func @callee(%x: !tir.handle, %y: !tir.handle, %z: !tir.handle) {
  %X = tir.match_buffer "X" %x : !tir.buffer<4x4xf32>
  %Y = tir.match_buffer "Y" %y : !tir.buffer<2xf32>
}
// CHECK-LABEL: tir.func @main(
// CHECK-SAME:    %[[A:.*]]: !tir.handle)
// CHECK:         %[[P:.*]] = tir.allocate [16]
// CHECK-NEXT:    %[[Q:.*]] = tir.allocate [8]
// CHECK:         %[[NULL:.*]] = tir.call "reinterpret"
// CHECK-NEXT:    %[[S:.*]] = tir.string "callee"
// CHECK-NEXT:    %[[E0:.*]] = tir.const 4 : i32
// CHECK-NEXT:    %[[E1:.*]] = tir.const 4 : i32
// CHECK-NEXT:    %[[SHAPE:.*]] = tir.call "tvm_stack_make_shape"(%[[E0]], %[[E1]]) : (i32, i32) -> !tir.handle
// CHECK-NEXT:    %[[Z:.*]] = tir.const 0 : ui64
// CHECK-NEXT:    %[[STRIDES:.*]] = tir.call "reinterpret"(%[[Z]]) : (ui64) -> !tir.handle
// CHECK-NEXT:    %[[RANK:.*]] = tir.const 2 : ui32
// CHECK-NEXT:    %[[I:.*]] = tir.const 0 : i32
// CHECK-NEXT:    %[[F:.*]] = tir.cast %[[I]] : i32 to f32
// CHECK-NEXT:    %[[OFF:.*]] = tir.const 0 : i32
// CHECK-NEXT:    %[[X:.*]] = tir.call "tvm_stack_make_array"(%[[P]], %[[SHAPE]], %[[STRIDES]], %[[RANK]], %[[F]], %[[OFF]]) : (!tir.ptr<f32>, !tir.handle, !tir.handle, ui32, f32, i32) -> !tir.handle
// CHECK-NEXT:    %[[NONE:.*]] = tir.call "tvm_stack_make_shape"() : () -> !tir.handle
// CHECK:         %[[HANDLE:.*]] = tir.call "reinterpret"
// CHECK-NEXT:    %[[R0:.*]] = tir.const 0 : ui32
// CHECK-NEXT:    %[[O0:.*]] = tir.const 0 : ui64
// CHECK-NEXT:    %[[Y:.*]] = tir.call "tvm_stack_make_array"(%[[Q]], %[[NONE]], %[[HANDLE]], %[[R0]], %[[HANDLE]], %[[O0]]) : (!tir.ptr<i8>, !tir.handle, !tir.handle, ui32, !tir.handle, ui64) -> !tir.handle
// CHECK-NEXT:    %{{.*}} = tir.call "tvm_call_cpacked"(%[[S]], %[[X]], %[[A]], %[[Y]], %[[NULL]])

// -----

// CASE: LegalizePackedCalls.4
tir.func @used(%null: !tir.handle) -> i32 {
  %p = tir.allocate [16] : !tir.ptr<f32>
  %s = tir.string "callee"
  %r = tir.call "tvm_call_cpacked"(%s, %p, %null) : (!tir.handle, !tir.ptr<f32>, !tir.handle) -> i32
  tir.ret %r : i32
}
tir.func @callee(%x: !tir.handle) {
  %X = tir.match_buffer "X" %x : !tir.buffer<4x4xf32>
}
// CHECK-LABEL: tir.func @used(
// CHECK-NOT:     tvm_stack_make_array
// CHECK-LABEL: tir.func @callee(

// -----

// CASE: LegalizePackedCalls.6
// CASE: LegalizePackedCalls.7
// Scalars are no arrays, and so stay, other than in the case: the function would take the
// address of an array for the number.
tir.func @main(%b: !tir.handle, %n: i32, %null: !tir.handle) {
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi64>
  %d = tir.data %B : !tir.ptr<i64>
  %c3 = tir.const 3 : i32
  %p = tir.address_of %B[%c3] : !tir.ptr<i64>
  %x = tir.add %n, %c3 : i32
  %l = tir.let "l" %x : i32
  %s = tir.string "callee"
  %r = tir.call "tvm_call_cpacked"(%s, %d, %p, %n, %x, %l, %c3, %null) : (!tir.handle, !tir.ptr<i64>, !tir.ptr<i64>, i32, i32, i32, i32, !tir.handle) -> i32
  tir.evaluate %r : i32
}
tir.func @callee(%x: !tir.handle, %y: !tir.handle, %n: i32, %m: i32, %k: i32, %j: i32) {
  %o = tir.shape_var "o" : i32
  %X = tir.match_buffer "X" %x [%m] offset %o {offset_factor = 2 : i32} : !tir.buffer<?x2xi64>
  %Y = tir.match_buffer "Y" %y : !tir.buffer<1x2x4xi64>
}
// CHECK-LABEL: tir.func @main(
// CHECK:         %[[SUM:.*]] = tir.add %
// CHECK-NEXT:    %[[LET:.*]] = tir.let
// CHECK:         tir.call "tvm_stack_make_shape"(%[[SUM]], %{{.*}}) : (i32, i32) -> !tir.handle
// CHECK:         %[[A0:.*]] = tir.call "tvm_stack_make_array"
// CHECK:         tir.call "tvm_stack_make_shape"(%{{.*}}, %{{.*}}, %{{.*}}) : (i32, i32, i32) -> !tir.handle
// CHECK:         %[[A1:.*]] = tir.call "tvm_stack_make_array"
// CHECK-NEXT:    %{{.*}} = tir.call "tvm_call_cpacked"(%{{.*}}, %[[A0]], %[[A1]], %{{.*}}, %[[SUM]], %[[LET]], %{{.*}}, %{{.*}})
