// RUN: xdsl-opt %s -p tir-instrument-profile-intrinsics --split-input-file | filecheck %s

// CASE: InstrumentProfileIntrinsics.7 CASE: InstrumentProfileIntrinsics.9
// A function is marked; a loop without others beside it is not.

tir.func @f(%n: i32) {
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n {
    tir.evaluate %i : i32
  }
}

// CHECK-LABEL: tir.func @f
// CHECK-NEXT:    %[[N:.*]] = tir.const [[NUMBER:.*]] : i32
// CHECK-NEXT:    tir.call "start_profile_intrinsic"(%[[N]]) {tir.profile_name = "f"} : (i32) -> !tir.handle
// CHECK-NOT:     _profile_intrinsic
// CHECK:         tir.for
// CHECK-NOT:     start_profile_intrinsic
// CHECK:         %[[E:.*]] = tir.const [[NUMBER]] : i32
// CHECK-NEXT:    tir.call "end_profile_intrinsic"(%[[E]]) {tir.profile_name = "f"} : (i32) -> !tir.handle

// -----

// A function ends where it returns.

tir.func @g(%x: i32) -> i32 {
  tir.ret %x : i32
}

// CHECK-LABEL: tir.func @g
// CHECK:         start_profile_intrinsic
// CHECK:         end_profile_intrinsic
// CHECK-NEXT:    tir.ret
// CHECK-NOT:     end_profile_intrinsic

// -----

// Declarations stay.

tir.func @declared(i32)

// CHECK: tir.func @declared(i32)
