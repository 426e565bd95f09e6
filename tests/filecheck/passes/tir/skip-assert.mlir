// RUN: xdsl-opt %s -p tir-skip-assert --split-input-file | filecheck %s

// CASE: SkipAssert.1
tir.func @single(%a: !tir.handle, %n: i32) attributes {global_symbol = "single"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %one = tir.const 1.0 : f32
  %p = tir.cmp gt %n, %c0 : i32
  tir.assert %p, "n must be positive"
  tir.store %one, %A[%c0] : f32
}
// CHECK-LABEL: tir.func @single
// CHECK:         %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:    %[[ONE:.*]] = tir.const 1.0{{.*}} : f32
// CHECK-NEXT:    tir.store %[[ONE]], %{{.*}}[%[[C0]]] : f32
// CHECK-NEXT:  }

// -----

// CASE: SkipAssert.2
tir.func @nested(%a: !tir.handle, %n: i32) attributes {global_symbol = "nested"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %one = tir.const 1.0 : f32
  %p = tir.cmp ge %n, %c0 : i32
  tir.assert %p, "outer"
  tir.assert %p, "inner"
  tir.for %i = %c0 to %c4 {
    // The load is needed by the assertion alone.
    %x = tir.load %A[%i] : f32
    %q = tir.cmp lt %x, %one : f32
    tir.assert %q, "in a loop"
    %r = tir.cmp lt %i, %n : i32
    tir.if %r {
      tir.assert %r, "in a branch"
      tir.store %one, %A[%i] : f32
    } else {
      tir.assert %r, "alone in a branch"
    }
  }
}
// CHECK-LABEL: tir.func @nested
// CHECK-NOT:     tir.assert
// CHECK:         tir.for %[[I:.*]] = %{{.*}} to
// CHECK-NEXT:      %[[R:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[R]] {
// CHECK-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[I]]] : f32
// CHECK-NEXT:      } else {
// CHECK-NEXT:      }

// -----

// CASE: SkipAssert.3
tir.func @none(%a: !tir.handle) attributes {global_symbol = "none"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %p = tir.const true
  %q = tir.call "assume"(%p) : (i1) -> i1
  %x = tir.load %A[%c0] : f32
  tir.store %x, %A[%c0] : f32
}
// CHECK-LABEL: tir.func @none
// CHECK:         tir.call "assume"
// CHECK-NEXT:    tir.load
// CHECK-NEXT:    tir.store

// -----

// What else uses a condition keeps it, and a call with an effect is still made.
tir.func @shared(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %p = tir.cmp gt %n, %c0 : i32
  tir.assert %p, "shared"
  %name = tir.string "check"
  %status = tir.call "call_extern"(%name, %n) : (!tir.handle, i32) -> i32
  %ok = tir.cmp eq %status, %c0 : i32
  tir.assert %ok, "call"
  %code = tir.add %n, %n : i32
  tir.assert %p, %code
  tir.if %p {
    tir.store %n, %A[%c0] : i32
  }
}
// CHECK-LABEL: tir.func @shared
// CHECK:         %[[P:.*]] = tir.cmp gt
// CHECK-NEXT:    tir.string "check"
// CHECK-NEXT:    tir.call "call_extern"
// CHECK-NEXT:    tir.if %[[P]]
