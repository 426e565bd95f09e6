// RUN: xdsl-opt -p canonicalize,cse,dce %s | filecheck %s

// What must not be rewritten.

// CHECK-LABEL: tir.func @float_zero(
// The sum of two zeros may have another sign, and x may be infinite or NaN.
tir.func @float_zero(%x: f32) -> f32 {
  %zero = tir.const 0.0 : f32
  %minus_zero = tir.const -0.0 : f32
  // CHECK: tir.add
  // CHECK-NEXT: tir.sub
  // CHECK-NEXT: tir.mul
  // CHECK-NEXT: tir.sub
  // CHECK-NEXT: tir.div
  // CHECK-NEXT: tir.ret
  %a = tir.add %x, %zero : f32
  %b = tir.sub %a, %minus_zero : f32
  %c = tir.mul %b, %zero : f32
  %d = tir.sub %c, %c : f32
  %e = tir.div %zero, %d : f32
  tir.ret %e : f32
}

// CHECK-LABEL: tir.func @float_same(
tir.func @float_same(%x: f32) -> i1 {
  // CHECK-NEXT: tir.cmp eq
  // CHECK-NEXT: tir.ret
  %p = tir.cmp eq %x, %x : f32
  tir.ret %p : i1
}

// CHECK-LABEL: tir.func @division_by_zero(
tir.func @division_by_zero(%x: i32, %f: f32) -> i32 {
  %c0 = tir.const 0 : i32
  // CHECK: tir.div
  // CHECK-NEXT: tir.floordiv
  // CHECK-NEXT: tir.div
  // CHECK-NEXT: tir.ret
  %a = tir.div %x, %c0 : i32
  %b = tir.floordiv %a, %c0 : i32
  %c = tir.div %b, %b : i32
  tir.ret %c : i32
}

// CHECK-LABEL: tir.func @overflow() -> i32
// Its value is undefined, and that of the integers elsewhere.
tir.func @overflow() -> i32 {
  %x = tir.const 2147483647 : i32
  %y = tir.const 1 : i32
  // CHECK: tir.add
  // CHECK-NEXT: tir.ret
  %z = tir.add %x, %y : i32
  tir.ret %z : i32
}

// CHECK-LABEL: tir.func @narrow_cast(
tir.func @narrow_cast(%x: i32) -> i32 {
  // CHECK-NEXT: tir.cast {{.*}} i32 to i8
  // CHECK-NEXT: tir.cast {{.*}} i8 to i32
  // CHECK-NEXT: tir.ret
  %a = tir.cast %x : i32 to i8
  %b = tir.cast %a : i8 to i32
  tir.ret %b : i32
}

// CHECK-LABEL: tir.func @signs(
// i8 to ui8 is no number kept, so the second cast extends otherwise.
tir.func @signs(%x: i8) -> i32 {
  // CHECK-NEXT: tir.cast {{.*}} i8 to ui8
  // CHECK-NEXT: tir.cast {{.*}} ui8 to i32
  // CHECK-NEXT: tir.ret
  %a = tir.cast %x : i8 to ui8
  %b = tir.cast %a : ui8 to i32
  tir.ret %b : i32
}

// CHECK-LABEL: tir.func @bool_of_number(
tir.func @bool_of_number(%x: i8) -> i8 {
  // CHECK-NEXT: tir.cast {{.*}} i8 to i1
  // CHECK-NEXT: tir.cast {{.*}} i1 to i8
  // CHECK-NEXT: tir.ret
  %a = tir.cast %x : i8 to i1
  %b = tir.cast %a : i1 to i8
  tir.ret %b : i8
}

// CHECK-LABEL: tir.func @cast_out_of_range() -> i8
tir.func @cast_out_of_range() -> i8 {
  %x = tir.const 300.0 : f32
  // CHECK: tir.cast
  // CHECK-NEXT: tir.ret
  %y = tir.cast %x : f32 to i8
  tir.ret %y : i8
}

// CHECK-LABEL: tir.func @custom(
tir.func @custom() -> i1 {
  %x = tir.const #tir.custom_value<1.0 : f64, !tir.custom<"posites2", 16>>
  %y = tir.const #tir.custom_value<2.0 : f64, !tir.custom<"posites2", 16>>
  // CHECK: tir.cmp lt
  // CHECK-NEXT: tir.ret
  %p = tir.cmp lt %x, %y : !tir.custom<"posites2", 16>
  tir.ret %p : i1
}

// CHECK-LABEL: tir.func @guarded(
// Only the taken branch is evaluated.
tir.func @guarded(%p: i1, %x: i32, %y: i32) -> i32 {
  // CHECK-NEXT: tir.if_then_else
  // CHECK-NEXT: tir.div
  %a = tir.if_then_else %p -> i32 {
    %q = tir.div %x, %y : i32
    tir.yield %q : i32
  } else {
    tir.yield %x : i32
  }
  tir.ret %a : i32
}

// CHECK-LABEL: tir.func @impure(
// CHECK-COUNT-2: tir.call_func @write
tir.func @impure(%a: !tir.handle) {
  %x = tir.call_func @write(%a) : (!tir.handle) -> i32
  %y = tir.call_func @write(%a) : (!tir.handle) -> i32
  tir.ret
}

// CHECK-LABEL: tir.func private @write(
// CHECK: tir.store
tir.func private @write(%a: !tir.handle) -> i32 {
  %A = tir.match_buffer %a : !tir.buffer<1xi32>
  %c0 = tir.const 0 : i32
  %x = tir.load %A[%c0] : i32
  %c1 = tir.const 1 : i32
  %y = tir.add %x, %c1 : i32
  tir.store %y, %A[%c0] : i32
  tir.ret %x : i32
}
