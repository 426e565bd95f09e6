// RUN: xdsl-opt %s -p tir-insert-bound-checks --split-input-file | filecheck %s

tir.func @accesses(%a: !tir.handle, %i: i32) {
  %n = tir.shape_var "n" : i64
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?x4xi32>
  %c2 = tir.const 2 : i32
  %x = tir.load %A[%i, %c2] : i32
  tir.store %x, %A[%i, %c2] : i32
}
// A constant that is in bounds has no assertion.
// CHECK-LABEL: tir.func @accesses
// CHECK:         %[[I:.*]] = tir.cast %i : i32 to i64
// CHECK:         %[[LOW:.*]] = tir.cmp le %{{.*}}, %[[I]] : i64
// CHECK:         %[[HIGH:.*]] = tir.cmp lt %[[I]], %n : i64
// CHECK:         %[[P:.*]] = tir.and %[[LOW]], %[[HIGH]]
// CHECK:         tir.string "@accesses: index {} of 'A' is out of bounds in dimension 0"
// CHECK:         tir.assert %[[P]]
// CHECK-NEXT:    tir.load
// CHECK:         tir.assert
// CHECK-NEXT:    tir.store

// -----

// An operation under a condition is asserted under it; constants need no assertion.
tir.func @divisions(%n: i32, %m: i32, %u: ui8, %p: i1) -> i32 {
  %c3 = tir.const 3 : i32
  %x = tir.floordiv %n, %c3 : i32
  %r = tir.if_then_else %p -> i32 {
    %y = tir.mod %n, %m : i32
    tir.yield %y : i32
  } else {
    tir.yield %x : i32
  }
  %v = tir.div %u, %u : ui8
  tir.evaluate %v : ui8
  tir.ret %r : i32
}
// CHECK-LABEL: tir.func @divisions
// CHECK-NOT:     tir.assert
// CHECK:         tir.floordiv
// CHECK:         tir.if_then_else
// CHECK:           %[[Z:.*]] = tir.cmp ne %m, %{{.*}} : i32
// CHECK:           tir.const -2147483648 : i32
// CHECK:           %[[F:.*]] = tir.or
// CHECK:           %[[Q:.*]] = tir.and %[[Z]], %[[F]]
// CHECK:           tir.string "@divisions: {} divided by {} has no result"
// CHECK:           tir.assert %[[Q]]
// CHECK-NEXT:      tir.mod
// CHECK:         %[[U:.*]] = tir.cmp ne %u
// CHECK:         tir.assert %[[U]]
// CHECK-NEXT:    tir.div
