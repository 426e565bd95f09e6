// RUN: xdsl-opt %s -p tir-lower-vtcm-alloc --split-input-file | filecheck %s

// CASE: LowerVtcmAlloc.1
// CASE: LowerVtcmAlloc.2
// CASE: LowerVtcmAlloc.3
// CASE: LowerVtcmAlloc.4
// CASE: LowerVtcmAlloc.5
// CASE: LowerVtcmAlloc.6
// That an allocation gives a pointer is verified, so case 6 cannot be written.
tir.func @f(%x: i8) -> i8 attributes {global_symbol = "f"} {
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  %p = tir.allocate [64] : !tir.ptr<i8, "global.vtcm">
  %D = tir.decl_buffer %p : !tir.buffer<64xi8, "global.vtcm">
  tir.for %i = %c0 to %c3 {
    %q = tir.allocate [%c3, 128] : !tir.ptr<i8, "global.vtcm">
    %E = tir.decl_buffer %q : !tir.buffer<3x128xi8, "global.vtcm">
    tir.store %x, %E[%i, %c0] : i8
    %y = tir.load %E[%i, %c0] : i8
    tir.store %y, %D[%i] : i8
  }
  %g = tir.allocate [4] : !tir.ptr<i8>
  %z = tir.load %D[%c0] : i8
  tir.ret %z : i8
}
// CHECK-LABEL: tir.func @f
// CHECK:         %[[S:.*]] = tir.string "global.vtcm"
// CHECK-NEXT:    %[[ONE:.*]] = tir.const 1 : i64
// CHECK-NEXT:    %[[N:.*]] = tir.const 64 : i32
// CHECK-NEXT:    %[[H:.*]] = tir.call "tvm_stack_make_shape"(%[[N]]) : (i32) -> !tir.handle
// CHECK-NEXT:    %[[P:.*]] = tir.call "nd_mem_alloc_with_scope"(%[[S]], %[[ONE]], %[[H]]) : (!tir.handle, i64, !tir.handle) -> !tir.ptr<i8, "global.vtcm">
// CHECK-NEXT:    tir.decl_buffer %[[P]]
// CHECK-NEXT:    tir.for
// CHECK-NEXT:      tir.string "global.vtcm"
// CHECK-NEXT:      tir.const 2 : i64
// CHECK-NEXT:      %[[M:.*]] = tir.const 128 : i32
// CHECK-NEXT:      tir.call "tvm_stack_make_shape"(%{{.*}}, %[[M]]) : (i32, i32) -> !tir.handle
// CHECK-NEXT:      tir.call "nd_mem_alloc_with_scope"
// CHECK:         tir.allocate [4] : !tir.ptr<i8>

// -----

// The scope is found as a part of the name, as there.
tir.func @part(%p: i1) {
  %q = tir.allocate [8] if %p : !tir.ptr<f32, "global.vtcm2">
  %r = tir.allocate [8] : !tir.ptr<f32, "shared">
}
// CHECK-LABEL: tir.func @part
// CHECK-NEXT:    tir.string "global.vtcm2"
// CHECK:         tir.call "nd_mem_alloc_with_scope"{{.*}} -> !tir.ptr<f32, "global.vtcm2">
// CHECK-NEXT:    tir.allocate [8] : !tir.ptr<f32, "shared">
