// RUN: xdsl-opt %s -p tir-remove-store-undef --split-input-file | filecheck %s

// CASE: RemoveStoreUndef.1
// What would hold an undefined value is overwritten, so that the functions here compute
// the same before and after.
tir.func @plain(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %u = tir.call "undef"() : () -> i32
  tir.store %u, %A[%c0] : i32
  tir.store %c0, %A[%c0] : i32
}
// CHECK-LABEL: tir.func @plain
// CHECK-NEXT:    %A = tir.match_buffer
// CHECK-NEXT:    %c0 = tir.const 0
// CHECK-NEXT:    tir.store %c0, %A[%c0]
// CHECK-NEXT:  }

// -----

// CASE: RemoveStoreUndef.2
tir.func @expression(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %u = tir.call "undef"() : () -> i32
  %x = tir.add %c1, %u : i32
  tir.store %x, %A[%c0] : i32
  tir.store %c0, %A[%c0] : i32
}
// CHECK-LABEL: tir.func @expression
// CHECK-NEXT:    %A = tir.match_buffer
// CHECK-NEXT:    %c0 = tir.const 0
// CHECK-NEXT:    tir.store %c0, %A[%c0]
// CHECK-NEXT:  }

// -----

// CASE: RemoveStoreUndef.3
tir.func @let(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %u = tir.call "undef"() : () -> i32
  %val = tir.let "val" %u : i32
  tir.store %val, %A[%c0] : i32
  tir.store %c0, %A[%c0] : i32
}
// CHECK-LABEL: tir.func @let
// CHECK-NEXT:    %A = tir.match_buffer
// CHECK-NEXT:    %c0 = tir.const 0
// CHECK-NEXT:    tir.store %c0, %A[%c0]
// CHECK-NEXT:  }

// -----

// CASE: RemoveStoreUndef.4
tir.func @chain(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %u = tir.call "undef"() : () -> i32
  %x = tir.let "x" %u : i32
  %0 = tir.add %x, %c1 : i32
  %y = tir.let "y" %0 : i32
  tir.store %y, %A[%c0] : i32
  tir.store %c0, %A[%c0] : i32
}
// CHECK-LABEL: tir.func @chain
// CHECK-NEXT:    %A = tir.match_buffer
// CHECK-NEXT:    %c0 = tir.const 0
// CHECK-NEXT:    tir.store %c0, %A[%c0]
// CHECK-NEXT:  }

// -----

// CASE: RemoveStoreUndef.5
tir.func @other_calls(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %x = tir.call "shift_left"(%n, %c1) : (i32, i32) -> i32
  tir.store %x, %A[%c0] : i32
}
// CHECK-LABEL: tir.func @other_calls
// CHECK:         %x = tir.call "shift_left"
// CHECK-NEXT:    tir.store %x, %A[%c0]

// -----

// Choices and vectors; a loop with nothing left goes too. Another store of what is
// computed along with an undefined value stays, and so does a call that a let binds.
tir.func @choices(%a: !tir.handle, %p: i1, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %u = tir.call "undef"() : () -> i32
  tir.for %i = %c0 to %c16 {
    %x = tir.if_then_else %p -> i32 {
      tir.yield %u : i32
    } else {
      tir.yield %i : i32
    }
    tir.store %x, %A[%i] : i32
  }
  %r = tir.ramp %c0, %c1 : vector<16xi32>
  %v = tir.broadcast %u : vector<16xi32>
  tir.store %v, %A[%r] : vector<16xi32>
  %f = tir.string "f"
  %s = tir.call "call_extern"(%f) : (!tir.handle) -> i32
  %e = tir.let "e" %s : i32
  %0 = tir.add %u, %e : i32
  tir.store %0, %A[%c0] : i32
  tir.store %e, %A[%c1] : i32
}
// CHECK-LABEL: tir.func @choices
// CHECK-NOT:     tir.for
// CHECK-NOT:     undef
// CHECK:         %s = tir.call "call_extern"(%f)
// CHECK-NEXT:    %e = tir.let "e" %s
// CHECK-NEXT:    tir.store %e, %A[%c1]
// CHECK-NEXT:  }
