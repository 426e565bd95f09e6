// RUN: xdsl-opt -p canonicalize,cse,dce %s | filecheck %s

// Each value that is left is stored or returned, so dead code shows nothing.

// CHECK-LABEL: tir.func @identities(
// CHECK-SAME: [[X:%[^ :]+]]: i32
tir.func @identities(%x: i32) -> i32 {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %a = tir.add %x, %c0 : i32
  %b = tir.add %c0, %a : i32
  %c = tir.sub %b, %c0 : i32
  %d = tir.mul %c, %c1 : i32
  %e = tir.mul %c1, %d : i32
  %f = tir.div %e, %c1 : i32
  %g = tir.floordiv %f, %c1 : i32
  %h = tir.min %g, %g : i32
  %i = tir.max %h, %h : i32
  %j = tir.call "shift_left"(%i, %c0) : (i32, i32) -> i32
  %k = tir.call "bitwise_and"(%j, %j) : (i32, i32) -> i32
  %l = tir.cast %k : i32 to i32
  // CHECK-NEXT: tir.ret [[X]] : i32
  tir.ret %l : i32
}

// CHECK-LABEL: tir.func @zero(
tir.func @zero(%x: i32, %y: ui8) -> i1 {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %u0 = tir.const 0 : ui8
  %a = tir.sub %x, %x : i32
  %b = tir.mul %x, %c0 : i32
  %c = tir.mod %x, %c1 : i32
  %d = tir.floormod %x, %c1 : i32
  %e = tir.call "bitwise_xor"(%x, %x) : (i32, i32) -> i32
  %f = tir.sub %y, %y : ui8
  %p = tir.cmp eq %a, %b : i32
  %q = tir.cmp eq %c, %d : i32
  %r = tir.cmp eq %e, %c0 : i32
  %s = tir.cmp eq %f, %u0 : ui8
  %t = tir.and %p, %q : i1
  %u = tir.and %r, %s : i1
  %v = tir.and %t, %u : i1
  // CHECK-NEXT: [[T:%[^ ]+]] = tir.const true
  // CHECK-NEXT: tir.ret [[T]] : i1
  tir.ret %v : i1
}

// CHECK-LABEL: tir.func @constants(
// CHECK-SAME: [[A:%[^ :]+]]: !tir.handle
tir.func @constants(%a: !tir.handle) {
  // CHECK: [[A0:%[^ ]+]] = tir.match_buffer [[A]]
  %A = tir.match_buffer %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c7 = tir.const 7 : i32
  %m7 = tir.const -7 : i32
  // CHECK: tir.const 14 : i32
  %x0 = tir.mul %c7, %c2 : i32
  tir.store %x0, %A[%c0] : i32
  // CHECK: tir.const -3 : i32
  %x1 = tir.div %m7, %c2 : i32
  tir.store %x1, %A[%c0] : i32
  // CHECK: tir.const -4 : i32
  %x2 = tir.floordiv %m7, %c2 : i32
  tir.store %x2, %A[%c0] : i32
  // CHECK: tir.const -1 : i32
  %x3 = tir.mod %m7, %c2 : i32
  tir.store %x3, %A[%c0] : i32
  // CHECK: tir.const 1 : i32
  %x4 = tir.floormod %m7, %c2 : i32
  tir.store %x4, %A[%c0] : i32
  // CHECK: tir.const 28 : i32
  %x5 = tir.call "shift_left"(%c7, %c2) : (i32, i32) -> i32
  tir.store %x5, %A[%c0] : i32
  tir.ret
}

// CHECK-LABEL: tir.func @wraps() -> i8
tir.func @wraps() -> i8 {
  %x = tir.const 127 : i8
  %y = tir.const 1 : i8
  // CHECK-NEXT: [[R:%[^ ]+]] = tir.const -128 : i8
  // CHECK-NEXT: tir.ret [[R]]
  %z = tir.add %x, %y : i8
  tir.ret %z : i8
}

// CHECK-LABEL: tir.func @float_constants() -> f32
tir.func @float_constants() -> f32 {
  // The sum is rounded to f32.
  %x = tir.const 16777216.0 : f32
  %y = tir.const 1.0 : f32
  // CHECK-NEXT: [[R:%[^ ]+]] = tir.const 0x4B800000 : f32
  // CHECK-NEXT: tir.ret [[R]]
  %z = tir.add %x, %y : f32
  tir.ret %z : f32
}

// CHECK-LABEL: tir.func @float_identities(
// CHECK-SAME: [[X:%[^ :]+]]: f32
tir.func @float_identities(%x: f32) -> f32 {
  %zero = tir.const 0.0 : f32
  %minus_zero = tir.const -0.0 : f32
  %one = tir.const 1.0 : f32
  %a = tir.add %x, %minus_zero : f32
  %b = tir.sub %a, %zero : f32
  %c = tir.mul %b, %one : f32
  %d = tir.div %c, %one : f32
  %e = tir.max %d, %d : f32
  // CHECK-NEXT: tir.ret [[X]] : f32
  tir.ret %e : f32
}

// CHECK-LABEL: tir.func @bools(
// CHECK-SAME: [[P:%[^ :]+]]: i1, [[Q:%[^ :]+]]: i1
tir.func @bools(%p: i1, %q: i1) -> i1 {
  %true = tir.const true
  %false = tir.const false
  %a = tir.not %p : i1
  %b = tir.not %a : i1
  %c = tir.and %b, %true : i1
  %d = tir.or %false, %c : i1
  %e = tir.or %d, %d : i1
  %f = tir.not %true : i1
  %g = tir.or %e, %f : i1
  // CHECK-NEXT: [[R:%[^ ]+]] = tir.and [[P]], [[Q]] : i1
  %h = tir.and %g, %q : i1
  // CHECK-NEXT: tir.ret [[R]]
  tir.ret %h : i1
}

// CHECK-LABEL: tir.func @selects(
// CHECK-SAME: [[P:%[^ :]+]]: i1, [[X:%[^ :]+]]: i32, [[Y:%[^ :]+]]: i32
tir.func @selects(%p: i1, %x: i32, %y: i32) -> i32 {
  %true = tir.const true
  %false = tir.const false
  %q = tir.select %p, %true, %false : i1, i1
  %n = tir.not %q : i1
  %a = tir.select %true, %x, %y : i1, i32
  %b = tir.select %false, %x, %y : i1, i32
  // CHECK-NEXT: [[R:%[^ ]+]] = tir.select [[P]], [[Y]], [[X]] : i1, i32
  %c = tir.select %n, %a, %b : i1, i32
  %d = tir.select %p, %c, %c : i1, i32
  // CHECK-NEXT: tir.ret [[R]]
  tir.ret %d : i32
}

// CHECK-LABEL: tir.func @branches(
// CHECK-SAME: [[P:%[^ :]+]]: i1, [[X:%[^ :]+]]: i32, [[Y:%[^ :]+]]: i32
tir.func @branches(%p: i1, %x: i32, %y: i32) -> i32 {
  %true = tir.const true
  // CHECK-NEXT: [[D:%[^ ]+]] = tir.div [[X]], [[Y]] : i32
  %a = tir.if_then_else %true -> i32 {
    %q = tir.div %x, %y : i32
    tir.yield %q : i32
  } else {
    tir.yield %y : i32
  }
  %b = tir.if_then_else %p -> i32 {
    tir.yield %a : i32
  } else {
    tir.yield %a : i32
  }
  // CHECK-NEXT: tir.ret [[D]]
  tir.ret %b : i32
}

// CHECK-LABEL: tir.func @casts(
// CHECK-SAME: [[X:%[^ :]+]]: i8, [[H:%[^ :]+]]: f16
tir.func @casts(%x: i8, %h: f16, %a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<1xi8>
  %B = tir.match_buffer %b : !tir.buffer<1xf16>
  %c0 = tir.const 0 : i32
  %wide = tir.cast %x : i8 to i64
  %back = tir.cast %wide : i64 to i8
  // CHECK: tir.store [[X]]
  tir.store %back, %A[%c0] : i8
  %float = tir.cast %h : f16 to f32
  %half = tir.cast %float : f32 to f16
  // CHECK: tir.store [[H]]
  tir.store %half, %B[%c0] : f16
  tir.ret
}

// CHECK-LABEL: tir.func @merged_casts(
// CHECK-SAME: [[X:%[^ :]+]]: ui8
tir.func @merged_casts(%x: ui8) -> f32 {
  %a = tir.cast %x : ui8 to i16
  %b = tir.cast %a : i16 to i32
  // CHECK-NEXT: [[R:%[^ ]+]] = tir.cast [[X]] : ui8 to f32
  %c = tir.cast %b : i32 to f32
  // CHECK-NEXT: tir.ret [[R]]
  tir.ret %c : f32
}

// CHECK-LABEL: tir.func @cast_constants() -> i8
tir.func @cast_constants() -> i8 {
  %x = tir.const -2.75 : f32
  // CHECK-NEXT: [[R:%[^ ]+]] = tir.const -2 : i8
  // CHECK-NEXT: tir.ret [[R]]
  %y = tir.cast %x : f32 to i8
  tir.ret %y : i8
}

// CHECK-LABEL: tir.func @vectors(
// CHECK-SAME: [[V:%[^ :]+]]: vector<4xi32>
tir.func @vectors(%v: vector<4xi32>) -> vector<4xi32> {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %zeros = tir.ramp %c0, %c0 : vector<4xi32>
  %ones = tir.broadcast %c1 : vector<4xi32>
  %a = tir.add %v, %zeros : vector<4xi32>
  %b = tir.mul %a, %ones : vector<4xi32>
  %c = tir.shuffle [%b] [%c0, %c1, %c2, %c3] : vector<4xi32>
  // CHECK-NEXT: tir.ret [[V]]
  tir.ret %c : vector<4xi32>
}

// CHECK-LABEL: tir.func @lane(
// CHECK-SAME: [[X:%[^ :]+]]: i32
tir.func @lane(%x: i32) -> i32 {
  %c0 = tir.const 0 : i32
  %v = tir.ramp %x, %c0 : vector<4xi32>
  %y = tir.shuffle [%v] [%c0] : i32
  // CHECK-NEXT: tir.ret [[X]]
  tir.ret %y : i32
}

// CHECK-LABEL: tir.func @loads_between_stores(
tir.func @loads_between_stores(%a: !tir.handle, %x: i32) -> i32 {
  %A = tir.match_buffer %a : !tir.buffer<1xi32>
  %c0 = tir.const 0 : i32
  // CHECK: tir.load
  // CHECK-NOT: tir.load
  // CHECK: tir.store
  // CHECK: tir.load
  // CHECK-NOT: tir.load
  %y = tir.load %A[%c0] : i32
  %z = tir.load %A[%c0] : i32
  tir.store %x, %A[%c0] : i32
  %w = tir.load %A[%c0] : i32
  %v = tir.add %y, %z : i32
  %u = tir.add %v, %w : i32
  tir.ret %u : i32
}
