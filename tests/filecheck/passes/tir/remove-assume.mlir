// RUN: xdsl-opt %s -p tir-remove-assume --split-input-file | filecheck %s

// CASE: RemoveAssume.1
tir.func @single(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c5 = tir.const 5 : i32
  %c10 = tir.const 10 : i32
  %x = tir.load %A[%c0] : i32
  %p = tir.cmp eq %x, %c5 : i32
  %q = tir.call "assume"(%p) : (i1) -> i1
  tir.evaluate %q : i1
  tir.store %c10, %A[%c0] : i32
}
// CHECK-LABEL: tir.func @single
// CHECK-NEXT:    %A = tir.match_buffer
// CHECK-NEXT:    %c0 = tir.const 0
// CHECK-NEXT:    %c10 = tir.const 10
// CHECK-NEXT:    tir.store %c10, %A[%c0]
// CHECK-NEXT:  }

// -----

// CASE: RemoveAssume.2
tir.func @loop(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c10 = tir.const 10 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    %x = tir.load %A[%i] : i32
    %p = tir.cmp eq %x, %c0 : i32
    %q = tir.call "assume"(%p) : (i1) -> i1
  }
  tir.for %j = %c0 to %c16 {
    tir.store %c10, %A[%j] : i32
  }
}
// CHECK-LABEL: tir.func @loop
// CHECK-NOT:     tir.for %i
// CHECK:         tir.for %j
// CHECK-NEXT:      tir.store %c10, %A[%j]

// -----

// CASE: RemoveAssume.3
// A condition that has an effect is still evaluated.
tir.func @branch(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c = tir.cmp lt %n, %c0 : i32
  tir.if %c {
    %x = tir.load %A[%c0] : i32
    %p = tir.cmp eq %x, %c0 : i32
    %q = tir.call "assume"(%p) : (i1) -> i1
  }
  %f = tir.string "f"
  %r = tir.call "call_extern"(%f) : (!tir.handle) -> i1
  tir.if %r {
    %x = tir.load %A[%n] : i32
    %p = tir.cmp eq %x, %c0 : i32
    %q = tir.call "assume"(%p) : (i1) -> i1
    tir.evaluate %q : i1
  }
}
// CHECK-LABEL: tir.func @branch
// CHECK-NEXT:    tir.match_buffer
// CHECK-NEXT:    %f = tir.string "f"
// CHECK-NEXT:    tir.call "call_extern"(%f)
// CHECK-NEXT:  }

// -----

// CASE: RemoveAssume.4
// Without an assumption, only what has no effect goes.
tir.func @none(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    %x = tir.load %A[%i] : i32
    %y = tir.add %x, %n : i32
    tir.store %y, %A[%i] : i32
  }
  tir.evaluate %n : i32
}
// CHECK-LABEL: tir.func @none
// CHECK:         tir.for %i
// CHECK-NEXT:      %x = tir.load %A[%i]
// CHECK-NEXT:      %y = tir.add %x, %n
// CHECK-NEXT:      tir.store %y, %A[%i]
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// An assumption that is part of an expression is no statement.
tir.func @nested(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi1>
  %c0 = tir.const 0 : i32
  %p = tir.cmp eq %n, %n : i32
  %q = tir.call "assume"(%p) : (i1) -> i1
  tir.store %q, %A[%c0] : i1
}
// CHECK-LABEL: tir.func @nested
// CHECK:         %q = tir.call "assume"
// CHECK-NEXT:    tir.store %q
