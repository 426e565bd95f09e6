// RUN: xdsl-opt %s -p tir-instrument-bound-checkers --split-input-file | filecheck %s

// CASE: InstrumentBoundCheckers.3
// The load of a store is done under the check of both.

tir.func @f(%a: !tir.ptr<f32>, %b: !tir.ptr<f32>, %i: i32, %j: i32) {
  %c16 = tir.const 16 : i32
  %t = tir.call "tvm_tuple"(%c16) : (i32) -> !tir.handle
  tir.attr "buffer_bound" (%a) = %t {
    tir.attr "buffer_bound" (%b) = %t {
      %A = tir.decl_buffer "A" %a : !tir.buffer<16xf32>
      %B = tir.decl_buffer "B" %b : !tir.buffer<16xf32>
      %x = tir.load %B[%j] : f32
      tir.store %x, %A[%i] : f32
    }
  }
}

// CHECK-LABEL: tir.func @f
// CHECK:           %[[J:.*]] = tir.cast %j : i32 to i64
// CHECK:           %[[I:.*]] = tir.cast %i : i32 to i64
// CHECK:           tir.if %[[C:.*]] {
// CHECK-NEXT:        %x = tir.load %B[%j] : f32
// CHECK-NEXT:        tir.store %x, %A[%i] : f32
// CHECK-NEXT:      } else {
// CHECK-NEXT:        tir.assert %[[C]], "OUT OF THE BOUNDS"
// CHECK-NEXT:        %[[ONE:.*]] = tir.const 1 : i32
// CHECK-NEXT:        tir.evaluate %[[ONE]] : i32
// CHECK-NEXT:      }

// -----

// CASE: InstrumentBoundCheckers.2 CASE: InstrumentBoundCheckers.9
// Memory without bounds stays, and so do loads that nothing stores.

tir.func @g(%a: !tir.ptr<f32>, %i: i32) {
  %c16 = tir.const 16 : i32
  %t = tir.call "tvm_tuple"(%c16) : (i32) -> !tir.handle
  %x = tir.const 1.0 : f32
  %b = tir.allocate [16] : !tir.ptr<f32>
  tir.attr "buffer_bound" (%a) = %t {
    %A = tir.decl_buffer "A" %a : !tir.buffer<16xf32>
    %B = tir.decl_buffer "B" %b : !tir.buffer<16xf32>
    %y = tir.load %A[%i] : f32
    tir.evaluate %y : f32
    tir.store %x, %B[%i] : f32
  }
}

// CHECK-LABEL: tir.func @g
// CHECK-NOT:     tir.if
// CHECK:         tir.load %A[%i] : f32
// CHECK-NOT:     tir.if
// CHECK:         tir.store %x, %B[%i] : f32
